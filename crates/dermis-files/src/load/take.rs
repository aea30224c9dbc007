//! Takes of markers.

use super::{FileNote, ReadOptions, note, read_bytes};
use crate::error::FileError;
use dermis_io::Warning;
use dermis_io::marker_take::{MarkerTake, TakeSpace, read};
use std::path::Path;

/// A take of markers from a C3D or TRC file.
///
/// # Errors
/// [`FileError::System`], [`FileError::Read`].
pub fn load_take(path: &Path, options: &ReadOptions) -> Result<(MarkerTake, FileNote), FileError> {
    let bytes = read_bytes(path)?;
    let space = TakeSpace { up: options.up, metres_per_unit: options.unit };
    let take = read(&bytes, &space).map_err(|source| FileError::Read { path: path.into(), source })?;
    let mut note = note(path, &bytes, take.warnings.iter().map(Warning::to_string).collect());
    note.role = "take".into();
    note.needs.space = true;
    Ok((take, note))
}
