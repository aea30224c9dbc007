//! A model followed while its ridge is turned: what dragging a slider costs, and what it does to the skin.

use crate::error::Error;
use crate::load::LoadedRig;
use crate::measure::WideRunner;
use dermis_deform::Baked;
use dermis_fit::Progress;
use dermis_fit::method::{FitInput, MweMethod, RidgeSlider};
use dermis_measure::ErrorAccumulator;
use dermis_report::page::{Page, Provenance, shown_positions};
use dermis_report::ridge_page::{RidgePage, RidgePageStep};
use dermis_report::unit_of;
use dermis_rig::clock::Instant;
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, ExampleSet};

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
        let pose = shown(held_out);
        let step = |step: &RidgeStep| RidgePageStep {
            s: step.s,
            train: step.train,
            held_out: step.held_out,
            skin: shown_positions(&step.shown),
        };
        let page = RidgePage {
            name: loaded.rig.name(),
            mesh: loaded.rig.mesh(),
            unit: unit_of(&loaded.space),
            training_poses: self.poses,
            seconds: self.seconds(),
            chosen: self.chosen,
            pose: pose.map_or(String::new(), |example| example.label.clone()),
            target: pose.map_or(vec![], |example| shown_positions(&example.positions)),
            steps: self.steps.iter().map(step).collect(),
            provenance: Provenance { program: crate::PROGRAM.into(), ..Provenance::default() },
        };
        page.page()
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
