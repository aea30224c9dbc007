//! The problem of one vertex, or of two that mirror each other: its candidate bones, its matrix, its solution.

use super::{ALIKE, Choice, Fidelity, Locks, WeightKind, WeightSettings};
use crate::training::{FitError, Training, table};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Example, Influences, PrincipalBox, Skeleton, VertexIndex};
use dermis_solve::simplex::{Entry, Minimum, NEGLIGIBLE, Quadratic};
use dermis_solve::{SolveError, faer::Mat, min_norm, min_norm_of_sum};
use rayon::prelude::*;

/// More candidates than this are thinned to those that reproduce the vertex best on their own.
///
/// 64 holds every bone of the usual body. The matrix of 500 candidates takes a hundred times as long, and of bones that far away none
/// gets weight.
const MOST_CANDIDATES: usize = 64;

/// Up to so many candidates every exchange is tried, else those that weigh something without a limit.
const EXCHANGE_ALL: usize = 12;

/// Examples of positive importance, lengths over L.
pub(super) struct Data<'a> {
    rest: &'a [DVec3],
    skeleton: &'a Skeleton,
    children: Vec<Vec<BoneIndex>>,
    examples: Vec<&'a Example>,
    unit: f64,
    /// Σ r².
    pub(super) importance: f64,
}

impl<'a> Data<'a> {
    pub(super) fn new(training: &Training<'a>) -> Self {
        let examples: Vec<&Example> = training.examples.iter().filter(|e| e.importance > 0.0).collect();
        let importance = examples.iter().map(|e| e.importance * e.importance).sum();
        let skeleton = training.skeleton;
        let mut children = vec![Vec::new(); skeleton.len()];
        for bone in skeleton.bones() {
            if let Some(parent) = skeleton.parents()[bone] {
                children[parent.get()].push(bone);
            }
        }
        Self { rest: training.rest, skeleton, children, examples, unit: training.unit(), importance }
    }

    /// The distance from a vertex at rest to a bone, which reaches from its joint to those of its children, over L.
    fn distance(&self, v: usize, bone: BoneIndex) -> f64 {
        let place = |b: BoneIndex| self.skeleton.bind()[b].translation;
        let (p, start) = (self.rest[v], place(bone));
        let to = |end: DVec3| {
            let along = end - start;
            let t = ((p - start).dot(along) / along.length_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            p.distance(start + along * t)
        };
        self.children[bone.get()].iter().map(|&c| to(place(c))).fold(p.distance(start), f64::min) / self.unit
    }

    /// |a_i − a_j|² up to which two unknowns move a vertex alike, ridges included.
    pub(super) fn alike_limit(&self, settings: &WeightSettings) -> f64 {
        (ALIKE * ALIKE + 2.0 * settings.ridge) * self.importance
    }

    /// r (M_k p − x)/L of every example for one bone, or r M_k p/L.
    fn column(&self, v: usize, bone: BoneIndex, centred: bool) -> impl Iterator<Item = f64> + '_ {
        let p = self.rest[v];
        self.examples.iter().flat_map(move |e| {
            let at = e.transforms[bone].transform_point3(p);
            let from = if centred { e.positions[v] } else { DVec3::ZERO };
            ((at - from) * (e.importance / self.unit)).to_array()
        })
    }

    /// r x/L of every example.
    fn target(&self, v: usize) -> impl Iterator<Item = f64> + '_ {
        self.examples.iter().flat_map(move |e| (e.positions[v] * (e.importance / self.unit)).to_array())
    }

    /// How many vertices there are.
    pub(super) fn vertices(&self) -> usize {
        self.rest.len()
    }

    /// How far the blend with these weights is from the examples.
    pub(super) fn fidelity(&self, weights: &Influences) -> Fidelity {
        let of = |v: usize| {
            let (p, row) = (self.rest[v], weights.of(v));
            self.examples.iter().fold((0.0, 0.0f64), |(sum, most), e| {
                let at: DVec3 = row.iter().map(|&(bone, w)| w * e.transforms[bone].transform_point3(p)).sum();
                let d = at.distance(e.positions[v]);
                (sum + (e.importance * d).powi(2), most.max(d))
            })
        };
        let each: Vec<(f64, f64)> = (0..self.rest.len()).into_par_iter().map(of).collect();
        let (sum, max) = each.into_iter().fold((0.0, 0.0f64), |(sum, most), (s, m)| (sum + s, most.max(m)));
        Fidelity { rms: (sum / (self.importance * self.rest.len() as f64)).sqrt(), max }
    }

    /// Groups of bones that carry the whole box along the principal axes of the rest mesh alike in every example.
    pub(super) fn alike(&self) -> Vec<Vec<BoneIndex>> {
        let corners = PrincipalBox::of(self.rest).corners();
        let same = |a: BoneIndex, b: BoneIndex| {
            self.examples.iter().all(|e| {
                let apart =
                    |p: DVec3| e.transforms[a].transform_point3(p).distance(e.transforms[b].transform_point3(p));
                corners.iter().all(|corner| apart(*corner) <= ALIKE * self.unit)
            })
        };
        let mut groups: Vec<Vec<BoneIndex>> = Vec::new();
        for bone in self.skeleton.bones() {
            match groups.iter_mut().find(|group| same(group[0], bone)) {
                Some(group) => group.push(bone),
                None => groups.push(vec![bone]),
            }
        }
        groups.retain(|group| group.len() > 1);
        groups
    }
}

/// One unknown: the weight of a bone, or that of two bones that mirror each other at a vertex of the plane, shared evenly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unknown {
    pub(super) bone: BoneIndex,
    /// The other bone.
    pub(super) twin: Option<BoneIndex>,
}

impl Unknown {
    pub(super) fn bones(&self) -> impl Iterator<Item = BoneIndex> {
        std::iter::once(self.bone).chain(self.twin)
    }
    /// How many bones it stands for.
    pub(super) fn size(&self) -> f64 {
        if self.twin.is_some() { 2.0 } else { 1.0 }
    }
}

/// The problem of a vertex.
pub(super) struct Block {
    pub(super) v: usize,
    /// The vertex whose examples count as well, mirrored; it may be `v` itself.
    pooled: Option<usize>,
    /// The vertex that gets the mirrored weights.
    pub(super) image: Option<usize>,
    pub(super) unknowns: Vec<Unknown>,
    pub(super) entries: Vec<Entry>,
    /// How far the vertex is from each unknown's bone, lengths over L.
    distances: Vec<f64>,
}

/// A block solved.
pub(super) struct Solved {
    /// Per unknown, with as many influences as help.
    pub(super) unlimited: Vec<f64>,
    /// With as many as are allowed.
    pub(super) limited: Vec<f64>,
    /// All candidates move alike.
    pub(super) flat: bool,
}

pub(super) struct Blocks<'a> {
    pub(super) blocks: Vec<Block>,
    /// π: partners of the bones, if there is a mirror.
    bones: Option<&'a [BoneIndex]>,
    vertices: usize,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(training: &Training<'_>, data: &Data<'_>, settings: &'a WeightSettings) -> Self {
        let (vertices, count) = (training.rest.len(), training.skeleton.len());
        let all: Vec<BoneIndex> = training.skeleton.bones().collect();
        let candidates = |v: usize| -> Vec<BoneIndex> {
            let row = settings.candidates.as_ref().map_or(&[][..], |c| c.of(v));
            if row.is_empty() { all.clone() } else { row.iter().map(|(bone, _)| *bone).collect() }
        };
        let locked = settings.locks.as_ref().map(|locks| Locked::new(locks, vertices, count));
        let partner = |v: usize| -> Option<usize> {
            let of = |v: usize| settings.mirror.as_ref().and_then(|m| m.vertices[v]).map(|u| u as usize);
            // A lone influence cannot be shared between left and right.
            of(v).filter(|&u| of(u) == Some(v) && !(u == v && settings.influences == Some(1)))
        };
        let pi = settings.mirror.as_ref().map(|m| m.bones.as_slice());
        let image = |bone: BoneIndex| pi.map_or(bone, |pi| pi[bone.get()]);
        let blocks = (0..vertices).into_par_iter().filter_map(|v| {
            let held = |v: usize| locked.as_ref().is_some_and(|l| l.any(v));
            let (pooled, free) = (partner(v), !held(v) && !partner(v).is_some_and(held));
            if free && pooled.is_some_and(|u| u < v) {
                return None;
            }
            let mut bones = candidates(v);
            if let Some(u) = pooled {
                bones.extend(candidates(u).into_iter().map(image));
            }
            bones.sort_unstable();
            bones.dedup();
            let fixed = |bone: BoneIndex| locked.as_ref().and_then(|l| l.held(v, bone));
            if bones.len() > MOST_CANDIDATES {
                let error = |&bone: &BoneIndex| data.column(v, bone, true).map(|x| x * x).sum::<f64>();
                let mut ranked: Vec<(f64, BoneIndex)> = bones.iter().map(|b| (error(b), *b)).collect();
                ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                bones = ranked.into_iter().take(MOST_CANDIDATES).map(|(_, bone)| bone).collect();
            }
            if let Some(l) = &locked {
                bones.extend(l.locks.weights.of(v).iter().map(|e| e.0).filter(|&b| l.held(v, b).is_some()));
                let left = 1.0 - bones.iter().filter_map(|&b| fixed(b)).sum::<f64>();
                if left > NEGLIGIBLE && bones.iter().all(|&b| fixed(b).is_some()) {
                    // Nothing is left that could take the rest: the bones the vertex had, else any.
                    bones.extend(l.locks.weights.of(v).iter().map(|e| e.0));
                    if bones.iter().all(|&b| fixed(b).is_some()) {
                        bones.extend(&all);
                    }
                }
            }
            bones.sort_unstable();
            bones.dedup();
            let twin = |bone: BoneIndex| (free && pooled == Some(v)).then(|| image(bone)).filter(|t| *t != bone);
            let unknowns: Vec<Unknown> = bones
                .into_iter()
                .filter(|&bone| twin(bone).is_none_or(|t| bone < t))
                .map(|bone| Unknown { bone, twin: twin(bone) })
                .collect();
            let entries = unknowns.iter().map(|u| fixed(u.bone).map_or(Entry::Free, Entry::Held)).collect();
            let distances = unknowns.iter().map(|u| data.distance(v, u.bone)).collect();
            Some(Block { v, pooled, image: pooled.filter(|&u| free && u != v), unknowns, entries, distances })
        });
        Self { blocks: blocks.collect(), bones: pi, vertices }
    }

    /// π(bone).
    pub(super) fn image(&self, bone: BoneIndex) -> BoneIndex {
        self.bones.map_or(bone, |pi| pi[bone.get()])
    }

    /// The matrix of a block, one column per unknown: r (M_k p − x)/L, or r M_k p/L.
    fn columns(&self, block: &Block, data: &Data<'_>, centred: bool) -> Vec<Vec<f64>> {
        let column = |bone: BoneIndex| -> Vec<f64> {
            let own = data.column(block.v, bone, centred);
            match block.pooled {
                None => own.collect(),
                Some(u) => own.chain(data.column(u, self.image(bone), centred)).collect(),
            }
        };
        let of = |unknown: &Unknown| {
            let mut made = column(unknown.bone);
            if let Some(twin) = unknown.twin {
                made.iter_mut().zip(column(twin)).for_each(|(a, b)| *a = 0.5 * (*a + b));
            }
            made
        };
        block.unknowns.iter().map(of).collect()
    }

    /// |A w − b|² of a block with its ridge, and whether all candidates move alike.
    pub(super) fn quadratic(
        &self,
        block: &Block,
        data: &Data<'_>,
        settings: &WeightSettings,
    ) -> Result<(Quadratic, bool), FitError> {
        let columns = self.columns(block, data, true);
        let n = columns.len();
        let mut gram = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                gram[i * n + j] = dot(&columns[i], &columns[j]);
                gram[j * n + i] = gram[i * n + j];
            }
        }
        let mut quadratic = Quadratic::new(gram, vec![0.0; n]).map_err(|e| refused(block, e))?;
        let apart = (1..n).map(|i| quadratic.curvature(i, 0)).fold(0.0, f64::max);
        let flat = n > 1 && apart <= ALIKE * ALIKE * data.importance;
        let held: f64 = block.entries.iter().map(|e| if let Entry::Held(w) = e { *w } else { 0.0 }).sum();
        let sizes = block.unknowns.iter().zip(&block.entries).filter(|(_, e)| **e == Entry::Free);
        let free: f64 = sizes.map(|(u, _)| u.size()).sum();
        let towards: Vec<f64> =
            block.unknowns.iter().map(|u| u.size() * (1.0 - held).max(0.0) / free.max(1.0)).collect();
        quadratic.add_ridge(settings.ridge * data.importance, &towards);
        Ok((quadratic, flat))
    }

    /// Solves a block.
    pub(super) fn solve(&self, block: &Block, data: &Data<'_>, settings: &WeightSettings) -> Result<Solved, FitError> {
        if settings.kind != WeightKind::Convex {
            return self.solve_linear(block, data, settings);
        }
        let (quadratic, flat) = self.quadratic(block, data, settings)?;
        let groups = Groups::new(block, &quadratic, data.alike_limit(settings));
        let all = quadratic.minimise(&groups.entries, None);
        let shared = groups.shared(block, &all.weights);
        let limited = match settings.influences {
            Some(_) => limited(block, &quadratic, &all, settings, data).weights,
            None => shared.clone(),
        };
        Ok(Solved { limited, unlimited: shared, flat })
    }

    /// The plain or affine least-squares solution; with a limit, the smallest weight is left out and the rest solved again.
    fn solve_linear(&self, block: &Block, data: &Data<'_>, settings: &WeightSettings) -> Result<Solved, FitError> {
        let affine = settings.kind == WeightKind::Affine;
        let columns = self.columns(block, data, affine);
        let rows = columns.first().map_or(0, Vec::len);
        let target: Vec<f64> = match affine {
            true => vec![0.0; rows],
            false => data.target(block.v).chain(block.pooled.into_iter().flat_map(|u| data.target(u))).collect(),
        };
        let mut entries = block.entries.clone();
        let held =
            |entries: &[Entry]| -> f64 { entries.iter().map(|e| if let Entry::Held(w) = e { *w } else { 0.0 }).sum() };
        let solve = |entries: &[Entry]| -> Result<Vec<f64>, FitError> {
            let free: Vec<usize> = (0..entries.len()).filter(|&i| entries[i] == Entry::Free).collect();
            let mut left = target.clone();
            let mut w = vec![0.0; entries.len()];
            for (i, entry) in entries.iter().enumerate() {
                if let Entry::Held(value) = *entry {
                    w[i] = value;
                    left.iter_mut().zip(&columns[i]).for_each(|(b, a)| *b -= value * a);
                }
            }
            if free.is_empty() {
                return Ok(w);
            }
            let a = Mat::from_fn(rows, free.len(), |r, k| columns[free[k]][r]);
            // Singular values of the size of rounding say nothing, also where all of them are.
            let floor = SINGULAR * (rows as f64 / 3.0).sqrt();
            let found = match affine {
                true => min_norm_of_sum(a.as_ref(), &left, 1.0 - held(entries), SINGULAR, floor),
                false => min_norm(a.as_ref(), &left, SINGULAR, floor),
            };
            free.iter().zip(found.map_err(|e| refused(block, e))?).for_each(|(&i, x)| w[i] = x);
            Ok(w)
        };
        let unlimited = solve(&entries)?;
        let mut found = unlimited.clone();
        let size = |w: &[f64]| -> usize {
            let used = w.iter().zip(&block.unknowns).filter(|(w, _)| w.abs() > NEGLIGIBLE);
            used.map(|(_, u)| u.size() as usize).sum()
        };
        while settings.influences.is_some_and(|most| size(&found) > most) {
            let used = (0..found.len()).filter(|&i| entries[i] == Entry::Free && found[i].abs() > NEGLIGIBLE);
            let (count, least) =
                (used.clone().count(), used.min_by(|&a, &b| found[a].abs().total_cmp(&found[b].abs())));
            match least.filter(|_| count > 1) {
                Some(least) => entries[least] = Entry::Held(0.0),
                None => break,
            }
            found = solve(&entries)?;
        }
        Ok(Solved { unlimited, limited: found, flat: false })
    }

    /// The weights of all vertices from the solutions of all blocks.
    ///
    /// # Errors
    /// [`FitError::Table`] for a solution that is not finite.
    pub(super) fn influences<'s>(&self, solutions: impl Iterator<Item = &'s [f64]>) -> Result<Influences, FitError> {
        let mut rows: Vec<Vec<(BoneIndex, f64)>> = vec![Vec::new(); self.vertices];
        for (block, solution) in self.blocks.iter().zip(solutions) {
            let used = || block.unknowns.iter().zip(solution).filter(|(_, w)| **w != 0.0);
            let row = used().flat_map(|(u, w)| u.bones().map(move |bone| (bone, w / u.size())));
            rows[block.v] = row.collect();
            if let Some(image) = block.image {
                rows[image] = used().map(|(u, &w)| (self.image(u.bone), w)).collect();
            }
        }
        table("the fitted weights", rows)
    }

    /// How many vertices there are.
    pub(super) fn vertices(&self) -> usize {
        self.vertices
    }

    /// How many vertices a block gives weights to.
    pub(super) fn vertices_of(&self, block: &Block) -> u64 {
        1 + u64::from(block.image.is_some())
    }

    /// Vertices of the blocks marked.
    pub(super) fn undetermined(&self, flat: &[bool]) -> usize {
        self.blocks.iter().zip(flat).filter(|(_, flat)| **flat).map(|(b, _)| self.vertices_of(b) as usize).sum()
    }

    /// The mean and the largest number of candidates.
    pub(super) fn candidates(&self) -> (f64, usize) {
        let sizes = || self.blocks.iter().map(|b| b.unknowns.iter().map(|u| u.size() as usize).sum::<usize>());
        (sizes().sum::<usize>() as f64 / self.blocks.len().max(1) as f64, sizes().max().unwrap_or(0))
    }

    /// Vertices that share weights with their mirror image, or are their own.
    pub(super) fn mirrored(&self) -> usize {
        let of = |b: &Block| match (b.image, b.pooled) {
            (Some(_), _) => 2,
            (None, Some(_)) => 1,
            (None, None) => 0,
        };
        self.blocks.iter().map(of).sum()
    }
}

/// Singular values below this share of the largest, or of L per example, count as zero in plain and affine fits.
const SINGULAR: f64 = 1e-10;

/// Unknowns that move the vertex alike, in groups; of each the nearest bone comes first and stands for it, so that none of few
/// influences is spent on a second.
struct Groups {
    groups: Vec<Vec<usize>>,
    /// The entries of a problem in which only those that stand for a group are free.
    entries: Vec<Entry>,
}

impl Groups {
    fn new(block: &Block, quadratic: &Quadratic, limit: f64) -> Self {
        let mut entries = block.entries.clone();
        let mut order: Vec<usize> = (0..entries.len()).filter(|&i| entries[i] == Entry::Free).collect();
        order.sort_by(|&a, &b| block.distances[a].total_cmp(&block.distances[b]).then(a.cmp(&b)));
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for i in order {
            match groups.iter_mut().find(|group| quadratic.curvature(i, group[0]) <= limit) {
                Some(group) => {
                    group.push(i);
                    entries[i] = Entry::Held(0.0);
                }
                None => groups.push(vec![i]),
            }
        }
        Self { groups, entries }
    }

    /// The weight of each group shared evenly by its bones.
    fn shared(&self, block: &Block, w: &[f64]) -> Vec<f64> {
        let mut shared = w.to_vec();
        for group in self.groups.iter().filter(|group| group.len() > 1) {
            let bones: f64 = group.iter().map(|&i| block.unknowns[i].size()).sum();
            group.iter().for_each(|&i| shared[i] = w[group[0]] * block.unknowns[i].size() / bones);
        }
        shared
    }
}

/// A minimum with at most as many influences as are allowed.
pub(super) fn limited(
    block: &Block,
    quadratic: &Quadratic,
    all: &Minimum,
    settings: &WeightSettings,
    data: &Data<'_>,
) -> Minimum {
    let Some(most) = settings.influences else { return all.clone() };
    if settings.choice == Choice::Smallest {
        return quadratic.minimise_sparse(&block.entries, most);
    }
    let entries = &Groups::new(block, quadratic, data.alike_limit(settings)).entries;
    let n = block.unknowns.len();
    let size = |w: &[f64]| -> usize {
        let used = w.iter().zip(&block.unknowns).filter(|(w, _)| **w > NEGLIGIBLE);
        used.map(|(_, u)| u.size() as usize).sum()
    };
    if block.unknowns.iter().any(|u| u.twin.is_some()) {
        let tried = (1..=most).rev().map(|most| quadratic.minimise_sparse(entries, most));
        let mut last = all.clone();
        for found in tried {
            last = found;
            if size(&last.weights) <= most {
                break;
            }
        }
        return last;
    }
    let free = quadratic.minimise(entries, None);
    let found = quadratic.minimise_sparse(entries, most);
    if free.count() <= most {
        return found;
    }
    let pool: Vec<usize> = match n <= EXCHANGE_ALL {
        true => (0..n).collect(),
        false => (0..n).filter(|&i| free.weights[i] > NEGLIGIBLE).collect(),
    };
    quadratic.exchange(entries, &pool, found)
}

/// What locks hold.
struct Locked<'a> {
    locks: &'a Locks,
    bones: Vec<bool>,
    vertices: Vec<bool>,
    /// Sorted.
    pairs: Vec<(u32, BoneIndex)>,
}

impl<'a> Locked<'a> {
    fn new(locks: &'a Locks, vertices: usize, bones: usize) -> Self {
        let mut made =
            Self { locks, bones: vec![false; bones], vertices: vec![false; vertices], pairs: locks.pairs.clone() };
        locks.bones.iter().for_each(|b| made.bones[b.get()] = true);
        locks.vertices.iter().for_each(|&v| made.vertices[v as usize] = true);
        made.pairs.sort_unstable();
        made
    }

    /// Whether anything is held at a vertex.
    fn any(&self, v: usize) -> bool {
        let at = self.pairs.partition_point(|pair| (pair.0 as usize) < v);
        !self.locks.bones.is_empty() || self.vertices[v] || self.pairs.get(at).is_some_and(|pair| pair.0 as usize == v)
    }

    /// The weight that a bone must keep at a vertex.
    fn held(&self, v: usize, bone: BoneIndex) -> Option<f64> {
        let held = self.vertices[v] || self.bones[bone.get()] || self.pairs.binary_search(&(v as u32, bone)).is_ok();
        held.then(|| self.locks.weights.value(v, bone))
    }
}

fn refused(block: &Block, source: SolveError) -> FitError {
    FitError::Solve { vertex: VertexIndex::new(block.v), source }
}

/// Four sums at a time, which the compiler turns into vectors; the order is fixed.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (four_a, four_b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = four_a.remainder().iter().zip(four_b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in four_a.zip(four_b) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums[0] + sums[1] + (sums[2] + sums[3]) + rest
}
