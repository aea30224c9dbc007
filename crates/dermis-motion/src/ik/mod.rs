//! Inverse kinematics: joint rotations that bring bones where they are wanted.
//!
//! A [`Solver`] holds a skeleton and the [`JointLimits`] of its joints. [`Solver::solve`] takes a pose, as local transforms, and
//! [`Goal`]s, and gives the pose nearby that meets them, with a [`Reach`] per goal: what is left, and by how much the target is out of
//! reach. Begin every frame with the answer of the frame before, and limbs neither flip nor drift between frames.
//!
//! 1. **Start.** A chain with two joints is closed by the law of cosines ([`TwoBone`]); a longer one by FABRIK
//!    (Aristidou & Lasenby 2011, "FABRIK: a fast, iterative solver for the inverse kinematics problem").
//! 2. **All goals together.** Damped least squares on the joint rotations, goals of one priority weighed against each other, those of a
//!    later one in what the earlier leave free (Baerlocher & Boulic 2004, "An inverse kinematics architecture enforcing an arbitrary
//!    number of strict priority levels"). Joints at a limit leave the step; what a step does beyond a limit is projected back.
//!
//! ```
//! use dermis_motion::ik::{Goal, Solver};
//! use dermis_rig::{BoneIndex, Skeleton, glam::{DAffine3, DVec3}};
//! let at = |x, y| DAffine3::from_translation(DVec3::new(x, y, 0.0));
//! let bind = vec![at(0.0, 0.0), at(1.0, 0.1), at(2.0, 0.0)];
//! let [arm, forearm, hand] = [0, 1, 2].map(BoneIndex::new);
//! let names = ["arm", "forearm", "hand"].map(String::from).to_vec();
//! let skeleton = Skeleton::new(names, vec![None, Some(arm), Some(forearm)], bind)?;
//! let solver = Solver::new(&skeleton);
//! let target = DVec3::new(0.5, 1.2, 0.3);
//! let solved = solver.solve(&solver.rest(), &[Goal::point(arm, hand, target)])?;
//! assert!(solved.world().bones[hand].translation.distance(target) < 1e-9);
//! # let _ = forearm;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chain;
mod goal;
mod levels;
mod limits;
mod rows;
mod solve;
mod state;
#[cfg(test)]
mod tests;
mod two_bone;

pub use goal::{Goal, Pole, Reach, Target};
pub use limits::{Cone, Hinge, JointLimits, LimitError};
pub use solve::{Solved, Solver, SolverSettings, Stop};
pub use two_bone::{LEAST_BEND, TwoBone, TwoBoneTurns};

/// Why goals cannot be pursued.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum IkError {
    /// A pose of another number of bones.
    #[error("the pose has {found} bones, but the skeleton has {bones}")]
    PoseSize {
        /// How many the pose has.
        found: usize,
        /// How many the skeleton has.
        bones: usize,
    },
    /// A pose with NaN or infinity.
    #[error("the pose of bone \"{bone}\" is not finite")]
    NotFinitePose {
        /// The bone.
        bone: String,
    },
    /// Limits for another number of bones.
    #[error("there are limits for {found} joints, but the skeleton has {bones} bones")]
    LimitCount {
        /// How many limits.
        found: usize,
        /// How many bones.
        bones: usize,
    },
    /// A bone that the skeleton does not have.
    #[error("goal {goal} names bone {bone}, but there are {bones} bones")]
    NoBone {
        /// Which goal, from 0.
        goal: usize,
        /// The bone.
        bone: usize,
        /// How many bones there are.
        bones: usize,
    },
    /// A chain whose root is not above its end.
    #[error("goal {goal}: bone \"{root}\" is not above \"{end}\"")]
    NoChain {
        /// Which goal, from 0.
        goal: usize,
        /// The chain's root.
        root: String,
        /// The chain's end.
        end: String,
    },
    /// A pole for a joint that is not on the chain.
    #[error("goal {goal}: the joint \"{middle}\" that the pole is for does not lie between \"{root}\" and \"{end}\"")]
    PoleOffChain {
        /// Which goal, from 0.
        goal: usize,
        /// The joint.
        middle: String,
        /// The chain's root.
        root: String,
        /// The chain's end.
        end: String,
    },
    /// A target, pole, point or weight with NaN or infinity, a weight below zero, a direction of length zero.
    #[error("goal {goal} for bone \"{end}\": its {what} is not usable")]
    BadNumber {
        /// Which goal, from 0.
        goal: usize,
        /// The bone it is for.
        end: String,
        /// Which number.
        what: &'static str,
    },
    /// A chain without length cannot bring a point anywhere.
    #[error("goal {goal}: the chain from \"{root}\" to \"{end}\" has no length")]
    NoLength {
        /// Which goal, from 0.
        goal: usize,
        /// The chain's root.
        root: String,
        /// The chain's end.
        end: String,
    },
    /// A chain none of whose joints may turn.
    #[error("goal {goal}: every joint from \"{root}\" to \"{end}\" is locked")]
    AllLocked {
        /// Which goal, from 0.
        goal: usize,
        /// The chain's root.
        root: String,
        /// The chain's end.
        end: String,
    },
}
