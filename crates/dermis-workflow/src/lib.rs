//! Recipes of Dermis: the steps that the program, the studio and Python all run.
//!
//! A [`recipe`] is a verb as data, and runs. What it calls is here for those who want one step of it:
//!
//! * [`mod@fit`] learns, [`mod@measure`] scores, [`mod@compare`] puts every method on the same bench, [`curve`] asks how many
//!   examples are enough, [`mod@stress`] tries poses that no animator would draw, [`mod@suggest`] says which pose to sculpt
//!   next.
//! * [`export`], [`mod@compile`] and [`drivers`] make files for engines; [`report`] makes the page that people look at.
//! * [`mod@weights`] makes skinning weights, without examples or from [`mod@scans`], whose poses [`mod@scan_poses`] finds and [`held_scans`] check; [`mod@decompose`] finds bones and weights
//!   of a mesh sequence; [`mod@invert`] brings sculpted poses back to rest.
//! * [`mod@crowd`] shows many instances of a model before a camera.
//! * [`mod@inspect`] says what a file holds; [`demo`] is the whole loop on the bundled body.
//!
//! [`load`], [`output`], [`skins`] and [`convert`] are those of `dermis-files`. Progress and cancelling are arguments;
//! nothing here prints.

pub mod compare;
pub mod compile;
pub mod crowd;
pub mod curve;
pub mod decompose;
pub mod demo;
pub mod drivers;
mod error;
pub mod export;
pub mod fit;
pub mod held_scans;
pub mod inspect;
pub mod invert;
pub mod joint_limits;
pub mod measure;
pub mod memory;
pub mod recipe;
pub mod report;
pub mod scan_poses;
pub mod scans;
pub mod secondary;
pub mod stress;
pub mod suggest;
pub mod weights;

pub use dermis_figures as figures;
pub use dermis_files::{FileError, convert, load, output, skins};
pub use error::{Error, ExportError};
pub use {
    dermis_autorig as autorig, dermis_deform as deform, dermis_fit as fits, dermis_io as io, dermis_motion as motion,
    dermis_rig as rig, dermis_solve::simd,
};

/// Name and version of the program, for provenance.
pub const PROGRAM: &str = concat!("dermis ", env!("CARGO_PKG_VERSION"));
