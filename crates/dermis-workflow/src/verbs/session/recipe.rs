//! `session`: a folder that one learns with, a sculpt at a time.

use super::add::AddSculpt;
use super::begin::NewSession;
use super::error::Error;
use super::file::{SessionFile, State, Step};
use super::folder::{Access, Session, expect};
use super::next::{NextPoses, Offered};
use super::rebase::Rebase;
use crate::load::read_bytes;
use crate::output::{Existing, Kind, reserve_file_of};
use crate::recipe::Watch;
use dermis_fit::method::Method;
use dermis_io::Space;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// An act on a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SessionRecipe {
    /// The folder of the session.
    pub folder: PathBuf,
    /// What is done.
    pub act: SessionAct,
}

/// What is done with a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionAct {
    /// It begins.
    New(Box<NewSession>),
    /// It begins with the steps of another session, carried to another rig.
    Rebase(Box<Rebase>),
    /// Poses are handed out.
    Next(NextPoses),
    /// A sculpt is added.
    Add(Box<AddSculpt>),
    /// The steps that count are fitted again.
    Fit {
        /// With these settings; with those of the present state without.
        #[serde(default)]
        method: Option<Box<Method>>,
    },
    /// It is looked at.
    Status,
    /// It goes back, or switches a step off.
    Undo {
        /// The step.
        #[serde(default)]
        step: Option<u32>,
    },
    /// It goes forward, or switches a step on.
    Redo {
        /// The step.
        #[serde(default)]
        step: Option<u32>,
    },
    /// The present model leaves.
    Export {
        /// Where it goes.
        out: PathBuf,
        /// What happens to a model that is there already.
        #[serde(default)]
        existing: Existing,
    },
}

/// What came of an act.
#[derive(Debug)]
pub struct SessionOutcome {
    /// The session as it is now.
    pub status: SessionStatus,
    /// Poses that were handed out.
    pub offered: Option<Offered>,
    /// Where a model was written.
    pub exported: Option<PathBuf>,
    /// What a user should know.
    pub warnings: Vec<String>,
    /// Whether the act made the present state, or went to it.
    pub changed: bool,
}

/// A session as it is.
#[derive(Clone, Debug)]
pub struct SessionStatus {
    /// The folder.
    pub folder: PathBuf,
    /// What the session remembers.
    pub file: SessionFile,
    /// The rig's axes and unit.
    pub space: Space,
    /// The name, vertices and bones of the rig.
    pub rig: (String, usize, usize),
}

impl SessionRecipe {
    /// Does it.
    ///
    /// # Errors
    /// [`crate::Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<SessionOutcome, crate::Error> {
        let folder = &self.folder;
        let (mut warnings, mut offered, mut exported) = (vec![], None, None);
        let mut changed = true;
        let change = || Session::open(folder, Access::Change);
        let session = match &self.act {
            SessionAct::New(new) => Session::begin(folder, new, watch)?,
            SessionAct::Rebase(rebase) => {
                let (session, said) = Session::rebase(folder, rebase, watch)?;
                warnings = said;
                session
            }
            SessionAct::Next(wish) => {
                let mut session = change()?;
                offered = Some(session.next(wish, watch)?);
                changed = false;
                session
            }
            SessionAct::Add(sculpt) => {
                let mut session = change()?;
                warnings = session.add(sculpt, watch)?;
                session
            }
            SessionAct::Fit { method } => {
                let mut session = change()?;
                let method = method.as_deref().unwrap_or(&session.file().state().method).clone();
                warnings = session.fit(method, watch)?;
                session
            }
            SessionAct::Undo { step } => {
                let mut session = change()?;
                warnings = session.undo(*step, watch)?;
                session
            }
            SessionAct::Redo { step } => {
                let mut session = change()?;
                warnings = session.redo(*step, watch)?;
                session
            }
            SessionAct::Status => {
                changed = false;
                Session::open(folder, Access::Look)?
            }
            SessionAct::Export { out, existing } => {
                changed = false;
                let session = Session::open(folder, Access::Look)?;
                let model = session.file().state().model.clone().ok_or(Error::NoModel)?;
                let place = reserve_file_of(Kind::Model, out, *existing)?;
                let path = session.model_path(model.number);
                expect(&path, &model.sha256)?;
                place.write(&read_bytes(&path)?)?;
                exported = Some(out.clone());
                session
            }
        };
        Ok(SessionOutcome { status: SessionStatus::of(&session), offered, exported, warnings, changed })
    }
}

impl SessionStatus {
    /// Of the session in a folder.
    ///
    /// # Errors
    /// Those of [`Session::open`].
    pub fn read(folder: &Path) -> Result<Self, crate::Error> {
        Ok(Self::of(&Session::open(folder, Access::Look)?))
    }

    /// Of a session that is open.
    pub fn of(session: &Session) -> Self {
        let rig = &session.rig().rig;
        Self {
            folder: session.folder().into(),
            file: session.file().clone(),
            space: session.rig().space.clone(),
            rig: (rig.name().into(), rig.mesh().positions.len(), rig.skeleton().len()),
        }
    }

    /// The present state.
    pub fn state(&self) -> &State {
        self.file.state()
    }

    /// Whether a step counts.
    pub fn is_on(&self, step: &Step) -> bool {
        self.state().active.contains(&step.id)
    }

    /// How many states undoing can go back, and redoing forward.
    pub fn back_and_forward(&self) -> (usize, usize) {
        (self.file.present, self.file.states.len() - 1 - self.file.present)
    }

    /// `session status --json`.
    pub fn json(&self) -> Value {
        let state = self.state();
        let poses = |files: &[super::file::PoseFile]| -> Vec<Value> {
            files.iter().map(|file| json!({"name": file.name, "frames": file.frames})).collect()
        };
        let step = |step: &Step| {
            json!({
                "id": step.id, "name": step.name, "role": step.role, "on": self.is_on(step), "pose": step.pose.to_string(),
                "shown_by": step.shown_by, "mask": step.mask, "strength": step.strength, "touched": step.touched,
                "region": step.region,
            })
        };
        let (back, forward) = self.back_and_forward();
        json!({
            "folder": self.folder,
            "rig": {"name": self.rig.0, "vertices": self.rig.1, "bones": self.rig.2},
            "method": state.method,
            "motions": poses(&self.file.motions),
            "truths": poses(&self.file.truths),
            "steps": self.file.steps.iter().map(step).collect::<Vec<_>>(),
            "offers": self.file.offers.iter().map(super::status::offer_json).collect::<Vec<_>>(),
            "model": state.model.as_ref().map(|model| model.number),
            "undo": back,
            "redo": forward,
            "did": state.did,
            "states": self.file.states.iter().map(super::status::state_json).collect::<Vec<_>>(),
            "scores": state.scores.as_ref().map(super::status::scores_json),
            "lines": state.scores.as_ref().map_or(vec![], |scores| {
                super::status::lines(scores, &dermis_report::unit_of(&self.space), "`next --check`")
            }),
        })
    }
}

impl SessionOutcome {
    /// `session ... --json`.
    pub fn json(&self) -> Value {
        let mut value = self.status.json();
        if let Some(Offered { offers, written }) = &self.offered {
            value["offered"] = offers.iter().map(super::status::offer_json).collect();
            value["written"] = json!(written);
        }
        if let Some(exported) = &self.exported {
            value["exported"] = json!(exported);
        }
        value["warnings"] = json!(self.warnings);
        value
    }
}
