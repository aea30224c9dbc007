//! What a fit may need beside its rig and examples: base positions, a table of influence maps, anchors per vertex.

use super::files::{expect_finite, expect_skins, note};
use super::{FileNote, LoadedRig, ReadOptions, matching, read_bytes, read_contents};
use crate::error::FileError;
use dermis_io::Space;
use dermis_rig::glam::DVec3;
use dermis_rig::{Influences, Rig};
use std::path::Path;

/// A cache of base positions for examples: one frame per example, in the rig's vertex order.
///
/// # Errors
/// [`FileError`].
pub fn load_base_cache(
    rig: &Rig,
    rig_space: &Space,
    path: &Path,
    frames: usize,
    options: &ReadOptions,
) -> Result<(Vec<Vec<DVec3>>, FileNote), FileError> {
    let (contents, mut note) = read_contents(path, &options.space_of(path, rig_space))?;
    note.role = "base".into();
    expect_finite(&contents, path)?;
    expect_skins(&contents, path)?;
    let skins: Vec<&Vec<DVec3>> = contents.records.iter().filter_map(|r| r.positions.as_ref()).collect();
    if skins.len() != frames {
        let what = format!("{} frames, but there are {frames} poses", skins.len());
        return Err(FileError::lacks(path, what, "a base cache has one frame per pose, in the same order"));
    }
    let count = skins.first().map_or(0, |s| s.len());
    let matching = matching(rig.mesh(), &contents, count, options, path, &mut note)?;
    let gathered: Vec<Vec<DVec3>> = skins.into_iter().map(|s| matching.gather(s)).collect();
    if let Some(at) = gathered.iter().position(|frame| frame.iter().any(|p| !p.is_finite())) {
        return Err(FileError::lacks(path, format!("frame {at} is not finite"), ""));
    }
    Ok((gathered, note))
}

/// The influence maps of a bundle of the same rig.
///
/// # Errors
/// [`FileError::Lacks`] if it has none, or is of another rig.
pub fn load_map_table(rig: &LoadedRig, path: &Path) -> Result<(Influences, FileNote), FileError> {
    const HINT: &str = "a table of maps is a bundle with influence_maps (vertices × bones) of the same rig";
    let (contents, mut note) = read_contents(path, &rig.space)?;
    note.role = "influence maps".into();
    let lacks = |what: String| FileError::lacks(path, what, HINT);
    let maps = contents.influence_maps.ok_or_else(|| lacks("it has no influence maps".into()))?;
    if contents.skeleton.as_ref().is_some_and(|skeleton| skeleton.names() != rig.rig.skeleton().names()) {
        return Err(lacks("its bones are not the rig's".into()));
    }
    let (found, vertices) = (maps.vertices(), rig.rig.mesh().positions.len());
    match found == vertices {
        true => Ok((maps, note)),
        false => Err(lacks(format!("its maps cover {found} vertices, the rig has {vertices}"))),
    }
}

/// A bone name per line and vertex.
///
/// # Errors
/// [`FileError::System`].
pub fn load_anchors(path: &Path) -> Result<(Vec<String>, FileNote), FileError> {
    let bytes = read_bytes(path)?;
    let names = String::from_utf8_lossy(&bytes).lines().map(|line| line.trim().to_owned()).collect();
    Ok((names, FileNote { role: "anchors".into(), ..note(path, &bytes, vec![]) }))
}
