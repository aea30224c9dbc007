//! A session begins: the rig and the motions are copied into its folder.

use super::error::Error;
use super::file::{Did, NAME, PoseFile, RIG, RigFile, SessionFile, State, VERSION, is_plain};
use super::folder::{Session, frame_of, lock, put_examples, put_motion};
use super::states::{check_method, default_method};
use crate::load::{LoadedRig, ReadOptions, load_examples, load_motion, load_rig, read_bytes};
use crate::output::{Existing, ending, reserve_file};
use crate::recipe::{Input, Watch, seen, step};
use dermis_files::{FileError, place};
use dermis_fit::method::Method;
use dermis_rig::{ExampleSet, Motion};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a session begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NewSession {
    /// Mesh and skeleton at rest, with skinning weights.
    pub rig: Input,
    /// The motions that the model shall become good at.
    #[serde(default)]
    pub motions: Vec<Input>,
    /// Poses with their true skins, which the model is checked on and never learns from. Without motions their poses are one.
    #[serde(default)]
    pub truths: Vec<Input>,
    /// The joint model with its settings.
    #[serde(default = "default_method")]
    pub method: Method,
    /// How motions and truths are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
}

/// What may lie in the folder of a session that was never begun to its end.
const LEFTOVERS: [&str; 6] = ["rig", "motions", "sculpts", "checks", "models", "lock"];

impl Session {
    /// Begins a session in a folder that is new, empty, or left by a beginning that was cut off.
    ///
    /// # Errors
    /// [`Error::Taken`], [`Error::NoWeights`], [`Error::RigInParts`], [`Error::Method`]; those of reading and writing.
    pub fn begin(folder: &Path, new: &NewSession, watch: &dyn Watch) -> Result<Self, crate::Error> {
        check_method(&new.method)?;
        expect_free(folder)?;
        let loaded = step(watch, "read rig", |_| load_rig(&new.rig.file.path))?;
        let mut notes = loaded.notes.clone();
        if loaded.rig.weights().is_none() {
            return Err(Error::NoWeights { path: new.rig.file.path.clone() }.into());
        }
        let (rig, space) = (&loaded.rig, &loaded.space);
        let (mut motions, mut truths): (Vec<Motion>, Vec<_>) = (vec![], vec![]);
        for input in &new.motions {
            let read = |_: dermis_fit::Progress<'_>| load_motion(rig, space, &input.file, &new.read);
            let (motion, note) = step(watch, "read motion", read)?;
            notes.push(note);
            motions.push(motion);
        }
        for input in &new.truths {
            let files = std::slice::from_ref(&input.file);
            let read = |_: dermis_fit::Progress<'_>| load_examples(rig, space, files, &new.read, "truth");
            let (set, read) = step(watch, "read truth", read)?;
            notes.extend(read);
            truths.push(set);
        }
        new.read.must_act_on(&notes)?;
        seen(watch, [&new.rig].into_iter().chain(&new.motions).chain(&new.truths), &notes)?;
        if motions.is_empty() {
            let motion = |set: &ExampleSet| Motion {
                name: set.name.trim_end_matches(".npz").into(),
                frames: set.examples().iter().map(|example| frame_of(rig, example)).collect(),
            };
            motions = truths.iter().map(motion).collect();
        }
        Self::laid_out(folder, (&new.rig.file.path, &loaded), &motions, &truths, &new.method)
    }

    /// Writes a session without steps into a free folder.
    pub(super) fn laid_out(
        folder: &Path,
        (path, loaded): (&Path, &LoadedRig),
        motions: &[Motion],
        truths: &[ExampleSet],
        method: &Method,
    ) -> Result<Self, crate::Error> {
        let rig = &loaded.rig;
        place::make_folder(folder).map_err(|source| FileError::System { path: folder.into(), source })?;
        let lock = lock(folder)?;
        expect_free(folder)?;
        let (mut rig_file, mut copy) = copied(folder, path, loaded.notes.first().map(|note| note.hash.as_str()))?;
        rig_file.name = rig.name().into();
        copy.rig = copy.rig.named(rig.name());
        let mut names: Vec<String> = Vec::new();
        let mut of_motions = Vec::new();
        for motion in motions {
            let name = new_name(&motion.name, &names);
            let sha256 = put_motion(folder, rig, motion)?;
            of_motions.push(PoseFile { name: name.clone(), sha256, frames: motion.frames.len() });
            names.push(name);
        }
        let (mut names, mut of_truths) = (Vec::new(), Vec::new());
        for set in truths {
            let name = new_name(set.name.trim_end_matches(".npz"), &names);
            of_truths.push(PoseFile { name: name.clone(), sha256: put_examples(folder, rig, set)?, frames: set.len() });
            names.push(name);
        }
        let state = State { did: Did::New, active: vec![], method: method.clone(), model: None, scores: None };
        let file = SessionFile {
            version: VERSION,
            program: crate::PROGRAM.into(),
            rig: rig_file,
            motions: of_motions,
            truths: of_truths,
            offers: vec![],
            steps: vec![],
            states: vec![state],
            present: 0,
        };
        let session = Self::made(folder, file, copy, lock);
        session.save()?;
        Ok(session)
    }
}

/// Refuses a folder that is somebody's.
pub(super) fn expect_free(folder: &Path) -> Result<(), crate::Error> {
    let taken = |what| Err(Error::Taken { folder: folder.into(), what }.into());
    if place::exists(&folder.join(NAME)) {
        return taken("there is a session in this folder already");
    }
    if place::exists(folder) && !place::is_dir(folder) {
        return taken("this is a file, and a session is a folder");
    }
    let Ok(mut names) = place::names(folder) else { return Ok(()) };
    let ours = |name: &str| LEFTOVERS.contains(&name) || name.starts_with(".dermis-");
    match names.all(|name| ours(&name.to_string_lossy())) {
        true => Ok(()),
        false => taken("this folder holds other files"),
    }
}

/// Copies the rig's file, and reads the copy, which must be whole without the files beside the original.
fn copied(folder: &Path, path: &Path, hash: Option<&str>) -> Result<(RigFile, LoadedRig), crate::Error> {
    // Under its own name, which is that of the rig in formats that hold none.
    let own = path.file_name().and_then(|name| name.to_str()).filter(|name| is_plain(name));
    let file = own.map_or_else(|| format!("{RIG}rig.{}", ending(path)), |name| format!("{RIG}{name}"));
    let place = folder.join(&file);
    let within = folder.join(RIG);
    place::make_folder(&within).map_err(|source| FileError::System { path: within, source })?;
    reserve_file(&place, Existing::Replace)?.write(&read_bytes(path)?)?;
    let copy = load_rig(&place).map_err(|error| Error::RigInParts { path: path.into(), why: error.to_string() })?;
    let sha256 = copy.notes.first().map(|note| note.hash.clone()).unwrap_or_default();
    match hash == Some(sha256.as_str()) {
        true => Ok((RigFile { name: String::new(), file, sha256 }, copy)),
        // Somebody wrote it meanwhile.
        false => Err(Error::RigChanged { path: path.into() }.into()),
    }
}

/// A name that stands before a colon, and that no other has.
fn new_name(name: &str, taken: &[String]) -> String {
    let plain: String = name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    let plain = if plain.is_empty() { "motion".into() } else { plain };
    let numbered = (2..).map(|number| format!("{plain}.{number}"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or(plain)
}
