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
pub(super) fn pulls(points: &Points, v: usize, product: &[f64], g: &mut [f64]) {
    let p = &points.rest[v];
    let stride = g.len();
    let (a, rest) = product.split_at(stride);
    let (b, rest) = rest.split_at(stride);
    let (c, rest) = rest.split_at(stride);
    let d = &rest[..stride];
    for k in 0..stride {
        g[k] = p[0] * a[k] + p[1] * b[k] + p[2] * c[k] + p[3] * d[k];
    }
}

/// H_jj of every column.
#[inline(always)]
pub(super) fn squares(gram: &Gram, monomials: &[f64; MONOMIALS], into: &mut [f64]) {
    combine(&gram.diagonal, gram.stride, monomials, into);
}

/// into_k = Σ_m monomial_m table[m][k].
#[inline(always)]
pub(super) fn combine(table: &[f64], stride: usize, monomials: &[f64; MONOMIALS], into: &mut [f64]) {
    let into = &mut into[..stride];
    let rows: [&[f64]; MONOMIALS] = std::array::from_fn(|m| &table[m * stride..(m + 1) * stride]);
    for k in 0..stride {
        let even = monomials[0] * rows[0][k]
            + monomials[2] * rows[2][k]
            + monomials[4] * rows[4][k]
            + monomials[6] * rows[6][k]
            + monomials[8] * rows[8][k];
        let odd = monomials[1] * rows[1][k]
            + monomials[3] * rows[3][k]
            + monomials[5] * rows[5][k]
            + monomials[7] * rows[7][k]
            + monomials[9] * rows[9][k];
        into[k] = even + odd;
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
pub(super) fn pulled(points: &Points, v: usize, bones: &Bones, k: usize) -> f64 {
    let (p, u) = (&points.rest[v], points.trajectories.row(v));
    let rows: [&[f64]; 4] = std::array::from_fn(|i| &bones.row(i, k)[..u.len()]);
    // Eight partial sums: the order of additions is the same on every machine.
    let mut sums = [0.0; 8];
    let whole = u.len() / 8 * 8;
    for at in (0..whole).step_by(8) {
        for lane in 0..8 {
            let c = at + lane;
            sums[lane] += u[c] * (p[0] * rows[0][c] + p[1] * rows[1][c] + p[2] * rows[2][c] + p[3] * rows[3][c]);
        }
    }
    let mut sum: f64 = sums.iter().sum();
    for c in whole..u.len() {
        sum += u[c] * (p[0] * rows[0][c] + p[1] * rows[1][c] + p[2] * rows[2][c] + p[3] * rows[3][c]);
    }
    sum
}
