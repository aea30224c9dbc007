//! The joint model of examples that are read in passes is the one of examples that are held.

use dermis_fit::FitError;
use dermis_fit::method::passes::{BLOCK_BYTES, Passes};
use dermis_fit::method::{FitInput, JointMethod, Learnt, Method, MethodError, MethodReport, RidgeChoice};
use dermis_fit::silent;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Example, ExampleSet};
use dermis_testkit::{Arm, ArmPose, largest_distance};

fn set(arm: &Arm, poses: usize) -> ExampleSet {
    let mut examples = arm.examples(&ArmPose::some(poses, 17));
    // Some count less, one nothing.
    examples.iter_mut().enumerate().for_each(|(s, e)| e.importance = [1.0, 0.5, 2.0][s % 3]);
    examples[4].importance = 0.0;
    ExampleSet::new("poses".into(), examples, &arm.rig).unwrap()
}

/// Reads some examples at a time until no pass is left; the number of passes too.
fn streamed(arm: &Arm, set: &ExampleSet, method: &Method, bytes: usize, at_once: usize) -> (Learnt, usize) {
    let nothing = ExampleSet::default();
    let mut passes = Passes::new(method, &FitInput::new(&arm.rig, &nothing), bytes).unwrap();
    let mut read = 0;
    loop {
        set.examples().chunks(at_once).for_each(|some| passes.add(some).unwrap());
        read += 1;
        if !passes.end_pass(set.is_clip(), &silent).unwrap() {
            break;
        }
    }
    assert_eq!(passes.poses(), set.len());
    let (learnt, poses) = passes.finish().unwrap();
    assert_eq!(poses, learnt.training_poses(set.examples().iter().map(|e| &e.transforms)));
    (learnt, read)
}

fn skins(learnt: &mut Learnt, poses: &[BoneTransforms], vertices: usize) -> Vec<Vec<DVec3>> {
    let mut out = vec![DVec3::ZERO; vertices];
    let mut posed = |pose: &BoneTransforms| {
        learnt.deformer.evaluate(pose, None, &mut out).unwrap();
        out.clone()
    };
    poses.iter().map(&mut posed).collect()
}

#[test]
fn reading_in_passes_changes_nothing() {
    let arm = Arm::new(16, 12);
    let set = set(&arm, 20);
    let (vertices, diagonal) = (arm.rig.mesh().positions.len(), arm.rig.mesh().diagonal());
    let unseen: Vec<BoneTransforms> = ArmPose::some(12, 93).iter().map(|pose| arm.transforms(pose)).collect();
    let ridge = RidgeChoice::Fixed(0.02);
    for method in [
        JointMethod::default(),
        JointMethod { mirror: false, ridge, ..JointMethod::default() },
        JointMethod { base: "ddm".to_owned().try_into().unwrap(), ..JointMethod::default() },
        JointMethod { base: "smooth".to_owned().try_into().unwrap(), ..JointMethod::default() },
        JointMethod { base: "dqs".to_owned().try_into().unwrap(), guard: false, ..JointMethod::default() },
    ]
    .map(Method::Joint)
    {
        let mut held = method.fit(&FitInput::new(&arm.rig, &set), &silent).unwrap();
        let expected = skins(&mut held, &unseen, vertices);
        // 64 vertices are the smallest block.
        for (bytes, at_once, least) in [(BLOCK_BYTES, 7, 3), (0, 3, 5)] {
            let (mut learnt, passes) = streamed(&arm, &set, &method, bytes, at_once);
            assert!(passes >= least, "{passes}");
            let far = expected.iter().zip(skins(&mut learnt, &unseen, vertices));
            let far = far.map(|(a, b)| largest_distance(a, &b)).fold(0.0, f64::max);
            assert!(far < 1e-9 * diagonal, "{method}: {far:e}");
            assert_eq!(held.report.settings, learnt.report.settings);
            assert_eq!(held.report.warnings, learnt.report.warnings);
            let (MethodReport::Joint(a), MethodReport::Joint(b)) = (&held.report.details, &learnt.report.details)
            else {
                panic!("{method} reports another method");
            };
            assert!(a.bases().eq(b.bases()) && a.composites().eq(b.composites()) && a.sweep().eq(b.sweep()));
        }
    }
}

#[test]
fn examples_that_change_between_passes_are_refused() {
    let arm = Arm::new(9, 6);
    let (set, nothing, method) = (set(&arm, 10), ExampleSet::default(), Method::joint());
    let second = || {
        let mut passes = Passes::new(&method, &FitInput::new(&arm.rig, &nothing), BLOCK_BYTES).unwrap();
        passes.add(set.examples()).unwrap();
        assert!(passes.end_pass(false, &silent).unwrap());
        passes
    };
    let mut fewer = second();
    fewer.add(&set.examples()[1..2]).unwrap_err();
    fewer.add(&set.examples()[..9]).unwrap();
    assert_eq!(fewer.end_pass(false, &silent), Err(MethodError::Changed));
    let mut more = second();
    more.add(set.examples()).unwrap();
    assert_eq!(more.add(&set.examples()[..1]), Err(MethodError::Changed));
    assert_eq!(second().finish().map(|_| ()), Err(MethodError::Changed));
    // Nothing that counts.
    let mut none = Passes::new(&method, &FitInput::new(&arm.rig, &nothing), BLOCK_BYTES).unwrap();
    let still: Vec<Example> = set.examples().iter().map(|e| Example { importance: 0.0, ..e.clone() }).collect();
    none.add(&still).unwrap();
    assert_eq!(none.end_pass(false, &silent), Err(FitError::NoExamples.into()));
}
