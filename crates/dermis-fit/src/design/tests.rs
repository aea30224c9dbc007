//! Frames whose worth is known beforehand.

use super::*;
use crate::{JointSettings, Training, fit_joints, silent};
use dermis_deform::lbs;
use dermis_deform::training::moves_skin;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Example};
use dermis_testkit::{Arm, ArmPose};

fn bent(elbow: f64) -> ArmPose {
    ArmPose { elbow, ..ArmPose::REST }
}

/// What a joint model of some poses knows.
struct Model {
    training: TrainingPoses,
    radii: Vec<f32>,
}

impl Model {
    fn new(arm: &Arm, poses: &[ArmPose]) -> Self {
        let (skeleton, rest) = (arm.rig.skeleton(), &arm.rig.mesh().positions);
        let examples = arm.examples(poses);
        let skinned = |e: &Example| {
            let mut out = vec![DVec3::ZERO; rest.len()];
            lbs(rest, arm.weights(), &e.transforms, &mut out);
            out
        };
        let base: Vec<Vec<DVec3>> = examples.iter().map(skinned).collect();
        let training = Training { skeleton, rest, length: arm.length(), examples: &examples, base: (&base).into() };
        let fitted = fit_joints(&training, arm.weights(), &JointSettings::new(false), &silent).unwrap();
        let transforms: Vec<&BoneTransforms> = examples.iter().map(|e| &e.transforms).collect();
        let moving = moves_skin(skeleton, arm.weights());
        Self {
            training: TrainingPoses::new(skeleton, &moving, &transforms, arm.length()),
            radii: fitted.correction.radii.iter().map(|&r| r as f32).collect(),
        }
    }

    fn known<'a>(&'a self, arm: &'a Arm) -> Known<'a> {
        Known {
            rig: &arm.rig,
            weights: Some(arm.weights()),
            training: &self.training,
            radii: &self.radii,
            touched: &[],
        }
    }
}

fn study<'a>(known: &Known<'_>, motion: &'a Motion, among: Option<&'a Motion>) -> Result<Study<'a>, DesignError> {
    Study::new(known, motion, among, &silent)
}

fn frames(s: &Suggestions) -> Vec<usize> {
    s.list.iter().map(|s| s.frame).collect()
}

/// Oracle: the same variances from the joint system of training and chosen frames, solved anew for every choice.
#[test]
fn gains_equal_those_of_a_solve_with_the_frame_among_the_training() {
    let arm = Arm::new(12, 6);
    let model = Model::new(&arm, &ArmPose::some(4, 1));
    let known = model.known(&arm);
    let motion = arm.motion("swing", &ArmPose::some(9, 2));
    let mut features = known_features(&known);
    add_features(&known, &motion, &(0..9).collect::<Vec<_>>(), &mut features).unwrap();
    let (skin, kernels) = (Skin::new(&known).unwrap(), Kernels::new(&features));
    let place = &skin.places(&known, &kernels, 4)[100];
    let mut unknown = Unknown::new(place, &kernels, 4, &[0, 1, 2, 3], 9);
    let before = unknown.total();
    let gain = unknown.gains()[5];
    unknown.learn(5);
    assert!((before - gain - unknown.total()).abs() < 1e-5 * before, "{before} {gain}");
    // Frame 5 becomes a training pose: the others must have the variance that is left.
    let mut order: Vec<usize> = (0..4).chain([9]).chain(4..9).chain(10..13).collect();
    let moved = Kernels::new(&order.drain(..).map(|s| features[s].clone()).collect::<Vec<_>>());
    let anew = Unknown::new(place, &moved, 5, &[0, 1, 2, 3, 4], 8);
    let left = unknown.total() - unknown.mass * unknown.variance(5);
    assert!(anew.total() > 0.0 && (anew.total() - left).abs() < 1e-5 * before, "{} {left}", anew.total());
}

/// A frame that was chosen is known: its twin follows last, and what is left falls with every choice.
#[test]
fn twins_are_not_suggested_one_after_the_other() {
    let arm = Arm::new(16, 8);
    let model = Model::new(&arm, &[ArmPose::REST, bent(0.3)]);
    let wrist = ArmPose { wrist: DVec3::Y * 0.9, ..ArmPose::REST };
    let motion = arm.motion("swing", &[bent(2.0), bent(2.0), bent(1.99), wrist]);
    let s = study(&model.known(&arm), &motion, None).unwrap().suggest(9);
    assert!(frames(&s)[0] < 3 && frames(&s)[1] == 3, "{s:?}");
    assert!(s.list[2..].iter().all(|s| s.gain < 0.01 && s.new.is_empty()), "{s:?}");
    assert!(s.list[1].new.iter().all(|(_, degrees)| *degrees > 40.0));
    assert!(s.list.is_sorted_by(|a, b| a.left >= b.left && a.gain >= b.gain), "{s:?}");
}

/// Poses of another file are chosen for what they tell of the motion. It bends the elbow and rests the wrist, so an elbow is chosen.
#[test]
fn poses_of_another_file_are_judged_by_the_motion() {
    let arm = Arm::new(16, 8);
    let model = Model::new(&arm, &[ArmPose::REST, bent(0.2)]);
    let wrist = ArmPose { wrist: DVec3::Y * 1.2, ..ArmPose::REST };
    let walk = arm.motion("swing", &[bent(1.0), bent(1.2), bent(1.4)]);
    let pool = arm.motion("swing", &[wrist, bent(1.25), wrist]);
    let s = study(&model.known(&arm), &walk, Some(&pool)).unwrap().suggest(3);
    assert_eq!((frames(&s), s.frames, s.offered), (vec![1], 3, 3));
    assert!(s.list[0].left < 0.3, "{s:?}");
}

#[test]
fn a_model_without_training_poses_is_refused() {
    let arm = Arm::new(12, 6);
    let motion = arm.motion("swing", &[bent(1.0)]);
    let why = |training: TrainingPoses| {
        let known = Known { rig: &arm.rig, weights: None, training: &training, radii: &[], touched: &[] };
        study(&known, &motion, None).err().unwrap()
    };
    let skeleton = arm.rig.skeleton();
    assert_eq!(why(TrainingPoses::new(skeleton, &[true; 4], &[], arm.length())), DesignError::NoTraining);
    assert_eq!(why(TrainingPoses::new(skeleton, &[false; 4], &[], arm.length())), DesignError::NoJoints);
}
