//! Fitting: from a rig and examples to a model with its report.

use crate::error::Error;
use crate::fit_joint;
use crate::load::LoadedRig;
use crate::measure::{Scores, measure};
use dermis_deform::joints::Frame;
use dermis_deform::training::{TrainingPoses, moves_skin};
use dermis_deform::{Base, Correction, Deformer, DualQuaternions};
use dermis_fit::joints::{JointReport, joint_leverages};
use dermis_fit::maps::{self, MapSettings};
use dermis_fit::mwe::{Anchor, Centring, MweReport, MweSettings, RidgeMode, RowChoice, Strength, fit_mwe, leverages};
use dermis_fit::psd::{self, Form, PsdReport, PsdSettings, fit_psd};
use dermis_fit::{AnimationSpaceSettings, Folds, Progress, Training, fit_animation_space, fit_joints};
use dermis_io::{ModelFile, ModelHeader};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneTransforms, ExampleSet, Influences, Mirror, Rig};
use serde_json::{Value, json};
use std::fmt;
use std::time::Instant;

/// Every method, by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The rig's own weights, linearly blended.
    Lbs,
    /// The rig's own weights, dual quaternions.
    Dqs,
    /// Animation space.
    AnimationSpace,
    /// Multi-weight enveloping over a base.
    Mwe,
    /// The joint model over a base.
    Joint,
    /// Pose-space deformation over a base.
    Psd,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lbs => "lbs",
            Self::Dqs => "dqs",
            Self::AnimationSpace => "animation-space",
            Self::Mwe => "mwe",
            Self::Joint => "joint",
            Self::Psd => "psd",
        })
    }
}

/// The deformer a correction is learnt over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseChoice {
    /// Every vertex follows its dominant bone.
    Rigid,
    /// Linear blend skinning with the rig's weights.
    #[default]
    Lbs,
    /// Dual quaternion skinning with the rig's weights.
    Dqs,
    /// Positions supplied with every pose.
    Given,
}

/// Where influence maps come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum MapSource {
    /// The file's maps if it has any, else from the weights.
    #[default]
    Auto,
    /// Derived from the rig's weights.
    Weights,
    /// The rig file's maps.
    File,
    /// Vertex colours: the bone each channel (red, green, blue, alpha) stands for.
    Colors([Option<String>; 4]),
    /// A table read from elsewhere, already in the rig's vertex and bone order.
    Table(Influences),
}

/// How vertices are anchored.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AnchorChoice {
    /// The world.
    World,
    /// The first root bone.
    Root,
    /// The bone of largest influence.
    #[default]
    Dominant,
    /// A bone by name.
    Bone(String),
    /// A bone name per vertex.
    PerVertex(Vec<String>),
}

/// What a caller sets; `None` is the method's own default.
#[derive(Clone, Debug, PartialEq)]
pub struct FitOptions {
    /// The method.
    pub method: Method,
    /// The published form instead of the default one; the settings below still override it.
    pub published: bool,
    /// The base of a correction.
    pub base: BaseChoice,
    /// Influence maps.
    pub maps: MapSource,
    /// How maps are derived from weights.
    pub map_settings: MapSettings,
    /// Anchor.
    pub anchor: Option<AnchorChoice>,
    /// Row or full features.
    pub rows: Option<RowChoice>,
    /// Centring.
    pub centring: Option<Centring>,
    /// How the ridge depends on s.
    pub ridge: Option<RidgeMode>,
    /// What the joint model's corrections are seen from.
    pub frame: Option<Frame>,
    /// Width of the kernel of the joint model, or of a pose-space deformation instead of choosing it.
    pub sigma: Option<f64>,
    /// Whether the joint model may learn from mirrored examples on a symmetric rig; yes by default.
    pub mirror: Option<bool>,
    /// Inducing rotations per joint, at most.
    pub inducing: Option<usize>,
    /// The ridge itself, s or λ, instead of choosing it.
    pub s: Option<f64>,
    /// Choose s by generalised cross-validation.
    pub gcv: bool,
    /// What is left out at a time when s is chosen; single poses, or blocks for a clip.
    pub folds: Option<Folds>,
    /// Cross-validation takes the largest s within this factor of the best.
    pub tolerance: Option<f64>,
    /// Principal axes below this fraction of the largest variance are dropped.
    pub eig_tol: Option<f64>,
    /// Singular values below this fraction are dropped in the published solve.
    pub svd_tol: Option<f64>,
    /// Poses closer than this around a vertex are merged; negative: never.
    pub duplicates: Option<f64>,
    /// Welding, limits and the ball.
    pub guard: Option<bool>,
    /// Where the displacements of a pose-space deformation live.
    pub form: Option<Form>,
}

impl FitOptions {
    /// The defaults of a method.
    pub fn new(method: Method) -> Self {
        Self {
            method,
            published: false,
            base: BaseChoice::default(),
            maps: MapSource::default(),
            map_settings: MapSettings::default(),
            anchor: None,
            rows: None,
            centring: None,
            ridge: None,
            frame: None,
            sigma: None,
            mirror: None,
            inducing: None,
            s: None,
            gcv: false,
            folds: None,
            tolerance: None,
            eig_tol: None,
            svd_tol: None,
            duplicates: None,
            guard: None,
            form: None,
        }
    }

    /// The settings of pose-space deformation. A strength s is its smoothing, and zero interpolates.
    fn psd(&self, is_clip: bool) -> PsdSettings {
        let mut settings = PsdSettings::new(is_clip);
        settings.form = self.form.unwrap_or(settings.form);
        settings.sigma = self.sigma;
        settings.smoothing = self.s.map(|s| s.max(psd::EXACT));
        settings.folds = self.folds.unwrap_or(settings.folds);
        settings.duplicates = self.duplicates.unwrap_or(settings.duplicates);
        settings.guard = self.guard.unwrap_or(settings.guard);
        settings
    }

    /// The settings of multi-weight enveloping for a rig and a number of poses.
    fn mwe(&self, rig: &Rig, poses: usize, is_clip: bool) -> Result<MweSettings, Error> {
        let mut settings = match self.published {
            true => MweSettings::published(1e-3),
            false => MweSettings::for_poses(poses, is_clip),
        };
        if let Some(anchor) = &self.anchor {
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
        let folds = self.folds.unwrap_or(if is_clip { Folds::Blocks(5) } else { Folds::Single });
        if let Some(ridge) = self.ridge {
            settings.ridge = ridge;
            if ridge != RidgeMode::Absolute {
                settings.grid = dermis_fit::mwe::half_decades(1e-10, 10.0);
                settings.tolerance = 1.0;
            }
        }
        settings.strength = match (self.s, self.gcv) {
            (Some(s), _) => Strength::Given(s),
            (None, true) => Strength::Gcv,
            (None, false) if self.published && self.folds.is_none() => settings.strength,
            (None, false) => Strength::CrossValidated(folds),
        };
        settings.rows = self.rows.unwrap_or(settings.rows);
        settings.centring = self.centring.unwrap_or(settings.centring);
        settings.tolerance = self.tolerance.unwrap_or(settings.tolerance);
        settings.eig_tol = self.eig_tol.unwrap_or(settings.eig_tol);
        settings.svd_tol = self.svd_tol.unwrap_or(settings.svd_tol);
        settings.duplicates = self.duplicates.unwrap_or(settings.duplicates);
        settings.guard = self.guard.unwrap_or(settings.guard);
        Ok(settings)
    }
}

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
    let base_positions = given.map_or_else(|| base_positions(&mut base, rig, examples), <[_]>::to_vec);
    let training = Training {
        skeleton: &rig.skeleton,
        rest: &rig.mesh.positions,
        length: rig.mesh.diagonal(),
        examples: examples.examples(),
        base: &base_positions,
    };
    let probes: Vec<&BoneTransforms> = unseen.examples().iter().map(|e| &e.transforms).collect();
    let all = match (&fitted.mwe, &fitted.joint) {
        (Some(report), _) => {
            let settings = options.mwe(rig, examples.len(), examples.is_clip())?;
            leverages(&training, &maps_of(rig, options)?, &settings, report, &probes, LEVERAGE_VERTICES)?
        }
        (None, Some(report)) => {
            let weights = weights_of(rig)?;
            let settings = fit_joint::settings(options, rig, weights, examples.is_clip());
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
    let length = rig.mesh.diagonal();
    let choice = match options.method {
        Method::Lbs => BaseChoice::Lbs,
        Method::Dqs => BaseChoice::Dqs,
        Method::Mwe | Method::Joint | Method::Psd => options.base,
        Method::AnimationSpace => BaseChoice::Given,
    };
    let mut base = base_of(rig, choice)?;
    let (mut warnings, mut sweep, mut s, mut validated_by) = (Vec::new(), Vec::new(), None, String::new());
    let mut settings = vec![("method".to_owned(), options.method.to_string())];
    let mut report = json!({});
    let (mut correction, mut mwe, mut joint): (Option<Correction>, _, _) = (None, None, None);
    match options.method {
        Method::Lbs | Method::Dqs => {}
        Method::AnimationSpace => {
            let maps = maps_of(rig, options)?;
            let mut chosen = AnimationSpaceSettings::for_poses(examples.is_clip());
            chosen.ridge = options.s;
            chosen.folds = options.folds.unwrap_or(chosen.folds);
            chosen.tolerance = options.tolerance.unwrap_or(chosen.tolerance);
            let examples = examples.examples();
            let training = Training { skeleton: &rig.skeleton, rest: &rig.mesh.positions, length, examples, base: &[] };
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
            let maps = maps_of(rig, options)?;
            let base_positions = base_in_training(&mut base, rig, examples, given)?;
            let chosen = options.mwe(rig, examples.len(), examples.is_clip())?;
            let training = Training {
                skeleton: &rig.skeleton,
                rest: &rig.mesh.positions,
                length,
                examples: examples.examples(),
                base: &base_positions,
            };
            let fitted = fit_mwe(&training, &maps, &chosen, progress)?;
            settings.extend(mwe_lines(&chosen, options, &fitted.report));
            report = mwe_json(&fitted.report, rig);
            validated_by = match chosen.strength {
                Strength::CrossValidated(folds) => folds_text(folds),
                Strength::Gcv => "generalised cross-validation".into(),
                Strength::Given(_) => String::new(),
            };
            warnings.extend(mwe_warnings(&chosen, &fitted.report));
            sweep = fitted.report.sweep.iter().map(|p| (p.s, p.train, p.validated)).collect();
            s = Some(fitted.report.s);
            correction = Some(fitted.correction.into());
            mwe = Some(fitted.report);
        }
        Method::Joint => {
            let weights = weights_of(rig)?;
            let base_positions = base_in_training(&mut base, rig, examples, given)?;
            let chosen = fit_joint::settings(options, rig, weights, examples.is_clip());
            let training = Training {
                skeleton: &rig.skeleton,
                rest: &rig.mesh.positions,
                length,
                examples: examples.examples(),
                base: &base_positions,
            };
            let fitted = fit_joints(&training, weights, &chosen, progress)?;
            settings.extend(fit_joint::lines(&chosen, options, &fitted.report));
            report = fit_joint::report(&fitted.report, rig);
            if options.s.is_none() {
                validated_by = folds_text(chosen.folds);
            }
            warnings.extend(fit_joint::warnings(&chosen, &fitted.report));
            sweep = fitted.report.sweep.iter().map(|&(lambda, rms)| (lambda, f64::NAN, rms)).collect();
            s = Some(fitted.report.lambda);
            correction = Some(fitted.correction.into());
            joint = Some(fitted.report);
        }
        Method::Psd => {
            let maps = maps_of(rig, options)?;
            let base_positions = base_in_training(&mut base, rig, examples, given)?;
            let chosen = options.psd(examples.is_clip());
            let training = Training {
                skeleton: &rig.skeleton,
                rest: &rig.mesh.positions,
                length,
                examples: examples.examples(),
                base: &base_positions,
            };
            let fitted = fit_psd(&training, &base, &maps, &chosen, progress)?;
            settings.extend(psd_lines(&chosen, options, &fitted.report));
            report = psd_json(&fitted.report, rig);
            validated_by = folds_text(chosen.folds);
            warnings.extend(psd_warnings(&chosen, &fitted.report));
            let at_sigma = fitted.report.sweep.iter().filter(|p| p.sigma == fitted.report.sigma);
            sweep = at_sigma.map(|p| (p.smoothing, f64::NAN, p.validated)).collect();
            s = Some(fitted.report.smoothing);
            correction = Some(fitted.correction.into());
        }
    }
    let deformer = Deformer { rest: rig.mesh.positions.clone(), base, correction };
    let own = || examples.examples().iter().map(|e| &e.transforms);
    let mirror = rig.weights.as_ref().filter(|_| joint.as_ref().is_some_and(|report| report.mirrored));
    let mirror = mirror.and_then(|weights| Mirror::find(&rig.mesh.positions, &rig.skeleton, weights));
    let images: Vec<BoneTransforms> = mirror.iter().flat_map(|mirror| own().map(|pose| mirror.pose(pose))).collect();
    let poses: Vec<&BoneTransforms> = own().chain(&images).collect();
    let moving = rig.weights.as_ref().map_or(vec![true; rig.skeleton.len()], |w| moves_skin(&rig.skeleton, w));
    let training = TrainingPoses::new(&rig.skeleton, &moving, &poses, if length > 0.0 { length } else { 1.0 });
    let model = ModelFile {
        rig: rig.clone(),
        space: loaded.space.clone(),
        baked: deformer.bake(),
        training: Some(training),
        header: ModelHeader { method: options.method.to_string(), program: crate::PROGRAM.into(), settings, report },
    };
    Ok(Fitted { model, seconds: start.elapsed().as_secs_f64(), sweep, s, validated_by, mwe, joint, warnings })
}

/// Vertices on which leverage is looked at.
const LEVERAGE_VERTICES: usize = 400;

/// A number in at most four digits; the report holds it in full.
pub(crate) fn short(x: f64) -> String {
    let (exact, rounded) = (format!("{x:e}"), format!("{x:.3e}"));
    if exact.len() < rounded.len() { exact } else { rounded }
}

pub(crate) fn chosen_by(given: bool) -> &'static str {
    if given { "" } else { " (by cross-validation)" }
}

pub(crate) fn folds_text(folds: Folds) -> String {
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
        BaseChoice::Given => Base::Given,
    })
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
fn maps_of(rig: &Rig, options: &FitOptions) -> Result<Influences, Error> {
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

fn map_lines(options: &FitOptions) -> Vec<(String, String)> {
    let source = match &options.maps {
        MapSource::Auto => "from the file, else from the weights".into(),
        MapSource::Weights => "from the weights".into(),
        MapSource::File => "from the file".into(),
        MapSource::Table(_) => "from a table".into(),
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

fn psd_lines(settings: &PsdSettings, options: &FitOptions, report: &PsdReport) -> Vec<(String, String)> {
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

fn psd_json(report: &PsdReport, rig: &Rig) -> Value {
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

fn psd_warnings(settings: &PsdSettings, report: &PsdReport) -> Vec<String> {
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

fn mwe_lines(settings: &MweSettings, options: &FitOptions, report: &MweReport) -> Vec<(String, String)> {
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
    if let Strength::CrossValidated(folds) = settings.strength {
        lines.push(("folds".into(), folds_text(folds)));
    }
    lines
}

fn mwe_json(report: &MweReport, rig: &Rig) -> Value {
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
        "axes_dropped": report.axes_dropped,
        "largest_leverage": report.largest_leverage,
        "leverage_p99": report.leverage_p99,
        "corrected_vertices": report.corrected,
    })
}

fn mwe_warnings(settings: &MweSettings, report: &MweReport) -> Vec<String> {
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
