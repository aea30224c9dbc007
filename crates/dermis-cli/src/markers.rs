//! `dermis markers`

use crate::options::{ReadArgs, existing};
use crate::ui::{Stop, Ui};
use dermis_workflow::recipe::{Input, MarkersOutcome, MarkersRecipe, trouble_words};
use dermis_workflow::rig::number::{decimal, shortest};
use std::path::PathBuf;
use std::process::ExitCode;

/// Solve the markers of motion capture for the motion of a rig
#[derive(clap::Args)]
pub struct MarkersArgs {
    /// The take (.c3d, .trc), or what calibrated cameras saw (.json)
    #[arg(value_name = "TAKE")]
    take: PathBuf,
    /// The rig that it moves: a file with a skeleton, or a model (.dermis)
    #[arg(value_name = "RIG")]
    rig: PathBuf,
    /// Which bone carries which marker, and where on the rest pose (.json)
    #[arg(long, alias = "set", value_name = "FILE")]
    marker_set: PathBuf,
    /// A take in which the subject stands as the rig does at rest: it places the markers that the set leaves open
    #[arg(long, value_name = "TAKE")]
    calibration: Option<PathBuf>,
    /// Noise of a coordinate, in millimetres
    #[arg(long, value_name = "MM", default_value_t = MarkersRecipe::NOISE, allow_negative_numbers = true)]
    noise: f64,
    /// How far a marker may be from where the others put it, in millimetres; farther ones are swapped back or left out
    #[arg(long, value_name = "MM", default_value_t = MarkersRecipe::WRONG, allow_negative_numbers = true)]
    wrong: f64,
    /// How far a camera may see a marker from where the other cameras put it, in pixels; farther observations are left out
    #[arg(long, value_name = "PIXELS", default_value_t = MarkersRecipe::PIXELS, allow_negative_numbers = true)]
    pixels: f64,
    /// Where the motion goes: .glb, .npz or .bvh; or the rig's own skin over time: .abc, .pc2, .mdd, or a folder for OBJ files
    #[arg(short, long, value_name = "MOTION")]
    out: PathBuf,
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
pub fn run(args: &MarkersArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let recipe = MarkersRecipe {
        take: args.take.clone().into(),
        rig: args.rig.clone().into(),
        set: args.marker_set.clone().into(),
        calibration: args.calibration.clone().map(Input::from),
        noise: args.noise,
        wrong: args.wrong,
        pixels: args.pixels,
        read: args.read.options()?,
        out: args.out.clone(),
        existing: existing(args.force),
    };
    Ok(show(&recipe.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &MarkersOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    let solved = &outcome.solved;
    ui.print(&format!(
        "{} frames at {} per second; markers are met within {} mm rms",
        solved.motion.frames.len(),
        shortest(outcome.rate),
        decimal(1e3 * solved.rms, 2)
    ));
    if let Some(report) = &outcome.cameras {
        ui.print(&format!(
            "cameras agree within {} pixels rms; {} sights are of no place",
            decimal(report.rms, 2),
            report.lost
        ));
        for (name, used, outliers) in &report.cameras {
            ui.print(&format!("  {name:<24.24} {used:>6} sights used, {outliers} left out"));
        }
    }
    for marker in &solved.markers {
        ui.print(&format!(
            "  {:<24.24} {:>6} frames, {:>7} mm rms, {:>7} mm at most",
            marker.name,
            marker.used,
            decimal(1e3 * marker.rms, 2),
            decimal(1e3 * marker.most, 2)
        ));
    }
    for trouble in &solved.troubles {
        let (kind, names) = trouble_words(&trouble.kind);
        ui.print(&format!("frames {} to {}: {kind} {}", trouble.from, trouble.to, names.join(" and ")));
    }
    for (what, names) in
        [("markers that the take lacks", &outcome.missing), ("markers that the set lacks", &outcome.unused)]
    {
        if !names.is_empty() {
            ui.print(&format!("{what} ({}): {}", names.len(), names.join(", ")));
        }
    }
    let done = &outcome.converted;
    ui.print(&format!("written: {} ({}: {})", outcome.written.display(), done.format, done.holds.join(", ")));
    done.left_out.iter().for_each(|what| ui.print(&format!("left out: {what}")));
    ExitCode::SUCCESS
}
