//! `cargo xtask accuracy [FOLDER]`: the tables of docs/accuracy.md, as Markdown; with `--options` the table of
//! docs/joint-model.md.
//!
//! On the bundled body always; on the characters of FOLDER for those files of [`SETS`] it holds. Every row is what
//! `dermis compare --json` prints, or `dermis fit --json`. `--planted` makes sets whose bulges are products of neighbouring joints, and
//! sums, and prints what products of joints change on them.

use crate::workspace::{Build, cargo, dermis, root};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The methods compared.
const METHODS: [&str; 16] = [
    "own-weights",
    "lbs",
    "dqs",
    "ddm",
    "animation-space",
    "mwe-published",
    "mwe-relative-row",
    "mwe",
    "psd-forward",
    "psd",
    "psd-compiled",
    "eigenskin",
    "pose-blendshapes",
    "rotational-regression",
    "joint-lbs",
    "joint",
];

/// Heading, file with rig and training poses, file with held-out motion; `#` selects records by label.
const SETS: [(&str, &str, &str); 12] = [
    (
        "human, sculpted muscles: exercise → walk",
        "human_male/human_male_exercise_pds.npz",
        "human_male/human_male_walking_a_pds.npz",
    ),
    (
        "human, sculpted muscles: poses of single joints → random poses",
        "human_male/human_male_exercise_pds.npz#!random*",
        "human_male/human_male_exercise_pds.npz#random*",
    ),
    (
        "human, flesh simulation: exercise → walk",
        "human_male/human_male_exercise_sim.npz",
        "human_male/human_male_walking_a_sim.npz",
    ),
    (
        "fox, flesh simulation: random and Survey → Walk",
        "fox/fox_exercise_sim.npz#!Walk*",
        "fox/fox_exercise_sim.npz#Walk*",
    ),
    (
        "fox, flesh simulation: random and Walk → Survey",
        "fox/fox_exercise_sim.npz#!Survey*",
        "fox/fox_exercise_sim.npz#Survey*",
    ),
    (
        "fox, corrective smoothing: random and Walk → Survey",
        "fox/fox_exercise_cs.npz#!Survey*",
        "fox/fox_exercise_cs.npz#Survey*",
    ),
    (
        "wolf, corrective smoothing: all but every other clip frame → those",
        "quaternius_wolf/wolf_exercise_cs.npz#!*#1,*#3,*#5,*#7",
        "quaternius_wolf/wolf_exercise_cs.npz#*#1,*#3,*#5,*#7",
    ),
    (
        "wolf, corrective smoothing: random and Idle → Walk",
        "quaternius_wolf/wolf_exercise_cs.npz#!Walk*",
        "quaternius_wolf/wolf_exercise_cs.npz#Walk*",
    ),
    (
        "arm, flesh simulation: all but the sideways bends → those",
        "toy_arm/arm32x64_exercise_sim.npz#*side0.0",
        "toy_arm/arm32x64_exercise_sim.npz#!*side0.0",
    ),
    (
        "arm, corrective smoothing: all but the sideways bends → those",
        "toy_arm/arm32x64_exercise_cs.npz#*side0.0",
        "toy_arm/arm32x64_exercise_cs.npz#!*side0.0",
    ),
    ("tentacle that sags: exercise → wave", "gravity/tentacle_train.npz", "gravity/tentacle_test.npz"),
    ("soft fox that sags: 51 poses → Run", "gravity/foxg0.0_train.npz", "gravity/foxg0.0_test.npz"),
];

/// Options of the joint model whose effect is shown; the first row is the default.
const VARIANTS: [&[&str]; 8] = [
    &[],
    &["--set", "arc-cosine=off"],
    &["--set", "composites=off"],
    &["--base", "lbs", "--set", "composites=off"],
    &["--mirror", "off"],
    &["--set", "inducing=12"],
    &["--set", "sigma=2"],
    &["--set", "frame=anchor"],
];

/// The character, its training and its held-out motion.
pub type Set = (&'static str, PathBuf, PathBuf);

/// Prints the tables.
pub fn run(folder: Option<&str>) -> ExitCode {
    let Some(program) = dermis(Build::Release) else { return fail("the program does not build") };
    let mut summary = Vec::new();
    for (title, train, held_out) in sets(folder) {
        match table(&program, title, &train, &held_out) {
            Ok(ratios) => summary.push(format!("| {title} | {} |", ratios.join(" | "))),
            Err(reason) => return fail(&format!("{title}: {reason}")),
        }
    }
    println!("### Held-out rms over that of the rig's own weights\n");
    println!("| set | {} |", METHODS.join(" | "));
    println!("|---|{}", "---|".repeat(METHODS.len()));
    summary.iter().for_each(|line| println!("{line}"));
    ExitCode::SUCCESS
}

/// Prints what options of the joint model change: per set the held-out ratio, and the cross-validated error over that of the default.
pub fn options(folder: Option<&str>) -> ExitCode {
    let Some(program) = dermis(Build::Release) else { return fail("the program does not build") };
    let sets = sets(folder);
    println!("held-out rms over that of the rig's own weights (cross-validated rms over that of the default)\n");
    println!("| options | {} |", sets.iter().map(|set| set.0).collect::<Vec<_>>().join(" | "));
    println!("|---|{}", "---|".repeat(sets.len()));
    let mut of_default = vec![f64::NAN; sets.len()];
    for variant in VARIANTS {
        let mut cells = Vec::new();
        for ((title, train, held_out), first) in sets.iter().zip(&mut of_default) {
            match fit(&program, variant, train, held_out) {
                Ok((ratio, validated)) => {
                    if variant.is_empty() {
                        *first = validated;
                    }
                    cells.push(format!("{} ({})", short(ratio), short(validated / *first)));
                }
                Err(reason) => return fail(&format!("{title}, {variant:?}: {reason}")),
            }
        }
        let name = if variant.is_empty() { "(default)".into() } else { format!("`{}`", variant.join(" ")) };
        println!("| {name} | {} |", cells.join(" | "));
    }
    ExitCode::SUCCESS
}

/// Sets whose bulges are products of what neighbouring joints do, and sums, made from the poses of the bundled body and of a character
/// that a folder holds: the character, whether they are products, training and held-out motion.
pub fn planted_sets(folder: Option<&str>) -> Result<Vec<(&'static str, bool, PathBuf, PathBuf)>, String> {
    let body = root().join("assets/body");
    let mut characters = vec![("body", body.join("body_exercise.npz"), body.join("body_walk.npz"))];
    let (_, exercise, walk) = SETS[0];
    if let Some(folder) = folder.map(Path::new).filter(|folder| folder.join(exercise).is_file()) {
        characters.push(("human", folder.join(exercise), folder.join(walk)));
    }
    let mut sets = vec![];
    for (name, exercise, walk) in characters {
        let out = root().join("target/xtask/planted").join(name);
        let mut make = cargo("run");
        make.args(["--quiet", "--release", "--package", "dermis-workflow", "--example", "planted_products", "--"]);
        if !make.arg(exercise).arg(walk).arg(&out).status().is_ok_and(|status| status.success()) {
            return Err("the planted sets were not made".into());
        }
        for (kind, are_products) in [("products", true), ("sums", false)] {
            let file = |part: &str| out.join(format!("{kind}_{part}.npz"));
            sets.push((name, are_products, file("train"), file("test")));
        }
    }
    Ok(sets)
}

/// Prints what products of joints change on them.
pub fn planted(folder: Option<&str>) -> ExitCode {
    let Some(program) = dermis(Build::Release) else { return fail("the program does not build") };
    let sets = match planted_sets(folder) {
        Ok(sets) => sets,
        Err(reason) => return fail(&reason),
    };
    println!("held-out rms over that of the rig's own weights (cross-validated rms, mm)\n");
    println!("| bulges | joint model | without products of joints | factor taken |\n|---|---|---|---|");
    for (name, are_products, train, test) in sets {
        let run = |options: &[&str]| json(Command::new(&program).arg("fit"), &train, &test, options);
        let (with, without) = match (run(&[]), run(&["--set", "products=off"])) {
            (Ok(with), Ok(without)) => (with, without),
            (Err(reason), _) | (_, Err(reason)) => return fail(&reason),
        };
        let cell = |result: &Value| {
            let sweep = result["report"]["sweep"].as_array().into_iter().flatten();
            let least = sweep.filter_map(|p| p["validated_rms"].as_f64()).fold(f64::INFINITY, f64::min);
            format!("{} ({})", short(result["ratio"].as_f64().unwrap_or(f64::NAN)), short(1e3 * least))
        };
        let kind = if are_products { "products" } else { "sums" };
        let eta = with["report"]["products"][0]["eta"].as_f64().unwrap_or(0.0);
        println!("| {kind}, {name} | {} | {} | {eta} |", cell(&with), cell(&without));
    }
    ExitCode::SUCCESS
}

/// The held-out ratio of a joint model, and its least cross-validated error.
fn fit(program: &Path, options: &[&str], train: &Path, held_out: &Path) -> Result<(f64, f64), String> {
    let result = json(Command::new(program).arg("fit"), train, held_out, options)?;
    let sweep = result["report"]["sweep"].as_array().into_iter().flatten();
    let validated = sweep.filter_map(|point| point["validated_rms"].as_f64()).fold(f64::INFINITY, f64::min);
    let ratio = result["ratio"].as_f64().ok_or("the program printed no ratio")?;
    Ok((ratio, validated))
}

/// What the program prints for a verb that fits and scores.
fn json(command: &mut Command, train: &Path, held_out: &Path, more: &[&str]) -> Result<Value, String> {
    let rig = PathBuf::from(train.to_string_lossy().split('#').next().unwrap_or_default());
    command
        .arg(rig)
        .arg("--examples")
        .arg(train)
        .arg("--hold-out")
        .arg(held_out)
        .args(["--json", "--quiet"])
        .args(more);
    let output = command.output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())
}

/// The file of a selection of its records, which holds the rig, too.
pub fn rig_of(examples: &Path) -> PathBuf {
    PathBuf::from(examples.to_string_lossy().split('#').next().unwrap_or_default())
}

/// The bundled body, and the sets that a folder holds.
pub fn sets(folder: Option<&str>) -> Vec<Set> {
    let body = root().join("assets/body");
    let mut sets = vec![("body, muscles: exercise → walk", body.join("body_exercise.npz"), body.join("body_walk.npz"))];
    if let Some(folder) = folder {
        let folder = Path::new(folder);
        for (title, train, held_out) in SETS {
            let file = |part: &str| folder.join(part.split_once('#').map_or(part, |p| p.0));
            if file(train).is_file() && file(held_out).is_file() {
                sets.push((title, folder.join(train), folder.join(held_out)));
            } else {
                println!("NOT RUN: {title}: {} or {} is missing\n", file(train).display(), file(held_out).display());
            }
        }
    }
    sets
}

fn fail(reason: &str) -> ExitCode {
    eprintln!("error: {reason}");
    ExitCode::FAILURE
}

/// One table: a row per method, errors in thousandths of the unit. Result: the ratio of each method.
fn table(program: &Path, title: &str, train: &Path, held_out: &Path) -> Result<Vec<String>, String> {
    let result = json(Command::new(program).arg("compare"), train, held_out, &["--methods", &METHODS.join(",")])?;
    let vertices = result["vertices"].as_f64().unwrap_or(f64::NAN);
    let mut ratios = Vec::new();
    println!("### {title}\n");
    println!(
        "| method | training rms | held-out rms | ratio | 99.9 % | largest | bytes a vertex | fit s | Mvertices/s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for row in result["rows"].as_array().into_iter().flatten() {
        let number = |value: &Value, scale: f64| value.as_f64().map_or_else(|| "–".into(), |x| short(x * scale));
        let (train, held_out) = (&row["train"], &row["held_out"]);
        ratios.push(number(&row["ratio"], 1.0));
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row["method"].as_str().unwrap_or_default(),
            number(&train["rms"], 1e3),
            number(&held_out["rms"], 1e3),
            number(&row["ratio"], 1.0),
            number(&held_out["p999"], 1e3),
            number(&held_out["max"], 1e3),
            number(&row["model_bytes"], 1.0 / vertices),
            number(&row["seconds_fit"], 1.0),
            number(&row["vertices_per_second"], 1e-6),
        );
    }
    println!();
    Ok(ratios)
}

/// Three significant digits.
fn short(x: f64) -> String {
    let digits = if x == 0.0 { 0 } else { (2 - x.abs().log10().floor() as i32).clamp(0, 4) };
    format!("{x:.*}", digits as usize)
}
