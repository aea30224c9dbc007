//! Wires: curves that carry the skin around them along.
//!
//! A wire is a reference curve R, a current curve W with the same parameter, a radius ρ and a scale σ. For a point p, with R(c) the
//! nearest point of the reference, h its distance and F = (1 − (h/ρ)²)² below ρ, else 0:
//!
//! ```text
//! 1. scale:   q = R(c) + (1 + (σ − 1) F) (p − R(c))
//! 2. turn:    q about R(c) by F times the angle from R'(c) to W'(c), about R' × W'
//! 3. move:    q + F (W(c) − R(c))
//! ```
//!
//! d = q − p. Several wires blend by how far they move the point, p' = p + Σ |d_i|^m d_i / Σ |d_i|^m; m = 0 is the mean of the
//! wires within whose radius p lies.
//!
//! Curves are polylines: sample a spline finely. The first of equally near segments wins. Where the nearest point jumps from one
//! segment to another, at a bend's inside, the map has a kink or a jump, and no inverse is exact there.
//!
//! Wires with a **parent** bone travel with it: M_a ∘ wires ∘ M_a⁻¹ acts on posed points. Both curves are then given where the
//! bone is at rest. In a pose that flattens the bone the wires do nothing.
//!
//! Source: Singh & Fiume 1998, "Wires: a geometric deformation technique". Departure: the falloff is (1 − x²)².

use crate::attached::Attached;
use dermis_rig::BoneIndex;
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};

/// Step of the finite differences of [`Wires::gradient`], in parts of the smallest radius: ε^⅓, where rounding and curvature
/// spoil a central difference alike.
const STEP: f64 = 6e-6;

/// One wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Wire {
    reference: Vec<DVec3>,
    current: Vec<DVec3>,
    radius: f64,
    scale: f64,
}

/// Wires that act together.
#[derive(Clone, Debug, PartialEq)]
pub struct Wires {
    wires: Vec<Wire>,
    exponent: f64,
    /// The bone that the wires hang on; without one they stand still, in the space of the points they get.
    pub parent: Option<BoneIndex>,
}

/// Why numbers are no wire.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WireError {
    /// Reference and current curve differ.
    #[error("the reference curve has {reference} points, the current curve {current}")]
    Counts {
        /// Points of the reference.
        reference: usize,
        /// Points of the current curve.
        current: usize,
    },
    /// No segment.
    #[error("a wire of {points} points has no segment")]
    TooShort {
        /// How many.
        points: usize,
    },
    /// A segment without direction.
    #[error("points {point} and {} of the {curve} curve coincide", .point + 1)]
    Coincident {
        /// `"reference"` or `"current"`.
        curve: &'static str,
        /// The first of the two.
        point: usize,
    },
    /// NaN, infinity, or out of range.
    #[error("{what} is {value}; it must be {range}")]
    Range {
        /// Which number.
        what: &'static str,
        /// What it is.
        value: f64,
        /// What it must be.
        range: &'static str,
    },
    /// A point that is not finite.
    #[error("point {point} of the {curve} curve is not finite")]
    NotFinite {
        /// `"reference"` or `"current"`.
        curve: &'static str,
        /// The point.
        point: usize,
    },
}

impl Wire {
    /// A wire from polylines, point for point.
    ///
    /// - `reference`, `current`: R and W, metres, in the space of the points it will get
    /// - `radius`: ρ > 0, metres; `scale`: σ, 1 for none
    ///
    /// # Errors
    /// [`WireError`].
    pub fn new(reference: Vec<DVec3>, current: Vec<DVec3>, radius: f64, scale: f64) -> Result<Self, WireError> {
        if reference.len() != current.len() {
            return Err(WireError::Counts { reference: reference.len(), current: current.len() });
        }
        if reference.len() < 2 {
            return Err(WireError::TooShort { points: reference.len() });
        }
        for (curve, points) in [("reference", &reference), ("current", &current)] {
            if let Some(point) = points.iter().position(|p| !p.is_finite()) {
                return Err(WireError::NotFinite { curve, point });
            }
            let has_direction = |pair: &[DVec3]| (pair[1] - pair[0]).try_normalize().is_some();
            if let Some(point) = points.windows(2).position(|pair| !has_direction(pair)) {
                return Err(WireError::Coincident { curve, point });
            }
        }
        if !(radius > 0.0 && radius.is_finite()) {
            return Err(WireError::Range { what: "the radius", value: radius, range: "positive" });
        }
        if !scale.is_finite() {
            return Err(WireError::Range { what: "the scale", value: scale, range: "finite" });
        }
        Ok(Self { reference, current, radius, scale })
    }

    /// R, point by point, metres.
    pub fn reference(&self) -> &[DVec3] {
        &self.reference
    }

    /// W, point by point, metres.
    pub fn current(&self) -> &[DVec3] {
        &self.current
    }

    /// ρ, metres.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// σ.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// d = q − p; `None` at ρ or beyond.
    pub fn displacement(&self, p: DVec3) -> Option<DVec3> {
        let (segment, fraction, near) = self.nearest(p);
        let x = p.distance(near) / self.radius;
        if x >= 1.0 {
            return None;
        }
        let falloff = (1.0 - x * x).powi(2);
        let (r0, r1) = (self.reference[segment], self.reference[segment + 1]);
        let (w0, w1) = (self.current[segment], self.current[segment + 1]);
        let scaled = (p - near) * (1.0 + (self.scale - 1.0) * falloff);
        let turned = turn((r1 - r0).normalize(), (w1 - w0).normalize(), falloff) * scaled;
        // Without a turn q − p needs no sum that rounds.
        Some(turned - (p - near) + (w0.lerp(w1, fraction) - near) * falloff)
    }

    /// Segment, fraction along it, and the nearest point of the reference; the first of equally near segments.
    fn nearest(&self, p: DVec3) -> (usize, f64, DVec3) {
        let mut best = (0, 0.0, self.reference[0]);
        let mut least = f64::INFINITY;
        for (segment, ends) in self.reference.windows(2).enumerate() {
            let along = ends[1] - ends[0];
            let fraction = ((p - ends[0]).dot(along) / along.length_squared()).clamp(0.0, 1.0);
            let near = ends[0] + along * fraction;
            let square = p.distance_squared(near);
            if square < least {
                (least, best) = (square, (segment, fraction, near));
            }
        }
        best
    }
}

/// A part of the shortest rotation from one unit vector to another; about any normal where they are opposite.
fn turn(from: DVec3, to: DVec3, part: f64) -> DQuat {
    let normal = from.cross(to);
    let (sine, cosine) = (normal.length(), from.dot(to));
    if sine == 0.0 && cosine > 0.0 {
        return DQuat::IDENTITY;
    }
    let axis = normal.try_normalize().unwrap_or_else(|| from.any_orthonormal_vector());
    DQuat::from_axis_angle(axis, part * sine.atan2(cosine))
}

impl Wires {
    /// Wires that blend with exponent m ≥ 0; 1 is usual.
    ///
    /// # Errors
    /// [`WireError::Range`].
    pub fn new(wires: Vec<Wire>, exponent: f64) -> Result<Self, WireError> {
        if !(exponent >= 0.0 && exponent.is_finite()) {
            return Err(WireError::Range { what: "the exponent", value: exponent, range: "0 or more" });
        }
        Ok(Self { wires, exponent, parent: None })
    }

    /// The wires.
    pub fn wires(&self) -> &[Wire] {
        &self.wires
    }

    /// m.
    pub fn exponent(&self) -> f64 {
        self.exponent
    }

    /// The displacement of a point.
    pub fn displacement(&self, p: DVec3) -> DVec3 {
        // Powers of lengths relative to the longest do not underflow.
        let longest = self.wires.iter().filter_map(|w| w.displacement(p)).map(|d| d.length()).fold(0.0, f64::max);
        if longest == 0.0 {
            return DVec3::ZERO;
        }
        let (mut sum, mut total) = (DVec3::ZERO, 0.0);
        for d in self.wires.iter().filter_map(|wire| wire.displacement(p)) {
            let weight = (d.length() / longest).powf(self.exponent);
            sum += d * weight;
            total += weight;
        }
        sum / total
    }

    /// The derivative of the displacement after the point, ∂d/∂p, by central differences. At a kink it is that of neither side.
    pub fn gradient(&self, p: DVec3) -> DMat3 {
        let step = STEP * self.wires.iter().map(|wire| wire.radius).fold(f64::INFINITY, f64::min);
        if !step.is_finite() {
            return DMat3::ZERO; // no wires
        }
        let [x, y, z] = DVec3::AXES.map(|axis| {
            let (ahead, behind) = (p + axis * step, p - axis * step);
            // The step as it was taken, after rounding. Far from the origin it may vanish.
            let taken = (ahead - behind).dot(axis);
            if taken == 0.0 { DVec3::ZERO } else { (self.displacement(ahead) - self.displacement(behind)) / taken }
        });
        DMat3::from_cols(x, y, z)
    }

    /// Deforms every point; `parent` is the enveloping matrix of the parent bone, the identity without one.
    ///
    /// # Panics
    /// If `points` and `out` differ in number.
    pub fn deform(&self, parent: &DAffine3, points: &[DVec3], out: &mut [DVec3]) {
        let attached = Attached::to(parent);
        crate::for_each_vertex(points, out, |_, p| p + attached.displacement(p, |p| self.displacement(p)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_testkit::Random;

    fn curve() -> Vec<DVec3> {
        (0..6).map(|i| f64::from(i) * 0.3).map(|x| DVec3::new(x, 0.2 * (2.0 * x).sin(), 0.1 * x * x)).collect()
    }

    fn bent(random: &mut Random) -> Vec<DVec3> {
        curve().into_iter().map(|p| p + random.direction() * 0.1).collect()
    }

    fn near(random: &mut Random) -> DVec3 {
        DVec3::new(random.between(-0.3, 1.8), random.between(-0.6, 0.6), random.between(-0.5, 0.6))
    }

    fn wires(current: Vec<DVec3>) -> Wires {
        Wires::new(vec![Wire::new(curve(), current, 0.5, 1.0).unwrap()], 1.0).unwrap()
    }

    #[test]
    fn a_curve_that_did_not_change_moves_nothing() {
        let mut random = Random::new(5);
        let still = wires(curve());
        assert!((0..100).all(|_| still.displacement(near(&mut random)).length() < 1e-15));
    }

    #[test]
    fn points_on_the_reference_go_to_the_current_curve_whatever_the_scale() {
        let mut random = Random::new(6);
        let current = bent(&mut random);
        let wire = Wire::new(curve(), current.clone(), 0.5, 1.7).unwrap();
        let wires = Wires::new(vec![wire], 1.0).unwrap();
        for segment in 0..5 {
            for u in [0.0, 0.3, 0.9] {
                let p = curve()[segment].lerp(curve()[segment + 1], u);
                let q = current[segment].lerp(current[segment + 1], u);
                assert!((p + wires.displacement(p)).abs_diff_eq(q, 1e-14));
            }
        }
    }

    #[test]
    fn points_outside_all_radii_stay() {
        let mut random = Random::new(7);
        let moved = wires(bent(&mut random));
        for _ in 0..200 {
            let p = near(&mut random) * 2.0;
            let distance = (0..=5000)
                .map(|i| f64::from(i) * 0.001)
                .map(|c| curve()[(c as usize).min(4)].lerp(curve()[(c as usize).min(4) + 1], c - c.floor().min(4.0)))
                .map(|r| r.distance(p))
                .fold(f64::INFINITY, f64::min);
            if distance > 0.51 {
                assert_eq!(moved.displacement(p), DVec3::ZERO);
            }
        }
    }

    /// Closed form: a wire that moves as a whole moves its reference rigidly, and a point at half the radius by
    /// F = (1 − ¼)² of the way.
    #[test]
    fn the_falloff_the_turn_and_the_scale_are_those_of_the_equations() {
        let line = vec![DVec3::ZERO, DVec3::X * 4.0];
        let p = DVec3::new(1.0, 0.5, 0.0);
        let f = 0.75f64.powi(2);
        let only =
            |current, scale| Wires::new(vec![Wire::new(line.clone(), current, 1.0, scale).unwrap()], 1.0).unwrap();
        let shifted = only(line.iter().map(|r| *r + DVec3::Z).collect(), 1.0);
        assert!(shifted.displacement(p).abs_diff_eq(DVec3::Z * f, 1e-15));
        let scaled = only(line.clone(), 3.0);
        assert!(scaled.displacement(p).abs_diff_eq(DVec3::Y * (0.5 * 2.0 * f), 1e-15));
        let turned = only(vec![DVec3::ZERO, DVec3::Y * 4.0], 1.0);
        let angle = f * std::f64::consts::FRAC_PI_2;
        let expected = DVec3::new(1.0 - 0.5 * angle.sin(), 0.5 * angle.cos(), 0.0) + DVec3::new(-1.0, 1.0, 0.0) * f;
        assert!((p + turned.displacement(p)).abs_diff_eq(expected, 1e-15));
    }

    #[test]
    fn blending_two_equal_wires_is_one_and_a_large_exponent_takes_the_larger() {
        let mut random = Random::new(8);
        let (a, b) = (bent(&mut random), bent(&mut random));
        let wire = |current: &Vec<DVec3>| Wire::new(curve(), current.clone(), 0.5, 1.0).unwrap();
        let blended = |m| Wires::new(vec![wire(&a), wire(&b)], m).unwrap();
        let twice = Wires::new(vec![wire(&a), wire(&a)], 1.0).unwrap();
        for _ in 0..100 {
            let p = near(&mut random);
            assert!(twice.displacement(p).abs_diff_eq(wires(a.clone()).displacement(p), 1e-15));
            let (Some(da), Some(db)) = (wire(&a).displacement(p), wire(&b).displacement(p)) else { continue };
            assert!(blended(0.0).displacement(p).abs_diff_eq((da + db) * 0.5, 1e-15));
            let larger = if da.length() > db.length() { da } else { db };
            let ratio = da.length().min(db.length()) / da.length().max(db.length());
            if ratio < 0.9 {
                assert!(blended(400.0).displacement(p).abs_diff_eq(larger, 1e-12));
            }
        }
    }

    #[test]
    fn wires_without_direction_or_with_differing_curves_are_refused() {
        let line = || vec![DVec3::ZERO, DVec3::X];
        let make = |r, w, radius, scale| Wire::new(r, w, radius, scale).map(|_| ());
        assert_eq!(make(line(), curve(), 1.0, 1.0), Err(WireError::Counts { reference: 2, current: 6 }));
        assert_eq!(make(vec![DVec3::X], vec![DVec3::X], 1.0, 1.0), Err(WireError::TooShort { points: 1 }));
        let twice = || vec![DVec3::X, DVec3::ZERO, DVec3::ZERO];
        let three = || vec![DVec3::X, DVec3::ZERO, DVec3::Y];
        let coincident = |curve| Err(WireError::Coincident { curve, point: 1 });
        assert_eq!(make(twice(), three(), 1.0, 1.0), coincident("reference"));
        assert_eq!(make(three(), twice(), 1.0, 1.0), coincident("current"));
        let nan = vec![DVec3::ZERO, DVec3::NAN];
        assert_eq!(make(line(), nan, 1.0, 1.0), Err(WireError::NotFinite { curve: "current", point: 1 }));
        assert!(matches!(make(line(), line(), 0.0, 1.0), Err(WireError::Range { what: "the radius", .. })));
        assert!(matches!(make(line(), line(), 1.0, f64::NAN), Err(WireError::Range { what: "the scale", .. })));
        assert!(matches!(Wires::new(vec![], -1.0), Err(WireError::Range { what: "the exponent", .. })));
    }
}
