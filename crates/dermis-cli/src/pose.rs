//! `dermis pose`

use crate::options::ReadArgs;
use crate::show;
use crate::ui::Ui;
use dermis_workflow::load::{Source, load_base_cache, load_model, load_motion};
use dermis_workflow::output::{reserve_file, reserve_folder};
use dermis_workflow::{Error, deliver};
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a model on a motion
#[derive(clap::Args)]
pub struct PoseArgs {
    /// The model (.dermis)
    model: PathBuf,
    /// A clip (.glb, .gltf, .fbx) or a bundle with poses (.npz)
    #[arg(long, value_name = "FILE")]
    motion: Source,
    /// The clip, if the file has several; FILE#CLIP does the same
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// Where the skins go: .pc2, .mdd, .npz, .obj for one frame, or a folder for OBJ files
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    /// Positions of the base in every frame, for a model over a given base
    #[arg(long, value_name = "FILE")]
    base_cache: Option<PathBuf>,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// Runs the verb.
pub fn run(args: &PoseArgs, ui: &Ui) -> Result<ExitCode, Error> {
    let out = match deliver::is_folder(&args.out)? {
        true => reserve_folder(&args.out, args.force)?,
        false => reserve_file(&args.out, args.force)?,
    };
    let read = args.read.options()?;
    let (model, note) = ui.step("read model", |_| load_model(&args.model))?;
    let mut source = args.motion.clone();
    source.part = args.clip.clone().or(source.part);
    let (motion, motion_note) = ui.step("read motion", |_| load_motion(&model.rig, &source, &read))?;
    show::files(ui, &[note, motion_note]);
    let given = match &args.base_cache {
        None => None,
        Some(path) => Some(load_base_cache(&model.rig, &model.space, path, motion.frames.len(), &read)?.0),
    };
    let (skins, posed) = ui.step("pose", |p| deliver::run(&model, &motion, given.as_deref(), p))?;
    let vertices = ui.step("write", |_| deliver::write_skins(&model, &motion, &skins, &out))?;
    ui.print(&format!("written: {} ({} frames of {vertices} vertices)", out.path().display(), posed.frames));
    if posed.held.0 > 0 {
        ui.print(&format!(
            "the guard held vertices back in {} frames, at most {:.2} % of them",
            posed.held.0,
            100.0 * posed.held.1
        ));
    }
    if let Some((label, degrees, joint)) = &posed.farthest {
        ui.print(&format!("farthest from training: \"{label}\", the joint of \"{joint}\" by {degrees:.0}°"));
    }
    Ok(ExitCode::SUCCESS)
}
