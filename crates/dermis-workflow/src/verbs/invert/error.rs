//! Why a sculpt cannot be brought back to rest.

use super::program::ProgramError;
use dermis_files::Phrase;
use dermis_rig::number::shortest;
use std::path::PathBuf;

/// Why a sculpt cannot be brought back to rest.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A sculpt could not be brought back.
    #[error("sculpt \"{sculpt}\": {reason}")]
    Sculpt {
        /// The sculpt.
        sculpt: String,
        /// Why.
        reason: String,
        /// What to do about it.
        remedy: Phrase,
    },
    /// A rig whose own skinning is to be inverted, and has no weights.
    #[error("the rig \"{rig}\" has no skinning weights")]
    NoSkinning {
        /// The rig.
        rig: String,
    },
    /// Corrected rest shapes as the vertices of a file that has no choice.
    #[error("\"{}\": a GLB and OBJ files hold corrections at rest always", path.display())]
    RestVertices {
        /// The file.
        path: PathBuf,
    },
    /// A time that no answer can be waited for.
    #[error("time-limit {seconds}: it must be positive, and {most} at most")]
    TimeLimit {
        /// Seconds.
        seconds: f64,
        /// The most.
        most: f64,
    },
    /// A deformer that is a program of its own failed before its first call.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl Error {
    pub(crate) fn message(&self) -> Phrase {
        match self {
            Self::TimeLimit { seconds, most } => {
                Phrase::of_value("time_limit", shortest(*seconds), format!(": it must be positive, and {most} at most"))
            }
            Self::Sculpt { .. } | Self::NoSkinning { .. } | Self::RestVertices { .. } | Self::Program(_) => {
                Phrase::text(self.to_string())
            }
        }
    }

    pub(crate) fn remedy(&self) -> Phrase {
        match self {
            Self::Sculpt { remedy, .. } => remedy.clone(),
            Self::NoSkinning { .. } => {
                "name its deformer with `stack` or `program`, or make weights with `dermis weights`".into()
            }
            Self::RestVertices { .. } => "`rest_space` is for .npz".into(),
            Self::TimeLimit { .. } => Phrase::default(),
            Self::Program(_) => "docs/invert-protocol.md says what is spoken, with an example in Python".into(),
        }
    }
}
