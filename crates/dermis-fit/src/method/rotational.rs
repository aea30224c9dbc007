//! Rotational regression as a [`Method`](super::Method).

use super::error::Lack;
use super::learnt::SolvedBy;
use super::ridge::FoldsText;
use super::settings::Row;
use super::{FitInput, FitReport, FitWarning, Learnt, MethodError, MethodReport, RidgeChoice, chosen_by, short};
use crate::rotational_regression::{RotationalReport, RotationalSettings, fit_rotational_regression};
use crate::training::{BasePoses, Progress};
use dermis_deform::Base;
use dermis_rig::Rig;
use serde::{Deserialize, Serialize};

/// Triangles that turn with joints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RotationalMethod {
    /// λ of the stretches.
    pub ridge: RidgeChoice,
}

/// What the fit of rotational regression found, with bones by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RotationalModelReport {
    ridge: f64,
    sweep: Vec<ValidatedStretch>,
    triangles: Triangles,
    terms: usize,
    anchors: usize,
    components: usize,
    barely_held: Vec<BarelyHeld>,
    vertices_outside_triangles: usize,
    beyond_half_turn: Vec<TurnedJoint>,
    rms_degrees: RmsDegrees,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct ValidatedStretch {
    ridge: f64,
    validated_stretch: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Triangles {
    degenerate: usize,
    rigid: usize,
    turning: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct BarelyHeld {
    vertex: u32,
    rms: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct TurnedJoint {
    joint: String,
    degrees: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct RmsDegrees {
    rigid: f64,
    fitted: f64,
}

impl RotationalMethod {
    pub(super) fn rows() -> Vec<Row<Self>> {
        RidgeChoice::rows().into_iter().map(|row| row.of(|own: &mut Self| &mut own.ridge)).collect()
    }

    pub(super) fn fit(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Learnt, MethodError> {
        let (rig, is_clip) = (input.rig, input.examples.is_clip());
        let weights = input.weights()?;
        if rig.mesh().triangles.is_empty() {
            return Err(input.lacks(Lack::Faces));
        }
        let mut settings = RotationalSettings::new(is_clip);
        settings.lambda = self.ridge.fixed();
        settings.folds = self.ridge.folds(is_clip);
        settings.tolerance = self.ridge.tolerance().unwrap_or(settings.tolerance);
        let training = input.training(BasePoses::NONE);
        let fitted = fit_rotational_regression(&training, &rig.mesh().triangles, weights, &settings, progress)?;
        let found = &fitted.report;
        let details = MethodReport::RotationalRegression(RotationalModelReport::new(found, rig));
        let mut report = FitReport::new("rotational-regression", details);
        let chosen = chosen_by(settings.lambda.is_some());
        report.settings.extend([
            ("ridge of stretches".to_owned(), format!("{}{chosen}", short(found.lambda))),
            ("folds".into(), FoldsText(settings.folds).to_string()),
            ("tolerance of the choice".into(), settings.tolerance.to_string()),
            ("joints around a bone".into(), settings.rings.to_string()),
            ("held to bones within".into(), format!("{:e} rest diagonals", settings.rigid)),
        ]);
        report.validated_by = Some(FoldsText(settings.folds).to_string());
        report.warnings = warnings(found, rig);
        // What is left out is an entry of S, which has no length: the sweep is in the details alone.
        report.ridge = Some(found.lambda);
        Learnt::new(Base::RotationalRegression(Box::new(fitted.model)), None, input, report, SolvedBy::Other)
    }
}

fn warnings(report: &RotationalReport, rig: &Rig) -> Vec<FitWarning> {
    let mut warnings = vec![FitWarning::RotationalUnbounded];
    if !report.barely_held.is_empty() {
        let worst = report.barely_held.iter().map(|b| b.1).fold(0.0, f64::max);
        let (components, all) = (report.barely_held.len(), report.components);
        warnings.push(FitWarning::BarelyHeld { components, all, worst });
    }
    if report.degenerate > 0 || report.lonely > 0 {
        warnings.push(FitWarning::Degenerate { triangles: report.degenerate, vertices: report.lonely });
    }
    for ((_, to), angle) in &report.beyond_half_turn {
        let joint = rig.skeleton().names()[*to].clone();
        warnings.push(FitWarning::BeyondHalfTurn { joint, degrees: angle.to_degrees() });
    }
    warnings
}

impl RotationalModelReport {
    fn new(report: &RotationalReport, rig: &Rig) -> Self {
        let sweep =
            report.sweep.iter().map(|&(ridge, validated_stretch)| ValidatedStretch { ridge, validated_stretch });
        let turned = report.beyond_half_turn.iter().map(|((_, to), angle)| TurnedJoint {
            joint: rig.skeleton().names()[*to].clone(),
            degrees: angle.to_degrees(),
        });
        Self {
            ridge: report.lambda,
            sweep: sweep.collect(),
            triangles: Triangles {
                degenerate: report.degenerate,
                rigid: report.rigid_triangles,
                turning: report.turning_triangles,
            },
            terms: report.terms,
            anchors: report.anchors,
            components: report.components,
            barely_held: report.barely_held.iter().map(|&(vertex, rms)| BarelyHeld { vertex, rms }).collect(),
            vertices_outside_triangles: report.lonely,
            beyond_half_turn: turned.collect(),
            rms_degrees: RmsDegrees { rigid: report.rms_angle.0.to_degrees(), fitted: report.rms_angle.1.to_degrees() },
        }
    }
}
