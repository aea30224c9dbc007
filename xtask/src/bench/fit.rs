//! `cargo xtask bench fit [--json OUT] [--quick]`: how long multi-weight enveloping takes, beside NumPy and what arithmetic allows.
//!
//! Runs dermis-bench, whose creatures have the size of those of Wang & Phillips 2002, and tools/fit_rivals.py on a sample of the
//! same points, which also checks the coefficients.

use super::driver::{self, Limits, Options, short, threads};
use super::fail;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Workloads, and seconds published for machines of 2002.
const WORKLOADS: [(&str, f64); 2] = [("A", 360.0), ("B", 2400.0)];
/// Largest distances of coefficients from NumPy's, in the largest of a point. The published form has no other cut-offs than NumPy's:
/// rounding times the conditions, 1e-16 · 1e5 at worst. The default form leaves out axes below 1e-9 of the largest
/// variance, which NumPy keeps: they have at most a few 1e-5 of a coefficient.
const PUBLISHED_OFF: f64 = 1e-9;
const FULL_OFF: f64 = 1e-3;
/// And of those solved in single precision: what `SolvePrecision::Single` states.
const SINGLE_OFF: f64 = 0.05;

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
    let python = driver::python(options.quick);
    let quick: &[&str] = if options.quick { &["--quick"] } else { &[] };
    let (mut workloads, mut failed) = (Vec::new(), None);
    for (name, _) in WORKLOADS {
        let folder = driver::arrays(name);
        let folder = folder.to_string_lossy();
        let mut workload = driver::dermis_bench(&[&["fit", name, "--arrays", &folder], quick].concat())?;
        if let Ok(python) = &python {
            let rival = driver::script(python, "fit_rivals.py", &[&folder])?;
            for (form, tolerance) in [
                ("published", PUBLISHED_OFF),
                ("published_single", SINGLE_OFF),
                ("full", FULL_OFF),
                ("full_single", SINGLE_OFF),
            ] {
                let off = rival[format!("{form}_off")].as_f64().unwrap_or(f64::NAN);
                if off.is_nan() || off > tolerance {
                    failed = Some(format!("workload {name}, {form} form: coefficients {off:e} from NumPy's"));
                }
            }
            workload["rival"] = rival;
        }
        eprintln!("workload {name}: done");
        workloads.push(workload);
    }
    let sweep = driver::dermis_bench(&[&["sweep"], quick].concat())?;
    limits.print(options.quick);
    print_workloads(&workloads, &limits);
    let resolved = driver::dermis_bench(&[&["resolve"], quick].concat())?;
    print_resolved(&resolved, limits.threads());
    print_sweep(&sweep, limits.threads());
    if let Err(reason) = python {
        println!("\nNOT RUN: NumPy, and with it the check of the coefficients: {reason}");
    }
    let report = json!({
        "machine": limits.machine, "limits": limits.measured, "quick": options.quick, "workloads": workloads, "sweep": sweep,
        "resolve": resolved,
    });
    driver::write(options.json.as_deref(), &report)?;
    failed.map_or(Ok(()), Err)
}

fn print_workloads(workloads: &[Value], limits: &Limits) {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let line = |title: &str, cell: &dyn Fn(&Value) -> String| {
        println!("| {title} | {} |", workloads.iter().map(cell).collect::<Vec<_>>().join(" | "));
    };
    let titles: Vec<_> =
        workloads.iter().map(|w| format!("workload {}", w["workload"].as_str().unwrap_or("?"))).collect();
    println!("| seconds, median | {} |", titles.join(" | "));
    println!("|---|{}", "---|".repeat(workloads.len()));
    line("points, bones, poses", &|w| format!("{}, {}, {}", w["points"], w["bones"], w["poses"]));
    line("bones per point: mean, most", &|w| {
        format!("{:.2}, {}", number(&w["bones_per_point"]), w["most_bones_per_point"])
    });
    line("distinct sets of bones", &|w| w["bone_sets"].to_string());
    line("machines of 2002", &|w| {
        let then = WORKLOADS.iter().find(|(name, _)| w["workload"] == *name).map_or(f64::NAN, |(_, seconds)| *seconds);
        format!("{then:.0}")
    });
    for (title, key) in [
        ("NumPy, literal", "literal_seconds"),
        ("NumPy, batched eigenvectors, shared Gram matrices", "batched_seconds"),
    ] {
        line(title, &|w| match w["rival"][key].as_f64() {
            Some(seconds) => scaled(seconds, &w["rival"]["points"], &w["points"]),
            None => "–".into(),
        });
    }
    let counts: Vec<&Value> =
        workloads[0]["published"]["runs"].as_array().into_iter().flatten().map(|r| &r["threads"]).collect();
    for (title, form) in [("published form", "published"), ("default form", "full")] {
        for (precision, seconds) in [("", "seconds"), (", f32 solve", "single_seconds")] {
            for count in &counts {
                line(&format!("**{title}{precision}, {}**", threads(count)), &|w| {
                    scaled(median(&w[form], count, seconds), &w[form]["points"], &w["points"])
                });
            }
        }
    }
    let limit = |w: &Value| number(&w["multiply_adds"]) / limits.rate("fma_f64_per_s", limits.threads());
    line(&format!("arithmetic limit of the published form, f64, {}", threads(limits.threads())), &|w| short(limit(w)));
    line("of that limit", &|w| {
        let form = &w["published"];
        let seconds = median(form, limits.threads(), "seconds") * number(&w["points"]) / number(&form["points"]);
        format!("{} %", short(100.0 * limit(w) / seconds))
    });
    for (title, form) in [("published", "published"), ("default", "full")] {
        line(&format!("memory at its peak over examples + model, {title} form"), &|w| {
            if w[form]["points"] != w["points"] {
                return "–".into();
            }
            let memory = &w[form]["memory"];
            let (peak, examples, model) =
                (number(&memory["peak_bytes"]), number(&memory["examples_bytes"]), number(&memory["model_bytes"]));
            let gigabytes = |bytes: f64| short(bytes / 1e9);
            let ratio = short(peak / (examples + model));
            format!("{} / ({} + {}) GB = {ratio}", gigabytes(peak), gigabytes(examples), gigabytes(model))
        });
    }
    for (title, form) in [("published", "published"), ("default", "full")] {
        line(&format!("{title} form, f32 solve: points in f32; coefficients, unseen positions off f64"), &|w| {
            let single = &w[form]["single"];
            let (coefficients, positions) = (number(&single["coefficients_off"]), number(&single["positions_off"]));
            format!("{}; {coefficients:.0e}, {positions:.0e}", single["points_in_single"])
        });
    }
    for (title, key) in [
        ("published form", "published_off"),
        ("published form, f32 solve", "published_single_off"),
        ("default form", "full_off"),
        ("default form, f32 solve", "full_single_off"),
    ] {
        line(&format!("largest distance of coefficients from NumPy's, {title}"), &|w| {
            w["rival"][key].as_f64().map_or("–".into(), |off| format!("{off:.0e} ({} points)", w["rival"]["points"]))
        });
    }
    println!(
        "\n\"of N\": measured on N points and scaled up. NumPy runs on one thread, in double precision. Memory is that of"
    );
    println!(
        "the whole process. The base is computed where it is read: the skin at rest, linear blend skinning below the default form."
    );
    println!(
        "Distances of coefficients are in parts of a point's largest, those of positions in lengths of the creature."
    );
    println!("The two precisions of the solve are measured alternately.");
    println!(
        "\nThe limit counts multiply-adds of the cheaper of two ways per point and axis, n bones, c = 4 n features, m poses:"
    );
    println!(
        "c m + 4 (c³/6 + c²), a complex symmetric system over features, or n m²/2 + 4 (m³/6 + m²) + c m, over poses;"
    );
    println!("divided by the rate above.\n");
}

/// Seconds for all points; "of N" if only N were measured.
fn scaled(seconds: f64, measured: &Value, all: &Value) -> String {
    let share = measured.as_f64().unwrap_or(f64::NAN) / all.as_f64().unwrap_or(f64::NAN);
    match measured == all {
        true => short(seconds),
        false => format!("{} (of {measured})", short(seconds / share)),
    }
}

/// The median of the runs of a form with so many threads, of which `key` are the seconds.
fn median(form: &Value, threads: &Value, key: &str) -> f64 {
    let runs = form["runs"].as_array().into_iter().flatten();
    let seconds = runs.filter(|run| run["threads"] == *threads).flat_map(|run| run[key].as_array()).flatten();
    let mut seconds: Vec<f64> = seconds.filter_map(Value::as_f64).collect();
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)
}

fn print_resolved(rows: &Value, count: &Value) {
    println!("A fitted model solved again after a change, {}:\n", threads(count));
    println!("| form | change | points solved, of | poses | bones per point | ms, median | ms, best |");
    println!("|---|---|---|---|---|---|---|");
    for row in rows.as_array().into_iter().flatten() {
        let mut seconds: Vec<f64> = row["seconds"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        seconds.sort_by(f64::total_cmp);
        let at = |place: usize| seconds.get(place).map_or("–".into(), |s| short(1e3 * s));
        println!(
            "| {} | {} | {}, {} | {} | {:.2} | {} | {} |",
            row["form"].as_str().unwrap_or("?"),
            row["change"].as_str().unwrap_or("?"),
            row["solved"],
            row["points"],
            row["poses"],
            row["bones_per_point"].as_f64().unwrap_or(f64::NAN),
            at(seconds.len() / 2),
            at(0),
        );
    }
    println!();
}

fn print_sweep(sweep: &Value, count: &Value) {
    println!("Cost of the published form, {}, one number varied at a time:\n", threads(count));
    println!("| varied | points | bones | poses | bones per point | seconds | µs per point |");
    println!("|---|---|---|---|---|---|---|");
    for row in sweep.as_array().into_iter().flatten() {
        let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
        println!(
            "| {} | {} | {} | {} | {:.2} | {} | {} |",
            row["varied"].as_str().unwrap_or("?"),
            row["points"],
            row["bones"],
            row["poses"],
            number("bones_per_point"),
            short(number("seconds")),
            short(1e6 * number("seconds") / number("points")),
        );
    }
}
