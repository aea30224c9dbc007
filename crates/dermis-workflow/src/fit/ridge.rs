//! A model followed while its ridge is turned: what dragging a slider costs, and what it does to the skin.

use super::{FitOptions, Method, base_in_training, base_of, maps_of, mwe, training_of};
use crate::error::Error;
use crate::load::LoadedRig;
use crate::measure::Runner;
use crate::page::{
    Figure, Frame, Page, PoseRef, PoseScore, PoseSet, Provenance, Sweep, SweepPoint, Value, View, positions,
};
use crate::report::unit_of;
use dermis_deform::{Baked, Deformer};
use dermis_fit::Progress;
use dermis_fit::mwe::Resolver;
use dermis_measure::ErrorAccumulator;
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, ExampleSet};
use std::time::Instant;

/// One place of the slider.
#[derive(Clone, Debug)]
pub struct RidgeStep {
    /// The ridge.
    pub s: f64,
    /// Seconds to solve every vertex again.
    pub seconds: f64,
    /// Rms error on the training poses, mesh units.
    pub train: f64,
    /// Rms error on the held-out poses.
    pub held_out: f64,
    /// The skin in the held-out pose that is shown.
    shown: Vec<DVec3>,
}

/// The whole way of the slider.
#[derive(Clone, Debug)]
pub struct RidgeSweep {
    /// Vertices of the mesh.
    pub vertices: usize,
    /// Training poses.
    pub poses: usize,
    /// The ridge that cross-validation takes.
    pub chosen: f64,
    /// Seconds of the first fit, choice of the ridge included.
    pub first: f64,
    /// The steps, s ascending.
    pub steps: Vec<RidgeStep>,
}

impl RidgeSweep {
    /// Fits enveloping once, then solves it again for every value of s, and scores each on both sets.
    ///
    /// # Errors
    /// As [`fit`](super::fit).
    pub fn new(
        loaded: &LoadedRig,
        train: &ExampleSet,
        held_out: &ExampleSet,
        values: &[f64],
        progress: Progress<'_>,
    ) -> Result<Self, Error> {
        let (rig, options) = (&loaded.rig, FitOptions::new(Method::Mwe));
        let maps = maps_of(rig, train, &options, progress)?;
        let mut base = base_of(rig, options.base)?;
        let base_positions = base_in_training(&mut base, rig, train, None)?;
        let training = training_of(rig, train, (&base_positions).into());
        let settings = mwe::settings(&options, rig, train.len(), train.is_clip())?;
        let start = Instant::now();
        let mut resolver = Resolver::new(&training, &maps, &settings, progress)?;
        let (first, chosen) = (start.elapsed().as_secs_f64(), resolver.model().report.s);
        let mut steps = Vec::with_capacity(values.len());
        for &s in values {
            let start = Instant::now();
            resolver.set_ridge(&training, s)?;
            let seconds = start.elapsed().as_secs_f64();
            let correction = Some(resolver.model().correction.clone().into());
            let deformer = Deformer { rest: rig.mesh.positions.clone(), base: base.clone(), correction };
            let baked = deformer.bake();
            let rms = |set| rms(&baked, set, rig.mesh.diagonal());
            let skin = shown(held_out).map_or(vec![], |pose| Runner::new(&baked).run(&pose.transforms, None).to_vec());
            steps.push(RidgeStep { s, seconds, train: rms(train)?, held_out: rms(held_out)?, shown: skin });
        }
        Ok(Self { vertices: rig.mesh.positions.len(), poses: train.len(), chosen, first, steps })
    }

    /// Median seconds to solve every vertex again.
    pub fn seconds(&self) -> f64 {
        let mut all: Vec<f64> = self.steps.iter().map(|step| step.seconds).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(0.0)
    }

    /// The sweep as a page: errors over s, and the skin of one held-out pose at every s.
    pub fn page(&self, loaded: &LoadedRig, held_out: &ExampleSet) -> Page {
        let rig = &loaded.rig;
        let target = shown(held_out).map_or(vec![], |example| positions(&example.positions));
        let label = |step: &RidgeStep| format!("s = {:.1e}", step.s);
        let frame = |(at, step): (usize, &RidgeStep)| Frame {
            label: label(step),
            set: "held out".into(),
            note: shown(held_out).map_or(String::new(), |example| example.label.clone()),
            pose: Some(PoseRef { set: 0, pose: at }),
            target: target.clone(),
            model: positions(&step.shown),
            baseline: None,
        };
        let score =
            |step: &RidgeStep| PoseScore { label: label(step), rms: step.held_out as f32, ..PoseScore::default() };
        let point = |step: &RidgeStep| SweepPoint {
            s: step.s as f32,
            train_rms: step.train as f32,
            validated_rms: step.held_out as f32,
        };
        Page {
            title: format!("{}: the ridge, turned", rig.name),
            subtitle: format!(
                "enveloping of {} vertices solved again {} times; one pose of the walk at every ridge",
                self.vertices,
                self.steps.len()
            ),
            unit: unit_of(&loaded.space),
            model_name: "mwe".into(),
            figures: vec![Figure {
                label: "To solve again".into(),
                value: Value::Seconds(self.seconds() as f32),
                note: format!(
                    "median, {} vertices, {} poses, on the machine that made this page",
                    self.vertices, self.poses
                ),
            }],
            view: Some(View {
                triangles: rig.mesh.triangles.clone(),
                rest: positions(&rig.mesh.positions),
                frames: self.steps.iter().enumerate().map(frame).collect(),
            }),
            sets: vec![PoseSet { name: "held out, by ridge".into(), poses: self.steps.iter().map(score).collect() }],
            sweep: Some(Sweep {
                points: self.steps.iter().map(point).collect(),
                chosen_s: self.chosen as f32,
                what: "the held-out walk".into(),
            }),
            provenance: Provenance { program: crate::PROGRAM.into(), ..Provenance::default() },
            ..Page::default()
        }
    }
}

/// The pose that is shown: the middle one.
fn shown(set: &ExampleSet) -> Option<&Example> {
    set.examples().get(set.len() / 2)
}

/// Rms error over a set.
fn rms(baked: &Baked, set: &ExampleSet, diagonal: f64) -> Result<f64, Error> {
    let (mut runner, mut errors) = (Runner::new(baked), ErrorAccumulator::new(baked.vertices(), diagonal));
    for example in set.examples() {
        errors
            .add_frame(&example.label, &example.positions, runner.run(&example.transforms, None))
            .map_err(|e| Error::Option(format!("examples \"{}\": {e}", set.name)))?;
    }
    Ok(errors.finish().map_or(f64::NAN, |report| report.error.rms))
}
