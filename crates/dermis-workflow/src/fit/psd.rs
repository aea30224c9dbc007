//! Pose-space deformation and its relatives as methods of [`fit`](crate::fit): settings from options, and their part of the
//! report.

use super::{FitOptions, MapSource, Method, chosen_by, folds_text, map_lines, short};
use crate::error::Error;
use dermis_deform::pose_space::{Coordinates, Family};
use dermis_deform::{Base, Correction};
use dermis_fit::maps::MapSettings;
use dermis_fit::psd::compile::{Budget, BudgetPoint, Compiler};
use dermis_fit::psd::eigenskin::{EigenSkinReport, Kept, fit_eigenskin};
use dermis_fit::psd::{self, ChannelSetting, Form, PsdReport, PsdSettings, Reach, Singular, fit_blend_shapes, fit_psd};
use dermis_fit::{Progress, Training};
use dermis_rig::{ExampleSet, Influences, Mirror, Rig};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What a caller sets of pose-space deformation and its relatives; `None` is the method's own default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoseSpaceOptions {
    /// Where displacements live.
    pub form: Option<Form>,
    /// What rotations become before poses are compared.
    pub coordinates: Option<Coordinates>,
    /// Channels of the poses that are coordinates, too, each with its scale.
    pub channels: Vec<(String, Option<f64>)>,
    /// Which joints count for a vertex.
    pub reach: Option<Reach>,
    /// The kernel.
    pub family: Option<Family>,
    /// Whether the coordinates are regressed before kernels interpolate.
    pub linear: bool,
    /// Whether examples say nothing of vertices they leave where the base has them.
    pub sparse: bool,
    /// What happens where the base is nearly singular.
    pub singular: Option<Singular>,
    /// Shapes per joint of EigenSkin.
    pub kept: Option<Kept>,
    /// Compile the fitted model within a budget.
    pub budget: Option<Budget>,
    /// Whether the rings of [`FitOptions::map_settings`] are meant, not the best of fewer and fewer.
    pub rings_given: bool,
}

/// A fit, and what is to be said of it.
pub(super) struct PoseSpaceFit {
    pub correction: Correction,
    pub lines: Vec<(String, String)>,
    pub report: Value,
    pub warnings: Vec<String>,
    pub sweep: Vec<(f64, f64, f64)>,
    pub smoothing: f64,
    pub validated_by: String,
}

/// The settings of pose-space deformation. A strength s is its smoothing, and zero interpolates.
fn settings(options: &FitOptions, rig: &Rig, examples: &ExampleSet) -> Result<PsdSettings, Error> {
    let mut settings = PsdSettings::new(examples.is_clip());
    let own = &options.pose_space;
    settings.form = own.form.unwrap_or(settings.form);
    settings.coordinates = own.coordinates.unwrap_or(settings.coordinates);
    settings.reach = own.reach.unwrap_or(settings.reach);
    settings.family = own.family;
    (settings.linear, settings.sparse) = (own.linear, own.sparse);
    settings.singular = own.singular.unwrap_or(settings.singular);
    settings.channels = channels(&own.channels, examples)?;
    if options.mirror == Some(true) {
        let weights = super::weights_of(rig)?;
        let mirror = Mirror::find(&rig.mesh.positions, &rig.skeleton, weights);
        settings.mirror = Some(mirror.ok_or_else(|| {
            Error::Option(format!("--mirror on: the rig \"{}\" has no left and right that match", rig.name))
        })?);
    }
    settings.sigma = options.sigma;
    settings.smoothing = options.s.map(|s| s.max(psd::EXACT));
    settings.folds = options.folds.unwrap_or(settings.folds);
    settings.duplicates = options.duplicates.unwrap_or(settings.duplicates);
    settings.guard = options.guard.unwrap_or(settings.guard);
    Ok(settings)
}

/// Channels by name, where the examples have them.
fn channels(wanted: &[(String, Option<f64>)], examples: &ExampleSet) -> Result<Vec<ChannelSetting>, Error> {
    let known: BTreeSet<&str> =
        examples.examples().iter().flat_map(|e| e.transforms.channels()).map(|(name, _)| &**name).collect();
    let find = |(name, scale): &(String, Option<f64>)| match known.contains(name.as_str()) {
        true => Ok(ChannelSetting { name: name.clone(), scale: *scale }),
        false => Err(Error::Option(format!(
            "the examples have no channel \"{name}\"; they have {}",
            if known.is_empty() { "none".into() } else { known.iter().copied().collect::<Vec<_>>().join(", ") }
        ))),
    };
    wanted.iter().map(find).collect()
}

/// The influence maps to choose from: those of the options, and where they are derived from weights those of fewer rings.
pub(super) fn candidate_maps(
    rig: &Rig,
    examples: &ExampleSet,
    options: &FitOptions,
    progress: Progress<'_>,
) -> Result<Vec<Influences>, Error> {
    let derived = match options.maps {
        MapSource::Auto => rig.influence_maps.is_none(),
        MapSource::Weights => true,
        _ => false,
    };
    let fewer = derived && !options.pose_space.rings_given && options.pose_space.reach != Some(Reach::Global);
    let first = options.map_settings.rings;
    let last = if fewer { 0 } else { first };
    let with = |rings: usize| {
        let map_settings = MapSettings { rings, ..options.map_settings };
        super::maps_of(rig, examples, &FitOptions { map_settings, ..options.clone() }, progress)
    };
    (last..=first).rev().map(with).collect()
}

/// Fits one of [`Method::Psd`], [`Method::EigenSkin`], [`Method::PoseBlendshapes`].
pub(super) fn fit(
    training: &Training<'_>,
    base: &Base,
    maps: &[Influences],
    options: &FitOptions,
    rig: &Rig,
    examples: &ExampleSet,
    progress: Progress<'_>,
) -> Result<PoseSpaceFit, Error> {
    let chosen = settings(options, rig, examples)?;
    let kept = options.pose_space.kept.unwrap_or_default();
    let (mut correction, own, eigenskin): (Correction, PsdReport, Option<EigenSkinReport>) = match options.method {
        Method::EigenSkin => {
            let (shapes, report) = fit_eigenskin(training, base, maps, &chosen, kept, progress)?;
            (shapes.into(), report.psd.clone(), Some(report))
        }
        Method::PoseBlendshapes => {
            let fitted = fit_blend_shapes(training, base, maps, &chosen, progress)?;
            (fitted.correction.into(), fitted.report, None)
        }
        _ => {
            let fitted = fit_psd(training, base, maps, &chosen, progress)?;
            (fitted.correction.into(), fitted.report, None)
        }
    };
    let mut lines = lines(&chosen, options, &own);
    let mut report = report(&own, rig);
    let mut warnings = warnings(&chosen, &own, options.method);
    if let Some(eigenskin) = &eigenskin {
        let shapes: usize = eigenskin.joints.iter().map(|j| j.2).sum();
        lines.push(("shapes".into(), format!("{shapes} of {} joints", eigenskin.joints.len())));
        let name = |bone: usize| rig.skeleton.names().as_slice().get(bone).cloned().unwrap_or_default();
        let joint = |&(from, to, shapes, energy): &(usize, usize, usize, f64)| json!({"from": name(from), "to": name(to), "shapes": shapes, "energy": energy});
        report["joints"] = eigenskin.joints.iter().map(joint).collect();
    }
    if let (Some(budget), Correction::PoseSpace(model)) = (options.pose_space.budget, &correction) {
        let compiler = Compiler::new(model)?;
        let (shapes, point) = compiler.compile(budget)?;
        lines.push(("compiled".into(), format!("{} shapes, {} kernels", point.shapes, point.kernel_values)));
        report["budgets"] = budgets(&compiler, budget, &point)?;
        if !model.remainders.vertices.is_empty() {
            warnings.push(format!(
                "{} vertices keep a part of their examples beside the displacement, which no shape holds: it is dropped",
                model.remainders.vertices.len()
            ));
        }
        correction = shapes.into();
    } else if options.pose_space.budget.is_some() {
        return Err(Error::Option("--budget serves --method psd and pose-blendshapes: EigenSkin has --energy".into()));
    }
    let at_sigma = own.sweep.iter().filter(|p| p.sigma == own.sigma);
    Ok(PoseSpaceFit {
        correction,
        lines,
        report,
        warnings,
        sweep: at_sigma.map(|p| (p.smoothing, f64::NAN, p.validated)).collect(),
        smoothing: own.smoothing,
        validated_by: folds_text(chosen.folds),
    })
}

/// What other budgets would cost: half, a quarter, …, twice and four times the shapes.
fn budgets(compiler: &Compiler<'_>, chosen: Budget, point: &BudgetPoint) -> Result<Value, Error> {
    let mut points = vec![*point];
    for factor in [0.125, 0.25, 0.5, 2.0, 4.0] {
        let shapes = (chosen.shapes as f64 * factor).round() as usize;
        // Twice what there is costs the same.
        if shapes > 0 && (factor < 1.0 || chosen.shapes < compiler.most()) {
            points.push(compiler.compile(Budget { shapes, ..chosen })?.1);
        }
    }
    points.sort_by_key(|p| p.shapes);
    points.dedup_by_key(|p| p.shapes);
    let line = |p: &BudgetPoint| {
        json!({
            "shapes": p.shapes, "kernels_per_region": p.budget.centres, "kernel_values": p.kernel_values,
            "terms": p.terms, "rms_training": p.trained, "rms_unseen": p.unseen, "rms_displacement": p.size,
        })
    };
    Ok(points.iter().map(line).collect())
}

/// What the report says of the settings.
fn lines(settings: &PsdSettings, options: &FitOptions, report: &PsdReport) -> Vec<(String, String)> {
    let mut lines = vec![("base".to_owned(), format!("{:?}", options.base).to_lowercase())];
    // Candidates have fewer and fewer rings.
    let rings = options.map_settings.rings - report.maps;
    let map_settings = MapSettings { rings, ..options.map_settings };
    lines.extend(map_lines(&FitOptions { map_settings, ..options.clone() }));
    let coordinates = match settings.coordinates {
        Coordinates::Chord => "chord".into(),
        Coordinates::RotationVector => "rotation vector".into(),
        Coordinates::Euler => "euler".into(),
        Coordinates::SwingTwist { swing, twist } => format!("swing {swing}, twist {twist}"),
    };
    lines.push(("form".into(), format!("{:?}", settings.form).to_lowercase()));
    lines.push(("coordinates".into(), coordinates));
    lines.push(("pose space".into(), format!("{:?}", settings.reach).to_lowercase()));
    if options.method == Method::Psd {
        let linear = if settings.linear { ", after a linear term" } else { "" };
        let chosen = chosen_by(settings.family.is_some());
        lines.push(("kernel".into(), format!("{}{chosen}{linear}", format!("{:?}", report.family).to_lowercase())));
    }
    if options.method != Method::PoseBlendshapes {
        lines.push(("sigma".into(), format!("{}{}", short(report.sigma), chosen_by(settings.sigma.is_some()))));
    }
    lines.extend([
        ("smoothing".into(), format!("{}{}", short(report.smoothing), chosen_by(settings.smoothing.is_some()))),
        ("duplicates".into(), format!("{:e}", settings.duplicates)),
        ("sparse examples".into(), if settings.sparse { "yes".into() } else { "no".into() }),
        ("left and right".into(), if settings.mirror.is_some() { "mirrored".into() } else { "apart".into() }),
        ("guard".into(), if settings.guard { "on".into() } else { "off".into() }),
        ("folds".into(), folds_text(settings.folds)),
    ]);
    for channel in &settings.channels {
        let scale = channel.scale.map_or("one over its largest value".into(), |scale| scale.to_string());
        lines.push((format!("channel {}", channel.name), format!("times {scale}")));
    }
    if let Singular::Published { lambda, epsilon } = settings.singular {
        lines.push(("singular poses".into(), format!("as published, lambda {lambda:e}, epsilon {epsilon:e}")));
    }
    lines
}

/// The fit's part of the model's report.
fn report(report: &PsdReport, rig: &Rig) -> Value {
    let point = |p: &psd::PsdPoint| json!({"sigma": p.sigma, "smoothing": p.smoothing, "validated_rms": p.validated});
    let welded: Vec<&String> = report.welded.iter().map(|&b| &rig.skeleton.names()[b]).collect();
    json!({
        "kernel": format!("{:?}", report.family).to_lowercase(),
        "sigma": report.sigma,
        "smoothing": report.smoothing,
        "sweep": report.sweep.iter().map(point).collect::<Vec<_>>(),
        "scored_vertices": report.scored,
        "spacing": report.spacing,
        "welded_joints": welded,
        "influence_maps_candidate": report.maps,
        "groups": report.groups,
        "kernel_values": report.kernel_values,
        "corrected_vertices": report.corrected,
        "raised_groups": report.raised,
        "reciprocal_condition": report.reciprocal_condition,
        "damped": report.damped,
        "largest_remainder": report.largest_remainder,
        "vertices_with_remainder": report.remainders,
        "cancellation": report.cancellation,
    })
}

/// What the user should know.
fn warnings(settings: &PsdSettings, report: &PsdReport, method: Method) -> Vec<String> {
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
    if report.damped > 0 && report.largest_remainder > 0.0 {
        let kept = match method {
            Method::Psd => "what that leaves, up to {} m, is kept in the frame of the dominant bone",
            _ => "up to {} m of an example is not reproduced there",
        };
        warnings.push(format!(
            "the base is nearly singular at {} vertices in some example; displacements are damped there, and {}",
            report.damped,
            kept.replace("{}", &short(report.largest_remainder))
        ));
    }
    if let Singular::Published { .. } = settings.singular {
        warnings.push("singular poses as published: the examples are not met".into());
    }
    warnings
}
