//! The weights of one vertex, from its pairs.

use super::ScanSettings;
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::Neighbours;
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Skeleton};
use dermis_solve::SolveError;
use dermis_solve::simplex::{Entry, Quadratic};
use rayon::prelude::*;

/// A vertex's place on a scan.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    /// c.
    pub point: DVec3,
    /// n.
    pub normal: DVec3,
    /// From the posed vertex.
    pub distance: f64,
}

/// The weights of one vertex, as a least-squares problem on its candidate bones.
pub(super) struct Problem {
    /// Ascending.
    candidates: Vec<BoneIndex>,
    /// Σ_s of (M_k p − c)ᵀ D (M_l p − c): centred on the pairs, which the sum of weights allows. Lengths in L.
    gram: Vec<f64>,
    /// Σ_s of n·(M_k p − c).
    along: Vec<f64>,
    /// Scans that have a pair for the vertex itself.
    pub(super) pairs: usize,
    /// S.
    weight: f64,
}

/// ρ: pairs that say there is no offset.
const RHO: f64 = 1.0;
/// The least ridge of a pair: bones that carry a vertex less than a thousandth of the rest diagonal apart are not told apart by
/// scans, whose noise is of that size.
const FLOOR: f64 = 1e-7;

/// Candidate bones per vertex at most: the arm of a body needs five, a hand eight.
const MOST_CANDIDATES: usize = 12;

/// Candidates of every vertex: bones that have weight at it or two edges away, at the start or now, and the neighbours of its
/// strongest in the skeleton. A start that names wrong bones is left behind step by step: a fox's belly between its legs began with
/// the legs' bones, and its error fell from 4.1 mm to 0.9. Where candidates are given, those alone count.
pub(super) fn problems(
    skeleton: &Skeleton,
    start: &Influences,
    now: &Influences,
    given: Option<&Influences>,
    neighbours: &Neighbours,
) -> Vec<Problem> {
    let children = |bone: BoneIndex| skeleton.bones().filter(move |b| skeleton.parents()[*b] == Some(bone));
    let related: Vec<Vec<BoneIndex>> =
        skeleton.bones().map(|bone| skeleton.parents()[bone].into_iter().chain(children(bone)).collect()).collect();
    (0..start.vertices())
        .into_par_iter()
        .map(|v| {
            if let Some(row) = given.map(|given| given.of(v)).filter(|row| !row.is_empty()) {
                let mut candidates: Vec<BoneIndex> = row.iter().map(|(bone, _)| *bone).collect();
                candidates.sort_unstable();
                return Problem::new(candidates);
            }
            let mut sums: Vec<(BoneIndex, f64)> =
                start.of(v).iter().chain(now.of(v)).map(|&(b, w)| (b, 100.0 * w)).collect();
            for &near in neighbours.of(v) {
                for &vertex in neighbours.of(near as usize) {
                    sums.extend_from_slice(start.of(vertex as usize));
                    sums.extend_from_slice(now.of(vertex as usize));
                }
            }
            if let Some(strongest) = now.dominant(v) {
                sums.extend(related[strongest.get()].iter().map(|&bone| (bone, 1e-3)));
            }
            sums.sort_by_key(|s| s.0);
            sums.dedup_by(|next, first| {
                let same = next.0 == first.0;
                first.1 += if same { next.1 } else { 0.0 };
                same
            });
            sums.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            sums.truncate(MOST_CANDIDATES);
            let mut candidates: Vec<BoneIndex> = sums.into_iter().map(|s| s.0).collect();
            candidates.sort_unstable();
            Problem::new(candidates)
        })
        .collect()
}

impl Problem {
    fn new(candidates: Vec<BoneIndex>) -> Self {
        let n = candidates.len();
        Self { candidates, gram: vec![0.0; n * n], along: vec![0.0; n], pairs: 0, weight: 0.0 }
    }

    /// A pair of the point `p` of the mesh, counted `weight` times.
    pub(super) fn add(
        &mut self,
        p: DVec3,
        transforms: &BoneTransforms,
        pair: &Pair,
        weight: f64,
        tangential: f64,
        length: f64,
    ) {
        let n = self.candidates.len();
        let normal = pair.normal;
        // √D = n nᵀ + τ (I − n nᵀ).
        let weighed = |x: DVec3| x * tangential + normal * (x.dot(normal) * (1.0 - tangential));
        let column = |bone: &BoneIndex| weighed((transforms[*bone].transform_point3(p) - pair.point) / length);
        let columns: Vec<DVec3> = self.candidates.iter().map(column).collect();
        for k in 0..n {
            self.along[k] += weight * columns[k].dot(normal);
            for l in 0..n {
                self.gram[k * n + l] += weight * columns[k].dot(columns[l]);
            }
        }
        self.weight += weight;
    }

    /// The new weights.
    pub(super) fn solve(
        &self,
        v: usize,
        weights: &Influences,
        neighbours: &Neighbours,
        settings: &ScanSettings,
    ) -> Result<Vec<(BoneIndex, f64)>, SolveError> {
        let now = weights.of(v);
        if self.weight == 0.0 || self.candidates.len() < 2 {
            return Ok(now.to_vec());
        }
        let n = self.candidates.len();
        let mut around = vec![0.0; n];
        let near = neighbours.of(v);
        for row in near.iter().map(|&u| weights.of(u as usize)).chain(near.is_empty().then_some(now)) {
            for (bone, w) in row {
                if let Ok(at) = self.candidates.binary_search(bone) {
                    around[at] += w / near.len().max(1) as f64;
                }
            }
        }
        // The offset that is best for any weights: o = Σ n·(M_k p − c) w_k / (pairs + ρ).
        let offset = |k: usize, l: usize| self.along[k] * self.along[l] / (self.weight + RHO);
        let gram = (0..n * n).map(|at| self.gram[at] - offset(at / n, at % n)).collect();
        let mut quadratic = Quadratic::new(gram, vec![0.0; n])?;
        // Where the pairs count for little, neighbours count for more.
        let doubt = (self.pairs as f64 / self.weight).max(1.0);
        quadratic.add_ridge(settings.smoothness * doubt * quadratic.mean_diagonal() + FLOOR * self.weight, &around);
        let found = quadratic.minimise_sparse(&vec![Entry::Free; n], settings.influences).weights;
        let row: Vec<(BoneIndex, f64)> =
            self.candidates.iter().zip(&found).filter(|(_, w)| **w > 0.0).map(|(b, w)| (*b, *w)).collect();
        let sum: f64 = found.iter().sum();
        Ok(row.into_iter().map(|(b, w)| (b, w / sum)).collect())
    }
}
