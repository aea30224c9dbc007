//! Notices of what is compiled in: the licence files of every crate, each text once.

use crate::tools::run as tool;
use crate::workspace::cargo;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The crates of the workspace with all below them, for one machine.
pub struct Graph {
    packages: BTreeMap<String, Value>,
    /// What a crate is linked with, as package identities.
    linked: BTreeMap<String, Vec<String>>,
}

impl Graph {
    /// What cargo knows.
    pub fn read(machine: &str) -> Result<Self, String> {
        // What is missing is fetched first, so that only the answer is on the standard output.
        tool(cargo("fetch").args(["--quiet", "--target", machine]))?;
        let output = cargo("metadata").args(["--format-version", "1", "--filter-platform", machine]).output();
        let output = output.map_err(|error| error.to_string())?;
        let known: Value =
            serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let packages: BTreeMap<String, Value> =
            list(&known["packages"]).into_iter().map(|package| (text(&package["id"]), package)).collect();
        let runs_in_a_build = |id: &str| {
            let targets = list(&packages[id]["targets"]);
            targets.iter().any(|target| list(&target["kind"]).contains(&"proc-macro".into()))
        };
        let mut linked = BTreeMap::new();
        for node in list(&known["resolve"]["nodes"]) {
            let dependencies = list(&node["deps"]).into_iter().filter(|dependency| {
                let kinds = list(&dependency["dep_kinds"]);
                kinds.iter().any(|kind| kind["kind"].is_null()) && !runs_in_a_build(&text(&dependency["pkg"]))
            });
            linked.insert(text(&node["id"]), dependencies.map(|dependency| text(&dependency["pkg"])).collect());
        }
        Ok(Self { packages, linked })
    }

    /// The version of a crate of the workspace.
    pub fn version(&self, name: &str) -> Result<String, String> {
        self.packages[self.id(name)?]["version"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("{name} has no version"))
    }

    fn id(&self, name: &str) -> Result<&str, String> {
        let found = self.packages.iter().find(|(_, package)| package["name"] == name && package["source"].is_null());
        found.map(|(id, _)| id.as_str()).ok_or_else(|| format!("the workspace has no crate {name}"))
    }

    /// The notices of what these crates are linked with.
    ///
    /// # Errors
    /// A text for people: a crate without a licence file whose licence no other crate has the text of.
    pub fn notices(&self, names: &[&str]) -> Result<String, String> {
        let mut open = names.iter().map(|name| self.id(name)).collect::<Result<Vec<_>, _>>()?;
        let mut found = BTreeSet::new();
        while let Some(id) = open.pop() {
            if found.insert(id) {
                open.extend(self.linked[id].iter().map(String::as_str));
            }
        }
        // Whose text it is, by text.
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut crates = Vec::new();
        let (mut bare, mut with_text) = (Vec::new(), BTreeSet::new());
        for package in found.iter().map(|id| &self.packages[*id]).filter(|package| !package["source"].is_null()) {
            let text = |key: &str| package[key].as_str().unwrap_or_default();
            let name = format!("{} {}", text("name"), text("version"));
            let folder = Path::new(text("manifest_path")).parent().unwrap_or(Path::new("."));
            let files = licence_files(folder)?;
            match files.is_empty() {
                true => bare.push((name.clone(), text("license"))),
                false => with_text.extend(licences(text("license"))),
            }
            for file in files {
                let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
                texts.entry(text.replace("\r\n", "\n").trim().to_owned()).or_default().push(name.clone());
            }
            let (licence, origin) = (text("license"), text("repository"));
            crates.push(format!("{name}: {licence}{}{origin}", if origin.is_empty() { "" } else { ", " }));
        }
        crates.sort();
        let mut notices = String::from(HEAD);
        crates.iter().for_each(|line| notices += &format!("  {line}\n"));
        if let Some((name, licence)) = bare.iter().find(|(_, own)| !licences(own).any(|own| with_text.contains(own))) {
            return Err(format!(
                "{name} comes without the text of its licence, {licence}, and so does every other crate"
            ));
        }
        if !bare.is_empty() {
            let names: Vec<&str> = bare.iter().map(|(name, _)| name.as_str()).collect();
            notices += &format!(
                "\nThese come without a licence file; the text of their licence stands below with others: {}.\n",
                names.join(", ")
            );
        }
        let mut texts: Vec<(String, Vec<String>)> =
            texts.into_iter().map(|(text, names)| (names.join(", "), vec![text])).collect();
        texts.sort();
        for (names, text) in texts {
            notices += &format!("\n{}\n{names}\n\n{}\n", "-".repeat(80), text.concat());
        }
        Ok(notices)
    }
}

/// The licences that an expression names.
fn licences(expression: &str) -> impl Iterator<Item = &str> {
    expression.split([' ', '/', '(', ')']).filter(|word| !["", "OR", "AND", "WITH"].contains(word))
}

const HEAD: &str = "\
dermis is licensed under MIT or Apache-2.0. These libraries are compiled into it. Below stands the text of each licence
with the libraries that it came with. The standard library of Rust is compiled in as well: it is licensed under MIT or
Apache-2.0 (https://www.rust-lang.org/policies/licenses).

";

/// The licence files of a crate: those of its folder, and of a folder named after licences.
fn licence_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            let is_licence = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
            match is_licence.iter().any(|start| name.starts_with(start)) {
                true if path.is_dir() => folders.push(path),
                true => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    Ok(found)
}
