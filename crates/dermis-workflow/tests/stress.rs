//! Stress tests of fitted models: what the guard promises, and that the check would see a broken promise.

use dermis_deform::baked::{BakedCorrection, BakedEnveloping, Coefficients};
use dermis_fit::method::{BaseChoice, MweMethod};
use dermis_fit::silent;
use dermis_io::{ModelFile, Space};
use dermis_measure::stress::{Bound, Tally, random_pose, stress};
use dermis_measure::{MeasureError, WideRunner};
use dermis_rig::{Cancelled, ExampleSet};
use dermis_solve::Random;
use dermis_testkit::{Arm, ArmPose};
use dermis_workflow::load::LoadedRig;
use dermis_workflow::verbs::fit::{FitInput, Method, fit};
use std::ops::ControlFlow;

fn arm_model(method: &Method) -> ModelFile {
    let arm = Arm::new(24, 8);
    let examples = ExampleSet::new("arm".into(), arm.examples(&ArmPose::some(12, 5)), &arm.rig).unwrap();
    let given =
        (method.base() == Some(BaseChoice::Given)).then(|| vec![arm.rig.mesh().positions.clone(); examples.len()]);
    let loaded = LoadedRig { rig: arm.rig, space: Space::default(), notes: vec![] };
    let input = FitInput { base: given.as_deref(), ..FitInput::new(&loaded.rig, &examples) };
    fit(&loaded, &input, method, &silent).unwrap().model
}

fn changed(model: &ModelFile, change: impl FnOnce(&mut BakedEnveloping)) -> ModelFile {
    let change = |correction: &mut BakedCorrection| match correction {
        BakedCorrection::Enveloping(correction) => change(correction),
        _ => panic!("another correction"),
    };
    assert!(!model.baked().corrections().is_empty());
    let baked = model.baked().clone().edited(change).unwrap();
    ModelFile { model: model.model.clone().with_baked(baked).unwrap(), ..model.clone() }
}

/// The guard holds; and the check would see it if it did not: the same runs against radii of half the size fail.
#[test]
fn a_guarded_model_is_within_its_balls_and_not_within_smaller_ones() {
    let model = arm_model(&Method::mwe());
    let stressed = stress(&model, 30, 3, &silent).unwrap();
    assert!(stressed.passed() && stressed.bound == Bound::Ball, "{}", stressed.verdict());
    assert!(stressed.verdict().starts_with("bounded: in all 90 poses"), "{}", stressed.verdict());
    assert!(stressed.excess() < 1e-6 * stressed.diagonal);
    let wild = stressed.levels.last().unwrap();
    assert!(wild.held > 0.0 && wild.limited > 0.1 && wild.largest <= 1.000_001 * stressed.largest_radius);
    assert!(0.0 < wild.p99 && wild.p99 <= wild.largest);

    let half: Vec<f32> = model.baked().corrections().last().unwrap().radii().iter().map(|r| 0.5 * r).collect();
    let mut tally = Tally::new(&half, stressed.diagonal);
    let alone = model.baked().clone().without_correction();
    let (mut corrected, mut base) = (WideRunner::new(model.baked()), WideRunner::new(&alone));
    let mut random = Random::new(3, 0);
    for _ in 0..30 {
        let pose = random_pose(model.rig().skeleton(), &mut random, std::f64::consts::PI);
        let skin = corrected.run(&pose, None).unwrap();
        tally.add(base.run(&pose, None).unwrap(), skin);
    }
    let level = tally.finish(180.0);
    assert!(level.beyond > 0 && level.excess > 0.1 * f64::from(half.iter().copied().fold(0.0, f32::max)));
}

/// A vertex of radius zero stays at the base to the bit, also where its coefficients would move it.
#[test]
fn vertices_without_a_ball_stay_at_the_base() {
    let model = changed(&arm_model(&Method::mwe()), |correction| correction.radii.fill(0.0));
    let stressed = stress(&model, 10, 1, &silent).unwrap();
    assert!(stressed.passed() && stressed.levels.iter().all(|l| l.largest == 0.0 && l.held > 0.5));
}

/// A coefficient that overflows makes a correction that is not finite: the ball drops it; without a ball it shows.
#[test]
fn broken_coefficients_are_caught_by_the_ball_or_by_the_check() {
    let broken = changed(&arm_model(&Method::mwe()), |correction| {
        correction.coefficients = Coefficients::Single(vec![f32::MAX; correction.coefficients.len()]);
    });
    assert!(stress(&broken, 5, 1, &silent).unwrap().passed());
    let open = stress(&changed(&broken, |correction| correction.radii.clear()), 5, 1, &silent).unwrap();
    assert!(!open.passed() && open.bound == Bound::NoGuard, "{}", open.verdict());
}

#[test]
fn models_that_nothing_bounds_say_so() {
    let open = Method::Mwe(MweMethod { guard: false, ..MweMethod::default() });
    for (method, bound, says) in [
        (Method::OwnWeights, Bound::NoCorrection, "nothing to bound"),
        (Method::Dqs, Bound::NoCorrection, "nothing to bound"),
        (open, Bound::NoGuard, "guard is off"),
    ] {
        let stressed = stress(&arm_model(&method), 5, 1, &silent).unwrap();
        assert!(stressed.passed() && stressed.bound == bound && stressed.verdict().contains(says));
        let corrects = stressed.levels.iter().all(|l| l.largest > 0.0);
        assert_eq!(corrects, bound == Bound::NoGuard);
    }
}

#[test]
fn a_model_over_given_positions_runs_over_its_rest_positions() {
    let model = arm_model(&Method::Mwe(MweMethod { base: BaseChoice::Given, ..MweMethod::default() }));
    let stressed = stress(&model, 5, 1, &silent).unwrap();
    assert!(stressed.passed() && stressed.levels[0].largest > 0.0, "{}", stressed.verdict());
}

#[test]
fn the_result_depends_on_the_seed_and_not_on_threads() {
    let model = arm_model(&Method::mwe());
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| stress(&model, 8, seed, &silent).unwrap())
    };
    assert_eq!(run(1, 7), run(3, 7));
    assert_ne!(run(1, 7).levels, run(1, 8).levels);
}

#[test]
fn it_can_be_stopped() {
    let model = arm_model(&Method::OwnWeights);
    let stop = |done: u64, total: u64| match done * 2 < total {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(Cancelled),
    };
    assert!(matches!(stress(&model, 5, 1, &stop), Err(MeasureError::Cancelled)));
}
