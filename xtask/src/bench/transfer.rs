//! `cargo xtask bench transfer FOLDER [--json OUT]`: weights and corrections of a body on clothes, levels of detail and another character.
//!
//! Runs the example `transfer_bench` of dermis-workflow over the garments in FOLDER.

use super::{Table, print_tables};
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

const TABLES: [Table; 5] = [
    (
        "suits",
        "Weights of suits against an artist's binding, millimetres",
        &[
            ("mesh", "suit", 0),
            ("way", "weights by", 0),
            ("rms", "rms where the binding is consistent", 2),
            ("p99", "99 %", 1),
            ("rms_all", "rms everywhere", 2),
            ("p99_all", "99 %", 1),
            ("rough", "rough vertices", 0),
        ],
    ),
    (
        "cloth",
        "Weights of simulated clothes, millimetres",
        &[
            ("mesh", "clothes", 0),
            ("way", "weights by", 0),
            ("rms", "rms", 1),
            ("p99", "99 %", 0),
            ("inside", "% deeper than 2 mm in the true skin", 2),
            ("rough", "rough vertices", 0),
            ("mixed", "of another limb, at most", 2),
        ],
    ),
    (
        "worn",
        "Clothes over the true skin of the bundled body",
        &[
            ("mesh", "suit", 0),
            ("way", "carried by", 0),
            ("inside", "% deeper than 2 mm", 2),
            ("inside_walk", "on the walk alone", 2),
            ("inside_worst", "worst pose", 1),
            ("change", "change of clearance, rms, mm", 2),
            ("seconds", "seconds", 2),
        ],
    ),
    (
        "levels",
        "Levels of detail on the walk, which the model has not seen",
        &[
            ("mesh", "mesh", 0),
            ("vertices", "vertices", 0),
            ("lbs", "linear blending, rms, mm", 2),
            ("ratio", "model over that", 3),
            ("above", "above the body's", 3),
            ("exact", "if carried by pose", 3),
            ("apart", "coefficients from that, over the correction", 3),
        ],
    ),
    (
        "character",
        "Another character, of which the model has seen no example",
        &[
            ("set", "set", 0),
            ("poses", "poses", 0),
            ("way", "counterparts by", 0),
            ("lbs", "linear blending, rms, mm", 2),
            ("base", "base over that", 3),
            ("ratio", "model over that", 3),
        ],
    ),
];

/// Prints the tables and writes the JSON.
pub fn run(options: &[&str]) -> ExitCode {
    let (folder, out) = match options {
        [folder] => (folder, None),
        [folder, "--json", out] => (folder, Some(PathBuf::from(out))),
        _ => return crate::usage::usage("bench transfer takes: FOLDER [--json OUT]"),
    };
    super::of_example("dermis-workflow", "transfer_bench", &[folder], out, |rows: &[Value], machine| {
        print_tables(&TABLES, rows, machine);
    })
}
