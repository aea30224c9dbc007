//! `pose`: a model run on a motion.

pub mod error;
mod secondary;

use crate::error::Error;
use crate::load::{ReadOptions, load_base_cache, load_model, load_motion};
use crate::measure::MotionRun;
use crate::recipe::{Existing, Input, Watch, keep, reserve, seen, step};
use crate::skins::{holds_normals, is_folder, posed, write_skins};
use dermis_deform::secondary::{Secondary, SecondaryError, SecondarySettings, Spring};
use dermis_io::obj::Normals;
use dermis_io::{Record, Space, WriteError};
use dermis_measure::Posed;
use dermis_rig::glam::DVec3;
use dermis_rig::progress::proceed;
use dermis_rig::{Frame, Motion};
use secondary::Swinging;
pub use secondary::Swung;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A run of a model on a motion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PoseRecipe {
    /// The model.
    pub model: Input,
    /// The motion.
    pub motion: Input,
    /// Positions of a given base in every frame.
    #[serde(default)]
    pub base_cache: Option<Input>,
    /// Soft parts that swing by one spring, instead of those that the model has learnt.
    #[serde(default)]
    pub swing: Option<Swing>,
    /// Whether the springs that the model has learnt are left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub still: bool,
    /// Frames that begin after a cut: the skin starts at rest there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<usize>,
    /// Whether OBJ files hold the normals of every skin.
    #[serde(default)]
    pub normals: bool,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// Where the skins go.
    pub out: PathBuf,
    /// What happens to an output that is there already.
    #[serde(default)]
    pub existing: Existing,
}

/// Soft parts that lag behind and swing on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Swing {
    /// Cycles per second.
    pub frequency: f64,
    /// Damping ratio: 0 swings for ever, 1 does not overshoot.
    pub damping: f64,
    /// How much each vertex swings: a number, a file with an array "gain", a file and a channel of vertex colours, or `rig` for how deep it
    /// lies over its bones.
    pub gain: String,
    /// Gravity downwards, m/s².
    pub gravity: f64,
    /// Farthest a vertex may swing, metres.
    #[serde(default)]
    pub limit: Option<f64>,
}

/// What came of a run.
#[derive(Debug)]
pub struct PoseOutcome {
    /// The motion.
    pub motion: Motion,
    /// The model's axes and unit.
    pub space: Space,
    /// What running gave.
    pub posed: Posed,
    /// What swung.
    pub swung: Option<Swung>,
    /// Vertices written per frame.
    pub vertices: usize,
    /// What the format changed or left out, in words.
    pub left_out: Vec<String>,
    /// Where the skins went.
    pub written: PathBuf,
}

impl Swing {
    /// Frames per second of a motion that does not say it.
    pub const RATE: f64 = 24.0;

    /// The spring and what it swings under.
    ///
    /// # Errors
    /// [`SecondaryError`] for a frequency or damping out of range.
    pub fn settings(&self) -> Result<SecondarySettings, SecondaryError> {
        let spring = Spring::new(self.frequency, self.damping)?;
        Ok(SecondarySettings { spring, gravity: DVec3::NEG_Y * self.gravity, limit: self.limit })
    }
}

impl PoseRecipe {
    /// Runs the model and writes the skins.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<PoseOutcome, Error> {
        let folder = is_folder(&self.out)?;
        if self.normals && !holds_normals(&self.out) {
            return Err(error::Error::NormalsLeftOut { path: self.out.clone() }.into());
        }
        let out = reserve(&self.out, self.existing, folder)?;
        let inputs: Vec<&Input> = [&self.model, &self.motion].into_iter().chain(&self.base_cache).collect();
        keep(&inputs, [&out])?;
        let swing = self.swing.as_ref().map(|swing| Ok::<_, Error>((swing, swing.settings()?))).transpose()?;
        let (model, note) = step(watch, "read model", |_| load_model(&self.model.file.path))?;
        let (motion, motion_note) =
            step(watch, "read motion", |_| load_motion(model.rig(), &model.space, &self.motion.file, &self.read))?;
        let mut files = vec![note, motion_note];
        let given = match &self.base_cache {
            None => None,
            Some(input) => {
                let (path, frames) = (&input.file.path, motion.frames.len());
                let (given, note) = load_base_cache(model.rig(), &model.space, path, frames, &self.read)?;
                files.push(note);
                Some(given)
            }
        };
        self.read.must_act_on(&files)?;
        seen(watch, inputs, &files)?;
        let mut run = MotionRun::new(&model, motion.frames.len(), given.as_deref())?;
        let state = match (swing, model.springs()) {
            (Some((swing, settings)), _) => {
                Some(Secondary::new(settings, secondary::gains(&swing.gain, model.rig())?)?)
            }
            (None, Some(springs)) if !self.still => Some(Secondary::learnt([springs], model.rig().mesh())?),
            (None, None) if self.still => return Err(error::Error::NothingLearnt.into()),
            _ => None,
        };
        let mut swinging = match state {
            None if !self.cuts.is_empty() => return Err(error::Error::CutsOfNothing.into()),
            None => None,
            Some(state) => Some(Swinging::new(&motion, model.rig(), state, &self.cuts, Swing::RATE)?),
        };
        let normals = if self.normals { Normals::Written } else { Normals::LeftOut };
        let contents = posed(&model, motion);
        let records = &contents.records;
        let (vertices, left_out) = step(watch, "pose", |progress| {
            let mut failed: Option<Error> = None;
            let mut pose = |at: usize, skin: &mut Vec<DVec3>| -> Result<(), Error> {
                proceed(progress, at, records.len())?;
                let Some(pose) = &records[at].pose else { return Err(Error::Internal("a frame has no pose".into())) };
                skin.clear();
                skin.extend_from_slice(run.skin(at, &records[at].label, pose)?);
                match &mut swinging {
                    Some(swinging) => swinging.apply(at, skin),
                    None => Ok(()),
                }
            };
            let mut fill = |at: usize, skin: &mut Vec<DVec3>| {
                pose(at, skin).map_err(|error| {
                    failed = Some(error);
                    WriteError::Ended
                })
            };
            let written = write_skins(&contents, &mut fill, normals, &out);
            failed.map_or_else(|| written.map_err(Error::from), Err)
        })?;
        let (posed, swung) = (run.posed(), swinging.map(Swinging::done));
        let frame = |record: Record| Some(Frame { label: record.label, time: record.time, pose: record.pose? });
        let frames = contents.records.into_iter().filter_map(frame).collect();
        let motion = Motion { name: contents.name, frames };
        Ok(PoseOutcome {
            motion,
            space: model.space.clone(),
            posed,
            swung,
            vertices,
            left_out,
            written: out.path().to_path_buf(),
        })
    }
}

impl PoseOutcome {
    /// What was written, and how the model fared on the way.
    pub fn json(&self) -> Value {
        let farthest = self.posed.farthest.as_ref();
        json!({
            "written": self.written,
            "frames": self.posed.frames,
            "vertices": self.vertices,
            "left_out": self.left_out,
            "guarded_frames": self.posed.held.0,
            "guarded_share": self.posed.held.1,
            "farthest": farthest.map(|(label, degrees, joint)| json!({"label": label, "degrees": degrees, "joint": joint})),
            "swinging_vertices": self.swung.as_ref().map(|swung| swung.soft),
            "largest_swing": self.swung.as_ref().map(|swung| swung.largest.0),
        })
    }
}
