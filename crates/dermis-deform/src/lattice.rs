//! Free-form deformation: a box of control points that bends the space inside it.
//!
//! With (s, t, u) the coordinates of p in the box and B the Bernstein polynomials,
//!
//! ```text
//! p' = p + Σ_ijk B_i^l(s) B_j^m(t) B_k^n(u) ΔP_ijk          p = o + s e₁ + t e₂ + u e₃
//! ```
//!
//! for (l+1)(m+1)(n+1) control points moved by ΔP. This displacement form equals the published one, because Bernstein
//! polynomials reproduce linear functions; it has no rounding where nothing moved. Control points in the corners of the box are
//! interpolated, the others approximated.
//!
//! Points outside the box stay, so where a control point on its face moves the skin tears unless all of it lies inside;
//! [`Outside::Clamped`] gives them the displacement of the nearest parameters instead.
//!
//! A lattice with a **parent** bone travels with it: M_a ∘ lattice ∘ M_a⁻¹ acts on posed points. In a pose that flattens the bone
//! no point has coordinates in the box, and the lattice does nothing.
//!
//! Source: Sederberg & Parry 1986, "Free-form deformation of solid geometric models".

use crate::attached::Attached;
use dermis_rig::BoneIndex;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};

/// Control points along one axis at most: beyond this a Bernstein polynomial is so flat that none of them moves much.
pub const MOST_POINTS: usize = 32;
/// A box whose volume is below this part of its longest edge cubed has no inside.
const FLAT: f64 = 1e-12;

/// What a lattice does to points outside its box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    /// They stay.
    #[default]
    Unchanged,
    /// They move like the point whose coordinates are theirs clamped to 0..1.
    Clamped,
}

/// A box of moved control points.
#[derive(Clone, Debug, PartialEq)]
pub struct Lattice {
    origin: DVec3,
    edges: [DVec3; 3],
    box_from_rest: DMat3,
    points: [usize; 3],
    moved_by: Vec<DVec3>,
    /// What happens outside the box.
    pub outside: Outside,
    /// The bone the box hangs on; without one it stands still, in the space of the points it gets.
    pub parent: Option<BoneIndex>,
}

/// Why numbers are no lattice.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LatticeError {
    /// The edges span no volume.
    #[error("the edges of the box span no volume")]
    Flat,
    /// NaN or infinity.
    #[error("the lattice's {what} is not finite")]
    NotFinite {
        /// Origin, edges or a control point.
        what: &'static str,
    },
    /// Too few or too many control points along an axis.
    #[error("{count} control points along axis {axis}; there must be 2 to {MOST_POINTS}")]
    Points {
        /// 0, 1 or 2.
        axis: usize,
        /// How many.
        count: usize,
    },
    /// Displacements and control points differ in number.
    #[error("{found} displacements for {expected} control points")]
    Counts {
        /// Displacements.
        found: usize,
        /// Control points.
        expected: usize,
    },
}

impl Lattice {
    /// A lattice of `points` control points along each edge of a box.
    ///
    /// - `origin`, `edges`: o and e₁, e₂, e₃, metres, in the space of the points it will get
    /// - `moved_by`: ΔP_ijk, metres, the last index fastest
    ///
    /// # Errors
    /// [`LatticeError`].
    pub fn new(
        origin: DVec3,
        edges: [DVec3; 3],
        points: [usize; 3],
        moved_by: Vec<DVec3>,
    ) -> Result<Self, LatticeError> {
        let axes = DMat3::from_cols(edges[0], edges[1], edges[2]);
        for (what, finite) in [
            ("origin", origin.is_finite()),
            ("box", axes.is_finite()),
            ("displacement of a control point", moved_by.iter().all(|d| d.is_finite())),
        ] {
            if !finite {
                return Err(LatticeError::NotFinite { what });
            }
        }
        // Edges divided by the longest: their lengths may be any, their volume must not vanish.
        let longest = edges.iter().map(|e| e.length()).fold(0.0, f64::max);
        let inverse = axes.inverse();
        if !(longest > 0.0 && (axes * (1.0 / longest)).determinant().abs() > FLAT && inverse.is_finite()) {
            return Err(LatticeError::Flat);
        }
        for (axis, &count) in points.iter().enumerate() {
            if !(2..=MOST_POINTS).contains(&count) {
                return Err(LatticeError::Points { axis, count });
            }
        }
        let expected = points.iter().product();
        if moved_by.len() != expected {
            return Err(LatticeError::Counts { found: moved_by.len(), expected });
        }
        let outside = Outside::Unchanged;
        Ok(Self { origin, edges, box_from_rest: inverse, points, moved_by, outside, parent: None })
    }

    /// The displacement of a point.
    pub fn displacement(&self, p: DVec3) -> DVec3 {
        let at = self.box_from_rest * (p - self.origin);
        let clamped = at.clamp(DVec3::ZERO, DVec3::ONE);
        if self.outside == Outside::Unchanged && clamped != at {
            return DVec3::ZERO;
        }
        let [s, t, u] = [0, 1, 2].map(|axis| bernstein(self.points[axis] - 1, clamped[axis]));
        let [_, m, n] = self.points;
        let mut sum = DVec3::ZERO;
        for i in 0..self.points[0] {
            for j in 0..m {
                let row = &self.moved_by[(i * m + j) * n..][..n];
                let along: DVec3 = row.iter().zip(&u).map(|(d, b)| *d * *b).sum();
                sum += along * (s[i] * t[j]);
            }
        }
        sum
    }

    /// The derivative of the displacement after the point, ∂d/∂p, in closed form. On a face of the box it is that of one side.
    pub fn gradient(&self, p: DVec3) -> DMat3 {
        let at = self.box_from_rest * (p - self.origin);
        let clamped = at.clamp(DVec3::ZERO, DVec3::ONE);
        if self.outside == Outside::Unchanged && clamped != at {
            return DMat3::ZERO;
        }
        let of = |axis: usize| bernstein(self.points[axis] - 1, clamped[axis]);
        // A clamped coordinate does not follow the point.
        let slope = |axis: usize| match clamped[axis] == at[axis] {
            true => bernstein_slope(self.points[axis] - 1, clamped[axis]),
            false => [0.0; MOST_POINTS],
        };
        let (b, db) = ([0, 1, 2].map(of), [0, 1, 2].map(slope));
        let [_, m, n] = self.points;
        let mut after_box = DMat3::ZERO;
        for i in 0..self.points[0] {
            for j in 0..m {
                for (k, d) in self.moved_by[(i * m + j) * n..][..n].iter().enumerate() {
                    after_box.x_axis += *d * (db[0][i] * b[1][j] * b[2][k]);
                    after_box.y_axis += *d * (b[0][i] * db[1][j] * b[2][k]);
                    after_box.z_axis += *d * (b[0][i] * b[1][j] * db[2][k]);
                }
            }
        }
        after_box * self.box_from_rest
    }

    /// Deforms every point; `parent` is the enveloping matrix of the parent bone, the identity without one.
    ///
    /// # Panics
    /// If `points` and `out` differ in number.
    pub fn deform(&self, parent: &DAffine3, points: &[DVec3], out: &mut [DVec3]) {
        let attached = Attached::to(parent);
        crate::for_each_vertex(points, out, |_, p| p + attached.displacement(p, |p| self.displacement(p)));
    }

    /// The corner of the box, its edges, the numbers of control points along them, and ΔP; metres. [`Lattice::new`] takes
    /// them back.
    pub fn parts(&self) -> (DVec3, [DVec3; 3], [usize; 3], &[DVec3]) {
        (self.origin, self.edges, self.points, &self.moved_by)
    }
}

/// The derivative of [`bernstein`] for i = 0..=n: B'_i^n = n (B_{i−1}^{n−1} − B_i^{n−1}).
fn bernstein_slope(n: usize, x: f64) -> [f64; MOST_POINTS] {
    let lower = bernstein(n - 1, x);
    let mut slope = [0.0; MOST_POINTS];
    for i in 0..=n {
        let before = if i == 0 { 0.0 } else { lower[i - 1] };
        let own = if i == n { 0.0 } else { lower[i] };
        slope[i] = n as f64 * (before - own);
    }
    slope
}

/// B_i^n(x) for i = 0..=n.
fn bernstein(n: usize, x: f64) -> [f64; MOST_POINTS] {
    let mut b = [0.0; MOST_POINTS];
    b[0] = 1.0;
    for degree in 1..=n {
        // B_i^d = (1 − x) B_i^{d−1} + x B_{i−1}^{d−1}
        for i in (1..=degree).rev() {
            b[i] = (1.0 - x) * b[i] + x * b[i - 1];
        }
        b[0] *= 1.0 - x;
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DQuat;
    use dermis_testkit::Random;

    const POINTS: [usize; 3] = [4, 3, 2];

    /// An oblique box.
    fn edges() -> [DVec3; 3] {
        [DVec3::new(2.0, 0.3, 0.0), DVec3::new(-0.2, 1.5, 0.1), DVec3::new(0.0, 0.4, -1.0)]
    }

    fn origin() -> DVec3 {
        DVec3::new(-0.7, 0.2, 0.4)
    }

    fn at(s: f64, t: f64, u: f64) -> DVec3 {
        let [a, b, c] = edges();
        origin() + a * s + b * t + c * u
    }

    /// Control points moved by `by(where they are)`.
    fn lattice(by: impl FnMut(DVec3) -> DVec3) -> Lattice {
        let [l, m, n] = POINTS;
        let share = |i: usize, count: usize| i as f64 / (count - 1) as f64;
        let places = (0..l * m * n).map(|c| at(share(c / (m * n), l), share(c / n % m, m), share(c % n, n)));
        Lattice::new(origin(), edges(), POINTS, places.map(by).collect()).unwrap()
    }

    fn inside(random: &mut Random) -> DVec3 {
        at(random.unit(), random.unit(), random.unit())
    }

    #[test]
    fn nothing_moves_without_displacements_nor_outside_the_box() {
        let mut random = Random::new(1);
        let (still, moved) = (lattice(|_| DVec3::ZERO), lattice(|_| DVec3::ONE));
        for _ in 0..50 {
            let p = inside(&mut random);
            assert_eq!(still.displacement(p), DVec3::ZERO);
            assert_eq!(moved.displacement(p + edges()[1] * 1.01), DVec3::ZERO);
        }
        let clamped = Lattice { outside: Outside::Clamped, ..moved };
        assert!(clamped.displacement(at(3.0, -1.0, 0.5)).abs_diff_eq(DVec3::ONE, 1e-15));
    }

    /// Closed form: Bernstein polynomials reproduce linear functions, so the map of the control points is that of all points.
    #[test]
    fn an_affine_map_of_the_control_points_is_an_affine_map() {
        let mut random = Random::new(2);
        let map = DAffine3::from_mat3_translation(
            DMat3::from_cols(DVec3::new(0.7, 0.2, -0.1), DVec3::new(0.3, 1.4, 0.0), DVec3::new(-0.5, 0.2, 0.9)),
            DVec3::new(3.0, -1.0, 0.5),
        );
        let bent = lattice(|p| map.transform_point3(p) - p);
        for _ in 0..50 {
            let p = inside(&mut random);
            assert!((p + bent.displacement(p)).abs_diff_eq(map.transform_point3(p), 1e-13));
        }
    }

    #[test]
    fn corners_are_interpolated_and_clamping_takes_the_nearest_parameters() {
        let mut random = Random::new(3);
        let mut moves = Vec::new();
        let bent = lattice(|_| {
            moves.push(random.direction());
            moves[moves.len() - 1]
        });
        let bent = Lattice { outside: Outside::Clamped, ..bent };
        let [l, m, n] = POINTS;
        for corner in 0..8 {
            let [i, j, k] = [corner & 1, corner >> 1 & 1, corner >> 2];
            let control = (i * (l - 1) * m + j * (m - 1)) * n + k * (n - 1);
            let p = at(i as f64, j as f64, k as f64);
            assert!(bent.displacement(p).abs_diff_eq(moves[control], 1e-13));
            let beyond = at(3.0 * i as f64 - 1.0, 3.0 * j as f64 - 1.0, 3.0 * k as f64 - 1.0);
            assert!(bent.displacement(beyond).abs_diff_eq(moves[control], 1e-13));
        }
    }

    #[test]
    fn a_lattice_below_a_bone_turns_with_it() {
        let mut random = Random::new(4);
        let bent = lattice(|_| random.direction());
        let g = DAffine3::from_rotation_translation(DQuat::from_rotation_y(1.1), DVec3::new(2.0, 0.5, -1.0));
        let rest: Vec<DVec3> = (0..20).map(|_| inside(&mut random)).collect();
        let moved: Vec<DVec3> = rest.iter().map(|p| g.transform_point3(*p)).collect();
        let (mut at_rest, mut posed) = (rest.clone(), rest.clone());
        bent.deform(&DAffine3::IDENTITY, &rest, &mut at_rest);
        bent.deform(&g, &moved, &mut posed);
        for (a, b) in at_rest.iter().zip(&posed) {
            assert!(g.transform_point3(*a).abs_diff_eq(*b, 1e-13));
        }
        bent.deform(&DAffine3::from_scale(DVec3::new(1.0, 0.0, 1.0)), &rest, &mut posed);
        assert_eq!(posed, rest, "a bone that is flat leaves no box");
    }

    #[test]
    fn a_box_without_inside_or_wrong_counts_are_refused() {
        let make = |edges, points: [usize; 3], moved: usize| {
            Lattice::new(DVec3::ZERO, edges, points, vec![DVec3::ZERO; moved]).map(|_| ())
        };
        let tiny = DVec3::AXES.map(|e| e * 1e-9);
        assert_eq!(make(tiny, [2; 3], 8), Ok(()));
        assert_eq!(make([DVec3::X, DVec3::Y, DVec3::ZERO], [2; 3], 8), Err(LatticeError::Flat));
        assert_eq!(make([DVec3::X, DVec3::Y, DVec3::X + DVec3::Y], [2; 3], 8), Err(LatticeError::Flat));
        assert_eq!(make(DVec3::AXES, [2, 1, 2], 4), Err(LatticeError::Points { axis: 1, count: 1 }));
        assert_eq!(make(DVec3::AXES, [33, 2, 2], 132), Err(LatticeError::Points { axis: 0, count: 33 }));
        assert_eq!(make(DVec3::AXES, [2; 3], 7), Err(LatticeError::Counts { found: 7, expected: 8 }));
        let nan = [DVec3::X, DVec3::NAN, DVec3::Z];
        assert!(matches!(make(nan, [2; 3], 8), Err(LatticeError::NotFinite { .. })));
    }
}
