//! What does not run says so, by a typed error.

use super::gpu;
use dermis_deform::baked::{Coefficients, FreePart};
use dermis_deform::pose_space::Carrier;
use dermis_deform::rotational_regression::{RotationalRegression, TurnParts};
use dermis_deform::{Base, Correction, Deformer, StackPose};
use dermis_gpu::{Evaluator, Gpu, GpuError, Normals, Unsupported};
use dermis_rig::glam::Vec3;
use dermis_rig::{BoneIndex, BoneTransforms, Rows};
use dermis_testkit::{Random, Tree, models};

fn refused(gpu: &Gpu, deformer: &Deformer, bones: usize, normals: Normals) -> GpuError {
    Evaluator::new(&gpu.device, &deformer.bake(), bones, normals).expect_err("the model is refused")
}

#[test]
fn forms_without_a_shader_are_named() {
    let gpu = gpu();
    let tree = Tree::new(5, 20, 990);
    let mut random = Random::new(991);
    let rest = tree.rig.mesh().positions.clone();
    let lbs = Base::Lbs(tree.weights().clone());
    let given = Deformer::new(rest.clone(), Base::Given, None).unwrap();
    assert_eq!(refused(&gpu, &given, 5, Normals::None), Unsupported::Given.into());
    let anchors = (0..20).map(|v| (v, BoneIndex::new(0))).collect();
    let parts = TurnParts { anchors, ..TurnParts::default() };
    let regression = RotationalRegression::new(&rest, &[], tree.weights().clone(), parts).unwrap();
    let base = Base::RotationalRegression(Box::new(regression));
    let regression = Deformer::new(rest.clone(), base, None).unwrap();
    assert_eq!(refused(&gpu, &regression, 5, Normals::None), Unsupported::RotationalRegression.into());
    let stack = Base::Stack(Box::new(models::stack(&tree, &mut random)), StackPose::default());
    let stack = Deformer::new(rest.clone(), stack, None).unwrap();
    assert_eq!(refused(&gpu, &stack, 5, Normals::None), Unsupported::Stack.into());
    let pose_space = models::pose_space(&tree, Carrier::Base, true, &mut random);
    let pose_space = Deformer::new(rest.clone(), lbs.clone(), Some(pose_space.into())).unwrap();
    assert_eq!(refused(&gpu, &pose_space, 5, Normals::None), Unsupported::PoseSpace.into());
    let enveloping = models::enveloping(&tree, dermis_deform::EnvelopingForm::Row, true, &mut random);
    let corrected = Deformer::new(rest, lbs, Some(Correction::Enveloping(enveloping))).unwrap();
    let normals = vec![Vec3::Y; 20];
    assert_eq!(refused(&gpu, &corrected, 5, Normals::Skinned(&normals)), Unsupported::SkinnedNormals.into());
}

#[test]
fn parts_that_do_not_go_together_are_refused() {
    let gpu = gpu();
    let tree = Tree::new(5, 20, 992);
    let rest = tree.rig.mesh().positions.clone();
    let skin = Deformer::new(rest, Base::Lbs(tree.weights().clone()), None).unwrap();
    // Weights name bones that a pose of two has not.
    assert!(matches!(refused(&gpu, &skin, 2, Normals::None), GpuError::Mismatch { what: "bone", needed: 2, .. }));
    let few = [Vec3::Y; 19];
    let error = refused(&gpu, &skin, 5, Normals::Skinned(&few));
    assert_eq!(error, GpuError::Mismatch { what: "normals at rest", found: 19, needed: 20 });
    assert!(matches!(refused(&gpu, &skin, 5, Normals::Mesh(&[[0, 1, 20]])), GpuError::Mesh(_)));
    let evaluator = Evaluator::new(&gpu.device, &skin.bake(), 5, Normals::None).unwrap();
    let mut batch = evaluator.batch(1).unwrap();
    let error = batch.upload(&gpu.queue, &[BoneTransforms::identity(4)]).unwrap_err();
    assert_eq!(error, GpuError::Mismatch { what: "bones of a pose", found: 4, needed: 5 });
    let two = [BoneTransforms::identity(5), BoneTransforms::identity(5)];
    assert!(matches!(batch.upload(&gpu.queue, &two), Err(GpuError::Mismatch { what: "poses", found: 2, needed: 1 })));
}

/// Arrays of a hostile file: refused before anything of their size is made.
#[test]
fn broken_arrays_are_refused() {
    let gpu = gpu();
    let tree = Tree::new(5, 20, 993);
    let mut random = Random::new(994);
    for (name, correction) in models::corrections(&tree, &mut random) {
        let (rest, base) = (tree.rig.mesh().positions.clone(), Base::Lbs(tree.weights().clone()));
        if matches!(correction, Correction::PoseSpace(_)) {
            continue; // Refused as it is.
        }
        let good = Deformer::new(rest, base, Some(correction)).unwrap().bake();
        use dermis_deform::baked::BakedCorrection::{Enveloping, Joints, Shapes};
        assert!(Evaluator::new(&gpu.device, &good, 5, Normals::None).is_ok(), "{name}");
        let breaks: [fn(&mut dermis_deform::baked::BakedCorrection); 4] = [
            |c| match c {
                Enveloping(c) => c.terms = c.terms.map(|_| u32::MAX),
                Joints(c) => c.free = FreePart::empty(),
                Shapes(c) => c.model.terms = c.model.terms.map(|_| 77),
                _ => {}
            },
            |c| match c {
                Enveloping(c) => c.terms = Rows::default(),
                Joints(c) => c.shared = Rows::default(),
                Shapes(c) => c.model.terms = Rows::default(),
                _ => {}
            },
            |c| match c {
                Enveloping(c) => shorten(&mut c.coefficients),
                Joints(c) => c.shared.push([]).unwrap(),
                Shapes(c) => drop(c.displacements.pop()),
                _ => {}
            },
            |c| match c {
                Enveloping(c) => c.radii = vec![1.0],
                Joints(c) => c.radii = vec![1.0],
                Shapes(c) => c.radii = vec![1.0],
                _ => {}
            },
        ];
        for (at, damage) in breaks.into_iter().enumerate() {
            // Such a model cannot be made, so that no evaluator is asked for it.
            assert!(good.clone().edited(damage).is_err(), "{name}, damage {at}");
        }
    }
}

#[test]
fn more_poses_than_the_device_takes_are_refused() {
    let gpu = gpu();
    let tree = Tree::new(5, 20, 995);
    let rest = tree.rig.mesh().positions.clone();
    let skin = Deformer::new(rest, Base::Lbs(tree.weights().clone()), None).unwrap();
    let evaluator = Evaluator::new(&gpu.device, &skin.bake(), 5, Normals::None).unwrap();
    for poses in [usize::MAX, 1 << 40, (1 << 32) / 60] {
        assert!(matches!(evaluator.batch(poses), Err(GpuError::TooLarge { .. })), "{poses}");
    }
}

/// Takes the last number.
fn shorten(coefficients: &mut Coefficients) {
    match coefficients {
        Coefficients::Single(values) => drop(values.pop()),
        Coefficients::Sixteen { values, .. } => drop(values.pop()),
    }
}
