//! Interpolation by a positive definite kernel, and its exact leave-one-out residuals.

use crate::cross_validation::Fold;
use crate::{SolveError, symmetric};
use faer::{Mat, MatRef, Side, prelude::Solve};

/// Below this reciprocal condition a system is answered by rounding: about 45 times the spacing of `f64`.
const CONDITION: f64 = 1e-14;

/// (K + ρ)⁻¹ of kernel values K between examples, ρ their smoothing.
///
/// The interpolant of values Y is x ↦ k(x)ᵀ (K + ρ)⁻¹ Y: it meets the values as ρ → 0. One inverse serves all values.
#[derive(Clone, Debug)]
pub struct Interpolation {
    inverse: Mat<f64>,
    /// 1 / (|A|₁ |A⁻¹|₁) of the system that was solved.
    pub reciprocal_condition: f64,
    /// The factor by which ρ was raised to make the system solvable; one if it was not.
    pub raised: f64,
}

impl Interpolation {
    /// For kernel values (n × n, lower triangle read) and a smoothing per example.
    ///
    /// While the matrix has no Cholesky factor or a reciprocal condition below 1e-14, ρ is raised tenfold.
    ///
    /// # Errors
    /// [`SolveError::Shape`] if the counts disagree, [`SolveError::NotFinite`], and [`SolveError::NotPositive`] if raising ρ
    /// to 1e12 times its size does not help: the kernel is not positive definite, or ρ is zero.
    pub fn new(kernel: MatRef<'_, f64>, smoothing: &[f64]) -> Result<Self, SolveError> {
        let n = smoothing.len();
        if kernel.nrows() != n || kernel.ncols() != n {
            return Err(SolveError::Shape { rows: kernel.nrows(), targets: n });
        }
        if !kernel.is_all_finite() || smoothing.iter().any(|rho| !rho.is_finite()) {
            return Err(SolveError::NotFinite);
        }
        for step in 0..=12 {
            let raised = 10f64.powi(step);
            let a = Mat::from_fn(n, n, |i, j| {
                kernel[(i.max(j), i.min(j))] + if i == j { raised * smoothing[i] } else { 0.0 }
            });
            let Ok(factor) = a.llt(Side::Lower) else { continue };
            let inverse = factor.solve(Mat::<f64>::identity(n, n));
            let reciprocal_condition = if n == 0 { 1.0 } else { 1.0 / (norm_1(&a) * norm_1(&inverse)) };
            if reciprocal_condition >= CONDITION {
                return Ok(Self { inverse, reciprocal_condition, raised });
            }
        }
        Err(SolveError::NotPositive)
    }

    /// (K + ρ)⁻¹ Y: weights of the kernel values, one column per column of `y` (n × c).
    pub fn weights(&self, y: MatRef<'_, f64>) -> Mat<f64> {
        &self.inverse * y
    }

    /// Each fold's values minus what the others predict of them, from the weights of all: `((K + ρ)⁻¹)_bb e_b = W_b`.
    ///
    /// Rows in no fold are never left out, and their residual is zero. Equals refitting without each fold.
    ///
    /// Source: Rippa 1999, "An algorithm for selecting a good value for the parameter c in radial basis function
    /// interpolation", for single examples.
    /// # Errors
    /// [`SolveError::NotPositive`] if rounding spoilt a block of the inverse.
    pub fn left_out(&self, weights: MatRef<'_, f64>, folds: &[Fold]) -> Result<Mat<f64>, SolveError> {
        let mut residual = Mat::zeros(weights.nrows(), weights.ncols());
        for &Fold { start, end } in folds {
            if end - start == 1 {
                let own = self.inverse[(start, start)];
                for c in 0..weights.ncols() {
                    residual[(start, c)] = weights[(start, c)] / own;
                }
            } else {
                let block = self.inverse.get(start..end, start..end);
                let e = symmetric::solve_shifted(block, 0.0, weights.get(start..end, ..))?;
                residual.get_mut(start..end, ..).copy_from(e);
            }
        }
        Ok(residual)
    }
}

/// The largest column sum of magnitudes.
fn norm_1(a: &Mat<f64>) -> f64 {
    (0..a.ncols()).map(|j| (0..a.nrows()).map(|i| a[(i, j)].abs()).sum::<f64>()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Folds;

    fn points(n: usize) -> Vec<[f64; 3]> {
        (0..n).map(|i| [0, 1, 2].map(|c| ((i * 3 + c) as f64 * 1.7 + 0.3).sin())).collect()
    }

    fn kernel(x: &[[f64; 3]], y: &[[f64; 3]], sigma: f64) -> Mat<f64> {
        Mat::from_fn(x.len(), y.len(), |i, j| {
            (-(0..3).map(|c| (x[i][c] - y[j][c]).powi(2)).sum::<f64>() / (sigma * sigma)).exp()
        })
    }

    fn wave(rows: usize) -> Mat<f64> {
        Mat::from_fn(rows, 2, |i, j| (((i * 2 + j) * (i + 3)) as f64 * 1.3).sin())
    }

    #[test]
    fn values_are_met_as_the_smoothing_vanishes() {
        let (x, y) = (points(15), wave(15));
        let k = kernel(&x, &x, 0.8);
        for rho in [1e-9, 1e-2] {
            let solved = Interpolation::new(k.as_ref(), &[rho; 15]).unwrap();
            let w = solved.weights(y.as_ref());
            // K W + ρ W = Y.
            assert!((&k * &w + &w * faer::Scale(rho) - &y).norm_max() < 1e-9, "{rho}");
            assert_eq!(solved.raised, 1.0);
        }
    }

    /// Oracle: leave the fold out, solve again, predict it.
    #[test]
    fn left_out_residuals_equal_brute_force() {
        let (x, y) = (points(17), wave(17));
        let smoothing: Vec<f64> = (0..17).map(|s| 1e-3 * (1.0 + s as f64)).collect();
        let k = kernel(&x, &x, 1.1);
        let solved = Interpolation::new(k.as_ref(), &smoothing).unwrap();
        let w = solved.weights(y.as_ref());
        for folds in [Folds::Single, Folds::Blocks(4)] {
            let folds = folds.ranges(17);
            let fast = solved.left_out(w.as_ref(), &folds).unwrap();
            for fold in &folds {
                let kept: Vec<usize> = (0..17).filter(|s| !(fold.start..fold.end).contains(s)).collect();
                let part = Mat::from_fn(kept.len(), kept.len(), |i, j| k[(kept[i], kept[j])]);
                let rho: Vec<f64> = kept.iter().map(|&s| smoothing[s]).collect();
                let wk = Interpolation::new(part.as_ref(), &rho)
                    .unwrap()
                    .weights(Mat::from_fn(kept.len(), 2, |i, c| y[(kept[i], c)]).as_ref());
                for s in fold.start..fold.end {
                    for c in 0..2 {
                        let predicted: f64 = kept.iter().enumerate().map(|(i, &t)| k[(s, t)] * wk[(i, c)]).sum();
                        assert!((fast[(s, c)] - (y[(s, c)] - predicted)).abs() < 1e-9, "{s} {c}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_example_given_twice_raises_the_smoothing_and_says_so() {
        let mut x = points(8);
        x.push(x[3]);
        let k = kernel(&x, &x, 2.0);
        let solved = Interpolation::new(k.as_ref(), &[1e-18; 9]).unwrap();
        assert!(solved.raised > 1.0 && solved.reciprocal_condition >= 1e-14);
        assert_eq!(Interpolation::new(k.as_ref(), &[0.0; 9]).unwrap_err(), SolveError::NotPositive);
        let nan = Mat::from_fn(1, 1, |_, _| f64::NAN);
        assert_eq!(Interpolation::new(nan.as_ref(), &[0.0]).unwrap_err(), SolveError::NotFinite);
    }
}
