//! `dermis export`

use crate::options::ReadArgs;
use crate::show;
use crate::ui::Ui;
use dermis_workflow::compile::{CompileSettings, Compiled, HeldOut, Poses, Step, compile};
use dermis_workflow::drivers::{self, Driven, DriverSettings, Loss, PoseSpaceExport, PoseSpaceSettings};
use dermis_workflow::fits::weights::WeightBits;
use dermis_workflow::io::ModelFile;
use dermis_workflow::load::{
    FileNote, PoseSet, ReadOptions, Source, load_base_cache, load_examples, load_model, load_motion, load_pose_sets,
};
use dermis_workflow::output::{Output, reserve_file};
use dermis_workflow::page::Unit;
use dermis_workflow::report::{show_length, unit_of};
use dermis_workflow::rig::{Motion, Skeleton};
use dermis_workflow::{Error, deliver};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

/// Compile a model for an engine: a GLB with skin, clip, and the correction as morph targets or as helper bones
#[derive(clap::Args)]
pub struct ExportArgs {
    /// The model (.dermis)
    model: PathBuf,
    /// Where it goes (.glb)
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    /// The motion that becomes the clip, and for which the correction is baked; with --lbs several, a clip each
    #[arg(long, value_name = "FILE", num_args = 1..)]
    motion: Vec<Source>,
    /// Make the whole model, whatever its method, linear blend skinning without morph targets: weights are solved for --motion
    /// and --examples, with at most --influences [default: 4] a vertex, and --helpers (docs/compile.md)
    #[arg(long)]
    lbs: bool,
    /// With --lbs: poses to compile for whose true skin is known, so that errors are measured against it, too; they become a clip
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "lbs")]
    examples: Vec<Source>,
    /// With --lbs: poses that are measured only, each file on its own, with true skins or as a motion
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "lbs")]
    hold_out: Vec<Source>,
    /// With --lbs: bones that may be added where those of the rig fall short; their motion is baked into the clips
    #[arg(long, value_name = "H", requires = "lbs", default_value_t = 0)]
    helpers: u16,
    /// With --lbs: store weights as whole numbers of 8 or 16 bits whose sums stay exact
    #[arg(long, value_name = "BITS", requires = "lbs")]
    weight_bits: Option<u8>,
    /// With --lbs: where the search for helpers starts
    #[arg(long, value_name = "N", requires = "lbs", default_value_t = 1)]
    seed: u64,
    /// Write a table how an engine computes from its joints, in any pose, the weights of the morph targets (for a joint model or a
    /// pose space; docs/drivers.md), or with --lbs the motion of the helper bones (docs/compile.md)
    #[arg(long, value_name = "FILE")]
    drivers: Option<PathBuf>,
    /// Morph targets that carry the correction, at most; 0 exports the skin weights alone, "all" compresses nothing (with
    /// --drivers, or of a pose space) [default: 8, or 32 with --drivers, or 64 of a pose space]
    #[arg(long, value_name = "N|all")]
    shapes: Option<Shapes>,
    /// Of a pose space: kernels per region, at most, that the weights of the shapes are computed from [default: 16]
    #[arg(long, value_name = "M", conflicts_with = "lbs")]
    kernels: Option<usize>,
    /// Influences per vertex, at most; what pruning costs is printed [default: all of the rig's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    influences: Option<u16>,
    /// Positions of the base in every frame, for a model over a given base
    #[arg(long, value_name = "FILE")]
    base_cache: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// How many morph targets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shapes {
    Most(usize),
    All,
}

impl FromStr for Shapes {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            number => number.parse().map(Self::Most).map_err(|_| "a number or \"all\" is needed".into()),
        }
    }
}

/// Runs the verb.
pub fn run(args: &ExportArgs, ui: &Ui) -> Result<ExitCode, Error> {
    if !deliver::is_glb(&args.out) {
        return Err(Error::Option(format!("\"{}\": only .glb is written so far", args.out.display())));
    }
    let out = reserve_file(&args.out, args.force)?;
    let drivers = args.drivers.as_deref().map(|path| reserve_file(path, args.force)).transpose()?;
    if args.drivers.as_ref() == Some(&args.out) {
        return Err(Error::Option(format!("\"{}\": the table needs a file of its own", args.out.display())));
    }
    if drivers.is_some() && args.base_cache.is_some() {
        return Err(Error::Option(
            "--drivers needs no --base-cache: a model over given positions cannot be driven".into(),
        ));
    }
    let read = args.read.options()?;
    let (model, _) = ui.step("read model", |_| load_model(&args.model))?;
    if args.lbs {
        return linear(args, ui, &model, &read, &out, drivers.as_ref());
    }
    if args.motion.len() > 1 {
        return Err(Error::Option("several --motion need --lbs: morph targets are baked for one".into()));
    }
    let motion = match args.motion.first() {
        None => None,
        Some(source) => Some(ui.step("read motion", |_| load_motion(&model.rig, source, &read))?.0),
    };
    let frames = motion.as_ref().map_or(0, |m| m.frames.len());
    let given = match &args.base_cache {
        None => None,
        Some(path) => Some(load_base_cache(&model.rig, &model.space, path, frames, &read)?.0),
    };
    let influences = args.influences.map(usize::from);
    let bare = args.shapes == Some(Shapes::Most(0)) && drivers.is_none() && args.kernels.is_none();
    if drivers::is_pose_space(&model) && !bare {
        match drivers::refusal(&model) {
            None => return pose_space(args, ui, &model, motion.as_ref(), &out, drivers.as_ref()),
            Some(reason) if drivers.is_some() || args.kernels.is_some() => {
                return Err(Error::Option(format!(
                    "no shapes can be driven for this model: {reason}; or export it with --motion alone, for that motion"
                )));
            }
            Some(reason) if !args.json => ui.print(&format!("no shapes are driven: {reason}")),
            Some(_) => {}
        }
    } else if args.kernels.is_some() {
        return Err(Error::Option(format!(
            "--kernels serves pose spaces (psd, eigenskin, pose-blendshapes), and this is \"{}\"",
            model.header.method
        )));
    }
    if let Some(table) = &drivers {
        let shapes = match args.shapes {
            None => DriverSettings::default().shapes,
            Some(Shapes::Most(most)) => Some(most),
            Some(Shapes::All) => None,
        };
        let settings = DriverSettings { shapes, influences };
        let driven =
            ui.step("export", |p| drivers::export_driven(&model, motion.as_ref(), settings, (&out, table), p))?;
        if args.json {
            ui.print(&driven.json().to_string());
            return Ok(ExitCode::SUCCESS);
        }
        ui.print(&format!("written: {} ({} bytes)", out.path().display(), driven.bytes));
        ui.print(&format!("written: {}", table.path().display()));
        driven_lines(&driven, &unit_of(&model.space)).iter().for_each(|line| ui.print(line));
        return Ok(ExitCode::SUCCESS);
    }
    let shapes = match args.shapes {
        None => 8,
        Some(Shapes::Most(most)) => most,
        Some(Shapes::All) => return Err(Error::Option("--shapes all needs --drivers, or a pose space".into())),
    };
    let settings = deliver::ExportSettings { shapes, influences };
    let exported =
        ui.step("export", |p| deliver::export_glb(&model, motion.as_ref(), given.as_deref(), settings, &out, p))?;
    if args.json {
        ui.print(&exported.json().to_string());
        return Ok(ExitCode::SUCCESS);
    }
    ui.print(&format!("written: {} ({} bytes)", out.path().display(), exported.bytes));
    lines(&exported, &unit_of(&model.space), deliver::corrects(&model)).iter().for_each(|line| ui.print(line));
    Ok(ExitCode::SUCCESS)
}

/// A pose space: shapes that are driven in any pose.
fn pose_space(
    args: &ExportArgs,
    ui: &Ui,
    model: &ModelFile,
    motion: Option<&Motion>,
    out: &Output,
    table: Option<&Output>,
) -> Result<ExitCode, Error> {
    let shapes = args.shapes.map(|shapes| match shapes {
        Shapes::Most(most) => most,
        Shapes::All => usize::MAX,
    });
    let influences = args.influences.map(usize::from);
    let settings = PoseSpaceSettings { shapes, kernels: args.kernels, influences };
    let made = ui.step("export", |p| drivers::export_pose_space(model, motion, settings, (out, table), p))?;
    if args.json {
        ui.print(&made.json().to_string());
        return Ok(ExitCode::SUCCESS);
    }
    ui.print(&format!("written: {} ({} bytes)", out.path().display(), made.bytes));
    if let Some(table) = table {
        ui.print(&format!("written: {}", table.path().display()));
    }
    pose_space_lines(&made, &unit_of(&model.space)).iter().for_each(|line| ui.print(line));
    Ok(ExitCode::SUCCESS)
}

/// What shapes of a pose space cost, against the model.
fn pose_space_lines(made: &PoseSpaceExport, unit: &Unit) -> Vec<String> {
    let show = |(rms, max): (f64, f64)| format!("rms {}, max {}", show_length(rms, unit), show_length(max, unit));
    let mut lines: Vec<String> = pruning(made.pruned.as_ref(), unit).into_iter().collect();
    lines.push(format!(
        "{} shapes ({}) driven by {} values of {} regions, from {} coordinates",
        made.shapes, made.origin, made.values, made.regions, made.coordinates
    ));
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

/// `--lbs`: weights and helper bones instead of a correction.
fn linear(
    args: &ExportArgs,
    ui: &Ui,
    model: &ModelFile,
    read: &ReadOptions,
    out: &Output,
    table: Option<&Output>,
) -> Result<ExitCode, Error> {
    if args.shapes.is_some() || args.base_cache.is_some() {
        return Err(Error::Option(
            "--lbs makes no morph targets and runs no base of its own: it needs neither --shapes nor --base-cache"
                .into(),
        ));
    }
    let bits = match args.weight_bits {
        None => None,
        Some(8) => Some(WeightBits::Eight),
        Some(16) => Some(WeightBits::Sixteen),
        Some(other) => return Err(Error::Option(format!("--weight-bits {other}: it must be 8 or 16"))),
    };
    let settings = CompileSettings {
        influences: args.influences.map_or(4, usize::from),
        helpers: usize::from(args.helpers),
        bits,
        seed: args.seed,
    };
    let (rig, space) = (&model.rig, &model.space);
    let notes = |notes: &[FileNote]| {
        if !args.json {
            show::files(ui, notes);
        }
    };
    let mut sets = Vec::new();
    for source in &args.motion {
        sets.push(Poses::of_motion(ui.step("read motion", |_| load_motion(rig, source, read))?.0));
    }
    if !args.examples.is_empty() {
        let load = || load_examples(rig, space, &args.examples, read, "examples");
        let (examples, found) = ui.step("read examples", |_| load())?;
        notes(&found);
        sets.push(Poses::of_examples(&examples, &rig.skeleton));
    }
    let mut held_out = Vec::new();
    if !args.hold_out.is_empty() {
        let load = || load_pose_sets(rig, space, &args.hold_out, read, "hold-out");
        let (loaded, found) = ui.step("read hold-out", |_| load())?;
        notes(&found);
        for (name, set) in loaded {
            let mut poses = match set {
                PoseSet::Examples(examples) => Poses::of_examples(&examples, &rig.skeleton),
                PoseSet::Motion(motion) => Poses::of_motion(motion),
            };
            poses.name = name;
            held_out.push(poses);
        }
    }
    let compiled = ui.step("compile", |p| compile(model, &sets, &held_out, settings, (out, table), p))?;
    if args.json {
        ui.print(&compiled.json(&rig.skeleton).to_string());
        return Ok(ExitCode::SUCCESS);
    }
    ui.print(&format!("written: {} ({} bytes)", out.path().display(), compiled.bytes));
    if let Some(table) = table.filter(|_| !compiled.helpers.is_empty()) {
        ui.print(&format!("written: {}", table.path().display()));
    }
    compiled_lines(&compiled, &rig.skeleton, &unit_of(space)).iter().for_each(|line| ui.print(line));
    Ok(ExitCode::SUCCESS)
}

/// What each step cost, first those on the poses compiled for, then those on poses held out, then the helpers.
fn compiled_lines(compiled: &Compiled, skeleton: &Skeleton, unit: &Unit) -> Vec<String> {
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
fn step_lines(title: &str, steps: &[Step], unit: &Unit) -> Vec<String> {
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

fn pruning(pruned: Option<&deliver::PruneCost>, unit: &Unit) -> Option<String> {
    let (pruned, cost) = pruned?;
    let cost =
        cost.map_or(String::new(), |c| format!("; the skin weights move a vertex by at most {}", show_length(c, unit)));
    Some(format!("{} influences dropped at {} vertices{cost}", pruned.dropped, pruned.vertices))
}

/// What the driven shapes cost, against the model.
fn driven_lines(driven: &Driven, unit: &Unit) -> Vec<String> {
    let mut lines: Vec<String> = pruning(driven.pruned.as_ref(), unit).into_iter().collect();
    let (coordinates, joints) = (driven.coordinates, driven.joints);
    lines.push(format!(
        "{} shapes driven by {coordinates} coordinates of {joints} joints, made from {} poses",
        driven.shapes, driven.samples
    ));
    let sets = [Some(("training poses", &driven.training)), driven.motion.as_ref().map(|cost| ("frames", cost))];
    for (name, cost) in sets.into_iter().flatten() {
        lines.push(format!("distance to the model over {} {name}:", cost.poses));
        for (what, (rms, max)) in [
            ("skin weights alone".to_owned(), cost.weights_alone),
            (format!("with {} shapes", driven.shapes), cost.shapes),
            (format!("with all {} shapes", coordinates + 1), cost.all_shapes),
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
pub fn lines(exported: &deliver::Exported, unit: &Unit, corrects: bool) -> Vec<String> {
    let show = |(rms, max): (f64, f64)| format!("rms {}, max {}", show_length(rms, unit), show_length(max, unit));
    let mut lines: Vec<String> = pruning(exported.pruned.as_ref(), unit).into_iter().collect();
    lines.extend(match (exported.against_model, exported.weights_alone) {
        (Some(against), Some(alone)) if corrects => vec![
            format!("skin weights alone differ from the model by {}", show(alone)),
            format!("with {} morph targets over {} frames by {}", exported.shapes, exported.frames, show(against)),
        ],
        (None, _) if corrects => {
            vec!["without --motion the file holds the skin weights alone: the learnt correction is not in it".into()]
        }
        _ => vec![],
    });
    lines
}
