//! Dynamics: bones that move as bodies do, after keys, clips and goals have had their say.
//!
//! 1. **Bodies.** A bone takes the convex hull of the skin that it moves most, with a density ([`Shape`], [`Bodies`]). Its joint lies at its
//!    head and turns as far as the scene or anatomy lets it ([`crate::ik::JointLimits`]).
//! 2. **Steps.** Rapier solves the bodies in steps of one length, in double precision. What hangs together is one multibody in reduced
//!    coordinates, so joints do not open. Springs are implicit, and pull to the animation at its own speed. Animated bones carry what hangs
//!    on them.
//! 3. **Frames.** A frame lies between two steps. The steps do not know the rate of the frames.
//!
//! A step goes from (q, v) to v' = v + h M⁻¹(f − c), q' = q + h v' (symplectic Euler): the energy of what only swings is bounded for all
//! time, and its period errs by the square of h. Everything runs in one thread, with the same arithmetic on every machine.
//!
//! Without the feature `dynamics` a scene with bodies is read, and refused when it is to be played.

#[cfg(not(feature = "dynamics"))]
mod absent;
#[cfg(feature = "dynamics")]
mod bodies;
#[cfg(feature = "dynamics")]
mod convert;
#[cfg(feature = "dynamics")]
mod rest;
#[cfg(feature = "dynamics")]
mod shape;
#[cfg(feature = "dynamics")]
mod show;
#[cfg(feature = "dynamics")]
mod simulate;
#[cfg(feature = "dynamics")]
mod squash;
#[cfg(all(test, feature = "dynamics"))]
mod tests;
#[cfg(feature = "dynamics")]
mod world;

use dermis_rig::BoneVec;
use dermis_rig::glam::{DAffine3, DVec3};

pub use crate::dynamics_spec::{
    AirSpec, BodySpec, DynamicsSpec, LEAST_BOUNCE, LEAST_RATE, LimitChoice, MOST_RATE, SpringSpec, SquashSpec,
};
#[cfg(not(feature = "dynamics"))]
pub use absent::Bodies;
#[cfg(not(feature = "dynamics"))]
pub(crate) use absent::{show, simulate};
#[cfg(feature = "dynamics")]
pub use bodies::{Above, Bodies, Body};
#[cfg(feature = "dynamics")]
pub use shape::{Shape, Solid};
#[cfg(feature = "dynamics")]
pub(crate) use show::show;
#[cfg(feature = "dynamics")]
pub(crate) use simulate::simulate;
#[cfg(feature = "dynamics")]
pub use squash::Contact;

/// What the scene says at a time, beside its bodies.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "dynamics"), allow(dead_code))]
pub(crate) struct Sample {
    /// The animation, bone to world.
    pub(crate) world: BoneVec<DAffine3>,
    /// The weight of every description of bodies, 0..1.
    pub(crate) weights: Vec<f64>,
    /// The velocity of the air, m/s.
    pub(crate) wind: DVec3,
}
