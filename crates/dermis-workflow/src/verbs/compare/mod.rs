//! Every method on the same bench: errors, size, speed, and which one to take.

pub mod curve;
pub mod error;
pub(crate) mod recipe;

use crate::error::Error;
use crate::load::LoadedRig;
use crate::measure::{Scores, WideRunner, measure};
use crate::verbs::fit::{FitInput, Fitted, Method, fit};
use dermis_fit::Progress;
use dermis_fit::method::{Promises, preset, presets};
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

/// One method's line.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub method: String,
    /// What the method promises.
    pub promises: Promises,
    /// Training scores.
    pub train: Scores,
    /// Held-out scores.
    pub held_out: Scores,
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
    held_out: &ExampleSet,
    name: &str,
    progress: Progress<'_>,
) -> Result<Row, Error> {
    let method = method_of(name)?;
    let fitted = fit(loaded, &FitInput::new(&loaded.rig, train), &method, progress)?;
    let mut runner = WideRunner::new(fitted.model.baked());
    Ok(Row {
        method: name.to_owned(),
        promises: method.promises(),
        train: measure(&fitted.model, train, None)?,
        held_out: measure(&fitted.model, held_out, None)?,
        bytes: fitted.model.baked().bytes(),
        seconds: fitted.seconds,
        vertices_per_second: runner.speed(held_out, None, Duration::from_millis(250))?,
        fitted,
    })
}

/// The method to take, with the reason: the smallest held-out rms among those that are bounded in every pose; of those
/// within 3 % of it the smallest model.
pub fn recommend(rows: &[Row]) -> Option<(&Row, String)> {
    let held = |row: &&Row| row.fitted.model.baked().bounds().is_some();
    let bounded = |row: &&Row| row.promises.bounded && held(row);
    let least = rows.iter().filter(bounded).map(|r| r.held_out.model.error.rms).fold(f64::INFINITY, f64::min);
    let best =
        rows.iter().filter(bounded).filter(|r| r.held_out.model.error.rms <= 1.03 * least).min_by_key(|r| r.bytes)?;
    Some((best, "smallest held-out error among the methods that are bounded in every pose".into()))
}

/// `compare --json`.
pub fn json(rows: &[Row]) -> Value {
    let line = |row: &Row| {
        json!({
            "method": row.method,
            "train": row.train.model.error,
            "held_out": row.held_out.model.error,
            "ratio": row.held_out.ratio(),
            "model_bytes": row.bytes,
            "seconds_fit": row.seconds,
            "vertices_per_second": row.vertices_per_second,
            "warnings": row.fitted.warnings(),
        })
    };
    json!({
        "vertices": rows.first().map(|row| row.fitted.model.baked().vertices()),
        "rows": rows.iter().map(line).collect::<Vec<_>>(),
        "recommended": recommend(rows).map(|(row, _)| row.method.clone()),
        "reason": recommend(rows).map(|(_, reason)| reason),
    })
}
