//! Why a call of the façade failed.

use dermis_fit::MethodError;
use dermis_measure::MeasureError;
use dermis_transfer::TransferError;

/// Why something could not be done. Its variants are those of the features that are on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A method cannot be fitted as it is set.
    #[error(transparent)]
    Method(MethodError),
    /// A model cannot be run or scored.
    #[error(transparent)]
    Measure(MeasureError),
    /// Nothing can be carried from a body to a mesh.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// A file cannot be used or written.
    #[cfg(feature = "formats")]
    #[error(transparent)]
    File(#[from] dermis_files::FileError),
    /// The report of a fit cannot be stored with its model.
    #[cfg(feature = "formats")]
    #[error("the report of the fit cannot be stored: {0}")]
    Report(#[from] serde_json::Error),
    /// A recipe stopped.
    #[cfg(feature = "workflow")]
    #[error(transparent)]
    Recipe(dermis_workflow::Error),
    /// The caller stopped it.
    #[error("stopped")]
    Cancelled,
}

impl From<MethodError> for Error {
    /// Work that was stopped has not failed.
    fn from(error: MethodError) -> Self {
        match error {
            MethodError::Cancelled => Self::Cancelled,
            other => Self::Method(other),
        }
    }
}

impl From<MeasureError> for Error {
    /// Work that was stopped has not failed.
    fn from(error: MeasureError) -> Self {
        match error {
            MeasureError::Cancelled => Self::Cancelled,
            other => Self::Measure(other),
        }
    }
}

#[cfg(feature = "workflow")]
impl From<dermis_workflow::Error> for Error {
    /// Work that was stopped has not failed.
    fn from(error: dermis_workflow::Error) -> Self {
        match error {
            dermis_workflow::Error::Cancelled => Self::Cancelled,
            other => Self::Recipe(other),
        }
    }
}

#[cfg(feature = "workflow")]
impl From<Error> for dermis_workflow::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Method(error) => error.into(),
            Error::Measure(error) => error.into(),
            Error::Transfer(source) => {
                dermis_workflow::verbs::transfer::error::Error::Transfer { mesh: "mesh".into(), source }.into()
            }
            Error::File(error) => error.into(),
            Error::Report(error) => Self::Internal(error.to_string()),
            Error::Recipe(error) => error,
            Error::Cancelled => Self::Cancelled,
        }
    }
}
