//! Anatomy on bodies made of joints: what bends, bends the right way.

use super::*;
use crate::ik::JointLimits;
use dermis_rig::glam::{DAffine3, DQuat, DVec2, DVec3};
use dermis_testkit::Random;

/// A body in T-pose by the names of Unreal: it faces +Z, its left is +X. The right side mirrors the left.
const HALF: &[(&str, &str, [f64; 3])] = &[
    ("clavicle", "spine_02", [0.03, 1.45, 0.0]),
    ("upperarm", "clavicle", [0.18, 1.45, -0.02]),
    ("lowerarm", "upperarm", [0.46, 1.45, -0.02]),
    ("hand", "lowerarm", [0.72, 1.45, -0.02]),
    ("index_01", "hand", [0.81, 1.45, 0.02]),
    ("index_02", "index_01", [0.85, 1.45, 0.02]),
    ("pinky_01", "hand", [0.80, 1.45, -0.05]),
    ("pinky_02", "pinky_01", [0.83, 1.45, -0.05]),
    ("thigh", "pelvis", [0.1, 0.95, 0.0]),
    ("calf", "thigh", [0.1, 0.5, 0.0]),
    ("foot", "calf", [0.1, 0.08, -0.03]),
    ("ball", "foot", [0.1, 0.02, 0.1]),
];
const MIDDLE: &[(&str, &str, [f64; 3])] = &[
    ("root", "", [0.0, 0.0, 0.0]),
    ("pelvis", "root", [0.0, 1.0, 0.0]),
    ("spine_01", "pelvis", [0.0, 1.1, 0.0]),
    ("spine_02", "spine_01", [0.0, 1.3, 0.0]),
    ("neck_01", "spine_02", [0.0, 1.5, 0.0]),
    ("head", "neck_01", [0.0, 1.6, 0.0]),
];

/// The body, moved by `place`, with bone axes turned at random; arms hanging by `lowered` radians.
fn body(place: DAffine3, lowered: f64, random: &mut Random) -> Skeleton {
    let mut bones: Vec<(String, String, DVec3)> = Vec::new();
    for (name, parent, at) in MIDDLE {
        bones.push(((*name).into(), (*parent).into(), DVec3::from_array(*at)));
    }
    for (side, sign) in [("_l", 1.0), ("_r", -1.0)] {
        for (name, parent, at) in HALF {
            let middle = MIDDLE.iter().any(|(known, ..)| known == parent);
            let parent = if middle { (*parent).to_owned() } else { format!("{parent}{side}") };
            let mut at = DVec3::from_array(*at);
            let shoulder = DVec3::new(0.18, 1.45, -0.02);
            if at.x > 0.2 {
                at = shoulder + DQuat::from_rotation_z(-lowered) * (at - shoulder);
            }
            bones.push((format!("{name}{side}"), parent, at * DVec3::new(sign, 1.0, 1.0)));
        }
    }
    let names: Vec<String> = bones.iter().map(|bone| bone.0.clone()).collect();
    let parents: Vec<_> =
        bones.iter().map(|bone| names.iter().position(|name| *name == bone.1).map(BoneIndex::new)).collect();
    let bind = bones.iter().map(|bone| place * DAffine3::from_rotation_translation(random.rotation(3.0), bone.2));
    Skeleton::new(names, parents, bind.collect()).unwrap()
}

/// Where `shown` goes when `bone` turns by angles in degrees: the move in the body's own axes (left, up, forward).
fn moved(skeleton: &Skeleton, anatomy: &Anatomy, bone: &str, angles: [f64; 3], shown: &str) -> DVec3 {
    let (bone, shown) = (skeleton.find(bone).unwrap(), skeleton.find(shown).unwrap());
    let [x, y, twist] = angles.map(f64::to_radians);
    let JointLimits::Cone(cone) = &anatomy.limits[bone] else { panic!("no cone") };
    let mut pose = skeleton.pose();
    pose.turn(bone, cone.together(DVec2::new(x, y), twist));
    let by = pose.world().bones[shown].translation - skeleton.bind()[shown].translation;
    let BodyFrame { left, up, forward, .. } = anatomy.frame;
    DVec3::new(by.dot(left), by.dot(up), by.dot(forward))
}

/// Whichever way the body faces and its bones' axes lie, and whether its arms are raised or hang.
#[test]
fn joints_bend_the_way_bodies_do() {
    let mut random = Random::new(1);
    for case in 0..40 {
        let place = DAffine3::from_rotation_translation(random.rotation(3.1), random.direction());
        let lowered = [0.0, 0.7, 1.45][case % 3];
        let skeleton = body(place, lowered, &mut random);
        let anatomy = Anatomy::new(&skeleton, |_| true);
        assert!(anatomy.frame.left.abs_diff_eq(place.matrix3 * DVec3::X, 1e-9), "case {case}");
        // The foot lies 3 cm behind the hip, so "up" leans by 0.03/0.87.
        assert!(anatomy.frame.up.dot(place.matrix3 * DVec3::Y) > 0.999, "case {case}");
        assert_eq!(anatomy.frame.stance, Stance::Upright);
        for (side, out) in [("_l", 1.0), ("_r", -1.0)] {
            let at = |bone: &str, angles: [f64; 3], shown: &str| {
                moved(&skeleton, &anatomy, &format!("{bone}{side}"), angles, &format!("{shown}{side}"))
            };
            let elbow = at("lowerarm", [60.0, 0.0, 0.0], "hand");
            assert!(elbow.z > 0.2, "case {case}{side}: an elbow brings the hand forward: {elbow}");
            let knee = at("calf", [60.0, 0.0, 0.0], "foot");
            assert!(knee.z < -0.3, "case {case}{side}: a knee brings the foot back: {knee}");
            let hip = at("thigh", [60.0, 0.0, 0.0], "calf");
            assert!(hip.z > 0.35, "case {case}{side}: a hip lifts the knee forward: {hip}");
            let thigh = skeleton.find(&format!("thigh{side}")).unwrap();
            let JointLimits::Cone(cone) = &anatomy.limits[thigh] else { panic!() };
            // The far end of a leg's lean is outward; its sign differs between the sides.
            let [low, high] = cone.swing()[1].map(f64::to_degrees);
            let lean = if high > -low { high } else { low };
            let apart = at("thigh", [0.0, lean, 0.0], "calf");
            assert!(apart.x * out > 0.2, "case {case}{side}: legs go apart: {apart}");
            let ankle = at("foot", [20.0, 0.0, 0.0], "ball");
            assert!(ankle.y > 0.02, "case {case}{side}: a foot lifts its toes: {ankle}");
            let collar = at("clavicle", [20.0, 0.0, 0.0], "upperarm");
            assert!(collar.y > 0.04, "case {case}{side}: a shoulder lifts: {collar}");
            // The palm faces down in T-pose, and the body when the arm hangs.
            let palm = DVec3::new(-out * lowered.sin(), -lowered.cos(), 0.0);
            let curl = at("index_01", [60.0, 0.0, 0.0], "index_02");
            assert!(curl.dot(palm) > 0.025, "case {case}{side}: a finger curls to the palm: {curl} {palm}");
            let (arm, raised) = (at("upperarm", [30.0, 0.0, 0.0], "lowerarm"), lowered > 1.2);
            let wanted = if raised { arm.z } else { arm.y };
            assert!(wanted > 0.08, "case {case}{side}: an arm lifts, a hanging one forward: {arm}");
        }
        let spine = moved(&skeleton, &anatomy, "spine_01", [30.0, 0.0, 0.0], "head");
        assert!(spine.z > 0.2, "case {case}: a back bends forward: {spine}");
        let left = moved(&skeleton, &anatomy, "spine_01", [0.0, 15.0, 0.0], "head");
        assert!(left.x > 0.1, "case {case}: and to the left: {left}");
    }
}

/// Straight at rest, an elbow does not go backwards, and nothing beyond what its range says.
#[test]
fn elbows_and_knees_stop_at_straight() {
    let skeleton = body(DAffine3::IDENTITY, 0.3, &mut Random::new(2));
    let anatomy = Anatomy::new(&skeleton, |_| true);
    for name in ["lowerarm_l", "lowerarm_r", "calf_l", "calf_r"] {
        let bone = skeleton.find(name).unwrap();
        let JointLimits::Cone(cone) = &anatomy.limits[bone] else { panic!() };
        let [bend, lean] = cone.swing();
        // The calf is bent by atan(0.03/0.42) = 4.1° at rest.
        assert!(
            bend[0].to_degrees() > -5.0 && bend[1].to_degrees() > 120.0 && bend[1].to_degrees() < 146.0,
            "{name} {bend:?}"
        );
        assert_eq!(lean, [0.0, 0.0]);
    }
    assert_eq!(anatomy.limits[skeleton.find("root").unwrap()], JointLimits::Locked);
    assert_eq!(anatomy.limits[skeleton.find("pelvis").unwrap()], JointLimits::Locked);
}

/// The limits of a body and of its mirror image are mirror images.
#[test]
fn both_sides_have_the_same_ranges() {
    let skeleton = body(DAffine3::IDENTITY, 0.5, &mut Random::new(3));
    let anatomy = Anatomy::new(&skeleton, |_| true);
    let ranges = |bone: &str| {
        let JointLimits::Cone(cone) = &anatomy.limits[skeleton.find(bone).unwrap()] else { panic!() };
        (cone.swing()[0], cone.swing()[1].map(f64::abs).into_iter().fold(0.0, f64::max), cone.twist()[1])
    };
    for (name, ..) in HALF {
        let (left, right) = (ranges(&format!("{name}_l")), ranges(&format!("{name}_r")));
        assert!(
            (left.0[0] - right.0[0]).abs() < 1e-9 && (left.0[1] - right.0[1]).abs() < 1e-9,
            "{name}: {left:?} {right:?}"
        );
        assert!((left.1 - right.1).abs() < 1e-9 && (left.2 - right.2).abs() < 1e-9, "{name}: {left:?} {right:?}");
    }
}

/// Names that say nothing, all bones in one place, bones that move no skin: limits all the same.
#[test]
fn any_skeleton_has_limits() {
    let mut random = Random::new(4);
    for case in 0..30 {
        let tree = dermis_testkit::Tree::new(12, 30, case);
        let skeleton = tree.rig.skeleton();
        let anatomy = Anatomy::new(skeleton, |bone| bone.get() % 2 == 0);
        for bone in skeleton.bones() {
            let still = bone.get() % 2 == 1 || skeleton.parents()[bone].is_none();
            assert_eq!(anatomy.from[bone], if still { LimitFrom::Still } else { LimitFrom::Unknown });
            assert_eq!(anatomy.limits[bone] == JointLimits::Locked, still);
            if !still {
                let q = anatomy.limits[bone].nearest(random.rotation(3.0));
                assert!(dermis_rig::rotation::rotation_vector(q).length() < 1.0);
            }
        }
    }
    let names = ["hips", "spine", "neck", "head", "l_hand", "r_hand", "l_knee", "r_knee"].map(String::from).to_vec();
    let parents = (0..8).map(|b: usize| b.checked_sub(1).map(BoneIndex::new)).collect();
    let skeleton = Skeleton::new(names, parents, vec![DAffine3::IDENTITY; 8]).unwrap();
    let anatomy = Anatomy::new(&skeleton, |_| true);
    assert!(anatomy.frame.up.is_finite() && anatomy.frame.left.is_finite());
    for (bone, limits) in anatomy.limits.enumerate() {
        assert!(limits.nearest(random.rotation(2.0)).is_finite(), "{bone}");
    }
}

/// Oracle: the ranges of the neck, 65° of twist shared by its three bones, and none for second segments.
#[test]
fn a_counted_spine_and_second_segments_have_their_own_limits() {
    for known in crate::body::table::known() {
        let anatomy = Anatomy::new(&known.skeleton, |_| true);
        let find = |name: &str| known.skeleton.find(name).unwrap();
        let twist = |name: &str| match &anatomy.limits[find(name)] {
            JointLimits::Cone(cone) => cone.twist()[1].to_degrees(),
            other => panic!("{name}: {other:?}"),
        };
        match known.convention {
            "Rigify" => {
                for name in ["DEF-spine.004", "DEF-spine.005", "DEF-spine.006"] {
                    assert!((twist(name) - 65.0 / 3.0).abs() < 1e-9, "{name}: {}", twist(name));
                }
                assert!(twist("DEF-spine.003") < 40.0 / 3.0 + 1e-9, "the back's own share");
                assert_eq!(anatomy.limits[find("DEF-upper_arm.L.001")], JointLimits::Locked);
            }
            "Second segments" => {
                for name in ["L_armUpper0003_bind_JNT", "L_armLower0003_bind_JNT", "R_armLower0003_bind_JNT"] {
                    assert_eq!(anatomy.limits[find(name)], JointLimits::Locked, "{name}");
                    assert_eq!(anatomy.from[find(name)], LimitFrom::Still);
                }
            }
            _ => {}
        }
    }
}
