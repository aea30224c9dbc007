//! `cargo xtask bench scans [--json OUT] [--scans N] [--held-out N] [--rounds N]`: how exact the poses and weights are that
//! `dermis weights --scans` finds in scans of the bundled body, and how long it takes.
//!
//! Runs the example `scan_bench` of dermis-workflow: scans in poses of the exercise, bone heat at the start, and scans of the walk held out.

use super::machine_line;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints the tables and writes the JSON.
pub fn run(options: &[&str]) -> ExitCode {
    const USAGE: &str = "bench scans takes: [--json OUT] [--scans N] [--held-out N] [--rounds N]";
    let (mut out, mut numbers) = (None, ["31", "6", "5"]);
    let mut rest = options.iter();
    while let Some(&option) = rest.next() {
        let Some(&value) = rest.next() else { return crate::usage::usage(USAGE) };
        let counts = value.parse::<usize>().is_ok_and(|n| (1..=1000).contains(&n));
        match option {
            "--json" => out = Some(PathBuf::from(value)),
            "--scans" if counts => numbers[0] = value,
            "--held-out" if counts => numbers[1] = value,
            "--rounds" if counts => numbers[2] = value,
            _ => return crate::usage::usage(USAGE),
        }
    }
    super::of_example("dermis-workflow", "scan_bench", &numbers, out, print_table)
}

fn print_table(rows: &[Value], machine: &Value) {
    println!("{}.\n", machine_line(machine));
    println!(
        "| weights from | rms | max | mean | of the limb's radius | joints of the body: all, direction, twist | of fingers | where the scan shows them: body, fingers | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    for row in rows.iter().filter(|row| row["weights"].is_string()) {
        println!(
            "| {} | {:.2} mm | {:.0} mm | {:.2} mm | {:.1} % | {} | {:.0} |",
            row["weights"].as_str().unwrap_or("–"),
            1e3 * number(&row["rms"]),
            1e3 * number(&row["max"]),
            1e3 * number(&row["mean"]),
            100.0 * number(&row["mean_of_limb_radius"]),
            angles(&row["angles"]),
            number(&row["seconds"]),
        );
    }
    println!(
        "\n| held-out scans, with weights from | distance | on the skin | joints of the body: all, direction, twist | of fingers | where the scan shows them: body, fingers | seconds |"
    );
    println!("|---|---|---|---|---|---|---|");
    for row in rows.iter().filter(|row| row["held_out"].is_string()) {
        println!(
            "| {} | {:.2} mm | {:.1} % | {} | {:.0} |",
            row["held_out"].as_str().unwrap_or("–"),
            1e3 * number(&row["distance"]),
            100.0 * number(&row["explained"]),
            angles(&row["angles"]),
            number(&row["seconds"]),
        );
    }
}

/// Three cells.
fn angles(of: &Value) -> String {
    if of.is_null() {
        return "– | – | –".into();
    }
    let degrees = |group: &str, part: &str| of[group][part].as_f64().unwrap_or(f64::NAN);
    format!(
        "{:.1}°, {:.1}°, {:.1}° | {:.1}° | {:.1}°, {:.1}°",
        degrees("body", "all"),
        degrees("body", "swing"),
        degrees("body", "twist"),
        degrees("fingers", "all"),
        degrees("body_shown", "all"),
        degrees("fingers_shown", "all"),
    )
}
