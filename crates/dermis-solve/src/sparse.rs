//! Sparse symmetric positive definite systems: one factorisation, many right-hand sides.

use crate::SolveError;
use faer::linalg::solvers::SolveCore;
use faer::sparse::linalg::solvers::Llt;
use faer::sparse::{SparseColMat, Triplet};
use faer::{Conj, Mat, Side};

/// The sparse Cholesky factorisation of a symmetric positive definite matrix, with an ordering that keeps it sparse.
#[derive(Clone, Debug)]
pub struct SparseFactor {
    factor: Llt<usize, f64>,
    size: usize,
}

impl SparseFactor {
    /// Factorises the matrix whose lower triangle has these (row, column, value) entries; repeated places are summed,
    /// entries above the diagonal are not read.
    ///
    /// # Errors
    /// [`SolveError::Shape`] for an entry outside `size` × `size`, [`SolveError::NotFinite`],
    /// [`SolveError::NotPositive`].
    pub fn new(size: usize, entries: &[(usize, usize, f64)]) -> Result<Self, SolveError> {
        if let Some(&(row, column, _)) = entries.iter().find(|(row, column, _)| *row >= size || *column >= size) {
            return Err(SolveError::Shape { rows: size, targets: row.max(column) + 1 });
        }
        if entries.iter().any(|(_, _, value)| !value.is_finite()) {
            return Err(SolveError::NotFinite);
        }
        let triplets: Vec<_> = entries.iter().map(|&(row, col, val)| Triplet { row, col, val }).collect();
        let matrix = SparseColMat::try_new_from_triplets(size, size, &triplets).map_err(|_| SolveError::NotPositive)?;
        let factor = matrix.sp_cholesky(Side::Lower).map_err(|_| SolveError::NotPositive)?;
        Ok(Self { factor, size })
    }

    /// Solves A X = B in place.
    ///
    /// # Errors
    /// [`SolveError::Shape`] if B has another number of rows.
    pub fn solve(&self, b: &mut Mat<f64>) -> Result<(), SolveError> {
        if b.nrows() != self.size {
            return Err(SolveError::Shape { rows: self.size, targets: b.nrows() });
        }
        if self.size > 0 && b.ncols() > 0 {
            self.factor.solve_in_place_with_conj(Conj::No, b.as_mut());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The five-point stencil on a grid plus a diagonal, its couplings scaled over many orders of magnitude.
    fn grid(side: usize) -> Vec<(usize, usize, f64)> {
        let mut entries = Vec::new();
        for i in 0..side * side {
            entries.push((i, i, 1e-3 * (1.0 + i as f64)));
            for next in [(i % side + 1 < side).then_some(i + 1), (i + side < side * side).then_some(i + side)] {
                let Some(next) = next else { continue };
                let w = 10f64.powi((i % 9) as i32 - 4);
                entries.extend([(i, i, w), (next, next, w), (next, i, -w)]);
            }
        }
        entries
    }

    /// Oracle: the product with the solution gives the right-hand side again, relative to the size of its terms.
    #[test]
    fn a_sparse_system_is_solved_for_many_right_hand_sides() {
        let (side, columns) = (20, 7);
        let entries = grid(side);
        let factor = SparseFactor::new(side * side, &entries).unwrap();
        let b = Mat::from_fn(side * side, columns, |i, j| ((i * 3 + j) as f64).sin());
        let mut x = b.clone();
        factor.solve(&mut x).unwrap();
        let (mut product, mut terms) = (Mat::<f64>::zeros(side * side, columns), b.clone());
        for &(i, j, w) in &entries {
            for t in 0..columns {
                product[(i, t)] += w * x[(j, t)];
                terms[(i, t)] = terms[(i, t)].abs() + (w * x[(j, t)]).abs();
                if i != j {
                    product[(j, t)] += w * x[(i, t)];
                    terms[(j, t)] = terms[(j, t)].abs() + (w * x[(i, t)]).abs();
                }
            }
        }
        for i in 0..side * side {
            for t in 0..columns {
                assert!((product[(i, t)] - b[(i, t)]).abs() < 1e-12 * terms[(i, t)].abs().max(1.0), "{i} {t}");
            }
        }
    }

    #[test]
    fn what_has_no_factor_is_refused() {
        let refused = |entries: &[_]| SparseFactor::new(2, entries).unwrap_err();
        assert_eq!(refused(&[(0, 0, 1.0), (1, 0, 2.0), (1, 1, 1.0)]), SolveError::NotPositive);
        assert_eq!(refused(&[(0, 0, f64::NAN), (1, 1, 1.0)]), SolveError::NotFinite);
        assert_eq!(refused(&[(0, 0, 1.0), (2, 1, 1.0)]), SolveError::Shape { rows: 2, targets: 3 });
        let one = SparseFactor::new(1, &[(0, 0, 4.0)]).unwrap();
        assert!(one.solve(&mut Mat::zeros(2, 1)).is_err());
        assert!(SparseFactor::new(0, &[]).unwrap().solve(&mut Mat::zeros(0, 3)).is_ok());
    }
}
