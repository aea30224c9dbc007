//! Springs of a chain of bones, as VRM 1.0 defines them: tails, ears, hair, straps.
//!
//! Bone k of a chain turns about its head so that its tail, the head of the next, follows a point mass. With h the head, and per step of
//! dt seconds
//!
//! ```text
//! x⁺ = x + (1 − drag)(x − x⁻) + dt · stiffness · R_parent R_initial a + dt · gravity · (0, −1, 0)
//! x⁺ ← h + |a| (x⁺ − h) / |x⁺ − h|
//! ```
//!
//! R_parent is the rotation of the parent, already moved, R_initial the bone's own at rest, and a its way from head to tail: what the bone
//! does in a clip does not count. Bones that are nearer to the root move first. Everything is in the world, right-handed, Y up, metres.
//!
//! **The step is part of the law.** Inertia loses the part `drag` per step, and the other terms grow with dt alone, so parameters mean
//! something only together with a step. Programs step once per frame that they draw; [`STEP`] stands for that.
//!
//! Source: VRM consortium, "VRMC_springBone 1.0", section "SpringBone Algorithm"; `SpringBoneSimulator3D` of Godot 4.4 takes the same step.
//! Colliders and centres are left out.
//!
//! ```
//! use dermis_deform::secondary::{Anchor, ChainMotion, ChainSpring, STEP};
//! use dermis_rig::glam::{DQuat, DVec3};
//! let spring = ChainSpring::new(1.0, 0.4, 0.0)?;
//! let mut chain = ChainMotion::new(vec![DVec3::NEG_Z * 0.1, DVec3::NEG_Z * 0.1]);
//! chain.rest(&Anchor { head: DVec3::ZERO, rotation: DQuat::IDENTITY });
//! chain.step(&spring, STEP, &Anchor { head: DVec3::X * 0.02, rotation: DQuat::IDENTITY }); // the tails stay behind
//! assert!(chain.tails().all(|tail| tail.x < 0.01));
//! # Ok::<(), dermis_deform::secondary::SecondaryError>(())
//! ```

use super::SecondaryError;
use dermis_rig::glam::{DQuat, DVec3};

/// The seconds of a step at which the springs of chains are learnt and mean something: programs draw 60 frames a second.
pub const STEP: f64 = 1.0 / 60.0;

/// The largest stiffness and gravity, m/s: a step moves a tail by a hundred kilometres.
const LARGEST: f64 = 1e7;

/// The springs of a chain; all its bones have the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChainSpring {
    stiffness: f64,
    drag: f64,
    gravity: f64,
}

impl ChainSpring {
    /// Springs of a chain.
    ///
    /// - `stiffness`: how far a second pulls the tail towards where rest would have it, m/s (`stiffness` of VRM)
    /// - `drag`: the part of its move that a tail loses in a step, 0..=1 (`dragForce`)
    /// - `gravity`: how far a second pulls the tail down, m/s (`gravityPower`)
    ///
    /// # Errors
    /// [`SecondaryError::Setting`].
    pub fn new(stiffness: f64, drag: f64, gravity: f64) -> Result<Self, SecondaryError> {
        let setting = |what, value, rule| Err(SecondaryError::Setting { what, value, rule });
        for (what, value) in [("stiffness of a chain", stiffness), ("gravity of a chain", gravity)] {
            if !(0.0..=LARGEST).contains(&value) {
                return setting(what, value, "it must lie between 0 and 1e7 metres per second");
            }
        }
        if !(0.0..=1.0).contains(&drag) {
            return setting("drag of a chain", drag, "it must lie in 0..1");
        }
        Ok(Self { stiffness, drag, gravity })
    }

    /// m/s, towards rest.
    pub fn stiffness(&self) -> f64 {
        self.stiffness
    }

    /// The part of its move that a tail loses in a step.
    pub fn drag(&self) -> f64 {
        self.drag
    }

    /// m/s, downwards.
    pub fn gravity(&self) -> f64 {
        self.gravity
    }
}

/// What a chain hangs on: where the head of its first bone is, and how the bone above has turned since rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor {
    /// Metres, world.
    pub head: DVec3,
    /// From rest world to posed world.
    pub rotation: DQuat,
}

impl Anchor {
    /// Where rest would have the tail of a bone that hangs here; `way` is its head to its tail at rest.
    fn goal(&self, way: DVec3) -> DVec3 {
        self.rotation * way
    }

    /// What the next bone hangs on, if this one points from its head to `towards`: turned the shortest way from where rest would have it.
    fn below(&self, way: DVec3, towards: DVec3) -> Self {
        let goal = self.goal(way).normalize_or_zero();
        let now = (towards - self.head).try_normalize().unwrap_or(goal);
        let turn = DQuat::from_rotation_arc(goal, now);
        Self { head: self.head + now * way.length(), rotation: (turn * self.rotation).normalize() }
    }
}

/// A chain that swings.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainMotion {
    /// Head to tail of every bone at rest, rest world, metres.
    ways: Vec<DVec3>,
    /// The tail of every bone a step ago, and now.
    tails: Vec<[DVec3; 2]>,
}

impl ChainMotion {
    /// A chain of bones with these ways from head to tail at rest, the nearest to the root first; at rest in the rest pose about the
    /// origin.
    pub fn new(ways: Vec<DVec3>) -> Self {
        let tails = vec![[DVec3::ZERO; 2]; ways.len()];
        let mut chain = Self { ways, tails };
        chain.rest(&Anchor { head: DVec3::ZERO, rotation: DQuat::IDENTITY });
        chain
    }

    /// Begins anew, at rest, where rest would have the tails.
    pub fn rest(&mut self, anchor: &Anchor) {
        let mut head = anchor.head;
        for (way, tail) in self.ways.iter().zip(&mut self.tails) {
            head += anchor.goal(*way);
            *tail = [head; 2];
        }
    }

    /// Begins anew with the tail of every bone a step ago, and now; of bones beyond the end of `tails` nothing changes.
    pub fn begin(&mut self, tails: &[[DVec3; 2]]) {
        self.tails.iter_mut().zip(tails).for_each(|(own, tail)| *own = *tail);
    }

    /// Takes a step of `dt` seconds, after which the chain hangs on `anchor`.
    pub fn step(&mut self, spring: &ChainSpring, dt: f64, anchor: &Anchor) {
        let mut at = *anchor;
        for (way, [before, now]) in self.ways.iter().zip(&mut self.tails) {
            let inertia = (*now - *before) * (1.0 - spring.drag);
            let stiffness = at.goal(*way).normalize_or_zero() * (spring.stiffness * dt);
            let external = DVec3::NEG_Y * (spring.gravity * dt);
            at = at.below(*way, *now + inertia + stiffness + external);
            (*before, *now) = (*now, at.head);
        }
    }

    /// The tail of every bone, metres, world.
    pub fn tails(&self) -> impl ExactSizeIterator<Item = DVec3> + '_ {
        self.tails.iter().map(|tail| tail[1])
    }

    /// Where each bone is if its tails point to these: its head, and its rotation from rest world to posed world.
    pub fn placed<'a>(
        &'a self,
        anchor: &Anchor,
        tails: impl Iterator<Item = DVec3> + 'a,
    ) -> impl Iterator<Item = Anchor> + 'a {
        let mut at = *anchor;
        self.ways.iter().zip(tails).map(move |(way, tail)| {
            let head = at.head;
            at = at.below(*way, tail);
            Anchor { head, rotation: at.rotation }
        })
    }
}
