//! `dermis report`

use crate::options::{ProvenanceArgs, existing, page};
use crate::ui::{Stop, Ui, command_line};
use dermis_workflow::recipe::{Input, ReportOutcome, ReportRecipe};
use dermis_workflow::report::page::Quantity;
use dermis_workflow::report::{PairedPose, show_change, show_number};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compare two outcomes of fit, eval or compare: headline figures, errors per pose, settings
#[derive(clap::Args)]
pub struct ReportArgs {
    /// What fit, eval or compare printed with --json
    first: PathBuf,
    /// The same of another run; differences are its own from the first
    second: PathBuf,
    /// Where the page goes (.html)
    #[arg(short, long, value_name = "PAGE", value_parser = page)]
    out: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace an existing page
    #[arg(long, requires = "out")]
    force: bool,
    #[command(flatten)]
    provenance: ProvenanceArgs,
}

/// Runs the verb.
pub fn run(args: &ReportArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let recipe = ReportRecipe {
        first: Input::of_path(&args.first),
        second: Input::of_path(&args.second),
        out: args.out.clone(),
        existing: existing(args.force),
        provenance: args.provenance.choice(),
        command: Some(command_line(args.provenance.choice())),
    };
    Ok(show(&recipe.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &ReportOutcome, ui: &Ui, json: bool) -> ExitCode {
    match json {
        true => ui.print_json(&outcome.json()),
        false => shown(outcome, ui),
    }
    ExitCode::SUCCESS
}

/// The outcome as text.
fn shown(outcome: &ReportOutcome, ui: &Ui) {
    let pair = &outcome.pair;
    let unit = pair.unit();
    let names = pair.names();
    let figures = pair.figures();
    // Numbers with plain spaces, as a terminal shows them.
    let cell = |value: &Quantity| value.with_unit(&unit).replace(['\u{a0}', '\u{202f}'], " ");
    let labels = figures.iter().map(|figure| figure.label.chars().count()).max().unwrap_or(0);
    let wide = figures.iter().flat_map(|f| [cell(&f.first), cell(&f.second)]).chain(names.map(String::from));
    let wide = wide.map(|text| text.chars().count()).max().unwrap_or(0).clamp(12, 40);
    let line = |label: &str, first: &str, second: &str, change: &str| {
        ui.print(format!("{label:<labels$}  {first:>wide$}  {second:>wide$}  {change:>9}").trim_end());
    };
    line("", names[0], names[1], "change");
    for figure in &figures {
        let change = figure.change.map_or_else(String::new, show_change);
        line(&figure.label, &cell(&figure.first), &cell(&figure.second), &change);
    }
    pair.sentence().iter().for_each(|sentence| ui.print(sentence));
    let mut poses = pair.poses();
    poses.sort_by(|a, b| (b.rms[1] - b.rms[0]).total_cmp(&(a.rms[1] - a.rms[0])));
    let most = if ui.verbose { poses.len() } else { 3 };
    let list = |title: &str, some: &[&PairedPose]| {
        if !some.is_empty() {
            ui.print(title);
        }
        for pose in some {
            let [[a, b], [from, to]] = [pose.rms, pose.max].map(|of| of.map(|length| show_number(length, &unit)));
            ui.print(&format!("  {:<24} rms {a} → {b} {name}, max {from} → {to} {name}", pose.label, name = unit.name));
        }
    };
    let worse: Vec<&PairedPose> = poses.iter().filter(|pose| pose.rms[1] > pose.rms[0]).take(most).collect();
    let better: Vec<&PairedPose> = poses.iter().rev().filter(|pose| pose.rms[1] < pose.rms[0]).take(most).collect();
    list("poses that became worse most:", &worse);
    list("poses that became better most:", &better);
    for setting in pair.settings() {
        let [first, second] = setting.values.map(|value| value.unwrap_or_else(|| "–".into()));
        ui.print(&format!("setting {}: {first} → {second}", setting.name));
    }
    pair.notes().iter().for_each(|note| ui.print(&format!("note: {note}")));
    if let Some(path) = &outcome.written {
        ui.print(&format!("written: {}", path.display()));
    }
}
