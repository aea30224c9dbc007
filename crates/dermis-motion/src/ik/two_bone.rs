//! Two bones in closed form: shoulder, elbow, wrist.
//!
//! The elbow opens until the wrist is as far from the shoulder as the target is; then the whole limb turns onto the target, by the
//! smallest turn; then it swings about the line from shoulder to target until the elbow leans towards the pole.
//!
//! With h the elbow's axis, u from elbow to shoulder and v from elbow to wrist, the distance is
//! d² = |u|² + |v|² − 2 u·R(h, θ)v and u·R(h, θ)v = (u·h)(v·h) + a cos θ + b sin θ, with a = u⊥·v⊥ and b = u·(h × v): so
//! θ = atan2(b, a) ± acos((|u|² + |v|² − d² − 2 (u·h)(v·h)) / 2√(a² + b²)), which is the law of cosines if h is perpendicular to both bones.
//!
//! **Continuity.** The sign is kept: the elbow stays on its side of the straight arm, also through a target out of reach, where the
//! arm keeps a bend of [`LEAST_BEND`], from which the next frame knows the side and the plane.

use super::limits::wrapped;
use dermis_rig::glam::{DQuat, DVec3};
use std::f64::consts::PI;

/// The three joints of a limb and the axis of the middle one, in world space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoBone {
    /// Head of the first bone.
    pub root: DVec3,
    /// Head of the second bone.
    pub middle: DVec3,
    /// The end of the second bone.
    pub end: DVec3,
    /// The axis that the middle joint turns about; a positive angle bends the limb. Only its direction counts. Without a given
    /// axis, [`TwoBone::bend_axis`] finds one.
    pub axis: DVec3,
}

/// How a limb turns to reach its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoBoneTurns {
    /// Turns the second bone about the head of the second, in world axes, before the first turns.
    pub middle: DQuat,
    /// Angle of `middle` about the axis, radians.
    pub angle: f64,
    /// Turns the whole limb about the head of the first bone, in world axes.
    pub root: DQuat,
    /// Metres by which the target is too far, or too near.
    pub out_of_reach: f64,
}

/// Bend that is left in a straight limb, radians: it shortens the limb by 1e-15 of its length, and tells its plane to 1e-8.
pub const LEAST_BEND: f64 = 6e-8;

impl TwoBone {
    /// Returns the axis about which the limb is bent now, from the shorter way round; `None` if it is straight or folded to
    /// `1e-12`, or a bone has no length.
    pub fn bend_axis(root: DVec3, middle: DVec3, end: DVec3) -> Option<DVec3> {
        let (first, second) = (middle - root, end - middle);
        let normal = first.cross(second);
        (normal.length() > 1e-12 * first.length() * second.length())
            .then(|| normal.normalize_or_zero())
            .filter(|n| *n != DVec3::ZERO)
    }

    /// Returns the turns that bring the end to `target`. `range` holds the angle of the middle joint, counted from where it is; of two
    /// answers the one on the present side of the straight limb is taken, if it is allowed. With a `pole` the middle joint leans towards that
    /// point.
    ///
    /// A bone without length, an axis without direction and a target at the root leave what they cannot decide as it is.
    pub fn reach(&self, target: DVec3, pole: Option<DVec3>, range: [f64; 2]) -> TwoBoneTurns {
        let axis = self.axis.normalize_or_zero();
        let wanted = self.root.distance(target);
        let (angle, out_of_reach) = self.opened(axis, wanted, range);
        let middle = DQuat::from_axis_angle(if axis == DVec3::ZERO { DVec3::X } else { axis }, angle);
        let end = self.middle + middle * (self.end - self.middle);
        let mut root = onto(end - self.root, target - self.root, axis);
        if let (Some(pole), Some(line)) = (pole, (target - self.root).try_normalize()) {
            let lean = root * (self.middle - self.root);
            root = swivel(lean, pole - self.root, line) * root;
        }
        TwoBoneTurns { middle, angle, root, out_of_reach }
    }

    /// The angle of the middle joint at which the ends are `wanted` apart, and by how much no angle reaches that.
    fn opened(&self, axis: DVec3, wanted: f64, range: [f64; 2]) -> (f64, f64) {
        let (u, v) = (self.root - self.middle, self.end - self.middle);
        let along = u.dot(axis) * v.dot(axis);
        let (a, b) = (u.dot(v) - along, u.dot(axis.cross(v)));
        let size = a.hypot(b);
        let scale = u.length_squared() + v.length_squared();
        let apart = |cosine: f64| (scale - 2.0 * (along + size * cosine)).max(0.0).sqrt();
        let out_of_reach = (wanted - apart(-1.0)).max(apart(1.0) - wanted).max(0.0);
        if axis == DVec3::ZERO || size <= 1e-15 * scale {
            return (0.0, (wanted - apart(0.0)).abs());
        }
        let cosine = ((scale - wanted * wanted) / 2.0 - along) / size;
        // θ − atan2(b, a) is 0 where the limb is folded, ±π where it is straight.
        let folded = b.atan2(a);
        let opening = cosine.clamp(-1.0, 1.0).acos().min(PI - LEAST_BEND).max(LEAST_BEND);
        // The side that the limb is on now, at angle 0. Straight or folded, it bends by a positive angle about its axis.
        let now = wrapped(-folded);
        let side = if now > 1e-9 && now < PI - 1e-9 { 1.0 } else { -1.0 };
        let answers = [side, -side].map(|side| wrapped(folded + side * opening));
        let inside = |angle: f64| angle >= range[0] - 1e-12 && angle <= range[1] + 1e-12;
        let angle = answers.into_iter().find(|angle| inside(*angle)).unwrap_or(answers[0]);
        (angle.clamp(range[0], range[1].max(range[0])), out_of_reach)
    }
}

/// The smallest rotation from one direction to another; of a half turn the one about `axis`, as far as it is perpendicular.
/// The identity if a direction is missing.
pub(super) fn onto(from: DVec3, to: DVec3, axis: DVec3) -> DQuat {
    let (Some(from), Some(to)) = (from.try_normalize(), to.try_normalize()) else { return DQuat::IDENTITY };
    // |from + to| = 2 cos(angle/2): the quaternion is (from × (from + to), from · (from + to)), well conditioned but at a half turn.
    let half = from + to;
    if half.length() < 1e-9 {
        let across = axis - from * from.dot(axis);
        let about = across.try_normalize().unwrap_or_else(|| from.any_orthonormal_vector());
        return DQuat::from_axis_angle(about, PI);
    }
    let half = half.normalize();
    let v = from.cross(half);
    DQuat::from_xyzw(v.x, v.y, v.z, from.dot(half)).normalize()
}

/// The rotation about `line`, a unit vector, that turns the part of `lean` across it towards that of `pole`. The identity if one has none.
pub(super) fn swivel(lean: DVec3, pole: DVec3, line: DVec3) -> DQuat {
    DQuat::from_axis_angle(line, swivel_angle(lean, pole, line).unwrap_or(0.0))
}

/// The angle of [`swivel`], in −π..=π; `None` where `lean` or `pole` lies on the line.
pub(super) fn swivel_angle(lean: DVec3, pole: DVec3, line: DVec3) -> Option<f64> {
    let across = |v: DVec3| v - line * line.dot(v);
    let (from, to) = (across(lean), across(pole));
    // The bend that is left in a straight limb still has a direction; rounding has not.
    let enough = |part: DVec3, whole: DVec3| part.length() > 1e-12 * whole.length();
    (enough(from, lean) && enough(to, pole)).then(|| line.dot(from.cross(to)).atan2(from.dot(to)))
}
