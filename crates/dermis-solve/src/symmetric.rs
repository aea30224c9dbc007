//! Symmetric matrices: principal axes and positive definite systems.

use crate::SolveError;
use faer::{Mat, MatRef, Side, prelude::Solve};

/// Eigenvalues and eigenvectors of a symmetric positive semidefinite matrix, largest first.
#[derive(Clone, Debug)]
pub struct PrincipalAxes {
    /// Eigenvalues, largest first; negative rounding is set to zero.
    pub values: Vec<f64>,
    /// Unit eigenvectors as columns, in the same order.
    pub vectors: Mat<f64>,
}

/// The principal axes of a symmetric positive semidefinite matrix; its lower triangle is read.
///
/// # Errors
/// [`SolveError::NotFinite`] if an entry is not finite.
pub fn principal_axes(gram: MatRef<'_, f64>) -> Result<PrincipalAxes, SolveError> {
    let n = gram.nrows();
    if n == 0 {
        return Ok(PrincipalAxes { values: vec![], vectors: Mat::zeros(0, 0) });
    }
    if !gram.is_all_finite() {
        return Err(SolveError::NotFinite);
    }
    let eigen = gram.self_adjoint_eigen(Side::Lower).map_err(|_| SolveError::NotFinite)?;
    let (ascending, u) = (eigen.S().column_vector(), eigen.U());
    Ok(PrincipalAxes {
        values: (0..n).map(|h| ascending[n - 1 - h].max(0.0)).collect(),
        vectors: Mat::from_fn(n, n, |i, h| u[(i, n - 1 - h)]),
    })
}

/// Solves (A + shift·I) X = B for a symmetric positive semidefinite A (lower triangle read) and shift > 0.
///
/// # Errors
/// [`SolveError::NotPositive`] if rounding or the input leaves the matrix without a Cholesky factor.
pub fn solve_shifted(a: MatRef<'_, f64>, shift: f64, b: MatRef<'_, f64>) -> Result<Mat<f64>, SolveError> {
    if a.nrows() != b.nrows() {
        return Err(SolveError::Shape { rows: a.nrows(), targets: b.nrows() });
    }
    let mut shifted = a.to_owned();
    for i in 0..a.nrows() {
        shifted[(i, i)] += shift;
    }
    let factor = shifted.llt(Side::Lower).map_err(|_| SolveError::NotPositive)?;
    Ok(factor.solve(b))
}

/// Solves A x = b in place for a small positive definite A, given as its lower triangle row after row, which is
/// overwritten by its Cholesky factor. False, with `b` undefined, if A is not positive definite beyond 1e-12 of its diagonal.
pub fn solve_small(a: &mut [f64], b: &mut [f64]) -> bool {
    let start = |i: usize| i * (i + 1) / 2;
    for i in 0..b.len() {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| a[start(i) + k] * a[start(j) + k]).sum();
            let left = a[start(i) + j] - known;
            if j < i {
                a[start(i) + j] = left / a[start(j) + j];
            } else if left > 1e-12 * a[start(i) + i] {
                a[start(i) + i] = left.sqrt();
            } else {
                return false;
            }
        }
        let known: f64 = (0..i).map(|k| a[start(i) + k] * b[k]).sum();
        b[i] = (b[i] - known) / a[start(i) + i];
    }
    for i in (0..b.len()).rev() {
        let known: f64 = (i + 1..b.len()).map(|k| a[start(k) + i] * b[k]).sum();
        b[i] = (b[i] - known) / a[start(i) + i];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: A = E diag(v) Eᵀ multiplied out again, and EᵀE = I.
    #[test]
    fn axes_rebuild_the_matrix_largest_first() {
        let a = Mat::from_fn(7, 5, |i, j| ((i * 5 + j) as f64 * 0.7).sin());
        let gram = a.transpose() * &a;
        let axes = principal_axes(gram.as_ref()).unwrap();
        assert!(axes.values.windows(2).all(|w| w[0] >= w[1]));
        let scaled = Mat::from_fn(5, 5, |i, h| axes.vectors[(i, h)] * axes.values[h]);
        assert!((scaled * axes.vectors.transpose() - &gram).norm_max() < 1e-13 * gram.norm_max());
        assert!((axes.vectors.transpose() * &axes.vectors - Mat::<f64>::identity(5, 5)).norm_max() < 1e-14);
    }

    #[test]
    fn nan_is_an_error_and_nothing_is_nothing() {
        let bad = Mat::from_fn(2, 2, |_, _| f64::NAN);
        assert_eq!(principal_axes(bad.as_ref()).unwrap_err(), SolveError::NotFinite);
        assert!(principal_axes(Mat::zeros(0, 0).as_ref()).unwrap().values.is_empty());
    }

    #[test]
    fn a_shifted_system_is_solved() {
        let a = Mat::from_fn(3, 3, |i, j| if i == j { 2.0 } else { 1.0 });
        let x = Mat::from_fn(3, 2, |i, j| i as f64 - j as f64);
        let b = &a * &x + &x * 0.5;
        assert!((solve_shifted(a.as_ref(), 0.5, b.as_ref()).unwrap() - x).norm_max() < 1e-14);
    }

    #[test]
    fn a_small_system_is_solved_and_a_singular_one_is_refused() {
        let (mut a, mut b) = (vec![4.0, 2.0, 5.0, 1.0, -2.0, 6.0], vec![0.0; 3]);
        let x = [1.0, -2.0, 3.0];
        let full = [[4.0, 2.0, 1.0], [2.0, 5.0, -2.0], [1.0, -2.0, 6.0]];
        (0..3).for_each(|i| b[i] = (0..3).map(|j| full[i][j] * x[j]).sum());
        assert!(solve_small(&mut a, &mut b));
        assert!(b.iter().zip(x).all(|(b, x)| (b - x).abs() < 1e-14), "{b:?}");
        assert!(!solve_small(&mut [1.0, 1.0, 1.0], &mut [1.0, 1.0]));
        assert!(!solve_small(&mut [f64::NAN], &mut [1.0]));
    }
}
