//! cargo-deny: which licences, crates and sources the workspace takes (`deny.toml`), and known weaknesses of the crates.

use crate::steps::{Outcome, of};
use crate::tools;
use crate::workspace::root;
use std::process::Stdio;

/// What is missing without the tool.
const TOOL: &str = "cargo-deny (cargo install cargo-deny --locked, or --install-tools)";

/// Licences, crates and sources.
pub fn licences() -> Outcome {
    match tools::cargo_deny() {
        Some(mut deny) => of(deny.args(["check", "--hide-inclusion-graph", "licenses", "bans", "sources"])),
        None => Outcome::NotRun(TOOL.into()),
    }
}

/// Advisories, if their database can be had: it is fetched anew, and nothing is compared with an old one.
pub fn advisories() -> Outcome {
    let (Some(mut fetch), Some(mut deny)) = (tools::cargo_deny(), tools::cargo_deny()) else {
        return Outcome::NotRun(TOOL.into());
    };
    match fetch.args(["fetch", "db"]).current_dir(root()).stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => {
            of(deny.args(["check", "--disable-fetch", "--hide-inclusion-graph", "advisories"]))
        }
        Ok(output) => {
            println!("{}", String::from_utf8_lossy(&output.stderr).trim_end());
            Outcome::NotRun("the RustSec advisory database, which cannot be fetched from github.com".into())
        }
        Err(error) => {
            println!("cargo-deny does not start: {error}");
            Outcome::Failed
        }
    }
}
