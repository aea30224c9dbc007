//! `cargo xtask bench WHAT ...`: tables of error and time with rivals measured in the same run, as Markdown and JSON.

mod artist;
mod confidence;
mod crowd;
mod decompose;
mod driver;
mod evaluate;
mod fit;
mod inverse;
mod neural;
mod prior;
mod rig;
mod scans;
mod secondary;
mod suggest;
mod transfer;
mod viewer;

use crate::workspace::{cargo, root};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Runs a bench by name.
pub fn run(arguments: &[&str]) -> ExitCode {
    match arguments {
        ["confidence", options @ ..] => confidence::run(options),
        ["crowd", options @ ..] => crowd::run(options),
        ["decompose", folder, options @ ..] => decompose::run(folder, options),
        ["evaluate", options @ ..] => evaluate::run(options),
        ["fit", options @ ..] => fit::run(options),
        ["inverse", options @ ..] => inverse::run(options),
        ["loop", options @ ..] => artist::run(options),
        ["neural", folder, options @ ..] => neural::run(folder, options),
        ["rig", options @ ..] => rig::run(options),
        ["scans", options @ ..] => scans::run(options),
        ["secondary", options @ ..] => secondary::run(options),
        ["suggest", options @ ..] => suggest::run(options),
        ["prior", options @ ..] => prior::run(options),
        ["transfer", options @ ..] => transfer::run(options),
        ["viewer", options @ ..] => viewer::run(options),
        _ => crate::usage::usage(
            "bench needs: confidence FOLDER [--json OUT], crowd [--json OUT] [--instances N] [--rounds N], decompose DIR [--json OUT] [--seeds N], evaluate [--json OUT] [--quick] [--ozz DIR], fit [--json OUT] [--quick], inverse [--json OUT], loop [DIR] [--json OUT] [--steps N] [--method NAME], neural DIR [--json OUT] [--poses N,...], prior EXAMPLES HOLD_OUT ... [--draws N] [--json OUT], python [--json OUT], rig [DIR] [--json OUT], scans [--json OUT] [--scans N] [--held-out N] [--rounds N], secondary FOLDER [--seed N] [--json OUT], suggest [DIR] [--json OUT] [--draws N] [--starts N], transfer FOLDER [--json OUT], or viewer [--json OUT] [--vertices N] [--quick]",
        ),
    }
}

/// What a figure of time depends on.
fn machine() -> Value {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let says = |program: &str, arguments: &[&str]| {
        let output =
            Command::new(program).args(arguments).current_dir(root()).output().ok().filter(|o| o.status.success());
        output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
    };
    let changed = says("git", &["status", "--porcelain"]).is_some_and(|text| !text.is_empty());
    let file = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    // One line per cache of the first core: level, type, size.
    let caches: Vec<String> = (0..8)
        .filter_map(|index| {
            let part = |name| file(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}"));
            Some(format!("L{} {} {}", part("level")?, part("type")?, part("size")?))
        })
        .collect();
    let memory = file("/proc/meminfo").and_then(|text| {
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok())
    });
    json!({
        "processor": model.map_or("unknown", |(_, name)| name.trim()),
        "threads": std::thread::available_parallelism().map_or(1, usize::from),
        "system": std::env::consts::OS,
        "kernel": file("/proc/sys/kernel/osrelease"),
        "caches": caches,
        "memory_bytes": memory.map(|kilobytes| 1024 * kilobytes),
        "rustc": says("rustc", &["--version"]),
        "date": says("date", &["-u", "+%F"]),
        "commit": says("git", &["rev-parse", "--short=12", "HEAD"]),
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

/// Runs an example that prints a JSON value a line, shows these rows as a table and writes them. Fails with the first row that has an `error`.
fn of_example(
    package: &str,
    example: &str,
    arguments: &[&str],
    out: Option<PathBuf>,
    print_table: impl Fn(&[Value], &Value),
) -> ExitCode {
    let mut command = cargo("run");
    command.args(["--quiet", "--release", "--package", package, "--example", example, "--"]).args(arguments);
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

/// Prints the reason and fails.
fn fail(reason: &str) -> ExitCode {
    eprintln!("error: {reason}");
    ExitCode::FAILURE
}

/// A table: its name among the rows, its title, and key, title and digits of its columns.
type Table = (&'static str, &'static str, &'static [(&'static str, &'static str, usize)]);

/// Prints tables as Markdown, those with rows.
fn print_tables(tables: &[Table], rows: &[Value], machine: &Value) {
    println!("{}", machine_line(machine));
    for &(name, title, columns) in tables {
        let own: Vec<&Value> = rows.iter().filter(|row| row["table"] == name).collect();
        if own.is_empty() {
            continue;
        }
        println!("\n{title}\n");
        let titles: Vec<&str> = columns.iter().map(|(_, title, _)| *title).collect();
        println!("| {} |\n|{}", titles.join(" | "), "---|".repeat(columns.len()));
        for row in own {
            let cells: Vec<String> = columns.iter().map(|(key, _, digits)| cell(&row[key], *digits)).collect();
            println!("| {} |", cells.join(" | "));
        }
    }
}

fn cell(value: &Value, digits: usize) -> String {
    match value {
        Value::Number(number) => format!("{:.digits$}", number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => text.clone(),
        _ => String::new(),
    }
}
