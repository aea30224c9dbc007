//! What runs in `f32` against the `f64` reference.

mod models;

use dermis_deform::enveloping::Rows;
use dermis_deform::guard::Weld;
use dermis_deform::joints::Joints;
use dermis_deform::{Base, Correction, Deformer, Scratch};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_testkit::{Random, Tree, some_motion, tree};
use models::{FRAMES, anchored, bases, correction, corrections, joint_model, poses, rounding};

/// The largest difference between the baked and the reference deformer in one pose, beyond the rounding of the result.
fn difference(deformer: &mut Deformer, pose: &BoneTransforms, given: &[DVec3], scratch: &mut Scratch) -> f64 {
    let count = deformer.rest.len();
    // What the caller gives is f32 already.
    let narrow_given: Vec<Vec3> = given.iter().map(|p| p.as_vec3()).collect();
    let wide_given: Vec<DVec3> = narrow_given.iter().map(|p| p.as_dvec3()).collect();
    let (mut expected, mut got) = (vec![DVec3::NAN; count], vec![Vec3::NAN; count]);
    let held = deformer.evaluate(pose, Some(&wide_given), &mut expected);
    let guarded = deformer.bake().evaluate(pose, Some(&narrow_given), scratch, &mut got);
    assert!(guarded.held.abs_diff(held) <= 1, "a vertex at its ball's very edge at most");
    let apart = got.iter().zip(&expected).map(|(a, b)| (a.as_dvec3() - *b).abs().max_element());
    apart.fold(0.0, f64::max) - rounding(&expected)
}

#[test]
fn every_base_with_and_without_a_correction_agrees_near_and_far_from_the_origin() {
    let mut random = Random::new(600);
    let tree = Tree::new(9, 150, 601);
    let diagonal = tree.rig.mesh.diagonal();
    let mut all = vec![("nothing".to_owned(), None)];
    all.extend(corrections(&tree, &mut random).into_iter().map(|(name, c)| (name, Some(c))));
    let mut scratch = Scratch::default();
    for (name, base) in bases(&tree, &mut random) {
        for (over, correction) in &all {
            let rest = tree.rig.mesh.positions.clone();
            let mut deformer = Deformer { rest, base: base.clone(), correction: correction.clone() };
            for (at, pose) in poses(&tree, &mut random).into_iter().enumerate() {
                for far in [0.0, 1000.0] {
                    let g = some_motion(0.8, DVec3::new(-0.5, 0.3, 0.81).normalize() * far);
                    // The size of features of the world is then no rounding matter.
                    deformer.correction.iter_mut().filter(|_| far > 0.0).for_each(anchored);
                    let given: Vec<_> = tree.rig.mesh.positions.iter().map(|p| g.transform_point3(*p)).collect();
                    let error = difference(&mut deformer, &pose.moved(g), &given, &mut scratch);
                    // A sum of some 60 products of numbers about 1 in f32.
                    assert!(error < 1e-6 * diagonal, "{over} over {name}, pose {at}, {far} m: {error}");
                }
            }
        }
    }
}

/// Every part of a random joint model does something, so that agreement means something.
#[test]
fn every_part_of_a_joint_model_acts() {
    let mut random = Random::new(608);
    let tree = Tree::new(9, 150, 609);
    let pose = tree::wild(&tree.rig.skeleton, &mut random, 2.5);
    let base = Base::Lbs(tree.weights().clone());
    let skin = |correction: Joints| {
        let (rest, correction) = (tree.rig.mesh.positions.clone(), Some(correction.into()));
        let mut out = vec![Vec3::NAN; 150];
        let baked = Deformer { rest, base: base.clone(), correction }.bake();
        let guarded = baked.evaluate(&pose, None, &mut Scratch::default(), &mut out);
        (guarded, out)
    };
    for frame in FRAMES {
        let whole = joint_model(&tree, frame, true, &mut random);
        let (guarded, with) = skin(whole.clone());
        assert!(guarded.held > 0 && guarded.held < 150 && guarded.limited > 0 && guarded.limited < guarded.features);
        let mut open = whole.clone();
        open.joints.iter_mut().for_each(|joint| joint.limit = f64::INFINITY);
        let without = [
            ("free part", Joints { coefficients: vec![0.0; whole.coefficients.len()], ..whole.clone() }),
            ("shared part", Joints { shared: vec![], shared_offsets: vec![0; 151], ..whole.clone() }),
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

#[test]
fn moving_the_character_moves_the_result() {
    let mut random = Random::new(602);
    let tree = Tree::new(9, 150, 603);
    let mut scratch = Scratch::default();
    for (over, mut correction) in corrections(&tree, &mut random) {
        anchored(&mut correction);
        for (name, base) in bases(&tree, &mut random) {
            let rest = tree.rig.mesh.positions.clone();
            let baked = Deformer { rest, base, correction: Some(correction.clone()) }.bake();
            for pose in poses(&tree, &mut random) {
                let g = some_motion(2.2, DVec3::new(1.0, 2.0, -3.0));
                let given: Vec<Vec3> = tree.rig.mesh.positions.iter().map(|p| p.as_vec3()).collect();
                let turned: Vec<Vec3> = given.iter().map(|p| g.transform_point3(p.as_dvec3()).as_vec3()).collect();
                let (mut still, mut moved) = (vec![Vec3::NAN; 150], vec![Vec3::NAN; 150]);
                baked.evaluate(&pose, Some(&given), &mut scratch, &mut still);
                baked.evaluate(&pose.moved(g), Some(&turned), &mut scratch, &mut moved);
                for (still, moved) in still.iter().zip(moved) {
                    let expected = g.transform_point3(still.as_dvec3());
                    // Both results are rounded within 5 m of the origin.
                    let bound = 1e-6 * tree.rig.mesh.diagonal() + 2.0 * 5.0 * 2f64.powi(-24);
                    let off = moved.as_dvec3().distance(expected);
                    assert!(off < bound, "{over} over {name}: {off}");
                }
            }
        }
    }
}

/// In the bind pose a joint model adds nothing, wherever the character stands.
#[test]
fn a_joint_model_is_exact_in_the_bind_pose() {
    let mut random = Random::new(610);
    let tree = Tree::new(9, 150, 611);
    let rest = &tree.rig.mesh.positions;
    for (over, correction) in corrections(&tree, &mut random) {
        if matches!(correction, Correction::Enveloping(_)) {
            continue; // These have constants.
        }
        let base = Base::Lbs(tree.weights().clone());
        let baked = Deformer { rest: rest.clone(), base, correction: Some(correction) }.bake();
        for far in [0.0, 1000.0] {
            let g = some_motion(1.1, DVec3::new(0.3, -0.5, 0.81).normalize() * far);
            let mut out = vec![Vec3::NAN; 150];
            baked.evaluate(&BoneTransforms::identity(9).moved(g), None, &mut Scratch::default(), &mut out);
            let expected: Vec<DVec3> = rest.iter().map(|p| g.transform_point3(*p)).collect();
            for (p, expected) in out.iter().zip(&expected) {
                let off = (p.as_dvec3() - *expected).abs().max_element() - rounding(std::slice::from_ref(expected));
                assert!(off < 1e-6 * tree.rig.mesh.diagonal(), "{over}, {far} m: {off}");
            }
        }
    }
}

#[test]
fn threads_change_no_bit() {
    let mut random = Random::new(604);
    let tree = Tree::new(8, 5000, 605);
    let mut corrections = vec![Correction::from(correction(&tree, Rows::Full, true, &mut random))];
    corrections.extend(FRAMES.map(|frame| joint_model(&tree, frame, true, &mut random).into()));
    let pose = tree::wild(&tree.rig.skeleton, &mut random, 2.0);
    let given: Vec<Vec3> = tree.rig.mesh.positions.iter().map(|p| p.as_vec3()).collect();
    for (name, base) in bases(&tree, &mut random) {
        for (at, correction) in corrections.iter().enumerate() {
            let rest = tree.rig.mesh.positions.clone();
            let baked = Deformer { rest, base: base.clone(), correction: Some(correction.clone()) }.bake();
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut out = vec![Vec3::NAN; 5000];
                let guarded = pool.install(|| baked.evaluate(&pose, Some(&given), &mut Scratch::default(), &mut out));
                (guarded, out.iter().map(|p| p.to_array().map(f32::to_bits)).collect::<Vec<_>>())
            };
            let alone = run(1);
            assert!(run(2) == alone && run(16) == alone, "{name}, correction {at}");
        }
    }
}

/// One scratch serves poses and models in turn: nothing of an earlier pose or model stays behind.
#[test]
fn a_scratch_remembers_nothing() {
    let mut random = Random::new(606);
    let tree = Tree::new(9, 60, 607);
    let given: Vec<Vec3> = tree.rig.mesh.positions.iter().map(|p| p.as_vec3()).collect();
    let mut shared = Scratch::default();
    for (name, base) in bases(&tree, &mut random) {
        for (over, correction) in corrections(&tree, &mut random) {
            let rest = tree.rig.mesh.positions.clone();
            let baked = Deformer { rest, base: base.clone(), correction: Some(correction) }.bake();
            for pose in poses(&tree, &mut random) {
                let (mut a, mut b) = (vec![Vec3::NAN; 60], vec![Vec3::NAN; 60]);
                baked.evaluate(&pose, Some(&given), &mut shared, &mut a);
                baked.evaluate(&pose, Some(&given), &mut Scratch::default(), &mut b);
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
    let baked = Deformer { rest, base: Base::Given, correction: None }.bake();
    for far in [0.0, 1e6, 1e30, 1e300, f64::NAN, f64::INFINITY] {
        let pose = BoneTransforms::new(vec![DAffine3::from_translation(DVec3::splat(far)), DAffine3::IDENTITY]);
        let mut out = [Vec3::NAN; 2];
        baked.evaluate(&pose, Some(&given), &mut Scratch::default(), &mut out);
        assert_eq!(out, given, "{far}");
    }
}
