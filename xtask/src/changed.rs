//! `cargo xtask test --changed [REV]`: the steps of `cargo xtask test` that a change of a few crates can fail first, in minutes.
//! It does not stand for the whole.
//!
//! Tests run of the crates with a file that differs from REV, and of the crates that depend on those directly. What lies outside all
//! crates counts for the crates that hold it, as [`HELD`] says, or is named as not covered.

use crate::commit::plain_tests_of;
use crate::steps::{Outcome, Steps, of};
use crate::workspace::{cargo, root};
use crate::{blender, bpy, deps, python};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, ExitCode};

/// Folders outside the crates, and the crate whose tests read them.
const HELD: [(&str, &str); 5] = [
    ("js/", "dermis-report"),
    ("assets/", "dermis-workflow"),
    ("readers/", "dermis-cli"),
    ("docs/", "xtask"),
    ("README.md", "dermis"),
];
/// What every crate depends on.
const OF_ALL: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

/// Runs the steps.
pub fn run(revision: &str) -> ExitCode {
    match changed(revision).and_then(|files| Ok((crates()?, files))) {
        Ok((_, files)) if files.is_empty() => {
            println!("nothing differs from {revision}");
            ExitCode::SUCCESS
        }
        Ok((crates, files)) => steps(&crates, &files),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn steps(crates: &[Crate], files: &[String]) -> ExitCode {
    let Touched { crates: touched, all, outside } = touched(crates, files);
    let mut steps = Steps::new();
    steps.run("format", || of(cargo("fmt").args(["--all", "--check"])));
    steps.run("deps", deps::step);
    steps.run("clippy", || of(cargo("clippy").args(["--workspace", "--all-targets", "--", "-D", "warnings"])));
    let tested = tested(crates, &touched);
    match all {
        true => steps.run("tests", || plain_tests_of(None)),
        false if tested.is_empty() => {}
        false => {
            println!("\nchanged: {}; tested: {}", joined(&touched), joined(&tested));
            steps.run("tests", || plain_tests_of(Some(&tested)));
        }
    }
    if touched.contains("dermis-python") {
        steps.run("Python package", python::step);
    }
    if files.iter().any(|file| file.starts_with("blender/")) {
        steps.run("Blender add-on", || match blender::zips(python::Made::WithTests) {
            Ok(zips) => bpy::check(bpy::RELEASES[0], &zips),
            Err(error) => {
                println!("{error}");
                Outcome::Failed
            }
        });
    }
    let mut notes = vec!["this was a part of cargo xtask test, which a commit must pass".to_owned()];
    if !outside.is_empty() {
        notes.push(format!("no test here reads {}", joined(&outside)));
    }
    steps.summary("cargo xtask test --changed", &notes)
}

fn joined(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}

/// A crate of the workspace.
struct Crate {
    name: String,
    /// Its folder from the top of the workspace, with a slash at its end.
    folder: String,
    /// The crates it depends on, also those of its tests alone.
    uses: Vec<String>,
}

fn crates() -> Result<Vec<Crate>, String> {
    let output = cargo("metadata").args(["--format-version", "1", "--no-deps"]).output();
    let output = output.map_err(|error| error.to_string())?;
    let known: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let top = format!("{}/", root().display());
    let packages = known["packages"].as_array().cloned().unwrap_or_default();
    let read = |package: &Value| Crate {
        name: text(&package["name"]),
        folder: text(&package["manifest_path"]).replace('\\', "/").replace(&top, "").replace("Cargo.toml", ""),
        uses: package["dependencies"].as_array().into_iter().flatten().map(|used| text(&used["name"])).collect(),
    };
    Ok(packages.iter().map(read).collect())
}

/// The files that differ from a revision, and those that git does not know yet.
fn changed(revision: &str) -> Result<Vec<String>, String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").current_dir(root()).args(arguments).output();
        let output = output.map_err(|error| format!("git does not start: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    };
    let mut files = git(&["diff", "--name-only", revision, "--"])?;
    files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
    Ok(files)
}

/// What a change is in.
struct Touched<'a> {
    crates: BTreeSet<&'a str>,
    /// Whether it is in what all crates depend on.
    all: bool,
    /// Files that no crate reads.
    outside: BTreeSet<&'a str>,
}

fn touched<'a>(crates: &'a [Crate], files: &'a [String]) -> Touched<'a> {
    let mut found = Touched { crates: BTreeSet::new(), all: false, outside: BTreeSet::new() };
    for file in files {
        let own = crates.iter().find(|known| file.starts_with(&known.folder)).map(|known| known.name.as_str());
        let held = || HELD.iter().find(|(start, _)| file.starts_with(start)).map(|(_, name)| *name);
        match own.or_else(held) {
            _ if OF_ALL.contains(&file.as_str()) => found.all = true,
            Some(name) => drop(found.crates.insert(name)),
            None if file.starts_with("blender/") => {}
            None => drop(found.outside.insert(file)),
        }
    }
    found
}

/// The changed crates, and those that depend on them directly.
fn tested<'a>(crates: &'a [Crate], touched: &BTreeSet<&str>) -> BTreeSet<&'a str> {
    let is_tested = |known: &&Crate| {
        touched.contains(known.name.as_str()) || known.uses.iter().any(|used| touched.contains(used.as_str()))
    };
    crates.iter().filter(is_tested).map(|known| known.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str, uses: &[&str]) -> Crate {
        let uses = uses.iter().map(|used| (*used).to_owned()).collect();
        Crate { name: name.into(), folder: format!("crates/{name}/"), uses }
    }

    #[test]
    fn a_change_tests_its_crate_and_those_on_top_of_it() {
        let crates = [known("rig", &[]), known("deform", &["rig"]), known("fit", &["deform"]), known("io", &["rig"])];
        let files = ["crates/deform/src/lib.rs", "blender/a.py", "LICENSE-MIT"].map(str::to_owned);
        let found = touched(&crates, &files);
        assert_eq!((found.crates.clone(), found.all), (BTreeSet::from(["deform"]), false));
        assert_eq!(found.outside, BTreeSet::from(["LICENSE-MIT"]));
        assert_eq!(tested(&crates, &found.crates), BTreeSet::from(["deform", "fit"]));
        assert!(touched(&crates, &["Cargo.lock".to_owned()]).all);
        assert_eq!(touched(&crates, &["js/dermis_glb.js".to_owned()]).crates, BTreeSet::from(["dermis-report"]));
    }

    /// Names and folders are those that cargo and git say.
    #[test]
    fn the_workspace_is_known() {
        let crates = crates().unwrap();
        let deform = crates.iter().find(|known| known.name == "dermis-deform").unwrap();
        assert_eq!(deform.folder, "crates/dermis-deform/");
        assert!(deform.uses.iter().any(|used| used == "dermis-rig"));
        for (path, name) in HELD {
            assert!(root().join(path).exists() && crates.iter().any(|known| known.name == name), "{path}");
        }
    }
}
