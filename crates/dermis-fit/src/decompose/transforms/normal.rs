//! The normal equations of the transforms: S = Φᵀ Φ and Q = Φᵀ X, with Φ_v,(k,i) = w_vk p̃_vi.

use crate::decompose::gram::Bones;
use crate::decompose::matrix::Matrix;
use crate::decompose::problem::{MONOMIALS, PAIRS, Points};
use crate::decompose::weights::Support;
use dermis_solve::simd::{self, Simd, WithSimd};
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
            members.par_iter().map(|members| simd::run_with(Accumulate { points, supports, members, bones })).collect();
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

impl WithSimd for Accumulate<'_> {
    type Output = (Overlaps, f64, Matrix);
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let mut tables = vec![[0.0; MONOMIALS]; self.bones];
        let mut squares = 0.0;
        let mut q = Matrix::zeros(4, self.points.trajectories.cols);
        for members in self.members.chunks(TOGETHER) {
            for &(v, w) in members {
                let v = v as usize;
                squares += w * w;
                for (l, u) in self.supports[v].members() {
                    let both = w * u;
                    (0..MONOMIALS).for_each(|m| tables[l][m] += both * self.points.monomials[v][m]);
                }
            }
            self.add_moments(simd, members, &mut q);
        }
        let overlaps = tables.into_iter().enumerate().filter(|(_, table)| table[9] != 0.0).collect();
        (overlaps, squares, q)
    }
}

/// Vertices that are added to Q at once, so that it is read and written less often.
const TOGETHER: usize = 4;

impl Accumulate<'_> {
    /// Adds Σ_v w_v p̃_v u_v of at most [`TOGETHER`] vertices to Q.
    #[inline(always)]
    fn add_moments<S: Simd>(&self, simd: S, members: &[(u32, f64)], q: &mut Matrix) {
        // Places beyond the last vertex repeat the first one, with weight zero.
        let at = |place: usize| members.get(place).copied().unwrap_or((members[0].0, 0.0));
        let of = |place: usize| self.points.rest[at(place).0 as usize].map(|p| at(place).1 * p);
        let row = |place: usize| self.points.trajectories.row(at(place).0 as usize);
        let (c, u) = ([of(0), of(1), of(2), of(3)], [row(0), row(1), row(2), row(3)]);
        let wide = [S::as_simd_f64s(u[0]).0, S::as_simd_f64s(u[1]).0, S::as_simd_f64s(u[2]).0, S::as_simd_f64s(u[3]).0];
        for i in 0..4 {
            let (q, rest) = S::as_mut_simd_f64s(q.row_mut(i));
            let (c0, c1) = (simd.splat_f64s(c[0][i]), simd.splat_f64s(c[1][i]));
            let (c2, c3) = (simd.splat_f64s(c[2][i]), simd.splat_f64s(c[3][i]));
            let (u0, u1, u2, u3) = (&wide[0][..q.len()], &wide[1][..q.len()], &wide[2][..q.len()], &wide[3][..q.len()]);
            for col in 0..q.len() {
                let even = simd.mul_add_e_f64s(c0, u0[col], simd.mul_f64s(c1, u1[col]));
                let odd = simd.mul_add_e_f64s(c2, u2[col], simd.mul_add_e_f64s(c3, u3[col], q[col]));
                q[col] = simd.add_f64s(even, odd);
            }
            let first = q.len() * S::F64_LANES;
            for (col, q) in rest.iter_mut().enumerate() {
                (0..TOGETHER).for_each(|place| *q += c[place][i] * u[place][first + col]);
            }
        }
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
