//! Takes of markers.

use super::{FileNote, ReadOptions, note, read_bytes};
use crate::error::FileError;
use dermis_io::camera_tracks::{self, CameraTracks};
use dermis_io::marker_take::{MarkerTake, TakeSpace, read};
use dermis_io::{Space, UpAxis, Warning};
use std::path::Path;

/// A take of markers from a C3D or TRC file.
///
/// # Errors
/// [`FileError::System`], [`FileError::Read`].
pub fn load_take(path: &Path, options: &ReadOptions) -> Result<(MarkerTake, FileNote), FileError> {
    let bytes = read_bytes(path)?;
    let space = TakeSpace { up: options.up, metres_per_unit: options.unit, rate: options.fps };
    let take = read(&bytes, &space).map_err(|source| FileError::Read { path: path.into(), source })?;
    let mut note = note(path, &bytes, take.warnings.iter().map(Warning::to_string).collect());
    note.role = "take".into();
    note.needs.space = true;
    note.needs.rate = !take.is_timed;
    Ok((take, note))
}

/// What cameras saw of markers, from a JSON file. Its world has Y up and is in metres, if the options do not say otherwise.
///
/// # Errors
/// [`FileError::System`], [`FileError::Read`].
pub fn load_camera_tracks(path: &Path, options: &ReadOptions) -> Result<(CameraTracks, FileNote), FileError> {
    let bytes = read_bytes(path)?;
    let space =
        Space { up: options.up.unwrap_or(UpAxis::Y), metres_per_unit: options.unit.unwrap_or(1.0), ..Space::default() };
    let tracks = camera_tracks::read(&bytes, &space).map_err(|source| FileError::Read { path: path.into(), source })?;
    let mut note = note(path, &bytes, Vec::new());
    note.role = "take".into();
    note.needs.space = true;
    Ok((tracks, note))
}
