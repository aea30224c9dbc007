//! Weights that are smooth over the surface: the term that draws every vertex to what its neighbours have.
//!
//! ```text
//! J = E / (M² P) + λ Σ_v |w_v − ŵ_v|²,   ŵ = (I + L)⁻¹ w,   L = I − D⁻¹ A
//! ```
//!
//! M² is the mean squared distance of the rest shape from its centroid, and λ the strength. A holds one conductance per edge, the
//! reciprocal of the rms change of the edge's length over the frames, and D its row sums: weights spread freely over parts that
//! move rigidly, and little across parts that stretch.
//!
//! Weights are solved with ŵ held, then ŵ is solved again. For the weights of one vertex the term is a ridge towards ŵ_v: it adds μ to
//! the diagonal of H, μ ŵ_v to g and μ |ŵ_v|² to |x_v|², with μ = λ M² P.
//!
//! Source: Le & Deng 2014, "Robust and accurate skeletal rigging from mesh sequences", section 3.4, with the conductances and the
//! scale of its authors' program, Dem Bones.

use super::Sequence;
use super::matrix::Matrix;
use super::problem::Units;
use super::weights::Support;
use dermis_rig::glam::DVec3;
use rayon::prelude::*;

/// A mesh as a graph: from every vertex, its neighbours and their shares, which sum to one.
#[derive(Clone, Debug)]
pub(super) struct Surface {
    starts: Vec<usize>,
    shares: Vec<(u32, f64)>,
    /// M² P, in the solver's units.
    pub scale: f64,
}

impl Surface {
    pub fn of(sequence: &Sequence, units: &Units) -> Self {
        let rest = sequence.rest;
        let edges = edges(sequence.triangles);
        let lengths: f64 = edges.iter().map(|&(a, b)| (rest[a] - rest[b]).length()).sum();
        // Edges that keep their length to rounding conduct alike, also far from the origin.
        let least = (1e-15 * lengths).max(1e-7 * lengths / edges.len().max(1) as f64);
        let conductances: Vec<f64> = edges
            .par_iter()
            .map(|&(a, b)| {
                let length = (rest[a] - rest[b]).length();
                let change = |x: &&[DVec3]| -> f64 { ((x[a] - x[b]).length() - length).powi(2) };
                let sum: f64 = sequence.frames.iter().map(change).sum();
                1.0 / ((sum / sequence.frames.len() as f64).sqrt() + least).max(f64::MIN_POSITIVE)
            })
            .collect();
        let mut rows = vec![Vec::new(); rest.len()];
        for (&(a, b), &conductance) in edges.iter().zip(&conductances) {
            rows[a].push((b as u32, conductance));
            rows[b].push((a as u32, conductance));
        }
        let mut starts = vec![0];
        let mut shares = Vec::with_capacity(2 * edges.len());
        for row in rows {
            // Relative to the largest, so that no sum overflows.
            let largest = row.iter().map(|r| r.1).fold(0.0, f64::max);
            let sum: f64 = row.iter().map(|r| r.1 / largest).sum();
            shares.extend(row.iter().map(|&(u, c)| (u, c / largest / sum)));
            starts.push(shares.len());
        }
        Self { starts, shares, scale: spread(rest) / units.length.powi(2) * sequence.frames.len() as f64 }
    }

    /// ŵ = (I + L)⁻¹ w, a row of `stride` numbers per vertex.
    ///
    /// Chebyshev's iteration on z = (w + D⁻¹A z) / 2, whose matrix has its eigenvalues in −½..½: 16 steps leave 1e-9.
    pub fn smoothed(&self, supports: &[Support], stride: usize) -> Matrix {
        const STEPS: usize = 16;
        const RADIUS: f64 = 0.5;
        let mut now = Matrix::zeros(supports.len(), stride);
        for (v, support) in supports.iter().enumerate() {
            support.members().for_each(|(k, w)| now.row_mut(v)[k] = w);
        }
        let mut last = now.clone();
        let mut omega = 1.0;
        for step in 0..STEPS {
            omega = match step {
                0 => 1.0,
                1 => 1.0 / (1.0 - 0.5 * RADIUS * RADIUS),
                _ => 1.0 / (1.0 - 0.25 * RADIUS * RADIUS * omega),
            };
            // The row of the step before last is read once, where the new one goes.
            last.values.par_chunks_mut(stride).enumerate().for_each(|(v, row)| {
                row.iter_mut().for_each(|z| *z *= 1.0 - omega);
                let shares = &self.shares[self.starts[v]..self.starts[v + 1]];
                let half = 0.5 * omega;
                for &(u, share) in shares {
                    let scale = half * share;
                    row.iter_mut().zip(now.row(u as usize)).for_each(|(z, n)| *z += scale * n);
                }
                if shares.is_empty() {
                    row.iter_mut().zip(now.row(v)).for_each(|(z, n)| *z += half * n);
                }
                supports[v].members().for_each(|(k, w)| row[k] += half * w);
            });
            std::mem::swap(&mut now, &mut last);
        }
        now
    }
}

/// M²: the mean squared distance from the centroid.
pub(super) fn spread(rest: &[DVec3]) -> f64 {
    let centroid = rest.iter().copied().sum::<DVec3>() / rest.len() as f64;
    rest.iter().map(|p| (*p - centroid).length_squared()).sum::<f64>() / rest.len() as f64
}

/// Every edge once, ascending.
fn edges(triangles: &[[u32; 3]]) -> Vec<(usize, usize)> {
    let corners = |t: &[u32; 3]| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])];
    let ordered = |(a, b): (u32, u32)| (a.min(b) as usize, a.max(b) as usize);
    let mut edges: Vec<_> = triangles.iter().flat_map(corners).map(ordered).filter(|(a, b)| a != b).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Targets that draw the weights: μ |w_v − ŵ_v|² is added to the energy of every vertex.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    /// μ.
    pub stiffness: f64,
    /// ŵ: vertices × stride.
    pub targets: Matrix,
    /// |ŵ_v|².
    sizes: Vec<f64>,
}

impl Drawn {
    pub fn new(stiffness: f64, targets: Matrix) -> Self {
        let sizes = (0..targets.rows).map(|v| targets.row(v).iter().map(|w| w * w).sum()).collect();
        Self { stiffness, targets, sizes }
    }
    /// μ ŵ_vk.
    #[inline(always)]
    pub fn pull(&self, v: usize, k: usize) -> f64 {
        self.stiffness * self.targets.row(v)[k]
    }
    /// μ |ŵ_v|².
    #[inline(always)]
    pub fn square(&self, v: usize) -> f64 {
        self.stiffness * self.sizes[v]
    }
    /// μ w·ŵ_v.
    pub fn pull_of(&self, v: usize, support: &Support) -> f64 {
        support.members().map(|(k, w)| w * self.pull(v, k)).sum()
    }
    /// μ |w − ŵ_v|².
    pub fn energy(&self, v: usize, support: &Support) -> f64 {
        let own: f64 = support.members().map(|(_, w)| w * w).sum();
        (self.square(v) - 2.0 * self.pull_of(v, support) + self.stiffness * own).max(0.0)
    }
    /// Some of the vertices.
    pub fn subset(&self, at: &[usize]) -> Self {
        let mut targets = Matrix::zeros(at.len(), self.targets.cols);
        at.iter().enumerate().for_each(|(row, &v)| targets.row_mut(row).copy_from_slice(self.targets.row(v)));
        Self::new(self.stiffness, targets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip of quads whose second half stretches.
    fn strip() -> (Vec<DVec3>, Vec<Vec<DVec3>>, Vec<[u32; 3]>) {
        let rest: Vec<DVec3> = (0..16).map(|v| DVec3::new((v / 2) as f64, (v % 2) as f64, 0.0)).collect();
        let frame = rest.iter().map(|p| DVec3::new(p.x + 0.2 * (p.x - 3.0).max(0.0).powi(2), p.y, 0.1 * p.x)).collect();
        let triangles =
            (0..7u32).flat_map(|q| [[2 * q, 2 * q + 1, 2 * q + 2], [2 * q + 1, 2 * q + 3, 2 * q + 2]]).collect();
        (rest, vec![frame], triangles)
    }

    /// Oracle: (I + L) z = w row by row, with L from the definition.
    #[test]
    fn smoothed_weights_solve_the_implicit_step() {
        let (rest, frames, triangles) = strip();
        let shapes: Vec<&[DVec3]> = frames.iter().map(Vec::as_slice).collect();
        let sequence = Sequence { rest: &rest, frames: &shapes, triangles: &triangles };
        let surface = Surface::of(&sequence, &Units::of(&rest));
        let supports: Vec<Support> = (0..rest.len()).map(|v| Support::single(usize::from(v > 5))).collect();
        let z = surface.smoothed(&supports, 8);
        let change = |a: usize, b: usize| ((frames[0][a] - frames[0][b]).length() - (rest[a] - rest[b]).length()).abs();
        let ends = edges(&triangles);
        let least = 1e-7 * ends.iter().map(|&(a, b)| rest[a].distance(rest[b])).sum::<f64>() / ends.len() as f64;
        for v in 0..rest.len() {
            let near: Vec<usize> = (0..rest.len())
                .filter(|&u| u != v && triangles.iter().any(|t| t.contains(&(u as u32)) && t.contains(&(v as u32))))
                .collect();
            let conductance = |u: usize| 1.0 / (change(v, u) + least);
            let sum: f64 = near.iter().map(|&u| conductance(u)).sum();
            for k in 0..2 {
                let mean: f64 = near.iter().map(|&u| conductance(u) / sum * z.row(u)[k]).sum();
                let w = f64::from(u8::from(supports[v].bones[0] == k as u32));
                assert!((2.0 * z.row(v)[k] - mean - w).abs() < 1e-6, "vertex {v}, bone {k}");
            }
        }
    }

    #[test]
    fn a_vertex_without_edges_keeps_its_weights() {
        let rest = [DVec3::ZERO, DVec3::X, DVec3::Y];
        let sequence = Sequence { rest: &rest, frames: &[&rest], triangles: &[] };
        let surface = Surface::of(&sequence, &Units::of(&rest));
        let z = surface.smoothed(&[Support::single(1), Support::single(0), Support::single(2)], 8);
        assert!((z.row(0)[1] - 1.0).abs() < 1e-8 && z.row(0)[0].abs() < 1e-8);
    }
}
