//! Evaluation allocates nothing once a first pose has filled the scratch. A test program of its own: it counts.

use dermis_deform::baked::Normals;
use dermis_deform::enveloping::{Enveloping, EnvelopingForm, Pair};
use dermis_deform::guard::Weld;
use dermis_deform::joints::{self, CorrectionFrame, Joints, SharedTerm, joint_feature};
use dermis_deform::pose_space::{Carrier, CompiledShapes, Family, Joint, JointPart, Kernel, PoseSpace, Remainders};
use dermis_deform::rotational_regression::{TurnParts, TurnTerm, TurningJoint};
use dermis_deform::{
    Base, Correction, Deformer, DualQuaternions, JointKernel, MeshNormals, RotationalRegression, Scratch,
};
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms, Rows};
use dermis_testkit::{Arm, ArmPose, Random};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The most memory `work` held at once beyond what was held before, in bytes.
fn allocated(work: impl FnOnce()) -> usize {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    work();
    MEMORY.peak_usage() - before
}

/// As many rows as asked for.
fn each<T>(rows: usize, of: impl Fn(usize) -> Vec<T>) -> Rows<T> {
    Rows::by_row(rows, (0..rows).flat_map(|row| of(row).into_iter().map(move |entry| (row as u32, entry))).collect())
}

/// A joint model with a free and a shared part on every vertex.
fn joint_model(arm: &Arm, frame: CorrectionFrame, welded: bool, poses: &[BoneTransforms]) -> Joints {
    let (vertices, length) = (arm.rig.mesh().positions.len(), arm.length());
    let kernel = JointKernel { sigma: 1.4, arc_cosine: 0.5 };
    let joint = |b: usize| {
        let ends = (BoneIndex::new(b - 1), BoneIndex::new(b));
        let centre = Some(arm.rig.skeleton().bind()[ends.1].translation / length);
        let inducing = poses[1..2 + b].iter().map(|pose| joint_feature(pose.as_slice(), ends, centre, length));
        joints::Joint::new(ends, centre, 1.0, inducing.collect(), kernel).unwrap()
    };
    let joints: Vec<_> = (1..4).map(joint).collect();
    let count: usize = joints.iter().map(|joint| 3 * joint.inducing.len()).sum();
    let term = |v: usize| SharedTerm {
        bone: BoneIndex::new(v % 4),
        relevance: 0.5,
        offset: DVec3::splat(0.001),
        weight: 0.001,
    };
    Joints {
        length,
        kernel,
        gravity: None,
        frame,
        joints,
        weld: Weld::along(arm.rig.skeleton(), &[false, false, welded, false]),
        weights: arm.weights().clone(),
        terms: each(vertices, |_| vec![0, 1, 2]),
        coefficients: each(vertices, |_| vec![0.001; count]),
        shared: each(vertices, |v| vec![term(v)]),
        shared_limits: vec![1.0; vertices],
        radii: vec![0.01; vertices],
        layer: None,
    }
}

/// Rotational regression in which every triangle follows every joint; the ends of the surface are held.
fn turning(arm: &Arm) -> RotationalRegression {
    let (triangles, vertices) = (arm.rig.mesh().triangles.len(), arm.rig.mesh().positions.len() as u32);
    let joint = |b: usize| TurningJoint {
        from: BoneIndex::new(b - 1),
        to: BoneIndex::new(b),
        limit: 1.0,
        seen: vec![[0.5, 0.0, 0.0], [0.0, -1.5, 0.5]],
    };
    let term = |t: usize| TurnTerm { joint: t as u32 % 3, turn: [0.1; 9], stretch: [0.01; 18] };
    let parts = TurnParts {
        joints: (1..4).map(joint).collect(),
        bones: (0..triangles).map(|t| BoneIndex::new(t % 4)).collect(),
        terms: each(triangles, |t| (3 * t..3 * t + 3).map(term).collect()),
        anchors: vec![(0, BoneIndex::new(0)), (vertices - 1, BoneIndex::new(3))],
    };
    RotationalRegression::new(&arm.rig.mesh().positions, &arm.rig.mesh().triangles, arm.weights().clone(), parts)
        .unwrap()
}

#[test]
fn evaluating_allocates_nothing_after_the_first_pose() {
    // More vertices than a task takes at a time, so that the work is split.
    let arm = Arm::new(80, 40);
    let (rest, weights) = (arm.rig.mesh().positions.clone(), arm.weights().clone());
    let vertices = rest.len();
    let pairs: Vec<Pair> =
        (1..4).map(|b| Pair { anchor: Some(BoneIndex::new(0)), bone: BoneIndex::new(b), limit: 1.0 }).collect();
    let weld = Weld::along(arm.rig.skeleton(), &[false, false, true, false]);
    let correction = Enveloping {
        rows: EnvelopingForm::Full,
        length: arm.length(),
        origin: DVec3::ZERO,
        weld,
        pairs,
        anchors: vec![Some(BoneIndex::new(0)); vertices],
        terms: each(vertices, |_| vec![0, 1, 2]),
        coefficients: vec![0.001; vertices * 3 * 36],
        constants: Vec::new(),
        radii: vec![0.01; vertices],
    };
    let normals = MeshNormals::new(&arm.rig.mesh().triangles, vertices).unwrap();
    let (skinned, of_mesh) = (Normals::skinned(&rest), Normals::Mesh(normals.clone()));
    let given: Vec<Vec3> = rest.iter().map(|p| p.as_vec3()).collect();
    let mut random = Random::new(700);
    let poses: Vec<_> = (0..50).map(|_| arm.transforms(&ArmPose::random(&mut random))).collect();
    let joints: Vec<Joint> = (1..4)
        .map(|b| Joint {
            parent: BoneIndex::new(b - 1),
            bone: BoneIndex::new(b),
            limit: 1.0,
            axis: DVec3::X,
            part: JointPart::Whole,
        })
        .collect();
    let mut kernel = Kernel::new(1.0, correction.weld.clone(), joints, vec![]);
    let (mut examples, mut x) = (Vec::new(), Vec::new());
    for pose in &poses[..8] {
        kernel.coordinates_of(pose.as_slice(), pose, &mut x);
        examples.extend_from_slice(&x);
    }
    kernel.examples = examples;
    // More kernel values than a task takes at a time.
    (0..400).for_each(|g| kernel.push(&[(g % 3, 0.5), ((g + 1) % 3, 1.0)], &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap());
    let pose_space = PoseSpace {
        kernel,
        carrier: Carrier::Base,
        groups: (0..vertices as u32).map(|v| v % 400).collect(),
        weights: each(vertices, |_| vec![DVec3::splat(0.001); 8]),
        remainders: Remainders {
            vertices: vec![7],
            bones: vec![BoneIndex::new(1)],
            weights: each(1, |_| vec![DVec3::splat(0.001); 8]),
        },
        radii: vec![0.01; vertices],
    };
    let mut few = pose_space.kernel.clone();
    few.family = Family::Wendland;
    let shapes = CompiledShapes {
        regions: (0..=400).collect(),
        coefficients: vec![0.1; 400 * 8],
        kernel: few,
        carrier: Carrier::Base,
        terms: each(vertices, |v| [2 * v, 2 * v + 1].map(|t| t as u32 % 400).to_vec()),
        displacements: vec![DVec3::splat(0.001); 2 * vertices],
        radii: vec![0.01; vertices],
        names: vec![],
        clamp: None,
        windows: vec![],
    };
    let mut corrections: Vec<Correction> = vec![correction.into(), pose_space.into(), shapes.into()];
    for frame in [CorrectionFrame::Anchor, CorrectionFrame::Rest, CorrectionFrame::Blend] {
        // With a welded joint and without: that takes other paths.
        corrections.extend([true, false].map(|welded| joint_model(&arm, frame, welded, &poses[..8]).into()));
    }
    let bases = [
        Base::Rigid(weights.clone()),
        Base::Lbs(weights.clone()),
        Base::Dqs(weights, DualQuaternions::new(arm.rig.skeleton())),
        Base::Rest,
        Base::Given,
        Base::RotationalRegression(Box::new(turning(&arm))),
    ];
    // Every correction, and none: over rotational regression that is the usual model.
    let corrections: Vec<Option<Correction>> = corrections.into_iter().map(Some).chain([None]).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for (base, correction) in bases.iter().flat_map(|base| corrections.iter().map(move |c| (base, c))) {
            let baked = Deformer::new(rest.clone(), base.clone(), correction.clone()).unwrap().bake();
            let (mut scratch, mut out, mut n) =
                (Scratch::default(), vec![Vec3::ZERO; vertices], vec![Vec3::ZERO; vertices]);
            let mut run = |poses: &[BoneTransforms]| {
                for pose in poses {
                    baked.evaluate(pose, Some(&given), &mut scratch, &mut out).unwrap();
                    normals.compute(&out, &mut n);
                    for normals in [&skinned, &of_mesh] {
                        baked
                            .evaluate_with_normals(pose, Some(&given), normals, &mut scratch, &mut out, &mut n)
                            .unwrap();
                    }
                }
            };
            assert!(allocated(|| run(&poses[..1])) > 0, "the counter counts: the scratch is filled");
            assert_eq!(allocated(|| run(&poses[1..])), 0);
            let mut runner = baked.runner().with_normals(&arm.rig.mesh().triangles).unwrap();
            runner.skin_over(&poses[0], &given).unwrap();
            let later = || poses[1..].iter().for_each(|pose| assert!(runner.skin_over(pose, &given).is_ok()));
            assert_eq!(allocated(later), 0, "a runner allocates in its first pose alone");
        }
    });
}
