//! `cargo xtask bench suggest [DIR] [--json OUT] [--draws N] [--starts N]`: does sculpting what `dermis suggest` names help more than
//! sculpting poses drawn at random?
//!
//! A model learns [`START`] poses drawn from a set. Then 1 to 40 poses are added to them, once those that `dermis suggest` names
//! and `--draws` times poses drawn at random from the same candidates, the model is fitted anew with all its defaults, and its rms on
//! held-out frames is compared. `suggest` sees poses of the held-out motion, never a skin of it.
//!
//! - *library*: candidates are the other poses of the set, judged on all frames of another motion (`--motion MOTION --among SET`);
//! - *motion*: candidates are every other frame of that motion, judged on the frames between (`--motion MOTION`).
//!
//! On the bundled body without DIR, on the characters that DIR holds with it (`human_male/*.npz`, `fox/*.npz`).

use super::{fail, machine, machine_line};
use crate::workspace::{Build, dermis, root};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Poses the first model learns.
const START: usize = 8;
/// How many are added.
const COUNTS: [usize; 6] = [1, 2, 4, 8, 16, 40];
/// Over one base, so that the choice of a base does not hide what the poses bring.
const METHODS: [&str; 2] = ["joint-lbs", "psd"];

/// Title; file with the set, and the beginning of labels that do not belong to it; file with the motion, and the beginning of its labels.
type Set = (&'static str, &'static str, Option<&'static str>, &'static str, &'static str);

const BODY: Set = ("body, muscles → walk", "body_exercise.npz", None, "body_walk.npz", "");
const SETS: [Set; 5] = [
    (
        "human, sculpted muscles → walk",
        "human_male/human_male_exercise_pds.npz",
        None,
        "human_male/human_male_walking_a_pds.npz",
        "",
    ),
    (
        "human, flesh simulation → walk",
        "human_male/human_male_exercise_sim.npz",
        None,
        "human_male/human_male_walking_a_sim.npz",
        "",
    ),
    (
        "fox, flesh simulation → Survey",
        "fox/fox_exercise_sim.npz",
        Some("Survey"),
        "fox/fox_exercise_sim.npz",
        "Survey",
    ),
    ("fox, flesh simulation → Walk", "fox/fox_exercise_sim.npz", Some("Walk"), "fox/fox_exercise_sim.npz", "Walk"),
    (
        "fox, corrective smoothing → Survey",
        "fox/fox_exercise_cs.npz",
        Some("Survey"),
        "fox/fox_exercise_cs.npz",
        "Survey",
    ),
];

/// Runs the bench.
pub fn run(arguments: &[&str]) -> ExitCode {
    const USAGE: &str = "bench suggest takes: [DIR] [--json OUT] [--draws N] [--starts N]";
    let (mut folder, mut out, mut draws, mut starts) = (None, None, 5, 1);
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        let mut number = || rest.next().and_then(|n| n.parse::<u64>().ok()).filter(|n| (1..1000).contains(n));
        match argument {
            "--draws" | "--starts" => match number() {
                Some(n) if argument == "--draws" => draws = n,
                Some(n) => starts = n,
                None => return crate::usage::usage(USAGE),
            },
            "--json" => match rest.next() {
                Some(path) => out = Some(PathBuf::from(path)),
                None => return crate::usage::usage(USAGE),
            },
            dir if folder.is_none() && !dir.starts_with('-') => folder = Some(PathBuf::from(dir)),
            _ => return crate::usage::usage(USAGE),
        }
    }
    let Some(program) = dermis(Build::Release) else { return fail("the program does not build") };
    let mut cases = Vec::new();
    if folder.is_none() {
        cases.push((BODY, root().join("assets/body")));
    }
    for set in folder.iter().flat_map(|folder| SETS.map(|set| (set, folder.clone()))) {
        match set.1.join(set.0.1).is_file() && set.1.join(set.0.3).is_file() {
            true => cases.push(set),
            false => println!("NOT RUN: {}: its files are not in {}", set.0.0, set.1.display()),
        }
    }
    let machine = machine();
    println!(
        "{}. rms on held-out frames in thousandths of the unit; in brackets the mean of {draws} random draws and their smallest and largest. {starts} \
         start(s) of {START} poses.\n",
        machine_line(&machine)
    );
    let added = COUNTS.map(|count| format!(" +{count} ")).join("|");
    println!("| set | candidates | method | start |{added}|\n|---|---|---|---|{}", "---|".repeat(COUNTS.len()));
    let mut rows = Vec::new();
    for (set, folder) in &cases {
        for start in 0..starts {
            for own_frames in [false, true] {
                let bench = Bench { program: &program, set, folder, draws, start };
                match bench.measure(own_frames) {
                    Ok(measured) => rows.extend(measured),
                    Err(reason) => return fail(&format!("{}: {reason}", set.0)),
                }
            }
        }
    }
    let (better, all) = wins(&rows);
    println!("\nSuggested poses leave less than the mean of random ones in {better} of {all} cells.");
    if let Some(out) = out {
        let report = json!({ "machine": machine, "draws": draws, "start_poses": START, "rows": rows });
        if let Err(error) = std::fs::write(&out, format!("{report:#}\n")) {
            return fail(&format!("{}: {error}", out.display()));
        }
    }
    ExitCode::SUCCESS
}

/// One set and one start.
struct Bench<'a> {
    program: &'a Path,
    set: &'a Set,
    folder: &'a Path,
    draws: u64,
    start: u64,
}

impl Bench<'_> {
    /// A row per method, printed as it is known.
    fn measure(&self, own_frames: bool) -> Result<Vec<Value>, String> {
        let (title, file, without, motion_file, prefix) = *self.set;
        let (file, motion_file) = (self.folder.join(file), self.folder.join(motion_file));
        let of_set = |label: &String| without.is_none_or(|w| !label.starts_with(w)) && label != "rest";
        let pool: Vec<String> = self.labels(&file)?.into_iter().filter(of_set).collect();
        let frames: Vec<String> =
            self.labels(&motion_file)?.into_iter().filter(|label| label.starts_with(prefix)).collect();
        let order = shuffled(pool.len(), 1 + self.start);
        let pick = |labels: &[String], at: &[usize]| at.iter().map(|&i| labels[i].clone()).collect::<Vec<_>>();
        let start = pick(&pool, &order[..START]);
        let every_other = |odd: usize| frames.iter().skip(odd).step_by(2).cloned().collect::<Vec<_>>();
        let (from, candidates, judged, wanted) = match own_frames {
            true => (&motion_file, every_other(0), every_other(1), every_other(0)),
            false => (&file, pick(&pool, &order[START..]), frames.clone(), frames.clone()),
        };
        let judged = source(&motion_file, &judged);
        let fitted = |added: &[String], methods: &str| self.errors(&file, &start, from, added, &judged, methods);
        let first = fitted(&[], &METHODS.join(","))?;
        let counts: Vec<usize> = COUNTS.into_iter().filter(|&count| count < candidates.len()).collect();
        // Nested draws: the first poses of random orders.
        let mut random = vec![vec![Vec::new(); counts.len()]; METHODS.len()];
        for draw in 0..self.draws {
            let order = shuffled(candidates.len(), 1000 + 100 * self.start + draw);
            for (at, &count) in counts.iter().enumerate() {
                let errors = fitted(&pick(&candidates, &order[..count]), &METHODS.join(","))?;
                errors.into_iter().zip(&mut random).for_each(|(error, list)| list[at].push(error));
            }
        }
        let mut rows = Vec::new();
        for (m, method) in METHODS.into_iter().enumerate() {
            let motion = source(&motion_file, &wanted);
            let among = (!own_frames).then(|| source(from, &candidates));
            let named = self.suggested(&file, &start, method, &motion, among.as_deref())?;
            let mut suggested = Vec::new();
            for &count in &counts {
                suggested.push(fitted(&named[..count.min(named.len())], method)?[0]);
            }
            let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
            let cell = |(own, drawn): (&f64, &Vec<f64>)| {
                let (low, high) = drawn.iter().fold((f64::INFINITY, 0f64), |(l, h), &x| (l.min(x), h.max(x)));
                format!("**{}** ({}; {}–{})", short(*own), short(mean(drawn)), short(low), short(high))
            };
            let mut cells: Vec<String> = suggested.iter().zip(&random[m]).map(cell).collect();
            cells.resize(COUNTS.len(), "–".into());
            let kind = if own_frames { "motion" } else { "library" };
            println!("| {title} | {kind} | {method} | {} | {} |", short(first[m]), cells.join(" | "));
            rows.push(json!({
                "set": title, "candidates": kind, "method": method, "start": self.start, "start_rms": first[m],
                "counts": counts, "suggested_rms": suggested, "random_rms": random[m],
                "random_mean": random[m].iter().map(|list| mean(list)).collect::<Vec<_>>(),
                "suggested": named,
            }));
        }
        Ok(rows)
    }

    /// Held-out rms, thousandths, of each method after learning the start and what is added.
    fn errors(
        &self,
        file: &Path,
        start: &[String],
        from: &Path,
        added: &[String],
        judged: &str,
        methods: &str,
    ) -> Result<Vec<f64>, String> {
        let mut command = Command::new(self.program);
        command.arg("compare").arg(file).arg("--examples").arg(source(file, start));
        if !added.is_empty() {
            command.arg(source(from, added));
        }
        command.args(["--hold-out", judged, "--methods", methods, "--json", "--quiet"]);
        let result = json_of(&mut command)?;
        let rows = result["rows"].as_array().ok_or("compare gave no rows")?;
        let rms =
            |row: &Value| row["held_out"]["rms"].as_f64().map(|x| 1e3 * x).ok_or("compare gave no rms".to_owned());
        rows.iter().map(rms).collect()
    }

    /// Labels that the program suggests, best first.
    fn suggested(
        &self,
        file: &Path,
        start: &[String],
        method: &str,
        motion: &str,
        among: Option<&str>,
    ) -> Result<Vec<String>, String> {
        let model = std::env::temp_dir().join(format!("dermis-bench-{}.dermis", std::process::id()));
        let mut command = Command::new(self.program);
        command.arg("fit").arg(file).arg("--examples").arg(source(file, start));
        let method = method.trim_end_matches("-lbs");
        command
            .args(["--method", method, "--base", "lbs", "--folds", "0", "--json", "--quiet", "--force", "-o"])
            .arg(&model);
        let fitted = json_of(&mut command);
        let mut command = Command::new(self.program);
        let most = COUNTS[COUNTS.len() - 1].to_string();
        command.arg("suggest").arg(&model).args(["--motion", motion, "--count", &most, "--json", "--quiet"]);
        command.args(among.iter().flat_map(|among| ["--among", among]));
        let result = fitted.and_then(|_| json_of(&mut command));
        let _ = std::fs::remove_file(&model);
        let result = result?;
        let list = result["suggestions"].as_array().ok_or("suggest gave no list")?;
        Ok(list.iter().filter_map(|s| s["label"].as_str().map(str::to_owned)).collect())
    }

    /// Labels of a bundle.
    fn labels(&self, file: &Path) -> Result<Vec<String>, String> {
        let result = json_of(Command::new(self.program).arg("inspect").arg(file).args(["--json", "--quiet"]))?;
        let found = find(&result, "labels").and_then(Value::as_array).ok_or("inspect gave no labels")?;
        Ok(found.iter().filter_map(|l| l.as_str().map(str::to_owned)).collect())
    }
}

/// The value of a key, wherever it is.
fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => map.get(key).or_else(|| map.values().find_map(|v| find(v, key))),
        Value::Array(list) => list.iter().find_map(|v| find(v, key)),
        _ => None,
    }
}

/// Records of a bundle by label, as the program takes them: a comma separates labels, and a star stands for it inside one.
fn source(file: &Path, labels: &[String]) -> String {
    let patterns: Vec<String> = labels.iter().map(|label| label.replace(',', "*")).collect();
    format!("{}#{}", file.display(), patterns.join(","))
}

/// A random order (Fisher & Yates, with SplitMix64).
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let mut order: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        order.swap(i, (next() % (i as u64 + 1)) as usize);
    }
    order
}

/// Cells where the suggested poses leave less than the random ones' mean, and all.
fn wins(rows: &[Value]) -> (usize, usize) {
    let numbers =
        |value: &Value| -> Vec<f64> { value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect() };
    let cells =
        rows.iter().flat_map(|row| numbers(&row["suggested_rms"]).into_iter().zip(numbers(&row["random_mean"])));
    cells.fold((0, 0), |(better, all), (own, mean)| (better + usize::from(own < mean), all + 1))
}

fn json_of(command: &mut Command) -> Result<Value, String> {
    let output = command.output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())
}

/// Three significant digits.
fn short(x: f64) -> String {
    let digits = if x == 0.0 || !x.is_finite() { 0 } else { (2 - x.abs().log10().floor() as i32).clamp(0, 4) };
    format!("{x:.*}", digits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_is_an_order_and_seeds_differ() {
        let mut order = shuffled(40, 3);
        assert_ne!(order, shuffled(40, 4));
        assert_eq!(order, shuffled(40, 3));
        order.sort_unstable();
        assert_eq!(order, (0..40).collect::<Vec<_>>());
    }
}
