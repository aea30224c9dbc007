//! What the user should know about a compiled model.

use std::fmt::{Display, Formatter, Result};

/// What the user should know about a compiled model.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// The search ended with fewer helper bones than asked for.
    FewerHelpers {
        /// Helpers found.
        found: usize,
        /// Helpers asked for.
        asked: usize,
        /// Why the search ended.
        because: String,
    },
    /// Driving was asked for, and there is no helper to drive.
    NothingToDrive,
    /// Helpers that no vertex follows; they are left out.
    IdleHelpers {
        /// The bones they hung on, one per helper.
        parents: Vec<String>,
    },
    /// Poses were held out, and helpers have no motion there.
    HelpersWithoutMotion,
    /// Helpers whose ridge could not be chosen by leaving poses out.
    AssumedRidge {
        /// How many.
        helpers: usize,
        /// The ridge they were given.
        ridge: f64,
    },
    /// Vertices of a pose space with a part that no shape holds.
    Remainders {
        /// How many.
        vertices: usize,
    },
    /// Joints between bones under different roots, whose motion in training is not kept.
    JointsApart {
        /// The joints, as "bone to bone".
        joints: Vec<String>,
    },
    /// Remembered sculpts whose pose the model file does not hold.
    SculptsWithoutPose {
        /// Their names.
        sculpts: Vec<String>,
    },
    /// The training poses that are compared have the bones under different roots at rest.
    RootsAtRest,
}

impl Display for Warning {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::FewerHelpers { found, asked, because } => write!(f, "{found} helpers instead of {asked}: {because}"),
            Self::NothingToDrive => f.write_str("there are no helpers to drive"),
            Self::IdleHelpers { parents } => {
                let (count, parents) = (parents.len(), parents.join(", "));
                write!(f, "{count} of the helpers move no vertex and are left out: on {parents}")
            }
            Self::SculptsWithoutPose { sculpts } => write!(
                f,
                "the model file does not hold the poses of {} remembered sculpts, so that their shapes come near them and do not meet \
                 them: {}",
                sculpts.len(),
                sculpts.join(", ")
            ),
            Self::HelpersWithoutMotion => {
                f.write_str("helpers that nothing drives have no motion in poses held out, and the skin has none there")
            }
            Self::AssumedRidge { helpers, ridge } => {
                write!(f, "{helpers} helpers are driven with the ridge {ridge}: no poses could be left out to choose it")
            }
            Self::Remainders { vertices } => write!(
                f,
                "{vertices} vertices keep a part of their examples beside the displacement, where skinning is nearly singular; no shape \
                 holds it and it is left out"
            ),
            Self::JointsApart { joints } => write!(
                f,
                "the model file does not hold how bones under different roots stood to each other in each training pose; random ones of \
                 their inducing rotations stand for it: {}",
                joints.join(", ")
            ),
            Self::RootsAtRest => f.write_str(
                "the model file does not hold how bones under different roots stood to each other in training: in the training poses \
                 compared here they are at rest",
            ),
        }
    }
}
