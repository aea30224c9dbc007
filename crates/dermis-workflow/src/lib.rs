//! Recipes of Dermis: the steps that the program, the studio and Python all run.
//!
//! [`load`] opens what the user named, [`mod@fit`] learns, [`mod@measure`] scores, [`mod@compare`] puts every method on the same
//! bench, [`curve`] asks how many examples are enough, [`mod@stress`] tries poses no animator would draw,
//! [`mod@suggest`] says which pose to sculpt next, [`recipe`] holds every verb as data, [`skins`] writes what a
//! model makes of a motion, [`export`] compiles it for an engine, [`report`] makes the page people look at, [`mod@inspect`] says what a
//! file holds, [`convert`] writes it as another format, [`mod@weights`] makes skinning weights without examples or from
//! [`mod@scans`], [`mod@decompose`] finds bones and weights of a mesh sequence,
//! [`mod@invert`] brings sculpted poses back to rest, [`demo`] is the whole loop on the bundled body. Progress and cancelling
//! are arguments; nothing here prints.

pub mod compare;
pub mod compile;
pub mod convert;
pub mod curve;
pub mod decompose;
pub mod demo;
pub mod drivers;
mod error;
pub mod export;
pub mod fit;
pub mod inspect;
pub mod invert;
pub mod load;
pub mod measure;
pub mod memory;
pub mod output;
pub mod recipe;
pub mod report;
pub mod scans;
pub mod secondary;
pub mod skins;
pub mod stress;
pub mod suggest;
pub mod weights;

pub use dermis_figures as figures;
pub use error::{Error, ExportError};
pub use {dermis_deform as deform, dermis_fit as fits, dermis_io as io, dermis_rig as rig, dermis_solve::simd};

/// Name and version of the program, for provenance.
pub const PROGRAM: &str = concat!("dermis ", env!("CARGO_PKG_VERSION"));
