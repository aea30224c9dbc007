//! A session that is open: its folder, its rig, its motions and its models.

use super::error::Error;
use super::file::{PoseFile, PoseName, Role, SessionFile, ShownBy, Step, StoredModel};
use crate::load::{LoadedRig, ReadOptions, Source, hash_of, load_examples, load_model, load_motion, load_rig};
use crate::output::{Existing, reserve_file};
use crate::verbs::suggest::model_of_weights;
use dermis_files::FileError;
use dermis_files::place::{self, Lock};
use dermis_io::npz::{StoredFloat, write};
use dermis_io::{Contents, Format, ModelFile, Record, Space, to_bytes};
use dermis_measure::WideRunner;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Example, ExampleSet, Frame, Motion, Rig};
use sha2::{Digest, Sha256};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A session that is open. Whoever writes holds its lock.
#[derive(Debug)]
pub struct Session {
    pub(super) folder: PathBuf,
    pub(super) file: SessionFile,
    pub(super) rig: LoadedRig,
    /// Held until the session is closed.
    _lock: Option<Lock>,
}

/// What is done with a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is looked at.
    Look,
    /// It is changed, by one program at a time.
    Change,
}

impl Session {
    /// Opens the session in a folder.
    ///
    /// # Errors
    /// [`Error::NoSession`], [`Error::Busy`], [`Error::Damaged`], [`Error::Newer`], [`Error::RigChanged`]; those of reading.
    pub fn open(folder: &Path, access: Access) -> Result<Self, crate::Error> {
        if !place::is_file(&folder.join(super::file::NAME)) {
            return Err(Error::NoSession { folder: folder.into() }.into());
        }
        let lock = (access == Access::Change).then(|| lock(folder)).transpose()?;
        let file = SessionFile::read(folder)?;
        let path = folder.join(&file.rig.file);
        if !place::is_file(&path) || hash_of(&path)? != file.rig.sha256 {
            return Err(Error::RigChanged { path }.into());
        }
        let mut rig = load_rig(&path)?;
        rig.rig = rig.rig.named(&file.rig.name);
        if rig.rig.weights().is_none() {
            return Err(Error::NoWeights { path }.into());
        }
        Ok(Self { folder: folder.into(), file, rig, _lock: lock })
    }

    /// A session that was just made, whose lock is held.
    pub(super) fn made(folder: &Path, file: SessionFile, rig: LoadedRig, lock: Lock) -> Self {
        Self { folder: folder.into(), file, rig, _lock: Some(lock) }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the session remembers.
    pub fn file(&self) -> &SessionFile {
        &self.file
    }

    /// The rig.
    pub fn rig(&self) -> &LoadedRig {
        &self.rig
    }

    /// Writes what the session remembers: the last act of every change.
    pub(super) fn save(&self) -> Result<(), crate::Error> {
        self.file.write(&self.folder)
    }

    /// Where a model is.
    pub(super) fn model_path(&self, number: u32) -> PathBuf {
        self.folder.join("models").join(format!("{number:04}.dermis"))
    }

    /// Where a step's bundle is.
    pub(super) fn step_path(&self, step: &Step) -> PathBuf {
        self.folder.join(room_of(step.role)).join(format!("{}.npz", step.sha256))
    }

    fn poses_path(&self, file: &PoseFile) -> PathBuf {
        self.folder.join("motions").join(format!("{}.npz", file.sha256))
    }

    /// The bundle of some poses, for readers of poses.
    pub(super) fn poses_source(&self, file: &PoseFile) -> Source {
        Source { path: self.poses_path(file), part: None }
    }

    /// The bundle of a motion, for readers of poses.
    pub(super) fn motion_source(&self, at: usize) -> Source {
        self.poses_source(&self.file.motions[at])
    }

    /// A model that a state has; the rig's own weights without one.
    ///
    /// # Errors
    /// [`Error::FileChanged`] for another file than the session wrote; those of reading.
    pub fn model(&self, stored: Option<&StoredModel>) -> Result<ModelFile, crate::Error> {
        let Some(stored) = stored else { return model_of_weights(&self.rig) };
        let path = self.model_path(stored.number);
        expect(&path, &stored.sha256)?;
        Ok(load_model(&path)?.0)
    }

    /// The model of the present state; the rig's own weights without one.
    ///
    /// # Errors
    /// Those of [`Self::model`].
    pub fn present_model(&self) -> Result<ModelFile, crate::Error> {
        self.model(self.file.state().model.as_ref())
    }

    /// What showed a skin, as a model. A skin that a sculpt's file states was shown by nobody known: then the rig's own weights.
    pub(super) fn shown_by(&self, by: ShownBy) -> Result<ModelFile, crate::Error> {
        let ShownBy::Model(number) = by else { return self.model(None) };
        let known =
            self.file.states.iter().filter_map(|state| state.model.as_ref()).find(|model| model.number == number);
        match known {
            Some(stored) => self.model(Some(stored)),
            // The state was left behind by undoing; its model stays.
            None => Ok(load_model(&self.model_path(number))?.0),
        }
    }

    /// The motions, in the rig's bone order.
    ///
    /// # Errors
    /// [`Error::FileChanged`], and those of reading.
    pub(super) fn motions(&self) -> Result<Vec<Motion>, crate::Error> {
        (0..self.file.motions.len()).map(|at| self.motion(at)).collect()
    }

    /// One motion.
    pub(super) fn motion(&self, at: usize) -> Result<Motion, crate::Error> {
        let source = self.motion_source(at);
        expect(&source.path, &self.file.motions[at].sha256)?;
        let (motion, _) = load_motion(&self.rig.rig, &Space::default(), &source, &ReadOptions::default())?;
        if motion.frames.len() != self.file.motions[at].frames {
            return Err(Error::FileChanged { path: source.path }.into());
        }
        Ok(Motion { name: self.file.motions[at].name.clone(), ..motion })
    }

    /// The examples of a bundle of the session.
    fn examples(&self, path: &Path, hash: &str) -> Result<ExampleSet, crate::Error> {
        expect(path, hash)?;
        let source = Source { path: path.into(), part: None };
        let options = ReadOptions { trust_order: true, ..ReadOptions::default() };
        Ok(load_examples(&self.rig.rig, &Space::default(), &[source], &options, "session")?.0)
    }

    /// Poses with their true skins, by the names of their sets.
    pub(super) fn truths(&self) -> Result<Vec<(&PoseFile, ExampleSet)>, crate::Error> {
        let read = |file| Ok((file, self.examples(&self.poses_path(file), &file.sha256)?));
        self.file.truths.iter().map(read).collect()
    }

    /// The sculpt of a step.
    pub(super) fn sculpt(&self, step: &Step) -> Result<Example, crate::Error> {
        let path = self.step_path(step);
        let set = self.examples(&path, &step.sha256)?;
        let first = set.examples().first().cloned();
        Ok(first.ok_or(Error::FileChanged { path })?)
    }

    /// The name of the region of a vertex: the bone that moves it most.
    pub(super) fn region(&self, vertex: usize) -> &str {
        let (rig, weights) = (&self.rig.rig, self.rig.rig.weights());
        let bone = weights.and_then(|weights| weights.dominant(vertex));
        bone.map_or("", |bone| rig.skeleton().names()[bone].as_str())
    }

    /// A vertex was touched if it lies farther than this from what was shown, metres.
    pub(super) fn touch(&self) -> f64 {
        TOUCH * self.rig.rig.mesh().extent()
    }
}

/// A vertex was touched if it lies farther than this from what was shown, in rest extents: files round by less.
const TOUCH: f64 = 1e-5;

/// The folder of a step's bundle.
fn room_of(role: Role) -> &'static str {
    match role {
        Role::Sculpt | Role::Anchor => "sculpts",
        Role::Check => "checks",
    }
}

/// The skin of a model in a pose.
pub(super) fn skin(model: &ModelFile, pose: &BoneTransforms) -> Result<Vec<DVec3>, crate::Error> {
    Ok(WideRunner::new(model.baked()).run(pose, None)?.to_vec())
}

/// Refuses a file of the session that is gone, or another one.
pub(super) fn expect(path: &Path, hash: &str) -> Result<(), crate::Error> {
    match place::is_file(path) && hash_of(path)? == hash {
        true => Ok(()),
        false => Err(Error::FileChanged { path: path.into() }.into()),
    }
}

/// Locks a session for one writer, until the file is dropped.
///
/// # Errors
/// [`Error::Busy`], and those of the system.
pub(super) fn lock(folder: &Path) -> Result<Lock, crate::Error> {
    let path = folder.join("lock");
    match place::lock(&path) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Err(Error::Busy { folder: folder.into() }.into()),
        locked => Ok(locked.map_err(|source| FileError::System { path, source })?),
    }
}

/// Writes bytes into a folder of the session under the name of their hash; result: the hash.
pub(super) fn put(folder: &Path, room: &str, bytes: &[u8]) -> Result<String, crate::Error> {
    let hash: String = Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let room = folder.join(room);
    place::make_folder(&room).map_err(|source| FileError::System { path: room.clone(), source })?;
    reserve_file(&room.join(format!("{hash}.npz")), Existing::Replace)?.write(bytes)?;
    Ok(hash)
}

/// Writes a step's sculpt; result: its hash.
pub(super) fn put_sculpt(folder: &Path, role: Role, rig: &Rig, example: &Example) -> Result<String, crate::Error> {
    put(folder, room_of(role), &bundle(rig, &example.label, [record(rig, example)].into())?)
}

/// Writes a motion; result: its hash.
pub(super) fn put_motion(folder: &Path, rig: &Rig, motion: &Motion) -> Result<String, crate::Error> {
    put(folder, "motions", &bundle(rig, &motion.name, motion.frames.iter().cloned().map(Record::from).collect())?)
}

/// Writes poses with their skins; result: the hash.
pub(super) fn put_examples(folder: &Path, rig: &Rig, set: &ExampleSet) -> Result<String, crate::Error> {
    put(folder, "motions", &bundle(rig, &set.name, set.examples().iter().map(|e| record(rig, e)).collect())?)
}

fn record(rig: &Rig, example: &Example) -> Record {
    Record {
        label: example.label.clone(),
        time: example.time,
        pose: Some(rig.skeleton().world_pose(&example.transforms)),
        positions: Some(example.positions.clone()),
        importance: example.importance,
        local: example.local.clone(),
    }
}

/// The bytes of a bundle of records in our own space, so that what is read is what was written.
fn bundle(rig: &Rig, name: &str, records: Vec<Record>) -> Result<Vec<u8>, crate::Error> {
    let contents = Contents { name: name.into(), records, ..of_rig(rig) };
    to_bytes(|out| write(&contents, StoredFloat::Double, out)).map_err(|e| crate::Error::Internal(e.to_string()))
}

/// The mesh and the skeleton of a rig, in our own space.
pub(super) fn of_rig(rig: &Rig) -> Contents {
    let (mesh, skeleton) = (Some(rig.mesh().clone()), Some(rig.skeleton().clone()));
    Contents { format: Format::Npz, mesh, skeleton, ..Contents::default() }
}

/// A pose of a motion by name.
pub(super) fn pose_name(motion: &Motion, frame: usize) -> PoseName {
    PoseName { motion: Some(motion.name.clone()), frame: Some(frame), label: motion.frames[frame].label.clone() }
}

/// The pose of an example.
pub(super) fn frame_of(rig: &Rig, example: &Example) -> Frame {
    Frame { label: example.label.clone(), time: example.time, pose: rig.skeleton().world_pose(&example.transforms) }
}
