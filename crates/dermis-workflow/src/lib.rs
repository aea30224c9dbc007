//! Recipes of Dermis: the steps that the program, the studio and Python all run.
//!
//! A [`recipe`] is a verb as data, and runs. [`verbs`] has a room for every verb, with the steps of the recipe for those who want
//! one of them: `verbs::fit` learns, `verbs::weights` makes skinning weights, `verbs::export` makes files for engines, and so on.
//! Rooms share [`measure`] (scores) and [`joint_limits`] (a file of limits).
//!
//! [`load`], [`output`], [`place`], [`provenance`], [`skins`] and [`convert`] are those of `dermis-files`. Progress and cancelling are arguments;
//! nothing here prints.

mod error;
pub mod joint_limits;
pub mod measure;
pub mod memory;
pub mod recipe;
mod shown;
pub mod verbs;

#[cfg(feature = "figures")]
pub use dermis_figures as figures;
pub use dermis_files::{FileError, Part, Phrase, convert, load, output, place, provenance, skins};
pub use error::Error;
pub use {
    dermis_autorig as autorig, dermis_deform as deform, dermis_fit as fits, dermis_io as io, dermis_motion as motion,
    dermis_report as report, dermis_rig as rig, dermis_solve::simd,
};

/// Name and version of the program, for provenance.
pub const PROGRAM: &str = concat!("dermis ", env!("CARGO_PKG_VERSION"));
