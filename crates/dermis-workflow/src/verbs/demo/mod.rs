//! The whole loop on the bundled body: the files are part of the program.

pub(crate) mod recipe;

use crate::FileError;
use crate::error::Error;
use crate::load::{FileNote, LoadedRig};
use dermis_io::Contents;
use dermis_rig::{Example, ExampleSet, Frame, Influences, Motion, Rig, Skeleton};
use std::path::Path;

/// The rig and its training poses.
pub const EXERCISE: &[u8] = include_bytes!("../../../../../assets/body/body_exercise.npz");
/// Motion no fit may see.
pub const WALK: &[u8] = include_bytes!("../../../../../assets/body/body_walk.npz");
/// The body with its skin and clips, as Blender exports it.
pub const GLB: &[u8] = include_bytes!("../../../../../assets/body/body.glb");

/// The bundled body: rig, training examples, held-out examples, and what was read.
///
/// # Errors
/// None as long as the bundled files are whole; a test reads them.
pub fn body() -> Result<(LoadedRig, ExampleSet, ExampleSet, Vec<FileNote>), Error> {
    let path = Path::new("body_exercise.npz");
    let exercise = read(path, EXERCISE)?;
    let walk = read(Path::new("body_walk.npz"), WALK)?;
    let missing = || Error::lacks(path, "the bundled body is incomplete", "");
    let (mesh, skeleton) = exercise.mesh.clone().zip(exercise.skeleton.clone()).ok_or_else(missing)?;
    let rig = Rig::new(mesh, skeleton, exercise.weights.clone()).map_err(|e| Error::lacks(path, e.to_string(), ""))?;
    let rig = rig.named("body");
    let examples = |contents: &Contents| {
        let made = contents.records.iter().filter_map(|record| {
            Some(Example {
                label: record.label.clone(),
                time: record.time,
                transforms: rig.skeleton().bone_transforms(record.pose.as_ref()?),
                positions: record.positions.clone()?,
                importance: record.importance,
                local: record.local.clone(),
            })
        });
        ExampleSet::new(contents.name.trim_end_matches(".npz").into(), made.collect(), &rig)
            .map_err(|e| Error::lacks(path, e.to_string(), ""))
    };
    let (train, held_out) = (examples(&exercise)?, examples(&walk)?);
    let notes = [("rig and examples", "body_exercise.npz", EXERCISE), ("hold-out", "body_walk.npz", WALK)];
    let notes = notes.map(|(role, name, bytes)| FileNote {
        role: role.into(),
        ..crate::load::note(Path::new(name), bytes, Vec::new())
    });
    Ok((LoadedRig { rig, space: exercise.space, notes: notes.to_vec() }, train, held_out, notes.to_vec()))
}

/// The bundled walk: the body's skeleton, its weights, and the poses.
///
/// # Errors
/// None as long as the bundled file is whole.
pub fn walk() -> Result<(Skeleton, Option<Influences>, Motion), Error> {
    let path = Path::new("body_walk.npz");
    let contents = read(path, WALK)?;
    let frames = contents.records.iter().filter_map(|record| {
        Some(Frame { label: record.label.clone(), time: record.time, pose: record.pose.clone()? })
    });
    let motion = Motion { name: "walk".into(), frames: frames.collect() };
    let skeleton = contents.skeleton.ok_or_else(|| Error::lacks(path, "the bundled walk is incomplete", ""))?;
    Ok((skeleton, contents.weights, motion))
}

fn read(path: &Path, bytes: &[u8]) -> Result<Contents, FileError> {
    let name = path.display().to_string();
    dermis_io::npz::read(bytes, &name).map_err(|source| FileError::Read { path: path.into(), source })
}
