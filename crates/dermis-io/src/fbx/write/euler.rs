//! Rotations as three angles.

use crate::skinned_scene::motion::Turn;
use dermis_rig::glam::{DMat3, DQuat, DVec3};
use dermis_rig::rotation::from_euler_xyz;
use std::f64::consts::{PI, TAU};

/// cos y below which x and z turn about one axis and only their sum or difference counts.
const LOCKED: f64 = 1e-8;

/// What 32 bits hold of a number.
fn single(x: f64) -> f64 {
    f64::from(x as f32)
}

/// Angles about x, y and z in degrees, which change in straight lines between keys.
impl Turn for DVec3 {
    fn near(rotation: DQuat, before: Self) -> Self {
        angles(&DMat3::from_quat(rotation), before * 1f64.to_radians()).map(f64::to_degrees)
    }

    fn stored(self) -> Self {
        self.map(single)
    }

    fn is_finite(self) -> bool {
        DVec3::is_finite(self)
    }

    fn between(a: Self, b: Self, s: f64) -> DMat3 {
        from_euler_xyz(a.lerp(b, s).map(f64::to_radians))
    }

    fn scale(scale: DVec3) -> DVec3 {
        scale.map(single)
    }

    /// The file holds percentages.
    fn weight(weight: f64) -> f64 {
        single(100.0 * weight) / 100.0
    }
}

/// Angles x, y, z with R = Rz Ry Rx, in radians. Of all that make this rotation those nearest to `near`, so that a motion from one to
/// the other has no jump.
fn angles(r: &DMat3, near: DVec3) -> DVec3 {
    let m = |row: usize, col: usize| r.col(col)[row];
    let cosine = m(0, 0).hypot(m(1, 0));
    let y = (-m(2, 0)).atan2(cosine);
    if cosine < LOCKED {
        let x = near.x;
        let z = if y > 0.0 { x - m(0, 1).atan2(m(1, 1)) } else { (-m(0, 1)).atan2(m(1, 1)) - x };
        return unrolled(DVec3::new(x, y, z), near);
    }
    let one = DVec3::new(m(2, 1).atan2(m(2, 2)), y, m(1, 0).atan2(m(0, 0)));
    let other = DVec3::new(one.x + PI, PI - one.y, one.z + PI);
    let (one, other) = (unrolled(one, near), unrolled(other, near));
    if one.distance_squared(near) <= other.distance_squared(near) { one } else { other }
}

/// The same angles with whole turns added until each is half a turn from `near` at most.
fn unrolled(angles: DVec3, near: DVec3) -> DVec3 {
    angles - TAU * ((angles - near) / TAU).round()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any rotation comes back, also where y is a right angle.
    #[test]
    fn angles_make_their_rotation() {
        for step in 0..400 {
            let at = f64::from(step);
            let mut given = DVec3::new(0.37 * at, 0.61 * at, 1.13 * at);
            if step % 4 == 0 {
                given.y = if step % 8 == 0 { 0.5 * PI } else { -0.5 * PI };
            }
            let r = from_euler_xyz(given);
            let found = from_euler_xyz(angles(&r, DVec3::new(at, -at, 0.3)));
            assert!(found.abs_diff_eq(r, 2e-8), "{given}"); // what LOCKED lets go
        }
    }

    /// A turn of many rounds about each axis stays continuous.
    #[test]
    fn angles_have_no_jump() {
        for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
            let mut near = DVec3::ZERO;
            for step in 1..200 {
                let turn = DMat3::from_axis_angle(axis, 0.2 * f64::from(step));
                let found = angles(&turn, near);
                assert!((found - near).abs().max_element() < 0.3, "{axis}: {near} to {found}");
                near = found;
            }
            assert!((near - axis * 0.2 * 199.0).length() < 1e-7, "{axis}: {near}");
        }
    }
}
