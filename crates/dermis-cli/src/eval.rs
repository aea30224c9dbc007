//! `dermis eval`

use crate::options::{ReadArgs, within};
use crate::show;
use crate::ui::{Ui, command_line};
use dermis_workflow::io::ModelFile;
use dermis_workflow::load::{FileNote, Source, load_base_cache, load_examples, load_model};
use dermis_workflow::measure::{measure, measure_streamed};
use dermis_workflow::output::{reserve_file, reserve_folder};
use dermis_workflow::report::{Outcome, unit_of, vertex_csv};
use dermis_workflow::rig::ExampleSet;
use dermis_workflow::stress::stress;
use dermis_workflow::{Error, page};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Score a model on examples, or try it in poses far beyond any
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
    /// Where the random poses of --stress start
    #[arg(long, default_value_t = 1, requires = "stress")]
    seed: u64,
    /// Positions of the base in every example's pose, for a model over a given base
    #[arg(long, requires = "examples", value_name = "FILE")]
    base_cache: Option<PathBuf>,
    /// Write report.html to this folder
    #[arg(long, requires = "examples", value_name = "DIR")]
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
    /// Never hold the examples: score each as it is read; without a picture of the skins
    #[arg(long, requires = "examples", conflicts_with = "base_cache")]
    stream: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// Runs the verb.
pub fn run(args: &EvalArgs, ui: &Ui) -> Result<ExitCode, Error> {
    let (model, note) = ui.step("read model", |_| load_model(&args.model))?;
    let (mut value, mut failed) = match args.examples.is_empty() {
        false => score(args, ui, &model, note)?,
        true => {
            show::files(ui, &[note]);
            let rig = &model.rig;
            let value = json!({
                "method": model.header.method,
                "vertices": rig.mesh.positions.len(),
                "bones": rig.skeleton.len(),
                "unit": model.space.unit,
                "diagonal": rig.mesh.diagonal(),
            });
            (value, false)
        }
    };
    if let Some(poses) = args.stress {
        let stress = ui.step("stress", |p| stress(&model, poses as usize, args.seed, p))?;
        failed |= !stress.passed();
        value["stress"] = stress.json();
        if !args.json {
            show::stress(ui, &stress, &unit_of(&model.space));
        }
    }
    if args.json {
        ui.print(&value.to_string());
    }
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Scores the model on the examples: what `--json` prints, and whether the rms is above its limit.
fn score(args: &EvalArgs, ui: &Ui, model: &ModelFile, note: FileNote) -> Result<(Value, bool), Error> {
    let report_dir = args.report.as_deref().map(|path| reserve_folder(path, args.force)).transpose()?;
    let vertex_errors = args.vertex_errors.as_deref().map(|path| reserve_file(path, args.force)).transpose()?;
    let read = args.read.options()?;
    let limit = args.fail_above.map(|limit| within("--fail-above", limit, 0.0, f64::MAX)).transpose()?;
    let mut files = vec![note];
    let start = Instant::now();
    let streamed = match args.stream {
        true => Some(ui.step("measure", |_| measure_streamed(model, &args.examples, &read, "examples"))?),
        false => None,
    };
    let (examples, notes, measured) = match streamed {
        Some((scores, notes)) => (ExampleSet::default(), notes, Some(scores)),
        None => {
            let of_files = |_: dermis_workflow::fits::Progress<'_>| {
                load_examples(&model.rig, &model.space, &args.examples, &read, "examples")
            };
            let (examples, notes) = ui.step("read examples", of_files)?;
            (examples, notes, None)
        }
    };
    files.extend(notes);
    let given = match &args.base_cache {
        None => None,
        Some(path) => {
            let (frames, note) = load_base_cache(&model.rig, &model.space, path, examples.len(), &read)?;
            files.push(note);
            Some(frames)
        }
    };
    show::files(ui, &files);
    let start = if args.stream { start } else { Instant::now() };
    let scores = match measured {
        Some(scores) => scores,
        None => ui.step("measure", |_| measure(model, &examples, given.as_deref()))?,
    };
    if let Some(out) = &vertex_errors {
        out.write(vertex_csv(model, &scores).as_bytes())?;
    }
    let seconds = start.elapsed().as_secs_f64();
    let outcome = Outcome {
        model,
        fitted: None,
        sets: vec![("scored", &scores, &examples)],
        cross_validated: None,
        comparison: &[],
        files: &files,
        command: Some(command_line()),
    };
    if let Some(dir) = &report_dir {
        dir.folder()?("report.html", page::render(&outcome.page()).as_bytes())?;
    }
    let mut value = json!({});
    if args.json {
        value = outcome.json();
        value["seconds"] = seconds.into();
    } else {
        let unit = unit_of(&model.space);
        show::errors(ui, &[("scored", &scores)], &unit);
        show::frames(ui, &scores, &unit, if ui.verbose { 10 } else { 3 });
        for warning in outcome.warnings() {
            ui.print(&format!("warning: {warning}"));
        }
    }
    Ok((value, limit.is_some_and(|limit| scores.model.error.rms > limit)))
}
