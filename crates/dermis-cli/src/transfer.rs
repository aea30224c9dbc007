//! `dermis transfer`

use crate::options::{SpaceArgs, existing, page};
use crate::ui::{Stop, Ui};
use dermis_workflow::load::Source;
use dermis_workflow::recipe::{CarriedIsland, CarriedMesh, CharacterMatch, Input, TransferOutcome, TransferRecipe};
use std::path::PathBuf;
use std::process::ExitCode;

/// Carry weights, corrections and shapes from a body to clothes, levels of detail and other meshes
#[derive(clap::Args)]
pub struct TransferArgs {
    /// The body: a skinned rig (.glb, .gltf, .fbx, .npz) or a model (.dermis)
    #[arg(value_name = "BODY")]
    from: Source,
    /// Meshes that lie on the body at rest, or another character with its skeleton (.obj, .glb, .gltf, .fbx, .npz, .dermis); a folder stands for
    /// the meshes in it
    #[arg(value_name = "MESH", required_unless_present = "objects", conflicts_with = "objects", num_args = 1..)]
    to: Vec<Source>,
    /// Objects of the body's own file that are clothes over the others, separated by commas, instead of meshes
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    objects: Vec<String>,
    /// Where the result goes: a file for one mesh (.dermis, .glb, .fbx, .usda, .usdz, .npz), a folder for several
    #[arg(short, long, value_name = "RESULT")]
    out: PathBuf,
    /// What the files in a folder are: dermis, glb, fbx, usda, usdz or npz; dermis for a model, glb for a rig if it is left out
    #[arg(long, value_name = "ENDING")]
    format: Option<String>,
    /// Carry skinning weights, also to a mesh that has its own. All that the body has is carried if none of --weights, --corrections and
    /// --shapes is named
    #[arg(long)]
    weights: bool,
    /// Carry the corrections of a model
    #[arg(long)]
    corrections: bool,
    /// Carry morph targets
    #[arg(long)]
    shapes: bool,
    /// Influences per vertex, at most; as many as the body has by default
    #[arg(long, value_name = "N")]
    influences: Option<usize>,
    /// Connected pieces smaller than this are rigid, centimetres on a body of 1.7 m: buttons, buckles
    #[arg(long, value_name = "CM", default_value_t = 3.0, allow_negative_numbers = true)]
    stiff_islands: f64,
    /// Corrections fade over this distance, from 1 cm off the body on, centimetres on a body of 1.7 m: for coats and wings
    #[arg(long, value_name = "CM", allow_negative_numbers = true)]
    falloff: Option<f64>,
    /// Pairs of bones for another character, before all others: a JSON object from its bones to bones of the body, or to null, as for
    /// `dermis retarget`
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// Pairs of vertices for another character: each line names a vertex of the body and its counterpart, counted from zero
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// The corrections of another character are multiplied by this. It is fitted to examples in the character's file by default, and 1 without any
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    gain: Option<f64>,
    #[command(flatten)]
    space: SpaceArgs,
    /// Write a page that shows the meshes on the body in motion, where matches are trusted and what lies in the skin (.html)
    #[arg(long, value_name = "PAGE", value_parser = page)]
    report: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
}

/// Runs the verb.
pub fn run(args: &TransferArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let recipe = TransferRecipe {
        objects: args.objects.clone(),
        format: args.format.clone(),
        weights: args.weights,
        corrections: args.corrections,
        shapes: args.shapes,
        influences: args.influences,
        stiff_islands: args.stiff_islands / 100.0,
        falloff: args.falloff.map(|over| over / 100.0),
        map: args.map.clone().map(Input::from),
        pairs: args.pairs.clone().map(Input::from),
        gain: args.gain,
        read: args.space.options()?,
        report: args.report.clone(),
        existing: existing(args.force),
        ..TransferRecipe::new(
            args.from.clone().into(),
            args.to.iter().cloned().map(Input::from).collect(),
            args.out.clone(),
        )
    };
    Ok(show(&recipe.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &TransferOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    for mesh in &outcome.meshes {
        show_mesh(mesh, ui);
    }
    for left in &outcome.left_out {
        ui.print(&format!("left out: {left}"));
    }
    if let Some(path) = &outcome.report_written {
        ui.print(&format!("written: {} (page)", path.display()));
    }
    ExitCode::SUCCESS
}

/// Islands that are shown, at most.
const SHOWN: usize = 8;

/// How another character was matched.
fn show_match(mesh: &CarriedMesh, character: &CharacterMatch, ui: &Ui) {
    let vertices = match character.same_vertices {
        true => "it has the vertices of the body".to_owned(),
        false => format!("the body was laid onto it, {:.1} mm away in the median", 1e3 * mesh.distance),
    };
    ui.print(&format!(
        "  {} of {} bones of the body have a counterpart; {vertices}",
        character.paired, character.bones
    ));
    if let Some((bone, degrees)) = character.turned.as_ref().filter(|(_, degrees)| *degrees > 10.0) {
        ui.print(&format!("  at rest {bone:?} points {degrees:.0} degrees away: corrections count from the rest pose"));
    }
    if mesh.corrections > 0 {
        ui.print(&format!("  {}", character.gain_words()));
    }
}

fn show_mesh(mesh: &CarriedMesh, ui: &Ui) {
    let counted = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let place = match mesh.on_body {
        _ if mesh.character.is_some() => "another character".to_owned(),
        true => "on the body".to_owned(),
        false => format!("{:.1} mm from the body in the median", 1e3 * mesh.distance),
    };
    ui.print(&format!("{}: {} vertices, {place}", mesh.name, mesh.vertices));
    let weights = match (mesh.own_weights, mesh.influences) {
        (true, _) => "its own weights".to_owned(),
        (false, 0) => "no weights".to_owned(),
        (false, most) => format!("weights of {} a vertex at most", counted(most, "bone", "bones")),
    };
    let mut got = vec![weights];
    if mesh.corrections > 0 {
        got.push(counted(mesh.corrections, "correction", "corrections"));
    }
    if mesh.shapes > 0 {
        got.push(counted(mesh.shapes, "morph target", "morph targets"));
    }
    ui.print(&format!("  it has {}", got.join(", ")));
    if let Some(character) = &mesh.character {
        show_match(mesh, character, ui);
    }
    if mesh.islands.len() > 1 {
        let mut largest: Vec<&CarriedIsland> = mesh.islands.iter().collect();
        largest.sort_by(|a, b| b.size.total_cmp(&a.size));
        ui.print(&format!("  {} connected pieces, the largest:", mesh.islands.len()));
        for island in largest.iter().take(SHOWN) {
            ui.print(&format!(
                "    {} vertices, {:.0} cm, {}; {:.0} % of it trusted; {}",
                island.vertices,
                100.0 * island.size,
                island.words(),
                100.0 * island.trusted,
                island.bones.join(", ")
            ));
        }
    }
    if !mesh.unmatched.is_empty() {
        let (one, many) = ("vertex has no match on the body", "vertices have no match on the body");
        ui.print(&format!("  {}; they follow the nearest that has one", counted(mesh.unmatched.len(), one, many)));
    }
    if let (Some(carried), Some(alone)) = (mesh.summary(|pose| pose.carried), mesh.summary(|pose| pose.weights_alone)) {
        ui.print(&format!(
            "  in {} training poses {:.1} % of it lies deeper than 2 mm in the skin of the model, {:.1} % in the worst; by weights alone {:.1} and {:.1} %",
            mesh.worn.len(),
            100.0 * carried.0,
            100.0 * carried.1,
            100.0 * alone.0,
            100.0 * alone.1
        ));
    }
    ui.print(&format!("written: {}", mesh.written.display()));
}
