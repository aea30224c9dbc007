//! Why a model cannot be compiled.

use dermis_deform::DeformerError;
use dermis_fit::FitError;
use dermis_fit::decompose::DecomposeError;
use dermis_measure::MeasureError;
use dermis_rig::{Cancelled, SkeletonError};
use dermis_solve::SolveError;

/// Why a model cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// There is nothing to compile for.
    #[error("there are no poses to compile for")]
    NoPoses,
    /// A model over given positions, which the compiled skin does not have.
    #[error("this model corrects given positions, which {0} does not have")]
    GivenPositions(&'static str),
    /// A rig without skinning weights.
    #[error("the rig \"{rig}\" has no skinning weights: there is no skin to export")]
    NoWeights {
        /// The rig.
        rig: String,
    },
    /// Weights that no engine takes.
    #[error(
        "{unusual} of {vertices} vertices have weights that are negative or do not sum to one: engines clamp and scale them, and a GLB \
         cannot hold them"
    )]
    UnusualWeights {
        /// Vertices with such weights.
        unusual: usize,
        /// All vertices.
        vertices: usize,
    },
    /// Fewer than two shapes.
    #[error("driven shapes are two at least, as one of them holds the bind pose; {0} cannot")]
    FewShapes(usize),
    /// No kernels.
    #[error("a region of a pose space has at least one kernel")]
    NoKernels,
    /// A model that is shapes already, and of more of them than asked for.
    #[error("the model is shapes already and needs {found} {what}, but {most} were asked for")]
    Budget {
        /// Shapes, or kernels of a region.
        what: Limited,
        /// How many the model has.
        found: usize,
        /// How many were asked for.
        most: usize,
    },
    /// Shapes beyond the four gigabytes of a file.
    #[error("{shapes} shapes of {vertices} vertices: shapes do not fit into one file")]
    TooLarge {
        /// Number of shapes.
        shapes: usize,
        /// Vertices of each.
        vertices: usize,
    },
    /// A model without a correction.
    #[error("this model is linear blend skinning alone: there is no correction that shapes could hold")]
    NoCorrection,
    /// A ridge that is no positive number.
    #[error("the ridge λ of the model is {0}, which is no positive number")]
    Ridge(f64),
    /// A model without the poses it was learnt from.
    #[error("the model file holds no training poses, which driven shapes are made from")]
    NoTraining,
    /// A pose space that shapes before skinning cannot hold.
    #[error("no shapes can be driven for this model: {0}")]
    NotDrivable(Refusal),
    /// A system of equations or an eigenproblem has no answer.
    #[error("{what}: {source}")]
    Solve {
        /// What it was to give.
        what: String,
        /// Why it has none.
        source: SolveError,
    },
    /// The search for weights or helper bones failed.
    #[error("the model's skin cannot be compiled: {0}")]
    Decompose(DecomposeError),
    /// The compression of a pose space, or the fit of joint coordinates, failed.
    #[error(transparent)]
    Fit(FitError),
    /// The joint coordinates do not go with the rig.
    #[error(transparent)]
    Deformer(#[from] DeformerError),
    /// The model cannot be run or measured.
    #[error(transparent)]
    Measure(MeasureError),
    /// The skeleton with its helper bones is none.
    #[error(transparent)]
    Skeleton(#[from] SkeletonError),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

/// What a budget limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// Morph targets.
    Shapes,
    /// Kernels of a region.
    Kernels,
}

impl std::fmt::Display for Limited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Shapes => "shapes",
            Self::Kernels => "kernels in a region",
        })
    }
}

impl CompileError {
    /// For `map_err`: a solve that was to give `what` failed.
    pub(crate) fn solve(what: impl Into<String>) -> impl FnOnce(SolveError) -> Self {
        move |source| Self::Solve { what: what.into(), source }
    }
}

impl From<Cancelled> for CompileError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<MeasureError> for CompileError {
    fn from(error: MeasureError) -> Self {
        match error {
            MeasureError::Cancelled => Self::Cancelled,
            other => Self::Measure(other),
        }
    }
}

impl From<FitError> for CompileError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Cancelled => Self::Cancelled,
            other => Self::Fit(other),
        }
    }
}

impl From<DecomposeError> for CompileError {
    fn from(error: DecomposeError) -> Self {
        match error {
            DecomposeError::Cancelled => Self::Cancelled,
            other => Self::Decompose(other),
        }
    }
}

/// Why shapes that act before skinning cannot hold a pose space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The correction is no pose space.
    NoPoseSpace,
    /// The displacements are those of the world, after skinning.
    AfterSkinning,
    /// The model corrects given positions.
    GivenPositions,
    /// The base is not linear blend skinning.
    OtherBase,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoPoseSpace => "its correction is no pose space",
            Self::AfterSkinning => "its displacements are those of the world, after skinning",
            Self::GivenPositions => "it corrects given positions, which are no skin",
            Self::OtherBase => "its base is not linear blend skinning, which is the skin of a GLB",
        })
    }
}
