//! glTF 2.0, text and binary: rigs, clips and morph targets in, skinned characters out.
//!
//! [`read`] takes every accessor kind (sparse, strided, normalised), any number of skins, meshes, primitives and
//! influences, and all three interpolations. A joint's bind matrix is the inverse of its `inverseBindMatrices` entry;
//! the rest mesh is brought from bind space to the world that the file shows: nodes above the skeleton belong to the
//! character, whatever unit and axes the armature was modelled in. [`write_glb`] writes what [`read`] reads.
//! Materials, textures, images, cameras, lights, further nodes and extras are carried through as they stand: they come in
//! the [`Appearance`](dermis_rig::Appearance) of the mesh, and go out with numbers that fit what is written around them. So do VRM avatars
//! (`VRM`, `VRMC_vrm` and what belongs to them) and variants of materials.
//!
//! A node that moves a mesh without a skin is a bone, and the mesh hangs on it. So is a node that a VRM extension names and joints hang on.
//!
//! A drawn mesh has more vertices than the mesh where it is split at seams. The attribute `_VERTEX` of our files says which vertex
//! each drawn one hangs on, so that counts and order survive a round trip. Other files are welded along their seams.
//!
//! A file with several meshes is one mesh of several [objects](dermis_rig::MeshObject), each a node of its own again when it is written, with its
//! name and whether it is shown (`KHR_node_visibility`). Morph targets that objects move together are one; each object has those
//! that move it. An object without triangles is written as one triangle without area.
//!
//! The reader is written by hand: it reads the JSON into a few structures of its own. The crate `gltf` trusts indices that a
//! file may break, and reads buffers before it checks their sizes.
//!
//! Source: Khronos Group, "glTF 2.0 Specification", 2.0.1; skinning section 3.7.3, animation sections 3.11 and C.
//! Buffer views that `EXT_meshopt_compression` or `KHR_meshopt_compression` has compressed are read, and primitives that
//! `KHR_draco_mesh_compression` has; [`compress_glb`] writes the first. Quantised attributes (`KHR_mesh_quantization`) are accessors like others.
//!
//! Not read: instancing. Tangents and normals of morph targets only tell where vertices were split.

/// The attribute of our own files that says which vertex of the mesh each drawn one hangs on.
const VERTEX: &str = "_VERTEX";

/// The extension of a node that says whether it is shown, and what hangs on it.
const VISIBILITY: &str = "KHR_node_visibility";

mod accessor;
pub mod affine_nodes;
mod appearance;
mod clip;
mod compress;
mod controls;
mod curves;
mod document;
mod draco;
mod extensions;
mod facets;
mod linked;
mod mesh;
mod meshopt;
mod nodes;
mod read;
mod skins;
mod stream;
mod weld;
mod write;

pub use crate::contents::Resolve;
pub use compress::compress_glb;
pub use read::read;
pub use write::{GlbClip, GlbScene, GlbWritten, Keyed, MorphNormals, write_glb};
pub(crate) use write::{expect, trs};
