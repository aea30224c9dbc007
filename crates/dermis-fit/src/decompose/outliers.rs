//! Positions that no skin can have, and a sequence without them.
//!
//! Least squares count an error by its square. A vertex that a solver or an export throws across the room in one frame outweighs the whole
//! character: a bone is spent on it, and every frame loses. So such positions are found before the search and set aside.
//!
//! **How they are found.** An edge of the surface is torn in a frame s if its length ℓ_s is far from that at rest, with ℓ̄ the mean edge at rest:
//!
//! ```text
//! c = |ℓ_s − ℓ_0| / max(min(ℓ_s, ℓ_0), ℓ̄) > τ,   τ = max(3, 10 q)
//! ```
//!
//! q is the c that nine edges in ten stay below, so that a skin that stretches everywhere tears nowhere. Torn edges cut a connected component into
//! parts. All but the largest are adrift if they are small (at most 8 vertices, and a quarter of the component) and the skin around them does not
//! stretch: their edges to it change by four times as much as any of its own. Where more than a quarter of a component is adrift, that is how it
//! moves. A position is an outlier in each of these cases:
//!
//! - The vertex is adrift alone, in at most half of the frames, and in these four times as far from where the motion of its neighbours takes it as
//!   in the others: skin that is drawn out and goes back is on its way in the frames between.
//! - It is adrift alone in more, and farther from all its neighbours than a quarter of the mesh's extent in half of them. Then it is of no use as
//!   a bone.
//! - It is adrift with others that keep their shape, for one frame at a time, in at most a quarter of the frames.
//!
//! A part that is adrift for longer moves on its own: it is a bone, however few vertices it has.
//!
//! **What stands for them.** An outlier is no data. Until bones are known, its vertex is where the rigid motion of its neighbours takes it; then
//! where its own bones take it, and bones and weights are solved again, the weights of these vertices from their other frames alone. These are the
//! steps of expectation maximisation (Dempster, Laird & Rubin 1977): what remains is the least squares over the positions that count.

use super::Sequence;
use super::bone_maps::fit_rigid;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneTransforms, InfluenceError, Influences, PrincipalBox, Rows};
use dermis_solve::simplex::{Entry, Quadratic};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A position that was set aside: what the bones were found without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// The frame.
    pub frame: usize,
    /// The vertex.
    pub vertex: usize,
    /// How far the position is from where the bones take the vertex, metres.
    pub distance: f64,
}

/// τ at least, and in parts of the change that [`MOST_EDGES`] of the edges stay below.
const TORN: (f64, f64) = (3.0, 10.0);
const MOST_EDGES: f64 = 0.9;
/// Edges and frames that are looked at for it.
const LOOKS: usize = 1 << 20;
/// The largest part that is adrift: vertices, and the reciprocal of its share of its component.
const ADRIFT: (usize, usize) = (8, 4);
/// The share of the frames, as a reciprocal, in which a vertex is adrift alone, and with others.
const FRAMES: (usize, usize) = (2, 4);
/// How much more the edges of an outlier change than those around it, and how much farther it is from where its neighbours take it than in other
/// frames.
const SUDDEN: f64 = 4.0;
/// How far from its neighbours a vertex is of no use, in parts of the extent.
const FAR: f64 = 0.25;
/// Neighbours whose motion stands for a vertex's own, if there are as many.
const NEIGHBOURS: usize = 6;

/// A sequence whose outliers are replaced.
pub(super) struct Mended<'a> {
    sequence: Sequence<'a>,
    /// Frames with their outliers, ascending.
    outliers: BTreeMap<usize, BTreeSet<u32>>,
    /// The same frames, mended.
    own: BTreeMap<usize, Vec<DVec3>>,
    /// Along the edges of the surface.
    neighbours: Rows<u32>,
}

impl<'a> Mended<'a> {
    /// `None` for a sequence without outliers, which one without triangles never has.
    pub fn of(sequence: &Sequence<'a>) -> Option<Self> {
        let surface = Edges::of(sequence);
        let outliers = surface.outliers(sequence);
        let mend = |(&frame, of_frame): (&usize, &BTreeSet<u32>)| {
            let mut positions = sequence.frames[frame].to_vec();
            for &v in of_frame {
                positions[v as usize] = surface.carried(sequence, frame, v, of_frame);
            }
            (frame, positions)
        };
        let own = outliers.iter().map(mend).collect();
        (!outliers.is_empty()).then_some(Self { sequence: *sequence, outliers, own, neighbours: surface.neighbours })
    }

    /// The frames without outliers.
    pub fn frames(&self) -> Vec<&[DVec3]> {
        let given = self.sequence.frames.iter().enumerate();
        given.map(|(frame, positions)| self.own.get(&frame).map_or(*positions, Vec::as_slice)).collect()
    }

    /// Puts the vertices of outliers where their bones take them; how far the farthest moved, metres.
    pub fn follow(&mut self, weights: &Influences, transforms: &[BoneTransforms]) -> f64 {
        let mut farthest: f64 = 0.0;
        for (frame, positions) in &mut self.own {
            for &v in &self.outliers[frame] {
                let at = posed(self.sequence.rest, weights, &transforms[*frame], v as usize);
                farthest = farthest.max(at.distance(positions[v as usize]));
                positions[v as usize] = at;
            }
        }
        farthest
    }

    /// Weights with those of vertices with outliers solved once more: what reproduces the other frames of the vertex best, among the bones that it and its
    /// neighbours have. Steps that put an outlier where the last weights take it would need as many rounds as it has outliers. Vertices that `keeps` names keep
    /// theirs.
    pub fn solved(
        &self,
        weights: &Influences,
        transforms: &[BoneTransforms],
        influences: usize,
        keeps: &dyn Fn(usize) -> bool,
    ) -> Result<Influences, InfluenceError> {
        let mut of_vertex: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        for (&frame, of_frame) in &self.outliers {
            for &v in of_frame {
                of_vertex.entry(v).or_default().insert(frame);
            }
        }
        let mut rows: Vec<Vec<(BoneIndex, f64)>> = weights.rows().map(<[_]>::to_vec).collect();
        for (&v, outliers) in of_vertex.iter().filter(|(v, _)| !keeps(**v as usize)) {
            let v = v as usize;
            let around = self.neighbours.of(v).iter().map(|&u| weights.of(u as usize));
            let bones: BTreeSet<BoneIndex> = around.chain([weights.of(v)]).flatten().map(|(bone, _)| *bone).collect();
            let bones: Vec<BoneIndex> = bones.into_iter().collect();
            let (rest, frames) = (self.sequence.rest[v], self.sequence.frames);
            let counts = (0..frames.len()).filter(|frame| !outliers.contains(frame));
            let off = |bone: &BoneIndex| -> Vec<DVec3> {
                counts.clone().map(|frame| transforms[frame][*bone].transform_point3(rest) - frames[frame][v]).collect()
            };
            let offs: Vec<Vec<DVec3>> = bones.iter().map(off).collect();
            let dot = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
            let gram = offs.iter().flat_map(|a| offs.iter().map(|b| dot(a, b))).collect();
            let Ok(mut quadratic) = Quadratic::new(gram, vec![0.0; bones.len()]) else { continue };
            let now: Vec<f64> = bones.iter().map(|bone| weights.value(v, *bone)).collect();
            quadratic.add_ridge(1e-9 * quadratic.mean_diagonal() + f64::MIN_POSITIVE, &now);
            let found = quadratic.minimise_sparse(&vec![Entry::Free; bones.len()], influences).weights;
            let sum: f64 = found.iter().sum();
            rows[v] = bones.into_iter().zip(found).filter(|e| e.1 > 0.0).map(|(bone, w)| (bone, w / sum)).collect();
        }
        Influences::from_rows(rows)
    }

    /// What was set aside, by frame and then by vertex.
    pub fn outliers(&self) -> Vec<Outlier> {
        let all = self.outliers.iter().flat_map(|(frame, of_frame)| of_frame.iter().map(|v| (*frame, *v as usize)));
        let away =
            |(frame, vertex): (usize, usize)| self.own[&frame][vertex].distance(self.sequence.frames[frame][vertex]);
        all.map(|(frame, vertex)| Outlier { frame, vertex, distance: away((frame, vertex)) }).collect()
    }
}

/// The frames of a sequence with its outliers where bones take them: a copy of each frame that has some, by its number.
pub fn without_outliers(
    sequence: &Sequence<'_>,
    outliers: &[Outlier],
    weights: &Influences,
    transforms: &[BoneTransforms],
) -> BTreeMap<usize, Vec<DVec3>> {
    let mut own = BTreeMap::new();
    for outlier in outliers {
        let positions = own.entry(outlier.frame).or_insert_with(|| sequence.frames[outlier.frame].to_vec());
        positions[outlier.vertex] = posed(sequence.rest, weights, &transforms[outlier.frame], outlier.vertex);
    }
    own
}

/// Where linear blending takes a vertex.
fn posed(rest: &[DVec3], weights: &Influences, pose: &BoneTransforms, v: usize) -> DVec3 {
    weights.of(v).iter().map(|&(k, w)| w * pose[k].transform_point3(rest[v])).sum()
}

/// The edges of a surface.
struct Edges {
    /// Each once, lower vertex first, with its length at rest.
    edges: Vec<(u32, u32, f64)>,
    /// ℓ̄.
    mean: f64,
    neighbours: Rows<u32>,
}

/// A vertex adrift in a frame.
struct Adrift {
    vertex: u32,
    frame: usize,
    /// How far it is from its nearest neighbour, here or at rest, if it is alone.
    alone: Option<f64>,
}

impl Edges {
    fn of(sequence: &Sequence<'_>) -> Self {
        let exists = |triangle: &&[u32; 3]| triangle.iter().all(|&corner| (corner as usize) < sequence.rest.len());
        let mut ends: Vec<(u32, u32)> = sequence
            .triangles
            .iter()
            .filter(exists)
            .flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)])
            .map(|(a, b)| (a.min(b), a.max(b)))
            .filter(|(a, b)| a != b)
            .collect();
        ends.sort_unstable();
        ends.dedup();
        let length = |a: u32, b: u32| sequence.rest[a as usize].distance(sequence.rest[b as usize]);
        let edges: Vec<(u32, u32, f64)> = ends.iter().map(|&(a, b)| (a, b, length(a, b))).collect();
        let both = ends.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]).collect();
        let mean = edges.iter().map(|e| e.2).sum::<f64>() / edges.len().max(1) as f64;
        Self { edges, mean, neighbours: Rows::by_row(sequence.rest.len(), both) }
    }

    /// c of an edge in a frame.
    fn change(&self, &(a, b, rest): &(u32, u32, f64), frame: &[DVec3]) -> f64 {
        let length = frame[a as usize].distance(frame[b as usize]);
        (length - rest).abs() / length.min(rest).max(self.mean).max(f64::MIN_POSITIVE)
    }

    /// τ.
    fn torn_from(&self, sequence: &Sequence<'_>) -> f64 {
        let stride = (self.edges.len() * sequence.frames.len()).div_ceil(LOOKS).max(1);
        let looks = |(at, frame): (usize, &&[DVec3])| -> Vec<f64> {
            self.edges.iter().skip(at % stride).step_by(stride).map(|edge| self.change(edge, frame)).collect()
        };
        let mut changes: Vec<f64> = sequence.frames.par_iter().enumerate().flat_map_iter(looks).collect();
        let at = (MOST_EDGES * changes.len() as f64) as usize;
        match at < changes.len() {
            true => TORN.0.max(TORN.1 * *changes.select_nth_unstable_by(at, f64::total_cmp).1),
            false => f64::INFINITY,
        }
    }

    /// The outliers of every frame that has some.
    fn outliers(&self, sequence: &Sequence<'_>) -> BTreeMap<usize, BTreeSet<u32>> {
        let torn_from = self.torn_from(sequence);
        let whole = Parts::of(sequence.rest.len(), self.edges.iter());
        let frames = sequence.frames.par_iter().enumerate();
        let adrift: Vec<Adrift> =
            frames.flat_map_iter(|(frame, x)| self.adrift(sequence, (frame, x), torn_from, &whole)).collect();
        let mut of_vertex: BTreeMap<u32, Vec<&Adrift>> = BTreeMap::new();
        let mut of_frame: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); sequence.frames.len()];
        for one in &adrift {
            of_vertex.entry(one.vertex).or_default().push(one);
            of_frame[one.frame].insert(one.vertex);
        }
        let (frames, far) = (sequence.frames.len(), FAR * PrincipalBox::of(sequence.rest).extent());
        let mut outliers: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
        for (&vertex, times) in &of_vertex {
            let mut away: Vec<f64> = times.iter().filter_map(|one| one.alone).collect();
            away.sort_by(f64::total_cmp);
            let alone = match FRAMES.0 * away.len() <= frames {
                true => self.is_sudden(sequence, vertex, times, &of_frame),
                false => away[away.len() / 2] > far,
            };
            let at_once = |frame: usize| times.iter().any(|other| other.frame.abs_diff(frame) == 1);
            let together = FRAMES.1 * (times.len() - away.len()) <= frames;
            for one in times {
                let is_outlier = match one.alone {
                    Some(_) => alone,
                    None => together && !at_once(one.frame),
                };
                if is_outlier {
                    outliers.entry(one.frame).or_default().insert(vertex);
                }
            }
        }
        outliers
    }

    /// Whether a vertex is much farther from where its neighbours take it in the frames in which it is adrift alone than in those in which it is
    /// not adrift: the medians of both.
    fn is_sudden(&self, sequence: &Sequence<'_>, vertex: u32, times: &[&Adrift], adrift: &[BTreeSet<u32>]) -> bool {
        let off = |frame: usize| {
            sequence.frames[frame][vertex as usize].distance(self.carried(sequence, frame, vertex, &adrift[frame]))
        };
        let (mut alone, mut attached) = (Vec::new(), Vec::new());
        for frame in 0..sequence.frames.len() {
            match times.iter().find(|one| one.frame == frame) {
                Some(one) if one.alone.is_some() => alone.push(off(frame)),
                Some(_) => {}
                None => attached.push(off(frame)),
            }
        }
        let median = |of: &mut Vec<f64>| {
            let middle = of.len() / 2;
            if of.is_empty() { 0.0 } else { *of.select_nth_unstable_by(middle, f64::total_cmp).1 }
        };
        median(&mut alone) > SUDDEN * median(&mut attached)
    }

    /// Where the rigid motion of its neighbours takes a vertex, of those that `without` leaves.
    fn carried(&self, sequence: &Sequence<'_>, frame: usize, v: u32, without: &BTreeSet<u32>) -> DVec3 {
        let around = self.around(v, without);
        let pairs = around.iter().map(|&u| (1.0, sequence.rest[u], sequence.frames[frame][u]));
        fit_rigid(pairs).transform_point3(sequence.rest[v as usize])
    }

    /// The vertices adrift in a frame, ascending.
    fn adrift(
        &self,
        sequence: &Sequence<'_>,
        (frame, x): (usize, &[DVec3]),
        torn_from: f64,
        whole: &Parts,
    ) -> Vec<Adrift> {
        let torn = |edge: &&(u32, u32, f64)| self.change(edge, x) > torn_from;
        if !self.edges.iter().any(|edge| torn(&edge)) {
            return vec![];
        }
        let parts = Parts::of(x.len(), self.edges.iter().filter(|edge| !torn(edge)));
        // The largest part of every component, the first of equals.
        let mut body: BTreeMap<u32, u32> = BTreeMap::new();
        for v in (0..x.len() as u32).filter(|&v| parts.first(v) == v) {
            let largest = body.entry(whole.first(v)).or_insert(v);
            if parts.size(v) > parts.size(*largest) {
                *largest = v;
            }
        }
        let is_adrift = |v: u32| {
            let (size, of) = (parts.size(v), whole.size(v));
            body[&whole.first(v)] != parts.first(v) && size <= ADRIFT.0 && ADRIFT.1 * size <= of
        };
        let adrift: Vec<u32> = (0..x.len() as u32).filter(|&v| is_adrift(v)).collect();
        let mut of_component: BTreeMap<u32, usize> = BTreeMap::new();
        adrift.iter().for_each(|&v| *of_component.entry(whole.first(v)).or_default() += 1);
        let few = |v: &u32| ADRIFT.1 * of_component[&whole.first(*v)] <= whole.size(*v);
        let (rest, alone) = (sequence.rest, self.torn_alone(sequence.rest, x, &adrift, &parts));
        let nearest = |v: u32| {
            // A place at rest that is wrong lies far off in every frame.
            let apart = |x: &[DVec3], u: u32| x[u as usize].distance(x[v as usize]);
            let away = |u: &u32| apart(x, *u).max(apart(rest, *u));
            self.neighbours.of(v as usize).iter().map(away).fold(f64::INFINITY, f64::min)
        };
        let one = |vertex: u32| Adrift { vertex, frame, alone: (parts.size(vertex) == 1).then(|| nearest(vertex)) };
        adrift.iter().copied().filter(few).filter(|v| alone.contains(&parts.first(*v))).map(one).collect()
    }

    /// The parts adrift that skin around them does not follow, by their first vertex: their edges to it change by more than four times what any of
    /// its own do. Where skin stretches, the edges around a part that it carries far stretch too.
    fn torn_alone(&self, rest: &[DVec3], x: &[DVec3], adrift: &[u32], parts: &Parts) -> BTreeSet<u32> {
        let change = |a: u32, b: u32| self.change(&(a, b, rest[a as usize].distance(rest[b as usize])), x);
        let stays = |v: &u32| adrift.binary_search(v).is_err();
        let mut torn: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let mut around: BTreeMap<u32, f64> = BTreeMap::new();
        for &v in adrift {
            let (torn, around) = (torn.entry(parts.first(v)).or_default(), around.entry(parts.first(v)).or_default());
            for &u in self.neighbours.of(v as usize).iter().filter(|u| stays(u)) {
                torn.push(change(v, u));
                let beside = self.neighbours.of(u as usize).iter().filter(|w| stays(w));
                *around = beside.map(|&w| change(u, w)).fold(*around, f64::max);
            }
        }
        let is_alone = |(part, torn): &mut (u32, Vec<f64>)| {
            let middle = torn.len() / 2;
            torn.is_empty() || *torn.select_nth_unstable_by(middle, f64::total_cmp).1 > SUDDEN * around[part]
        };
        torn.into_iter().filter_map(|mut one| is_alone(&mut one).then_some(one.0)).collect()
    }

    /// Vertices around one that are no outliers: ring by ring, until there are enough.
    fn around(&self, v: u32, outliers: &BTreeSet<u32>) -> Vec<usize> {
        let (mut seen, mut ring, mut found) = (BTreeSet::from([v]), vec![v], Vec::new());
        while found.len() < NEIGHBOURS && !ring.is_empty() {
            let beside = ring.iter().flat_map(|&u| self.neighbours.of(u as usize));
            let next: BTreeSet<u32> = beside.copied().filter(|u| !seen.contains(u)).collect();
            seen.extend(&next);
            found.extend(next.iter().filter(|u| !outliers.contains(u)).map(|&u| u as usize));
            ring = next.into_iter().collect();
        }
        found
    }
}

/// The parts of a graph.
struct Parts {
    /// The first vertex of each vertex's part.
    first: Vec<u32>,
    /// The vertices of the part that begins there.
    sizes: Vec<usize>,
}

impl Parts {
    fn of<'e>(vertices: usize, edges: impl Iterator<Item = &'e (u32, u32, f64)>) -> Self {
        fn root(first: &mut [u32], mut v: u32) -> u32 {
            while first[v as usize] != v {
                first[v as usize] = first[first[v as usize] as usize];
                v = first[v as usize];
            }
            v
        }
        let mut first: Vec<u32> = (0..vertices as u32).collect();
        for &(a, b, _) in edges {
            let (a, b) = (root(&mut first, a), root(&mut first, b));
            first[a.max(b) as usize] = a.min(b);
        }
        let mut sizes = vec![0; vertices];
        for v in 0..vertices as u32 {
            let of = root(&mut first, v);
            first[v as usize] = of;
            sizes[of as usize] += 1;
        }
        Self { first, sizes }
    }

    fn first(&self, v: u32) -> u32 {
        self.first[v as usize]
    }

    fn size(&self, v: u32) -> usize {
        self.sizes[self.first(v) as usize]
    }
}
