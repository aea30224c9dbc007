//! `dermis compare`

use crate::options::ReadArgs;
use crate::show;
use crate::ui::{Stop, Ui};
use dermis_workflow::Error;
use dermis_workflow::fits::Cancelled;
use dermis_workflow::fits::method::presets;
use dermis_workflow::io::Space;
use dermis_workflow::load::{FileNote, Source};
use dermis_workflow::recipe::{CompareOutcome, CompareRecipe, Found, Input, Subsets, USUAL_FOLDS, Watch};
use dermis_workflow::report::unit_of;
use dermis_workflow::verbs::compare::Row;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Compare methods on held-out examples or by cross-validation, or show their errors over the number of examples
#[derive(clap::Args)]
pub struct CompareArgs {
    /// Rest mesh and skeleton (.glb, .gltf, .fbx, .npz)
    rig: PathBuf,
    /// Training examples, as for fit
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    examples: Vec<Source>,
    /// Examples the fits may not see
    #[arg(long, num_args = 1.., value_name = "FILE")]
    hold_out: Vec<Source>,
    /// Without --hold-out, cross-validate by this many folds [default: 5]
    #[arg(long, value_name = "N", conflicts_with = "hold_out")]
    folds: Option<usize>,
    /// Methods by name, separated by commas [default: joint,own-weights,lbs,mwe,psd,pose-blendshapes]
    #[arg(long, value_delimiter = ',', value_name = "M,M,...")]
    methods: Vec<String>,
    /// Every method that has a name
    #[arg(long, conflicts_with = "methods")]
    all: bool,
    /// Learn from random subsets of this many examples and show the held-out error over their number
    #[arg(long, value_delimiter = ',', value_name = "N,N,...", requires = "hold_out")]
    counts: Vec<usize>,
    /// Random subsets of each size, whose errors are averaged
    #[arg(long, default_value_t = 3, requires = "counts", value_parser = clap::value_parser!(u16).range(1..))]
    draws: u16,
    /// Seed of the random choices
    #[arg(long, value_name = "N", default_value_t = 1, requires = "counts")]
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
    let subsets = Subsets { poses: args.counts.clone(), draws: args.draws, seed: args.seed };
    let recipe = CompareRecipe {
        rig: args.rig.clone().into(),
        examples: inputs(&args.examples),
        hold_out: inputs(&args.hold_out),
        folds: args.folds.unwrap_or(USUAL_FOLDS),
        methods: match args.all {
            true => presets().iter().map(|preset| preset.name.to_owned()).collect(),
            false => args.methods.clone(),
        },
        subsets: Some(subsets).filter(|subsets| !subsets.poses.is_empty()),
        read: args.read.options()?,
    };
    if args.json {
        return show(&recipe.run(ui)?, ui, true);
    }
    let streamed = Streamed { ui, begun: AtomicBool::new(false) };
    let outcome = recipe.run(&streamed)?;
    shown(&outcome, ui, streamed.begun.into_inner())
}

/// Prints the rows of the bench as they come.
struct Streamed<'a> {
    ui: &'a Ui,
    /// Whether the heading was printed.
    begun: AtomicBool,
}

impl Watch for Streamed<'_> {
    fn plan(&self, steps: &[(&str, f64)]) {
        self.ui.plan(steps);
    }

    fn at(&self, step: &str, done: u64, total: u64) -> ControlFlow<Cancelled> {
        self.ui.at(step, done, total)
    }

    fn row(&self, row: &Row, space: &Space) {
        let unit = unit_of(space);
        if !self.begun.swap(true, Ordering::Relaxed) {
            show::bench_heading(self.ui, row.role, &unit);
        }
        show::bench_row(self.ui, row, &unit);
    }

    fn files(&self, notes: &[FileNote]) {
        self.ui.files(notes);
    }
}

/// Shows the outcome.
///
/// # Errors
/// [`Error::Cancelled`] if Ctrl-C stopped the comparison; what was finished is shown.
pub fn show(outcome: &CompareOutcome, ui: &Ui, json: bool) -> Result<ExitCode, Stop> {
    if !json {
        return shown(outcome, ui, false);
    }
    ui.print_json(&outcome.json());
    ended(outcome)
}

/// The outcome as text, without the rows that were printed already.
fn shown(outcome: &CompareOutcome, ui: &Ui, rows_printed: bool) -> Result<ExitCode, Stop> {
    let unit = unit_of(&outcome.space);
    match &outcome.found {
        Found::Rows(rows) if !rows.is_empty() => {
            if rows_printed {
                show::recommended(ui, rows);
            } else {
                show::rows(ui, rows, &unit);
            }
        }
        Found::Rows(_) => {}
        Found::Curve(curve) => show::curve(ui, curve, &unit),
    }
    outcome.warnings.iter().for_each(|warning| ui.print(&format!("warning: {warning}")));
    ended(outcome)
}

fn ended(outcome: &CompareOutcome) -> Result<ExitCode, Stop> {
    match outcome.stopped {
        true => Err(Error::Cancelled.into()),
        false => Ok(ExitCode::SUCCESS),
    }
}
