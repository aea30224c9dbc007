//! The walk on four legs against what a walk is: feet that stand still, in order, over ground that they do not enter, and a stride that closes.

use dermis_motion::anatomy::Anatomy;
use dermis_motion::gait::{GaitError, STANCE, walk};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneIndex, Motion, Skeleton};

const FRAMES: usize = 24;

/// A dog of straight lines, facing `turn`·Z: name, parent, place on the left or in the middle.
fn dog(size: f64, turn: DMat3) -> Skeleton {
    let rows = [
        ("hips", "", [0.0, 0.60, -0.30]),
        ("spine", "hips", [0.0, 0.62, 0.0]),
        ("chest", "spine", [0.0, 0.60, 0.25]),
        ("neck", "chest", [0.0, 0.68, 0.38]),
        ("head", "neck", [0.0, 0.82, 0.52]),
        ("tail", "hips", [0.0, 0.58, -0.45]),
        ("thigh_", "hips", [0.08, 0.54, -0.33]),
        ("calf_", "thigh_", [0.08, 0.34, -0.25]),
        ("foot_", "calf_", [0.08, 0.18, -0.40]),
        ("ball_", "foot_", [0.08, 0.03, -0.36]),
        ("upperarm_", "chest", [0.08, 0.50, 0.33]),
        ("lowerarm_", "upperarm_", [0.08, 0.31, 0.26]),
        ("hand_", "lowerarm_", [0.08, 0.08, 0.29]),
    ];
    let (mut names, mut parents, mut bind): (Vec<String>, Vec<Option<BoneIndex>>, Vec<DAffine3>) = Default::default();
    for (name, parent, [x, y, z]) in rows {
        let sides: &[(&str, f64)] = if name.ends_with('_') { &[("l", 1.0), ("r", -1.0)] } else { &[("", 1.0)] };
        for (side, sign) in sides {
            let find = |wanted: String| names.iter().position(|name| *name == wanted).map(BoneIndex::new);
            parents.push(if parent.ends_with('_') { find(format!("{parent}{side}")) } else { find(parent.into()) });
            names.push(format!("{name}{side}"));
            bind.push(DAffine3::from_translation(turn * DVec3::new(sign * x, y, z) * size));
        }
    }
    Skeleton::new(names, parents, bind).unwrap()
}

fn head(skeleton: &Skeleton, motion: &Motion, bone: &str, frame: usize) -> DVec3 {
    motion.frames[frame].pose.bones[skeleton.find(bone).unwrap()].translation
}

#[test]
fn feet_stand_in_order_and_the_stride_closes() {
    for (size, angle) in [(1.0, 0.0), (0.3, 1.1), (20.0, -2.0)] {
        let turn = DMat3::from_rotation_y(angle);
        let skeleton = dog(size, turn);
        let anatomy = Anatomy::new(&skeleton, |_| true);
        let motion = walk(&skeleton, &anatomy, 2, FRAMES).unwrap();
        assert_eq!(motion.frames.len(), 2 * FRAMES);
        let at = |bone: &str, frame: usize| head(&skeleton, &motion, bone, frame) / size;
        let rest = |bone: &str| skeleton.bind()[skeleton.find(bone).unwrap()].translation / size;
        // How far the foot of the shortest leg is below the head of its first bone; a foot that stands goes back by 0.44 of it below the body.
        let below = |top: &str, foot: &str| rest(top).y - rest(foot).y;
        let shortest = below("thigh_l", "ball_l").min(below("upperarm_l", "hand_l"));
        let stride = turn * DVec3::Z * (0.44 * shortest / STANCE);
        for (foot, down) in [("ball_l", 0.0), ("hand_l", 0.25), ("ball_r", 0.5), ("hand_r", 0.75)] {
            let since = |frame: usize| (frame as f64 / FRAMES as f64 - down + 1.0).fract();
            for frame in 0..2 * FRAMES {
                let place = at(foot, frame);
                assert!(place.y > rest(foot).y - 1e-7, "{foot} at {frame}: {}", place.y);
                if since(frame) < STANCE {
                    let first =
                        rest(foot) + stride * (frame as f64 / FRAMES as f64 - since(frame)) + 0.5 * STANCE * stride;
                    assert!(place.distance(first) < 1e-6, "{foot} at {frame}: {place}, not {first}");
                } else if (since(frame) - 0.5 * (1.0 + STANCE)).abs() < 0.02 {
                    assert!(place.y > rest(foot).y + 0.05, "{foot} at {frame} is lifted: {}", place.y);
                }
            }
        }
        for bone in skeleton.names().iter() {
            for frame in 0..FRAMES {
                let off = at(bone, frame + FRAMES) - at(bone, frame) - stride;
                assert!(off.length() < 1e-6, "{bone} at {frame}: {off}");
            }
        }
        // Elbows stay behind the line from shoulder to paw, knees before that from hip to hock.
        for (a, b, c, side) in [("upperarm_l", "lowerarm_l", "hand_l", -1.0), ("thigh_r", "calf_r", "foot_r", 1.0)] {
            for frame in 0..FRAMES {
                let (a, b, c) = (at(a, frame), at(b, frame), at(c, frame));
                let bend = (b - a).reject_from(c - a).dot(turn * DVec3::Z);
                assert!(side * bend > 0.01, "{frame}: {bend}");
            }
        }
    }
}

#[test]
fn what_has_no_four_legs_does_not_walk_on_them() {
    let at = |y: f64| DAffine3::from_translation(DVec3::Y * y);
    let names = ["hips", "spine", "head"].map(String::from).to_vec();
    let parents = vec![None, Some(BoneIndex::new(0)), Some(BoneIndex::new(1))];
    let skeleton = Skeleton::new(names, parents, vec![at(1.0), at(1.2), at(1.6)]).unwrap();
    let anatomy = Anatomy::new(&skeleton, |_| true);
    assert_eq!(walk(&skeleton, &anatomy, 1, FRAMES), Err(GaitError::NoLegs));
    let dog = dog(1.0, DMat3::IDENTITY);
    let anatomy = Anatomy::new(&dog, |_| true);
    assert!(matches!(walk(&dog, &anatomy, 1, 2), Err(GaitError::Frames { frames: 2, .. })));
    let flat =
        Skeleton::new(dog.names().to_vec(), dog.parents().to_vec(), vec![DAffine3::IDENTITY; dog.len()]).unwrap();
    assert!(walk(&flat, &Anatomy::new(&flat, |_| true), 1, FRAMES).is_err());
}
