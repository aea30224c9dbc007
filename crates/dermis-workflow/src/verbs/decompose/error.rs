//! Why a mesh sequence cannot be decomposed.

use dermis_files::Phrase;
use dermis_fit::decompose::{ClusteringError, DecomposeError};

/// Why a mesh sequence cannot be decomposed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The decomposition failed.
    #[error(transparent)]
    Decompose(#[from] DecomposeError),
    /// The sequence cannot be clustered.
    #[error(transparent)]
    Clustering(#[from] ClusteringError),
    /// A tree of bones that bring a skeleton of their own.
    #[error("given bones bring their own skeleton: they are not tied together")]
    TiedGivenBones,
    /// A tree of bones that shear.
    #[error("a skeleton needs rigid bones")]
    TiedShear,
    /// A search that ends at an error with a given number of bones, and one that looks for the number.
    #[error("a search either stops at an error or finds the number of bones that reaches one")]
    TwoEndings,
}

impl Error {
    pub(crate) fn remedy(&self) -> Phrase {
        match self {
            Self::Decompose(DecomposeError::OutOfReach { .. }) => {
                "allow more with `bones`, or let them bend with `affine=true`".into()
            }
            Self::Decompose(_) | Self::Clustering(_) => Phrase::default(),
            Self::TiedGivenBones => "leave `tree` and `rotation_only` out".into(),
            Self::TiedShear => "leave `affine` or `near_rigid` out".into(),
            Self::TwoEndings => "leave `stop_at` or `max_error` out".into(),
        }
    }
}
