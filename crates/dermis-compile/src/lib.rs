//! Compiling: a model becomes something that engines play.
//!
//! | module | the model becomes | exact in |
//! |---|---|---|
//! | [`principal`] | skin weights and morph targets with baked weights | the frames of one motion, up to the shapes left out |
//! | [`driven`] | skin weights and morph targets that joints drive | the poses the shapes were regressed on |
//! | [`pose_space`] | skin weights and morph targets that a pose space drives | every pose, up to the shapes left out |
//! | [`linear`] | linear blend skinning with helper bones | the poses it was compiled for, up to the number of bones |
//!
//! Every result holds what each step costs: the rms and the largest distance to the model's own skin, metres. The crate
//! opens no path and knows no format. Its results are meshes, weights, motions and
//! [tables](dermis_deform::tables) in memory.

pub mod driven;
pub mod error;
pub mod linear;
pub mod pose_space;
pub mod principal;
mod samples;
mod scale;
pub mod warning;
pub mod weights;

pub use error::CompileError;
pub use warning::Warning;
pub use weights::{PruneCost, skin_weights};
