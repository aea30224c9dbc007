//! Rotational regression: planted twists recovered, beyond a half turn, and the promises at rest and under motion.

use dermis_deform::{Base, Deformer};
use dermis_fit::rotational_regression::{Rotational, RotationalSettings, fit_rotational_regression};
use dermis_fit::{BasePoses, Training, silent};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Mesh, Skeleton};
use dermis_testkit::{Arm, ArmPose, Random, largest_distance, moved, rms, some_motion};
use std::f64::consts::TAU;

/// A tube of two bones along x, whose cross section at x turns by `share(x)` of the joint's twist.
struct Tube {
    mesh: Mesh,
    skeleton: Skeleton,
    weights: Influences,
}

fn share(x: f64) -> f64 {
    (x / 0.8 - 0.125).clamp(0.0, 1.0)
}

impl Tube {
    fn new() -> Self {
        let (rings, sides) = (41, 12);
        let positions: Vec<DVec3> = (0..rings * sides)
            .map(|at| {
                let (x, angle) = (f64::from(at / sides) / f64::from(rings - 1), TAU * f64::from(at % sides) / 12.0);
                DVec3::new(x, 0.1 * angle.cos(), 0.1 * angle.sin())
            })
            .collect();
        let at = |ring: i32, side: i32| (ring * sides + side % sides) as u32;
        let mut triangles = Vec::new();
        for (ring, side) in (0..rings - 1).flat_map(|ring| (0..sides).map(move |side| (ring, side))) {
            let [a, b, c, d] = [at(ring, side), at(ring, side + 1), at(ring + 1, side), at(ring + 1, side + 1)];
            triangles.extend([[a, b, c], [b, d, c]]);
        }
        let bone = BoneIndex::new;
        let rows = positions.iter().map(|p| vec![(bone(0), 1.0 - share(p.x)), (bone(1), share(p.x))]);
        let weights = Influences::from_rows(rows).unwrap();
        let bind = vec![DAffine3::IDENTITY, DAffine3::from_translation(DVec3::X * 0.5)];
        let skeleton = Skeleton::new(vec!["a".into(), "b".into()], vec![None, Some(bone(0))], bind).unwrap();
        Self { mesh: Mesh { positions, triangles, ..Mesh::default() }, skeleton, weights }
    }

    fn twisted(&self, degrees: f64) -> Example {
        let turn = |share: f64| DAffine3::from_rotation_x(share * degrees.to_radians());
        let positions = self.mesh.positions.iter().map(|p| turn(share(p.x)).transform_point3(*p)).collect();
        let transforms = BoneTransforms::new(vec![DAffine3::IDENTITY, turn(1.0)]);
        Example { label: format!("{degrees}"), time: None, transforms, positions, importance: 1.0, local: None }
    }

    fn fit(&self, examples: &[Example], settings: &RotationalSettings) -> Rotational {
        let (rest, length) = (&self.mesh.positions, self.mesh.diagonal());
        let training = Training { skeleton: &self.skeleton, rest, length, examples, base: BasePoses::NONE };
        fit_rotational_regression(&training, &self.mesh.triangles, &self.weights, settings, &silent).unwrap()
    }

    fn skin(&self, fitted: &Rotational, example: &Example) -> Vec<DVec3> {
        let mut out = vec![DVec3::ZERO; self.mesh.positions.len()];
        fitted.model.evaluate(&self.mesh.positions, &example.transforms, &mut out);
        out
    }
}

/// Oracle: the planted twist. Twisting shears triangles by up to γ = φ · radius · ds/dx = 0.33, and the rotation of a
/// sheared triangle about its normal, atan(γ/2), and its stretch, γ²/8, are linear in φ only to γ³ and γ²: a tenth of
/// the turning of a triangle, which the neighbours average out.
#[test]
fn a_planted_twist_is_recovered_at_angles_between_the_examples() {
    let tube = Tube::new();
    let examples: Vec<_> = (-5..=5).map(|step| tube.twisted(30.0 * f64::from(step))).collect();
    let fitted = tube.fit(&examples, &RotationalSettings::new(false));
    assert!(fitted.report.beyond_half_turn.is_empty() && fitted.report.barely_held.is_empty());
    assert!(fitted.report.rms_angle.1 < 0.1 * fitted.report.rms_angle.0, "{:?}", fitted.report.rms_angle);
    for degrees in [-140.0, -75.0, 15.0, 45.0, 105.0] {
        let example = tube.twisted(degrees);
        let off = largest_distance(&tube.skin(&fitted, &example), &example.positions);
        assert!(off < 0.01, "{degrees}: {off}");
        // The candy wrapper of the same weights.
        let mut blended = vec![DVec3::ZERO; example.positions.len()];
        dermis_deform::lbs(&tube.mesh.positions, &tube.weights, &example.transforms, &mut blended);
        assert!(largest_distance(&blended, &example.positions) > 0.0008 || degrees == 15.0);
    }
    // Shares of the joint's turn, triangle by triangle, seen from the triangle's own bone.
    for (t, triangle) in tube.mesh.triangles.iter().enumerate() {
        let middle = triangle.iter().map(|&v| share(tube.mesh.positions[v as usize].x)).sum::<f64>() / 3.0;
        let expected = if fitted.model.bones[t].get() == 0 { middle } else { 1.0 - middle };
        let terms = fitted.model.terms.of(t);
        let found = terms.first().map_or(0.0, |term| term.turn().x_axis.x.abs());
        assert!((found - expected).abs() < 0.05, "triangle {t}: {found}, planted {expected}");
    }
}

#[test]
fn a_twist_beyond_a_half_turn_is_followed_where_training_went() {
    let tube = Tube::new();
    let examples: Vec<_> = (0..=9).map(|step| tube.twisted(30.0 * f64::from(step))).collect();
    let fitted = tube.fit(&examples, &RotationalSettings::new(false));
    assert_eq!(fitted.report.beyond_half_turn.len(), 1, "one joint, to 270 degrees");
    assert!((fitted.report.beyond_half_turn[0].1 - 270f64.to_radians()).abs() < 1e-9);
    for degrees in [15.0, 165.0, 180.0, 195.0, 255.0, 285.0] {
        let example = tube.twisted(degrees);
        let off = largest_distance(&tube.skin(&fitted, &example), &example.positions);
        assert!(off < 0.01, "{degrees}: {off}");
    }
}

/// Both sides up to 170 degrees: neighbours across the half turn must not be taken for each other's continuation.
#[test]
fn twists_to_both_sides_stay_on_their_sides() {
    let tube = Tube::new();
    let examples: Vec<_> =
        [-170.0, -130.0, -90.0, -45.0, 0.0, 45.0, 90.0, 130.0, 170.0].into_iter().map(|d| tube.twisted(d)).collect();
    let fitted = tube.fit(&examples, &RotationalSettings::new(false));
    assert!(fitted.report.beyond_half_turn.is_empty());
    for degrees in [-150.0, -60.0, 110.0, 165.0] {
        let example = tube.twisted(degrees);
        let off = largest_distance(&tube.skin(&fitted, &example), &example.positions);
        assert!(off < 0.01, "{degrees}: {off}");
    }
}

fn arm_fit(arm: &Arm, examples: &[Example]) -> Rotational {
    let rig = &arm.rig;
    let training = Training {
        skeleton: rig.skeleton(),
        rest: &rig.mesh().positions,
        length: arm.length(),
        examples,
        base: BasePoses::NONE,
    };
    let settings = RotationalSettings::new(false);
    fit_rotational_regression(&training, &rig.mesh().triangles, arm.weights(), &settings, &silent).unwrap()
}

#[test]
fn rest_is_exact_motion_carries_along_and_unseen_poses_beat_linear_blending() {
    let arm = Arm::new(40, 16);
    let fitted = arm_fit(&arm, &arm.examples(&ArmPose::some(60, 3)));
    let rest = &arm.rig.mesh().positions;
    let run = |pose: &BoneTransforms| {
        let mut out = vec![DVec3::ZERO; rest.len()];
        fitted.model.evaluate(rest, pose, &mut out);
        out
    };
    assert!(largest_distance(&run(&BoneTransforms::identity(4)), rest) < 1e-12);
    let (mut got, mut blended, mut truth) = (vec![], vec![], vec![]);
    for pose in &ArmPose::some(20, 77)[1..] {
        let example = arm.example(String::new(), pose);
        got.push(run(&example.transforms));
        let mut linear = vec![DVec3::ZERO; rest.len()];
        dermis_deform::lbs(rest, arm.weights(), &example.transforms, &mut linear);
        blended.push(linear);
        truth.push(example.positions);
    }
    let (own, linear) = (rms(&got, &truth), rms(&blended, &truth));
    assert!(own < 0.7 * linear, "{own} {linear}");
    let g = some_motion(2.0, DVec3::new(3.0, 1.0, -2.0));
    let pose = arm.transforms(&ArmPose::random(&mut Random::new(5)));
    let carried: Vec<_> = run(&pose).iter().map(|p| g.transform_point3(*p)).collect();
    assert!(largest_distance(&run(&pose.moved(g)), &carried) < 1e-9);
    // The baked form: positions rounded to f32 about the character's middle.
    let base = Base::RotationalRegression(Box::new(fitted.model.clone()));
    let baked = Deformer::new(rest.clone(), base, None).unwrap().bake();
    let mut out = vec![Default::default(); rest.len()];
    baked.evaluate(&pose, None, &mut Default::default(), &mut out).unwrap();
    let wide: Vec<_> = out.iter().map(|p| p.as_dvec3()).collect();
    assert!(largest_distance(&wide, &run(&pose)) < 1e-6);
}

#[test]
fn the_fit_does_not_depend_on_where_the_character_stood_nor_on_threads() {
    let arm = Arm::new(24, 8);
    let examples = arm.examples(&ArmPose::some(30, 4));
    let (first, mut random) = (arm_fit(&arm, &examples), Random::new(6));
    let elsewhere: Vec<_> =
        examples.iter().map(|e| moved(e, some_motion(random.between(0.0, 3.0), random.direction() * 4.0))).collect();
    let second = arm_fit(&arm, &elsewhere);
    let pose = arm.transforms(&ArmPose::random(&mut random));
    let run = |fitted: &Rotational| {
        let mut out = vec![DVec3::ZERO; arm.rig.mesh().positions.len()];
        fitted.model.evaluate(&arm.rig.mesh().positions, &pose, &mut out);
        out
    };
    // Coefficients are f32.
    assert!(largest_distance(&run(&first), &run(&second)) < 1e-5);
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (third, skin) = alone.install(|| {
        let fitted = arm_fit(&arm, &examples);
        let skin = run(&fitted);
        (fitted, skin)
    });
    assert_eq!(third.model.terms, first.model.terms);
    assert_eq!(skin, run(&first));
}
