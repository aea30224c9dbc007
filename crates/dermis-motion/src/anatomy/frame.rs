//! Which way a body faces, from where its parts are at rest.

use crate::body::{Part, Role, Side};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneVec, Skeleton};

/// How a body stands at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stance {
    /// The back is upright.
    Upright,
    /// The back is level, on four legs.
    Level,
}

/// The directions of a body at rest, unit vectors of the world, right-handed: forward = left × up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyFrame {
    /// To the body's left.
    pub left: DVec3,
    /// Against the legs.
    pub up: DVec3,
    /// Where it faces.
    pub forward: DVec3,
    /// How it stands.
    pub stance: Stance,
}

impl BodyFrame {
    /// Returns the frame of a skeleton. What its bones do not show is taken from the world: left is +X, up is +Y.
    pub fn new(skeleton: &Skeleton, roles: &BoneVec<Option<Role>>) -> Self {
        let head = |bone| skeleton.bind()[bone].translation;
        let middle = |wanted: &dyn Fn(&Role) -> bool| {
            let all: Vec<DVec3> =
                skeleton.bones().filter(|b| roles[*b].is_some_and(|r| wanted(&r))).map(head).collect();
            (!all.is_empty()).then(|| all.iter().sum::<DVec3>() / all.len() as f64)
        };
        let follows = |part: Part| matches!(part, Part::Twist | Part::End | Part::Helper);
        let mut across = DVec3::ZERO;
        for (bone, role) in roles.enumerate() {
            let Some(role) = role.filter(|role| role.side == Side::Left && !follows(role.part)) else { continue };
            let partner = roles.enumerate().find(|(_, other)| **other == Some(Role { side: Side::Right, ..role }));
            if let Some((partner, _)) = partner {
                across += head(bone) - head(partner);
            }
        }
        let left = across.try_normalize().unwrap_or(DVec3::X);
        let of = |part: Part| middle(&move |role: &Role| role.part == part && role.segment == 0);
        let hips = of(Part::Thigh).or_else(|| of(Part::Hips));
        // Without feet legs do not show the ground: shins of animals slant.
        let foot = of(Part::Foot);
        let torso =
            of(Part::UpperArm).or_else(|| of(Part::Neck)).or_else(|| of(Part::Head)).zip(hips).map(|(a, b)| a - b);
        let legs = of(Part::Thigh).zip(foot).map(|(thigh, foot)| thigh - foot);
        let square = |v: DVec3| (v - left * left.dot(v)).try_normalize();
        let up = legs.and_then(square).or_else(|| square(DVec3::Y)).unwrap_or(DVec3::Z);
        let level = torso.and_then(DVec3::try_normalize).is_some_and(|torso| torso.dot(up) < 0.6);
        let stance = if level { Stance::Level } else { Stance::Upright };
        Self { left, up, forward: left.cross(up), stance }
    }

    /// The side of the belly: forward of an upright body, down of one on four legs.
    pub fn ventral(&self) -> DVec3 {
        match self.stance {
            Stance::Upright => self.forward,
            Stance::Level => -self.up,
        }
    }
}
