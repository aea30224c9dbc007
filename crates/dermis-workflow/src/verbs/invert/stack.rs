//! Stacks of deformers from files: what they hold is [`dermis_io::stack_file`].

use crate::error::Error;
use crate::load::FileNote;
use crate::load::{LoadedRig, note, read_bytes};
use dermis_deform::Stack;
use dermis_io::stack_file;
use std::path::Path;

/// Reads a stack for a rig, and says what it is in words.
///
/// # Errors
/// [`Error`], naming the deformer by its place in the list.
pub fn load_stack(path: &Path, rig: &LoadedRig) -> Result<(Stack, String, FileNote), Error> {
    let bytes = read_bytes(path)?;
    let (file, stack) = stack_file::read(&bytes, &rig.rig, &rig.space)
        .map_err(|e| Error::lacks(path, e.to_string(), "docs/invert.md says what a stack holds"))?;
    Ok((stack, file.name(), FileNote { role: "stack".into(), ..note(path, &bytes, vec![]) }))
}
