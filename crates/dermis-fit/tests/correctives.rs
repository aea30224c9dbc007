//! Correctives: a shape per sculpt whose weight the joints of its pose drive.

mod bench;

use bench::{Bench, skinned};
use dermis_deform::pose_space::{CompiledShapes, Coordinates, Family, JointPart};
use dermis_deform::{Base, Deformer};
use dermis_fit::psd::correctives::{CorrectiveSettings, CorrectivesReport, Driver, fit_correctives};
use dermis_fit::{FitError, silent};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{BoneTransforms, Example};
use dermis_testkit::{Arm, ArmPose, largest_distance};

fn settings() -> CorrectiveSettings {
    CorrectiveSettings {
        coordinates: Coordinates::Chord,
        driver: Driver::Found,
        channels: vec![],
        family: Family::Gaussian,
        sigma: None,
        mirror: None,
        guard: true,
    }
}

fn elbow(degrees: f64) -> ArmPose {
    ArmPose { elbow: degrees.to_radians(), ..ArmPose::REST }
}

fn wrist(degrees: f64) -> ArmPose {
    ArmPose { wrist: DVec3::new(0.0, 0.0, degrees.to_radians()), ..ArmPose::REST }
}

/// A sculpt of the arm: the skin of its weights, with a bulge of 0.05 around `x` at rest.
fn sculpt(arm: &Arm, label: &str, pose: &ArmPose, x: f64) -> Example {
    let example = arm.examples(std::slice::from_ref(pose)).remove(0);
    let mut positions = skinned(&arm.rig, &example.transforms);
    for (p, rest) in positions.iter_mut().zip(&arm.rig.mesh().positions) {
        let size = (1.0 - (rest.x - x).abs() / 0.15).max(0.0);
        *p += DVec3::new(0.0, 0.0, 0.05 * size);
    }
    Example { label: label.into(), positions, ..example }
}

fn fit(bench: &Bench) -> (CompiledShapes, CorrectivesReport) {
    fitted(bench).unwrap()
}

fn fitted(bench: &Bench) -> Result<(CompiledShapes, CorrectivesReport), FitError> {
    let base = Base::Lbs(bench.rig.weights().cloned().unwrap());
    fit_correctives(&bench.training(), &base, &bench.maps, &settings(), &silent)
}

fn driven_by(bench: &Bench, driver: Driver) -> Result<(CompiledShapes, CorrectivesReport), FitError> {
    let base = Base::Lbs(bench.rig.weights().cloned().unwrap());
    fit_correctives(&bench.training(), &base, &bench.maps, &CorrectiveSettings { driver, ..settings() }, &silent)
}

fn weights(arm: &Arm, shapes: &CompiledShapes, pose: &ArmPose) -> Vec<f64> {
    shapes.weights_in(&arm.examples(std::slice::from_ref(pose))[0].transforms)
}

fn joints(report: &CorrectivesReport, shape: usize) -> Vec<usize> {
    report.shapes[shape].joints.iter().map(|joint| joint.to.get()).collect()
}

/// Where along the arm its elbow and its wrist are.
fn places(arm: &Arm) -> (f64, f64) {
    let at = |bone: usize| arm.rig.skeleton().bind().as_slice()[bone].translation.x;
    (at(2), at(3))
}

/// Closed form: k(x, y) = φ(x, y) − φ(x, 0) φ(0, y) over k(y, y), with chords 2 sin(angle/2) in units of that of 90°.
#[test]
fn a_weight_falls_off_as_written() {
    let arm = Arm::new(9, 6);
    let (x, _) = places(&arm);
    let bench = Bench::new(&arm.rig, vec![sculpt(&arm, "bent", &elbow(90.0), x)]);
    let (shapes, report) = fit(&bench);
    assert_eq!((shapes.names.as_slice(), shapes.clamp), (["bent".to_owned()].as_slice(), Some([0.0, 1.0])));
    assert_eq!(joints(&report, 0), [2]);
    let phi = |degrees: f64| (-2.0 * (degrees / 2.0).to_radians().sin().powi(2)).exp();
    // Beyond 1.25 times the chord of 90°, at 124.2°, the limit holds the pose.
    let limit = 2.0 * (1.25f64 * 45f64.to_radians().sin()).asin().to_degrees();
    for degrees in [0.0, 20.0, 45.0, 90.0, 110.0, limit, 135.0, 170.0] {
        let free = (phi(degrees - 90.0) - phi(degrees) * phi(90.0)) / (1.0 - phi(90.0).powi(2));
        let found = weights(&arm, &shapes, &elbow(degrees))[0];
        // The window, by the distance from 90° in parts of the bind pose's.
        let r = ((degrees - 90.0) / 2.0).to_radians().sin().abs() / 45f64.to_radians().sin();
        let t = (4.0 * r - 3.0).clamp(0.0, 1.0);
        let wanted = free.clamp(0.0, 1.0) * (1.0 - t * t * (3.0 - 2.0 * t));
        if degrees <= limit {
            assert!((found - wanted).abs() < 1e-7, "{degrees}: {found} for {wanted}");
        }
        assert!(
            (0.0..=1.0).contains(&found) && (degrees < 90.0 || found > if degrees > 135.0 { 0.4 } else { 0.5 }),
            "{degrees}: {found}"
        );
    }
    for degrees in [-10.0, -45.0, -90.0] {
        assert_eq!(weights(&arm, &shapes, &elbow(degrees)), [0.0], "{degrees}");
    }
    // As far from 90° the other way round: the window has closed.
    assert_eq!(weights(&arm, &shapes, &elbow(-135.0)), [0.0]);
    // Other joints say nothing.
    let with_wrist = ArmPose { wrist: DVec3::new(0.3, 0.8, -0.2), ..elbow(90.0) };
    assert!((weights(&arm, &shapes, &with_wrist)[0] - 1.0).abs() < 1e-7);
}

/// An example that the base shows already says that nothing is to be seen in its pose.
#[test]
fn an_example_without_a_correction_holds_every_weight_at_zero() {
    let arm = Arm::new(9, 6);
    let (x, _) = places(&arm);
    let mut still = sculpt(&arm, "fine", &elbow(45.0), x);
    still.positions = skinned(&arm.rig, &still.transforms);
    let bench = Bench::new(&arm.rig, vec![sculpt(&arm, "bent", &elbow(90.0), x), still]);
    let (shapes, report) = fit(&bench);
    assert_eq!((shapes.names.as_slice(), report.without), (["bent".to_owned()].as_slice(), vec!["fine".to_owned()]));
    for (degrees, weight) in [(0.0, 0.0), (45.0, 0.0), (90.0, 1.0)] {
        assert!((weights(&arm, &shapes, &elbow(degrees))[0] - weight).abs() < 1e-6, "{degrees}");
    }
    assert!(weights(&arm, &shapes, &elbow(30.0))[0] < 1e-6 && weights(&arm, &shapes, &elbow(75.0))[0] > 0.4);
}

/// A pose of a shot moves every joint a little. The elbow's sculpt follows the elbow alone.
#[test]
fn the_joints_that_blend_the_sculpted_skin_drive_it() {
    let arm = Arm::new(9, 6);
    let (x, at_wrist) = places(&arm);
    let shot = ArmPose { shoulder: DVec3::new(0.1, 0.3, -0.2), wrist: DVec3::new(0.2, 0.0, 0.3), ..elbow(80.0) };
    let other = ArmPose { shoulder: DVec3::new(-0.2, 0.1, 0.1), wrist: DVec3::new(0.0, 0.0, 1.0), ..elbow(15.0) };
    let examples = vec![sculpt(&arm, "elbow", &shot, x), sculpt(&arm, "wrist", &other, at_wrist)];
    let bench = Bench::new(&arm.rig, examples);
    let (shapes, report) = fit(&bench);
    assert_eq!((report.groups, joints(&report, 0), joints(&report, 1)), (2, vec![2], vec![3]));
    let in_its_pose = |shape: usize, pose: &ArmPose| (weights(&arm, &shapes, pose)[shape] - 1.0).abs() < 1e-7;
    assert!(in_its_pose(0, &shot) && in_its_pose(1, &other));
    assert_eq!(weights(&arm, &shapes, &wrist(57.0))[0], 0.0);
}

/// Sculpts of one joint, and sculpts that move the same skin, are told apart by their poses: each is met.
#[test]
fn every_sculpt_is_met() {
    let arm = Arm::new(9, 6);
    let (x, at_wrist) = places(&arm);
    let both = ArmPose { wrist: DVec3::new(0.0, 0.0, 0.9), ..elbow(100.0) };
    let examples = vec![
        sculpt(&arm, "half", &elbow(45.0), x),
        sculpt(&arm, "whole", &elbow(100.0), x + 0.02),
        sculpt(&arm, "hand", &wrist(60.0), at_wrist),
        sculpt(&arm, "both", &both, 0.5 * (x + at_wrist)),
    ];
    let bench = Bench::new(&arm.rig, examples);
    let (shapes, report) = fit(&bench);
    let left: Vec<f64> = report.shapes.iter().map(|shape| shape.left.unwrap()).collect();
    assert!(left.iter().all(|left| *left < 1e-6), "{left:?}");
    let base = Base::Lbs(arm.rig.weights().cloned().unwrap());
    let rest = arm.rig.mesh().positions.clone();
    let mut model = Deformer::new(rest.clone(), base, Some(shapes.into())).unwrap();
    let mut skin = rest.clone();
    for example in &bench.examples {
        model.evaluate(&example.transforms, None, &mut skin).unwrap();
        let apart = largest_distance(&skin, &example.positions);
        assert!(apart < 1e-6, "{}: {apart}", example.label);
    }
    model.evaluate(&BoneTransforms::identity(arm.rig.skeleton().len()), None, &mut skin).unwrap();
    assert_eq!(skin, rest, "the bind pose is exact");
}

/// Two sculpts of one pose have one weight; where both move the skin, it takes their mean.
#[test]
fn sculpts_of_one_pose_share_their_weight() {
    let arm = Arm::new(9, 6);
    let (x, _) = places(&arm);
    let mut twice = sculpt(&arm, "bent", &elbow(90.0), x);
    let skin = skinned(&arm.rig, &twice.transforms);
    twice.positions.iter_mut().zip(&skin).for_each(|(p, base)| *p = *base + (*p - *base) * 3.0);
    let bench = Bench::new(&arm.rig, vec![sculpt(&arm, "bent", &elbow(90.0), x), twice]);
    let (shapes, _) = fit(&bench);
    assert_eq!(shapes.names, ["bent", "bent.2"]);
    let w = weights(&arm, &shapes, &elbow(60.0));
    assert_eq!(w[0], w[1]);
    let mean: Vec<DVec3> =
        bench.examples[0].positions.iter().zip(&bench.examples[1].positions).map(|(a, b)| (*a + *b) / 2.0).collect();
    let base = Base::Lbs(arm.rig.weights().cloned().unwrap());
    let mut out = mean.clone();
    Deformer::new(arm.rig.mesh().positions.clone(), base, Some(shapes.into()))
        .unwrap()
        .evaluate(&bench.examples[0].transforms, None, &mut out)
        .unwrap();
    assert!(largest_distance(&out, &mean) < 1e-6);
}

/// Skin that no joint blends is driven by a joint near it, and skin far from every joint that turned by that joint all the same.
#[test]
fn every_sculpted_vertex_finds_a_joint() {
    let arm = Arm::new(9, 6);
    let (x, at_wrist) = places(&arm);
    let bench = Bench::new(
        &arm.rig,
        vec![sculpt(&arm, "far", &elbow(90.0), -0.3), sculpt(&arm, "mid", &wrist(50.0), 0.5 * (x + at_wrist))],
    );
    let (_, report) = fit(&bench);
    assert_eq!((joints(&report, 0), joints(&report, 1)), (vec![2], vec![3]));
    assert!(report.shapes.iter().all(|shape| shape.left.unwrap() < 1e-6));
}

#[test]
fn a_sculpt_of_the_bind_pose_has_no_driver() {
    let arm = Arm::new(9, 6);
    let bench = Bench::new(&arm.rig, vec![sculpt(&arm, "rest", &ArmPose::REST, 0.3)]);
    assert_eq!(fitted(&bench).unwrap_err(), FitError::NoDriver { example: "rest".into() });
    // The base shows this one.
    let plain = arm.examples(&[elbow(50.0)]).remove(0);
    let positions = skinned(&arm.rig, &plain.transforms);
    let plain = Example { label: "plain".into(), positions, ..plain };
    let (shapes, report) = fit(&Bench::new(&arm.rig, vec![plain]));
    assert_eq!((shapes.count(), report.without), (0, vec!["plain".to_owned()]));
}

/// The sum of bulges asked for at some angles of one hinge, in poses on both sides of rest. The numbers are those of the
/// equations of the module in numpy, with the chord 2 sin(angle/2).
#[test]
fn sculpts_of_one_hinge_show_on_their_own_side_alone() {
    let arm = Arm::new(9, 6);
    let (x, _) = places(&arm);
    let shown = [-90.0, -45.0, 20.0, 45.0, 60.0, 75.0, 120.0];
    for (asked, wanted) in [
        (vec![(60.0, 0.6), (90.0, 1.0)], [0.0, 0.0, 0.387, 0.6, 0.6, 0.8267, 1.0]),
        (vec![(45.0, 0.4), (90.0, 1.0), (135.0, 1.2)], [0.0, 0.0, 0.3013, 0.4, 0.6964, 0.9337, 1.28]),
        (vec![(80.0, 0.9), (90.0, 1.0)], [0.0, 0.0, 0.869, 0.9, 0.9, 0.9, 1.0]),
        (vec![(90.0, 1.0), (45.0, 0.0)], [0.0, 0.0, 0.0, 0.0, 0.2885, 0.6585, 1.0]),
    ] {
        let bulge = |&(degrees, size): &(f64, f64)| {
            let mut made = sculpt(&arm, &format!("at {degrees}"), &elbow(degrees), x);
            let skin = skinned(&arm.rig, &made.transforms);
            made.positions.iter_mut().zip(&skin).for_each(|(p, base)| *p = *base + (*p - *base) * size);
            made
        };
        let bench = Bench::new(&arm.rig, asked.iter().map(bulge).collect());
        let (shapes, _) = fit(&bench);
        let of_name = |name: &str| asked.iter().find(|(degrees, _)| name == format!("at {degrees}")).unwrap().1;
        for (degrees, wanted) in shown.into_iter().zip(wanted) {
            let w = weights(&arm, &shapes, &elbow(degrees));
            let found: f64 = w.iter().zip(&shapes.names).map(|(w, name)| w * of_name(name)).sum();
            assert!((found - wanted).abs() < 1e-4, "{asked:?} at {degrees}: {found}");
        }
        for &(degrees, size) in &asked {
            let w = weights(&arm, &shapes, &elbow(degrees));
            let found: f64 = w.iter().zip(&shapes.names).map(|(w, name)| w * of_name(name)).sum();
            assert!((found - size).abs() < 1e-6, "{degrees}: {found}");
        }
    }
}

/// A bend drives a sculpt whichever way the joint is twisted, and a twist whichever way it is bent, unless the sculpts say otherwise.
#[test]
fn swing_and_twist_drive_apart() {
    let arm = Arm::new(9, 6);
    let (_, at_wrist) = places(&arm);
    let turned = |bend: f64, twist: f64| ArmPose {
        wrist: DVec3::new(twist.to_radians(), 0.0, bend.to_radians()),
        ..ArmPose::REST
    };
    let of = |examples: Vec<Example>, driver: Driver| driven_by(&Bench::new(&arm.rig, examples), driver);
    let bent = || sculpt(&arm, "bent", &turned(70.0, 0.0), at_wrist);
    let twisted = || sculpt(&arm, "twisted", &turned(0.0, 80.0), at_wrist + 0.02);
    let weight = |shapes: &CompiledShapes, bend: f64, twist: f64| {
        // The twist comes first: R = R_bend R_twist, whose swing is the bend.
        let mut pose = arm.examples(&[ArmPose::REST]).remove(0).transforms.as_slice().to_vec();
        let at = arm.rig.skeleton().bind().as_slice()[3].translation;
        let turn = DQuat::from_rotation_z(bend.to_radians()) * DQuat::from_rotation_x(twist.to_radians());
        pose[3] = DAffine3::from_translation(at) * DAffine3::from_quat(turn) * DAffine3::from_translation(-at);
        shapes.weights_in(&BoneTransforms::new(pose))
    };
    let parts = |report: &CorrectivesReport| report.shapes[0].joints.iter().map(|j| j.part).collect::<Vec<_>>();
    let (shapes, report) = of(vec![bent()], Driver::Found).unwrap();
    assert_eq!(parts(&report), [JointPart::Swing]);
    assert!((report.shapes[0].joints[0].angle.to_degrees() - 70.0).abs() < 1e-6);
    assert!((weight(&shapes, 70.0, 60.0)[0] - 1.0).abs() < 1e-7 && weight(&shapes, 0.0, 60.0)[0] < 1e-7);
    let (shapes, report) = of(vec![twisted()], Driver::Found).unwrap();
    assert_eq!(parts(&report), [JointPart::Twist]);
    assert!((weight(&shapes, 50.0, 80.0)[0] - 1.0).abs() < 1e-7 && weight(&shapes, 50.0, 0.0)[0] < 1e-7);
    // Sculpts of both, on the same skin: each is met, and the other side of neither shows.
    let (shapes, _) = of(vec![bent(), twisted()], Driver::Found).unwrap();
    for (pose, wanted) in
        [((70.0, 0.0), [1.0, 0.0]), ((0.0, 80.0), [0.0, 1.0]), ((-70.0, 0.0), [0.0; 2]), ((0.0, -80.0), [0.0; 2])]
    {
        let found = weight(&shapes, pose.0, pose.1);
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{pose:?}: {found:?}");
    }
    // Named drivers.
    let (shapes, report) = of(vec![bent()], Driver::Both).unwrap();
    assert_eq!(parts(&report), [JointPart::Whole]);
    assert!(weight(&shapes, 70.0, 60.0)[0] < 0.9);
    assert_eq!(of(vec![bent()], Driver::Twist).unwrap_err(), FitError::NoDriver { example: "bent".into() });
    let (_, report) = of(vec![twisted()], Driver::Twist).unwrap();
    assert_eq!(parts(&report), [JointPart::Twist]);
    let base = Base::Lbs(arm.rig.weights().cloned().unwrap());
    let euler = CorrectiveSettings { driver: Driver::Swing, coordinates: Coordinates::Euler, ..settings() };
    let bench = Bench::new(&arm.rig, vec![bent()]);
    assert_eq!(fit_correctives(&bench.training(), &base, &bench.maps, &euler, &silent).unwrap_err(), FitError::NoParts);
}
