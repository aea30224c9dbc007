//! Rotational regression as a method of [`fit`](crate::fit): settings from options, and its part of the report.

use super::{FitOptions, chosen_by, folds_text, short};
use dermis_fit::{RotationalReport, RotationalSettings};
use dermis_rig::Rig;
use serde_json::{Value, json};

/// The settings of rotational regression. A strength s is the ridge of the stretches.
pub(super) fn settings(options: &FitOptions, is_clip: bool) -> RotationalSettings {
    let mut settings = RotationalSettings::new(is_clip);
    settings.ridge = options.s;
    settings.folds = options.folds.unwrap_or(settings.folds);
    settings.tolerance = options.tolerance.unwrap_or(settings.tolerance);
    settings
}

/// What the report says of the settings.
pub(super) fn lines(settings: &RotationalSettings, report: &RotationalReport) -> Vec<(String, String)> {
    vec![
        ("ridge of stretches".into(), format!("{}{}", short(report.ridge), chosen_by(settings.ridge.is_some()))),
        ("folds".into(), folds_text(settings.folds)),
        ("tolerance of the choice".into(), settings.tolerance.to_string()),
        ("joints around a bone".into(), settings.rings.to_string()),
        ("held to bones within".into(), format!("{:e} rest diagonals", settings.rigid)),
    ]
}

/// The fit's part of the model's report.
pub(super) fn report(report: &RotationalReport, rig: &Rig) -> Value {
    let names = rig.skeleton.names();
    json!({
        "ridge": report.ridge,
        "sweep": report.sweep.iter().map(|(ridge, rms)| json!({"ridge": ridge, "validated_stretch": rms})).collect::<Vec<_>>(),
        "triangles": { "degenerate": report.degenerate, "rigid": report.rigid_triangles, "turning": report.turning_triangles },
        "terms": report.terms,
        "anchors": report.anchors,
        "components": report.components,
        "barely_held": report.barely_held.iter().map(|(v, d)| json!({"vertex": v, "rms": d})).collect::<Vec<_>>(),
        "vertices_outside_triangles": report.lonely,
        "beyond_half_turn": report.beyond_half_turn.iter()
            .map(|((_, to), angle)| json!({"joint": names[*to], "degrees": angle.to_degrees()})).collect::<Vec<_>>(),
        "rms_degrees": { "rigid": report.rms_angle.0.to_degrees(), "fitted": report.rms_angle.1.to_degrees() },
    })
}

/// What the user should know.
pub(super) fn warnings(report: &RotationalReport, rig: &Rig) -> Vec<String> {
    let mut warnings = vec![
        "rotational regression bounds how far triangles turn and stretch, but has no ball around linear blending"
            .into(),
    ];
    if !report.barely_held.is_empty() {
        let worst = report.barely_held.iter().map(|b| b.1).fold(0.0, f64::max);
        warnings.push(format!(
            "{} of {} parts of the surface have no rigid skin and are held by one vertex each, whose bone misses it by up to {} m rms",
            report.barely_held.len(),
            report.components,
            short(worst)
        ));
    }
    if report.degenerate > 0 || report.lonely > 0 {
        warnings.push(format!(
            "{} triangles have no area; {} vertices belong to none that has, and follow linear blending",
            report.degenerate, report.lonely
        ));
    }
    for ((_, to), angle) in &report.beyond_half_turn {
        warnings.push(format!(
            "the examples turn the joint of \"{}\" by up to {:.0} degrees; poses are taken for the turn nearest to theirs",
            rig.skeleton.names()[*to],
            angle.to_degrees()
        ));
    }
    warnings
}
