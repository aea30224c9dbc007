//! Files in and out. The only place that knows formats, units and axes; it opens nothing itself: callers hand over bytes.
//!
//! Every reader returns [`Contents`]: whatever a file holds, in the toolkit's own space (right-handed, Y up, metres),
//! with the flaws it mended as counted [`Warning`]s. Every writer takes the same types and returns bytes.

mod agree;
pub mod alembic;
pub mod contents;
pub mod fbx;
mod flaws;
pub mod gltf;
pub mod matching;
pub mod model_file;
mod npy;
pub mod npz;
pub mod obj;
pub mod part_file;
pub mod point_cache;
pub mod sniff;
mod surface;
mod tensors;

pub use contents::{
    Clip, ClipFrame, Contents, Flaw, Format, MorphTarget, ReadError, Record, Space, UpAxis, Warning, WriteError,
};
pub use matching::{MatchError, Matching, match_vertices};
pub use model_file::{ModelFile, ModelHeader};
pub use part_file::PartFile;
pub use sniff::sniff;
