//! A room for every verb: its recipe, and the steps that the recipe takes.
//!
//! Recipes and outcomes are named in [`crate::recipe`]. A public room offers its steps to those who want one of them.

pub(crate) mod animate;
pub mod compare;
pub mod convert;
pub mod crowd;
pub mod decompose;
pub mod demo;
pub mod eval;
pub(crate) mod exercise;
pub mod export;
#[cfg(feature = "figures")]
pub(crate) mod figures;
pub mod fit;
pub mod inspect;
pub mod invert;
pub(crate) mod markers;
pub mod pose;
pub(crate) mod report;
pub(crate) mod retarget;
pub(crate) mod rig;
pub mod session;
pub mod suggest;
pub mod transfer;
pub mod view;
pub mod weights;
