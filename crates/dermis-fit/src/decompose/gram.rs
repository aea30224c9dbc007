//! Gram matrices of the compressed transforms: every inner product that weights are solved from.
//!
//! Bone k takes vertex v to y_k = p̃_v T_k, a row of r numbers. The weights of a vertex need two kinds of products only:
//!
//! ```text
//! H_kl = y_k · y_l = p̃ (T_k T_lᵀ) p̃ᵀ      ten monomials of p̃ times a table of the pair of bones
//! g_k  = y_k · x   = p̃ (T_k xᵀ)           from one product U Tᵀ per block of vertices
//! ```
//!
//! The tables are made once per set of transforms. After that no pass reads a frame.

use super::matrix::{Matrix, multiply};
use super::problem::{MONOMIALS, PAIRS, Points};
use dermis_solve::faer::MatRef;
use dermis_solve::simd::Simd;
use std::ops::Range;

/// Bones are padded to a multiple of the widest registers.
const PAD: usize = 8;

/// The transforms of the bones, T: row i·stride + k holds coordinate i of bone k, r columns.
#[derive(Clone, Debug)]
pub(super) struct Bones {
    pub count: usize,
    /// `count` rounded up; the rows beyond are zero.
    pub stride: usize,
    pub t: Matrix,
}

impl Bones {
    pub fn zeros(count: usize, cols: usize) -> Self {
        let stride = count.next_multiple_of(PAD);
        Self { count, stride, t: Matrix::zeros(4 * stride, cols) }
    }
    pub fn row(&self, i: usize, k: usize) -> &[f64] {
        self.t.row(i * self.stride + k)
    }
    pub fn row_mut(&mut self, i: usize, k: usize) -> &mut [f64] {
        self.t.row_mut(i * self.stride + k)
    }
    /// Replaces the first `rows` coordinates of some bones in the frames from column `start` on, by those that `part` holds:
    /// coordinate i of bone k in row `rows` k + i.
    pub fn replace(&mut self, bones: Range<usize>, rows: usize, start: usize, part: &Matrix) {
        for k in bones {
            for i in 0..rows {
                let new = part.row(rows * k + i);
                self.row_mut(i, k)[start..start + new.len()].copy_from_slice(new);
            }
        }
    }
    /// The bones `from`, in that order.
    pub fn selected(&self, from: &[usize]) -> Self {
        let mut made = Self::zeros(from.len(), self.t.cols);
        for (k, &old) in from.iter().enumerate() {
            (0..4).for_each(|i| made.row_mut(i, k).copy_from_slice(self.row(i, old)));
        }
        made
    }
    /// T Zᵀ, for rows Z over the same columns.
    pub fn onto(&self, z: &Matrix) -> Self {
        let (count, stride) = (self.count, self.stride);
        if 2 * count > stride {
            return Self { count, stride, t: self.t.times_transposed(z) };
        }
        // Few bones: without the rows of zeros.
        let mut rows = Matrix::zeros(4 * count, self.t.cols);
        for i in 0..4 {
            (0..count).for_each(|k| rows.row_mut(i * count + k).copy_from_slice(self.row(i, k)));
        }
        let rows = rows.times_transposed(z);
        let mut made = Self::zeros(count, z.rows);
        for i in 0..4 {
            (0..count).for_each(|k| made.row_mut(i, k).copy_from_slice(rows.row(i * count + k)));
        }
        made
    }
    /// The bones of all parts, one part after another.
    pub fn joined(parts: &[&Self]) -> Self {
        let mut made = Self::zeros(parts.iter().map(|part| part.count).sum(), parts[0].t.cols);
        let every = parts.iter().flat_map(|part| (0..part.count).map(move |k| (part, k)));
        for (k, (part, old)) in every.enumerate() {
            (0..4).for_each(|i| made.row_mut(i, k).copy_from_slice(part.row(i, old)));
        }
        made
    }
}

/// The tables of H between bones (rows) and either the same bones or candidates for new ones (columns).
#[derive(Clone)]
pub(super) struct Gram {
    /// Columns, padded.
    pub stride: usize,
    pub columns: usize,
    /// [row][monomial][column].
    pub wide: Vec<f64>,
    /// [row][column][monomial]; empty for candidates.
    pub near: Vec<[f64; MONOMIALS]>,
    /// [monomial][column] of H_jj.
    diagonal: Vec<f64>,
}

impl Gram {
    /// H between all pairs of `bones`.
    pub fn of(bones: &Bones) -> Self {
        Self::between(bones, bones, true)
    }
    /// H between `bones` and `candidates`.
    pub fn candidates(bones: &Bones, candidates: &Bones) -> Self {
        Self::between(bones, candidates, false)
    }
    /// Adds μ to H_jj of every column: a ridge on the weights. The last monomial is one.
    pub fn with_ridge(mut self, stiffness: f64) -> Self {
        const ONE: usize = MONOMIALS - 1;
        let stride = self.stride;
        self.diagonal[ONE * stride..][..self.columns].iter_mut().for_each(|d| *d += stiffness);
        if !self.near.is_empty() {
            for k in 0..self.columns {
                self.near[k * stride + k][ONE] += stiffness;
                self.wide[(k * MONOMIALS + ONE) * stride + k] += stiffness;
            }
        }
        self
    }
    fn between(rows: &Bones, columns: &Bones, same: bool) -> Self {
        let (b, stride) = (rows.count, columns.stride);
        let g = rows.t.times_transposed(&columns.t);
        let own = if same { None } else { Some(columns.t.times_transposed(&columns.t)) };
        let mut wide = vec![0.0; b * MONOMIALS * stride];
        for k in 0..b {
            for (m, &(i, j)) in PAIRS.iter().enumerate() {
                let table = &mut wide[(k * MONOMIALS + m) * stride..][..stride];
                table.copy_from_slice(&g.row(i * rows.stride + k)[j * stride..][..stride]);
                if i != j {
                    let other = &g.row(j * rows.stride + k)[i * stride..][..stride];
                    table.iter_mut().zip(other).for_each(|(t, o)| *t += o);
                }
            }
        }
        let own = own.as_ref().unwrap_or(&g);
        let mut diagonal = vec![0.0; MONOMIALS * stride];
        for (m, &(i, j)) in PAIRS.iter().enumerate() {
            let twice = if i == j { 1.0 } else { 2.0 };
            (0..stride).for_each(|k| diagonal[m * stride + k] = twice * own.row(i * stride + k)[j * stride + k]);
        }
        let near = if same {
            (0..b * stride)
                .map(|at| std::array::from_fn(|m| wide[((at / stride) * MONOMIALS + m) * stride + at % stride]))
                .collect()
        } else {
            Vec::new()
        };
        Self { stride, columns: columns.count, wide, near, diagonal }
    }
}

/// U Tᵀ for a block of vertices.
pub(super) fn products(points: &Points, first: usize, count: usize, bones: &Bones, product: &mut [f64]) {
    let (r, wide) = (points.trajectories.cols, 4 * bones.stride);
    let u = MatRef::from_row_major_slice(&points.trajectories.values[first * r..(first + count) * r], count, r);
    multiply(&mut product[..count * wide], u, bones.t.view().transpose());
}

/// g_k = Σ_i p̃_i (U Tᵀ)_ik of all bones.
#[inline(always)]
pub(super) fn pulls<S: Simd>(simd: S, points: &Points, v: usize, product: &[f64], g: &mut [f64]) {
    let p = &points.rest[v];
    let (stride, g) = (g.len(), S::as_mut_simd_f64s(g).0);
    for (i, rows) in product.chunks_exact(stride).take(4).enumerate() {
        let (p, rows) = (simd.splat_f64s(p[i]), &S::as_simd_f64s(rows).0[..g.len()]);
        for k in 0..g.len() {
            let sum = simd.mul_f64s(p, rows[k]);
            g[k] = if i == 0 { sum } else { simd.add_f64s(g[k], sum) };
        }
    }
}

/// H_jj of every column.
#[inline(always)]
pub(super) fn squares<S: Simd>(simd: S, gram: &Gram, monomials: &[f64; MONOMIALS], into: &mut [f64]) {
    combine(simd, &gram.diagonal, gram.stride, monomials, into);
}

/// into_k = Σ_m monomial_m table[m][k].
#[inline(always)]
pub(super) fn combine<S: Simd>(simd: S, table: &[f64], stride: usize, monomials: &[f64; MONOMIALS], into: &mut [f64]) {
    // The stride fills whole vectors.
    let into = S::as_mut_simd_f64s(&mut into[..stride]).0;
    let table = S::as_simd_f64s(&table[..MONOMIALS * stride]).0;
    let vectors = into.len();
    for k in 0..vectors {
        let (mut even, mut odd) = (simd.splat_f64s(0.0), simd.splat_f64s(0.0));
        for m in 0..MONOMIALS / 2 {
            even = simd.mul_add_e_f64s(simd.splat_f64s(monomials[2 * m]), table[2 * m * vectors + k], even);
            odd = simd.mul_add_e_f64s(simd.splat_f64s(monomials[2 * m + 1]), table[(2 * m + 1) * vectors + k], odd);
        }
        into[k] = simd.add_f64s(even, odd);
    }
}

/// g_k of one bone, from the products of its vertex.
#[inline(always)]
pub(super) fn pull_of(points: &Points, v: usize, product: &[f64], stride: usize, k: usize) -> f64 {
    let p = &points.rest[v];
    p[0] * product[k] + p[1] * product[stride + k] + p[2] * product[2 * stride + k] + p[3] * product[3 * stride + k]
}

/// g_k of one bone, from its transforms.
#[inline(always)]
pub(super) fn pulled<S: Simd>(simd: S, points: &Points, v: usize, bones: &Bones, k: usize) -> f64 {
    let (p, all) = (&points.rest[v], points.trajectories.row(v));
    let (u, rest) = S::as_simd_f64s(all);
    let (mut even, mut odd) = (simd.splat_f64s(0.0), simd.splat_f64s(0.0));
    let (p0, p1) = (simd.splat_f64s(p[0]), simd.splat_f64s(p[1]));
    let (p2, p3) = (simd.splat_f64s(p[2]), simd.splat_f64s(p[3]));
    let rows = [bones.row(0, k), bones.row(1, k), bones.row(2, k), bones.row(3, k)];
    let (t0, t1) = (&S::as_simd_f64s(rows[0]).0[..u.len()], &S::as_simd_f64s(rows[1]).0[..u.len()]);
    let (t2, t3) = (&S::as_simd_f64s(rows[2]).0[..u.len()], &S::as_simd_f64s(rows[3]).0[..u.len()]);
    for c in 0..u.len() {
        let near = simd.mul_add_e_f64s(p0, t0[c], simd.mul_f64s(p1, t1[c]));
        let far = simd.mul_add_e_f64s(p2, t2[c], simd.mul_f64s(p3, t3[c]));
        even = simd.mul_add_e_f64s(u[c], near, even);
        odd = simd.mul_add_e_f64s(u[c], far, odd);
    }
    let mut sum = simd.reduce_sum_f64s(simd.add_f64s(even, odd));
    let first = u.len() * S::F64_LANES;
    for (at, u) in rest.iter().enumerate() {
        let c = first + at;
        sum += u * (p[0] * rows[0][c] + p[1] * rows[1][c] + p[2] * rows[2][c] + p[3] * rows[3][c]);
    }
    sum
}
