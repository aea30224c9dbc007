//! `dermis eval`

use crate::options::{ProvenanceArgs, ReadArgs, existing, page, within};
use crate::show;
use crate::ui::{Stop, Ui, command_line};
use dermis_workflow::load::Source;
use dermis_workflow::measure::PassRule;
use dermis_workflow::recipe::{EvalOutcome, EvalRecipe, Held, Input, ScoreRecipe, StressTest};
use dermis_workflow::report::unit_of;
use std::path::PathBuf;
use std::process::ExitCode;

/// Score a model on examples, or test it in extreme poses
#[derive(clap::Args)]
pub struct EvalArgs {
    /// The model (.dermis)
    model: PathBuf,
    /// Examples, as for fit
    #[arg(long, required_unless_present = "stress", num_args = 1.., value_name = "FILE")]
    examples: Vec<Source>,
    /// Turn every joint at random, N poses each by up to 60, 120 and 180 degrees, and check that every vertex stays
    /// within the guard's bound; exit with 1 if not
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    stress: Option<u32>,
    /// Seed of the random choices
    #[arg(long, value_name = "N", default_value_t = 1, requires = "stress")]
    seed: u64,
    /// Positions of the base in every example's pose, for a model over a given base
    #[arg(long, requires = "examples", value_name = "FILE")]
    base_cache: Option<PathBuf>,
    /// Write a page with errors and pictures (.html)
    #[arg(long, requires = "examples", value_name = "PAGE", value_parser = page)]
    report: Option<PathBuf>,
    /// Write errors per vertex to this CSV file
    #[arg(long, requires = "examples", value_name = "FILE")]
    vertex_errors: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    /// Exit with 1 if the rms is above this, in metres
    #[arg(long, requires = "examples", value_name = "METRES", allow_negative_numbers = true)]
    fail_above: Option<f64>,
    /// Exit with 1 unless this share of the distances lies within this length, such as "1 mm in 98 %"; the length in mm, cm, m,
    /// or % of the rig's diagonal
    #[arg(long, requires = "examples", value_name = "DEMAND", allow_hyphen_values = true)]
    pass: Option<PassRule>,
    /// Never hold the examples: score each as it is read; without a picture of the skins
    #[arg(long, requires = "examples", conflicts_with = "base_cache")]
    stream: bool,
    #[command(flatten)]
    provenance: ProvenanceArgs,
    #[command(flatten)]
    read: ReadArgs,
}

impl EvalArgs {
    /// The arguments as a recipe.
    fn recipe(&self) -> Result<EvalRecipe, Stop> {
        let score = ScoreRecipe {
            examples: self.examples.iter().cloned().map(Input::from).collect(),
            base_cache: self.base_cache.clone().map(Input::from),
            held: if self.stream { Held::Streamed } else { Held::Held },
            read: self.read.options()?,
            report: self.report.clone(),
            vertex_errors: self.vertex_errors.clone(),
            existing: existing(self.force),
            fail_above: self.fail_above.map(|limit| within("--fail-above", limit, 0.0, f64::MAX)).transpose()?,
            pass: self.pass,
            provenance: self.provenance.choice(),
            command: Some(command_line(self.provenance.choice())),
        };
        Ok(EvalRecipe {
            model: self.model.clone().into(),
            score: Some(score).filter(|score| !score.examples.is_empty()),
            stress: self.stress.map(|poses| StressTest { poses, seed: self.seed }),
        })
    }
}

/// Runs the verb.
pub fn run(args: &EvalArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    Ok(show(&args.recipe()?.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &EvalOutcome, ui: &Ui, json: bool) -> ExitCode {
    let unit = unit_of(&outcome.model.space);
    if json {
        ui.print_json(&outcome.json());
    } else {
        if let Some(scored) = &outcome.scored {
            show::errors(ui, &[("scored", &scored.scores)], &unit);
            outcome.verdict().iter().for_each(|verdict| ui.print_text(verdict));
            outcome.pass().iter().for_each(|pass| ui.print(&pass.text()));
            show::frames(ui, &scored.scores, &unit, if ui.verbose { 10 } else { 3 });
            for warning in outcome.warnings() {
                ui.print(&format!("warning: {warning}"));
            }
        }
        if let Some(stress) = &outcome.stress {
            show::stress(ui, stress, &unit);
        }
    }
    if outcome.failed() { ExitCode::from(1) } else { ExitCode::SUCCESS }
}
