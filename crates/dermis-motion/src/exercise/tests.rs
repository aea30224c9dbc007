//! Exercises of made characters.

use super::*;
use crate::anatomy::{Anatomy, LimitFrom};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix};
use dermis_rig::{BoneVec, Influences, Mesh, Skeleton};
use dermis_testkit::Tree;

fn bone(at: usize) -> BoneIndex {
    BoneIndex::new(at)
}

fn turn(skeleton: &Skeleton, frame: &Frame, at: BoneIndex) -> DQuat {
    let local = |pose: &BoneVec<DAffine3>| match skeleton.parents()[at] {
        Some(parent) => pose[parent].inverse() * pose[at],
        None => pose[at],
    };
    let from_rest = local(skeleton.bind()).matrix3.inverse() * local(&frame.pose.bones).matrix3;
    quat_from_matrix(&nearest_rotation(&from_rest))
}

fn limits(skeleton: &Skeleton) -> BoneVec<JointLimits> {
    let of = |at: usize| match at % 3 {
        _ if at == 0 => JointLimits::Locked,
        0 => JointLimits::hinge(DVec3::new(0.2, 1.0, 0.1), [-0.3, 1.9]).unwrap(),
        1 => JointLimits::cone(DVec3::X, DVec3::Z, [[-0.2, 1.2], [-0.5, 0.4]], [-0.3, 0.3]).unwrap(),
        _ => JointLimits::cone(DVec3::X, DVec3::Z, [[-0.2, 2.0], [0.0, 0.0]], [-0.6, 0.6]).unwrap(),
    };
    BoneVec::new((0..skeleton.len()).map(of).collect())
}

fn given(skeleton: &Skeleton, limits: &BoneVec<JointLimits>) -> Anatomy {
    let from = BoneVec::new(vec![LimitFrom::Given; skeleton.len()]);
    Anatomy { limits: limits.clone(), from, ..Anatomy::new(skeleton, |_| true) }
}

fn settings(poses: usize, in_betweens: usize, layout: Layout) -> ExerciseSettings {
    ExerciseSettings { poses, in_betweens, layout, ..ExerciseSettings::default() }
}

/// Oracle: the rotations that the frames' matrices hold.
#[test]
fn every_frame_is_within_limits_and_every_end_is_shown() {
    for seed in 0..6 {
        let tree = Tree::new(9, 60, seed);
        let skeleton = tree.rig.skeleton();
        let limits = limits(skeleton);
        for layout in [Layout::Together, Layout::Apart] {
            let made = exercise(&tree.rig, &given(skeleton, &limits), &settings(80, 0, layout)).unwrap();
            assert_eq!((made.motion.frames.len() + made.dropped, made.poses.len()), (80 + made.dropped, 80));
            assert_eq!(made.left_out, 0);
            for frame in &made.motion.frames {
                for at in skeleton.bones() {
                    let excess = limits[at].excess(turn(skeleton, frame, at));
                    assert!(limits[at] == JointLimits::Locked || excess < 1e-9, "{}: {at} {excess}", frame.label);
                }
            }
            for at in skeleton.bones().skip(1) {
                let (axis, range) = match &limits[at] {
                    JointLimits::Hinge(hinge) => (hinge.axis(), hinge.range()),
                    JointLimits::Cone(cone) => (cone.side(), cone.swing()[0]),
                    _ => unreachable!(),
                };
                // -0.2 and -0.3 are small beside the other end; they are left to poses that are spread.
                for end in range.into_iter().filter(|end| *end > 0.5) {
                    let shown = made.motion.frames.iter().zip(&made.poses).any(|(frame, pose)| {
                        let off = turn(skeleton, frame, at).conjugate() * DQuat::from_axis_angle(axis, end);
                        pose.kind == Kind::Extreme && rotation_vector(off).length() < 1e-9
                    });
                    let eased = made.poses.iter().any(|p| p.eased && p.turned.iter().any(|(b, _)| *b == at));
                    assert!(shown || eased, "seed {seed}: {at} at {end}");
                }
            }
        }
    }
}

/// A motion to simulate: from rest to rest, and no joint turns farther between frames than is said, nor in jumps.
#[test]
fn in_betweens_lead_from_rest_to_rest() {
    let tree = Tree::new(7, 60, 3);
    let skeleton = tree.rig.skeleton();
    let made = exercise(&tree.rig, &given(skeleton, &limits(skeleton)), &settings(20, 9, Layout::Together)).unwrap();
    let frames = &made.motion.frames;
    assert_eq!(frames.len(), 20 * 10 + 1);
    for end in [&frames[0], &frames[200]] {
        for at in skeleton.bones() {
            assert!(end.pose.bones[at].abs_diff_eq(skeleton.bind()[at], 1e-12));
        }
    }
    let mut most = 0.0f64;
    for pair in frames.windows(2) {
        assert!((pair[1].time.unwrap() - pair[0].time.unwrap() - 1.0 / 24.0).abs() < 1e-12);
        for at in skeleton.bones() {
            let by = turn(skeleton, &pair[0], at).conjugate() * turn(skeleton, &pair[1], at);
            most = most.max(rotation_vector(by).length());
        }
    }
    let (_, said) = made.longest_turn.unwrap();
    // acos of what is near one is good to 1e-8.
    assert!((most - said).abs() < 1e-7, "{most} {said}");
    assert!(most < 0.45, "no joint has a way longer than 4 rad in ten steps: {most}");
}

/// Oracle: of the first 2ᵐ numbers of a scrambled Sobol dimension each interval of length 2⁻ᵐ holds one.
#[test]
fn spread_poses_fill_the_range_of_a_hinge_evenly() {
    let tree = Tree::new(7, 60, 3);
    let limits = limits(tree.rig.skeleton());
    let joints = Joint::all(tree.rig.skeleton(), &limits);
    let maker =
        Maker { rig: &tree.rig, capsules: Capsules::new(&tree.rig, &[None; 7]), joints, follows: vec![None; 7] };
    let hinge = maker.joints.iter().position(|joint| joint.bone == bone(3)).unwrap();
    let mut seen = [0; 64];
    for index in 0..64 {
        let angle = maker.spread(index)[hinge].angles[0];
        // Gathering is monotone, with power 1.25 on either side of rest.
        let end = if angle < 0.0 { -0.3 } else { 1.9 };
        let even = end * (angle / end).powf(0.8);
        seen[((even + 0.3) / 2.2 * 64.0) as usize] += 1;
    }
    assert_eq!(seen, [1; 64]);
}

/// Swings lie in each quadrant by its area, and their level λ has the distribution λ^(4/3): half of them below 0.5^(3/4).
#[test]
fn spread_swings_fill_their_ellipses() {
    let limits = JointLimits::cone(DVec3::X, DVec3::Z, [[-0.2, 1.2], [-0.5, 0.4]], [-0.3, 0.3]).unwrap();
    let skeleton = Tree::new(2, 10, 1).rig.skeleton().clone();
    let joint = &Joint::all(&skeleton, &BoneVec::new(vec![JointLimits::Locked, limits])).clone()[0];
    let (mut inner, mut right, n) = (0, 0, 4096);
    for index in 0..n {
        let number = |d| f64::from(sobol_burley::sample(index, d, 0));
        let [x, y, _] = joint.spread([number(0), number(1), number(2)]);
        let level = (x / if x < 0.0 { 0.2 } else { 1.2 }).hypot(y / if y < 0.0 { 0.5 } else { 0.4 });
        assert!(level <= 1.0 + 1e-12);
        inner += u32::from(level < 0.5f64.powf(0.75));
        right += u32::from(x > 0.0);
    }
    // 1.2 of 1.4 of the area lies to the right.
    assert!((f64::from(inner) / f64::from(n) - 0.5).abs() < 0.01, "{inner}");
    assert!((f64::from(right) / f64::from(n) - 1.2 / 1.4).abs() < 0.01, "{right}");
}

/// Two rods that hang side by side, each on a hinge that could swing it through the other.
fn scissors() -> Rig {
    let at = |x: f64, y: f64| DAffine3::from_translation(DVec3::new(x, y, 0.0));
    let names = ["hub", "left", "left mid", "left rod", "right", "right mid", "right rod"].map(String::from).to_vec();
    let parents = [None, Some(0), Some(1), Some(2), Some(0), Some(4), Some(5)].map(|p| p.map(BoneIndex::new)).to_vec();
    let bind =
        vec![at(0.0, 1.0), at(0.3, 1.0), at(0.3, 0.9), at(0.3, 0.8), at(-0.3, 1.0), at(-0.3, 0.9), at(-0.3, 0.8)];
    let skeleton = Skeleton::new(names, parents, bind).unwrap();
    let mut positions = Vec::new();
    let mut rows = Vec::new();
    for (x, rod) in [(0.3, 3), (-0.3, 6)] {
        for i in 0..40 {
            for k in 0..8 {
                let around = f64::from(k) * std::f64::consts::TAU / 8.0;
                let down = 0.8 - 0.8 * f64::from(i) / 39.0;
                positions.push(DVec3::new(x + 0.05 * around.cos(), down, 0.05 * around.sin()));
                rows.push(vec![(bone(rod), 1.0)]);
            }
        }
    }
    let mesh = Mesh { positions, ..Mesh::default() };
    Rig::new(mesh, skeleton, Some(Influences::from_rows(rows).unwrap())).unwrap()
}

/// Oracle: distances of many points of both rods in every pose. Capsules of radius 0.05 may meet by [`DEEP`] of it.
#[test]
fn rods_do_not_pass_through_each_other() {
    let rig = scissors();
    let mut limits = BoneVec::new(vec![JointLimits::Locked; 7]);
    for (at, range) in [(1, [-1.4, 0.2]), (4, [-0.2, 1.4])] {
        limits[bone(at)] = JointLimits::hinge(DVec3::Z, range).unwrap();
    }
    let made = exercise(&rig, &given(rig.skeleton(), &limits), &settings(60, 0, Layout::Together)).unwrap();
    assert!(made.eased > 3 && made.capsules == 2, "{} {}", made.eased, made.capsules);
    for frame in &made.motion.frames {
        let rod = |at: usize| {
            let m = frame.pose.bones[bone(at)] * rig.skeleton().inverse_bind()[bone(at)];
            let x = rig.skeleton().bind()[bone(at)].translation.x;
            (0..=200).map(move |i| m.transform_point3(DVec3::new(x, 0.75 - 0.7 * f64::from(i) / 200.0, 0.0)))
        };
        let least = rod(3).flat_map(|p| rod(6).map(move |q| p.distance(q))).fold(f64::MAX, f64::min);
        assert!(least > 0.1 - DEEP * 0.05 - 1e-3, "{}: {least}", frame.label);
    }
}

/// A leg whose foot hangs on the root, as a target of inverse kinematics does. Oracle: the foot keeps its place in the shin's frame.
#[test]
fn a_foot_that_hangs_on_the_root_moves_with_its_leg() {
    let at = |y: f64| DAffine3::from_translation(DVec3::Y * y);
    let names = ["body", "FF", "toe", "trunk", "leg", "leg 2"].map(String::from).to_vec();
    let parents = [None, Some(0), Some(1), Some(0), Some(3), Some(4)].map(|p| p.map(BoneIndex::new)).to_vec();
    let skeleton = Skeleton::new(names, parents, [0.0, 0.1, 0.0, 1.0, 0.9, 0.5].map(at).to_vec()).unwrap();
    let (mut positions, mut rows) = (Vec::new(), Vec::new());
    for i in 0..60 {
        let y = 1.2 - 1.2 * f64::from(i) / 59.0;
        positions.push(DVec3::new(0.05 * f64::from(i % 3), y, 0.0));
        rows.push(match y {
            y if y > 0.9 => vec![(bone(3), 1.0)],
            y if y > 0.5 => vec![(bone(4), 1.0)],
            y if y > 0.2 => vec![(bone(5), 1.0)],
            y if y > 0.1 => vec![(bone(1), 0.5), (bone(5), 0.5)],
            _ => vec![(bone(1), 0.5), (bone(2), 0.5)],
        });
    }
    let rig =
        Rig::new(Mesh { positions, ..Mesh::default() }, skeleton, Some(Influences::from_rows(rows).unwrap())).unwrap();
    let skeleton = rig.skeleton();
    let anatomy = Anatomy::new(skeleton, |bone| bone.get() > 0);
    let made = exercise(&rig, &anatomy, &settings(30, 0, Layout::Together)).unwrap();
    assert_eq!(made.following, [(bone(1), bone(5))]);
    let mut most = 0.0f64;
    for frame in &made.motion.frames {
        let pose = &frame.pose.bones;
        let (now, rest) =
            (pose[bone(5)].inverse() * pose[bone(1)], skeleton.inverse_bind()[bone(5)] * skeleton.bind()[bone(1)]);
        assert!(now.abs_diff_eq(rest, 1e-12), "{}", frame.label);
        most = most.max(pose[bone(1)].translation.distance(skeleton.bind()[bone(1)].translation));
    }
    assert!(most > 0.3, "the leg moves: {most}");
}

#[test]
fn the_same_rig_gives_the_same_exercise() {
    let tree = Tree::new(9, 60, 5);
    let anatomy = Anatomy::new(tree.rig.skeleton(), |_| true);
    let make = || exercise(&tree.rig, &anatomy, &settings(30, 2, Layout::Together)).unwrap();
    assert_eq!(make(), make());
}

#[test]
fn what_makes_no_exercise_is_said() {
    let tree = Tree::new(4, 20, 1);
    let free = limits(tree.rig.skeleton());
    let locked = BoneVec::new(vec![JointLimits::Locked; 4]);
    let made = |limits: &BoneVec<JointLimits>, settings| {
        exercise(&tree.rig, &given(tree.rig.skeleton(), limits), &settings).unwrap_err()
    };
    let layout = Layout::Together;
    assert_eq!(made(&locked, settings(9, 0, layout)), ExerciseError::NothingMoves { bones: 4 });
    assert!(matches!(made(&free, settings(1, 0, layout)), ExerciseError::Poses { poses: 1, .. }));
    assert!(matches!(made(&free, settings(usize::MAX, 0, layout)), ExerciseError::Poses { .. }));
    assert!(matches!(made(&free, settings(9, usize::MAX, layout)), ExerciseError::Frames { .. }));
    let still = ExerciseSettings { rate: 0.0, ..settings(9, 1, layout) };
    assert!(matches!(made(&free, still), ExerciseError::Frames { .. }));
    assert!(matches!(
        made(&BoneVec::new(vec![]), settings(9, 0, layout)),
        ExerciseError::Limits { found: 0, bones: 4 }
    ));
}

/// Down, seen from the character, is spread evenly over the sphere: by height and around.
#[test]
fn tilted_poses_show_every_direction_of_down() {
    let tree = Tree::new(9, 60, 3);
    let skeleton = tree.rig.skeleton();
    let limits = limits(skeleton);
    let anatomy = given(skeleton, &limits);
    let upright = exercise(&tree.rig, &anatomy, &settings(12, 0, Layout::Together)).unwrap();
    let asked = ExerciseSettings { tilted: 20, ..settings(12, 0, Layout::Together) };
    let made = exercise(&tree.rig, &anatomy, &asked).unwrap();
    assert_eq!((made.poses.len() + made.dropped, made.poses[0].kind), (32 + made.dropped, Kind::Rest));
    let mut seen = Vec::new();
    for (pose, frame) in made.poses.iter().zip(&made.motion.frames) {
        let root = frame.pose.bones[bone(0)] * skeleton.inverse_bind()[bone(0)];
        let down = root.matrix3.transpose() * DVec3::NEG_Y;
        match pose.kind {
            Kind::Tilted => seen.push(down),
            _ => assert!(down.distance(DVec3::NEG_Y) < 1e-9, "{}", pose.label),
        }
        for at in skeleton.bones().skip(1) {
            assert!(limits[at] == JointLimits::Locked || limits[at].excess(turn(skeleton, frame, at)) < 1e-9);
        }
    }
    assert_eq!(seen.len(), 20);
    let middle = seen.iter().sum::<DVec3>() / 20.0;
    assert!(middle.length() < 0.1, "{middle}");
    let nearest = |at: usize| {
        let others = (0..seen.len()).filter(|other| *other != at);
        others.map(|other| seen[at].angle_between(seen[other])).fold(f64::INFINITY, f64::min)
    };
    assert!((0..20).all(|at| nearest(at) > 20f64.to_radians()), "two directions are nearly one");
    // The other poses are those of an exercise without tilts, in whatever order.
    let labels = |made: &Exercise| {
        let kept = made.poses.iter().filter(|pose| !matches!(pose.kind, Kind::Tilted | Kind::Spread));
        let mut labels: Vec<String> = kept.map(|pose| pose.label.clone()).collect();
        labels.sort();
        labels
    };
    assert_eq!(labels(&made), labels(&upright));
}
