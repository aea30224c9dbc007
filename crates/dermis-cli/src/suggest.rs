//! `dermis suggest`

use crate::options::{ReadArgs, existing};
use crate::ui::{Stop, Ui};
use dermis_workflow::load::Source;
use dermis_workflow::recipe::{Input, SuggestOutcome, SuggestRecipe, SuggestedBundle};
use dermis_workflow::rig::number::decimal;
use dermis_workflow::verbs::suggest::{Advice, Suggestions, expected, phrases};
use std::path::PathBuf;
use std::process::ExitCode;

/// Name the frames of a motion to sculpt next
#[derive(clap::Args)]
pub struct SuggestArgs {
    /// The model (.dermis)
    model: PathBuf,
    /// What it shall become better at: a clip (.glb, .gltf, .fbx) or a bundle with poses (.npz)
    #[arg(long, value_name = "FILE")]
    motion: Source,
    /// The clip, if the file has several; FILE#CLIP does the same
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// Choose among the poses of this file instead of the motion's own frames
    #[arg(long, value_name = "FILE")]
    among: Option<Source>,
    /// How many poses
    #[arg(long, value_name = "N", default_value_t = SuggestRecipe::COUNT, value_parser = clap::value_parser!(u16).range(1..))]
    count: u16,
    /// Write them as a bundle with the rig (.npz), for the sculptor to fill
    #[arg(short, long, value_name = "POSES")]
    out: Option<PathBuf>,
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
pub fn run(args: &SuggestArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let mut motion = args.motion.clone();
    motion.part = args.clip.clone().or(motion.part);
    let recipe = SuggestRecipe {
        model: args.model.clone().into(),
        motion: motion.into(),
        among: args.among.clone().map(Input::from),
        count: args.count,
        read: args.read.options()?,
        out: args.out.clone(),
        existing: existing(args.force),
    };
    Ok(show(&recipe.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &SuggestOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    table(ui, &outcome.found, &outcome.motion);
    lacks(ui, &outcome.lacks);
    match &outcome.bundle {
        SuggestedBundle::Written(path) => {
            ui.print(&format!("written: {} (rig and poses, no skins yet)", path.display()));
        }
        SuggestedBundle::Empty => ui.print("nothing written: there is nothing to sculpt"),
        SuggestedBundle::Unwanted => {}
    }
    ExitCode::SUCCESS
}

/// What training lacks, region by region.
fn lacks(ui: &Ui, advice: &Advice) {
    if advice.regions.is_empty() {
        return;
    }
    ui.print("");
    ui.print("what training lacks, by the joint that moves the skin most:");
    for region in &advice.regions {
        ui.print(&format!("  {}, {:.0} % of the expected squared error", region.joint, 100.0 * region.share));
        phrases(region).iter().for_each(|phrase| ui.print(&format!("    {phrase}")));
        if let Some(phrase) = expected(region) {
            ui.print(&format!("    {phrase}"));
        }
    }
}

/// What was looked at, and a line per suggestion.
fn table(ui: &Ui, found: &Suggestions, name: &str) {
    let looked_at = match found.looked_at == found.frames {
        true => String::new(),
        false => format!(", of which {} were looked at", found.looked_at),
    };
    ui.print(&format!(
        "\"{name}\": {} frames{looked_at}; the model holds {} training poses",
        found.frames, found.trained
    ));
    ui.print(&format!(
        "{:.0} % of what the motion is expected to ask of the correction is not in the training poses",
        100.0 * found.unknown
    ));
    if found.list.is_empty() {
        ui.print("nothing to suggest: the motion stays in the bind pose, where nothing is corrected");
        return;
    }
    ui.print("");
    ui.print(&format!(
        "{:>5}  {:<22} {:>7} {:>6} {:>6} {:>6}  {}",
        "frame", "label", "time", "skin", "gain", "left", "new joints, degrees from training"
    ));
    for s in &found.list {
        let time = s.time.map_or_else(|| "–".into(), |t| format!("{} s", decimal(t, 2)));
        let joint = |(bone, degrees): &(String, f64)| format!("{bone} {degrees:.0}°");
        let joints = match s.new.len() {
            0 => format!("none; farthest {}", joint(&s.farthest)),
            1..=3 => s.new.iter().map(joint).collect::<Vec<_>>().join(", "),
            more => format!("{}, {} more", s.new[..3].iter().map(joint).collect::<Vec<_>>().join(", "), more - 3),
        };
        ui.print(&format!(
            "{:>5}  {:<22.21} {time:>7} {:>4.0} % {:>4.0} % {:>4.0} %  {joints}",
            s.frame,
            s.label,
            100.0 * s.skin,
            100.0 * s.gain,
            100.0 * s.left
        ));
    }
    ui.print(
        "skin: area that the new joints move; gain: squared error of the whole motion that the pose is expected to take away; \
         left: rms error expected after it",
    );
}
