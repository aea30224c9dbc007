//! What a fit found out about its model on poses that it did not see.

use serde::{Deserialize, Serialize};

/// The errors of a model that a fit states as its own, in mesh units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// How the poses were kept from the fit.
    pub validation: Validation,
    /// The poses that count.
    pub poses: usize,
    /// Further poses of the set, beside a training pose, which do not count.
    pub trained: usize,
    /// Root mean square distance over all vertices and poses.
    pub rms: f64,
    /// Largest distance.
    pub max: f64,
    /// rms and largest distance of the rig's own weights, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<[f64; 2]>,
}

/// How poses were kept from a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Validation {
    /// The user held them out.
    HeldOut,
    /// Fits without them predicted them.
    CrossValidated,
}
