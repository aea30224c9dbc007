//! Why an export cannot be made.

use dermis_compile::CompileError;
use dermis_compile::error::Limited;
use dermis_compile::pose_space::Refusal;
use dermis_files::Phrase;
use std::path::PathBuf;

/// Why an export cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The model cannot be compiled.
    #[error(transparent)]
    Compile(CompileError),
    /// Positions of a given base, and a table of drivers.
    #[error("a model over given positions cannot be driven")]
    GivenDriven,
    /// Kernels for a pose space that shapes before skinning cannot hold.
    #[error("the kernels of this model cannot drive shapes: {0}")]
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
    /// A table of springs of a model that has learnt none.
    #[error("the model has no springs of bone chains")]
    NoChains,
    /// Shapes of an FBX or USD file that nothing would drive.
    #[error("an FBX or USD file holds shapes, but not what drives them")]
    InterchangeDrivers,
    /// Normals to leave out of shapes that hold none.
    #[error("the shapes of an FBX or USD file hold no normals")]
    InterchangeNormals,
}

impl Error {
    pub(crate) fn message(&self) -> Phrase {
        match self {
            Self::Compile(CompileError::FewShapes(shapes)) => {
                let said = ": driven shapes are two at least, as one of them holds the bind pose";
                Phrase::of_value("shapes", shapes, said)
            }
            Self::Compile(CompileError::NoKernels) => Phrase::of_value("kernels", 0, ": it must be at least one"),
            Self::Compile(CompileError::Budget { what, found, most }) => {
                let setting = if *what == Limited::Shapes { "shapes" } else { "kernels" };
                Phrase::of_value(setting, most, format!(": the model is shapes already and needs {found} {what}"))
            }
            Self::Compile(CompileError::Ridge(_)) => Phrase::text("the model's report lacks its ridge \"s\""),
            Self::Kernels { method } => Phrase::of_setting(
                "kernels",
                format!(" serve pose spaces (psd, eigenskin, pose-blendshapes), and this is \"{method}\""),
            ),
            Self::AllBaked => "`shapes=all` needs driven shapes".into(),
            Self::Refused(reason) => refused(self.to_string(), *reason),
            Self::Compile(_)
            | Self::GivenDriven
            | Self::NoTargets
            | Self::NothingToBake
            | Self::ViewerChannels { .. }
            | Self::ViewerTable
            | Self::NoChains
            | Self::ViewerFolder { .. }
            | Self::InterchangeDrivers
            | Self::InterchangeNormals => Phrase::text(self.to_string()),
        }
    }

    pub(crate) fn remedy(&self) -> Phrase {
        match self {
            Self::Compile(error) => match error {
                CompileError::NoWeights { .. } => {
                    "make weights with `dermis weights` `heat=true`, and fit to that rig".into()
                }
                CompileError::NoPoses => "name a `motion` or `examples`".into(),
                CompileError::GivenPositions("a linear blend") => "fit one over a base of its own".into(),
                CompileError::GivenPositions(_) => "export it with `dermis export shapes` and a `motion`".into(),
                CompileError::UnusualWeights { .. } => "fit with `kind=convex`".into(),
                CompileError::Budget { .. } => {
                    "export it with as many, or fit it with a smaller `budget` or `kept`".into()
                }
                CompileError::TooLarge { .. } => "ask for fewer with `shapes`".into(),
                CompileError::NotDrivable(refusal) => refusal_remedy(*refusal).unwrap_or_default(),
                CompileError::NoTraining | CompileError::Ridge(_) => "fit it again".into(),
                CompileError::NoCorrection => "export it with `dermis export shapes`, without drivers".into(),
                _ => Phrase::default(),
            },
            Self::GivenDriven => "leave the drivers or `base_cache` out".into(),
            Self::Refused(_) => "or leave `kernels` out: joint coordinates fitted to its skin then drive shapes".into(),
            Self::NoTargets | Self::InterchangeNormals => "leave `no_normals` out".into(),
            Self::InterchangeDrivers => {
                "write the table beside it with `dermis export drivers`, or bake the shapes for a `motion`".into()
            }
            Self::NothingToBake => "add a `motion`, or leave `shapes` out".into(),
            Self::ViewerChannels { .. } => {
                "export shapes with `driven=true`: js/dermis.js takes values of channels".into()
            }
            Self::NoChains => "fit it with `secondary_from`, or leave `springs` out".into(),
            Self::ViewerTable => "leave the table out".into(),
            Self::ViewerFolder { .. } => "name a folder as the output".into(),
            Self::Kernels { .. } | Self::AllBaked => Phrase::default(),
        }
    }
}

/// A refusal with the settings of a fit that avoid it, if there are some.
pub fn refused(message: String, refusal: Refusal) -> Phrase {
    let message = Phrase::text(message);
    match refusal_remedy(refusal) {
        Some(remedy) => message.then(Phrase::text(": ")).then(remedy),
        None => message,
    }
}

/// The settings that make a pose space one that shapes before skinning can hold.
fn refusal_remedy(refusal: Refusal) -> Option<Phrase> {
    match refusal {
        Refusal::AfterSkinning => Some("fit it with `form=inverse`".into()),
        Refusal::OtherBase => Some("fit it with `base=lbs`".into()),
        Refusal::NoPoseSpace | Refusal::GivenPositions => None,
    }
}
