//! `cargo xtask bench neural FOLDER [--json OUT] [--poses N,N,...]`: the joint model beside neural and linear corrections.
//!
//! tools/neural_rivals.py trains networks as in Unreal's and Maya's deformers, FDDA, and pose blend shapes on the examples that the
//! joint model is fitted to, in an environment below target/tools with NumPy. The sets are the bundled body and those of
//! [`accuracy`](crate::accuracy) that FOLDER holds, with those that it plants. With `--poses` both are also fitted to fewer poses.

use super::driver::{self, short};
use super::{fail, machine, machine_line};
use crate::accuracy::{Set, planted_sets, rig_of, sets};
use crate::workspace::{Build, dermis};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Methods of the script, and what they are called.
const RIVALS: [(&str, &str); 5] = [
    ("global", "global network (Unreal, Maya)"),
    ("local", "local networks (Unreal)"),
    ("fdda", "FDDA-like"),
    ("smpl", "SMPL-style linear"),
    ("star", "the same, local"),
];
/// Sets of which a method is measured, by the beginning of their titles.
const MEASURED: [&str; 7] = [
    "body, muscles",
    "human, sculpted muscles: exercise",
    "human, flesh simulation",
    "fox, flesh simulation: random and Survey",
    "wolf, corrective smoothing: all but",
    "tentacle that sags",
    "soft fox that sags",
];
/// Random poses of the stress test.
const STRESS: &str = "200";

/// Prints the tables and writes the JSON.
pub fn run(folder: &str, options: &[&str]) -> ExitCode {
    let (mut out, mut poses) = (None, None);
    for pair in options.chunks(2) {
        match *pair {
            ["--json", path] => out = Some(PathBuf::from(path)),
            ["--poses", list] => poses = Some(list),
            _ => return crate::usage::usage(&format!("\"{}\" is not understood here", pair.join(" "))),
        }
    }
    match bench(folder, poses, out.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => fail(&reason),
    }
}

fn bench(folder: &str, poses: Option<&str>, out: Option<&Path>) -> Result<(), String> {
    let program = dermis(Build::Release).ok_or("the program does not build")?;
    let python = driver::python(false)?;
    let mut rows = Vec::new();
    let measured = |set: &Set| MEASURED.iter().any(|title| set.0.starts_with(title));
    let planted = planted_sets(Some(folder))?.into_iter().filter(|set| set.1);
    let planted = planted.map(|(name, _, train, test)| match name {
        "body" => ("body, planted products", train, test),
        _ => ("human, planted products", train, test),
    });
    for set in sets(Some(folder)).into_iter().filter(measured).chain(planted) {
        let row = measure(&program, &python, &set, poses).map_err(|reason| format!("{}: {reason}", set.0))?;
        eprintln!("{}: done", set.0);
        rows.push(row);
    }
    print(&rows);
    if let Some(counts) = poses {
        print_curves(&rows, counts);
    }
    driver::write(out, &json!({ "machine": machine(), "sets": rows }))
}

/// A set: what the program says, and what the script says.
fn measure(program: &Path, python: &Path, set: &Set, poses: Option<&str>) -> Result<Value, String> {
    let (title, train, held_out) = set;
    let (rig, train, held_out) = (rig_of(train), train.to_string_lossy(), held_out.to_string_lossy());
    let model = driver::arrays("neural.dermis");
    let made = model.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.map_err(|error| format!("{}: {error}", model.display()))?;
    let examples = ["--examples", &train, "--hold-out", &held_out, "--json", "--quiet"];
    let mut fit = Command::new(program);
    fit.arg("fit").arg(&rig).args(examples).args(["--threads", "1", "--force", "-o"]).arg(&model);
    let ours = driver::json_of(&mut fit)?;
    let mut stress = Command::new(program);
    let stress = driver::json_of(stress.arg("eval").arg(&model).args(["--stress", STRESS, "--json", "--quiet"]))?;
    let rivals = driver::script(python, "neural_rivals.py", &[&train, &held_out, "--json"])?;
    let curve = match poses {
        None => Value::Null,
        Some(counts) => {
            let mut compare = Command::new(program);
            compare.arg("compare").arg(&rig).args(examples).args([
                "--counts",
                counts,
                "--methods",
                "own-weights,joint",
            ]);
            let fewer = driver::script(python, "neural_rivals.py", &[&train, &held_out, "--json", "--poses", counts])?;
            json!({ "ours": driver::json_of(&mut compare)?["points"], "rivals": fewer["runs"] })
        }
    };
    let of_weights = ours["baseline"]["error"]["max"].as_f64().ok_or("the program printed no error of the weights")?;
    let largest = ours["held_out"]["max"].as_f64().ok_or("the program printed no held-out error")? / of_weights;
    Ok(json!({
        "set": title,
        "ours": {
            "ratio": ours["ratio"],
            "largest_ratio": largest,
            "fit_seconds": ours["seconds"],
            "model_bytes": ours["model_bytes"],
            "bounded": stress["stress"]["passed"],
        },
        "rivals": rivals["runs"][0],
        "curve": curve,
    }))
}

/// A figure of a rival.
fn of_rival<'a>(run: &'a Value, method: &str, key: &str) -> &'a Value {
    let methods = run["methods"].as_array().into_iter().flatten();
    methods.into_iter().find(|row| row["method"] == method).map_or(&Value::Null, |row| &row[key])
}

fn number(value: &Value, scale: f64) -> String {
    value.as_f64().map_or_else(|| "–".into(), |x| short(x * scale))
}

fn print(rows: &[Value]) {
    println!("{}. One thread.\n", machine_line(&machine()));
    let names: Vec<&str> = RIVALS.iter().map(|(_, name)| *name).collect();
    let table = |title: &str, ours: &dyn Fn(&Value) -> String, rival: &dyn Fn(&Value, &str) -> String| {
        println!("{title}\n\n| set | Dermis | {} |\n|---|---{}|", names.join(" | "), "|---".repeat(names.len()));
        for row in rows {
            let cells: Vec<String> = RIVALS.iter().map(|(method, _)| rival(&row["rivals"], method)).collect();
            println!(
                "| {} | {} | {} |",
                row["set"].as_str().unwrap_or_default(),
                ours(&row["ours"]),
                cells.join(" | ")
            );
        }
        println!();
    };
    let both = |title: &str, key: &str, scale: f64| {
        table(title, &|ours| number(&ours[key], scale), &|run, method| number(of_rival(run, method, key), scale));
    };
    both("Held-out rms over that of the rig's own weights:", "ratio", 1.0);
    both("The largest held-out error over that of the rig's own weights:", "largest_ratio", 1.0);
    table(
        "Seconds of the fit; for rivals those of the fit and, in brackets, of the choice of their settings. Dermis makes its choices in the fit:",
        &|ours| number(&ours["fit_seconds"], 1.0),
        &|run, method| {
            let seconds = |key| number(of_rival(run, method, key), 1.0);
            format!("{} (+ {})", seconds("fit_seconds"), seconds("choose_seconds"))
        },
    );
    both("Megabytes of the model; a rival's is that of one network of three:", "model_bytes", 1e-6);
    table(
        "The largest correction of a vertex in random poses of up to 120 degrees over its largest in training, the 99.9th percentile and the largest over vertices. Dermis is bounded by 1.5 of the residual, which `dermis eval --stress` checks:",
        &|ours| if ours["bounded"] == true { "≤ 1.5".into() } else { "not bounded".into() },
        &|run, method| {
            let of = |key| number(of_rival(run, method, key), 1.0);
            format!("{}, {}", of("stress_p999"), of("stress_max"))
        },
    );
}

fn print_curves(rows: &[Value], counts: &str) {
    println!("Held-out ratio by number of poses. Dermis: mean of three random draws; rivals: poses evenly spread.\n");
    let names: Vec<&str> = RIVALS.iter().map(|(_, name)| *name).collect();
    println!("| set | poses | Dermis | {} |\n|---|---|---{}|", names.join(" | "), "|---".repeat(names.len()));
    for row in rows {
        for count in counts.split(',').filter_map(|count| count.parse::<u64>().ok()) {
            let points = row["curve"]["ours"].as_array().into_iter().flatten();
            let ours = points.into_iter().find(|point| point["poses"] == count && point["method"] == "joint");
            let runs = row["curve"]["rivals"].as_array().into_iter().flatten();
            let Some(run) = runs.into_iter().find(|run| run["poses"] == count) else { continue };
            let cells: Vec<String> =
                RIVALS.iter().map(|(method, _)| number(of_rival(run, method, "ratio"), 1.0)).collect();
            let ours = number(ours.map_or(&Value::Null, |point| &point["ratio"]), 1.0);
            println!("| {} | {count} | {ours} | {} |", row["set"].as_str().unwrap_or_default(), cells.join(" | "));
        }
    }
    println!();
}
