//! Solves against closed forms and against forward kinematics.

use super::*;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix, rotation_vector};
use dermis_rig::{BoneIndex, BoneVec, Skeleton, WorldPose};
use dermis_testkit::Random;
use std::f64::consts::PI;

/// A chain with random lengths and bone axes of any direction; the last bone has a head and no length.
fn chain(bones: usize, random: &mut Random) -> Skeleton {
    let mut head = DVec3::from_array([0; 3].map(|_| random.between(-1.0, 1.0)));
    let mut bind = Vec::new();
    for _ in 0..bones {
        bind.push(DAffine3::from_rotation_translation(random.rotation(3.0), head));
        let along = (DVec3::X + 0.6 * random.direction()).normalize();
        head += along * random.between(0.4, 1.2);
    }
    let names = (0..bones).map(|b| format!("b{b}")).collect();
    Skeleton::new(names, (0..bones).map(|b| b.checked_sub(1).map(BoneIndex::new)).collect(), bind).unwrap()
}

/// Forward kinematics by products of local transforms, from a solve's answer.
fn world(skeleton: &Skeleton, solved: &Solved<'_>) -> WorldPose {
    skeleton.posed(solved.local()).unwrap().world()
}

/// The rotation of a joint from rest, from local transforms alone.
fn turn(skeleton: &Skeleton, local: &BoneVec<DAffine3>, bone: BoneIndex) -> DQuat {
    let rest = match skeleton.parents()[bone] {
        Some(parent) => skeleton.inverse_bind()[parent] * skeleton.bind()[bone],
        None => skeleton.bind()[bone],
    };
    quat_from_matrix(&nearest_rotation(&(rest.matrix3.inverse() * local[bone].matrix3)))
}

fn limited(skeleton: &Skeleton, random: &mut Random) -> BoneVec<JointLimits> {
    let limits = skeleton.bones().map(|bone| {
        let axis = random.direction();
        match bone.get() % 3 {
            1 => JointLimits::hinge(axis, [-0.2, 2.4]).unwrap(),
            _ => {
                let swing = [[-random.between(0.2, 1.5), random.between(0.2, 1.5)], [-0.6, 0.9]];
                JointLimits::cone(axis, axis.any_orthonormal_vector(), swing, [-0.7, 0.5]).unwrap()
            }
        }
    });
    BoneVec::new(limits.collect())
}

fn bone(at: usize) -> BoneIndex {
    BoneIndex::new(at)
}

/// Oracle: the law of cosines, written out for the elbow's place in the plane of the pole.
#[test]
fn two_bones_follow_the_law_of_cosines() {
    let mut random = Random::new(1);
    for case in 0..500 {
        let skeleton = chain(3, &mut random);
        let heads = [0, 1, 2].map(|b| skeleton.bind()[bone(b)].translation);
        let (l1, l2) = (heads[0].distance(heads[1]), heads[1].distance(heads[2]));
        let line = random.direction();
        let d = random.between((l1 - l2).abs() + 0.01, l1 + l2 - 0.01);
        let (target, pole) = (heads[0] + line * d, heads[0] + 2.0 * random.direction());
        let solver = Solver::new(&skeleton);
        let goal = Goal::point(bone(0), bone(2), target).with_pole(bone(1), pole);
        let solved = solver.solve(&solver.rest(), &[goal]).unwrap();
        let posed = world(&skeleton, &solved);
        let shoulder = ((l1 * l1 + d * d - l2 * l2) / (2.0 * l1 * d)).acos();
        let lean = (pole - heads[0]).reject_from(line).normalize();
        let elbow = heads[0] + l1 * (line * shoulder.cos() + lean * shoulder.sin());
        assert!(posed.bones[bone(1)].translation.distance(elbow) < 1e-10, "case {case}");
        assert!(posed.bones[bone(2)].translation.distance(target) < 1e-12, "case {case}");
        assert_eq!((solved.steps, solved.stop), (0, Stop::Met), "case {case}: the closed form needs no steps");
        assert!(solved.reaches[0].off_pole < 1e-9 && solved.reaches[0].out_of_reach == 0.0);
    }
}

/// Oracle: lengths. Beyond them the limb is straight towards the target and says by how much it falls short.
#[test]
fn two_bones_say_by_how_much_a_target_is_out_of_reach() {
    let mut random = Random::new(2);
    for _ in 0..200 {
        let skeleton = chain(3, &mut random);
        let heads = [0, 1, 2].map(|b| skeleton.bind()[bone(b)].translation);
        let (l1, l2) = (heads[0].distance(heads[1]), heads[1].distance(heads[2]));
        let (beyond, line) = (random.between(0.001, 3.0), random.direction());
        let solver = Solver::new(&skeleton);
        let solve = |d: f64| {
            let goal = Goal::point(bone(0), bone(2), heads[0] + line * d);
            solver.solve(&solver.rest(), &[goal]).unwrap()
        };
        let far = solve(l1 + l2 + beyond);
        assert!((far.reaches[0].out_of_reach - beyond).abs() < 1e-12);
        assert!((far.reaches[0].distance - beyond).abs() < 1e-12);
        let near = (l1 - l2).abs() * 0.5;
        let near = (near, solve(near));
        assert!((near.1.reaches[0].out_of_reach - near.0).abs() < 1e-12);
        assert!((near.1.reaches[0].distance - near.0).abs() < 1e-12);
    }
}

/// Oracle: forward kinematics. Without limits whatever is within the lengths is reached, by chains of any length, from any pose.
#[test]
fn free_chains_reach_what_their_lengths_allow() {
    let mut random = Random::new(3);
    let mut steps = 0;
    for case in 0..400 {
        let bones = 3 + random.below(8);
        let skeleton = chain(bones, &mut random);
        let solver = Solver::new(&skeleton);
        let end = bone(bones - 1);
        let start =
            skeleton.local_transforms(&skeleton.world_pose(&dermis_testkit::tree::wild(&skeleton, &mut random, 1.0)));
        let start = start.unwrap();
        let begun = skeleton.posed(start.clone()).unwrap().world();
        let base = begun.bones[bone(0)].translation;
        let links: Vec<f64> = (1..bones)
            .map(|b| begun.bones[bone(b - 1)].translation.distance(begun.bones[bone(b)].translation))
            .collect();
        let length: f64 = links.iter().sum();
        let longest = links.iter().copied().fold(0.0, f64::max);
        let nearest = (2.0 * longest - length).max(0.0);
        let target = base + random.direction() * random.between(nearest + 1e-3 * length, 0.999 * length);
        let solved = solver.solve(&start, &[Goal::point(bone(0), end, target)]).unwrap();
        let left = world(&skeleton, &solved).bones[end].translation.distance(target);
        assert!(
            left < 1e-6 * length,
            "case {case}: {bones} bones, {left} of {length} left after {} steps",
            solved.steps
        );
        assert!((solved.reaches[0].distance - left).abs() < 1e-12 && solved.reaches[0].out_of_reach == 0.0);
        steps = steps.max(solved.steps);
        let beyond = random.between(0.001, 1.0);
        let far = base + random.direction() * (length + beyond);
        let solved = solver.solve(&start, &[Goal::point(bone(0), end, far)]).unwrap();
        assert!((solved.reaches[0].out_of_reach - beyond).abs() < 1e-12);
        assert!(solved.reaches[0].distance < beyond + 1e-9 * length, "case {case}: straight towards it");
    }
    assert!(steps <= 60, "{steps}");
}

/// Limits hold to 1e-9 in every answer, reached or not. Oracle of reaching: a target that an allowed pose has. 9 of 10 are found from
/// rest, because limits leave minima apart, and 98 of 100 from a pose nearby: many of these poses have every joint at an end of its limits,
/// which makes the target a corner of what can be reached at all.
#[test]
fn limits_are_never_broken() {
    let mut random = Random::new(4);
    let (mut cases, mut found, mut nearby) = (0, 0, 0);
    for case in 0..300 {
        let bones = 3 + random.below(6);
        let skeleton = chain(bones, &mut random);
        let limits = limited(&skeleton, &mut random);
        let solver = Solver::new(&skeleton).with_limits(limits.clone()).unwrap();
        let end = bone(bones - 1);
        let allowed = |random: &mut Random, most: f64| {
            let mut pose = skeleton.pose();
            skeleton.bones().for_each(|b| pose.turn(b, limits[b].nearest(random.rotation(most))));
            skeleton.local_transforms(&pose.world()).unwrap()
        };
        let planted = allowed(&mut random, 1.5);
        let target = skeleton.posed(planted.clone()).unwrap().world().bones[end].translation;
        let goal = Goal::point(bone(0), end, target);
        let check = |solved: &Solved<'_>| {
            let local = solved.local();
            for b in skeleton.bones() {
                let excess = limits[b].excess(turn(&skeleton, &local, b));
                assert!(excess < 1e-9, "case {case}: joint {b} of {bones} breaks its limit by {excess}");
            }
            let left = world(&skeleton, solved).bones[end].translation.distance(target);
            assert!((left - solved.reaches[0].distance).abs() < 1e-12);
            solved.reaches[0].is_met(1e-6)
        };
        cases += 1;
        found += usize::from(check(&solver.solve(&allowed(&mut random, 0.0), std::slice::from_ref(&goal)).unwrap()));
        let mut near = skeleton.posed(planted).unwrap();
        (0..bones - 1).for_each(|b| near.turn(bone(b), random.rotation(0.05)));
        let near = skeleton.local_transforms(&near.world()).unwrap();
        nearby += usize::from(check(&solver.solve(&near, &[goal]).unwrap()));
        let far = Goal::point(bone(0), end, target + 20.0 * random.direction());
        let solved = solver.solve(&allowed(&mut random, 1.0), &[far]).unwrap();
        let local = solved.local();
        assert!(skeleton.bones().all(|b| limits[b].excess(turn(&skeleton, &local, b)) < 1e-9), "case {case}");
    }
    assert!(10 * found >= 9 * cases && 100 * nearby >= 98 * cases, "{found} and {nearby} of {cases}");
}

/// The largest turn of any joint between two answers.
fn jump(skeleton: &Skeleton, a: &BoneVec<DAffine3>, b: &BoneVec<DAffine3>) -> f64 {
    let turned = |bone| rotation_vector(turn(skeleton, a, bone).conjugate() * turn(skeleton, b, bone)).length();
    skeleton.bones().map(turned).fold(0.0, f64::max)
}

/// 10,000 targets along a closed curve that leaves the chain's reach and comes back: no joint turns by more between neighbours than the closed form needs
/// where it is steepest.
///
/// Of two bones with lengths a and b the elbow's angle θ changes by dθ/dd = d/(ab sin θ): a step s in the target straightens it from
/// θ = √(2 s (a + b)/(ab)) at once. The shoulder turns by that and by s over the distance from it. With s = 0.01 of the length and
/// a ≥ length/4 this is √(0.02 · 16/3) = 0.33, and 0.05 for a target no nearer than a fifth of the length.
fn no_flips(bones: usize, seed: u64, most: f64) {
    let mut random = Random::new(seed);
    let skeleton = chain(bones, &mut random);
    let solver = Solver::new(&skeleton);
    let end = bone(bones - 1);
    let heads: Vec<DVec3> = skeleton.bind().iter().map(|b| b.translation).collect();
    let length: f64 = heads.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
    let phases: Vec<f64> = (0..6).map(|_| random.between(0.0, 2.0 * PI)).collect();
    let place = |at: usize| {
        let t = 2.0 * PI * at as f64 / 10_000.0;
        let wave = |k: usize, f: f64| (f * t + phases[k]).sin();
        let direction = DVec3::new(wave(0, 3.0), wave(1, 5.0), 1.1 + 0.4 * wave(2, 7.0)).normalize();
        heads[0] + direction * length * (0.75 + 0.45 * wave(3, 11.0))
    };
    let mut pose = solver.rest();
    let (mut worst, mut met, mut step, mut left) = (0.0f64, 0, 0.0f64, 0.0f64);
    for at in 0..=10_000 {
        let solved = solver.solve(&pose, &[Goal::point(bone(0), end, place(at))]).unwrap();
        let next = solved.local();
        if at > 0 {
            worst = worst.max(jump(&skeleton, &pose, &next));
            step = step.max(place(at).distance(place(at - 1)) / length);
        }
        let reach = solved.reaches[0];
        assert!(reach.distance <= reach.out_of_reach + 1e-6 * length, "target {at}: {reach:?}");
        met += usize::from(reach.out_of_reach == 0.0);
        left = left.max((reach.distance - reach.out_of_reach) / length);
        pose = next;
    }
    println!(
        "{} bones, seed {seed}: {met} of 10001 targets within reach; {left:.1e} of the length left at most beyond what is out of reach; \
         a joint turns by {worst:.3} rad at most between neighbours",
        bones - 1
    );
    assert!(met > 3000 && met < 9500, "{met} within reach");
    assert!(step < 0.01, "{step}");
    assert!(worst < most, "a joint turns by {worst} between neighbours");
}

#[test]
fn two_bones_follow_a_path_without_a_flip() {
    (0..4).for_each(|seed| no_flips(3, 20 + seed, 0.4));
}

#[test]
fn five_bones_follow_a_path_without_a_flip() {
    no_flips(6, 31, 0.4);
}

/// 10,000 random targets, within reach and beyond, each with a neighbour at a thousandth of the length: the answer for the neighbour, begun at the
/// answer for the target, turns no joint by more than the closed form needs where it is steepest (see [`no_flips`]), and the answer for
/// the target, begun again at that one, comes back to where it was as nearly.
fn neighbours(bones: usize, seed: u64) {
    let mut random = Random::new(seed);
    let step = 1e-3;
    let (mut worst, mut left, mut met) = (0.0f64, 0.0f64, 0);
    for at in 0..10_000 {
        let skeleton = chain(bones, &mut random);
        let solver = Solver::new(&skeleton);
        let heads: Vec<DVec3> = skeleton.bind().iter().map(|b| b.translation).collect();
        let links: Vec<f64> = heads.windows(2).map(|pair| pair[0].distance(pair[1])).collect();
        let length: f64 = links.iter().sum();
        let nearest = (2.0 * links.iter().copied().fold(0.0, f64::max) - length).max(0.2 * length);
        let target = heads[0] + random.direction() * random.between(nearest, 1.1 * length);
        let neighbour = target + random.direction() * step * length;
        let mut solve = |from: &BoneVec<DAffine3>, target: DVec3| {
            let solved = solver.solve(from, &[Goal::point(bone(0), bone(bones - 1), target)]).unwrap();
            let posed = world(&skeleton, &solved).bones[bone(bones - 1)].translation;
            let reach = solved.reaches[0];
            left = left.max((posed.distance(target) - reach.out_of_reach) / length);
            met += usize::from(reach.out_of_reach == 0.0);
            solved.local()
        };
        let first = solve(&solver.rest(), target);
        let second = solve(&first, neighbour);
        let again = solve(&second, target);
        let turned = jump(&skeleton, &first, &second).max(jump(&skeleton, &second, &again));
        worst = worst.max(turned);
        assert!(turned < 0.13, "case {at}: a joint turns by {turned} rad to a neighbour");
    }
    println!(
        "{} bones, 10,000 random targets and a neighbour of each: {met} of 30,000 solves within reach, {left:.1e} of the length left; \
         a joint turns by {worst:.3} rad at most to a neighbour",
        bones - 1
    );
    assert!(left < 1e-6, "{left}");
    assert!(met > 20_000 && met < 29_000, "{met}");
}

#[test]
fn two_bones_have_neighbouring_answers_for_neighbouring_targets() {
    neighbours(3, 50);
}

#[test]
fn five_bones_have_neighbouring_answers_for_neighbouring_targets() {
    neighbours(6, 51);
}

/// The elbow of a straight arm comes back on the side that it left, and a hinge on the side that it allows.
#[test]
fn a_limb_that_was_straight_bends_to_its_side() {
    let skeleton = chain(3, &mut Random::new(40));
    let heads = [0, 1, 2].map(|b| skeleton.bind()[bone(b)].translation);
    let length = heads[0].distance(heads[1]) + heads[1].distance(heads[2]);
    let line = (heads[2] - heads[0]).normalize();
    let side = (heads[1] - heads[0]).reject_from(line).normalize();
    let solver = Solver::new(&skeleton);
    let mut pose = solver.rest();
    for stretch in [0.9, 0.99, 1.0, 1.2, 1.5, 1.2, 1.0, 0.999, 0.9] {
        let goal = Goal::point(bone(0), bone(2), heads[0] + line * length * stretch);
        let solved = solver.solve(&pose, &[goal]).unwrap();
        pose = solved.local();
        let lean = (world(&skeleton, &solved).bones[bone(1)].translation - heads[0]).reject_from(line);
        // Exactly straight the side is known by 6e-8 of bend, and read with rounding of 1e-16.
        assert!(lean.normalize().dot(side) > 1.0 - 1e-6, "{stretch}: {lean}");
    }
}

/// A chain that is straight to the last bit, and a target within: no direction to bend to, yet it is reached, the same every time.
#[test]
fn a_straight_chain_folds() {
    for bones in 3..8 {
        let bind = (0..bones).map(|b| DAffine3::from_translation(DVec3::X * f64::from(b))).collect();
        let parents = (0..bones).map(|b: i32| b.checked_sub(1).filter(|p| *p >= 0).map(|p| bone(p as usize))).collect();
        let skeleton = Skeleton::new((0..bones).map(|b| format!("b{b}")).collect(), parents, bind).unwrap();
        let solver = Solver::new(&skeleton);
        let end = bone(bones as usize - 1);
        for at in [0.999_999, 0.9, 0.5, 0.1] {
            let target = DVec3::X * f64::from(bones - 1) * at;
            let goal = Goal::point(bone(0), end, target);
            let solved = solver.solve(&solver.rest(), std::slice::from_ref(&goal)).unwrap();
            assert!(solved.reaches[0].is_met(1e-6), "{bones} bones to {at}: {:?}", solved.reaches[0]);
            let again = solver.solve(&solver.rest(), &[goal]).unwrap();
            assert_eq!(solved.world(), again.world());
        }
    }
}

/// A torso with two arms: what both cannot have goes to the goal of priority 0; of equal goals to the heavier, by the ratio of weights.
fn torso() -> Skeleton {
    let at = |x: f64, y: f64| DAffine3::from_translation(DVec3::new(x, y, 0.0));
    let heads = [
        at(0.0, 0.0),
        at(0.0, 0.5),
        at(-0.2, 1.0),
        at(-0.6, 1.05),
        at(-1.0, 1.0),
        at(0.2, 1.0),
        at(0.6, 1.05),
        at(1.0, 1.0),
    ];
    let names = ["hip", "spine", "arm_r", "elbow_r", "hand_r", "arm_l", "elbow_l", "hand_l"].map(String::from);
    let parents = [None, Some(0), Some(1), Some(2), Some(3), Some(1), Some(5), Some(6)].map(|p| p.map(bone));
    Skeleton::new(names.to_vec(), parents.to_vec(), heads.to_vec()).unwrap()
}

#[test]
fn a_later_priority_gets_what_an_earlier_one_leaves() {
    let skeleton = torso();
    let solver = Solver::new(&skeleton);
    let (left, right) = (DVec3::new(1.9, 0.8, 0.0), DVec3::new(-1.9, 0.8, 0.3));
    let goal = |end: usize, to| Goal::point(bone(0), bone(end), to);
    for swapped in [false, true] {
        let (first, second) = if swapped { (goal(7, left), goal(4, right)) } else { (goal(4, right), goal(7, left)) };
        let alone = solver.solve(&solver.rest(), std::slice::from_ref(&first)).unwrap();
        let solved = solver.solve(&solver.rest(), &[second.after(1), first]).unwrap();
        assert!(solved.reaches[1].distance < alone.reaches[0].distance + 1e-6, "{:?}", solved.reaches);
        assert!(solved.reaches[0].distance > 0.1, "both cannot be had: {:?}", solved.reaches);
    }
    // Both within reach: the second is met as well.
    let both = [goal(4, DVec3::new(-0.5, 0.7, 0.4)), goal(7, DVec3::new(0.7, 1.1, 0.4)).after(3)];
    let solved = solver.solve(&solver.rest(), &both).unwrap();
    assert!(solved.reaches.iter().all(|reach| reach.is_met(1e-9)), "{:?}", solved.reaches);
    let weighed = |weight: f64| {
        let goals = [goal(4, right).weighing(weight), goal(7, left)];
        solver.solve(&solver.rest(), &goals).unwrap().reaches
    };
    let (even, uneven) = (weighed(1.0), weighed(25.0));
    assert!(
        uneven[0].distance < 0.5 * even[0].distance && uneven[1].distance > even[1].distance,
        "{even:?} {uneven:?}"
    );
    let ignored = weighed(0.0);
    assert!(ignored[1].distance < even[1].distance && ignored[0].distance > even[0].distance, "{ignored:?}");
}

/// Oracle: the rotation and direction of the posed bone, from forward kinematics.
#[test]
fn frames_rotations_and_directions_are_met() {
    let mut random = Random::new(50);
    for case in 0..100 {
        let bones = 4 + random.below(4);
        let skeleton = chain(bones, &mut random);
        let solver = Solver::new(&skeleton);
        let end = bone(bones - 1);
        let planted = dermis_testkit::tree::wild(&skeleton, &mut random, 0.6);
        let planted = skeleton.world_pose(&planted).bones;
        let rotation = |m: &DAffine3| quat_from_matrix(&nearest_rotation(&m.matrix3));
        // wild() turns the root about the origin as well; its head stays where the skeleton has it.
        let shift = skeleton.bind()[bone(0)].translation - planted[bone(0)].translation;
        let point = random.direction() * 0.2;
        let (place, to) = (planted[end].transform_point3(point) + shift, rotation(&planted[end]));
        let goal = Goal::new(bone(0), end, Target::Frame(place, to)).at(point);
        let solved = solver.solve(&solver.rest(), &[goal]).unwrap();
        let posed = world(&skeleton, &solved).bones;
        assert!(posed[end].transform_point3(point).distance(place) < 1e-6, "case {case}: {:?}", solved.reaches);
        assert!(rotation_vector(rotation(&posed[end]).conjugate() * to).length() < 1e-6, "case {case}");
        let goal = Goal::new(bone(1), end, Target::Rotation(to));
        let posed = world(&skeleton, &solver.solve(&solver.rest(), &[goal]).unwrap()).bones;
        assert!(rotation_vector(rotation(&posed[end]).conjugate() * to).length() < 1e-8, "case {case}");
        let (axis, seen) = (3.0 * random.direction(), 5.0 * random.direction());
        let first = bone(random.below(bones));
        let goal = Goal::new(first, end, Target::LookAt { axis, point: seen });
        let posed = world(&skeleton, &solver.solve(&solver.rest(), &[goal]).unwrap()).bones;
        let looks = posed[end].transform_vector3(axis).normalize();
        let wanted = (seen - posed[end].translation).normalize();
        assert!(looks.distance(wanted) < 1e-8, "case {case}: {looks} {wanted}");
    }
}

/// Oracle: in the plane of a hinge the elbow has one angle, the law of cosines. Twice as much bend as the range allows is held at its end.
#[test]
fn a_hinge_bends_in_its_own_plane() {
    let at = |x: f64| DAffine3::from_translation(DVec3::X * x);
    let names = ["arm", "forearm", "hand"].map(String::from).to_vec();
    let skeleton =
        Skeleton::new(names, vec![None, Some(bone(0)), Some(bone(1))], vec![at(0.0), at(1.0), at(2.0)]).unwrap();
    for (range, sign) in [([0.0, 2.5], 1.0), ([-2.5, 0.0], -1.0)] {
        let mut limits = BoneVec::new(vec![JointLimits::Free; 3]);
        limits[bone(1)] = JointLimits::hinge(DVec3::Z, range).unwrap();
        let solver = Solver::new(&skeleton).with_limits(limits).unwrap();
        let mut pose = solver.rest();
        for d in [1.9, 1.0, 2.2, 1.99, 0.8, 2.0, 1.2] {
            let target = DVec3::new(0.3, 0.5, -0.2).normalize() * d;
            let solved = solver.solve(&pose, &[Goal::point(bone(0), bone(2), target)]).unwrap();
            pose = solved.local();
            let expected = PI - ((2.0 - d.min(2.0) * d.min(2.0)) / 2.0).acos();
            let q = turn(&skeleton, &pose, bone(1));
            let v = rotation_vector(q);
            assert!((v.z - sign * expected).abs() < 1e-7 && v.x.hypot(v.y) < 1e-12, "{d}: {v} for {expected}");
        }
        // A distance of 0.2 needs 2.94.
        let near = solver.solve(&pose, &[Goal::point(bone(0), bone(2), DVec3::Y * 0.2)]).unwrap();
        let angle = rotation_vector(turn(&skeleton, &near.local(), bone(1))).z;
        assert!((angle - sign * 2.5).abs() < 1e-9, "{angle}");
        // Straight line from the end of the hinge at 2.5: |1 + e^{2.5i}| = 2 cos 1.25.
        assert!((near.reaches[0].distance - (2.0 * 1.25f64.cos() - 0.2)).abs() < 1e-6, "{:?}", near.reaches[0]);
    }
}

/// A limb that follows a target round and round comes back to where it was if it has a posture.
#[test]
fn a_posture_fills_what_goals_leave() {
    let mut random = Random::new(60);
    let skeleton = chain(5, &mut random);
    let solver = Solver::new(&skeleton);
    let rest = solver.rest();
    let heads = skeleton.bind().iter().map(|b| b.translation).collect::<Vec<_>>();
    let target = heads[4] + DVec3::new(-0.4, 0.3, 0.2);
    let goal = || [Goal::point(bone(0), bone(4), target)];
    let near = solver.solve_near(&rest, Some(&rest), &goal()).unwrap();
    assert!(near.reaches[0].is_met(1e-9), "{:?}", near.reaches);
    let cost = |local: &BoneVec<DAffine3>| {
        let all = skeleton.bones().map(|b| rotation_vector(turn(&skeleton, local, b)).length_squared());
        all.sum::<f64>()
    };
    // From other poses that meet the goal, the same pose is found, and none nearby is nearer to the posture.
    for seed in 0..10 {
        let mut random = Random::new(70 + seed);
        let mut other = skeleton.pose();
        (0..4).for_each(|b| other.turn(bone(b), random.rotation(0.5)));
        let other = skeleton.local_transforms(&other.world()).unwrap();
        let solved = solver.solve_near(&other, Some(&rest), &goal()).unwrap();
        let plain = solver.solve(&other, &goal()).unwrap();
        assert!(solved.reaches[0].is_met(1e-8));
        assert!(cost(&solved.local()) <= cost(&plain.local()) + 1e-9);
        assert!(
            (cost(&solved.local()) - cost(&near.local())).abs() < 1e-3 * cost(&near.local()),
            "seed {seed}: {} {}",
            cost(&solved.local()),
            cost(&near.local())
        );
    }
}

#[test]
fn a_blend_is_the_way_from_pose_to_answer() {
    let mut random = Random::new(80);
    let skeleton = chain(4, &mut random);
    let solver = Solver::new(&skeleton);
    let rest = solver.rest();
    let solved = solver.solve(&rest, &[Goal::point(bone(0), bone(3), DVec3::new(0.2, 0.4, 0.1))]).unwrap();
    let (none, all, half) = [0.0, 1.0, 0.5].map(|w| solved.blended(&rest, w).unwrap()).into();
    for b in skeleton.bones() {
        assert!(none[b].abs_diff_eq(rest[b], 1e-12) && all[b].abs_diff_eq(solved.local()[b], 1e-12));
        let (whole, part) = (rotation_vector(turn(&skeleton, &all, b)), rotation_vector(turn(&skeleton, &half, b)));
        assert!(part.abs_diff_eq(0.5 * whole, 1e-12));
    }
}

#[test]
fn unusable_goals_are_named() {
    let skeleton = torso();
    let solver = Solver::new(&skeleton);
    let rest = solver.rest();
    let refused = |goal: Goal| solver.solve(&rest, &[Goal::point(bone(0), bone(4), DVec3::X), goal]).unwrap_err();
    let ok = Goal::point(bone(2), bone(4), DVec3::X);
    assert_eq!(refused(Goal { end: bone(9), ..ok.clone() }), IkError::NoBone { goal: 1, bone: 9, bones: 8 });
    assert!(matches!(refused(Goal { root: bone(5), ..ok.clone() }), IkError::NoChain { goal: 1, .. }));
    assert!(matches!(refused(ok.clone().with_pole(bone(6), DVec3::X)), IkError::PoleOffChain { .. }));
    let nan = DVec3::new(0.0, f64::NAN, 0.0);
    for (goal, what) in [
        (Goal::point(bone(2), bone(4), nan), "target"),
        (Goal::new(bone(2), bone(4), Target::Rotation(DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0))), "target"),
        (Goal::new(bone(2), bone(4), Target::LookAt { axis: DVec3::ZERO, point: DVec3::X }), "target"),
        (ok.clone().at(nan), "point"),
        (ok.clone().weighing(-1.0), "weight"),
        (ok.clone().weighing(f64::INFINITY), "weight"),
        (ok.clone().with_pole(bone(3), nan), "pole"),
    ] {
        assert_eq!(refused(goal), IkError::BadNumber { goal: 1, end: "hand_r".into(), what });
    }
    let locked = solver.clone().with_limits(BoneVec::new(vec![JointLimits::Locked; 8])).unwrap();
    assert!(matches!(locked.solve(&rest, std::slice::from_ref(&ok)), Err(IkError::AllLocked { goal: 0, .. })));
    assert!(matches!(
        solver.clone().with_limits(BoneVec::new(vec![JointLimits::Free; 3])),
        Err(IkError::LimitCount { found: 3, bones: 8 })
    ));
    let flat = vec![DAffine3::IDENTITY; 2];
    let point = Skeleton::new(vec!["a".into(), "b".into()], vec![None, Some(bone(0))], flat).unwrap();
    let solver = Solver::new(&point);
    let goal = Goal::point(bone(0), bone(1), DVec3::X);
    assert!(matches!(solver.solve(&solver.rest(), &[goal]), Err(IkError::NoLength { .. })));
    assert!(matches!(solver.solve(&rest, &[]), Err(IkError::PoseSize { found: 8, bones: 2 })));
    let mut bad = solver.rest();
    bad[bone(1)].translation = nan;
    assert_eq!(solver.solve(&bad, &[]).unwrap_err(), IkError::NotFinitePose { bone: "b".into() });
}

/// Bones without length, targets at the root, half turns: whatever the numbers, an answer that is finite and keeps its lengths.
#[test]
fn degenerate_chains_have_finite_answers() {
    let mut random = Random::new(90);
    for case in 0..300 {
        let bones = 3 + random.below(4);
        let mut head = DVec3::ZERO;
        let mut bind = Vec::new();
        for _ in 0..bones {
            bind.push(DAffine3::from_translation(head));
            head += DVec3::X * [0.0, 0.0, 1.0, 1e-9][random.below(4)] * if random.below(5) == 0 { -1.0 } else { 1.0 };
        }
        let parents = (0..bones).map(|b| b.checked_sub(1).map(bone)).collect();
        let skeleton = Skeleton::new((0..bones).map(|b| format!("b{b}")).collect(), parents, bind).unwrap();
        let limits = match case % 2 {
            0 => BoneVec::new(vec![JointLimits::Free; bones]),
            _ => limited(&skeleton, &mut random),
        };
        let solver = Solver::new(&skeleton).with_limits(limits).unwrap();
        let target =
            [DVec3::ZERO, DVec3::NEG_X, DVec3::X * 1e-12, DVec3::X * 1e30, DVec3::new(0.3, 0.2, 0.1)][random.below(5)];
        let goal = Goal::new(bone(0), bone(bones - 1), Target::Point(target));
        let goal = if random.below(2) == 0 { goal.with_pole(bone(1), DVec3::X) } else { goal };
        match solver.solve(&solver.rest(), &[goal]) {
            Ok(solved) => assert!(solved.world().bones.iter().all(DAffine3::is_finite), "case {case}"),
            Err(error) => assert!(matches!(error, IkError::NoLength { .. }), "case {case}: {error}"),
        }
    }
}
