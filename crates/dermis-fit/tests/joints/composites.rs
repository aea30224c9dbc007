//! Composite joints learn what two joints do together, and only where the examples moved both.

use super::*;
use dermis_fit::joints::composite::composite_pairs;
use dermis_fit::method::{FactorChoice, FitInput, JointMethod, Learnt, Method, MethodReport};
use dermis_rig::ExampleSet;
use dermis_testkit::rms_of;

/// Composites of a vertex with the roots of their relevances, written out a second time.
pub fn of_vertex(
    bench: &Bench,
    tree: &JointTree,
    relevance: &[(u32, f64)],
    eta: f64,
    place: impl Fn((BoneIndex, BoneIndex)) -> Option<usize>,
) -> Vec<(usize, f64)> {
    let angle = |pose: &BoneTransforms, (a, b): (BoneIndex, BoneIndex)| {
        let turn = pose[a].matrix3.inverse() * pose[b].matrix3 - DMat3::IDENTITY;
        turn.to_cols_array().iter().map(|x| x * x).sum::<f64>() / 2.0
    };
    let mut found = Vec::new();
    for (at, &(f, of_f)) in relevance.iter().enumerate() {
        for &(e, of_e) in &relevance[..at] {
            let (first, second) = (tree.edges[e as usize], tree.edges[f as usize]);
            let mut ends = [first.0, first.1, second.0, second.1];
            ends.sort_unstable();
            let shared = ends.windows(2).find(|w| w[0] == w[1]).map(|w| w[0]);
            let Some(shared) = shared else { continue };
            let outer = |pair: (BoneIndex, BoneIndex)| if pair.0 == shared { pair.1 } else { pair.0 };
            let Some(joint) = place((outer(first), outer(second))) else { continue };
            let (mut both, mut either) = (0.0, 0.0);
            for example in &bench.examples {
                let (x, y) = (angle(&example.transforms, first), angle(&example.transforms, second));
                both += x.min(y);
                either += x + y;
            }
            let gate = (4.0 * both / either).min(1.0);
            let a = eta * gate * ((of_e * of_f).sqrt() - 0.1).max(0.0) / 0.9;
            if a > 0.0 {
                found.push((joint, a.sqrt()));
            }
        }
    }
    found
}

#[test]
fn pairs_of_joints_share_one_bone_in_any_direction() {
    let bone = BoneIndex::new;
    let edges = [(0, 1), (1, 2), (3, 1), (4, 5)].map(|(a, b)| (bone(a), bone(b)));
    let pairs: Vec<_> =
        composite_pairs(&edges).iter().map(|p| (p.joints, (p.outer.0.get(), p.outer.1.get()))).collect();
    assert_eq!(pairs, [((0, 1), (0, 2)), ((0, 2), (0, 3)), ((1, 2), (2, 3))]);
}

#[test]
fn poses_of_single_joints_leave_the_model_without_composites_to_the_bit() {
    let arm = Arm::new(9, 6);
    let poses: Vec<ArmPose> = ArmPose::some(24, 31)
        .into_iter()
        .enumerate()
        .map(|(s, pose)| match s % 3 {
            0 => ArmPose { elbow: pose.elbow, twist: pose.twist, ..ArmPose::REST },
            1 => ArmPose { wrist: pose.wrist, ..ArmPose::REST },
            _ => ArmPose { shoulder: pose.shoulder, ..ArmPose::REST },
        })
        .collect();
    let bench = Bench::new(&arm.rig, arm.examples(&poses));
    let of_eta = |composites: f64| fit(&bench, &JointSettings { composites, ..settings(CorrectionFrame::Blend) });
    let (without, with) = (of_eta(0.0), of_eta(2.0));
    assert!(with.report.composites.is_empty());
    assert_eq!(with.correction.joints, without.correction.joints);
    let bits = |fit: &JointFit| fit.correction.coefficients.entries().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&with), bits(&without));
    assert_eq!((with.correction.shared, with.correction.terms), (without.correction.shared, without.correction.terms));
}

/// A skin that swells as the hand is turned against the upper arm, or by elbow and wrist each on its own.
fn swelling(arm: &Arm, poses: &[ArmPose], together: bool) -> Vec<Example> {
    let angle = |turn: DMat3| (turn.x_axis.x + turn.y_axis.y + turn.z_axis.z - 3.0).abs() / 4.0;
    parts::swelling(arm, poses, |elbow, wrist| match together {
        true => angle(elbow * wrist),
        false => 0.5 * (angle(elbow) + angle(wrist)),
    })
}

#[test]
fn cross_validation_takes_composites_where_joints_interact_and_only_there() {
    let arm = Arm::new(9, 6);
    let learn = |composites: FactorChoice, together: bool| {
        let training =
            ExampleSet::new(String::new(), swelling(&arm, &ArmPose::some(80, 32), together), &arm.rig).unwrap();
        let method = Method::Joint(JointMethod { composites, ..JointMethod::default() });
        method.fit(&FitInput::new(&arm.rig, &training), &silent).unwrap()
    };
    let taken = |learnt: &Learnt| {
        let MethodReport::Joint(report) = &learnt.report.details else { panic!("it is the joint model") };
        let tried: Vec<_> = report.composites().collect();
        assert_eq!(tried.len(), 3);
        tried[0].0
    };
    let unseen = swelling(&arm, &ArmPose::some(20, 33), true);
    let mut with = learn(FactorChoice::Auto, true);
    assert!(taken(&with) > 0.0);
    let mut without = learn(FactorChoice::Off, true);
    let (with, without) = (rms_of(&mut with.deformer, &unseen), rms_of(&mut without.deformer, &unseen));
    assert!(with < 0.8 * without, "{with} of {without}");
    assert_eq!(taken(&learn(FactorChoice::Auto, false)), 0.0);
}

#[test]
fn the_factor_has_a_text_and_bounds() {
    for text in ["auto", "off", "1.5"] {
        assert_eq!(FactorChoice::try_from(text.to_owned()).unwrap().to_string(), text);
    }
    assert!(FactorChoice::try_from("many".to_owned()).is_err());
    for eta in [0.0, -1.0, f64::NAN, 1e9] {
        let method = Method::Joint(JointMethod { composites: FactorChoice::Factor(eta), ..JointMethod::default() });
        assert!(method.check().unwrap_err().to_string().contains("composites"), "{eta}");
    }
}
