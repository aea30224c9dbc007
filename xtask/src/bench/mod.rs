//! `cargo xtask bench WHAT ...`: tables of error and time with rivals measured in the same run, as Markdown and JSON.

mod decompose;
mod inverse;
mod suggest;

use crate::root;
use serde_json::{Value, json};
use std::process::{Command, ExitCode};

/// Runs a bench by name.
pub fn run(arguments: &[&str]) -> ExitCode {
    match arguments {
        ["decompose", folder, options @ ..] => decompose::run(folder, options),
        ["inverse", options @ ..] => inverse::run(options),
        ["suggest", options @ ..] => suggest::run(options),
        _ => crate::usage(
            "bench needs: decompose DIR [--json OUT] [--seeds N], inverse [--json OUT], or suggest [DIR] [--json OUT] [--draws N] [--starts N]",
        ),
    }
}

/// What a figure of time depends on.
fn machine() -> Value {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let commit = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).current_dir(root()).output().ok().filter(|o| o.status.success());
        output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
    };
    let changed = commit(&["status", "--porcelain"]).is_some_and(|text| !text.is_empty());
    json!({
        "processor": model.map_or("unknown", |(_, name)| name.trim()),
        "threads": std::thread::available_parallelism().map_or(1, usize::from),
        "system": std::env::consts::OS,
        "commit": commit(&["rev-parse", "--short=12", "HEAD"]),
        "changed_since": changed,
    })
}

/// The machine in a line of Markdown.
fn machine_line(machine: &Value) -> String {
    let commit = machine["commit"].as_str().unwrap_or("unknown");
    let changed = if machine["changed_since"] == true { " with changes" } else { "" };
    format!(
        "{}, {} threads; commit {commit}{changed}",
        machine["processor"].as_str().unwrap_or("unknown"),
        machine["threads"]
    )
}

/// Prints the reason and fails.
fn fail(reason: &str) -> ExitCode {
    eprintln!("error: {reason}");
    ExitCode::FAILURE
}
