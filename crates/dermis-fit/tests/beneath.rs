//! A model as the base of another: its corrections stay, another one follows, and what it knew stays known.

mod bench;

use bench::{off, skinned};
use dermis_deform::RiggedDeformer;
use dermis_deform::baked::CoefficientPrecision;
use dermis_fit::method::{
    BaseChoice, CoefficientChoice, CorrectivesMethod, FitInput, JointMethod, Learnt, Method, MethodError, MweMethod,
    MweRidge, PoseSpaceSettings, PsdMethod,
};
use dermis_fit::silent;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneTransforms, Example, ExampleSet, LocalSculpt, Rig};
use dermis_testkit::{Arm, ArmPose};

/// The rig's skin with a bulge that follows the elbow and one that follows the wrist, each on the skin of its bones.
fn shown(arm: &Arm, pose: &BoneTransforms, wrist: f64) -> Vec<DVec3> {
    let bones = pose.as_slice();
    let turn = |child: usize| bones[child].matrix3 - bones[child - 1].matrix3;
    let along = |p: &DVec3| DVec3::new(0.01 * (5.0 * p.x).sin(), 0.02, 0.01 * p.y);
    let beside = |v: usize, child: usize| {
        let near = |&&(bone, _): &&(BoneIndex, f64)| bone.get() == child || bone.get() + 1 == child;
        arm.weights().of(v).iter().filter(near).map(|(_, w)| w).sum::<f64>()
    };
    let rest = &arm.rig.mesh().positions;
    let skin = skinned(&arm.rig, pose).into_iter().enumerate();
    let bulge = |v: usize, child: usize| turn(child) * along(&rest[v]) * beside(v, child);
    skin.map(|(v, p)| p + bulge(v, 2) + wrist * bulge(v, 3)).collect()
}

fn examples(arm: &Arm, poses: &[ArmPose], wrist: f64) -> ExampleSet {
    let example = |(s, pose): (usize, &ArmPose)| {
        let transforms = arm.transforms(pose);
        let positions = shown(arm, &transforms, wrist);
        Example { label: format!("pose {s}"), time: None, transforms, positions, importance: 1.0, local: None }
    };
    ExampleSet::new("shown".into(), poses.iter().enumerate().map(example).collect(), &arm.rig).unwrap()
}

fn fitted(
    rig: &Rig,
    set: &ExampleSet,
    method: &Method,
    model: Option<&RiggedDeformer>,
) -> Result<RiggedDeformer, MethodError> {
    let learnt = method.fit(&FitInput { model, ..FitInput::new(rig, set) }, &silent)?;
    let poses = learnt.training_poses(set.examples().iter().map(|e| &e.transforms));
    Ok(learnt.rigged(rig, &poses)?.0)
}

fn stiff() -> MweMethod {
    MweMethod { ridge: MweRidge::Fixed(0.3), ..MweMethod::default() }
}

/// Every method that corrects a base corrects a model: it leaves less than the model does, and of the model nothing is lost.
#[test]
fn every_correction_follows_that_of_a_model() {
    let arm = Arm::new(17, 8);
    let set = examples(&arm, &ArmPose::some(20, 5), 1.0);
    let first = fitted(&arm.rig, &set, &Method::Mwe(stiff()), None).unwrap();
    let pose_space = || PoseSpaceSettings { base: BaseChoice::Model, ..PoseSpaceSettings::default() };
    for method in [
        Method::Mwe(MweMethod { base: BaseChoice::Model, ridge: MweRidge::Fixed(1e-3), ..MweMethod::default() }),
        Method::Joint(JointMethod { base: BaseChoice::Model, ..JointMethod::default() }),
        Method::Psd(PsdMethod { pose_space: pose_space(), ..PsdMethod::default() }),
        Method::EigenSkin(dermis_fit::method::EigenSkinMethod { pose_space: pose_space(), ..Default::default() }),
        Method::Correctives(CorrectivesMethod { base: BaseChoice::Model, ..CorrectivesMethod::default() }),
    ] {
        let second = fitted(&arm.rig, &set, &method, Some(&first)).unwrap();
        assert_eq!(second.baked().corrections().len(), 2, "{method}");
        let (before, after) = (off(&first, &set), off(&second, &set));
        assert!(after < 0.7 * before, "{method}: {after:e} of {before:e}");
        // The first correction is that of the model.
        let mut alone = second.baked().clone();
        alone = alone.with_corrections(second.baked().corrections()[..1].iter().cloned()).unwrap();
        let poses: Vec<BoneTransforms> = ArmPose::some(6, 9).iter().map(|pose| arm.transforms(pose)).collect();
        assert!(alone.largest_difference(first.baked(), &poses).unwrap() <= 1e-7, "{method}");
        // What the model was trained on is trained on.
        let training = second.training().unwrap();
        assert!(set.examples().iter().all(|e| training.has_beside(arm.rig.skeleton(), &e.transforms)), "{method}");
    }
}

/// Poses that only the model beneath has seen are not new to the model over it.
#[test]
fn what_a_model_was_trained_on_stays_known() {
    let arm = Arm::new(9, 6);
    let (old, new) = (ArmPose::some(12, 5), ArmPose::some(6, 33));
    let first = fitted(&arm.rig, &examples(&arm, &old, 0.0), &Method::Mwe(stiff()), None).unwrap();
    let method = Method::Mwe(MweMethod { base: BaseChoice::Model, ..stiff() });
    let second = fitted(&arm.rig, &examples(&arm, &new, 1.0), &method, Some(&first)).unwrap();
    let known = |pose: &ArmPose| second.training().unwrap().has_beside(arm.rig.skeleton(), &arm.transforms(pose));
    assert!(old.iter().chain(&new).all(known));
    assert!(!ArmPose::some(5, 91).iter().skip(1).any(known));
    // Third over second over first.
    let third = fitted(&arm.rig, &examples(&arm, &new, 1.0), &method, Some(&second)).unwrap();
    assert_eq!(third.baked().corrections().len(), 3);
    assert!(off(&third, &examples(&arm, &new, 1.0)) <= off(&second, &examples(&arm, &new, 1.0)));
}

/// A model of 16 bits serves, and the model over it keeps that precision where it is asked for.
#[test]
fn coefficients_of_16_bits_serve_beneath() {
    let arm = Arm::new(9, 6);
    let set = examples(&arm, &ArmPose::some(12, 5), 1.0);
    let first = fitted(&arm.rig, &set, &Method::Mwe(stiff()), None).unwrap();
    let sixteen = first.baked().clone().with_precision(CoefficientPrecision::Sixteen);
    let first = first.with_baked(sixteen).unwrap();
    let method = |coefficients| {
        Method::Mwe(MweMethod {
            base: BaseChoice::Model,
            ridge: MweRidge::Fixed(1e-3),
            coefficients,
            ..MweMethod::default()
        })
    };
    for (coefficients, precision) in [
        (CoefficientChoice::Single, CoefficientPrecision::Single),
        (CoefficientChoice::Sixteen, CoefficientPrecision::Sixteen),
    ] {
        let second = fitted(&arm.rig, &set, &method(coefficients), Some(&first)).unwrap();
        assert_eq!(second.baked().precision(), precision);
        assert!(off(&second, &set) < off(&first, &set));
    }
}

#[test]
fn a_model_that_does_not_serve_is_refused_with_the_reason() {
    let (arm, other) = (Arm::new(9, 6), Arm::new(12, 6));
    let set = examples(&arm, &ArmPose::some(6, 5), 1.0);
    let first = fitted(&arm.rig, &set, &Method::Mwe(stiff()), None).unwrap();
    let over = Method::Mwe(MweMethod { base: BaseChoice::Model, ..stiff() });
    let says = |set: &ExampleSet, rig: &Rig, method: &Method, model: Option<&RiggedDeformer>| {
        fitted(rig, set, method, model).unwrap_err().to_string()
    };
    assert!(says(&set, &arm.rig, &over, None).contains("corrections of a model beneath are needed"));
    assert!(
        says(&set, &arm.rig, &Method::Mwe(stiff()), Some(&first)).contains("the model has no effect over another base")
    );
    let of_other = examples(&other, &ArmPose::some(6, 5), 1.0);
    assert!(says(&of_other, &other.rig, &over, Some(&first)).contains("vertices"));
    let mut mesh = arm.rig.mesh().clone();
    mesh.positions[3].y += 0.01;
    let moved = Rig::new(mesh, arm.rig.skeleton().clone(), arm.rig.weights().cloned()).unwrap();
    let of_moved = ExampleSet::new("moved".into(), set.examples().to_vec(), &moved).unwrap();
    assert!(says(&of_moved, &moved, &over, Some(&first)).contains("rest mesh is up to"));
    let rest = PsdMethod {
        pose_space: PoseSpaceSettings { base: BaseChoice::Rest, ..PoseSpaceSettings::default() },
        ..PsdMethod::default()
    };
    let shapes = fitted(&arm.rig, &set, &Method::Psd(rest), None).unwrap();
    assert!(says(&set, &arm.rig, &over, Some(&shapes)).contains("the rest pose, cannot be run beneath"));
}

/// A sculpt of a joint, which an artist made over the rig's skin within some vertices.
fn sculpt(arm: &Arm, s: usize, pose: &ArmPose) -> Example {
    let transforms = arm.transforms(pose);
    let skin = skinned(&arm.rig, &transforms);
    let touched: Vec<bool> = (0..skin.len()).map(|v| (v + 7 * s).is_multiple_of(4)).collect();
    let by = DVec3::new(0.01, -0.02, 0.005 * s as f64);
    let positions = skin.iter().zip(&touched).map(|(p, touched)| if *touched { *p + by } else { *p }).collect();
    let local = Some(LocalSculpt { mask: Some(touched), shown: None });
    Example { label: format!("sculpt {s}"), time: None, transforms, positions, importance: 1.0, local }
}

/// Enveloping and pose spaces meet every sculpt on the skin that it touched, each by a shape of its name.
#[test]
fn methods_without_a_layer_of_their_own_remember_sculpts() {
    let arm = Arm::new(17, 8);
    let poses = ArmPose::some(6, 21);
    let sculpts: Vec<Example> = (1..6).map(|s| sculpt(&arm, s, &poses[s])).collect();
    let set = ExampleSet::new("sculpts".into(), sculpts, &arm.rig).unwrap();
    let first = fitted(&arm.rig, &examples(&arm, &ArmPose::some(12, 5), 1.0), &Method::Mwe(stiff()), None).unwrap();
    let psd = PsdMethod { remember: 1.0, ..PsdMethod::default() };
    let over = MweMethod { base: BaseChoice::Model, ..MweMethod::default() };
    for (method, model, corrections) in [
        (Method::mwe(), None, 2),
        (Method::Psd(psd), None, 2),
        (Method::Mwe(over), Some(&first), 3),
        (Method::Mwe(MweMethod { remember: Some(0.0), ..MweMethod::default() }), None, 1),
    ] {
        let Learnt { deformer: mut found, report, .. } =
            method.fit(&FitInput { model, ..FitInput::new(&arm.rig, &set) }, &silent).unwrap();
        assert_eq!(found.corrections().len(), corrections);
        let mut skin = vec![DVec3::NAN; found.rest().len()];
        let mut left = 0.0_f64;
        for example in set.examples() {
            found.evaluate(&example.transforms, None, &mut skin).unwrap();
            let mask = example.local.as_ref().unwrap().mask.as_ref().unwrap();
            let apart = (0..skin.len()).filter(|&v| mask[v]).map(|v| skin[v].distance(example.positions[v]));
            left = apart.fold(left, f64::max);
        }
        // The layer meets what the delivered model leaves, in 32 bits.
        assert_eq!(left < 2e-6 * arm.length(), corrections > 1, "{method}: {left:e}");
        let details = serde_json::to_value(&report.details).unwrap();
        let names = details["remembered"].as_array().map_or(0, Vec::len);
        assert_eq!(names, if corrections > 1 { 5 } else { 0 });
    }
}
