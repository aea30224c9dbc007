//! How far a joint may turn: a hinge, or a cone with twist.
//!
//! A joint's rotation q turns the bone in its own axes, from where it is at rest: `local = rest · q`, as
//! [`dermis_rig::PosedSkeleton::turn`] does from the bind pose. Axes of a limit are vectors of the bone's own frame, and angles are radians.
//!
//! A **cone** splits q = swing · twist about the bone's axis. The swing has a rotation vector s = x·side + y·(axis × side). Each of the
//! four quadrants of (x, y) has a quarter of an ellipse, so that a joint that bends 120° forward and 20° backward has one limit without a
//! corner. The region is convex, and the nearest rotation within it depends on q without jumps.
//!
//! Source: Baerlocher & Boulic 2001, "Parametrization and range of motion of the ball-and-socket joint" (swing, twist and a
//! boundary in the plane of swings). Departure: four quarter ellipses in the plane of rotation vectors for their spherical polygons.

use dermis_rig::glam::{DQuat, DVec2, DVec3};
use dermis_rig::rotation::{from_rotation_vector, rotation_vector, swing_twist};
use std::f64::consts::PI;

/// How far a joint may turn from its rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum JointLimits {
    /// Any rotation.
    #[default]
    Free,
    /// None: the joint stays where its pose has it.
    Locked,
    /// About one axis alone.
    Hinge(Hinge),
    /// About all axes, within a cone and a range of twist.
    Cone(Cone),
}

/// A joint that turns about one axis. Made by [`JointLimits::hinge`].
#[derive(Clone, Debug, PartialEq)]
pub struct Hinge {
    axis: DVec3,
    range: [f64; 2],
}

/// A joint that swings and twists. Made by [`JointLimits::cone`].
#[derive(Clone, Debug, PartialEq)]
pub struct Cone {
    axis: DVec3,
    side: DVec3,
    up: DVec3,
    swing: [[f64; 2]; 2],
    twist: [f64; 2],
}

/// Why numbers make no limit.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum LimitError {
    /// A vector without direction.
    #[error("the {what} ({x}, {y}, {z}) has no direction")]
    Axis {
        /// Which vector.
        what: &'static str,
        /// Its components.
        x: f64,
        /// Its components.
        y: f64,
        /// Its components.
        z: f64,
    },
    /// The side axis lies along the bone.
    #[error("the side axis lies along the axis of the bone")]
    Parallel,
    /// A range that is no range.
    #[error("the {what} from {from} to {to} radians is no range: it must be finite and ascend, within ±2π")]
    Range {
        /// Of what.
        what: &'static str,
        /// Its beginning.
        from: f64,
        /// Its end.
        to: f64,
    },
    /// A cone that does not hold the rest.
    #[error("the {what} from {from} to {to} radians does not hold 0, the rest of the joint")]
    Rest {
        /// Of what.
        what: &'static str,
        /// Its beginning.
        from: f64,
        /// Its end.
        to: f64,
    },
}

/// A direction of change in which a joint cannot go further, in the bone's own axes (q · exp(δ)).
pub(crate) type Wall = DVec3;

/// Angles nearer than this to the end of a range lie on it, radians. A projection lands within 1e-15 of it.
const AT_END: f64 = 1e-9;

impl JointLimits {
    /// A joint that turns about `axis` alone, by an angle in `range`. The range need not hold 0: the pose of the examples may bend a
    /// joint that never straightens.
    ///
    /// # Errors
    /// [`LimitError`].
    pub fn hinge(axis: DVec3, range: [f64; 2]) -> Result<Self, LimitError> {
        check("hinge range", range)?;
        Ok(Self::Hinge(Hinge { axis: direction("axis", axis)?, range }))
    }

    /// A joint that swings by x about `side` within `swing[0]` and by y about `axis` × `side` within `swing[1]`, in quarter ellipses, and
    /// twists about `axis` within `twist`. `side` need not be perpendicular to `axis`; its part along the axis is left out. A range
    /// of swing that reaches π is no limit.
    ///
    /// # Errors
    /// [`LimitError`].
    pub fn cone(axis: DVec3, side: DVec3, swing: [[f64; 2]; 2], twist: [f64; 2]) -> Result<Self, LimitError> {
        let (axis, given) = (direction("axis", axis)?, direction("side axis", side)?);
        let side = given - axis * axis.dot(given);
        let side = side.try_normalize().filter(|_| side.length() > 1e-6).ok_or(LimitError::Parallel)?;
        for (what, range) in [("first range of swing", swing[0]), ("second range of swing", swing[1]), ("twist", twist)]
        {
            check(what, range)?;
            if !(range[0] <= 0.0 && range[1] >= 0.0) {
                return Err(LimitError::Rest { what, from: range[0], to: range[1] });
            }
        }
        Ok(Self::Cone(Cone { axis, side, up: axis.cross(side), swing, twist }))
    }

    /// A joint that swings by at most `half_angle` in any direction, and twists about `axis` within `twist`.
    ///
    /// # Errors
    /// [`LimitError`].
    pub fn round_cone(axis: DVec3, half_angle: f64, twist: [f64; 2]) -> Result<Self, LimitError> {
        let side = direction("axis", axis)?.any_orthonormal_vector();
        let swing = [-half_angle, half_angle];
        Self::cone(axis, side, [swing, swing], twist)
    }

    /// Returns the allowed rotation near `q`: the nearest angle of a hinge; the nearest swing and the nearest twist of a cone; `q` itself of a
    /// joint that is locked where it is.
    /// Idempotent to 1e-15. A rotation that is allowed comes back as it is.
    pub fn nearest(&self, q: DQuat) -> DQuat {
        match self {
            Self::Free | Self::Locked => q,
            Self::Hinge(hinge) => {
                let (swing, angle) = hinge.apart(q);
                let inside = nearest_angle(angle, hinge.range);
                if swing < 1e-14 && inside == angle { q } else { DQuat::from_axis_angle(hinge.axis, inside) }
            }
            Self::Cone(cone) => {
                let (swing, twist) = cone.apart(q);
                let (near, inside) = (nearest_swing(swing, cone.swing), nearest_angle(twist, cone.twist));
                if near == swing && inside == twist { q } else { cone.together(near, inside) }
            }
        }
    }

    /// Returns by how much `q` breaks the limit: the angle to [`Self::nearest`], radians.
    pub fn excess(&self, q: DQuat) -> f64 {
        rotation_vector(q.conjugate() * self.nearest(q)).length()
    }

    /// The axes that the joint can turn about, from anywhere within its limits.
    pub(crate) fn directions(&self) -> Vec<DVec3> {
        match self {
            Self::Free | Self::Cone(_) => vec![DVec3::X, DVec3::Y, DVec3::Z],
            Self::Locked => Vec::new(),
            Self::Hinge(hinge) => vec![hinge.axis],
        }
    }

    /// The unit directions that lead out of the limits at `q`, which is allowed.
    pub(crate) fn walls(&self, q: DQuat) -> Vec<Wall> {
        match self {
            Self::Free | Self::Locked => Vec::new(),
            Self::Hinge(hinge) => {
                let (_, angle) = hinge.apart(q);
                ends(angle, hinge.range).into_iter().map(|sign| hinge.axis * sign).collect()
            }
            Self::Cone(cone) => {
                let (swing, twist) = cone.apart(q);
                let mut walls = Vec::new();
                for sign in ends(twist, cone.twist) {
                    walls.push(gradient(q, |q| sign * wrapped(cone.apart(q).1 - twist)));
                }
                walls.extend(
                    swing_normals(swing, cone.swing).into_iter().map(|n| gradient(q, |q| n.dot(cone.apart(q).0))),
                );
                walls.into_iter().filter_map(DVec3::try_normalize).collect()
            }
        }
    }
}

impl Hinge {
    /// The axis, a unit vector of the bone's own frame.
    pub fn axis(&self) -> DVec3 {
        self.axis
    }
    /// The angles that are allowed, radians.
    pub fn range(&self) -> [f64; 2] {
        self.range
    }

    /// The angle of `q` about the axis, radians, around the circle nearest to the middle of the range.
    pub fn angle(&self, q: DQuat) -> f64 {
        self.apart(q).1
    }

    /// By how much `q` leaves the axis, and its angle about it.
    fn apart(&self, q: DQuat) -> (f64, f64) {
        let (swing, twist) = swing_twist(q, self.axis);
        let middle = 0.5 * (self.range[0] + self.range[1]);
        let angle = rotation_vector(twist).dot(self.axis);
        (rotation_vector(swing).length(), middle + wrapped(angle - middle))
    }
}

impl Cone {
    /// The axis of twist, a unit vector of the bone's own frame.
    pub fn axis(&self) -> DVec3 {
        self.axis
    }
    /// The axis of the first swing, a unit vector perpendicular to [`Self::axis`].
    pub fn side(&self) -> DVec3 {
        self.side
    }
    /// The swings that are allowed about [`Self::side`] and about axis × side, radians.
    pub fn swing(&self) -> [[f64; 2]; 2] {
        self.swing
    }
    /// The twist that is allowed, radians.
    pub fn twist(&self) -> [f64; 2] {
        self.twist
    }

    /// The swing as (x, y), and the twist, of a rotation.
    pub fn apart(&self, q: DQuat) -> (DVec2, f64) {
        let (swing, twist) = swing_twist(q, self.axis);
        let v = rotation_vector(swing);
        (DVec2::new(v.dot(self.side), v.dot(self.up)), rotation_vector(twist).dot(self.axis))
    }

    /// The rotation of a swing and a twist.
    pub fn together(&self, swing: DVec2, twist: f64) -> DQuat {
        from_rotation_vector(self.side * swing.x + self.up * swing.y) * DQuat::from_axis_angle(self.axis, twist)
    }
}

/// An angle in −π..=π.
pub(crate) fn wrapped(angle: f64) -> f64 {
    angle - 2.0 * PI * (angle / (2.0 * PI)).round()
}

/// The unit vector of a direction.
fn direction(what: &'static str, v: DVec3) -> Result<DVec3, LimitError> {
    v.try_normalize().ok_or(LimitError::Axis { what, x: v.x, y: v.y, z: v.z })
}

fn check(what: &'static str, [from, to]: [f64; 2]) -> Result<(), LimitError> {
    let most = 2.0 * PI + AT_END;
    match from.is_finite() && to.is_finite() && from <= to && from >= -most && to <= most {
        true => Ok(()),
        false => Err(LimitError::Range { what, from, to }),
    }
}

/// The angle of a range that is nearest around the circle.
fn nearest_angle(angle: f64, [from, to]: [f64; 2]) -> f64 {
    if (from..=to).contains(&angle) || to - from >= 2.0 * PI {
        return angle;
    }
    if wrapped(angle - to).abs() <= wrapped(angle - from).abs() { to } else { from }
}

/// The ends of a range that an angle lies at: 1 for the upper, −1 for the lower.
fn ends(angle: f64, [from, to]: [f64; 2]) -> Vec<f64> {
    if to - from >= 2.0 * PI {
        return Vec::new();
    }
    [(1.0, wrapped(angle - to).abs()), (-1.0, wrapped(angle - from).abs())]
        .into_iter()
        .filter(|(_, apart)| *apart <= AT_END)
        .map(|(sign, _)| sign)
        .collect()
}

/// The half axes of the quarter ellipse that a swing lies in.
fn quarter(swing: DVec2, [x, y]: [[f64; 2]; 2]) -> DVec2 {
    DVec2::new(if swing.x < 0.0 { -x[0] } else { x[1] }, if swing.y < 0.0 { -y[0] } else { y[1] })
}

/// The nearest swing within the quarter ellipses.
fn nearest_swing(swing: DVec2, ranges: [[f64; 2]; 2]) -> DVec2 {
    let sign = DVec2::new(swing.x.signum(), swing.y.signum());
    let half = quarter(swing, ranges);
    let near = nearest_in_quarter(swing * sign, half);
    if near == swing * sign { swing } else { near * sign }
}

/// The point of the quarter ellipse with half axes `a` that is nearest to `p`; both in the first quadrant.
///
/// The nearest point is (aₓ²pₓ/(t+aₓ²), a_y²p_y/(t+a_y²)), t the root of F(t) = (aₓpₓ/(t+aₓ²))² + (a_yp_y/(t+a_y²))² − 1, which falls and
/// is convex for t ≥ 0: Newton's steps from 0 ascend to it. Source: Eberly 2013, "Distance from a point to an ellipse".
fn nearest_in_quarter(p: DVec2, a: DVec2) -> DVec2 {
    if a.x <= 0.0 || a.y <= 0.0 {
        return p.min(a).max(DVec2::ZERO);
    }
    let level = |p: DVec2| (p / a).length_squared();
    // A swing has at most a half turn, so an ellipse that holds the disc of that size holds all of them.
    if level(p) <= 1.0 || a.min_element() >= PI {
        return p;
    }
    let mut t = 0.0;
    for _ in 0..100 {
        let d = a * a + DVec2::splat(t);
        let r = a * p / d;
        let (value, slope) = (r.length_squared() - 1.0, -2.0 * (r * r / d).element_sum());
        let step = -value / slope;
        t += step;
        if step <= 1e-16 * t {
            break;
        }
    }
    let near = a * a * p / (a * a + DVec2::splat(t));
    near / level(near).sqrt().max(1.0)
}

/// The unit normals, in the plane of swings, of the walls that a swing touches.
fn swing_normals(swing: DVec2, ranges: [[f64; 2]; 2]) -> Vec<DVec2> {
    let (half, sign) = (quarter(swing, ranges), DVec2::new(swing.x.signum(), swing.y.signum()));
    let p = swing * sign;
    let mut normals = Vec::new();
    if half.min_element() > 0.0 {
        let outside = (p / half).length() - 1.0;
        if half.min_element() < PI && outside * half.min_element() >= -AT_END {
            normals.extend((p / (half * half) * sign).try_normalize());
        }
    } else {
        for (axis, (value, most)) in [(DVec2::X, (p.x, half.x)), (DVec2::Y, (p.y, half.y))] {
            if value >= most - AT_END {
                normals.push(axis * sign);
            }
        }
    }
    // A range that ends at 0 is a wall although the swing lies on its other, open side.
    for (axis, value, range) in [(DVec2::X, swing.x, ranges[0]), (DVec2::Y, swing.y, ranges[1])] {
        for (end, outwards) in [(range[0], -1.0), (range[1], 1.0)] {
            if end == 0.0 && value.abs() <= AT_END && !normals.contains(&(axis * outwards)) {
                normals.push(axis * outwards);
            }
        }
    }
    normals
}

/// The gradient of `value` at q along q · exp(δ), by central differences. It only chooses directions to leave out of a step, and
/// what a step does beyond a limit is projected back, so the 1e-9 that differences leave is harmless.
fn gradient(q: DQuat, value: impl Fn(DQuat) -> f64) -> DVec3 {
    const STEP: f64 = 1e-5;
    let slope = |axis: DVec3| {
        let at = |step: f64| value(q * from_rotation_vector(axis * step));
        (at(STEP) - at(-STEP)) / (2.0 * STEP)
    };
    DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_testkit::Random;

    fn turned(random: &mut Random) -> DQuat {
        let v = DVec3::from_array([0, 1, 2].map(|_| random.between(-1.0, 1.0)));
        from_rotation_vector(v.normalize_or(DVec3::X) * random.between(0.0, 3.1))
    }

    fn cases(random: &mut Random) -> Vec<JointLimits> {
        let axis = DVec3::new(0.3, 1.0, -0.2);
        let mut cone = |x: [f64; 2], y: [f64; 2], t: [f64; 2]| {
            JointLimits::cone(axis, DVec3::from_array([0, 1, 2].map(|_| random.between(-1.0, 1.0))), [x, y], t).unwrap()
        };
        vec![
            cone([-0.4, 2.1], [-0.3, 0.9], [-0.5, 1.0]),
            cone([0.0, 1.2], [-0.3, 0.9], [0.0, 0.0]),
            cone([0.0, 0.0], [-0.7, 0.7], [-2.0, 2.0]),
            cone([-3.2, 3.2], [-3.2, 3.2], [-0.2, 0.3]),
            JointLimits::round_cone(axis, 0.8, [-7.0 / 4.0, 1.0]).unwrap(),
            JointLimits::hinge(axis, [-0.1, 2.5]).unwrap(),
            JointLimits::hinge(axis, [0.3, 0.9]).unwrap(),
            JointLimits::hinge(axis, [-2.0 * PI, 2.0 * PI]).unwrap(),
            JointLimits::Locked,
        ]
    }

    /// Oracle: many points of the boundary, by its definition.
    #[test]
    fn the_nearest_swing_is_the_nearest() {
        let ranges = [[-0.4, 2.1], [-0.3, 0.9]];
        let mut random = Random::new(3);
        for _ in 0..300 {
            let p = DVec2::new(random.between(-3.0, 3.0), random.between(-3.0, 3.0));
            let near = nearest_swing(p, ranges);
            let level = (near / quarter(near, ranges)).length();
            assert!(level <= 1.0 + 1e-15, "{p}: {level}");
            let around = (0..20_000).map(|i| {
                let turn = f64::from(i) * 2.0 * PI / 20_000.0;
                let unit = DVec2::from_angle(turn);
                unit * quarter(unit, ranges)
            });
            let inside = (p / quarter(p, ranges)).length() <= 1.0;
            let best = if inside { 0.0 } else { around.map(|b| b.distance(p)).fold(f64::MAX, f64::min) };
            // Boundary points are at most 2.1·2π/20000 = 7e-4 apart; the distance errs by its square over the distance.
            assert!((near.distance(p) - best).abs() < 1e-4, "{p}: {near}, {} against {best}", near.distance(p));
        }
    }

    #[test]
    fn what_comes_out_is_allowed_and_stays() {
        let mut random = Random::new(5);
        for limits in cases(&mut random) {
            for _ in 0..500 {
                let q = turned(&mut random);
                let near = limits.nearest(q);
                assert!(limits.excess(near) < 1e-12, "{limits:?} {q} {}", limits.excess(near));
                assert!((near.length() - 1.0).abs() < 1e-12);
                if let JointLimits::Cone(cone) = &limits {
                    let (_, twist) = cone.apart(near);
                    assert!(twist >= cone.twist[0] - 1e-12 && twist <= cone.twist[1] + 1e-12);
                }
            }
        }
    }

    /// Oracle: a plane turn of known angle.
    #[test]
    fn a_turn_about_the_side_axis_stops_at_its_range() {
        let limits = JointLimits::cone(DVec3::Y, DVec3::X, [[-0.3, 2.0], [-1.0, 1.0]], [-0.1, 0.2]).unwrap();
        for (angle, stops) in [(-1.0, -0.3), (-0.2, -0.2), (1.9, 1.9), (2.7, 2.0)] {
            let near = limits.nearest(DQuat::from_rotation_x(angle));
            assert!(near.abs_diff_eq(DQuat::from_rotation_x(stops), 1e-12), "{angle}");
            assert!((limits.excess(DQuat::from_rotation_x(angle)) - (angle - stops).abs()).abs() < 1e-12);
        }
        let up = limits.nearest(DQuat::from_rotation_z(-1.4));
        assert!(up.abs_diff_eq(DQuat::from_rotation_z(-1.0), 1e-12));
        let twist = limits.nearest(DQuat::from_rotation_y(0.7));
        assert!(twist.abs_diff_eq(DQuat::from_rotation_y(0.2), 1e-12));
    }

    /// A step along a wall leaves the limits; a step against it does not.
    #[test]
    fn walls_lead_out() {
        let mut random = Random::new(8);
        let mut seen = 0;
        for limits in cases(&mut random) {
            for _ in 0..200 {
                let q = limits.nearest(turned(&mut random));
                for wall in limits.walls(q) {
                    seen += 1;
                    let out = limits.excess(q * from_rotation_vector(wall * 1e-4));
                    assert!(out > 2e-5, "{limits:?} at {q}: {wall} leaves by {out}");
                }
            }
        }
        assert!(seen > 1000, "{seen}");
    }

    #[test]
    fn what_makes_no_limit_is_refused() {
        let ok = [-1.0, 1.0];
        assert!(matches!(JointLimits::hinge(DVec3::ZERO, ok), Err(LimitError::Axis { .. })));
        assert!(matches!(JointLimits::hinge(DVec3::X, [1.0, -1.0]), Err(LimitError::Range { .. })));
        assert!(matches!(JointLimits::hinge(DVec3::X, [f64::NAN, 1.0]), Err(LimitError::Range { .. })));
        assert!(matches!(JointLimits::hinge(DVec3::X, [0.0, 1e9]), Err(LimitError::Range { .. })));
        assert_eq!(JointLimits::cone(DVec3::X, DVec3::X, [ok, ok], ok), Err(LimitError::Parallel));
        assert!(matches!(
            JointLimits::cone(DVec3::X, DVec3::Y, [[0.1, 1.0], ok], ok),
            Err(LimitError::Rest { what: "first range of swing", .. })
        ));
        assert!(matches!(
            JointLimits::round_cone(DVec3::new(f64::NAN, 0.0, 0.0), 1.0, ok),
            Err(LimitError::Axis { .. })
        ));
    }
}
