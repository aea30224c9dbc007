//! What the coefficients of a model are stored in.

use super::MethodError;
use dermis_deform::Baked;
use dermis_deform::baked::CoefficientPrecision;
use dermis_rig::BoneTransforms;
use serde::{Deserialize, Serialize};

/// How coefficients are to be stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoefficientChoice {
    /// In 16 bits, if that moves no vertex by more than a twentieth of the cross-validated error; else, and where nothing was cross-validated,
    /// in 32.
    #[default]
    Auto,
    /// In 16 bits.
    Sixteen,
    /// In 32 bits.
    Single,
}

impl CoefficientChoice {
    /// The same of a model; one that meets sculpts keeps 32 bits unless 16 are stated.
    pub(super) fn of_model(self, meets: bool) -> Self {
        if meets && self == Self::Auto { Self::Single } else { self }
    }

    /// The model with its coefficients as they are to be stored, and what 16 bits cost, if they are taken.
    ///
    /// - `validated`: the cross-validated rms error, metres, where there is one
    /// - `poses`: those that the model was trained on
    pub(super) fn stored(
        self,
        baked: Baked,
        validated: Option<f64>,
        poses: &[&BoneTransforms],
    ) -> Result<(Baked, Option<String>), MethodError> {
        let most = match self {
            Self::Single => None,
            Self::Sixteen => Some(f64::INFINITY),
            // Corrections beneath stay as they are.
            Self::Auto => validated.filter(|_| baked.corrections().len() == 1).map(|error| LEAST_SEEN * error),
        };
        let Some(most) = most else { return Ok((baked, None)) };
        let narrow = baked.clone().with_precision(CoefficientPrecision::Sixteen);
        if narrow.precision() == baked.precision() {
            return Ok((baked, None));
        }
        let some = poses.iter().step_by(poses.len().div_ceil(COMPARED).max(1)).copied();
        let off = narrow.largest_difference(&baked, some)?;
        Ok(match f64::from(off) <= most {
            true => (narrow, Some(format!("16 bits, at most {off:.1e} m from 32 over training poses"))),
            false => (baked, None),
        })
    }
}

/// Training poses in which coefficients of 16 bits are compared with those of 32, at most.
const COMPARED: usize = 64;

/// The share of the cross-validated rms error that 16 bits may move a vertex by, in training poses.
const LEAST_SEEN: f64 = 0.05;

/// How coefficients are stored.
pub(super) fn coefficients(text: &str) -> Result<CoefficientChoice, String> {
    match text {
        "auto" => Ok(CoefficientChoice::Auto),
        "16" => Ok(CoefficientChoice::Sixteen),
        "32" => Ok(CoefficientChoice::Single),
        _ => Err("use auto, 16 or 32".into()),
    }
}
