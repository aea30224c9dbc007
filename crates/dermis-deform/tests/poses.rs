//! How far a pose is from training, and joints that training never moved.

use dermis_deform::guard::Weld;
use dermis_deform::training::moves_skin;
use dermis_deform::{MeshNormals, TrainingPoses};
use dermis_rig::glam::{DAffine3, DQuat, DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences};
use dermis_testkit::arm::{FOREARM, HAND, UPPER};
use dermis_testkit::{Arm, ArmPose, Random, Tree, rounded_pose, some_motion, tree};

#[test]
fn distances_are_angles_of_the_farthest_joint_wherever_the_character_stands() {
    let arm = Arm::new(9, 6);
    let known: Vec<_> = ArmPose::some(30, 800).iter().map(|pose| arm.transforms(pose)).collect();
    let known: Vec<&BoneTransforms> = known.iter().collect();
    let training = TrainingPoses::new(arm.rig.skeleton(), &[true; 4], &known, arm.length());
    for pose in &known {
        assert!(training.distance(arm.rig.skeleton(), pose).degrees < 1e-3, "a training pose is no distance away");
    }
    // Oracle: angles between joint quaternions, the nearest per joint, the largest over joints.
    let joint = |pose: &BoneTransforms, bone: usize| {
        let (_, q, _) = (pose.as_slice()[bone - 1].inverse() * pose.as_slice()[bone]).to_scale_rotation_translation();
        q
    };
    let mut random = Random::new(801);
    for _ in 0..20 {
        let pose = arm.transforms(&ArmPose::random(&mut random));
        let nearest = |bone: usize| {
            let angles = known.iter().map(|k| joint(k, bone).angle_between(joint(&pose, bone)).to_degrees());
            angles.fold(f64::INFINITY, f64::min)
        };
        let expected = (1..4).map(nearest).fold(0.0, f64::max);
        let far = training.distance(arm.rig.skeleton(), &pose);
        assert!((far.degrees - expected).abs() < 1e-3, "{} {expected}", far.degrees);
        let moved = training.distance(arm.rig.skeleton(), &pose.moved(some_motion(2.0, DVec3::new(30.0, 2.0, -9.0))));
        assert!((moved.degrees - far.degrees).abs() < 1e-6 && moved.bone == far.bone);
    }
    // One joint alone goes beyond everything: it is named.
    for (bone, pose) in [
        (UPPER, ArmPose { shoulder: DVec3::Y * 2.9, ..ArmPose::REST }),
        (FOREARM, ArmPose { elbow: -1.5, ..ArmPose::REST }),
        (HAND, ArmPose { wrist: DVec3::Z * -2.5, ..ArmPose::REST }),
    ] {
        let far = training.distance(arm.rig.skeleton(), &arm.transforms(&pose));
        assert!(far.bone == Some(bone) && far.degrees > 45.0, "{far:?}");
    }
}

#[test]
fn joints_that_move_no_skin_do_not_count_and_nothing_is_known_of_nothing() {
    let arm = Arm::new(9, 6);
    let (rest, wave) = (BoneTransforms::identity(4), arm.transforms(&ArmPose { wrist: DVec3::X, ..ArmPose::REST }));
    let weights = Influences::from_rows([vec![(FOREARM, 0.995), (HAND, 0.005)], vec![(UPPER, 1.0)]]).unwrap();
    let moves = moves_skin(arm.rig.skeleton(), &weights);
    assert_eq!(moves, [true, true, true, false]);
    let training = TrainingPoses::new(arm.rig.skeleton(), &moves, &[&rest], arm.length());
    assert!(training.distance(arm.rig.skeleton(), &wave).degrees < 1e-3);
    let none = TrainingPoses::new(arm.rig.skeleton(), &moves, &[], arm.length());
    assert_eq!(
        (none.distance(arm.rig.skeleton(), &wave).degrees, none.distance(arm.rig.skeleton(), &wave).bone),
        (0.0, None)
    );
}

#[test]
fn more_poses_than_are_kept_only_enlarge_distances() {
    let arm = Arm::new(9, 6);
    let many: Vec<_> = ArmPose::some(1300, 802).iter().map(|pose| arm.transforms(pose)).collect();
    let thinned = TrainingPoses::new(arm.rig.skeleton(), &[true; 4], &many.iter().collect::<Vec<_>>(), arm.length());
    assert!(thinned.features.len() <= 3 * TrainingPoses::MOST);
    let few: Vec<_> = many.iter().step_by(3).collect();
    assert_eq!(thinned, TrainingPoses::new(arm.rig.skeleton(), &[true; 4], &few, arm.length()));
}

/// Oracle: forward kinematics with the frozen joints left at rest. Welding takes the pose apart and gives just that.
#[test]
fn a_welded_pose_is_the_pose_without_its_frozen_joints() {
    let tree = Tree::new(12, 1, 803);
    let skeleton = tree.rig.skeleton();
    let mut random = Random::new(804);
    for round in 0..20 {
        let frozen: Vec<bool> = (0..12).map(|b| b > 0 && random.unit() < 0.4).collect();
        let turns: Vec<DQuat> = (0..12).map(|_| random.rotation(3.0)).collect();
        let turn = |bone: BoneIndex| DAffine3::from_quat(turns[bone.get()]);
        let g = some_motion(1.0, DVec3::new(2.0, 3.0, 4.0));
        let pose = tree::jointed(skeleton, turn).moved(g);
        let held = |bone: BoneIndex| if frozen[bone.get()] { DAffine3::IDENTITY } else { turn(bone) };
        let expected = tree::jointed(skeleton, held).moved(g);
        let weld = Weld::along(skeleton, &frozen);
        let mut welded = Vec::new();
        weld.apply(&pose, &mut welded);
        for (got, expected) in welded.iter().zip(expected.iter()) {
            assert!(got.abs_diff_eq(*expected, 1e-12), "round {round}");
        }
    }
}

#[test]
fn training_finds_the_joints_that_never_moved() {
    let tree = Tree::new(10, 1, 805);
    let skeleton = tree.rig.skeleton();
    let length = 1.7;
    let mut random = Random::new(806);
    let frozen = |bone: BoneIndex| matches!(bone.get(), 2 | 5 | 9);
    let poses: Vec<_> = (0..40)
        .map(|_| {
            let pose = tree::jointed(skeleton, |bone| match frozen(bone) {
                true => DAffine3::IDENTITY,
                false => DAffine3::from_quat(random.rotation(0.01)),
            });
            let g = some_motion(random.between(0.0, 3.0), random.direction() * 3.0);
            rounded_pose(&pose.moved(g), 6e-8, length, &mut random)
        })
        .collect();
    let weld = Weld::of_training(skeleton, &poses, length);
    let expected: Vec<BoneIndex> = skeleton.bones().filter(|&bone| frozen(bone)).collect();
    assert_eq!(weld.frozen().collect::<Vec<_>>(), expected);
    // The root is no joint, even if it stays.
    let still = Weld::of_training(skeleton, &[BoneTransforms::identity(10)], length);
    assert!(still.frozen().count() == 9 && still.frozen().all(|bone| bone.get() > 0));
}

#[test]
fn normals_of_a_deformed_mesh_have_the_same_bits_for_any_number_of_threads() {
    let arm = Arm::new(70, 40);
    let skin: Vec<Vec3> = arm.skin(&ArmPose::random(&mut Random::new(807))).iter().map(|p| p.as_vec3()).collect();
    let normals = MeshNormals::new(&arm.rig.mesh().triangles, skin.len()).unwrap();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut out = vec![Vec3::NAN; skin.len()];
        pool.install(|| normals.compute(&skin, &mut out));
        out
    };
    let alone = run(1);
    assert!(alone.iter().all(|n| (n.length() - 1.0).abs() < 1e-6));
    assert!(run(2) == alone && run(16) == alone);
}
