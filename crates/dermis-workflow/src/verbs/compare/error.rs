//! Why a comparison cannot be made.

use dermis_files::Phrase;

/// Why a comparison cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Fewer folds than a cross-validation has.
    #[error("{folds} folds leave nothing out")]
    Folds {
        /// Folds asked for.
        folds: usize,
    },
    /// The error over the number of examples, with nothing to measure it on.
    #[error("the error over the number of examples is measured on held-out examples")]
    SubsetsWithoutHeldOut,
    /// A random subset that cannot be drawn.
    #[error("subsets of {poses} poses cannot be drawn from {examples} examples")]
    SubsetSize {
        /// Poses of the subset.
        poses: usize,
        /// Examples there are.
        examples: usize,
    },
    /// A method that no preset has.
    #[error("no method \"{name}\": {}", known.join(", "))]
    UnknownMethod {
        /// The name.
        name: String,
        /// Those there are.
        known: Vec<&'static str>,
    },
}

impl Error {
    pub(crate) fn message(&self) -> Phrase {
        match self {
            Self::SubsetSize { poses: 0, .. } => Phrase::of_value("counts", 0, ": nothing can be learnt from no pose"),
            Self::SubsetSize { poses, examples } => {
                let said = format!(": there are {examples} examples to draw from; name {examples} for all of them");
                Phrase::of_value("counts", poses, said)
            }
            Self::Folds { folds } => {
                Phrase::of_value("folds", folds, ": nothing is left out; cross-validation takes 2 folds or more")
            }
            Self::SubsetsWithoutHeldOut => {
                "`counts` measures on held-out examples: name them by `hold-out`, or leave `counts` out".into()
            }
            Self::UnknownMethod { .. } => Phrase::text(self.to_string()),
        }
    }
}
