//! Composite joints: whether the examples ask for them.

use super::MethodError;
use super::mush::for_choice;
use super::settings::Setting;
use crate::joints::{JointSettings, joint_validation};
use crate::training::{Progress, Training};
use dermis_rig::Influences;
use serde::{Deserialize, Serialize};
use std::fmt;

/// η, the factor on the relevance of composite joints.
///
/// In text: auto, off, or a number above zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum CompositeChoice {
    /// Without them, or with 1 or 2, whichever leaves the least cross-validated error.
    #[default]
    Auto,
    /// None.
    Off,
    /// This η.
    Eta(f64),
}

pub(super) const COMPOSITES: Setting = Setting::new(
    "composites",
    "auto|off|FACTOR",
    "auto",
    "Composite joints learn what two neighbouring joints do together where the examples moved both: auto (by cross-validation), off, or \
     the factor on their relevance",
)
.range(1e-3, 100.0);

impl CompositeChoice {
    pub(super) fn check(self) -> Result<(), MethodError> {
        match self {
            Self::Eta(eta) => COMPOSITES.check(eta),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for CompositeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Off => f.write_str("off"),
            Self::Eta(eta) => write!(f, "{eta}"),
        }
    }
}

impl From<CompositeChoice> for String {
    fn from(choice: CompositeChoice) -> Self {
        choice.to_string()
    }
}

impl TryFrom<String> for CompositeChoice {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => text.parse().map(Self::Eta).map_err(|_| format!("\"{text}\" is neither auto nor off nor a number")),
        }
    }
}

/// The factors that are tried beside none.
const ETAS: [f64; 2] = [1.0, 2.0];
/// Composites are taken if they lower the cross-validated error by this share.
const LEAST_GAIN: f64 = 0.015;

/// η with the cross-validated error that the joint model leaves, the mean over vertices of their rms in metres; the first is the one
/// taken. The rms, which few vertices decide, takes composites for the chest of the sculpted human, and loses two percent on its walk.
pub(super) type Choice = Vec<(f64, f64)>;

/// Chooses η by the error that the joint model leaves on examples left out; `none` is that without composites, where it is known.
pub(super) fn choose(
    training: &Training<'_>,
    none: Option<f64>,
    weights: &Influences,
    settings: &JointSettings,
    progress: Progress<'_>,
) -> Result<Choice, MethodError> {
    let mut settings = for_choice(settings);
    // The bar stays where it is: this is before the fit.
    let still = |_: u64, _: u64| progress(0, 1);
    let mut validated = |eta: f64| {
        settings.composites = eta;
        Ok((eta, joint_validation(training, weights, &settings, &still)?.mean))
    };
    let none = match none {
        Some(error) => (0.0, error),
        None => validated(0.0)?,
    };
    let mut choice = ETAS.into_iter().map(validated).collect::<Result<Choice, MethodError>>()?;
    choice.sort_by(|a, b| a.1.total_cmp(&b.1));
    let taken = choice[0].1 <= (1.0 - LEAST_GAIN) * none.1;
    choice.insert(usize::from(taken), none);
    Ok(choice)
}
