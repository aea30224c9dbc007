//! `dermis animate`

use crate::options::{ReadArgs, existing};
use crate::ui::{Stop, Ui};
use dermis_workflow::io::scene;
use dermis_workflow::recipe::{AnimateOutcome, AnimateRecipe};
use dermis_workflow::rig::number::decimal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Play a scene of keys, expressions, layered clips, goals and falling bodies on a rig
#[derive(clap::Args)]
pub struct AnimateArgs {
    /// The scene (.json); the files that it names lie relative to it
    #[arg(required_unless_present = "schema")]
    scene: Option<PathBuf>,
    /// Where the motion goes: .glb, .npz or .bvh; or the skin over time: .abc, .pc2, .mdd, or a folder for OBJ files
    #[arg(short, long, value_name = "MOTION", required_unless_present = "schema")]
    out: Option<PathBuf>,
    /// Print the JSON schema of scenes, for an editor that completes and checks them, and nothing else
    #[arg(long, conflicts_with_all = ["scene", "out", "json", "force"])]
    schema: bool,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace an existing output
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// Runs the verb.
pub fn run(args: &AnimateArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let (Some(scene), Some(out), false) = (&args.scene, &args.out, args.schema) else {
        ui.print_json_text(&format!("{:#}", scene::schema()));
        return Ok(ExitCode::SUCCESS);
    };
    let recipe = AnimateRecipe {
        scene: scene.clone().into(),
        read: args.read.options()?,
        out: out.clone(),
        existing: existing(args.force),
    };
    Ok(show(&recipe.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &AnimateOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    let (done, (frames, seconds)) = (&outcome.converted, outcome.frames);
    ui.print(&format!("\"{}\": {frames} frames, {} s", outcome.name, decimal(seconds, 2)));
    if !outcome.bodies.is_empty() {
        let mass: f64 = outcome.bodies.iter().map(|body| body.mass).sum();
        ui.print(&format!("{} bones moved as bodies, {} kg together", outcome.bodies.len(), decimal(mass, 3)));
    }
    for goal in &outcome.goals {
        let met = goal.frames - goal.missed;
        ui.print(&format!("goal of \"{}\": met in {met} of {} frames", goal.bone, goal.frames));
        if goal.missed > 0 {
            let (distance, frame, degrees) = (decimal(1e3 * goal.distance, 2), goal.distance_frame, goal.degrees);
            ui.print(&format!("  missed by {distance} mm at most, in frame {frame}, and by {degrees:.2}° at most"));
        }
        if goal.out_of_reach_frames > 0 {
            let (frames, most) = (goal.out_of_reach_frames, decimal(1e3 * goal.out_of_reach, 2));
            ui.print(&format!("  out of reach in {frames} frames, by {most} mm at most"));
        }
    }
    ui.print(&format!("written: {} ({}: {})", outcome.written.display(), done.format, done.holds.join(", ")));
    done.left_out.iter().for_each(|what| ui.print(&format!("left out: {what}")));
    ExitCode::SUCCESS
}
