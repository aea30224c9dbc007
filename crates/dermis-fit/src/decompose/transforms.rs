//! Transforms given weights, from S = Φᵀ Φ and Q = Φᵀ X: no vertex is read while they are solved.

use super::BoneKind;
use super::matrix::Matrix;
use super::problem::{Frames, LANES, MONOMIALS, PAIRS, Points};
use super::support::Support;
use super::weights::Bones;
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::rotation::nearest_rotation;
use dermis_solve::simd::{self, Fma, Kernel};
use rayon::prelude::*;

/// Keeps what no vertex determines where it was: the ridge towards the last transforms, over a bone's Σ w², and for a
/// bone without vertices.
const RIDGE: (f64, f64) = (1e-7, 1e-9);

/// The vertices and weights of every bone, vertices ascending.
pub(super) fn members(supports: &[Support], bones: usize) -> Vec<Vec<(u32, f64)>> {
    let mut members = vec![Vec::new(); bones];
    for (v, support) in supports.iter().enumerate() {
        support.members().for_each(|(k, w)| members[k].push((v as u32, w)));
    }
    members
}

/// S of one bone: its bones in common vertices, each with Σ_v w_vk w_vl p̃_v p̃_vᵀ as ten monomials.
type Overlaps = Vec<(usize, [f64; MONOMIALS])>;

/// S and Q.
pub(super) struct Normal {
    /// Per bone, the bones that share vertices with it, itself included.
    overlaps: Vec<Overlaps>,
    /// Σ_v w_vk².
    pub squares: Vec<f64>,
    /// Row i·stride + k is Σ_v w_vk p̃_vi u_v.
    q: Bones,
}

impl Normal {
    pub fn of(points: &Points, supports: &[Support], bones: usize) -> Self {
        Self::from_members(points, supports, &members(supports, bones))
    }

    fn from_members(points: &Points, supports: &[Support], members: &[Vec<(u32, f64)>]) -> Self {
        let bones = members.len();
        let parts: Vec<(Overlaps, f64, Matrix)> =
            members.par_iter().map(|members| simd::run(Accumulate { points, supports, members, bones })).collect();
        let mut normal = Self { overlaps: vec![], squares: vec![], q: Bones::zeros(bones, points.trajectories.cols) };
        for (k, (overlaps, squares, q)) in parts.into_iter().enumerate() {
            normal.overlaps.push(overlaps);
            normal.squares.push(squares);
            (0..4).for_each(|i| normal.q.row_mut(i, k).copy_from_slice(q.row(i)));
        }
        normal
    }

    /// S with a diagonal added, as a matrix.
    fn dense(&self, diagonal: impl Fn(usize, usize) -> f64) -> Matrix {
        let stride = self.q.stride;
        let mut s = Matrix::zeros(4 * stride, 4 * stride);
        for (k, overlaps) in self.overlaps.iter().enumerate() {
            for (l, table) in overlaps {
                for (m, &(i, j)) in PAIRS.iter().enumerate() {
                    s.row_mut(i * stride + k)[j * stride + l] = table[m];
                    s.row_mut(j * stride + k)[i * stride + l] = table[m];
                }
            }
        }
        for i in 0..4 {
            for k in 0..stride {
                s.row_mut(i * stride + k)[i * stride + k] += if k < self.overlaps.len() { diagonal(i, k) } else { 1.0 };
            }
        }
        s
    }
}

struct Accumulate<'a> {
    points: &'a Points,
    supports: &'a [Support],
    members: &'a [(u32, f64)],
    bones: usize,
}

impl Kernel for Accumulate<'_> {
    type Output = (Overlaps, f64, Matrix);
    #[inline(always)]
    fn run<F: Fma>(self) -> Self::Output {
        let mut tables = vec![[0.0; MONOMIALS]; self.bones];
        let mut squares = 0.0;
        let cols = self.points.trajectories.cols;
        let mut q = Matrix::zeros(4, cols);
        let (a, rest) = q.values.split_at_mut(cols);
        let (b, rest) = rest.split_at_mut(cols);
        let (c, d) = rest.split_at_mut(cols);
        for &(v, w) in self.members {
            let v = v as usize;
            squares += w * w;
            for (l, u) in self.supports[v].members() {
                let both = w * u;
                (0..MONOMIALS).for_each(|m| tables[l][m] += both * self.points.monomials[v][m]);
            }
            let p = self.points.rest[v].map(|p| w * p);
            let u = self.points.trajectories.row(v);
            let d = &mut d[..cols];
            for at in 0..cols {
                a[at] += p[0] * u[at];
                b[at] += p[1] * u[at];
                c[at] += p[2] * u[at];
                d[at] += p[3] * u[at];
            }
        }
        let overlaps = tables.into_iter().enumerate().filter(|(_, table)| table[9] != 0.0).collect();
        (overlaps, squares, q)
    }
}

/// Transforms with what each kind of bone needs besides.
#[derive(Clone, Debug)]
pub(super) struct Motion {
    /// T − T₀ over the compressed columns: what weights are solved against.
    pub bones: Bones,
    /// T − T₀ over all columns, where they differ from the compressed ones and the kind is not affine.
    full: Option<Bones>,
    /// How many of the first bones are given and stay as they are.
    pub fixed: usize,
}

impl Motion {
    /// No bone has left T₀.
    pub fn still(count: usize, frames: &Frames, kind: BoneKind) -> Self {
        let full = Bones::zeros(count, frames.columns.count());
        Self::from_full(full, frames, kind)
    }
    pub fn from_full(full: Bones, frames: &Frames, kind: BoneKind) -> Self {
        match &frames.basis {
            None => Self { bones: full, full: None, fixed: 0 },
            Some(z) => Self {
                bones: Bones { count: full.count, stride: full.stride, t: full.t.times_transposed(z) },
                full: (kind != BoneKind::Affine).then_some(full),
                fixed: 0,
            },
        }
    }
    /// T − T₀ over whichever columns hold all of it: what |y|² is taken from. A rotation need not lie in the span of
    /// the trajectories.
    pub fn wide(&self) -> &Bones {
        self.full.as_ref().unwrap_or(&self.bones)
    }
    /// T − T₀ over all columns.
    pub fn full(&self, frames: &Frames) -> Bones {
        match (&self.full, &frames.basis) {
            (Some(full), _) => full.clone(),
            (None, None) => self.bones.clone(),
            (None, Some(z)) => Bones { count: self.bones.count, stride: self.bones.stride, t: self.bones.t.times(z) },
        }
    }
    pub fn selected(&self, from: &[usize]) -> Self {
        let fixed = from.iter().filter(|&&k| k < self.fixed).count();
        Self { bones: self.bones.selected(from), full: self.full.as_ref().map(|full| full.selected(from)), fixed }
    }
    pub fn with(&self, other: &Self) -> Self {
        let full = self.full.as_ref().zip(other.full.as_ref()).map(|(a, b)| Bones::joined(&[a, b]));
        Self { bones: Bones::joined(&[&self.bones, &other.bones]), full, fixed: self.fixed }
    }
    /// self + b (self − before); rotations of rigid bones are projected again.
    pub fn beyond(&self, before: &Self, b: f64, frames: &Frames, kind: BoneKind) -> Self {
        let ahead = |now: &Bones, old: &Bones| {
            let mut ahead = now.clone();
            ahead.t.values.iter_mut().zip(&old.t.values).for_each(|(x, y)| *x += b * (*x - y));
            ahead
        };
        match kind {
            BoneKind::Affine => Self { bones: ahead(&self.bones, &before.bones), full: None, fixed: self.fixed },
            _ => {
                let mut full = match (&self.full, &before.full) {
                    (Some(now), Some(old)) => ahead(now, old),
                    _ => ahead(&self.bones, &before.bones),
                };
                if kind == BoneKind::Rigid {
                    project(&mut full, self.fixed, frames);
                }
                Self { fixed: self.fixed, ..Self::from_full(full, frames, kind) }
            }
        }
    }
}

/// The best transforms for the weights of `supports`, or for rigid bones a step towards them.
pub(super) fn solve(points: &Points, frames: &Frames, supports: &[Support], last: &Motion, kind: BoneKind) -> Motion {
    let normal = Normal::of(points, supports, last.bones.count);
    match kind {
        BoneKind::Affine => Motion { bones: affine(&normal, &last.bones, None), full: None, fixed: 0 },
        BoneKind::NearRigid { stiffness } => {
            let full = last.full(frames);
            let mut targets = full.clone();
            project(&mut targets, 0, frames);
            let targets = compressed(targets, frames);
            let bones = affine(&normal, &last.bones, Some((stiffness, &targets)));
            let full =
                frames.basis.as_ref().map(|z| Bones { count: bones.count, stride: bones.stride, t: bones.t.times(z) });
            Motion { bones, full, fixed: 0 }
        }
        BoneKind::Rigid => {
            let q = expanded(&normal.q, frames);
            let mut full = last.full(frames);
            rigid_sweep(&normal.overlaps, &q, &mut full, last.fixed, frames);
            Motion { fixed: last.fixed, ..Motion::from_full(full, frames, kind) }
        }
    }
}

/// Transforms over all columns, from trajectories before compression: the last step of an affine decomposition.
pub(super) fn solve_full(
    points: &Points,
    supports: &[Support],
    last: &Bones,
    moments: Matrix,
    fixed: usize,
    frames: &Frames,
    kind: BoneKind,
) -> Bones {
    let mut normal = Normal::of(points, supports, last.count);
    normal.q = Bones { count: last.count, stride: last.stride, t: moments };
    match kind {
        BoneKind::Affine => affine(&normal, last, None),
        BoneKind::NearRigid { stiffness } => {
            let mut targets = last.clone();
            project(&mut targets, 0, frames);
            affine(&normal, last, Some((stiffness, &targets)))
        }
        BoneKind::Rigid => {
            let mut full = last.clone();
            rigid_sweep(&normal.overlaps, &normal.q, &mut full, fixed, frames);
            full
        }
    }
}

fn compressed(full: Bones, frames: &Frames) -> Bones {
    match &frames.basis {
        None => full,
        Some(z) => Bones { count: full.count, stride: full.stride, t: full.t.times_transposed(z) },
    }
}

fn expanded(bones: &Bones, frames: &Frames) -> Bones {
    match &frames.basis {
        None => bones.clone(),
        Some(z) => Bones { count: bones.count, stride: bones.stride, t: bones.t.times(z) },
    }
}

/// All bones and all frames at once: (S + D) T = Q + D T_last, one Cholesky factor. With a stiffness λ the linear part of
/// bone k is drawn to its target by λ Σ_v w_vk².
fn affine(normal: &Normal, last: &Bones, near: Option<(f64, &Bones)>) -> Bones {
    let keep = |k: usize| RIDGE.0 * normal.squares[k] + RIDGE.1;
    let pull =
        |i: usize, k: usize| near.map_or(0.0, |(stiffness, _)| if i < 3 { stiffness * normal.squares[k] } else { 0.0 });
    let s = normal.dense(|i, k| keep(k) + pull(i, k));
    let mut right = normal.q.clone();
    for k in 0..last.count {
        for i in 0..4 {
            let (keep, pull) = (keep(k), pull(i, k));
            let target = near.map(|(_, targets)| targets.row(i, k));
            for (at, (q, t)) in right.row_mut(i, k).iter_mut().zip(last.row(i, k)).enumerate() {
                *q += keep * t + target.map_or(0.0, |target| pull * target[at]);
            }
        }
    }
    // Chunks of columns share the factor; one chunk a thread is enough.
    Bones { count: last.count, stride: last.stride, t: s.solve_positive(right.t) }
}

/// λ Σ_k Σ_v w_vk² Σ_s |A_sk − R_sk|², R_sk the rotation nearest to A_sk.
pub(super) fn penalty(motion: &Motion, supports: &[Support], frames: &Frames, kind: BoneKind) -> f64 {
    let BoneKind::NearRigid { stiffness } = kind else { return 0.0 };
    let mut squares = vec![0.0; motion.bones.count];
    for support in supports {
        support.members().for_each(|(k, w)| squares[k] += w * w);
    }
    let full = motion.full(frames);
    let mut rotations = full.clone();
    project(&mut rotations, 0, frames);
    let of_bone = |k: usize| -> f64 {
        let of_row =
            |i: usize| -> f64 { full.row(i, k).iter().zip(rotations.row(i, k)).map(|(a, r)| (a - r) * (a - r)).sum() };
        (0..3).map(of_row).sum()
    };
    stiffness * (0..motion.bones.count).map(|k| squares[k] * of_bone(k)).sum::<f64>()
}

/// Replaces the linear part of every bone but the `fixed` ones by the nearest rotation in every frame, of T, not of T − T₀.
fn project(full: &mut Bones, fixed: usize, frames: &Frames) {
    let (count, stride, columns) = (full.count, full.stride, frames.columns);
    let cols = columns.count();
    let parts: Vec<Matrix> = (0..columns.groups())
        .into_par_iter()
        .map(|group| {
            let (start, lanes) = columns.group(group);
            let mut part = Matrix::zeros(3 * count, 3 * lanes);
            for k in fixed..count {
                let mut m = [[0.0; LANES]; 9];
                for i in 0..3 {
                    let (t, mean) = (&full.row(i, k)[start..], &frames.mean.row(i)[start..]);
                    for axis in 0..3 {
                        for lane in 0..lanes {
                            m[3 * axis + i][lane] = t[axis * lanes + lane] + mean[axis * lanes + lane];
                        }
                    }
                }
                simd::run(Polar { m: &mut m, lanes });
                for i in 0..3 {
                    let mean = &frames.mean.row(i)[start..];
                    for axis in 0..3 {
                        for lane in 0..lanes {
                            part.row_mut(3 * k + i)[axis * lanes + lane] =
                                m[3 * axis + i][lane] - mean[axis * lanes + lane];
                        }
                    }
                }
            }
            part
        })
        .collect();
    for (group, part) in parts.iter().enumerate() {
        let (start, lanes) = columns.group(group);
        for k in fixed..count {
            for i in 0..3 {
                let row = (i * stride + k) * cols + start;
                full.t.values[row..row + 3 * lanes].copy_from_slice(part.row(3 * k + i));
            }
        }
    }
}

/// The rotation nearest to each of eight matrices, row-major, by Newton's iteration X ← (g X + X⁻ᵀ / g) / 2 with g² =
/// |X⁻¹|/|X| (Higham 1986); what is nearly singular or a mirror image goes to [`nearest_rotation`].
struct Polar<'a> {
    m: &'a mut [[f64; LANES]; 9],
    lanes: usize,
}

impl Kernel for Polar<'_> {
    type Output = ();
    #[inline(always)]
    fn run<F: Fma>(self) {
        let given = *self.m;
        let mut hard = [false; LANES];
        let x = self.m;
        // The scaled iteration converges quadratically from the start; ten steps are ample at a condition of 1e4.
        for step in 0..10 {
            let mut change = 0.0f64;
            let mut c = [[0.0; LANES]; 9];
            for lane in 0..LANES {
                c[0][lane] = x[4][lane] * x[8][lane] - x[5][lane] * x[7][lane];
                c[1][lane] = x[5][lane] * x[6][lane] - x[3][lane] * x[8][lane];
                c[2][lane] = x[3][lane] * x[7][lane] - x[4][lane] * x[6][lane];
                c[3][lane] = x[7][lane] * x[2][lane] - x[8][lane] * x[1][lane];
                c[4][lane] = x[8][lane] * x[0][lane] - x[6][lane] * x[2][lane];
                c[5][lane] = x[6][lane] * x[1][lane] - x[7][lane] * x[0][lane];
                c[6][lane] = x[1][lane] * x[5][lane] - x[2][lane] * x[4][lane];
                c[7][lane] = x[2][lane] * x[3][lane] - x[0][lane] * x[5][lane];
                c[8][lane] = x[0][lane] * x[4][lane] - x[1][lane] * x[3][lane];
            }
            for lane in 0..LANES {
                let det = x[0][lane] * c[0][lane] + x[1][lane] * c[1][lane] + x[2][lane] * c[2][lane];
                let size: f64 = (0..9).map(|e| x[e][lane] * x[e][lane]).sum();
                let inverse: f64 = (0..9).map(|e| c[e][lane] * c[e][lane]).sum();
                if step == 0 {
                    hard[lane] = det.is_nan() || det <= 1e-4 * size * size.sqrt();
                }
                let safe = if hard[lane] { 1.0 } else { det };
                let g = if hard[lane] { 1.0 } else { (inverse.sqrt() / (safe * size.sqrt())).sqrt() };
                let (near, far) = (0.5 * g, 0.5 / (g * safe));
                for e in 0..9 {
                    let next = if hard[lane] { x[e][lane] } else { near * x[e][lane] + far * c[e][lane] };
                    change = change.max((next - x[e][lane]).abs());
                    x[e][lane] = next;
                }
            }
            if change < 1e-8 {
                // Convergence is quadratic: the next step would change nothing that doubles hold.
                break;
            }
        }
        for lane in (0..self.lanes).filter(|&lane| hard[lane]) {
            let at = |row: usize, col: usize| given[3 * row + col][lane];
            let m = DMat3::from_cols(
                DVec3::new(at(0, 0), at(1, 0), at(2, 0)),
                DVec3::new(at(0, 1), at(1, 1), at(2, 1)),
                DVec3::new(at(0, 2), at(1, 2), at(2, 2)),
            );
            let r = nearest_rotation(&m);
            (0..3).for_each(|row| (0..3).for_each(|col| x[3 * row + col][lane] = r.col(col)[row]));
        }
    }
}

/// One Gauss-Seidel sweep over the bones in every frame: bone k is the best rigid motion while the others stay.
///
/// With b = Q_k − Σ_{l≠k} S_kl T_l, S_kk = [[A, a], [aᵀ, s]] and b = [C; cᵀ], R maximises tr(R (C − a cᵀ / s)) and
/// t = (c − R a) / s. Bones without weight stay, and so do the `fixed` ones.
fn rigid_sweep(overlaps: &[Overlaps], q: &Bones, full: &mut Bones, fixed: usize, frames: &Frames) {
    let (count, stride, columns) = (full.count, full.stride, frames.columns);
    let cols = columns.count();
    let parts: Vec<Matrix> = (0..columns.groups())
        .into_par_iter()
        .map(|group| {
            let (start, lanes) = columns.group(group);
            let mut t = Matrix::zeros(4 * count, 3 * lanes);
            for k in 0..count {
                for i in 0..4 {
                    t.row_mut(4 * k + i).copy_from_slice(&full.row(i, k)[start..start + 3 * lanes]);
                }
            }
            simd::run(Sweep { overlaps, q, t: &mut t, fixed, mean: &frames.mean, start, lanes });
            t
        })
        .collect();
    for (group, part) in parts.iter().enumerate() {
        let (start, lanes) = columns.group(group);
        for k in 0..count {
            for i in 0..4 {
                let row = (i * stride + k) * cols + start;
                full.t.values[row..row + 3 * lanes].copy_from_slice(part.row(4 * k + i));
            }
        }
    }
}

struct Sweep<'a> {
    overlaps: &'a [Overlaps],
    q: &'a Bones,
    /// Row 4k + i is coordinate i of bone k, the columns of the group.
    t: &'a mut Matrix,
    /// Bones before stay.
    fixed: usize,
    mean: &'a Matrix,
    start: usize,
    lanes: usize,
}

impl Kernel for Sweep<'_> {
    type Output = ();
    #[inline(always)]
    fn run<F: Fma>(self) {
        const WIDE: usize = 3 * LANES;
        let wide = 3 * self.lanes;
        for (k, overlaps) in self.overlaps.iter().enumerate().skip(self.fixed) {
            let mut b = [[0.0; WIDE]; 4];
            for i in 0..4 {
                b[i][..wide].copy_from_slice(&self.q.row(i, k)[self.start..self.start + wide]);
            }
            let mut own = [0.0; MONOMIALS];
            for (l, table) in overlaps {
                if *l == k {
                    own = *table;
                    continue;
                }
                let t: [&[f64]; 4] = std::array::from_fn(|j| self.t.row(4 * l + j));
                let s = square(table);
                for i in 0..4 {
                    let b = &mut b[i][..wide];
                    for at in 0..wide {
                        b[at] -= s[i][0] * t[0][at] + s[i][1] * t[1][at] + s[i][2] * t[2][at] + s[i][3] * t[3][at];
                    }
                }
            }
            if own[9] <= 1e-14 {
                continue;
            }
            let s = square(&own);
            let mean: [&[f64]; 4] = std::array::from_fn(|j| &self.mean.row(j)[self.start..self.start + wide]);
            for i in 0..4 {
                for at in 0..wide {
                    b[i][at] +=
                        s[i][0] * mean[0][at] + s[i][1] * mean[1][at] + s[i][2] * mean[2][at] + s[i][3] * mean[3][at];
                }
            }
            // m[3·axis + i] = (C − a cᵀ/s)ᵀ: the rotation nearest to it maximises the trace.
            let mut m = [[0.0; LANES]; 9];
            for axis in 0..3 {
                for i in 0..3 {
                    let share = s[i][3] / s[3][3];
                    for lane in 0..self.lanes {
                        m[3 * axis + i][lane] = b[i][axis * self.lanes + lane] - share * b[3][axis * self.lanes + lane];
                    }
                }
            }
            Polar { m: &mut m, lanes: self.lanes }.run::<F>();
            for axis in 0..3 {
                for lane in 0..self.lanes {
                    let at = axis * self.lanes + lane;
                    let mut moved = b[3][at];
                    for i in 0..3 {
                        moved -= m[3 * axis + i][lane] * s[i][3];
                        self.t.row_mut(4 * k + i)[at] = m[3 * axis + i][lane] - mean[i][at];
                    }
                    self.t.row_mut(4 * k + 3)[at] = moved / s[3][3] - mean[3][at];
                }
            }
        }
    }
}

/// The symmetric matrix of ten monomials.
#[inline(always)]
fn square(table: &[f64; MONOMIALS]) -> [[f64; 4]; 4] {
    let mut s = [[0.0; 4]; 4];
    for (m, &(i, j)) in PAIRS.iter().enumerate() {
        (s[i][j], s[j][i]) = (table[m], table[m]);
    }
    s
}

/// The transforms of one new bone that fits a few weighted points: S = Σ p̃p̃ᵀ, Q = Σ p̃ x over compressed columns.
///
/// Rigid, or for the other kinds affine with a ridge towards the rigid one, so that a flat patch has an answer.
pub(super) fn fit_patch(s: &[f64; MONOMIALS], q: &Matrix, frames: &Frames, kind: BoneKind) -> Motion {
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
    let groups = columns.groups();
    for group in 0..groups {
        let (start, lanes) = columns.group(group);
        let mut t = Matrix::zeros(4, 3 * lanes);
        simd::run(Sweep { overlaps: &overlaps, q: &wide, t: &mut t, fixed: 0, mean: &frames.mean, start, lanes });
        for i in 0..4 {
            full.row_mut(i, 0)[start..start + 3 * lanes].copy_from_slice(t.row(i));
        }
    }
    if kind == BoneKind::Rigid || s[9] <= 1e-14 {
        return Motion::from_full(full, frames, kind);
    }
    // About the patch's middle m: (A + ρ I) (L − R) = C − A R, all over compressed columns; the translation follows.
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

/// The linear part and translation of every bone in one frame.
pub(super) fn frame_transforms(full: &Bones, frames: &Frames, frame: usize) -> Vec<(DMat3, DVec3)> {
    let at = |i: usize, k: usize, axis: usize| {
        let col = frames.columns.at(frame, axis);
        full.row(i, k)[col] + frames.mean.row(i)[col]
    };
    (0..full.count)
        .map(|k| {
            let column = |i: usize| DVec3::new(at(i, k, 0), at(i, k, 1), at(i, k, 2));
            (DMat3::from_cols(column(0), column(1), column(2)), column(3))
        })
        .collect()
}

/// Transforms given by the caller, over all columns.
pub(super) fn given(poses: &[Vec<(DMat3, DVec3)>], frames: &Frames) -> Bones {
    let mut full = Bones::zeros(poses.first().map_or(0, Vec::len), frames.columns.count());
    for (frame, pose) in poses.iter().enumerate() {
        for (k, (a, t)) in pose.iter().enumerate() {
            for axis in 0..3 {
                let col = frames.columns.at(frame, axis);
                for i in 0..4 {
                    let value = if i < 3 { a.col(i)[axis] } else { t[axis] };
                    full.row_mut(i, k)[col] = value - frames.mean.row(i)[col];
                }
            }
        }
    }
    full
}

/// y = Σ_k w_k p̃ T_k of one vertex.
pub(super) fn blended(p: &[f64; 4], support: &Support, bones: &Bones, y: &mut [f64]) {
    y.fill(0.0);
    for (k, w) in support.members() {
        let c = p.map(|p| w * p);
        let rows: [&[f64]; 4] = std::array::from_fn(|i| bones.row(i, k));
        for at in 0..y.len() {
            y[at] += c[0] * rows[0][at] + c[1] * rows[1][at] + c[2] * rows[2][at] + c[3] * rows[3][at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sequence;
    use super::super::problem::Problem;
    use super::super::search::Search;
    use super::*;
    use crate::random::Random;
    use crate::training::{Ticker, silent};
    use dermis_rig::rotation::from_rotation_vector;

    fn vector(random: &mut Random) -> DVec3 {
        DVec3::new(random.unit() - 0.5, random.unit() - 0.5, random.unit() - 0.5)
    }

    struct Planted {
        rest: Vec<DVec3>,
        frames: Vec<Vec<DVec3>>,
        supports: Vec<Support>,
    }

    /// Random points, random supports, frames of noise about a turning cloud.
    fn planted(frames: usize) -> Planted {
        let mut random = Random::new(3);
        let rest: Vec<DVec3> = (0..60).map(|_| vector(&mut random)).collect();
        let frames = (0..frames)
            .map(|s| {
                let r = DMat3::from_quat(from_rotation_vector(0.1 * s as f64 * DVec3::new(0.3, 1.0, -0.4)));
                rest.iter().map(|&p| r * p + DVec3::X * s as f64 + 0.3 * vector(&mut random)).collect()
            })
            .collect();
        let supports = (0..rest.len())
            .map(|v| {
                let mut support = Support::single(v % 4);
                (support.bones[1], support.bones[2]) = (((v + 1) % 4) as u32, ((v + 2) % 4) as u32);
                support.n = 3;
                (0..3).for_each(|a| support.weights[a] = 0.1 + random.unit());
                support.normalise();
                support
            })
            .collect();
        Planted { rest, frames, supports }
    }

    /// E from the vertices, in the solver's units.
    fn energy(problem: &Problem, planted: &Planted, full: &Bones) -> f64 {
        let mut sum = 0.0;
        for (frame, x) in planted.frames.iter().enumerate() {
            let moved = frame_transforms(full, &problem.frames, frame);
            for (v, support) in planted.supports.iter().enumerate() {
                let posed: DVec3 = support
                    .members()
                    .map(|(k, w)| w * problem.units.transform(moved[k].0, moved[k].1).transform_point3(planted.rest[v]))
                    .sum();
                sum += (x[v] - posed).length_squared() / problem.units.length.powi(2);
            }
        }
        sum
    }

    fn with_problem(frames: usize, check: impl Fn(&Problem, &Planted)) {
        let planted = planted(frames);
        let shapes: Vec<&[DVec3]> = planted.frames.iter().map(Vec::as_slice).collect();
        let problem = Problem::new(Sequence { rest: &planted.rest, frames: &shapes }, 4, 1);
        check(&problem, &planted);
    }

    #[test]
    fn the_energy_of_gram_matrices_is_that_of_the_vertices() {
        // 11 frames fill no group of eight; 60 are compressed, to as many columns as there are vertices: exactly.
        for frames in [11, 60] {
            with_problem(frames, |problem, planted| {
                let kind = BoneKind::Rigid;
                let ticker = Ticker::new(1, &silent);
                let still = Motion::still(4, &problem.frames, kind);
                let motion = solve(&problem.points, &problem.frames, &planted.supports, &still, kind);
                let mut search =
                    Search::from(&problem.points, &problem.frames, kind, 4, motion, planted.supports.clone(), &ticker);
                search.improve(search.pass(2, true));
                let improved = Planted {
                    supports: search.supports.clone(),
                    rest: planted.rest.clone(),
                    frames: planted.frames.clone(),
                };
                let direct = energy(problem, &improved, &search.motion.full(&problem.frames));
                assert!((search.energy - direct).abs() < 1e-9 * direct, "{} against {direct}", search.energy);
            });
        }
    }

    #[test]
    fn no_small_change_of_affine_bones_lowers_the_energy() {
        with_problem(5, |problem, planted| {
            let still = Motion::still(4, &problem.frames, BoneKind::Affine);
            let mut motion = still;
            // The ridge towards the last transforms vanishes as they settle.
            for _ in 0..4 {
                motion = solve(&problem.points, &problem.frames, &planted.supports, &motion, BoneKind::Affine);
            }
            let full = motion.full(&problem.frames);
            let least = energy(problem, planted, &full);
            let mut random = Random::new(8);
            for _ in 0..50 {
                let mut other = full.clone();
                let at = random.below(4);
                let k = random.below(4);
                let col = random.below(problem.frames.columns.count());
                other.row_mut(at, k)[col] += 1e-4 * (random.unit() - 0.5);
                assert!(energy(problem, planted, &other) >= least - 1e-12);
            }
        });
    }

    /// Oracle: methods of Le and Deng 2012, equation 7 to 10, vertex by vertex: p* = Σ w² p / Σ w², q* = Σ w q / Σ w²,
    /// H = Σ w (p − p*)(q − w q*)ᵀ, R = V Uᵀ, t = q* − R p*.
    #[test]
    fn a_rigid_sweep_is_the_procrustes_update_of_each_bone_in_turn() {
        with_problem(9, |problem, planted| {
            let kind = BoneKind::Rigid;
            let mut motion = Motion::still(4, &problem.frames, kind);
            motion = solve(&problem.points, &problem.frames, &planted.supports, &motion, kind);
            let swept = solve(&problem.points, &problem.frames, &planted.supports, &motion, kind).full(&problem.frames);
            let start = motion.full(&problem.frames);
            for frame in 0..9 {
                let place = |(a, t): &(DMat3, DVec3)| problem.units.transform(*a, *t);
                let mut bones: Vec<_> = frame_transforms(&start, &problem.frames, frame).iter().map(place).collect();
                for k in 0..4 {
                    let (mut p, mut q, mut size) = (DVec3::ZERO, DVec3::ZERO, 0.0);
                    let mut rows = vec![];
                    for (v, support) in planted.supports.iter().enumerate() {
                        let Some((_, w)) = support.members().find(|&(b, _)| b == k) else { continue };
                        let others: DVec3 = support
                            .members()
                            .filter(|&(b, _)| b != k)
                            .map(|(b, u)| u * bones[b].transform_point3(planted.rest[v]))
                            .sum();
                        let left = planted.frames[frame][v] - others;
                        (p, q, size) = (p + w * w * planted.rest[v], q + w * left, size + w * w);
                        rows.push((planted.rest[v], left, w));
                    }
                    let (p, q) = (p / size, q / size);
                    let mut h = DMat3::ZERO;
                    for (rest, left, w) in rows {
                        let (a, b) = (rest - p, left - w * q);
                        h += w * DMat3::from_cols(b * a.x, b * a.y, b * a.z);
                    }
                    let r = nearest_rotation(&h);
                    bones[k] = dermis_rig::glam::DAffine3 { matrix3: r, translation: q - r * p };
                }
                for (k, got) in frame_transforms(&swept, &problem.frames, frame).iter().map(place).enumerate() {
                    assert!(got.abs_diff_eq(bones[k], 1e-9), "frame {frame}, bone {k}");
                }
            }
        });
    }

    #[test]
    fn eight_rotations_at_once_are_the_nearest_ones() {
        let mut random = Random::new(4);
        for _ in 0..200 {
            let given: [DMat3; LANES] = std::array::from_fn(|_| {
                DMat3::from_cols(vector(&mut random), vector(&mut random), vector(&mut random))
            });
            let mut m = [[0.0; LANES]; 9];
            for lane in 0..LANES {
                (0..9).for_each(|e| m[e][lane] = given[lane].col(e % 3)[e / 3]);
            }
            Polar { m: &mut m, lanes: LANES }.run::<simd::Apart>();
            for lane in 0..LANES {
                let r = nearest_rotation(&given[lane]);
                (0..9).for_each(|e| assert!((m[e][lane] - r.col(e % 3)[e / 3]).abs() < 1e-9));
            }
        }
    }
}
