//! `cargo xtask bench inverse [--json OUT]`: how many calls of a deformer its inverse takes, what remains, and how long it takes.
//!
//! Runs the example `inverse_bench` of dermis-fit, which makes its own arm in two sizes and needs no data.

use super::machine_line;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints the table and writes the JSON.
pub fn run(options: &[&str]) -> ExitCode {
    let out = match *options {
        [] => None,
        ["--json", path] => Some(PathBuf::from(path)),
        _ => return crate::usage::usage(&format!("\"{}\" is not understood here", options.join(" "))),
    };
    super::of_example("dermis-fit", "inverse_bench", &[], out, print_table)
}

fn print_table(rows: &[Value], machine: &Value) {
    println!("{}.\n", machine_line(machine));
    println!("| deformer | method | vertices | calls | largest residual | unresolved | seconds |");
    println!("|---|---|---|---|---|---|---|");
    for row in rows {
        let text = |key: &str| row[key].as_str().unwrap_or("–").to_owned();
        let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
        println!(
            "| {} | {} | {} | {} | {:.0e} | {} | {:.2} |",
            text("deformer"),
            text("method"),
            row["vertices"],
            row["calls"],
            number("largest_residual"),
            match number("unresolved") {
                0.0 => "0".to_owned(),
                share => format!("{:.3} %", 100.0 * share),
            },
            number("seconds"),
        );
    }
    println!(
        "\nCalls are whole-mesh calls, those for measuring and checking included. Residuals are in parts of the rest diagonal."
    );
}
