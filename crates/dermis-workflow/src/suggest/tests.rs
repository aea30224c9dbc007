//! Frames whose worth is known beforehand.

use super::*;
use crate::fit::{FitOptions, Method, fit};
use crate::load::LoadedRig;
use crate::measure::measure;
use dermis_fit::silent;
use dermis_io::Space;
use dermis_io::npz::{Precision, read, write};
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, ExampleSet, Frame, WorldPose};
use dermis_testkit::{Arm, ArmPose};

fn bent(elbow: f64) -> ArmPose {
    ArmPose { elbow, ..ArmPose::REST }
}

fn motion(arm: &Arm, poses: &[ArmPose]) -> Motion {
    let skeleton = &arm.rig.skeleton;
    let pose = |e: &Example| WorldPose::new(skeleton.bones().map(|b| e.transforms[b] * skeleton.bind()[b]).collect());
    let frame = |(at, e): (usize, &Example)| Frame { label: format!("{at}"), time: Some(at as f64), pose: pose(e) };
    Motion { name: "swing".into(), frames: arm.examples(poses).iter().enumerate().map(frame).collect() }
}

fn examples(arm: &Arm, poses: &[ArmPose]) -> ExampleSet {
    ExampleSet::new("arm".into(), arm.examples(poses), &arm.rig).unwrap()
}

fn model(arm: &Arm, poses: &[ArmPose], method: Method) -> ModelFile {
    let loaded = LoadedRig { rig: arm.rig.clone(), space: Space::default(), notes: vec![] };
    fit(&loaded, &examples(arm, poses), None, &FitOptions::new(method), &silent).unwrap().model
}

fn frames(s: &Suggestions) -> Vec<usize> {
    s.list.iter().map(|s| s.frame).collect()
}

/// Oracle: the same variances from the joint system of training and chosen frames, solved anew for every choice.
#[test]
fn gains_are_those_of_solving_anew_with_the_frame_among_the_training() {
    let arm = Arm::new(12, 6);
    let model = model(&arm, &ArmPose::some(4, 1), Method::Mwe);
    let motion = motion(&arm, &ArmPose::some(9, 2));
    let training = training_of(&model).unwrap();
    let mut features = known_features(training);
    add_features(&model, training, &motion, &(0..9).collect::<Vec<_>>(), &mut features).unwrap();
    let (skin, kernels) = (Skin::new(&model, training), Kernels::new(&features));
    let place = &skin.places(&model, &kernels, 4)[100];
    let mut unknown = Unknown::new(place, &kernels, 4, 9);
    let before = unknown.total();
    let gain = unknown.gains()[5];
    unknown.learn(5);
    assert!((before - gain - unknown.total()).abs() < 1e-5 * before, "{before} {gain}");
    // Frame 5 moves to the training: the others must have what is left.
    let mut order: Vec<usize> = (0..4).chain([9]).chain(4..9).chain(10..13).collect();
    let moved = Kernels::new(&order.drain(..).map(|s| features[s].clone()).collect::<Vec<_>>());
    let anew = Unknown::new(place, &moved, 5, 8);
    let left = unknown.total() - unknown.mass * unknown.variance(5);
    assert!(anew.total() > 0.0 && (anew.total() - left).abs() < 1e-5 * before, "{} {left}", anew.total());
}

#[test]
fn what_is_new_is_suggested_and_what_is_known_is_not() {
    let arm = Arm::new(16, 8);
    let known = [ArmPose::REST, bent(0.5), bent(1.0)];
    let raised = ArmPose { shoulder: DVec3::Z * 1.2, ..ArmPose::REST };
    let motion = motion(&arm, &[bent(0.5), bent(0.6), raised, bent(1.0), ArmPose::REST]);
    for method in [Method::Joint, Method::Psd, Method::Mwe, Method::OwnWeights, Method::AnimationSpace] {
        let s = suggest(&model(&arm, &known, method), &motion, None, 5, &silent).unwrap();
        let first = &s.list[0];
        assert_eq!(first.frame, 2, "{method}");
        assert_eq!(first.new.len(), 1, "{method}: {:?}", first.new);
        assert!(first.new[0] == first.farthest && (first.new[0].1 - 1.2f64.to_degrees()).abs() < 1e-3);
        assert!(0.1 < first.skin && first.skin <= 1.0 && first.gain > 0.9, "{first:?}");
        // Frames that training holds are worth nothing beside it.
        assert!(s.list[1..].iter().all(|s| s.gain < 0.05), "{method}: {:?}", s.list);
    }
}

/// A frame that was chosen is known: its twin follows last, and what is left falls with every choice.
#[test]
fn twins_are_not_suggested_one_after_the_other() {
    let arm = Arm::new(16, 8);
    let model = model(&arm, &[ArmPose::REST, bent(0.3)], Method::Joint);
    let wrist = ArmPose { wrist: DVec3::Y * 0.9, ..ArmPose::REST };
    let motion = motion(&arm, &[bent(2.0), bent(2.0), bent(1.99), wrist]);
    let s = suggest(&model, &motion, None, 9, &silent).unwrap();
    assert!(frames(&s)[0] < 3 && frames(&s)[1] == 3, "{s:?}");
    assert!(s.list[2..].iter().all(|s| s.gain < 0.01 && s.new.is_empty()), "{s:?}");
    assert!(s.list[1].new.iter().all(|(_, degrees)| *degrees > 40.0));
    assert!(s.list.is_sorted_by(|a, b| a.left >= b.left && a.gain >= b.gain), "{s:?}");
}

/// Poses of another file are chosen for what they tell of the motion: an elbow's, not those of a wrist that rests in it.
#[test]
fn poses_of_another_file_are_judged_by_the_motion() {
    let arm = Arm::new(16, 8);
    let model = model(&arm, &[ArmPose::REST, bent(0.2)], Method::Joint);
    let wrist = ArmPose { wrist: DVec3::Y * 1.2, ..ArmPose::REST };
    let walk = motion(&arm, &[bent(1.0), bent(1.2), bent(1.4)]);
    let pool = motion(&arm, &[wrist, bent(1.25), wrist]);
    let s = suggest(&model, &walk, Some(&pool), 3, &silent).unwrap();
    assert_eq!((frames(&s), s.frames, s.offered), (vec![1], 3, 3));
    assert!(s.list[0].left < 0.3, "{s:?}");
}

/// The point of it: a model that learns the suggested poses is better on the motion than one that learns others.
#[test]
fn learning_the_suggested_frames_leaves_less_than_learning_others() {
    let arm = Arm::new(24, 10);
    let start = ArmPose::some(3, 1);
    let pool = ArmPose::some(30, 9)[1..].to_vec();
    let judged = examples(&arm, &ArmPose::some(40, 4));
    let error = |extra: &[usize]| {
        let poses: Vec<ArmPose> = start.iter().copied().chain(extra.iter().map(|&f| pool[f])).collect();
        measure(&model(&arm, &poses, Method::Joint), &judged, None).unwrap().model.error.rms
    };
    let s = suggest(&model(&arm, &start, Method::Joint), &motion(&arm, &pool), None, 4, &silent).unwrap();
    let others: f64 = (0..6).map(|draw| error(&[0, 7, 13, 21].map(|f| (f + 5 * draw) % 29))).sum::<f64>() / 6.0;
    let suggested = error(&frames(&s));
    assert!(suggested < 0.95 * others, "{suggested} {others}");
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let arm = Arm::new(12, 6);
    let (mut model, good) = (model(&arm, &ArmPose::some(4, 1), Method::Mwe), motion(&arm, &[bent(1.0)]));
    let says = |model: &ModelFile, motion: &Motion| suggest(model, motion, None, 3, &silent).unwrap_err().to_string();
    assert!(says(&model, &Motion { name: "still".into(), frames: vec![] }).contains("\"still\" has no frames"));
    let mut short = good.clone();
    short.frames[0].pose = WorldPose::new(good.frames[0].pose.bones.as_slice()[..3].to_vec());
    assert!(says(&model, &short).contains("3 bones"), "{}", says(&model, &short));
    let mut wild = good.clone();
    wild.frames[0].pose = WorldPose::new(vec![dermis_rig::glam::DAffine3::NAN; 4]);
    assert!(says(&model, &wild).contains("not finite"));
    let stop = |_, _| ControlFlow::Break(Cancelled);
    assert!(matches!(suggest(&model, &good, None, 3, &stop), Err(Error::Cancelled)));
    model.training = None;
    assert!(says(&model, &good).contains("does not hold the poses"));
}

#[test]
fn the_result_does_not_depend_on_threads_and_the_bundle_is_read_back() {
    let arm = Arm::new(16, 8);
    let model = model(&arm, &ArmPose::some(5, 1), Method::Joint);
    let motion = motion(&arm, &ArmPose::some(20, 3));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| suggest(&model, &motion, None, 6, &silent).unwrap())
    };
    let s = run(1);
    assert_eq!(s, run(3));
    let bundle = s.bundle(&model, &motion);
    let back = read(&write(&bundle, Precision::Double).unwrap(), "poses.npz").unwrap();
    assert_eq!(back.records.len(), 6);
    for (record, suggestion) in back.records.iter().zip(&s.list) {
        assert!(record.positions.is_none() && record.label == suggestion.label);
        let (found, wanted) = (record.pose.as_ref().unwrap(), &motion.frames[suggestion.frame].pose);
        assert!(found.bones.iter().zip(wanted.bones.iter()).all(|(a, b)| a.abs_diff_eq(*b, 1e-12)));
    }
}
