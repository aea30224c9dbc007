//! `cargo xtask bench secondary FOLDER [--seed N] [--json OUT]`: what learnt springs leave of skins that swing, on clips left out.
//!
//! Runs the example `secondary_bench` of dermis-workflow over the characters in FOLDER.

use super::{Table, print_tables};
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

const TABLES: [Table; 3] = [
    (
        "characters",
        "Clips left out, of what a perfect model of poses leaves",
        &[
            ("character", "character", 0),
            ("vertices", "vertices", 0),
            ("clips", "clips seen", 0),
            ("frames", "frames seen", 0),
            ("left", "left out", 3),
            ("expected", "expected of training", 3),
            ("training", "training", 3),
            ("kept", "kept", 0),
            ("coupling", "coupling, 1/s² (planted 329)", 0),
            ("seconds", "learnt in s", 0),
            ("frame", "ms a frame", 3),
        ],
    ),
    ("clips", "Each of them", &[("character", "character", 0), ("clip", "clip", 0), ("left", "left out", 3)]),
    (
        "chains",
        "Springs of chains of bones on clips left out in turn, of what the chain at rest leaves",
        &[
            ("character", "character", 0),
            ("damping", "damping ratio", 2),
            ("chain", "first bone", 0),
            ("bones", "bones", 0),
            ("clips", "clips", 0),
            ("frames", "frames", 0),
            ("swing", "rms swing, m", 4),
            ("training", "training", 3),
            ("left", "left out", 3),
            ("worst", "worst", 3),
            ("worst_clip", "in", 0),
            ("stiffness", "stiffness", 3),
            ("drag", "drag", 3),
            ("gravity", "gravity", 3),
            ("seconds", "learnt in s", 1),
        ],
    ),
];

/// Prints the tables and writes the JSON.
pub fn run(options: &[&str]) -> ExitCode {
    let (folder, options) = match options {
        [folder, options @ ..] if !folder.starts_with("--") => (folder, options),
        _ => return crate::usage::usage("bench secondary takes: FOLDER [--seed N] [--json OUT]"),
    };
    let (seed, out) = match options {
        [] => ("0", None),
        ["--json", out] => ("0", Some(PathBuf::from(out))),
        ["--seed", seed] => (*seed, None),
        ["--seed", seed, "--json", out] => (*seed, Some(PathBuf::from(out))),
        _ => return crate::usage::usage("bench secondary takes: FOLDER [--seed N] [--json OUT]"),
    };
    super::of_example("dermis-workflow", "secondary_bench", &[folder, seed], out, |rows: &[Value], machine| {
        print_tables(&TABLES, rows, machine);
    })
}
