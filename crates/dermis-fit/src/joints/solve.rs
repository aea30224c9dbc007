//! Errors of poses left out by their leverage, and the regression of a vertex whose axes do not separate.
//!
//! Minimised over u, the sum of squares of [`normal`](super::normal) is λ Σ_j (y_j − B_j q)ᵀ A⁻¹ (y_j − B_j q) + λ |q|², A = Z Zᵀ + λ, hence
//!
//! ```text
//! G q = Σ_j B_jᵀ A⁻¹ y_j,   G = 1 + Σ_j B_jᵀ A⁻¹ B_j  (order c),   α_j = A⁻¹ (y_j − B_j q),   u_j = Zᵀ α_j.
//! ```
//!
//! A⁻¹ = (1 − Q f Qᵀ)/λ, f = d/(d + λ), comes from the eigenvalues d of Z Zᵀ, once for all vertices with the same Z and
//! every λ. **Leaving poses out**: with N the inverse of the whole kernel matrix Z Zᵀ + B Bᵀ + λ, and b the rows and axes
//! left out, their residuals are N_bb⁻¹ α_b exactly, features held fixed.

use super::normal::Vertices;
use dermis_solve::SolveError;
use dermis_solve::faer::linalg::matmul::matmul;
use dermis_solve::faer::linalg::solvers::Llt;
use dermis_solve::faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use dermis_solve::faer::prelude::Solve;
use dermis_solve::faer::{Accum, Mat, MatMut, MatRef, Par, Side};
use dermis_solve::symmetric::{principal_axes, solve_small};

/// Rows that are left out together.
#[derive(Clone, Debug)]
pub(super) struct LeftOut {
    /// The rows; those that are scored come first.
    pub rows: Vec<usize>,
    /// How many are scored.
    pub scored: usize,
}

/// What vertices with the same joints share: the eigenvalues and eigenvectors of Z Zᵀ.
pub(super) struct FreePart {
    /// Orthonormal, S × rank.
    q: Mat<f64>,
    d: Vec<f64>,
}

/// Coefficients of one vertex.
pub(super) struct Coefficients {
    /// M × 3.
    pub u: Mat<f64>,
    /// c numbers.
    pub q: Vec<f64>,
    /// Largest leverage of a row along any axis, where it was asked for.
    pub leverage: Option<f64>,
    /// Sum of squared residuals.
    pub squares: f64,
}

impl FreePart {
    fn new(z: Mat<f64>) -> Result<Self, SolveError> {
        let (rows, columns) = (z.nrows(), z.ncols());
        let keep = |values: &[f64]| values.iter().take_while(|d| **d > 1e-12 * values[0]).count();
        let (q, d) = if columns <= rows {
            let axes = principal_axes((z.transpose() * &z).as_ref())?;
            let rank = keep(&axes.values);
            let mut q = &z * axes.vectors.get(.., ..rank);
            for h in 0..rank {
                let length = axes.values[h].sqrt();
                q.col_as_slice_mut(h).iter_mut().for_each(|x| *x /= length);
            }
            (q, axes.values[..rank].to_vec())
        } else {
            let axes = principal_axes((&z * z.transpose()).as_ref())?;
            let rank = keep(&axes.values);
            (axes.vectors.get(.., ..rank).to_owned(), axes.values[..rank].to_vec())
        };
        Ok(Self { q, d })
    }

    fn filter(&self, lambda: f64) -> Vec<f64> {
        self.d.iter().map(|d| d / (d + lambda)).collect()
    }

    /// Entry of A⁻¹.
    fn inverse(&self, s: usize, t: usize, filter: &[f64], lambda: f64) -> f64 {
        let known: f64 = filter.iter().enumerate().map(|(h, f)| f * self.q[(s, h)] * self.q[(t, h)]).sum();
        (f64::from(u8::from(s == t)) - known) / lambda
    }
}

/// Several vertices with the same free part. Columns have S rows: per vertex its targets along the three axes, then its
/// shared features one by one, each with its three axes, so that a vertex's are at once S × 3c and 3S × c.
///
/// Rows are poses, then their mirror images. Features are there for this side and, with images, again for the other side alone.
pub(super) struct LeverageForm<'a> {
    free: &'a FreePart,
    rows: usize,
    /// Number of shared features of each vertex.
    shared: Vec<usize>,
    columns: Vec<f64>,
    /// Qᵀ columns, rank × columns.
    projected: Mat<f64>,
}

impl FreePart {
    /// Z of vertices, over both sides.
    pub(super) fn of(vertices: &Vertices) -> Result<Self, SolveError> {
        let (own, sides) = (&vertices.sides[0].free, vertices.sides.len());
        let (rows, count) = (own.nrows(), own.ncols());
        Self::new(Mat::from_fn(sides * rows, sides * count, |s, i| match vertices.sides.get(s / rows.max(1)) {
            Some(side) => vertices.reads_of(s / rows)[i / count.max(1)] * side.free[(s % rows, i % count)],
            None => 0.0,
        }))
    }
}

impl<'a> LeverageForm<'a> {
    pub(super) fn new(free: &'a FreePart, vertices: &Vertices) -> Self {
        let (rows, sides) = (vertices.poses(), vertices.sides.len());
        let all = sides * rows;
        let shared: Vec<usize> = vertices.shared.iter().map(|c| sides * c).collect();
        let count = 3 * (shared.len() + shared.iter().sum::<usize>());
        let mut columns = vec![0.0; all * count];
        let (mut to, mut from) = (0, 0);
        for &c in &vertices.shared {
            for (at, rows_of) in vertices.sides.iter().enumerate() {
                let reads = vertices.reads_of(at);
                for axis in 0..3 {
                    let target = &rows_of.columns[(from + axis) * rows..][..rows];
                    columns[(to + axis) * all + at * rows..][..rows].copy_from_slice(target);
                    for (half, read) in reads.into_iter().take(sides).enumerate() {
                        for k in 0..c {
                            let feature = &rows_of.columns[(from + 3 * (1 + k) + axis) * rows..][..rows];
                            let place = (to + 3 * (1 + half * c + k) + axis) * all + at * rows;
                            columns[place..place + rows].iter_mut().zip(feature).for_each(|(x, f)| *x = read * f);
                        }
                    }
                }
            }
            (to, from) = (to + 3 * (1 + sides * c), from + 3 * (1 + c));
        }
        let projected = free.q.transpose() * MatRef::from_column_major_slice(&columns, all, count);
        Self { free, rows: all, shared, columns, projected }
    }

    /// A⁻¹ times all columns.
    fn through_inverse(&self, filter: &[f64], lambda: f64) -> Vec<f64> {
        let mut filtered = self.projected.clone();
        for column in filtered.col_iter_mut() {
            column.iter_mut().zip(filter).for_each(|(x, f)| *x *= f);
        }
        let mut x: Vec<f64> = self.columns.iter().map(|y| y / lambda).collect();
        let into = MatMut::from_column_major_slice_mut(&mut x, self.rows, self.projected.ncols());
        matmul(into, Accum::Add, &self.free.q, &filtered, -1.0 / lambda, Par::Seq);
        x
    }

    /// Visits every vertex with its columns and (α, X L⁻ᵀ), where X = A⁻¹ B and G = L Lᵀ.
    fn each(&self, filter: &[f64], lambda: f64, mut visit: impl FnMut(&[f64], &[f64])) -> Result<(), SolveError> {
        let mut x = self.through_inverse(filter, lambda);
        let (rows3, mut at) = (3 * self.rows, 0);
        for &c in &self.shared {
            let size = rows3 * (1 + c);
            let (known, x) = (&self.columns[at..at + size], &mut x[at..at + size]);
            at += size;
            if c > 0 {
                let (alpha, x) = x.split_at_mut(rows3);
                let b = MatRef::from_column_major_slice(&known[rows3..], rows3, c);
                let y = MatRef::from_column_major_slice(&known[..rows3], rows3, 1);
                let mut x = MatMut::from_column_major_slice_mut(x, rows3, c);
                let mut gram = Mat::<f64>::identity(c, c);
                matmul(gram.as_mut(), Accum::Add, b.transpose(), x.as_ref(), 1.0, Par::Seq);
                let factor = gram.llt(Side::Lower).map_err(|_| SolveError::NotPositive)?;
                let solution = factor.solve(x.as_ref().transpose() * y);
                let alpha = MatMut::from_column_major_slice_mut(alpha, rows3, 1);
                matmul(alpha, Accum::Add, x.as_ref(), &solution, -1.0, Par::Seq);
                solve_lower_triangular_in_place(factor.L(), x.as_mut().transpose_mut(), Par::Seq);
            }
            visit(known, x);
        }
        Ok(())
    }

    /// Sum of the squared residuals of rows left out, of each vertex.
    pub(super) fn left_out(&self, lambda: f64, folds: &[LeftOut]) -> Result<Vec<f64>, SolveError> {
        let filter = self.free.filter(lambda);
        let inverse = |fold: &LeftOut| -> Vec<f64> {
            let pairs = fold.rows.iter().flat_map(|&s| fold.rows.iter().map(move |&t| (s, t)));
            pairs.map(|(s, t)| self.free.inverse(s, t, &filter, lambda)).collect()
        };
        let inverses: Vec<Vec<f64>> = folds.iter().map(inverse).collect();
        let (mut sums, mut near, mut kernel, mut e) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        self.each(&filter, lambda, |known, x| {
            let (alpha, x) = x.split_at(3 * self.rows);
            let (c, mut sum) = (x.len() / (3 * self.rows), 0.0);
            for (fold, inverse) in folds.iter().zip(&inverses) {
                let n = fold.rows.len();
                let place = |i: usize| (i % 3) * self.rows + fold.rows[i / 3];
                near.resize(3 * n * c, 0.0);
                for (k, feature) in x.chunks_exact(3 * self.rows).enumerate() {
                    (0..3 * n).for_each(|i| near[i * c + k] = feature[place(i)]);
                }
                kernel.clear();
                for i in 0..3 * n {
                    for l in 0..=i {
                        let shared = dot(&near[i * c..(i + 1) * c], &near[l * c..(l + 1) * c]);
                        let free = if i % 3 == l % 3 { inverse[(i / 3) * n + l / 3] } else { 0.0 };
                        kernel.push(free - shared);
                    }
                }
                e.clear();
                e.extend((0..3 * n).map(|i| alpha[place(i)]));
                // A fold that determines its own fit entirely counts with its plain targets: nothing else is known of it.
                if !solve_small(&mut kernel, &mut e) {
                    e.clear();
                    e.extend((0..3 * n).map(|i| known[place(i)]));
                }
                sum += e[..3 * fold.scored].iter().map(|e| e * e).sum::<f64>();
            }
            sums.push(sum);
        })?;
        Ok(sums)
    }
}

/// A vertex whose frame is no rotation, so that its axes do not separate: all features as they are.
pub(super) struct DirectProblem {
    /// 3S: row after row, three axes each.
    pub y: Mat<f64>,
    /// 3S × (3M + c): free features axis by axis, then the shared ones.
    pub x: Mat<f64>,
}

impl DirectProblem {
    fn factor(&self, lambda: f64) -> Result<Llt<f64>, SolveError> {
        let mut gram = self.x.transpose() * &self.x;
        (0..gram.nrows()).for_each(|i| gram[(i, i)] += lambda);
        gram.llt(Side::Lower).map_err(|_| SolveError::NotPositive)
    }

    pub(super) fn left_out(&self, lambda: f64, folds: &[LeftOut]) -> Result<f64, SolveError> {
        let factor = self.factor(lambda)?;
        let residual = &self.y - &self.x * factor.solve(self.x.transpose() * &self.y);
        let back = back_substituted(&factor, self.x.as_ref());
        let mut sum = 0.0;
        for fold in folds {
            let row = |i: usize| 3 * fold.rows[i / 3] + i % 3;
            let mut kernel = Vec::new();
            for i in 0..3 * fold.rows.len() {
                for l in 0..=i {
                    let (a, b) = (back.col_as_slice(row(i)), back.col_as_slice(row(l)));
                    let known: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                    kernel.push(f64::from(u8::from(i == l)) - known);
                }
            }
            let mut e: Vec<f64> = (0..3 * fold.rows.len()).map(|i| residual[(row(i), 0)]).collect();
            if !solve_small(&mut kernel, &mut e) {
                e = (0..3 * fold.rows.len()).map(|i| self.y[(row(i), 0)]).collect();
            }
            sum += e[..3 * fold.scored].iter().map(|e| e * e).sum::<f64>();
        }
        Ok(sum)
    }

    /// `free`: M; leverage refers to the first `scored` rows, residuals to those of them that were `touched`.
    pub(super) fn solve(
        &self,
        lambda: f64,
        free: usize,
        scored: usize,
        touched: impl Fn(usize) -> bool,
    ) -> Result<Coefficients, SolveError> {
        let factor = self.factor(lambda)?;
        let solution = factor.solve(self.x.transpose() * &self.y);
        let residual = &self.y - &self.x * &solution;
        let squares = (0..3 * scored).filter(|i| touched(i / 3)).map(|i| residual[(i, 0)].powi(2)).sum();
        let back = back_substituted(&factor, self.x.get(..3 * scored, ..));
        let leverage = back.col_iter().map(|column| column.squared_norm_l2()).fold(0.0, f64::max);
        let u = Mat::from_fn(free, 3, |i, j| solution[(j * free + i, 0)]);
        let q = (3 * free..solution.nrows()).map(|i| solution[(i, 0)]).collect();
        Ok(Coefficients { u, q, leverage: Some(leverage), squares })
    }

    /// Leverage of other rows: per pose the largest along any direction.
    pub(super) fn leverages(&self, lambda: f64, probes: &Mat<f64>) -> Result<Vec<f64>, SolveError> {
        let back = back_substituted(&self.factor(lambda)?, probes.as_ref());
        let of_pose = |s: usize| {
            let rows = back.get(.., 3 * s..3 * s + 3);
            principal_axes((rows.transpose() * rows).as_ref()).map(|axes| axes.values[0])
        };
        (0..probes.nrows() / 3).map(of_pose).collect()
    }
}

/// The scalar product, in eight sums side by side.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        (0..8).for_each(|i| sums[i] += a[i] * b[i]);
    }
    sums.iter().sum::<f64>() + rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum::<f64>()
}

/// L⁻¹ Xᵀ.
fn back_substituted(factor: &Llt<f64>, x: MatRef<'_, f64>) -> Mat<f64> {
    let mut back = x.transpose().to_owned();
    solve_lower_triangular_in_place(factor.L(), back.as_mut(), Par::Seq);
    back
}
