//! A model followed while its ridge is turned: what dragging a slider costs, and what it does to the skin.

use crate::error::Error;
use crate::load::LoadedRig;
use crate::measure::WideRunner;
use dermis_deform::Baked;
use dermis_fit::Progress;
use dermis_fit::method::{FitInput, MweMethod, RidgeSlider};
use dermis_measure::ErrorAccumulator;
use dermis_report::page::{
    KeyFigure, Page, PoseRef, Provenance, Quantity, ScoredPose, ScoredSet, ShownPose, SkinView, StrengthSweep,
    SweptStrength, shown_positions,
};
use dermis_report::unit_of;
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
        let rig = &loaded.rig;
        let start = Instant::now();
        let mut slider = RidgeSlider::new(&MweMethod::default(), FitInput::new(rig, train), progress)?;
        let (first, chosen) = (start.elapsed().as_secs_f64(), slider.ridge());
        let mut steps = Vec::with_capacity(values.len());
        for &s in values {
            let start = Instant::now();
            slider.set_ridge(s)?;
            let seconds = start.elapsed().as_secs_f64();
            let baked = slider.deformer()?.into_baked();
            let rms = |set| rms(&baked, set, rig.mesh().diagonal());
            let skin = match shown(held_out) {
                None => vec![],
                Some(pose) => WideRunner::new(&baked).run(&pose.transforms, None)?.to_vec(),
            };
            steps.push(RidgeStep { s, seconds, train: rms(train)?, held_out: rms(held_out)?, shown: skin });
        }
        Ok(Self { vertices: rig.mesh().positions.len(), poses: train.len(), chosen, first, steps })
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
        let target = shown(held_out).map_or(vec![], |example| shown_positions(&example.positions));
        let label = |step: &RidgeStep| format!("s = {:.1e}", step.s);
        let frame = |(at, step): (usize, &RidgeStep)| ShownPose {
            label: label(step),
            set: "held out".into(),
            note: shown(held_out).map_or(String::new(), |example| example.label.clone()),
            pose: Some(PoseRef { set: 0, pose: at }),
            target: target.clone(),
            model: shown_positions(&step.shown),
            ..ShownPose::default()
        };
        let score =
            |step: &RidgeStep| ScoredPose { label: label(step), rms: step.held_out as f32, ..ScoredPose::default() };
        let point = |step: &RidgeStep| SweptStrength {
            s: step.s as f32,
            train_rms: step.train as f32,
            validated_rms: step.held_out as f32,
        };
        Page {
            title: format!("{}: a sweep of λ", rig.name()),
            subtitle: format!(
                "enveloping of {} vertices solved again {} times; one pose of the walk at every ridge",
                self.vertices,
                self.steps.len()
            ),
            unit: unit_of(&loaded.space),
            model_name: "mwe".into(),
            figures: vec![KeyFigure {
                label: "To solve again".into(),
                value: Quantity::Seconds(self.seconds() as f32),
                note: format!(
                    "median, {} vertices, {} poses, on the machine that made this page",
                    self.vertices, self.poses
                ),
            }],
            view: Some(SkinView {
                triangles: rig.mesh().triangles.clone(),
                rest: shown_positions(&rig.mesh().positions),
                poses: self.steps.iter().enumerate().map(frame).collect(),
                ..SkinView::default()
            }),
            sets: vec![ScoredSet { name: "held out, by ridge".into(), poses: self.steps.iter().map(score).collect() }],
            sweep: Some(StrengthSweep {
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
    let (mut runner, mut errors) = (WideRunner::new(baked), ErrorAccumulator::new(baked.vertices(), diagonal));
    for example in set.examples() {
        errors.add_frame(&example.label, &example.positions, runner.run(&example.transforms, None)?)?;
    }
    Ok(errors.finish().map_or(f64::NAN, |report| report.error.rms))
}
