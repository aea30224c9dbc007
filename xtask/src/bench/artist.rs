//! `cargo xtask bench loop [DIR] [--json OUT] [--steps N] [--method NAME]`: what local sculpts teach, step by step.
//!
//! Runs `dermis-bench artist`: a simulated artist looks at the model on frames of a motion, sculpts the true skin in
//! a disc where the model is worst, and fits anew. Frames that the artist never saw score. A second row of every method has the
//! discs that `dermis fit --sculpts` asked for, over the rig's own skin.
//!
//! On the bundled body without DIR, on the characters that DIR holds with it (`human_male/*.npz`, `fox/*.npz`,
//! `quaternius_wolf/*.npz`).

use super::{fail, machine, machine_line};
use crate::workspace::{cargo, root};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

/// Title; what the artist looks at; what scores, none for the frames between.
type Set = (&'static str, &'static str, Option<&'static str>);

const BODY: [Set; 2] = [
    ("body, walk", "body_walk.npz", None),
    ("body, exercise → walk", "body_exercise.npz#!rest", Some("body_walk.npz")),
];
const SETS: [Set; 5] = [
    ("human, walk", "human_male/human_male_walking_a_pds.npz", None),
    (
        "human, exercise → walk",
        "human_male/human_male_exercise_pds.npz#!rest",
        Some("human_male/human_male_walking_a_pds.npz"),
    ),
    ("fox, smoothed, Survey", "fox/fox_exercise_cs.npz#Survey*", None),
    ("wolf, smoothed, Idle_2", "quaternius_wolf/wolf_exercise_cs.npz#Idle_2*", None),
    ("fox, flesh, Walk", "fox/fox_exercise_sim.npz#Walk*", None),
];
/// The steps of the table.
const STEPS: [usize; 5] = [1, 3, 6, 12, 16];

/// Runs the bench.
pub fn run(arguments: &[&str]) -> ExitCode {
    const USAGE: &str = "bench loop takes: [DIR] [--json OUT] [--steps N] [--method NAME]";
    let (mut folder, mut out, mut steps, mut method) = (None, None, "12", "");
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        let mut value = || rest.next().copied();
        match argument {
            "--json" | "--steps" | "--method" => match (argument, value()) {
                ("--json", Some(path)) => out = Some(PathBuf::from(path)),
                ("--steps", Some(n)) if n.parse::<usize>().is_ok_and(|n| (1..=100).contains(&n)) => steps = n,
                ("--method", Some(name)) => method = name,
                _ => return crate::usage::usage(USAGE),
            },
            dir if folder.is_none() && !dir.starts_with('-') => folder = Some(PathBuf::from(dir)),
            _ => return crate::usage::usage(USAGE),
        }
    }
    let mut cases: Vec<(Set, PathBuf)> = Vec::new();
    if folder.is_none() {
        cases.extend(BODY.map(|set| (set, root().join("assets/body"))));
    }
    for (set, folder) in folder.iter().flat_map(|folder| SETS.map(|set| (set, folder.clone()))) {
        let there = |source: &str| folder.join(source.split('#').next().unwrap_or(source)).is_file();
        match there(set.1) && set.2.is_none_or(there) {
            true => cases.push((set, folder)),
            false => println!("NOT RUN: {}: its files are not in {}", set.0, folder.display()),
        }
    }
    let machine = machine();
    println!("{}.\n", machine_line(&machine));
    let mut all = Vec::new();
    for (set, folder) in &cases {
        match measure(set, folder, steps, method) {
            Ok(rows) => {
                print_table(set.0, &rows);
                all.push(json!({ "set": set.0, "rows": rows }));
            }
            Err(reason) => return fail(&format!("{}: {reason}", set.0)),
        }
    }
    if let Some(out) = out {
        let report = json!({ "machine": machine, "sets": all });
        if let Err(error) = std::fs::write(&out, format!("{report:#}\n")) {
            return fail(&format!("{}: {error}", out.display()));
        }
    }
    ExitCode::SUCCESS
}

/// A row per step of each method.
fn measure(set: &Set, folder: &Path, steps: &str, method: &str) -> Result<Vec<Value>, String> {
    let source = |source: &str| folder.join(source).display().to_string();
    let look = source(set.1);
    let rig = look.split('#').next().unwrap_or(&look).to_owned();
    let held = set.2.map_or("between".into(), source);
    let mut command = cargo("run");
    command.args(["--quiet", "--release", "--package", "dermis-bench", "--", "artist"]);
    let output = command.args([&rig, &look, &held, steps, method]).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| error.to_string())?;
    match serde_json::from_slice(&output.stdout) {
        Ok(Value::Array(rows)) if !rows.is_empty() => Ok(rows),
        _ => Err("the bench does not build or run, or knows no such method".into()),
    }
}

fn print_table(title: &str, rows: &[Value]) {
    let steps: Vec<usize> =
        STEPS.into_iter().filter(|step| rows.iter().any(|row| row["step"] == *step as u64)).collect();
    let columns = steps.iter().map(|step| format!(" {step} ")).collect::<Vec<_>>().join("|");
    println!("| {title}; discs chosen by |{columns}| whole skin | worst step | sculpts missed by, mm: rms, most |");
    println!("|---|{}---|---|---|", "---|".repeat(steps.len()));
    let name = |row: &Value| (row["method"].to_string(), row["discs"].to_string());
    let mut groups: Vec<Vec<&Value>> = Vec::new();
    for row in rows {
        match groups.last_mut() {
            Some(group) if name(group[0]) == name(row) => group.push(row),
            _ => groups.push(vec![row]),
        }
    }
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    for group in groups {
        let (first, last) = (group[0], group[group.len() - 1]);
        let at = |step: &usize| {
            let row = group.iter().find(|row| row["step"] == *step as u64);
            row.map_or("–".into(), |row| format!("{:.3}", number(row, "sculpted")))
        };
        let worst = group.iter().map(|row| number(row, "change")).fold(f64::NEG_INFINITY, f64::max);
        println!(
            "| {}; {} | {} | {:.3} | {:+.1} % | {:.3}, {:.2} |",
            first["method"].as_str().unwrap_or("–"),
            first["discs"].as_str().unwrap_or("–"),
            steps.iter().map(at).collect::<Vec<_>>().join(" | "),
            number(last, "whole"),
            100.0 * worst,
            1e3 * number(last, "missed_rms"),
            1e3 * number(last, "missed_most"),
        );
    }
    println!();
}
