//! Properties of what runs in `f32`. That it agrees with the `f64` reference is in `levels.rs`.

use dermis_deform::baked::Normals;
use dermis_deform::guard::Weld;
use dermis_deform::joints::{CorrectionFrame, Joints};
use dermis_deform::pose_space::Carrier;
use dermis_deform::{Base, Correction, Deformer, DualQuaternions, Scratch};
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Rows};
use dermis_testkit::conformance::{bends, rounding};
use dermis_testkit::models::{anchor, bases, corrections, joints, models, poses, reads_world};
use dermis_testkit::{Random, Tree, some_motion, tree};

/// Every part of a random joint model does something, so that agreement means something.
#[test]
fn every_part_of_a_joint_model_acts() {
    let mut random = Random::new(608);
    let tree = Tree::new(9, 150, 609);
    let pose = tree::wild(tree.rig.skeleton(), &mut random, 2.5);
    let base = Base::Lbs(tree.weights().clone());
    let skin = |correction: Joints| {
        let (rest, correction) = (tree.rig.mesh().positions.clone(), Some(correction.into()));
        let mut out = vec![Vec3::NAN; 150];
        let baked = Deformer::new(rest, base.clone(), correction).unwrap().bake();
        let guarded = baked.evaluate(&pose, None, &mut Scratch::default(), &mut out).unwrap();
        (guarded, out)
    };
    for frame in [CorrectionFrame::Anchor, CorrectionFrame::Rest, CorrectionFrame::Blend] {
        let whole = joints(&tree, frame, true, &mut random);
        let (guarded, with) = skin(whole.clone());
        assert!(guarded.held > 0 && guarded.held < 150 && guarded.limited > 0 && guarded.limited < guarded.features);
        let mut open = whole.clone();
        open.joints.iter_mut().for_each(|joint| joint.limit = f64::INFINITY);
        let without = [
            ("free part", Joints { coefficients: whole.coefficients.map(|_| 0.0), ..whole.clone() }),
            ("shared part", Joints { shared: Rows::by_row(150, vec![]), ..whole.clone() }),
            ("limits of joints", open),
            ("limit of the shared part", Joints { shared_limits: vec![], ..whole.clone() }),
            ("weld", Joints { weld: Weld::default(), ..whole.clone() }),
            ("ball", Joints { radii: vec![], ..whole.clone() }),
        ];
        for (part, correction) in without {
            let apart = skin(correction).1.iter().zip(&with).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
            assert!(apart > 1e-3, "{frame:?} without {part}: {apart}");
        }
    }
}

/// Whether base and correction turn with the character: the rest pose does not, nor do displacements of the world, nor those
/// carried by a base that is not known as a map.
fn equivariant(base: &Base, correction: &Correction) -> bool {
    let carrier = match correction {
        Correction::PoseSpace(space) => &space.carrier,
        Correction::Shapes(shapes) => &shapes.carrier,
        Correction::Enveloping(_) => return !matches!(base, Base::Rest),
        Correction::Joints(joints) => return !matches!(base, Base::Rest) && joints.gravity.is_none(),
    };
    match base {
        Base::Rest => false,
        Base::Given => matches!(carrier, Carrier::Bones(_)),
        _ => *carrier != Carrier::World,
    }
}

/// Weights of bones that sixteen bits do not name are read one by one.
#[test]
fn skins_of_more_bones_than_sixteen_bits_name_agree_with_the_reference() {
    let mut random = Random::new(604);
    let tree = Tree::new(70_000, 150, 605);
    assert!(tree.weights().bones_named() > 1 << 16);
    let stretched = poses(&tree, &mut random).swap_remove(3);
    let blend = DualQuaternions::new(tree.rig.skeleton());
    for base in [Base::Lbs(tree.weights().clone()), Base::Dqs(tree.weights().clone(), blend)] {
        let mut deformer = Deformer::new(tree.rig.mesh().positions.clone(), base, None).unwrap();
        let (mut expected, mut got) = (vec![DVec3::NAN; 150], vec![Vec3::NAN; 150]);
        deformer.evaluate(&stretched, None, &mut expected).unwrap();
        deformer.bake().evaluate(&stretched, None, &mut Scratch::default(), &mut got).unwrap();
        let off = got.iter().zip(&expected).map(|(a, b)| (a.as_dvec3() - *b).abs().max_element()).fold(0.0, f64::max);
        // Coordinates of a few metres and stretches of a chain of ten joints.
        assert!(off < 2e-6 * tree.rig.mesh().diagonal() + rounding(&expected), "{off}");
    }
}

#[test]
fn moving_the_character_moves_the_result() {
    let mut random = Random::new(602);
    let tree = Tree::new(9, 150, 603);
    let mut scratch = Scratch::default();
    for (over, mut correction) in corrections(&tree, &mut random) {
        anchor(&mut correction);
        for (name, base) in bases(&tree, &mut random) {
            if !equivariant(&base, &correction) {
                continue;
            }
            let rest = tree.rig.mesh().positions.clone();
            let baked = Deformer::new(rest, base.clone(), Some(correction.clone())).unwrap().bake();
            for pose in poses(&tree, &mut random) {
                let g = some_motion(2.2, DVec3::new(1.0, 2.0, -3.0));
                let given: Vec<Vec3> = tree.rig.mesh().positions.iter().map(|p| p.as_vec3()).collect();
                let turned: Vec<Vec3> = given.iter().map(|p| g.transform_point3(p.as_dvec3()).as_vec3()).collect();
                let (mut still, mut moved) = (vec![Vec3::NAN; 150], vec![Vec3::NAN; 150]);
                baked.evaluate(&pose, Some(&given), &mut scratch, &mut still).unwrap();
                baked.evaluate(&pose.moved(g), Some(&turned), &mut scratch, &mut moved).unwrap();
                for (v, (still, moved)) in still.iter().zip(moved).enumerate() {
                    let expected = g.transform_point3(still.as_dvec3());
                    // Both results are rounded within 5 m of the origin.
                    let bound = 1e-6 * tree.rig.mesh().diagonal() + 2.0 * 5.0 * 2f64.powi(-24) + bends(&base, v, &pose);
                    let off = moved.as_dvec3().distance(expected);
                    assert!(off < bound, "{over} over {name}: {off}");
                }
            }
        }
    }
}

/// In the bind pose a correction without constants adds nothing, wherever the character stands.
#[test]
fn corrections_are_exact_in_the_bind_pose() {
    let mut random = Random::new(610);
    let tree = Tree::new(9, 150, 611);
    let rest = &tree.rig.mesh().positions;
    for (over, correction) in corrections(&tree, &mut random) {
        if matches!(&correction, Correction::Enveloping(c) if !c.constants.is_empty() || reads_world(&correction)) {
            continue;
        }
        let base = Base::Lbs(tree.weights().clone());
        let baked = Deformer::new(rest.clone(), base, Some(correction.clone())).unwrap().bake();
        for far in [0.0, 1000.0] {
            // Skin that sees down moves where the character is turned against it.
            let sags = matches!(&correction, Correction::Joints(joints) if joints.gravity.is_some());
            let g = some_motion(if sags { 0.0 } else { 1.1 }, DVec3::new(0.3, -0.5, 0.81).normalize() * far);
            let mut out = vec![Vec3::NAN; 150];
            baked.evaluate(&BoneTransforms::identity(9).moved(g), None, &mut Scratch::default(), &mut out).unwrap();
            let expected: Vec<DVec3> = rest.iter().map(|p| g.transform_point3(*p)).collect();
            for (p, expected) in out.iter().zip(&expected) {
                let off = (p.as_dvec3() - *expected).abs().max_element() - rounding(std::slice::from_ref(expected));
                assert!(off < 1e-6 * tree.rig.mesh().diagonal(), "{over}, {far} m: {off}");
            }
        }
    }
}

/// One scratch serves poses and models in turn: nothing of an earlier pose or model stays behind.
#[test]
fn a_scratch_remembers_nothing() {
    let mut random = Random::new(606);
    let tree = Tree::new(9, 60, 607);
    let given: Vec<Vec3> = tree.rig.mesh().positions.iter().map(|p| p.as_vec3()).collect();
    let mut shared = Scratch::default();
    for (name, base) in bases(&tree, &mut random) {
        for (over, correction) in corrections(&tree, &mut random) {
            let rest = tree.rig.mesh().positions.clone();
            let baked = Deformer::new(rest, base.clone(), Some(correction)).unwrap().bake();
            for pose in poses(&tree, &mut random) {
                let (mut a, mut b) = (vec![Vec3::NAN; 60], vec![Vec3::NAN; 60]);
                baked.evaluate(&pose, Some(&given), &mut shared, &mut a).unwrap();
                baked.evaluate(&pose, Some(&given), &mut Scratch::default(), &mut b).unwrap();
                assert_eq!(a, b, "{over} over {name}");
            }
        }
    }
}

/// A prop parked at the end of the world, or a broken bone, must not take the digits of the rest.
#[test]
fn given_positions_keep_their_bits_whatever_the_bones_do() {
    let given = [Vec3::new(0.1, 0.2, 0.3), Vec3::new(-1.7, 0.9, 4.1)];
    let rest = vec![DVec3::ZERO; 2];
    let baked = Deformer::new(rest, Base::Given, None).unwrap().bake();
    for far in [0.0, 1e6, 1e30, 1e300, f64::NAN, f64::INFINITY] {
        let pose = BoneTransforms::new(vec![DAffine3::from_translation(DVec3::splat(far)), DAffine3::IDENTITY]);
        let mut out = [Vec3::NAN; 2];
        baked.evaluate(&pose, Some(&given), &mut Scratch::default(), &mut out).unwrap();
        assert_eq!(out, given, "{far}");
    }
}

/// A matrix takes a normal along as it takes the vector from a rest position to a point beside it: the difference of two skins.
#[test]
fn blended_normals_are_differences_of_skins() {
    let mut random = Random::new(670);
    let few = Tree::new(13, 1100, 671);
    let many = few.clone().with_many_influences(672);
    let far = Tree::new(300, 83, 673);
    for tree in [few, many, far] {
        let rest = tree.rig.mesh().positions.clone();
        let pose = tree::wild(tree.rig.skeleton(), &mut random, 1.0);
        let normals: Vec<DVec3> = rest.iter().map(|_| random.direction()).collect();
        let beside: Vec<DVec3> = rest.iter().zip(&normals).map(|(p, n)| *p + *n).collect();
        let blend = DualQuaternions::new(tree.rig.skeleton());
        let weights = || tree.weights().clone();
        let bases = [
            ("rigid", Base::Rigid(weights())),
            ("linear", Base::Lbs(weights())),
            ("quaternions", Base::Dqs(weights(), blend)),
            ("rest", Base::Rest),
        ];
        for (name, base) in bases {
            let skin = |rest: &[DVec3]| {
                let mut out = vec![DVec3::NAN; rest.len()];
                let mut deformer = Deformer::new(rest.to_vec(), base.clone(), None).unwrap();
                deformer.evaluate(&pose, None, &mut out).unwrap();
                out
            };
            let expected: Vec<DVec3> = skin(&beside).into_iter().zip(skin(&rest)).map(|(b, a)| b - a).collect();
            let baked = Deformer::new(rest.clone(), base.clone(), None).unwrap().bake();
            let (mut out, mut turned) = (vec![Vec3::NAN; rest.len()], vec![Vec3::NAN; rest.len()]);
            let mut scratch = Scratch::default();
            let blended = Normals::blended(&normals);
            baked.evaluate_with_normals(&pose, None, &blended, &mut scratch, &mut out, &mut turned).unwrap();
            let off = turned.iter().zip(&expected).map(|(a, b)| a.as_dvec3().distance(*b)).fold(0.0, f64::max);
            let length = expected.iter().map(|n| n.length()).fold(1.0, f64::max);
            assert!(off < 2e-6 * length, "{name}: {off} of {length}");
        }
    }
}

/// Vertices of one bone each, among others and by themselves, are where a rigid base has them.
#[test]
fn vertices_of_one_whole_influence_are_rigid() {
    let mut random = Random::new(675);
    let tree = Tree::new(13, 2100, 676);
    let rest = tree.rig.mesh().positions.clone();
    // Whole eights, and eights in which one vertex has two bones or a smaller weight.
    let one = |v: usize| match v % 64 {
        0..=40 => vec![(BoneIndex::new(v % 13), 1.0)],
        41 => vec![(BoneIndex::new(v % 13), 0.5)],
        _ if v % 8 == 3 => tree.weights().of(v).to_vec(),
        _ => vec![(BoneIndex::new(v % 7), 1.0)],
    };
    let weights = Influences::from_rows((0..2100).map(one)).unwrap();
    let pose = tree::wild(tree.rig.skeleton(), &mut random, 1.0);
    let mut deformer = Deformer::new(rest, Base::Lbs(weights), None).unwrap();
    let (mut expected, mut got) = (vec![DVec3::NAN; 2100], vec![Vec3::NAN; 2100]);
    deformer.evaluate(&pose, None, &mut expected).unwrap();
    deformer.bake().evaluate(&pose, None, &mut Scratch::default(), &mut got).unwrap();
    let off = got.iter().zip(&expected).map(|(a, b)| a.as_dvec3().distance(*b)).fold(0.0, f64::max);
    assert!(off < 2e-6 * tree.rig.mesh().diagonal(), "{off}");
}

/// A model that is widened and baked again shows the same skin, but for rounding.
#[test]
fn a_widened_model_is_the_same_model() {
    let mut random = Random::new(611);
    let tree = Tree::new(9, 150, 612);
    let pose = poses(&tree, &mut random).swap_remove(1);
    let given: Vec<Vec3> = tree.rig.mesh().positions.iter().map(|p| p.as_vec3()).collect();
    let (mut scratch, mut seen) = (Scratch::default(), 0);
    for (name, deformer) in models(&tree, &mut random) {
        let baked = deformer.bake();
        let (mut first, mut again) = (vec![Vec3::NAN; 150], vec![Vec3::NAN; 150]);
        baked.evaluate(&pose, Some(&given), &mut scratch, &mut first).unwrap();
        let widened = baked.widened().unwrap().bake();
        assert_eq!(
            (widened.corrections().len(), widened.bytes()),
            (baked.corrections().len(), baked.bytes()),
            "{name}"
        );
        widened.evaluate(&pose, Some(&given), &mut scratch, &mut again).unwrap();
        for (v, (a, b)) in first.iter().zip(&again).enumerate() {
            let slack = bends(deformer.base(), v, &pose);
            assert!(
                f64::from(a.distance(*b)) <= 2e-6 * tree.rig.mesh().diagonal() + slack,
                "{name}, vertex {v}: {a} {b}"
            );
        }
        seen += deformer.corrections().len();
    }
    assert!(seen > 100, "{seen}");
}

/// p' = base + Π₁(δ₁) + Π₂(δ₂): each correction adds what it adds over the base alone.
#[test]
fn corrections_one_after_another_add_up() {
    let mut random = Random::new(613);
    let tree = Tree::new(9, 150, 614);
    let rest = || tree.rig.mesh().positions.clone();
    let all = corrections(&tree, &mut random);
    let base = Base::Lbs(tree.weights().clone());
    let skin_of = |correction: &[&Correction], pose: &BoneTransforms| {
        let bare = Deformer::new(rest(), base.clone(), None).unwrap();
        let whole = correction.iter().fold(bare, |made, &c| made.followed_by(c.clone()).unwrap()).bake();
        let mut skin = vec![Vec3::NAN; 150];
        whole.evaluate(pose, None, &mut Scratch::default(), &mut skin).unwrap();
        skin
    };
    for (at, (name, first)) in all.iter().enumerate() {
        let (other, second) = &all[(at + 5) % all.len()];
        let pose = &poses(&tree, &mut random)[2];
        let (none, both) = (skin_of(&[], pose), skin_of(&[first, second], pose));
        let (one, two) = (skin_of(&[first], pose), skin_of(&[second], pose));
        for v in 0..150 {
            let wanted = one[v] + (two[v] - none[v]);
            let size = 1.0 + one[v].length() + two[v].length();
            assert!(both[v].distance(wanted) < 1e-5 * size, "{name}, then {other}, {v}: {} {wanted} {size}", both[v]);
        }
    }
}
