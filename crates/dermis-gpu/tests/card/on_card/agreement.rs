//! What the shaders compute against the `f64` reference.

use super::gpu;
use dermis_deform::{Baked, Base, Correction, Deformer, MeshNormals};
use dermis_gpu::{Evaluator, Gpu, GpuError, Normals};
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::{BoneTransforms, Influences};
use dermis_testkit::conformance::{Case, Path, Report, Skins, Suite, Wanted, rounding};
use dermis_testkit::{Arm, ArmPose, Random, Tree, models, tree};

/// Positions and normals, pose after pose.
fn run(
    gpu: &Gpu,
    model: &Baked,
    normals: Normals,
    poses: &[BoneTransforms],
) -> Result<(Vec<Vec3>, Vec<Vec3>), GpuError> {
    let evaluator = Evaluator::new(&gpu.device, model, poses[0].len(), normals)?;
    let mut batch = evaluator.batch(poses.len())?;
    batch.upload(&gpu.queue, poses)?;
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    batch.encode(&mut encoder);
    gpu.queue.submit([encoder.finish()]);
    Ok((batch.read_positions(&gpu.queue)?, batch.read_normals(&gpu.queue)?))
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

/// Models on the card.
struct OnCard(Gpu);

impl Path for OnCard {
    fn name(&self) -> String {
        self.0.info.name.clone()
    }

    fn tolerance(&self) -> f64 {
        // A sum of some 60 products of numbers about 1 in f32, in any order.
        1e-6
    }

    fn supports(&self, model: &Deformer, wanted: Wanted) -> bool {
        let refused = matches!(model.base(), Base::RotationalRegression(_) | Base::Stack(..) | Base::Given)
            || model.corrections().iter().any(|c| matches!(c, Correction::PoseSpace(_)))
            || (wanted == Wanted::SkinnedNormals && !model.corrections().is_empty());
        !refused
    }

    fn evaluate(&mut self, case: &Case, wanted: Wanted) -> Option<Skins> {
        let rest_normals: Vec<Vec3> = case.rest_normals.iter().map(|n| n.as_vec3()).collect();
        let normals = match wanted {
            Wanted::Positions => Normals::None,
            Wanted::SkinnedNormals => Normals::Skinned(&rest_normals),
            Wanted::MeshNormals => Normals::Mesh(&case.triangles),
        };
        let (positions, normals) = match run(&self.0, &case.deformer.bake(), normals, &case.poses) {
            Err(GpuError::Unsupported(_)) => return None,
            made => made.unwrap_or_else(|error| panic!("{}: {error}", case.name)),
        };
        let by_pose = |list: &[Vec3]| list.chunks(case.vertices()).map(<[_]>::to_vec).collect();
        Some(Skins { positions: by_pose(&positions), normals: by_pose(&normals), held: None })
    }
}

/// Positions with every base and correction; without influences and with many; any that has no shader is refused.
#[test]
fn every_model_agrees_with_the_reference_or_is_refused() {
    let mut card = OnCard(gpu());
    let rigs = [Tree::new(13, 150, 901), Tree::new(13, 67, 902).with_many_influences(903)];
    let suite = Suite::new(&rigs);
    for wanted in [Wanted::Positions, Wanted::SkinnedNormals, Wanted::MeshNormals] {
        let report = suite.check(&mut card, wanted);
        let (Report { models, refused, normals, worst }, name) = (report, card.name());
        assert_eq!(normals > 10_000, wanted != Wanted::Positions, "most normals are defined: {normals}");
        println!(
            "{name} {wanted:?}: {models} models, {refused} refused, {normals} normals, {:.2} of the bound at {}",
            worst.0, worst.1
        );
    }
}

/// Corrections that have a shader.
fn corrections(tree: &Tree, random: &mut Random) -> impl Iterator<Item = (String, Correction)> + use<> {
    models::corrections(tree, random).into_iter().filter(|(_, c)| !matches!(c, Correction::PoseSpace(_)))
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
        let corrections = corrections(&tree, &mut random).map(|(_, c)| Some(c));
        for correction in corrections.step_by(3).chain([None]) {
            let rest = tree.rig.mesh().positions.clone();
            let mut deformer = Deformer::new(rest, Base::Lbs(tree.weights().clone()), correction).unwrap();
            let (got, normals) = run(&gpu, &deformer.bake(), Normals::Mesh(&triangles), &poses).unwrap();
            assert_eq!(normals.len(), vertices * poses.len());
            for (pose, got) in poses.iter().zip(got.chunks(vertices)) {
                let mut expected = vec![DVec3::NAN; vertices];
                deformer.evaluate(pose, None, &mut expected).unwrap();
                // The box of a few points is no measure of the bones' distances, which are about 1 m.
                assert!(apart(got, &expected) < 2e-6, "{vertices} vertices");
            }
        }
    }
}

#[test]
fn an_empty_mesh_and_no_poses_give_nothing() {
    let gpu = gpu();
    let deformer = Deformer::new(vec![], Base::Lbs(Influences::default()), None).unwrap();
    let poses = [BoneTransforms::identity(2)];
    for normals in [Normals::None, Normals::Skinned(&[]), Normals::Mesh(&[])] {
        assert_eq!(run(&gpu, &deformer.bake(), normals, &poses).unwrap(), (vec![], vec![]));
    }
    let tree = Tree::new(3, 10, 930);
    let deformer = Deformer::new(tree.rig.mesh().positions.clone(), Base::Lbs(tree.weights().clone()), None).unwrap();
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
    let deformer = Deformer::new(tree.rig.mesh().positions.clone(), Base::Lbs(tree.weights().clone()), None).unwrap();
    let baked = deformer.bake();
    let triangles: Vec<[u32; 3]> = (2..65).map(|v| [v - 2, v - 1, v]).collect();
    // Two workgroups a pose; one of faces.
    let mut random = Random::new(941);
    let few: Vec<_> = (0..7).map(|_| tree::wild(tree.rig.skeleton(), &mut random, 2.0)).collect();
    let count = 70_001;
    assert!(count as u32 > gpu.device.limits().max_compute_workgroups_per_dimension, "choose more poses");
    let many: Vec<BoneTransforms> = (0..count).map(|s| few[s % 7].clone()).collect();
    let (positions, normals) = run(&gpu, &baked, Normals::Mesh(&triangles), &many).unwrap();
    let (expected, expected_normals) = run(&gpu, &baked, Normals::Mesh(&triangles), &few).unwrap();
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
    for (name, correction) in corrections(&tree, &mut random) {
        let (rest, base) = (tree.rig.mesh().positions.clone(), Base::Lbs(tree.weights().clone()));
        let baked = Deformer::new(rest, base, Some(correction)).unwrap().bake();
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
        let deformer = Deformer::new(vec![DVec3::Y], base, None).unwrap();
        let (_, got) = run(&gpu, &deformer.bake(), Normals::Skinned(&[normal]), &poses).unwrap();
        let expected = heaviest.matrix3 * normal.as_dvec3();
        assert!(got[0].as_dvec3().distance(expected) < 1e-6, "{} for {expected}", got[0]);
    }
}

/// A limb with a smooth skin: positions and normals of the reference, in `f64` from end to end.
#[test]
fn normals_of_a_limb_are_those_of_the_reference() {
    let gpu = gpu();
    let arm = Arm::new(40, 24);
    let poses: Vec<_> = ArmPose::some(5, 980).iter().map(|pose| arm.transforms(pose)).collect();
    let (mesh, count) = (arm.rig.mesh(), arm.rig.mesh().positions.len());
    let normals = MeshNormals::new(&mesh.triangles, count).unwrap();
    let mut deformer = Deformer::new(mesh.positions.clone(), Base::Lbs(arm.weights().clone()), None).unwrap();
    let (positions, got) = run(&gpu, &deformer.bake(), Normals::Mesh(&mesh.triangles), &poses).unwrap();
    for ((pose, positions), got) in poses.iter().zip(positions.chunks(count)).zip(got.chunks(count)) {
        let (mut expected, mut expected_normals) = (vec![DVec3::NAN; count], vec![DVec3::NAN; count]);
        deformer.evaluate(pose, None, &mut expected).unwrap();
        normals.compute_f64(&expected, &mut expected_normals);
        assert!(apart(positions, &expected) < 1e-6 * mesh.diagonal());
        // Edges of about 1 cm whose ends are rounded by 1e-7 m turn by 1e-5.
        let off = got.iter().zip(&expected_normals).map(|(a, b)| a.as_dvec3().distance(*b)).fold(0.0, f64::max);
        assert!(off < 2e-4, "{off}");
    }
}
