//! What runs in `f32` against the `f64` reference.

use dermis_deform::enveloping::{Pair, Rows};
use dermis_deform::guard::Weld;
use dermis_deform::joints::{Frame, Joint, Joints, SharedTerm, joint_feature};
use dermis_deform::{AnimationSpace, Base, Correction, Deformer, DualQuaternions, Enveloping, Scratch};
use dermis_rig::glam::{DAffine3, DMat3, DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms};
use dermis_testkit::{Random, Tree, some_motion, tree};

/// Bases of every kind over a random rig, by name.
fn bases(tree: &Tree, random: &mut Random) -> Vec<(&'static str, Base)> {
    let weights = tree.weights();
    let (mut offsets, mut terms) = (vec![0], Vec::new());
    for (v, row) in weights.rows().enumerate() {
        // Near the weights, and summing to one.
        let place = |w: f64, random: &mut Random| tree.rig.mesh.positions[v] * w + random.direction() * 0.05;
        terms.extend(row.iter().map(|&(bone, w)| (bone, place(w, random).extend(w))));
        offsets.push(terms.len() as u32);
    }
    vec![
        ("rigid", Base::Rigid(weights.clone())),
        ("lbs", Base::Lbs(weights.clone())),
        ("dqs", Base::Dqs(weights.clone(), DualQuaternions::new(&tree.rig.skeleton))),
        ("animation space", Base::AnimationSpace(AnimationSpace { offsets, terms })),
        ("given", Base::Given),
    ]
}

/// A random correction with every part a fit can give it: anchors and none, limits, welded joints, constants, balls.
fn correction(tree: &Tree, rows: Rows, guarded: bool, random: &mut Random) -> Enveloping {
    let (bones, vertices) = (tree.rig.skeleton.len(), tree.rig.mesh.positions.len());
    let mut made = Enveloping {
        rows,
        length: tree.rig.mesh.diagonal(),
        weld: Weld::default(),
        pairs: Vec::new(),
        anchors: Vec::new(),
        offsets: vec![0],
        terms: Vec::new(),
        coefficients: Vec::new(),
        constants: Vec::new(),
        radii: Vec::new(),
    };
    if guarded {
        made.weld = Weld::along(&tree.rig.skeleton, &(0..bones).map(|b| b == bones / 2).collect::<Vec<_>>());
    }
    for anchor in (0..bones).map(|b| Some(BoneIndex::new(b))).chain([None]) {
        for bone in tree.rig.skeleton.bones() {
            let limit = if guarded { random.between(0.5, 2.0) } else { f64::INFINITY };
            made.pairs.push(Pair { anchor, bone, limit });
        }
    }
    for _ in 0..vertices {
        let anchor = random.below(bones + 1);
        made.anchors.push((anchor < bones).then(|| BoneIndex::new(anchor)));
        for _ in 0..random.below(4) {
            made.terms.push((anchor * bones + random.below(bones)) as u32);
            made.coefficients.extend((0..rows.coefficients()).map(|_| 0.02 * random.normal()));
        }
        made.offsets.push(made.terms.len() as u32);
        made.constants.push(random.direction() * 0.01);
        if guarded {
            made.radii.push(random.between(0.0, 0.1));
        }
    }
    made
}

const FRAMES: [Frame; 3] = [Frame::Anchor, Frame::Rest, Frame::Blend];

/// A random joint model with every part a fit can give it: joints of one to eight inducing rotations, a shared part, and
/// with the guard a welded joint, limits of both parts and balls.
fn joint_model(tree: &Tree, frame: Frame, guarded: bool, random: &mut Random) -> Joints {
    let (skeleton, length, sigma) = (&tree.rig.skeleton, tree.rig.mesh.diagonal(), 1.4);
    let limit = |random: &mut Random, low, high| if guarded { random.between(low, high) } else { f64::INFINITY };
    let mut joints = Vec::new();
    for bone in skeleton.bones() {
        let Some(parent) = skeleton.parents()[bone] else { continue };
        let centre = skeleton.bind()[bone].translation / length + random.direction() * 0.02;
        let inducing = (0..=joints.len() % 8).map(|_| {
            let pose = tree::wild(skeleton, random, 2.0);
            joint_feature(pose.as_slice(), (parent, bone), centre, length)
        });
        let inducing = inducing.collect();
        let limit = limit(random, 0.5, 2.0);
        joints.push(Joint::new((parent, bone), centre, limit, inducing, sigma).expect("random rotations are apart"));
    }
    let bones = skeleton.len();
    let frozen: Vec<bool> = (0..bones).map(|b| guarded && b == bones / 2).collect();
    let mut made = Joints {
        length,
        sigma,
        frame,
        joints,
        weld: Weld::along(skeleton, &frozen),
        weights: tree.weights().clone(),
        offsets: vec![0],
        terms: vec![],
        starts: vec![0],
        coefficients: vec![],
        shared_offsets: vec![0],
        shared: vec![],
        shared_limits: vec![],
        radii: vec![],
    };
    for _ in 0..tree.weights().vertices() {
        for _ in 0..random.below(4) {
            let joint = random.below(made.joints.len());
            made.terms.push(joint as u32);
            let count = 3 * made.joints[joint].inducing.len();
            made.coefficients.extend((0..count).map(|_| 0.02 * random.normal()));
        }
        for _ in 0..random.below(5) {
            made.shared.push(SharedTerm {
                bone: BoneIndex::new(random.below(bones)),
                relevance: random.between(0.1, 1.0),
                offset: random.direction() * 0.02,
                weight: 0.02 * random.normal(),
            });
        }
        made.offsets.push(made.terms.len() as u32);
        made.starts.push(made.coefficients.len() as u32);
        made.shared_offsets.push(made.shared.len() as u32);
        if guarded {
            made.shared_limits.push(random.between(0.2, 8.0));
            made.radii.push(random.between(0.0, 0.1));
        }
    }
    made
}

/// Corrections of every kind, by name, with and without the guard.
fn corrections(tree: &Tree, random: &mut Random) -> Vec<(String, Correction)> {
    let mut made = Vec::new();
    for guarded in [true, false] {
        for rows in [Rows::Row, Rows::Full] {
            let correction = correction(tree, rows, guarded, random);
            made.push((format!("{rows:?}, guard {guarded}"), correction.into()));
        }
        for frame in FRAMES {
            let correction = joint_model(tree, frame, guarded, random);
            made.push((format!("joints in {frame:?}, guard {guarded}"), correction.into()));
        }
    }
    made
}

/// Anchors every vertex that has none to the root: features of the world see the motion of the character.
fn anchored(correction: &mut Correction) {
    if let Correction::Enveloping(correction) = correction {
        let root = BoneIndex::new(0);
        correction.anchors.iter_mut().for_each(|a| *a = Some(a.unwrap_or(root)));
        correction.pairs.iter_mut().for_each(|p| p.anchor = Some(p.anchor.unwrap_or(root)));
    }
}

/// Rigid poses, then poses with bones that stretch along axes of their own.
fn poses(tree: &Tree, random: &mut Random) -> Vec<BoneTransforms> {
    let stretch = |random: &mut Random| {
        let r = random.rotation(3.0);
        let scale = DVec3::from_array([0; 3].map(|_| random.between(0.6, 1.6)));
        DAffine3::from_mat3(DMat3::from_quat(r) * DMat3::from_diagonal(scale) * DMat3::from_quat(r.inverse()))
    };
    let mut made: Vec<_> = (0..3).map(|_| tree::wild(&tree.rig.skeleton, random, 2.0)).collect();
    made.push(tree::jointed(&tree.rig.skeleton, |_| DAffine3::from_quat(random.rotation(1.0)) * stretch(random)));
    made
}

/// Half an ulp of the largest coordinate, rounded up.
fn rounding(points: &[DVec3]) -> f64 {
    points.iter().flat_map(|p| p.to_array()).fold(0.0f64, |most, x| most.max(x.abs())) * 2f64.powi(-24)
}

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
