//! Every method on the same bench: errors, size, speed, and which one to take.

pub mod curve;
pub mod error;
pub(crate) mod recipe;

use crate::error::Error;
use crate::load::LoadedRig;
use crate::measure::{Scores, WideRunner, measure};
use crate::verbs::fit::{FitInput, FitReport, Fitted, Method, cross_validate, fit};
use dermis_fit::Progress;
use dermis_fit::method::{MethodReport, Promises, preset, presets};
use dermis_report::SetRole;
use dermis_rig::ExampleSet;
use serde_json::{Value, json};
use std::time::Duration;

/// The method of a name that `compare` knows ([`dermis_fit::method::presets`]).
///
/// # Errors
/// [`Error::Compare`].
pub fn method_of(name: &str) -> Result<Method, Error> {
    let known = || presets().iter().map(|preset| preset.name).collect();
    let preset = preset(name).ok_or_else(|| error::Error::UnknownMethod { name: name.to_owned(), known: known() })?;
    Ok(preset.method)
}

/// How methods are judged.
#[derive(Clone, Copy, Debug)]
pub enum Judgement<'a> {
    /// On examples that no fit sees.
    HeldOut(&'a ExampleSet),
    /// By [`cross_validate`], in this many folds.
    Folds(usize),
}

impl Judgement<'_> {
    /// What the examples are for that methods are judged on.
    pub fn role(&self) -> SetRole {
        match self {
            Self::HeldOut(_) => SetRole::HeldOut,
            Self::Folds(_) => SetRole::CrossValidated,
        }
    }
}

/// One method's line.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub method: String,
    /// What the method promises.
    pub promises: Promises,
    /// Training scores.
    pub train: Scores,
    /// Scores on what the fits did not see; `None` where the method is not validated.
    pub unseen: Option<Scores>,
    /// What `unseen` is.
    pub role: SetRole,
    /// Bytes evaluation reads.
    pub bytes: usize,
    /// Seconds to fit.
    pub seconds: f64,
    /// Vertices evaluated per second.
    pub vertices_per_second: f64,
    /// The fit.
    pub fitted: Fitted,
}

/// Fits and scores the method of a name.
///
/// # Errors
/// [`Error`].
pub fn row(
    loaded: &LoadedRig,
    train: &ExampleSet,
    judgement: Judgement<'_>,
    name: &str,
    progress: Progress<'_>,
) -> Result<Row, Error> {
    let method = method_of(name)?;
    let input = FitInput::new(&loaded.rig, train);
    // The whole fit takes as long as each fold does, or less.
    let folds = match judgement {
        Judgement::HeldOut(_) => 0,
        Judgement::Folds(count) => count as u64,
    };
    let fitted = fit(loaded, &input, &method, &|done, total| progress(done, total * (folds + 1)))?;
    let (unseen, posed) = match judgement {
        Judgement::HeldOut(set) => (Some(measure(&fitted.model, set, None)?), set),
        Judgement::Folds(count) => {
            let progress = |done: u64, total: u64| progress(done + total / folds, total + total / folds);
            (cross_validate(loaded, &input, &method, &fitted, count, None, &progress)?, train)
        }
    };
    let mut runner = WideRunner::new(fitted.model.baked());
    Ok(Row {
        method: name.to_owned(),
        promises: method.promises(),
        train: measure(&fitted.model, train, None)?,
        unseen,
        role: judgement.role(),
        bytes: fitted.model.baked().bytes(),
        seconds: fitted.seconds,
        vertices_per_second: runner.speed(posed, None, Duration::from_millis(250))?,
        fitted,
    })
}

/// The method to take, with the reason: the smallest rms on what the fits did not see, among the methods that are bounded in every pose;
/// of those within 3 % of it the smallest model. `None` where no such method is validated.
pub fn recommend(rows: &[Row]) -> Option<(&Row, String)> {
    let is_bounded = |row: &&Row| row.promises.bounded && row.fitted.model.baked().bounds().is_some();
    let validated: Vec<(&Row, f64)> =
        rows.iter().filter(is_bounded).filter_map(|row| Some((row, row.unseen.as_ref()?.model.error.rms))).collect();
    let least = validated.iter().map(|(_, rms)| *rms).fold(f64::INFINITY, f64::min);
    let (best, _) = validated.into_iter().filter(|(_, rms)| *rms <= 1.03 * least).min_by_key(|(row, _)| row.bytes)?;
    let error = match best.role {
        SetRole::CrossValidated => "cross-validated",
        _ => "held-out",
    };
    let mut reason = format!("smallest {error} error among the methods that are bounded in every pose");
    if let Some(gain) = gravity_gain(&best.fitted.report) {
        let percent = 100.0 * gain;
        reason += &format!("; the skin knows where down is: {percent:.1} % better left out");
    }
    Some((best, reason))
}

/// By what share the cross-validated error is smaller because bones see down; `None` if none do, or that was stated.
fn gravity_gain(report: &FitReport) -> Option<f64> {
    let MethodReport::Joint(joint) = &report.details else { return None };
    let mut tried = joint.gravities();
    let (down, seeing) = tried.next()?;
    let (_, blind) = tried.find(|(down, _)| down.is_none())?;
    down.map(|_| 1.0 - seeing / blind)
}

/// `compare --json`.
pub fn json(rows: &[Row]) -> Value {
    let line = |row: &Row| {
        let unseen = row.unseen.as_ref();
        let key = match row.role {
            SetRole::CrossValidated => "cross_validated",
            _ => "held_out",
        };
        json!({
            "method": row.method,
            "train": row.train.model.error,
            (key): unseen.map(|scores| scores.model.error),
            "ratio": unseen.and_then(Scores::ratio),
            "model_bytes": row.bytes,
            "seconds_fit": row.seconds,
            "vertices_per_second": row.vertices_per_second,
            "warnings": row.fitted.warnings(),
        })
    };
    json!({
        "validation": rows.first().map(|row| row.role.name()),
        "vertices": rows.first().map(|row| row.fitted.model.baked().vertices()),
        "rows": rows.iter().map(line).collect::<Vec<_>>(),
        "recommended": recommend(rows).map(|(row, _)| row.method.clone()),
        "reason": recommend(rows).map(|(_, reason)| reason),
    })
}
