//! Weights given transforms: every vertex by itself, from Gram matrices.
//!
//! [`pass`] improves the weights of all vertices. On the bones a vertex has, [`fixed`] solves its weights. [`exchange`]
//! changes which bones it has. [`candidates`] and [`removal`] measure what a new bone would gain and an old one's loss
//! would cost.

mod candidates;
mod exchange;
mod fixed;
mod lanes;
mod pass;
mod removal;
mod room;
mod support;
mod terms;

pub use candidates::{candidate_gains, candidate_steps};
pub use exchange::Pass;
pub use pass::{improve, nearest};
pub use removal::removal_costs;
pub use support::{Fit, MOST, Support};
pub use terms::Terms;
