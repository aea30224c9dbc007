//! Dense matrices, rows one after the other, over faer.

use dermis_solve::faer::linalg::matmul::matmul;
use dermis_solve::faer::prelude::Solve;
use dermis_solve::faer::{Accum, Mat, MatMut, MatRef, Par, Side};

/// Rows one after the other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrix {
    pub rows: usize,
    pub cols: usize,
    pub values: Vec<f64>,
}

impl Matrix {
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, values: vec![0.0; rows * cols] }
    }
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.cols..(row + 1) * self.cols]
    }
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.cols..(row + 1) * self.cols]
    }
    pub fn view(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.values, self.rows, self.cols)
    }
    /// self · other.
    pub fn times(&self, other: &Self) -> Self {
        let mut product = Self::zeros(self.rows, other.cols);
        multiply(&mut product.values, self.view(), other.view());
        product
    }
    /// self · otherᵀ.
    pub fn times_transposed(&self, other: &Self) -> Self {
        let mut product = Self::zeros(self.rows, other.rows);
        multiply(&mut product.values, self.view(), other.view().transpose());
        product
    }
    /// self⁻¹ · right for a positive definite matrix (lower triangle read). A system that rounding leaves without a
    /// Cholesky factor is regularised until it has one.
    pub fn solve_positive(&self, right: Self) -> Self {
        let trace = (0..self.rows).map(|i| self.row(i)[i].abs()).fold(1e-300, f64::max);
        let mut shift = 0.0;
        loop {
            let shifted = Mat::from_fn(self.rows, self.rows, |i, j| self.row(i)[j] + if i == j { shift } else { 0.0 });
            if let Ok(factor) = shifted.llt(Side::Lower) {
                let mut solved = right;
                let (rows, cols) = (solved.rows, solved.cols);
                factor.solve_in_place(MatMut::from_row_major_slice_mut(&mut solved.values, rows, cols));
                return solved;
            }
            if shift > trace || !trace.is_finite() {
                return Self::zeros(right.rows, right.cols);
            }
            shift = if shift == 0.0 { 1e-14 * trace } else { 100.0 * shift };
        }
    }
}

/// product ← left · right, in the calling thread.
pub(super) fn multiply(product: &mut [f64], left: MatRef<'_, f64>, right: MatRef<'_, f64>) {
    let product = MatMut::from_row_major_slice_mut(product, left.nrows(), right.ncols());
    matmul(product, Accum::Replace, left, right, 1.0, Par::Seq);
}

/// An orthonormal basis of the rows.
pub(super) fn orthonormal_rows(a: &Matrix) -> Matrix {
    let q = a.view().transpose().qr().compute_thin_Q();
    let mut rows = Matrix::zeros(q.ncols(), q.nrows());
    for i in 0..rows.rows {
        for j in 0..rows.cols {
            rows.values[i * rows.cols + j] = q[(j, i)];
        }
    }
    rows
}
