//! What the tests of fitting share: a rig with examples and a base, fitted and evaluated.
#![allow(dead_code)] // every test program uses its own part

use dermis_deform::enveloping::PoseFeatures;
use dermis_deform::{Base, Deformer, Enveloping, lbs};
use dermis_fit::maps::{MapSettings, from_weights};
use dermis_fit::mwe::{Centring, RidgeMode, RowChoice, Strength};
use dermis_fit::{Mwe, MweSettings, Training, fit_mwe, silent};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Example, Influences, Rig};
use dermis_testkit::{Arm, ArmPose};

/// Everything a fit needs.
#[derive(Clone)]
pub struct Bench {
    pub rig: Rig,
    pub examples: Vec<Example>,
    pub base: Vec<Vec<DVec3>>,
    pub maps: Influences,
    pub length: f64,
}

impl Bench {
    /// Over linear blend skinning, with maps from the weights.
    pub fn new(rig: &Rig, examples: Vec<Example>) -> Self {
        let base = examples.iter().map(|e| skinned(rig, &e.transforms)).collect();
        let weights = rig.weights().expect("the rig has weights");
        let maps = from_weights(rig.skeleton(), rig.mesh(), weights, MapSettings::default()).unwrap();
        Self { rig: rig.clone(), examples, base, maps, length: rig.mesh().diagonal() }
    }

    /// The arm in random poses, the rest pose first.
    pub fn arm(poses: usize, seed: u64) -> (Arm, Self) {
        let arm = Arm::new(9, 6);
        let bench = Self::new(&arm.rig, arm.examples(&ArmPose::some(poses, seed)));
        (arm, bench)
    }

    /// The same without a base: the model has to find the whole skin.
    pub fn without_base(mut self) -> Self {
        self.base.iter_mut().for_each(|base| base.fill(DVec3::ZERO));
        self
    }

    /// The examples at these places, in this order.
    pub fn subset(&self, places: &[usize]) -> Self {
        let pick = |s: &usize| (self.examples[*s].clone(), self.base[*s].clone());
        let (examples, base) = places.iter().map(pick).unzip();
        Self { examples, base, ..self.clone() }
    }

    pub fn training(&self) -> Training<'_> {
        Training {
            skeleton: self.rig.skeleton(),
            rest: &self.rig.mesh().positions,
            length: self.length,
            examples: &self.examples,
            base: (&self.base).into(),
        }
    }

    pub fn fit(&self, settings: &MweSettings) -> Mwe {
        fit_mwe(&self.training(), &self.maps, settings, &silent).expect("the fit succeeds")
    }

    /// The model in its own training poses.
    pub fn fitted(&self, correction: &Enveloping) -> Vec<Vec<DVec3>> {
        let poses = self.examples.iter().zip(&self.base);
        poses.map(|(e, base)| corrected(correction, base, &e.transforms)).collect()
    }

    pub fn targets(&self) -> Vec<Vec<DVec3>> {
        self.examples.iter().map(|e| e.positions.clone()).collect()
    }

    /// Linear blend skinning with the correction.
    pub fn deformer(&self, correction: &Enveloping) -> Deformer {
        let base = Base::Lbs(self.rig.weights().cloned().expect("the rig has weights"));
        Deformer::new(self.rig.mesh().positions.clone(), base, Some(correction.clone().into())).unwrap()
    }

    /// Linear blend skinning with the correction, in any pose.
    pub fn posed(&self, correction: &Enveloping, pose: &BoneTransforms) -> Vec<DVec3> {
        corrected(correction, &skinned(&self.rig, pose), pose)
    }
}

/// Linear blend skinning with the rig's weights.
pub fn skinned(rig: &Rig, pose: &BoneTransforms) -> Vec<DVec3> {
    let mut out = vec![DVec3::ZERO; rig.mesh().positions.len()];
    lbs(&rig.mesh().positions, rig.weights().expect("the rig has weights"), pose, &mut out);
    out
}

/// Puts vertices of all examples where the base has them.
pub fn agree_with_base(rig: &Rig, examples: &mut [Example], which: impl Fn(usize) -> bool) {
    for example in examples {
        let base = skinned(rig, &example.transforms);
        (0..base.len()).filter(|v| which(*v)).for_each(|v| example.positions[v] = base[v]);
    }
}

/// The exercise of an arm of 9 rings of 6 vertices, with the vertices around the middle of the hand where the base has them.
pub fn exercise_with_an_agreeing_hand() -> (Arm, Bench, impl Fn(usize) -> bool) {
    let arm = Arm::new(9, 6);
    let mut examples = arm.examples(&ArmPose::exercise(6));
    let rest = arm.rig.mesh().positions.clone();
    let agrees = move |v: usize| rest[v].x > 0.6;
    agree_with_base(&arm.rig, &mut examples, &agrees);
    let bench = Bench::new(&arm.rig, examples);
    (arm, bench, agrees)
}

/// What the correction adds in a pose, posed world.
pub fn deltas(correction: &Enveloping, pose: &BoneTransforms) -> Vec<DVec3> {
    let mut features = PoseFeatures::default();
    correction.features(pose, &mut features);
    (0..correction.vertices()).map(|v| correction.at(v, &features, pose).0).collect()
}

/// Base and correction.
pub fn corrected(correction: &Enveloping, base: &[DVec3], pose: &BoneTransforms) -> Vec<DVec3> {
    base.iter().zip(deltas(correction, pose)).map(|(p, d)| *p + d).collect()
}

/// The default form at a given strength, without what a nearly perfect fit of clean data does not need.
pub fn plain(rows: RowChoice, s: f64) -> MweSettings {
    let mut settings = MweSettings::for_poses(100, false);
    (settings.rows, settings.strength, settings.guard) = (rows, Strength::Given(s), false);
    settings.centring = Centring::Rest;
    settings.ridge = RidgeMode::Absolute;
    settings
}
