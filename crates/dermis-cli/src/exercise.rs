//! `dermis exercise`

use crate::options::existing;
use crate::ui::{Stop, Ui};
use dermis_workflow::motion::anatomy::LimitFrom;
use dermis_workflow::motion::exercise::{ExerciseSettings, Kind, MOST_POSES};
use dermis_workflow::recipe::{ExerciseOutcome, ExerciseRecipe, Input};
use std::path::PathBuf;
use std::process::ExitCode;

/// Make poses to sculpt or to simulate that turn every joint through its range
#[derive(clap::Args)]
pub struct ExerciseArgs {
    /// The rig: a file with mesh and skeleton
    rig: PathBuf,
    /// Where the poses go: a bundle with the rig (.npz), or a GLB with a clip
    #[arg(short, long, value_name = "POSES")]
    out: PathBuf,
    /// How many poses, the rest pose included
    #[arg(long, value_name = "N", default_value_t = ExerciseSettings::default().poses as u32, value_parser = clap::value_parser!(u32).range(2..=MOST_POSES as i64))]
    count: u32,
    /// Further poses with the whole character tilted, from which a fit learns how skin sags
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=MOST_POSES as i64))]
    tilt: u32,
    /// Frames between a pose and the next, for a simulation to run through; the motion then comes back to rest
    #[arg(long, value_name = "N", default_value_t = 0)]
    in_betweens: u32,
    /// Frames per second, with --in-betweens
    #[arg(long, value_name = "FRAMES_PER_SECOND", default_value_t = ExerciseSettings::default().rate, allow_negative_numbers = true)]
    rate: f64,
    /// Move one joint, or one pair of neighbours, a pose, for a sculptor
    #[arg(long)]
    apart: bool,
    /// Joint limits (.json) that differ from those of anatomy
    #[arg(long, value_name = "FILE")]
    limits: Option<PathBuf>,
    /// Write the limits of all joints, to be changed and named by --limits
    #[arg(long, value_name = "FILE")]
    write_limits: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
}

/// Runs the verb.
pub fn run(args: &ExerciseArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let recipe = ExerciseRecipe {
        rig: args.rig.clone().into(),
        limits: args.limits.clone().map(Input::from),
        poses: args.count,
        tilt: args.tilt,
        in_betweens: args.in_betweens,
        rate: args.rate,
        apart: args.apart,
        out: args.out.clone(),
        write_limits: args.write_limits.clone(),
        existing: existing(args.force),
    };
    Ok(show(&recipe.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &ExerciseOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    let made = &outcome.made;
    let from = [
        (LimitFrom::Anatomy, "within limits of anatomy"),
        (LimitFrom::Given, "within limits of the file"),
        (LimitFrom::Unknown, "by 45°, because their part of the body is not known"),
    ];
    let counted = from.iter().map(|(from, words)| (outcome.from(*from), words)).filter(|(count, _)| *count > 0);
    let counted: Vec<String> = counted.map(|(count, words)| format!("{count} {words}")).collect();
    ui.print(&format!("{} joints move: {}", made.joints, counted.join(", ")));
    let unknown = outcome.unknown();
    if !unknown.is_empty() {
        let more = unknown.len().saturating_sub(8);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        ui.print(&format!("not known: {}{rest}", unknown[..unknown.len() - more].join(", ")));
    }
    ui.print(&format!("bones recognised: {}", outcome.judged()));
    let kinds = [
        (Kind::Extreme, "at ends of ranges"),
        (Kind::Between, "half way"),
        (Kind::Pair, "of pairs"),
        (Kind::Spread, "spread over all joints"),
        (Kind::Tilted, "tilted against down"),
    ];
    let there = kinds.iter().filter(|(kind, _)| *kind != Kind::Tilted || outcome.poses(*kind) > 0);
    let said: Vec<String> = there.map(|(kind, word)| format!("{} {word}", outcome.poses(*kind))).collect();
    ui.print(&format!("{} poses: rest, {}", made.poses.len(), said.join(", ")));
    if made.left_out > 0 {
        ui.print(&format!("{} ends of ranges are shown by no pose: raise --count", made.left_out));
    }
    ui.print(&format!(
        "{} poses eased and {} left out where skin would meet skin ({} bones with a capsule)",
        made.eased, made.dropped, made.capsules
    ));
    if !made.following.is_empty() {
        let name = |bone| outcome.skeleton.names()[bone].as_str();
        let said: Vec<String> =
            made.following.iter().map(|(bone, with)| format!("{} with {}", name(*bone), name(*with))).collect();
        ui.print(&format!("moved with the bone whose skin they share, not with their parent: {}", said.join(", ")));
    }
    if let Some((bone, turn)) = &made.longest_turn {
        let name = &outcome.skeleton.names()[*bone];
        ui.print(&format!("from one frame to the next a joint turns by at most {:.0}° ({name})", turn.to_degrees()));
    }
    if let Some(path) = &outcome.limits_written {
        ui.print(&format!("written: {} (limits of all joints)", path.display()));
    }
    ui.print(&format!("written: {} ({} frames)", outcome.written.display(), made.motion.frames.len()));
    ExitCode::SUCCESS
}
