//! Influences from examples: which bones move a vertex is found again, and a plan makes the poses that tell it.

use dermis_deform::lbs;
use dermis_fit::influence::{
    InfluenceSettings, JointLimits, PlanSettings, Rule, Source, discover, from_examples, moved_joints, plan, shares,
};
use dermis_fit::{BasePoses, Training, silent};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Rig};
use dermis_testkit::{Arm, Tree, moved, noisy, some_motion};

fn examples(rig: &Rig, poses: &[BoneTransforms]) -> Vec<Example> {
    let weights = rig.weights().unwrap();
    let example = |pose: &BoneTransforms| {
        let mut positions = vec![DVec3::ZERO; rig.mesh().positions.len()];
        lbs(&rig.mesh().positions, weights, pose, &mut positions);
        Example { label: String::new(), time: None, transforms: pose.clone(), positions, importance: 1.0, local: None }
    };
    poses.iter().map(example).collect()
}

/// The examples that the plan of a rig asks for.
fn planned(rig: &Rig, degrees: f64) -> Vec<Example> {
    let motion = plan(rig.skeleton(), &PlanSettings { degrees, ..PlanSettings::default() });
    let poses: Vec<BoneTransforms> = motion.frames.iter().map(|f| rig.skeleton().bone_transforms(&f.pose)).collect();
    examples(rig, &poses)
}

fn training<'a>(rig: &'a Rig, examples: &'a [Example]) -> Training<'a> {
    let length = rig.mesh().diagonal();
    Training { skeleton: rig.skeleton(), rest: &rig.mesh().positions, length, examples, base: BasePoses::NONE }
}

/// Precision and recall of the pairs found, against true weights above `least`.
fn scores(found: &Influences, truth: &Influences, least: f64) -> (f64, f64) {
    let true_pair = |v: usize, bone: BoneIndex| truth.value(v, bone) > least;
    let listed = || (0..found.vertices()).flat_map(|v| found.of(v).iter().map(move |e| (v, e.0)));
    let hits = listed().filter(|&(v, bone)| true_pair(v, bone)).count() as f64;
    let all = truth.rows().flatten().filter(|(_, w)| *w > least).count() as f64;
    (hits / listed().count() as f64, hits / all)
}

/// The limb's mean radius is 45 mm; noise of 1 % of it in every coordinate.
#[test]
fn noisy_poses_of_single_joints_give_nearly_all_influences_and_hardly_others() {
    let arm = Arm::new(24, 10);
    for seed in 0..5 {
        let scans = noisy(&planned(&arm.rig, 45.0), 0.01 * 0.045, seed);
        let found = shares(&training(&arm.rig, &scans), &InfluenceSettings::default()).unwrap();
        let (precision, recall) = scores(&found.weights, arm.weights(), 0.02);
        assert!(precision > 0.95 && recall > 0.95, "seed {seed}: {precision} {recall}");
        let (_, recall) = scores(&found.candidates, arm.weights(), 0.02);
        assert!(recall > 0.95, "seed {seed}: candidates {recall}");
    }
}

/// Exact under linear blending, wherever the character stands in each pose.
#[test]
fn exact_poses_of_single_joints_give_the_weights_themselves() {
    let tree = Tree::new(8, 40, 5);
    let mut exact = planned(&tree.rig, 30.0);
    for (s, e) in exact.iter_mut().enumerate() {
        *e = moved(e, some_motion(0.3 * s as f64, DVec3::new(1.0, s as f64, 0.0)));
    }
    let settings = InfluenceSettings { least: 1e-9, ..InfluenceSettings::default() };
    let found = shares(&training(&tree.rig, &exact), &settings).unwrap();
    assert_eq!(found.unused, 0);
    for v in 0..40 {
        for bone in tree.rig.skeleton().bones() {
            assert!((found.weights.value(v, bone) - tree.weights().value(v, bone)).abs() < 1e-9);
        }
    }
}

/// A joint nobody turned cannot be told from the one above it: where their common share is something, both stay.
#[test]
fn a_joint_without_a_pose_stays_where_the_one_above_it_does() {
    let tree = Tree::new(7, 50, 9);
    let silent_bone = BoneIndex::new(3);
    let parent = tree.rig.skeleton().parents()[silent_bone].unwrap();
    let exact: Vec<Example> = planned(&tree.rig, 30.0)
        .into_iter()
        .filter(|e| !moved_joints(tree.rig.skeleton(), &e.transforms, 1.0, 0.01).joints.contains(&silent_bone))
        .collect();
    let found = shares(&training(&tree.rig, &exact), &InfluenceSettings::default()).unwrap();
    assert!(found.omega[silent_bone].is_none());
    for v in 0..50 {
        let both = tree.weights().value(v, silent_bone) + tree.weights().value(v, parent) > 0.02;
        assert_eq!(
            (found.candidates.value(v, silent_bone) > 0.0, found.candidates.value(v, parent) > 0.0),
            (both, both)
        );
    }
    let found = from_examples(
        &training(&tree.rig, &exact),
        &tree.rig.mesh().neighbours(),
        &InfluenceSettings::default(),
        &silent,
    );
    let found = found.unwrap();
    assert_eq!((found.source, found.unmoved.contains(&silent_bone)), (Source::SingleJoints, true));
}

#[test]
fn ordinary_motion_tells_influences_too() {
    let tree = Tree::new(9, 80, 4);
    let clean = examples(&tree.rig, &tree.poses(16, 0.8, 6));
    let scans = noisy(&clean, 0.001, 3);
    let neighbours = tree.rig.mesh().neighbours();
    let settings = InfluenceSettings::default();
    let found = discover(&training(&tree.rig, &scans), &neighbours, None, &settings, &silent).unwrap();
    let (precision, recall) = scores(&found, tree.weights(), 0.02);
    assert!(precision > 0.95 && recall > 0.95, "{precision} {recall}");
    let found = from_examples(&training(&tree.rig, &scans), &neighbours, &settings, &silent).unwrap();
    assert_eq!(found.source, Source::Motion);
    assert!(found.weights.rows().all(|row| (row.iter().map(|e| e.1).sum::<f64>() - 1.0).abs() < 1e-12));
}

#[test]
fn a_plan_turns_one_joint_at_a_time_within_its_limits() {
    let arm = Arm::new(6, 4);
    let skeleton = arm.rig.skeleton();
    let hinge = JointLimits { bone: BoneIndex::new(2), degrees: [(0.0, 0.0), (0.0, 0.0), (0.0, 120.0)] };
    let motion = plan(skeleton, &PlanSettings { limits: vec![hinge], ..PlanSettings::default() });
    // Rest; two ball joints with three axes either way; the hinge one way.
    assert_eq!(motion.frames.len(), 1 + 6 + 1 + 6);
    for (at, frame) in motion.frames.iter().enumerate() {
        assert_eq!(frame.time, Some(at as f64));
        let pose = skeleton.bone_transforms(&frame.pose);
        let found = moved_joints(skeleton, &pose, arm.rig.mesh().diagonal(), 0.01).joints;
        if at == 0 {
            assert!(found.is_empty() && frame.label == "rest");
            continue;
        }
        assert_eq!(found.len(), 1, "{}", frame.label);
        assert!(frame.label.starts_with(skeleton.names()[found[0]].as_str()));
        let degrees: f64 = frame.label.rsplit(' ').next().unwrap().parse().unwrap();
        let parent = skeleton.parents()[found[0]].unwrap();
        let turn = (pose[parent].inverse() * pose[found[0]]).matrix3;
        let cosine = 0.5 * (turn.x_axis.x + turn.y_axis.y + turn.z_axis.z - 1.0);
        assert!((cosine - degrees.to_radians().cos()).abs() < 1e-12);
        // The joint itself stays.
        let place = skeleton.bind()[found[0]].translation;
        assert!(pose[found[0]].transform_point3(place).distance(place) < 1e-12);
    }
    let one = PlanSettings { bones: Some(vec![BoneIndex::new(3)]), ..PlanSettings::default() };
    assert_eq!(plan(skeleton, &one).frames.len(), 7);
    let none = PlanSettings { degrees: f64::NAN, ..PlanSettings::default() };
    assert_eq!(plan(skeleton, &none).frames.len(), 1);
}

#[test]
fn poses_that_move_several_joints_are_named() {
    let tree = Tree::new(6, 4, 1);
    let wild = &tree.poses(3, 1.0, 2);
    let of = |pose: &BoneTransforms| moved_joints(tree.rig.skeleton(), pose, 1.0, 0.01).joints;
    assert_eq!(of(&wild[0]), []);
    assert!(of(&wild[1]).len() > 1);
    let whole = BoneTransforms::identity(6).moved(some_motion(1.0, DVec3::X));
    assert_eq!(of(&whole), [], "the character stands elsewhere, but no joint has moved");
}

/// The published rule claims what a joint carries as well, and the fit of the weights takes it away again.
#[test]
fn every_rule_finds_bones_and_names_its_source() {
    let arm = Arm::new(24, 10);
    let exact = planned(&arm.rig, 45.0);
    let (training, neighbours) = (training(&arm.rig, &exact), arm.rig.mesh().neighbours());
    let found = |rule| {
        let settings = InfluenceSettings { rule, ..InfluenceSettings::default() };
        from_examples(&training, &neighbours, &settings, &silent).unwrap()
    };
    // Half the longest edge is 27 mm here: the rule of movement misses bones that move a vertex by less.
    for (rule, source, least) in [
        (Rule::Shares, Source::SingleJoints, 0.95),
        (Rule::Published, Source::Published, 0.75),
        (Rule::Nearest(2), Source::Nearest, 0.95),
    ] {
        let found = found(rule);
        assert_eq!(found.source, source);
        let (precision, recall) = scores(&found.weights, arm.weights(), 0.02);
        assert!(precision > 0.9 && recall > least, "{rule:?}: {precision} {recall}");
    }
    // By the letter: in a pose of the shoulder the hand moves, so the upper arm is a candidate there.
    let (hand, upper) = (arm.rig.mesh().positions.len() - 1, dermis_testkit::arm::UPPER);
    assert_eq!(found(Rule::Published).candidates.value(hand, upper), 1.0);
    assert_eq!(found(Rule::Shares).weights.value(hand, upper), 0.0);
    assert!(found(Rule::Nearest(2)).candidates.rows().all(|row| row.len() == 2));
}

#[test]
fn the_published_rule_refuses_poses_of_several_joints() {
    let arm = Arm::new(9, 6);
    let examples = arm.examples(&dermis_testkit::ArmPose::some(6, 3));
    let settings = InfluenceSettings { rule: Rule::Published, ..InfluenceSettings::default() };
    let neighbours = arm.rig.mesh().neighbours();
    let refused = from_examples(&training(&arm.rig, &examples), &neighbours, &settings, &silent).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "5 of 6 examples move several joints; the published rule reads examples of one joint each"
    );
}
