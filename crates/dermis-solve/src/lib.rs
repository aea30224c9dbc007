//! Numbers: principal axes, ridge regression, kernel interpolation with exact cross-validation, least squares over the simplex,
//! small minimisations in lock step, repeatable randomness. The crate knows neither bones nor vertices.
//!
//! Matrices are faer's. Every call is sequential, and its result depends on its inputs alone. Callers run many calls at once.

pub mod batched;
pub mod cross_validation;
pub mod direction_set;
pub mod element;
pub mod gauss_newton;
pub mod interpolation;
pub mod lane;
mod line_search;
pub mod mean_shift;
pub mod min_norm;
pub mod random;
pub mod ridge;
pub mod simd;
pub mod simplex;
pub mod sparse;
pub mod symmetric;

pub use cross_validation::{Fold, Folds};
pub use direction_set::DirectionSet;
pub use faer;
pub use gauss_newton::GaussNewton;
pub use interpolation::Interpolation;
pub use lane::{Lane, Problem};
pub use min_norm::{min_norm, min_norm_of_sum, pseudo_inverse};
pub use random::Random;
pub use sparse::{SolveMemory, SparseFactor};
pub use symmetric::PrincipalAxes;

/// Why a solve failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// Matrices of sizes that do not go together.
    #[error("{rows} rows of features do not go with {targets} targets")]
    Shape {
        /// Rows of the features.
        rows: usize,
        /// Rows of the targets.
        targets: usize,
    },
    /// NaN or infinity in the input, or an iteration that did not converge on it.
    #[error("a matrix holds numbers that are not finite")]
    NotFinite,
    /// A matrix that must be positive definite is not.
    #[error("a matrix that must be positive definite is not")]
    NotPositive,
    /// A sparse matrix whose factor has too many entries.
    #[error("the factor of a sparse matrix of {size} rows has more than {most} entries")]
    TooLarge {
        /// Rows of the matrix.
        size: usize,
        /// Entries allowed.
        most: usize,
    },
}
