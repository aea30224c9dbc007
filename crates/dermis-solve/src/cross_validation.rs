//! Exact cross-validation of linear smoothers: leave-one-out and leave-block-out without refitting.
//!
//! For a fit ŷ = H y with H = Q diag(f) Qᵀ, an observation that was left out has the residual e_s / (1 − H_ss), and a block
//! that was left out has (I − H_bb)⁻¹ e_b. Both hold exactly for ridge regression with fixed features and ridge.

use crate::SolveError;
use faer::prelude::Solve;
use faer::{Mat, MatRef};

/// The default `tolerance` of [`choose`]: a stronger ridge is taken while its error is at most 3 % above the least.
///
/// Near the least error the scores of a grid are flat and noisy. With 1, as in the published forms, that noise chooses.
pub const TOLERANCE: f64 = 1.03;

/// A range of consecutive observations that is left out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// First observation.
    pub start: usize,
    /// One past the last.
    pub end: usize,
}

/// The observations that are left out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folds {
    /// One observation.
    Single,
    /// This many contiguous, nearly equal blocks, the first ones one longer: for frames of an animation.
    Blocks(usize),
}

impl Folds {
    /// The folds over `count` observations; blocks are never empty.
    pub fn ranges(self, count: usize) -> Vec<Fold> {
        let parts = match self {
            Self::Single => count,
            Self::Blocks(parts) => parts.clamp(1, count.max(1)),
        };
        let (size, longer) = (count / parts.max(1), count % parts.max(1));
        let mut start = 0;
        (0..parts)
            .map(|part| {
                let fold = Fold { start, end: start + size + usize::from(part < longer) };
                start = fold.end;
                fold
            })
            .filter(|fold| fold.end > fold.start)
            .collect()
    }
}

/// Returns the sum of squared held-out residuals of the smoother H = Q diag(f) Qᵀ.
///
/// - `q` (S × h): orthonormal columns; `filter` (h): f in 0..=1
/// - `y` (S × c): targets; `qty` (h × c): Qᵀ y
///
/// The result equals refitting without each fold, with the features fixed. A fold that determines its own fit entirely
/// (1 − H_ss below 1e-12) counts with its plain target, because the others determine nothing there.
///
/// # Errors
/// [`SolveError::Shape`] if the sizes disagree.
pub fn press(
    q: MatRef<'_, f64>,
    filter: &[f64],
    y: MatRef<'_, f64>,
    qty: MatRef<'_, f64>,
    folds: &[Fold],
) -> Result<f64, SolveError> {
    if q.nrows() != y.nrows() || q.ncols() != filter.len() || qty.nrows() != filter.len() {
        return Err(SolveError::Shape { rows: q.nrows(), targets: y.nrows() });
    }
    let residual = residuals(q, filter, y, qty);
    let mut total = 0.0;
    for fold in folds {
        total += if fold.end - fold.start == 1 {
            let s = fold.start;
            let leverage: f64 = (0..filter.len()).map(|h| filter[h] * q[(s, h)] * q[(s, h)]).sum();
            let free = 1.0 - leverage;
            (0..y.ncols()).map(|c| if free > 1e-12 { residual[(s, c)] / free } else { y[(s, c)] }).map(|e| e * e).sum()
        } else {
            block_press(q, filter, y, &residual, *fold)
        };
    }
    Ok(total)
}

/// e = y − Q diag(f) Qᵀ y.
fn residuals(q: MatRef<'_, f64>, filter: &[f64], y: MatRef<'_, f64>, qty: MatRef<'_, f64>) -> Mat<f64> {
    let damped = Mat::from_fn(qty.nrows(), qty.ncols(), |h, c| filter[h] * qty[(h, c)]);
    y - q * &damped
}

/// |(I − H_bb)⁻¹ e_b|² of one block, in the smaller of the block's own size and the number of axes.
fn block_press(q: MatRef<'_, f64>, filter: &[f64], y: MatRef<'_, f64>, residual: &Mat<f64>, fold: Fold) -> f64 {
    let size = fold.end - fold.start;
    let axes: Vec<usize> = (0..filter.len()).filter(|&h| filter[h] > 0.0).collect();
    let qb = Mat::from_fn(size, axes.len(), |s, h| q[(fold.start + s, axes[h])] * filter[axes[h]].sqrt());
    let eb = residual.get(fold.start..fold.end, ..).to_owned();
    let held_out = if size <= axes.len() {
        let free = Mat::<f64>::identity(size, size) - &qb * qb.transpose();
        free.partial_piv_lu().solve(&eb)
    } else {
        // Woodbury: (I − Q̂Q̂ᵀ)⁻¹ = I + Q̂ (I − Q̂ᵀQ̂)⁻¹ Q̂ᵀ.
        let small = Mat::<f64>::identity(axes.len(), axes.len()) - qb.transpose() * &qb;
        &eb + &qb * small.partial_piv_lu().solve(qb.transpose() * &eb)
    };
    let sum = held_out.squared_norm_l2();
    let plain = y.get(fold.start..fold.end, ..).squared_norm_l2();
    // A block that determines itself leaves a singular matrix; its targets are then all that is known.
    if sum.is_finite() && held_out.norm_max() < 1e12 * (1.0 + y.norm_max()) { sum } else { plain }
}

/// Generalised cross-validation: S |e|² / (S − tr H)², summed over the columns of `y`; the plain |y|² where no degree of
/// freedom is left. The columns of `q` need not be orthonormal.
pub fn gcv(q: MatRef<'_, f64>, filter: &[f64], y: MatRef<'_, f64>, qty: MatRef<'_, f64>) -> f64 {
    let count = y.nrows() as f64;
    let trace: f64 = filter.iter().enumerate().map(|(h, f)| f * q.col(h).squared_norm_l2()).sum();
    let free = count - trace;
    if free <= 1e-12 * count {
        return y.squared_norm_l2();
    }
    count * residuals(q, filter, y, qty).squared_norm_l2() / (free * free)
}

/// Returns the index of the largest ridge whose root of summed squares is at most `tolerance` times the smallest.
///
/// `grid` is ascending. With `tolerance` 1 this is the minimum, ties to the smaller ridge. Non-finite scores never win.
pub fn choose(scores: &[f64], tolerance: f64) -> Option<usize> {
    let finite = || scores.iter().enumerate().filter(|(_, score)| score.is_finite());
    let (best, least) = finite().min_by(|a, b| a.1.total_cmp(b.1))?;
    if tolerance <= 1.0 {
        return Some(best);
    }
    finite().filter(|(_, score)| score.sqrt() <= tolerance * least.sqrt()).map(|(at, _)| at).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symmetric::{principal_axes, solve_shifted};

    fn wave(rows: usize, cols: usize, seed: f64) -> Mat<f64> {
        Mat::from_fn(rows, cols, |i, j| (((i * cols + j) * (i + 3)) as f64 * 1.7 + seed).sin())
    }

    /// Oracle: refit without the fold and predict it.
    fn brute_force(x: &Mat<f64>, y: &Mat<f64>, ridge: f64, folds: &[Fold]) -> f64 {
        let mut total = 0.0;
        for fold in folds {
            let kept: Vec<usize> = (0..x.nrows()).filter(|s| !(fold.start..fold.end).contains(s)).collect();
            let (xk, yk) = (
                Mat::from_fn(kept.len(), x.ncols(), |i, j| x[(kept[i], j)]),
                Mat::from_fn(kept.len(), y.ncols(), |i, j| y[(kept[i], j)]),
            );
            let w = solve_shifted((xk.transpose() * &xk).as_ref(), ridge, (xk.transpose() * &yk).as_ref()).unwrap();
            total += (y.get(fold.start..fold.end, ..) - x.get(fold.start..fold.end, ..) * w).squared_norm_l2();
        }
        total
    }

    #[test]
    fn press_equals_brute_force_for_single_poses_and_blocks() {
        let (x, y) = (wave(23, 6, 0.3), wave(23, 3, 1.1));
        let axes = principal_axes((x.transpose() * &x).as_ref()).unwrap();
        let q = Mat::from_fn(23, 6, |i, h| {
            (0..6).map(|j| x[(i, j)] * axes.vectors[(j, h)]).sum::<f64>() / axes.values[h].sqrt()
        });
        let qty = q.transpose() * &y;
        for ridge in [1e-3, 0.1, 10.0] {
            let filter: Vec<f64> = axes.values.iter().map(|v| v / (v + ridge)).collect();
            for folds in [Folds::Single, Folds::Blocks(4), Folds::Blocks(2)] {
                let ranges = folds.ranges(23);
                let fast = press(q.as_ref(), &filter, y.as_ref(), qty.as_ref(), &ranges).unwrap();
                let slow = brute_force(&x, &y, ridge, &ranges);
                assert!((fast - slow).abs() < 1e-9 * slow, "{folds:?} {ridge}: {fast} {slow}");
            }
        }
    }

    #[test]
    fn blocks_are_contiguous_and_the_first_ones_longer() {
        let sizes: Vec<_> = Folds::Blocks(4).ranges(14).iter().map(|f| f.end - f.start).collect();
        assert_eq!(sizes, [4, 4, 3, 3]);
        assert_eq!(Folds::Blocks(9).ranges(2).len(), 2);
        assert!(Folds::Blocks(5).ranges(0).is_empty());
    }

    #[test]
    fn the_choice_prefers_the_larger_ridge_within_the_tolerance() {
        let scores = [4.0, 1.0, 1.0, 1.05, 1.2, f64::NAN];
        assert_eq!(choose(&scores, 1.0), Some(1));
        assert_eq!(choose(&scores, 1.03), Some(3));
        assert_eq!(choose(&[f64::NAN], 1.0), None);
    }
}
