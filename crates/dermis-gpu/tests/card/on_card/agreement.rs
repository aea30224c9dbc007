//! What the shaders compute against the `f64` reference.

use super::gpu;
use dermis_deform::{Baked, Base, Correction, Deformer, MeshNormals, skinned_normal};
use dermis_gpu::{Evaluator, Gpu, Normals};
use dermis_rig::glam::{DAffine3, DMat3, DVec3, Vec3};
use dermis_rig::{BoneTransforms, Influences};
use dermis_testkit::{Arm, ArmPose, Random, Tree, models, some_motion, tree};

/// Positions and normals, pose after pose.
fn run(gpu: &Gpu, model: &Baked, normals: Normals, poses: &[BoneTransforms]) -> (Vec<Vec3>, Vec<Vec3>) {
    let evaluator = Evaluator::new(&gpu.device, model, poses[0].len(), normals).expect("the model runs");
    let mut batch = evaluator.batch(poses.len()).expect("the poses fit");
    batch.upload(&gpu.queue, poses).expect("the poses are those of the rig");
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    batch.encode(&mut encoder);
    gpu.queue.submit([encoder.finish()]);
    (batch.read_positions(&gpu.queue).unwrap(), batch.read_normals(&gpu.queue).unwrap())
}

/// Half an ulp of the largest coordinate, rounded up.
fn rounding(points: &[DVec3]) -> f64 {
    points.iter().flat_map(|p| p.to_array()).fold(0.0f64, |most, x| most.max(x.abs())) * 2f64.powi(-24)
}

/// The largest difference, beyond the rounding of the result.
fn apart(got: &[Vec3], expected: &[DVec3]) -> f64 {
    assert_eq!(got.len(), expected.len());
    let difference = |(a, b): (&Vec3, &DVec3)| {
        let off = (a.as_dvec3() - *b).abs().max_element();
        if off.is_finite() { off } else { f64::INFINITY }
    };
    got.iter().zip(expected).map(difference).fold(0.0, f64::max) - rounding(expected)
}

/// Every pose near the origin and 1000 m away.
fn near_and_far(poses: Vec<BoneTransforms>) -> Vec<BoneTransforms> {
    let g = |far: f64| some_motion(0.8, DVec3::new(-0.5, 0.3, 0.81).normalize() * far);
    poses.iter().flat_map(|pose| [pose.moved(g(0.0)), pose.moved(g(1000.0))]).collect()
}

#[test]
fn every_base_with_every_correction_agrees_with_the_reference() {
    let gpu = gpu();
    let mut random = Random::new(900);
    let tree = Tree::new(9, 150, 901);
    let diagonal = tree.rig.mesh.diagonal();
    let mut all = vec![("nothing".to_owned(), None)];
    all.extend(models::corrections(&tree, &mut random).into_iter().map(|(name, c)| (name, Some(c))));
    let poses = near_and_far(models::poses(&tree, &mut random));
    let mut worst = (0.0, String::new());
    for (name, base) in models::bases(&tree, &mut random) {
        if matches!(base, Base::Given) {
            continue; // Refused, which another test checks.
        }
        for (over, correction) in &all {
            let (rest, mut correction) = (tree.rig.mesh.positions.clone(), correction.clone());
            // Features of the world would see the kilometre.
            correction.iter_mut().for_each(models::anchor);
            let mut deformer = Deformer { rest, base: base.clone(), correction };
            let (got, _) = run(&gpu, &deformer.bake(), Normals::None, &poses);
            for (at, (pose, got)) in poses.iter().zip(got.chunks(150)).enumerate() {
                let mut expected = vec![DVec3::NAN; 150];
                deformer.evaluate(pose, None, &mut expected);
                // A sum of some 60 products of numbers about 1 in f32, in any order.
                let error = apart(got, &expected) / diagonal;
                assert!(error < 1e-6, "{over} over {name}, pose {at}: {error} of the diagonal, {}", gpu.info.name);
                if error > worst.0 {
                    worst = (error, format!("{over} over {name}, pose {at}"));
                }
            }
        }
    }
    println!("{}: at most {:.2e} of the diagonal: {}", gpu.info.name, worst.0, worst.1);
}

/// Features of the world, which the anchored corrections above have not.
#[test]
fn vertices_without_an_anchor_read_the_world() {
    let gpu = gpu();
    let mut random = Random::new(902);
    let tree = Tree::new(9, 150, 903);
    let poses = models::poses(&tree, &mut random);
    for (name, correction) in models::corrections(&tree, &mut random) {
        let rest = tree.rig.mesh.positions.clone();
        let mut deformer = Deformer { rest, base: Base::Lbs(tree.weights().clone()), correction: Some(correction) };
        let (got, _) = run(&gpu, &deformer.bake(), Normals::None, &poses);
        for (pose, got) in poses.iter().zip(got.chunks(150)) {
            let mut expected = vec![DVec3::NAN; 150];
            deformer.evaluate(pose, None, &mut expected);
            let error = apart(got, &expected) / tree.rig.mesh.diagonal();
            assert!(error < 1e-6, "{name}: {error}");
        }
    }
}

#[test]
fn any_number_of_vertices_fills_its_workgroups() {
    let gpu = gpu();
    let mut random = Random::new(904);
    for vertices in [1, 2, 31, 32, 33, 63, 64, 65, 127, 129, 1001] {
        let tree = Tree::new(4, vertices, 905 + vertices as u64);
        let poses = models::poses(&tree, &mut random);
        // Every vertex in two faces of its own neighbours, where there are three.
        let triangles: Vec<[u32; 3]> = (2..vertices as u32).map(|v| [v - 2, v - 1, v]).collect();
        let corrections = models::corrections(&tree, &mut random).into_iter().map(|(_, c)| Some(c));
        for correction in corrections.step_by(3).chain([None]) {
            let rest = tree.rig.mesh.positions.clone();
            let mut deformer = Deformer { rest, base: Base::Lbs(tree.weights().clone()), correction };
            let (got, normals) = run(&gpu, &deformer.bake(), Normals::Mesh(&triangles), &poses);
            assert_eq!(normals.len(), vertices * poses.len());
            for (pose, got) in poses.iter().zip(got.chunks(vertices)) {
                let mut expected = vec![DVec3::NAN; vertices];
                deformer.evaluate(pose, None, &mut expected);
                // The box of a few points is no measure of the bones' distances, which are about 1 m.
                assert!(apart(got, &expected) < 2e-6, "{vertices} vertices");
            }
        }
    }
}

#[test]
fn vertices_without_influences_stay_where_the_reference_leaves_them() {
    let gpu = gpu();
    let tree = Tree::new(5, 70, 920);
    let rows = tree.weights().rows().enumerate().map(|(v, row)| if v % 3 == 0 { vec![] } else { row.to_vec() });
    let weights = Influences::from_rows(rows).unwrap();
    let mut random = Random::new(921);
    let poses = near_and_far(models::poses(&tree, &mut random));
    let rest = &tree.rig.mesh.positions;
    let lbs = Base::Lbs(weights.clone());
    let dqs = Base::Dqs(weights.clone(), dermis_deform::DualQuaternions::new(&tree.rig.skeleton));
    let mut joints = models::joints(&tree, dermis_deform::joints::Frame::Blend, true, &mut random);
    joints.weights = weights;
    for (base, correction) in [(lbs.clone(), None), (dqs, None), (lbs, Some(Correction::Joints(joints)))] {
        let mut deformer = Deformer { rest: rest.clone(), base, correction };
        // The reference's joint model looks up a frame for vertices without weights, too, and adds nothing of theirs.
        if let Some(Correction::Joints(joints)) = &mut deformer.correction {
            (joints.radii.iter_mut().step_by(3)).for_each(|r| *r = 0.0);
        }
        let (got, _) = run(&gpu, &deformer.bake(), Normals::None, &poses);
        for (pose, got) in poses.iter().zip(got.chunks(70)) {
            let mut expected = vec![DVec3::NAN; 70];
            deformer.evaluate(pose, None, &mut expected);
            // The middle is added to minus itself plus the rest position: rounded once more.
            let bound = 1e-6 * tree.rig.mesh.diagonal() + 1000.0 * 2f64.powi(-24);
            assert!(apart(got, &expected) < bound);
        }
    }
}

#[test]
fn an_empty_mesh_and_no_poses_give_nothing() {
    let gpu = gpu();
    let deformer = Deformer { rest: vec![], base: Base::Lbs(Influences::default()), correction: None };
    let poses = [BoneTransforms::identity(2)];
    for normals in [Normals::None, Normals::Skinned(&[]), Normals::Mesh(&[])] {
        assert_eq!(run(&gpu, &deformer.bake(), normals, &poses), (vec![], vec![]));
    }
    let tree = Tree::new(3, 10, 930);
    let deformer =
        Deformer { rest: tree.rig.mesh.positions.clone(), base: Base::Lbs(tree.weights().clone()), correction: None };
    let evaluator = Evaluator::new(&gpu.device, &deformer.bake(), 3, Normals::Mesh(&[])).unwrap();
    let mut batch = evaluator.batch(0).unwrap();
    batch.upload(&gpu.queue, &[]).unwrap();
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    batch.encode(&mut encoder);
    gpu.queue.submit([encoder.finish()]);
    assert_eq!((batch.poses(), batch.read_positions(&gpu.queue).unwrap()), (0, vec![]));
}

/// More workgroups than one row of a dispatch may have, in positions, faces and normals.
#[test]
fn more_workgroups_than_a_row_holds_all_run() {
    let gpu = gpu();
    let tree = Tree::new(2, 65, 940);
    let deformer =
        Deformer { rest: tree.rig.mesh.positions.clone(), base: Base::Lbs(tree.weights().clone()), correction: None };
    let baked = deformer.bake();
    let triangles: Vec<[u32; 3]> = (2..65).map(|v| [v - 2, v - 1, v]).collect();
    // Two workgroups a pose; one of faces.
    let mut random = Random::new(941);
    let few: Vec<_> = (0..7).map(|_| tree::wild(&tree.rig.skeleton, &mut random, 2.0)).collect();
    let count = 70_001;
    assert!(count as u32 > gpu.device.limits().max_compute_workgroups_per_dimension, "choose more poses");
    let many: Vec<BoneTransforms> = (0..count).map(|s| few[s % 7].clone()).collect();
    let (positions, normals) = run(&gpu, &baked, Normals::Mesh(&triangles), &many);
    let (expected, expected_normals) = run(&gpu, &baked, Normals::Mesh(&triangles), &few);
    for s in 0..count {
        let (at, from) = (s * 65..(s + 1) * 65, s % 7 * 65..(s % 7 + 1) * 65);
        assert_eq!(positions[at.clone()], expected[from.clone()], "pose {s}");
        assert_eq!(normals[at], expected_normals[from], "pose {s}");
    }
}

#[test]
fn a_pose_has_the_same_bits_alone_and_among_others_and_nothing_stays_behind() {
    let gpu = gpu();
    let mut random = Random::new(950);
    let tree = Tree::new(6, 100, 951);
    let poses = models::poses(&tree, &mut random);
    for (name, correction) in models::corrections(&tree, &mut random) {
        let (rest, base) = (tree.rig.mesh.positions.clone(), Base::Lbs(tree.weights().clone()));
        let baked = Deformer { rest, base, correction: Some(correction) }.bake();
        let evaluator = Evaluator::new(&gpu.device, &baked, 6, Normals::None).unwrap();
        let mut batch = evaluator.batch(poses.len()).unwrap();
        let mut run = |poses: &[BoneTransforms]| {
            batch.upload(&gpu.queue, poses).unwrap();
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            batch.encode(&mut encoder);
            gpu.queue.submit([encoder.finish()]);
            batch.read_positions(&gpu.queue).unwrap()
        };
        let together = run(&poses);
        for (s, pose) in poses.iter().enumerate().rev() {
            assert_eq!(run(std::slice::from_ref(pose)), together[100 * s..100 * (s + 1)], "{name}, pose {s}");
        }
    }
}

/// Oracle: `skinned_normal` of the base's linear map in `f64`.
#[test]
fn skinned_normals_are_those_of_the_blended_matrix() {
    let gpu = gpu();
    let mut random = Random::new(960);
    let tree = Tree::new(9, 150, 961);
    let mut normals: Vec<Vec3> = (0..150).map(|_| (random.direction() * random.between(0.1, 9.0)).as_vec3()).collect();
    normals[3] = Vec3::ZERO;
    let mirrored = |pose: &BoneTransforms| pose.moved(DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0)));
    let mut poses = models::poses(&tree, &mut random);
    poses.push(mirrored(&poses[0]));
    let mut checked = 0;
    for (name, base) in models::bases(&tree, &mut random) {
        if matches!(base, Base::Given) {
            continue;
        }
        let mut deformer = Deformer { rest: tree.rig.mesh.positions.clone(), base, correction: None };
        let (_, got) = run(&gpu, &deformer.bake(), Normals::Skinned(&normals), &poses);
        for (pose, got) in poses.iter().zip(got.chunks(150)) {
            deformer.evaluate(pose, None, &mut vec![DVec3::NAN; 150]);
            for v in 0..150 {
                let (a, n) = (deformer.base.linear(v, pose), normals[v].as_dvec3());
                let expected = skinned_normal(n, &a, &DMat3::IDENTITY);
                assert!((got[v].length() - 1.0).abs() < 1e-6);
                // An entry of a cofactor is the difference of two products, each rounded by 2^-23 |A|^2 at most, entries of A
                // included; the sign is that of det A.
                let size = a.to_cols_array().iter().map(|x| x * x).sum::<f64>();
                let turned = dermis_rig::rotation::cofactor(&a) * n.normalize_or_zero();
                let bound = 1e-6 + 1e-6 * size / turned.length();
                if a.determinant().abs() < 1e-5 * size.powf(1.5) || bound > 1e-3 {
                    continue; // Flat: the sign, or the direction, is rounding.
                }
                let off = got[v].as_dvec3().distance(expected);
                assert!(off < bound, "{name}, vertex {v}: {off} above {bound}");
                checked += 1;
            }
        }
    }
    assert!(checked > 4 * 5 * 150, "{checked} of {} normals are well defined", 5 * 5 * 150);
}

/// Where a blend has no normal, the heaviest bone turns it: the candy wrapper at 180 degrees, halfway.
#[test]
fn a_blend_of_rank_one_falls_back_to_the_heaviest_bone() {
    let gpu = gpu();
    let turn = DAffine3::from_rotation_x(0.3);
    let twist = DAffine3::from_rotation_x(0.3 + std::f64::consts::PI);
    let normal = Vec3::new(0.0, 0.6, 0.8);
    let poses = [BoneTransforms::new(vec![turn, turn, twist])];
    // The first of two equal ones, and the last.
    for (weights, heaviest) in [([0.5, 0.0, 0.5], turn), ([0.2, 0.3, 0.5], twist)] {
        let base = Base::Lbs(Influences::from_dense(&weights, 3).unwrap());
        let deformer = Deformer { rest: vec![DVec3::Y], base, correction: None };
        let (_, got) = run(&gpu, &deformer.bake(), Normals::Skinned(&[normal]), &poses);
        let expected = heaviest.matrix3 * normal.as_dvec3();
        assert!(got[0].as_dvec3().distance(expected) < 1e-6, "{} for {expected}", got[0]);
    }
}

/// Oracle: `MeshNormals`, in `f64`, of the positions that the device computed.
#[test]
fn mesh_normals_are_those_of_the_deformed_mesh() {
    let gpu = gpu();
    let mut random = Random::new(970);
    let tree = Tree::new(9, 150, 971);
    let poses = near_and_far(models::poses(&tree, &mut random));
    // Any triangles: vertices with many faces and with none, faces without area, faces that name a vertex twice.
    let mut triangles: Vec<[u32; 3]> = (0..400).map(|_| [0; 3].map(|_| 10 + random.below(140) as u32)).collect();
    triangles.extend([[3, 3, 4], [5, 5, 5]]);
    let normals = MeshNormals::new(&triangles, 150).unwrap();
    for (name, correction) in models::corrections(&tree, &mut random) {
        let (rest, base) = (tree.rig.mesh.positions.clone(), Base::Lbs(tree.weights().clone()));
        let baked = Deformer { rest, base, correction: Some(correction) }.bake();
        let (positions, got) = run(&gpu, &baked, Normals::Mesh(&triangles), &poses);
        for (positions, got) in positions.chunks(150).zip(got.chunks(150)) {
            let mut expected = vec![Vec3::NAN; 150];
            normals.compute(positions, &mut expected);
            let mut areas = [DVec3::ZERO; 150];
            let mut sums = [0.0; 150];
            for corners in &triangles {
                let [a, b, c] = corners.map(|v| positions[v as usize].as_dvec3());
                for &v in corners {
                    areas[v as usize] += (b - a).cross(c - a);
                    sums[v as usize] += (b - a).length() * (c - a).length();
                }
            }
            for v in 0..150 {
                // Differences are exact or rounded once, products and sums once each: 2^-24 a few times over.
                let bound = 1e-6 + 1e-6 * sums[v] / areas[v].length().max(1e-300);
                let off = got[v].distance(expected[v]);
                assert!(f64::from(off) < bound, "{name}, vertex {v}: {off} above {bound}");
            }
            assert_eq!((got[0], got[3], got[5]), (Vec3::Y, Vec3::Y, Vec3::Y), "no faces, or none with area");
        }
    }
}

/// A limb with a smooth skin: positions and normals of the reference, in `f64` from end to end.
#[test]
fn normals_of_a_limb_are_those_of_the_reference() {
    let gpu = gpu();
    let arm = Arm::new(40, 24);
    let poses: Vec<_> = ArmPose::some(5, 980).iter().map(|pose| arm.transforms(pose)).collect();
    let (mesh, count) = (&arm.rig.mesh, arm.rig.mesh.positions.len());
    let normals = MeshNormals::new(&mesh.triangles, count).unwrap();
    let mut deformer =
        Deformer { rest: mesh.positions.clone(), base: Base::Lbs(arm.weights().clone()), correction: None };
    let (positions, got) = run(&gpu, &deformer.bake(), Normals::Mesh(&mesh.triangles), &poses);
    for ((pose, positions), got) in poses.iter().zip(positions.chunks(count)).zip(got.chunks(count)) {
        let (mut expected, mut expected_normals) = (vec![DVec3::NAN; count], vec![DVec3::NAN; count]);
        deformer.evaluate(pose, None, &mut expected);
        normals.compute_f64(&expected, &mut expected_normals);
        assert!(apart(positions, &expected) < 1e-6 * mesh.diagonal());
        // Edges of about 1 cm whose ends are rounded by 1e-7 m turn by 1e-5.
        let off = got.iter().zip(&expected_normals).map(|(a, b)| a.as_dvec3().distance(*b)).fold(0.0, f64::max);
        assert!(off < 2e-4, "{off}");
    }
}
