//! `dermis export`

use crate::hints::spelled;
use crate::options::{ReadArgs, WriteArgs, add_defaults, compression, existing};
use crate::ui::{Stop, Ui, joined};
use clap::Command;
use dermis_workflow::fits::weights::WeightBits;
use dermis_workflow::load::Source;
use dermis_workflow::recipe::{
    Compression, ExportForm, ExportMade, ExportOutcome, ExportRecipe, Input, LinearExport, ShapeCount, ShapesExport,
    ViewerExport,
};
use dermis_workflow::report::{LengthUnit, show_length, unit_of};
use dermis_workflow::rig::Skeleton;
use dermis_workflow::skins::WriteOptions;
use dermis_workflow::verbs::export::compile::{Compiled, HeldOut, Step};
use dermis_workflow::verbs::export::drivers::{
    Driven, DrivenReport, DriverSettings, Loss, Origin, PoseSpaceReport, PoseSpaceSettings,
};
use dermis_workflow::verbs::export::error::refused;
use dermis_workflow::verbs::export::{ExportSettings, Exported, PruneCost};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compile a model for an engine: shapes, drivers, bones, or a page
#[derive(clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct ExportArgs {
    #[command(subcommand)]
    form: FormArgs,
}

/// What leaves.
#[derive(clap::Subcommand)]
enum FormArgs {
    /// A GLB, FBX or USD file with skin, clip, and the correction as morph targets, baked for a motion or driven by joints
    Shapes(ShapesArgs),
    /// A GLB, FBX or USD file with morph targets, and a table from which an engine computes their weights in any pose (docs/drivers.md)
    Drivers(DriversArgs),
    /// A GLB, FBX or USD file with linear blend skinning alone, whatever the method: weights are solved, and helper bones added (docs/compile.md)
    Bones(BonesArgs),
    /// A page that poses the model in any browser, offline: alone, or in a folder with the GLB that it shows (docs/browser.md)
    Viewer(ViewerArgs),
}

#[derive(clap::Args)]
struct ShapesArgs {
    /// The motion that becomes the clip, and for which the correction is baked
    #[arg(long, value_name = "FILE")]
    motion: Option<Source>,
    /// Let joints drive the morph targets in any pose: the GLB holds what drives them as a glTF extension (for a joint model; a
    /// pose space is always driven; docs/browser.md)
    #[arg(long)]
    driven: bool,
    #[command(flatten)]
    targets: TargetArgs,
    /// Positions of the base in every frame, for a model over a given base
    #[arg(long, value_name = "FILE")]
    base_cache: Option<PathBuf>,
    #[command(flatten)]
    springs: SpringArgs,
    #[command(flatten)]
    compress: CompressArgs,
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    write: WriteArgs,
}

#[derive(clap::Args)]
struct DriversArgs {
    /// Where the table goes (.json)
    #[arg(long, value_name = "FILE")]
    table: PathBuf,
    /// The motion that becomes the clip
    #[arg(long, value_name = "FILE")]
    motion: Option<Source>,
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    springs: SpringArgs,
    #[command(flatten)]
    compress: CompressArgs,
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    write: WriteArgs,
}

#[derive(clap::Args)]
struct BonesArgs {
    /// Motions to compile for, a clip each
    #[arg(long, value_name = "FILE", num_args = 1..)]
    motion: Vec<Source>,
    /// Poses to compile for whose true skin is known, so that errors are measured against it, too; they become a clip
    #[arg(long, value_name = "FILE", num_args = 1..)]
    examples: Vec<Source>,
    /// Poses that are measured only, each file on its own, with true skins or as a motion
    #[arg(long, value_name = "FILE", num_args = 1..)]
    hold_out: Vec<Source>,
    /// Bones that may be added where those of the rig fall short; their motion is baked into the clips
    #[arg(long, value_name = "H", default_value_t = LinearExport::default().helpers as u16)]
    helpers: u16,
    /// Write a table from which an engine computes the motion of the helper bones in any pose (.json)
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Store weights as whole numbers of 8 or 16 bits whose sums stay exact
    #[arg(long, value_name = "BITS")]
    weight_bits: Option<u8>,
    /// Seed of the random choices
    #[arg(long, value_name = "N", default_value_t = LinearExport::default().seed)]
    seed: u64,
    #[command(flatten)]
    springs: SpringArgs,
    #[command(flatten)]
    compress: CompressArgs,
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    write: WriteArgs,
}

#[derive(clap::Args)]
struct ViewerArgs {
    /// The motion that the page plays; true skins in its file are shown, too
    #[arg(long, value_name = "FILE")]
    motion: Option<Source>,
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    common: CommonArgs,
}

/// Options of every form.
#[derive(clap::Args)]
struct CommonArgs {
    /// The model (.dermis)
    model: PathBuf,
    /// Where it goes: .glb, .fbx, .usda or .usdz
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    /// Influences per vertex, at most; what pruning costs is printed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    influences: Option<u16>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// How a GLB is written that leaves alone.
#[derive(clap::Args)]
struct CompressArgs {
    /// Compress the GLB without loss: "meshopt" (EXT_meshopt_compression), which its readers must know
    #[arg(long, value_name = "CODEC", value_parser = compression)]
    compress: Option<Compression>,
}

/// What stands beside a file whose bones swing.
#[derive(clap::Args)]
struct SpringArgs {
    /// Write a table of the springs of bone chains, from which readers/dermis_springs.gd makes springs of Godot (.json; docs/secondary.md)
    #[arg(long, value_name = "FILE")]
    springs: Option<PathBuf>,
}

/// Options of morph targets.
#[derive(clap::Args)]
struct TargetArgs {
    /// Morph targets that carry the correction, at most; 0 exports the skin weights alone, "all" compresses no driven ones
    #[arg(long, value_name = "N|all", value_parser = shapes)]
    shapes: Option<ShapeCount>,
    /// Of a pose space: kernels per region, at most, that the weights of the shapes are computed from
    #[arg(long, value_name = "M")]
    kernels: Option<usize>,
    /// Leave the changes of normals out of the morph targets: half their bytes, but corrections are shaded as the rest mesh
    #[arg(long)]
    no_normals: bool,
}

/// Adds the defaults that settings have to the help of their options.
pub fn with_defaults(command: Command) -> Command {
    let (baked, driven) = (ExportSettings::default().shapes, DriverSettings::default().shapes);
    let driven = driven.map_or_else(|| "all".to_owned(), |shapes| shapes.to_string());
    let of_space = PoseSpaceSettings::SHAPES;
    let influences = || ("influences", "all of the rig's".to_owned());
    let kernels = || ("kernels", PoseSpaceSettings::KERNELS.to_string());
    let driven_shapes = format!("{driven}, or {of_space} of a pose space");
    let shapes = format!("{baked}, or {driven} with --driven, or {of_space} of a pose space");
    command
        .mut_subcommands(|form| form.after_help(crate::EXIT_CODES))
        .mut_subcommand("shapes", |form| add_defaults(form, [("shapes", shapes), kernels(), influences()]))
        .mut_subcommand("drivers", |form| {
            add_defaults(form, [("shapes", driven_shapes.clone()), kernels(), influences()])
        })
        .mut_subcommand("bones", |form| {
            add_defaults(form, [("influences", LinearExport::default().influences.to_string())])
        })
        .mut_subcommand("viewer", |form| {
            let form = form.mut_arg("out", |out| out.help("The page (.html); or a folder for it and its GLB"));
            add_defaults(form, [("shapes", driven_shapes), kernels(), influences()])
        })
}

/// The command line, after `dermis export`, that does what one without a form did; none if it names a form and no old option.
pub fn respelled(words: &[String]) -> Option<String> {
    const OLD: [(&str, &str); 3] = [("--viewer", "viewer"), ("--lbs", "bones"), ("--drivers", "drivers")];
    let forms = ["shapes", "drivers", "bones", "viewer", "help"];
    let named = words.first().is_some_and(|word| forms.contains(&word.as_str()));
    let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    let old = OLD.into_iter().find(|(option, _)| words.iter().any(|word| name(word) == *option));
    let (form, rest) = match (old, named) {
        (None, true) => return None,
        (old, _) => (old.map_or("shapes", |(_, form)| form), &words[usize::from(named)..]),
    };
    let rest = rest.iter().filter(|word| !["--viewer", "--lbs"].contains(&word.as_str()));
    let rest = rest.map(|word| match name(word) == "--drivers" {
        true => word.replacen("--drivers", "--table", 1),
        false => word.clone(),
    });
    let line: Vec<String> = [form.to_owned()].into_iter().chain(rest).collect();
    (!words.is_empty()).then(|| joined(line.iter().map(String::as_str)))
}

/// Reads `--shapes`.
fn shapes(text: &str) -> Result<ShapeCount, String> {
    match text {
        "all" => Ok(ShapeCount::All),
        number => number.parse().map(ShapeCount::Most).map_err(|_| "a number or \"all\" is needed".into()),
    }
}

impl ExportArgs {
    fn common(&self) -> &CommonArgs {
        match &self.form {
            FormArgs::Shapes(ShapesArgs { common, .. })
            | FormArgs::Drivers(DriversArgs { common, .. })
            | FormArgs::Bones(BonesArgs { common, .. })
            | FormArgs::Viewer(ViewerArgs { common, .. }) => common,
        }
    }

    fn compress(&self) -> Option<Compression> {
        match &self.form {
            FormArgs::Shapes(ShapesArgs { compress, .. })
            | FormArgs::Drivers(DriversArgs { compress, .. })
            | FormArgs::Bones(BonesArgs { compress, .. }) => compress.compress,
            FormArgs::Viewer(_) => None,
        }
    }

    fn springs(&self) -> Option<PathBuf> {
        match &self.form {
            FormArgs::Shapes(ShapesArgs { springs, .. })
            | FormArgs::Drivers(DriversArgs { springs, .. })
            | FormArgs::Bones(BonesArgs { springs, .. }) => springs.springs.clone(),
            FormArgs::Viewer(_) => None,
        }
    }

    /// The arguments as a recipe.
    fn recipe(&self) -> Result<ExportRecipe, Stop> {
        let common = self.common();
        let influences = common.influences.map(usize::from);
        let (form, table) = match &self.form {
            FormArgs::Shapes(args) => {
                let base_cache = args.base_cache.clone().map(Input::from);
                let shapes = args.targets.export(&args.motion, influences);
                (ExportForm::Shapes(ShapesExport { base_cache, driven: args.driven, ..shapes }), None)
            }
            FormArgs::Drivers(args) => {
                (ExportForm::Shapes(args.targets.export(&args.motion, influences)), Some(args.table.clone()))
            }
            FormArgs::Bones(args) => (ExportForm::Linear(args.export(influences)?), args.table.clone()),
            FormArgs::Viewer(ViewerArgs { motion, targets, .. }) => {
                let ShapesExport { motion, shapes, kernels, influences, normals, .. } =
                    targets.export(motion, influences);
                (ExportForm::Viewer(ViewerExport { motion, shapes, kernels, influences, normals }), None)
            }
        };
        let springs = self.springs();
        let write = match &self.form {
            FormArgs::Shapes(ShapesArgs { write, .. })
            | FormArgs::Drivers(DriversArgs { write, .. })
            | FormArgs::Bones(BonesArgs { write, .. }) => write.options()?,
            FormArgs::Viewer(_) => WriteOptions::default(),
        };
        Ok(ExportRecipe {
            model: common.model.clone().into(),
            form,
            read: common.read.options()?,
            write,
            out: common.out.clone(),
            table,
            springs,
            compress: self.compress(),
            existing: existing(common.force),
        })
    }
}

impl TargetArgs {
    fn export(&self, motion: &Option<Source>, influences: Option<usize>) -> ShapesExport {
        ShapesExport {
            motion: motion.clone().map(Input::from),
            base_cache: None,
            shapes: self.shapes,
            kernels: self.kernels,
            influences,
            normals: !self.no_normals,
            driven: false,
        }
    }
}

impl BonesArgs {
    fn export(&self, influences: Option<usize>) -> Result<LinearExport, Stop> {
        let weight_bits = match self.weight_bits {
            None => None,
            Some(8) => Some(WeightBits::Eight),
            Some(16) => Some(WeightBits::Sixteen),
            Some(other) => return Err(Stop::Usage(format!("--weight-bits {other}: it must be 8 or 16"))),
        };
        let inputs = |sources: &[Source]| sources.iter().cloned().map(Input::from).collect();
        Ok(LinearExport {
            motions: inputs(&self.motion),
            examples: inputs(&self.examples),
            hold_out: inputs(&self.hold_out),
            influences: influences.unwrap_or(LinearExport::default().influences),
            helpers: usize::from(self.helpers),
            weight_bits,
            seed: self.seed,
        })
    }
}

/// Runs the verb.
pub fn run(args: &ExportArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    Ok(show(&args.recipe()?.run(ui)?, ui, args.common().json))
}

/// Shows the outcome.
pub fn show(outcome: &ExportOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    let (model, unit) = (&outcome.model, unit_of(&outcome.model.space));
    let (bytes, lines) = match &outcome.made {
        ExportMade::Baked { exported, corrects, refusal } => {
            if let Some(reason) = refusal {
                let said = refused(format!("no shapes are driven: {reason}"), *reason);
                ui.print(&spelled(&said.then("; or drive fitted ones with `driven=true`".into())));
            }
            (exported.bytes, lines(exported, &unit, *corrects))
        }
        ExportMade::Driven(driven) => (driven.bytes, driven_lines(driven, &unit)),
        ExportMade::PoseSpace(made) => (made.bytes, pose_space_lines(made, &unit)),
        ExportMade::Linear(compiled) => (compiled.bytes, compiled_lines(compiled, model.rig().skeleton(), &unit)),
    };
    let alone = outcome.page.as_ref().is_some_and(|(page, _)| *page == outcome.written);
    if !alone {
        ui.print(&format!("written: {} ({bytes} bytes)", outcome.written.display()));
    }
    if let Some((page, bytes)) = &outcome.page {
        ui.print(&format!("written: {} ({bytes} bytes)", page.display()));
    }
    for table in outcome.table.iter().chain(&outcome.springs) {
        ui.print(&format!("written: {}", table.display()));
    }
    outcome.changes().iter().for_each(|what| ui.print(&format!("left out: {what}")));
    lines.iter().for_each(|line| ui.print(line));
    ExitCode::SUCCESS
}

/// What shapes of a pose space cost, against the model.
fn pose_space_lines(made: &Driven<PoseSpaceReport>, unit: &LengthUnit) -> Vec<String> {
    let show = |(rms, max): (f64, f64)| format!("rms {}, max {}", show_length(rms, unit), show_length(max, unit));
    let mut lines: Vec<String> = pruning(made.pruned.as_ref(), unit).into_iter().collect();
    lines.push(format!(
        "{} shapes ({}) driven by {} values of {} regions, from {} coordinates",
        made.shapes, made.origin, made.values, made.regions, made.coordinates
    ));
    if matches!(made.origin, Origin::OwnValues | Origin::Compiled) {
        lines.push(
            "shapes have no names of sculpts, because this model blends its examples vertex by vertex; fit --sculpts makes a named \
             shape of each"
                .into(),
        );
    }
    let sets = [("training poses", &made.training), ("frames", &made.motion)];
    for (name, loss) in sets.iter().filter_map(|(name, loss)| Some((name, loss.as_ref()?))) {
        let Loss { poses, weights_alone, shapes, clamped } = loss;
        lines.push(format!("distance to the model over {poses} {name}:"));
        lines.push(format!("  skin weights alone     {}", show(*weights_alone)));
        lines.push(format!("  with {:<17} {}", format!("{} shapes", made.shapes), show(*shapes)));
        if *clamped > 0.0 {
            lines.push(format!("  {:.1} % of the weights are clamped to 0..1", 100.0 * clamped));
        }
    }
    lines.extend(made.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines
}

/// What each step cost, first those on the poses compiled for, then those on poses held out, then the helpers.
fn compiled_lines(compiled: &Compiled, skeleton: &Skeleton, unit: &LengthUnit) -> Vec<String> {
    let mut lines = step_lines(&format!("{} poses compiled for", compiled.poses), &compiled.steps, unit);
    for HeldOut { name, poses, steps } in &compiled.held_out {
        lines.extend(step_lines(&format!("{poses} poses held out, {name}"), steps, unit));
    }
    let names = skeleton.names();
    for helper in &compiled.helpers {
        let (name, parent, vertices) = (&helper.name, &names[helper.parent], helper.vertices);
        let joints: Vec<&str> = helper.joints.iter().map(|&(_, to)| names[to].as_str()).collect();
        let driven = helper.explained.map_or(String::new(), |share| {
            format!("; {} explain {:.0} % of its motion in poses left out", joints.join(", "), 100.0 * share)
        });
        lines.push(format!("{name} on {parent}: {vertices} vertices{driven}"));
    }
    lines.extend(compiled.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines
}

/// The way from the model to what is delivered in one line, then a line for each step.
fn step_lines(title: &str, steps: &[Step], unit: &LengthUnit) -> Vec<String> {
    let length = |x: f64| show_length(x, unit);
    let truth = steps.iter().any(|step| step.to_truth.is_some());
    let error = |step: &Step| length(step.to_truth.map_or(step.to_model.0, |(rms, _)| rms));
    let way: Vec<String> = steps.iter().map(|step| format!("{} {}", step.name, error(step))).collect();
    let to = if truth { "the examples" } else { "the model" };
    let mut lines = vec![format!("{title}: rms distance to {to}: {}", way.join(" → "))];
    let wide = steps.iter().map(|step| step.name.chars().count()).max().unwrap_or(0);
    for step in steps {
        let truth = step.to_truth.map_or(String::new(), |(rms, max)| {
            format!("; from the examples rms {}, max {}", length(rms), length(max))
        });
        let (rms, max) = step.to_model;
        lines.push(format!("  {:<wide$}  from the model rms {}, max {}{truth}", step.name, length(rms), length(max)));
    }
    lines
}

fn pruning(pruned: Option<&PruneCost>, unit: &LengthUnit) -> Option<String> {
    let (pruned, cost) = pruned?;
    let cost =
        cost.map_or(String::new(), |c| format!("; the skin weights move a vertex by at most {}", show_length(c, unit)));
    Some(format!("{} influences dropped at {} vertices{cost}", pruned.dropped, pruned.vertices))
}

/// What the driven shapes cost, against the model.
fn driven_lines(driven: &Driven<DrivenReport>, unit: &LengthUnit) -> Vec<String> {
    let mut lines: Vec<String> = pruning(driven.pruned.as_ref(), unit).into_iter().collect();
    let (coordinates, joints) = (driven.coordinates, driven.joints);
    let whose = if driven.fitted { "fitted to the model's skin, " } else { "" };
    lines.push(format!(
        "{} shapes driven by {coordinates} coordinates of {joints} joints, {whose}made from {} poses",
        driven.shapes - driven.sculpts,
        driven.samples
    ));
    if driven.sculpts > 0 {
        lines.push(format!("{} more, one for each sculpt that the model remembers, with its name", driven.sculpts));
    }
    let sets = [Some(("training poses", &driven.training)), driven.motion.as_ref().map(|cost| ("frames", cost))];
    for (name, cost) in sets.into_iter().flatten() {
        lines.push(format!("distance to the model over {} {name}:", cost.poses));
        for (what, (rms, max)) in [
            ("skin weights alone".to_owned(), cost.weights_alone),
            (format!("with {} shapes", driven.shapes), cost.shapes),
            (format!("with all {} shapes", coordinates + 1 + driven.sculpts), cost.all_shapes),
        ] {
            lines.push(format!("  {what:<22} rms {}, max {}", show_length(rms, unit), show_length(max, unit)));
        }
    }
    if driven.clamped > 0.0 {
        lines.push(format!("{:.1} % of the motion's weights are clamped to 0..1", 100.0 * driven.clamped));
    }
    lines.extend(driven.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines
}

/// What each step of the export cost.
pub fn lines(exported: &Exported, unit: &LengthUnit, corrects: bool) -> Vec<String> {
    let show = |(rms, max): (f64, f64)| format!("rms {}, max {}", show_length(rms, unit), show_length(max, unit));
    let mut lines: Vec<String> = pruning(exported.pruned.as_ref(), unit).into_iter().collect();
    lines.extend(match (exported.against_model, exported.weights_alone) {
        (Some(against), Some(alone)) if corrects => vec![
            format!("skin weights alone differ from the model by {}", show(alone)),
            format!("with {} morph targets over {} frames by {}", exported.shapes, exported.frames, show(against)),
        ],
        (None, _) => {
            let rest = match corrects {
                true => "; what the model adds is not in it: --motion bakes it, and --driven lets joints drive it",
                false => ", and no clip",
            };
            vec![format!("without --motion the file is the plain rig, with its mesh, skeleton and skin weights{rest}")]
        }
        _ => vec![],
    });
    lines
}
