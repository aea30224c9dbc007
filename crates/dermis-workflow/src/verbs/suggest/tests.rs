//! Frames whose worth is known beforehand.

use super::*;
use crate::load::LoadedRig;
use crate::measure::measure;
use crate::verbs::fit::{FitInput, Method, fit};
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

fn suggest(model: &ModelFile, motion: &Motion, count: usize) -> Suggestions {
    study(model, motion, None, &silent).unwrap().suggest(count)
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
        let s = suggest(&model(&arm, &known, method.clone()), &motion, 5);
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
    let s = suggest(&model(&arm, &start, Method::joint()), &arm.motion("swing", &pool), 4);
    let others: f64 = (0..6).map(|draw| error(&[0, 7, 13, 21].map(|f| (f + 5 * draw) % 29))).sum::<f64>() / 6.0;
    let suggested = error(&frames(&s));
    assert!(suggested < 0.95 * others, "{suggested} {others}");
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let arm = Arm::new(12, 6);
    let (mut model, good) = (model(&arm, &ArmPose::some(4, 1), Method::mwe()), arm.motion("swing", &[bent(1.0)]));
    let says = |model: &ModelFile, motion: &Motion| study(model, motion, None, &silent).err().unwrap().to_string();
    assert!(says(&model, &Motion { name: "still".into(), frames: vec![] }).contains("\"still\" has no frames"));
    let mut short = good.clone();
    short.frames[0].pose = WorldPose::new(good.frames[0].pose.bones.as_slice()[..3].to_vec());
    assert!(says(&model, &short).contains("3 bones"), "{}", says(&model, &short));
    let mut wild = good.clone();
    wild.frames[0].pose = WorldPose::new(vec![dermis_rig::glam::DAffine3::NAN; 4]);
    assert!(says(&model, &wild).contains("not finite"));
    let stop = |_, _| ControlFlow::Break(Cancelled);
    assert!(matches!(study(&model, &good, None, &stop), Err(Error::Cancelled)));
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
        pool.install(|| suggest(&model, &motion, 6))
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

fn wrist(turn: f64) -> ArmPose {
    ArmPose { wrist: DVec3::Y * turn, ..ArmPose::REST }
}

/// What training lacks is named where it is, and sculpting what is named for a region mends that region.
#[test]
fn advice_names_amplitudes_by_region_and_its_poses_mend_them() {
    let arm = Arm::new(24, 10);
    let start = [ArmPose::REST, bent(0.3), bent(0.6), wrist(0.3)];
    let motion_poses = [bent(1.6), bent(1.8), bent(1.9), wrist(1.1), wrist(1.25), wrist(1.3)];
    let motion = arm.motion("swing", &motion_poses);
    let of_start = model(&arm, &start, Method::joint());
    let advice = study(&of_start, &motion, None, &silent).unwrap().advise();
    assert!(advice.unknown > 0.3 && advice.regions.iter().map(|r| r.share).sum::<f64>() < 1.0 + 1e-9, "{advice:?}");
    let judged = examples(&arm, &motion_poses);
    let names = arm.rig.skeleton().names();
    let region_error = |model: &ModelFile, bone: &str| {
        let rms = measure(model, &judged, None).unwrap().model.per_vertex_rms;
        let own = rms.iter().enumerate().filter(|(v, _)| arm.weights().dominant(*v).is_some_and(|b| names[b] == bone));
        own.map(|(_, e)| e * e).sum::<f64>().sqrt()
    };
    let (elbow, hand) = (&arm.motion("x", &[bent(1.0)]), &arm.motion("x", &[wrist(1.0)]));
    let joint_of = |motion: &Motion| suggest(&of_start, motion, 1).list[0].farthest.0.clone();
    let (elbow, hand) = (joint_of(elbow), joint_of(hand));
    for (joint, other, trained, reached) in [(&elbow, &hand, 0.6f64, 1.9f64), (&hand, &elbow, 0.3, 1.3)] {
        let region = |joint: &str| advice.regions.iter().find(|r| r.joint == joint).unwrap();
        let of_joint = region(joint);
        let lack = &of_joint.amplitudes[0];
        assert_eq!((&lack.joint, lack.frames), (joint, 3), "{of_joint:?}");
        assert!((lack.trained - trained.to_degrees()).abs() < 0.1 && (lack.reached - reached.to_degrees()).abs() < 0.1);
        assert!((lack.beyond - (reached - trained).to_degrees()).abs() < 0.1, "{lack:?}");
        assert!(of_joint.sculpt[0].left < 0.7 && of_joint.sculpt.is_sorted_by(|a, b| a.left >= b.left), "{of_joint:?}");
        let with = |pose: usize| {
            let poses: Vec<ArmPose> = start.iter().copied().chain([motion_poses[pose]]).collect();
            region_error(&model(&arm, &poses, Method::joint()), joint)
        };
        let (before, own) = (region_error(&of_start, joint), with(of_joint.sculpt[0].frame));
        let others = with(region(other).sculpt[0].frame);
        assert!(own < 0.7 * before && own < 0.7 * others, "{joint}: {before} {own} {others}");
    }
}

#[test]
fn advice_names_pairs_that_training_knows_apart() {
    let arm = Arm::new(16, 8);
    let start = [ArmPose::REST, bent(0.6), bent(1.2), wrist(0.5), wrist(1.0)];
    let both = |elbow, turn| ArmPose { elbow, ..wrist(turn) };
    let motion = arm.motion("swing", &[both(1.2, 1.0), both(0.6, 0.5), bent(0.6)]);
    let advice = study(&model(&arm, &start, Method::joint()), &motion, None, &silent).unwrap().advise();
    for region in &advice.regions {
        assert!(region.amplitudes.is_empty(), "{region:?}");
    }
    let pair = advice.regions.iter().flat_map(|r| &r.pairs).next().unwrap();
    assert_eq!(pair.frames, 2);
    assert!((pair.beyond - 1.0f64.to_degrees()).abs() < 0.1, "{pair:?}");
    // What training holds already lacks nothing.
    let known = arm.motion("swing", &[bent(0.6), wrist(0.5), ArmPose::REST]);
    let none = study(&model(&arm, &start, Method::joint()), &known, None, &silent).unwrap().advise();
    assert!(none.regions.iter().all(|r| r.amplitudes.is_empty() && r.pairs.is_empty()), "{none:?}");
}
