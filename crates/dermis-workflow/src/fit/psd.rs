//! Pose-space deformation as a method of [`fit`](crate::fit): settings from options, and its part of the report.

use super::{FitOptions, chosen_by, folds_text, map_lines, short};
use dermis_fit::psd::{self, Form, PsdReport, PsdSettings};
use dermis_rig::Rig;
use serde_json::{Value, json};

/// The settings of pose-space deformation. A strength s is its smoothing, and zero interpolates.
pub(super) fn settings(options: &FitOptions, is_clip: bool) -> PsdSettings {
    let mut settings = PsdSettings::new(is_clip);
    settings.form = options.form.unwrap_or(settings.form);
    settings.sigma = options.sigma;
    settings.smoothing = options.s.map(|s| s.max(psd::EXACT));
    settings.folds = options.folds.unwrap_or(settings.folds);
    settings.duplicates = options.duplicates.unwrap_or(settings.duplicates);
    settings.guard = options.guard.unwrap_or(settings.guard);
    settings
}

/// What the report says of the settings.
pub(super) fn lines(settings: &PsdSettings, options: &FitOptions, report: &PsdReport) -> Vec<(String, String)> {
    let mut lines = vec![("base".to_owned(), format!("{:?}", options.base).to_lowercase())];
    lines.extend(map_lines(options));
    lines.extend([
        ("form".into(), format!("{:?}", settings.form).to_lowercase()),
        ("sigma".into(), format!("{}{}", short(report.sigma), chosen_by(settings.sigma.is_some()))),
        ("smoothing".into(), format!("{}{}", short(report.smoothing), chosen_by(settings.smoothing.is_some()))),
        ("duplicates".into(), format!("{:e}", settings.duplicates)),
        ("guard".into(), if settings.guard { "on".into() } else { "off".into() }),
        ("folds".into(), folds_text(settings.folds)),
    ]);
    lines
}

/// The fit's part of the model's report.
pub(super) fn report(report: &PsdReport, rig: &Rig) -> Value {
    let point = |p: &psd::PsdPoint| json!({"sigma": p.sigma, "smoothing": p.smoothing, "validated_rms": p.validated});
    let welded: Vec<&String> = report.welded.iter().map(|&b| &rig.skeleton.names()[b]).collect();
    json!({
        "sigma": report.sigma,
        "smoothing": report.smoothing,
        "sweep": report.sweep.iter().map(point).collect::<Vec<_>>(),
        "scored_vertices": report.scored,
        "spacing": report.spacing,
        "welded_joints": welded,
        "groups": report.groups,
        "kernel_values": report.kernel_values,
        "corrected_vertices": report.corrected,
        "raised_groups": report.raised,
        "reciprocal_condition": report.reciprocal_condition,
        "damped": report.damped,
        "largest_remainder": report.largest_remainder,
        "cancellation": report.cancellation,
    })
}

/// What the user should know.
pub(super) fn warnings(settings: &PsdSettings, report: &PsdReport) -> Vec<String> {
    let mut warnings = Vec::new();
    if !settings.guard {
        warnings.push("the guard is off: an unseen pose can move skin farther than any example did".into());
    }
    if settings.form == Form::Forward {
        warnings.push("displacements are those of the world: the skin changes when the whole character turns".into());
    }
    if report.raised > 0 {
        warnings.push(format!(
            "{} of {} systems cannot be solved or run with a smoothing of {}; theirs was raised",
            report.raised,
            report.groups,
            short(report.smoothing)
        ));
    }
    // Kernel values and weights are rounded to 2⁻²⁴ of their size when the model is baked.
    let rounding = report.cancellation * 2f64.powi(-24);
    if rounding > 1e-3 {
        warnings.push(format!(
            "weights are up to {} times the largest displacement and cancel: in f32 that may cost {} of it; a larger \
             smoothing or a smaller sigma helps",
            short(report.cancellation),
            short(rounding)
        ));
    }
    if report.damped > 0 {
        warnings.push(format!(
            "the base is nearly singular at {} vertices in some example; up to {} m of an example is not reproduced there",
            report.damped,
            short(report.largest_remainder)
        ));
    }
    warnings
}
