//! Why a method cannot be fitted.

use crate::training::{Cancelled, FitError};

/// Why a method cannot be fitted. It speaks of settings by their names; programs add the option that sets them.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MethodError {
    /// The fit failed.
    #[error(transparent)]
    Fit(FitError),
    /// What was fitted makes no deformer.
    #[error(transparent)]
    Deformer(#[from] dermis_deform::DeformerError),
    /// What was fitted does not belong to the rig.
    #[error(transparent)]
    Rigged(#[from] dermis_deform::RiggedError),
    /// What was fitted cannot be run in a training pose.
    #[error(transparent)]
    Pose(#[from] dermis_deform::PoseError),
    /// A setting out of range.
    #[error("{setting} {value}: {rule}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// Its value.
        value: f64,
        /// What it must obey.
        rule: String,
    },
    /// A setting that another one makes void.
    #[error("{setting} has no effect {with}")]
    Unused {
        /// Its name.
        setting: &'static str,
        /// Beside what.
        with: &'static str,
    },
    /// A base that the method cannot correct.
    #[error("a base of {base} cannot be corrected by {method}")]
    Base {
        /// The base.
        base: &'static str,
        /// The method.
        method: &'static str,
    },
    /// A model that no correction can be learnt over.
    #[error("the base is a model that does not serve: {why}")]
    Beneath {
        /// Why not.
        why: String,
    },
    /// Examples that are not what they were when they were read before.
    #[error("the examples changed while they were read")]
    Changed,
    /// A bone that the rig does not have.
    #[error("the rig \"{rig}\" has no bone \"{bone}\"")]
    NoBone {
        /// The rig.
        rig: String,
        /// The name.
        bone: String,
    },
    /// A rig without something that the method builds on.
    #[error("the rig \"{rig}\" has no {what}")]
    RigLacks {
        /// The rig.
        rig: String,
        /// What it lacks.
        what: Lack,
    },
    /// Something that belongs to the input and is not there.
    #[error("{what} are needed, and none are given")]
    InputLacks {
        /// What.
        what: &'static str,
    },
    /// Parts of the input that differ in number.
    #[error("{what}: {found} are given, but there are {expected}")]
    Counts {
        /// What.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A channel that the examples do not have.
    #[error("the examples have no channel \"{name}\"; they have {}", list(known))]
    NoChannel {
        /// The name.
        name: String,
        /// Those they have.
        known: Vec<String>,
    },
    /// A vertex that does not exist.
    #[error("vertex {vertex} cannot be locked: the mesh has {vertices} vertices")]
    NoVertex {
        /// The vertex.
        vertex: u32,
        /// How many there are.
        vertices: usize,
    },
    /// Shares of a fit that are not a whole.
    #[error("the parts do not belong together: {what}")]
    Shares {
        /// What is wrong with them.
        what: String,
    },
    /// Sums over examples that do not hold what the method needs.
    #[error("{what} cannot be fitted from sums: examples are not held while streaming")]
    NotFromSums {
        /// What.
        what: String,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

/// What a rig may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Weights, where a method builds on them.
    Weights,
    /// Weights that could be locked.
    WeightsToLock,
    /// Influence maps.
    Maps,
    /// Influence maps, and weights to derive them from.
    MapsAndWeights,
    /// Vertex colours.
    Colors,
    /// A left and a right.
    Symmetry,
    /// Triangles.
    Faces,
}

impl std::fmt::Display for Lack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Weights => "skinning weights to build on",
            Self::WeightsToLock => "skinning weights that could be locked",
            Self::Maps => "influence maps",
            Self::MapsAndWeights => "influence maps, and no weights to derive them from",
            Self::Colors => "vertex colours",
            Self::Symmetry => "left and right that mirror each other",
            Self::Faces => "triangles",
        })
    }
}

fn list(known: &[String]) -> String {
    if known.is_empty() { "none".into() } else { known.join(", ") }
}

impl From<FitError> for MethodError {
    /// A fit that was stopped is no failed fit.
    fn from(error: FitError) -> Self {
        match error {
            FitError::Cancelled => Self::Cancelled,
            other => Self::Fit(other),
        }
    }
}

impl From<Cancelled> for MethodError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// The value of a setting, if it lies between `low` and `high`.
pub(super) fn within(setting: &'static str, value: f64, low: f64, high: f64) -> Result<(), MethodError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    let rule = match (low > f64::MIN, high < f64::MAX) {
        (true, true) => format!("it must lie in {low}..{high}"),
        (true, false) => format!("it must be {low} or more, and finite"),
        _ => "it must be finite".into(),
    };
    Err(MethodError::Setting { setting, value, rule })
}
