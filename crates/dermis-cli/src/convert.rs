//! `dermis convert`

use crate::options::ReadArgs;
use crate::show;
use crate::ui::Ui;
use dermis_workflow::load::Source;
use dermis_workflow::output::{reserve_file, reserve_folder};
use dermis_workflow::{Error, convert};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write what files hold in another format, and say what that format cannot hold
#[derive(clap::Args)]
pub struct ConvertArgs {
    /// A file; or a rig, then a motion or examples (RIG.fbx walk.glb, RIG.glb walk.glb walk.abc); or a mesh, then its shapes.
    /// FILE#CLIP is one clip of a file, FILE#LABEL* some of its records
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<Source>,
    /// The clip of the first file, if it has several; FILE#CLIP does the same. A GLB takes all by default
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// Where it goes: .glb, .npz, .pc2, .mdd, .obj for one shape, or a folder for OBJ files
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

/// Runs the verb.
pub fn run(args: &ConvertArgs, ui: &Ui) -> Result<ExitCode, Error> {
    let out = match convert::is_folder(&args.out)? {
        true => reserve_folder(&args.out, args.force)?,
        false => reserve_file(&args.out, args.force)?,
    };
    let read = args.read.options()?;
    let mut inputs = args.inputs.clone();
    if let Some(first) = inputs.first_mut() {
        first.part = args.clip.clone().or(first.part.take());
    }
    let (contents, notes) = ui.step("read", |_| convert::gather(&inputs, &read))?;
    show::files(ui, &notes);
    let done = ui.step("write", |_| convert::write(&contents, &inputs[0], &read, &out))?;
    if args.json {
        let mut value = done.json();
        value["out"] = out.path().display().to_string().into();
        value["inputs"] = notes.iter().map(|note| note.path.clone()).collect();
        ui.print(&value.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    ui.print(&format!("written: {} ({}: {})", out.path().display(), done.format, done.holds.join(", ")));
    done.left_out.iter().for_each(|what| ui.print(&format!("left out: {what}")));
    Ok(ExitCode::SUCCESS)
}
