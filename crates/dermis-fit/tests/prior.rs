//! A prior: what another character has learnt helps where examples are few, and never hurts.

mod bench;

use bench::{off, skinned};
use dermis_deform::RiggedDeformer;
use dermis_fit::gain::gain_on;
use dermis_fit::method::{BaseChoice, FitInput, JointMethod, Learnt, Method, MethodError, RidgeChoice};
use dermis_fit::silent;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneTransforms, Example, ExampleSet, LocalSculpt};
use dermis_testkit::{Arm, ArmPose};

/// The rig's skin with a bulge at every joint, `size` times as large, and `own` times another one that nobody taught.
fn shown(arm: &Arm, pose: &BoneTransforms, size: f64, own: f64) -> Vec<DVec3> {
    let (bones, rest) = (pose.as_slice(), &arm.rig.mesh().positions);
    let beside = |v: usize, child: usize| {
        let near = |&&(bone, _): &&(BoneIndex, f64)| bone.get() == child || bone.get() + 1 == child;
        arm.weights().of(v).iter().filter(near).map(|(_, w)| w).sum::<f64>()
    };
    let bulge = |v: usize, child: usize| {
        let (p, turn) = (rest[v], bones[child].matrix3 - bones[child - 1].matrix3);
        let taught = turn * DVec3::new(0.02 * (5.0 * p.x).sin(), 0.03, 0.02 * p.y);
        (size * taught + own * (turn * DVec3::new(0.0, 0.02 * (9.0 * p.x).cos(), 0.03 * p.z))) * beside(v, child)
    };
    let skin = skinned(&arm.rig, pose).into_iter().enumerate();
    skin.map(|(v, p)| p + (1..bones.len()).map(|child| bulge(v, child)).sum::<DVec3>()).collect()
}

fn examples(arm: &Arm, poses: &[ArmPose], size: f64, own: f64) -> ExampleSet {
    let example = |(s, pose): (usize, &ArmPose)| {
        let transforms = arm.transforms(pose);
        let positions = shown(arm, &transforms, size, own);
        Example { label: format!("pose {s}"), time: None, transforms, positions, importance: 1.0, local: None }
    };
    ExampleSet::new("shown".into(), poses.iter().enumerate().map(example).collect(), &arm.rig).unwrap()
}

fn rigged(arm: &Arm, learnt: Learnt) -> RiggedDeformer {
    learnt.rigged(&arm.rig, &[]).unwrap().0
}

fn fit(arm: &Arm, set: &ExampleSet, method: &Method, prior: Option<&RiggedDeformer>) -> Result<Learnt, MethodError> {
    method.fit(&FitInput { prior, ..FitInput::new(&arm.rig, set) }, &silent)
}

/// A model of another character of the same bones that bulges, from many poses.
fn prior(arm: &Arm, size: f64) -> RiggedDeformer {
    rigged(arm, fit(arm, &examples(arm, &ArmPose::some(60, 5), size, 0.0), &lbs(), None).unwrap())
}

fn lbs() -> Method {
    Method::Joint(JointMethod { base: BaseChoice::Lbs, ..JointMethod::default() })
}

/// Few poses of a character that bulges less, and a little otherwise: better than what the prior says, and than what they say alone.
#[test]
fn few_poses_with_a_prior_are_worth_more_than_either() {
    let arm = Arm::new(13, 8);
    let prior = prior(&arm, 1.0);
    let (few, unseen) = (ArmPose::some(6, 71), ArmPose::some(40, 99));
    let (set, unseen) = (examples(&arm, &few, 0.7, 0.3), examples(&arm, &unseen, 0.7, 0.3));
    let with = fit(&arm, &set, &lbs(), Some(&prior)).unwrap();
    let found = with.report.prior.unwrap();
    assert!(found.taken && (0.5..0.95).contains(&found.gain), "{found:?}");
    let (with, alone) =
        (off(&rigged(&arm, with), &unseen), off(&rigged(&arm, fit(&arm, &set, &lbs(), None).unwrap()), &unseen));
    let scaled = prior.baked().widened().unwrap().with_gain(found.gain).unwrap();
    let scaled = RiggedDeformer::new(arm.rig.clone(), None, scaled.bake(), None).unwrap();
    assert!(with < 0.9 * alone && with < 0.9 * off(&scaled, &unseen), "{with:e} {alone:e} {:e}", off(&scaled, &unseen));
}

/// A prior that says something else is not taken, and the fit is the same to the bit; so is one without examples that tell.
#[test]
fn a_prior_that_does_not_predict_changes_nothing() {
    let arm = Arm::new(11, 6);
    let other = prior(&arm, -1.0);
    let same = |set: &ExampleSet, prior: &RiggedDeformer| {
        let (with, alone) = (fit(&arm, set, &lbs(), Some(prior)).unwrap(), fit(&arm, set, &lbs(), None).unwrap());
        let found = with.report.prior.unwrap();
        assert!(!found.taken, "{found:?}");
        let poses: Vec<BoneTransforms> = ArmPose::some(6, 9).iter().map(|pose| arm.transforms(pose)).collect();
        let (with, alone) = (rigged(&arm, with), rigged(&arm, alone));
        assert_eq!(with.baked().largest_difference(alone.baked(), &poses).unwrap(), 0.0);
        assert_eq!(with.baked().corrections().len(), alone.baked().corrections().len());
        found
    };
    let set = examples(&arm, &ArmPose::some(10, 71), 1.0, 0.0);
    assert_eq!(same(&set, &other).gain, 0.0);
    // Many poses that know better than a prior of another kind.
    let set = examples(&arm, &ArmPose::some(40, 71), 0.1, 1.0);
    let found = same(&set, &prior(&arm, 1.0));
    assert!(found.gain > 0.0 && found.with.unwrap() > 0.8 * found.without.unwrap(), "{found:?}");
    let one = examples(&arm, &ArmPose::some(2, 71)[1..], 1.0, 0.0);
    assert_eq!(same(&one, &prior(&arm, 1.0)).with, None);
}

/// Local sculpts of single joints, which say nothing of each other: the prior fills in what they leave open.
#[test]
fn sculpts_of_single_joints_take_a_prior() {
    let arm = Arm::new(13, 8);
    let prior = prior(&arm, 1.0);
    let one = |joint: usize| (1..=3).filter(|other| *other != joint).fold(ArmPose::some(12, 31)[5], ArmPose::held);
    let poses: Vec<ArmPose> = (1..=3).map(one).chain([ArmPose::some(12, 31)[7]]).collect();
    let mut sculpts = examples(&arm, &poses, 0.8, 0.0).examples().to_vec();
    sculpts.iter_mut().for_each(|sculpt| sculpt.local = Some(LocalSculpt::default()));
    let set = ExampleSet::new("sculpts".into(), sculpts, &arm.rig).unwrap();
    let unseen = examples(&arm, &ArmPose::some(30, 99), 0.8, 0.0);
    let method = Method::joint();
    let with = fit(&arm, &set, &method, Some(&prior)).unwrap();
    assert!(with.report.prior.unwrap().taken, "{:?}", with.report.prior);
    let alone = fit(&arm, &set, &method, None).unwrap();
    let (with, alone) = (off(&rigged(&arm, with), &unseen), off(&rigged(&arm, alone), &unseen));
    assert!(with < 0.7 * alone, "{with:e} {alone:e}");
}

/// The factor is that of least squares, whatever the examples, and a stated one is scored as it is.
#[test]
fn the_planted_factor_is_found() {
    let arm = Arm::new(9, 6);
    let whole = prior(&arm, 1.0).baked().widened().unwrap();
    for planted in [0.0, 0.4, 1.3] {
        let scaled = whole.with_gain(planted).unwrap().bake();
        let mut runner = scaled.runner();
        let example = |(s, pose): (usize, &ArmPose)| {
            let transforms = arm.transforms(pose);
            let positions = runner.skin(&transforms).unwrap().iter().map(|p| p.as_dvec3()).collect();
            Example { label: s.to_string(), time: None, transforms, positions, importance: 1.0, local: None }
        };
        let list: Vec<Example> = ArmPose::some(8, 3).iter().enumerate().map(example).collect();
        let set = ExampleSet::new("scaled".into(), list, &arm.rig).unwrap();
        let (gain, found) = gain_on(&whole, &arm.rig, &set, None).unwrap().unwrap();
        assert!((gain - planted).abs() < 1e-4, "{gain} {planted}");
        assert!(found.left.unwrap() < 1e-6 * arm.rig.mesh().extent() + 1e-4 * found.whole, "{found:?}");
        let (stated, found) = gain_on(&whole, &arm.rig, &set, Some(1.0)).unwrap().unwrap();
        assert_eq!((stated, found.is_fitted), (1.0, false));
        assert!((found.left.unwrap() - found.whole).abs() < 1e-12, "{found:?}");
    }
}

#[test]
fn what_has_no_use_for_a_prior_refuses_it() {
    let arm = Arm::new(9, 6);
    let prior = prior(&arm, 1.0);
    let set = examples(&arm, &ArmPose::some(6, 71), 1.0, 0.0);
    let fixed = JointMethod { ridge: RidgeChoice::Fixed(0.1), ..JointMethod::default() };
    let given = JointMethod { base: BaseChoice::Given, ..JointMethod::default() };
    for method in [Method::mwe(), Method::Joint(fixed), Method::Joint(given)] {
        let error = fit(&arm, &set, &method, Some(&prior)).unwrap_err();
        assert!(matches!(error, MethodError::Unused { setting: "prior", .. }), "{method}: {error}");
    }
    // One of another mesh.
    let other = Arm::new(8, 6);
    let error = fit(&other, &examples(&other, &ArmPose::some(6, 71), 1.0, 0.0), &lbs(), Some(&prior)).unwrap_err();
    assert!(matches!(error, MethodError::Beneath { .. }), "{error}");
}
