//! Why a recipe stopped, with the remedy where there is one: the sum of what the rooms report.

use crate::verbs::compare::error as compare;
use crate::verbs::convert::error as convert;
use crate::verbs::crowd::error as crowd;
use crate::verbs::decompose::error as decompose;
use crate::verbs::eval::error as eval;
use crate::verbs::export::error as export;
use crate::verbs::fit::error as fit;
use crate::verbs::inspect::error as inspect;
use crate::verbs::invert::error as invert;
use crate::verbs::invert::program::ProgramError;
use crate::verbs::pose::error as pose;
use crate::verbs::session::error as session;
use crate::verbs::suggest::error as suggest;
use crate::verbs::transfer::error as transfer;
use crate::verbs::view::error as view;
use crate::verbs::weights::error as weights;
use dermis_autorig::AutoRigError;
use dermis_compile::CompileError;
use dermis_deform::secondary::SecondaryError;
#[cfg(feature = "figures")]
use dermis_figures::FigureError;
use dermis_files::{FileError, Phrase};
use dermis_fit::decompose::{ClusteringError, DecomposeError};
use dermis_fit::{Cancelled, FitError, HeatError, MethodError, ScanError};
use dermis_io::WriteError;
use dermis_measure::MeasureError;
use dermis_motion::crowd::CrowdError;
use dermis_motion::exercise::ExerciseError;
use dermis_motion::markers::MarkerError;
use dermis_motion::retarget::RetargetError;
use dermis_report::scene_picture::CameraError;
use dermis_rig::number::shortest;
use std::path::Path;

/// Why a recipe stopped: the error of a room, or one that several rooms share.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be used or written.
    #[error(transparent)]
    File(FileError),
    /// A setting has a value that makes no sense.
    #[error("{setting} {value}: {}", rule(*low, *high))]
    Setting {
        /// The setting, as a recipe calls it.
        setting: &'static str,
        /// Its value.
        value: f64,
        /// The least that makes sense.
        low: f64,
        /// The most that makes sense.
        high: f64,
    },
    /// A skeleton that is none.
    #[error(transparent)]
    Skeleton(#[from] dermis_rig::SkeletonError),
    /// A deformer does not belong to its rig.
    #[error(transparent)]
    Rigged(#[from] dermis_deform::RiggedError),
    /// A model could not be run or scored.
    #[error(transparent)]
    Measure(MeasureError),
    /// A demand on a model cannot be judged.
    #[error(transparent)]
    Pass(#[from] dermis_measure::PassError),
    /// No methods can be compared.
    #[error(transparent)]
    Compare(#[from] compare::Error),
    /// No files can be converted.
    #[error(transparent)]
    Convert(#[from] convert::Error),
    /// No crowd can be shown.
    #[error(transparent)]
    Crowd(#[from] crowd::Error),
    /// A mesh sequence cannot be decomposed.
    #[error(transparent)]
    Decompose(#[from] decompose::Error),
    /// A model cannot be evaluated.
    #[error(transparent)]
    Eval(#[from] eval::Error),
    /// No exercise can be made.
    #[error(transparent)]
    Exercise(#[from] ExerciseError),
    /// An export cannot be made.
    #[error(transparent)]
    Export(#[from] export::Error),
    /// Published figures cannot be drawn.
    #[cfg(feature = "figures")]
    #[error(transparent)]
    Figures(FigureError),
    /// A fit failed.
    #[error(transparent)]
    Fit(#[from] fit::Error),
    /// Files cannot be shown.
    #[error(transparent)]
    Inspect(#[from] inspect::Error),
    /// A sculpt cannot be brought back to rest.
    #[error(transparent)]
    Invert(#[from] invert::Error),
    /// Markers cannot be solved.
    #[error(transparent)]
    Markers(MarkerError),
    /// A model cannot be run on a motion.
    #[error(transparent)]
    Pose(#[from] pose::Error),
    /// A motion cannot be brought onto a rig.
    #[error(transparent)]
    Retarget(RetargetError),
    /// A mesh could not be rigged.
    #[error(transparent)]
    Rig(AutoRigError),
    /// A session cannot go on.
    #[error(transparent)]
    Session(#[from] session::Error),
    /// No poses can be suggested.
    #[error(transparent)]
    Suggest(#[from] suggest::Error),
    /// Nothing can be carried from a body to a mesh.
    #[error(transparent)]
    Transfer(#[from] transfer::Error),
    /// A file cannot be shown.
    #[error(transparent)]
    View(#[from] view::Error),
    /// No weights can be made.
    #[error(transparent)]
    Weights(#[from] weights::Error),
    /// Data of our own that cannot be stored or read back: a mistake in the program.
    #[error("internal: {0}")]
    Internal(String),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    pub(crate) fn lacks(path: &Path, what: impl Into<String>, remedy: &'static str) -> Self {
        FileError::lacks(path, what, remedy).into()
    }

    pub(crate) fn write(path: &Path) -> impl Fn(WriteError) -> Self + use<'_> {
        let named = FileError::write(path);
        move |error| named(error).into()
    }

    /// The message, with settings as data.
    pub fn message(&self) -> Phrase {
        match self {
            Self::File(error) => error.message(),
            Self::Setting { setting, value, low, high } => {
                Phrase::of_value(setting, shortest(*value), format!(": {}", rule(*low, *high)))
            }
            Self::Compare(error) => error.message(),
            Self::Export(error) => error.message(),
            Self::Fit(error) => error.message(),
            Self::Invert(error) => error.message(),
            Self::Pose(error) => error.message(),
            Self::Weights(error) => error.message(),
            other => Phrase::text(other.to_string()),
        }
    }

    /// What to do about it; empty if there is nothing to say.
    pub fn remedy(&self) -> Phrase {
        match self {
            Self::File(error) => error.remedy(),
            Self::Measure(MeasureError::NoGiven { .. }) => {
                "name the base's positions in every pose with `base_cache`".into()
            }
            Self::Measure(MeasureError::Memory { .. }) => "lower `fps`, or choose a part of the motion".into(),
            Self::Convert(convert::Error { .. }) => "leave `no_normals` out".into(),
            Self::Crowd(error) => error.remedy(),
            Self::Decompose(error) => error.remedy(),
            Self::Export(error) => error.remedy(),
            Self::Fit(error) => error.remedy(),
            Self::Invert(error) => error.remedy(),
            Self::Pose(error) => error.remedy(),
            Self::Session(error) => error.remedy(),
            Self::Transfer(error) => error.remedy(),
            Self::View(error) => error.remedy(),
            Self::Weights(error) => error.remedy(),
            Self::Retarget(RetargetError::NothingInCommon { .. } | RetargetError::NoBone { .. }) => {
                "name pairs in a file for `map`, which `write_map` prepares: {\"bone of the rig\": \"bone of the source\"}; `dermis inspect` lists the bones".into()
            }
            Self::Retarget(RetargetError::LimbsWithoutPartner { .. }) => {
                "fill in the empty names in the file that `write_map` writes, and name it with `map`; or let these limbs go with the bones above them with `partial`".into()
            }
            Self::Rig(AutoRigError::NoFit { .. }) => {
                "say which way is up with `up`, or take another `template`: biped, quadruped, hand, or a skinned rig of a like character".into()
            }
            Self::Rig(AutoRigError::Tangled { .. }) => {
                "rig the skin alone: leave out hair, props and what lies within the body, and remesh triangles that are as long as the mesh".into()
            }
            Self::Rig(AutoRigError::UnknownPin { .. }) => "`write_joints` writes the names of all joints".into(),
            Self::Rig(AutoRigError::Hollow { .. } | AutoRigError::Flat { .. }) => {
                "a mesh to be rigged has an inside: close large holes, and give thin sheets a thickness".into()
            }
            _ => Phrase::default(),
        }
    }
}

/// What a range of values says of one outside it.
fn rule(low: f64, high: f64) -> String {
    match (low == f64::MIN_POSITIVE, high == f64::MAX) {
        (true, true) => "it must be positive".into(),
        (false, true) => format!("it must be {low} or more, and finite"),
        _ => format!("it must lie in {low}..{high}"),
    }
}

/// Work that was stopped has not failed: its error becomes [`Error::Cancelled`], any other that of the room.
macro_rules! unless_cancelled {
    ($($error:ident => $room:expr;)*) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                match error {
                    $error::Cancelled => Self::Cancelled,
                    other => $room(other),
                }
            }
        }
    )*};
}

unless_cancelled! {
    AutoRigError => Self::Rig;
    FileError => Self::File;
    DecomposeError => |error| Self::Decompose(decompose::Error::Decompose(error));
    FitError => |error| Self::Fit(fit::Error::Solve(error));
    HeatError => |error| Self::Weights(weights::Error::Heat(error));
    MarkerError => Self::Markers;
    MeasureError => Self::Measure;
    RetargetError => Self::Retarget;
    ScanError => |error| Self::Weights(weights::Error::Scans(error));
}

/// An error that a room's own error holds.
macro_rules! held_by {
    ($($error:ty => $room:ident;)*) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                $room::Error::from(error).into()
            }
        }
    )*};
}

held_by! {
    CameraError => crowd;
    CrowdError => crowd;
    ProgramError => invert;
    SecondaryError => pose;
}

impl From<MethodError> for Error {
    fn from(error: MethodError) -> Self {
        match error {
            MethodError::Cancelled => Self::Cancelled,
            MethodError::Fit(error) => error.into(),
            other => fit::Error::Method(other).into(),
        }
    }
}

#[cfg(feature = "figures")]
impl From<FigureError> for Error {
    fn from(error: FigureError) -> Self {
        match error {
            FigureError::Cancelled => Self::Cancelled,
            FigureError::Fit(error) => error.into(),
            FigureError::Method(error) => error.into(),
            other => Self::Figures(other),
        }
    }
}

impl From<CompileError> for Error {
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::Cancelled => Self::Cancelled,
            CompileError::Measure(error) => error.into(),
            CompileError::Fit(error) => error.into(),
            other => export::Error::Compile(other).into(),
        }
    }
}

impl From<ClusteringError> for Error {
    fn from(error: ClusteringError) -> Self {
        match error {
            ClusteringError::Sequence(error) => error.into(),
            other => decompose::Error::Clustering(other).into(),
        }
    }
}

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}
