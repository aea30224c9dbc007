//! Bodies that give way: how the ground pushes them, and what they look like.

use super::bodies::Body;
use super::world::State;
use crate::dynamics_spec::{LEAST_BOUNCE, SquashSpec};
use dermis_rig::glam::DVec3;

/// A spring and a damper between a body and the ground: m ẍ = −k x − c ẋ as long as that pushes.
///
/// With β = c/2m and ω² = k/m − β², a body that arrives with the velocity v leaves when the force is zero, after T = arg(β² − ω² + 2iβω)/ω
/// = 2 atan(ω/β)/ω, with the velocity e v, e = exp(−βT). T and e are given: β = −ln e / T, and ωT solves tan(y/2) = y/(−ln e).
///
/// Source: Schwager & Pöschel 2007, "Coefficient of restitution and linear-dashpot model revisited".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// β, 1/s.
    pub damping: f64,
    /// β² + ω², 1/s².
    pub stiffness: f64,
}

impl Contact {
    /// The contact of a body that stays for so many seconds, and leaves with a part of its velocity, [`LEAST_BOUNCE`] to 1.
    pub fn new(seconds: f64, bounce: f64) -> Self {
        let b = -bounce.clamp(LEAST_BOUNCE, 1.0).ln();
        // tan(y/2) b − y rises from below zero to infinity on (0, π); of b = 0 the root is π.
        let (mut low, mut high) = (0.0, std::f64::consts::PI);
        for _ in 0..60 {
            let y = 0.5 * (low + high);
            if (0.5 * y).sin() * b > (0.5 * y).cos() * y { high = y } else { low = y }
        }
        let (damping, turns) = (b / seconds, 0.5 * (low + high) / seconds);
        Self { damping, stiffness: damping * damping + turns * turns }
    }

    /// The force on a body of a mass that is so deep in the ground and rises with a velocity; it never pulls.
    pub fn force(&self, mass: f64, depth: f64, rises: f64) -> f64 {
        if depth <= 0.0 {
            return 0.0;
        }
        (mass * (self.stiffness * depth - 2.0 * self.damping * rises)).max(0.0)
    }
}

/// What is left at least of a body's height: one that is squashed further has met the ground too fast for its softness.
const LEAST: f64 = 0.15;

/// How high a soft body is, over its height at rest: higher where it rises or falls, and on the ground by what brings its lowest point there.
/// `None` if little of its height is left. Across, it is wider by the square root, about the middle of its mass: the volume stays.
pub fn height(body: &Body, spec: &SquashSpec, state: &State, ground: Option<f64>) -> Option<f64> {
    let arm = state.rotation * body.shape.middle;
    let velocity = state.linear + state.angular.cross(arm);
    let stretched = 1.0 + spec.stretch * velocity.y.abs();
    let below = body.shape.reach(state.rotation.conjugate() * -DVec3::Y);
    let pressed = ground.map_or(stretched, |ground| stretched.min((state.head.y + arm.y - ground) / below));
    (pressed >= LEAST).then_some(pressed)
}
