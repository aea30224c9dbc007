//! Why a file cannot be used or written, with the remedy where there is one.

use crate::near;
use crate::phrase::Phrase;
use dermis_io::{MatchError, ReadError, WriteError};
use dermis_rig::{Cancelled, MeshError};
use std::path::{Path, PathBuf};

/// Why a file cannot be used or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The caller asked to stop.
    #[error("stopped")]
    Cancelled,
    /// The system refused a file.
    #[error("\"{}\": {}", path.display(), near::reason(source))]
    System {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("\"{}\": {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
    /// A file lacks what this use of it needs.
    #[error("\"{}\": {what}", path.display())]
    Lacks {
        /// The file.
        path: PathBuf,
        /// What it lacks, with numbers.
        what: String,
        /// What to do about it.
        remedy: Phrase,
    },
    /// No file is named where some are needed.
    #[error("no file is named for \"{role}\"")]
    NoneNamed {
        /// What files are needed for.
        role: String,
    },
    /// Nothing is written in the format that an output's name asks for.
    #[error("\"{}\": {what}", path.display())]
    Ending {
        /// The output.
        path: PathBuf,
        /// What is written, and how.
        what: &'static str,
        /// The names that serve.
        endings: &'static str,
    },
    /// Vertices of two files cannot be matched.
    #[error("\"{}\": {source}", path.display())]
    Match {
        /// The file with the examples.
        path: PathBuf,
        /// Why.
        source: MatchError,
    },
    /// Something cannot be written.
    #[error("\"{}\": {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The output is there already.
    #[error("\"{}\" exists already", path.display())]
    Exists {
        /// The file or folder.
        path: PathBuf,
    },
    /// The output is one of the inputs.
    #[error("\"{}\" is read and would be replaced", path.display())]
    OwnInput {
        /// The file or folder.
        path: PathBuf,
    },
    /// Two outputs are one file.
    #[error("\"{}\": {what} needs a file of its own", path.display())]
    SameOutput {
        /// The file.
        path: PathBuf,
        /// What would be written over the other.
        what: &'static str,
    },
    /// There is nothing to bring back to rest.
    #[error("there are no sculpts")]
    NoSculpts,
    /// No frame of a sequence has that label or number.
    #[error("{frame}: there is no frame of that label or number among {frames}")]
    NoSuchFrame {
        /// The label or number.
        frame: String,
        /// Frames of the sequence.
        frames: usize,
    },
    /// A setting that acts on none of the files.
    #[error("{setting} serves {serves}; no input has any")]
    Unused {
        /// The setting.
        setting: &'static str,
        /// What it serves.
        serves: &'static str,
    },
    /// There are no inputs.
    #[error("there is nothing to convert")]
    NothingToConvert,
}

impl From<Cancelled> for FileError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl FileError {
    /// A file that lacks what this use of it needs; `remedy` says what to do about it, or is empty.
    pub fn lacks(path: &Path, what: impl Into<String>, remedy: impl Into<Phrase>) -> Self {
        Self::Lacks { path: path.into(), what: what.into(), remedy: remedy.into() }
    }

    /// The error's message.
    pub fn message(&self) -> Phrase {
        match self {
            Self::NoSuchFrame { frame, frames } => {
                Phrase::of_value("rest", frame, format!(": there is no frame of that label or number among {frames}"))
            }
            Self::Unused { setting, serves } => {
                Phrase::of_setting(setting, format!(" serves {serves}; no input has any"))
            }
            _ => Phrase::text(self.to_string()),
        }
    }

    /// What to do about it; empty if there is nothing to say.
    pub fn remedy(&self) -> Phrase {
        match self {
            Self::Lacks { remedy, .. } => remedy.clone(),
            Self::NoneNamed { .. } => "an example is a pose with the skin in that pose".into(),
            Self::Ending { endings, .. } => Phrase::text(*endings),
            Self::OwnInput { .. } => "choose another output: `force` replaces no input".into(),
            Self::System { path, source } => near::remedy(path, source),
            Self::Exists { .. } => "choose another output, or add `force=true` to replace it".into(),
            Self::Read { source: ReadError::Unsupported { feature }, .. } if feature.contains("draco") => {
                "export it without compression: in Blender's glTF export leave Compression off; gltf-transform copies a file without it".into()
            }
            Self::Read { source: ReadError::Reference { .. }, .. } => {
                "keep the files that it refers to in its folder, or export it as one file".into()
            }
            Self::Read { source: ReadError::NeverFinite { vertex: Some(_), .. } | ReadError::Mesh(MeshError::NotFinite { .. }), .. } => {
                "give this vertex a place where the file was made, or delete it from every file of the mesh; numbers that are NaN or \
                 infinite often come from a division by zero in a modifier or a simulation".into()
            }
            Self::Read { source: ReadError::NeverFinite { vertex: None, .. }, .. } => {
                "write the frames again: a simulation that diverged leaves NaN behind".into()
            }
            Self::Match { source: MatchError::Counts { .. }, .. } => {
                "export without splitting at UV seams, or use a file that holds its rest mesh, so that vertices can be matched by \
                 position"
                    .into()
            }
            Self::Match { source: MatchError::Position { .. }, .. } => {
                "check that both files show the same mesh in the same rest pose and unit, or raise `match_tolerance`".into()
            }
            _ => Phrase::default(),
        }
    }

    /// For `map_err`: names the file that could not be written.
    pub fn write(path: &Path) -> impl Fn(WriteError) -> Self + use<'_> {
        move |error| Self::Write { path: path.into(), reason: error.to_string() }
    }
}
