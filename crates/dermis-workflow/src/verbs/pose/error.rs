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
    /// A rig that does not say how deep skin lies.
    #[error("the rig has no skinning weights, which say what skin lies over which bone")]
    NoWeights,
    /// Springs are to be left out of a model that has none.
    #[error("the model has learnt no secondary motion that could be left out")]
    NothingLearnt,
    /// Cuts of a skin that does not swing.
    #[error("without secondary motion cuts have no effect")]
    CutsOfNothing,
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
            Self::NormalsLeftOut { .. }
            | Self::Secondary(_)
            | Self::Swing { .. }
            | Self::NoWeights
            | Self::NothingLearnt
            | Self::CutsOfNothing => Phrase::text(self.to_string()),
        }
    }

    pub(crate) fn remedy(&self) -> Phrase {
        match self {
            Self::NormalsLeftOut { .. } => "`normals` is for .obj, folders of OBJ files, and .abc".into(),
            Self::NoWeights => {
                "say how much each vertex swings by `secondary_gain`: a number, or a painted channel".into()
            }
            Self::CutsOfNothing => {
                "`secondary=2.5` lets the skin swing; `dermis fit` `secondary_from` teaches a model to".into()
            }
            Self::Secondary(_) | Self::Swing { .. } | Self::Cut { .. } | Self::NothingLearnt => Phrase::default(),
        }
    }
}
