//! Why a crowd cannot be shown.

use dermis_files::Phrase;
use std::path::PathBuf;

/// Why a crowd cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No crowd can be laid out.
    #[error(transparent)]
    Layout(#[from] dermis_motion::crowd::CrowdError),
    /// Instances far from the camera, of a model without skinning weights.
    #[error("\"{}\": the model has no skinning weights, by which far instances are shown", model.display())]
    NoFarSkinning {
        /// The model.
        model: PathBuf,
    },
    /// A picture that cannot be drawn.
    #[error("the picture: {0}")]
    Camera(#[from] dermis_report::scene_picture::CameraError),
}

impl Error {
    pub(crate) fn remedy(&self) -> Phrase {
        match self {
            Self::Layout(_) => Phrase::default(),
            Self::NoFarSkinning { .. } => "show all of them by the model, with a large `full_within`".into(),
            Self::Camera(_) => "state `camera` and `look_at`, `field` and `size`".into(),
        }
    }
}
