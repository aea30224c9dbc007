//! FBX, text and binary: rigs, takes and blend shapes in; skinned characters out, binary.
//!
//! [`read`] leaves the parsing of the file and the evaluation of its nodes (pivots, pre- and post-rotations, geometric
//! transforms, inheritance of scale) to the library ufbx, and takes from it what it computes: world matrices, clusters,
//! curves. Source: github.com/ufbx/ufbx.
//!
//! A skinned vertex is p' = Σ w_k T_k I_k p, with I_k the map from the mesh's own space to that of bone k when they were
//! bound. The file also states where bones stood then (its `TransformLink`), so the rest mesh stands in the world as it
//! was bound: rest = G p with G = `TransformLink` I_k of the skin's first bone, B_k = G I_k⁻¹.
//! Materials and their file textures become those of glTF, with the textures that it has a place for.
//! Not read, and named: computed textures, geometry caches beside skins, constraints, cameras, lights, subdivision, skins that
//! do not blend linearly, what takes move beyond bones and shapes.
//!
//! [`write()`] writes what [`read`] reads, by code of its own.
//!
//! Without the feature `fbx`, which is on by default, FBX is written alone: ufbx needs a C compiler.

#[cfg(feature = "fbx")]
mod read;
mod write;

#[cfg(feature = "fbx")]
pub use read::read;
pub use write::{common_space, write};
pub(crate) use write::{unique, uv_set};

/// Refuses an .fbx file, which is read with the feature `fbx` alone.
///
/// # Errors
/// [`ReadError::Unsupported`](crate::ReadError::Unsupported), always.
#[cfg(not(feature = "fbx"))]
pub fn read(_bytes: &[u8], _name: &str, _resolve: &crate::Resolve<'_>) -> Result<crate::Contents, crate::ReadError> {
    Err(crate::ReadError::Unsupported { feature: "reading FBX in a build of Dermis without ufbx".into() })
}
