//! Least squares of minimum norm, plain and with a given sum.

use crate::SolveError;
use faer::{Mat, MatRef};

/// The x of least norm among those that minimise |A x − b|².
///
/// - `a` (rows × n), `b` (rows)
/// - `cut`: singular values at or below `cut` times the largest count as zero; so do those at or below `floor`
///
/// # Errors
/// [`SolveError::Shape`], [`SolveError::NotFinite`].
pub fn min_norm(a: MatRef<'_, f64>, b: &[f64], cut: f64, floor: f64) -> Result<Vec<f64>, SolveError> {
    if a.nrows() != b.len() {
        return Err(SolveError::Shape { rows: a.nrows(), targets: b.len() });
    }
    if !a.is_all_finite() || !b.iter().all(|b| b.is_finite()) {
        return Err(SolveError::NotFinite);
    }
    let n = a.ncols();
    let mut x = vec![0.0; n];
    if n == 0 || b.is_empty() {
        return Ok(x);
    }
    let svd = a.thin_svd().map_err(|_| SolveError::NotFinite)?;
    let (u, v, sigma) = (svd.U(), svd.V(), svd.S().column_vector());
    for h in (0..sigma.nrows()).filter(|&h| sigma[h] > (cut * sigma[0]).max(floor)) {
        let along: f64 = (0..b.len()).map(|i| u[(i, h)] * b[i]).sum::<f64>() / sigma[h];
        for (j, x) in x.iter_mut().enumerate() {
            *x += along * v[(j, h)];
        }
    }
    Ok(x)
}

/// A⁺: A⁺ b is the x of least norm among those that minimise |A x − b|², for every b. Singular values at or below `cut` times
/// the largest count as zero.
///
/// # Errors
/// [`SolveError::NotFinite`].
pub fn pseudo_inverse(a: MatRef<'_, f64>, cut: f64) -> Result<Mat<f64>, SolveError> {
    if !a.is_all_finite() {
        return Err(SolveError::NotFinite);
    }
    let (rows, n) = (a.nrows(), a.ncols());
    if rows == 0 || n == 0 {
        return Ok(Mat::zeros(n, rows));
    }
    let svd = a.thin_svd().map_err(|_| SolveError::NotFinite)?;
    let sigma = svd.S().column_vector();
    let kept = (0..sigma.nrows()).filter(|&h| sigma[h] > cut * sigma[0]).count();
    let scaled = Mat::from_fn(n, kept, |j, h| svd.V()[(j, h)] / sigma[h]);
    Ok(scaled * svd.U().subcols(0, kept).transpose())
}

/// The x nearest to total/n·(1, …, 1) among those that minimise |A x − b|² with Σ x = total.
///
/// With P = I − 11ᵀ/n the rest x − total/n is the least-norm solution for A P: it lies in the rows of A P, so its sum is zero.
///
/// # Errors
/// As [`min_norm`], whose arguments these are.
pub fn min_norm_of_sum(
    a: MatRef<'_, f64>,
    b: &[f64],
    total: f64,
    cut: f64,
    floor: f64,
) -> Result<Vec<f64>, SolveError> {
    if a.nrows() != b.len() {
        return Err(SolveError::Shape { rows: a.nrows(), targets: b.len() });
    }
    let n = a.ncols().max(1) as f64;
    let mean: Vec<f64> = (0..a.nrows()).map(|i| (0..a.ncols()).map(|j| a[(i, j)]).sum::<f64>() / n).collect();
    let centred = Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] - mean[i]);
    let left: Vec<f64> = b.iter().zip(&mean).map(|(b, mean)| b - total * mean).collect();
    let mut x = min_norm(centred.as_ref(), &left, cut, floor)?;
    // Rounding may leave a little of the sum; it is shared evenly.
    let sum: f64 = x.iter().sum();
    x.iter_mut().for_each(|x| *x += (total - sum) / n);
    Ok(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(rows: usize, n: usize) -> (Mat<f64>, Vec<f64>) {
        let a = Mat::from_fn(rows, n, |i, j| ((i * n + j) as f64 * 0.83).sin());
        (a, (0..rows).map(|i| (i as f64 * 1.7).cos()).collect())
    }

    #[test]
    fn a_pseudo_inverse_answers_every_target_as_min_norm_does() {
        for (rows, n) in [(5, 3), (3, 7), (4, 4)] {
            let (a, b) = some(rows, n);
            let inverse = pseudo_inverse(a.as_ref(), 1e-10).unwrap();
            let x = min_norm(a.as_ref(), &b, 1e-10, 0.0).unwrap();
            for (j, x) in x.iter().enumerate() {
                let of: f64 = b.iter().enumerate().map(|(i, b)| inverse[(j, i)] * b).sum();
                assert!((of - x).abs() < 1e-9, "{rows} x {n}: {of} {x}");
            }
        }
    }

    fn gradient(a: &Mat<f64>, x: &[f64], b: &[f64]) -> Vec<f64> {
        let residual = |i: usize| (0..a.ncols()).map(|j| a[(i, j)] * x[j]).sum::<f64>() - b[i];
        (0..a.ncols()).map(|j| (0..a.nrows()).map(|i| a[(i, j)] * residual(i)).sum()).collect()
    }

    #[test]
    fn the_gradient_vanishes_or_is_equal_for_all_when_the_sum_is_given() {
        let (a, b) = some(11, 5);
        let plain = min_norm(a.as_ref(), &b, 1e-10, 0.0).unwrap();
        assert!(gradient(&a, &plain, &b).iter().all(|g| g.abs() < 1e-13));
        let affine = min_norm_of_sum(a.as_ref(), &b, 1.0, 1e-10, 0.0).unwrap();
        assert!((affine.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        let g = gradient(&a, &affine, &b);
        assert!(g.iter().all(|g0| (g0 - g[0]).abs() < 1e-13), "{g:?}");
    }

    #[test]
    fn what_is_not_determined_is_shared_evenly() {
        let (mut a, b) = some(11, 4);
        (0..11).for_each(|i| a[(i, 3)] = a[(i, 0)]);
        for x in [min_norm(a.as_ref(), &b, 1e-10, 0.0), min_norm_of_sum(a.as_ref(), &b, 1.0, 1e-10, 0.0)] {
            let x = x.unwrap();
            assert!((x[0] - x[3]).abs() < 1e-13, "{x:?}");
        }
        let equal = Mat::from_fn(6, 3, |i, _| (i as f64).sin() + 2.0);
        let b: Vec<f64> = (0..6).map(|i| (i as f64).sin() + 2.0).collect();
        for x in [min_norm(equal.as_ref(), &b, 1e-10, 1e-12), min_norm_of_sum(equal.as_ref(), &b, 1.0, 1e-10, 1e-12)] {
            assert!(x.unwrap().iter().all(|x| (x - 1.0 / 3.0).abs() < 1e-14));
        }
    }

    #[test]
    fn nothing_and_not_a_number_are_told_apart() {
        let none = Mat::<f64>::zeros(0, 3);
        assert_eq!(min_norm(none.as_ref(), &[], 1e-10, 0.0).unwrap(), [0.0; 3]);
        assert_eq!(min_norm_of_sum(none.as_ref(), &[], 1.0, 1e-10, 0.0).unwrap(), [1.0 / 3.0; 3]);
        assert!(min_norm_of_sum(Mat::<f64>::zeros(2, 0).as_ref(), &[0.0; 2], 1.0, 1e-10, 0.0).unwrap().is_empty());
        assert!(matches!(min_norm(none.as_ref(), &[1.0], 1e-10, 0.0), Err(SolveError::Shape { .. })));
        let bad = Mat::from_fn(1, 1, |_, _| f64::NAN);
        assert_eq!(min_norm(bad.as_ref(), &[1.0], 1e-10, 0.0), Err(SolveError::NotFinite));
    }
}
