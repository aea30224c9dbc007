//! `cargo xtask bench evaluate [--json OUT] [--quick]`: vertices per second of every model, beside NumPy, SciPy, libigl and what
//! memory allows.

use super::driver::{self, Limits, Options, short, threads};
use super::fail;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Vertices, and vertices of which nothing fits into caches.
const SIZES: (&str, &str) = ("100000", "2000000");
const QUICK: (&str, &str) = ("2000", "4000");
/// Largest distance of a rival's positions from ours, metres: the creature is two metres high, a rounding is 1e-7.
const OFF: f64 = 1e-5;

/// Prints the tables and writes the JSON.
pub fn run(options: &[&str]) -> ExitCode {
    let options = match Options::parse(options) {
        Ok(options) => options,
        Err(mistake) => return crate::usage::usage(&mistake),
    };
    match bench(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => fail(&reason),
    }
}

fn bench(options: &Options) -> Result<(), String> {
    let limits = Limits::measure(options.quick)?;
    let (vertices, many) = if options.quick { QUICK } else { SIZES };
    let folder = driver::arrays("evaluate");
    let folder = folder.to_string_lossy();
    let quick: &[&str] = if options.quick { &["--quick"] } else { &[] };
    let mut rows = Vec::new();
    for arguments in [&["evaluate", vertices, "--arrays", &folder][..], &["evaluate", many, "--large"]] {
        let Value::Array(more) = driver::dermis_bench(&[arguments, quick].concat())? else {
            return Err("dermis-bench gives no table".into());
        };
        rows.extend(more);
        eprintln!("{} vertices: done", arguments[1]);
    }
    let rivals = driver::python(options.quick)
        .and_then(|python| driver::script(&python, "evaluate_rivals.py", &[&[&*folder], quick].concat()));
    limits.print(options.quick);
    print_rows(&rows, &limits);
    match &rivals {
        Ok(rivals) => print_rivals(rivals, vertices),
        Err(reason) => println!("NOT RUN: NumPy, SciPy, libigl: {reason}"),
    }
    let rivals = rivals.unwrap_or_default();
    let report = json!({
        "machine": limits.machine, "limits": limits.measured, "quick": options.quick, "rows": rows, "rivals": rivals,
    });
    driver::write(options.json.as_deref(), &report)?;
    let mut rows = rivals["rows"].as_array().into_iter().flatten();
    match rows.find(|row| row["largest_distance"].as_f64().is_none_or(|distance| distance > OFF)) {
        Some(row) => Err(format!("{} is {} m from us", row["program"], row["largest_distance"])),
        None => Ok(()),
    }
}

/// One line per model and size, a pair of columns per number of threads.
fn print_rows(rows: &[Value], limits: &Limits) {
    let mut counts: Vec<&Value> = rows.iter().map(|row| &row["threads"]).collect();
    counts.sort_by_key(|count| count.as_u64());
    counts.dedup();
    let columns: Vec<_> = counts.iter().map(|c| format!("{0}: 1e6/s | of the limit, {0}", threads(c))).collect();
    println!(
        "| model | vertices | output | bytes per vertex | limit, {}: 1e6/s | {} |",
        threads(counts[0]),
        columns.join(" | ")
    );
    println!("|---|---|---|---|---|{}", "---|".repeat(2 * counts.len()));
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    for row in rows.iter().filter(|row| row["threads"] == *counts[0]) {
        let cells = counts.iter().map(|count| {
            let same = |other: &&Value| {
                ["model", "vertices", "what"].iter().all(|key| other[key] == row[key]) && other["threads"] == **count
            };
            let rate = rows.iter().find(same).map_or(f64::NAN, |row| number(&row["vertices_per_s"]));
            let share = rate * number(&row["bytes_per_vertex"]) / limits.rate("triad_bytes_per_s", count);
            format!("{} | {share:.2}", short(rate / 1e6))
        });
        let limit = limits.rate("triad_bytes_per_s", counts[0]) / number(&row["bytes_per_vertex"]);
        println!(
            "| {} | {} | {} | {:.0} | {} | {} |",
            row["model"].as_str().unwrap_or("?"),
            row["vertices"],
            row["what"].as_str().unwrap_or("?"),
            number(&row["bytes_per_vertex"]),
            short(limit / 1e6),
            cells.collect::<Vec<_>>().join(" | "),
        );
    }
    println!(
        "\nBest run of a second, 60 bones, single precision, a new pose every run. Bytes: the model's arrays as they are stored, the rest position and"
    );
    println!(
        "the position. The limit is the triad's bandwidth over these bytes; what fits into caches can be faster.\n"
    );
}

fn print_rivals(rivals: &Value, vertices: &str) {
    let list = |key: &str| {
        let names: Vec<&str> = rivals[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        names.join(", ")
    };
    println!(
        "Linear blend skinning with 4 influences by others, one thread, {vertices} vertices. {}.\n",
        list("versions")
    );
    println!("| program | 1e6/s | largest distance from ours, m |");
    println!("|---|---|---|");
    for row in rivals["rows"].as_array().into_iter().flatten() {
        let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
        println!(
            "| {} | {} | {:.0e} |",
            row["program"].as_str().unwrap_or("?"),
            short(number("vertices_per_s") / 1e6),
            number("largest_distance")
        );
    }
    if !list("missing").is_empty() {
        println!("\nNOT RUN: {}", list("missing"));
    }
}
