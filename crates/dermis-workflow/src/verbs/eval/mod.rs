//! Scores of a model, on examples and under stress.

pub mod error;
pub(crate) mod recipe;
pub mod stress;
