//! The joint model as a method of [`fit`](crate::fit): settings from options, and its part of the report.

use super::{FitOptions, chosen_by, folds_text, short};
use dermis_fit::joints::{JointReport, JointSettings};
use dermis_rig::{Influences, Mirror, Rig};
use serde_json::{Value, json};

/// The settings of a fit.
pub(super) fn settings(options: &FitOptions, rig: &Rig, weights: &Influences, is_clip: bool) -> JointSettings {
    let mut settings = JointSettings::new(is_clip);
    if options.mirror != Some(false) {
        settings.mirror = Mirror::find(&rig.mesh.positions, &rig.skeleton, weights);
    }
    settings.lambda = options.s;
    settings.frame = options.frame.unwrap_or(settings.frame);
    settings.sigma = options.sigma.unwrap_or(settings.sigma);
    settings.inducing = options.inducing.unwrap_or(settings.inducing);
    settings.inducing_sliding = settings.inducing_sliding.max(settings.inducing);
    settings.folds = options.folds.unwrap_or(settings.folds);
    settings.tolerance = options.tolerance.unwrap_or(settings.tolerance);
    if options.guard == Some(false) {
        (settings.limit, settings.shared_limit, settings.ball) = (f64::INFINITY, false, false);
    }
    settings
}

/// What the report says of the settings.
pub(super) fn lines(settings: &JointSettings, options: &FitOptions, report: &JointReport) -> Vec<(String, String)> {
    let mut lines = vec![
        ("base".to_owned(), format!("{:?}", options.base).to_lowercase()),
        ("frame".into(), format!("{:?}", settings.frame).to_lowercase()),
        ("sigma".into(), settings.sigma.to_string()),
        ("inducing rotations".into(), format!("{} / {} sliding", settings.inducing, settings.inducing_sliding)),
        ("lambda".into(), format!("{}{}", short(report.lambda), chosen_by(options.s.is_some()))),
        ("tolerance of the choice".into(), settings.tolerance.to_string()),
        ("left and right".into(), sides(settings, report)),
        ("guard".into(), if settings.ball { "on".into() } else { "off".into() }),
    ];
    if options.s.is_none() {
        lines.push(("folds".into(), folds_text(settings.folds)));
    }
    lines
}

/// What became of the rig's symmetry.
fn sides(settings: &JointSettings, report: &JointReport) -> String {
    match (&settings.mirror, report.mirrored) {
        (None, _) => "no symmetry used".into(),
        (Some(_), true) => "every example teaches both".into(),
        (Some(_), false) => "symmetric, but mirrored examples do not help".into(),
    }
}

/// The fit's part of the model's report.
pub(super) fn report(report: &JointReport, rig: &Rig) -> Value {
    let name = |bone| &rig.skeleton.names()[bone];
    let joints: Vec<Value> = report
        .joints
        .iter()
        .map(|joint| {
            json!({
                "from": name(joint.from),
                "to": name(joint.to),
                "largest_degrees": 2.0 * (joint.largest / 2.0).min(1.0).asin().to_degrees(),
                "frozen": joint.frozen,
                "inducing": joint.inducing,
            })
        })
        .collect();
    let sweep: Vec<Value> = report.sweep.iter().map(|(s, rms)| json!({"s": s, "validated_rms": rms})).collect();
    let welded: Vec<&String> = report.joints.iter().filter(|j| j.frozen).map(|j| name(j.to)).collect();
    json!({
        "s": report.lambda,
        "sweep": sweep,
        "mirrored": report.mirrored,
        "other_sweep": report.other_sweep.iter().map(|(s, rms)| json!({"s": s, "validated_rms": rms})).collect::<Vec<_>>(),
        "sweep_vertices": report.sweep_vertices,
        "joints": joints,
        "welded_joints": welded,
        "groups": report.groups,
        "train_rms": report.train,
        "largest_residual": report.largest_residual,
        "largest_leverage": report.largest_leverage,
        "leverage_p99": report.leverage_p99,
        "corrected_vertices": report.corrected,
    })
}

/// What the user should know.
pub(super) fn warnings(settings: &JointSettings, report: &JointReport) -> Vec<String> {
    let mut warnings = Vec::new();
    if !settings.ball {
        warnings.push("the guard is off: an unseen pose can move skin further than any example".into());
    }
    if let Some((low, high)) = report.sweep.first().zip(report.sweep.last())
        && report.sweep.len() > 1
        && (report.lambda == high.0 || report.lambda == low.0)
    {
        warnings.push(format!("the chosen lambda = {} is at the edge of its grid", short(report.lambda)));
    }
    if report.joints.iter().all(|joint| joint.inducing == 0) {
        warnings.push("no joint turned by more than 6 degrees in training: only the shared part was learnt".into());
    }
    warnings
}
