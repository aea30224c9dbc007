//! One regression of a group: its matrices, and the traces for which it is solved in the lanes.

use super::super::scene::{Local, Table};
use dermis_deform::enveloping::EnvelopingForm;
use dermis_solve::simd::{self, Fma, Kernel};
use std::ops::RangeInclusive;

/// What is added to the diagonal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shift {
    /// s.
    Real(f64),
    /// a.
    Imaginary(f64),
}

impl Shift {
    /// Traces that are solved here in double precision, poses weighing `mass` in all.
    pub fn traces(self, mass: f64) -> RangeInclusive<f64> {
        match self {
            Self::Real(s) => 0.0..=s * MOST.0,
            Self::Imaginary(a) => LEAST * mass..=a * MOST.1,
        }
    }

    /// Traces that are solved in single precision.
    pub fn single_traces(self) -> RangeInclusive<f64> {
        let (least, shift, most) = match self {
            Self::Real(s) => (0.0, s, MOST_SINGLE.0),
            Self::Imaginary(a) => (LEAST_SINGLE * a, a, MOST_SINGLE.1),
        };
        match RANGE_SINGLE.contains(&shift) {
            true => least..=(shift * most).min(*RANGE_SINGLE.end()),
            false => 1.0..=0.0,
        }
    }
}

/// The largest trace over shift that is solved here; beyond, rounding is amplified too far and the principal axes,
/// which drop directions, take over. A real shift is only divided by, an imaginary one also separates g from a²/g.
const MOST: (f64, f64) = (1e12, 1e7);
/// The least trace over mass that is solved here: what hardly moves is left to the principal axes, which drop it.
const LEAST: f64 = 1e-14;
/// [`MOST`] in single precision, whose coefficients are off by up to about 6e-8 times the trace over the shift: 2 % at 6e5
/// under a real shift, where unseen poses of an arm differ by 2e-5 of its length. An imaginary one counts the mean as well.
const MOST_SINGLE: (f64, f64) = (1e6, 1e5);
/// The least trace over an imaginary shift in single precision: below, real parts are what is left of imaginary ones.
const LEAST_SINGLE: f64 = 1e-3;
/// Shifts and traces whose squares single precision can hold.
pub(super) const RANGE_SINGLE: RangeInclusive<f64> = 1e-15..=1e15;

/// A column whose sum of squares is below the first, or below the second times that of all, does not move but for
/// rounding; under an absolute ridge it counts as zero, as do such principal axes of the reference.
const FROZEN_COLUMN: (f64, f64) = (1e-12, 1e-9);
/// The sum of squares up to which a column counts as zero.
pub(super) fn frozen(squares: &[f64]) -> f64 {
    FROZEN_COLUMN.0.max(FROZEN_COLUMN.1 * squares.iter().sum::<f64>())
}

/// One regression of a group: all axes on all columns, or one axis on its own.
pub(super) struct Part<T> {
    pub first_axis: usize,
    pub axes: usize,
    /// Columns of the group's matrices.
    pub columns: Vec<usize>,
    pub shift: Shift,
    /// Traces of D XᵀX D that are solved here.
    pub traces: RangeInclusive<f64>,
    /// X, column after column.
    pub x: Vec<T>,
    /// XᵀX, packed lower triangle; empty in the dual form.
    pub gram: Vec<T>,
    /// X_b X_bᵀ of each bone, packed lower triangle, one bone after another; empty in the primal form.
    pub kernels: Vec<T>,
    /// The diagonal of XᵀX.
    pub squares: Vec<T>,
    /// Mean of each column, where the regression reads features as they are; else empty.
    pub mean: Vec<T>,
    /// X_b mean_b of each bone, bones innermost (dual form).
    pub mean_rows: Vec<T>,
}

impl Part<f64> {
    pub fn new(
        local: &Local,
        table: &Table,
        form: EnvelopingForm,
        first_axis: usize,
        axes: usize,
        columns: Vec<usize>,
        shift: Shift,
        paper: bool,
    ) -> Self {
        let (rows, bones) = (local.rows(), local.bones.len());
        let per_bone = columns.len() / bones.max(1);
        let mut x = Vec::with_capacity(rows * columns.len());
        columns.iter().for_each(|&c| x.extend_from_slice(local.centred.col_as_slice(c)));
        let mut squares: Vec<f64> = vec![0.0; columns.len()];
        for (square, column) in squares.iter_mut().zip(x.chunks_exact(rows.max(1))) {
            *square = column.iter().map(|x| x * x).sum();
        }
        let frozen = match shift {
            Shift::Real(_) => frozen(&squares),
            Shift::Imaginary(_) => 0.0,
        };
        for (square, column) in squares.iter_mut().zip(x.chunks_exact_mut(rows.max(1))) {
            if *square <= frozen {
                column.fill(0.0);
                *square = 0.0;
            }
        }
        let column = |at: usize| &x[at * rows..(at + 1) * rows];
        let mean: Vec<f64> = if paper { columns.iter().map(|&c| local.mean[c]).collect() } else { vec![] };
        let dual = rows < columns.len();
        let (mut gram, mut kernels, mut mean_rows) = (vec![], vec![], vec![]);
        if dual {
            kernels = vec![0.0; rows * (rows + 1) / 2 * bones];
            simd::run(PerBone { x: &x, rows, per_bone, kernels: &mut kernels });
            if paper {
                mean_rows = vec![0.0; rows * bones];
                for at in 0..columns.len() {
                    for (row, x) in column(at).iter().enumerate() {
                        mean_rows[row * bones + at / per_bone] += x * mean[at];
                    }
                }
            }
        } else {
            gram = table.gram(local, &columns, form);
            let moves = |c: usize| squares[c] > 0.0;
            let places = (0..columns.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
            for (entry, (i, j)) in gram.iter_mut().zip(places) {
                if !moves(i) || !moves(j) {
                    *entry = 0.0;
                }
            }
        }
        let traces = shift.traces(local.mass);
        Self { first_axis, axes, columns, shift, traces, x, gram, kernels, squares, mean, mean_rows }
    }
}

impl<T> Part<T> {
    pub fn dual(&self) -> bool {
        self.gram.is_empty()
    }
}

/// X_b X_bᵀ of each bone.
struct PerBone<'a> {
    x: &'a [f64],
    rows: usize,
    per_bone: usize,
    kernels: &'a mut [f64],
}

impl Kernel for PerBone<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Fma>(self) {
        let Self { x, rows, per_bone, kernels } = self;
        if rows == 0 {
            return;
        }
        let size = rows * (rows + 1) / 2;
        for (x, kernel) in x.chunks_exact(rows * per_bone).zip(kernels.chunks_exact_mut(size)) {
            for column in x.chunks_exact(rows) {
                let mut rest = &mut *kernel;
                for i in 0..rows {
                    let (row, after) = rest.split_at_mut(i + 1);
                    for (entry, other) in row.iter_mut().zip(column) {
                        *entry = F::f64(column[i], *other, *entry);
                    }
                    rest = after;
                }
            }
        }
    }
}
