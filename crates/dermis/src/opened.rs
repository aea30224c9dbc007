//! The rig, as a caller has it.

use crate::Error;
use dermis_files::load::{FileNote, LoadedRig, load_rig};
use dermis_io::Space;
use dermis_rig::{Influences, Mesh, RigError, Skeleton};
use std::ops::Deref;
use std::path::Path;

/// A character before it is posed: mesh, skeleton and skinning weights that belong together.
///
/// It dereferences to [`dermis_rig::Rig`], which has its parts.
#[derive(Clone, Debug)]
pub struct Rig {
    pub(crate) loaded: LoadedRig,
}

impl Rig {
    /// A rig from a file: a skinned .glb, .gltf or .fbx, or a bundle (.npz).
    ///
    /// # Errors
    /// [`Error`], naming what the file lacks.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self { loaded: load_rig(path.as_ref())? })
    }

    /// A rig from memory, in metres, Y up. Rows of `weights` sum to one.
    ///
    /// # Errors
    /// [`RigError`], naming what disagrees.
    pub fn new(mesh: Mesh, skeleton: Skeleton, weights: Option<Influences>) -> Result<Self, RigError> {
        let rig = dermis_rig::Rig::new(mesh, skeleton, weights)?;
        Ok(Self { loaded: LoadedRig { rig, space: Space::default(), notes: Vec::new() } })
    }

    /// What was read, with the flaws that were mended.
    pub fn files(&self) -> &[FileNote] {
        &self.loaded.notes
    }
}

impl From<LoadedRig> for Rig {
    fn from(loaded: LoadedRig) -> Self {
        Self { loaded }
    }
}

impl Deref for Rig {
    type Target = dermis_rig::Rig;
    fn deref(&self) -> &dermis_rig::Rig {
        &self.loaded.rig
    }
}
