//! `cargo xtask bench prior EXAMPLES HOLD_OUT [EXAMPLES HOLD_OUT ...] [--draws N] [--json OUT]`: what the bundled body is worth as a prior
//! of other characters.
//!
//! Runs the example `prior_bench` of dermis-workflow.

use super::{Table, print_tables};
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

const TABLES: [Table; 1] = [(
    "prior",
    "Poses drawn at random, with the bundled body as a prior and without, held out",
    &[
        ("set", "examples", 0),
        ("poses", "poses", 0),
        ("draws", "draws", 0),
        ("taken", "prior taken", 0),
        ("with", "with it, rms, mm", 3),
        ("without", "without, rms, mm", 3),
        ("alone", "the prior alone, rms, mm", 3),
        ("ratio", "with over without", 3),
        ("worst", "in the worst draw", 3),
    ],
)];

/// Prints the table and writes the JSON.
pub fn run(options: &[&str]) -> ExitCode {
    let (options, out) = match options {
        [options @ .., "--json", out] => (options, Some(PathBuf::from(out))),
        options => (options, None),
    };
    let files = options.iter().position(|option| *option == "--draws").unwrap_or(options.len());
    if files < 2 || files % 2 != 0 || !matches!(options.len() - files, 0 | 2) {
        return crate::usage::usage(
            "bench prior takes: EXAMPLES HOLD_OUT [EXAMPLES HOLD_OUT ...] [--draws N] [--json OUT]",
        );
    }
    super::of_example("dermis-workflow", "prior_bench", options, out, |rows: &[Value], machine| {
        print_tables(&TABLES, rows, machine);
    })
}
