//! `dermis demo`

use crate::export;
use crate::show;
use crate::ui::{Stop, Ui, command_line};
use dermis_workflow::Error;
use dermis_workflow::recipe::{DemoOutcome, DemoRecipe, Provenance};
use dermis_workflow::report::{show_length, unit_of, visible};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Learn from an exercise of the bundled body, and score on a walk the fit did not see
#[derive(clap::Args)]
pub struct DemoArgs {
    /// Folder for everything the demo makes; what it wrote there before is replaced
    #[arg(short, long, default_value = "dermis-demo", value_name = "DIR")]
    out: PathBuf,
}

/// Runs the verb.
pub fn run(args: &DemoArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let recipe = DemoRecipe { out: args.out.clone(), command: Some(command_line(Provenance::default())) };
    show(&recipe.run(ui)?, &recipe.out, ui)
}

/// Shows the outcome, which is in the folder `out`.
///
/// # Errors
/// [`Error::Cancelled`] if Ctrl-C stopped the comparison.
pub fn show(outcome: &DemoOutcome, out: &Path, ui: &Ui) -> Result<ExitCode, Stop> {
    let (model, report) = (&outcome.fitted.model, &outcome.fitted.report);
    let (rig, unit) = (model.rig(), unit_of(&model.space));
    ui.print(&format!(
        "A body with {} vertices and {} bones. Its skin is muscles and smoothing, not its weights.",
        rig.mesh().positions.len(),
        rig.skeleton().len()
    ));
    ui.print(&format!(
        "Learning from {} poses of an exercise; scored on {} frames of a walk.",
        outcome.train.len(),
        outcome.walk.len()
    ));
    ui.print("");
    show::errors(ui, &[("training", &outcome.train_scores), ("held-out walk", &outcome.walk_scores)], &unit);
    ui.print("");
    ui.print("how the ridge was chosen (leave-one-out):");
    for point in &report.sweep {
        let mark = if Some(point.ridge) == report.ridge { "  <- taken" } else { "" };
        let shown = show_length(point.validated, &unit);
        ui.print(&format!("  s {:<8.1e} left out {shown:>9}{mark}", point.ridge));
    }
    let swept = &outcome.ridges;
    let again = swept.seconds();
    ui.print("");
    ui.print(&format!(
        "the ridge of enveloping, swept: solved again {} times, {:.1} ms each ({:.0} ms for 20,000 vertices):",
        swept.steps.len(),
        1e3 * again,
        1e3 * again * 20_000.0 / swept.vertices as f64
    ));
    for step in swept.steps.iter().step_by(8) {
        let shown = |rms| show_length(rms, &unit);
        ui.print(&format!("  s {:<8.1e} training {:>9}  walk {:>9}", step.s, shown(step.train), shown(step.held_out)));
    }
    ui.print("");
    ui.print("side by side:");
    show::rows(ui, &outcome.rows, &unit);
    let Some(exported) = &outcome.exported else { return Err(Error::Cancelled.into()) };
    ui.print("");
    ui.print("exported as GLB:");
    export::lines(exported, &unit, true).iter().for_each(|line| ui.print(&format!("  {line}")));

    let dir = out.display().to_string();
    let dir = visible(&dir);
    ui.print_text(&format!(
        "
Everything is in {dir}/
  report.html              open it in a browser: the skins in 3D, errors, charts
  ridge.html               the same body while the ridge of enveloping changes
  body.dermis              the model
  body_walk_learnt.glb     the walk with the learnt skin, plays in any glTF viewer
  body_exercise.npz, body_walk.npz, body.glb   what it was learnt from

Next, with your own rig:
  dermis inspect RIG.glb EXAMPLES.npz
  dermis fit {dir}/body_exercise.npz --examples {dir}/body_exercise.npz --hold-out {dir}/body_walk.npz -o my.dermis --report my-report.html
  dermis pose {dir}/body.dermis --motion {dir}/body.glb --clip walk -o walk.pc2"
    ));
    for warning in outcome.warnings() {
        ui.print(&format!("warning: {warning}"));
    }
    Ok(ExitCode::SUCCESS)
}
