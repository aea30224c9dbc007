//! Why a model cannot be evaluated as it is set.

/// An evaluation that neither scores nor tries the model.
#[derive(Debug, thiserror::Error)]
#[error("an evaluation needs examples to score the model on, or a stress test")]
pub struct Error;
