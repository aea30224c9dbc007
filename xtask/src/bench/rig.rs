//! `cargo xtask bench rig [DIR] [--json OUT]`: how far joints that `dermis rig` finds are from those of an artist, and how long it takes.
//!
//! Runs the example `rig_bench` of dermis-workflow: the bundled body, the characters of DIR (`human_male`, `fox`, `quaternius_wolf`),
//! bodies made of capsules, and 50 damaged meshes. Errors are shares of the limb that a joint belongs to.

use super::machine_line;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints the table and writes the JSON.
pub fn run(options: &[&str]) -> ExitCode {
    let (mut folder, mut out) = (None, None);
    let mut rest = options.iter();
    while let Some(&option) = rest.next() {
        match option {
            "--json" => match rest.next() {
                Some(path) => out = Some(PathBuf::from(path)),
                None => return crate::usage::usage("bench rig takes: [DIR] [--json OUT]"),
            },
            path if folder.is_none() && !path.starts_with('-') => folder = Some(path),
            _ => return crate::usage::usage("bench rig takes: [DIR] [--json OUT]"),
        }
    }
    super::of_example("dermis-workflow", "rig_bench", folder.as_slice(), out, print_table)
}

fn print_table(rows: &[Value], machine: &Value) {
    println!("{}.\n", machine_line(machine));
    println!(
        "| character | triangles | joints | mean error, % of the limb | worst | bones outside, % of the size | seconds |"
    );
    println!("|---|---|---|---|---|---|---|");
    for row in rows.iter().filter(|row| row["mean"].is_number()) {
        let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
        println!(
            "| {} | {} | {} | {:.1} | {:.1} ({}) | {:.1} | {:.1} |",
            row["character"].as_str().unwrap_or("–"),
            row["triangles"],
            row["joints"],
            100.0 * number("mean"),
            100.0 * number("worst"),
            row["worst_joint"].as_str().unwrap_or("–"),
            100.0 * number("outside"),
            number("seconds"),
        );
    }
    for row in rows.iter().filter(|row| row["variants"].is_number()) {
        println!(
            "\n{} of {} damaged meshes are rigged, {} with weights that sum to one at every vertex; bones are outside by {:.1} % of the size at most. Reasons of the others: {}.",
            row["rigs"],
            row["variants"],
            row["with_whole_weights"],
            100.0 * row["outside"].as_f64().unwrap_or(f64::NAN),
            row["reasons"]
        );
    }
}
