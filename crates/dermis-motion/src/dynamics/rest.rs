//! When bodies have come to rest.
//!
//! Friction and the limits of many joints are solved in passes. What these leave lets a heap of limbs crawl for ever, by a centimetre a
//! second. So bodies that hardly move for a while stay where they are.

use super::bodies::{Above, Bodies};
use super::world::State;
use crate::dynamics_spec::DynamicsSpec;
use dermis_rig::glam::{DMat3, DVec3};

/// How long bodies hardly move before they rest, seconds.
const SECONDS: f64 = 0.5;

/// How high a motion could lift all bodies that hardly move, as a part of the largest extent of a body.
const LIFT: f64 = 3e-4;

/// How far above the ground a body still lies on it, as a part of the largest extent of a body.
const NEAR: f64 = 0.01;

/// Watches whether bodies rest. They do after half a second in which one of them lay on the ground and
///
/// ```text
/// Σ (½ m v² + ½ ω·I ω)  <  LIFT · h · Σ m g
/// ```
///
/// with h the largest extent of a body, and g its gravity. Bodies that hang on an animation, follow a spring or feel the air never rest, because
/// these move them on.
pub struct Rest {
    /// The ground, where these bodies can rest on it.
    ground: Option<f64>,
    /// h.
    extent: f64,
    /// For how long they have hardly moved, seconds.
    still: f64,
}

impl Rest {
    /// Watches the bodies that move.
    pub fn new(bodies: &Bodies, spec: &DynamicsSpec, moves: &[bool]) -> Self {
        let moving = || bodies.all.iter().zip(moves).filter(|(_, moves)| **moves).map(|(body, _)| body);
        let left_alone = spec.air.is_none()
            && moving().all(|body| {
                let hangs = match body.above {
                    Above::Nothing => false,
                    Above::Bone(_) => true,
                    Above::Body(above) => !moves[above],
                };
                !hangs && spec.bodies[body.spec].spring.is_none()
            });
        let width = |axis: DVec3, body: &super::Body| body.shape.reach(axis) + body.shape.reach(-axis);
        let extents = moving().flat_map(|body| DVec3::AXES.map(|axis| width(axis, body)));
        Self { ground: spec.ground.filter(|_| left_alone), extent: extents.fold(0.0, f64::max), still: 0.0 }
    }

    /// Whether the bodies rest, after a step that has brought them to `states`.
    pub fn after(&mut self, bodies: &Bodies, spec: &DynamicsSpec, states: &[Option<State>]) -> bool {
        let Some(ground) = self.ground else { return false };
        let (mut energy, mut weight, mut lowest) = (0.0, 0.0, f64::MAX);
        for (body, state) in bodies.all.iter().zip(states) {
            let Some(state) = state else { continue };
            let arm = state.rotation * body.shape.middle;
            let speed = state.linear + state.angular.cross(arm);
            let turning = DMat3::from_quat(state.rotation).transpose() * state.angular;
            energy += 0.5 * (body.mass * speed.length_squared() + turning.dot(body.inertia * turning));
            weight += body.mass * (spec.gravity * spec.bodies[body.spec].gravity).length();
            let down = body.shape.reach(state.rotation.conjugate() * -DVec3::Y);
            lowest = lowest.min((state.head + arm).y - down - ground);
        }
        let lies = lowest < NEAR * self.extent;
        self.still = if lies && energy < LIFT * self.extent * weight { self.still + 1.0 / spec.rate } else { 0.0 };
        self.still >= SECONDS
    }
}
