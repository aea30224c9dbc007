//! `cargo xtask bench evaluate [--json OUT] [--quick] [--ozz DIR]`: vertices per second of every model, beside NumPy, SciPy, libigl,
//! ozz-animation and what memory allows.

use super::driver::{self, Limits, Options, short, threads};
use super::fail;
use crate::workspace::root;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, ExitCode};

/// Vertices, and vertices of which nothing fits into caches.
const SIZES: (&str, &str) = ("100000", "2000000");
const QUICK: (&str, &str) = ("2000", "4000");
/// Largest distance of a rival's positions from ours, metres: the creature is two metres high, a rounding is 1e-7.
const OFF: f64 = 1e-5;

/// Prints the tables and writes the JSON.
pub fn run(options: &[&str]) -> ExitCode {
    let (ozz, others) = match options.iter().position(|option| *option == "--ozz") {
        None => (None, options.to_vec()),
        Some(at) => match options.get(at + 1) {
            Some(checkout) => (Some(Path::new(*checkout)), [&options[..at], &options[at + 2..]].concat()),
            None => return crate::usage::usage("--ozz needs a checkout of ozz-animation"),
        },
    };
    let options = match Options::parse(&others) {
        Ok(options) => options,
        Err(mistake) => return crate::usage::usage(&mistake),
    };
    match bench(&options, ozz) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => fail(&reason),
    }
}

fn bench(options: &Options, ozz: Option<&Path>) -> Result<(), String> {
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
    let ozz = ozz.map(|checkout| ozz_skinning(checkout, &folder, options.quick)).transpose()?;
    limits.print(options.quick);
    print_rows(&rows, &limits);
    match &rivals {
        Ok(rivals) => print_rivals(rivals, vertices),
        Err(reason) => println!("NOT RUN: NumPy, SciPy, libigl: {reason}"),
    }
    match &ozz {
        Some(ozz) => print_ozz(ozz, &rows, vertices),
        None => {
            println!("\nNOT RUN: ozz-animation: --ozz DIR names a checkout of github.com/guillaumeblanc/ozz-animation")
        }
    }
    let (rivals, ozz) = (rivals.unwrap_or_default(), ozz.unwrap_or_default());
    let report = json!({
        "machine": limits.machine, "limits": limits.measured, "quick": options.quick, "rows": rows, "rivals": rivals, "ozz": ozz,
    });
    driver::write(options.json.as_deref(), &report)?;
    let far = |row: &&Value, key: &str| row[key].as_f64().is_none_or(|distance| distance > OFF);
    let mut rows = rivals["rows"].as_array().into_iter().flatten();
    if let Some(row) = rows.find(|row| far(row, "largest_distance")) {
        return Err(format!("{} is {} m from us", row["program"], row["largest_distance"]));
    }
    let mut rows = ozz["rows"].as_array().into_iter().flatten();
    match rows.find(|row| far(row, "largest_distance") || far(row, "normals_distance")) {
        Some(row) => Err(format!("ozz-animation is far from us: {row}")),
        None => Ok(()),
    }
}

/// What ozz-animation does with the same rig: compiled with the system's compiler for this machine.
fn ozz_skinning(checkout: &Path, folder: &str, quick: bool) -> Result<Value, String> {
    let job = checkout.join("src/geometry/runtime/skinning_job.cc");
    if !job.is_file() {
        return Err(format!("{} is no checkout of ozz-animation: it has no {}", checkout.display(), job.display()));
    }
    let program = driver::arrays("ozz_skinning");
    let flags = ["-O3", "-march=native", "-DNDEBUG", "-std=c++17", "-I"];
    let mut compiler = Command::new("c++");
    compiler.args(flags).arg(checkout.join("include")).arg(root().join("tools/ozz_skinning.cpp")).arg(job);
    let status = compiler.arg("-o").arg(&program).status().map_err(|error| format!("c++ does not start: {error}"))?;
    if !status.success() {
        return Err("ozz-animation does not compile".into());
    }
    driver::json_of(Command::new(program).args([folder, if quick { "0.02" } else { "1" }]))
}

/// Its rates beside ours.
fn print_ozz(ozz: &Value, rows: &[Value], vertices: &str) {
    println!(
        "\nLinear blend skinning by ozz-animation's SkinningJob, one thread, {vertices} vertices. Both programs take normals along with the"
    );
    println!("blended matrix and leave their length as it comes.\n");
    println!("| influences | output | ozz-animation, 1e6/s | Dermis, 1e6/s | ratio | largest distance from ours, m |");
    println!("|---|---|---|---|---|---|");
    for row in ozz["rows"].as_array().into_iter().flatten() {
        let what = if row["normals"] == true { "positions and normals by the blended matrix" } else { "positions" };
        let count = row["influences"].as_u64().unwrap_or(0);
        let name = format!("LBS, {count} influence{}", if count == 1 { "" } else { "s" });
        let same = |ours: &&Value| ours["model"] == *name && ours["what"] == what && ours["threads"] == 1;
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let ours = rows.iter().find(same).map_or(f64::NAN, |ours| number(&ours["vertices_per_s"]));
        let theirs = number(&row["vertices_per_s"]);
        let distance = number(&row["largest_distance"]);
        println!(
            "| {count} | {what} | {} | {} | {:.2} | {distance:.0e} |",
            short(theirs / 1e6),
            short(ours / 1e6),
            ours / theirs
        );
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
