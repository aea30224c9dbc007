//! Why a model cannot be run on a motion.

use dermis_deform::secondary::SecondaryError;
use dermis_files::Phrase;
use std::path::PathBuf;

/// Why a model cannot be run on a motion.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Normals for a format that holds none.
    #[error("\"{}\": normals are written to OBJ files alone", path.display())]
    NormalsLeftOut {
        /// The file.
        path: PathBuf,
    },
    /// Secondary motion cannot be run as it is set.
    #[error("secondary motion: {0}")]
    Secondary(#[from] SecondaryError),
    /// Secondary motion cannot go on.
    #[error("secondary motion, frame {frame}: {source}")]
    Swing {
        /// The frame, from 0.
        frame: usize,
        /// Why.
        source: SecondaryError,
    },
    /// A cut beyond the motion.
    #[error("cut {cut}: the motion's {frames} frames are numbered from 0")]
    Cut {
        /// The frame that begins after the cut.
        cut: usize,
        /// Frames of the motion.
        frames: usize,
    },
}

impl Error {
    pub(crate) fn message(&self) -> Phrase {
        match self {
            Self::Cut { cut, frames } => {
                Phrase::of_value("cuts", cut, format!(": the motion's {frames} frames are numbered from 0"))
            }
            Self::NormalsLeftOut { .. } | Self::Secondary(_) | Self::Swing { .. } => Phrase::text(self.to_string()),
        }
    }

    pub(crate) fn remedy(&self) -> Phrase {
        match self {
            Self::NormalsLeftOut { .. } => "`normals` is for .obj, folders of OBJ files, and .abc".into(),
            Self::Secondary(_) | Self::Swing { .. } | Self::Cut { .. } => Phrase::default(),
        }
    }
}
