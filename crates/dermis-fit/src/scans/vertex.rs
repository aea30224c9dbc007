//! The weights of one vertex, from its pairs.

use super::ScanSettings;
use crate::heat::{bone_segments, distance_to_bone};
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::{Neighbours, vertex_areas};
use dermis_rig::{BoneIndex, BoneTransforms, BoneVec, Influences, Mesh, Skeleton};
use dermis_solve::SolveError;
use dermis_solve::simplex::{Entry, NEGLIGIBLE, Quadratic};
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
    /// δ² of every candidate.
    detours: Vec<f64>,
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
/// b: the square of the noise of a scan, 3e-4 L. Scans do not tell bones apart that carry a vertex less than that apart.
const NOISE: f64 = 1e-7;

/// Candidate bones per vertex at most: the arm of a body needs five, a hand eight.
const MOST_CANDIDATES: usize = 12;

/// The bones that carry skin, and how far they are from it.
pub(super) struct Bones<'a> {
    /// At rest.
    positions: &'a [DVec3],
    /// At rest; none for a bone without skin.
    segments: BoneVec<Vec<[DVec3; 2]>>,
    /// The parent and the children of every bone, as far as they carry skin.
    related: BoneVec<Vec<BoneIndex>>,
    /// How far every vertex is from its nearest bone.
    nearest: Vec<f64>,
    /// The mean of that over the area of the skin, at least √b.
    thickness: f64,
}

impl<'a> Bones<'a> {
    /// The bones that have weight at some vertex in one of `weights`: a helper that a rig leaves without skin stays so.
    ///
    /// - `length`: L
    pub(super) fn new(mesh: &'a Mesh, skeleton: &Skeleton, weights: &[&Influences], length: f64) -> Self {
        let mut carries = BoneVec::new(vec![false; skeleton.len()]);
        for rows in weights {
            (0..rows.vertices()).flat_map(|v| rows.of(v)).for_each(|(bone, _)| carries[*bone] = true);
        }
        let related = skeleton.bones().map(|bone| {
            let children = skeleton.bones().filter(|other| skeleton.parents()[*other] == Some(bone));
            skeleton.parents()[bone].into_iter().chain(children).filter(|other| carries[*other]).collect()
        });
        let mut bones = Self {
            positions: &mesh.positions,
            segments: bone_segments(skeleton, |bone| !carries[bone]),
            related: BoneVec::new(related.collect()),
            nearest: Vec::new(),
            thickness: 0.0,
        };
        let from_any = |v| skeleton.bones().map(|bone| bones.distance(v, bone)).fold(f64::INFINITY, f64::min);
        bones.nearest = (0..mesh.positions.len()).into_par_iter().map(from_any).collect();
        let areas = vertex_areas(&mesh.positions, &mesh.triangles);
        let sum: f64 = bones.nearest.iter().zip(&areas).map(|(distance, area)| distance * area).sum();
        bones.thickness = (sum / areas.iter().sum::<f64>()).max(NOISE.sqrt() * length);
        bones
    }

    /// From a vertex to the nearest point of a bone.
    fn distance(&self, v: usize, bone: BoneIndex) -> f64 {
        distance_to_bone(self.positions[v], &self.segments[bone])
    }

    /// δ²: by how much a bone is farther from a vertex than the nearest, relative to the body's thickness, squared.
    fn detour(&self, v: usize, bone: BoneIndex) -> f64 {
        ((self.distance(v, bone) - self.nearest[v]) / self.thickness).powi(2)
    }
}

/// Candidates of every vertex: bones that have weight at it or two edges away, at the start or now, and the neighbours of its
/// strongest in the skeleton. A start that names wrong bones is left behind step by step: a fox's belly between its legs began with
/// the legs' bones, and its error fell from 4.1 mm to 0.9. Where candidates are given, those alone count.
pub(super) fn problems(
    bones: &Bones<'_>,
    start: &Influences,
    now: &Influences,
    given: Option<&Influences>,
    neighbours: &Neighbours,
) -> Vec<Problem> {
    (0..start.vertices())
        .into_par_iter()
        .map(|v| {
            let mut candidates = match given.map(|given| given.of(v)).filter(|row| !row.is_empty()) {
                Some(row) => row.iter().map(|(bone, _)| *bone).collect(),
                None => candidates(v, bones, [start, now], neighbours),
            };
            candidates.sort_unstable();
            Problem::new(candidates, |bone| bones.detour(v, bone))
        })
        .collect()
}

/// The bones with most weight around a vertex in two sets of weights, of which the second is the present one.
fn candidates(v: usize, bones: &Bones<'_>, weights: [&Influences; 2], neighbours: &Neighbours) -> Vec<BoneIndex> {
    let mut sums: Vec<(BoneIndex, f64)> = weights.iter().flat_map(|w| w.of(v)).map(|&(b, w)| (b, 100.0 * w)).collect();
    let around = neighbours.of(v).iter().flat_map(|near| neighbours.of(*near as usize));
    for &vertex in around {
        weights.iter().for_each(|weights| sums.extend_from_slice(weights.of(vertex as usize)));
    }
    // In single precision: on a plane of symmetry left and right have the same weight but for rounding, which depends on how the rig stands.
    let stronger = |a: f64, b: f64| a as f32 > b as f32;
    let now = weights[1].of(v).iter();
    let strongest = now.copied().reduce(|best, other| if stronger(other.1, best.1) { other } else { best });
    if let Some((strongest, _)) = strongest {
        sums.extend(bones.related[strongest].iter().map(|&bone| (bone, 1e-3)));
    }
    sums.sort_by_key(|s| s.0);
    sums.dedup_by(|next, first| {
        let same = next.0 == first.0;
        first.1 += if same { next.1 } else { 0.0 };
        same
    });
    sums.sort_by(|a, b| (b.1 as f32).total_cmp(&(a.1 as f32)).then(a.0.cmp(&b.0)));
    sums.truncate(MOST_CANDIDATES);
    sums.into_iter().map(|s| s.0).collect()
}

impl Problem {
    fn new(candidates: Vec<BoneIndex>, detour: impl Fn(BoneIndex) -> f64) -> Self {
        let n = candidates.len();
        let detours = candidates.iter().map(|bone| detour(*bone)).collect();
        Self { candidates, detours, gram: vec![0.0; n * n], along: vec![0.0; n], pairs: 0, weight: 0.0 }
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
        let floor = NOISE * self.weight;
        let linear = self.detours.iter().map(|detour| -0.5 * floor * detour).collect();
        let mut quadratic = Quadratic::new(gram, linear)?;
        // Where the pairs count for little, neighbours count for more.
        let doubt = (self.pairs as f64 / self.weight).max(1.0);
        quadratic.add_ridge(settings.smoothness * doubt * quadratic.mean_diagonal() + floor, &around);
        let found = quadratic.minimise_sparse(&vec![Entry::Free; n], settings.influences).weights;
        let row: Vec<(BoneIndex, f64)> =
            self.candidates.iter().zip(&found).filter(|(_, w)| **w > NEGLIGIBLE).map(|(b, w)| (*b, *w)).collect();
        let sum: f64 = row.iter().map(|(_, w)| w).sum();
        Ok(row.into_iter().map(|(b, w)| (b, w / sum)).collect())
    }
}
