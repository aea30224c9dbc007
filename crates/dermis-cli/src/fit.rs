//! `dermis fit`

use crate::method_options::{self, MethodArgs};
use crate::options::{ProvenanceArgs, ReadArgs, existing, page, within};
use crate::run::stored_recipe;
use crate::show;
use crate::ui::{INTERRUPTED, Stop, Ui, command_line};
use dermis_workflow::FileError;
use dermis_workflow::io::Format;
use dermis_workflow::load::{Source, kind_of, load_model};
use dermis_workflow::measure::PassRule;
use dermis_workflow::output::folder_of;
use dermis_workflow::recipe::{FitDone, FitExamples, FitOutcome, FitOutputs, FitRecipe, Input, Recipe, SculptInput};
use dermis_workflow::report::unit_of;
use dermis_workflow::rig::number::decimal;
use dermis_workflow::verbs::fit::Share;
use dermis_workflow::verbs::invert::SculptSource;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Learn a deformation model from a rig and examples of its skin
#[derive(clap::Args)]
pub struct FitArgs {
    /// Rest mesh and skeleton (.glb, .gltf, .fbx, .npz)
    #[arg(required_unless_present = "recipe")]
    rig: Option<PathBuf>,
    /// Example poses: bundles (.npz), sculpts as morph targets (.glb, .fbx), or a motion followed by its skins (walk.glb
    /// walk.pc2, take.fbx sim.abc; also .mdd and folders of OBJ files). FILE#CLIP names a clip, FILE.npz#PATTERN,... records by label
    /// (* is any text, a leading ! takes the others)
    #[arg(long, required_unless_present_any = ["merge", "recipe", "sculpts"], num_args = 1.., value_name = "FILE")]
    examples: Vec<Source>,
    /// Sculpts instead of examples: OBJ files and meshes, called as their files, morph targets, called as the targets, frames of a
    /// sequence. FILE@12 is a sculpt of frame 12 of --poses, FILE@LABEL one of the pose of that label. The joint model meets every
    /// sculpt; --method correctives makes a named shape of each
    #[arg(long, num_args = 1.., value_name = "FILE[@POSE]", conflicts_with_all = ["examples", "merge", "stream", "accumulate"])]
    sculpts: Vec<SculptSource>,
    /// Poses of the sculpts: a clip or a bundle. Sculpts without @ are matched by name, or by order if no name matches
    #[arg(long, value_name = "FILE", requires = "sculpts")]
    poses: Option<Source>,
    /// Examples the fit may not see; the errors that count are measured on them
    #[arg(long, num_args = 1.., value_name = "FILE")]
    hold_out: Vec<Source>,
    /// Learn secondary motion, too: clips in which the skin swung, with times, named as examples are. Springs are kept if a simulation of
    /// clips that are left out is better than the model alone; `dermis pose` plays them
    #[arg(long, num_args = 1.., value_name = "FILE", conflicts_with = "accumulate")]
    secondary_from: Vec<Source>,
    /// A model of another character, for a few examples or sculpts: matched as by dermis transfer, it serves where they say little.
    /// Poses that are left out decide whether to have it; --method joint
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["accumulate", "merge", "stream"])]
    prior: Option<PathBuf>,
    /// Never hold the examples, for --method joint, which reads them several times, and mwe, which sums over them once. Training and
    /// held-out errors are measured by reading them again; there is no cross-validation of the model and no picture of the skins
    #[arg(long, hide = true)]
    stream: bool,
    /// Write a part of a fit to this file instead of a model, examples not held: with --method mwe sums over these examples, with
    /// --method joint the model of a --share of the vertices. --merge puts parts together
    #[arg(long, value_name = "PART", hide = true, conflicts_with_all = ["merge", "out", "report", "hold_out", "fail_above", "pass"])]
    accumulate: Option<PathBuf>,
    /// The share of the vertices that --accumulate solves with --method joint: 2/4 is the second of four. Every part reads all
    /// examples
    #[arg(long, value_name = "K/N", hide = true, requires = "accumulate")]
    share: Option<Share>,
    /// Fit to the parts in these files, in this order, instead of to examples
    #[arg(long, num_args = 1.., value_name = "PART", hide = true, conflicts_with = "examples")]
    merge: Vec<PathBuf>,
    /// Where the model goes (.dermis); --force replaces a file
    #[arg(short, long, value_name = "MODEL")]
    out: Option<PathBuf>,
    /// Write a page with errors and pictures (.html)
    #[arg(long, value_name = "PAGE", value_parser = page)]
    report: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    /// Exit with 1 if the error that counts (held out, else cross-validated) has an rms above this, in metres
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    fail_above: Option<f64>,
    /// Exit with 1 unless this share of the distances that count (held out, else cross-validated) lies within this length, such
    /// as "1 mm in 98 %"; the length in mm, cm, m, or % of the rig's diagonal
    #[arg(long, value_name = "DEMAND", allow_hyphen_values = true)]
    pass: Option<PassRule>,
    /// Run this recipe again (see dermis recipe), or that of this model: inputs, method and settings are its own. Files are looked for
    /// from its folder, then from the working folder
    #[arg(long, value_name = "FILE")]
    recipe: Option<PathBuf>,
    /// Without --hold-out, validate by this many folds; 0 skips it
    #[arg(long, default_value_t = 5, value_name = "N")]
    folds: usize,
    #[command(flatten)]
    method: MethodArgs,
    #[command(flatten)]
    provenance: ProvenanceArgs,
    #[command(flatten)]
    read: ReadArgs,
}

impl FitArgs {
    /// The arguments as a recipe.
    ///
    /// # Errors
    /// [`Stop`] for values that make no sense, and for options without effect.
    fn recipe(&self) -> Result<FitRecipe, Stop> {
        let outputs = FitOutputs {
            model: self.out.clone(),
            sums: self.accumulate.clone(),
            share: self.share,
            report: self.report.clone(),
            existing: existing(self.force),
            fail_above: self.fail_above.map(|limit| within("--fail-above", limit, 0.0, f64::MAX)).transpose()?,
            pass: self.pass,
            provenance: self.provenance.choice(),
            command: Some(command_line(self.provenance.choice())),
            ..FitOutputs::default()
        };
        let Some(rig) = &self.rig else {
            let path = self.recipe.as_deref().unwrap_or(Path::new(""));
            return Ok(FitRecipe { outputs, ..stored(path)? });
        };
        let inputs = |sources: &[Source]| sources.iter().cloned().map(Input::from).collect::<Vec<_>>();
        let sculpts = !self.sculpts.is_empty();
        let examples = match (self.merge.is_empty(), self.stream || self.accumulate.is_some()) {
            _ if sculpts => FitExamples::Sculpts {
                sculpts: self.sculpts.iter().cloned().map(SculptInput::from).collect(),
                poses: self.poses.clone().map(Input::from),
            },
            (false, _) => FitExamples::Sums(self.merge.iter().cloned().map(Input::from).collect()),
            (true, true) => FitExamples::Streamed(inputs(&self.examples)),
            (true, false) => FitExamples::Held(inputs(&self.examples)),
        };
        let chosen = self.method.chosen()?;
        Ok(FitRecipe {
            hold_out: inputs(&self.hold_out),
            secondary_from: inputs(&self.secondary_from),
            base_cache: chosen.base_cache,
            map_table: chosen.map_table,
            anchors: chosen.anchors,
            stack: chosen.stack,
            base_model: chosen.base_model,
            prior: self.prior.clone().map(Input::from),
            read: self.read.options()?,
            folds: self.folds,
            outputs,
            ..FitRecipe::new(rig.clone().into(), examples, chosen.method)
        })
    }
}

/// Where the rest of the help is.
pub const MORE: &str = "\
dermis help fit METHOD: the settings of a method, which --set takes
dermis help fit all: every option, also --stream, --accumulate and --merge for examples that are not held, --base-cache and --stack \
for other bases, --provenance, --match-tolerance
";

/// The help of a topic: the settings of a method, or all options.
pub fn help(topic: &str, mut command: clap::Command) -> Option<String> {
    if topic != "all" {
        return method_options::help(topic);
    }
    let fit = command.find_subcommand_mut("fit")?;
    Some(fit.clone().mut_args(|arg| arg.hide(false)).after_help("").render_help().to_string())
}

/// Refuses every option beside `--recipe` that a recipe states itself.
pub fn with_recipe_alone(command: clap::Command) -> clap::Command {
    const BESIDE: [&str; 8] = ["recipe", "out", "report", "json", "force", "fail_above", "pass", "provenance"];
    command.mut_args(|arg| match BESIDE.contains(&arg.get_id().as_str()) {
        true => arg,
        false => arg.conflicts_with("recipe"),
    })
}

/// The recipe of a fit in a file, or in a model.
fn stored(path: &Path) -> Result<FitRecipe, Stop> {
    if kind_of(path) == Some(Format::Model) {
        return Ok(FitRecipe::of_model(&load_model(path)?.0, path)?.found_from(folder_of(path))?);
    }
    match stored_recipe(path)? {
        Recipe::Fit(recipe) => Ok(*recipe),
        _ => Err(FileError::lacks(path, "this recipe is not one of a fit", "").into()),
    }
}

/// Runs the verb.
pub fn run(args: &FitArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let recipe = args.recipe()?;
    let outputs = &recipe.outputs;
    if outputs.model.is_none() && outputs.sums.is_none() && outputs.report.is_none() && !args.json {
        ui.note("note: without -o MODEL the model is scored and dropped");
    }
    Ok(show(&recipe.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(done: &FitDone, ui: &Ui, json: bool) -> ExitCode {
    let outcome = match done {
        FitDone::Model(outcome) => outcome,
        FitDone::Sums { poses, written, .. } => {
            match json {
                true => ui.print_json(&done.json()),
                false => {
                    ui.print(&format!("{poses} poses summed"));
                    written.iter().for_each(|path| ui.print(&format!("written: {}", path.display())));
                }
            }
            return ExitCode::SUCCESS;
        }
    };
    if outcome.validation_stopped {
        ui.note("stopped: the model is whole, its cross-validation was left out");
    }
    match json {
        true => ui.print_json(&outcome.json()),
        false => shown(outcome, ui),
    }
    match (outcome.validation_stopped, outcome.failed) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::from(1),
        (false, false) => ExitCode::SUCCESS,
    }
}

/// The outcome as text.
fn shown(outcome: &FitOutcome, ui: &Ui) {
    let (model, rig) = (&outcome.model, outcome.model.rig());
    let unit = unit_of(&model.space);
    ui.print(&format!(
        "{}: {} vertices, {} bones, diagonal {} {}; {} fitted to {} poses in {:.2} s",
        rig.name(),
        rig.mesh().positions.len(),
        rig.skeleton().len(),
        decimal(rig.mesh().diagonal(), 3),
        model.space.unit,
        outcome.report.method,
        outcome.poses,
        outcome.seconds
    ));
    let settings: Vec<String> = model.header.settings.iter().map(|(key, value)| format!("{key} {value}")).collect();
    show::wrapped(ui, "settings", &settings);
    let scores: Vec<_> = outcome.sets.iter().map(|(name, scores, _)| (name.name(), scores)).collect();
    show::errors(ui, &scores, &unit);
    if let Some(verdict) = outcome.shown().verdict() {
        ui.print_text(&verdict.text);
    }
    outcome.shown().pass().iter().for_each(|pass| ui.print(&pass.text()));
    if let Some(found) = &outcome.secondary {
        show::secondary(ui, found, &unit);
        show::chains(ui, found, outcome.model.rig().skeleton(), &unit);
    }
    show::budgets(ui, &model.header.report, &unit);
    show::correctives(ui, &outcome.report, &unit);
    if let Some(scores) = outcome.counts() {
        show::frames(ui, scores, &unit, if ui.verbose { 10 } else { 3 });
    }
    ui.print(&show::memory(&outcome.memory));
    for warning in outcome.warnings() {
        ui.print(&format!("warning: {warning}"));
    }
    for path in &outcome.written {
        ui.print(&format!("written: {}", path.display()));
    }
}
