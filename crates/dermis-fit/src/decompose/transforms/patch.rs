//! The transforms of one new bone, fitted to a patch of vertices.

use super::motion::{Motion, compressed};
use super::normal::square;
use super::solve::rigid_sweep;
use crate::decompose::BoneKind;
use crate::decompose::gram::Bones;
use crate::decompose::matrix::Matrix;
use crate::decompose::problem::{Frames, MONOMIALS};

/// Fits one bone to weighted points, given as S = Σ p̃p̃ᵀ and Q = Σ p̃ x over the compressed columns.
///
/// The bone is rigid. For the other kinds it is affine, with a ridge towards the rigid one: a flat patch, too, determines
/// it.
pub fn fit_patch(s: &[f64; MONOMIALS], q: &Matrix, frames: &Frames, kind: BoneKind) -> Motion {
    let columns = frames.columns;
    let mut full = Bones::zeros(1, columns.count());
    let mut wide = Bones::zeros(1, columns.count());
    let expanded = match &frames.basis {
        None => q.clone(),
        Some(z) => q.times(z),
    };
    for i in 0..4 {
        wide.row_mut(i, 0).copy_from_slice(expanded.row(i));
    }
    let overlaps = vec![vec![(0, *s)]];
    rigid_sweep(&overlaps, &wide, &mut full, 0, frames);
    if kind == BoneKind::Rigid || s[9] <= 1e-14 {
        return Motion::from_full(full, frames, kind);
    }
    // About the patch's middle m, over compressed columns: (A + ρ I) (L − R) = C − A R. The translation follows.
    let rigid = compressed(full, frames);
    let square = square(s);
    let middle: [f64; 3] = std::array::from_fn(|i| square[i][3] / square[3][3]);
    let mut a = Matrix::zeros(3, 3);
    for i in 0..3 {
        for j in 0..3 {
            a.row_mut(i)[j] = square[i][j] - middle[i] * square[j][3];
        }
    }
    let ridge = 0.02 * (0..3).map(|i| a.row(i)[i]).sum::<f64>() + 1e-12 * square[3][3];
    let mut right = Matrix::zeros(3, q.cols);
    for i in 0..3 {
        for at in 0..q.cols {
            let moved: f64 = (0..3).map(|j| a.row(i)[j] * rigid.row(j, 0)[at]).sum();
            right.row_mut(i)[at] = q.row(i)[at] - middle[i] * q.row(3)[at] - moved;
        }
    }
    (0..3).for_each(|i| a.row_mut(i)[i] += ridge);
    let change = a.solve_positive(right);
    let mut bones = Bones::zeros(1, q.cols);
    for i in 0..3 {
        for at in 0..q.cols {
            bones.row_mut(i, 0)[at] = rigid.row(i, 0)[at] + change.row(i)[at];
        }
    }
    for at in 0..q.cols {
        let turned: f64 = (0..3).map(|i| middle[i] * bones.row(i, 0)[at]).sum();
        bones.row_mut(3, 0)[at] = q.row(3)[at] / square[3][3] - turned;
    }
    let full = match (&frames.basis, kind) {
        (Some(z), BoneKind::NearRigid { .. }) => Some(Bones { count: 1, stride: bones.stride, t: bones.t.times(z) }),
        _ => None,
    };
    Motion { bones, full, fixed: 0 }
}
