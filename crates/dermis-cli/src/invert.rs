//! `dermis invert`

use crate::options::ReadArgs;
use crate::show;
use crate::ui::Ui;
use clap::ValueEnum;
use dermis_workflow::Error;
use dermis_workflow::fits::inverse::{Coupled, Method};
use dermis_workflow::invert::{
    Inverted, Settings, Shown, Skinning, Through, deliver, is_folder, load_sculpts, load_stack, solve,
};
use dermis_workflow::io::Space;
use dermis_workflow::load::{Source, load_rig};
use dermis_workflow::output::{reserve_file, reserve_folder};
use dermis_workflow::page::Unit;
use dermis_workflow::report::{show_length, unit_of};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Bring sculpts of a posed character back to rest, as corrections that any deformer then carries to the pose
#[derive(clap::Args)]
pub struct InvertArgs {
    /// Rest mesh and skeleton (.glb, .gltf, .fbx, .npz)
    rig: PathBuf,
    /// Sculpts: files with poses and skins together, as for fit; or shapes whose poses --poses names: OBJ files and meshes, called
    /// as their files, morph targets, called as the targets, frames of a sequence
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    sculpts: Vec<Source>,
    /// Poses of sculpts that have none of their own, by name, or by order if no name matches (a bundle, or a clip)
    #[arg(long, value_name = "FILE")]
    poses: Option<Source>,
    /// The clip of --poses, if it has several; FILE#CLIP does the same
    #[arg(long, value_name = "NAME", requires = "poses")]
    clip: Option<String>,
    /// The rig's own skinning, inverted in closed form
    #[arg(long, value_enum, default_value = "lbs", group = "through")]
    base: BaseName,
    /// Deformers one after another, from a JSON file (docs/invert.md)
    #[arg(long, value_name = "FILE", group = "through")]
    stack: Option<PathBuf>,
    /// A deformer that is a program of its own, spoken to over its standard input and output (docs/invert-protocol.md)
    #[arg(long, value_name = "COMMAND", group = "through")]
    program: Option<String>,
    /// How long an answer of --program may take [default: 60]
    #[arg(long, value_name = "SECONDS", requires = "program", allow_negative_numbers = true)]
    time_limit: Option<f64>,
    /// How a deformer is inverted: "auto" takes the closed form where there is one, else Gauss-Newton and then direction sets
    /// where that fails
    #[arg(long, value_enum, default_value = "auto")]
    method: MethodName,
    /// What to do with a deformer that moves vertices because others moved, as smoothing does: refuse it, or iterate on the whole
    /// mesh, approximately
    #[arg(long, value_enum, default_value = "refuse")]
    coupled: CoupledName,
    /// In a bundle, write the corrected rest shapes as `vertices` instead of the sculpts
    #[arg(long)]
    rest_space: bool,
    /// Where it goes: .npz, .glb with a morph target per sculpt, or a folder for the corrected rest shapes as OBJ files
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum BaseName {
    Lbs,
    Dqs,
    Rigid,
}

#[derive(Clone, Copy, ValueEnum)]
enum MethodName {
    Auto,
    GaussNewton,
    DirectionSet,
}

#[derive(Clone, Copy, ValueEnum)]
enum CoupledName {
    Refuse,
    Iterate,
}

impl InvertArgs {
    fn settings(&self) -> Settings {
        Settings {
            method: match self.method {
                MethodName::Auto => Method::Auto,
                MethodName::GaussNewton => Method::GaussNewton,
                MethodName::DirectionSet => Method::DirectionSet,
            },
            coupled: match self.coupled {
                CoupledName::Refuse => Coupled::Refuse,
                CoupledName::Iterate => Coupled::Iterate,
            },
        }
    }

    fn time_limit(&self) -> Result<Duration, Error> {
        /// A week: more than an evaluation of a mesh takes, and less than overflows a clock.
        const MOST: f64 = 604_800.0;
        let seconds = self.time_limit.unwrap_or(60.0);
        match seconds > 0.0 && seconds <= MOST {
            true => Ok(Duration::from_secs_f64(seconds)),
            false => Err(Error::Option(format!("--time-limit {seconds}: it must be positive, and {MOST} at most"))),
        }
    }
}

/// Runs the verb.
pub fn run(args: &InvertArgs, ui: &Ui) -> Result<ExitCode, Error> {
    let out = match is_folder(&args.out)? {
        true => reserve_folder(&args.out, args.force)?,
        false => reserve_file(&args.out, args.force)?,
    };
    if args.rest_space && !args.out.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz")) {
        return Err(Error::Option(
            "--rest-space is for .npz: a GLB and OBJ files hold corrections at rest always".into(),
        ));
    }
    let (read, limit, start) = (args.read.options()?, args.time_limit()?, Instant::now());
    let rig = ui.step("read rig", |_| load_rig(&args.rig))?;
    let mut notes = rig.notes.clone();
    let through = match (&args.stack, &args.program, args.base) {
        (Some(path), _, _) => {
            let (stack, name, note) = load_stack(path, &rig)?;
            notes.push(note);
            Through::Stack(stack, name)
        }
        (None, Some(command), _) => Through::Program(command.clone(), limit),
        (None, None, BaseName::Lbs) => Through::Skinning(Skinning::Lbs),
        (None, None, BaseName::Dqs) => Through::Skinning(Skinning::Dqs),
        (None, None, BaseName::Rigid) => Through::Skinning(Skinning::Rigid),
    };
    let poses = args.poses.clone().map(|source| Source { part: args.clip.clone().or(source.part), path: source.path });
    let sculpts =
        ui.step("read sculpts", |_| load_sculpts(&rig.rig, &rig.space, &args.sculpts, poses.as_ref(), &read))?;
    notes.extend(sculpts.notes.iter().cloned());
    show::files(ui, &notes);
    let inverted = ui.step("invert", |p| solve(&rig, &sculpts.examples, &through, args.settings(), p))?;
    let shown = ui.step("write", |_| deliver(&rig, &sculpts, &inverted, args.rest_space, &out))?;
    let diagonal = rig.rig.mesh.diagonal();
    let warnings = warnings(&sculpts.warnings, &inverted, &shown, diagonal, &unit_of(&rig.space));
    if args.json {
        let value = json!({
            "out": out.path().display().to_string(),
            "deformer": through.name(),
            "vertices": rig.rig.mesh.positions.len(),
            "diagonal": diagonal,
            "unit": rig.space.unit,
            "calls": inverted.iter().map(|one| one.report.calls).sum::<usize>(),
            "sculpts": inverted.iter().map(|one| one.report.json(diagonal)).collect::<Vec<Value>>(),
            "shown": shown.json(),
            "warnings": warnings,
            "seconds": start.elapsed().as_secs_f64(),
        });
        ui.print(&value.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    table(ui, &through, &inverted, &rig.space, diagonal);
    warnings.iter().for_each(|warning| ui.print(&format!("warning: {warning}")));
    let files = if shown.files == 1 { String::new() } else { format!(" ({} files)", shown.files) };
    ui.print(&format!("written: {}{files}", out.path().display()));
    Ok(ExitCode::SUCCESS)
}

/// A line per sculpt; of many, those with the largest residuals unless more is asked for.
fn table(ui: &Ui, through: &Through, inverted: &[Inverted], space: &Space, diagonal: f64) {
    /// Lines that fit a screen.
    const LINES: usize = 24;
    let unit = unit_of(space);
    let calls: usize = inverted.iter().map(|one| one.report.calls).sum();
    ui.print(&format!("{} sculpts through {}, {calls} calls", inverted.len(), through.name()));
    ui.print(&format!(
        "{:<24}{:>6}{:>12}{:>12}{:>10}{:>9}{:>11}{:>12}{:>10}",
        "sculpt", "calls", "left, rms", "left, max", "of diag.", "left at", "corrected", "at most", "singular"
    ));
    let mut order: Vec<usize> = (0..inverted.len()).collect();
    if !ui.verbose && inverted.len() > LINES {
        order.sort_by(|&a, &b| inverted[b].report.residual.1.total_cmp(&inverted[a].report.residual.1));
        order.truncate(LINES);
    }
    for &at in &order {
        let one = &inverted[at].report;
        ui.print(&format!(
            "{:<24.23}{:>6}{:>12}{:>12}{:>10.1e}{:>9}{:>11}{:>12}{:>10}",
            one.label,
            one.calls,
            show_length(one.residual.0, &unit),
            show_length(one.residual.1, &unit),
            one.residual.1 / diagonal,
            one.left,
            one.corrected,
            show_length(one.largest_correction, &unit),
            one.nearly_singular,
        ));
    }
    if order.len() < inverted.len() {
        ui.print(&format!("... and {} with smaller residuals; -v shows all", inverted.len() - order.len()));
    }
}

/// What was found while reading, solving and writing that a user should know.
fn warnings(read: &[String], inverted: &[Inverted], shown: &Shown, diagonal: f64, unit: &Unit) -> Vec<String> {
    let mut warnings = read.to_vec();
    let with = |of: &dyn Fn(&Inverted) -> usize| {
        let sculpts = inverted.iter().filter(|one| of(one) > 0).count();
        let vertices: usize = inverted.iter().map(of).sum();
        (vertices > 0).then(|| format!("{vertices} vertices in {sculpts} of {} sculpts", inverted.len()))
    };
    if let Some(where_) = with(&|one| one.report.left) {
        let largest = inverted.iter().map(|one| one.report.residual.1).fold(0.0, f64::max);
        warnings.push(format!(
            "{where_} cannot be brought to the sculpt: up to {} is left; a bundle holds it as remainders",
            show_length(largest, unit)
        ));
    }
    if let Some(where_) = with(&|one| one.report.nearly_singular) {
        warnings.push(format!("the deformer is nearly singular at {where_}: corrections there are damped"));
    }
    if let Some(where_) = with(&|one| one.report.coupled) {
        warnings.push(format!("the deformer moves {where_} because others moved: the corrections are approximate"));
    }
    if let Some((rms, max)) = shown.glb.filter(|(_, max)| *max > 1e-6 * diagonal) {
        warnings.push(format!(
            "a GLB is blended linearly: its targets show the sculpts {} (rms), at most {} away; play them on the deformer they \
             were made for, or use --base lbs",
            show_length(rms, unit),
            show_length(max, unit)
        ));
    }
    warnings
}
