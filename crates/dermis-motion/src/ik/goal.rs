//! What a solve is asked for, and how near it came.

use dermis_rig::BoneIndex;
use dermis_rig::glam::{DQuat, DVec3};

/// A wish for a bone, and the joints that may turn for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// The first bone of the chain: it and those below it, down to [`Self::end`], may turn.
    pub root: BoneIndex,
    /// The bone that the goal is for.
    pub end: BoneIndex,
    /// The point that goes to the target, in the frame of `end`; its head by default.
    pub point: DVec3,
    /// Where it goes.
    pub target: Target,
    /// Where the chain bends to.
    pub pole: Option<Pole>,
    /// What its squared residual counts among goals of one priority; at zero the goal is measured and not pursued.
    pub weight: f64,
    /// 0 comes first. A goal moves what goals of lower numbers leave free.
    pub priority: u32,
}

/// Where a bone shall be, in world space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// The goal's point here, metres.
    Point(DVec3),
    /// The goal's point here, and the bone turned so: the rotation from the bone's own axes to the world.
    Frame(DVec3, DQuat),
    /// The bone turned so.
    Rotation(DQuat),
    /// A direction of the bone, in its own axes, shows from its head to a point of the world.
    LookAt {
        /// The direction, of any length but zero.
        axis: DVec3,
        /// The point.
        point: DVec3,
    },
}

/// Which way a chain bends: the joint `middle` leans from the line between the chain's two ends towards a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pole {
    /// The joint that leans: one between `root` and `end`; of two bones the elbow.
    pub middle: BoneIndex,
    /// The point, world.
    pub point: DVec3,
}

/// How near a goal came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// Metres between the goal's point and its target; zero of a target that is no point.
    pub distance: f64,
    /// Radians between the bone's direction and its target; zero of a point.
    pub angle: f64,
    /// Metres by which the target lies outside of what the chain's lengths reach, limits aside: too far, or too near for a chain
    /// with one long bone.
    pub out_of_reach: f64,
    /// Length of the chain from the head of its root to the goal's point, metres. Residuals are judged in parts of it.
    pub length: f64,
    /// Radians between the side that the chain bends to and its pole; zero without a pole, and of a chain that is straight.
    pub off_pole: f64,
}

impl Goal {
    /// The head of `end` shall be at a point; the bones from `root` to the one above `end` turn, and `end` with them.
    pub fn point(root: BoneIndex, end: BoneIndex, target: DVec3) -> Self {
        Self::new(root, end, Target::Point(target))
    }

    /// The bones from `root` to `end` may turn for `target`.
    pub fn new(root: BoneIndex, end: BoneIndex, target: Target) -> Self {
        Self { root, end, point: DVec3::ZERO, target, pole: None, weight: 1.0, priority: 0 }
    }

    /// The same goal with a pole.
    #[must_use]
    pub fn with_pole(self, middle: BoneIndex, point: DVec3) -> Self {
        Self { pole: Some(Pole { middle, point }), ..self }
    }

    /// The same goal for another point of the end bone, in its own frame.
    #[must_use]
    pub fn at(self, point: DVec3) -> Self {
        Self { point, ..self }
    }

    /// The same goal with another weight.
    #[must_use]
    pub fn weighing(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// The same goal at another priority.
    #[must_use]
    pub fn after(self, priority: u32) -> Self {
        Self { priority, ..self }
    }

    /// The place that the target names, if it names one.
    pub(super) fn place(&self) -> Option<DVec3> {
        match self.target {
            Target::Point(place) | Target::Frame(place, _) => Some(place),
            Target::Rotation(_) | Target::LookAt { .. } => None,
        }
    }
}

impl Reach {
    /// Whether the goal is met to `tolerance`, in parts of the chain's length and in radians.
    pub fn is_met(&self, tolerance: f64) -> bool {
        self.distance <= tolerance * self.length && self.angle <= tolerance
    }
}
