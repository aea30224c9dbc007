//! Why figures cannot be drawn.

use dermis_deform::DeformerError;
use dermis_fit::FitError;
use dermis_fit::method::MethodError;
use dermis_rig::{Cancelled, InfluenceError, RigError, SkeletonError};

/// Why figures cannot be drawn. With the bundled body only [`Cancelled`](Self::Cancelled) is expected.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// A fit failed.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A method does not suit the character.
    #[error(transparent)]
    Method(#[from] MethodError),
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
    /// A character without what a figure needs.
    #[error("the figures need {what}, which \"{character}\" lacks")]
    Lacks {
        /// The character.
        character: String,
        /// What is missing.
        what: String,
    },
    /// Parts that make no rig, or examples that do not fit it.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// A shape, curve or pose that a figure makes itself, and that its maker refused.
    #[error("a figure's own {what}: {why}")]
    Made {
        /// What was made.
        what: &'static str,
        /// Why it was refused.
        why: String,
    },
    /// The caller stopped.
    #[error("cancelled")]
    Cancelled,
}

impl FigureError {
    /// Returns a mapper of the errors of something that a figure makes itself.
    pub(crate) fn of<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Made { what, why: error.to_string() }
    }
}

impl From<Cancelled> for FigureError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}
