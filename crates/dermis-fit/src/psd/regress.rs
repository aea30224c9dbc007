//! Regression over pose space: kernels, their choice by leave-one-out, and the answers of all groups in one correction.

use super::displacements::Displacements;
use super::space::{Group, Space, Squares};
use super::{CANCELLATION, PsdPoint, PsdSettings, SCORED};
use crate::training::{FitError, Ticker, filled, of_table};
use dermis_deform::pose_space::{Carrier, Family, Kernel, NO_GROUP, PoseSpace, Remainders};
use dermis_rig::VertexIndex;
use dermis_rig::glam::DVec3;
use dermis_solve::faer::{Mat, Scale};
use dermis_solve::{Folds, Interpolation, SolveError, pseudo_inverse};
use rayon::prelude::*;

/// Singular values of the coordinates below this fraction of the largest count as zero.
pub(super) const CUT: f64 = 1e-10;
/// Weight of the linear term's kernel where leave-one-out judges it, relative to the mean square of the coordinates.
const WIDE: f64 = 1e3;
/// Smoothing of pose blend shapes that is tried beyond the grid, factors of its largest value: coordinates are not
/// bounded by one, as kernels are.
const BEYOND: [f64; 2] = [10.0, 100.0];

/// Share of the score by which points of the sweep must differ before it says anything.
const SAYS_NOTHING: f64 = 1e-9;

/// Vertices at which pose spaces are compared, at most.
const MOST_VALIDATED: usize = 1500;

/// What displacements are linear in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Regressor {
    /// Kernels of the whole pose space, after the coordinates themselves if there is a linear term.
    Kernels { family: Family, linear: bool },
    /// A Gaussian per joint, summed: Σ_j a_j k_j(x_j, y_j).
    Additive,
    /// The coordinates √a x.
    Coordinates,
}

/// Weights of a group.
pub(super) struct Solved {
    /// Values of the group × 3·vertices.
    pub weights: Mat<f64>,
    /// The same for the vertices with a remainder: their place among the remainders, and values × 3.
    pub remainders: Vec<(usize, Mat<f64>)>,
    pub raised: bool,
    pub reciprocal_condition: f64,
}

impl Regressor {
    pub fn family(self) -> Family {
        match self {
            Self::Kernels { family, .. } => family,
            Self::Additive | Self::Coordinates => Family::Gaussian,
        }
    }

    fn linear(self) -> bool {
        matches!(self, Self::Kernels { linear: true, .. } | Self::Coordinates)
    }
}

/// K between the examples of a group; `x` are their coordinates, for those that read them.
pub(super) fn gram(regressor: Regressor, squares: &Squares, x: &Mat<f64>, sigma: f64) -> Mat<f64> {
    let scale = 1.0 / (sigma * sigma);
    let n = squares.joints.first().map_or(0, |(_, to_rest, _)| to_rest.nrows());
    match regressor {
        Regressor::Coordinates => x * x.transpose(),
        Regressor::Kernels { family, .. } => {
            let joints = || squares.joints.iter();
            let at_rest: Vec<f64> =
                (0..n).map(|i| family.phi(joints().map(|(a, _, rest)| a * rest[i] * scale))).collect();
            Mat::from_fn(n, n, |i, k| {
                let between = family.phi(joints().map(|(a, squares, _)| a * squares[(i, k)] * scale));
                family.conditioned(between, at_rest[i], at_rest[k])
            })
        }
        Regressor::Additive => {
            let phi = |square: f64| (-square * scale).exp();
            Mat::from_fn(n, n, |i, k| {
                let of = |(a, squares, rest): &(f64, Mat<f64>, Vec<f64>)| {
                    a * Family::Gaussian.conditioned(phi(squares[(i, k)]), phi(rest[i]), phi(rest[k]))
                };
                squares.joints.iter().map(of).sum()
            })
        }
    }
}

/// The σ and ρ to try.
pub(super) fn tried(settings: &PsdSettings, regressor: Regressor, spacing: f64) -> (Vec<f64>, Vec<f64>) {
    let widths: Vec<f64> = match (settings.sigma, regressor) {
        (Some(sigma), _) => vec![sigma],
        // Without a width: a scale that leaves kernel values near one.
        (None, Regressor::Coordinates | Regressor::Kernels { family: Family::Polyharmonic, .. }) => vec![spacing],
        // (1 − r)⁷ (7 r + 1) ≈ exp(−28 r²).
        (None, Regressor::Kernels { family: Family::Wendland, .. }) => {
            settings.widths.iter().map(|width| width * spacing * 28f64.sqrt()).collect()
        }
        (None, _) => settings.widths.iter().map(|width| width * spacing).collect(),
    };
    let mut grid = settings.smoothing.map_or_else(|| settings.grid.clone(), |rho| vec![rho]);
    if regressor == Regressor::Coordinates && settings.smoothing.is_none() {
        let last = grid[grid.len() - 1];
        grid.extend(BEYOND.map(|factor| factor * last));
    }
    (widths, grid)
}

/// How well the examples are predicted from each other in these pose spaces: the sum of squared held-out residuals over
/// every `stride`-th vertex and all examples, at the best of a coarse grid of σ and ρ.
///
/// Unlike the scores of [`choose`] it can be compared between pose spaces: it counts, too, what no group explains, where
/// examples are merged or no joint that counts has moved.
pub(super) fn validated(
    space: &Space<'_>,
    regressor: Regressor,
    groups: &[Group],
    asked: &Displacements,
    settings: &PsdSettings,
    stride: usize,
) -> Result<f64, FitError> {
    let thin = |list: &[f64]| list.iter().copied().step_by(3).collect::<Vec<_>>();
    let coarse = PsdSettings { widths: thin(&settings.widths), grid: thin(&settings.grid), ..settings.clone() };
    let (widths, grid) = tried(&coarse, regressor, space.spacing(groups));
    let mut grouped = vec![false; space.training.rest.len()];
    groups.iter().flat_map(|g| &g.vertices).for_each(|&v| grouped[v as usize] = true);
    let of = |v: usize, s: u32| asked.all[s as usize][v];
    let all = || 0..asked.all.len() as u32;
    let length = |d: DVec3| if d.is_nan() { 0.0 } else { d.length_squared() };
    let apart: f64 = (0..grouped.len())
        .step_by(stride)
        .filter(|&v| !grouped[v])
        .map(|v| all().map(|s| length(of(v, s))).sum::<f64>())
        .sum();
    let parts = groups
        .par_iter()
        .map(|group| {
            let vertices: Vec<u32> =
                group.vertices.iter().copied().filter(|v| (*v as usize).is_multiple_of(stride)).collect();
            let part = Group { vertices, ..group.clone() };
            if part.vertices.is_empty() {
                return Ok(None);
            }
            let mut sums = scores(space, regressor, &part, asked, &widths, &grid, settings.folds)?;
            let y = space.targets(&part, &asked.all);
            let mut row_of = vec![None; asked.all.len()];
            part.merged
                .iter()
                .enumerate()
                .for_each(|(row, list)| list.iter().for_each(|&s| row_of[s as usize] = Some(row)));
            let mut unexplained = 0.0;
            for (at, &v) in part.vertices.iter().enumerate() {
                for s in all() {
                    let mean = row_of[s as usize].map_or(DVec3::ZERO, |row| {
                        DVec3::new(y[(row, 3 * at)], y[(row, 3 * at + 1)], y[(row, 3 * at + 2)])
                    });
                    unexplained += length(of(v as usize, s) - mean);
                }
            }
            sums.iter_mut().for_each(|sum| *sum += unexplained);
            Ok(Some(sums))
        })
        .collect::<Result<Vec<_>, FitError>>()?;
    let total = |i: usize| parts.iter().flatten().map(|part| part[i]).sum::<f64>();
    let least = (0..widths.len() * grid.len()).map(total).fold(f64::INFINITY, f64::min);
    Ok(apart + if least.is_finite() { least } else { f64::MAX })
}

/// A stride over vertices that keeps [`validated`] short.
pub(super) fn stride(groups: &[Group], vertices: usize) -> usize {
    let work = |stride: usize| -> f64 {
        let looked_at = groups.iter().filter(|g| g.vertices.iter().any(|v| (*v as usize).is_multiple_of(stride)));
        looked_at.map(|g| (g.centres.len() as f64).powi(3)).sum()
    };
    let mut stride = vertices.div_ceil(MOST_VALIDATED).max(1);
    while stride < vertices && work(stride) > SCORED {
        stride *= 2;
    }
    stride
}

/// σ and ρ, as [`choose`] finds them.
pub(super) struct Choice {
    pub sigma: f64,
    pub smoothing: f64,
    /// The sweep, σ after σ; empty if there was nothing to choose.
    pub sweep: Vec<PsdPoint>,
    /// Vertices it looked at.
    pub scored: usize,
}

impl Choice {
    /// The least score of the sweep; infinite without one.
    pub fn score(&self) -> f64 {
        self.sweep.iter().map(|p| p.score).filter(|score| score.is_finite()).fold(f64::INFINITY, f64::min)
    }
}

/// Chooses σ and ρ together by leave-one-out.
pub(super) fn choose(
    space: &Space<'_>,
    regressor: Regressor,
    groups: &[Group],
    asked: &Displacements,
    settings: &PsdSettings,
    spacing: f64,
    ticker: &Ticker<'_>,
) -> Result<Choice, FitError> {
    let (widths, grid) = tried(settings, regressor, spacing);
    if widths.len() * grid.len() == 1 {
        return Ok(Choice { sigma: widths[0], smoothing: grid[0], sweep: Vec::new(), scored: 0 });
    }
    let work: f64 = groups.iter().map(|g| (g.centres.len() as f64).powi(3)).sum();
    let stride = ((work / SCORED).ceil() as usize).clamp(1, groups.len().div_ceil(32).max(1));
    let looked_at: Vec<&Group> = groups.iter().step_by(stride).collect();
    let parts = looked_at
        .par_iter()
        .map(|group| {
            ticker.tick(0)?;
            let sums = scores(space, regressor, group, asked, &widths, &grid, settings.folds)?;
            ticker.tick((group.vertices.len() * stride) as u64)?;
            Ok(sums)
        })
        .collect::<Result<Vec<_>, FitError>>()?;
    let scored: usize = looked_at.iter().map(|g| g.vertices.len()).sum();
    let held_out: usize = looked_at.iter().map(|g| g.vertices.len() * g.centres.len()).sum();
    let mut sweep = Vec::with_capacity(widths.len() * grid.len());
    for (i, &sigma) in widths.iter().enumerate() {
        for (j, &smoothing) in grid.iter().enumerate() {
            let score: f64 = parts.iter().map(|part| part[i * grid.len() + j]).sum();
            sweep.push(PsdPoint { sigma, smoothing, validated: (score / held_out.max(1) as f64).sqrt(), score });
        }
    }
    let best = best_of(&sweep, spacing);
    Ok(Choice { sigma: best.sigma, smoothing: best.smoothing, sweep, scored })
}

/// The point of a sweep with the least score; among points that say nothing, a kernel that reaches twice as far as examples lie
/// apart.
///
/// # Panics
/// If the sweep is empty.
pub(super) fn best_of(sweep: &[PsdPoint], spacing: f64) -> PsdPoint {
    let finite = || sweep.iter().filter(|p| p.score.is_finite());
    let (least, most) = finite().fold((f64::INFINITY, 0.0), |(l, m), p| (p.score.min(l), p.score.max(m)));
    let best = if most - least <= SAYS_NOTHING * most {
        // No example tells of what another one does: they are met, and felt about as far as they lie apart.
        let far = |p: &&PsdPoint| (p.sigma / (2.0 * spacing)).ln().abs();
        finite().min_by(|a, b| far(a).total_cmp(&far(b)).then(a.smoothing.total_cmp(&b.smoothing)))
    } else {
        // Of equals the smoother, wider kernel.
        finite().reduce(|best, p| if p.score <= best.score { p } else { best })
    };
    *best.unwrap_or(&sweep[sweep.len() - 1])
}

/// Sums of squared held-out residuals of a group, ρ after ρ for each σ; infinite where the system cannot be solved.
fn scores(
    space: &Space<'_>,
    regressor: Regressor,
    group: &Group,
    asked: &Displacements,
    widths: &[f64],
    grid: &[f64],
    folds: Folds,
) -> Result<Vec<f64>, FitError> {
    let y = space.targets(group, &asked.all);
    let squares = space.squares(&group.relevance, &group.centres);
    let x = if regressor.linear() { space.linear(group) } else { Mat::new() };
    let folds = folds.ranges(group.centres.len());
    let mut sums = Vec::with_capacity(widths.len() * grid.len());
    for &sigma in widths {
        let mut kernel = gram(regressor, &squares, &x, sigma);
        if let Regressor::Kernels { linear: true, .. } = regressor {
            let mean = x.squared_norm_l2() / x.nrows().max(1) as f64;
            kernel += &x * x.transpose() * Scale(WIDE / mean.max(f64::MIN_POSITIVE));
        }
        for &rho in grid {
            let scored = Interpolation::new(kernel.as_ref(), &space.smoothing(group, rho))
                .and_then(|solved| solved.left_out(solved.weights(y.as_ref()).as_ref(), &folds));
            sums.push(match scored {
                Ok(residual) => residual.squared_norm_l2(),
                Err(SolveError::NotPositive) => f64::INFINITY,
                Err(source) => {
                    return Err(FitError::Solve { vertex: VertexIndex::new(group.vertices[0] as usize), source });
                }
            });
        }
    }
    Ok(sums)
}

pub(super) fn solve(
    space: &Space<'_>,
    regressor: Regressor,
    group: &Group,
    asked: &Displacements,
    sigma: f64,
    rho: f64,
) -> Result<Solved, FitError> {
    let failed = |source| FitError::Solve { vertex: VertexIndex::new(group.vertices[0] as usize), source };
    let x = if regressor.linear() { space.linear(group) } else { Mat::new() };
    let kernel = gram(regressor, &space.squares(&group.relevance, &group.centres), &x, sigma);
    let targets = space.targets(group, &asked.all);
    // The linear term, and what it leaves to the kernels.
    let term = match regressor {
        Regressor::Kernels { linear: true, .. } => Some(pseudo_inverse(x.as_ref(), CUT).map_err(failed)? * &targets),
        _ => None,
    };
    let left = term.as_ref().map_or_else(|| targets.clone(), |b| &targets - &x * b);
    let mut raised = 1.0;
    let solved = loop {
        let solved = Interpolation::new(kernel.as_ref(), &space.smoothing(group, raised * rho)).map_err(failed)?;
        let cancels = solved.weights(left.as_ref()).norm_max() > CANCELLATION * targets.norm_max();
        if regressor == Regressor::Coordinates || !cancels || raised * rho >= 1.0 {
            break solved;
        }
        raised *= 10.0;
    };
    let answer = |of_kernels: Mat<f64>| match (regressor, &term) {
        (Regressor::Coordinates, _) => x.transpose() * of_kernels,
        (_, Some(_)) => {
            let (n, more) = (of_kernels.nrows(), x.ncols());
            Mat::from_fn(n + more, of_kernels.ncols(), |i, c| if i < n { of_kernels[(i, c)] } else { 0.0 })
        }
        (_, None) => of_kernels,
    };
    let mut weights = answer(solved.weights(left.as_ref()));
    if let Some(term) = &term {
        let from = weights.nrows() - term.nrows();
        weights.subrows_mut(from, term.nrows()).copy_from(term);
    }
    let remainder = |&v: &u32| {
        let at = asked.remainders.binary_search_by_key(&v, |r| r.0).ok()?;
        let mut y = Mat::zeros(group.centres.len(), 3);
        space.fill(group, |s| asked.remainders[at].2[s as usize], &mut y, 0);
        Some((at, answer(solved.weights(y.as_ref()))))
    };
    Ok(Solved {
        weights,
        remainders: group.vertices.iter().filter_map(remainder).collect(),
        raised: raised > 1.0 || solved.raised > 1.0,
        reciprocal_condition: solved.reciprocal_condition,
    })
}

/// Rows of a matrix of three columns per vertex, for one vertex.
fn rows(weights: &Mat<f64>, at: usize) -> impl Iterator<Item = DVec3> + '_ {
    (0..weights.nrows()).map(move |row| DVec3::new(weights[(row, at)], weights[(row, at + 1)], weights[(row, at + 2)]))
}

/// Puts the groups' answers into one correction, vertices in order.
///
/// # Errors
/// [`FitError::Table`] for more values than 32 bits can count.
#[expect(clippy::too_many_arguments, reason = "the parts of one result, put together once")]
pub(super) fn assemble(
    space: Space<'_>,
    regressor: Regressor,
    carrier: Carrier,
    groups: &[Group],
    solved: &[Solved],
    asked: &Displacements,
    sigma: f64,
    radii: Vec<f64>,
) -> Result<PoseSpace, FitError> {
    let vertices = space.training.rest.len();
    let mut kernel = space.kernel(sigma, regressor.family(), regressor.linear());
    let mut place = vec![(NO_GROUP, 0); vertices];
    for (g, group) in groups.iter().enumerate() {
        let centres: &[u32] = if regressor == Regressor::Coordinates { &[] } else { &group.centres };
        kernel.push(&group.relevance, centres).map_err(of_table("the kernel"))?;
        for (at, &v) in group.vertices.iter().enumerate() {
            place[v as usize] = (g as u32, 3 * at);
        }
    }
    let of_vertex = |&(group, at): &(u32, usize)| {
        let solved = (group != NO_GROUP).then(|| &solved[group as usize].weights);
        solved.into_iter().flat_map(move |weights| rows(weights, at))
    };
    let weights = filled("displacements", place.iter().map(of_vertex))?;
    let groups_of = place.iter().map(|(group, _)| *group).collect();
    let mut made = PoseSpace { kernel, carrier, groups: groups_of, weights, remainders: Remainders::default(), radii };
    let mut remainders: Vec<_> = solved.iter().flat_map(|s| &s.remainders).collect();
    remainders.sort_unstable_by_key(|(at, _)| *at);
    for (at, weights) in remainders {
        let (v, bone, _) = asked.remainders[*at];
        let r = &mut made.remainders;
        r.vertices.push(v);
        r.bones.push(bone);
        r.weights.push(rows(weights, 0)).map_err(of_table("remainders"))?;
    }
    Ok(made)
}

impl Space<'_> {
    /// A kernel of this space, without groups.
    pub fn kernel(self, sigma: f64, family: Family, linear: bool) -> Kernel {
        let coordinates = self.coordinates();
        let mut kernel = Kernel::new(sigma, self.weld, self.joints, self.examples.concat());
        (kernel.channels, kernel.coordinates, kernel.family, kernel.linear) =
            (self.channels, coordinates, family, linear);
        kernel
    }
}
