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
    /// A pose of another rig.
    #[error(transparent)]
    Pose(#[from] dermis_deform::PoseError),
    /// Examples that do not fit their rig.
    #[error(transparent)]
    Examples(#[from] dermis_rig::examples::ExampleError),
    /// Numbers that cannot be solved for.
    #[error(transparent)]
    Solve(#[from] dermis_solve::SolveError),
    /// A deformer that cannot be inverted.
    #[error("a deformer of a figure: {0}")]
    Inverse(String),
    /// A lattice that is none.
    #[error(transparent)]
    Lattice(#[from] dermis_deform::LatticeError),
    /// Wires that are none.
    #[error(transparent)]
    Wires(#[from] dermis_deform::WireError),
    /// Deformers that make no stack.
    #[error(transparent)]
    Stack(#[from] dermis_deform::StackError),
    /// A tube that is none.
    #[error(transparent)]
    Tube(#[from] dermis_measure::TubeError),
    /// Parts that make no rig.
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

/// Returns an error if the caller wants to stop.
pub(crate) fn go_on(flow: std::ops::ControlFlow<Cancelled>) -> Result<(), FigureError> {
    match flow {
        std::ops::ControlFlow::Continue(()) => Ok(()),
        std::ops::ControlFlow::Break(stop) => Err(stop.into()),
    }
}
