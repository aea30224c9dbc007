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

mod bodies;
mod convert;
mod rest;
mod shape;
mod show;
mod simulate;
mod squash;
#[cfg(test)]
mod tests;
mod world;

pub use crate::dynamics_spec::{
    AirSpec, BodySpec, DynamicsSpec, LEAST_BOUNCE, LEAST_RATE, LimitChoice, MOST_RATE, SpringSpec, SquashSpec,
};
pub use bodies::{Above, Bodies, Body};
pub use shape::{Shape, Solid};
pub(crate) use show::show;
pub(crate) use simulate::{Sample, simulate};
pub use squash::Contact;
