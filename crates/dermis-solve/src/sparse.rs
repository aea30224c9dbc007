//! Sparse symmetric positive definite systems: one factorisation, many right-hand sides.

use crate::SolveError;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::linalg::amd;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMat, SymbolicSparseColMatRef, Triplet};
use faer::{Conj, Mat, MatMut, Par, Side};
use std::sync::Arc;

/// The sparse Cholesky factorisation of a symmetric positive definite matrix, with an ordering that keeps it sparse.
#[derive(Clone, Debug)]
pub struct SparseFactor {
    symbolic: Arc<SymbolicCholesky<usize>>,
    values: Vec<f64>,
    size: usize,
}

/// Memory that [`SparseFactor::solve_with`] reuses.
#[derive(Default)]
pub struct SolveMemory(Option<MemBuffer>);

impl Clone for SolveMemory {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl std::fmt::Debug for SolveMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SolveMemory").field(&self.0.as_ref().map(|memory| memory.len())).finish()
    }
}

impl SparseFactor {
    /// Factorises the matrix whose lower triangle has these (row, column, value) entries; repeated places are summed,
    /// entries above the diagonal are not read.
    ///
    /// # Errors
    /// [`SolveError::Shape`] for an entry outside `size` × `size`, [`SolveError::NotFinite`],
    /// [`SolveError::NotPositive`].
    pub fn new(size: usize, entries: &[(usize, usize, f64)]) -> Result<Self, SolveError> {
        Self::bounded(size, entries, usize::MAX)
    }

    /// The same, refused before memory is taken if the factor would have more than `most` entries (a supernodal one
    /// pads them by a small factor). For matrices whose pattern comes from a file.
    ///
    /// # Errors
    /// As [`SparseFactor::new`], and [`SolveError::TooLarge`].
    pub fn bounded(size: usize, entries: &[(usize, usize, f64)], most: usize) -> Result<Self, SolveError> {
        if let Some(&(row, column, _)) = entries.iter().find(|(row, column, _)| *row >= size || *column >= size) {
            return Err(SolveError::Shape { rows: size, targets: row.max(column) + 1 });
        }
        if entries.iter().any(|(_, _, value)| !value.is_finite()) {
            return Err(SolveError::NotFinite);
        }
        let triplets: Vec<_> = entries
            .iter()
            .filter(|(row, col, _)| row >= col)
            .map(|&(row, col, val)| Triplet { row, col, val })
            .collect();
        let matrix = SparseColMat::try_new_from_triplets(size, size, &triplets).map_err(|_| SolveError::NotPositive)?;
        let pattern = matrix.symbolic();
        if most < usize::MAX && !fill_is_at_most(pattern, most)? {
            return Err(SolveError::TooLarge { size, most });
        }
        let params = CholeskySymbolicParams::default();
        let symbolic = factorize_symbolic_cholesky(pattern, Side::Lower, SymmetricOrdering::Amd, params)
            .map_err(|_| SolveError::NotPositive)?;
        let mut values = vec![0.0; symbolic.len_val()];
        let scratch = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
        let mut memory = MemBuffer::try_new(scratch).map_err(|_| SolveError::TooLarge { size, most })?;
        symbolic
            .factorize_numeric_llt::<f64>(
                &mut values,
                matrix.as_ref(),
                Side::Lower,
                Default::default(),
                Par::Seq,
                MemStack::new(&mut memory),
                Default::default(),
            )
            .map_err(|_| SolveError::NotPositive)?;
        Ok(Self { symbolic: Arc::new(symbolic), values, size })
    }

    /// Rows of the matrix.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Numbers the factor holds.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Solves A X = B in place.
    ///
    /// # Errors
    /// [`SolveError::Shape`] if B has another number of rows.
    pub fn solve(&self, b: &mut Mat<f64>) -> Result<(), SolveError> {
        if b.nrows() != self.size {
            return Err(SolveError::Shape { rows: self.size, targets: b.nrows() });
        }
        self.solve_in(b.as_mut(), &mut SolveMemory::default());
        Ok(())
    }

    /// Solves A X = B in place, column after column in `b`. Allocates nothing once `memory` has served the same factor
    /// and number of columns.
    ///
    /// # Errors
    /// [`SolveError::Shape`] if the length of `b` is no multiple of the rows of A.
    pub fn solve_with(&self, b: &mut [f64], memory: &mut SolveMemory) -> Result<(), SolveError> {
        if self.size == 0 || !b.len().is_multiple_of(self.size) {
            return if b.is_empty() { Ok(()) } else { Err(SolveError::Shape { rows: self.size, targets: b.len() }) };
        }
        let columns = b.len() / self.size;
        self.solve_in(MatMut::from_column_major_slice_mut(b, self.size, columns), memory);
        Ok(())
    }

    fn solve_in(&self, b: MatMut<'_, f64>, memory: &mut SolveMemory) {
        if self.size == 0 || b.ncols() == 0 {
            return;
        }
        let needed = self.symbolic.solve_in_place_scratch::<f64>(b.ncols(), Par::Seq);
        let enough = memory.0.as_ref().is_some_and(|memory| memory.len() >= needed.unaligned_bytes_required());
        if !enough {
            memory.0 = None;
        }
        let memory = memory.0.get_or_insert_with(|| MemBuffer::new(needed));
        LltRef::<'_, usize, f64>::new(&self.symbolic, &self.values).solve_in_place_with_conj(
            Conj::No,
            b,
            Par::Seq,
            MemStack::new(memory),
        );
    }
}

/// Whether the factor of a matrix with this lower triangle has at most `most` entries, in the ordering it will get:
/// columns are counted along the elimination tree, which stops as soon as there are more.
fn fill_is_at_most(pattern: SymbolicSparseColMatRef<'_, usize>, most: usize) -> Result<bool, SolveError> {
    let size = pattern.nrows();
    let (mut order, mut place) = (vec![0usize; size], vec![0usize; size]);
    let failed = |_| SolveError::NotPositive;
    let scratch = amd::order_scratch::<usize>(size, pattern.compute_nnz());
    let mut memory = MemBuffer::try_new(scratch).map_err(|_| SolveError::TooLarge { size, most })?;
    let stack = MemStack::new(&mut memory);
    amd::order(&mut order, &mut place, pattern, amd::Control::default(), stack).map_err(failed)?;
    // Row j of the factor: from each earlier neighbour up the tree to j.
    let mut earlier: Vec<Vec<usize>> = vec![Vec::new(); size];
    for column in 0..size {
        for row in pattern.row_idx_of_col(column) {
            let (a, b) = (place[row], place[column]);
            if a != b {
                earlier[a.max(b)].push(a.min(b));
            }
        }
    }
    const ROOT: usize = usize::MAX;
    let (mut parent, mut visited, mut count) = (vec![ROOT; size], vec![ROOT; size], 0usize);
    for (j, neighbours) in earlier.iter().enumerate() {
        visited[j] = j;
        count += 1;
        for &start in neighbours {
            let mut i = start;
            while visited[i] != j {
                visited[i] = j;
                count += 1;
                if parent[i] == ROOT {
                    parent[i] = j;
                }
                i = parent[i];
            }
        }
        if count > most {
            return Ok(false);
        }
    }
    Ok(true)
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

    /// A pattern as a hostile file may hold it: every row coupled to every other.
    #[test]
    fn a_factor_larger_than_allowed_is_refused_and_one_as_large_is_made() {
        let size = 60;
        let dense: Vec<_> =
            (0..size).flat_map(|i| (0..=i).map(move |j| (i, j, if i == j { size as f64 } else { -0.5 }))).collect();
        let entries = size * (size + 1) / 2;
        assert!(SparseFactor::bounded(size, &dense, entries).is_ok());
        let refused = SparseFactor::bounded(size, &dense, entries - 1).unwrap_err();
        assert_eq!(refused, SolveError::TooLarge { size, most: entries - 1 });
        let mesh = grid(40);
        assert!(SparseFactor::bounded(1600, &mesh, 40 * 1600).is_ok(), "meshes fill in little");
    }

    #[test]
    fn memory_serves_again_and_columns_are_those_of_the_matrix() {
        let factor = SparseFactor::new(400, &grid(20)).unwrap();
        let (mut memory, mut flat) = (SolveMemory::default(), Vec::new());
        for round in 0..3 {
            let mut b = Mat::from_fn(400, 3, |i, j| ((i * 5 + j + round) as f64).cos());
            flat = (0..3).flat_map(|j| (0..400).map(move |i| (i, j))).map(|(i, j)| b[(i, j)]).collect();
            factor.solve_with(&mut flat, &mut memory).unwrap();
            factor.solve(&mut b).unwrap();
            assert!((0..1200).all(|at| flat[at] == b[(at % 400, at / 400)]));
        }
        assert!(factor.solve_with(&mut flat[..7], &mut memory).is_err());
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
