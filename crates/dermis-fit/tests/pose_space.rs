//! Pose-space deformation: exact where it must be, blind where it must be, bounded everywhere.

mod bench;

use bench::Bench;
use dermis_deform::pose_space::{Carrier, KernelValues, NO_GROUP};
use dermis_deform::{Base, Correction, Deformer, DualQuaternions, PoseSpace, Scratch};
use dermis_fit::psd::{EXACT, Form, Psd, PsdSettings, fit_psd, pull_back};
use dermis_fit::{Cancelled, FitError, silent};
use dermis_rig::glam::{DAffine3, DMat3, DVec3, Vec3};
use dermis_rig::{BoneTransforms, Example};
use dermis_testkit::arm::HAND;
use dermis_testkit::{ArmPose, Random, largest_distance, moved, some_motion, stored_in_f32};
use std::ops::ControlFlow;

/// Influence maps without a choice.
fn one(maps: &dermis_rig::Influences) -> &[dermis_rig::Influences] {
    std::slice::from_ref(maps)
}

fn lbs_of(bench: &Bench) -> Base {
    Base::Lbs(bench.rig.weights().cloned().unwrap())
}

fn fit(bench: &Bench, settings: &PsdSettings) -> Psd {
    fit_psd(&bench.training(), &lbs_of(bench), one(&bench.maps), settings, &silent).expect("the fit succeeds")
}

fn exact() -> PsdSettings {
    PsdSettings { smoothing: Some(EXACT), ..PsdSettings::new(false) }
}

fn skin(bench: &Bench, base: Base, correction: &PoseSpace, pose: &BoneTransforms, given: &[DVec3]) -> Vec<DVec3> {
    let rest = bench.rig.mesh().positions.clone();
    let mut out = vec![DVec3::NAN; rest.len()];
    Deformer::new(rest, base, Some(correction.clone().into())).unwrap().evaluate(pose, Some(given), &mut out).unwrap();
    out
}

fn posed(bench: &Bench, correction: &PoseSpace, pose: &BoneTransforms) -> Vec<DVec3> {
    skin(bench, lbs_of(bench), correction, pose, &[])
}

fn displacements(correction: &PoseSpace, pose: &BoneTransforms) -> Vec<DVec3> {
    let mut values = vec![f64::NAN; correction.kernel.values()];
    correction.kernel.evaluate(pose, &mut KernelValues::default(), &mut values, |k| k);
    (0..correction.groups.len()).map(|v| correction.displacement(v, &values)).collect()
}

#[test]
fn examples_are_met_without_smoothing_and_the_bind_pose_to_the_last_bit() {
    let (_, bench) = Bench::arm(24, 1);
    for form in [Form::Inverse, Form::Forward] {
        for sigma in [None, Some(0.8)] {
            let fitted = fit(&bench, &PsdSettings { form, sigma, ..exact() });
            for example in &bench.examples {
                let off = largest_distance(&posed(&bench, &fitted.correction, &example.transforms), &example.positions);
                // ρ |W|, and |W| is at most some 1e2 displacements of 0.05 L here.
                assert!(off < 1e-7 * bench.length, "{form:?} {sigma:?}: {off}");
            }
            let bind = BoneTransforms::identity(bench.rig.skeleton().len());
            let base = bench::skinned(&bench.rig, &bind);
            assert_eq!(posed(&bench, &fitted.correction, &bind), base);
        }
    }
}

#[test]
fn the_inverse_form_turns_with_the_character_and_the_forward_form_does_not() {
    let (arm, bench) = Bench::arm(16, 2);
    let g = some_motion(2.1, DVec3::new(3.0, -1.0, 2.0));
    let turned = Bench::new(&bench.rig, bench.examples.iter().map(|e| moved(e, g)).collect());
    let pose = arm.transforms(&ArmPose::random(&mut Random::new(3)));
    let change = |form: Form, fitted_on: &Bench| {
        let correction = fit(fitted_on, &PsdSettings { form, ..PsdSettings::new(false) }).correction;
        let still = posed(&bench, &correction, &pose).iter().map(|p| g.transform_point3(*p)).collect::<Vec<_>>();
        largest_distance(&posed(&bench, &correction, &pose.moved(g)), &still)
    };
    assert!(change(Form::Inverse, &bench) < 1e-12);
    assert!(change(Form::Forward, &bench) > 1e-3);
    let [here, there] = [&bench, &turned].map(|b| posed(&bench, &fit(b, &exact()).correction, &pose));
    assert!(largest_distance(&here, &there) < 1e-6, "trained on a moved character: the same model");
}

/// Oracle: a model whose centres are among the examples is the interpolant of its own values.
#[test]
fn a_planted_model_is_found_again() {
    let (arm, bench) = Bench::arm(32, 4);
    let settings = PsdSettings { sigma: Some(1.0), guard: false, ..exact() };
    let truth = fit(&bench.subset(&(0..12).collect::<Vec<_>>()), &settings).correction;
    let mut planted = bench.clone();
    planted.examples.iter_mut().for_each(|e| e.positions = posed(&bench, &truth, &e.transforms));
    let found = fit(&planted, &settings).correction;
    let mut random = Random::new(5);
    for _ in 0..10 {
        let pose = arm.transforms(&ArmPose::random(&mut random));
        let base = bench::skinned(&bench.rig, &pose);
        let expected = posed(&bench, &truth, &pose);
        let off = largest_distance(&posed(&bench, &found, &pose), &expected);
        // ρ times weights of some 1e2 displacements, times 32 kernel values.
        assert!(off < 1e-4 * largest_distance(&expected, &base), "{off}");
    }
}

/// Oracle: fit without the example, predict what it asks.
#[test]
fn the_score_equals_leaving_examples_out_and_fitting_again() {
    let (_, bench) = Bench::arm(13, 6);
    let plain = PsdSettings { sigma: Some(0.9), guard: false, ..PsdSettings::new(false) };
    let fitted = fit(&bench, &PsdSettings { grid: vec![1e-4, 1e-2], ..plain.clone() });
    for point in &fitted.report.sweep {
        let settings = PsdSettings { smoothing: Some(point.smoothing), ..plain.clone() };
        let mut sum = 0.0;
        // Example 0 is the bind pose, which is never left out.
        for out in 1..13 {
            let kept: Vec<usize> = (0..13).filter(|&s| s != out).collect();
            let predicted =
                displacements(&fit(&bench.subset(&kept), &settings).correction, &bench.examples[out].transforms);
            let base = lbs_of(&bench);
            let asked = (0..predicted.len()).map(|v| {
                let linear = base.linear(v, bench.rig.mesh().positions[v], &bench.examples[out].transforms);
                pull_back(linear, bench.examples[out].positions[v] - bench.base[out][v]).0
            });
            sum += asked.zip(&predicted).map(|(d, p)| (d - *p).length_squared()).sum::<f64>();
        }
        assert!((point.score - sum).abs() < 1e-6 * sum, "{}: {} {sum}", point.smoothing, point.score);
    }
}

#[test]
fn every_pose_stays_in_the_ball_and_runs_in_f32_as_in_f64() {
    let (arm, bench) = Bench::arm(20, 7);
    let weights = bench.rig.weights().cloned().unwrap();
    let bases = [
        ("rigid", Base::Rigid(weights.clone())),
        ("lbs", Base::Lbs(weights.clone())),
        ("dqs", Base::Dqs(weights, DualQuaternions::new(bench.rig.skeleton()))),
        ("given", Base::Given),
    ];
    for (name, base) in bases {
        let mut bench = bench.clone();
        for (example, positions) in bench.examples.iter().zip(&mut bench.base) {
            let given = positions.clone();
            base.clone().evaluate(&bench.rig.mesh().positions, &example.transforms, Some(&given), positions);
        }
        let fitted = fit_psd(&bench.training(), &base, one(&bench.maps), &PsdSettings::new(false), &silent).unwrap();
        assert_eq!(matches!(fitted.correction.carrier, Carrier::Bones(_)), name == "given");
        let rho = bench.training().largest_residuals();
        let rest = bench.rig.mesh().positions.clone();
        let baked = Deformer::new(rest, base.clone(), Some(fitted.correction.clone().into())).unwrap().bake();
        let (mut random, mut scratch) = (Random::new(8), Scratch::default());
        for _ in 0..100 {
            let pose = arm.wild(&mut random, std::f64::consts::PI);
            let given: Vec<Vec3> = bench.rig.mesh().positions.iter().map(|p| p.as_vec3()).collect();
            let wide: Vec<DVec3> = given.iter().map(|p| p.as_dvec3()).collect();
            let mut under = vec![DVec3::NAN; wide.len()];
            base.clone().evaluate(&bench.rig.mesh().positions, &pose, Some(&wide), &mut under);
            let expected = skin(&bench, base.clone(), &fitted.correction, &pose, &wide);
            for v in 0..wide.len() {
                assert!((expected[v] - under[v]).length() <= 1.5 * rho[v] * (1.0 + 1e-6) + 1e-15, "{name} {v}");
            }
            let mut got = vec![Vec3::NAN; wide.len()];
            baked.evaluate(&pose, Some(&given), &mut scratch, &mut got).unwrap();
            let got: Vec<DVec3> = got.iter().map(|p| p.as_dvec3()).collect();
            let off = largest_distance(&got, &expected);
            // Kernel values and weights rounded to 6e-8, weights some 1e2 displacements of 0.05 L.
            assert!(off < 2e-6 * bench.length, "{name}: {off}");
        }
    }
}

#[test]
fn a_vertex_whose_examples_agree_with_the_base_is_left_out() {
    let (_, mut bench) = Bench::arm(12, 9);
    let before = fit(&bench, &PsdSettings::new(false));
    assert_ne!(before.correction.groups[17], NO_GROUP);
    for (example, base) in bench.examples.iter_mut().zip(&bench.base) {
        example.positions[17] = base[17];
    }
    let fitted = fit(&bench, &PsdSettings::new(false));
    assert_eq!(fitted.correction.groups[17], NO_GROUP);
    assert_eq!(fitted.correction.radii[17], 0.0);
    assert_eq!(fitted.report.corrected, before.report.corrected - 1);
}

/// The hand never moves but by the rounding of f32, then turns: displacements do not change.
#[test]
fn a_joint_that_never_moved_does_not_count() {
    let (arm, _) = Bench::arm(2, 10);
    let poses: Vec<_> = ArmPose::some(20, 11).into_iter().map(|p| ArmPose { wrist: DVec3::ZERO, ..p }).collect();
    let examples = arm.examples(&poses).into_iter();
    let stored = |e: Example| Example { transforms: stored_in_f32(arm.rig.skeleton(), &e.transforms), ..e };
    let bench = Bench::new(&arm.rig, examples.map(stored).collect());
    let fitted = fit(&bench, &PsdSettings::new(false));
    assert_eq!(fitted.report.welded, [HAND]);
    let pose = arm.transforms(&poses[5]);
    let mut turned = pose.as_slice().to_vec();
    let wrist = pose[HAND].transform_point3(arm.rig.skeleton().bind()[HAND].translation);
    let about = |r: DAffine3| DAffine3::from_translation(wrist) * r * DAffine3::from_translation(-wrist);
    turned[HAND.get()] = about(DAffine3::from_rotation_y(2.0)) * pose[HAND];
    let [still, moved] = [&pose, &BoneTransforms::new(turned)].map(|p| displacements(&fitted.correction, p));
    assert!(largest_distance(&still, &moved) < 1e-12 * bench.length);
}

#[test]
fn conflicting_duplicates_are_averaged_and_order_does_not_matter() {
    let (arm, bench) = Bench::arm(14, 12);
    let settings = PsdSettings { sigma: Some(1.0), smoothing: Some(1e-6), ..PsdSettings::new(false) };
    let mut twice = bench.clone();
    twice.examples.push(bench.examples[5].clone());
    twice.base.push(bench.base[5].clone());
    let shift = DVec3::new(0.01, -0.02, 0.005);
    twice.examples[5].positions.iter_mut().for_each(|p| *p += shift);
    twice.examples[14].positions.iter_mut().for_each(|p| *p -= shift);
    let mut order: Vec<usize> = (0..14).collect();
    order.rotate_left(5);
    order.swap(2, 9);
    // Without the guard: the ball knows of both duplicates.
    let settings = PsdSettings { guard: false, ..settings };
    let pose = arm.transforms(&ArmPose::random(&mut Random::new(13)));
    let once = posed(&bench, &fit(&bench, &settings).correction, &pose);
    for other in [twice, bench.subset(&order)] {
        let off = largest_distance(&posed(&bench, &fit(&other, &settings).correction, &pose), &once);
        assert!(off < 1e-9 * bench.length, "{off}");
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let (_, bench) = Bench::arm(15, 14);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let fitted = fit(&bench, &PsdSettings::new(false));
            let pose = &bench.examples[7].transforms;
            let deformer = Deformer::new(
                bench.rig.mesh().positions.clone(),
                lbs_of(&bench),
                Some(Correction::PoseSpace(fitted.correction.clone())),
            )
            .unwrap();
            let mut out = vec![Vec3::NAN; deformer.rest().len()];
            deformer.bake().evaluate(pose, None, &mut Scratch::default(), &mut out).unwrap();
            (fitted.report, fitted.correction.weights, out)
        })
    };
    let one = with(1);
    for threads in [2, 5] {
        assert_eq!(with(threads), one, "{threads} threads");
    }
}

#[test]
fn a_flat_base_is_inverted_with_damping() {
    let r = DVec3::new(0.3, -0.2, 0.5);
    let regular = DMat3::from_rotation_y(0.7) * DMat3::from_diagonal(DVec3::new(1.0, 0.8, 0.6));
    let (d, plain) = pull_back(regular, r);
    assert!(plain && (regular * d - r).length() < 1e-15);
    for thin in [0.0, 1e-9, 1e-3, 0.02] {
        let flat = DMat3::from_rotation_x(1.2) * DMat3::from_diagonal(DVec3::new(1.0, 1.0, thin));
        let (d, plain) = pull_back(flat, r);
        assert!(!plain && d.length() < 65.0 * r.length(), "{thin}: {d}");
        // The normal equations: Aᵀ(A d − r) + e d = 0, e = 1e-4 of the mean squared singular value.
        let e = 1e-4 * (2.0 + thin * thin) / 3.0;
        assert!((flat.transpose() * (flat * d - r) + d * e).length() < 1e-12);
    }
    assert_eq!(pull_back(DMat3::ZERO, r), (DVec3::ZERO, false));
}

#[test]
fn bad_settings_are_refused_and_a_fit_can_be_cancelled() {
    let (_, bench) = Bench::arm(6, 15);
    let refused = |settings: PsdSettings| {
        let fitted = fit_psd(&bench.training(), &lbs_of(&bench), one(&bench.maps), &settings, &silent);
        assert!(matches!(fitted, Err(FitError::Setting { .. })), "{settings:?}");
    };
    let plain = PsdSettings::new(false);
    refused(PsdSettings { sigma: Some(0.0), ..plain.clone() });
    refused(PsdSettings { smoothing: Some(f64::NAN), ..plain.clone() });
    refused(PsdSettings { widths: vec![], ..plain.clone() });
    refused(PsdSettings { grid: vec![-1.0], ..plain.clone() });
    let stop = |_, _| ControlFlow::Break(Cancelled);
    let stopped = fit_psd(&bench.training(), &lbs_of(&bench), one(&bench.maps), &plain, &stop);
    assert_eq!(stopped.unwrap_err(), FitError::Cancelled);
    // Nothing but the bind pose teaches nothing.
    let fitted = fit(&bench.subset(&[0]), &plain);
    assert_eq!((fitted.report.corrected, fitted.report.kernel_values), (0, 0));
}
