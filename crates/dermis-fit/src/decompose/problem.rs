//! The sequence as the solver sees it: lengths over half the extent of the rest shape, one affine map per frame taken out, few columns.
//!
//! Rows of numbers: p̃ = (p, 1) at rest; x_v the trajectory of a vertex, its three coordinates in every frame side by
//! side (3P columns). With T_k a 4 × 3P block per bone the model is x_v ≈ Σ_k w_vk p̃_v T_k. Since Σ_k w_vk = 1, any
//! 4 × 3P block T₀ may be subtracted: x_v − p̃_v T₀ ≈ Σ_k w_vk p̃_v (T_k − T₀). T₀ is the least-squares affine map of each
//! frame, which takes out root motion and most of the energy.
//!
//! Trajectories are compressed: X ≈ U Z with orthonormal rows of Z, so that the cost of an iteration does not grow with
//! the number of frames.

use super::Sequence;
use super::matrix::{Matrix, orthonormal_rows};
use super::weights::Support;
use dermis_rig::PrincipalBox;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_solve::Random;
use dermis_solve::simd::{self, Fma, Kernel};
use rayon::prelude::*;

/// Frames whose columns lie side by side: as many as fill the widest vector registers.
pub(super) const LANES: usize = 8;
/// Up to this many columns, trajectories are kept as they are.
const MOST_COLUMNS: usize = 160;
/// Products of p̃ with itself: the upper triangle of a 4 × 4 matrix.
pub(super) const MONOMIALS: usize = 10;
/// The places of the upper triangle, in the order of the monomials.
pub(super) const PAIRS: [(usize, usize); MONOMIALS] =
    [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)];

/// Where the columns of frames lie: frames in groups of [`LANES`], in a group first all x, then all y, then all z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Columns {
    /// P.
    pub frames: usize,
}

impl Columns {
    /// 3P.
    pub fn count(self) -> usize {
        3 * self.frames
    }
    /// Number of groups.
    pub fn groups(self) -> usize {
        self.frames.div_ceil(LANES)
    }
    /// First column and number of frames of a group.
    pub fn group(self, group: usize) -> (usize, usize) {
        (3 * LANES * group, LANES.min(self.frames - LANES * group))
    }
    /// The column of an axis of a frame.
    pub fn at(self, frame: usize, axis: usize) -> usize {
        let (start, lanes) = self.group(frame / LANES);
        start + axis * lanes + frame % LANES
    }
}

/// The change of units between the caller and the solver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    /// The point that becomes the origin.
    centre: DVec3,
    /// Half the diagonal of the box around the rest shape along its principal axes: becomes one.
    pub length: f64,
}

impl Units {
    pub fn of(rest: &[DVec3]) -> Self {
        let around = PrincipalBox::of(rest);
        let half = 0.5 * around.extent();
        Self { centre: around.centre, length: if half > 0.0 { half } else { 1.0 } }
    }
    fn point(&self, p: DVec3) -> DVec3 {
        (p - self.centre) / self.length
    }
    /// A transform of the solver's points, for the caller's.
    pub fn transform(&self, a: DMat3, t: DVec3) -> DAffine3 {
        DAffine3 { matrix3: a, translation: self.centre + self.length * t - a * self.centre }
    }
    /// A transform of the caller's points, for the solver's.
    pub fn inward(&self, m: &DAffine3) -> (DMat3, DVec3) {
        (m.matrix3, (m.translation - self.centre + m.matrix3 * self.centre) / self.length)
    }
}

/// What all vertices of a problem share.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    pub columns: Columns,
    /// T₀: 4 × 3P.
    pub mean: Matrix,
    /// Z: r × 3P with orthonormal rows; `None` if trajectories are kept as they are.
    pub basis: Option<Matrix>,
}

/// Vertices with their trajectories.
#[derive(Clone, Debug)]
pub(super) struct Points {
    /// p̃.
    pub rest: Vec<[f64; 4]>,
    /// The products p̃_i p̃_j of [`PAIRS`].
    pub monomials: Vec<[f64; MONOMIALS]>,
    /// U: vertices × r.
    pub trajectories: Matrix,
    /// |x_v|².
    pub squares: Vec<f64>,
}

impl Points {
    pub fn len(&self) -> usize {
        self.rest.len()
    }
    /// Some of the points.
    pub fn subset(&self, at: &[usize]) -> Self {
        let mut trajectories = Matrix::zeros(at.len(), self.trajectories.cols);
        for (row, &v) in at.iter().enumerate() {
            trajectories.row_mut(row).copy_from_slice(self.trajectories.row(v));
        }
        Self {
            rest: at.iter().map(|&v| self.rest[v]).collect(),
            monomials: at.iter().map(|&v| self.monomials[v]).collect(),
            trajectories,
            squares: at.iter().map(|&v| self.squares[v]).collect(),
        }
    }
}

/// A sequence, or some frames of it, ready to be solved.
pub(super) struct Problem<'a> {
    sequence: Sequence<'a>,
    pub units: Units,
    pub frames: Frames,
    pub points: Points,
}

pub(super) fn monomials(p: &[f64; 4]) -> [f64; MONOMIALS] {
    PAIRS.map(|(i, j)| p[i] * p[j])
}

impl<'a> Problem<'a> {
    /// `bones` is the most that will be asked for: it decides how many columns are kept.
    pub fn new(sequence: Sequence<'a>, bones: usize, seed: u64) -> Self {
        let units = Units::of(sequence.rest);
        let columns = Columns { frames: sequence.frames.len() };
        let rest: Vec<[f64; 4]> = sequence
            .rest
            .iter()
            .map(|&p| {
                let p = units.point(p);
                [p.x, p.y, p.z, 1.0]
            })
            .collect();
        let monomials: Vec<_> = rest.iter().map(monomials).collect();
        let mean = mean_transforms(&sequence, &units, &rest, &monomials);
        let mut problem = Self {
            sequence,
            units,
            frames: Frames { columns, mean, basis: None },
            points: Points {
                squares: vec![0.0; rest.len()],
                rest,
                monomials,
                trajectories: Matrix::zeros(0, columns.count()),
            },
        };
        let wanted = 128.max(4 * bones + 32);
        if columns.count() > MOST_COLUMNS && wanted < columns.count() {
            problem.frames.basis = Some(problem.range(wanted, seed));
        }
        problem.compress();
        problem
    }

    /// x_v − p̃_v T₀ of one vertex.
    fn trajectory(&self, v: usize, into: &mut [f64]) {
        for (frame, positions) in self.sequence.frames.iter().enumerate() {
            let x = self.units.point(positions[v]);
            (0..3).for_each(|axis| into[self.frames.columns.at(frame, axis)] = x[axis]);
        }
        for i in 0..4 {
            let p = self.points.rest[v][i];
            into.iter_mut().zip(self.frames.mean.row(i)).for_each(|(x, t)| *x -= p * t);
        }
    }

    /// The trajectories of a block of vertices.
    fn block(&self, vertices: std::ops::Range<usize>) -> Matrix {
        let mut x = Matrix::zeros(vertices.len(), self.frames.columns.count());
        for (row, v) in vertices.enumerate() {
            self.trajectory(v, x.row_mut(row));
        }
        x
    }

    /// An orthonormal basis of `wanted` rows for the trajectories, by a randomised range finder with two power steps
    /// (Halko, Martinsson and Tropp 2011, algorithm 4.4) on at most two thousand vertices.
    fn range(&self, wanted: usize, seed: u64) -> Matrix {
        const MOST: usize = 2000;
        let step = self.points.len().div_ceil(MOST).max(1);
        let chosen: Vec<usize> = (0..self.points.len()).step_by(step).collect();
        let mut x = Matrix::zeros(chosen.len(), self.frames.columns.count());
        let cols = x.cols;
        x.values.par_chunks_mut(cols).zip(&chosen).for_each(|(row, &v)| self.trajectory(v, row));
        let mut random = Random::seeded(seed);
        let mut mix = Matrix::zeros(wanted.min(chosen.len()), chosen.len());
        mix.values.iter_mut().for_each(|value| *value = random.unit() - 0.5);
        let mut rows = orthonormal_rows(&mix.times(&x));
        for _ in 0..2 {
            let back = orthonormal_rows(&rows.times_transposed(&x));
            rows = orthonormal_rows(&back.times(&x));
        }
        rows
    }

    fn compress(&mut self) {
        const BLOCK: usize = 64;
        let vertices = self.points.len();
        let width = self.frames.basis.as_ref().map_or(self.frames.columns.count(), |z| z.rows);
        let blocks: Vec<(Matrix, Vec<f64>)> = (0..vertices.div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| {
                let x = self.block(block * BLOCK..vertices.min((block + 1) * BLOCK));
                let squares = (0..x.rows).map(|row| x.row(row).iter().map(|x| x * x).sum()).collect();
                (self.frames.basis.as_ref().map_or_else(|| x.clone(), |z| x.times_transposed(z)), squares)
            })
            .collect();
        let mut trajectories = Matrix { rows: vertices, cols: width, values: Vec::with_capacity(vertices * width) };
        self.points.squares.clear();
        for (u, squares) in blocks {
            trajectories.values.extend(u.values);
            self.points.squares.extend(squares);
        }
        self.points.trajectories = trajectories;
    }

    /// Φᵀ X over all frames: row i·stride + k is Σ_v w_vk p̃_vi x_v, from the trajectories before they were compressed.
    pub fn moments(&self, supports: &[Support], stride: usize) -> Matrix {
        let columns = self.frames.columns;
        let groups: Vec<Vec<[f64; WIDE]>> = (0..columns.groups())
            .into_par_iter()
            .map(|group| simd::run(Moments { problem: self, supports, stride, group }))
            .collect();
        let mut whole = Matrix::zeros(4 * stride, columns.count());
        for (group, part) in groups.iter().enumerate() {
            let (start, lanes) = columns.group(group);
            for (row, sums) in part.iter().enumerate() {
                for axis in 0..3 {
                    whole.row_mut(row)[start + axis * lanes..][..lanes].copy_from_slice(&sums[axis * LANES..][..lanes]);
                }
            }
        }
        whole
    }
}

/// The columns of a full group of frames.
const WIDE: usize = 3 * LANES;

/// The moments of one group of frames, spread so that every axis has [`LANES`] places.
struct Moments<'a> {
    problem: &'a Problem<'a>,
    supports: &'a [Support],
    stride: usize,
    group: usize,
}

impl Kernel for Moments<'_> {
    type Output = Vec<[f64; WIDE]>;
    #[inline(always)]
    fn run<F: Fma>(self) -> Vec<[f64; WIDE]> {
        let Problem { sequence, units, frames, points } = self.problem;
        let (start, lanes) = frames.columns.group(self.group);
        let mut mean = [[0.0; WIDE]; 4];
        for (i, mean) in mean.iter_mut().enumerate() {
            let row = &frames.mean.row(i)[start..];
            (0..3).for_each(|axis| mean[axis * LANES..][..lanes].copy_from_slice(&row[axis * lanes..][..lanes]));
        }
        let mut q = vec![[0.0; WIDE]; 4 * self.stride];
        for (v, (support, p)) in self.supports.iter().zip(&points.rest).enumerate() {
            let mut x = [0.0; WIDE];
            for lane in 0..lanes {
                let at = units.point(sequence.frames[self.group * LANES + lane][v]);
                (0..3).for_each(|axis| x[axis * LANES + lane] = at[axis]);
            }
            for (p, mean) in p.iter().zip(&mean) {
                (0..WIDE).for_each(|col| x[col] = F::f64(-p, mean[col], x[col]));
            }
            for (k, w) in support.members() {
                for (i, p) in p.iter().enumerate() {
                    let (c, q) = (w * p, &mut q[i * self.stride + k]);
                    (0..WIDE).for_each(|col| q[col] = F::f64(c, x[col], q[col]));
                }
            }
        }
        q
    }
}

/// T₀ = argmin |X − P̃ T₀|, with a ridge of 1e-9 towards the identity, so that flat meshes have an answer.
fn mean_transforms(sequence: &Sequence, units: &Units, rest: &[[f64; 4]], monomials: &[[f64; MONOMIALS]]) -> Matrix {
    let columns = Columns { frames: sequence.frames.len() };
    let mut gram = [0.0; MONOMIALS];
    for m in monomials {
        (0..MONOMIALS).for_each(|at| gram[at] += m[at]);
    }
    let ridge = 1e-9 * rest.len() as f64;
    let mut s = Matrix::zeros(4, 4);
    for (at, &(i, j)) in PAIRS.iter().enumerate() {
        (s.row_mut(i)[j], s.row_mut(j)[i]) = (gram[at], gram[at]);
    }
    let frames: Vec<[[f64; 3]; 4]> = sequence
        .frames
        .par_iter()
        .map(|positions| {
            let mut q = [[0.0; 3]; 4];
            for (p, &x) in rest.iter().zip(*positions) {
                let x = units.point(x).to_array();
                (0..4).for_each(|i| (0..3).for_each(|axis| q[i][axis] += p[i] * x[axis]));
            }
            q
        })
        .collect();
    let mut q = Matrix::zeros(4, columns.count());
    for (frame, moments) in frames.iter().enumerate() {
        for (i, axes) in moments.iter().enumerate() {
            for (axis, moment) in axes.iter().enumerate() {
                let identity = if i == axis { ridge } else { 0.0 };
                q.row_mut(i)[columns.at(frame, axis)] = moment + identity;
            }
        }
    }
    (0..4).for_each(|i| s.row_mut(i)[i] += ridge);
    s.solve_positive(q)
}
