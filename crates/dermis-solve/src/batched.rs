//! Many small symmetric systems at once, one in each lane of the vector registers.
//!
//! There are two systems, for symmetric positive semi-definite S, whose lower triangle is read:
//!
//! ```text
//! Shift::Real(s):       (S + s I)⁻¹ B                                   s > 0
//! Shift::Imaginary(a):  (S + i a I)⁻¹ B, real and imaginary part        a > 0
//! ```
//!
//! The second serves a ridge tied to the variance of each principal axis, without the axes: with
//! S = E diag(g) Eᵀ, E diag(g / (g² + a²)) Eᵀ = Re (S + i a I)⁻¹. Directions of g = 0 vanish by themselves, and no
//! condition is squared. Both are factored as L Lᵀ without pivoting: S + i a I has its numerical range in the open first
//! quadrant, Schur complements stay there, and so does every pivot; its principal root is taken without cancellation.
//!
//! Tiles of rows and columns are kept in registers while the products of earlier columns are subtracted; right-hand
//! sides are rows below the matrix, so that the factorisation substitutes forwards as it goes.
//!
//! Everything here is `#[inline(always)]`: call it within [`run_with`](crate::simd::run_with).

use crate::element::Element;
use crate::simd::{Buffer, Simd};

/// A number of the factorisation in every lane: real, or complex.
pub trait Number<S: Simd, T: Element>: Copy {
    /// Vectors it takes.
    const PARTS: usize;
    /// A real number.
    fn real(simd: S, x: T::Vector<S>) -> Self;
    /// An entry of the diagonal, shifted.
    fn shifted(simd: S, x: T::Vector<S>, shift: T) -> Self;
    /// Reads the number at a place of a row.
    fn load(row: &[T::Vector<S>], at: usize) -> Self;
    /// Writes it.
    fn store(self, row: &mut [T::Vector<S>], at: usize);
    /// self − a b.
    fn minus(self, simd: S, a: Self, b: Self) -> Self;
    /// a b.
    fn times(self, simd: S, b: Self) -> Self;
    /// 1 / √self.
    fn reciprocal_root(self, simd: S) -> Self;
    /// Real and imaginary part.
    fn parts(self, simd: S) -> (T::Vector<S>, T::Vector<S>);
}

/// A real number in every lane.
#[derive(Clone, Copy, Debug)]
pub struct Real<V>(pub V);

impl<S: Simd, T: Element> Number<S, T> for Real<T::Vector<S>> {
    const PARTS: usize = 1;
    #[inline(always)]
    fn real(_: S, x: T::Vector<S>) -> Self {
        Self(x)
    }
    #[inline(always)]
    fn shifted(simd: S, x: T::Vector<S>, shift: T) -> Self {
        Self(T::add(simd, x, T::splat(simd, shift)))
    }
    #[inline(always)]
    fn load(row: &[T::Vector<S>], at: usize) -> Self {
        Self(row[at])
    }
    #[inline(always)]
    fn store(self, row: &mut [T::Vector<S>], at: usize) {
        row[at] = self.0;
    }
    #[inline(always)]
    fn minus(self, simd: S, a: Self, b: Self) -> Self {
        Self(T::less_product(simd, self.0, a.0, b.0))
    }
    #[inline(always)]
    fn times(self, simd: S, b: Self) -> Self {
        Self(T::mul(simd, self.0, b.0))
    }
    #[inline(always)]
    fn reciprocal_root(self, simd: S) -> Self {
        Self(T::div(simd, T::splat(simd, T::rounded(1.0)), T::sqrt(simd, self.0)))
    }
    #[inline(always)]
    fn parts(self, simd: S) -> (T::Vector<S>, T::Vector<S>) {
        (self.0, T::splat(simd, T::rounded(0.0)))
    }
}

/// A complex number in every lane.
#[derive(Clone, Copy, Debug)]
pub struct Complex<V> {
    /// Real part.
    pub re: V,
    /// Imaginary part.
    pub im: V,
}

impl<S: Simd, T: Element> Number<S, T> for Complex<T::Vector<S>> {
    const PARTS: usize = 2;
    #[inline(always)]
    fn real(simd: S, x: T::Vector<S>) -> Self {
        Self { re: x, im: T::splat(simd, T::rounded(0.0)) }
    }
    #[inline(always)]
    fn shifted(simd: S, x: T::Vector<S>, shift: T) -> Self {
        Self { re: x, im: T::splat(simd, shift) }
    }
    #[inline(always)]
    fn load(row: &[T::Vector<S>], at: usize) -> Self {
        Self { re: row[2 * at], im: row[2 * at + 1] }
    }
    #[inline(always)]
    fn store(self, row: &mut [T::Vector<S>], at: usize) {
        row[2 * at] = self.re;
        row[2 * at + 1] = self.im;
    }
    #[inline(always)]
    fn minus(self, simd: S, a: Self, b: Self) -> Self {
        Self {
            re: T::mul_add(simd, a.im, b.im, T::less_product(simd, self.re, a.re, b.re)),
            im: T::less_product(simd, T::less_product(simd, self.im, a.re, b.im), a.im, b.re),
        }
    }
    #[inline(always)]
    fn times(self, simd: S, b: Self) -> Self {
        Self {
            re: T::less_product(simd, T::mul(simd, self.re, b.re), self.im, b.im),
            im: T::mul_add(simd, self.im, b.re, T::mul(simd, self.re, b.im)),
        }
    }
    #[inline(always)]
    fn reciprocal_root(self, simd: S) -> Self {
        let half = T::splat(simd, T::rounded(0.5));
        let squares = T::mul_add(simd, self.re, self.re, T::mul(simd, self.im, self.im));
        let size = T::sqrt(simd, squares);
        // The principal root c + i d of a number in the first quadrant: c is the larger part, so nothing cancels.
        let c = T::sqrt(simd, T::mul(simd, half, T::add(simd, size, self.re)));
        let d = T::div(simd, T::mul(simd, half, self.im), c);
        let scale = T::div(simd, T::splat(simd, T::rounded(1.0)), size);
        Self { re: T::mul(simd, c, scale), im: T::neg(simd, T::mul(simd, d, scale)) }
    }
    #[inline(always)]
    fn parts(self, _: S) -> (T::Vector<S>, T::Vector<S>) {
        (self.re, self.im)
    }
}

/// Rows of a tile.
const ROWS: usize = 4;
/// Columns of a tile.
const COLUMNS: usize = 2;

/// Systems of one size, one per lane. Implementations are `#[inline(always)]`: a closure or a function that is not is
/// compiled for no level and costs more than the solve.
pub trait Systems<S: Simd, T: Element, N> {
    /// S_ij, j ≤ i.
    fn entry(&self, i: usize, j: usize) -> T::Vector<S>;
    /// B_ir of right-hand side r.
    fn side(&self, r: usize, i: usize) -> T::Vector<S>;
    /// Takes X_ir; i descends.
    fn take(&mut self, r: usize, i: usize, x: N);
}

/// Solves (S + shift) X = B for S of `size` rows and `sides` right-hand sides.
///
/// A lane whose S is not positive semi-definite, or not finite, gets numbers that are wrong or not finite. It does not affect
/// the other lanes.
#[inline(always)]
pub fn solve<S: Simd, T: Element, N: Number<S, T>>(
    simd: S,
    buffer: &mut Buffer<T>,
    size: usize,
    shift: T,
    sides: usize,
    systems: &mut impl Systems<S, T, N>,
) {
    let n = size.next_multiple_of(ROWS);
    let stride = n * N::PARTS;
    // L, the right-hand sides below it, and the reciprocals of L's diagonal.
    let needed = (n + sides.next_multiple_of(ROWS) + 1) * stride;
    let room = T::vectors_mut::<S>(buffer.get(needed * T::lanes::<S>()));
    let (rows, pivots) = room.split_at_mut(needed - stride);
    let (zero, one) = (T::splat(simd, T::rounded(0.0)), T::splat(simd, T::rounded(1.0)));
    // The matrix itself; the rows beyond it belong to the identity.
    for i in 0..n {
        let row = &mut rows[i * stride..(i + 1) * stride];
        for j in 0..i {
            let x = if i < size { systems.entry(i, j) } else { zero };
            N::real(simd, x).store(row, j);
        }
        match i < size {
            true => N::shifted(simd, systems.entry(i, i), shift).store(row, i),
            false => N::real(simd, one).store(row, i),
        }
        for j in i + 1..i.next_multiple_of(COLUMNS) {
            N::real(simd, zero).store(row, j);
        }
    }
    for r in 0..sides.next_multiple_of(ROWS) {
        let row = &mut rows[(n + r) * stride..(n + r + 1) * stride];
        for i in 0..n {
            let x = if r < sides && i < size { systems.side(r, i) } else { zero };
            N::real(simd, x).store(row, i);
        }
    }
    let mut factor = Factor { simd, rows, pivots, stride };
    for first in (0..n).step_by(ROWS) {
        for column in (0..first).step_by(COLUMNS) {
            factor.below::<N>(first, column);
        }
        for column in (first..first + ROWS).step_by(COLUMNS) {
            factor.diagonal::<N>(first, column);
        }
    }
    for first in (n..n + sides).step_by(ROWS) {
        for column in (0..n).step_by(COLUMNS) {
            factor.below::<N>(first, column);
        }
    }
    let (matrix, solutions) = factor.rows.split_at_mut(n * stride);
    for r in 0..sides {
        let y = &mut solutions[r * stride..(r + 1) * stride];
        for k in (0..size).rev() {
            let x = N::load(y, k).times(simd, N::load(factor.pivots, k));
            systems.take(r, k, x);
            let row = &matrix[k * stride..k * stride + k * N::PARTS];
            for (y, l) in y.chunks_exact_mut(N::PARTS).zip(row.chunks_exact(N::PARTS)) {
                N::load(y, 0).minus(simd, N::load(l, 0), x).store(y, 0);
            }
        }
    }
}

type Tile<N> = [[N; COLUMNS]; ROWS];

/// L as it grows.
struct Factor<'a, S: Simd, T: Element> {
    simd: S,
    rows: &'a mut [T::Vector<S>],
    pivots: &'a mut [T::Vector<S>],
    stride: usize,
}

impl<S: Simd, T: Element> Factor<'_, S, T> {
    /// A tile of the matrix less the products of earlier columns.
    #[inline(always)]
    fn reduced<N: Number<S, T>>(&self, first: usize, column: usize) -> Tile<N> {
        let whole = column * N::PARTS;
        let from = |t: usize| (first + t) * self.stride;
        let (r0, r1) = (&self.rows[from(0)..from(1)], &self.rows[from(1)..from(2)]);
        let (r2, r3) = (&self.rows[from(2)..from(3)], &self.rows[from(3)..from(4)]);
        let mut tile: Tile<N> = [
            [N::load(r0, column), N::load(r0, column + 1)],
            [N::load(r1, column), N::load(r1, column + 1)],
            [N::load(r2, column), N::load(r2, column + 1)],
            [N::load(r3, column), N::load(r3, column + 1)],
        ];
        let (c0, c1) = (column * self.stride, (column + 1) * self.stride);
        let (c0, c1) = (&self.rows[c0..c0 + whole], &self.rows[c1..c1 + whole]);
        let (r0, r1, r2, r3) = (&r0[..whole], &r1[..whole], &r2[..whole], &r3[..whole]);
        for k in 0..column {
            let (b0, b1) = (N::load(c0, k), N::load(c1, k));
            let a = [N::load(r0, k), N::load(r1, k), N::load(r2, k), N::load(r3, k)];
            for t in 0..ROWS {
                tile[t][0] = tile[t][0].minus(self.simd, a[t], b0);
                tile[t][1] = tile[t][1].minus(self.simd, a[t], b1);
            }
        }
        tile
    }

    /// A tile below the diagonal: L_ij = (A_ij − Σ L_ik L_jk) / L_jj.
    #[inline(always)]
    fn below<N: Number<S, T>>(&mut self, first: usize, column: usize) {
        let tile = self.reduced::<N>(first, column);
        let corner = N::load(&self.rows[(column + 1) * self.stride..], column);
        let (p0, p1) = (N::load(self.pivots, column), N::load(self.pivots, column + 1));
        for (t, [x, y]) in tile.into_iter().enumerate() {
            let row = &mut self.rows[(first + t) * self.stride..(first + t + 1) * self.stride];
            let x = x.times(self.simd, p0);
            x.store(row, column);
            y.minus(self.simd, x, corner).times(self.simd, p1).store(row, column + 1);
        }
    }

    /// A tile that holds two pivots.
    #[inline(always)]
    fn diagonal<N: Number<S, T>>(&mut self, first: usize, column: usize) {
        let mut tile = self.reduced::<N>(first, column);
        let at = column - first;
        let p0 = tile[at][0].reciprocal_root(self.simd);
        p0.store(self.pivots, column);
        for row in &mut tile[at + 1..] {
            row[0] = row[0].times(self.simd, p0);
        }
        let l = tile[at + 1][0];
        for row in &mut tile[at + 1..] {
            row[1] = row[1].minus(self.simd, row[0], l);
        }
        let p1 = tile[at + 1][1].reciprocal_root(self.simd);
        p1.store(self.pivots, column + 1);
        for (t, row) in tile.iter().enumerate().skip(at + 1) {
            let into = &mut self.rows[(first + t) * self.stride..(first + t + 1) * self.stride];
            row[0].store(into, column);
            if t > at + 1 {
                row[1].times(self.simd, p1).store(into, column + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd;
    use crate::symmetric::principal_axes;
    use faer::Mat;
    use std::marker::PhantomData;

    /// Numbers without a pattern.
    fn noise(at: usize) -> f64 {
        ((at as f64 * 12.9898).sin() * 43758.5453).fract()
    }

    struct Run<'a, T> {
        size: usize,
        s: f64,
        gram: &'a dyn Fn(usize, usize, usize) -> f64,
        imaginary: bool,
        of: PhantomData<T>,
    }

    /// Lane, side, row, real and imaginary part.
    type Found = Vec<(usize, usize, usize, f64, f64)>;

    struct Made<'a, S> {
        simd: S,
        gram: &'a dyn Fn(usize, usize, usize) -> f64,
        found: Found,
    }

    impl<S: Simd> Made<'_, S> {
        fn vector<T: Element>(&self, of: impl Fn(usize) -> f64) -> T::Vector<S> {
            let all: Vec<T> = (0..T::lanes::<S>()).map(|l| T::rounded(of(l))).collect();
            T::vectors::<S>(&all)[0]
        }

        fn keep<T: Element>(&mut self, r: usize, i: usize, re: T::Vector<S>, im: T::Vector<S>) {
            let (mut x, mut y) = (vec![T::default(); T::lanes::<S>()], vec![T::default(); T::lanes::<S>()]);
            T::store(self.simd, &mut x, re);
            T::store(self.simd, &mut y, im);
            self.found.extend((0..x.len()).map(|l| (l, r, i, x[l].wide(), y[l].wide())));
        }
    }

    impl<S: Simd, T: Element, N: Number<S, T>> Systems<S, T, N> for Made<'_, S> {
        fn entry(&self, i: usize, j: usize) -> T::Vector<S> {
            self.vector::<T>(|l| (self.gram)(l, i, j))
        }
        fn side(&self, r: usize, i: usize) -> T::Vector<S> {
            self.vector::<T>(|l| noise(1000 * r + 10 * i + l))
        }
        fn take(&mut self, r: usize, i: usize, x: N) {
            let (re, im) = x.parts(self.simd);
            self.keep::<T>(r, i, re, im);
        }
    }

    impl<T: Element> simd::WithSimd for Run<'_, T> {
        type Output = Found;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Found {
            let mut made = Made { simd, gram: self.gram, found: vec![] };
            let mut buffer = Buffer::default();
            match self.imaginary {
                true => {
                    solve::<S, T, Complex<T::Vector<S>>>(simd, &mut buffer, self.size, T::rounded(self.s), 2, &mut made)
                }
                false => {
                    solve::<S, T, Real<T::Vector<S>>>(simd, &mut buffer, self.size, T::rounded(self.s), 2, &mut made)
                }
            }
            made.found
        }
    }

    /// Oracle: principal axes. Sizes are no multiples of a tile, and the matrices have null directions.
    #[test]
    fn both_shifts_agree_with_functions_of_the_eigenvalues() {
        for (size, rank) in [(1, 1), (3, 2), (4, 4), (10, 6), (24, 24), (37, 12)] {
            let x = |l: usize, row: usize, c: usize| noise(7 * l + 31 * row + 101 * c);
            let gram = |l, i, j| (0..rank).map(|row| x(l, row, i) * x(l, row, j)).sum::<f64>();
            for (s, imaginary) in [(0.3, false), (1e-4, false), (0.3, true), (1e-3, true)] {
                let got = simd::run_with(Run::<f64> { size, s, gram: &gram, imaginary, of: PhantomData });
                for (l, r, i, x, y) in got {
                    let axes = principal_axes(Mat::from_fn(size, size, |i, j| gram(l, i, j)).as_ref()).unwrap();
                    let b = Mat::from_fn(size, 1, |i, _| noise(1000 * r + 10 * i + l));
                    let along = axes.vectors.transpose() * b;
                    let through = |f: &dyn Fn(f64) -> f64| -> f64 {
                        (0..size).map(|h| axes.vectors[(i, h)] * f(axes.values[h]) * along[(h, 0)]).sum()
                    };
                    let (re, im) = match imaginary {
                        true => (through(&|g| g / (g * g + s * s)), through(&|g| -s / (g * g + s * s))),
                        false => (through(&|g| 1.0 / (g + s)), 0.0),
                    };
                    let off = (x - re).hypot(y - im);
                    // A null direction known to 1e-15 is amplified by 1/s², from either side.
                    assert!(off * s * s < 2e-14, "size {size}, shift {s}, {imaginary}: {off}");
                }
            }
        }
    }

    /// Oracle: the same in double precision, in the same lanes. To first order, entries that are rounded and the factor's
    /// own rounding move x by at most a few ε κ |x|, κ the trace over the shift: the lanes of this level share nothing.
    #[test]
    fn single_precision_is_off_by_rounding_times_condition() {
        let mut worst = 0.0f64;
        for (size, rank) in [(1, 1), (10, 6), (24, 24), (37, 12), (48, 48)] {
            let x = |l: usize, row: usize, c: usize| noise(7 * l + 31 * row + 101 * c);
            let gram = |l, i, j| (0..rank).map(|row| x(l, row, i) * x(l, row, j)).sum::<f64>();
            for s in [1e2, 1.0, 1e-2, 1e-3] {
                for imaginary in [false, true] {
                    let double = simd::run_with(Run::<f64> { size, s, gram: &gram, imaginary, of: PhantomData });
                    let single = simd::run_with(Run::<f32> { size, s, gram: &gram, imaginary, of: PhantomData });
                    let lanes = double.iter().map(|found| found.0).max().unwrap() + 1;
                    for l in 0..lanes {
                        let condition = 1.0 + (0..size).map(|i| gram(l, i, i)).sum::<f64>() / s;
                        for r in 0..2 {
                            let own = |found: &&(usize, usize, usize, f64, f64)| (found.0, found.1) == (l, r);
                            let (mut off, mut all) = (0.0, 0.0);
                            for (a, b) in single.iter().filter(own).zip(double.iter().filter(own)) {
                                assert_eq!((a.0, a.1, a.2), (b.0, b.1, b.2));
                                off += (a.3 - b.3).powi(2) + (a.4 - b.4).powi(2);
                                all += b.3 * b.3 + b.4 * b.4;
                            }
                            worst = worst.max((off / all).sqrt() / (condition * f64::from(f32::EPSILON)));
                        }
                    }
                }
            }
        }
        assert!(worst < 4.0, "{worst} ε κ");
    }
}
