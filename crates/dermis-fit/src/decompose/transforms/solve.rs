//! Transforms on fixed weights: block descent over all bones and all frames, from S and Q.
//!
//! Affine bones are solved together, with one Cholesky factor for all frames. Rigid bones are swept one after another.

use super::motion::{Motion, Wide, compressed, expanded};
use super::normal::{Normal, Overlaps, square};
use super::rotations::{Eight, project, to_rotations};
use crate::decompose::BoneKind;
use crate::decompose::gram::Bones;
use crate::decompose::matrix::Matrix;
use crate::decompose::problem::{Frames, LANES, Points};
use crate::decompose::weights::Support;
use dermis_solve::simd::{self, Simd, WithSimd};
use rayon::prelude::*;

/// The ridge towards the last transforms: relative to a bone's Σ w², and for a bone without vertices. What no vertex
/// determines stays where it was.
const RIDGE: (f64, f64) = (1e-7, 1e-9);

/// Returns the best transforms for the weights of `supports`; for rigid bones, one sweep towards them.
pub fn solve(points: &Points, frames: &Frames, supports: &[Support], last: &Motion, kind: BoneKind) -> Motion {
    solve_wide(points, frames, supports, last, kind).motion(frames, kind)
}

/// As [`solve()`], without the columns that only weights need.
pub fn solve_wide(points: &Points, frames: &Frames, supports: &[Support], last: &Motion, kind: BoneKind) -> Wide {
    let normal = Normal::of(points, supports, last.bones.count);
    let t = match kind {
        BoneKind::Affine => affine(&normal, &last.bones, None),
        BoneKind::NearRigid { stiffness } => {
            let mut targets = last.full(frames);
            project(&mut targets, 0, frames);
            let bones = affine(&normal, &last.bones, Some((stiffness, &compressed(targets, frames))));
            expanded(&bones, frames)
        }
        BoneKind::Rigid => {
            let q = expanded(&normal.q, frames);
            let mut full = last.full(frames);
            rigid_sweep(&normal.overlaps, &q, &mut full, last.fixed, frames);
            full
        }
    };
    Wide { t, fixed: last.fixed }
}

/// Returns transforms over all columns, from the moments Q of the trajectories before compression: the last step of a
/// decomposition.
pub fn solve_full(
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

/// Solves (S + D) T = Q + D T_last for all bones and all frames, with one Cholesky factor.
///
/// `near` holds a stiffness λ and targets: the linear part of bone k is drawn to its target by λ Σ_v w_vk².
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

/// Returns λ Σ_k Σ_v w_vk² Σ_s |A_sk − R_sk|², with R_sk the rotation nearest to A_sk.
pub fn penalty(motion: &Motion, supports: &[Support], frames: &Frames, kind: BoneKind) -> f64 {
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

/// One Gauss-Seidel sweep over the bones in every frame: each bone moves to its best rigid motion while the others stay.
///
/// With b = Q_k − Σ_{l≠k} S_kl T_l, S_kk = [[A, a], [aᵀ, s]] and b = [C; cᵀ], R maximises tr(R (C − a cᵀ / s)) and
/// t = (c − R a) / s. Bones without weight stay, and so do the first `fixed` ones.
///
/// Source: Le and Deng 2012, equations 7 to 10, with the sums over vertices taken once, in S and Q.
pub fn rigid_sweep(overlaps: &[Overlaps], q: &Bones, full: &mut Bones, fixed: usize, frames: &Frames) {
    let (count, columns) = (full.count, frames.columns);
    let tables: Vec<Vec<(usize, [[f64; 4]; 4])>> =
        overlaps.iter().map(|overlaps| overlaps.iter().map(|(l, table)| (*l, square(table))).collect()).collect();
    let parts: Vec<Vec<[Row; 4]>> = (0..columns.groups())
        .into_par_iter()
        .map(|group| {
            let (start, lanes) = columns.group(group);
            let mut t = vec![[Row::ZERO; 4]; count];
            for (k, rows) in t.iter_mut().enumerate() {
                (0..4).for_each(|i| rows[i].spread(full.row(i, k), start, lanes));
            }
            let mut mean = [Row::ZERO; 4];
            (0..4).for_each(|i| mean[i].spread(frames.mean.row(i), start, lanes));
            simd::run_with(Sweep { tables: &tables, q, t: &mut t, fixed, mean, start, lanes });
            t
        })
        .collect();
    for (group, part) in parts.iter().enumerate() {
        let (start, lanes) = columns.group(group);
        for (k, rows) in part.iter().enumerate().skip(fixed) {
            (0..4).for_each(|i| rows[i].gather(full.row_mut(i, k), start, lanes));
        }
    }
}

/// The columns of a full group of frames.
const WIDE: usize = 3 * LANES;

/// One coordinate of a bone over the columns of a group: three axes of [`LANES`] frames, those beyond the last one zero.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Row([f64; WIDE]);

impl Row {
    const ZERO: Self = Self([0.0; WIDE]);

    /// Takes a row of a group, spread so that every axis has [`LANES`] places.
    #[inline(always)]
    fn spread(&mut self, row: &[f64], start: usize, lanes: usize) {
        for axis in 0..3 {
            self.0[axis * LANES..axis * LANES + lanes].copy_from_slice(&row[start + axis * lanes..][..lanes]);
        }
    }

    /// Puts a row of a group back.
    fn gather(&self, row: &mut [f64], start: usize, lanes: usize) {
        for axis in 0..3 {
            row[start + axis * lanes..][..lanes].copy_from_slice(&self.0[axis * LANES..axis * LANES + lanes]);
        }
    }

    /// The numbers as vectors.
    #[inline(always)]
    fn vectors<S: Simd>(&self) -> &[S::f64s] {
        S::as_simd_f64s(&self.0).0
    }
}

/// The sweep of one group of frames.
struct Sweep<'a> {
    /// Every bone that overlaps with a bone, and the 4 × 4 matrix of the two.
    tables: &'a [Vec<(usize, [[f64; 4]; 4])>],
    q: &'a Bones,
    t: &'a mut [[Row; 4]],
    /// The first `fixed` bones stay.
    fixed: usize,
    mean: [Row; 4],
    start: usize,
    lanes: usize,
}

impl WithSimd for Sweep<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (k, tables) in self.tables.iter().enumerate().skip(self.fixed) {
            let Some((_, own)) = tables.iter().find(|(l, _)| *l == k).filter(|(_, own)| own[3][3] > 1e-14) else {
                continue;
            };
            let (mut b, mut m) = ([Row::ZERO; 4], Eight::ZERO);
            for i in 0..4 {
                b[i].spread(self.q.row(i, k), self.start, self.lanes);
            }
            let vectors = WIDE / S::F64_LANES;
            for first in (0..vectors).step_by(3) {
                let mut sum = [[simd.splat_f64s(0.0); 3]; 4];
                for i in 0..4 {
                    for u in 0..3 {
                        sum[i][u] = b[i].vectors::<S>()[first + u];
                    }
                }
                for (l, s) in tables {
                    if *l != k {
                        add(simd, &mut sum, s, -1.0, &self.t[*l], first);
                    }
                }
                add(simd, &mut sum, own, 1.0, &self.mean, first);
                for i in 0..4 {
                    let b = S::as_mut_simd_f64s(&mut b[i].0).0;
                    b[first..first + 3].copy_from_slice(&sum[i]);
                }
            }
            // m[3·axis + i] = (C − a cᵀ/s)ᵀ: the rotation nearest to it maximises the trace.
            for i in 0..3 {
                let share = own[i][3] / own[3][3];
                for axis in 0..3 {
                    for lane in 0..LANES {
                        m.0[3 * axis + i][lane] = b[i].0[axis * LANES + lane] - share * b[3].0[axis * LANES + lane];
                    }
                }
            }
            to_rotations(simd, &mut m, self.lanes);
            let t = &mut self.t[k];
            for axis in 0..3 {
                for lane in 0..LANES {
                    let at = axis * LANES + lane;
                    let mut moved = b[3].0[at];
                    for i in 0..3 {
                        moved -= m.0[3 * axis + i][lane] * own[i][3];
                        t[i].0[at] = m.0[3 * axis + i][lane] - self.mean[i].0[at];
                    }
                    t[3].0[at] = moved / own[3][3] - self.mean[3].0[at];
                }
            }
        }
    }
}

/// sum ← sum + sign S t, in three vectors of a row from `first` on.
#[inline(always)]
fn add<S: Simd>(simd: S, sum: &mut [[S::f64s; 3]; 4], s: &[[f64; 4]; 4], sign: f64, t: &[Row; 4], first: usize) {
    for j in 0..4 {
        let t = &t[j].vectors::<S>()[first..first + 3];
        for i in 0..4 {
            let s = simd.splat_f64s(sign * s[i][j]);
            for u in 0..3 {
                sum[i][u] = simd.mul_add_e_f64s(s, t[u], sum[i][u]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::motion::frame_transforms;
    use super::*;
    use crate::decompose::Sequence;
    use crate::decompose::problem::Problem;
    use crate::decompose::search::Search;
    use crate::training::{Ticker, silent};
    use dermis_rig::glam::{DMat3, DVec3};
    use dermis_rig::rotation::{from_rotation_vector, nearest_rotation};
    use dermis_solve::Random;

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
        let mut random = Random::seeded(3);
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
        let problem = Problem::new(Sequence { rest: &planted.rest, frames: &shapes, triangles: &[] }, 4, 1);
        check(&problem, &planted);
    }

    #[test]
    fn the_energy_of_gram_matrices_equals_the_sum_over_vertices() {
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
            let mut random = Random::seeded(8);
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

    /// Oracle: Le and Deng 2012, equations 7 to 10, vertex by vertex: p* = Σ w² p / Σ w², q* = Σ w q / Σ w²,
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
}
