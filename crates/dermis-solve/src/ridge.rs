//! The published local ridge: principal components of centred features, fitted to uncentred ones.

use crate::SolveError;
use faer::{Mat, MatRef};

/// A ridge solution with its smoother.
#[derive(Clone, Debug)]
pub struct AugmentedRidge {
    /// Coefficients per column of the features; zero for infinite ridges.
    pub coefficients: Mat<f64>,
    /// Orthonormal-in-total left factor restricted to the observations: H = left · leftᵀ.
    pub left: Mat<f64>,
}

/// Minimises |C w − y|² + Σ_h λ_h w_h² by the SVD of the augmented matrix [C; diag(√λ)].
///
/// - `c` (S × h), already scaled by the observations' weights; `y` (S × targets) likewise
/// - `lambda` (h): infinite removes a column
/// - `cut`: singular values at or below `cut` times the largest are dropped
///
/// Unlike the orthogonal case the columns of C may be correlated, so nothing is diagonal.
///
/// Source: Wang & Phillips 2002, eqs. 7–9, with diag(λ_h) where eq. 8 prints λ_h I, as its cost function says.
/// # Errors
/// [`SolveError::Shape`] or [`SolveError::NotFinite`].
pub fn augmented_ridge(
    c: MatRef<'_, f64>,
    lambda: &[f64],
    y: MatRef<'_, f64>,
    cut: f64,
) -> Result<AugmentedRidge, SolveError> {
    let (rows, columns) = (c.nrows(), c.ncols());
    if rows != y.nrows() || columns != lambda.len() {
        return Err(SolveError::Shape { rows, targets: y.nrows() });
    }
    let kept: Vec<usize> = (0..columns).filter(|&h| lambda[h].is_finite()).collect();
    let mut coefficients = Mat::zeros(columns, y.ncols());
    if kept.is_empty() {
        return Ok(AugmentedRidge { coefficients, left: Mat::zeros(rows, 0) });
    }
    let tall = Mat::from_fn(rows + kept.len(), kept.len(), |i, h| match i.checked_sub(rows) {
        None => c[(i, kept[h])],
        Some(diagonal) if diagonal == h => lambda[kept[h]].sqrt(),
        Some(_) => 0.0,
    });
    if !tall.as_ref().is_all_finite() {
        return Err(SolveError::NotFinite);
    }
    let svd = tall.thin_svd().map_err(|_| SolveError::NotFinite)?;
    let (u, v, sigma) = (svd.U(), svd.V(), svd.S().column_vector());
    let rank = (0..kept.len()).filter(|&h| sigma[h] > cut * sigma[0]).count();
    let left = u.get(..rows, ..rank).to_owned();
    let mut projected = left.transpose() * y;
    for h in 0..rank {
        for t in 0..y.ncols() {
            projected[(h, t)] /= sigma[h];
        }
    }
    let solution = v.get(.., ..rank) * projected;
    for (at, &h) in kept.iter().enumerate() {
        for t in 0..y.ncols() {
            coefficients[(h, t)] = solution[(at, t)];
        }
    }
    Ok(AugmentedRidge { coefficients, left })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the gradient Cᵀ(C w − y) + Λ w vanishes at the answer.
    #[test]
    fn the_gradient_vanishes_and_infinite_ridges_remove_columns() {
        let c = Mat::from_fn(12, 5, |i, j| ((i * 5 + j) as f64 * 0.9).cos());
        let y = Mat::from_fn(12, 2, |i, j| ((i + 7 * j) as f64).sin());
        let lambda = [0.1, 1e-3, f64::INFINITY, 2.0, 0.0];
        let w = augmented_ridge(c.as_ref(), &lambda, y.as_ref(), 1e-12).unwrap().coefficients;
        let gradient = c.transpose() * (&c * &w - &y);
        for h in 0..5 {
            for t in 0..2 {
                let expected = if h == 2 { w[(h, t)] } else { gradient[(h, t)] + lambda[h] * w[(h, t)] };
                assert!(expected.abs() < 1e-12, "{h} {t} {expected}");
            }
        }
    }
}
