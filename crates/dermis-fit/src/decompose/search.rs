//! The search: grows more bones than wanted, lets them settle, eliminates the least useful, and finishes with momentum.

use super::gram::{Bones, Gram};
use super::matrix::Matrix;
use super::problem::{Frames, MONOMIALS, Points};
use super::transforms::{self, Motion};
use super::weights::{Fit, Pass, Support, candidate_gains, candidate_steps, improve, nearest, removal_costs};
use super::{BoneKind, DecomposeError, Stopped};
use crate::training::Ticker;
use dermis_solve::Random;

/// A change of support must lower a vertex's energy by this part of |x|². 1e-5 raises the error by up to 6 %, 1e-4 by up to
/// 18 %.
const THRESHOLD: f64 = 1e-7;
/// Seeds drawn for every new bone.
const SEEDS: usize = 12;

/// A decomposition in the making.
#[derive(Clone)]
pub(super) struct Search<'a> {
    points: &'a Points,
    frames: &'a Frames,
    kind: BoneKind,
    most: usize,
    pub motion: Motion,
    gram: Gram,
    pub supports: Vec<Support>,
    fits: Vec<Fit>,
    /// E, the penalty of near-rigid bones included, after the last pass over the weights.
    pub energy: f64,
    /// Vertices whose weights stay as they are.
    frozen: Vec<bool>,
    threshold: f64,
    ticker: &'a Ticker<'a>,
}

/// How a run of iterations ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// The most iterations.
    pub iterations: usize,
    /// Stops below this relative decrease, seen twice in a row.
    pub decrease: f64,
    /// Whether members may be exchanged.
    pub swap: bool,
    /// An rms distance that is good enough, in half diagonals.
    pub enough: Option<f64>,
}

impl<'a> Search<'a> {
    /// One bone for all points.
    pub fn one_bone(
        points: &'a Points,
        frames: &'a Frames,
        kind: BoneKind,
        most: usize,
        ticker: &'a Ticker<'a>,
    ) -> Self {
        let supports = vec![Support::single(0); points.len()];
        let still = Motion::still(1, frames, kind);
        let motion = transforms::solve(points, frames, &supports, &still, kind);
        let mut search = Self::from(points, frames, kind, most, motion, supports, ticker);
        search.improve(search.pass(0, false));
        search
    }

    /// Weights and transforms that exist.
    pub fn from(
        points: &'a Points,
        frames: &'a Frames,
        kind: BoneKind,
        most: usize,
        motion: Motion,
        supports: Vec<Support>,
        ticker: &'a Ticker<'a>,
    ) -> Self {
        let gram = Gram::of(motion.wide());
        let fits = vec![Fit::default(); points.len()];
        Self {
            points,
            frames,
            kind,
            most,
            motion,
            gram,
            supports,
            fits,
            energy: f64::INFINITY,
            frozen: vec![],
            threshold: THRESHOLD,
            ticker,
        }
    }

    /// Transforms that exist, weights from nothing: the nearest bone, then up to K + 2 entries.
    pub fn cold(
        points: &'a Points,
        frames: &'a Frames,
        kind: BoneKind,
        most: usize,
        motion: Motion,
        ticker: &'a Ticker<'a>,
    ) -> Self {
        let gram = Gram::of(motion.wide());
        let supports = nearest(points, &motion.bones, &gram);
        let mut search = Self::from(points, frames, kind, most, motion, supports, ticker);
        search.improve(search.pass(most + 2, false));
        search
    }

    /// Keeps the weights of some vertices.
    pub fn freeze(&mut self, vertices: &[usize]) {
        self.frozen = vec![false; self.points.len()];
        vertices.iter().for_each(|&v| self.frozen[v] = true);
    }

    pub fn bones(&self) -> usize {
        self.motion.bones.count
    }

    /// Lets supports change for gains of rounding's size: for data that may be exact.
    pub fn exact_threshold(&mut self) {
        self.threshold = 1e-15;
    }

    pub fn pass(&self, entries: usize, swap: bool) -> Pass {
        Pass { most: self.most, entries, swap, threshold: self.threshold }
    }

    /// Runs one pass over the weights for the present transforms. E never rises.
    pub fn improve(&mut self, pass: Pass) {
        let kept: Vec<(usize, Support)> =
            self.frozen.iter().enumerate().filter(|(_, f)| **f).map(|(v, _)| (v, self.supports[v])).collect();
        let sum = improve(self.points, &self.motion.bones, &self.gram, &mut self.supports, &mut self.fits, pass);
        self.energy = sum;
        if !kept.is_empty() {
            for (v, support) in kept {
                self.supports[v] = support;
                self.fits[v] = self.fit_of(v);
            }
            self.energy = self.fits.iter().map(|fit| fit.energy).sum();
        }
        self.energy += transforms::penalty(&self.motion, &self.supports, self.frames, self.kind);
    }

    /// A pass over some vertices.
    fn improve_some(&mut self, vertices: &[(u32, f64)], pass: Pass) {
        let vertices: Vec<usize> = vertices.iter().map(|&(v, _)| v as usize).collect();
        let points = self.points.subset(&vertices);
        let mut supports: Vec<Support> = vertices.iter().map(|&v| self.supports[v]).collect();
        let mut fits = vec![Fit::default(); vertices.len()];
        improve(&points, &self.motion.bones, &self.gram, &mut supports, &mut fits, pass);
        vertices.iter().zip(supports.into_iter().zip(fits)).for_each(|(&v, (support, fit))| {
            (self.supports[v], self.fits[v]) = (support, fit);
        });
    }

    fn fit_of(&self, v: usize) -> Fit {
        let (p, support) = (&self.points.rest[v], &self.supports[v]);
        let mut y = vec![0.0; self.points.trajectories.cols];
        transforms::blended(p, support, &self.motion.bones, &mut y);
        let mut wide = vec![0.0; self.motion.wide().t.cols];
        transforms::blended(p, support, self.motion.wide(), &mut wide);
        let pull: f64 = y.iter().zip(self.points.trajectories.row(v)).map(|(y, u)| y * u).sum();
        let size: f64 = wide.iter().map(|y| y * y).sum();
        Fit { energy: self.points.squares[v] - 2.0 * pull + size, pull }
    }

    pub fn set_motion(&mut self, motion: Motion) {
        self.gram = Gram::of(motion.wide());
        self.motion = motion;
    }

    fn solved(&self) -> Motion {
        transforms::solve(self.points, self.frames, &self.supports, &self.motion, self.kind)
    }

    /// Alternates transforms and weights, with momentum: T* = T + b (T − T_before), b = min(n / (n + 3), 0.97).
    ///
    /// An extrapolation that raises E is discarded for the plain step.
    pub fn iterate(&mut self, until: Until) -> Result<(usize, Stopped), DecomposeError> {
        let mut before: Option<Motion> = None;
        let (mut run, mut slow) = (0usize, 0);
        for iteration in 0..until.iterations {
            if self.is_exact() {
                return Ok((iteration, Stopped::Exact));
            }
            let count = (self.points.len() * self.frames.columns.frames) as f64;
            if until.enough.is_some_and(|enough| self.energy <= enough * enough * count) {
                return Ok((iteration, Stopped::Enough));
            }
            self.ticker.tick(1).map_err(|_| DecomposeError::Cancelled)?;
            // New members are looked for in every second iteration.
            let look = iteration % 2 == 0;
            let pass = if look { self.pass(1, until.swap) } else { self.pass(0, false) };
            let last = self.energy;
            let plain = self.solved();
            let mut done = false;
            if let Some(before) = before.as_ref().filter(|_| run > 0) {
                let b = (run as f64 / (run as f64 + 3.0)).min(0.97);
                let ahead = plain.beyond(before, b, self.frames, self.kind);
                let kept = (self.supports.clone(), self.fits.clone());
                self.set_motion(ahead);
                self.improve(pass);
                done = self.energy <= last;
                if !done {
                    (self.supports, self.fits) = kept;
                    run = 0;
                }
            }
            if !done {
                self.set_motion(plain.clone());
                self.improve(pass);
            }
            before = Some(plain);
            run += 1;
            slow = if last - self.energy < until.decrease * last { slow + 1 } else { 0 };
            if slow >= 2 {
                return Ok((iteration + 1, Stopped::Converged));
            }
        }
        Ok((until.iterations, Stopped::IterationLimit))
    }

    /// Whether what is left is rounding.
    pub fn is_exact(&self) -> bool {
        let whole: f64 = self.points.squares.iter().sum();
        let size = self.points.len() as f64 * self.frames.columns.frames as f64;
        self.energy <= 1e-13 * whole || self.energy <= 1e-22 * size
    }

    /// Adds bones where the error is until there are `bones`; stops early when nothing is left to explain.
    pub fn grow(&mut self, bones: usize, wanted: usize, random: &mut Random) -> Result<(), DecomposeError> {
        while self.bones() < bones && !self.is_exact() {
            self.ticker.tick(1).map_err(|_| DecomposeError::Cancelled)?;
            let new = self.new_bone(wanted, random);
            self.set_motion(self.motion.with(&new));
            self.improve(self.pass(1, false));
        }
        Ok(())
    }

    /// The candidate that lowers E most against the present blend, polished twice.
    fn new_bone(&self, wanted: usize, random: &mut Random) -> Motion {
        let seeds = self.seeds(random);
        let middle = (self.points.len() / (3 * wanted)).max(4);
        // The middle size tells the seeds apart; the best seed is also tried with half and twice the vertices.
        let patch = |seed: usize, size: usize| self.patch(&self.around(seed, size.max(4)));
        let candidates: Vec<Motion> = seeds.iter().map(|&seed| patch(seed, middle)).collect();
        let (best, gain) = self.best_of(&candidates);
        let sizes = [patch(seeds[best], middle / 2), patch(seeds[best], 2 * middle)];
        let (other, other_gain) = self.best_of(&sizes);
        let mut new = if other_gain > gain { sizes[other].clone() } else { candidates[best].clone() };
        for _ in 0..2 {
            new = self.polished(&new);
        }
        new
    }

    /// The candidate of largest gain, and the gain.
    fn best_of(&self, candidates: &[Motion]) -> (usize, f64) {
        let all: Vec<&Bones> = candidates.iter().map(|motion| &motion.bones).collect();
        let wide: Vec<&Bones> = candidates.iter().map(Motion::wide).collect();
        let against = Gram::candidates(self.motion.wide(), &Bones::joined(&wide));
        let gains = candidate_gains(self.points, &self.supports, &self.fits, &Bones::joined(&all), &against);
        let best = (0..gains.len()).fold(0, |best, at| if gains[at] > gains[best] { at } else { best });
        (best, gains[best])
    }

    /// The worst vertex, and vertices drawn in proportion to their energy.
    fn seeds(&self, random: &mut Random) -> Vec<usize> {
        let sum: f64 = self.fits.iter().map(|fit| fit.energy).sum();
        let worst =
            (0..self.points.len()).fold(0, |w, v| if self.fits[v].energy > self.fits[w].energy { v } else { w });
        let mut seeds = vec![worst];
        for _ in 1..SEEDS {
            let mut left = random.unit() * sum;
            let at = self.fits.iter().position(|fit| {
                left -= fit.energy;
                left < 0.0
            });
            seeds.push(at.unwrap_or(worst));
        }
        seeds
    }

    /// The `count` vertices nearest to a seed, by rest distance² + mean squared distance of the trajectories.
    fn around(&self, seed: usize, count: usize) -> Vec<usize> {
        let (p, u) = (self.points.rest[seed], self.points.trajectories.row(seed));
        let frames = self.frames.columns.frames as f64;
        let mut order: Vec<(f64, usize)> = (0..self.points.len())
            .map(|v| {
                let rest: f64 = (0..3).map(|i| (self.points.rest[v][i] - p[i]).powi(2)).sum();
                let apart: f64 = self.points.trajectories.row(v).iter().zip(u).map(|(a, b)| (a - b) * (a - b)).sum();
                (rest + apart / frames, v)
            })
            .collect();
        let count = count.min(order.len());
        if count < order.len() {
            order.select_nth_unstable_by(count, |a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
            order.truncate(count);
        }
        order.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        order.into_iter().map(|(_, v)| v).collect()
    }

    /// A bone that follows a few vertices.
    fn patch(&self, vertices: &[usize]) -> Motion {
        let mut s = [0.0; MONOMIALS];
        let mut q = Matrix::zeros(4, self.points.trajectories.cols);
        for &v in vertices {
            (0..MONOMIALS).for_each(|m| s[m] += self.points.monomials[v][m]);
            let u = self.points.trajectories.row(v);
            for i in 0..4 {
                let p = self.points.rest[v][i];
                q.row_mut(i).iter_mut().zip(u).for_each(|(q, u)| *q += p * u);
            }
        }
        transforms::fit_patch(&s, &q, self.frames, self.kind)
    }

    /// Refits a bone to the residual of the vertices that step towards it: S = Σ l² p̃p̃ᵀ, Q = Σ l p̃ (l y + x − y).
    fn polished(&self, bone: &Motion) -> Motion {
        let against = Gram::candidates(self.motion.wide(), bone.wide());
        let steps = candidate_steps(self.points, &self.supports, &self.fits, &bone.bones, &against);
        let mut s = [0.0; MONOMIALS];
        let cols = self.points.trajectories.cols;
        let mut q = Matrix::zeros(4, cols);
        let mut y = vec![0.0; cols];
        let (mut vertices, mut weight) = (0, 0.0);
        for (v, &l) in steps.iter().enumerate().filter(|(_, l)| **l > 1e-3) {
            transforms::blended(&self.points.rest[v], &self.supports[v], &self.motion.bones, &mut y);
            let u = self.points.trajectories.row(v);
            (0..cols).for_each(|at| y[at] = u[at] - (1.0 - l) * y[at]);
            (0..MONOMIALS).for_each(|m| s[m] += l * l * self.points.monomials[v][m]);
            for i in 0..4 {
                let p = l * self.points.rest[v][i];
                q.row_mut(i).iter_mut().zip(&y).for_each(|(q, y)| *q += p * y);
            }
            vertices += 1;
            weight += l * l;
        }
        if vertices < 4 || weight < 1e-3 {
            return bone.clone();
        }
        transforms::fit_patch(&s, &q, self.frames, self.kind)
    }

    /// Removes bones until `bones` are left.
    ///
    /// Of the three bones whose removal costs least, the one goes whose loss is least once weights, transforms and weights are
    /// solved again. One iteration follows every removal.
    pub fn eliminate(&mut self, bones: usize) -> Result<(), DecomposeError> {
        while self.bones() > bones {
            self.ticker.tick(1).map_err(|_| DecomposeError::Cancelled)?;
            let costs =
                removal_costs(self.points, &self.motion.bones, &self.gram, &self.supports, &self.fits, self.most);
            let mut order: Vec<usize> = (self.motion.fixed..self.bones()).collect();
            order.sort_by(|&a, &b| costs[a].total_cmp(&costs[b]).then(a.cmp(&b)));
            let followers = transforms::members(&self.supports, self.bones());
            let mut best: Option<(f64, Search)> = None;
            for &bone in order.iter().take(3) {
                let mut trial = self.without(bone);
                trial.improve_some(&followers[bone], trial.pass(1, false));
                trial.set_motion(trial.solved());
                trial.improve(trial.pass(0, false));
                if best.as_ref().is_none_or(|(energy, _)| trial.energy < *energy) {
                    best = Some((trial.energy, trial));
                }
            }
            let Some((_, chosen)) = best else { break };
            *self = chosen;
            self.set_motion(self.solved());
            self.improve(self.pass(1, false));
        }
        Ok(())
    }

    fn without(&self, bone: usize) -> Self {
        let kept: Vec<usize> = (0..self.bones()).filter(|&k| k != bone).collect();
        let motion = self.motion.selected(&kept);
        let gram = Gram::of(motion.wide());
        let alone: Vec<usize> = (0..self.points.len()).filter(|&v| self.supports[v].without(bone).is_none()).collect();
        let subset = self.points.subset(&alone);
        let fallback = nearest(&subset, &motion.bones, &gram);
        let mut supports: Vec<Support> = self
            .supports
            .iter()
            .map(|support| {
                let mut support = support.without(bone).unwrap_or(Support::single(0));
                let n = support.n;
                support.bones[..n].iter_mut().for_each(|k| *k -= u32::from(*k > bone as u32));
                support
            })
            .collect();
        alone.iter().zip(fallback).for_each(|(&v, support)| supports[v] = support);
        Self {
            points: self.points,
            frames: self.frames,
            kind: self.kind,
            most: self.most,
            motion,
            gram,
            supports,
            fits: self.fits.clone(),
            energy: self.energy,
            frozen: self.frozen.clone(),
            threshold: self.threshold,
            ticker: self.ticker,
        }
    }

    /// Bones that no vertex follows, of those that are not given.
    pub fn idle(&self) -> Vec<usize> {
        let mut weight = vec![0.0; self.bones()];
        for support in &self.supports {
            support.members().for_each(|(k, w)| weight[k] += w * w);
        }
        (self.motion.fixed..self.bones()).filter(|&k| weight[k] <= 1e-12).collect()
    }

    /// Takes out bones that no vertex follows.
    pub fn drop_bones(&mut self, bones: &[usize]) {
        for &bone in bones.iter().rev() {
            *self = self.without(bone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sequence;
    use super::super::problem::Problem;
    use super::*;
    use crate::training::silent;
    use dermis_rig::glam::DVec3;

    /// A wavy sheet: no few bones explain it.
    fn sheet() -> (Vec<DVec3>, Vec<Vec<DVec3>>) {
        let rest: Vec<DVec3> = (0..400)
            .map(|v| DVec3::new((v % 20) as f64 / 20.0, (v / 20) as f64 / 20.0, 0.02 * (v % 7) as f64))
            .collect();
        let frames = (1..13)
            .map(|s| {
                let phase = 0.4 * s as f64;
                rest.iter()
                    .map(|p| *p + 0.2 * DVec3::new((3.0 * p.y + phase).sin(), 0.0, (4.0 * p.x + phase).sin()))
                    .collect()
            })
            .collect();
        (rest, frames)
    }

    fn on_sheet(kind: BoneKind, check: impl Fn(&mut Search)) {
        let (rest, frames) = sheet();
        let shapes: Vec<&[DVec3]> = frames.iter().map(Vec::as_slice).collect();
        let problem = Problem::new(Sequence { rest: &rest, frames: &shapes }, 8, 1);
        let ticker = Ticker::new(100, &silent);
        let mut search = Search::one_bone(&problem.points, &problem.frames, kind, 4, &ticker);
        search.grow(6, 6, &mut Random::seeded(1)).unwrap();
        check(&mut search);
    }

    #[test]
    fn the_error_never_rises_with_momentum() {
        for kind in [BoneKind::Rigid, BoneKind::Affine, BoneKind::NearRigid { stiffness: 1e-3 }] {
            on_sheet(kind, |search| {
                search.improve(search.pass(1, true));
                let mut last = search.energy;
                // Runs of growing length from the same start end ever lower.
                let start = search.clone();
                for iterations in 1..20 {
                    let mut run = start.clone();
                    run.iterate(Until { iterations, decrease: 0.0, swap: true, enough: None }).unwrap();
                    assert!(run.energy <= last * (1.0 + 1e-12), "{kind:?}, {iterations}: {} after {last}", run.energy);
                    last = run.energy;
                }
            });
        }
    }

    /// Oracle: all supports of at most three of the six bones.
    #[test]
    fn supports_come_within_two_percent_of_the_best() {
        on_sheet(BoneKind::Rigid, |search| {
            search.most = 3;
            let mut cold =
                Search::cold(search.points, search.frames, search.kind, 3, search.motion.clone(), search.ticker);
            for _ in 0..6 {
                cold.improve(cold.pass(3, true));
            }
            let subsets: Vec<Vec<usize>> = (1u32..1 << 6)
                .filter(|s| s.count_ones() <= 3)
                .map(|s| (0..6).filter(|k| s >> k & 1 == 1).collect())
                .collect();
            let mut best = vec![f64::INFINITY; search.points.len()];
            for subset in subsets {
                let mut fixed: Vec<Support> = vec![Support::single(0); best.len()];
                for support in &mut fixed {
                    support.n = subset.len();
                    subset.iter().enumerate().for_each(|(a, &k)| {
                        (support.bones[a], support.weights[a]) = (k as u32, 1.0 / subset.len() as f64);
                    });
                }
                let mut fits = vec![Fit::default(); best.len()];
                improve(
                    search.points,
                    &search.motion.bones,
                    &search.gram,
                    &mut fixed,
                    &mut fits,
                    search.pass(0, false),
                );
                best.iter_mut().zip(&fits).for_each(|(best, fit)| *best = best.min(fit.energy));
            }
            let least: f64 = best.iter().sum();
            assert!(cold.energy >= least * (1.0 - 1e-9) && cold.energy < 1.02 * least, "{} of {least}", cold.energy);
        });
    }
}
