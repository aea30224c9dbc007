//! Scoring a model on examples: errors, the rig's own weights beside it, and what the guard did.

use crate::error::Error;
use crate::load::{FileNote, ReadOptions, Source, stream_examples};
use dermis_deform::baked::{Baked, BakedBase, Scratch};
use dermis_deform::{Base, Deformer};
use dermis_io::ModelFile;
pub use dermis_measure::ErrorStats;
use dermis_measure::{ErrorAccumulator, ErrorReport, volume_ratio};
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::{Example, ExampleSet};
use std::time::{Duration, Instant};

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
    /// Errors of parts measured on their own, when the set was scored in folds.
    parts: Vec<(ErrorStats, Option<ErrorStats>, usize)>,
}

/// What else is known about one scored pose.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameScore {
    /// Share of the vertices the ball held back.
    pub held: f64,
    /// Share of the pose's features whose limit acted: pairs of bones, or joints.
    pub limited: f64,
    /// Degrees from the nearest training pose of the joint that is farthest from its own, and that joint.
    pub distance: Option<(f64, String)>,
    /// Volume over rest volume, of the target and of the model; for closed meshes.
    pub volume: Option<(f64, f64)>,
}

/// Scores a model. `given` are the base's positions per example, for models that need them.
///
/// # Errors
/// [`Error::Option`] if such positions are missing; [`Error::Lacks`] if a skin cannot be measured.
pub fn measure(model: &ModelFile, examples: &ExampleSet, given: Option<&[Vec<DVec3>]>) -> Result<Scores, Error> {
    let baseline = baseline(model);
    let mut scoring = Scoring::new(model, baseline.as_ref());
    for (at, example) in examples.examples().iter().enumerate() {
        scoring.add(example, frame_of(&model.baked, given, at)?)?;
    }
    scoring.finish(&examples.name)
}

/// Scores a model on examples from files that are not held.
///
/// # Errors
/// Those of [`stream_examples`] and [`measure`].
pub fn measure_streamed(
    model: &ModelFile,
    sources: &[Source],
    options: &ReadOptions,
    role: &str,
) -> Result<(Scores, Vec<FileNote>), Error> {
    let baseline = baseline(model);
    let mut scoring = Scoring::new(model, baseline.as_ref());
    let streamed = stream_examples(&model.rig, &model.space, sources, options, role, |examples| {
        examples.iter().try_for_each(|example| scoring.add(example, None))
    })?;
    Ok((scoring.finish(&streamed.name)?, streamed.notes))
}

/// Scores a model on examples that come one after another and need not be kept.
pub struct Scoring<'a> {
    model: &'a ModelFile,
    closed: bool,
    errors: ErrorAccumulator,
    runner: Runner<'a>,
    baseline: Option<(ErrorAccumulator, Runner<'a>)>,
    frames: Vec<FrameScore>,
}

impl<'a> Scoring<'a> {
    /// No examples yet. `baseline` is that of the model, see [`baseline()`].
    pub fn new(model: &'a ModelFile, baseline: Option<&'a Baked>) -> Self {
        let mesh = &model.rig.mesh;
        let errors = || ErrorAccumulator::new(mesh.positions.len(), mesh.diagonal());
        Self {
            model,
            closed: mesh.is_closed(),
            errors: errors(),
            runner: Runner::new(&model.baked),
            baseline: baseline.map(|baked| (errors(), Runner::new(baked))),
            frames: Vec::new(),
        }
    }

    /// Scores one more example; `given` is the base's position of every vertex, for models that need them.
    ///
    /// # Errors
    /// [`Error::Option`] if its skin cannot be measured, or such positions are missing.
    pub fn add(&mut self, example: &Example, given: Option<&[DVec3]>) -> Result<(), Error> {
        let rig = &self.model.rig;
        if self.model.baked.needs_given() && given.is_none() {
            frame_of(&self.model.baked, None, 0)?;
        }
        let failed = |e: dermis_measure::MeasureError| Error::Option(format!("example \"{}\": {e}", example.label));
        let skin = self.runner.run(&example.transforms, given);
        self.errors.add_frame(&example.label, &example.positions, skin).map_err(failed)?;
        let ratios = || volume_ratio(&rig.mesh, &example.positions).zip(volume_ratio(&rig.mesh, skin));
        let volume = self.closed.then(ratios).flatten();
        let guarded = self.runner.guarded;
        self.frames.push(FrameScore {
            held: guarded.held as f64 / rig.mesh.positions.len().max(1) as f64,
            limited: guarded.limited as f64 / guarded.features.max(1) as f64,
            distance: self.model.training.as_ref().and_then(|t| {
                let far = t.distance(&example.transforms);
                Some((far.degrees, rig.skeleton.names()[far.bone?].clone()))
            }),
            volume,
        });
        if let Some((errors, runner)) = &mut self.baseline {
            let skin = runner.run(&example.transforms, None);
            errors.add_frame(&example.label, &example.positions, skin).map_err(failed)?;
        }
        Ok(())
    }

    /// The scores of all, as a set of this name.
    ///
    /// # Errors
    /// [`Error::Option`] if there was none.
    pub fn finish(self, name: &str) -> Result<Scores, Error> {
        let empty = || Error::Option(format!("the set \"{name}\" holds no examples"));
        let model = self.errors.finish().ok_or_else(empty)?;
        let baseline = self.baseline.and_then(|(errors, _)| errors.finish());
        let parts = vec![(model.error, baseline.as_ref().map(|b| b.error), self.frames.len())];
        Ok(Scores { set: name.into(), model, baseline, frames: self.frames, parts })
    }
}

fn frame_of<'a>(baked: &Baked, given: Option<&'a [Vec<DVec3>]>, at: usize) -> Result<Option<&'a [DVec3]>, Error> {
    match (baked.needs_given(), given) {
        (false, _) => Ok(None),
        (true, Some(given)) if at < given.len() => Ok(Some(&given[at])),
        (true, _) => Err(Error::Option("this model corrects given positions: name them with --base-cache".into())),
    }
}

/// The rig's own weights, linearly blended; nothing for a model of rest shapes, which no skinning makes.
pub fn baseline(model: &ModelFile) -> Option<Baked> {
    let rig = &model.rig;
    let weights = rig.weights.clone().filter(|_| !matches!(model.baked.base, BakedBase::Rest))?;
    Some(Deformer { rest: rig.mesh.positions.clone(), base: Base::Lbs(weights), correction: None }.bake())
}

/// Runs a deformer pose after pose, with its memory.
pub struct Runner<'a> {
    baked: &'a Baked,
    scratch: Scratch,
    given: Vec<Vec3>,
    rounded: Vec<Vec3>,
    skin: Vec<DVec3>,
    /// What the guard did in the last pose.
    pub guarded: dermis_deform::Guarded,
}

impl<'a> Runner<'a> {
    /// A runner for a deformer.
    pub fn new(baked: &'a Baked) -> Self {
        let vertices = baked.vertices();
        Self {
            baked,
            scratch: Scratch::default(),
            given: Vec::new(),
            rounded: vec![Vec3::ZERO; vertices],
            skin: vec![DVec3::ZERO; vertices],
            guarded: dermis_deform::Guarded::default(),
        }
    }

    /// The skin in a pose.
    pub fn run(&mut self, transforms: &dermis_rig::BoneTransforms, given: Option<&[DVec3]>) -> &[DVec3] {
        self.given.clear();
        self.given.extend(given.unwrap_or_default().iter().map(|p| p.as_vec3()));
        let given = given.map(|_| self.given.as_slice());
        self.guarded = self.baked.evaluate(transforms, given, &mut self.scratch, &mut self.rounded);
        self.skin.iter_mut().zip(&self.rounded).for_each(|(wide, narrow)| *wide = narrow.as_dvec3());
        &self.skin
    }

    /// Million vertices per second over the poses of `examples`, for about `budget`.
    pub fn speed(&mut self, examples: &ExampleSet, given: Option<&[Vec<DVec3>]>, budget: Duration) -> f64 {
        let given: Vec<Vec<Vec3>> =
            given.unwrap_or_default().iter().map(|f| f.iter().map(|p| p.as_vec3()).collect()).collect();
        let (start, mut count) = (Instant::now(), 0u64);
        while start.elapsed() < budget {
            for (at, example) in examples.examples().iter().enumerate() {
                let given = given.get(at).map(Vec::as_slice);
                self.baked.evaluate(&example.transforms, given, &mut self.scratch, &mut self.rounded);
                count += self.rounded.len() as u64;
            }
            if examples.is_empty() {
                break;
            }
        }
        count as f64 / start.elapsed().as_secs_f64()
    }
}

impl Scores {
    /// Both sets together: errors over all poses. Percentiles are the larger of the two, an upper bound.
    pub fn joined(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self.frames.extend(other.frames);
        let models = self.parts.iter().map(|p| (p.0, p.2));
        self.model.error = joined_stats(models);
        self.model.per_pose.extend(other.model.per_pose);
        self.model.worst_vertices.extend(other.model.worst_vertices);
        self.model.worst_vertices.sort_by(|a, b| b.error.total_cmp(&a.error));
        self.model.worst_vertices.truncate(10);
        if let (Some(own), Some(other)) = (&mut self.baseline, other.baseline) {
            own.error = joined_stats(self.parts.iter().filter_map(|p| Some((p.1?, p.2))));
            own.per_pose.extend(other.per_pose);
        }
        self
    }

    /// rms over the baseline's rms.
    pub fn ratio(&self) -> Option<f64> {
        let baseline = self.baseline.as_ref()?.error.rms;
        (baseline > 0.0).then(|| self.model.error.rms / baseline)
    }
}

/// Errors of several sets of the same mesh: means weighted by poses, maxima of maxima and of percentiles.
fn joined_stats(parts: impl Iterator<Item = (ErrorStats, usize)> + Clone) -> ErrorStats {
    let poses: f64 = parts.clone().map(|p| p.1 as f64).sum();
    let root_mean = |of: &dyn Fn(&ErrorStats) -> f64| {
        (parts.clone().map(|(e, n)| of(&e).powi(2) * n as f64).sum::<f64>() / poses).sqrt()
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
