//! Transforms given weights, from S = Φᵀ Φ and Q = Φᵀ X: no vertex is read while they are solved.
//!
//! [`normal`] sums S and Q once per solve. [`solve()`] takes all bones from them; [`patch`] fits one new bone. [`motion`]
//! holds the result, [`rotations`] finds the nearest rotations.

mod motion;
mod normal;
mod patch;
mod rotations;
mod solve;

pub use motion::{Motion, Wide, blended, frame_transforms, given};
pub use normal::members;
pub use patch::fit_patch;
pub use solve::{penalty, solve, solve_full, solve_wide};
