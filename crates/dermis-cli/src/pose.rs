//! `dermis pose`

use crate::options::{ReadArgs, existing, within};
use crate::ui::{Stop, Ui};
use dermis_workflow::load::{ReadOptions, Source};
use dermis_workflow::recipe::{Input, PoseOutcome, PoseRecipe, Swing};
use dermis_workflow::report::{show_length, unit_of};
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
    /// Where the skins go: .abc, .pc2, .mdd, .npz, .obj for one frame, or a folder for OBJ files
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    /// Positions of the base in every frame, for a model over a given base
    #[arg(long, value_name = "FILE")]
    base_cache: Option<PathBuf>,
    /// Write the normals of every skin to OBJ or Alembic files: those of the rig's file, turned with the surface, hard edges included.
    /// Alembic gets those that the rig's file has in any case
    #[arg(long)]
    normals: bool,
    /// Leave bones of the rig that the motion lacks at rest, instead of refusing it
    #[arg(long)]
    partial: bool,
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
    /// Let the skin swing by one spring: cycles per second, and the damping ratio (0 swings for ever, 1 does not overshoot) [default
    /// damping: 0.2]. Springs that the model has learnt swing without being asked; this replaces them
    #[arg(long, value_name = "FREQUENCY[,DAMPING]", allow_hyphen_values = true)]
    secondary: Option<String>,
    /// Leave out the springs that the model has learnt
    #[arg(long, conflicts_with = "secondary")]
    no_secondary: bool,
    /// How much each vertex swings, 0 (rigid) to 1: a number for all, FILE.npz with an array "gain", a channel of painted vertex
    /// colours, FILE.glb#red, or "rig": more the deeper it lies over its bones, and nothing on heads, hands and feet
    #[arg(
        long,
        value_name = "rig|NUMBER|FILE|FILE#CHANNEL",
        default_value = "rig",
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
    #[arg(long, value_name = "FRAME,...", value_delimiter = ',')]
    cuts: Vec<usize>,
}

impl SwingArgs {
    /// What swings, if it was asked for.
    fn swing(&self) -> Result<Option<Swing>, Stop> {
        let Some(text) = &self.secondary else { return Ok(None) };
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let (frequency, damping) = match text.split_once(',') {
            Some((frequency, damping)) => (number(frequency), number(damping)),
            None => (number(text), Some(0.2)),
        };
        let (Some(frequency), Some(damping)) = (frequency, damping) else {
            return Err(Stop::Usage(format!(
                "--secondary {text}: use FREQUENCY or FREQUENCY,DAMPING, such as 2.5,0.2"
            )));
        };
        let swing = Swing {
            frequency,
            damping,
            gain: self.secondary_gain.clone(),
            gravity: within("--gravity", self.gravity, -1e6, 1e6)?,
            limit: self.secondary_limit.map(|l| within("--secondary-limit", l, 0.0, f64::MAX)).transpose()?,
        };
        swing.settings().map_err(|e| Stop::Usage(format!("--secondary {text}: {e}")))?;
        Ok(Some(swing))
    }
}

/// Runs the verb.
pub fn run(args: &PoseArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let mut motion = args.motion.clone();
    motion.part = args.clip.clone().or(motion.part);
    let recipe = PoseRecipe {
        model: args.model.clone().into(),
        motion: Input::new(motion),
        base_cache: args.base_cache.clone().map(Input::from),
        swing: args.swing.swing()?,
        still: args.swing.no_secondary,
        cuts: args.swing.cuts.clone(),
        normals: args.normals,
        read: ReadOptions { partial: args.partial, ..args.read.options()? },
        out: args.out.clone(),
        existing: existing(args.force),
    };
    let asked = args.swing.secondary.as_deref().unwrap_or_default();
    Ok(show(&recipe, &recipe.run(ui)?, asked, ui))
}

/// Shows the outcome; `asked` is the frequency and damping as they were asked for.
pub fn show(recipe: &PoseRecipe, outcome: &PoseOutcome, asked: &str, ui: &Ui) -> ExitCode {
    let (posed, motion, unit) = (&outcome.posed, &outcome.motion, unit_of(&outcome.space));
    let (path, vertices) = (outcome.written.display(), outcome.vertices);
    ui.print(&format!("written: {path} ({} frames of {vertices} vertices)", posed.frames));
    outcome.left_out.iter().for_each(|what| ui.print(&format!("left out: {what}")));
    if let Some(swung) = &outcome.swung {
        let (offset, frame) = (show_length(swung.largest.0, &unit), &motion.frames[swung.largest.1].label);
        let by = match &recipe.swing {
            Some(swing) => {
                format!("{asked} (frequency, damping), gain {}, gravity {}", swing.gain, swing.gravity)
            }
            None => "as learnt".into(),
        };
        ui.print(&format!("secondary motion {by}: {} vertices swing, by at most {offset}, in \"{frame}\"", swung.soft));
        if swung.assumed_times {
            ui.print(&format!("the motion has no times: {} frames per second are assumed (--fps)", Swing::RATE));
        }
        for (frame, step) in &swung.jumps {
            let (label, step) = (&motion.frames[*frame].label, show_length(*step, &unit));
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
    ExitCode::SUCCESS
}
