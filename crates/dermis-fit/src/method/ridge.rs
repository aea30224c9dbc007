//! How the strength of a ridge is set: λ itself, or the choice by cross-validation.

use super::MethodError;
use super::settings::{BLOCKS, LAMBDA, Row, TOLERANCE, number};
use dermis_solve::Folds;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is left out at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FoldChoice {
    /// Five contiguous blocks of the frames of a clip, single poses otherwise.
    #[default]
    Auto,
    /// Single poses.
    Single,
    /// This many contiguous blocks, two or more.
    Blocks(usize),
}

/// How λ is found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RidgeChoice {
    /// λ itself.
    Fixed(f64),
    /// By exact cross-validation over the method's grid.
    CrossValidated {
        /// What is left out at a time.
        #[serde(default)]
        folds: FoldChoice,
        /// The largest λ whose error is within this factor of the best is taken; `None`: 1.03.
        #[serde(default)]
        tolerance: Option<f64>,
    },
}

impl Default for RidgeChoice {
    fn default() -> Self {
        Self::CrossValidated { folds: FoldChoice::Auto, tolerance: None }
    }
}

impl FoldChoice {
    /// The folds for examples that are a clip or not.
    pub fn of(self, is_clip: bool) -> Folds {
        match self {
            Self::Auto if is_clip => Folds::Blocks(5),
            Self::Auto | Self::Single => Folds::Single,
            Self::Blocks(count) => Folds::Blocks(count),
        }
    }

    /// Single poses, or a number of blocks.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        match (text, text.parse::<usize>()) {
            ("single", _) => Ok(Self::Single),
            (_, Ok(blocks)) if blocks >= 2 => Ok(Self::Blocks(blocks)),
            _ => Err("use \"single\", or two blocks or more".into()),
        }
    }

    pub(super) fn check(self) -> Result<(), MethodError> {
        match self {
            Self::Blocks(count) if count < 2 => Err(MethodError::Setting {
                setting: BLOCKS.name,
                value: count as f64,
                rule: "use two blocks or more, or single poses".into(),
            }),
            _ => Ok(()),
        }
    }
}

impl RidgeChoice {
    pub(super) fn rows() -> Vec<Row<Self>> {
        vec![
            Row::new(LAMBDA, |text| number(text).map(Self::Fixed), |own| own),
            Row::by(BLOCKS, |own: &mut Self, text| {
                *own = Self::CrossValidated { folds: FoldChoice::read(text)?, tolerance: own.tolerance() };
                Ok(())
            }),
            Row::by(TOLERANCE, |own: &mut Self, text| {
                let folds = if let Self::CrossValidated { folds, .. } = own { *folds } else { FoldChoice::Auto };
                *own = Self::CrossValidated { folds, tolerance: Some(number(text)?) };
                Ok(())
            }),
        ]
    }

    /// λ, if it is fixed.
    pub(super) fn fixed(self) -> Option<f64> {
        match self {
            Self::Fixed(ridge) => Some(ridge),
            Self::CrossValidated { .. } => None,
        }
    }

    /// What is left out at a time.
    pub(super) fn folds(self, is_clip: bool) -> Folds {
        match self {
            Self::Fixed(_) => FoldChoice::Auto.of(is_clip),
            Self::CrossValidated { folds, .. } => folds.of(is_clip),
        }
    }

    /// The factor within which the largest λ is taken.
    pub(super) fn tolerance(self) -> Option<f64> {
        match self {
            Self::Fixed(_) => None,
            Self::CrossValidated { tolerance, .. } => tolerance,
        }
    }

    pub(super) fn check(self) -> Result<(), MethodError> {
        match self {
            Self::Fixed(ridge) => LAMBDA.check(ridge),
            Self::CrossValidated { folds, tolerance } => {
                folds.check()?;
                tolerance.map_or(Ok(()), |tolerance| TOLERANCE.check(tolerance))
            }
        }
    }
}

/// How a choice was validated, in words.
pub(super) struct FoldsText(pub(super) Folds);

impl fmt::Display for FoldsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Folds::Single => f.write_str("leave-one-out"),
            Folds::Blocks(count) => write!(f, "{count} blocks of frames"),
        }
    }
}
