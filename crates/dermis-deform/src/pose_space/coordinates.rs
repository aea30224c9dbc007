//! Pose coordinates: what a joint's rotation becomes before poses are compared.
//!
//! R is the rotation of a bone seen from another, relative to the bind pose: the identity at rest. Every embedding is a
//! point of a Euclidean space and zero at rest, so that Gaussians of distances are positive definite; for a small angle
//! its norm is the angle in radians, so that they can be exchanged for one another.

use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix, rotation_vector, swing_twist};
use std::f64::consts::FRAC_1_SQRT_2;

/// Numbers a coordinate has room for.
pub const ROOM: usize = 9;

/// How a rotation becomes a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coordinates {
    /// (R − I)/√2, nine numbers: distance 2 sin(angle/2). Smooth everywhere.
    #[default]
    Chord,
    /// Angle times axis, three numbers. The most faithful to angles below 180 degrees; there it jumps.
    RotationVector,
    /// Angles (x, y, z) of R = Rz Ry Rx, three numbers, as first published. They depend on the world's axes, and lose one at
    /// y = ±90 degrees.
    Euler,
    /// R = swing · twist about the bone's axis a. Swing: the chord R a − a, scaled; twist: the chord (cos t − 1, sin t),
    /// scaled. Smooth but for the twist where the bone points backwards.
    SwingTwist {
        /// Scale of the swing.
        swing: f64,
        /// Scale of the twist.
        twist: f64,
    },
}

/// What of a joint's rotation is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JointPart {
    /// All of it.
    #[default]
    Whole,
    /// The swing alone. [`Coordinates::SwingTwist`] only, as [`Self::Twist`].
    Swing,
    /// The twist alone.
    Twist,
}

impl Coordinates {
    /// The same coordinates of a part of the rotation: the scale of the other part is zero.
    pub fn of_part(self, part: JointPart) -> Self {
        match (self, part) {
            (Self::SwingTwist { swing, .. }, JointPart::Swing) => Self::SwingTwist { swing, twist: 0.0 },
            (Self::SwingTwist { twist, .. }, JointPart::Twist) => Self::SwingTwist { swing: 0.0, twist },
            (whole, _) => whole,
        }
    }

    /// How many of the [`ROOM`] numbers are used.
    pub fn dimensions(&self) -> usize {
        match self {
            Self::Chord => 9,
            Self::RotationVector | Self::Euler => 3,
            Self::SwingTwist { .. } => 5,
        }
    }

    /// The coordinate of a rotation; `axis` is the bone's direction at rest, of unit length, read by swing and twist alone.
    ///
    /// Chords read the matrix as it is; the others its nearest rotation.
    pub fn of(&self, turn: &DMat3, axis: DVec3) -> [f64; ROOM] {
        let mut x = [0.0; ROOM];
        let quaternion = || quat_from_matrix(&nearest_rotation(turn));
        match *self {
            Self::Chord => x = ((*turn - DMat3::IDENTITY) * FRAC_1_SQRT_2).to_cols_array(),
            Self::RotationVector => x[..3].copy_from_slice(&rotation_vector(quaternion()).to_array()),
            Self::Euler => {
                let r = nearest_rotation(turn);
                let m = |row: usize, col: usize| r.col(col)[row];
                x[0] = m(2, 1).atan2(m(2, 2));
                x[1] = (-m(2, 0)).clamp(-1.0, 1.0).asin();
                x[2] = m(1, 0).atan2(m(0, 0));
            }
            Self::SwingTwist { swing, twist } => {
                let q = quaternion();
                let (_, t) = swing_twist(q, axis);
                let half = DVec3::new(t.x, t.y, t.z).dot(axis);
                x[..3].copy_from_slice(&((q * axis - axis) * swing).to_array());
                // cos t − 1 = −2 sin²(t/2), sin t = 2 sin(t/2) cos(t/2).
                x[3] = -2.0 * half * half * twist;
                x[4] = 2.0 * half * t.w * twist;
            }
        }
        x
    }
}

/// [`Coordinates::Chord`] of `bone` seen from `parent`; zero if the parent is singular.
pub fn coordinate(parent: &DAffine3, bone: &DAffine3) -> [f64; ROOM] {
    let turn = crate::features::relative(parent, bone).map_or(DMat3::IDENTITY, |m| m.matrix3);
    Coordinates::Chord.of(&turn, DVec3::X)
}

/// |x|².
pub fn square(x: &[f64; ROOM]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

/// x − y.
pub fn difference(x: &[f64; ROOM], y: &[f64; ROOM]) -> [f64; ROOM] {
    std::array::from_fn(|i| x[i] - y[i])
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DQuat;
    use dermis_rig::rotation::from_euler_xyz;

    const ALL: [Coordinates; 4] = [
        Coordinates::Chord,
        Coordinates::RotationVector,
        Coordinates::Euler,
        Coordinates::SwingTwist { swing: 1.0, twist: 1.0 },
    ];

    fn distance(coordinates: Coordinates, a: DQuat, b: DQuat, axis: DVec3) -> f64 {
        let [x, y] = [a, b].map(|q| coordinates.of(&DMat3::from_quat(q), axis));
        square(&difference(&x, &y)).sqrt()
    }

    #[test]
    fn the_distance_of_two_rotations_is_the_chord_of_their_angle() {
        let turn = |angle: f64| DAffine3::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), angle);
        let parent = DAffine3::from_rotation_y(1.1);
        for (a, b) in [(0.0, 0.3), (-2.0, 0.9), (0.1, 3.1)] {
            let [x, y] = [a, b].map(|angle| coordinate(&parent, &(parent * turn(angle))));
            let chord = 2.0 * ((a - b) / 2.0).sin().abs();
            assert!((square(&difference(&x, &y)).sqrt() - chord).abs() < 1e-14, "{a} {b}");
        }
    }

    #[test]
    fn every_embedding_is_zero_at_rest_and_measures_small_angles_in_radians() {
        for coordinates in ALL {
            assert_eq!(coordinates.of(&DMat3::IDENTITY, DVec3::X), [0.0; ROOM], "{coordinates:?}");
            for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
                let norm = distance(coordinates, DQuat::IDENTITY, DQuat::from_axis_angle(axis, 1e-4), DVec3::X);
                assert!((norm - 1e-4).abs() < 1e-11, "{coordinates:?} {axis}: {norm}");
            }
        }
    }

    /// Closed forms: the swing moves the tip of the axis by a chord, the twist turns about it.
    #[test]
    fn swing_and_twist_are_measured_apart() {
        let axis = DVec3::new(0.0, 0.6, 0.8);
        let across = DVec3::X;
        let of = |swing: f64, twist: f64| DQuat::from_axis_angle(across, swing) * DQuat::from_axis_angle(axis, twist);
        let chord = |a: f64| 2.0 * (a / 2.0).sin();
        for (swing, twist) in [(0.0, 1.3), (0.7, 0.0), (1.1, 2.9), (-2.0, -0.4)] {
            let scaled = Coordinates::SwingTwist { swing: 0.5, twist: 3.0 };
            let d = distance(scaled, DQuat::IDENTITY, of(swing, twist), axis);
            assert!((d - (0.5 * chord(swing)).hypot(3.0 * chord(twist))).abs() < 1e-12, "{swing} {twist}");
        }
        // No jump where the twist passes a half turn.
        let (twisted, half) = (ALL[3], std::f64::consts::PI - 0.0015);
        assert!(distance(twisted, of(0.4, half), of(0.4, -half), axis) < 0.01);
    }

    #[test]
    fn angles_of_a_product_of_rotations_come_back() {
        let angles = DVec3::new(0.3, -1.2, 2.5);
        let x = Coordinates::Euler.of(&from_euler_xyz(angles), DVec3::X);
        assert!((DVec3::new(x[0], x[1], x[2]) - angles).length() < 1e-13);
        let v = DVec3::new(0.4, -1.0, 0.2);
        let q = dermis_rig::rotation::from_rotation_vector(v);
        let x = Coordinates::RotationVector.of(&DMat3::from_quat(q), DVec3::X);
        assert!((DVec3::new(x[0], x[1], x[2]) - v).length() < 1e-13);
    }
}
