//! The Python package as source: what its build needs of this workspace, with `pyproject.toml` at the top.

use super::archive::File;
use super::read;
use crate::workspace::root;
use std::io::Read;
use std::path::Path;
use std::process::Command;

/// What of the workspace goes along. Cargo wants every member of the workspace to be there.
const PARTS: [&str; 8] =
    ["Cargo.lock", "Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "assets/body", "crates", "js", "xtask"];
/// The package's own folder.
const PACKAGE: &str = "crates/dermis-python";

/// The files, below a folder of name and version. `wheel` has the metadata.
pub fn files(version: &str, wheel: &Path) -> Result<Vec<File>, String> {
    let top = format!("dermis-{version}");
    let listed = Command::new("git").current_dir(root()).args(["ls-files", "-z", "--"]).args(PARTS).output();
    let listed = listed.map_err(|error| format!("git does not start: {error}"))?;
    if !listed.status.success() || listed.stdout.is_empty() {
        return Err("the package as source is made of what git tracks: a clone is needed".into());
    }
    let names = String::from_utf8(listed.stdout).map_err(|error| error.to_string())?;
    let mut files = Vec::new();
    for name in names.split('\0').filter(|name| !name.is_empty() && root().join(name).is_file()) {
        let content = read(&root().join(name))?;
        files.push(File { name: format!("{top}/{name}"), content, is_program: false });
    }
    let project = read(&root().join(PACKAGE).join("pyproject.toml"))?;
    let project = String::from_utf8(project).map_err(|error| error.to_string())?;
    let mut add = |name: &str, content: Vec<u8>| {
        files.push(File { name: format!("{top}/{name}"), content, is_program: false });
    };
    add("pyproject.toml", at_the_top(&project)?.into_bytes());
    add("PKG-INFO", metadata(wheel)?);
    Ok(files)
}

/// The package's `pyproject.toml` as it stands at the top of the workspace.
fn at_the_top(project: &str) -> Result<String, String> {
    let mut moved = project.to_owned();
    for (here, there) in [
        ("\nreadme = \"README.md\"\n", format!("\nreadme = \"{PACKAGE}/README.md\"\n")),
        (
            "\npython-source = \"python\"\n",
            format!("\npython-source = \"{PACKAGE}/python\"\nmanifest-path = \"{PACKAGE}/Cargo.toml\"\n"),
        ),
    ] {
        if moved.matches(here).count() != 1 {
            return Err(format!("{PACKAGE}/pyproject.toml needs one line {}", here.trim()));
        }
        moved = moved.replace(here, &there);
    }
    Ok(moved)
}

/// What a wheel says of itself.
fn metadata(wheel: &Path) -> Result<Vec<u8>, String> {
    let read = std::fs::File::open(wheel).map_err(zip::result::ZipError::from).and_then(zip::ZipArchive::new);
    let mut archive = read.map_err(|error| format!("{}: {error}", wheel.display()))?;
    let name =
        archive.file_names().flatten().find(|name| name.ends_with(".dist-info/METADATA")).map(|name| name.into_owned());
    let name = name.ok_or_else(|| format!("{} has no metadata", wheel.display()))?;
    let mut content = Vec::new();
    let mut file = archive.by_name(&name).map_err(|error| error.to_string())?;
    file.read_to_end(&mut content).map_err(|error| error.to_string())?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_file_moves_up() {
        let own = std::fs::read_to_string(root().join(PACKAGE).join("pyproject.toml")).unwrap();
        let moved = at_the_top(&own).unwrap();
        assert!(moved.contains("\npython-source = \"crates/dermis-python/python\"\n"), "{moved}");
        assert!(moved.contains("\nmanifest-path = \"crates/dermis-python/Cargo.toml\"\n"), "{moved}");
        assert!(at_the_top("[project]\n").unwrap_err().contains("readme"));
    }
}
