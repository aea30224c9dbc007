//! Frames whose worth is known beforehand.

use super::*;
use crate::fit::{FitInput, Method, fit};
use crate::load::LoadedRig;
use crate::measure::measure;
use dermis_fit::{Cancelled, silent};
use dermis_io::npz::{StoredFloat, read, write};
use dermis_io::{Space, to_bytes};
use dermis_rig::glam::DVec3;
use dermis_rig::{ExampleSet, WorldPose};
use dermis_testkit::{Arm, ArmPose};
use std::ops::ControlFlow;

fn bent(elbow: f64) -> ArmPose {
    ArmPose { elbow, ..ArmPose::REST }
}

fn examples(arm: &Arm, poses: &[ArmPose]) -> ExampleSet {
    ExampleSet::new("arm".into(), arm.examples(poses), &arm.rig).unwrap()
}

fn model(arm: &Arm, poses: &[ArmPose], method: Method) -> ModelFile {
    let loaded = LoadedRig { rig: arm.rig.clone(), space: Space::default(), notes: vec![] };
    let examples = examples(arm, poses);
    fit(&loaded, &FitInput::new(&loaded.rig, &examples), &method, &silent).unwrap().model
}

fn frames(s: &Suggestions) -> Vec<usize> {
    s.list.iter().map(|s| s.frame).collect()
}

#[test]
fn what_is_new_is_suggested_and_what_is_known_is_not() {
    let arm = Arm::new(16, 8);
    let known = [ArmPose::REST, bent(0.5), bent(1.0)];
    let raised = ArmPose { shoulder: DVec3::Z * 1.2, ..ArmPose::REST };
    let motion = arm.motion("swing", &[bent(0.5), bent(0.6), raised, bent(1.0), ArmPose::REST]);
    for method in [Method::joint(), Method::psd(), Method::mwe(), Method::OwnWeights, Method::animation_space()] {
        let s = suggest(&model(&arm, &known, method.clone()), &motion, None, 5, &silent).unwrap();
        let first = &s.list[0];
        assert_eq!(first.frame, 2, "{method}");
        assert_eq!(first.new.len(), 1, "{method}: {:?}", first.new);
        assert!(first.new[0] == first.farthest && (first.new[0].1 - 1.2f64.to_degrees()).abs() < 1e-3);
        assert!(0.1 < first.skin && first.skin <= 1.0 && first.gain > 0.9, "{first:?}");
        // Frames that training holds are worth nothing beside it.
        assert!(s.list[1..].iter().all(|s| s.gain < 0.05), "{method}: {:?}", s.list);
    }
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
        measure(&model(&arm, &poses, Method::joint()), &judged, None).unwrap().model.error.rms
    };
    let s = suggest(&model(&arm, &start, Method::joint()), &arm.motion("swing", &pool), None, 4, &silent).unwrap();
    let others: f64 = (0..6).map(|draw| error(&[0, 7, 13, 21].map(|f| (f + 5 * draw) % 29))).sum::<f64>() / 6.0;
    let suggested = error(&frames(&s));
    assert!(suggested < 0.95 * others, "{suggested} {others}");
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let arm = Arm::new(12, 6);
    let (mut model, good) = (model(&arm, &ArmPose::some(4, 1), Method::mwe()), arm.motion("swing", &[bent(1.0)]));
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
    model.model = model.model.with_training(None).unwrap();
    assert!(says(&model, &good).contains("does not hold the poses"));
}

#[test]
fn the_result_does_not_depend_on_threads_and_the_bundle_is_read_back() {
    let arm = Arm::new(16, 8);
    let model = model(&arm, &ArmPose::some(5, 1), Method::joint());
    let motion = arm.motion("swing", &ArmPose::some(20, 3));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| suggest(&model, &motion, None, 6, &silent).unwrap())
    };
    let s = run(1);
    assert_eq!(s, run(3));
    let contents = super::bundle(&s, &model, &motion);
    let back = read(&to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap(), "poses.npz").unwrap();
    assert_eq!(back.records.len(), 6);
    for (record, suggestion) in back.records.iter().zip(&s.list) {
        assert!(record.positions.is_none() && record.label == suggestion.label);
        let (found, wanted) = (record.pose.as_ref().unwrap(), &motion.frames[suggestion.frame].pose);
        assert!(found.bones.iter().zip(wanted.bones.iter()).all(|(a, b)| a.abs_diff_eq(*b, 1e-12)));
    }
}
