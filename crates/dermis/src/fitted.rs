//! Fitting.

use crate::{Error, Examples, Method, Model, Rig};
use dermis_fit::method::{FitInput, FitReport};
use dermis_fit::{Progress, silent};

/// A fitted model with its report.
#[derive(Clone, Debug)]
pub struct Fitted {
    model: Model,
    report: FitReport,
    seconds: f64,
}

/// Fits a model. Nobody watches; [`fit_with`] takes progress and can be cancelled.
///
/// # Errors
/// [`Error`]: settings that do not suit the rig, a fit that fails.
pub fn fit(rig: &Rig, examples: &Examples, method: &Method) -> Result<Fitted, Error> {
    fit_with(rig, examples, method, &silent)
}

/// Fits a model, and calls `progress` with (done, total) as work proceeds; breaking cancels the fit.
///
/// # Errors
/// As [`fit`], and [`Error::Cancelled`].
pub fn fit_with(rig: &Rig, examples: &Examples, method: &Method, progress: Progress<'_>) -> Result<Fitted, Error> {
    let start = dermis_rig::clock::Instant::now();
    let learnt = method.fit(&FitInput::new(rig, examples), progress)?;
    let poses = learnt.training_poses(examples.examples().iter().map(|example| &example.transforms));
    let (model, report, _) = learnt.rigged(rig, &poses)?;
    let model = Model::of_fit(model, rig, &report)?;
    Ok(Fitted { model, report, seconds: start.elapsed().as_secs_f64() })
}

#[cfg(feature = "workflow")]
impl From<dermis_workflow::verbs::fit::Fitted> for Fitted {
    fn from(fitted: dermis_workflow::verbs::fit::Fitted) -> Self {
        Self { model: fitted.model.into(), report: fitted.report, seconds: fitted.seconds }
    }
}

impl Fitted {
    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model alone.
    pub fn into_model(self) -> Model {
        self.model
    }

    /// What the fit found: λ, its sweep, warnings, what the method itself reports. Its `Display` is a few lines, its serde
    /// form the report of the program's JSON.
    pub fn report(&self) -> &FitReport {
        &self.report
    }

    /// Seconds the fit took.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }
}
