//! `cargo xtask bench confidence FOLDER [--json OUT]`: how often a joint that `dermis rig` calls sure is off by more than a tenth of its limb.
//!
//! Runs the example `rig_confidence` of dermis-workflow over the rigs in FOLDER, as `tools/make_body.py --others N` writes them.

use super::machine_line;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// An error above which a joint is off, over its limb.
const OFF: f64 = 0.1;

/// Prints the table and writes the JSON.
pub fn run(options: &[&str]) -> ExitCode {
    let (folder, out) = match options {
        [folder] => (folder, None),
        [folder, "--json", out] => (folder, Some(PathBuf::from(out))),
        _ => return crate::usage::usage("bench confidence takes: FOLDER [--json OUT]"),
    };
    super::of_example("dermis-workflow", "rig_confidence", &[folder], out, print_table)
}

#[derive(Default)]
struct Tally {
    errors: Vec<f64>,
    sure: usize,
    sure_and_off: usize,
    unsure: usize,
    unsure_and_off: usize,
}

impl Tally {
    fn count(&mut self, row: &Value) {
        let error = row["error"].as_f64().unwrap_or(f64::NAN);
        let is_off = !matches!(error.partial_cmp(&OFF), Some(std::cmp::Ordering::Less | std::cmp::Ordering::Equal));
        self.errors.push(error);
        match row["verdict"].as_str() {
            Some("sure") => (self.sure, self.sure_and_off) = (self.sure + 1, self.sure_and_off + usize::from(is_off)),
            Some("unsure") => {
                (self.unsure, self.unsure_and_off) = (self.unsure + 1, self.unsure_and_off + usize::from(is_off));
            }
            _ => {}
        }
    }

    fn print(&self, name: &str) {
        let count = self.errors.len().max(1) as f64;
        println!(
            "| {name} | {} | {:.1} | {:.0} | {:.1} % | {:.0} % | {} of {} | {} of {} |",
            self.errors.len(),
            100.0 * self.errors.iter().sum::<f64>() / count,
            100.0 * self.errors.iter().copied().fold(0.0, f64::max),
            100.0 * self.errors.iter().filter(|e| **e > OFF).count() as f64 / count,
            100.0 * self.sure as f64 / count,
            self.sure_and_off,
            self.sure,
            self.unsure_and_off,
            self.unsure,
        );
    }
}

fn print_table(rows: &[Value], machine: &Value) {
    let (mut all, mut kinds) = (Tally::default(), BTreeMap::<&str, Tally>::new());
    let mut bodies: Vec<&str> = rows.iter().filter_map(|row| row["body"].as_str()).collect();
    for row in rows.iter().filter(|row| row["joint"].is_string()) {
        let joint = row["joint"].as_str().unwrap_or_default();
        let kind = joint.strip_suffix("_l").or_else(|| joint.strip_suffix("_r")).unwrap_or(joint);
        kinds.entry(kind).or_default().count(row);
        all.count(row);
    }
    bodies.dedup();
    println!("{}. {} bodies.\n", machine_line(machine), bodies.len());
    println!(
        "| joint | joints | mean error, % of the limb | worst | off by more than 10 % | called sure | of these off | of the unsure off |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    kinds.iter().for_each(|(kind, tally)| tally.print(kind));
    all.print("all");
}
