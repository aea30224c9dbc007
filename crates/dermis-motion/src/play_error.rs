//! Why a scene was not played.

use crate::scene::SceneError;

/// Why a scene was not played to its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlayError {
    /// Something in it.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}
