//! Rotations over time: Euler angles in any order, and quaternions by slerp or squad.

use crate::curve::{AT_KEY, Beyond, KeyFault, inside};
use dermis_rig::glam::{DQuat, DVec3};
use dermis_rig::rotation::{from_rotation_vector, rotation_vector, slerp};
use std::str::FromStr;

/// An axis of coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The first.
    X,
    /// The second.
    Y,
    /// The third.
    Z,
}

impl Axis {
    /// The unit vector along it.
    pub fn unit(self) -> DVec3 {
        match self {
            Self::X => DVec3::X,
            Self::Y => DVec3::Y,
            Self::Z => DVec3::Z,
        }
    }
}

/// The order of three rotations about axes of coordinates: the first letter turns first, all about fixed axes. `XYZ` is
/// R = R_z R_y R_x, as in Blender, Maya and FBX. The first and the last axis may be the same (`ZXZ`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EulerOrder([Axis; 3]);

impl EulerOrder {
    /// About x, then y, then z.
    pub const XYZ: Self = Self([Axis::X, Axis::Y, Axis::Z]);

    /// The rotation of three angles, radians: the first about x, the second about y, the third about z; of an order such as `ZXZ`,
    /// in the order of its letters.
    pub fn rotation(self, angles: [f64; 3]) -> DQuat {
        let repeats = self.0[0] == self.0[2];
        self.0.iter().enumerate().fold(DQuat::IDENTITY, |turned, (at, axis)| {
            let angle = angles[if repeats { at } else { *axis as usize }];
            DQuat::from_axis_angle(axis.unit(), angle) * turned
        })
    }
}

impl Default for EulerOrder {
    fn default() -> Self {
        Self::XYZ
    }
}

impl FromStr for EulerOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let axes: Option<Vec<Axis>> = (text.chars())
            .map(|letter| match letter.to_ascii_uppercase() {
                'X' => Some(Axis::X),
                'Y' => Some(Axis::Y),
                'Z' => Some(Axis::Z),
                _ => None,
            })
            .collect();
        match axes.as_deref() {
            Some(&[a, b, c]) if a != b && b != c => Ok(Self([a, b, c])),
            _ => Err(format!(
                "\"{text:.20}\" is no order of axes: three of the letters XYZ are, no two neighbours the same"
            )),
        }
    }
}

/// A rotation at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnKey {
    /// Seconds.
    pub time: f64,
    /// The rotation; its length is made one.
    pub turn: DQuat,
}

/// How a rotation goes from key to key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TurnEase {
    /// The key's rotation until the next key.
    Step,
    /// The shorter arc, at constant speed.
    #[default]
    Slerp,
    /// Smoothly through all keys.
    Squad,
}

/// A rotation over time, from keys.
///
/// Squad is slerp(slerp(qᵢ, qᵢ₊₁, s), slerp(aᵢ, aᵢ₊₁, s), 2 s (1 − s)) with aᵢ = qᵢ exp(−(log(qᵢ⁻¹ qᵢ₊₁) + log(qᵢ⁻¹ qᵢ₋₁)) / 4); at
/// the ends a = q. Angular velocity is continuous at keys where the intervals on both sides are equally long.
///
/// Source: Shoemake 1985, "Animating rotation with quaternion curves"; Shoemake 1987, "Quaternion calculus and fast animation".
#[derive(Clone, Debug, PartialEq)]
pub struct TurnCurve {
    keys: Vec<TurnKey>,
    ease: TurnEase,
    before: Beyond,
    after: Beyond,
    /// aᵢ of squad.
    inner: Vec<DQuat>,
}

impl TurnCurve {
    /// A rotation through keys. [`Beyond::Linear`] goes on with the last arc at its speed.
    ///
    /// # Errors
    /// [`KeyFault`]: no keys, times that do not ascend, a number that is not finite, a quaternion of length zero.
    pub fn new(keys: &[TurnKey], ease: TurnEase, before: Beyond, after: Beyond) -> Result<Self, KeyFault> {
        if keys.is_empty() {
            return Err(KeyFault::None);
        }
        let mut kept: Vec<TurnKey> = Vec::with_capacity(keys.len());
        for (at, key) in keys.iter().enumerate() {
            let length = key.turn.length();
            if !(key.time.is_finite() && length.is_finite() && length > 1e-9) {
                return Err(KeyFault::NotFinite { at });
            }
            let mut turn = key.turn / length;
            if let Some(before) = kept.last() {
                if key.time <= before.time {
                    return Err(KeyFault::Order { at, time: key.time, before: before.time });
                }
                // q and −q are one rotation: the nearer one makes the arc short.
                turn = if before.turn.dot(turn) < 0.0 { -turn } else { turn };
            }
            kept.push(TurnKey { time: key.time, turn });
        }
        let inner = (0..kept.len()).map(|at| inner(&kept, at)).collect();
        Ok(Self { keys: kept, ease, before, after, inner })
    }

    /// The rotation at a time, seconds.
    pub fn rotation(&self, time: f64) -> DQuat {
        let (first, last) = (self.keys[0], self.keys[self.keys.len() - 1]);
        let beyond = match time {
            t if t < first.time => self.before,
            t if t > last.time => self.after,
            _ => return self.inside(time),
        };
        match (beyond, &self.keys[..]) {
            (Beyond::Linear, [.., a, b]) if time > last.time => onwards(a, b, time),
            (Beyond::Linear, [a, b, ..]) => onwards(a, b, time),
            (Beyond::CycleOffset, [_, .., _]) => {
                let (at, cycles) = inside(time, first.time, last.time, beyond);
                let whole = rotation_vector(last.turn * first.turn.conjugate());
                // Whole cycles turn about one axis, so they add up.
                from_rotation_vector(whole * cycles) * self.inside(at)
            }
            _ => self.inside(inside(time, first.time, last.time, beyond).0),
        }
    }

    fn inside(&self, time: f64) -> DQuat {
        let after = self.keys.partition_point(|key| key.time <= time + AT_KEY);
        let (Some(from), Some(to)) = (after.checked_sub(1), self.keys.get(after)) else {
            return self.keys[after.saturating_sub(1)].turn;
        };
        let a = self.keys[from];
        let s = ((time - a.time) / (to.time - a.time)).max(0.0);
        match self.ease {
            TurnEase::Step => a.turn,
            TurnEase::Slerp => slerp(a.turn, to.turn, s),
            TurnEase::Squad => {
                let outer = slerp(a.turn, to.turn, s);
                slerp(outer, slerp(self.inner[from], self.inner[after], s), 2.0 * s * (1.0 - s))
            }
        }
    }
}

fn inner(keys: &[TurnKey], at: usize) -> DQuat {
    let q = keys[at].turn;
    let (Some(before), Some(after)) = (at.checked_sub(1).and_then(|i| keys.get(i)), keys.get(at + 1)) else { return q };
    let step = |other: DQuat| rotation_vector(q.conjugate() * other);
    // A rotation vector is twice the logarithm of its quaternion, and exp takes it back: the factor is that of the formula.
    q * from_rotation_vector(-(step(after.turn) + step(before.turn)) / 4.0)
}

/// The arc from a to b at its speed, as far as it takes.
fn onwards(a: &TurnKey, b: &TurnKey, time: f64) -> DQuat {
    let s = (time - a.time) / (b.time - a.time);
    from_rotation_vector(rotation_vector(b.turn * a.turn.conjugate()) * s) * a.turn
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::{DMat3, EulerRot};
    use std::f64::consts::PI;

    fn close(a: DQuat, b: DQuat) -> bool {
        (a.dot(b).abs() - 1.0).abs() < 1e-12
    }

    fn curve(keys: &[(f64, DQuat)], ease: TurnEase, beyond: Beyond) -> TurnCurve {
        let keys: Vec<TurnKey> = keys.iter().map(|&(time, turn)| TurnKey { time, turn }).collect();
        TurnCurve::new(&keys, ease, beyond, beyond).unwrap()
    }

    /// Oracle: glam's matrices of extrinsic rotations.
    #[test]
    fn euler_angles_in_every_order() {
        let [x, y, z] = [0.3, -1.1, 2.4];
        for (order, extrinsic, angles) in [
            ("XYZ", EulerRot::XYZEx, [x, y, z]),
            ("XZY", EulerRot::XZYEx, [x, z, y]),
            ("yxz", EulerRot::YXZEx, [y, x, z]),
            ("YZX", EulerRot::YZXEx, [y, z, x]),
            ("ZXY", EulerRot::ZXYEx, [z, x, y]),
            ("ZYX", EulerRot::ZYXEx, [z, y, x]),
            ("ZXZ", EulerRot::ZXZEx, [x, y, z]),
            ("XYX", EulerRot::XYXEx, [x, y, z]),
        ] {
            let found = DMat3::from_quat(order.parse::<EulerOrder>().unwrap().rotation([x, y, z]));
            let expected = DMat3::from_euler(extrinsic, angles[0], angles[1], angles[2]);
            assert!(found.abs_diff_eq(expected, 1e-14), "{order}");
        }
        for bad in ["XXY", "XY", "XYZX", "ABC", ""] {
            assert!(bad.parse::<EulerOrder>().is_err(), "{bad}");
        }
    }

    /// Equal steps of time are equal angles, also near a half turn and for quaternions of opposite sign.
    #[test]
    fn slerp_has_constant_speed() {
        let axis = DVec3::new(1.0, 2.0, -0.5).normalize();
        for (angle, sign) in [(1.0, 1.0), (3.0, -1.0), (0.02, 1.0)] {
            let end = DQuat::from_axis_angle(axis, angle) * sign;
            let curve = curve(
                &[(0.0, DQuat::from_rotation_x(0.4)), (2.0, DQuat::from_rotation_x(0.4) * end)],
                TurnEase::Slerp,
                Beyond::Hold,
            );
            for step in 0..100 {
                let (a, b) = (curve.rotation(0.02 * f64::from(step)), curve.rotation(0.02 * f64::from(step + 1)));
                let turned = rotation_vector(a.conjugate() * b).length();
                assert!((turned - angle / 100.0).abs() < 1e-12, "{angle} {step} {turned}");
            }
        }
    }

    #[test]
    fn squad_goes_through_its_keys_with_a_continuous_velocity() {
        let keys: Vec<(f64, DQuat)> = (0..6)
            .map(|i| {
                let i = f64::from(i);
                (0.5 * i, DQuat::from_euler(EulerRot::XYZEx, (1.3 * i).sin(), 0.4 * i, (0.7 * i).cos()))
            })
            .collect();
        let curve = curve(&keys, TurnEase::Squad, Beyond::Hold);
        assert!(keys.iter().all(|&(time, turn)| close(curve.rotation(time), turn)));
        let h = 1e-6;
        for &(time, turn) in &keys[1..5] {
            let before = rotation_vector(curve.rotation(time - h).conjugate() * turn) / h;
            let after = rotation_vector(turn.conjugate() * curve.rotation(time + h)) / h;
            assert!(before.distance(after) < 1e-4, "{time}: {before} {after}");
        }
        let slerped = TurnCurve { ease: TurnEase::Slerp, ..curve.clone() };
        assert!(!close(slerped.rotation(0.75), curve.rotation(0.75)), "slerp has corners");
    }

    /// About one axis at even angles squad is slerp.
    #[test]
    fn squad_of_a_steady_turn_is_steady() {
        let keys: Vec<(f64, DQuat)> =
            (0..5).map(|i| (f64::from(i), DQuat::from_rotation_y(0.6 * f64::from(i)))).collect();
        let curve = curve(&keys, TurnEase::Squad, Beyond::Linear);
        (0..=60).map(|i| f64::from(i) * 0.1 - 1.0).for_each(|t| {
            assert!(close(curve.rotation(t), DQuat::from_rotation_y(0.6 * t)), "{t}");
        });
    }

    #[test]
    fn beyond_the_keys() {
        let keys = [(0.0, DQuat::from_rotation_z(0.1)), (1.0, DQuat::from_rotation_z(1.3))];
        let at = |beyond, time| rotation_vector(curve(&keys, TurnEase::Slerp, beyond).rotation(time)).z;
        for (beyond, time, angle) in [
            (Beyond::Hold, 3.0, 1.3),
            (Beyond::Linear, 1.5, 1.9),
            (Beyond::Linear, -0.5, -0.5),
            (Beyond::Cycle, 1.25, 0.4),
            (Beyond::CycleOffset, 1.25, 1.6),
            (Beyond::CycleOffset, -0.75, -0.8),
            (Beyond::Mirror, 1.25, 1.0),
        ] {
            assert!((at(beyond, time) - angle).abs() < 1e-12, "{beyond:?} {time}: {}", at(beyond, time));
        }
    }

    #[test]
    fn a_quaternion_of_length_zero_is_named() {
        let key = |turn| TurnKey { time: 0.0, turn };
        let fault =
            TurnCurve::new(&[key(DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0))], TurnEase::Slerp, Beyond::Hold, Beyond::Hold);
        assert_eq!(fault, Err(KeyFault::NotFinite { at: 0 }));
        let turned = curve(&[(0.0, DQuat::from_rotation_x(PI) * 2.5)], TurnEase::Squad, Beyond::Mirror);
        assert!(close(turned.rotation(7.0), DQuat::from_rotation_x(PI)));
    }
}
