//! Skin that sags: a planted sag is found, none is refused to the bit, and every promise holds.

use dermis_deform::gravity::gravity_feature;
use dermis_deform::{Deformer, lbs};
use dermis_fit::method::{BaseChoice, FactorChoice, FitInput, GravityChoice, JointMethod, Learnt, Method};
use dermis_fit::silent;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{BoneTransforms, Example, ExampleSet};
use dermis_testkit::{Arm, ArmPose, Random, moved};

const DOWN: DVec3 = DVec3::NEG_Y;

/// The pose of an arm whose root is tilted.
fn tilted(arm: &Arm, pose: &ArmPose, random: &mut Random) -> BoneTransforms {
    let turn = DAffine3::from_quat(random.rotation(1.2));
    BoneTransforms::new(arm.transforms(pose).iter().map(|m| turn * *m).collect())
}

/// Poses of an arm, tilted, whose skin hangs by so many metres more the farther a bone turned against `down`.
fn sagging(arm: &Arm, count: usize, seed: u64, down: DVec3, by: f64) -> Vec<Example> {
    let mut random = Random::new(seed);
    let (rest, weights) = (&arm.rig.mesh().positions, arm.weights());
    let example = |(s, pose): (usize, &ArmPose)| {
        let transforms = tilted(arm, pose, &mut random);
        let hung = |v: usize| {
            let row = weights.of(v);
            let blend = lbs::blend(row, &transforms);
            // Soft across, stiff along, at every bone in proportion to its weight.
            let seen: DVec3 = row
                .iter()
                .map(|&(bone, w)| gravity_feature(&transforms[bone], down) * DVec3::new(0.2, 1.0, 1.0) * w)
                .sum();
            let turn = DQuat::from_mat3(&dermis_rig::rotation::nearest_rotation(&blend.matrix3));
            blend.transform_point3(rest[v]) + turn * seen * by * (rest[v].x / arm.length()).abs()
        };
        let positions = (0..rest.len()).map(hung).collect();
        Example { label: format!("{s}"), time: None, transforms, positions, importance: 1.0, local: None }
    };
    ArmPose::some(count, seed + 1).iter().enumerate().map(example).collect()
}

fn learn(arm: &Arm, examples: Vec<Example>, gravity: GravityChoice) -> Learnt {
    let (base, off) = (BaseChoice::Lbs, FactorChoice::Off);
    let method = JointMethod { base, gravity, arc_cosine: off, composites: off, ..JointMethod::default() };
    let examples = ExampleSet::new(String::new(), examples, &arm.rig).unwrap();
    Method::Joint(method).fit(&FitInput::new(&arm.rig, &examples), &silent).unwrap()
}

fn skin(model: &mut Deformer, pose: &BoneTransforms) -> Vec<DVec3> {
    let mut out = vec![DVec3::ZERO; model.rest().len()];
    model.evaluate(pose, None, &mut out).unwrap();
    out
}

/// The rms error over that of linear blending.
fn ratio(arm: &Arm, learnt: &mut Learnt, unseen: &[Example]) -> f64 {
    let (mut left, mut bare) = (0.0, 0.0);
    for example in unseen {
        let found = skin(&mut learnt.deformer, &example.transforms);
        for (v, truth) in example.positions.iter().enumerate() {
            let blend = lbs::blend(arm.weights().of(v), &example.transforms);
            bare += blend.transform_point3(arm.rig.mesh().positions[v]).distance_squared(*truth);
            left += found[v].distance_squared(*truth);
        }
    }
    (left / bare).sqrt()
}

#[test]
fn planted_sag_is_found_in_either_direction() {
    let mut arm = Arm::new(9, 6);
    arm.rig = arm.rig.without_up();
    for down in [DVec3::NEG_Y, DVec3::NEG_Z] {
        let (train, unseen) = (sagging(&arm, 40, 5, down, 0.1), sagging(&arm, 10, 50, down, 0.1));
        let mut blind = learn(&arm, train.clone(), GravityChoice::Off);
        let mut seeing = learn(&arm, train, GravityChoice::Auto);
        let (blind, seen) = (ratio(&arm, &mut blind, &unseen), ratio(&arm, &mut seeing, &unseen));
        let text = format!("{:?}", seeing.report.settings);
        assert!(text.contains(&format!("down is {},{},{}", down.x, down.y, down.z)), "{text}");
        assert!(seen < 0.02 && blind > 0.4, "{seen} where joints alone leave {blind}");
    }
}

#[test]
fn skin_that_does_not_sag_refuses_gravity_to_the_bit() {
    let arm = Arm::new(9, 6);
    let poses: Vec<Example> = sagging(&arm, 30, 7, DOWN, 0.0);
    // Muscles in place of the sag.
    let examples: Vec<Example> = (poses.into_iter())
        .zip(ArmPose::some(30, 8))
        .map(|(example, pose)| {
            let turn = example.transforms.as_slice()[0] * arm.transforms(&pose).as_slice()[0].inverse();
            Example { positions: arm.skin(&pose).iter().map(|p| turn.transform_point3(*p)).collect(), ..example }
        })
        .collect();
    let pose = examples[3].transforms.clone();
    let (mut auto, mut off) =
        (learn(&arm, examples.clone(), GravityChoice::Auto), learn(&arm, examples, GravityChoice::Off));
    assert_eq!(skin(&mut auto.deformer, &pose), skin(&mut off.deformer, &pose));
}

#[test]
fn the_bind_pose_is_exact_and_turning_all_with_gravity_changes_nothing() {
    let arm = Arm::new(9, 6);
    let train = sagging(&arm, 24, 11, DOWN, 0.1);
    let mut learnt = learn(&arm, train.clone(), GravityChoice::Down(DOWN.to_array()));
    let rest = &arm.rig.mesh().positions;
    let bind = BoneTransforms::new(vec![DAffine3::IDENTITY; arm.rig.skeleton().len()]);
    assert_eq!(&skin(&mut learnt.deformer, &bind), rest);

    // About the vertical axis, with the poses alone: the same skin, turned; about another one: another skin.
    let pose = train[5].transforms.clone();
    let still = skin(&mut learnt.deformer, &pose);
    let mut apart = |axis: DVec3| {
        let turn = DAffine3::from_axis_angle(axis, 0.7);
        let turned = BoneTransforms::new(pose.iter().map(|m| turn * *m).collect());
        let skin = skin(&mut learnt.deformer, &turned);
        let off = |(a, b): (&DVec3, &DVec3)| turn.transform_point3(*a).distance(*b);
        still.iter().zip(&skin).map(off).fold(0.0, f64::max) / arm.length()
    };
    // Bones that look along the vertical see the same down; what they see of the bind pose turned with them.
    assert!(apart(DVec3::X) > 1e-4);
    assert!(apart(DVec3::Y) < 1e-6);

    // Rig, examples and gravity: nothing changes.
    let turn = DAffine3::from_quat(DQuat::from_axis_angle(DVec3::new(0.4, 0.5, -0.7).normalize(), 1.1));
    let mut other = arm.clone();
    dermis_testkit::change_rig(&mut other.rig, |mesh, skeleton, _| {
        mesh.positions.iter_mut().for_each(|p| *p = turn.transform_point3(*p));
        let bind = skeleton.bind().iter().map(|m| turn * *m).collect();
        *skeleton = dermis_rig::Skeleton::new(skeleton.names().to_vec(), skeleton.parents().to_vec(), bind).unwrap();
    });
    let conjugated =
        |pose: &BoneTransforms| BoneTransforms::new(pose.iter().map(|m| turn * *m * turn.inverse()).collect());
    let examples = train.iter().map(|e| Example { transforms: conjugated(&e.transforms), ..moved(e, turn) }).collect();
    let down = turn.transform_vector3(DOWN);
    let mut of_other = learn(&other, examples, GravityChoice::Down(down.to_array()));
    let there = skin(&mut of_other.deformer, &conjugated(&pose));
    for (a, b) in still.iter().zip(&there) {
        let off = turn.transform_point3(*a).distance(*b) / arm.length();
        assert!(off < 1e-6, "{off}");
    }
}

#[test]
fn bones_are_held_to_what_training_tilted_them_by() {
    let arm = Arm::new(9, 6);
    let train = sagging(&arm, 24, 13, DOWN, 0.1);
    let mut learnt = learn(&arm, train, GravityChoice::Down(DOWN.to_array()));
    let largest = |model: &mut Deformer, poses: &[Example]| -> f64 {
        let of = |example: &Example, model: &mut Deformer| {
            let found = skin(model, &example.transforms);
            let bare = (0..found.len()).map(|v| {
                lbs::blend(arm.weights().of(v), &example.transforms).transform_point3(arm.rig.mesh().positions[v])
            });
            found.iter().zip(bare).map(|(a, b)| a.distance(b)).fold(0.0, f64::max)
        };
        poses.iter().map(|example| of(example, model)).fold(0.0, f64::max)
    };
    let wild: Vec<Example> = sagging(&arm, 200, 99, DOWN, 0.1);
    let bound = 1.5 * 2.0 * 0.1 * 1.2;
    let found = largest(&mut learnt.deformer, &wild);
    assert!(found <= bound, "{found} beyond {bound}");
}

#[test]
fn the_direction_has_a_text() {
    for text in ["auto", "off", "0,-1,0"] {
        assert_eq!(GravityChoice::try_from(text.to_owned()).unwrap().to_string(), text);
    }
    assert_eq!(GravityChoice::try_from("0, 0, -9.81".to_owned()).unwrap(), GravityChoice::Down([0.0, 0.0, -1.0]));
    for text in ["", "0,0,0", "1,2", "1,2,3,4", "nan,0,0", "down"] {
        assert!(GravityChoice::try_from(text.to_owned()).is_err(), "{text}");
    }
}
