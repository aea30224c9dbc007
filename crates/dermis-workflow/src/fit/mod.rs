//! Fitting: from a rig and examples to a model with its report.

mod joint;
mod mwe;
mod options;
mod psd;
pub mod ridge;
mod rotational;
mod stream;
mod weights;

pub use options::{AnchorChoice, BaseChoice, FitOptions, MapSource, Method};
pub use psd::PoseSpaceOptions;
pub use stream::Summing;
pub use weights::{CandidateSource, WeightOptions};

use crate::error::Error;
use crate::load::LoadedRig;
use crate::measure::{Scores, measure};
use dermis_deform::baked::Precision;
use dermis_deform::training::{TrainingPoses, moves_skin};
use dermis_deform::{Base, Correction, Deformer, DualQuaternions};
use dermis_fit::joints::{JointReport, joint_leverages};
use dermis_fit::maps;
use dermis_fit::mwe::{MweReport, fit_mwe, leverages};
use dermis_fit::{
    AnimationSpaceSettings, BasePoses, Folds, Progress, Training, fit_animation_space, fit_joints,
    fit_rotational_regression,
};
use dermis_io::{ModelFile, ModelHeader};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneTransforms, ExampleSet, Influences, Mirror, Rig};
use serde_json::json;
use std::time::Instant;

fn bone(rig: &Rig, name: &str) -> Result<BoneIndex, Error> {
    rig.skeleton.find(name).ok_or_else(|| Error::Option(format!("the rig \"{}\" has no bone \"{name}\"", rig.name)))
}

/// A fitted model, with what only the fit knows.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The model.
    pub model: ModelFile,
    /// Seconds the fit took, files not counted.
    pub seconds: f64,
    /// The sweep over the ridge: (s, training rms or NaN, validated rms), metres.
    pub sweep: Vec<(f64, f64, f64)>,
    /// The ridge used, if the method has one.
    pub s: Option<f64>,
    /// How the sweep was validated.
    pub validated_by: String,
    /// The report of multi-weight enveloping.
    pub mwe: Option<MweReport>,
    /// The report of the joint model.
    pub joint: Option<JointReport>,
    /// Things the user should know.
    pub warnings: Vec<String>,
}

/// The largest leverage a fitted correction has on poses it never saw, over 400 vertices; `None` for other methods.
///
/// # Errors
/// As [`fit`].
pub fn unseen_leverage(
    fitted: &Fitted,
    examples: &ExampleSet,
    given: Option<&[Vec<DVec3>]>,
    unseen: &ExampleSet,
    options: &FitOptions,
) -> Result<Option<f64>, Error> {
    if fitted.mwe.is_none() && fitted.joint.is_none() {
        return Ok(None);
    }
    let rig = &fitted.model.rig;
    let mut base = base_of(rig, options.base)?;
    let base_positions = match given {
        Some(given) => given.to_vec(),
        None if fitted.mwe.is_some() && has_closed_form(&base) => vec![],
        None => base_positions(&mut base, rig, examples),
    };
    let at = |transforms: &BoneTransforms, v: usize| base_at(&base, rig, transforms, v);
    let poses = if base_positions.is_empty() { BasePoses::Computed(&at) } else { (&base_positions).into() };
    let training = training_of(rig, examples, poses);
    let probes: Vec<&BoneTransforms> = unseen.examples().iter().map(|e| &e.transforms).collect();
    let all = match (&fitted.mwe, &fitted.joint) {
        (Some(report), _) => {
            let settings = mwe::settings(options, rig, examples.len(), examples.is_clip())?;
            leverages(
                &training,
                &maps_of(rig, examples, options, &dermis_fit::silent)?,
                &settings,
                report,
                &probes,
                LEVERAGE_VERTICES,
            )?
        }
        (None, Some(report)) => {
            let weights = weights_of(rig)?;
            let settings = joint::settings(options, rig, weights, examples.is_clip());
            joint_leverages(&training, weights, &settings, report, &probes, LEVERAGE_VERTICES)?
        }
        (None, None) => vec![],
    };
    Ok(all.into_iter().reduce(f64::max))
}

/// Fits a model.
///
/// `given` are the base's positions per example, for [`BaseChoice::Given`].
///
/// # Errors
/// [`Error`]: settings that do not fit the rig, a failed fit, cancellation.
pub fn fit(
    loaded: &LoadedRig,
    examples: &ExampleSet,
    given: Option<&[Vec<DVec3>]>,
    options: &FitOptions,
    progress: Progress<'_>,
) -> Result<Fitted, Error> {
    let start = Instant::now();
    let rig = &loaded.rig;
    let choice = match options.method {
        Method::OwnWeights => BaseChoice::Lbs,
        Method::Dqs => BaseChoice::Dqs,
        Method::Mwe | Method::Joint | Method::Psd | Method::EigenSkin | Method::PoseBlendshapes => options.base,
        Method::AnimationSpace | Method::Lbs | Method::RotationalRegression => BaseChoice::Given,
    };
    let mut base = base_of(rig, choice)?;
    let (mut warnings, mut sweep, mut s, mut validated_by) = (Vec::new(), Vec::new(), None, String::new());
    let mut settings = vec![("method".to_owned(), options.method.to_string())];
    let mut report = json!({});
    let (mut correction, mut mwe, mut joint): (Option<Correction>, _, _) = (None, None, None);
    let (mut mirror, mut own_weights): (Option<Mirror>, Option<Influences>) = (None, None);
    match options.method {
        Method::OwnWeights | Method::Dqs => {}
        Method::Lbs => {
            let fitted = weights::fit(rig, examples, options, progress)?;
            settings.extend(fitted.lines);
            report = fitted.report;
            warnings.extend(fitted.warnings);
            base = Base::Lbs(fitted.weights.clone());
            own_weights = Some(fitted.weights);
        }
        Method::AnimationSpace => {
            let maps = maps_of(rig, examples, options, progress)?;
            let mut chosen = AnimationSpaceSettings::for_poses(examples.is_clip());
            chosen.ridge = options.s;
            chosen.folds = options.folds.unwrap_or(chosen.folds);
            chosen.tolerance = options.tolerance.unwrap_or(chosen.tolerance);
            let training = training_of(rig, examples, BasePoses::NONE);
            let fitted = fit_animation_space(&training, &maps, rig.weights.as_ref(), &chosen, progress)?;
            settings.extend(map_lines(options));
            settings.push(("ridge".into(), format!("{}{}", short(fitted.ridge), chosen_by(options.s.is_some()))));
            settings.push(("folds".into(), folds_text(chosen.folds)));
            validated_by = folds_text(chosen.folds);
            report = json!({"ridge": fitted.ridge});
            sweep = fitted.sweep.iter().map(|&(l, e)| (l, f64::NAN, e)).collect();
            s = Some(fitted.ridge);
            base = Base::AnimationSpace(fitted.space);
            warnings.push("animation space has no bound: a pose far from training can move skin without limit".into());
        }
        Method::Mwe => {
            let maps = maps_of(rig, examples, options, progress)?;
            let stored = match has_closed_form(&base) {
                true => vec![],
                false => base_in_training(&mut base, rig, examples, given)?,
            };
            let at = |transforms: &BoneTransforms, v: usize| base_at(&base, rig, transforms, v);
            let poses = if has_closed_form(&base) { BasePoses::Computed(&at) } else { (&stored).into() };
            let chosen = mwe::settings(options, rig, examples.len(), examples.is_clip())?;
            let training = training_of(rig, examples, poses);
            let fitted = fit_mwe(&training, &maps, &chosen, progress)?;
            settings.extend(mwe::lines(&chosen, options, &fitted.report));
            report = mwe::report(&fitted.report, rig);
            validated_by = mwe::validated_by(&chosen);
            warnings.extend(mwe::warnings(&chosen, &fitted.report));
            sweep = fitted.report.sweep.iter().map(|p| (p.s, p.train, p.validated)).collect();
            s = Some(fitted.report.s);
            correction = Some(fitted.correction.into());
            mwe = Some(fitted.report);
        }
        Method::Joint => {
            let weights = weights_of(rig)?;
            let base_positions = base_in_training(&mut base, rig, examples, given)?;
            let chosen = joint::settings(options, rig, weights, examples.is_clip());
            let training = training_of(rig, examples, (&base_positions).into());
            let fitted = fit_joints(&training, weights, &chosen, progress)?;
            settings.extend(joint::lines(&chosen, options, &fitted.report));
            report = joint::report(&fitted.report, rig);
            if options.s.is_none() {
                validated_by = folds_text(chosen.folds);
            }
            warnings.extend(joint::warnings(&chosen, &fitted.report));
            sweep = fitted.report.sweep.iter().map(|&(lambda, rms)| (lambda, f64::NAN, rms)).collect();
            s = Some(fitted.report.lambda);
            correction = Some(fitted.correction.into());
            mirror = chosen.mirror.filter(|_| fitted.report.mirrored);
            joint = Some(fitted.report);
        }
        Method::RotationalRegression => {
            let weights = weights_of(rig)?;
            let chosen = rotational::settings(options, examples.is_clip());
            let training = training_of(rig, examples, BasePoses::NONE);
            let fitted = fit_rotational_regression(&training, &rig.mesh.triangles, weights, &chosen, progress)?;
            settings.extend(rotational::lines(&chosen, &fitted.report));
            report = rotational::report(&fitted.report, rig);
            validated_by = folds_text(chosen.folds);
            warnings.extend(rotational::warnings(&fitted.report, rig));
            // What is left out is an entry of S, which has no length: the sweep is in the report alone.
            s = Some(fitted.report.ridge);
            base = Base::RotationalRegression(Box::new(fitted.model));
        }
        Method::Psd | Method::EigenSkin | Method::PoseBlendshapes => {
            let maps = psd::candidate_maps(rig, examples, options, progress)?;
            let base_positions = base_in_training(&mut base, rig, examples, given)?;
            let training = training_of(rig, examples, (&base_positions).into());
            let fitted = psd::fit(&training, &base, &maps, options, rig, examples, progress)?;
            settings.extend(fitted.lines);
            warnings.extend(fitted.warnings);
            (report, sweep, validated_by) = (fitted.report, fitted.sweep, fitted.validated_by);
            s = Some(fitted.smoothing);
            correction = Some(fitted.correction);
        }
    }
    let own = || examples.examples().iter().map(|e| &e.transforms);
    let images: Vec<BoneTransforms> = mirror.iter().flat_map(|mirror| own().map(|pose| mirror.pose(pose))).collect();
    let poses: Vec<&BoneTransforms> = own().chain(&images).collect();
    let header = ModelHeader { method: options.method.to_string(), program: crate::PROGRAM.into(), settings, report };
    let model = model_of(loaded, base, correction, own_weights, &poses, options.precision, header);
    Ok(Fitted { model, seconds: start.elapsed().as_secs_f64(), sweep, s, validated_by, mwe, joint, warnings })
}

/// A model with the poses it was trained on.
fn model_of(
    loaded: &LoadedRig,
    base: Base,
    correction: Option<Correction>,
    own_weights: Option<Influences>,
    poses: &[&BoneTransforms],
    precision: Precision,
    mut header: ModelHeader,
) -> ModelFile {
    let rig = &loaded.rig;
    let length = rig.mesh.diagonal();
    let deformer = Deformer { rest: rig.mesh.positions.clone(), base, correction };
    let moving = own_weights
        .as_ref()
        .or(rig.weights.as_ref())
        .map_or(vec![true; rig.skeleton.len()], |w| moves_skin(&rig.skeleton, w));
    let training = TrainingPoses::new(&rig.skeleton, &moving, poses, if length > 0.0 { length } else { 1.0 });
    let mut baked = deformer.into_baked();
    if precision == Precision::Sixteen {
        let single = baked.clone();
        baked = baked.with_precision(precision);
        let off = baked.largest_difference(&single, poses.iter().copied());
        let said = format!("16 bits, at most {off:.1e} m from f32 over the training poses");
        header.settings.push(("coefficients".into(), said));
    }
    ModelFile {
        rig: rig.clone(),
        weights: own_weights,
        space: loaded.space.clone(),
        baked,
        training: Some(training),
        header,
    }
}

/// Vertices on which leverage is looked at.
const LEVERAGE_VERTICES: usize = 400;

/// A number in at most four digits; the report holds it in full.
fn short(x: f64) -> String {
    let (exact, rounded) = (format!("{x:e}"), format!("{x:.3e}"));
    if exact.len() < rounded.len() { exact } else { rounded }
}

fn chosen_by(given: bool) -> &'static str {
    if given { "" } else { " (by cross-validation)" }
}

fn folds_text(folds: Folds) -> String {
    match folds {
        Folds::Single => "leave-one-out".into(),
        Folds::Blocks(count) => format!("{count} blocks of frames"),
    }
}

/// The rig's skinning weights.
fn weights_of(rig: &Rig) -> Result<&Influences, Error> {
    rig.weights.as_ref().ok_or_else(|| {
        let name = &rig.name;
        Error::Option(format!(
            "the rig \"{name}\" has no skinning weights to build on; use --method mwe with --base given and --base-cache"
        ))
    })
}

/// The base deformer of a choice.
fn base_of(rig: &Rig, choice: BaseChoice) -> Result<Base, Error> {
    let weights = || weights_of(rig).cloned();
    Ok(match choice {
        BaseChoice::Rigid => Base::Rigid(weights()?),
        BaseChoice::Lbs => Base::Lbs(weights()?),
        BaseChoice::Dqs => Base::Dqs(weights()?, DualQuaternions::new(&rig.skeleton)),
        BaseChoice::Rest => Base::Rest,
        BaseChoice::Given => Base::Given,
    })
}

/// What a fit starts from.
fn training_of<'a>(rig: &'a Rig, examples: &'a ExampleSet, base: BasePoses<'a>) -> Training<'a> {
    Training {
        skeleton: &rig.skeleton,
        rest: &rig.mesh.positions,
        length: rig.mesh.diagonal(),
        examples: examples.examples(),
        base,
    }
}

/// Whether a base is a closed form per vertex, which need not be stored.
fn has_closed_form(base: &Base) -> bool {
    matches!(base, Base::Rigid(_) | Base::Lbs(_) | Base::AnimationSpace(_) | Base::Rest)
}

/// The position of one vertex over a base with a closed form; at rest over any other.
fn base_at(base: &Base, rig: &Rig, transforms: &BoneTransforms, v: usize) -> DVec3 {
    let rest = rig.mesh.positions[v];
    match base {
        Base::Rigid(weights) => weights.dominant(v).map_or(rest, |bone| transforms[bone].transform_point3(rest)),
        Base::Lbs(weights) => dermis_deform::lbs::blend(weights.of(v), transforms).transform_point3(rest),
        Base::AnimationSpace(space) => space.at(v, transforms),
        _ => rest,
    }
}

/// The base's positions in the training poses: computed, or as they were given.
fn base_in_training(
    base: &mut Base,
    rig: &Rig,
    examples: &ExampleSet,
    given: Option<&[Vec<DVec3>]>,
) -> Result<Vec<Vec<DVec3>>, Error> {
    match given {
        Some(given) if matches!(base, Base::Given) => Ok(given.to_vec()),
        None if matches!(base, Base::Given) => {
            Err(Error::Option("a base of given positions needs --base-cache".into()))
        }
        _ => Ok(base_positions(base, rig, examples)),
    }
}

fn base_positions(base: &mut Base, rig: &Rig, examples: &ExampleSet) -> Vec<Vec<DVec3>> {
    let mut all = Vec::with_capacity(examples.len());
    for example in examples.examples() {
        let mut skin = vec![DVec3::ZERO; rig.mesh.positions.len()];
        base.evaluate(&rig.mesh.positions, &example.transforms, None, &mut skin);
        all.push(skin);
    }
    all
}

/// The influence maps a fit uses.
fn maps_of(
    rig: &Rig,
    examples: &ExampleSet,
    options: &FitOptions,
    progress: Progress<'_>,
) -> Result<Influences, Error> {
    let from_weights = || {
        let weights = rig.weights.as_ref().ok_or_else(|| {
            Error::Option(format!(
                "the rig \"{}\" has neither influence maps nor weights to derive them from",
                rig.name
            ))
        })?;
        Ok(maps::from_weights(&rig.skeleton, &rig.mesh, weights, options.map_settings))
    };
    match (&options.maps, &rig.influence_maps) {
        (MapSource::Auto | MapSource::File, Some(maps)) => Ok(maps.clone()),
        (MapSource::Auto | MapSource::Weights, _) => from_weights(),
        (MapSource::File, None) => Err(Error::Option(format!("the rig \"{}\" has no influence maps", rig.name))),
        (MapSource::Table(table), _) => Ok(table.clone()),
        (MapSource::Examples, _) => weights::maps_from_examples(rig, examples, options, progress),
        (MapSource::Colors(channels), _) => {
            let colors = rig
                .mesh
                .colors
                .as_ref()
                .ok_or_else(|| Error::Option(format!("the rig \"{}\" has no vertex colours", rig.name)))?;
            let mut bones = [None; 4];
            for (place, name) in bones.iter_mut().zip(channels) {
                *place = name.as_ref().map(|name| bone(rig, name)).transpose()?;
            }
            Ok(maps::from_colors(colors, bones))
        }
    }
}

/// What the report says of influence maps.
fn map_lines(options: &FitOptions) -> Vec<(String, String)> {
    let source = match &options.maps {
        MapSource::Auto => "from the file, else from the weights".into(),
        MapSource::Weights => "from the weights".into(),
        MapSource::File => "from the file".into(),
        MapSource::Table(_) => "from a table".into(),
        MapSource::Examples => "from the examples".into(),
        MapSource::Colors(channels) => format!("vertex colours {channels:?}"),
    };
    let m = options.map_settings;
    vec![
        ("influence maps".into(), source),
        (
            "rings / decay / smoothing / threshold".into(),
            format!("{} / {} / {} / {}", m.rings, m.decay, m.smoothing, m.threshold),
        ),
    ]
}

/// Errors on examples that were left out and predicted by a model fitted to the others: `count` folds, contiguous blocks
/// for a clip, every `count`-th pose otherwise.
///
/// # Errors
/// As [`fit`].
pub fn cross_validate(
    loaded: &LoadedRig,
    examples: &ExampleSet,
    given: Option<&[Vec<DVec3>]>,
    options: &FitOptions,
    count: usize,
    progress: Progress<'_>,
) -> Result<Option<Scores>, Error> {
    let poses = examples.len();
    if count < 2 || poses < 2 {
        return Ok(None);
    }
    let count = count.min(poses);
    let fold_of = |s: usize| if examples.is_clip() { s * count / poses } else { s % count };
    let mut merged: Option<Scores> = None;
    for fold in 0..count {
        let (out, kept): (Vec<usize>, Vec<usize>) = (0..poses).partition(|&s| fold_of(s) == fold);
        let pick = |list: &[usize]| given.map(|g| list.iter().map(|&s| g[s].clone()).collect::<Vec<_>>());
        let (train_given, out_given) = (pick(&kept), pick(&out));
        let fitted = fit(loaded, &examples.subset(&kept), train_given.as_deref(), options, progress)?;
        let scores = measure(&fitted.model, &examples.subset(&out), out_given.as_deref())?;
        merged = Some(match merged {
            Some(sofar) => sofar.joined(scores),
            None => scores,
        });
    }
    Ok(merged)
}
