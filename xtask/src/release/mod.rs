//! `cargo xtask release --out DIR [--check]`: what is given away, made on the machine that it is for.
//!
//! | file | what it is |
//! |---|---|
//! | `dermis-VERSION-MACHINE.tar.gz` | the program with manual pages, completions, licences and notices |
//! | `dermis-VERSION-MACHINE-debug.tar.gz` | debug symbols of the program and of the package |
//! | `dermis-VERSION-cp310-abi3-PLATFORM.whl` | the Python package, which holds the program |
//! | `dermis-VERSION.tar.gz` | the same as source |
//! | `dermis-VERSION-PLATFORM.zip`, `…-legacy.zip` | the Blender add-on: an extension, and a zip for older ways to install |
//! | `SHA256SUMS` | checksums |
//!
//! Program and package are linked against the C library of [`GLIBC`] by zig, so that they run on older systems than this one.

mod archive;
mod check;
pub mod notices;
mod source;

use crate::blender::{self, Zips};
use crate::python;
use crate::tools::{self, run as tool};
use crate::usage::usage;
use crate::workspace::{cargo, machine, root, target};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The oldest C library that program and package run with: that of manylinux2014, and of what Rust itself asks for.
const GLIBC: &str = "2.17";
/// How the program is compiled. It has no use for unwinding.
const PROGRAM_PROFILE: &str = "dist-program";
/// How the library of the package is.
const LIBRARY_PROFILE: &str = "dist";
/// The file of notices in whatever is given away.
const NOTICES: &str = "THIRD-PARTY.txt";
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];
const SUMS: &str = "SHA256SUMS";

/// What a file may be at most, MB.
mod limits {
    /// The program, unpacked.
    pub const PROGRAM: f64 = 25.0;
    /// The program, packed.
    pub const ARCHIVE: f64 = 15.0;
    pub const SYMBOLS: f64 = 100.0;
    pub const WHEEL: f64 = 15.0;
    pub const SOURCE: f64 = 15.0;
    pub const ADDON: f64 = 20.0;
}

/// What is made.
struct Made {
    version: String,
    /// The machine, as rustc names it.
    machine: String,
    program: PathBuf,
    wheel: PathBuf,
    source: PathBuf,
    zips: Zips,
}

/// Runs the verb.
pub fn run(arguments: &[&str]) -> ExitCode {
    let (out, is_checked) = match arguments {
        ["--out", out] => (out, false),
        ["--out", out, "--check"] | ["--check", "--out", out] => (out, true),
        _ => return usage("release takes --out DIR [--check]"),
    };
    let done = made(Path::new(out)).and_then(|made| if is_checked { check::all(&made) } else { Ok(()) });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Makes everything.
fn made(out: &Path) -> Result<Made, String> {
    let machine = machine().ok_or("rustc does not say what machine it compiles for")?;
    if !machine.ends_with("-linux-gnu") {
        return Err(format!("a release for {machine} is not made yet: RELEASING.md names the machines"));
    }
    std::fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let out = out.canonicalize().map_err(|error| format!("{}: {error}", out.display()))?;
    empty(&out)?;
    python::make_environment()?;
    let environment = tools::release()?;
    let graph = notices::Graph::read(&machine)?;
    let version = graph.version("dermis-cli")?;
    let notices = graph.notices(&["dermis-cli", "dermis-python"])?;

    let program = build("dermis-cli", PROGRAM_PROFILE, &machine, &environment)?.join("dermis");
    let library = build("dermis-python", LIBRARY_PROFILE, &machine, &environment)?.join("lib_dermis.so");
    let stage = target().join("release-stage");
    let _ = std::fs::remove_dir_all(&stage);
    std::fs::create_dir_all(&stage).map_err(|error| format!("{}: {error}", stage.display()))?;
    let stripped = |from: &Path, name: &str, strip: &str| {
        let (stripped, symbols) = (stage.join(name), stage.join(format!("{name}.debug")));
        tool(Command::new("objcopy").arg("--only-keep-debug").args([from, &symbols]))?;
        tool(Command::new("objcopy").arg(strip).args([from, &stripped]))?;
        tool(Command::new("objcopy").arg(format!("--add-gnu-debuglink={}", symbols.display())).arg(&stripped))?;
        Ok::<_, String>((stripped, symbols))
    };
    let (program, program_symbols) = stripped(&program, "dermis", "--strip-all")?;
    let (library, library_symbols) = stripped(&library, "_dermis.abi3.so", "--strip-unneeded")?;
    within(&program, limits::PROGRAM)?;

    let name = format!("dermis-{version}-{machine}");
    let archive = out.join(format!("{name}.tar.gz"));
    archive::write(&archive, &program_files(&name, &program, &stage, &notices)?)?;
    within(&archive, limits::ARCHIVE)?;
    let symbols = out.join(format!("{name}-debug.tar.gz"));
    let mut files = Vec::new();
    for path in [program_symbols, library_symbols] {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{name}-debug/{file}");
        files.push(archive::File { name, content: read(&path)?, is_program: false });
    }
    archive::write(&symbols, &files)?;
    within(&symbols, limits::SYMBOLS)?;

    let plain = python::pack(&library, &stage.join("wheel"), &[(NOTICES, notices.as_bytes())], &stage)?;
    let wheel = many_linux(&plain, &environment, &machine, &out)?;
    within(&wheel, limits::WHEEL)?;
    let source = out.join(format!("dermis-{version}.tar.gz"));
    archive::write(&source, &source::files(&version, &plain)?)?;
    within(&source, limits::SOURCE)?;
    let zips = blender::zips_of(&wheel, &out)?;
    for zip in [&zips.extension, &zips.legacy] {
        within(zip, limits::ADDON)?;
    }
    write_sums(&out)?;
    Ok(Made { version, machine, program: archive, wheel, source, zips })
}

/// Compiles a package. Returns the folder that holds it.
fn build(package: &str, profile: &str, machine: &str, environment: &Path) -> Result<PathBuf, String> {
    let mut zig = cargo("zigbuild");
    zig.args(["--profile", profile, "--package", package, "--target"]);
    tool(zig.arg(format!("{machine}.{GLIBC}")).env("PATH", path_with(environment)?))?;
    Ok(target().join(machine).join(profile))
}

/// The search path with the programs of an environment first.
fn path_with(environment: &Path) -> Result<OsString, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(environment.join("bin")).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).map_err(|error| error.to_string())
}

/// What the archive of the program holds.
fn program_files(name: &str, program: &Path, stage: &Path, notices: &str) -> Result<Vec<archive::File>, String> {
    let said = |arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(format!("dermis {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr))),
        }
    };
    let pages = stage.join("man1");
    said(&["man", "--out", &pages.display().to_string()])?;
    let mut files = vec![archive::File { name: "bin/dermis".into(), content: read(program)?, is_program: true }];
    let mut add = |name: &str, content: Vec<u8>| {
        files.push(archive::File { name: name.into(), content, is_program: false });
    };
    for (shell, place) in [
        ("bash", "share/bash-completion/completions/dermis"),
        ("zsh", "share/zsh/site-functions/_dermis"),
        ("fish", "share/fish/vendor_completions.d/dermis.fish"),
    ] {
        add(place, said(&["completions", shell])?);
    }
    for entry in std::fs::read_dir(&pages).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        add(&format!("share/man/man1/{}", path.file_name().unwrap_or_default().to_string_lossy()), read(&path)?);
    }
    for licence in LICENCES {
        add(licence, read(&root().join(licence))?);
    }
    add(NOTICES, notices.as_bytes().to_vec());
    add("README.txt", INSTALL.as_bytes().to_vec());
    files.iter_mut().for_each(|file| file.name = format!("{name}/{}", file.name));
    Ok(files)
}

/// What the archive of the program says of itself.
const INSTALL: &str = "\
dermis learns how a character's skin moves from examples.

bin/dermis runs where it lies:

    bin/dermis demo

To install it with its manual pages and completions, copy bin and share below a prefix of yours:

    cp -R bin share ~/.local/

It is licensed under MIT or Apache-2.0, at your choice. THIRD-PARTY.txt holds the notices of the libraries in it.
";

/// The wheel with the name of the oldest Linux that it runs on, which auditwheel makes sure of.
fn many_linux(wheel: &Path, environment: &Path, machine: &str, out: &Path) -> Result<PathBuf, String> {
    let processor = machine.split('-').next().unwrap_or_default();
    let platform = format!("manylinux_{}_{processor}", GLIBC.replace('.', "_"));
    let mut audit = Command::new(environment.join("bin/auditwheel"));
    audit.env("PATH", path_with(environment)?).args(["repair", "--plat", &platform, "--wheel-dir"]);
    tool(audit.arg(out).arg(wheel))?;
    python::only(out, ".whl")
}

/// Removes what an earlier release left; a folder that holds anything else is refused.
fn empty(out: &Path) -> Result<(), String> {
    let entries = std::fs::read_dir(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_file() && (name == SUMS || name.starts_with("dermis-"))
    };
    if let Some(other) = paths.iter().find(|path| !is_ours(path)) {
        return Err(format!(
            "{} is not of a release: name an empty folder, or one that a release made",
            other.display()
        ));
    }
    paths.iter().try_for_each(|path| std::fs::remove_file(path).map_err(|error| format!("{}: {error}", path.display())))
}

/// Prints the size of a file beside its limit.
fn within(path: &Path, limit: f64) -> Result<(), String> {
    let size = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?.len() as f64 * 1e-6;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    println!("{name}: {size:.1} MB, at most {limit:.0} MB");
    if size <= limit { Ok(()) } else { Err(format!("{name} is too large")) }
}

/// Writes the checksums as `sha256sum` does.
fn write_sums(out: &Path) -> Result<(), String> {
    let entries = std::fs::read_dir(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let mut names: Vec<String> =
        entries.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let mut text = String::new();
    for name in names {
        text += &format!("{}  {name}\n", sum(&out.join(&name))?);
    }
    std::fs::write(out.join(SUMS), text).map_err(|error| format!("{SUMS}: {error}"))
}

/// The checksum of a file.
fn sum(path: &Path) -> Result<String, String> {
    Ok(Sha256::digest(read(path)?).iter().map(|byte| format!("{byte:02x}")).collect())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
