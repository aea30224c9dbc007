//! What a session remembers: `session.json`. Every other file is named by its content or its number.

use super::error::Error;
use crate::load::read_bytes;
use crate::output::{Existing, reserve_file};
use dermis_files::place;
use dermis_fit::method::Method;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::Path;

/// The version that this program writes.
pub const VERSION: u32 = 1;

/// The name of the file.
pub const NAME: &str = "session.json";

/// Where the copy of the rig lies in the folder.
pub const RIG: &str = "rig/";

/// Whether a name is that of a file in a folder, and of none elsewhere.
pub(super) fn is_plain(name: &str) -> bool {
    !name.starts_with('.') && !name.is_empty() && !name.contains(['/', '\\', ':'])
}

/// A session as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SessionFile {
    /// [`VERSION`].
    pub version: u32,
    /// The program that wrote it.
    pub program: String,
    /// The rig.
    pub rig: RigFile,
    /// The motions that the model shall become good at.
    pub motions: Vec<PoseFile>,
    /// Poses whose true skin is known, which the model is checked on.
    pub truths: Vec<PoseFile>,
    /// Poses that were handed out to be sculpted.
    pub offers: Vec<Offer>,
    /// Everything that was ever added, by id.
    pub steps: Vec<Step>,
    /// What the session was, one after the other. Undoing goes back in this list.
    pub states: Vec<State>,
    /// The place of the present one.
    pub present: usize,
}

/// The copy of the rig's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RigFile {
    /// What the rig is called.
    pub name: String,
    /// Its name in the folder.
    pub file: String,
    /// SHA-256 of its bytes, the first 16 hexadecimal digits.
    pub sha256: String,
}

/// A bundle of poses, in `motions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PoseFile {
    /// What it is called: `walk` in `walk:12`.
    pub name: String,
    /// SHA-256 of its bytes, the first 16 hexadecimal digits: its name in the folder.
    pub sha256: String,
    /// Its poses.
    pub frames: usize,
}

/// A pose of a motion, or one that came with its sculpt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PoseName {
    /// The motion; none if the pose came with the sculpt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub motion: Option<String>,
    /// The frame, counted from zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<usize>,
    /// Its label.
    pub label: String,
}

impl std::fmt::Display for PoseName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.motion, self.frame) {
            (Some(motion), Some(frame)) => write!(f, "{motion}:{frame}"),
            _ => write!(f, "{}", self.label),
        }
    }
}

/// What showed a skin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShownBy {
    /// The rig's own weights.
    Rig,
    /// The model of that number.
    Model(u32),
    /// The sculpt's file states the skin.
    File,
}

impl std::fmt::Display for ShownBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rig => f.write_str("the rig's own weights"),
            Self::Model(number) => write!(f, "model {number}"),
            Self::File => f.write_str("its file"),
        }
    }
}

/// A pose that was handed out, with the skin of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Offer {
    /// Its name, also that of its file.
    pub name: String,
    /// The pose.
    pub pose: PoseName,
    /// What showed the skin.
    pub shown_by: ShownBy,
    /// Whether it asks for a check.
    pub check: bool,
    /// The bone where the skin is worth a look.
    pub region: String,
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The model learns from it.
    Sculpt,
    /// The model learns from it: the skin is right as it was shown.
    Anchor,
    /// The model is only scored on it.
    Check,
}

impl Role {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sculpt => "sculpt",
            Self::Anchor => "anchor",
            Self::Check => "check",
        }
    }
}

/// Where a step's mask comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MaskFrom {
    /// Vertices that differ from what was shown.
    Found,
    /// A mask was painted.
    Painted,
    /// All of the skin says how it is.
    Whole,
}

/// A sculpt, an anchor or a check that was added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Step {
    /// Its number, from 1.
    pub id: u32,
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Its pose.
    pub pose: PoseName,
    /// What showed the skin that it changes.
    pub shown_by: ShownBy,
    /// Where its mask comes from.
    pub mask: MaskFrom,
    /// The factor of its change.
    pub strength: f64,
    /// SHA-256 of its bundle, the first 16 hexadecimal digits: its name in the folder.
    pub sha256: String,
    /// Vertices that it touches.
    pub touched: usize,
    /// The bone that moves most of them.
    pub region: String,
}

/// A model in `models`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StoredModel {
    /// Its number.
    pub number: u32,
    /// SHA-256 of its bytes, the first 16 hexadecimal digits.
    pub sha256: String,
}

/// What made a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Did {
    /// The session began.
    New,
    /// This step was added.
    Add(u32),
    /// The model was fitted again.
    Fit,
    /// This step was switched off.
    Off(u32),
    /// This step was switched on.
    On(u32),
}

impl Did {
    /// The step that it is about.
    pub fn step(self) -> Option<u32> {
        match self {
            Self::Add(id) | Self::Off(id) | Self::On(id) => Some(id),
            Self::New | Self::Fit => None,
        }
    }
}

/// The steps that count, and the model that learnt from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct State {
    /// What made it.
    pub did: Did,
    /// Ids of the steps that count, in order.
    pub active: Vec<u32>,
    /// The method with its settings.
    pub method: Method,
    /// The model; none before the first sculpt.
    pub model: Option<StoredModel>,
    /// What the change to this state did.
    pub scores: Option<StepScores>,
}

/// What a step did, as far as it can be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StepScores {
    /// Whether there is another model than before.
    pub refitted: bool,
    /// How the new model meets the step's sculpt; none for a check, and without a step.
    pub met: Option<Met>,
    /// The sculpt among the others that the new model meets worst.
    pub others: Option<Met>,
    /// The share of the sculpt's correction that the model before already had: 1 less what it left over what the rig's weights leave.
    pub known: Option<f64>,
    /// Errors where the truth is known; none where it is nowhere.
    pub checks: Option<Checks>,
    /// Where the change moved skin that was not sculpted, most first.
    pub moved: Vec<Moved>,
    /// The farthest that skin moved on the other side of a symmetric rig, metres.
    pub mirrored: f64,
}

/// How far a model is from a sculpt on the skin that it touched, lengths in metres.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Met {
    /// The sculpt.
    pub name: String,
    /// The worst distance.
    pub worst: f64,
    /// The rms distance.
    pub rms: f64,
    /// Regions with vertices farther than [`UNMET`] away, the worst first.
    pub unmet: Vec<Unmet>,
}

/// A vertex of a sculpt counts as met within this distance, in rest extents.
pub const UNMET: f64 = 1e-4;

/// A part of a sculpt that is not met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Unmet {
    /// The bone that moves this skin most.
    pub region: String,
    /// Vertices that are not met.
    pub vertices: usize,
    /// The worst distance.
    pub worst: f64,
}

/// Errors on taught skin where the truth is known, lengths in metres.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Checks {
    /// Poses that are counted.
    pub frames: usize,
    /// Poses beside a trained one, which are not.
    pub trained: usize,
    /// Their rms error; none if every pose is trained.
    pub errors: Option<CheckErrors>,
    /// The worst rises by pose and region.
    pub rises: Vec<Rise>,
}

/// An rms error on the same skin in the same poses, metres.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CheckErrors {
    /// That of the model before.
    pub before: f64,
    /// That of the new model.
    pub after: f64,
    /// That of the rig's own weights.
    pub rig: f64,
}

impl CheckErrors {
    /// The change of the error over what it was.
    pub fn change(&self) -> f64 {
        if self.before > 0.0 { self.after / self.before - 1.0 } else { 0.0 }
    }
}

/// An error that rose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rise {
    /// The check, or the truth and its frame.
    pub check: String,
    /// The bone that moves this skin most.
    pub region: String,
    /// The rms error before, metres.
    pub before: f64,
    /// The rms error after, metres.
    pub after: f64,
}

/// Skin that a change moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Moved {
    /// Where it shows.
    pub pose: PoseName,
    /// The bone that moves this skin most.
    pub region: String,
    /// How far it moved at most, metres.
    pub distance: f64,
}

impl SessionFile {
    /// Reads the file of a folder.
    ///
    /// # Errors
    /// [`Error::NoSession`], [`Error::Newer`], [`Error::Damaged`] and those of reading.
    pub fn read(folder: &Path) -> Result<Self, crate::Error> {
        let path = folder.join(NAME);
        if !place::is_file(&path) {
            return Err(Error::NoSession { folder: folder.into() }.into());
        }
        let bytes = read_bytes(&path)?;
        let damaged = |what: String| Error::Damaged { path: path.clone(), what };
        /// What every version has.
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let Versioned { version } = serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string()))?;
        if version > VERSION {
            return Err(Error::Newer { path, version, known: VERSION }.into());
        }
        let file: Self = serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string()))?;
        file.check().map_err(damaged)?;
        Ok(file)
    }

    /// Writes the file: the session is the old one until its name is there.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&self, folder: &Path) -> Result<(), crate::Error> {
        let internal = |e: serde_json::Error| crate::Error::Internal(format!("the session cannot be stored: {e}"));
        let text = serde_json::to_vec_pretty(self).map_err(internal)?;
        // A number that is not finite would be stored, and not be read again.
        serde_json::from_slice::<Self>(&text).map_err(internal)?;
        Ok(reserve_file(&folder.join(NAME), Existing::Replace)?.write(&text)?)
    }

    /// What would lead outside the folder or nowhere.
    fn check(&self) -> Result<(), String> {
        if !self.rig.file.strip_prefix(RIG).is_some_and(is_plain) {
            return Err(format!("\"{:.60}\" is no name of a rig", self.rig.file));
        }
        let poses = self.motions.iter().chain(&self.truths).map(|file| &file.sha256);
        let models = self.states.iter().filter_map(|state| Some(&state.model.as_ref()?.sha256));
        let hashes = [&self.rig.sha256].into_iter().chain(poses).chain(self.steps.iter().map(|step| &step.sha256));
        let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if let Some(wrong) = hashes.chain(models).find(|hash| !is_hash(hash)) {
            return Err(format!("\"{wrong:.60}\" is no SHA-256"));
        }
        let mut ids = HashSet::new();
        if let Some(step) = self.steps.iter().find(|step| !ids.insert(step.id)) {
            return Err(format!("two steps have the id {}", step.id));
        }
        let named = self.states.iter().flat_map(|state| state.active.iter().copied().chain(state.did.step()));
        if let Some(id) = named.into_iter().find(|id| !ids.contains(id)) {
            return Err(format!("there is no step {id}, which a state names"));
        }
        if let Some(step) = self.steps.iter().find(|step| !step.strength.is_finite()) {
            return Err(format!("the strength of step {} is not finite", step.id));
        }
        if self.present >= self.states.len() {
            return Err(format!("there is no state {}, which is said to be the present one", self.present));
        }
        self.states.iter().try_for_each(|state| state.method.check().map_err(|e| e.to_string()))
    }

    /// The present state.
    pub fn state(&self) -> &State {
        &self.states[self.present]
    }

    /// The step of that id.
    pub fn step(&self, id: u32) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// Steps of a state that the model learns from, in order.
    pub fn taught<'a>(&'a self, active: &'a [u32]) -> impl Iterator<Item = &'a Step> {
        active.iter().filter_map(|&id| self.step(id)).filter(|step| step.role != Role::Check)
    }

    /// Steps of a state that the model is scored on, in order.
    pub fn checks<'a>(&'a self, active: &'a [u32]) -> impl Iterator<Item = &'a Step> {
        active.iter().filter_map(|&id| self.step(id)).filter(|step| step.role == Role::Check)
    }

    /// The number of the next model, which no state has.
    pub fn next_model(&self) -> u32 {
        self.states.iter().filter_map(|state| Some(state.model.as_ref()?.number)).max().map_or(1, |last| last + 1)
    }

    /// The id of the next step.
    pub fn next_step(&self) -> u32 {
        self.steps.iter().map(|step| step.id).max().map_or(1, |last| last + 1)
    }
}
