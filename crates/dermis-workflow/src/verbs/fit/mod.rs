//! Fitting: from a rig and examples to a model with its report.

mod chains;
pub mod error;
pub(crate) mod held;
mod memory;
pub(crate) mod recipe;
pub mod ridge;
mod secondary;
mod stream;
mod validate;

pub use chains::chains_json;
pub use dermis_fit::method::share::Share;
pub use dermis_fit::method::{FitInput, FitReport, Method, RidgePoint, folds};
pub use memory::Memory;
pub use secondary::SecondaryFound;
pub use stream::{Part, Streaming, Summing};
pub use validate::cross_validate;

use crate::error::Error;
use crate::load::LoadedRig;
use dermis_fit::Progress;
use dermis_fit::method::{Learnt, Solved};
use dermis_io::{ModelFile, ModelHeader};
use dermis_rig::clock::Instant;
use dermis_rig::{BoneTransforms, ExampleSet};

/// A fitted model, with what only the fit knows.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The model.
    pub model: ModelFile,
    /// Seconds the fit took, files not counted.
    pub seconds: f64,
    /// What the fit found.
    pub report: FitReport,
    solved: Solved,
}

impl Fitted {
    /// What the user should know, as text.
    pub fn warnings(&self) -> Vec<String> {
        self.report.warnings.iter().map(ToString::to_string).collect()
    }
}

/// Fits a model. `input` holds the rig of `loaded`.
///
/// # Errors
/// [`Error`]: settings that do not fit the rig, a failed fit, cancellation.
pub fn fit(loaded: &LoadedRig, input: &FitInput<'_>, method: &Method, progress: Progress<'_>) -> Result<Fitted, Error> {
    let start = Instant::now();
    let learnt = method.fit(input, progress)?;
    let poses = learnt.training_poses(input.examples.examples().iter().map(|example| &example.transforms));
    let mut fitted = baked(loaded, learnt, &poses)?;
    // A skin that is corrected further swings as it did.
    if let Some(springs) = input.model.and_then(|beneath| beneath.springs()) {
        fitted.model.model = fitted.model.model.with_springs(Some(springs.clone()))?;
    }
    fitted.seconds = start.elapsed().as_secs_f64();
    Ok(fitted)
}

/// The largest leverage a fitted correction has on poses it never saw; `None` for methods whose leverage is not known.
///
/// # Errors
/// As [`fit`].
pub fn unseen_leverage(
    fitted: &Fitted,
    input: &FitInput<'_>,
    method: &Method,
    unseen: &ExampleSet,
) -> Result<Option<f64>, Error> {
    Ok(method.unseen_leverage(input, &fitted.solved, unseen)?)
}

/// What was learnt as a model: baked, with the rig and the poses it was trained on.
fn baked(loaded: &LoadedRig, learnt: Learnt, poses: &[BoneTransforms]) -> Result<Fitted, Error> {
    let (model, report, solved) = learnt.rigged(&loaded.rig, poses)?;
    let header = ModelHeader::of_fit(crate::PROGRAM, report.method, &report.settings, &report.details)
        .map_err(|e| Error::Internal(e.to_string()))?;
    let model = ModelFile { model, space: loaded.space.clone(), header };
    Ok(Fitted { model, seconds: 0.0, report, solved })
}

#[cfg(test)]
mod tests {
    use super::Method;
    use dermis_fit::method::{JointMethod, RidgeChoice, presets};
    use dermis_testkit::Random;

    /// Settings are stored with every model: what is read back is what was written.
    #[test]
    fn the_settings_of_every_method_survive_json() {
        let mut random = Random::new(5);
        let with_all_digits = |_| {
            let (sigma, ridge) = (random.between(0.1, 2.0), RidgeChoice::Fixed(random.between(0.0, 1e-3)));
            Method::Joint(JointMethod { sigma, ridge, ..JointMethod::default() })
        };
        let random_numbers = (0..100).map(with_all_digits);
        for method in
            Method::all().into_iter().chain(presets().into_iter().map(|preset| preset.method)).chain(random_numbers)
        {
            let stored = serde_json::to_value(&method).unwrap();
            assert_eq!(serde_json::from_value::<Method>(stored.clone()).unwrap(), method, "{stored}");
            let text = serde_json::to_string(&method).unwrap();
            assert_eq!(serde_json::from_str::<Method>(&text).unwrap(), method, "{text}");
        }
    }
}
