//! `dermis demo`

use crate::compare::bench;
use crate::export;
use crate::show;
use crate::ui::{Ui, command_line};
use dermis_workflow::figures::Figures;
use dermis_workflow::fit::ridge::RidgeSweep;
use dermis_workflow::fit::{FitOptions, Method, fit};
use dermis_workflow::load::{ReadOptions, Source, load_motion};
use dermis_workflow::measure::measure;
use dermis_workflow::output::{reserve_file, reserve_folder};
use dermis_workflow::report::{Outcome, unit_of};
use dermis_workflow::{Error, deliver, demo, io, page};
use std::path::PathBuf;
use std::process::ExitCode;

/// Run the whole loop on the bundled body: learn from an exercise, score on a walk nobody showed it
#[derive(clap::Args)]
pub struct DemoArgs {
    /// Folder for everything the demo makes; what it wrote there before is replaced
    #[arg(long, default_value = "dermis-demo", value_name = "DIR")]
    out: PathBuf,
    /// Instead of all that, figures of pose space: a thumb, a twisted arm, directions of corrections
    #[arg(long)]
    pose_space: bool,
}

/// The methods the demo sets side by side.
const METHODS: [&str; 7] = ["own-weights", "lbs", "dqs", "animation-space", "mwe-published", "mwe", "joint"];

/// Runs the verb.
pub fn run(args: &DemoArgs, ui: &Ui) -> Result<ExitCode, Error> {
    // The demo's own files may be replaced; the user's may not: only the names below are ever written.
    let folder = reserve_folder(&args.out, true)?;
    let write = folder.folder()?;
    if args.pose_space {
        return pose_space(args, ui, write);
    }
    let (loaded, train, walk, files) = ui.step("read body", |_| demo::body())?;
    ui.print(&format!(
        "A body with {} vertices and {} bones. Its skin is muscles and smoothing, not its weights.",
        loaded.rig.mesh.positions.len(),
        loaded.rig.skeleton.len()
    ));
    ui.print(&format!(
        "Learning from {} poses of an exercise; scored on {} frames of a walk.\n",
        train.len(),
        walk.len()
    ));

    let fitted = ui.step("fit", |p| fit(&loaded, &train, None, &FitOptions::new(Method::Joint), p))?;
    let train_scores = ui.step("measure", |_| measure(&fitted.model, &train, None))?;
    let walk_scores = ui.step("measure", |_| measure(&fitted.model, &walk, None))?;
    let unit = unit_of(&fitted.model.space);
    show::errors(ui, &[("training", &train_scores), ("held-out walk", &walk_scores)], &unit);
    ui.print("\nhow the ridge was chosen (leave-one-out):");
    for (s, _, validated) in &fitted.sweep {
        let mark = if Some(*s) == fitted.s { "  <- taken" } else { "" };
        let shown = dermis_workflow::report::show_length(*validated, &unit);
        ui.print(&format!("  s {s:<8.1e} left out {shown:>9}{mark}"));
    }
    let ridges: Vec<f64> = (-32..=8).map(|eighth| 10f64.powf(f64::from(eighth) / 8.0)).collect();
    let turned = ui.step("turn the ridge", |p| RidgeSweep::new(&loaded, &train, &walk, &ridges, p))?;
    let again = turned.seconds();
    ui.print(&format!(
        "\nthe ridge of enveloping, turned: solved again {} times, {:.1} ms each ({:.0} ms for 20,000 vertices):",
        turned.steps.len(),
        1e3 * again,
        1e3 * again * 20_000.0 / turned.vertices as f64
    ));
    for step in turned.steps.iter().step_by(8) {
        let shown = |rms| dermis_workflow::report::show_length(rms, &unit);
        ui.print(&format!("  s {:<8.1e} training {:>9}  walk {:>9}", step.s, shown(step.train), shown(step.held_out)));
    }
    write("ridge.html", page::render(&turned.page(&loaded, &walk)).as_bytes())?;
    ui.print("\nside by side:");
    let names: Vec<String> = METHODS.map(String::from).to_vec();
    let (rows, stopped) = bench(ui, &loaded, &train, &walk, &names)?;
    show::rows(ui, &rows, &unit);
    if stopped {
        return Err(Error::Cancelled);
    }
    let outcome = Outcome {
        model: &fitted.model,
        fitted: Some(&fitted),
        sets: vec![("training", &train_scores, &train), ("held out", &walk_scores, &walk)],
        cross_validated: None,
        comparison: &rows,
        files: &files,
        command: Some(command_line()),
    };
    let reason = |e: io::WriteError| Error::Write { path: args.out.clone(), reason: e.to_string() };
    write("body.dermis", &io::model_file::write(&fitted.model).map_err(reason)?)?;
    write("report.html", page::render(&outcome.page()).as_bytes())?;
    for (name, bytes) in [("body.glb", demo::GLB), ("body_exercise.npz", demo::EXERCISE), ("body_walk.npz", demo::WALK)]
    {
        write(name, bytes)?;
    }
    let source = Source { path: args.out.join("body_walk.npz"), part: None };
    let (motion, _) = load_motion(&loaded.rig, &source, &ReadOptions::default())?;
    let glb = reserve_file(&args.out.join("body_walk_learnt.glb"), true)?;
    let settings = deliver::ExportSettings { shapes: 8, influences: None };
    let exported = ui.step("export", |p| deliver::export_glb(&fitted.model, Some(&motion), None, settings, &glb, p))?;
    ui.print("\nexported as GLB:");
    export::lines(&exported, &unit, true).iter().for_each(|line| ui.print(&format!("  {line}")));

    let dir = args.out.display();
    ui.print(&format!(
        "
Everything is in {dir}/
  report.html              open it in a browser: the skins in 3D, errors, charts
  ridge.html               the same body while the ridge of enveloping is turned
  body.dermis              the model
  body_walk_learnt.glb     the walk with the learnt skin, plays in any glTF viewer
  body_exercise.npz, body_walk.npz, body.glb   what it was learnt from

Next, with your own rig (dermis is target/release/dermis):
  dermis inspect RIG.glb EXAMPLES.npz
  dermis fit {dir}/body_exercise.npz --examples {dir}/body_exercise.npz --hold-out {dir}/body_walk.npz -o my.dermis --report my-report
  dermis pose {dir}/body.dermis --motion {dir}/body.glb --clip walk -o walk.pc2"
    ));
    for warning in outcome.warnings() {
        ui.print(&format!("warning: {warning}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// `demo --pose-space`
fn pose_space(args: &DemoArgs, ui: &Ui, write: impl Fn(&str, &[u8]) -> Result<(), Error>) -> Result<ExitCode, Error> {
    let figures = ui.step("figures", |_| Figures::new())?;
    write("pose-space.html", figures.page().as_bytes())?;
    figures.table().iter().for_each(|line| ui.print(line));
    ui.print(&format!("\nwritten: {}", args.out.join("pose-space.html").display()));
    Ok(ExitCode::SUCCESS)
}
