//! `dermis fit`

use crate::options::{MethodArgs, ReadArgs, within};
use crate::show;
use crate::ui::{Ui, command_line};
use dermis_workflow::deform::baked::Precision;
use dermis_workflow::load::{FileNote, LoadedRig, Source, load_base_cache, load_examples, load_rig};
use dermis_workflow::measure::measure;
use dermis_workflow::output::{reserve_file, reserve_folder};
use dermis_workflow::report::{Outcome, unit_of};
use dermis_workflow::{Error, fit, io, page};
use std::path::PathBuf;
use std::process::ExitCode;

/// Learn a deformation model from a rig and examples of its skin
#[derive(clap::Args)]
pub struct FitArgs {
    /// Rest mesh and skeleton (.glb, .gltf, .fbx, .npz)
    pub rig: PathBuf,
    /// Example poses: bundles (.npz), sculpts as morph targets (.glb, .fbx), or a motion followed by its skins (walk.glb
    /// walk.pc2, take.fbx sim.abc; also .mdd and folders of OBJ files). FILE#CLIP names a clip, FILE.npz#PATTERN,... records by label
    /// (* is any text, a leading ! takes the others)
    #[arg(long, required_unless_present = "merge", num_args = 1.., value_name = "FILE")]
    pub examples: Vec<Source>,
    /// Examples the fit may not see; the errors that count are measured on them
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub hold_out: Vec<Source>,
    /// Never hold the examples: sum over them as they are read, for --method mwe. Training and held-out errors are measured by
    /// reading them again; there is no cross-validation of the model and no picture of the skins
    #[arg(long)]
    pub stream: bool,
    /// Write sums over the examples to this file instead of a model, for --method mwe; --merge adds them up
    #[arg(long, value_name = "PART", conflicts_with_all = ["merge", "out", "report", "hold_out", "fail_above"])]
    pub accumulate: Option<PathBuf>,
    /// Fit to the sums in these files, in this order, instead of to examples
    #[arg(long, num_args = 1.., value_name = "PART", conflicts_with = "examples")]
    pub merge: Vec<PathBuf>,
    /// Where the model goes (.dermis); an existing file is kept unless --force
    #[arg(short, long, value_name = "MODEL")]
    pub out: Option<PathBuf>,
    /// Write report.html to this folder
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
    /// Replace existing outputs
    #[arg(long)]
    pub force: bool,
    /// Exit with 1 if the error that counts (held out, else cross-validated) has an rms above this, in metres
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    pub fail_above: Option<f64>,
    /// Bits of the model's coefficients: 16 halves the model (multi-weight enveloping and the joint model)
    #[arg(long, default_value = "32", value_parser = ["16", "32"], value_name = "BITS")]
    pub coefficients: String,
    /// Without --hold-out, validate by this many folds; 0 skips it
    #[arg(long, default_value_t = 5, value_name = "N")]
    folds: usize,
    #[command(flatten)]
    pub method: MethodArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// How to fit.
pub fn options_of(args: &FitArgs, loaded: &LoadedRig) -> Result<fit::FitOptions, Error> {
    let mut options = args.method.options(loaded)?;
    if args.coefficients == "16" {
        if !matches!(options.method, fit::Method::Mwe | fit::Method::Joint) {
            let method = options.method;
            return Err(Error::Option(format!(
                "--coefficients 16 is for joint and mwe: {method} has no such coefficients"
            )));
        }
        options.precision = Precision::Sixteen;
    }
    Ok(options)
}

/// Runs the verb.
pub fn run(args: &FitArgs, ui: &Ui) -> Result<ExitCode, Error> {
    if args.stream || args.accumulate.is_some() || !args.merge.is_empty() {
        return crate::fit_stream::run(args, ui);
    }
    let out = args.out.as_deref().map(|path| reserve_file(path, args.force)).transpose()?;
    let report_dir = args.report.as_deref().map(|path| reserve_folder(path, args.force)).transpose()?;
    if out.is_none() && report_dir.is_none() && !args.json {
        ui.note("note: without -o MODEL the model is scored and dropped");
    }
    let read = args.read.options()?;
    let limit = args.fail_above.map(|limit| within("--fail-above", limit, 0.0, f64::MAX)).transpose()?;
    let loaded = ui.step("read rig", |_| load_rig(&args.rig))?;
    let options = options_of(args, &loaded)?;
    let mut files: Vec<FileNote> = loaded.notes.clone();
    let (train, notes) =
        ui.step("read examples", |_| load_examples(&loaded.rig, &loaded.space, &args.examples, &read, "examples"))?;
    files.extend(notes);
    let held_out =
        match args.hold_out.is_empty() {
            true => None,
            false => Some(ui.step("read hold-out", |_| {
                load_examples(&loaded.rig, &loaded.space, &args.hold_out, &read, "hold-out")
            })?),
        };
    // One cache covers the training poses, then the held-out ones.
    let poses = train.len() + held_out.as_ref().map_or(0, |h| h.0.len());
    let given = match &args.method.base_cache {
        None => None,
        Some(path) => {
            let (frames, note) = load_base_cache(&loaded.rig, &loaded.space, path, poses, &read)?;
            files.push(note);
            Some(frames)
        }
    };
    let given_train = given.as_ref().map(|g| &g[..train.len()]);
    let given_held_out = given.as_ref().map(|g| &g[train.len()..]);
    let held_out = held_out.map(|(set, notes)| {
        files.extend(notes);
        set
    });
    show::files(ui, &files);

    let mut fitted = ui.step("fit", |p| fit::fit(&loaded, &train, given_train, &options, p))?;
    if let Some(out) = &out {
        out.write_with(|to| io::model_file::write_to(&fitted.model, to))?;
    }
    if let Some(set) = &held_out
        && let Some(h) = ui.step("leverage", |_| fit::unseen_leverage(&fitted, &train, given_train, set, &options))?
    {
        fitted.model.header.report["held_out_leverage"] = serde_json::json!(h);
        // A pose of leverage one weighs as much as a training pose that determines its own fit. On real bodies unseen
        // motion reaches 30 under the absolute ridge, 1e9 under one that vanishes.
        if h > 1e3 {
            fitted
                .warnings
                .push(format!("the largest leverage of a held-out pose is {h:.1e}: training says nothing about it"));
        }
    }
    let train_scores = ui.step("measure training", |_| measure(&fitted.model, &train, given_train))?;
    let held_out_scores = match &held_out {
        Some(set) => Some(ui.step("measure hold-out", |_| measure(&fitted.model, set, given_held_out))?),
        None => None,
    };
    let cross_validated = match held_out_scores {
        None if args.folds >= 2 => {
            let done = ui
                .step("cross-validate", |p| fit::cross_validate(&loaded, &train, given_train, &options, args.folds, p));
            match done {
                // The model is fitted and written; only its validation was given up.
                Err(Error::Cancelled) => {
                    ui.note("stopped: the model is whole, its cross-validation was left out");
                    None
                }
                other => other?,
            }
        }
        _ => None,
    };
    let mut sets = vec![("training", &train_scores, &train)];
    if let (Some(scores), Some(set)) = (&held_out_scores, &held_out) {
        sets.push(("held out", scores, set));
    }
    let outcome = Outcome {
        model: &fitted.model,
        fitted: Some(&fitted),
        sets,
        cross_validated: cross_validated.as_ref(),
        comparison: &[],
        files: &files,
        command: Some(command_line()),
    };
    if let Some(dir) = &report_dir {
        dir.folder()?("report.html", page::render(&outcome.page()).as_bytes())?;
    }
    let memory = crate::fit_stream::Memory::of(&fitted.model, train.len() + held_out.as_ref().map_or(0, |h| h.len()));
    let counts = held_out_scores.as_ref().or(cross_validated.as_ref()).unwrap_or(&train_scores);
    if args.json {
        let mut value = outcome.json();
        value["memory"] = memory.json();
        ui.print(&value.to_string());
    } else {
        let unit = unit_of(&fitted.model.space);
        let rig = &loaded.rig;
        ui.print(&format!(
            "{}: {} vertices, {} bones, diagonal {:.3} {}; {} fitted to {} poses in {:.2} s",
            rig.name,
            rig.mesh.positions.len(),
            rig.skeleton.len(),
            rig.mesh.diagonal(),
            loaded.space.unit,
            options.method,
            train.len(),
            fitted.seconds
        ));
        let settings: Vec<String> =
            fitted.model.header.settings.iter().map(|(key, value)| format!("{key} {value}")).collect();
        show::wrapped(ui, "settings", &settings);
        let mut shown = vec![("training", &train_scores)];
        shown.extend(held_out_scores.as_ref().map(|s| ("held out", s)));
        shown.extend(cross_validated.as_ref().map(|s| ("cross-validated", s)));
        show::errors(ui, &shown, &unit);
        if let Some(ratio) = counts.ratio() {
            ui.print(&format!("{:.0} % of the error of the rig's own weights remains", 100.0 * ratio));
        }
        show::budgets(ui, &fitted.model.header.report, &unit);
        show::frames(ui, counts, &unit, if ui.verbose { 10 } else { 3 });
        ui.print(&memory.to_string());
        for warning in outcome.warnings() {
            ui.print(&format!("warning: {warning}"));
        }
        for written in [&out, &report_dir].into_iter().flatten() {
            ui.print(&format!("written: {}", written.path().display()));
        }
    }
    let failed = limit.is_some_and(|limit| counts.model.error.rms > limit);
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
