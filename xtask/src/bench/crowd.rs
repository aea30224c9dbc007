//! `cargo xtask bench crowd [--json OUT] [--instances N] [--rounds N]`: instances per second of a crowd of the bundled body, at the
//! levels of `dermis crowd`, beside the same instances all by linear blending and all by the full model.
//!
//! Every instance plays the walk from a time of its own. The three runs take turns, so that whatever else the machine does slows all;
//! the best of the rounds counts. What is measured is `posing_seconds` of `dermis crowd --json`: pose and skin of every instance, no
//! picture, no file.

use super::{fail, machine, machine_line};
use crate::workspace::{Build, dermis, root};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// What is run: a name, and the levels.
const CASES: [(&str, &[&str]); 4] = [
    ("levels as they are by default", &[]),
    ("plain linear blending", &["--full-within", "0", "--blended-within", "1e9"]),
    ("the full model for all", &["--full-within", "1e9", "--blended-within", "1e9"]),
    ("shared poses for all", &["--full-within", "0", "--blended-within", "0"]),
];

/// Runs the bench.
pub fn run(arguments: &[&str]) -> ExitCode {
    const USAGE: &str = "bench crowd takes: [--json OUT] [--instances N] [--rounds N]";
    let (mut out, mut instances, mut rounds) = (None, 10_000, 3);
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        let value = rest.next();
        let number = value.and_then(|n| n.parse::<u64>().ok()).filter(|n| (1..=1_000_000).contains(n));
        match (argument, value, number) {
            ("--json", Some(path), _) => out = Some(PathBuf::from(path)),
            ("--instances", _, Some(n)) => instances = n,
            ("--rounds", _, Some(n)) => rounds = n,
            _ => return crate::usage::usage(USAGE),
        }
    }
    let Some(program) = dermis(Build::Release) else { return fail("the program does not build") };
    match measure(&program, instances, rounds) {
        Err(reason) => fail(&reason),
        Ok(rows) => {
            let machine = machine();
            println!("{}. {instances} instances of the bundled body, one frame.\n", machine_line(&machine));
            println!(
                "| | instances per second | of plain blending | skins | full / blended / shared |\n|---|---|---|---|---|"
            );
            let rate = |row: &Value| row["instances_per_second"].as_f64().unwrap_or(f64::NAN);
            for row in &rows {
                let count = |key: &str| -> Vec<u64> {
                    let levels = row["levels"].as_array().into_iter().flatten();
                    levels.map(|level| level[key].as_u64().unwrap_or(0)).collect()
                };
                let shown: Vec<String> = count("instances").iter().map(u64::to_string).collect();
                println!(
                    "| {} | {:.0} | {:.2} | {} | {} |",
                    row["case"].as_str().unwrap_or_default(),
                    rate(row),
                    rate(row) / rate(&rows[1]),
                    count("skins").iter().sum::<u64>(),
                    shown.join(" / ")
                );
            }
            let stored = json!({"machine": machine, "rows": rows});
            match out.map(|path| std::fs::write(&path, stored.to_string())) {
                Some(Err(error)) => fail(&error.to_string()),
                _ => ExitCode::SUCCESS,
            }
        }
    }
}

/// The best round of every case.
fn measure(program: &Path, instances: u64, rounds: u64) -> Result<Vec<Value>, String> {
    let folder = root().join("target/bench-crowd");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let body = root().join("assets/body");
    let dermis = |arguments: &[&str]| -> Result<Value, String> {
        let output = Command::new(program).args(arguments).current_dir(&folder).stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("dermis {}: {}", arguments.join(" "), output.status));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
    };
    let rig = body.join("body_exercise.npz").display().to_string();
    let walk = body.join("body.glb").display().to_string() + "#walk";
    dermis(&["fit", &rig, "--examples", &rig, "--folds", "0", "-o", "body.dermis", "--force", "--json"])?;
    let instances = instances.to_string();
    let mut best: Vec<Option<Value>> = vec![None; CASES.len()];
    for _ in 0..rounds {
        for ((name, levels), best) in CASES.iter().zip(&mut best) {
            let all = ["crowd", "body.dermis", "--motion", &walk, "--instances", &instances, "-o", "crowd.npz"];
            let mut found = dermis(&[&all[..], levels, &["--force", "--json"]].concat())?;
            found["case"] = (*name).into();
            let seconds = |value: &Value| value["posing_seconds"].as_f64().unwrap_or(f64::INFINITY);
            if best.as_ref().is_none_or(|best| seconds(&found) < seconds(best)) {
                *best = Some(found);
            }
        }
    }
    Ok(best.into_iter().flatten().collect())
}
