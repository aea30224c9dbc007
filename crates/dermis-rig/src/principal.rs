//! Points as they lie along their own principal axes, whichever way they stand in the world.

use crate::rotation::principal_axes;
use glam::{DMat3, DVec3};

/// Principal moments that differ by less, in parts of the largest, say nothing about the directions between them.
const ALIKE: f64 = 1e-3;
/// Of points that are equally far to this part, the first gives a direction.
const EQUALLY_FAR: f64 = 1e-4;
/// The first point that is so far along an axis, in parts of the farthest, says which way the axis points. No regular mesh has vertices at this
/// part, the golden ratio, where rounding could decide.
const CLEARLY_OFF: f64 = 0.618_033_988_749_894_9;

/// The box around some points along their principal axes.
///
/// Turning and moving the points turns and moves the box, also where they are symmetric: what their moments leave open, the first point that
/// can tell says. So the order of the points matters there, and the axes of the world never do. (Points in one place have the world's axes.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrincipalBox {
    /// The middle of the box.
    pub centre: DVec3,
    /// Its directions as columns, by descending moment; a rotation.
    pub axes: DMat3,
    /// Half its sides along them.
    pub half: DVec3,
}

impl PrincipalBox {
    /// The box around some points; one without sides at the origin around none.
    pub fn of(points: &[DVec3]) -> Self {
        let (middle, [x, y, _]) = principal_frame(points);
        let signed = |axis: DVec3| {
            let along = |p: &DVec3| axis.dot(*p - middle);
            let far = points.iter().map(|p| along(p).abs()).fold(0.0, f64::max);
            let first = points.iter().map(along).find(|c| c.abs() >= CLEARLY_OFF * far);
            if first.is_some_and(|c| c < 0.0) { -axis } else { axis }
        };
        let (x, y) = (signed(x), signed(y));
        let axes = DMat3::from_cols(x, y, x.cross(y));
        let (mut low, mut high) = (DVec3::ZERO, DVec3::ZERO);
        for p in points {
            let p = axes.transpose() * (*p - middle);
            (low, high) = (low.min(p), high.max(p));
        }
        Self { centre: middle + axes * (0.5 * (low + high)), axes, half: 0.5 * (high - low) }
    }

    /// The length of its diagonal.
    pub fn extent(&self) -> f64 {
        2.0 * self.half.length()
    }

    /// A point as it lies along the axes, from the middle of the box.
    pub fn inward(&self, p: DVec3) -> DVec3 {
        self.axes.transpose() * (p - self.centre)
    }

    /// The corners of the box.
    pub fn corners(&self) -> [DVec3; 8] {
        std::array::from_fn(|at| {
            let sign = |axis: usize| if at >> axis & 1 == 1 { 1.0 } else { -1.0 };
            self.centre + self.axes * (self.half * DVec3::new(sign(0), sign(1), sign(2)))
        })
    }
}

/// The middle of some points and their principal axes, by descending moment, of either sign. Where moments are alike, the point farthest from
/// the other axis, or from the middle, gives a direction: the first, of those that are equally far.
pub(crate) fn principal_frame(points: &[DVec3]) -> (DVec3, [DVec3; 3]) {
    let middle = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
    let moments = points.iter().fold(DMat3::ZERO, |sum, p| {
        let d = *p - middle;
        sum + DMat3::from_cols(d * d.x, d * d.y, d * d.z)
    });
    if !(moments.is_finite() && middle.is_finite()) {
        // Squares that overflow tell nothing.
        return (points.iter().map(|p| *p / points.len() as f64).sum(), DVec3::AXES);
    }
    let [(a, x), (b, y), (c, z)] = principal_axes(&moments);
    let first_of_farthest = |from: &dyn Fn(DVec3) -> DVec3| {
        let from = |p: &DVec3| from(*p - middle);
        let far = points.iter().map(|p| from(p).length()).fold(0.0, f64::max);
        points.iter().map(from).find(|d| d.length() >= far * (1.0 - EQUALLY_FAR)).unwrap_or(DVec3::ZERO)
    };
    let across = |axis: DVec3| {
        let off = first_of_farthest(&|d| d.reject_from_normalized(axis));
        // What lies on the axis but for rounding has no direction across it.
        let is_off = off.length_squared() > 1e-20 * a;
        let u = if is_off { off.normalize() } else { axis.any_orthonormal_vector() };
        [u, axis.cross(u)]
    };
    let axes = match (a - b <= ALIKE * a, b - c <= ALIKE * a) {
        (false, false) => [x, y, z],
        (true, false) => {
            let [u, v] = across(z);
            [u, v, z]
        }
        (alike, true) => {
            let x = if alike { first_of_farthest(&|d| d).normalize_or(x) } else { x };
            let [u, v] = across(x);
            [x, u, v]
        }
    };
    (middle, axes)
}

/// The diagonal of the box around some points along their principal axes.
pub(crate) fn extent(points: &[DVec3]) -> f64 {
    let (middle, axes) = principal_frame(points);
    let side = |axis: &DVec3| {
        let along = points.iter().map(|p| axis.dot(*p - middle));
        along.clone().fold(0.0, f64::max) - along.fold(0.0, f64::min)
    };
    axes.iter().map(|axis| side(axis).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn turned(points: &[DVec3], round: u32) -> (Vec<DVec3>, DMat3, DVec3) {
        let axis = DVec3::new((1.3 * f64::from(round)).sin(), (0.7 * f64::from(round)).cos(), 0.4).normalize();
        let turn = DMat3::from_quat(DQuat::from_axis_angle(axis, 0.3 + f64::from(round)));
        let shift = DVec3::new(3.0, -2.0, f64::from(round));
        (points.iter().map(|p| turn * *p + shift).collect(), turn, shift)
    }

    /// A closed box of points, a cube, a ball of rings, a disc, a line: moments that differ, two alike either way, three alike.
    fn shapes() -> Vec<Vec<DVec3>> {
        let grid = |size: DVec3| -> Vec<DVec3> {
            let at = |i: usize| DVec3::new((i % 3) as f64, (i / 3 % 3) as f64, (i / 9) as f64) - 1.0;
            (0..27).map(|i| at(i) * size).collect()
        };
        let ring = |r: f64, z: f64| {
            let angle = |k: i32| f64::from(k) * std::f64::consts::FRAC_PI_4;
            (0..8).map(move |k| DVec3::new(r * angle(k).cos(), r * angle(k).sin(), z))
        };
        vec![
            grid(DVec3::new(3.0, 2.0, 1.0)),
            grid(DVec3::ONE),
            (0..5)
                .flat_map(|k| ring((1.0 - 0.25 * f64::from(k - 2).powi(2)).max(0.0).sqrt(), 0.5 * f64::from(k - 2)))
                .collect(),
            ring(1.0, 0.0).collect(),
            (0..6).flat_map(|k| ring(0.3, f64::from(k))).collect(),
            (0..4).map(|k| DVec3::X * f64::from(k)).collect(),
        ]
    }

    #[test]
    fn a_box_turns_with_its_points_however_symmetric_they_are() {
        for (at, points) in shapes().iter().enumerate() {
            let own = PrincipalBox::of(points);
            assert!((own.extent() - extent(points)).abs() < 1e-13 * own.extent(), "shape {at}");
            assert!((own.axes.determinant() - 1.0).abs() < 1e-12);
            assert!(points.iter().all(|p| own.inward(*p).abs().cmple(own.half + 1e-12).all()));
            for round in 0..20 {
                let (moved, turn, shift) = turned(points, round);
                let other = PrincipalBox::of(&moved);
                assert!((other.extent() - own.extent()).abs() < 1e-12, "shape {at}, turn {round}");
                // A line leaves two axes open, and has no sides along them.
                let spread = own.half.to_array().iter().filter(|h| **h > 1e-9).count();
                for axis in 0..if spread < 2 { 1 } else { 3 } {
                    let expected = turn * own.axes.col(axis);
                    assert!(other.axes.col(axis).distance(expected) < 1e-9, "shape {at}, turn {round}, axis {axis}");
                }
                assert!(other.centre.distance(turn * own.centre + shift) < 1e-9);
            }
        }
    }

    #[test]
    fn one_point_and_none_have_a_box_without_sides() {
        assert_eq!(PrincipalBox::of(&[]).extent(), 0.0);
        let one = PrincipalBox::of(&[DVec3::ONE; 3]);
        assert_eq!((one.extent(), one.centre), (0.0, DVec3::ONE));
        assert_eq!(one.corners(), [DVec3::ONE; 8]);
    }
}
