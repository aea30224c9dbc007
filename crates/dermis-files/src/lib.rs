//! Files that people name: opened as rigs, examples, motions, [`sculpts`] and [`mod@sequence`]s ([`load`]), written whole
//! or not at all ([`output`], [`skins`]), or turned into another format ([`convert`]).
//!
//! Formats are read and written by `dermis-io`, which opens nothing. Here stands what a path adds: which of the things in
//! a file are meant, which file completes which, and whether vertices and bones of two files are the same.

mod carried;
pub mod convert;
mod error;
pub mod load;
mod near;
pub mod output;
mod phrase;
pub mod place;
pub mod provenance;
pub mod sculpts;
pub mod sequence;
pub mod skins;

pub use error::FileError;
pub use phrase::{Part, Phrase};
