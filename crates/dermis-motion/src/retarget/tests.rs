//! Walks planted with legs in closed form, brought onto characters of other proportions, rest poses, axes and names.

use super::*;
use crate::body::{Limb, Side};
use dermis_rig::glam::{DAffine3, DQuat};
use dermis_rig::silent;

/// How a test character is built.
#[derive(Clone, Copy)]
struct Build {
    thigh: f64,
    shin: f64,
    arm: f64,
    /// Degrees that arms hang below the horizontal at rest.
    hang: f64,
    /// Turn about the vertical.
    faces: f64,
    /// Whether bones have axes of their own at rest.
    odd_axes: bool,
    names: fn(&str) -> String,
}

const PLAIN: Build = Build {
    thigh: 0.45,
    shin: 0.43,
    arm: 0.3,
    hang: 0.0,
    faces: 0.0,
    odd_axes: false,
    names: |name: &str| name.to_owned(),
};

fn unreal(name: &str) -> String {
    let (part, side) = name.split_once('.').unwrap_or((name, ""));
    let part = match part {
        "hips" => "pelvis",
        "spine" => "spine_01",
        "chest" => "spine_02",
        "neck" => "neck_01",
        "shoulder" => "clavicle",
        "upper_arm" => "upperarm",
        "forearm" => "lowerarm",
        "shin" => "calf",
        "toe" => "ball",
        other => other,
    };
    if side.is_empty() { part.into() } else { format!("{part}_{}", side.to_lowercase()) }
}

const ANKLE: f64 = 0.09;
const TOE: f64 = 0.02;

impl Build {
    /// Facing Z, left at +X, feet flat on the ground.
    fn skeleton(&self) -> Skeleton {
        let hips = self.thigh + self.shin + ANKLE;
        let turn = DQuat::from_rotation_y(self.faces);
        let mut bones: Vec<(String, Option<usize>, DVec3)> = vec![
            ("hips".into(), None, DVec3::new(0.0, hips + 0.05, 0.0)),
            ("spine".into(), Some(0), DVec3::new(0.0, hips + 0.15, 0.01)),
            ("chest".into(), Some(1), DVec3::new(0.0, hips + 0.35, -0.01)),
            ("neck".into(), Some(2), DVec3::new(0.0, hips + 0.6, 0.0)),
            ("head".into(), Some(3), DVec3::new(0.0, hips + 0.7, 0.02)),
        ];
        let down = self.hang.to_radians();
        for (side, x) in [("L", 1.0), ("R", -1.0)] {
            let along = DVec3::new(x * down.cos(), -down.sin(), 0.0);
            let first = bones.len();
            let shoulder = DVec3::new(0.15 * x, hips + 0.55, 0.0);
            bones.extend([
                (format!("shoulder.{side}"), Some(2), DVec3::new(0.03 * x, hips + 0.55, 0.0)),
                (format!("upper_arm.{side}"), Some(first), shoulder),
                (format!("forearm.{side}"), Some(first + 1), shoulder + along * self.arm),
                (format!("hand.{side}"), Some(first + 2), shoulder + along * 1.9 * self.arm),
                (format!("thigh.{side}"), Some(0), DVec3::new(0.1 * x, hips, 0.0)),
                (format!("shin.{side}"), Some(first + 4), DVec3::new(0.1 * x, hips - self.thigh, 0.0)),
                (format!("foot.{side}"), Some(first + 5), DVec3::new(0.1 * x, ANKLE, 0.0)),
                (format!("toe.{side}"), Some(first + 6), DVec3::new(0.1 * x, TOE, 0.14)),
            ]);
        }
        let names = bones.iter().map(|(name, ..)| (self.names)(name)).collect();
        let parents = bones.iter().map(|(_, parent, _)| parent.map(BoneIndex::new)).collect();
        let axes = |at: usize| match self.odd_axes {
            true => DQuat::from_rotation_x(0.9 * at as f64) * DQuat::from_rotation_z(0.4 + 0.3 * at as f64),
            false => DQuat::IDENTITY,
        };
        let bind = bones
            .iter()
            .enumerate()
            .map(|(at, (.., head))| DAffine3::from_rotation_translation(axes(at), turn * *head));
        Skeleton::new(names, parents, bind.collect()).unwrap()
    }
}

fn named(skeleton: &Skeleton, name: &str) -> BoneIndex {
    skeleton.find(name).unwrap_or_else(|| panic!("there is no {name}"))
}

const FRAMES: usize = 61;
/// Seconds of a step; a foot stands for one and swings for one.
const STEP: f64 = 0.6;
const STRIDE: f64 = 0.7;

/// Where an ankle of the planted walk is at a time: still for a step, then a swing to two strides on.
fn ankle(side: f64, time: f64) -> DVec3 {
    let phase = (time / (2.0 * STEP) + if side > 0.0 { 0.0 } else { 0.5 }).fract();
    let begun = (time / (2.0 * STEP) + if side > 0.0 { 0.0 } else { 0.5 }).floor() - if side > 0.0 { 0.0 } else { 0.5 };
    let swing = ((phase - 0.5) / 0.5).clamp(0.0, 1.0);
    let along = (begun + swing * swing * (3.0 - 2.0 * swing)) * 2.0 * STRIDE * 0.5;
    DVec3::new(0.1 * side, ANKLE + 0.12 * (std::f64::consts::PI * swing).sin(), along)
}

/// A walk along Z of a [`PLAIN`] character: feet stay level, legs by the law of cosines in the plane of the walk, arms swing, the chest twists.
/// `moving`: subtracted from all places, times the time, for a walk on the spot.
fn walk(skeleton: &Skeleton, build: &Build, moving: DVec3) -> Motion {
    let rest = |name: &str| skeleton.bind()[named(skeleton, name)].translation;
    let frames = (0..FRAMES).map(|at| {
        let time = at as f64 / 30.0;
        let hips_at = DVec3::new(0.0, rest("hips").y - 0.07, STRIDE * time / (2.0 * STEP) - 0.05);
        let mut turns: Vec<DQuat> = vec![DQuat::IDENTITY; skeleton.len()];
        let swing = (std::f64::consts::PI * time / STEP).sin();
        for name in ["spine", "chest", "neck", "head"] {
            turns[named(skeleton, name).get()] = DQuat::from_rotation_y(0.1 * swing) * DQuat::from_rotation_x(0.05);
        }
        for (side, x) in [("L", 1.0), ("R", -1.0)] {
            let id = |part: &str| named(skeleton, &format!("{part}.{side}")).get();
            let hang = DQuat::from_rotation_z(-x * (1.3 - build.hang.to_radians()));
            turns[id("shoulder")] = turns[named(skeleton, "chest").get()];
            turns[id("upper_arm")] = DQuat::from_rotation_x(-0.5 * x * swing) * hang;
            turns[id("forearm")] = DQuat::from_rotation_x(-0.5 * x * swing - 0.4) * hang;
            turns[id("hand")] = turns[id("forearm")] * DQuat::from_rotation_x(0.6 * x);
            let hip = hips_at + rest(&format!("thigh.{side}")) - rest("hips");
            let line = ankle(x, time) - hip;
            let length = line.length().min(build.thigh + build.shin);
            let bend = |a: f64, b: f64, c: f64| ((a * a + b * b - c * c) / (2.0 * a * b)).clamp(-1.0, 1.0).acos();
            let lean = line.z.atan2(-line.y);
            let thigh = -(lean + bend(build.thigh, length, build.shin));
            let knee = std::f64::consts::PI - bend(build.thigh, build.shin, length);
            turns[id("thigh")] = DQuat::from_rotation_x(thigh);
            turns[id("shin")] = DQuat::from_rotation_x(thigh + knee);
        }
        let mut world: Vec<DAffine3> = Vec::new();
        for bone in skeleton.bones() {
            let head = skeleton.bind()[bone].translation;
            let place = match skeleton.parents()[bone] {
                Some(parent) => {
                    let rest = skeleton.bind()[parent].translation;
                    world[parent.get()].translation + turns[parent.get()] * (head - rest)
                }
                None => hips_at,
            };
            let own = DQuat::from_mat3(&skeleton.bind()[bone].matrix3);
            world.push(DAffine3::from_rotation_translation(turns[bone.get()] * own, place));
        }
        world.iter_mut().for_each(|bone| bone.translation -= moving * time);
        Frame { label: format!("walk {at}"), time: Some(time), pose: WorldPose::new(world) }
    });
    Motion { name: "walk".into(), frames: frames.collect() }
}

fn run(source: &Skeleton, motion: &Motion, target: &Skeleton, keep: Contacts) -> Result<Retargeted, RetargetError> {
    let plain = |skeleton| Character { skeleton, weights: None };
    retarget(plain(source), motion, plain(target), &PairTable::new(), Unpaired::Refused, keep, &silent)
}

fn head(motion: &Motion, skeleton: &Skeleton, bone: &str, frame: usize) -> DVec3 {
    motion.frames[frame].pose.bones[named(skeleton, bone)].translation
}

#[test]
fn a_motion_on_its_own_rig_is_itself() {
    for (build, moving) in
        [(PLAIN, DVec3::ZERO), (PLAIN, DVec3::Z * 0.58), (Build { hang: 40.0, ..PLAIN }, DVec3::ZERO)]
    {
        let skeleton = build.skeleton();
        let motion = walk(&skeleton, &build, moving);
        let found = run(&skeleton, &motion, &skeleton, Contacts::Kept).unwrap();
        assert!(
            found.without_partner.is_empty()
                && found.unused.is_empty()
                && found.facing == 0.0
                && found.contacts.len() >= 4
        );
        for (a, b) in found.motion.frames.iter().zip(&motion.frames) {
            assert!(a.pose.bones.iter().zip(b.pose.bones.iter()).all(|(a, b)| a.abs_diff_eq(*b, 1e-9)), "{}", a.label);
        }
    }
}

/// Other lengths, rest pose, axes, facing and names. Feet stand for 18 frames of 61 at least three times; where the source's are still, so are these.
#[test]
fn contacts_are_kept_on_other_proportions() {
    let source = PLAIN.skeleton();
    let motion = walk(&source, &PLAIN, DVec3::ZERO);
    for (thigh, shin) in [(0.36, 0.34), (0.7, 0.42), (0.3, 0.5), (0.45, 0.43)] {
        let build = Build { thigh, shin, arm: 0.4, hang: 45.0, faces: -1.57, odd_axes: true, names: unreal };
        let target = build.skeleton();
        let found = run(&source, &motion, &target, Contacts::Kept).unwrap();
        assert!((found.scale - (thigh + shin + 0.07_f64.hypot(0.14)) / (0.88 + 0.07_f64.hypot(0.14))).abs() < 1e-9);
        assert!((found.facing + 1.57).abs() < 0.01, "{}", found.facing);
        assert_eq!(found.ground, Some(DVec3::ZERO));
        let feet = |bone: &str| found.contacts.iter().filter(|contact| contact.bone == bone).count();
        assert!(feet("ball_l") >= 2 && feet("ball_r") >= 2, "{:?}", found.contacts);
        for contact in &found.contacts {
            assert!(
                contact.off < 1e-6 && contact.slide < contact.source_slide + 1e-6 && contact.slide < 2e-3,
                "{contact:?}"
            );
            // Measured anew, without the code's own measure; the ball stays at its height as well.
            let places: Vec<DVec3> =
                (contact.from..=contact.to).map(|at| head(&found.motion, &target, &contact.bone, at)).collect();
            let spread = places.iter().map(|place| place.distance(places[places.len() / 2])).fold(0.0, f64::max);
            assert!(spread < 2e-3, "{spread}");
            assert!(places.iter().all(|place| (place.y - TOE).abs() < 2e-3), "{places:?}");
        }
        // Without it they slide: the test would notice.
        let free = run(&source, &motion, &target, Contacts::Free).unwrap().motion;
        let slid = found.contacts.iter().map(|c| {
            let at = |frame| head(&free, &target, &c.bone, frame);
            (c.from..=c.to).map(|frame| at(frame).distance(at(c.from))).fold(0.0, f64::max)
        });
        let slid = slid.fold(0.0, f64::max);
        assert!(slid > 4e-3 || (thigh - 0.45).abs() < 1e-9 || (thigh / shin - 0.45 / 0.43).abs() < 0.05, "{slid}");
    }
}

/// An arm hangs as the source's hangs, whatever the rest pose: the directions of its bones are the source's, turned by the way the characters face.
#[test]
fn arms_of_another_rest_pose_point_as_the_sources() {
    let source = PLAIN.skeleton();
    let motion = walk(&source, &PLAIN, DVec3::ZERO);
    let build = Build { hang: 55.0, faces: 3.1, odd_axes: true, names: unreal, ..PLAIN };
    let target = build.skeleton();
    let found = run(&source, &motion, &target, Contacts::Kept).unwrap();
    let turn = DQuat::from_rotation_y(std::f64::consts::PI);
    for frame in [0, 13, 40] {
        for (a, b) in
            [("upper_arm.L", "forearm.L"), ("forearm.R", "hand.R"), ("thigh.L", "shin.L"), ("upper_arm.R", "forearm.R")]
        {
            let theirs = (head(&motion, &source, b, frame) - head(&motion, &source, a, frame)).normalize();
            let (a, b) = (unreal(a), unreal(b));
            let own = (head(&found.motion, &target, &b, frame) - head(&found.motion, &target, &a, frame)).normalize();
            // Facing is found to a quarter turn, of which 3.1 is 2.4 degrees short: the rig is so, not its motion.
            assert!(own.dot(turn * theirs) > 1.0 - 1e-9, "{a} in frame {frame}: {own} for {}", turn * theirs);
        }
    }
}

/// A walk on the spot has its ground run backwards; feet stand on it.
#[test]
fn on_the_spot_the_ground_moves() {
    let speed = DVec3::Z * STRIDE / (2.0 * STEP);
    let source = PLAIN.skeleton();
    let motion = walk(&source, &PLAIN, speed);
    let build = Build { thigh: 0.6, shin: 0.38, faces: 1.57, names: unreal, ..PLAIN };
    let target = build.skeleton();
    let found = run(&source, &motion, &target, Contacts::Kept).unwrap();
    // Turned to face X, times the ratio of legs.
    let expected = DVec3::NEG_X * speed.z * found.scale;
    let ground = found.ground.expect("most low samples stand");
    assert!(ground.distance(expected) < 0.03 * expected.length(), "{ground} for {expected}");
    assert!(found.contacts.len() >= 4);
    for contact in &found.contacts {
        let places = (contact.from..=contact.to)
            .map(|at| head(&found.motion, &target, &contact.bone, at) - expected * (at - contact.from) as f64 / 30.0);
        let places: Vec<DVec3> = places.collect();
        assert!(places.iter().all(|place| place.distance(places[0]) < 2e-3), "{contact:?} {places:?}");
    }
}

/// A source that sways by 15 mm takes its feet along; they slide with it, or stand still.
#[test]
fn feet_stand_still_where_the_source_s_slide() {
    for speed in [DVec3::ZERO, DVec3::Z * STRIDE / (2.0 * STEP)] {
        let source = PLAIN.skeleton();
        let mut motion = walk(&source, &PLAIN, speed);
        for frame in &mut motion.frames {
            let sway = DVec3::X * 0.015 * (4.0 * std::f64::consts::PI * frame.time.unwrap()).sin();
            let swayed = frame.pose.bones.iter().map(|bone| DAffine3::from_translation(sway) * *bone);
            frame.pose = WorldPose::new(swayed.collect());
        }
        let target = Build { thigh: 0.5, names: unreal, ..PLAIN }.skeleton();
        let [kept, still] = [Contacts::Kept, Contacts::Still].map(|keep| {
            let found = run(&source, &motion, &target, keep).unwrap();
            let ground = found.ground.expect("it is steady");
            let spread = |contact: &Contact| {
                let at = |frame: usize| {
                    head(&found.motion, &target, &contact.bone, frame) - ground * (frame - contact.from) as f64 / 30.0
                };
                (contact.from..=contact.to).map(|frame| at(frame).distance(at(contact.from))).fold(0.0, f64::max)
            };
            let feet = found.contacts.iter().filter(|contact| contact.bone.starts_with("ball"));
            assert!(feet.clone().count() >= 4);
            feet.map(spread).fold(0.0, f64::max)
        });
        // The heights of the stance stay the source's, within 2 mm.
        assert!(kept > 0.02 && still < 2e-3, "{kept} {still}");
    }
}

/// A character that rises all the time stands nowhere.
#[test]
fn feet_that_never_stand_are_told() {
    let source = PLAIN.skeleton();
    for (moving, expected) in [(DVec3::ZERO, false), (DVec3::NEG_Y * 3.0, true)] {
        let motion = walk(&source, &PLAIN, moving);
        let found = run(&source, &motion, &source, Contacts::Kept).unwrap();
        assert_eq!((found.feet_never_stand, found.contacts.is_empty()), (expected, expected));
        assert!(!run(&source, &motion, &source, Contacts::Free).unwrap().feet_never_stand);
    }
}

#[test]
fn without_common_names_the_shape_of_the_tree_decides() {
    fn nameless(name: &str) -> String {
        format!("q{:x}", name.bytes().fold(7_u32, |hash, byte| hash.wrapping_mul(31) ^ u32::from(byte)))
    }
    let source = PLAIN.skeleton();
    let motion = walk(&source, &PLAIN, DVec3::ZERO);
    let build = Build { thigh: 0.5, arm: 0.33, ..PLAIN };
    let (known, unknown) = (build.skeleton(), Build { names: nameless, ..build }.skeleton());
    let by_name = run(&source, &motion, &known, Contacts::Free).unwrap();
    let by_shape = run(&source, &motion, &unknown, Contacts::Kept).unwrap();
    assert_eq!((by_name.paired_by, by_shape.paired_by), (PairedBy::Names, PairedBy::Topology));
    assert!(
        by_shape.pairs.iter().all(|pair| pair.bone == nameless(&pair.source) && pair.between.is_none()),
        "{:?}",
        by_shape.pairs
    );
    assert!(by_shape.contacts.len() >= 4 && by_shape.contacts.iter().all(|contact| contact.off < 1e-6));
}

#[test]
fn what_cannot_be_paired_is_an_error() {
    let source = PLAIN.skeleton();
    let motion = walk(&source, &PLAIN, DVec3::ZERO);
    let bind = (0..5).map(|at| DAffine3::from_translation(DVec3::Y * f64::from(at))).collect();
    let parents = (0..5).map(|at: usize| at.checked_sub(1).map(BoneIndex::new)).collect();
    let rope = Skeleton::new((0..5).map(|at| format!("rope {at}")).collect(), parents, bind).unwrap();
    let refused = run(&source, &motion, &rope, Contacts::Kept).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the two skeletons have too little in common, by name or shape: the source has hips, spine, chest, neck, head, shoulder.L and 15 more, \
         and the rig rope 0, rope 1, rope 2, rope 3, rope 4"
    );
    let plain = |skeleton| Character { skeleton, weights: None };
    let with = |table: &[(&str, Option<&str>)]| {
        let table = table.iter().map(|(own, theirs)| ((*own).to_owned(), theirs.map(str::to_owned))).collect();
        retarget(plain(&source), &motion, plain(&rope), &table, Unpaired::Refused, Contacts::Kept, &silent)
    };
    let found = with(&[("rope 0", Some("hips")), ("rope 1", Some("chest"))]).unwrap();
    assert_eq!((found.pairs.len(), found.without_partner.len(), found.paired_by), (2, 3, PairedBy::Table));
    assert!(
        with(&[("rope 9", Some("hips"))]).unwrap_err().to_string().contains("\"rope 9\", which the rig does not have")
    );
    assert!(
        with(&[("rope 1", Some("tail"))]).unwrap_err().to_string().contains("\"tail\", which the source does not have")
    );
    assert_eq!(run(&source, &Motion::default(), &source, Contacts::Kept).unwrap_err(), RetargetError::NoFrames);
}

/// A rig whose feet are roots of their own, as for animation by inverse kinematics: they go with the shins.
#[test]
fn a_foot_without_parent_follows_its_leg() {
    let source = PLAIN.skeleton();
    let motion = walk(&source, &PLAIN, DVec3::ZERO);
    let loose: Vec<Option<BoneIndex>> = source
        .names()
        .iter()
        .zip(source.parents().iter())
        .map(|(name, parent)| parent.filter(|_| !name.starts_with("foot")))
        .collect();
    let target = Skeleton::new(source.names().to_vec(), loose, source.bind().to_vec()).unwrap();
    let found = run(&source, &motion, &target, Contacts::Kept).unwrap();
    assert_eq!(found.hung, [("foot.L".into(), "shin.L".into()), ("foot.R".into(), "shin.R".into())]);
    for (a, b) in found.motion.frames.iter().zip(&motion.frames) {
        assert!(a.pose.bones.iter().zip(b.pose.bones.iter()).all(|(a, b)| a.abs_diff_eq(*b, 1e-9)), "{}", a.label);
    }
}

/// Half way along the forearm a twist bone has half of the hand's twist; near the shoulder another has a quarter of the upper arm's.
#[test]
fn twist_is_spread_over_twist_bones() {
    let source = PLAIN.skeleton();
    let (arm, forearm) = (named(&source, "upper_arm.L").get(), named(&source, "forearm.L").get());
    let mut names = source.names().to_vec();
    let mut parents = source.parents().to_vec();
    let mut bind = source.bind().to_vec();
    for (name, parent, share) in [("forearm_twist.L", forearm, 0.5), ("upper_arm_twist.L", arm, 0.25)] {
        names.push(name.into());
        parents.push(Some(BoneIndex::new(parent)));
        let (from, to) = (bind[parent].translation, bind[parent + 1].translation);
        bind.push(DAffine3::from_translation(from.lerp(to, share)));
    }
    let target = Skeleton::new(names, parents, bind).unwrap();
    let wrung = source.pose().turned("upper_arm.L", DQuat::from_rotation_x(0.8)).unwrap();
    let wrung = wrung.turned("hand.L", DQuat::from_rotation_x(1.2)).unwrap().world();
    let motion = Motion { name: "wring".into(), frames: vec![Frame { label: String::new(), time: None, pose: wrung }] };
    let found = run(&source, &motion, &target, Contacts::Kept).unwrap();
    assert_eq!(found.without_partner, ["forearm_twist.L", "upper_arm_twist.L"]);
    let turn = |name: &str| found.motion.frames[0].pose.bones[named(&target, name)].matrix3;
    // Along X: the arm twists by 0.8, the hand by 1.2 more.
    for (name, angle) in [("forearm_twist.L", 0.8 + 0.6), ("upper_arm_twist.L", 0.2), ("hand.L", 2.0)] {
        assert!(turn(name).abs_diff_eq(dermis_rig::glam::DMat3::from_rotation_x(angle), 1e-12), "{name}");
    }
}

/// Oracle: the parts of the table of conventions. Every two bipeds pair arms, legs, back, neck and head by part.
#[test]
fn every_two_conventions_pair_their_limbs() {
    use crate::body::{Part, table};
    let bipeds: Vec<_> = table::known().into_iter().filter(|known| known.is_biped).collect();
    let (mut wrong, mut pairs) = (Vec::new(), 0);
    for source in &bipeds {
        for target in &bipeds {
            let [mut from, mut to] = [source, target].map(|known| Body::new(&known.skeleton, None).unwrap());
            let found = super::pairs::pair(&mut from, &mut to, &PairTable::new(), Unpaired::Refused).unwrap();
            for part in [
                Part::Hips,
                Part::Spine,
                Part::Neck,
                Part::Head,
                Part::UpperArm,
                Part::Forearm,
                Part::Hand,
                Part::Thigh,
                Part::Shin,
                Part::Foot,
            ] {
                for side in [Side::Left, Side::Middle, Side::Right] {
                    let (Some(_), Some(first)) = (from.find(part, side), to.find(part, side)) else { continue };
                    // A back whose first bone is the other's second begins there.
                    let spine = || to.limb(Limb::Spine, side).into_iter().find(|bone| found.partners[*bone].is_some());
                    let bone = if part == Part::Spine { spine().unwrap_or(first) } else { first };
                    let partner = found.partners[bone]
                        .and_then(|partner| from.roles[if partner.part < 0.5 { partner.bone } else { partner.next }]);
                    pairs += 1;
                    if partner.map(|role| (role.part, role.side)) != Some((part, side)) {
                        wrong.push(format!(
                            "{} to {}: {} has {partner:?}",
                            source.convention,
                            target.convention,
                            to.name(bone)
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty() && pairs > 5000, "{pairs} pairs\n{}", wrong.join("\n"));
}
