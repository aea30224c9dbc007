//! The arc-cosine kernel: taken where skin bulges on one side of a joint, refused to the bit where it does not help.

use dermis_deform::lbs;
use dermis_fit::method::{BaseChoice, FactorChoice, FitInput, GravityChoice, JointMethod, Learnt, Method};
use dermis_fit::silent;
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, ExampleSet};
use dermis_testkit::{Arm, ArmPose, rms_of};

/// Poses of an arm that bends its elbow alone, by so many degrees, with a bulge beside the elbow.
fn bent(arm: &Arm, degrees: impl Iterator<Item = f64>, bulge: impl Fn(f64) -> f64) -> Vec<Example> {
    let (rest, weights) = (&arm.rig.mesh().positions, arm.weights());
    let elbow = arm.rig.skeleton().bind()[dermis_testkit::arm::FOREARM].translation;
    let example = |angle: f64| {
        let pose = ArmPose { elbow: angle.to_radians(), ..ArmPose::REST };
        let transforms = arm.transforms(&pose);
        let positions = (0..rest.len()).map(|v| {
            let near = (-(rest[v].distance(elbow) / (0.2 * arm.length())).powi(2)).exp();
            let grown = DVec3::new(0.0, rest[v].y, rest[v].z) * near * bulge(angle.to_radians());
            lbs::blend(weights.of(v), &transforms).transform_point3(rest[v] + grown)
        });
        Example { positions: positions.collect(), ..arm.example(format!("{angle}"), &pose) }
    };
    degrees.map(example).collect()
}

fn learn(arm: &Arm, examples: Vec<Example>, arc_cosine: FactorChoice) -> Learnt {
    let (base, gravity, off) = (BaseChoice::Lbs, GravityChoice::Off, FactorChoice::Off);
    let method = JointMethod { base, gravity, arc_cosine, composites: off, ..JointMethod::default() };
    let examples = ExampleSet::new(String::new(), examples, &arm.rig).unwrap();
    Method::Joint(method).fit(&FitInput::new(&arm.rig, &examples), &silent).unwrap()
}

fn kernel(learnt: &Learnt) -> String {
    let kernel = learnt.report.settings.iter().find(|(name, _)| name == "kernel");
    kernel.expect("the report names the kernel").1.clone()
}

#[test]
fn it_is_taken_where_skin_bulges_on_one_side_of_a_hinge() {
    let arm = Arm::new(9, 6);
    let one_side = |angle: f64| 0.5 * (2.0 * (angle / 2.0).sin()).max(0.0);
    let train = bent(&arm, (-8..=8).map(|i| 15.0 * f64::from(i)), one_side);
    let unseen = bent(&arm, (-11..=11).map(|i| 11.0 * f64::from(i)), one_side);
    let (mut auto, mut off) = (learn(&arm, train.clone(), FactorChoice::Auto), learn(&arm, train, FactorChoice::Off));
    assert!(kernel(&auto).contains("arc-cosine to 50 %"), "{}", kernel(&auto));
    let (with, without) = (rms_of(&mut auto.deformer, &unseen), rms_of(&mut off.deformer, &unseen));
    assert!(with < 0.9 * without, "{with} of {without}");
}

#[test]
fn it_is_refused_to_the_bit_where_it_does_not_help() {
    let arm = Arm::new(9, 6);
    let rounded = |angle: f64| 0.5 * (-(angle - 0.6).powi(2)).exp() - 0.5 * (-0.36f64).exp();
    let train = bent(&arm, (-8..=8).map(|i| 15.0 * f64::from(i)), rounded);
    let pose = train[3].transforms.clone();
    let (mut auto, mut off) = (learn(&arm, train.clone(), FactorChoice::Auto), learn(&arm, train, FactorChoice::Off));
    assert!(kernel(&auto).starts_with("Gaussian ("), "{}", kernel(&auto));
    let skin = |learnt: &mut Learnt| {
        let mut out = vec![DVec3::ZERO; learnt.deformer.rest().len()];
        learnt.deformer.evaluate(&pose, None, &mut out).unwrap();
        out
    };
    assert_eq!(skin(&mut auto), skin(&mut off));
}
