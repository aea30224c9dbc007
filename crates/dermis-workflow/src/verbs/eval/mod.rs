//! Scores of a model, on examples and under stress.

pub(crate) mod recipe;
pub mod stress;
