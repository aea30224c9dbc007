//! What the tests of fitting share: a rig with examples and a base, fitted and evaluated.
#![allow(dead_code)] // every test program uses its own part

use dermis_deform::RiggedDeformer;
use dermis_deform::baked::Scratch;
use dermis_deform::enveloping::PoseFeatures;
use dermis_deform::{Base, Deformer, Enveloping, lbs};
use dermis_fit::maps::{MapSettings, from_weights};
use dermis_fit::mwe::{Centring, RidgeMode, RowChoice, Strength};
use dermis_fit::{Mwe, MweSettings, Training, fit_mwe, silent};
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, ExampleSet, Influences, Mesh, Rig, Skeleton};
use dermis_testkit::{Arm, ArmPose};
use std::f64::consts::PI;

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

/// Two tubes, left and right of x = 0, each on a bone of its own that hangs on a common root.
pub fn pair_of_tubes() -> Rig {
    let mut positions = Vec::new();
    for side in [-1.0, 1.0] {
        for ring in 0..5 {
            for corner in 0..6 {
                let angle = f64::from(corner) * PI / 3.0;
                positions.push(DVec3::new(
                    side * (0.1 + 0.1 * f64::from(ring)),
                    0.05 * angle.cos(),
                    0.04 * angle.sin() + 0.01 * f64::from(corner % 2),
                ));
            }
        }
    }
    let share = |p: &DVec3| ((p.x.abs() - 0.1) / 0.4).clamp(0.0, 1.0);
    let rows = positions.iter().map(|p| {
        let bone = BoneIndex::new(if p.x < 0.0 { 1 } else { 2 });
        vec![(BoneIndex::new(0), 1.0 - share(p)), (bone, share(p))].into_iter().filter(|w| w.1 > 0.0).collect()
    });
    let weights = Influences::from_rows(rows).unwrap();
    let bind = [0.0, -0.2, 0.2].map(|x| DAffine3::from_translation(DVec3::X * x)).to_vec();
    let parents = vec![None, Some(BoneIndex::new(0)), Some(BoneIndex::new(0))];
    let skeleton = Skeleton::new(["root", "left", "right"].map(String::from).to_vec(), parents, bind).unwrap();
    let triangles = (0..10u32).flat_map(|r| (0..4).map(move |c| [6 * r, 6 * r + c + 1, 6 * r + c + 2]));
    let triangles = triangles.filter(|t| t[2] < 60).collect();
    let mesh = Mesh { positions, triangles, ..Mesh::default() };
    Rig::new(mesh, skeleton, Some(weights)).unwrap().named("pair")
}

/// The rms distance of a model from examples.
pub fn off(model: &RiggedDeformer, set: &ExampleSet) -> f64 {
    let (mut scratch, mut skin) = (Scratch::default(), vec![Vec3::ZERO; model.baked().vertices()]);
    let mut squares = 0.0;
    for example in set.examples() {
        model.baked().evaluate(&example.transforms, None, &mut scratch, &mut skin).unwrap();
        let pairs = skin.iter().zip(&example.positions);
        squares += pairs.map(|(a, b)| a.as_dvec3().distance_squared(*b)).sum::<f64>();
    }
    (squares / (set.len() * skin.len()) as f64).sqrt()
}
