//! `dermis convert`

use crate::options::{ReadArgs, WriteArgs, compression, existing};
use crate::ui::{Stop, Ui};
use dermis_workflow::load::{ReadOptions, Source};
use dermis_workflow::recipe::{Compression, ConvertOutcome, ConvertRecipe, Input};
use std::path::PathBuf;
use std::process::ExitCode;

/// Convert files to another format, and list what it cannot hold
#[derive(clap::Args)]
pub struct ConvertArgs {
    /// A file; or a rig, then a motion or examples (RIG.fbx walk.glb, RIG.glb walk.glb walk.abc); or a mesh, then its shapes.
    /// FILE#CLIP is one clip of a file, FILE#LABEL* some of its records
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<Source>,
    /// The clip of the first file, if it has several; FILE#CLIP does the same. A GLB, FBX or USD file takes all by default
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// Where it goes: .glb, .vrm, .fbx, .usda, .usdz, .npz, .bvh, .abc, .pc2, .mdd, .obj for one shape, or a folder for OBJ files
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    /// Leave the changes of normals out of the morph targets of a GLB: half the bytes, but shapes are shaded as the rest mesh
    #[arg(long)]
    no_normals: bool,
    /// Compress a GLB without loss: "meshopt" (EXT_meshopt_compression), which its readers must know
    #[arg(long, value_name = "CODEC", value_parser = compression)]
    compress: Option<Compression>,
    /// Leave bones of the rig that the motion lacks at rest, instead of refusing it
    #[arg(long)]
    partial: bool,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// Runs the verb.
pub fn run(args: &ConvertArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let mut inputs = args.inputs.clone();
    if let Some(first) = inputs.first_mut() {
        first.part = args.clip.clone().or(first.part.take());
    }
    let recipe = ConvertRecipe {
        inputs: inputs.into_iter().map(Input::from).collect(),
        read: ReadOptions { partial: args.partial, ..args.read.options()? },
        normals: !args.no_normals,
        compress: args.compress,
        write: args.write.options()?,
        out: args.out.clone(),
        existing: existing(args.force),
    };
    Ok(show(&recipe.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &ConvertOutcome, ui: &Ui, json: bool) -> ExitCode {
    let done = &outcome.converted;
    if json {
        ui.print_json(&outcome.json());
    } else {
        ui.print(&format!("written: {} ({}: {})", outcome.written.display(), done.format, done.holds.join(", ")));
        done.left_out.iter().for_each(|what| ui.print(&format!("left out: {what}")));
    }
    ExitCode::SUCCESS
}
