//! Files as sets of poses, each on its own.

use super::{FileNote, ReadOptions, Source, load_examples, load_motion, read_contents};
use crate::error::FileError;
use dermis_io::Space;
use dermis_rig::{ExampleSet, Motion, Rig};

/// What a file shows.
#[derive(Clone, Debug)]
pub enum PoseSet {
    /// Poses with their skins.
    Examples(ExampleSet),
    /// Poses alone.
    Motion(Motion),
}

/// Whether a file has skins, and whether it has poses.
pub(super) fn holds(source: &Source, rig_space: &Space, options: &ReadOptions) -> Result<(bool, bool), FileError> {
    let contents = read_contents(&source.path, &options.space_of(&source.path, rig_space))?.0;
    let has_skin = contents.records.iter().any(|r| r.positions.is_some()) || !contents.morphs.is_empty();
    let has_pose = contents.records.iter().any(|r| r.pose.is_some()) || !contents.clips.is_empty();
    Ok((has_skin, has_pose))
}

/// A set for every file, called as its file. A file with skins is examples, together with the motion before it if it
/// has no poses of its own; any other file is a motion.
///
/// # Errors
/// Those of [`load_examples`] and [`load_motion`].
pub fn load_pose_sets(
    rig: &Rig,
    rig_space: &Space,
    sources: &[Source],
    options: &ReadOptions,
    role: &str,
) -> Result<(Vec<(String, PoseSet)>, Vec<FileNote>), FileError> {
    let held = sources.iter().map(|s| holds(s, rig_space, options)).collect::<Result<Vec<_>, FileError>>()?;
    let (mut sets, mut notes, mut at) = (Vec::new(), Vec::new(), 0);
    while at < sources.len() {
        let skins_follow = !held[at].0 && held.get(at + 1) == Some(&(true, false));
        let files = &sources[at..=at + usize::from(skins_follow)];
        let names: Vec<String> = files.iter().map(Source::called).collect();
        let set = if skins_follow || held[at].0 {
            let (examples, read) = load_examples(rig, rig_space, files, options, role)?;
            notes.extend(read);
            PoseSet::Examples(examples)
        } else {
            let (motion, read) = load_motion(rig, rig_space, &sources[at], options)?;
            notes.push(FileNote { role: role.into(), ..read });
            PoseSet::Motion(motion)
        };
        sets.push((names.join(" "), set));
        at += files.len();
    }
    Ok((sets, notes))
}
