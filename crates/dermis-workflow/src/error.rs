//! Why a recipe stopped, with the remedy where there is one.

use dermis_autorig::AutoRigError;
use dermis_compile::CompileError;
use dermis_compile::pose_space::Refusal;
#[cfg(feature = "figures")]
use dermis_figures::FigureError;
use dermis_files::FileError;
use dermis_fit::decompose::{ClusteringError, DecomposeError};
use dermis_fit::register::{Failure, RegisterError};
use dermis_fit::{FitError, HeatError, MethodError, ScanError};
use dermis_io::WriteError;
use dermis_measure::MeasureError;
use dermis_motion::markers::MarkerError;
use dermis_motion::retarget::RetargetError;
use std::path::{Path, PathBuf};

/// Why a recipe stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be used or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A fit failed.
    #[error(transparent)]
    Fit(FitError),
    /// A method cannot be fitted as it is set.
    #[error(transparent)]
    Method(MethodError),
    /// Bone heat failed.
    #[error(transparent)]
    Heat(HeatError),
    /// A mesh could not be rigged.
    #[error(transparent)]
    AutoRig(AutoRigError),
    /// A fit to scans failed.
    #[error(transparent)]
    Scans(ScanError),
    /// Poses of scans cannot be looked for.
    #[error(transparent)]
    Register(RegisterError),
    /// No scan has a pose.
    #[error("none of {} scans has a pose: {}", reasons.len(), first_reasons(reasons))]
    NoScanPosed {
        /// Every scan, and why.
        reasons: Vec<(String, Failure)>,
    },
    /// A model could not be run or scored.
    #[error(transparent)]
    Measure(MeasureError),
    /// A model could not be compiled.
    #[error(transparent)]
    Compile(CompileError),
    /// An export cannot be made as it is set.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A demand on a model cannot be judged.
    #[error(transparent)]
    Pass(#[from] dermis_measure::PassError),
    /// Every held-out example is a training example.
    #[error("all {poses} held-out examples are training examples too: nothing is held out")]
    NothingHeldOut {
        /// How many there are.
        poses: usize,
    },
    /// A page shows one file.
    #[error("a page shows the rig of one file, not of {files}")]
    OnePage {
        /// Files that were named.
        files: usize,
    },
    /// Two outputs are one file.
    #[error("\"{}\": {what} needs a file of its own", path.display())]
    SameOutput {
        /// The file.
        path: PathBuf,
        /// What would be written over the other.
        what: &'static str,
    },
    /// A sculpt could not be brought back to rest.
    #[error("sculpt \"{sculpt}\": {reason}")]
    Sculpt {
        /// The sculpt.
        sculpt: String,
        /// Why.
        reason: String,
        /// What to do about it; a setting stands in backquotes, by its name in recipes.
        hint: &'static str,
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
    /// Normals for a format that holds none.
    #[error("\"{}\": normals are written to OBJ files alone", path.display())]
    NormalsLeftOut {
        /// The file.
        path: PathBuf,
    },
    /// Normals to leave out of a file that would hold none.
    #[error("\"{}\": normals are left out of the morph targets of a GLB, and this file has none", path.display())]
    NoMorphNormals {
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
    Program(#[from] crate::verbs::invert::program::ProgramError),
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
    /// No bone of the rig has a name that a pattern matches.
    #[error("{pattern}: none of the {bones} bones is called that")]
    NoSuchBone {
        /// The pattern, in which `*` stands for any text.
        pattern: String,
        /// Bones of the rig.
        bones: usize,
    },
    /// A set of examples is empty.
    #[error("the set \"{set}\" holds no examples")]
    NoExamples {
        /// What the set is called.
        set: String,
    },
    /// A mesh sequence cannot be decomposed.
    #[error(transparent)]
    Decompose(DecomposeError),
    /// A mesh sequence cannot be clustered.
    #[error(transparent)]
    Clustering(ClusteringError),
    /// A skeleton for found bones that is none.
    #[error(transparent)]
    Skeleton(#[from] dermis_rig::SkeletonError),
    /// A tree of bones that bring a skeleton of their own.
    #[error("given bones bring their own skeleton: they are not tied together")]
    TiedGivenBones,
    /// A tree of bones that shear.
    #[error("a skeleton needs rigid bones")]
    TiedShear,
    /// A search that ends at an error with a given number of bones, and one that looks for the number.
    #[error("a search either stops at an error or finds the number of bones that reaches one")]
    TwoEndings,
    /// Secondary motion cannot be run as it is set.
    #[error("secondary motion: {0}")]
    Secondary(#[from] dermis_deform::secondary::SecondaryError),
    /// Secondary motion cannot go on.
    #[error("secondary motion, frame {frame}: {source}")]
    Swing {
        /// The frame, from 0.
        frame: usize,
        /// Why.
        source: dermis_deform::secondary::SecondaryError,
    },
    /// A cut beyond the motion.
    #[error("cut {cut}: the motion's {frames} frames are numbered from 0")]
    Cut {
        /// The frame that begins after the cut.
        cut: usize,
        /// Frames of the motion.
        frames: usize,
    },
    /// An evaluation that neither scores nor tries the model.
    #[error("an evaluation needs examples to score the model on, or a stress test")]
    NothingToEvaluate,
    /// A random subset that cannot be drawn.
    #[error("subsets of {poses} poses cannot be drawn from {examples} examples")]
    SubsetSize {
        /// Poses of the subset.
        poses: usize,
        /// Examples there are.
        examples: usize,
    },
    /// A model that does not say what it learnt from.
    #[error(
        "the model does not hold the poses it was trained on (its method is \"{method}\"): nothing is known to be new"
    )]
    NoTrainingPoses {
        /// The model's method.
        method: String,
    },
    /// A motion cannot be brought onto a rig.
    #[error(transparent)]
    Retarget(RetargetError),
    /// Markers cannot be solved.
    #[error(transparent)]
    Markers(MarkerError),
    /// No poses can be suggested.
    #[error(transparent)]
    Design(dermis_fit::design::DesignError),
    /// A deformer that does not belong to its rig.
    #[error(transparent)]
    Rigged(#[from] dermis_deform::RiggedError),
    /// No exercise can be made.
    #[error(transparent)]
    Exercise(#[from] dermis_motion::exercise::ExerciseError),
    /// No crowd can be laid out.
    #[error(transparent)]
    Crowd(#[from] dermis_motion::crowd::CrowdError),
    /// Instances far from the camera, of a model without skinning weights.
    #[error("\"{}\": the model has no skinning weights, by which far instances are shown", model.display())]
    NoFarSkinning {
        /// The model.
        model: PathBuf,
    },
    /// A picture that cannot be drawn.
    #[error("the picture: {0}")]
    Camera(#[from] dermis_report::scene_picture::CameraError),
    /// Published figures cannot be drawn.
    #[cfg(feature = "figures")]
    #[error(transparent)]
    Figures(FigureError),
    /// A method that no preset has.
    #[error("no method \"{name}\": {}", known.join(", "))]
    UnknownMethod {
        /// The name.
        name: String,
        /// Those there are.
        known: Vec<&'static str>,
    },
    /// Data of our own that cannot be stored or read back: a mistake in the program.
    #[error("internal: {0}")]
    Internal(String),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    pub(crate) fn lacks(path: &Path, what: impl Into<String>, hint: &'static str) -> Self {
        FileError::lacks(path, what, hint).into()
    }
    pub(crate) fn write(path: &Path) -> impl Fn(WriteError) -> Self + use<'_> {
        let named = FileError::write(path);
        move |error| named(error).into()
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

impl From<FitError> for Error {
    /// A fit that was stopped is no failed fit.
    fn from(error: FitError) -> Self {
        match error {
            FitError::Cancelled => Self::Cancelled,
            other => Self::Fit(other),
        }
    }
}

impl From<MethodError> for Error {
    /// A fit that was stopped is no failed fit.
    fn from(error: MethodError) -> Self {
        match error {
            MethodError::Cancelled => Self::Cancelled,
            MethodError::Fit(error) => Self::Fit(error),
            other => Self::Method(other),
        }
    }
}

#[cfg(feature = "figures")]
impl From<FigureError> for Error {
    /// Work that was stopped has not failed.
    fn from(error: FigureError) -> Self {
        match error {
            FigureError::Cancelled => Self::Cancelled,
            FigureError::Fit(error) => error.into(),
            FigureError::Method(error) => error.into(),
            other => Self::Figures(other),
        }
    }
}

impl From<DecomposeError> for Error {
    /// Work that was stopped has not failed.
    fn from(error: DecomposeError) -> Self {
        match error {
            DecomposeError::Cancelled => Self::Cancelled,
            other => Self::Decompose(other),
        }
    }
}

impl From<ClusteringError> for Error {
    /// Work that was stopped has not failed.
    fn from(error: ClusteringError) -> Self {
        match error {
            ClusteringError::Sequence(error) => error.into(),
            other => Self::Clustering(other),
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

impl From<CompileError> for Error {
    /// Work that was stopped has not failed.
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::Cancelled => Self::Cancelled,
            CompileError::Measure(error) => error.into(),
            CompileError::Fit(error) => error.into(),
            other => Self::Compile(other),
        }
    }
}

impl From<RetargetError> for Error {
    /// Work that was stopped has not failed.
    fn from(error: RetargetError) -> Self {
        match error {
            RetargetError::Cancelled => Self::Cancelled,
            other => Self::Retarget(other),
        }
    }
}

impl From<AutoRigError> for Error {
    /// Work that was stopped has not failed.
    fn from(error: AutoRigError) -> Self {
        match error {
            AutoRigError::Cancelled => Self::Cancelled,
            other => Self::AutoRig(other),
        }
    }
}

impl From<MarkerError> for Error {
    /// Work that was stopped has not failed.
    fn from(error: MarkerError) -> Self {
        match error {
            MarkerError::Cancelled => Self::Cancelled,
            other => Self::Markers(other),
        }
    }
}

impl From<dermis_fit::Cancelled> for Error {
    fn from(_: dermis_fit::Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Why an export cannot be made as it is set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// Positions of a given base, and a table of drivers.
    #[error("a model over given positions cannot be driven")]
    GivenDriven,
    /// A method that has nothing to drive.
    #[error("drivers are made of a joint model or a pose space, and this is \"{method}\"")]
    NotDriven {
        /// The model's method.
        method: String,
    },
    /// A pose space that shapes before skinning cannot hold.
    #[error("no shapes can be driven for this model: {0}")]
    Refused(Refusal),
    /// Kernels for a model that is no pose space.
    #[error("kernels serve pose spaces (psd, eigenskin, pose-blendshapes), and this is \"{method}\"")]
    Kernels {
        /// The model's method.
        method: String,
    },
    /// Normals to leave out of morph targets that there are none of.
    #[error("normals are left out of morph targets, and this export has none")]
    NoTargets,
    /// A number of shapes without anything that they are made for.
    #[error("shapes are made for a motion or a table of drivers, and this export has neither")]
    NothingToBake,
    /// All shapes of a correction that is baked.
    #[error("a correction that is baked for a motion is compressed: it needs a number of shapes")]
    AllBaked,
    /// A page for a model that also reads channels.
    #[error("the viewer poses joints alone, and this model also reads channels: {names}")]
    ViewerChannels {
        /// The channels.
        names: String,
    },
    /// A page and a table at once.
    #[error("a viewer holds what drives its shapes in the GLB, and writes no table")]
    ViewerTable,
    /// A page where a file is named.
    #[error("\"{}\": a viewer is a folder with a page and a GLB, not a file", path.display())]
    ViewerFolder {
        /// The name.
        path: PathBuf,
    },
}

/// Three scans and why they have no pose.
fn first_reasons(reasons: &[(String, Failure)]) -> String {
    let shown: Vec<String> = reasons.iter().take(3).map(|(scan, why)| format!("\"{scan}\": {why}")).collect();
    let more = if reasons.len() > 3 { "; ..." } else { "" };
    format!("{}{more}", shown.join("; "))
}
