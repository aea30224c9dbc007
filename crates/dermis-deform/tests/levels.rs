//! Every way a model runs gives what the `f64` reference gives: all bases and corrections, every set of vector instructions
//! this machine has, both precisions, alone and many at once, any number of threads. A test program of its own: the level
//! is one for the process.

mod models;

use dermis_deform::baked::{Normals, Precision};
use dermis_deform::{Base, Correction, Deformer, MeshNormals, Scratch, skinned_normal};
use dermis_rig::glam::{DAffine3, DMat3, DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences};
use dermis_solve::simd;
use dermis_testkit::{Random, Tree, some_motion, tree};
use models::{bases, corrections, poses, rounding};
use std::sync::Mutex;

/// One test at a time: they change the level.
static LEVEL: Mutex<()> = Mutex::new(());

/// Runs a check at every level of the machine.
fn at_every_level(check: impl Fn(simd::Level)) {
    let _one = LEVEL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let before = simd::level();
    for level in simd::available() {
        simd::set_level(level).unwrap();
        check(level);
    }
    simd::set_level(before).unwrap();
}

/// The tree with up to twelve influences a vertex, and with vertices that have none.
fn many_influences(mut tree: Tree, random: &mut Random) -> Tree {
    let bones = tree.rig.skeleton.len();
    let rows = (0..tree.rig.mesh.positions.len()).map(|v| {
        let mut order = random.order(bones);
        order.truncate((v % 14).min(12));
        order.sort();
        let picked: Vec<_> = order.into_iter().map(|b| (BoneIndex::new(b), random.between(0.05, 1.0))).collect();
        let sum: f64 = picked.iter().map(|e| e.1).sum();
        picked.into_iter().map(|(bone, w)| (bone, w / sum)).collect()
    });
    tree.rig.weights = Some(Influences::from_rows(rows).unwrap());
    tree
}

/// Models of every kind over a rig.
fn models(tree: &Tree, random: &mut Random) -> Vec<(String, Deformer)> {
    let mut all = vec![("nothing".to_owned(), None)];
    all.extend(corrections(tree, random).into_iter().map(|(name, c)| (name, Some(c))));
    let bases = bases(tree, random);
    let named = bases.iter().flat_map(|base| all.iter().map(move |over| (base, over)));
    named
        .map(|((name, base), (over, correction))| {
            let rest = tree.rig.mesh.positions.clone();
            (format!("{over} over {name}"), Deformer { rest, base: base.clone(), correction: correction.clone() })
        })
        .collect()
}

fn narrow(points: &[DVec3]) -> Vec<Vec3> {
    points.iter().map(|p| p.as_vec3()).collect()
}

/// The largest distance along an axis, beyond the rounding of the result.
fn apart(got: &[Vec3], expected: &[DVec3]) -> f64 {
    let each = got.iter().zip(expected).map(|(a, b)| (a.as_dvec3() - *b).abs().max_element());
    // NaN is not small.
    each.fold(0.0f64, |most, d| if d <= most { most } else { d }) - rounding(expected)
}

#[test]
fn every_model_agrees_with_the_reference_at_every_level_in_both_precisions() {
    at_every_level(|level| {
        for (vertices, seed) in [(2, 1), (7, 2), (67, 3), (149, 4)] {
            let mut random = Random::new(620 + seed);
            let tree = Tree::new(13, vertices, 630 + seed);
            for tree in [tree.clone(), many_influences(tree, &mut random)] {
                let diagonal = tree.rig.mesh.diagonal().max(1.0);
                let rest = narrow(&tree.rig.mesh.positions);
                let wide: Vec<DVec3> = rest.iter().map(|p| p.as_dvec3()).collect();
                let mut scratch = Scratch::default();
                for (name, mut deformer) in models(&tree, &mut random) {
                    let single = deformer.bake();
                    let sixteen = single.clone().with_precision(Precision::Sixteen);
                    for pose in poses(&tree, &mut random) {
                        let pose = pose.moved(some_motion(0.7, DVec3::new(2.0, -1.0, 3.0)));
                        let (mut expected, mut got) = (vec![DVec3::NAN; vertices], vec![Vec3::NAN; vertices]);
                        let held = deformer.evaluate(&pose, Some(&wide), &mut expected);
                        let guarded = single.evaluate(&pose, Some(&rest), &mut scratch, &mut got);
                        assert!(guarded.held.abs_diff(held) <= 1, "{level}: {name}");
                        let off = apart(&got, &expected);
                        // Sums of some 60 products of numbers about 1, of weights that sum to one up to 2⁻²⁴ 3 m from
                        // the middle.
                        assert!(off < 2e-6 * diagonal, "{level}: {name}, {vertices}: {off}");
                        sixteen.evaluate(&pose, Some(&rest), &mut scratch, &mut got);
                        // Coefficients up to 0.08 in units of their 32767th, each half a unit off; three terms of twelve
                        // features up to two, of world features up to the distance of three metres.
                        let off = apart(&got, &expected);
                        assert!(off < 2e-4 * diagonal, "{level}: {name}, 16 bits, {vertices}: {off}");
                    }
                }
            }
        }
    });
}

#[test]
fn threads_and_many_poses_at_once_change_no_bit() {
    at_every_level(|level| {
        let mut random = Random::new(640);
        let tree = many_influences(Tree::new(13, 3001, 641), &mut random);
        let poses = poses(&tree, &mut random);
        let given = narrow(&tree.rig.mesh.positions);
        let normals = Normals::skinned(&tree.rig.mesh.positions);
        for (name, deformer) in models(&tree, &mut random) {
            let baked = deformer.bake();
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let mut scratch = Scratch::default();
                    let mut alone: Vec<Vec<Vec3>> = vec![vec![Vec3::NAN; 3001]; poses.len()];
                    let mut held = 0;
                    for (pose, out) in poses.iter().zip(&mut alone) {
                        held += baked.evaluate(pose, Some(&given), &mut scratch, out).held;
                    }
                    let mut many = vec![vec![Vec3::NAN; 3001]; poses.len()];
                    let mut skins: Vec<&mut [Vec3]> = many.iter_mut().map(|skin| &mut skin[..]).collect();
                    let all: Vec<_> = poses.iter().map(|pose| (pose, Some(&given[..]))).collect();
                    let guarded = baked.evaluate_many(&all, &mut Vec::new(), &mut skins);
                    assert!(many == alone && guarded.held == held, "{level}: {name}");
                    let (mut out, mut turned) = (vec![Vec3::NAN; 3001], vec![Vec3::NAN; 3001]);
                    baked.evaluate_with_normals(&poses[1], Some(&given), &normals, &mut scratch, &mut out, &mut turned);
                    (alone, out, turned)
                })
            };
            let alone = run(1);
            assert!(run(2) == alone && run(16) == alone, "{level}: {name}");
        }
    });
}

/// Oracle: the inverse transpose of the base's linear part, by the `f64` function.
#[test]
fn normals_with_positions_are_those_of_the_reference() {
    at_every_level(|level| {
        let mut random = Random::new(650);
        let few = Tree::new(13, 149, 651);
        let many = many_influences(few.clone(), &mut random);
        for tree in [few, many] {
            let rest = narrow(&tree.rig.mesh.positions);
            let rest_normals: Vec<DVec3> = (0..149).map(|_| random.direction()).collect();
            let normals = Normals::skinned(&rest_normals);
            let mut mirrored = poses(&tree, &mut random);
            mirrored.push(mirrored[3].moved(DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0))));
            for (name, base) in bases(&tree, &mut random) {
                let mut deformer = Deformer { rest: tree.rig.mesh.positions.clone(), base, correction: None };
                let baked = deformer.bake();
                for pose in &mirrored {
                    let (mut out, mut got) = (vec![Vec3::NAN; 149], vec![Vec3::NAN; 149]);
                    let mut scratch = Scratch::default();
                    baked.evaluate_with_normals(pose, Some(&rest), &normals, &mut scratch, &mut out, &mut got);
                    let mut plain = vec![Vec3::NAN; 149];
                    baked.evaluate(pose, Some(&rest), &mut scratch, &mut plain);
                    assert!(out.iter().zip(&plain).all(|(a, b)| a.distance(*b) < 2e-6), "{level}: {name}");
                    let wide: Vec<DVec3> = rest.iter().map(|p| p.as_dvec3()).collect();
                    deformer.base.evaluate(&deformer.rest, pose, Some(&wide), &mut vec![DVec3::ZERO; 149]);
                    for v in 0..149 {
                        let weights = tree.weights();
                        let linear = deformer.base.linear(v, pose);
                        if linear.determinant().abs() < 1e-2 {
                            continue; // The sign of a nearly flat blend is a matter of rounding.
                        }
                        let dominant = weights.dominant(v).map_or(DMat3::IDENTITY, |bone| pose[bone].matrix3);
                        let expected = skinned_normal(rest_normals[v], &linear, &dominant);
                        // Cofactors of matrices of size about 2 whose determinant is a hundredth at least.
                        let off = got[v].as_dvec3().distance(expected);
                        assert!(off < 1e-4, "{level}: {name}, {v}: {off} {}", linear.determinant());
                    }
                }
            }
        }
    });
}

/// Corrected models have the normals of their mesh.
#[test]
fn normals_of_the_mesh_are_those_of_the_deformed_mesh() {
    let arm = dermis_testkit::Arm::new(80, 40);
    let pose = arm.transforms(&dermis_testkit::ArmPose::random(&mut Random::new(1)));
    let (rest, base) = (arm.rig.mesh.positions.clone(), Base::Lbs(arm.weights().clone()));
    let baked = Deformer { rest, base, correction: None }.bake();
    let mesh = MeshNormals::new(&arm.rig.mesh.triangles, baked.vertices()).unwrap();
    let (mut out, mut got) = (vec![Vec3::NAN; baked.vertices()], vec![Vec3::NAN; baked.vertices()]);
    let normals = Normals::Mesh(mesh.clone());
    baked.evaluate_with_normals(&pose, None, &normals, &mut Scratch::default(), &mut out, &mut got);
    let mut expected = vec![Vec3::NAN; baked.vertices()];
    mesh.compute(&out, &mut expected);
    assert_eq!(got, expected);
}

#[test]
fn poses_that_are_not_finite_make_no_panic_and_normals_of_unit_length() {
    at_every_level(|level| {
        let mut random = Random::new(660);
        let tree = many_influences(Tree::new(13, 67, 661), &mut random);
        let given = narrow(&tree.rig.mesh.positions);
        let normals = Normals::skinned(&tree.rig.mesh.positions);
        for (name, deformer) in models(&tree, &mut random) {
            // A correction without a guard may overflow, but not panic.
            let baked = deformer.bake();
            for bad in [f64::NAN, f64::INFINITY, 1e300, 1e30, 0.0] {
                let mut maps = tree::wild(&tree.rig.skeleton, &mut random, 1.0).as_slice().to_vec();
                maps[3] = DAffine3::from_scale(DVec3::splat(bad));
                maps[5].translation = DVec3::splat(bad);
                let pose = BoneTransforms::new(maps);
                let (mut out, mut turned) = (vec![Vec3::NAN; 67], vec![Vec3::NAN; 67]);
                let mut scratch = Scratch::default();
                baked.evaluate(&pose, Some(&given), &mut scratch, &mut out);
                baked.evaluate_with_normals(&pose, Some(&given), &normals, &mut scratch, &mut out, &mut turned);
                let unit = turned.iter().all(|n| (n.length() - 1.0).abs() < 1e-5);
                assert!(unit, "{level}: {name}, {bad}");
                let guarded = deformer.correction.as_ref().is_some_and(|c| match c {
                    Correction::Enveloping(c) => !c.radii.is_empty(),
                    Correction::Joints(c) => !c.radii.is_empty(),
                    _ => false,
                });
                if guarded && matches!(deformer.base, Base::Given) {
                    assert!(out.iter().all(|p| p.is_finite()), "{level}: {name}, {bad}: the ball keeps what it guards");
                }
            }
        }
    });
}
