//! Scenes: bytes, and scenes whose JSON is changed. What is read is played on an arm.

use crate::memory::{PLAIN, bounded};
use crate::{json, seeds};
use dermis_io::scene;
use dermis_motion::{PlayError, Player};
use dermis_rig::{Frame, Motion};
use dermis_testkit::{Arm, ArmPose};
use std::sync::OnceLock;

pub const WORDS: &[&str] = &[
    "\"controls\"",
    "\"keys\"",
    "\"ease\":\"tcb\"",
    "\"turn\"",
    "\"quaternions\"",
    "\"layers\"",
    "\"after\":\"cycle-offset\"",
    "\"goals\"",
    "\"look-at\"",
    "\"hand\"",
    "\"dynamics\"",
    "\"bodies\"",
    "\"spring\"",
    "noise(",
    "clamp(",
];

pub fn seeds() -> Vec<Vec<u8>> {
    seeds::played_scenes()
}

/// Takes the bytes as a scene for an arm that can smile, whose layers all play one clip.
pub fn bytes(bytes: &[u8]) {
    static ARM: OnceLock<Arm> = OnceLock::new();
    let arm = ARM.get_or_init(|| Arm::new(4, 5));
    let Ok(file) = bounded(bytes.len(), PLAIN, || scene::read(bytes, "scene")) else { return };
    /// What is played within a moment.
    const MOST: usize = 1 << 12;
    let scene = &file.scene;
    let values =
        scene.controls.len() + scene.maps.len() + scene.layers.len() + scene.drives.len() + 30 * scene.goals.len();
    if scene.clock.frames() * (1 + values) > MOST {
        return;
    }
    let seconds = scene.clock.elapsed(scene.clock.frames() - 1);
    if scene.dynamics.as_ref().is_some_and(|spec| seconds * spec.rate * (1 + values) as f64 > MOST as f64) {
        return;
    }
    let skeleton = arm.rig.skeleton();
    let poses = ArmPose::some(4, 4);
    let frames = poses.iter().enumerate().map(|(at, pose)| Frame {
        label: at.to_string(),
        time: Some(at as f64 * 0.25),
        pose: skeleton.world_pose(&arm.transforms(pose)),
    });
    let clips = vec![Motion { name: "wave".into(), frames: frames.collect() }; file.clips.len()];
    let shapes = ["smile".to_owned()];
    let player = Player::new(scene, skeleton, &shapes, &clips).and_then(|player| player.with_bodies(&arm.rig));
    let played = player.map_err(PlayError::Scene);
    match played.and_then(|player| player.play(&dermis_rig::silent)) {
        Ok(played) => {
            assert_eq!(played.motion.frames.len(), scene.clock.frames());
            let poses = played.motion.frames.iter().flat_map(|frame| frame.pose.bones.iter());
            poses.for_each(|bone| assert!(bone.is_finite(), "{bone}"));
            assert!(played.shape_weights.iter().flatten().all(|weight| weight.is_finite()));
        }
        Err(PlayError::Scene(error)) => assert!(file.locate(&error).line >= 1),
        Err(PlayError::Cancelled) => panic!("nobody stopped it"),
    }
}

/// Changes one of the seeds.
pub fn edits(script: &[u8]) {
    static GOOD: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    bytes(&json::edited(GOOD.get_or_init(seeds::played_scenes), script));
}
