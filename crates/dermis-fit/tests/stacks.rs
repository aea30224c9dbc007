//! Pose spaces that are fitted through a stack of deformers: p' = S(p + d(pose)) + w(pose).

use dermis_deform::{Base, Correction, DualQuaternions, Lattice, Layer, Outside, Stack, Wire, Wires};
use dermis_fit::method::{BaseChoice, FitInput, Learnt, Method, MethodError, MweMethod, PoseSpaceSettings, PsdMethod};
use dermis_fit::psd::{Form, Reach, Singular};
use dermis_fit::silent;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, ExampleSet, Influences};
use dermis_testkit::{Arm, ArmPose, Random, some_motion};

/// Lattices whose control points move by `size`, before the skinning and after it, and wires that hang on the hand.
fn stack(arm: &Arm, skin: Layer, size: f64) -> Stack {
    let mut random = Random::new(60);
    let mut lattice = |parent| {
        let moves = (0..27).map(|_| random.direction() * size).collect();
        let edges = DVec3::AXES.map(|axis| axis * 4.0);
        let mut lattice = Lattice::new(DVec3::splat(-2.0), edges, [3; 3], moves).unwrap();
        (lattice.outside, lattice.parent) = (Outside::Clamped, parent);
        Layer::Lattice(lattice)
    };
    let ends = vec![DVec3::new(-0.5, 0.0, 0.0), DVec3::new(2.0, 0.0, 0.0)];
    let wire = Wire::new(ends.clone(), ends.iter().map(|p| *p + DVec3::Y * size).collect(), 0.6, 1.1).unwrap();
    let mut wires = Wires::new(vec![wire], 1.0).unwrap();
    wires.parent = Some(BoneIndex::new(3));
    let layers = vec![lattice(None), skin, lattice(Some(BoneIndex::new(2))), Layer::Wires(wires)];
    Stack::new(layers, arm.rig.mesh().positions.len(), 4).unwrap()
}

fn lbs(arm: &Arm) -> Layer {
    Layer::Lbs(arm.weights().clone())
}

/// S(p + d) in a pose.
fn through(stack: &Stack, transforms: &BoneTransforms, points: &[DVec3]) -> Vec<DVec3> {
    let mut out = vec![DVec3::ZERO; points.len()];
    let Ok(()) = dermis_deform::Deform::deform(&mut stack.posed(transforms), points, &mut out);
    out
}

/// Displacements that grow with the angle of a pose and vary smoothly over the skin.
fn planted(arm: &Arm, s: usize) -> Vec<DVec3> {
    let wave = |p: &DVec3| DVec3::new((3.0 * p.x).sin(), (2.0 * p.y + 1.0).cos(), (p.x + p.z).sin());
    arm.rig.mesh().positions.iter().map(|p| wave(p) * (0.01 * s as f64)).collect()
}

/// Sculpts S(p + d) of some poses; the bind pose is as it is.
fn sculpts(arm: &Arm, stack: &Stack, poses: &[BoneTransforms]) -> ExampleSet {
    let rest = &arm.rig.mesh().positions;
    let example = |(s, transforms): (usize, &BoneTransforms)| {
        let points: Vec<DVec3> = rest.iter().zip(planted(arm, s)).map(|(p, d)| *p + d).collect();
        Example {
            label: format!("pose {s}"),
            time: None,
            transforms: transforms.clone(),
            positions: through(stack, transforms, &points),
            importance: 1.0,
            local: None,
        }
    };
    ExampleSet::new("sculpts".into(), poses.iter().enumerate().map(example).collect(), &arm.rig).unwrap()
}

fn poses(arm: &Arm, count: usize) -> Vec<BoneTransforms> {
    ArmPose::some(count, 61).iter().map(|pose| arm.transforms(pose)).collect()
}

fn exact() -> PsdMethod {
    // Every joint counts for every vertex, so that no two poses agree anywhere.
    let pose_space = PoseSpaceSettings {
        base: BaseChoice::Stack,
        smoothing: Some(0.0),
        reach: Reach::Global,
        ..PoseSpaceSettings::default()
    };
    PsdMethod { pose_space, ..PsdMethod::default() }
}

fn fit(arm: &Arm, stack: &Stack, set: &ExampleSet, method: PsdMethod) -> Result<Learnt, MethodError> {
    Method::Psd(method).fit(&FitInput { stack: Some(stack), ..FitInput::new(&arm.rig, set) }, &silent)
}

/// The largest distance of the model from the examples.
fn off(learnt: &Learnt, set: &ExampleSet) -> f64 {
    let mut deformer = learnt.deformer.clone();
    let mut out = vec![DVec3::NAN; deformer.rest().len()];
    let mut largest = 0.0_f64;
    for example in set.examples() {
        deformer.evaluate(&example.transforms, None, &mut out).unwrap();
        largest = out.iter().zip(&example.positions).map(|(a, b)| a.distance(*b)).fold(largest, f64::max);
    }
    largest
}

/// A planted pose space is recovered at its training poses, through linear and dual quaternion skinning.
#[test]
fn a_planted_pose_space_is_recovered() {
    let arm = Arm::new(9, 6);
    let poses = poses(&arm, 6);
    for skin in [lbs(&arm), Layer::Dqs(arm.weights().clone(), DualQuaternions::new(arm.rig.skeleton()))] {
        let stack = stack(&arm, skin, 0.03);
        let set = sculpts(&arm, &stack, &poses);
        let learnt = fit(&arm, &stack, &set, exact()).unwrap();
        // The search ends within 1e-11 of the diagonal, the interpolation within 1e-9 of a displacement of 5 cm.
        assert!(off(&learnt, &set) < 1e-9, "{:e}", off(&learnt, &set));
        let Some(Correction::PoseSpace(model)) = learnt.deformer.corrections().last() else { panic!("no pose space") };
        let mut values = vec![0.0; model.kernel.values()];
        for (s, transforms) in poses.iter().enumerate().skip(1) {
            model.kernel.evaluate(transforms, &mut Default::default(), &mut values, |k| k);
            for (v, planted) in planted(&arm, s).into_iter().enumerate() {
                let distance = model.displacement(v, &values).distance(planted);
                // Where the skinning is nearly singular another displacement serves as well.
                let regular = model.remainders.vertices.binary_search(&(v as u32)).is_err();
                assert!(!regular || distance < 1e-7, "pose {s}, vertex {v}: {distance:e}");
            }
        }
    }
}

/// Closed form: through a lattice that moves all points by b, the displacement is that of linear blending less b.
#[test]
fn a_lattice_that_translates_takes_its_translation_off_the_displacements() {
    let arm = Arm::new(9, 6);
    let b = DVec3::new(0.02, -0.01, 0.03);
    let lattice = Lattice::new(DVec3::splat(-2.0), DVec3::AXES.map(|e| e * 4.0), [2; 3], vec![b; 8]).unwrap();
    let n = arm.rig.mesh().positions.len();
    let stack = Stack::new(vec![Layer::Lattice(lattice), lbs(&arm)], n, 4).unwrap();
    let plain = Stack::new(vec![lbs(&arm)], n, 4).unwrap();
    // All of them bent: at rest the model is the stack, which is not the rest shape.
    let poses = &poses(&arm, 5)[1..];
    let set = sculpts(&arm, &plain, poses);
    let learnt = fit(&arm, &stack, &set, exact()).unwrap();
    assert!(off(&learnt, &set) < 1e-9);
    let Some(Correction::PoseSpace(model)) = learnt.deformer.corrections().last() else { panic!("no pose space") };
    let mut values = vec![0.0; model.kernel.values()];
    for (s, transforms) in poses.iter().enumerate() {
        model.kernel.evaluate(transforms, &mut Default::default(), &mut values, |k| k);
        for (v, planted) in planted(&arm, s).into_iter().enumerate() {
            if model.remainders.vertices.binary_search(&(v as u32)).is_err() {
                assert!(model.displacement(v, &values).abs_diff_eq(planted - b, 1e-7), "pose {s}, vertex {v}");
            }
        }
    }
}

/// A forearm twisted by half a turn flattens the skin between the bones: no displacement makes the sculpt, which is met all the
/// same, by the remainders.
#[test]
fn a_singular_pose_meets_its_sculpt() {
    let mut arm = Arm::new(9, 6);
    // Half of either bone everywhere.
    let half = [(BoneIndex::new(1), 0.5), (BoneIndex::new(2), 0.5)];
    let rows = arm.rig.mesh().positions.iter().map(|_| half.to_vec());
    arm.rig = arm.rig.clone().with_weights(Some(Influences::from_rows(rows).unwrap())).unwrap();
    let stack = stack(&arm, lbs(&arm), 0.01);
    let twisted = arm.transforms(&ArmPose { twist: std::f64::consts::PI, ..ArmPose::REST });
    let mut set = sculpts(&arm, &stack, &[twisted]).examples().to_vec();
    for (v, x) in set[0].positions.iter_mut().enumerate() {
        *x += DVec3::new(0.01, 0.02 * (v as f64).sin(), 0.02 * (v as f64).cos());
    }
    let set = ExampleSet::new("twist".into(), set, &arm.rig).unwrap();
    let learnt = fit(&arm, &stack, &set, exact()).unwrap();
    let Some(Correction::PoseSpace(model)) = learnt.deformer.corrections().last() else { panic!("no pose space") };
    assert!(!model.remainders.vertices.is_empty(), "the pose is singular");
    // The interpolation keeps 1e-9 of remainders of a metre, over a kernel value of a tenth.
    assert!(off(&learnt, &set) < 1e-7, "{:e}", off(&learnt, &set));
    let largest = model.weights.entries().iter().map(|d| d.length()).fold(0.0, f64::max);
    assert!(largest < 10.0, "displacements stay bounded: {largest}");
    // The model that runs, in single precision.
    let mut out = vec![dermis_rig::glam::Vec3::NAN; learnt.deformer.rest().len()];
    learnt.deformer.bake().evaluate(&set.examples()[0].transforms, None, &mut Default::default(), &mut out).unwrap();
    let far = out.iter().zip(&set.examples()[0].positions).map(|(a, b)| a.as_dvec3().distance(*b)).fold(0.0, f64::max);
    assert!(far < 2e-6, "{far:e}");
}

/// Symmetry: what acts after the skinning hangs on bones, so a character that is moved and turned takes its model along.
#[test]
fn a_model_moves_with_its_character() {
    let arm = Arm::new(9, 6);
    let stack = stack(&arm, lbs(&arm), 0.03);
    let set = sculpts(&arm, &stack, &poses(&arm, 5));
    let mut deformer = fit(&arm, &stack, &set, exact()).unwrap().deformer;
    let g = some_motion(2.1, DVec3::new(5.0, -3.0, 8.0));
    let n = deformer.rest().len();
    let (mut still, mut moved) = (vec![DVec3::NAN; n], vec![DVec3::NAN; n]);
    let mut random = Random::new(62);
    for _ in 0..5 {
        let pose = arm.transforms(&ArmPose::random(&mut random));
        deformer.evaluate(&pose, None, &mut still).unwrap();
        deformer.evaluate(&pose.moved(g), None, &mut moved).unwrap();
        for (a, b) in still.iter().zip(&moved) {
            assert!(g.transform_point3(*a).abs_diff_eq(*b, 1e-11));
        }
    }
}

/// A vertex that the deformer makes nothing of, but that the sculpt moves: its remainder alone is the correction.
#[test]
fn a_vertex_without_displacements_keeps_its_remainder() {
    let arm = Arm::new(9, 6);
    // Everything is pressed into a plane near z = 0, whatever moves along z.
    let moves: Vec<DVec3> = (0..8).map(|at| DVec3::Z * if at % 2 == 0 { 2.0 } else { -2.0 }).collect();
    let lattice = Lattice::new(DVec3::splat(-2.0), DVec3::AXES.map(|e| e * 4.0), [2; 3], moves).unwrap();
    let n = arm.rig.mesh().positions.len();
    let stack = Stack::new(vec![Layer::Lattice(lattice), lbs(&arm)], n, 4).unwrap();
    let pose = arm.transforms(&ArmPose { shoulder: DVec3::Z * 0.4, ..ArmPose::REST });
    let mut example = sculpts(&arm, &stack, &[pose]).examples()[0].clone();
    example.positions.iter_mut().for_each(|x| x.z += 0.02);
    let set = ExampleSet::new("flat".into(), vec![example], &arm.rig).unwrap();
    let learnt = fit(&arm, &stack, &set, exact()).unwrap();
    let Some(Correction::PoseSpace(model)) = learnt.deformer.corrections().last() else { panic!("no pose space") };
    assert!((0..n).all(|v| model.remainders.vertices.binary_search(&(v as u32)).is_ok()));
}

#[test]
fn what_a_stack_cannot_serve_is_refused_by_name() {
    let arm = Arm::new(6, 4);
    let stack = stack(&arm, lbs(&arm), 0.01);
    let set = sculpts(&arm, &stack, &poses(&arm, 3));
    let refused = |change: &dyn Fn(&mut PsdMethod), word: &str| {
        let mut method = exact();
        change(&mut method);
        let error = fit(&arm, &stack, &set, method).unwrap_err();
        assert!(matches!(error, MethodError::Base { base: "stack", .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    };
    refused(&|own| own.pose_space.form = Form::Forward, "forward form");
    refused(&|own| own.pose_space.mirror = true, "mirrored");
    refused(&|own| own.singular = Singular::Published { lambda: 1e-4, epsilon: 1e-4 }, "published");
    let own = || PoseSpaceSettings { base: BaseChoice::Stack, ..PoseSpaceSettings::default() };
    for method in [
        Method::EigenSkin(dermis_fit::method::EigenSkinMethod { pose_space: own(), ..Default::default() }),
        Method::PoseBlendshapes(dermis_fit::method::PoseBlendshapesMethod { pose_space: own(), ..Default::default() }),
        Method::Joint(dermis_fit::method::JointMethod { base: BaseChoice::Stack, ..Default::default() }),
    ] {
        let error = method.check().unwrap_err();
        assert!(matches!(error, MethodError::Base { base: "stack", method: name } if name == method.name()), "{error}");
    }
    let missing = Method::Psd(exact()).fit(&FitInput::new(&arm.rig, &set), &silent).unwrap_err();
    assert!(missing.to_string().contains("the deformers of the stack"), "{missing}");
}

/// Enveloping over a stack: a correction linear in the turn of a joint is found on what the stack shows.
#[test]
fn enveloping_corrects_a_stack() {
    let arm = Arm::new(9, 6);
    let stack = stack(&arm, lbs(&arm), 0.01);
    let rest = &arm.rig.mesh().positions;
    let example = |(s, pose): (usize, &BoneTransforms)| {
        let bones = pose.as_slice();
        let bulge = (bones[2].matrix3 - bones[1].matrix3) * DVec3::new(0.01, 0.02, -0.01);
        let positions = through(&stack, pose, rest).into_iter().map(|p| p + bulge).collect();
        let (label, transforms) = (format!("pose {s}"), pose.clone());
        Example { label, time: None, transforms, positions, importance: 1.0, local: None }
    };
    let set = poses(&arm, 12).iter().enumerate().map(example).collect();
    let set = ExampleSet::new("bulges".into(), set, &arm.rig).unwrap();
    let method = Method::Mwe(MweMethod { base: BaseChoice::Stack, ..MweMethod::default() });
    let learnt = method.fit(&FitInput { stack: Some(&stack), ..FitInput::new(&arm.rig, &set) }, &silent).unwrap();
    assert!(matches!(learnt.deformer.base(), Base::Stack(..)));
    let bare = Learnt { deformer: learnt.deformer.clone().without_correction(), ..learnt.clone() };
    let (left, before) = (off(&learnt, &set), off(&bare, &set));
    assert!(left < 0.05 * before, "{left:e} of {before:e}");
}

/// Turned frames of bones with and without a stack: rigid binding alone makes the remainders vanish.
#[test]
fn a_stack_of_rigid_binding_needs_no_remainders() {
    let arm = Arm::new(9, 6);
    let n = arm.rig.mesh().positions.len();
    let stack = Stack::new(vec![Layer::Rigid(arm.weights().clone())], n, 4).unwrap();
    let turned = DAffine3::from_quat(DQuat::from_rotation_y(0.7));
    let poses: Vec<_> = poses(&arm, 4).iter().map(|pose| pose.moved(turned)).collect();
    let set = sculpts(&arm, &stack, &poses);
    let learnt = fit(&arm, &stack, &set, exact()).unwrap();
    let Some(Correction::PoseSpace(model)) = learnt.deformer.corrections().last() else { panic!("no pose space") };
    assert!(model.remainders.vertices.is_empty());
    assert!(matches!(learnt.deformer.base(), Base::Stack(..)));
    assert!(off(&learnt, &set) < 1e-9);
}
