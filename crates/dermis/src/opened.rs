//! The rig, as a caller has it.

#[cfg(feature = "formats")]
use crate::Error;
#[cfg(feature = "formats")]
use dermis_files::load::{FileNote, LoadedRig, load_rig};
use dermis_rig::{Influences, Mesh, RigError, Skeleton};
use std::ops::Deref;

/// A character before it is posed: mesh, skeleton and skinning weights that belong together.
///
/// It dereferences to [`dermis_rig::Rig`], which has its parts.
#[derive(Clone, Debug)]
pub struct Rig {
    #[cfg(feature = "formats")]
    pub(crate) loaded: LoadedRig,
    #[cfg(not(feature = "formats"))]
    rig: dermis_rig::Rig,
}

impl Rig {
    /// A rig from a file: a skinned .glb, .gltf or .fbx, or a bundle (.npz).
    ///
    /// # Errors
    /// [`Error`], naming what the file lacks.
    #[cfg(feature = "formats")]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self, Error> {
        Ok(Self { loaded: load_rig(path.as_ref())? })
    }

    /// A rig from memory, in metres, Y up. Rows of `weights` sum to one.
    ///
    /// # Errors
    /// [`RigError`], naming what disagrees.
    pub fn new(mesh: Mesh, skeleton: Skeleton, weights: Option<Influences>) -> Result<Self, RigError> {
        Ok(dermis_rig::Rig::new(mesh, skeleton, weights)?.into())
    }

    /// What was read, with the flaws that were mended.
    #[cfg(feature = "formats")]
    pub fn files(&self) -> &[FileNote] {
        &self.loaded.notes
    }
}

impl From<dermis_rig::Rig> for Rig {
    /// A rig in metres, Y up, from no file.
    fn from(rig: dermis_rig::Rig) -> Self {
        #[cfg(feature = "formats")]
        return Self { loaded: LoadedRig { rig, space: dermis_io::Space::default(), notes: Vec::new() } };
        #[cfg(not(feature = "formats"))]
        return Self { rig };
    }
}

#[cfg(feature = "formats")]
impl From<LoadedRig> for Rig {
    fn from(loaded: LoadedRig) -> Self {
        Self { loaded }
    }
}

impl Deref for Rig {
    type Target = dermis_rig::Rig;
    fn deref(&self) -> &dermis_rig::Rig {
        #[cfg(feature = "formats")]
        return &self.loaded.rig;
        #[cfg(not(feature = "formats"))]
        return &self.rig;
    }
}
