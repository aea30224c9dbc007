//! Stacks of lattices, wires and skinning: bytes, and stacks whose JSON is changed. What is read deforms a character.

use crate::memory::{PLAIN, bounded};
use crate::{json, seeds};
use dermis_deform::Deform;
use dermis_io::{Space, UpAxis, stack_file};
use dermis_rig::glam::DVec3;
use dermis_testkit::{Arm, ArmPose};
use std::sync::OnceLock;

pub const WORDS: &[&str] = &[
    "\"type\":\"lattice\"",
    "\"type\":\"wires\"",
    "\"type\":\"lbs\"",
    "\"type\":\"dqs\"",
    "\"type\":\"rigid\"",
    "\"displacements\"",
    "\"outside\":\"clamped\"",
    "\"parent\":\"hand\"",
    "\"radius\"",
    "\"reference\"",
];

pub fn seeds() -> Vec<Vec<u8>> {
    seeds::stacks()
}

/// Takes the bytes as a stack over an arm.
pub fn bytes(bytes: &[u8]) {
    static ARM: OnceLock<Arm> = OnceLock::new();
    let arm = ARM.get_or_init(|| Arm::new(4, 5));
    for space in [Space::default(), Space { up: UpAxis::Z, metres_per_unit: 0.01, unit: "m".into() }] {
        // A layer of skinning is a word, and holds the weights of the whole rig.
        let length = bytes.len() * (1 + arm.weights().count());
        let Ok((_, stack)) = bounded(length, PLAIN, || stack_file::read(bytes, &arm.rig, &space)) else { return };
        if stack.layers().len() > 64 {
            return;
        }
        let rest = &arm.rig.mesh().positions;
        let mut skin = vec![DVec3::ZERO; rest.len()];
        for pose in ArmPose::some(2, 3) {
            let pose = arm.transforms(&pose);
            let Ok(()) = stack.posed(&pose).deform(rest, &mut skin);
        }
    }
}

/// Changes one of the seeds.
pub fn edits(script: &[u8]) {
    static GOOD: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    bytes(&json::edited(GOOD.get_or_init(seeds::stacks), script));
}
