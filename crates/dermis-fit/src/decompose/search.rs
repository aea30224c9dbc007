//! The search: grows more bones than wanted, lets them settle, eliminates the least useful, and finishes with momentum.

use super::gram::{Bones, Gram};
use super::matrix::Matrix;
use super::problem::{Frames, MONOMIALS, Points};
use super::smooth::{Drawn, Surface};
use super::ties::{first_of_largest, slack, sorted_by};
use super::transforms::{self, Motion, Wide};
use super::weights::{Fit, Pass, Support, Terms, candidate_gains, candidate_steps, improve, nearest, removal_costs};
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
    /// E, with the penalties of near-rigid bones and of weights that are not smooth, after the last pass over the weights.
    pub energy: f64,
    smooth: Option<Smooth<'a>>,
    /// Vertices whose weights stay as they are.
    frozen: Vec<bool>,
    threshold: f64,
    ticker: &'a Ticker<'a>,
}

/// What draws weights to those of their neighbours.
#[derive(Clone)]
struct Smooth<'a> {
    surface: &'a Surface,
    drawn: Drawn,
    /// μ Σ |w_v − ŵ_v|².
    penalty: f64,
}

/// How a run of iterations ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// The most iterations.
    pub iterations: usize,
    /// Stops below this relative decrease per iteration, from one look for new members to the next.
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
            smooth: None,
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

    /// Draws weights to those of their neighbours on a surface from here on, with strength λ.
    pub fn smooth_over(&mut self, surface: &'a Surface, strength: f64) {
        let stiffness = strength * surface.scale;
        let targets = surface.smoothed(&self.supports, self.motion.bones.stride);
        self.smooth = Some(Smooth { surface, drawn: Drawn::new(stiffness, targets), penalty: 0.0 });
        self.gram = self.gram_of(&self.motion);
        self.improve(self.pass(0, false));
    }

    /// The mean over vertices of |w_v − ŵ_v|²; `None` if nothing draws the weights.
    pub fn roughness(&self) -> Option<f64> {
        let of = |smooth: &Smooth| smooth.penalty / smooth.drawn.stiffness / self.points.len() as f64;
        self.smooth.as_ref().map(of)
    }

    /// Solves the targets again for the present weights, and counts them in the energies of all vertices.
    fn draw_again(&mut self) {
        let Some(Smooth { surface, drawn, penalty }) = &mut self.smooth else { return };
        let now = Drawn::new(drawn.stiffness, surface.smoothed(&self.supports, self.motion.bones.stride));
        *penalty = 0.0;
        for (v, (support, fit)) in self.supports.iter().zip(&mut self.fits).enumerate() {
            let energy = now.energy(v, support);
            fit.energy += energy - drawn.energy(v, support);
            fit.pull += now.pull_of(v, support) - drawn.pull_of(v, support);
            *penalty += energy;
        }
        *drawn = now;
    }

    /// The error E alone.
    fn error(&self) -> f64 {
        self.energy - self.smooth.as_ref().map_or(0.0, |smooth| smooth.penalty)
    }

    fn terms(&self) -> Terms<'_> {
        let drawn = self.smooth.as_ref().map(|smooth| &smooth.drawn);
        Terms { points: self.points, bones: &self.motion.bones, gram: &self.gram, drawn }
    }

    fn gram_of(&self, motion: &Motion) -> Gram {
        self.ridged(Gram::of(motion.wide()))
    }

    fn ridged(&self, gram: Gram) -> Gram {
        match &self.smooth {
            Some(smooth) => gram.with_ridge(smooth.drawn.stiffness),
            None => gram,
        }
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
        let drawn = self.smooth.as_ref().map(|smooth| &smooth.drawn);
        let terms = Terms { points: self.points, bones: &self.motion.bones, gram: &self.gram, drawn };
        improve(terms, &mut self.supports, &mut self.fits, pass);
        if !kept.is_empty() {
            for (v, support) in kept {
                self.supports[v] = support;
                self.fits[v] = self.fit_of(v);
            }
        }
        self.draw_again();
        self.energy = self.fits.iter().map(|fit| fit.energy).sum();
        self.energy += transforms::penalty(&self.motion, &self.supports, self.frames, self.kind);
    }

    /// A pass over some vertices.
    fn improve_some(&mut self, vertices: &[(u32, f64)], pass: Pass) {
        let vertices: Vec<usize> = vertices.iter().map(|&(v, _)| v as usize).collect();
        let points = self.points.subset(&vertices);
        let mut supports: Vec<Support> = vertices.iter().map(|&v| self.supports[v]).collect();
        let mut fits = vec![Fit::default(); vertices.len()];
        let drawn = self.smooth.as_ref().map(|smooth| smooth.drawn.subset(&vertices));
        let terms = Terms { points: &points, bones: &self.motion.bones, gram: &self.gram, drawn: drawn.as_ref() };
        improve(terms, &mut supports, &mut fits, pass);
        vertices.iter().zip(supports.into_iter().zip(fits)).for_each(|(&v, (support, fit))| {
            (self.supports[v], self.fits[v]) = (support, fit);
        });
    }

    /// Solves the targets again after bones came or went.
    fn widen(&mut self) {
        if let Some(smooth) = &mut self.smooth {
            let targets = smooth.surface.smoothed(&self.supports, self.motion.bones.stride);
            smooth.drawn = Drawn::new(smooth.drawn.stiffness, targets);
        }
    }

    fn fit_of(&self, v: usize) -> Fit {
        let (p, support) = (&self.points.rest[v], &self.supports[v]);
        let mut y = vec![0.0; self.points.trajectories.cols];
        transforms::blended(p, support, &self.motion.bones, &mut y);
        let mut wide = vec![0.0; self.motion.wide().t.cols];
        transforms::blended(p, support, self.motion.wide(), &mut wide);
        let pull: f64 = y.iter().zip(self.points.trajectories.row(v)).map(|(y, u)| y * u).sum();
        let size: f64 = wide.iter().map(|y| y * y).sum();
        let (drawn, draw) = self
            .smooth
            .as_ref()
            .map_or((0.0, 0.0), |smooth| (smooth.drawn.energy(v, support), smooth.drawn.pull_of(v, support)));
        Fit { energy: self.points.squares[v] - 2.0 * pull + size + drawn, pull: pull + draw }
    }

    pub fn set_motion(&mut self, motion: Motion) {
        self.gram = self.gram_of(&motion);
        self.motion = motion;
    }

    fn solved(&self) -> Wide {
        transforms::solve_wide(self.points, self.frames, &self.supports, &self.motion, self.kind)
    }

    fn set_wide(&mut self, wide: Wide) {
        self.set_motion(wide.motion(self.frames, self.kind));
    }

    /// Alternates transforms and weights, with momentum: T* = T + b (T − T_before), b = min(n / (n + 3), 0.97).
    ///
    /// An extrapolation that raises E is discarded for the plain step.
    pub fn iterate(&mut self, until: Until) -> Result<(usize, Stopped), DecomposeError> {
        // New members are looked for in every second iteration, later in every sixth.
        let looks = |iteration: usize| iteration.is_multiple_of(if iteration < 12 { 2 } else { 6 });
        let mut before: Option<Wide> = None;
        let mut run = 0usize;
        let (mut mark, mut since) = (self.energy, 0);
        for iteration in 0..until.iterations {
            if self.is_exact() {
                return Ok((iteration, Stopped::Exact));
            }
            let count = (self.points.len() * self.frames.columns.frames) as f64;
            if until.enough.is_some_and(|enough| self.error() <= enough * enough * count) {
                return Ok((iteration, Stopped::Enough));
            }
            self.ticker.tick(1).map_err(|_| DecomposeError::Cancelled)?;
            let pass = if looks(iteration) { self.pass(1, until.swap) } else { self.pass(0, false) };
            let (last, start) = (self.energy, self.motion.clone());
            let plain = self.solved();
            let mut done = false;
            let kept = self.kept();
            if let Some(before) = before.as_ref().filter(|_| run > 0) {
                let b = (run as f64 / (run as f64 + 3.0)).min(0.97);
                let ahead = plain.beyond(before, b, self.frames, self.kind);
                self.set_wide(ahead);
                self.improve(pass);
                done = self.energy <= last;
                if !done {
                    self.put_back(kept.clone());
                    run = 0;
                }
            }
            if !done {
                self.set_wide(plain.clone());
                self.improve(pass);
                // New targets may take back more than weights and transforms gained: as low as this descent goes.
                if self.smooth.is_some() && self.energy > last {
                    self.set_motion(start);
                    self.put_back(kept);
                    self.energy = last;
                    return Ok((iteration, Stopped::Converged));
                }
            }
            before = Some(plain);
            run += 1;
            since += 1;
            if looks(iteration + 1) {
                if mark - self.energy < until.decrease * f64::from(since) * mark {
                    return Ok((iteration + 1, Stopped::Converged));
                }
                (mark, since) = (self.energy, 0);
            }
        }
        Ok((until.iterations, Stopped::IterationLimit))
    }

    /// The weights as they are, to be put back.
    fn kept(&self) -> (Vec<Support>, Vec<Fit>, Option<Smooth<'a>>) {
        (self.supports.clone(), self.fits.clone(), self.smooth.clone())
    }

    fn put_back(&mut self, kept: (Vec<Support>, Vec<Fit>, Option<Smooth<'a>>)) {
        (self.supports, self.fits, self.smooth) = kept;
    }

    /// Σ_v |x_v|², from which errors are subtracted.
    fn whole(&self) -> f64 {
        self.points.squares.iter().sum()
    }

    /// Whether no step can lower what is left: below 1e-13 of a motion that is no larger than the mesh, rounding is all of it. Whether the result is exact is
    /// asked of the vertices at the end.
    pub fn is_exact(&self) -> bool {
        let size = self.points.len() as f64 * self.frames.columns.frames as f64;
        self.energy <= 1e-13 * self.whole().min(size) || self.energy <= 1e-22 * size
    }

    /// Adds bones where the error is until there are `bones`; stops early when nothing is left to explain.
    pub fn grow(&mut self, bones: usize, wanted: usize, random: &mut Random) -> Result<(), DecomposeError> {
        while self.bones() < bones && !self.is_exact() {
            self.ticker.tick(1).map_err(|_| DecomposeError::Cancelled)?;
            let new = self.new_bone(wanted, random);
            self.set_motion(self.motion.with(&new));
            self.widen();
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
        let larger = other_gain > gain + slack(gain, self.whole());
        let mut new = if larger { sizes[other].clone() } else { candidates[best].clone() };
        for _ in 0..2 {
            new = self.polished(&new);
        }
        new
    }

    /// The candidate of largest gain, and the gain.
    fn best_of(&self, candidates: &[Motion]) -> (usize, f64) {
        let all: Vec<&Bones> = candidates.iter().map(|motion| &motion.bones).collect();
        let wide: Vec<&Bones> = candidates.iter().map(Motion::wide).collect();
        let against = self.ridged(Gram::candidates(self.motion.wide(), &Bones::joined(&wide)));
        let gains = candidate_gains(self.terms(), &self.supports, &self.fits, &Bones::joined(&all), &against);
        let best = first_of_largest(gains.iter().copied(), self.whole());
        (best, gains[best])
    }

    /// The worst vertex, and vertices drawn in proportion to their energy.
    fn seeds(&self, random: &mut Random) -> Vec<usize> {
        let sum: f64 = self.fits.iter().map(|fit| fit.energy).sum();
        let largest = self.points.squares.iter().copied().fold(0.0, f64::max);
        let worst = first_of_largest(self.fits.iter().map(|fit| fit.energy), largest);
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
        let mut order: Vec<(f32, usize)> = (0..self.points.len())
            .map(|v| {
                let rest: f64 = (0..3).map(|i| (self.points.rest[v][i] - p[i]).powi(2)).sum();
                let apart = square_distance(self.points.trajectories.row(v), u);
                (sorted_by(rest + apart / frames, 1.0), v)
            })
            .collect();
        let nearer = |a: &(f32, usize), b: &(f32, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        let count = count.min(order.len());
        if count < order.len() {
            order.select_nth_unstable_by(count, nearer);
            order.truncate(count);
        }
        order.sort_unstable_by(nearer);
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
        let against = self.ridged(Gram::candidates(self.motion.wide(), bone.wide()));
        let steps = candidate_steps(self.terms(), &self.supports, &self.fits, &bone.bones, &against);
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
            let costs = removal_costs(self.terms(), &self.supports, &self.fits, self.most);
            let mut order: Vec<usize> = (self.motion.fixed..self.bones()).collect();
            let (cost, size) = (|bone: usize| costs[bone], self.whole());
            order.sort_by(|&a, &b| sorted_by(cost(a), size).total_cmp(&sorted_by(cost(b), size)).then(a.cmp(&b)));
            let followers = transforms::members(&self.supports, self.bones());
            let mut best: Option<(f64, Search)> = None;
            for &bone in order.iter().take(3) {
                let mut trial = self.without(bone);
                trial.improve_some(&followers[bone], trial.pass(1, false));
                trial.set_wide(trial.solved());
                trial.improve(trial.pass(0, false));
                if best.as_ref().is_none_or(|(energy, _)| trial.energy < *energy - slack(*energy, size)) {
                    best = Some((trial.energy, trial));
                }
            }
            let Some((_, chosen)) = best else { break };
            *self = chosen;
            self.set_wide(self.solved());
            self.improve(self.pass(1, false));
        }
        Ok(())
    }

    fn without(&self, bone: usize) -> Self {
        let kept: Vec<usize> = (0..self.bones()).filter(|&k| k != bone).collect();
        let motion = self.motion.selected(&kept);
        let gram = self.gram_of(&motion);
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
        let mut without = Self {
            points: self.points,
            frames: self.frames,
            kind: self.kind,
            most: self.most,
            motion,
            gram,
            supports,
            fits: self.fits.clone(),
            energy: self.energy,
            smooth: self.smooth.clone(),
            frozen: self.frozen.clone(),
            threshold: self.threshold,
            ticker: self.ticker,
        };
        without.widen();
        without
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

/// |a − b|², in eight partial sums.
fn square_distance(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| (a - b) * (a - b)).sum();
    let mut sums = [0.0; 8];
    for (a, b) in a.zip(b) {
        (0..8).for_each(|lane| sums[lane] += (a[lane] - b[lane]) * (a[lane] - b[lane]));
    }
    rest + sums.iter().sum::<f64>()
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
        let problem = Problem::new(Sequence { rest: &rest, frames: &shapes, triangles: &[] }, 8, 1);
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
                improve(search.terms(), &mut fixed, &mut fits, search.pass(0, false));
                best.iter_mut().zip(&fits).for_each(|(best, fit)| *best = best.min(fit.energy));
            }
            let least: f64 = best.iter().sum();
            assert!(cold.energy >= least * (1.0 - 1e-9) && cold.energy < 1.02 * least, "{} of {least}", cold.energy);
        });
    }
}
