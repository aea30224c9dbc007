//! A joint model that remembers its sculpts: each is met, and speaks for poses near its own.

mod bench;

use bench::{pair_of_tubes, skinned};
use dermis_deform::correction::Correction;
use dermis_deform::joints::Joints;
use dermis_deform::{Deformer, Scratch};
use dermis_fit::method::{
    BaseChoice, FactorChoice, FitInput, FitWarning, JointMethod, Learnt, Method, MethodReport, RidgeChoice,
};
use dermis_fit::silent;
use dermis_rig::glam::{DAffine3, DQuat, DVec3, Vec3};
use dermis_rig::{BoneTransforms, Example, ExampleSet, LocalSculpt, Mirror, Rig, Rows};
use dermis_testkit::{Arm, ArmPose, Random, largest_distance, moved};

fn method() -> JointMethod {
    JointMethod { base: BaseChoice::Lbs, composites: FactorChoice::Off, ..JointMethod::default() }
}

fn learnt(rig: &Rig, method: JointMethod, sculpts: &[Example]) -> Learnt {
    let set = ExampleSet::new("sculpts".into(), sculpts.to_vec(), rig).unwrap();
    Method::Joint(method).fit(&FitInput::new(rig, &set), &silent).unwrap()
}

fn posed(model: &mut Deformer, pose: &BoneTransforms) -> Vec<DVec3> {
    let mut skin = vec![DVec3::NAN; model.rest().len()];
    model.evaluate(pose, None, &mut skin).unwrap();
    skin
}

fn elbow(degrees: f64) -> ArmPose {
    ArmPose { elbow: degrees.to_radians(), ..ArmPose::REST }
}

/// A sculpt of a pose: the rig's skin, moved by `by` at the vertices within `radius` of `centre` at rest, and less towards the rim.
fn disc(rig: &Rig, label: &str, transforms: &BoneTransforms, (centre, radius, by): (usize, f64, DVec3)) -> Example {
    let rest = &rig.mesh().positions;
    let shown = skinned(rig, transforms);
    let share = |v: usize| (1.0 - (rest[v].distance(rest[centre]) / radius).powi(2)).max(0.0).powi(2);
    let positions = shown.iter().enumerate().map(|(v, p)| *p + by * share(v)).collect();
    let mask = (0..rest.len()).map(|v| share(v) > 0.0).collect();
    let local = Some(LocalSculpt { mask: Some(mask), shown: Some(shown) });
    Example { label: label.into(), time: None, transforms: transforms.clone(), positions, importance: 1.0, local }
}

fn touched(sculpt: &Example) -> &[bool] {
    sculpt.local.as_ref().unwrap().mask.as_ref().unwrap()
}

/// Sixteen sculpts of twelve poses, at random places.
fn sculpts(arm: &Arm) -> Vec<Example> {
    let mut random = Random::new(31);
    let poses = ArmPose::some(13, 7);
    (0..16)
        .map(|s| {
            let by = random.direction() * random.between(0.01, 0.04);
            let place = (random.below(arm.rig.mesh().positions.len()), random.between(0.06, 0.2), by);
            disc(&arm.rig, &format!("sculpt {s}"), &arm.transforms(&poses[1 + s % 12]), place)
        })
        .collect()
}

/// Whether a later sculpt of the same pose holds the vertex.
fn is_held(sculpts: &[Example], s: usize, v: usize) -> bool {
    sculpts[s + 1..].iter().any(|later| later.transforms == sculpts[s].transforms && touched(later)[v])
}

#[test]
fn every_local_sculpt_is_met_and_untouched_skin_is_the_base() {
    let arm = Arm::new(33, 12);
    let sculpts = sculpts(&arm);
    let Learnt { deformer: mut model, report, .. } = learnt(&arm.rig, method(), &sculpts);
    let MethodReport::Joint(found) = &report.details else { panic!("no joint model") };
    assert_eq!(found.remembered.len(), 16);
    for (s, sculpt) in sculpts.iter().enumerate() {
        let skin = posed(&mut model, &sculpt.transforms);
        let asked = |v: &usize| touched(sculpt)[*v] && !is_held(&sculpts, s, *v);
        let left = (0..skin.len()).filter(asked).map(|v| skin[v].distance(sculpt.positions[v])).fold(0.0, f64::max);
        assert!(left < 1e-6 * arm.length(), "{}: {left}", sculpt.label);
        assert_eq!(found.remembered[s].name, sculpt.label);
    }
    let never: Vec<usize> =
        (0..arm.rig.mesh().positions.len()).filter(|&v| sculpts.iter().all(|sculpt| !touched(sculpt)[v])).collect();
    assert!(!never.is_empty());
    for pose in ArmPose::some(20, 99) {
        let transforms = arm.transforms(&pose);
        let (skin, base) = (posed(&mut model, &transforms), skinned(&arm.rig, &transforms));
        never.iter().for_each(|&v| assert_eq!(skin[v], base[v]));
    }
    // At strength ½ half of what the smooth part leaves stays.
    let mut none = learnt(&arm.rig, JointMethod { remember: Some(0.0), ..method() }, &sculpts).deformer;
    let mut half = learnt(&arm.rig, JointMethod { remember: Some(0.5), ..method() }, &sculpts).deformer;
    let Some(Correction::Joints(without)) = none.corrections().last() else { panic!("no joint model") };
    assert!(without.layer.is_none());
    let sculpt = &sculpts[15];
    let left = |skin: &[DVec3]| {
        let of = |v: usize| if touched(sculpt)[v] { skin[v].distance_squared(sculpt.positions[v]) } else { 0.0 };
        (0..skin.len()).map(of).sum::<f64>().sqrt()
    };
    let (whole, halved) = (left(&posed(&mut none, &sculpt.transforms)), left(&posed(&mut half, &sculpt.transforms)));
    assert!(whole > 1e-3 && halved < 0.9 * whole && halved > 0.1 * whole, "{whole} {halved}");
}

/// |p′ − base| ≤ 1.5 ρ_v, ρ_v the most that a sculpt moved the vertex, in poses far beyond the limits of the joints.
#[test]
fn no_pose_leaves_the_ball_of_what_was_sculpted() {
    let arm = Arm::new(17, 8);
    let sculpts = sculpts(&arm);
    let model = learnt(&arm.rig, method(), &sculpts).deformer;
    let bases: Vec<Vec<DVec3>> = sculpts.iter().map(|sculpt| skinned(&arm.rig, &sculpt.transforms)).collect();
    let count = arm.rig.mesh().positions.len();
    let radius = |v: usize| {
        let moved = |(sculpt, base): (&Example, &Vec<DVec3>)| sculpt.positions[v].distance(base[v]);
        sculpts.iter().zip(&bases).map(moved).fold(0.0, f64::max)
    };
    let radii: Vec<f64> = (0..count).map(radius).collect();
    let (mut random, mut reached) = (Random::new(5), 0);
    let (baked, mut scratch, mut skin) = (model.bake(), Scratch::default(), vec![Vec3::ZERO; count]);
    let mut model = model;
    for _ in 0..1000 {
        let pose = arm.wild(&mut random, 3.0);
        let (exact, base) = (posed(&mut model, &pose), skinned(&arm.rig, &pose));
        baked.evaluate(&pose, None, &mut scratch, &mut skin).unwrap();
        for v in 0..count {
            let far = exact[v].distance(base[v]);
            assert!(far <= 1.5 * radii[v] + 1e-12, "vertex {v}: {far} of {}", radii[v]);
            assert!(exact[v].distance(skin[v].as_dvec3()) < 2e-6, "vertex {v}: {} {}", exact[v], skin[v]);
            reached += usize::from(far > 1e-3);
        }
    }
    assert!(reached > 1000, "{reached}");
}

/// The bulge of one hinge: asked for at some angles, shown at others.
fn bulges(arm: &Arm, method: &JointMethod, asked: &[(f64, f64)], shown: &[f64]) -> (Vec<f64>, Learnt) {
    let rest = &arm.rig.mesh().positions;
    let centre = (0..rest.len()).min_by(|&a, &b| (rest[a].x - 0.3).abs().total_cmp(&(rest[b].x - 0.3).abs())).unwrap();
    let sculpt = |&(degrees, size): &(f64, f64)| {
        let place = (centre, 0.2, DVec3::Z * (0.05 * size));
        disc(&arm.rig, &format!("at {degrees}"), &arm.transforms(&elbow(degrees)), place)
    };
    let sculpts: Vec<Example> = asked.iter().map(sculpt).collect();
    let mut made = learnt(&arm.rig, method.clone(), &sculpts);
    let size = |&degrees: &f64| {
        let pose = arm.transforms(&elbow(degrees));
        (posed(&mut made.deformer, &pose)[centre] - skinned(&arm.rig, &pose)[centre]).z / 0.05
    };
    (shown.iter().map(size).collect(), made)
}

/// The layer alone, over a smooth part that a large λ holds at zero. The numbers are those of the equations in numpy. Between two sculpts
/// that both show, the skin is their average.
#[test]
fn sculpts_of_one_hinge_show_on_their_own_side_alone() {
    let arm = Arm::new(17, 8);
    let shown = [-90.0, -45.0, 20.0, 45.0, 60.0, 75.0, 90.0, 120.0];
    let layer = JointMethod { ridge: RidgeChoice::Fixed(1e12), ..method() };
    for (asked, wanted) in [
        (vec![(60.0, 0.6), (90.0, 1.0)], [0.0, 0.0, 0.387, 0.6, 0.6, 0.78, 1.0, 1.0]),
        (vec![(45.0, 0.4), (90.0, 1.0), (135.0, 1.2)], [0.0, 0.0, 0.3013, 0.4, 0.6, 0.8, 1.0, 1.1]),
        (vec![(80.0, 0.9), (90.0, 1.0)], [0.0, 0.0, 0.869, 0.9, 0.9, 0.9, 1.0, 1.0]),
        (vec![(90.0, 1.0), (45.0, 0.0)], [0.0, 0.0, 0.0, 0.0, 0.25, 0.58, 1.0, 1.0]),
    ] {
        let (found, _) = bulges(&arm, &layer, &asked, &shown);
        for ((found, wanted), degrees) in found.into_iter().zip(wanted).zip(shown) {
            assert!((found - wanted).abs() < 0.02, "{asked:?} at {degrees}: {found} for {wanted}");
        }
    }
    // With a smooth part the sculpts are met all the same; of its free part nothing shows from r = 5/4 on.
    let (met, mut made) = bulges(&arm, &method(), &[(60.0, 0.6), (90.0, 1.0)], &[60.0, 90.0]);
    assert!((met[0] - 0.6).abs() < 1e-6 && (met[1] - 1.0).abs() < 1e-6, "{met:?}");
    let Some(Correction::Joints(joints)) = made.deformer.corrections().last() else { panic!("no joint model") };
    assert!(joints.coefficients.entries().iter().any(|u| *u != 0.0));
    let alone = Joints { shared: Rows::by_row(joints.shared.len(), vec![]), ..*joints.clone() };
    made.deformer =
        Deformer::new(made.deformer.rest().to_vec(), made.deformer.base().clone(), Some(alone.into())).unwrap();
    for degrees in [-45.0, -60.0, -90.0, -120.0] {
        let pose = arm.transforms(&elbow(degrees));
        let far = largest_distance(&posed(&mut made.deformer, &pose), &skinned(&arm.rig, &pose));
        assert!(far < 1e-12, "{degrees}: {far}");
    }
}

/// A sculpt that keeps the skin as it is holds it there.
#[test]
fn an_anchor_is_kept() {
    let arm = Arm::new(17, 8);
    let asked = [(90.0, 1.0), (45.0, 0.0)];
    let (found, made) = bulges(&arm, &method(), &asked, &[45.0, 90.0]);
    assert!(found[0].abs() < 1e-6 && (found[1] - 1.0).abs() < 1e-6, "{found:?}");
    let MethodReport::Joint(report) = &made.report.details else { panic!("no joint model") };
    assert_eq!(report.remembered.len(), 2);
}

/// Rigid motions, and the order of sculpts in different poses, change nothing.
#[test]
fn the_model_moves_with_the_character_and_knows_no_order() {
    let arm = Arm::new(17, 8);
    let sculpts: Vec<Example> = sculpts(&arm).into_iter().take(12).collect();
    let mut model = learnt(&arm.rig, method(), &sculpts).deformer;
    let reversed: Vec<Example> = sculpts.iter().rev().cloned().collect();
    let mut reversed = learnt(&arm.rig, method(), &reversed).deformer;
    let g =
        DAffine3::from_rotation_translation(DQuat::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), 1.1), DVec3::splat(3.0));
    let carried: Vec<Example> = sculpts.iter().map(|sculpt| moved(sculpt, g)).collect();
    let mut carried = learnt(&arm.rig, method(), &carried).deformer;
    for pose in ArmPose::some(12, 4) {
        let transforms = arm.transforms(&pose);
        let skin = posed(&mut model, &transforms);
        assert!(largest_distance(&skin, &posed(&mut reversed, &transforms)) < 1e-8);
        let there = BoneTransforms::new(transforms.as_slice().iter().map(|m| g * *m).collect());
        let expected: Vec<DVec3> = skin.iter().map(|p| g.transform_point3(*p)).collect();
        let far = largest_distance(&expected, &posed(&mut carried, &there));
        assert!(far < 1e-6 * arm.length(), "{far}");
    }
}

/// The two tubes turned about their joints.
fn turned(left: f64, right: f64) -> BoneTransforms {
    let joint = |x: f64, angle: f64| {
        let turn = DAffine3::from_axis_angle(DVec3::new(0.0, 0.6, 0.8), angle);
        DAffine3::from_translation(DVec3::X * x) * turn * DAffine3::from_translation(-DVec3::X * x)
    };
    BoneTransforms::new(vec![DAffine3::IDENTITY, joint(-0.2, left), joint(0.2, right)])
}

/// A sculpt teaches the other side. Where the other side was sculpted in nearly the mirrored pose, as in the two halves of a walk, that
/// sculpt holds, and each is met though the rims differ.
#[test]
fn the_other_side_is_taught_and_own_sculpts_hold() {
    let rig = pair_of_tubes();
    let mirror = Mirror::find(&rig.mesh().positions, rig.skeleton(), rig.weights().unwrap()).unwrap();
    let left = disc(&rig, "left", &turned(0.8, 0.1), (14, 0.2, DVec3::new(0.01, 0.02, -0.01)));
    let mut model = learnt(&rig, method(), std::slice::from_ref(&left)).deformer;
    let skin = posed(&mut model, &mirror.pose(&left.transforms));
    for (v, p) in skin.iter().enumerate().skip(30) {
        let partner = mirror.vertices[v].unwrap() as usize;
        let asked = mirror.point(left.positions[partner]);
        assert!(!touched(&left)[partner] || p.distance(asked) < 1e-6, "vertex {v}: {p} for {asked}");
    }
    // Nearly the mirrored pose; another rim, another place, another displacement.
    let near = mirror.pose(&turned(0.82, 0.1));
    let right = disc(&rig, "right", &near, (50, 0.15, DVec3::new(0.0, 0.015, 0.02)));
    let both = [left, right];
    let mut model = learnt(&rig, method(), &both).deformer;
    for sculpt in &both {
        let skin = posed(&mut model, &sculpt.transforms);
        let asked = (0..skin.len()).filter(|&v| touched(sculpt)[v]);
        let left = asked.map(|v| skin[v].distance(sculpt.positions[v])).fold(0.0, f64::max);
        assert!(left < 1e-6, "{}: {left}", sculpt.label);
    }
}

/// The wrist differs, which drives neither: they are averaged, and named.
#[test]
fn sculpts_that_their_drivers_do_not_tell_apart_are_named() {
    let arm = Arm::new(17, 8);
    let rest = &arm.rig.mesh().positions;
    let centre = (0..rest.len()).min_by(|&a, &b| (rest[a].x - 0.3).abs().total_cmp(&(rest[b].x - 0.3).abs())).unwrap();
    let with_wrist = ArmPose { wrist: DVec3::Z * 0.2, ..elbow(90.0) };
    let of = |label: &str, pose: &ArmPose, size: f64| {
        disc(&arm.rig, label, &arm.transforms(pose), (centre, 0.1, DVec3::Z * size))
    };
    let sculpts = [of("out", &elbow(90.0), 0.04), of("in", &with_wrist, -0.02)];
    let mut made = learnt(&arm.rig, method(), &sculpts);
    let named = |warning: &FitWarning| match warning {
        FitWarning::SculptsApart { first, second, apart } => {
            (first.as_str(), second.as_str()) == ("out", "in") && (apart - 0.06).abs() < 1e-9
        }
        _ => false,
    };
    assert!(made.report.warnings.iter().any(named), "{:?}", made.report.warnings);
    let pose = arm.transforms(&elbow(90.0));
    let shown = (posed(&mut made.deformer, &pose)[centre] - skinned(&arm.rig, &pose)[centre]).z;
    // The mean; the smooth part knows the wrist.
    assert!((shown - 0.01).abs() < 1e-3, "{shown}");
}

/// Two poses that differ by rounding in the joint that drives the first sculpt: the joint of the second tells them apart, or else a weight
/// would go from one to zero within that rounding.
#[test]
fn rounding_does_not_tell_poses_apart() {
    let rig = pair_of_tubes();
    let method = JointMethod { mirror: false, ..method() };
    let first = disc(&rig, "first", &turned(0.8, 0.1), (14, 0.25, DVec3::new(0.01, 0.02, -0.01)));
    let second = disc(&rig, "second", &turned(0.8 + 3e-6, 0.7), (38, 0.35, DVec3::new(0.0, 0.03, 0.02)));
    assert!((0..30).any(|v| touched(&first)[v] && touched(&second)[v]), "they meet");
    let both = [first, second];
    let mut model = learnt(&rig, method, &both).deformer;
    for sculpt in &both {
        let skin = posed(&mut model, &sculpt.transforms);
        let asked = (0..skin.len()).filter(|&v| touched(sculpt)[v]);
        let left = asked.map(|v| skin[v].distance(sculpt.positions[v])).fold(0.0, f64::max);
        assert!(left < 1e-6, "{}: {left}", sculpt.label);
    }
    let (here, beside) = (posed(&mut model, &turned(0.8, 0.1)), posed(&mut model, &turned(0.8 + 2e-6, 0.1)));
    let jump = largest_distance(&here, &beside);
    assert!(jump < 1e-5, "{jump}");
}
