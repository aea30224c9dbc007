//! Why a fit failed.

use dermis_files::Phrase;
use dermis_fit::FitError;
use dermis_fit::method::{Lack, MethodError};
use dermis_fit::secondary::SecondaryFitError;

/// Why a fit failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The solve failed.
    #[error(transparent)]
    Solve(FitError),
    /// The method cannot be fitted as it is set.
    #[error(transparent)]
    Method(MethodError),
    /// Secondary motion cannot be learnt.
    #[error("secondary motion: {0}")]
    Secondary(SecondaryFitError),
    /// A frame of a clip without a time.
    #[error("secondary motion: \"{label}\" has no time, so nothing says how fast it moves")]
    NoTime {
        /// The frame.
        label: String,
    },
    /// Every held-out example is a training example.
    #[error("all {poses} held-out examples are training examples too: nothing is held out")]
    NothingHeldOut {
        /// How many there are.
        poses: usize,
    },
}

impl Error {
    pub(crate) fn message(&self) -> Phrase {
        match self {
            Self::Method(MethodError::Setting { setting, value, rule }) => {
                Phrase::of_value(setting, value, format!(": {rule}"))
            }
            Self::Method(MethodError::Unused { setting, with }) => {
                Phrase::of_setting(setting, format!(" has no effect {with}"))
            }
            Self::Method(MethodError::Base { base: "stack", method }) => {
                let serves =
                    Phrase::from("`stack` serves `method=mwe`, psd in the inverse form and shape-by-example, not ");
                serves.then(Phrase::text(*method))
            }
            Self::Method(MethodError::Base { base, method }) => {
                let said = " serves `method=psd`, eigenskin, pose-blendshapes and shape-by-example, not ";
                Phrase::of_value("base", base, "").then(said.into()).then(Phrase::text(*method))
            }
            Self::Solve(_)
            | Self::Method(_)
            | Self::Secondary(_)
            | Self::NoTime { .. }
            | Self::NothingHeldOut { .. } => Phrase::text(self.to_string()),
        }
    }

    pub(crate) fn remedy(&self) -> Phrase {
        match self {
            Self::Solve(FitError::SingularAnchor { .. }) => {
                "a bone scaled to zero cannot anchor skin: use `anchor=root`".into()
            }
            Self::NothingHeldOut { .. } => {
                "name examples in `hold_out` that the fit does not see; `dermis fit` cross-validates without any".into()
            }
            Self::Method(MethodError::RigLacks { what, .. }) => match what {
                Lack::Weights => {
                    "make weights with `dermis weights` `heat=true`, or use `method=mwe` with `base=given` and `base_cache`"
                }
                Lack::MapsAndWeights | Lack::WeightsToLock => "make weights with `dermis weights` `heat=true`",
                Lack::Maps => "use `maps=weights`, or a bundle with influence_maps",
                Lack::Colors => "paint the mesh, or use `maps=weights`",
                Lack::Symmetry => "leave out `symmetric` and `mirror`",
                Lack::Faces => "give the rig faces, or use another method",
            }
            .into(),
            Self::Method(MethodError::NotFromSums { .. }) => {
                "`stream`, `accumulate` and `merge` take the joint model over a base of its own, and `method=mwe` without `guard`, `centring`, `ridge_mode` and `maps=examples`".into()
            }
            Self::Method(MethodError::InputLacks { .. }) => {
                "name the file that holds them: `base_cache`, `stack`, `maps=table:FILE`, `anchor=file:PATH`".into()
            }
            Self::Secondary(SecondaryFitError::NoClips) | Self::NoTime { .. } => {
                "`secondary_from` takes frames of animations in their order, each with its time: a clip followed by the cache of its skin, or \
                 a bundle with frame_times"
                    .into()
            }
            Self::Solve(_) | Self::Method(_) | Self::Secondary(_) => Phrase::default(),
        }
    }
}
