//! Files in and out. This crate alone knows formats, units and axes. It opens no path: callers hand over bytes to read,
//! and a place that takes the bytes written.
//!
//! Every reader returns [`Contents`]: what the file holds, in the toolkit's own space (right-handed, Y up, metres), and the
//! flaws it mended as counted [`Warning`]s. Every writer has one form, `write(what, options, out)`, and one error,
//! [`WriteError`]; [`to_bytes`] collects what a writer writes.
//!
//! NumPy archives, glTF, OBJ, USD and Alembic are read by code of this crate, on `zip`, `serde_json`, `lz4_flex` and plain text. The crates
//! for these formats allocate what a file's header promises, or index by what it names, or reorder vertices. A hostile header
//! must not cost memory, and examples are matched by the order of their vertices. Every reader checks a promise against the
//! bytes that the file has before it allocates. FBX is read by the C library `ufbx`, whose memory is limited by the file's
//! size. USD is written alone.
//!
//! Without the feature `formats`, which is on by default, the crate reads and writes the files of Dermis alone: a program that only
//! runs models is a fraction of the size.

// Parts of the model file that the formats share: without them, not all of a part is used.
#![cfg_attr(not(feature = "formats"), allow(dead_code, unused_imports))]

#[cfg(feature = "formats")]
mod agree;
#[cfg(feature = "formats")]
pub mod alembic;
mod appearance;
#[cfg(feature = "formats")]
mod between;
#[cfg(feature = "formats")]
pub mod bvh;
#[cfg(feature = "formats")]
pub mod camera_tracks;
pub mod chain_springs;
pub mod contents;
#[cfg(feature = "formats")]
mod corners;
pub mod curve;
pub mod deformer_protocol;
#[cfg(feature = "formats")]
mod drawn_corners;
pub mod driver_table;
#[cfg(feature = "formats")]
pub mod fbx;
mod flaws;
#[cfg(feature = "formats")]
pub mod gltf;
mod inverted;
#[cfg(feature = "formats")]
pub mod marker_take;
pub mod matching;
pub mod model_file;
#[cfg(feature = "formats")]
mod normals;
#[cfg(feature = "formats")]
mod npy;
#[cfg(feature = "formats")]
pub mod npz;
#[cfg(feature = "formats")]
pub mod obj;
pub mod part_file;
#[cfg(feature = "formats")]
pub mod point_cache;
#[cfg(feature = "formats")]
mod polygons;
#[cfg(feature = "formats")]
pub mod scene;
pub mod share_file;
#[cfg(feature = "formats")]
mod shown;
#[cfg(feature = "formats")]
pub mod skinned_scene;
pub mod sniff;
pub mod stack_file;
#[cfg(feature = "formats")]
mod surface;
mod tensors;
#[cfg(feature = "formats")]
pub mod usd;
mod writing;

pub use appearance::{AppearanceCounts, appearance_counts, base_colour_image, linked_extensions};
pub use chain_springs::ChainSprings;
pub use contents::{
    Clip, ClipFrame, Contents, Flaw, Format, MorphTarget, ReadError, Record, Resolve, Space, UpAxis, Warning,
};
pub use curve::{Curve, CurveOf, Interpolation};
pub use matching::{MatchError, Matching, match_vertices};
pub use model_file::{Evidence, ModelFile, ModelHeader, Validation};
pub use part_file::PartFile;
pub use share_file::ShareFile;
pub use sniff::sniff;
pub use stack_file::{StackFile, StackFileError};
pub use writing::{Fill, WriteError, to_bytes};
