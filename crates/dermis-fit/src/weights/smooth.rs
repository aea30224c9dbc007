//! Smooth weights: neighbours along the edges agree, by block Gauss-Seidel.
//!
//! Each block is the vertex's own problem with α |w_v − w_u|² of its edges; its neighbours stand still. Blocks are coloured so that
//! neighbours differ. The blocks of one colour are solved in parallel, so the result equals that of one fixed order. A block is
//! minimised exactly and then moved a little further (over-relaxation); the objective never rises.

use super::WeightSettings;
use super::block::{Block, Blocks, Data, limited};
use crate::training::{FitError, Ticker};
use dermis_rig::{BoneIndex, Neighbours};
use dermis_solve::simplex::{Entry, NEGLIGIBLE, Quadratic};
use rayon::prelude::*;

/// Sweeps end when no weight changes by more.
const SETTLED: f64 = 1e-9;
/// Sweeps also end when the objective falls by less than this share of it: what still changes then is weight that neither examples nor
/// neighbours tell.
const STANDS: f64 = 1e-12;
/// A block is left alone while no block around it has changed by more.
const STILL: f64 = 1e-11;
/// The most sweeps. Very strong smoothing converges slowly: information moves by a few edges per sweep.
const MOST_SWEEPS: usize = 300;
/// How far a block moves towards its minimum and past it. On the body with 13 000 vertices 1 needs thousands of sweeps, 1.8 about a hundred.
const RELAXATION: f64 = 1.8;
/// Bytes of matrices that are kept between sweeps; beyond, they are made again each time.
const KEPT: usize = 1 << 30;

/// Smooth weights, per block and unknown.
pub(super) struct Smooth {
    pub(super) unlimited: Vec<Vec<f64>>,
    pub(super) limited: Vec<Vec<f64>>,
    pub(super) flat: Vec<bool>,
    pub(super) sweeps: usize,
    pub(super) change: f64,
    /// The objective after each sweep, lengths over L; the start is its first entry. Ridge included.
    pub(super) descent: Vec<f64>,
}

pub(super) fn solve(
    data: &Data<'_>,
    blocks: &Blocks<'_>,
    neighbours: &Neighbours,
    settings: &WeightSettings,
    ticker: &Ticker<'_>,
) -> Result<Smooth, FitError> {
    let alpha = settings.smoothness * data.importance;
    let bytes: usize = blocks.blocks.iter().map(|b| 8 * b.unknowns.len().pow(2)).sum();
    let made = |block: &Block| blocks.quadratic(block, data, settings);
    let first: Vec<(Option<Quadratic>, Vec<f64>, bool)> = blocks
        .blocks
        .par_iter()
        .map(|block| {
            let (quadratic, flat) = made(block)?;
            let start = quadratic.minimise(&block.entries, None).weights;
            ticker.tick(0)?;
            Ok(((bytes <= KEPT).then_some(quadratic), start, flat))
        })
        .collect::<Result<_, FitError>>()?;
    let mut kept = Vec::with_capacity(first.len());
    let (mut start, mut flat) = (Vec::with_capacity(first.len()), Vec::with_capacity(first.len()));
    for (quadratic, w, is_flat) in first {
        kept.push(quadratic);
        start.push(w);
        flat.push(is_flat);
    }
    let graph = Graph::new(blocks, neighbours);
    let mut system = System { data, blocks, neighbours, settings, alpha, kept, graph, solutions: start };
    let entries: Vec<Vec<Entry>> = blocks.blocks.iter().map(|b| b.entries.clone()).collect();
    let (mut sweeps, mut change, mut descent) = system.settle(&entries, ticker)?;
    let unlimited = system.solutions.clone();
    if settings.influences.is_some() {
        // The bones are chosen with the neighbours standing still; then the weights settle again on those.
        let chosen: Vec<Vec<Entry>> = (0..blocks.blocks.len())
            .into_par_iter()
            .map(|at| {
                let block = &blocks.blocks[at];
                let quadratic = system.with_edges(at)?;
                let all = quadratic.minimise(&block.entries, Some(&system.solutions[at]));
                let few = limited(block, &quadratic, &all, settings, data).weights;
                let only = |(entry, w): (&Entry, &f64)| match entry {
                    Entry::Free if *w <= NEGLIGIBLE => Entry::Held(0.0),
                    entry => *entry,
                };
                Ok(block.entries.iter().zip(&few).map(only).collect())
            })
            .collect::<Result<_, FitError>>()?;
        let more = system.settle(&chosen, ticker)?;
        sweeps += more.0;
        change = more.1;
        descent = more.2;
    }
    ticker.tick(data.vertices() as u64)?;
    Ok(Smooth { unlimited, limited: system.solutions, flat, sweeps, change, descent })
}

/// From `old` past `solved` by [`RELAXATION`], as far as no free weight becomes negative.
///
/// The block's minimum is also the minimum along the line from the old weights through it, so any factor below two lowers
/// the objective.
fn beyond(old: &[f64], solved: &[f64], entries: &[Entry]) -> Vec<f64> {
    let step = |(a, b): (&f64, &f64)| b - a;
    let limit = |(i, d): (usize, f64)| match entries[i] {
        Entry::Free if d < 0.0 => old[i] / -d,
        _ => f64::INFINITY,
    };
    let steps = || old.iter().zip(solved).map(step);
    let longest = steps().enumerate().map(limit).fold(RELAXATION, f64::min).max(1.0);
    let new = steps().enumerate().map(|(i, d)| if longest > 1.0 { (old[i] + longest * d).max(0.0) } else { solved[i] });
    new.collect()
}

struct System<'a> {
    data: &'a Data<'a>,
    blocks: &'a Blocks<'a>,
    neighbours: &'a Neighbours,
    settings: &'a WeightSettings,
    /// a Σ r², in units of L².
    alpha: f64,
    kept: Vec<Option<Quadratic>>,
    graph: Graph,
    solutions: Vec<Vec<f64>>,
}

impl System<'_> {
    fn quadratic(&self, at: usize) -> Result<Quadratic, FitError> {
        match &self.kept[at] {
            Some(quadratic) => Ok(quadratic.clone()),
            None => Ok(self.blocks.quadratic(&self.blocks.blocks[at], self.data, self.settings)?.0),
        }
    }

    /// The weights of a vertex as they stand.
    fn weights(&self, v: usize) -> impl Iterator<Item = (BoneIndex, f64)> + '_ {
        let (at, mirrored) = self.graph.block_of[v];
        let used = self.blocks.blocks[at].unknowns.iter().zip(&self.solutions[at]).filter(|(_, w)| **w != 0.0);
        used.flat_map(move |(u, w)| {
            u.bones().map(move |bone| (if mirrored { self.blocks.image(bone) } else { bone }, w / u.size()))
        })
    }

    /// A block's problem with its edges.
    fn with_edges(&self, at: usize) -> Result<Quadratic, FitError> {
        let (block, mut quadratic) = (&self.blocks.blocks[at], self.quadratic(at)?);
        let n = block.unknowns.len();
        let (mut diagonal, mut linear) = (vec![0.0; n], vec![0.0; n]);
        for (v, mirrored) in [(Some(block.v), false), (block.image, true)] {
            let Some(v) = v else { continue };
            for u in self.neighbours.of(v).iter().map(|&u| u as usize).filter(|&u| self.graph.block_of[u].0 != at) {
                for (i, unknown) in block.unknowns.iter().enumerate() {
                    diagonal[i] += self.alpha / unknown.size();
                }
                for (bone, w) in self.weights(u) {
                    let bone = if mirrored { self.blocks.image(bone) } else { bone };
                    let place = block.unknowns.iter().position(|u| u.bone == bone || u.twin == Some(bone));
                    if let Some(i) = place {
                        linear[i] += self.alpha * w / block.unknowns[i].size();
                    }
                }
            }
        }
        quadratic.add(&diagonal, &linear);
        if block.image.is_some_and(|image| self.neighbours.of(block.v).contains(&(image as u32))) {
            // The edge between the two: Σ_k (w_k − w_π(k))².
            for i in 0..n {
                let other = self.blocks.image(block.unknowns[i].bone);
                match block.unknowns.iter().position(|u| u.bone == other) {
                    Some(j) if j == i => {}
                    j => quadratic.couple(i, j, 2.0 * self.alpha),
                }
            }
        }
        Ok(quadratic)
    }

    /// Sweeps until the weights stand still: how many, the last change, the objective after each.
    fn settle(&mut self, entries: &[Vec<Entry>], ticker: &Ticker<'_>) -> Result<(usize, f64, Vec<f64>), FitError> {
        let mut change = f64::INFINITY;
        let mut descent = Vec::new();
        // Entries that are held now may have had weight: the first sweep must not start from it.
        for (solution, entries) in self.solutions.iter_mut().zip(entries) {
            let is_out = |(w, e): (&f64, &Entry)| matches!(e, Entry::Held(held) if held != w);
            if solution.iter().zip(entries).any(is_out) {
                let free = |e: &Entry| *e == Entry::Free;
                let held: f64 = entries.iter().map(|e| if let Entry::Held(w) = e { *w } else { 0.0 }).sum();
                let sum: f64 = solution.iter().zip(entries).filter(|(_, e)| free(e)).map(|(w, _)| w).sum();
                for (w, e) in solution.iter_mut().zip(entries) {
                    *w = match e {
                        Entry::Held(held) => *held,
                        Entry::Free if sum > 0.0 => *w * (1.0 - held).max(0.0) / sum,
                        Entry::Free => *w,
                    };
                }
            }
        }
        descent.push(self.objective()?);
        let mut moved = vec![true; self.solutions.len()];
        for sweep in 1..=MOST_SWEEPS {
            change = 0.0;
            for colour in 0..self.graph.colours.len() {
                // A block whose neighbours stood still is where it was.
                let of_colour = self.graph.colours[colour].iter().copied();
                let awake: Vec<usize> = of_colour.filter(|&at| moved[at] || self.graph.wakes(at, &moved)).collect();
                let solved: Vec<Vec<f64>> = awake
                    .par_iter()
                    .map(|&at| Ok(self.with_edges(at)?.minimise(&entries[at], Some(&self.solutions[at])).weights))
                    .collect::<Result<_, FitError>>()?;
                for (at, solved) in awake.into_iter().zip(solved) {
                    let new = beyond(&self.solutions[at], &solved, &entries[at]);
                    let by = self.solutions[at].iter().zip(&new).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    moved[at] = by > STILL;
                    change = by.max(change);
                    self.solutions[at] = new;
                }
            }
            ticker.tick(0)?;
            let before = descent[descent.len() - 1];
            descent.push(self.objective()?);
            if change < SETTLED || before - descent[descent.len() - 1] <= STANDS * before.abs() {
                return Ok((sweep, change, descent));
            }
        }
        Ok((MOST_SWEEPS, change, descent))
    }

    /// Σ |A w − b|² with ridges + α Σ_edges |w_u − w_v|², lengths over L.
    fn objective(&self) -> Result<f64, FitError> {
        let each: Vec<f64> = (0..self.kept.len())
            .into_par_iter()
            .map(|at| match &self.kept[at] {
                Some(q) => Ok(q.value(&self.solutions[at])),
                None => Ok(self.quadratic(at)?.value(&self.solutions[at])),
            })
            .collect::<Result<_, FitError>>()?;
        let weights = self.blocks.influences(self.solutions.iter().map(Vec::as_slice))?;
        Ok(each.iter().sum::<f64>() + self.alpha * super::roughness(&weights, self.neighbours))
    }
}

/// Which blocks touch.
struct Graph {
    /// Blocks of each colour, ascending.
    colours: Vec<Vec<usize>>,
    /// The block of each vertex, and whether the vertex is its mirrored side.
    block_of: Vec<(usize, bool)>,
    /// The blocks around each.
    around: Vec<Vec<u32>>,
}

impl Graph {
    fn new(blocks: &Blocks<'_>, neighbours: &Neighbours) -> Self {
        let sides = |b: &Block| [(Some(b.v), false), (b.image, true)].into_iter().filter_map(|(v, m)| Some((v?, m)));
        let mut block_of = vec![(0, false); blocks.vertices()];
        for (at, block) in blocks.blocks.iter().enumerate() {
            sides(block).for_each(|(v, mirrored)| block_of[v] = (at, mirrored));
        }
        let around: Vec<Vec<u32>> = blocks
            .blocks
            .iter()
            .enumerate()
            .map(|(at, block)| {
                let touching = sides(block).flat_map(|(v, _)| neighbours.of(v)).map(|&u| block_of[u as usize].0 as u32);
                let mut touching: Vec<u32> = touching.filter(|&other| other as usize != at).collect();
                touching.sort_unstable();
                touching.dedup();
                touching
            })
            .collect();
        let mut colour_of = vec![usize::MAX; blocks.blocks.len()];
        let mut colours: Vec<Vec<usize>> = Vec::new();
        for at in 0..blocks.blocks.len() {
            let taken: Vec<usize> = around[at].iter().map(|&other| colour_of[other as usize]).collect();
            let colour = (0..).find(|c| !taken.contains(c)).unwrap_or(0);
            colour_of[at] = colour;
            if colour == colours.len() {
                colours.push(Vec::new());
            }
            colours[colour].push(at);
        }
        Self { colours, block_of, around }
    }

    /// Whether a block around this one has moved.
    fn wakes(&self, at: usize, moved: &[bool]) -> bool {
        self.around[at].iter().any(|&other| moved[other as usize])
    }
}
