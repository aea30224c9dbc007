//! Scores of a model on examples: its errors, those of the rig's own weights, and what the guard did.

use crate::pass::Within;
use crate::runner::WideRunner;
use crate::{ErrorAccumulator, ErrorReport, ErrorStats, MeasureError, enclosed_volume, volume};
use dermis_deform::{Baked, RiggedDeformer, TrainingPoses};
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, ExampleSet};

/// Degrees within which every joint of a pose beside a training pose lies.
pub const BESIDE: f64 = TrainingPoses::BESIDE;

/// A model's errors on a set of examples.
#[derive(Clone, Debug)]
pub struct Scores {
    /// What the set is called.
    pub set: String,
    /// The model's errors.
    pub model: ErrorReport,
    /// Those of the rig's own weights, if it has any.
    pub baseline: Option<ErrorReport>,
    /// Per pose: what the guard did, how far the pose is from training.
    pub frames: Vec<FrameScore>,
    /// The errors of poses that are not beside a training pose; `None` if there is no such pose.
    pub unseen: Option<Totals>,
    /// Errors of parts measured on their own, when the set was scored in folds; then those of `unseen`.
    parts: Vec<Totals>,
    unseen_parts: Vec<Totals>,
}

/// Errors over the poses of a set, or over some of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Totals {
    /// The poses.
    pub poses: usize,
    /// The distances: one per pose and vertex, but of local sculpts those of touched vertices.
    pub pairs: u64,
    /// The model's errors.
    pub error: ErrorStats,
    /// Those of the rig's own weights, if it has any.
    pub baseline: Option<ErrorStats>,
    /// The model's distances within a bound, if there is one.
    pub within: Option<Within>,
}

/// What else is known about one scored pose.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameScore {
    /// Share of the vertices the ball held back.
    pub held: f64,
    /// Share of the pose's features (pairs of bones, or joints) whose limit acted.
    pub limited: f64,
    /// Degrees from the nearest training pose of the joint that is farthest from its own, and that joint.
    pub distance: Option<(f64, String)>,
    /// Whether the pose is beside a training pose ([`TrainingPoses::has_beside`]).
    pub trained: bool,
    /// Volume over rest volume, of the target and of the model; for closed meshes.
    pub volume: Option<(f64, f64)>,
}

/// Scores a model and its baseline on examples. `given` are the base's positions per example, for models that need them.
///
/// # Errors
/// [`MeasureError::NoGiven`] if such positions are missing, [`MeasureError::Example`] if a skin cannot be measured,
/// [`MeasureError::Empty`] without examples.
pub fn measure(
    model: &RiggedDeformer,
    examples: &ExampleSet,
    given: Option<&[Vec<DVec3>]>,
) -> Result<Scores, MeasureError> {
    measure_within(model, examples, given, None)
}

/// Scores as [`measure`] does, and counts the model's distances of at most `bound`, if there is one.
///
/// # Errors
/// Those of [`measure`].
pub fn measure_within(
    model: &RiggedDeformer,
    examples: &ExampleSet,
    given: Option<&[Vec<DVec3>]>,
    bound: Option<f64>,
) -> Result<Scores, MeasureError> {
    let baseline = model.baseline();
    let mut scoring = Scoring::new(model, baseline.as_ref()).counting(bound);
    for (at, example) in examples.examples().iter().enumerate() {
        scoring.add(example, frame_of(model.baked(), given, at, examples.len())?)?;
    }
    scoring.finish(&examples.name)
}

/// Scores a model on examples that come one after another and need not be kept.
pub struct Scoring<'a> {
    model: &'a RiggedDeformer,
    /// The volume at rest of a closed mesh.
    rest_volume: Option<f64>,
    errors: ErrorAccumulator,
    runner: WideRunner<'a>,
    baseline: Option<(ErrorAccumulator, WideRunner<'a>)>,
    /// Errors of poses that are not beside a training pose, once there was one that is.
    unseen: Option<(ErrorAccumulator, Option<ErrorAccumulator>)>,
    frames: Vec<FrameScore>,
}

impl<'a> Scoring<'a> {
    /// No examples yet. `baseline` is that of the model, see [`RiggedDeformer::baseline`].
    pub fn new(model: &'a RiggedDeformer, baseline: Option<&'a Baked>) -> Self {
        let mesh = model.rig().mesh();
        let errors = || ErrorAccumulator::new(mesh.positions.len(), mesh.diagonal());
        Self {
            model,
            rest_volume: enclosed_volume(mesh),
            errors: errors(),
            runner: WideRunner::new(model.baked()),
            baseline: baseline.map(|baked| (errors(), WideRunner::new(baked))),
            unseen: None,
            frames: Vec::new(),
        }
    }

    /// Counts the model's distances of at most `bound`, if there is one.
    pub fn counting(mut self, bound: Option<f64>) -> Self {
        if let Some(bound) = bound {
            self.errors = self.errors.counting(bound);
        }
        self
    }

    /// Scores one more example, a local sculpt on the skin that it touched; `given` is the base's position of every vertex, for models
    /// that need them.
    ///
    /// # Errors
    /// [`MeasureError::Example`] if its skin cannot be measured, [`MeasureError::NoGiven`] if such positions are missing.
    pub fn add(&mut self, example: &Example, given: Option<&[DVec3]>) -> Result<(), MeasureError> {
        let rig = self.model.rig();
        if self.model.baked().needs_given() && given.is_none() {
            return Err(MeasureError::NoGiven { found: 0, poses: 1 });
        }
        let failed = |source| MeasureError::Example { label: example.label.clone(), source: Box::new(source) };
        let trained =
            self.model.training().is_some_and(|training| training.has_beside(rig.skeleton(), &example.transforms));
        if trained && self.unseen.is_none() {
            self.unseen = Some((self.errors.clone(), self.baseline.as_ref().map(|(errors, _)| errors.clone())));
        }
        let touched = match (&example.local, &mut self.baseline) {
            (None, _) => None,
            (Some(local), Some((_, runner))) if local.mask.is_none() && local.shown.is_none() => {
                let shown = runner.run(&example.transforms, None).map_err(failed)?;
                example.touched(rig.mesh().extent(), |v| example.positions[v] - shown[v])
            }
            (Some(_), _) => example.touched(rig.mesh().extent(), |_| DVec3::INFINITY),
        };
        let counted = touched.as_deref();
        let unseen = self.unseen.as_mut().filter(|_| !trained);
        let (unseen, unseen_baseline) = unseen.map_or((None, None), |(model, base)| (Some(model), base.as_mut()));
        let ratio = |posed: &[DVec3], rest: f64| volume(&rig.mesh().triangles, posed) / rest;
        let rest_volume = self.rest_volume;
        // The model, and beside it all that does not need its skin.
        let (runner, errors, baseline) = (&mut self.runner, &mut self.errors, &mut self.baseline);
        let of_model = || {
            let skin = runner.run(&example.transforms, given).map_err(failed)?;
            for errors in [errors].into_iter().chain(unseen) {
                errors.add_part(&example.label, &example.positions, skin, counted).map_err(failed)?;
            }
            Ok::<_, MeasureError>((rest_volume.map(|rest| ratio(skin, rest)), runner.guarded()))
        };
        let of_others = || {
            if let Some((errors, runner)) = baseline {
                let skin = runner.run(&example.transforms, None).map_err(failed)?;
                for errors in [errors].into_iter().chain(unseen_baseline) {
                    errors.add_part(&example.label, &example.positions, skin, counted).map_err(failed)?;
                }
            }
            let far = self.model.training().map(|t| t.distance(rig.skeleton(), &example.transforms));
            Ok::<_, MeasureError>((rest_volume.map(|rest| ratio(&example.positions, rest)), far))
        };
        let (of_model, of_others) = rayon::join(of_model, of_others);
        let ((volume_of_model, guarded), (volume_of_example, far)) = (of_model?, of_others?);
        self.frames.push(FrameScore {
            held: guarded.held as f64 / rig.mesh().positions.len().max(1) as f64,
            limited: guarded.limited as f64 / guarded.features.max(1) as f64,
            distance: far.and_then(|far| Some((far.degrees, rig.skeleton().names()[far.bone?].clone()))),
            trained,
            volume: volume_of_example.zip(volume_of_model),
        });
        Ok(())
    }

    /// The scores of all, as a set of this name.
    ///
    /// # Errors
    /// [`MeasureError::Empty`] if there was none.
    pub fn finish(self, name: &str) -> Result<Scores, MeasureError> {
        let empty = || MeasureError::Empty { set: name.into() };
        let model = self.errors.finish().ok_or_else(empty)?;
        let baseline = self.baseline.and_then(|(errors, _)| errors.finish());
        let all = Totals::of(&model, baseline.as_ref());
        let unseen = match self.unseen {
            None => Some(all),
            Some((model, baseline)) => {
                model.finish().map(|model| Totals::of(&model, baseline.and_then(ErrorAccumulator::finish).as_ref()))
            }
        };
        Ok(Scores {
            set: name.into(),
            model,
            baseline,
            frames: self.frames,
            unseen,
            parts: vec![all],
            unseen_parts: unseen.into_iter().collect(),
        })
    }
}

impl Totals {
    fn of(model: &ErrorReport, baseline: Option<&ErrorReport>) -> Self {
        Self {
            poses: model.per_pose.len(),
            pairs: model.pairs,
            error: model.error,
            baseline: baseline.map(|b| b.error),
            within: model.within,
        }
    }

    /// rms over the baseline's rms.
    pub fn ratio(&self) -> Option<f64> {
        let baseline = self.baseline?.rms;
        (baseline > 0.0).then(|| self.error.rms / baseline)
    }

    /// Errors of several sets of the same mesh; `None` of no set.
    fn joined(parts: &[Self]) -> Option<Self> {
        let poses = parts.iter().map(|part| part.poses).sum();
        let pairs = parts.iter().map(|part| part.pairs).sum();
        let error = joined_stats(parts.iter().map(|part| (part.error, part.pairs)));
        let baseline: Option<Vec<_>> = parts.iter().map(|part| Some((part.baseline?, part.pairs))).collect();
        let baseline = baseline.map(|parts| joined_stats(parts.iter().copied()));
        let within = parts.iter().map(|part| part.within);
        let within = within.reduce(|own, other| own.zip(other).map(|(own, other)| own.joined(other)))?;
        Some(Self { poses, pairs, error, baseline, within })
    }
}

/// The given positions of one example, if the model needs them.
fn frame_of<'a>(
    baked: &Baked,
    given: Option<&'a [Vec<DVec3>]>,
    at: usize,
    poses: usize,
) -> Result<Option<&'a [DVec3]>, MeasureError> {
    match (baked.needs_given(), given) {
        (false, _) => Ok(None),
        (true, Some(given)) if at < given.len() => Ok(Some(&given[at])),
        (true, _) => Err(MeasureError::NoGiven { found: given.map_or(0, <[_]>::len), poses }),
    }
}

impl Scores {
    /// Joins the scores of two sets, such as two folds: errors over all poses of both.
    ///
    /// A percentile is the larger of the two, which is an upper bound.
    pub fn joined(mut self, other: Self) -> Self {
        let counts = [&self.parts, &other.parts].map(|parts| parts.iter().map(|p| p.poses).sum::<usize>() as f64);
        join_vertices(&mut self.model.per_vertex_rms, &other.model.per_vertex_rms, counts);
        self.parts.extend(other.parts);
        self.unseen_parts.extend(other.unseen_parts);
        self.unseen = Totals::joined(&self.unseen_parts);
        self.frames.extend(other.frames);
        self.model.per_pose.extend(other.model.per_pose);
        self.model.worst_vertices.extend(other.model.worst_vertices);
        self.model.worst_vertices.sort_by(|a, b| b.error.total_cmp(&a.error));
        self.model.worst_vertices.truncate(10);
        let all = Totals::joined(&self.parts);
        if let Some(all) = all {
            self.model.error = all.error;
            self.model.within = all.within;
            self.model.pairs = all.pairs;
        }
        if let (Some(own), Some(other)) = (&mut self.baseline, other.baseline) {
            own.error = all.and_then(|all| all.baseline).unwrap_or(own.error);
            own.per_pose.extend(other.per_pose);
            join_vertices(&mut own.per_vertex_rms, &other.per_vertex_rms, counts);
        }
        self
    }

    /// Puts the poses in order: pose `at` becomes number `places[at]`.
    pub fn in_order(mut self, places: &[usize]) -> Self {
        fn sorted<T>(items: Vec<T>, places: &[usize]) -> Vec<T> {
            let mut placed: Vec<(usize, T)> = places.iter().copied().zip(items).collect();
            placed.sort_by_key(|(place, _)| *place);
            placed.into_iter().map(|(_, item)| item).collect()
        }
        self.frames = sorted(self.frames, places);
        self.model.per_pose = sorted(self.model.per_pose, places);
        if let Some(baseline) = &mut self.baseline {
            baseline.per_pose = sorted(std::mem::take(&mut baseline.per_pose), places);
        }
        self
    }

    /// rms over the baseline's rms.
    pub fn ratio(&self) -> Option<f64> {
        let baseline = self.baseline.as_ref()?.error.rms;
        (baseline > 0.0).then(|| self.model.error.rms / baseline)
    }
}

/// The rms of every vertex over the poses of two sets, of which there are so many.
fn join_vertices(own: &mut [f64], other: &[f64], [mine, theirs]: [f64; 2]) {
    for (own, other) in own.iter_mut().zip(other) {
        *own = ((own.powi(2) * mine + other.powi(2) * theirs) / (mine + theirs)).sqrt();
    }
}

/// Errors of several sets of the same mesh: means weighted by distances, maxima of maxima and of percentiles.
fn joined_stats(parts: impl Iterator<Item = (ErrorStats, u64)> + Clone) -> ErrorStats {
    let pairs: f64 = parts.clone().map(|p| p.1 as f64).sum();
    let root_mean = |of: &dyn Fn(&ErrorStats) -> f64| {
        (parts.clone().map(|(e, n)| of(&e).powi(2) * n as f64).sum::<f64>() / pairs.max(1.0)).sqrt()
    };
    let largest = |of: &dyn Fn(&ErrorStats) -> f64| parts.clone().map(|(e, _)| of(&e)).fold(0.0, f64::max);
    let all = |of: &dyn Fn(&ErrorStats) -> Option<f64>| parts.clone().all(|(e, _)| of(&e).is_some());
    ErrorStats {
        rms: root_mean(&|e| e.rms),
        max: largest(&|e| e.max),
        p95: largest(&|e| e.p95),
        p999: largest(&|e| e.p999),
        e_rms: all(&|e| e.e_rms).then(|| root_mean(&|e| e.e_rms.unwrap_or(0.0))),
        distortion_percent: all(&|e| e.distortion_percent).then(|| root_mean(&|e| e.distortion_percent.unwrap_or(0.0))),
    }
}
