//! `dermis retarget`

use crate::options::{ReadArgs, existing};
use crate::ui::{Stop, Ui};
use dermis_workflow::load::Source;
use dermis_workflow::recipe::{Input, RetargetOutcome, RetargetRecipe};
use dermis_workflow::rig::number::decimal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Transfer a motion to another character, and keep its feet planted
#[derive(clap::Args)]
pub struct RetargetArgs {
    /// The motion with the skeleton it moves (.glb, .gltf, .fbx, .bvh, .npz); FILE#CLIP is one clip of a file
    #[arg(value_name = "SOURCE")]
    source: Source,
    /// The rig that it is brought onto: a file with a skeleton, or a model (.dermis)
    #[arg(value_name = "RIG")]
    rig: PathBuf,
    /// The clip, if the source has several; SOURCE#CLIP does the same
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// Where it goes: .glb, .npz or .bvh; or the rig's own skin over time: .abc, .pc2, .mdd, or a folder for OBJ files
    #[arg(short, long, value_name = "MOTION")]
    out: PathBuf,
    /// Pairs of bones by name, before all others: a JSON object from bones of the rig to bones of the source, or to null.
    /// --json prints the pairs found as such an object, "map"
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// Where the pairs found go, as a file for --map; bones of an arm, a leg, the spine or the head that lack a partner have an empty name to fill in.
    /// Written also if the motion is refused
    #[arg(long, value_name = "FILE")]
    write_map: Option<PathBuf>,
    /// Let an arm, a leg, the spine or the head that both characters have go with the bone above if no partner is known, instead of refusing the motion
    #[arg(long)]
    partial: bool,
    /// Leave feet and hands where the rotations put them, instead of keeping them where the source's stand
    #[arg(long)]
    no_contacts: bool,
    /// Let feet and hands stand still over the ground also where the source's slide; heights stay the source's
    #[arg(long, conflicts_with = "no_contacts")]
    still: bool,
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
pub fn run(args: &RetargetArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let mut source = args.source.clone();
    source.part = args.clip.clone().or(source.part);
    let recipe = RetargetRecipe {
        source: source.into(),
        rig: args.rig.clone().into(),
        map: args.map.clone().map(Input::from),
        write_map: args.write_map.clone(),
        partial: args.partial,
        contacts: !args.no_contacts,
        still: args.still,
        read: args.read.options()?,
        out: args.out.clone(),
        existing: existing(args.force),
    };
    Ok(show(&recipe.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &RetargetOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    let found = &outcome.retargeted;
    ui.print(&format!(
        "\"{}\": {} frames; {} of {} bones have a partner, by {}; legs {} times the source's",
        found.motion.name,
        found.motion.frames.len(),
        found.pairs.len(),
        outcome.bones,
        outcome.paired_by(),
        decimal(found.scale, 3)
    ));
    ui.print(&format!("bones recognised: of the source {}; of the rig {}", found.judged[0], found.judged[1]));
    if found.facing.abs() > 1e-6 {
        ui.print(&format!("the rig faces {:.0}° from the way the source does", found.facing.to_degrees()));
    }
    list(ui, "without partner, go with the bone above", &found.without_partner);
    list(ui, "bones of the source that move nothing", &found.unused);
    let hung: Vec<String> = found.hung.iter().map(|(root, bone)| format!("{root} with {bone}")).collect();
    list(ui, "roots that go with a bone", &hung);
    match found.ground.map(|velocity| velocity.length()) {
        None => {
            ui.print("the source moves on the spot, at no steady speed: slides are against the paths of its own feet")
        }
        Some(speed) if speed > 0.0 => {
            ui.print(&format!("the source moves on the spot: the ground passes at {} m/s", decimal(speed, 3)))
        }
        Some(_) => {}
    }
    contacts(outcome, ui);
    outcome.warnings().iter().for_each(|warning| ui.print(&format!("warning: {warning}")));
    let done = &outcome.converted;
    ui.print(&format!("written: {} ({}: {})", outcome.written.display(), done.format, done.holds.join(", ")));
    done.left_out.iter().for_each(|what| ui.print(&format!("left out: {what}")));
    if let Some(map) = &outcome.map_written {
        ui.print(&format!("written: {} (pairs of bones, for --map)", map.display()));
    }
    ExitCode::SUCCESS
}

fn contacts(outcome: &RetargetOutcome, ui: &Ui) {
    let found = &outcome.retargeted;
    if found.contacts.is_empty() {
        ui.print("contacts: none found");
        return;
    }
    let (slide, source) = outcome.slide_mm();
    let off = 1e3 * found.contacts.iter().fold(0.0, |most: f64, contact| most.max(contact.off));
    ui.print(&format!(
        "contacts: {}; they slide by {} mm at most, the source's by {} mm at this size; at most {} mm off their place{}",
        found.contacts.len(),
        decimal(slide, 2),
        decimal(source, 2),
        decimal(off, 2),
        if ui.verbose { "" } else { " (-v lists them)" }
    ));
    for contact in found.contacts.iter().filter(|_| ui.verbose) {
        ui.print(&format!(
            "  {:<24.24} frames {:>4} to {:>4}, slide {:>7} mm, off its place {:>7} mm",
            contact.bone,
            contact.from,
            contact.to,
            decimal(1e3 * contact.slide, 2),
            decimal(1e3 * contact.off, 2)
        ));
    }
    if found.lowered > 0.0 {
        ui.print(&format!("the hips come down by {} mm at most, so that legs reach", decimal(1e3 * found.lowered, 1)));
    }
}

fn list(ui: &Ui, what: &str, names: &[String]) {
    if !names.is_empty() {
        ui.print(&format!("{what} ({}): {}", names.len(), names.join(", ")));
    }
}
