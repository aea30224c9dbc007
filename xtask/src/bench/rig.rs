//! `cargo xtask bench rig [DIR] [--json OUT]`: how far joints that `dermis rig` finds are from those of an artist, and how long it takes.
//!
//! Runs the example `rig_bench` of dermis-workflow: the bundled body, the characters of DIR (`human_male`, `fox`, `quaternius_wolf`),
//! bodies made of capsules, and 50 damaged meshes. Errors are shares of the limb that a joint belongs to.

use super::{fail, machine, machine_line};
use crate::workspace::cargo;
use serde_json::{Value, json};
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
    let mut command = cargo("run");
    command.args(["--quiet", "--release", "--package", "dermis-workflow", "--example", "rig_bench", "--"]).args(folder);
    let output = match command.stderr(std::process::Stdio::inherit()).output() {
        Ok(output) if output.status.success() => output,
        _ => return fail("the bench does not build or run"),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Vec<Value> = match text.lines().map(serde_json::from_str).collect() {
        Ok(rows) => rows,
        Err(error) => return fail(&format!("the bench's output: {error}")),
    };
    let machine = machine();
    print_table(&rows, &machine);
    if let Some(out) = out {
        let report = json!({ "machine": machine, "rows": rows });
        if let Err(error) = std::fs::write(&out, format!("{report:#}\n")) {
            return fail(&format!("{}: {error}", out.display()));
        }
    }
    let failed = rows.iter().find_map(|row| row["error"].as_str());
    failed.map_or(ExitCode::SUCCESS, fail)
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
