//! The ridge regression of one vertex of the joint model, and of many at once.
//!
//! With rows s over poses, free features Z (S × M, common to the three axes) and shared features B_j (S × c, its
//! coefficients common to the axes), the fit minimises over U and q
//!
//! ```text
//! Σ_j |y_j − Z u_j − B_j q|² + λ ( Σ_j |u_j|² + |q|² ).
//! ```
//!
//! Minimised over U it is Σ_j (y_j − B_j q)ᵀ A⁻¹ (y_j − B_j q) λ + λ |q|², A = Z Zᵀ + λ, hence
//!
//! ```text
//! G q = Σ_j B_jᵀ A⁻¹ y_j,   G = 1 + Σ_j B_jᵀ A⁻¹ B_j  (order c),   α_j = A⁻¹ (y_j − B_j q),   u_j = Zᵀ α_j.
//! ```
//!
//! A⁻¹ = (1 − Q f Qᵀ)/λ, f = d/(d + λ), comes from the eigenvalues d of Z Zᵀ, once per group of vertices with the same Z
//! and for every λ. **Leaving poses out**: the inverse of the whole kernel matrix, block N_bb over the rows and axes left
//! out, gives their residuals N_bb⁻¹ α_b exactly, features held fixed.

use dermis_solve::SolveError;
use dermis_solve::faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use dermis_solve::faer::prelude::Solve;
use dermis_solve::faer::{Mat, MatRef, Par, Side};
use dermis_solve::symmetric::principal_axes;

/// What vertices with the same joints share: Z and the eigenvalues of Z Zᵀ.
pub(super) struct FreePart {
    /// S × M.
    pub z: Mat<f64>,
    /// Orthonormal, S × rank.
    q: Mat<f64>,
    d: Vec<f64>,
}

/// One vertex: targets and shared features by axis.
pub(super) struct VertexProblem {
    /// S × 3.
    pub y: Mat<f64>,
    /// S × 3c: the columns of axis j start at j·c.
    pub b: Mat<f64>,
}

/// Coefficients of one vertex.
pub(super) struct Coefficients {
    /// M × 3.
    pub u: Mat<f64>,
    /// c numbers.
    pub q: Vec<f64>,
    /// Largest training leverage: of any pose along any axis.
    pub leverage: f64,
    /// Sum of squared residuals.
    pub squares: f64,
}

impl FreePart {
    pub(super) fn new(z: Mat<f64>) -> Result<Self, SolveError> {
        let (rows, columns) = (z.nrows(), z.ncols());
        let keep = |values: &[f64]| values.iter().take_while(|d| **d > 1e-12 * values[0]).count();
        let (q, d) = if columns <= rows {
            let axes = principal_axes((z.transpose() * &z).as_ref())?;
            let rank = keep(&axes.values);
            let mut q = &z * axes.vectors.get(.., ..rank);
            for h in 0..rank {
                let length = axes.values[h].sqrt();
                (0..rows).for_each(|s| q[(s, h)] /= length);
            }
            (q, axes.values[..rank].to_vec())
        } else {
            let axes = principal_axes((&z * z.transpose()).as_ref())?;
            let rank = keep(&axes.values);
            (axes.vectors.get(.., ..rank).to_owned(), axes.values[..rank].to_vec())
        };
        Ok(Self { z, q, d })
    }

    fn filter(&self, lambda: f64) -> Vec<f64> {
        self.d.iter().map(|d| d / (d + lambda)).collect()
    }

    /// A⁻¹ M, with Qᵀ M known.
    fn inverse_times(&self, m: &Mat<f64>, qtm: &Mat<f64>, filter: &[f64], lambda: f64) -> Mat<f64> {
        let filtered = Mat::from_fn(qtm.nrows(), qtm.ncols(), |h, k| -filter[h] * qtm[(h, k)]);
        let mut out = m + &self.q * filtered;
        for column in out.col_iter_mut() {
            column.iter_mut().for_each(|x| *x /= lambda);
        }
        out
    }

    /// Diagonal of A⁻¹, times λ.
    fn diagonal(&self, filter: &[f64]) -> Vec<f64> {
        (0..self.q.nrows())
            .map(|s| 1.0 - (0..filter.len()).map(|h| filter[h] * self.q[(s, h)].powi(2)).sum::<f64>())
            .collect()
    }
}

/// A vertex at one λ.
struct Solved {
    /// A⁻¹ (y_j − B_j q), S × 3.
    alpha: Mat<f64>,
    q: Vec<f64>,
    /// L⁻¹ X_jᵀ by axis, c × 3S, G = L Lᵀ and X = A⁻¹ B.
    back: Mat<f64>,
    /// Diagonal of A⁻¹.
    diagonal: Vec<f64>,
    filter: Vec<f64>,
}

/// A vertex with what does not depend on λ.
pub(super) struct Prepared<'a> {
    free: &'a FreePart,
    problem: &'a VertexProblem,
    qty: Mat<f64>,
    qtb: Mat<f64>,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(free: &'a FreePart, problem: &'a VertexProblem) -> Self {
        let (qty, qtb) = (free.q.transpose() * &problem.y, free.q.transpose() * &problem.b);
        Self { free, problem, qty, qtb }
    }

    fn at(&self, lambda: f64) -> Result<Solved, SolveError> {
        let (free, VertexProblem { y, b }) = (self.free, self.problem);
        let (rows, c) = (y.nrows(), b.ncols() / 3);
        let filter = free.filter(lambda);
        let mut alpha = free.inverse_times(y, &self.qty, &filter, lambda);
        let diagonal = free.diagonal(&filter).into_iter().map(|p| p / lambda).collect();
        let (mut q, mut back) = (vec![0.0; c], Mat::zeros(c, 3 * rows));
        if c > 0 {
            let x = free.inverse_times(b, &self.qtb, &filter, lambda);
            let axis = |m: &'_ Mat<f64>, j: usize| m.get(.., j * c..(j + 1) * c).to_owned();
            let mut gram = Mat::<f64>::identity(c, c);
            let mut right = Mat::<f64>::zeros(c, 1);
            for j in 0..3 {
                let xj = axis(&x, j);
                gram += b.get(.., j * c..(j + 1) * c).transpose() * &xj;
                right += xj.transpose() * y.get(.., j..j + 1);
                back.get_mut(.., j * rows..(j + 1) * rows).copy_from(xj.transpose());
            }
            let factor = gram.llt(Side::Lower).map_err(|_| SolveError::NotPositive)?;
            solve_lower_triangular_in_place(factor.L(), back.as_mut(), Par::Seq);
            let solution = factor.solve(&right);
            for j in 0..3 {
                let moved = x.get(.., j * c..(j + 1) * c) * &solution;
                (0..rows).for_each(|s| alpha[(s, j)] -= moved[(s, 0)]);
            }
            q = (0..c).map(|i| solution[(i, 0)]).collect();
        }
        Ok(Solved { alpha, q, back, diagonal, filter })
    }

    /// Sum of squared residuals of the rows left out, for one λ.
    pub(super) fn left_out(&self, lambda: f64, folds: &[Vec<usize>]) -> Result<f64, SolveError> {
        let solved = self.at(lambda)?;
        let rows = self.problem.y.nrows();
        let mut sum = 0.0;
        for fold in folds {
            let n = fold.len();
            let inner = (self.free.q.as_ref(), solved.filter.as_slice());
            let kernel = Mat::from_fn(3 * n, 3 * n, |i, k| {
                let (j, s, l, t) = (i / n, fold[i % n], k / n, fold[k % n]);
                let back = |j: usize, s: usize| solved.back.col(j * rows + s);
                let shared: f64 = back(j, s).iter().zip(back(l, t).iter()).map(|(a, b)| a * b).sum();
                match (j == l, s == t) {
                    (true, true) => solved.diagonal[s] - shared,
                    (true, false) => -inner_product(inner, s, t) / lambda - shared,
                    _ => -shared,
                }
            });
            let alpha = Mat::from_fn(3 * n, 1, |i, _| solved.alpha[(fold[i % n], i / n)]);
            // A fold that determines its own fit entirely counts with its plain targets: nothing else is known of it.
            let held: f64 = match kernel.llt(Side::Lower) {
                Ok(factor) => factor.solve(&alpha).squared_norm_l2(),
                Err(_) => fold.iter().map(|&s| (0..3).map(|j| self.problem.y[(s, j)].powi(2)).sum::<f64>()).sum(),
            };
            sum += held;
        }
        Ok(sum)
    }

    pub(super) fn solve(&self, lambda: f64) -> Result<Coefficients, SolveError> {
        let solved = self.at(lambda)?;
        let rows = self.problem.y.nrows();
        let mut leverage = 0.0f64;
        for j in 0..3 {
            for s in 0..rows {
                let shared: f64 = solved.back.col(j * rows + s).squared_norm_l2();
                leverage = leverage.max(1.0 - lambda * (solved.diagonal[s] - shared));
            }
        }
        let squares = lambda * lambda * solved.alpha.squared_norm_l2();
        Ok(Coefficients { u: self.free.z.transpose() * &solved.alpha, q: solved.q, leverage, squares })
    }
}

fn inner_product((q, filter): (MatRef<'_, f64>, &[f64]), s: usize, t: usize) -> f64 {
    (0..filter.len()).map(|h| filter[h] * q[(s, h)] * q[(t, h)]).sum()
}

/// A vertex whose frame is no rotation, so that its axes do not separate: all features as they are.
pub(super) struct DirectProblem {
    /// 3S: pose after pose, three axes each.
    pub y: Mat<f64>,
    /// 3S × (3M + c): free features axis by axis, then the shared ones.
    pub x: Mat<f64>,
}

impl DirectProblem {
    fn factor(&self, lambda: f64) -> Result<dermis_solve::faer::linalg::solvers::Llt<f64>, SolveError> {
        let mut gram = self.x.transpose() * &self.x;
        (0..gram.nrows()).for_each(|i| gram[(i, i)] += lambda);
        gram.llt(Side::Lower).map_err(|_| SolveError::NotPositive)
    }

    pub(super) fn left_out(&self, lambda: f64, folds: &[Vec<usize>]) -> Result<f64, SolveError> {
        let factor = self.factor(lambda)?;
        let solution = factor.solve(self.x.transpose() * &self.y);
        let residual = &self.y - &self.x * solution;
        let mut back = self.x.transpose().to_owned();
        solve_lower_triangular_in_place(factor.L(), back.as_mut(), Par::Seq);
        let mut sum = 0.0;
        for fold in folds {
            let row = |i: usize| 3 * fold[i / 3] + i % 3;
            let of_fold = Mat::from_fn(back.nrows(), 3 * fold.len(), |h, i| back[(h, row(i))]);
            let left = Mat::<f64>::identity(3 * fold.len(), 3 * fold.len()) - of_fold.transpose() * &of_fold;
            let e = Mat::from_fn(3 * fold.len(), 1, |i, _| residual[(row(i), 0)]);
            sum += match left.llt(Side::Lower) {
                Ok(factor) => factor.solve(&e).squared_norm_l2(),
                Err(_) => (0..3 * fold.len()).map(|i| self.y[(row(i), 0)].powi(2)).sum(),
            };
        }
        Ok(sum)
    }

    /// `free`: M.
    pub(super) fn solve(&self, lambda: f64, free: usize) -> Result<Coefficients, SolveError> {
        let factor = self.factor(lambda)?;
        let solution = factor.solve(self.x.transpose() * &self.y);
        let squares = (&self.y - &self.x * &solution).squared_norm_l2();
        let mut back = self.x.transpose().to_owned();
        solve_lower_triangular_in_place(factor.L(), back.as_mut(), Par::Seq);
        let leverage = back.col_iter().map(|column| column.squared_norm_l2()).fold(0.0, f64::max);
        let u = Mat::from_fn(free, 3, |i, j| solution[(j * free + i, 0)]);
        let q = (3 * free..solution.nrows()).map(|i| solution[(i, 0)]).collect();
        Ok(Coefficients { u, q, leverage, squares })
    }

    /// Leverage of other rows: the largest over their poses, of any axis.
    pub(super) fn leverages(&self, lambda: f64, probes: &Mat<f64>) -> Result<Vec<f64>, SolveError> {
        let factor = self.factor(lambda)?;
        let mut back = probes.transpose().to_owned();
        solve_lower_triangular_in_place(factor.L(), back.as_mut(), Par::Seq);
        let of_row = |row: usize| back.col(row).squared_norm_l2();
        Ok((0..probes.nrows() / 3).map(|s| (0..3).map(|j| of_row(3 * s + j)).fold(0.0, f64::max)).collect())
    }
}
