//! Why a recipe stopped, with the remedy where there is one.

use dermis_fit::{FitError, HeatError, ScanError};
use dermis_io::{MatchError, ReadError, WriteError};
use std::path::{Path, PathBuf};

/// Why a recipe stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused a file.
    #[error("\"{}\": {source}", path.display())]
    File {
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
        hint: &'static str,
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
    /// A fit failed.
    #[error(transparent)]
    Fit(FitError),
    /// Bone heat failed.
    #[error(transparent)]
    Heat(HeatError),
    /// A fit to scans failed.
    #[error(transparent)]
    Scans(ScanError),
    /// A sculpt could not be brought back to rest.
    #[error("sculpt \"{sculpt}\": {reason}")]
    Sculpt {
        /// The sculpt.
        sculpt: String,
        /// Why.
        reason: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// A deformer that is a program of its own failed before its first call.
    #[error(transparent)]
    Program(#[from] crate::invert::program::ProgramError),
    /// An option's value makes no sense here.
    #[error("{0}")]
    Option(String),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    pub(crate) fn lacks(path: &Path, what: impl Into<String>, hint: &'static str) -> Self {
        Self::Lacks { path: path.into(), what: what.into(), hint }
    }
    pub(crate) fn write(path: &Path) -> impl Fn(WriteError) -> Self + use<'_> {
        move |error| Self::Write { path: path.into(), reason: error.to_string() }
    }

    /// What to do about it, in a user's words; empty if there is nothing to say.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Lacks { hint, .. } | Self::Sculpt { hint, .. } => hint,
            Self::Exists { .. } => "choose another output, or add --force to replace it",
            Self::Match { source: MatchError::Counts { .. }, .. } => {
                "export without splitting at UV seams, or use a file that holds its rest mesh, so that vertices can be \
                 matched by position"
            }
            Self::Match { source: MatchError::Position { .. }, .. } => {
                "check that both files show the same mesh in the same rest pose and unit, or raise --match-tolerance"
            }
            Self::Scans(ScanError::Apart { turned_away, too_far, .. }) => match turned_away > too_far {
                true => "is the scan inside out? Its triangles must be counter-clockwise seen from outside",
                false => {
                    "check unit and axes of the scan (--up) and that the pose is its own, or raise --reach; the rig's rest pose \
                     moved by the pose must lie on the scan"
                }
            },
            Self::Fit(FitError::SingularAnchor { .. }) => "a bone scaled to zero cannot anchor skin: use --anchor root",
            Self::Program(_) => "docs/invert-protocol.md says what is spoken, with an example in Python",
            _ => "",
        }
    }
}

impl From<FitError> for Error {
    /// A fit that was stopped is no failed fit.
    fn from(error: FitError) -> Self {
        match error {
            FitError::Cancelled => Self::Cancelled,
            other => Self::Fit(other),
        }
    }
}

impl From<dermis_fit::Cancelled> for Error {
    fn from(_: dermis_fit::Cancelled) -> Self {
        Self::Cancelled
    }
}
