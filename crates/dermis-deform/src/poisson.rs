//! Positions from gradients: the surface whose triangles come closest to having given deformation gradients.
//!
//! ```text
//! min Σ_t a_t/l_t² Σ_(i,j) |(x_i − x_j) − D_t (p_i − p_j)|²  +  Σ_anchors d_v |x_v − q_v|²
//! ```
//!
//! over the three edges (i, j) of every triangle t with rest area a_t and mean squared edge l_t², which counts triangles
//! of one shape alike whatever their size (as the integral of a gradient over its area does) and slivers little. All
//! weights are positive, so the matrix is definite as soon as every connected part has an anchor; d_v is the vertex's own
//! row sum, so an anchor counts as much as its edges. The matrix depends on the rest mesh alone and is factorised once.
//!
//! Gradients of one surface give it back exactly, if its anchors lie on it. Vertices that no usable triangle carries
//! stand alone at their target.
//!
//! This is the one module of the crate that solves a system of equations in every pose, and the reason why the crate uses
//! `dermis-solve`.
//!
//! Source: Sumner and Popović 2004 (deformation gradients); Wang, Pulli and Popović 2007, section 4.

use dermis_rig::Rows;
use dermis_rig::glam::{DMat3, DVec3};
use dermis_solve::{SolveError, SolveMemory, SparseFactor};
use rayon::prelude::*;

/// The prefactored system of one rest mesh and its anchors.
#[derive(Clone, Debug)]
pub struct Poisson {
    /// Per triangle a_t/l_t²; zero for one that cannot be used.
    weights: Vec<f64>,
    /// The triangles at each vertex: (triangle, 2 p_v − p_a − p_b).
    corners: Rows<(u32, DVec3)>,
    /// d_v of anchored and lonely vertices, else zero.
    pulls: Vec<f64>,
    factor: SparseFactor,
}

/// Memory that [`Poisson::solve`] reuses.
#[derive(Clone, Debug, Default)]
pub struct PoissonScratch {
    columns: Vec<f64>,
    memory: SolveMemory,
}

/// Weight of a triangle, or `None` for one without area: its gradient is not defined.
///
/// A triangle counts as degenerate where its area is below 1e-9 of its mean squared edge; a right angle's is a fifth.
pub fn triangle_weight(rest: &[DVec3], triangle: [u32; 3]) -> Option<f64> {
    let [a, b, c] = triangle.map(|v| rest[v as usize]);
    let area = 0.5 * (b - a).cross(c - a).length();
    let square = ((b - a).length_squared() + (c - b).length_squared() + (a - c).length_squared()) / 3.0;
    let weight = area / square;
    (weight.is_finite() && weight > 1e-9).then_some(weight)
}

/// For each vertex the connected part of the surface it belongs to, named by its first vertex; `None` where no usable
/// triangle carries the vertex.
pub fn components(rest: &[DVec3], triangles: &[[u32; 3]]) -> Vec<Option<u32>> {
    let mut above: Vec<u32> = (0..rest.len() as u32).collect();
    fn root(above: &mut [u32], v: u32) -> u32 {
        let mut v = v;
        while above[v as usize] != v {
            above[v as usize] = above[above[v as usize] as usize];
            v = above[v as usize];
        }
        v
    }
    let mut carried = vec![false; rest.len()];
    for &triangle in triangles.iter().filter(|t| triangle_weight(rest, **t).is_some()) {
        let [a, b, c] = triangle.map(|v| root(&mut above, v));
        let first = a.min(b).min(c);
        for v in [a, b, c] {
            above[v as usize] = first;
        }
        triangle.iter().for_each(|&v| carried[v as usize] = true);
    }
    (0..rest.len() as u32).map(|v| carried[v as usize].then(|| root(&mut above, v))).collect()
}

impl Poisson {
    /// The system of a rest mesh held at `anchors`.
    ///
    /// # Errors
    /// [`SolveError::NotPositive`] if a connected part has no anchor; [`SolveError::TooLarge`] if the mesh is tangled
    /// beyond what a surface is, so that its factor is not sparse.
    ///
    /// # Panics
    /// If a triangle or an anchor names a vertex that does not exist.
    pub fn new(rest: &[DVec3], triangles: &[[u32; 3]], anchors: &[u32]) -> Result<Self, SolveError> {
        let size = rest.len();
        // Asked of the surface: rounding hides it from the factor, whose last pivot is then near zero instead of zero.
        let parts = components(rest, triangles);
        let mut held = vec![false; size];
        anchors.iter().filter_map(|&v| parts[v as usize]).for_each(|part| held[part as usize] = true);
        if parts.iter().flatten().any(|&part| !held[part as usize]) {
            return Err(SolveError::NotPositive);
        }
        let weights: Vec<f64> = triangles.iter().map(|&t| triangle_weight(rest, t).unwrap_or(0.0)).collect();
        let usable = triangles.iter().zip(&weights).enumerate().filter(|(_, (_, w))| **w > 0.0);
        let mut corners = Vec::with_capacity(3 * triangles.len());
        let (mut entries, mut diagonal) = (Vec::with_capacity(3 * triangles.len() + size), vec![0.0; size]);
        for (t, (triangle, &weight)) in usable {
            for at in 0..3 {
                let [v, a, b] = [0, 1, 2].map(|k| triangle[(at + k) % 3] as usize);
                corners.push((v as u32, (t as u32, 2.0 * rest[v] - rest[a] - rest[b])));
                diagonal[v] += 2.0 * weight;
                entries.push((v.max(a), v.min(a), -weight));
            }
        }
        let mut pulls = vec![0.0; size];
        for v in 0..size {
            if diagonal[v] == 0.0 {
                pulls[v] = 1.0;
            }
        }
        anchors.iter().map(|&v| v as usize).filter(|&v| diagonal[v] > 0.0).for_each(|v| pulls[v] = diagonal[v]);
        entries.extend((0..size).map(|v| (v, v, diagonal[v] + pulls[v])));
        // Factors of surfaces grow like n log n: 30 entries a vertex at 10 000 vertices, 60 at a million.
        let factor = SparseFactor::bounded(size, &entries, 1_000_000 + 250 * size)?;
        Ok(Self { weights, corners: Rows::by_row(size, corners), pulls, factor })
    }

    /// Numbers that a solve reads.
    pub fn entries(&self) -> usize {
        self.factor.entries() + 4 * self.corners.entries().len()
    }

    /// The positions closest to having these gradients (rest to posed, one per triangle), in `out`, which comes with
    /// the targets of anchors and of vertices that stand alone; the others are not read.
    ///
    /// # Panics
    /// If the counts differ from those of the mesh.
    pub fn solve(&self, gradients: &[DMat3], scratch: &mut PoissonScratch, out: &mut [DVec3]) {
        let size = self.pulls.len();
        assert_eq!((gradients.len(), out.len()), (self.weights.len(), size), "gradients or positions of another mesh");
        out.par_iter_mut().enumerate().with_min_len(crate::CHUNK).for_each(|(v, x)| {
            let pull = self.pulls[v];
            let mut sum = if pull > 0.0 { *x * pull } else { DVec3::ZERO };
            for &(t, edges) in self.corners.of(v) {
                sum += gradients[t as usize] * edges * self.weights[t as usize];
            }
            *x = sum;
        });
        scratch.columns.clear();
        (0..3).for_each(|axis| scratch.columns.extend(out.iter().map(|x| x[axis])));
        let solved = self.factor.solve_with(&mut scratch.columns, &mut scratch.memory);
        debug_assert!(solved.is_ok(), "three columns of one entry per vertex");
        for (v, x) in out.iter_mut().enumerate() {
            *x = DVec3::new(scratch.columns[v], scratch.columns[size + v], scratch.columns[2 * size + v]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_testkit::{Arm, ArmPose, Random, largest_distance};

    /// The gradient of a triangle from rest to posed, normal to normal.
    fn gradient(rest: &[DVec3], posed: &[DVec3], triangle: [u32; 3]) -> DMat3 {
        let frame = |p: &[DVec3]| {
            let [a, b, c] = triangle.map(|v| p[v as usize]);
            DMat3::from_cols(b - a, c - a, (b - a).cross(c - a).normalize())
        };
        frame(posed) * frame(rest).inverse()
    }

    #[test]
    fn gradients_of_one_surface_give_it_back() {
        let arm = Arm::new(30, 12);
        let (rest, triangles) = (&arm.rig.mesh().positions, &arm.rig.mesh().triangles);
        let mut random = Random::new(9);
        let (mut scratch, poisson) = (PoissonScratch::default(), Poisson::new(rest, triangles, &[5]).unwrap());
        for _ in 0..4 {
            let posed = arm.skin(&ArmPose::random(&mut random));
            let gradients: Vec<_> = triangles.iter().map(|&t| gradient(rest, &posed, t)).collect();
            let mut out = vec![DVec3::NAN; rest.len()];
            out[5] = posed[5];
            poisson.solve(&gradients, &mut scratch, &mut out);
            // The factor's condition is about the squared number of rings; 1e-16 · 1e3 · diagonal.
            assert!(largest_distance(&out, &posed) < 1e-12, "{}", largest_distance(&out, &posed));
        }
    }

    #[test]
    fn degenerate_triangles_and_lonely_vertices_are_left_at_their_targets() {
        let rest = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::splat(2.0), DVec3::splat(3.0), DVec3::splat(4.0)];
        // A triangle, a needle through three points of a line, one that names a vertex twice.
        let triangles = [[0, 1, 2], [3, 4, 5], [0, 0, 1]];
        assert_eq!(components(&rest, &triangles), [Some(0), Some(0), Some(0), None, None, None]);
        let poisson = Poisson::new(&rest, &triangles, &[0]).unwrap();
        let mut out = [DVec3::Z; 6];
        out[4] = DVec3::ONE;
        let turn = DMat3::from_rotation_z(0.5);
        poisson.solve(&[turn, DMat3::NAN, DMat3::NAN], &mut PoissonScratch::default(), &mut out);
        let expected =
            [DVec3::Z, DVec3::Z + turn * DVec3::X, DVec3::Z + turn * DVec3::Y, DVec3::Z, DVec3::ONE, DVec3::Z];
        assert!(largest_distance(&out, &expected) < 1e-14);
        assert_eq!(Poisson::new(&rest, &triangles, &[3]).unwrap_err(), SolveError::NotPositive);
    }

    /// Whatever rounding makes of the last pivot.
    #[test]
    fn a_part_without_an_anchor_is_refused() {
        for (rings, sides) in [(2, 3), (5, 4), (30, 12)] {
            let arm = Arm::new(rings, sides);
            let arm = arm.rig.mesh();
            let count = arm.positions.len() as u32;
            let twice: Vec<DVec3> =
                arm.positions.iter().copied().chain(arm.positions.iter().map(|p| *p + 9.0)).collect();
            let triangles: Vec<[u32; 3]> =
                arm.triangles.iter().copied().chain(arm.triangles.iter().map(|t| t.map(|v| v + count))).collect();
            let made = |anchors: &[u32]| Poisson::new(&twice, &triangles, anchors).map(|_| ());
            assert_eq!(made(&[1, count + 1]), Ok(()));
            for missing in [&[][..], &[0], &[count], &[1, 2, 3]] {
                assert_eq!(made(missing), Err(SolveError::NotPositive), "{rings} rings, anchors {missing:?}");
            }
        }
    }
}
