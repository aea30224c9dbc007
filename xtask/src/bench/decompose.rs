//! `cargo xtask bench decompose DIR [--json OUT] [--seeds N]`: skinning decomposition beside Dem Bones and the published SSDR.
//!
//! DIR holds bundles with `rest_vertices`, `faces` and `vertices`:
//!
//! - `mesh-sequences/cat-poses.npz` (7207 vertices, 9 frames) and `mesh-sequences/horse-gallop.npz` (8431, 48), the meshes of Sumner &
//!   Popović 2004, "Deformation transfer for triangle meshes", on which the literature reports its errors;
//! - `dembones/bone_anim.npz` (754, 400), the sample data of Electronic Arts' Dem Bones as a bundle.
//!
//! Dem Bones runs through tools/dem_bones.py in an environment below target/tools, which is made with pip.

use super::{fail, machine, machine_line};
use crate::tools;
use crate::workspace::{Build, dermis, root};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A mesh, a number of bones, influences, and what the authors of SSDR published for it: E_RMS of rigid bones, E_RMS and
/// seconds of affine ones. Measured again from their files; their machine is unknown.
struct Case {
    file: &'static str,
    bones: usize,
    influences: usize,
    ssdr_rigid: Option<f64>,
    ssdr_affine: Option<(f64, f64)>,
}

const fn case(file: &'static str, bones: usize, ssdr_rigid: Option<f64>, ssdr_affine: (f64, f64)) -> Case {
    Case { file, bones, influences: 4, ssdr_rigid, ssdr_affine: Some(ssdr_affine) }
}

const fn sample(bones: usize) -> Case {
    Case { file: "dembones/bone_anim.npz", bones, influences: 8, ssdr_rigid: None, ssdr_affine: None }
}

const CAT: &str = "mesh-sequences/cat-poses.npz";
const HORSE: &str = "mesh-sequences/horse-gallop.npz";
const CASES: [Case; 10] = [
    case(CAT, 10, Some(10.92), (7.02, 19.0)),
    case(CAT, 15, Some(5.94), (4.72, 32.0)),
    case(CAT, 20, Some(4.35), (3.45, 49.0)),
    case(CAT, 25, Some(3.08), (2.63, 154.0)),
    case(HORSE, 10, None, (5.65, 80.0)),
    case(HORSE, 20, None, (2.80, 177.0)),
    case(HORSE, 30, None, (1.76, 372.0)),
    sample(5),
    sample(10),
    sample(20),
];

/// Means over seeds, or one run.
#[derive(Clone, Copy)]
struct Score {
    e_rms: f64,
    /// Largest distance of any vertex in parts of the rest diagonal.
    largest: f64,
    seconds: f64,
}

impl Score {
    fn json(&self) -> Value {
        json!({ "e_rms": self.e_rms, "max_of_diagonal": self.largest, "seconds": self.seconds })
    }
}

/// A run with smooth weights: Dem Bones' objective, and seconds.
#[derive(Clone, Copy)]
struct Smooth {
    objective: f64,
    seconds: f64,
}

impl Smooth {
    fn json(&self) -> Value {
        json!({ "objective": self.objective, "seconds": self.seconds })
    }
}

/// Our runs: name, options of the program.
const OURS: [(&str, &[&str]); 4] = [
    ("rigid fast", &["--rigid"]),
    ("rigid quality", &["--rigid", "--quality"]),
    ("affine fast", &["--affine"]),
    ("affine quality", &["--affine", "--quality"]),
];

/// Prints the tables and writes the JSON.
pub fn run(folder: &str, options: &[&str]) -> ExitCode {
    let (mut out, mut seeds) = (None, 4u64);
    for pair in options.chunks(2) {
        match *pair {
            ["--json", path] => out = Some(PathBuf::from(path)),
            ["--seeds", count] => match count.parse() {
                Ok(count) if count > 0 => seeds = count,
                _ => return crate::usage::usage("--seeds needs a number"),
            },
            _ => return crate::usage::usage(&format!("\"{}\" is not understood here", pair.join(" "))),
        }
    }
    let Some(program) = dermis(Build::Release) else { return fail("the program does not build") };
    let python = match tools::dem_bones() {
        Ok(python) => Some(python),
        Err(reason) => {
            println!("NOT RUN: Dem Bones: {reason}\n");
            None
        }
    };
    let machine = machine();
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let mut rows = Vec::new();
    for case in &CASES {
        let file = Path::new(folder).join(case.file);
        if !file.is_file() {
            println!("NOT RUN: {} is missing\n", file.display());
            continue;
        }
        match measure(&program, python.as_deref(), &file, case, seeds, all) {
            Ok(row) => rows.push(row),
            Err(reason) => return fail(&format!("{}, {} bones: {reason}", case.file, case.bones)),
        }
    }
    print_tables(&rows, &machine, seeds);
    if let Some(out) = out {
        let report =
            json!({ "machine": machine, "seeds": seeds, "rows": rows.iter().map(Row::json).collect::<Vec<_>>() });
        if let Err(error) = std::fs::write(&out, format!("{report:#}\n")) {
            return fail(&format!("{}: {error}", out.display()));
        }
    }
    ExitCode::SUCCESS
}

/// Everything measured for a case.
struct Row<'a> {
    case: &'a Case,
    /// One thread, in the order of [`OURS`].
    ours: Vec<Score>,
    /// All threads, rigid and fast.
    ours_threads: Score,
    /// Rigid and fast, one thread, stopped at the error of Dem Bones without regularisers.
    ours_equal: Option<Score>,
    /// Dem Bones without regularisers and with its defaults on one thread, and without on all threads.
    rival: Option<[Score; 3]>,
    /// Rigid bones with smooth weights on one thread: ours, Dem Bones, and Dem Bones with its defaults.
    smooth: Option<[Smooth; 3]>,
    version: String,
}

impl Row<'_> {
    fn json(&self) -> Value {
        let ours: serde_json::Map<_, _> =
            OURS.iter().zip(&self.ours).map(|((name, _), score)| ((*name).into(), score.json())).collect();
        json!({
            "file": self.case.file, "bones": self.case.bones, "influences": self.case.influences,
            "ours_one_thread": ours, "ours_all_threads_rigid_fast": self.ours_threads.json(),
            "ours_one_thread_until_dem_bones_error": self.ours_equal.as_ref().map(Score::json),
            "dem_bones": self.rival.map(|[plain, default, threads]| json!({
                "version": self.version, "plain_one_thread": plain.json(), "default_one_thread": default.json(),
                "plain_all_threads": threads.json(),
            })),
            "smooth_one_thread": self.smooth.map(|[ours, free, default]| json!({
                "ours": ours.json(), "dem_bones": free.json(), "dem_bones_default": default.json(),
            })),
            "ssdr_rigid_e_rms": self.case.ssdr_rigid,
            "ssdr_affine_e_rms": self.case.ssdr_affine.map(|s| s.0), "ssdr_affine_seconds": self.case.ssdr_affine.map(|s| s.1),
        })
    }
}

fn measure<'a>(
    program: &Path,
    python: Option<&Path>,
    file: &Path,
    case: &'a Case,
    seeds: u64,
    all: usize,
) -> Result<Row<'a>, String> {
    let rms_per_e_rms = std::cell::Cell::new(0.0);
    let mean = |options: &[&str], threads: usize| -> Result<Score, String> {
        let runs = (1..=seeds).map(|seed| ours(program, file, case, options, seed, threads));
        let (runs, scales): (Vec<_>, Vec<_>) = runs.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        rms_per_e_rms.set(scales[0]);
        let over = |of: fn(&Score) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        Ok(Score { e_rms: over(|s| s.e_rms), largest: over(|s| s.largest), seconds: over(|s| s.seconds) })
    };
    let mut version = String::new();
    let (mut rival, mut smooth) = (None, None);
    if let Some(python) = python {
        let plain = dem_bones(python, file, case, &["--plain"], 1)?;
        version = plain.version;
        let default = dem_bones(python, file, case, &[], 1)?;
        let threads = dem_bones(python, file, case, &["--plain"], all)?;
        rival = Some([plain.score, default.score, threads.score]);
        let free = dem_bones(python, file, case, &["--smooth"], 1)?;
        smooth = Some([smoothed(program, python, file, case, seeds)?, free.smooth, default.smooth]);
    }
    let scores = OURS.iter().map(|(_, options)| mean(options, 1)).collect::<Result<Vec<_>, _>>()?;
    let ours_equal = match rival {
        None => None,
        Some([plain, ..]) => {
            let stop = (plain.e_rms * rms_per_e_rms.get()).to_string();
            Some(mean(&["--rigid", "--stop-at", &stop], 1)?)
        }
    };
    eprintln!("{} {}: done", case.file, case.bones);
    Ok(Row { case, ours: scores, ours_threads: mean(OURS[0].1, all)?, ours_equal, rival, smooth, version })
}

/// A run of Dem Bones.
struct DemBones {
    score: Score,
    smooth: Smooth,
    version: String,
}

/// Rigid bones with smooth weights, the mean over seeds. The script that runs Dem Bones computes the objective of the file.
fn smoothed(program: &Path, python: &Path, file: &Path, case: &Case, seeds: u64) -> Result<Smooth, String> {
    let mut mean = Smooth { objective: 0.0, seconds: 0.0 };
    for seed in 1..=seeds {
        let (value, out) = decomposed(program, file, case, &["--rigid", "--smoothness"], seed, 1)?;
        let mut command = Command::new(python);
        let scored = json_of(command.arg(root().join("tools/dem_bones.py")).arg(file).arg("--score").arg(&out));
        let _ = std::fs::remove_file(&out);
        let number = |value: &Value| value.as_f64().ok_or("a number is missing in the JSON of a run");
        mean.objective += number(&scored?["objective"])? / seeds as f64;
        mean.seconds += number(&value["seconds"])? / seeds as f64;
    }
    Ok(mean)
}

/// One run of the program, and the bundle it wrote.
fn decomposed(
    program: &Path,
    file: &Path,
    case: &Case,
    options: &[&str],
    seed: u64,
    threads: usize,
) -> Result<(Value, PathBuf), String> {
    let out = std::env::temp_dir().join(format!("dermis-bench-{}.npz", std::process::id()));
    let mut command = Command::new(program);
    command.arg("decompose").arg(file).args(["--json", "--quiet", "--force", "--bones", &case.bones.to_string()]);
    command.args(["--influences", &case.influences.to_string(), "--seed", &seed.to_string()]);
    command.args(["--threads", &threads.to_string()]).args(options).arg("--out").arg(&out);
    let value = json_of(&mut command)?;
    if value["bones"] != json!(case.bones) {
        return Err(format!("{} bones instead of {}: {}", value["bones"], case.bones, value["fewer_because"]));
    }
    Ok((value, out))
}

/// One run of the program, and its rms in metres over its E_RMS. The time is that of the solve, as for the rival.
fn ours(
    program: &Path,
    file: &Path,
    case: &Case,
    options: &[&str],
    seed: u64,
    threads: usize,
) -> Result<(Score, f64), String> {
    let (value, out) = decomposed(program, file, case, options, seed, threads)?;
    let _ = std::fs::remove_file(&out);
    let number = |value: &Value| value.as_f64().ok_or("a number is missing in the program's JSON");
    let e_rms = number(&value["error"]["e_rms"])?;
    let largest = number(&value["error"]["max"])? / number(&value["diagonal"])?;
    let score = Score { e_rms, largest, seconds: number(&value["seconds"])? };
    Ok((score, number(&value["error"]["rms"])? / e_rms))
}

fn dem_bones(python: &Path, file: &Path, case: &Case, options: &[&str], threads: usize) -> Result<DemBones, String> {
    let mut command = Command::new(python);
    command.arg(root().join("tools/dem_bones.py")).arg(file).args(["--bones", &case.bones.to_string()]);
    command.args(["--influences", &case.influences.to_string()]).args(options);
    let value = json_of(command.env("OMP_NUM_THREADS", threads.to_string()))?;
    let number = |value: &Value| value.as_f64().ok_or("a number is missing in the JSON of Dem Bones");
    let seconds = number(&value["seconds"])?;
    Ok(DemBones {
        score: Score {
            e_rms: number(&value["error"]["e_rms"])?,
            largest: number(&value["error"]["max_of_diagonal"])?,
            seconds,
        },
        smooth: Smooth { objective: number(&value["objective"])?, seconds },
        version: value["program"].as_str().unwrap_or("Dem Bones").to_owned(),
    })
}

fn json_of(command: &mut Command) -> Result<Value, String> {
    let output = command.output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())
}

fn print_tables(rows: &[Row<'_>], machine: &Value, seeds: u64) {
    let version = rows.iter().map(|r| r.version.as_str()).find(|v| !v.is_empty()).unwrap_or("Dem Bones: not run");
    println!("{}. Ours: mean of {seeds} seeds. {version}.\n", machine_line(machine));
    let title = |row: &Row<'_>| {
        let name = Path::new(row.case.file).file_stem().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        format!("{name} {}", row.case.bones)
    };
    let cell =
        |score: Option<&Score>| score.map_or("–".into(), |s| format!("{} ({} s)", short(s.e_rms), short(s.seconds)));
    let plain = |row: &Row<'_>| row.rival.map(|r| r[0]);
    println!("E_RMS and, in brackets, seconds on one thread; SSDR as published.\n");
    println!(
        "| mesh, bones | SSDR rigid | Dem Bones, no regularisers | rigid | rigid, quality | SSDR affine | affine | affine, quality |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for row in rows {
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            title(row),
            row.case.ssdr_rigid.map_or("–".into(), short),
            cell(plain(row).as_ref()),
            cell(row.ours.first()),
            cell(row.ours.get(1)),
            row.case.ssdr_affine.map_or("–".into(), |(e, s)| format!("{} ({} s)", short(e), short(s))),
            cell(row.ours.get(2)),
            cell(row.ours.get(3)),
        );
    }
    println!(
        "\nRigid bones against Dem Bones: its time over ours, and our E_RMS and largest vertex error over its own.\n"
    );
    println!(
        "| mesh, bones | time, no regularisers, 1 thread | to an equal error | all threads | E_RMS | largest error | its defaults: E_RMS (s) | time | E_RMS |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for row in rows {
        let (Some([plain, default, threads]), Some(ours)) = (row.rival, row.ours.first()) else { continue };
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            title(row),
            short(plain.seconds / ours.seconds),
            row.ours_equal.map_or("–".into(), |equal| {
                let reached = if equal.e_rms <= plain.e_rms * 1.0001 { "" } else { " (not reached)" };
                format!("{}{reached}", short(plain.seconds / equal.seconds))
            }),
            short(threads.seconds / row.ours_threads.seconds),
            short(ours.e_rms / plain.e_rms),
            short(ours.largest / plain.largest),
            cell(Some(&default)),
            short(default.seconds / ours.seconds),
            short(ours.e_rms / default.e_rms),
        );
    }
    println!(
        "\nTimes are those of the solve alone. \"To an equal error\": ours with --stop-at at the error of Dem Bones without regularisers. Its"
    );
    println!("defaults hold bones near the motion of their vertices and stop after 30 iterations.\n");
    println!(
        "Smooth weights, rigid bones, one thread: Dem Bones' objective in parts of a million and, in brackets, seconds.\n"
    );
    println!(
        "| mesh, bones | Dem Bones, smooth weights | its defaults | `--smoothness` | time | objective | time, defaults | objective |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for row in rows {
        let Some([ours, free, default]) = row.smooth else { continue };
        let cell = |run: Smooth| format!("{} ({} s)", short(1e6 * run.objective), short(run.seconds));
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            title(row),
            cell(free),
            cell(default),
            cell(ours),
            short(free.seconds / ours.seconds),
            short(ours.objective / free.objective),
            short(default.seconds / ours.seconds),
            short(ours.objective / default.objective),
        );
    }
}

/// Three significant digits.
fn short(x: f64) -> String {
    let digits = if x == 0.0 || !x.is_finite() { 0 } else { (2 - x.abs().log10().floor() as i32).clamp(0, 4) };
    format!("{x:.*}", digits as usize)
}
