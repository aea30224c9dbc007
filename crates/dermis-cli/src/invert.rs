//! `dermis invert`

use crate::options::{ReadArgs, add_defaults, existing};
use crate::ui::{Stop, Ui};
use clap::{Command, ValueEnum};
use dermis_workflow::fits::inverse::{Coupled, InverseMethod, InverseSettings, MAX_CORRECTION};
use dermis_workflow::load::Source;
use dermis_workflow::recipe::{DeformerProgram, InvertOutcome, InvertRecipe, InvertedDeformer, SculptInput};
use dermis_workflow::report::{show_length, unit_of};
use dermis_workflow::verbs::invert::{BundleVertices, SculptSource, Skinning};
use std::path::PathBuf;
use std::process::ExitCode;

/// Bring sculpts of a posed character back to the rest pose, as corrections before any deformer
#[derive(clap::Args)]
pub struct InvertArgs {
    /// Rest mesh and skeleton (.glb, .gltf, .fbx, .npz)
    rig: PathBuf,
    /// Sculpts: files with poses and skins together, as for fit; or shapes whose poses --poses names: OBJ files and meshes, called
    /// as their files, morph targets, called as the targets, frames of a sequence. FILE@12 is a sculpt of frame 12 of the poses,
    /// FILE@LABEL one of the pose of that label
    #[arg(long, required = true, num_args = 1.., value_name = "FILE[@POSE]")]
    sculpts: Vec<SculptSource>,
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
    /// How long an answer of --program may take
    #[arg(long, value_name = "SECONDS", requires = "program", allow_negative_numbers = true)]
    time_limit: Option<f64>,
    /// How a deformer is inverted: "auto" takes the closed form where there is one, else Gauss-Newton and then direction sets
    /// where that fails
    #[arg(long, value_enum, default_value = "auto")]
    algorithm: AlgorithmName,
    /// What to do with a deformer that moves vertices because others moved, as smoothing does: refuse it, or iterate on the whole
    /// mesh, approximately
    #[arg(long, value_enum, default_value = "refuse")]
    coupled: CoupledName,
    /// With --coupled iterate: no correction is longer than this many times the longest that the sculpt asks for vertex by vertex
    #[arg(long, value_name = "TIMES", requires = "coupled", allow_negative_numbers = true)]
    max_correction: Option<f64>,
    /// Of a search: a vertex is done once its squared distance from the sculpt is at most this, in squared rest diagonals
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    ftol: Option<f64>,
    /// Of a search: the most calls of the deformer for a sculpt
    #[arg(long, value_name = "N")]
    max_calls: Option<usize>,
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

/// Adds the default that the settings have to the help of its option.
pub fn with_defaults(command: Command) -> Command {
    let search = InverseSettings::new(1.0);
    add_defaults(
        command,
        [
            ("time_limit", DeformerProgram::TIME_LIMIT.to_string()),
            ("max_correction", MAX_CORRECTION.to_string()),
            ("ftol", format!("{:e}", search.ftol)),
            ("max_calls", search.max_calls.to_string()),
        ],
    )
}

#[derive(Clone, Copy, ValueEnum)]
enum BaseName {
    Lbs,
    Dqs,
    Rigid,
}

#[derive(Clone, Copy, ValueEnum)]
enum AlgorithmName {
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
    /// The arguments as a recipe.
    fn recipe(&self) -> Result<InvertRecipe, Stop> {
        let deformer = match (&self.stack, &self.program, self.base) {
            (Some(path), _, _) => InvertedDeformer::Stack(path.clone().into()),
            (None, Some(command), _) => InvertedDeformer::Program(DeformerProgram {
                command: command.clone(),
                time_limit: self.time_limit.unwrap_or(DeformerProgram::TIME_LIMIT),
            }),
            (None, None, BaseName::Lbs) => InvertedDeformer::Skinning(Skinning::Lbs),
            (None, None, BaseName::Dqs) => InvertedDeformer::Skinning(Skinning::Dqs),
            (None, None, BaseName::Rigid) => InvertedDeformer::Skinning(Skinning::Rigid),
        };
        let poses = self.poses.clone();
        Ok(InvertRecipe {
            rig: self.rig.clone().into(),
            sculpts: self.sculpts.iter().cloned().map(SculptInput::from).collect(),
            poses: poses.map(|file| Source { part: self.clip.clone().or(file.part), path: file.path }.into()),
            deformer,
            method: match self.algorithm {
                AlgorithmName::Auto => InverseMethod::Auto,
                AlgorithmName::GaussNewton => InverseMethod::GaussNewton,
                AlgorithmName::DirectionSet => InverseMethod::DirectionSet,
            },
            coupled: match self.coupled {
                CoupledName::Refuse => Coupled::Refuse,
                CoupledName::Iterate => Coupled::Iterate,
            },
            max_correction: self.max_correction,
            ftol: self.ftol,
            max_calls: self.max_calls,
            vertices: if self.rest_space { BundleVertices::Rest } else { BundleVertices::Sculpts },
            read: self.read.options()?,
            out: self.out.clone(),
            existing: existing(self.force),
        })
    }
}

/// Runs the verb.
pub fn run(args: &InvertArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    Ok(show(&args.recipe()?.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &InvertOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    table(ui, outcome);
    outcome.warnings.iter().for_each(|warning| ui.print(&format!("warning: {warning}")));
    let files = match outcome.shown.files {
        1 => String::new(),
        files => format!(" ({files} files)"),
    };
    ui.print(&format!("written: {}{files}", outcome.written.display()));
    ExitCode::SUCCESS
}

/// A line per sculpt; of many, those with the largest residuals unless more is asked for.
fn table(ui: &Ui, outcome: &InvertOutcome) {
    /// Lines that fit a screen.
    const LINES: usize = 24;
    let (inverted, unit) = (&outcome.inverted, unit_of(&outcome.space));
    ui.print(&format!("{} sculpts through {}, {} calls", inverted.len(), outcome.deformer, outcome.calls()));
    ui.print(&format!(
        "{:<24} {:>5} {:>11} {:>11} {:>9} {:>8} {:>10} {:>11} {:>9}",
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
            "{:<24.23} {:>5} {:>11} {:>11} {:>9.1e} {:>8} {:>10} {:>11} {:>9}",
            one.label,
            one.calls,
            show_length(one.residual.0, &unit),
            show_length(one.residual.1, &unit),
            one.residual.1 / outcome.diagonal,
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
