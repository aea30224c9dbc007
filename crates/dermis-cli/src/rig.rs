//! `dermis rig`

use crate::exercise;
use crate::options::{existing, page};
use crate::ui::{Stop, Ui};
use clap::ValueEnum;
use dermis_workflow::load::Source;
use dermis_workflow::recipe::{Axis, BoneNames, Input, RigOutcome, RigRecipe};
use std::path::PathBuf;
use std::process::ExitCode;

/// Fit a skeleton into a mesh and compute skinning weights
#[derive(clap::Args)]
pub struct RigArgs {
    /// The mesh (.obj, .glb, .gltf, .fbx, .npz); a skeleton that it has is left out
    mesh: Source,
    /// What to look for: biped, quadruped, hand, or a file with a skinned rig
    #[arg(long, value_name = "biped|quadruped|hand|FILE", default_value = "biped")]
    template: PathBuf,
    /// Where the rig goes (.glb, .npz)
    #[arg(short, long, value_name = "RIGGED")]
    out: PathBuf,
    /// How the bones of the biped are named
    #[arg(long, value_enum, default_value = "unreal")]
    names: Names,
    /// The direction that is up in the file; what the file states by default, and Y for OBJ
    #[arg(long, value_enum, value_name = "AXIS", allow_hyphen_values = true)]
    up: Option<Direction>,
    /// The direction that the character faces in the file; every way is tried by default
    #[arg(long, value_enum, value_name = "AXIS", allow_hyphen_values = true)]
    front: Option<Direction>,
    /// Joints whose place is known, as --write-joints writes them: {"joints": {"hand_l": [x, y, z]}}. The others are solved for again
    #[arg(long, value_name = "FILE")]
    joints: Option<PathBuf>,
    /// Write the places of all joints, and how sure each is (.json)
    #[arg(long, value_name = "FILE")]
    write_joints: Option<PathBuf>,
    /// Influences per vertex, at most
    #[arg(long, value_name = "N", default_value_t = 4)]
    influences: usize,
    /// Write a page that plays a walk of the rig, and shows the joints in the mesh (.html)
    #[arg(long, value_name = "PAGE", value_parser = page)]
    report: Option<PathBuf>,
    /// Write an exercise of the new rig: the poses to sculpt or to simulate (.npz, .glb)
    #[arg(long, value_name = "POSES")]
    write_exercise: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Names {
    Unreal,
    Mixamo,
    Rigify,
    Vrm,
}

#[derive(Clone, Copy, ValueEnum)]
enum Direction {
    X,
    Y,
    Z,
    #[value(name = "-x")]
    MinusX,
    #[value(name = "-y")]
    MinusY,
    #[value(name = "-z")]
    MinusZ,
}

impl From<Direction> for Axis {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::X => Self::X,
            Direction::Y => Self::Y,
            Direction::Z => Self::Z,
            Direction::MinusX => Self::MinusX,
            Direction::MinusY => Self::MinusY,
            Direction::MinusZ => Self::MinusZ,
        }
    }
}

/// Runs the verb.
pub fn run(args: &RigArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let recipe = RigRecipe {
        names: match args.names {
            Names::Unreal => BoneNames::Unreal,
            Names::Mixamo => BoneNames::Mixamo,
            Names::Rigify => BoneNames::Rigify,
            Names::Vrm => BoneNames::Vrm,
        },
        up: args.up.map(Axis::from),
        front: args.front.map(Axis::from),
        joints: args.joints.clone().map(Input::from),
        influences: args.influences,
        write_joints: args.write_joints.clone(),
        report: args.report.clone(),
        exercise: args.write_exercise.clone(),
        existing: existing(args.force),
        ..RigRecipe::new(args.mesh.clone().into(), args.template.clone().into(), args.out.clone())
    };
    Ok(show(&recipe.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &RigOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    let report = &outcome.made.report;
    let mended = &report.mended;
    let counted = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let flaws = [
        (mended.turned, "triangle turned outwards", "triangles turned outwards"),
        (
            mended.dropped,
            "triangle without area or twice there left out",
            "triangles without area or twice there left out",
        ),
        (mended.open_edges, "edge at a hole", "edges at holes"),
        (report.bridges, "gap bridged", "gaps bridged"),
    ];
    let flaws = flaws.into_iter().filter(|(count, ..)| *count > 0).map(|(count, one, many)| counted(count, one, many));
    let flaws: Vec<String> = flaws.collect();
    ui.print(&format!(
        "{} vertices, {} triangles, {}{}{}",
        outcome.vertices,
        outcome.triangles,
        counted(mended.shells, "shell", "shells"),
        if flaws.is_empty() { "" } else { ": " },
        flaws.join(", ")
    ));
    let symmetry = report.symmetry.map_or(String::new(), |trust| format!("; symmetric to {:.0} %", 100.0 * trust));
    ui.print(&format!("{} bones, in the stance \"{}\" of the template{symmetry}", outcome.names.len(), report.stance));
    if !report.missing.is_empty() {
        ui.print(&format!("not found, and left out: {}", report.missing.join(", ")));
    }
    if report.facing < 0.75 {
        let [x, y, z] = report.front.to_array();
        ui.print(&format!(
            "it faces ({x:.2}, {y:.2}, {z:.2}), which is only {:.0} % sure: say it with --front if that is wrong",
            100.0 * report.facing
        ));
    }
    match outcome.sure() {
        Some(sure) => ui.print(&format!("{sure} of {} joints are sure", outcome.names.len())),
        None => ui.print("how sure the joints are is calibrated for the biped alone: look at every joint"),
    }
    let unsure = outcome.unsure();
    if !unsure.is_empty() {
        ui.print(&format!("look at these first, and pin them with --joints if they are wrong: {}", unsure.join(", ")));
    }
    if let Some((bone, share)) = report.outside.as_ref().filter(|(_, share)| *share > 0.02) {
        ui.print(&format!("the bone {bone} leaves the mesh by {:.1} % of its size", 100.0 * share));
    }
    if report.weighed.heat.is_none() {
        ui.print("bone heat has no solution on this mesh: every vertex follows its nearest bone");
    }
    if report.weighed.following > 0 {
        let words = ["shell follows the body that it lies on", "shells follow the body that they lie on"];
        ui.print(&counted(report.weighed.following, words[0], words[1]));
    }
    for left in &outcome.left_out {
        ui.print(&format!("left out: {left}"));
    }
    for (path, what) in [(&outcome.joints_written, "joints"), (&outcome.report_written, "page")] {
        if let Some(path) = path {
            ui.print(&format!("written: {} ({what})", path.display()));
        }
    }
    ui.print(&format!("written: {}", outcome.written.display()));
    if let Some(made) = &outcome.exercise {
        return exercise::show(made, ui, false);
    }
    ExitCode::SUCCESS
}
