//! Swing and twist apart, and products of joints: what they learn, and that they are taken only where they do.

use super::*;
use dermis_fit::method::{
    FactorChoice, FitInput, FormChoice, JointMethod, JointModelReport, Learnt, Method, MethodReport,
};
use dermis_rig::ExampleSet;
use dermis_testkit::arm::UPPER;
use dermis_testkit::rms_of;

/// A skin that swells along its forearm by a number of the turns of elbow and wrist.
pub fn swelling(arm: &Arm, poses: &[ArmPose], size: impl Fn(DMat3, DMat3) -> f64) -> Vec<Example> {
    let rest = &arm.rig.mesh().positions;
    let swell = |mut example: Example| {
        let turn =
            |a: BoneIndex, b: BoneIndex| example.transforms[a].matrix3.transpose() * example.transforms[b].matrix3;
        let size = size(turn(UPPER, FOREARM), turn(FOREARM, HAND));
        let out = |v: usize| {
            let row = arm.weights().of(v);
            let near: f64 = row.iter().filter(|(b, _)| *b == FOREARM).map(|(_, w)| *w).sum();
            let across = DVec3::new(0.0, rest[v].y, rest[v].z).normalize_or_zero();
            lbs::blend(row, &example.transforms).matrix3 * across * (0.1 * near * size)
        };
        let skin = skinned(&arm.rig, &example.transforms);
        example.positions = (0..rest.len()).map(|v| skin[v] + out(v)).collect();
        example
    };
    arm.examples(poses).into_iter().map(swell).collect()
}

fn learn(arm: &Arm, examples: Vec<Example>, method: JointMethod) -> Learnt {
    let training = ExampleSet::new(String::new(), examples, &arm.rig).unwrap();
    Method::Joint(method).fit(&FitInput::new(&arm.rig, &training), &silent).unwrap()
}

fn details(learnt: &Learnt) -> &JointModelReport {
    let MethodReport::Joint(report) = &learnt.report.details else { panic!("it is the joint model") };
    report
}

/// A smooth function of how far the x axis, along which the arm lies, swings.
fn swung(turn: DMat3) -> f64 {
    let square = (turn.x_axis - DVec3::X).length_squared();
    square / (square + 0.5)
}

/// How far a forearm twists, from -1 to 1.
fn twisted(turn: DMat3) -> f64 {
    (turn.y_axis.z - turn.z_axis.y) / (1.0 + turn.x_axis.x)
}

#[test]
fn cross_validation_takes_products_where_joints_multiply_and_only_there() {
    let arm = Arm::new(9, 6);
    let (seen, unseen) = (ArmPose::some(60, 32), ArmPose::some(20, 33));
    let product = |elbow: DMat3, wrist: DMat3| swung(elbow) * swung(wrist);
    let sum = |elbow: DMat3, wrist: DMat3| 0.3 * (swung(elbow) + swung(wrist));
    let with = |products| JointMethod { products, composites: FactorChoice::Off, ..JointMethod::default() };
    let mut taken = learn(&arm, swelling(&arm, &seen, product), with(FactorChoice::Auto));
    assert!(details(&taken).products().next().unwrap().0 > 0.0);
    let mut off = learn(&arm, swelling(&arm, &seen, product), with(FactorChoice::Off));
    let held_out = swelling(&arm, &unseen, product);
    let (taken, off) = (rms_of(&mut taken.deformer, &held_out), rms_of(&mut off.deformer, &held_out));
    assert!(taken < 0.9 * off, "{taken} of {off}");
    // Of sums the model is the one without, to the bit.
    let refused = learn(&arm, swelling(&arm, &seen, sum), with(FactorChoice::Auto));
    let tried: Vec<_> = details(&refused).products().collect();
    assert_eq!((tried.len(), tried[0].0), (3, 0.0));
    same_skin(&arm, refused, learn(&arm, swelling(&arm, &seen, sum), with(FactorChoice::Off)));
}

#[test]
fn cross_validation_takes_swing_and_twist_apart_where_they_add_up_and_only_there() {
    let arm = Arm::new(9, 6);
    let (seen, unseen) = (ArmPose::some(40, 32), ArmPose::some(20, 33));
    let apart = |elbow: DMat3, _: DMat3| swung(elbow) + twisted(elbow).powi(2);
    let with = |swing_twist| JointMethod { swing_twist, ..JointMethod::default() };
    let mut taken = learn(&arm, swelling(&arm, &seen, apart), with(FormChoice::Auto));
    assert!(
        details(&taken).swing_twists().next().unwrap().0,
        "{:?}",
        details(&taken).swing_twists().collect::<Vec<_>>()
    );
    let mut off = learn(&arm, swelling(&arm, &seen, apart), with(FormChoice::Off));
    let held_out = swelling(&arm, &unseen, apart);
    let (taken, off) = (rms_of(&mut taken.deformer, &held_out), rms_of(&mut off.deformer, &held_out));
    assert!(taken < 0.98 * off, "{taken} of {off}");
    // What neither part knows alone.
    let together = |elbow: DMat3, _: DMat3| 2.0 * twisted(elbow) * swung(elbow);
    let refused = learn(&arm, swelling(&arm, &seen, together), with(FormChoice::Auto));
    let tried: Vec<_> = details(&refused).swing_twists().collect();
    assert_eq!((tried.len(), tried[0].0), (2, false));
    same_skin(&arm, refused, learn(&arm, swelling(&arm, &seen, together), with(FormChoice::Off)));
}

fn same_skin(arm: &Arm, mut one: Learnt, mut other: Learnt) {
    for pose in unseen(arm, 4) {
        let skin = |learnt: &mut Learnt| {
            let mut skin = vec![DVec3::ZERO; arm.rig.mesh().positions.len()];
            learnt.deformer.evaluate(&pose, None, &mut skin).unwrap();
            skin
        };
        assert_eq!(skin(&mut one), skin(&mut other));
    }
}

/// Poses of single joints, and a gate of zero, leave no product.
#[test]
fn poses_of_single_joints_have_no_products() {
    let arm = Arm::new(9, 6);
    let one = |(s, pose): (usize, ArmPose)| (1..=3).filter(|joint| *joint != s % 3 + 1).fold(pose, ArmPose::held);
    let poses: Vec<ArmPose> = ArmPose::some(24, 31).into_iter().enumerate().map(one).collect();
    let bench = Bench::new(&arm.rig, arm.examples(&poses));
    let of_eta = |products: f64| fit(&bench, &JointSettings { products, ..settings(CorrectionFrame::Blend) });
    let (without, with) = (of_eta(0.0), of_eta(2.0));
    assert!(with.report.products.is_empty());
    assert_eq!(with.correction.joints, without.correction.joints);
    assert_eq!(with.correction.coefficients, without.correction.coefficients);
}

#[test]
fn the_choice_has_a_text() {
    for text in ["auto", "on", "off"] {
        assert_eq!(FormChoice::try_from(text.to_owned()).unwrap().to_string(), text);
    }
    assert!(FormChoice::try_from("perhaps".to_owned()).is_err());
}
