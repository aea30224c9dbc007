//! The normal equations of the transforms: S = Φᵀ Φ and Q = Φᵀ X, with Φ_v,(k,i) = w_vk p̃_vi.

use crate::decompose::gram::Bones;
use crate::decompose::matrix::Matrix;
use crate::decompose::problem::{MONOMIALS, PAIRS, Points};
use crate::decompose::weights::Support;
use dermis_solve::simd::{self, Fma, Kernel};
use rayon::prelude::*;

/// Returns the vertices and weights of every bone, vertices ascending.
pub fn members(supports: &[Support], bones: usize) -> Vec<Vec<(u32, f64)>> {
    let mut members = vec![Vec::new(); bones];
    for (v, support) in supports.iter().enumerate() {
        support.members().for_each(|(k, w)| members[k].push((v as u32, w)));
    }
    members
}

/// S of one bone k: every bone l that shares vertices with it, with Σ_v w_vk w_vl p̃_v p̃_vᵀ as ten monomials.
pub type Overlaps = Vec<(usize, [f64; MONOMIALS])>;

/// S and Q of a mesh.
pub struct Normal {
    /// S, bone by bone; a bone overlaps itself.
    pub overlaps: Vec<Overlaps>,
    /// Σ_v w_vk².
    pub squares: Vec<f64>,
    /// Row i·stride + k is Σ_v w_vk p̃_vi u_v.
    pub q: Bones,
}

impl Normal {
    pub fn of(points: &Points, supports: &[Support], bones: usize) -> Self {
        Self::from_members(points, supports, &members(supports, bones))
    }

    fn from_members(points: &Points, supports: &[Support], members: &[Vec<(u32, f64)>]) -> Self {
        let bones = members.len();
        let parts: Vec<(Overlaps, f64, Matrix)> =
            members.par_iter().map(|members| simd::run(Accumulate { points, supports, members, bones })).collect();
        let mut normal = Self { overlaps: vec![], squares: vec![], q: Bones::zeros(bones, points.trajectories.cols) };
        for (k, (overlaps, squares, q)) in parts.into_iter().enumerate() {
            normal.overlaps.push(overlaps);
            normal.squares.push(squares);
            (0..4).for_each(|i| normal.q.row_mut(i, k).copy_from_slice(q.row(i)));
        }
        normal
    }

    /// Returns S as a matrix, with `diagonal(i, k)` added to coordinate i of bone k.
    pub fn dense(&self, diagonal: impl Fn(usize, usize) -> f64) -> Matrix {
        let stride = self.q.stride;
        let mut s = Matrix::zeros(4 * stride, 4 * stride);
        for (k, overlaps) in self.overlaps.iter().enumerate() {
            for (l, table) in overlaps {
                for (m, &(i, j)) in PAIRS.iter().enumerate() {
                    s.row_mut(i * stride + k)[j * stride + l] = table[m];
                    s.row_mut(j * stride + k)[i * stride + l] = table[m];
                }
            }
        }
        for i in 0..4 {
            for k in 0..stride {
                s.row_mut(i * stride + k)[i * stride + k] += if k < self.overlaps.len() { diagonal(i, k) } else { 1.0 };
            }
        }
        s
    }
}

/// S and Q of one bone.
struct Accumulate<'a> {
    points: &'a Points,
    supports: &'a [Support],
    members: &'a [(u32, f64)],
    bones: usize,
}

impl Kernel for Accumulate<'_> {
    type Output = (Overlaps, f64, Matrix);
    #[inline(always)]
    fn run<F: Fma>(self) -> Self::Output {
        let mut tables = vec![[0.0; MONOMIALS]; self.bones];
        let mut squares = 0.0;
        let cols = self.points.trajectories.cols;
        let mut q = Matrix::zeros(4, cols);
        let (a, rest) = q.values.split_at_mut(cols);
        let (b, rest) = rest.split_at_mut(cols);
        let (c, d) = rest.split_at_mut(cols);
        for &(v, w) in self.members {
            let v = v as usize;
            squares += w * w;
            for (l, u) in self.supports[v].members() {
                let both = w * u;
                (0..MONOMIALS).for_each(|m| tables[l][m] += both * self.points.monomials[v][m]);
            }
            let p = self.points.rest[v].map(|p| w * p);
            let u = self.points.trajectories.row(v);
            let d = &mut d[..cols];
            for at in 0..cols {
                a[at] += p[0] * u[at];
                b[at] += p[1] * u[at];
                c[at] += p[2] * u[at];
                d[at] += p[3] * u[at];
            }
        }
        let overlaps = tables.into_iter().enumerate().filter(|(_, table)| table[9] != 0.0).collect();
        (overlaps, squares, q)
    }
}

/// Returns the symmetric matrix whose upper triangle is `table`.
#[inline(always)]
pub fn square(table: &[f64; MONOMIALS]) -> [[f64; 4]; 4] {
    let mut s = [[0.0; 4]; 4];
    for (m, &(i, j)) in PAIRS.iter().enumerate() {
        (s[i][j], s[j][i]) = (table[m], table[m]);
    }
    s
}
