//! Sculpts in poses of which no other example tells anything: they are met, and do not choose the ridge for others.

use dermis_fit::method::{BaseChoice, FitInput, JointMethod, Learnt, Method, MweMethod, MweRidge};
use dermis_fit::mwe::RowChoice;
use dermis_fit::silent;
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, ExampleSet};
use dermis_testkit::{Arm, ArmPose};

const ELBOW: ArmPose = ArmPose { elbow: 1.6, ..ArmPose::REST };
const WRIST: ArmPose = ArmPose { wrist: DVec3::Z, ..ArmPose::REST };
const SHOULDER: ArmPose = ArmPose { shoulder: DVec3::Y, ..ArmPose::REST };

fn fitted(arm: &Arm, method: &Method, examples: &[Example]) -> Learnt {
    let set = ExampleSet::new("sculpts".into(), examples.to_vec(), &arm.rig).unwrap();
    method.fit(&FitInput::new(&arm.rig, &set), &silent).unwrap()
}

fn bounded() -> [Method; 2] {
    let joint = JointMethod { base: BaseChoice::Lbs, ..JointMethod::default() };
    [Method::Joint(joint), Method::mwe()]
}

/// Sum of squared distances from the true skin.
fn squares(model: &mut Learnt, example: &Example) -> f64 {
    let mut skin = vec![DVec3::ZERO; example.positions.len()];
    model.deformer.evaluate(&example.transforms, None, &mut skin).unwrap();
    skin.iter().zip(&example.positions).map(|(a, b)| a.distance_squared(*b)).sum()
}

/// The largest λ that leaves 2 % in all beyond the least is taken; a single sculpt, whose own share of the error may be small, keeps 5 %.
#[test]
fn sculpts_of_joints_that_no_other_moves_are_met() {
    let arm = Arm::new(33, 12);
    for poses in [vec![ELBOW], vec![ELBOW, WRIST], vec![ELBOW, WRIST, SHOULDER]] {
        let examples = arm.examples(&[&[ArmPose::REST], &poses[..]].concat());
        let mut base = fitted(&arm, &Method::OwnWeights, &examples);
        for method in bounded() {
            let what = format!("{} of {} sculpts", method.name(), poses.len());
            let mut learnt = fitted(&arm, &method, &examples);
            let report = &learnt.report;
            assert!(!report.has_evidence() && report.sweep.is_empty(), "{what}: {report}");
            assert!(report.validated_by.is_none(), "{what}: {report}");
            for example in &examples[1..] {
                let left = (squares(&mut learnt, example) / squares(&mut base, example)).sqrt();
                assert!(left < 0.05, "{what}: {}: {left}", example.label);
            }
            assert!(squares(&mut learnt, &examples[0]) < 1e-20, "{what}: the bind pose");
        }
    }
}

#[test]
fn two_poses_of_a_joint_are_evidence() {
    let arm = Arm::new(33, 12);
    let half = ArmPose { elbow: 0.8, ..ArmPose::REST };
    for method in bounded() {
        let report = fitted(&arm, &method, &arm.examples(&[ArmPose::REST, half, ELBOW])).report;
        assert!(report.has_evidence() && !report.sweep.is_empty(), "{report}");
        // The same pose twice is no evidence: both are left out together.
        let report = fitted(&arm, &method, &arm.examples(&[ArmPose::REST, ELBOW, ELBOW])).report;
        assert!(!report.has_evidence(), "{report}");
    }
}

/// Oracle: every elbow pose predicted by a fit to the other examples; the wrist, of which they tell nothing, and the rest pose count
/// with what blending leaves of them, whatever the ridge is.
#[test]
fn a_lone_pose_does_not_choose_the_ridge_of_others() {
    let arm = Arm::new(33, 12);
    let half = ArmPose { elbow: 0.8, ..ArmPose::REST };
    let examples = arm.examples(&[ArmPose::REST, half, ELBOW, WRIST]);
    let method = |ridge: MweRidge| {
        Method::Mwe(MweMethod { ridge, rows: Some(RowChoice::Full), guard: false, ..MweMethod::default() })
    };
    let report = fitted(&arm, &method(MweRidge::default()), &examples).report;
    let mut base = fitted(&arm, &Method::OwnWeights, &examples);
    let of_others: f64 = [0, 3].map(|s| squares(&mut base, &examples[s])).iter().sum();
    let pairs = (examples.len() * arm.rig.mesh().positions.len()) as f64;
    assert!(report.has_evidence(), "{report}");
    for point in report.sweep.iter().step_by(3) {
        let left_out = |s: usize| {
            let others: Vec<Example> = (0..4).filter(|t| *t != s).map(|t| examples[t].clone()).collect();
            squares(&mut fitted(&arm, &method(MweRidge::Fixed(point.ridge)), &others), &examples[s])
        };
        let sum = of_others + [1, 2].map(left_out).iter().sum::<f64>();
        let expected = (sum / pairs).sqrt();
        // Models run in f64; at the least ridge, 1e-4, the normal equations lose eight digits.
        assert!(
            (point.validated - expected).abs() < 1e-6 * expected,
            "{}: {} {expected}",
            point.ridge,
            point.validated
        );
    }
}
