//! Why a file cannot be used or written, with the remedy where there is one.

use dermis_io::{MatchError, ReadError, WriteError};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Why a file cannot be used or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused a file.
    #[error("\"{}\": {source}", path.display())]
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
        /// What to do about it; a setting stands in backquotes, by its name in recipes.
        hint: Cow<'static, str>,
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

impl FileError {
    /// A file that lacks what this use of it needs; `hint` says what to do about it, or is empty.
    pub fn lacks(path: &Path, what: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> Self {
        Self::Lacks { path: path.into(), what: what.into(), hint: hint.into() }
    }

    /// For `map_err`: names the file that could not be written.
    pub fn write(path: &Path) -> impl Fn(WriteError) -> Self + use<'_> {
        move |error| Self::Write { path: path.into(), reason: error.to_string() }
    }
}
