//! The shape of a body, from the skin that its bones move: a convex hull, or a capsule where there is no hull.

use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::rotation::principal_axes;
use rapier3d_f64::math::Vector;
use rapier3d_f64::parry::transformation::try_convex_hull;
use std::f64::consts::PI;

/// A solid shape with the mass of one unit of density, in some frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// What it is.
    pub solid: Solid,
    /// Its volume, m³.
    pub volume: f64,
    /// Its surface, m².
    pub surface: f64,
    /// The middle of its mass.
    pub middle: DVec3,
    /// ∫ (|x|² I − x xᵀ) dV about the middle, m⁵: the inertia for a density of one.
    pub inertia: DMat3,
}

/// A convex solid.
#[derive(Clone, Debug, PartialEq)]
pub enum Solid {
    /// The hull of points, with its triangles counter-clockwise seen from outside.
    Hull {
        /// Corners.
        points: Vec<DVec3>,
        /// Faces.
        triangles: Vec<[u32; 3]>,
    },
    /// All points within a distance of a segment.
    Capsule {
        /// The ends of the segment.
        ends: [DVec3; 2],
        /// The distance.
        radius: f64,
    },
}

/// A hull thinner than this, its volume over the cube of its diagonal, is taken for flat: a strip of paper of 1 m × 3 cm has 3e-6,
/// rounding leaves 1e-16.
const FLAT: f64 = 1e-6;

/// The radius of a capsule around points that lie in a plane or a line, over the length of their cloud: hair and leaves.
const LEAST_RADIUS: f64 = 0.02;

impl Shape {
    /// The shape around points: their convex hull, or, where they are flat, a capsule along their longest principal axis with the
    /// median distance from it for a radius. `None` if all points are one.
    pub fn around(points: &[DVec3]) -> Option<Self> {
        let (low, high) = bounds(points)?;
        let diagonal = low.distance(high);
        if !(diagonal.is_finite() && diagonal > 1e-9) {
            return None;
        }
        let hull = hull(points).filter(|hull| hull.volume > FLAT * diagonal.powi(3));
        hull.or_else(|| Some(capsule(points)))
    }

    /// The furthest that the shape goes in a direction of unit length, from its middle.
    pub fn reach(&self, direction: DVec3) -> f64 {
        let from = |p: &DVec3| (*p - self.middle).dot(direction);
        match &self.solid {
            Solid::Hull { points, .. } => points.iter().map(from).fold(f64::MIN, f64::max),
            Solid::Capsule { ends, radius } => ends.iter().map(from).fold(f64::MIN, f64::max) + radius,
        }
    }

    /// The mean of the areas that the shape shows from all sides: a quarter of the surface of a convex body.
    ///
    /// Source: Cauchy 1841.
    pub fn shadow(&self) -> f64 {
        0.25 * self.surface
    }
}

fn bounds(points: &[DVec3]) -> Option<(DVec3, DVec3)> {
    let first = *points.first()?;
    Some(points.iter().fold((first, first), |(low, high), p| (low.min(*p), high.max(*p))))
}

/// The hull of points; `None` if they have none.
fn hull(points: &[DVec3]) -> Option<Shape> {
    let mut sorted: Vec<DVec3> = points.to_vec();
    sorted.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)).then(a.z.total_cmp(&b.z)));
    sorted.dedup();
    let theirs: Vec<Vector> = sorted.iter().map(|p| Vector::new(p.x, p.y, p.z)).collect();
    let (corners, triangles) = try_convex_hull(&theirs).ok()?;
    let points: Vec<DVec3> = corners.iter().map(|p| DVec3::new(p.x, p.y, p.z)).collect();
    let shape = polyhedron(points, triangles);
    (shape.volume.is_finite() && shape.volume > 0.0).then_some(shape)
}

/// Volume, middle and inertia of a closed polyhedron, as a sum over the tetrahedra of its triangles with a point inside.
///
/// A tetrahedron with corners 0, a, b, c has the volume d/6 with d = a·(b × c), the first moment d/24 (a + b + c), and the second
/// moments d/120 (s sᵀ + a aᵀ + b bᵀ + c cᵀ) with s = a + b + c.
fn polyhedron(points: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Shape {
    let origin = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
    let (mut volume, mut first, mut second, mut surface) = (0.0, DVec3::ZERO, DMat3::ZERO, 0.0);
    for triangle in &triangles {
        let [a, b, c] = triangle.map(|corner| points[corner as usize] - origin);
        let d = a.dot(b.cross(c));
        let s = a + b + c;
        volume += d / 6.0;
        first += s * (d / 24.0);
        second += (outer(s) + outer(a) + outer(b) + outer(c)) * (d / 120.0);
        surface += 0.5 * (b - a).cross(c - a).length();
    }
    let from_origin = first / volume;
    let central = second - outer(from_origin) * volume;
    let inertia = DMat3::IDENTITY * trace(&central) - central;
    Shape { solid: Solid::Hull { points, triangles }, volume, surface, middle: origin + from_origin, inertia }
}

/// The capsule around points.
fn capsule(points: &[DVec3]) -> Shape {
    let middle = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
    let spread = points.iter().fold(DMat3::ZERO, |sum, p| sum + outer(*p - middle));
    let axis = principal_axes(&spread)[0].1;
    let mut across: Vec<f64> = points.iter().map(|p| (*p - middle).reject_from_normalized(axis).length()).collect();
    across.sort_by(f64::total_cmp);
    let along = points.iter().map(|p| axis.dot(*p - middle));
    let (low, high) = along.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    let radius = across[across.len() / 2].max(LEAST_RADIUS * (high - low));
    let (low, high) = (low + radius, high - radius);
    let (low, high) = if low < high { (low, high) } else { (0.5 * (low + high), 0.5 * (low + high)) };
    capsule_between([middle + axis * low, middle + axis * high], axis, radius)
}

/// A cylinder of length h and two half balls: the volume π r² (h + 4r/3), the inertia about the axis π r⁴ (h/2 + 8r/15), and across
/// it π r² h (r²/4 + h²/12) + (4/3) π r³ (2r²/5 + h²/4 + 3hr/8).
fn capsule_between(ends: [DVec3; 2], axis: DVec3, r: f64) -> Shape {
    let h = ends[0].distance(ends[1]);
    let volume = PI * r * r * (h + 4.0 * r / 3.0);
    let along = PI * r.powi(4) * (0.5 * h + 8.0 * r / 15.0);
    let across = PI * r * r * h * (r * r / 4.0 + h * h / 12.0)
        + 4.0 / 3.0 * PI * r.powi(3) * (0.4 * r * r + 0.25 * h * h + 0.375 * h * r);
    let inertia = DMat3::IDENTITY * across + outer(axis) * (along - across);
    let surface = 2.0 * PI * r * (h + 2.0 * r);
    Shape { solid: Solid::Capsule { ends, radius: r }, volume, surface, middle: 0.5 * (ends[0] + ends[1]), inertia }
}

/// v vᵀ.
pub(super) fn outer(v: DVec3) -> DMat3 {
    DMat3::from_cols(v * v.x, v * v.y, v * v.z)
}

fn trace(m: &DMat3) -> f64 {
    m.x_axis.x + m.y_axis.y + m.z_axis.z
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_testkit::Random;

    fn close(a: &DMat3, b: &DMat3, tolerance: f64) -> bool {
        a.abs_diff_eq(*b, tolerance)
    }

    /// Closed forms of a box, turned and moved, with points inside that do not count.
    #[test]
    fn a_box_has_its_volume_middle_and_inertia() {
        let (size, turn) = (DVec3::new(0.3, 0.8, 0.1), DMat3::from_rotation_z(0.7) * DMat3::from_rotation_x(-1.1));
        let at = DVec3::new(5.0, -2.0, 1.0);
        let mut random = Random::new(2);
        let mut points: Vec<DVec3> = (0..8)
            .map(|i| DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)) - DVec3::splat(0.5))
            .collect();
        points.extend((0..200).map(|_| DVec3::from_array([0; 3].map(|_| random.between(-0.5, 0.5)))));
        let points: Vec<DVec3> = points.into_iter().map(|p| at + turn * (p * size)).collect();
        let shape = Shape::around(&points).unwrap();
        let volume = size.x * size.y * size.z;
        let squares = size * size;
        let own = DVec3::new(squares.y + squares.z, squares.x + squares.z, squares.x + squares.y) * volume / 12.0;
        assert!((shape.volume - volume).abs() < 1e-14);
        assert!(shape.middle.distance(at) < 1e-12);
        assert!(close(&shape.inertia, &(turn * DMat3::from_diagonal(own) * turn.transpose()), 1e-14));
        let surface = 2.0 * (size.x * size.y + size.y * size.z + size.z * size.x);
        assert!((shape.surface - surface).abs() < 1e-12);
        assert!((shape.reach(turn * DVec3::Y) - 0.4).abs() < 1e-12);
    }

    /// Oracle: a capsule of many small slices.
    #[test]
    fn a_capsule_has_its_volume_and_inertia() {
        let (r, h) = (0.07, 0.3);
        let shape = capsule_between([DVec3::ZERO, DVec3::X * h], DVec3::X, r);
        let slices = 200_000;
        let (mut volume, mut along, mut across) = (0.0, 0.0, 0.0);
        let width = (h + 2.0 * r) / f64::from(slices);
        for slice in 0..slices {
            let x = -r + (f64::from(slice) + 0.5) * width;
            let beyond = (-x).max(x - h).max(0.0);
            let square = r * r - beyond * beyond;
            let disc = PI * square * width;
            volume += disc;
            along += 0.5 * disc * square;
            across += disc * (0.25 * square + (x - 0.5 * h).powi(2));
        }
        assert!((shape.volume / volume - 1.0).abs() < 1e-6);
        assert!((shape.inertia.x_axis.x / along - 1.0).abs() < 1e-6);
        assert!((shape.inertia.y_axis.y / across - 1.0).abs() < 1e-6);
    }

    /// Points of a plane, of a line and of a place.
    #[test]
    fn what_is_flat_becomes_a_capsule() {
        let strip: Vec<DVec3> =
            (0..40).map(|i| DVec3::new(f64::from(i / 2) / 20.0, 0.05 * f64::from(i % 2), 3.0)).collect();
        let line: Vec<DVec3> = (0..9).map(|i| DVec3::splat(f64::from(i))).collect();
        for points in [strip, line] {
            let shape = Shape::around(&points).unwrap();
            assert!(matches!(shape.solid, Solid::Capsule { .. }) && shape.volume > 0.0, "{shape:?}");
        }
        assert_eq!(Shape::around(&[DVec3::ONE; 5]), None);
        assert_eq!(Shape::around(&[]), None);
        assert_eq!(Shape::around(&[DVec3::NAN, DVec3::ONE]), None);
    }
}
