//! Multi-weight enveloping as a method of [`fit`](crate::fit): settings from options, and its part of the report.

use super::{AnchorChoice, FitOptions, bone, chosen_by, folds_text, map_lines, short};
use crate::error::Error;
use dermis_fit::Folds;
use dermis_fit::mwe::{Anchor, Centring, MweReport, MweSettings, RidgeMode, SolvePrecision, Strength};
use dermis_rig::Rig;
use serde_json::{Value, json};

/// The settings of multi-weight enveloping for a rig and a number of poses.
pub(super) fn settings(options: &FitOptions, rig: &Rig, poses: usize, is_clip: bool) -> Result<MweSettings, Error> {
    let mut settings = match options.published {
        true => MweSettings::published(1e-3),
        false => MweSettings::for_poses(poses, is_clip),
    };
    if let Some(anchor) = &options.anchor {
        settings.anchor = match anchor {
            AnchorChoice::World => Anchor::World,
            AnchorChoice::Root => Anchor::Root,
            AnchorChoice::Dominant => Anchor::Dominant,
            AnchorChoice::Bone(name) => Anchor::Bone(bone(rig, name)?),
            AnchorChoice::PerVertex(names) => {
                Anchor::PerVertex(names.iter().map(|name| bone(rig, name)).collect::<Result<_, _>>()?)
            }
        };
    }
    let folds = options.folds.unwrap_or(if is_clip { Folds::Blocks(5) } else { Folds::Single });
    if let Some(ridge) = options.ridge {
        settings.ridge = ridge;
        if ridge != RidgeMode::Absolute {
            settings.grid = dermis_fit::mwe::half_decades(1e-10, 10.0);
            settings.tolerance = 1.0;
        }
    }
    settings.strength = match (options.s, options.gcv) {
        (Some(s), _) => Strength::Given(s),
        (None, true) => Strength::Gcv,
        (None, false) if options.published && options.folds.is_none() => settings.strength,
        (None, false) => Strength::CrossValidated(folds),
    };
    settings.rows = options.rows.unwrap_or(settings.rows);
    settings.centring = options.centring.unwrap_or(settings.centring);
    settings.tolerance = options.tolerance.unwrap_or(settings.tolerance);
    settings.eig_tol = options.eig_tol.unwrap_or(settings.eig_tol);
    settings.svd_tol = options.svd_tol.unwrap_or(settings.svd_tol);
    settings.solve_in = options.solve_in.unwrap_or(settings.solve_in);
    settings.duplicates = options.duplicates.unwrap_or(settings.duplicates);
    settings.guard = options.guard.unwrap_or(settings.guard);
    Ok(settings)
}

/// How s is validated, for the report.
pub(super) fn validated_by(settings: &MweSettings) -> String {
    match settings.strength {
        Strength::CrossValidated(folds) => folds_text(folds),
        Strength::Gcv => "generalised cross-validation".into(),
        Strength::Given(_) => String::new(),
    }
}

/// What the report says of the settings.
pub(super) fn lines(settings: &MweSettings, options: &FitOptions, report: &MweReport) -> Vec<(String, String)> {
    let mut lines = vec![("base".to_owned(), format!("{:?}", options.base).to_lowercase())];
    lines.extend(map_lines(options));
    let anchor = match &settings.anchor {
        Anchor::PerVertex(_) => "per vertex".into(),
        Anchor::Bone(_) => format!("{:?}", options.anchor),
        other => format!("{other:?}").to_lowercase(),
    };
    let given = matches!(settings.strength, Strength::Given(_));
    lines.extend([
        ("anchor".into(), anchor),
        ("rows".into(), format!("{:?}", report.rows).to_lowercase()),
        ("centring".into(), format!("{:?}", settings.centring).to_lowercase()),
        ("ridge".into(), format!("{:?}", settings.ridge).to_lowercase()),
        ("s".into(), format!("{}{}", short(report.s), chosen_by(given))),
        ("tolerance of the choice".into(), settings.tolerance.to_string()),
        ("duplicates".into(), format!("{:e}", settings.duplicates)),
        ("eig-tol / svd-tol".into(), format!("{:e} / {:e}", settings.eig_tol, settings.svd_tol)),
        ("guard".into(), if settings.guard { "on".into() } else { "off".into() }),
    ]);
    if settings.solve_in == SolvePrecision::Single {
        lines.push(("solved in single precision".into(), format!("{} vertices", report.in_single)));
    }
    if let Strength::CrossValidated(folds) = settings.strength {
        lines.push(("folds".into(), folds_text(folds)));
    }
    lines
}

/// The fit's part of the model's report.
pub(super) fn report(report: &MweReport, rig: &Rig) -> Value {
    let sweep: Vec<Value> =
        report.sweep.iter().map(|p| json!({"s": p.s, "train_rms": p.train, "validated_rms": p.validated})).collect();
    let welded: Vec<&String> = report.welded.iter().map(|&b| &rig.skeleton.names()[b]).collect();
    json!({
        "s": report.s,
        "rows": format!("{:?}", report.rows).to_lowercase(),
        "sweep": sweep,
        "welded_joints": welded,
        "groups": report.groups,
        "merged_poses": report.merged,
        "solved_by_axes": report.by_axes,
        "solved_in_single": report.in_single,
        "axes_dropped": report.axes_dropped,
        "largest_leverage": report.largest_leverage,
        "leverage_p99": report.leverage_p99,
        "corrected_vertices": report.corrected,
    })
}

/// What the user should know.
pub(super) fn warnings(settings: &MweSettings, report: &MweReport) -> Vec<String> {
    let mut warnings = Vec::new();
    if !settings.guard {
        warnings.push("the guard is off: an unseen pose can move skin without limit".into());
    }
    if settings.ridge != RidgeMode::Absolute {
        warnings.push(format!(
            "this ridge vanishes where training hardly moved, and the leverage of an unseen pose has no bound; that of a \
             training pose is at most {:.3}",
            report.largest_leverage
        ));
    }
    if settings.anchor == Anchor::World {
        warnings.push("features are those of the world: the skin changes when the whole character turns".into());
    }
    if settings.centring == Centring::Paper || settings.centring == Centring::Mean || settings.centring == Centring::Raw
    {
        warnings.push("this centring does not keep the bind pose exact".into());
    }
    let edge = report.sweep.first().zip(report.sweep.last());
    if let Some((low, high)) = edge
        && report.sweep.len() > 1
        && (report.s == high.s || report.s == low.s)
    {
        warnings.push(format!("the chosen s = {} is at the edge of its grid", short(report.s)));
    }
    warnings
}
