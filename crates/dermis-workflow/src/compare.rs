//! Every method on the same bench: errors, size, speed, and which one to take.

use crate::error::Error;
use crate::fit::PoseSpaceOptions;
use crate::fit::{BaseChoice, FitOptions, Fitted, Method, fit};
use crate::load::LoadedRig;
use crate::measure::{Runner, Scores, measure};
use dermis_deform::pose_space::Family;
use dermis_fit::Progress;
use dermis_fit::mwe::{RidgeMode, RowChoice};
use dermis_fit::psd::compile::Budget;
use dermis_fit::psd::{Form, Reach};
use dermis_rig::ExampleSet;
use serde_json::{Value, json};
use std::time::Duration;

/// The names `compare` knows, each a method with settings.
pub const METHODS: [(&str, &str); 26] = [
    ("joint", "the joint model, default form"),
    ("own-weights", "the rig's own weights"),
    ("lbs", "weights fitted to the examples"),
    ("dqs", "the rig's own weights, dual quaternions"),
    ("animation-space", "coefficients shared by the axes"),
    ("mwe", "multi-weight enveloping, default form"),
    ("mwe-row", "each axis reads its own row"),
    ("mwe-auto", "row or full by cross-validation"),
    ("mwe-rigid", "over rigid binding"),
    ("mwe-dqs", "over dual quaternions"),
    ("mwe-relative-row", "ridge relative to the data, row features, no guard"),
    ("mwe-relative", "ridge relative to the data, full features, no guard"),
    ("mwe-published", "the published form, s_f = 1e-3, no guard"),
    ("psd", "pose-space deformation, default form"),
    ("psd-exact", "every example met, no smoothing"),
    ("psd-linear", "with a linear term"),
    ("psd-gaussian", "the Gaussian kernel"),
    ("psd-wendland", "a kernel of compact support"),
    ("psd-polyharmonic", "the polyharmonic spline"),
    ("psd-global", "all joints count for every vertex, as first published"),
    ("psd-forward", "displacements of the world, as first published"),
    ("psd-compiled", "pose-space deformation compiled to 128 shapes of 16 kernels"),
    ("eigenskin", "shapes per joint, over its rotation alone"),
    ("pose-blendshapes", "linear in the entries of nearby joints' rotations"),
    ("pose-blendshapes-global", "linear in the entries of all joints' rotations, as published"),
    ("rotational-regression", "triangles that turn with joints, no ball"),
];

/// The settings behind a name of [`METHODS`].
///
/// # Errors
/// [`Error::Option`] for an unknown name.
pub fn options_of(name: &str) -> Result<FitOptions, Error> {
    let mwe = FitOptions::new(Method::Mwe);
    let psd = FitOptions::new(Method::Psd);
    let relative = FitOptions { ridge: Some(RidgeMode::Relative), guard: Some(false), ..mwe.clone() };
    Ok(match name {
        "joint" => FitOptions::new(Method::Joint),
        "own-weights" => FitOptions::new(Method::OwnWeights),
        "lbs" => FitOptions::new(Method::Lbs),
        "dqs" => FitOptions::new(Method::Dqs),
        "animation-space" => FitOptions::new(Method::AnimationSpace),
        "mwe" => mwe,
        "mwe-row" => FitOptions { rows: Some(RowChoice::Row), ..mwe },
        "mwe-auto" => FitOptions { rows: Some(RowChoice::Auto), ..mwe },
        "mwe-rigid" => FitOptions { base: BaseChoice::Rigid, ..mwe },
        "mwe-dqs" => FitOptions { base: BaseChoice::Dqs, ..mwe },
        "mwe-relative-row" => FitOptions { rows: Some(RowChoice::Row), ..relative },
        "mwe-relative" => FitOptions { rows: Some(RowChoice::Full), ..relative },
        "mwe-published" => FitOptions { published: true, ..mwe },
        "rotational-regression" => FitOptions::new(Method::RotationalRegression),
        "psd" => psd,
        "psd-exact" => FitOptions { s: Some(0.0), ..psd },
        "psd-linear" => of(psd, |o| o.linear = true),
        "psd-gaussian" => of(psd, |o| o.family = Some(Family::Gaussian)),
        "psd-wendland" => of(psd, |o| o.family = Some(Family::Wendland)),
        "psd-polyharmonic" => of(psd, |o| o.family = Some(Family::Polyharmonic)),
        "psd-global" => of(psd, |o| o.reach = Some(Reach::Global)),
        "psd-forward" => of(psd, |o| o.form = Some(Form::Forward)),
        "psd-compiled" => of(psd, |o| o.budget = Some(Budget { shapes: 128, centres: 16, per_vertex: None })),
        "eigenskin" => FitOptions::new(Method::EigenSkin),
        "pose-blendshapes" => FitOptions::new(Method::PoseBlendshapes),
        "pose-blendshapes-global" => of(FitOptions::new(Method::PoseBlendshapes), |o| o.reach = Some(Reach::Global)),
        other => {
            let known: Vec<&str> = METHODS.iter().map(|m| m.0).collect();
            return Err(Error::Option(format!("there is no method \"{other}\"; there are {}", known.join(", "))));
        }
    })
}

/// Options of a pose space, changed.
fn of(mut options: FitOptions, change: impl Fn(&mut PoseSpaceOptions)) -> FitOptions {
    change(&mut options.pose_space);
    options
}

/// One method's line.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub method: String,
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

/// Fits and scores one of [`METHODS`].
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
    let fitted = fit(loaded, train, None, &options_of(name)?, progress)?;
    let mut runner = Runner::new(&fitted.model.baked);
    Ok(Row {
        method: name.to_owned(),
        train: measure(&fitted.model, train, None)?,
        held_out: measure(&fitted.model, held_out, None)?,
        bytes: fitted.model.baked.bytes(),
        seconds: fitted.seconds,
        vertices_per_second: runner.speed(held_out, None, Duration::from_millis(250)),
        fitted,
    })
}

/// The method to take, with the reason: the smallest held-out rms among those that are bounded in every pose; of those
/// within 3 % of it the smallest model.
pub fn recommend(rows: &[Row]) -> Option<(&Row, String)> {
    let bounded = |row: &&Row| row.fitted.model.baked.correction.as_ref().is_none_or(|c| !c.radii().is_empty());
    let bounded =
        |row: &&Row| bounded(row) && !["animation-space", "rotational-regression"].contains(&row.method.as_str());
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
            "warnings": row.fitted.warnings,
        })
    };
    json!({
        "vertices": rows.first().map(|row| row.fitted.model.baked.vertices()),
        "rows": rows.iter().map(line).collect::<Vec<_>>(),
        "recommended": recommend(rows).map(|(row, _)| row.method.clone()),
        "reason": recommend(rows).map(|(_, reason)| reason),
    })
}
