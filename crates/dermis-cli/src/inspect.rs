//! `dermis inspect`

use crate::hints::spelled;
use crate::options::{ProvenanceArgs, existing, page};
use crate::ui::{Stop, Ui, command_line};
use dermis_workflow::recipe::{Input, InspectOutcome, InspectRecipe};
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what a file holds, and its faults
#[derive(clap::Args)]
pub struct InspectArgs {
    /// Files, or folders of OBJ files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Show the rig of one file in 3D: weights, influence maps, symmetry, islands, joints (.html)
    #[arg(long, value_name = "PAGE", value_parser = page)]
    report: Option<PathBuf>,
    /// Print one JSON array and nothing else
    #[arg(long)]
    json: bool,
    /// Replace an existing page
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    provenance: ProvenanceArgs,
}

/// Runs the verb.
pub fn run(args: &InspectArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let recipe = InspectRecipe {
        files: args.files.iter().cloned().map(Input::from).collect(),
        report: args.report.clone(),
        existing: existing(args.force),
        provenance: args.provenance.choice(),
        command: Some(command_line(args.provenance.choice())),
    };
    Ok(show(&recipe.run(ui)?, ui, args.json))
}

/// Shows the outcome, with an error for every file that cannot be read.
pub fn show(outcome: &InspectOutcome, ui: &Ui, json: bool) -> ExitCode {
    for (_, held) in &outcome.files {
        match held {
            Ok(_) if json => {}
            Ok(held) => held.lines().iter().for_each(|line| ui.print(line)),
            Err(error) => {
                ui.fail(&spelled(&error.message()), &spelled(&error.remedy()));
            }
        }
    }
    if let (Some(path), false) = (&outcome.written, json) {
        ui.print(&format!("written: {}", path.display()));
    }
    if json {
        ui.print_json(&outcome.json());
    }
    if outcome.failed() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}
