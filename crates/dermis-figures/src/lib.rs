//! Published figures, drawn again from shapes known in closed form, with the numbers measured beside them.
//!
//! - [`pose_space`]: pose-space deformation in its forward and inverse forms

pub mod pose_space;

use dermis_deform::DeformerError;
use dermis_fit::FitError;
use dermis_rig::{InfluenceError, RigError, SkeletonError};

/// Figures as a file for a browser and as lines for a terminal.
#[derive(Clone, Debug)]
pub struct DrawnFigures {
    /// One HTML file that needs nothing else.
    pub page: String,
    /// The numbers beside the drawings.
    pub table: Vec<String>,
}

/// Why figures cannot be drawn. None is expected: their characters are made here.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// A fit failed.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// What was fitted makes no deformer.
    #[error(transparent)]
    Deformer(#[from] DeformerError),
    /// Bones that make no skeleton.
    #[error(transparent)]
    Skeleton(#[from] SkeletonError),
    /// Weights that are no weights.
    #[error(transparent)]
    Influences(#[from] InfluenceError),
    /// A character without weights to blend with.
    #[error("the rig \"{rig}\" of a figure has no weights")]
    NoWeights {
        /// The character.
        rig: String,
    },
    /// Parts that make no rig.
    #[error(transparent)]
    Rig(#[from] RigError),
}
