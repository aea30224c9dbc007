//! `dermis pose`

use crate::options::{ReadArgs, within};
use crate::show;
use crate::ui::Ui;
use dermis_workflow::deform::secondary::{SecondarySettings, Spring};
use dermis_workflow::load::{Source, load_base_cache, load_model, load_motion};
use dermis_workflow::output::{reserve_file, reserve_folder};
use dermis_workflow::report::{show_length, unit_of};
use dermis_workflow::rig::glam::DVec3;
use dermis_workflow::{Error, deliver, secondary};
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
    swing: SwingArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// Soft parts that lag behind and swing on, over the output of any model
#[derive(clap::Args)]
#[command(next_help_heading = "Secondary motion")]
struct SwingArgs {
    /// Let the skin swing: cycles per second, and the damping ratio (0 swings for ever, 1 does not overshoot) [default
    /// damping: 0.2]
    #[arg(long, value_name = "FREQUENCY[,DAMPING]", allow_hyphen_values = true)]
    secondary: Option<String>,
    /// How much each vertex swings, 0 (rigid) to 1: a number for all, FILE.npz with an array "gain", or a channel of painted
    /// vertex colours, FILE.glb#red
    #[arg(
        long,
        value_name = "NUMBER|FILE|FILE#CHANNEL",
        default_value = "1",
        requires = "secondary",
        allow_negative_numbers = true
    )]
    secondary_gain: String,
    /// Gravity downwards, m/s²; soft parts sag by gain · gravity / (2 pi frequency)²
    #[arg(long, value_name = "G", default_value_t = 0.0, requires = "secondary", allow_negative_numbers = true)]
    gravity: f64,
    /// Farthest a vertex may swing
    #[arg(long, value_name = "METRES", requires = "secondary", allow_negative_numbers = true)]
    secondary_limit: Option<f64>,
    /// Frames, numbered from 0, that begin after a cut: the skin starts at rest there
    #[arg(long, value_name = "FRAME,...", value_delimiter = ',', requires = "secondary")]
    cuts: Vec<usize>,
}

impl SwingArgs {
    /// The spring and what it swings under, if it was asked for.
    fn settings(&self) -> Result<Option<SecondarySettings>, Error> {
        let Some(text) = &self.secondary else { return Ok(None) };
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let (frequency, damping) = match text.split_once(',') {
            Some((frequency, damping)) => (number(frequency), number(damping)),
            None => (number(text), Some(0.2)),
        };
        let (Some(frequency), Some(damping)) = (frequency, damping) else {
            return Err(Error::Option(format!(
                "--secondary {text}: use FREQUENCY or FREQUENCY,DAMPING, such as 2.5,0.2"
            )));
        };
        let spring = Spring::new(frequency, damping).map_err(|e| Error::Option(format!("--secondary {text}: {e}")))?;
        let gravity = within("--gravity", self.gravity, -1e6, 1e6)?;
        let limit = self.secondary_limit.map(|l| within("--secondary-limit", l, 0.0, f64::MAX)).transpose()?;
        Ok(Some(SecondarySettings { spring, gravity: DVec3::NEG_Y * gravity, limit }))
    }
}

/// Runs the verb.
pub fn run(args: &PoseArgs, ui: &Ui) -> Result<ExitCode, Error> {
    let out = match deliver::is_folder(&args.out)? {
        true => reserve_folder(&args.out, args.force)?,
        false => reserve_file(&args.out, args.force)?,
    };
    let read = args.read.options()?;
    let swing = args.swing.settings()?;
    let (model, note) = ui.step("read model", |_| load_model(&args.model))?;
    let mut source = args.motion.clone();
    source.part = args.clip.clone().or(source.part);
    let (motion, motion_note) = ui.step("read motion", |_| load_motion(&model.rig, &source, &read))?;
    show::files(ui, &[note, motion_note]);
    let given = match &args.base_cache {
        None => None,
        Some(path) => Some(load_base_cache(&model.rig, &model.space, path, motion.frames.len(), &read)?.0),
    };
    let (mut skins, posed) = ui.step("pose", |p| deliver::run(&model, &motion, given.as_deref(), p))?;
    let swung = match swing {
        None => None,
        Some(settings) => {
            let gain = secondary::gains(&args.swing.secondary_gain, &model.rig)?;
            let rate = read.fps.unwrap_or(24.0);
            Some(secondary::swing(&motion, &model.rig, gain, settings, &args.swing.cuts, rate, &mut skins)?)
        }
    };
    let vertices = ui.step("write", |_| deliver::write_skins(&model, &motion, &skins, &out))?;
    ui.print(&format!("written: {} ({} frames of {vertices} vertices)", out.path().display(), posed.frames));
    if let Some(swung) = &swung {
        let asked = args.swing.secondary.as_deref().unwrap_or_default();
        let (offset, frame) =
            (show_length(swung.largest.0, &unit_of(&model.space)), &motion.frames[swung.largest.1].label);
        ui.print(&format!(
            "secondary motion {asked} (frequency, damping), gain {}, gravity {}: {} vertices swing, by at most {offset}, in \"{frame}\"",
            args.swing.secondary_gain, args.swing.gravity, swung.soft
        ));
        if swung.assumed_times {
            ui.print(&format!(
                "the motion has no times: {} frames per second are assumed (--fps)",
                read.fps.unwrap_or(24.0)
            ));
        }
        for (frame, step) in &swung.jumps {
            let (label, step) = (&motion.frames[*frame].label, show_length(*step, &unit_of(&model.space)));
            ui.print(&format!(
                "warning: the skin jumps by {step} at frame {frame} (\"{label}\"); if that is a cut, add it to --cuts"
            ));
        }
    }
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
