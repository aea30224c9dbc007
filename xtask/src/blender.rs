//! `cargo xtask blender`: the Blender add-on as two zips below `target/blender`, and its checks in every Blender that is
//! there.
//!
//! The **extension** is for Blender 4.2 and newer: the add-on with its manifest, and the wheel of the Python package inside.
//! Blender installs the wheel with the add-on. The **legacy** zip is for what installs add-ons the older way: the add-on with the wheel
//! unpacked in its folder `lib`, the files of `blender/legacy` in place of those of the same name, and the header that such
//! installers read. Both are made from `blender/dermis_blender`. The wheel is that of `cargo xtask python`.
//!
//! The add-on is under the GNU General Public License, as Blender asks of add-ons, and the wheel under the licences of everything
//! else. A zip holds the texts of all three.

use crate::bpy;
use crate::python::{self, Made};
use crate::steps::{Outcome, of};
use crate::usage::usage;
use crate::workspace::{root, target};
use std::fs::File;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// The add-on's folder, which is also its module in the legacy zip.
const ADDON: &str = "dermis_blender";
const MANIFEST: &str = "blender_manifest.toml";
/// The add-on's, below `blender`.
const LICENCE: &str = "LICENSE";
/// The wheel's.
const LICENCES_OF_WHEEL: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// What is given away.
pub struct Zips {
    /// For Blender 4.2 and newer.
    pub extension: PathBuf,
    /// For what installs add-ons the older way.
    pub legacy: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &[&str]) -> ExitCode {
    let made = match arguments {
        [] => Made::Alone,
        ["--release"] => Made::Release,
        _ => return usage("blender takes --release and nothing else"),
    };
    if let Err(error) = python::make_environment() {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    let mut exit = ExitCode::SUCCESS;
    match zips(made) {
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
        Ok(zips) => {
            for release in bpy::RELEASES {
                match bpy::check(release, &zips) {
                    Outcome::Passed => {}
                    Outcome::Failed => exit = ExitCode::FAILURE,
                    Outcome::NotRun(missing) => println!("NOT RUN: {}: needs {missing}", release.step),
                }
            }
        }
    }
    exit
}

/// Makes both zips.
///
/// # Errors
/// A text for people: the package does not build, or the add-on's folder is not what a zip is made from.
pub fn zips(made: Made) -> Result<Zips, String> {
    zips_of(&python::wheel(made)?, &target().join("blender"))
}

/// Makes both zips of a wheel.
///
/// # Errors
/// As [`zips`].
pub fn zips_of(wheel: &Path, out: &Path) -> Result<Zips, String> {
    let folder = root().join("blender").join(ADDON);
    let manifest = folder.join(MANIFEST);
    let manifest = std::fs::read_to_string(&manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
    let manifest = manifest.replace("\r\n", "\n");
    let wheel_name = wheel.file_name().and_then(|name| name.to_str()).ok_or("a wheel without a name")?;
    let platform = platform(wheel_name)?;
    let version = value(&manifest, "version")?;
    same_version(version, wheel_name)?;
    let header = header(&manifest)?;
    rules(&folder)?;

    std::fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let extension = out.join(format!("dermis-{version}-{platform}.zip"));
    let legacy = out.join(format!("dermis-{version}-{platform}-legacy.zip"));
    let listed = |folder: &Path| files(folder).map_err(|error| format!("{}: {error}", folder.display()));
    let (files, older) = (listed(&folder)?, listed(&root().join("blender/legacy"))?);
    let licence = root().join("blender").join(LICENCE);
    let packed = packed_manifest(&manifest, wheel_name, platform)?;
    write(&extension, |zip| {
        for (name, path) in &files {
            let content = if name == MANIFEST { packed.clone().into_bytes() } else { std::fs::read(path)? };
            add(zip, name, &content)?;
        }
        add(zip, LICENCE, &std::fs::read(&licence)?)?;
        for licence in LICENCES_OF_WHEEL {
            add(zip, &format!("wheels/{licence}"), &std::fs::read(root().join(licence))?)?;
        }
        // A wheel is a zip: it does not get smaller.
        zip.start_file(format!("wheels/{wheel_name}"), stored())?;
        zip.write_all(&std::fs::read(wheel)?)
    })?;
    write(&legacy, |zip| {
        // With a manifest, Blender would take it for an extension.
        for (name, path) in files.iter().filter(|(name, _)| name != MANIFEST) {
            let path = older.iter().find(|(other, _)| other == name).map_or(path, |(_, path)| path);
            let mut content = std::fs::read(path)?;
            if name == "__init__.py" {
                content.extend_from_slice(header.as_bytes());
            }
            add(zip, &format!("{ADDON}/{name}"), &content)?;
        }
        add(zip, &format!("{ADDON}/{LICENCE}"), &std::fs::read(&licence)?)?;
        for licence in LICENCES_OF_WHEEL {
            add(zip, &format!("{ADDON}/lib/{licence}"), &std::fs::read(root().join(licence))?)?;
        }
        let mut wheel = ZipArchive::new(Cursor::new(std::fs::read(wheel)?))?;
        for index in 0..wheel.len() {
            let file = wheel.by_index_raw(index)?;
            let name = format!("{ADDON}/lib/{}", file.name()?);
            zip.raw_copy_file_rename(file, name)?;
        }
        Ok(())
    })?;
    for zip in [&extension, &legacy] {
        let size = std::fs::metadata(zip).map_err(|error| format!("{}: {error}", zip.display()))?.len();
        println!("{}: {:.1} MB", zip.display(), size as f64 * 1e-6);
    }
    Ok(Zips { extension, legacy })
}

/// The add-on's files with their names in a zip, in an order that does not depend on the machine. What Python left is not
/// among them, nor anything hidden.
fn files(folder: &Path) -> std::io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    let mut folders = vec![(String::new(), folder.to_owned())];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if name.starts_with('.') || name == "__pycache__" || name.ends_with(".pyc") {
                continue;
            }
            match path.is_dir() {
                true => folders.push((format!("{prefix}{name}/"), path)),
                false => found.push((format!("{prefix}{name}"), path)),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The manifest as it goes into the zip: with the wheel and the platform it is for.
fn packed_manifest(manifest: &str, wheel: &str, platform: &str) -> Result<String, String> {
    let mut packed = manifest.to_owned();
    for (empty, filled) in [
        ("\nwheels = []\n", format!("\nwheels = [\"./wheels/{wheel}\"]\n")),
        ("\nplatforms = []\n", format!("\nplatforms = [\"{platform}\"]\n")),
    ] {
        if packed.matches(empty).count() != 1 {
            return Err(format!("{MANIFEST} needs one line \"{}\": cargo xtask blender fills it in", empty.trim()));
        }
        packed = packed.replace(empty, &filled);
    }
    Ok(packed)
}

/// The line of a key outside tables, after its equals sign.
fn value_line<'a>(manifest: &'a str, key: &str) -> Option<&'a str> {
    let keys = manifest.lines().take_while(|line| !line.starts_with('['));
    keys.filter_map(|line| line.split_once('=')).find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
}

/// A text of the manifest.
fn value<'a>(manifest: &'a str, key: &str) -> Result<&'a str, String> {
    let text = value_line(manifest, key).and_then(|value| value.strip_prefix('"')?.split_once('"'));
    text.map(|(text, _)| text).ok_or_else(|| format!("{MANIFEST} has no line {key} = \"…\""))
}

/// Fails unless manifest and wheel are of one version.
fn same_version(version: &str, wheel: &str) -> Result<(), String> {
    let of_wheel = wheel.split('-').nth(1).unwrap_or_default();
    match version == of_wheel {
        true => Ok(()),
        false => {
            Err(format!("{MANIFEST} has version \"{version}\", but the package is {of_wheel}. Make them the same."))
        }
    }
}

/// The header `bl_info`, which stands in `__init__.py` where there is no manifest.
fn header(manifest: &str) -> Result<String, String> {
    let numbers = |key| Ok::<_, String>(value(manifest, key)?.replace('.', ", "));
    Ok(format!(
        "
bl_info = {{
    \"name\": \"{}\",
    \"author\": \"{}\",
    \"version\": ({}),
    \"blender\": ({}),
    \"location\": \"3D View > Sidebar > Dermis\",
    \"description\": \"{}\",
    \"category\": \"Animation\",
}}
",
        value(manifest, "name")?,
        value(manifest, "maintainer")?,
        numbers("version")?,
        numbers("blender_version_min")?,
        value(manifest, "tagline")?,
    ))
}

/// Fails if the add-on has what reviewers of Blender's extension platform refuse.
fn rules(folder: &Path) -> Result<(), String> {
    let mut check = Command::new(python::python());
    check.arg("-B").arg(root().join("tools/blender_rules.py")).arg(folder);
    match of(&mut check) {
        Outcome::Passed => Ok(()),
        _ => Err("Blender's extension platform would refuse the add-on: see above".into()),
    }
}

/// Blender's name for what a wheel runs on.
fn platform(wheel: &str) -> Result<&'static str, String> {
    let tag = wheel.trim_end_matches(".whl").rsplit('-').next().unwrap_or_default();
    let is_arm = tag.ends_with("arm64") || tag.ends_with("aarch64");
    let is_intel = tag.ends_with("x86_64") || tag.ends_with("amd64");
    let system = ["linux", "manylinux", "macosx", "win"].into_iter().find(|system| tag.starts_with(system));
    match (system, is_intel, is_arm) {
        (Some("linux" | "manylinux"), true, _) => Ok("linux-x64"),
        (Some("linux" | "manylinux"), _, true) => Ok("linux-arm64"),
        (Some("macosx"), true, _) => Ok("macos-x64"),
        (Some("macosx"), _, true) => Ok("macos-arm64"),
        (Some("win"), true, _) => Ok("windows-x64"),
        (Some("win"), _, true) => Ok("windows-arm64"),
        _ => Err(format!("{wheel}: Blender has no name for its platform")),
    }
}

/// Writes a zip; what stood there is replaced.
fn write(path: &Path, fill: impl FnOnce(&mut ZipWriter<File>) -> std::io::Result<()>) -> Result<(), String> {
    let filled = File::create(path).and_then(|file| {
        let mut zip = ZipWriter::new(file);
        fill(&mut zip)?;
        zip.finish()?;
        Ok(())
    });
    filled.map_err(|error| format!("{}: {error}", path.display()))
}

fn add(zip: &mut ZipWriter<File>, name: &str, content: &[u8]) -> std::io::Result<()> {
    zip.start_file(name, stored().compression_method(CompressionMethod::Deflated))?;
    zip.write_all(content)
}

/// Without a time: the same files give the same zip.
fn stored() -> SimpleFileOptions {
    SimpleFileOptions::DEFAULT.compression_method(CompressionMethod::Stored).unix_permissions(0o644)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
schema_version = \"1.0.0\"
version = \"0.1.0\" # the workspace's
wheels = []
platforms = []

[permissions]
files = \"reads\"
";

    #[test]
    fn the_wheel_and_the_platform_are_filled_in() {
        let packed = packed_manifest(MANIFEST, "dermis-0.1.0-cp310-abi3-win_amd64.whl", "windows-x64").unwrap();
        assert!(packed.contains("\nwheels = [\"./wheels/dermis-0.1.0-cp310-abi3-win_amd64.whl\"]\n"), "{packed}");
        assert!(packed.contains("\nplatforms = [\"windows-x64\"]\n\n[permissions]\n"), "{packed}");
        let without = packed_manifest("wheels = []\n", "w.whl", "linux-x64").unwrap_err();
        assert!(without.contains("\"wheels = []\""), "{without}");
    }

    #[test]
    fn values_are_read_outside_tables() {
        assert_eq!(value(MANIFEST, "version").unwrap(), "0.1.0");
        assert!(value(MANIFEST, "files").is_err());
    }

    #[test]
    fn versions_must_agree() {
        let wheel = "dermis-0.1.0-cp310-abi3-linux_x86_64.whl";
        assert_eq!(same_version("0.1.0", wheel), Ok(()));
        assert!(same_version("0.2.0", wheel).unwrap_err().contains("the package is 0.1.0"));
    }

    #[test]
    fn the_older_header_says_what_the_manifest_says() {
        let manifest = std::fs::read_to_string(root().join("blender").join(ADDON).join(super::MANIFEST)).unwrap();
        let made = header(&manifest).unwrap();
        for line in ["\nbl_info = {\n", "    \"name\": \"Dermis\",\n", "    \"blender\": (4, 2, 0),\n"] {
            assert!(made.contains(line), "{made}");
        }
        // Blender reads it to the first empty line.
        assert!(made.ends_with("}\n") && !made[1..].contains("\n\n"), "{made}");
        assert!(header("name = \"Dermis\"\n").unwrap_err().contains("maintainer"));
    }

    #[test]
    fn platforms_have_blenders_names() {
        let of = |tag: &str| platform(&format!("dermis-0.1.0-cp310-abi3-{tag}.whl"));
        assert_eq!(of("linux_x86_64"), Ok("linux-x64"));
        assert_eq!(of("manylinux_2_28_x86_64"), Ok("linux-x64"));
        assert_eq!(of("manylinux_2_28_aarch64"), Ok("linux-arm64"));
        assert_eq!(of("macosx_11_0_arm64"), Ok("macos-arm64"));
        assert_eq!(of("macosx_10_12_x86_64"), Ok("macos-x64"));
        assert_eq!(of("win_amd64"), Ok("windows-x64"));
        assert!(of("any").is_err() && of("musllinux_1_2_x86_64").is_err());
    }
}
