//! The search: grow more bones than wanted, let them settle, eliminate the least useful, finish with momentum.

use super::matrix::Matrix;
use super::problem::{Frames, MONOMIALS, Points};
use super::sample::Random;
use super::support::Support;
use super::transforms::{self, Motion};
use super::weights::{Gram, Pass, candidate_gains, candidate_steps, improve, nearest, removal_costs};
use super::{BoneKind, DecomposeError, Stopped};
use crate::training::Ticker;

/// A change of support must lower a vertex's energy by this part of |x|²: 1e-5 costs up to 6 % of the error, 1e-4 up to 18 %.
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
    energies: Vec<f64>,
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
        let gram = Gram::of(&motion.bones);
        let energies = vec![0.0; points.len()];
        Self {
            points,
            frames,
            kind,
            most,
            motion,
            gram,
            supports,
            energies,
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
        let gram = Gram::of(&motion.bones);
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

    /// One pass over the weights for the present transforms; E never rises.
    pub fn improve(&mut self, pass: Pass) {
        let kept: Vec<(usize, Support)> =
            self.frozen.iter().enumerate().filter(|(_, f)| **f).map(|(v, _)| (v, self.supports[v])).collect();
        let sum = improve(self.points, &self.motion.bones, &self.gram, &mut self.supports, &mut self.energies, pass);
        self.energy = sum;
        if !kept.is_empty() {
            for (v, support) in kept {
                self.supports[v] = support;
                self.energies[v] = self.energy_of(v);
            }
            self.energy = self.energies.iter().sum();
        }
        self.energy += transforms::penalty(&self.motion, &self.supports, self.frames, self.kind);
    }

    fn energy_of(&self, v: usize) -> f64 {
        let mut y = vec![0.0; self.points.trajectories.cols];
        transforms::blended(self.points, v, &self.supports[v], &self.motion.bones, &mut y);
        let kept: f64 = self.points.trajectories.row(v).iter().map(|u| u * u).sum();
        let lost = self.points.squares[v] - kept;
        lost + y.iter().zip(self.points.trajectories.row(v)).map(|(y, u)| (y - u) * (y - u)).sum::<f64>()
    }

    pub fn set_motion(&mut self, motion: Motion) {
        self.gram = Gram::of(&motion.bones);
        self.motion = motion;
    }

    fn solved(&self) -> Motion {
        transforms::solve(self.points, self.frames, &self.supports, &self.motion, self.kind)
    }

    /// Transforms, then weights, with momentum: T* = T + b (T − T_before), b = min(n / (n + 3), 0.97). An extrapolation
    /// that raises E is discarded for the plain step.
    pub fn iterate(&mut self, until: Until) -> Result<(usize, Stopped), DecomposeError> {
        let mut before: Option<Motion> = None;
        let (mut run, mut slow) = (0usize, 0);
        for iteration in 0..until.iterations {
            if self.is_exact() {
                return Ok((iteration, Stopped::Exact));
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
                let kept = (self.supports.clone(), self.energies.clone());
                self.set_motion(ahead);
                self.improve(pass);
                done = self.energy <= last;
                if !done {
                    (self.supports, self.energies) = kept;
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
            let Some(new) = self.new_bone(wanted, random) else { break };
            self.set_motion(self.motion.with(&new));
            self.improve(self.pass(1, false));
        }
        Ok(())
    }

    /// The candidate that lowers E most against the present blend, polished twice.
    fn new_bone(&self, wanted: usize, random: &mut Random) -> Option<Motion> {
        let seeds = self.seeds(random);
        let middle = (self.points.len() / (3 * wanted)).max(4);
        let candidates: Vec<Motion> = seeds
            .iter()
            .flat_map(|&seed| {
                let order = self.around(seed, 2 * middle);
                [middle / 2, middle, 2 * middle]
                    .map(|size| self.patch(&order[..size.clamp(4, order.len().max(4)).min(order.len())]))
            })
            .collect();
        let first = candidates.first()?.clone();
        let all = candidates[1..].iter().fold(first, |all, one| all.with(one));
        let gains = candidate_gains(self.points, &self.motion.bones, &self.gram, &self.supports, &all.bones);
        let best = (0..gains.len()).fold(0, |best, at| if gains[at] > gains[best] { at } else { best });
        let mut new = candidates[best].clone();
        for _ in 0..2 {
            new = self.polished(&new);
        }
        Some(new)
    }

    /// The worst vertex, and vertices drawn in proportion to their energy.
    fn seeds(&self, random: &mut Random) -> Vec<usize> {
        let sum: f64 = self.energies.iter().sum();
        let worst = (0..self.points.len()).fold(0, |w, v| if self.energies[v] > self.energies[w] { v } else { w });
        let mut seeds = vec![worst];
        for _ in 1..SEEDS {
            let mut left = random.unit() * sum;
            let at = self.energies.iter().position(|e| {
                left -= e;
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

    /// The bone refitted to what the vertices that step towards it still lack: S = Σ l² p̃p̃ᵀ, Q = Σ l p̃ (l y + x − y).
    fn polished(&self, bone: &Motion) -> Motion {
        let steps = candidate_steps(self.points, &self.motion.bones, &self.gram, &self.supports, &bone.bones);
        let mut s = [0.0; MONOMIALS];
        let cols = self.points.trajectories.cols;
        let mut q = Matrix::zeros(4, cols);
        let mut y = vec![0.0; cols];
        let (mut vertices, mut weight) = (0, 0.0);
        for (v, &l) in steps.iter().enumerate().filter(|(_, l)| **l > 1e-3) {
            transforms::blended(self.points, v, &self.supports[v], &self.motion.bones, &mut y);
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

    /// Takes bones out until `bones` are left: of the three whose removal costs least the one whose loss is least after
    /// weights, transforms and weights again; then one iteration.
    pub fn eliminate(&mut self, bones: usize) -> Result<(), DecomposeError> {
        while self.bones() > bones {
            self.ticker.tick(1).map_err(|_| DecomposeError::Cancelled)?;
            let costs =
                removal_costs(self.points, &self.motion.bones, &self.gram, &self.supports, &self.energies, self.most);
            let mut order: Vec<usize> = (0..self.bones()).collect();
            order.sort_by(|&a, &b| costs[a].total_cmp(&costs[b]).then(a.cmp(&b)));
            let mut best: Option<(f64, Search)> = None;
            for &bone in order.iter().take(3) {
                let mut trial = self.without(bone);
                trial.improve(trial.pass(1, false));
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
        let gram = Gram::of(&motion.bones);
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
            energies: self.energies.clone(),
            energy: self.energy,
            frozen: self.frozen.clone(),
            threshold: self.threshold,
            ticker: self.ticker,
        }
    }

    /// Bones that no vertex follows.
    pub fn idle(&self) -> Vec<usize> {
        let mut weight = vec![0.0; self.bones()];
        for support in &self.supports {
            support.members().for_each(|(k, w)| weight[k] += w * w);
        }
        (0..self.bones()).filter(|&k| weight[k] <= 1e-12).collect()
    }

    /// Takes out bones that no vertex follows.
    pub fn drop_bones(&mut self, bones: &[usize]) {
        for &bone in bones.iter().rev() {
            *self = self.without(bone);
        }
    }
}
