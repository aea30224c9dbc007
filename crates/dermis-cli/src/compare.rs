//! `dermis compare`

use crate::options::ReadArgs;
use crate::show;
use crate::ui::{Stop, Ui};
use dermis_workflow::Error;
use dermis_workflow::load::Source;
use dermis_workflow::recipe::{CompareOutcome, CompareRecipe, Found, Input, Subsets};
use dermis_workflow::report::unit_of;
use std::path::PathBuf;
use std::process::ExitCode;

/// Put every method on the same bench, or ask how many examples each needs
#[derive(clap::Args)]
pub struct CompareArgs {
    /// Rest mesh and skeleton (.glb, .gltf, .fbx, .npz)
    rig: PathBuf,
    /// Training examples, as for fit
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    examples: Vec<Source>,
    /// Held-out examples
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    hold_out: Vec<Source>,
    /// Methods by name, separated by commas; all by default
    #[arg(long, value_delimiter = ',', value_name = "M,M,...")]
    methods: Vec<String>,
    /// Learn from random subsets of this many examples and show the held-out error over their number
    #[arg(long, value_delimiter = ',', value_name = "N,N,...")]
    poses: Vec<usize>,
    /// Random subsets of each size, whose errors are averaged
    #[arg(long, default_value_t = 3, requires = "poses", value_parser = clap::value_parser!(u16).range(1..))]
    draws: u16,
    /// Where the random choice of --poses starts
    #[arg(long, default_value_t = 1, requires = "poses")]
    seed: u64,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// Runs the verb.
pub fn run(args: &CompareArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let inputs = |sources: &[Source]| sources.iter().cloned().map(Input::from).collect();
    let subsets = Subsets { poses: args.poses.clone(), draws: args.draws, seed: args.seed };
    let recipe = CompareRecipe {
        rig: args.rig.clone().into(),
        examples: inputs(&args.examples),
        hold_out: inputs(&args.hold_out),
        methods: args.methods.clone(),
        subsets: Some(subsets).filter(|subsets| !subsets.poses.is_empty()),
        read: args.read.options()?,
    };
    show(&recipe.run(ui)?, ui, args.json)
}

/// Shows the outcome.
///
/// # Errors
/// [`Error::Cancelled`] if Ctrl-C stopped the comparison; what was finished is shown.
pub fn show(outcome: &CompareOutcome, ui: &Ui, json: bool) -> Result<ExitCode, Stop> {
    match (json, &outcome.found) {
        (true, _) => ui.print(&outcome.json().to_string()),
        (false, Found::Rows(rows)) if !rows.is_empty() => show::rows(ui, rows, &unit_of(&outcome.space)),
        (false, Found::Rows(_)) => {}
        (false, Found::Curve(curve)) => show::curve(ui, curve, &unit_of(&outcome.space)),
    }
    if !json {
        outcome.warnings.iter().for_each(|warning| ui.print(&format!("warning: {warning}")));
    }
    match outcome.stopped {
        true => Err(Error::Cancelled.into()),
        false => Ok(ExitCode::SUCCESS),
    }
}
