//! Why no poses can be suggested.

/// Why no poses can be suggested.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A model that does not say what it learnt from.
    #[error(
        "the model does not hold the poses it was trained on (its method is \"{method}\"): nothing is known to be new"
    )]
    NoTrainingPoses {
        /// The model's method.
        method: String,
    },
    /// The design has no answer.
    #[error(transparent)]
    Design(dermis_fit::design::DesignError),
}
