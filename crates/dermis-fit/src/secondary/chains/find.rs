//! Which bones of a rig are a chain that may swing.

use crate::surface::closest_on_segment;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Rig, Skeleton};

/// A vertex belongs to a chain that has this part of its weight, or more.
const SHARE: f64 = 0.5;
/// A chain moves at least so many vertices.
const LEAST_VERTICES: usize = 3;
/// Bones shorter than this part of the mesh's extent have no direction.
const SHORTEST: f64 = 1e-6;
/// Vertices of a chain that a fit looks at; of more, some that are spread evenly over their numbers.
const MOST_VERTICES: usize = 256;

/// A run of bones without branches, which ends in a leaf and moves skin.
#[derive(Clone, Debug, PartialEq)]
pub struct BoneChain {
    /// The bones, the nearest to the root first; each is the parent of the next. The first has a parent.
    pub bones: Vec<BoneIndex>,
    /// Where the last bone ends at rest, if it moves skin; one that moves none is only the end of the one before. Rest world, metres.
    pub tip: Option<DVec3>,
    /// The mean distance of its skin from the chain at rest, metres.
    pub radius: f64,
    /// The bone that the chain hangs on.
    pub(super) above: BoneIndex,
    /// Where the first head is at rest.
    pub(super) head: DVec3,
    /// Head to tail of every bone that swings.
    pub(super) ways: Vec<DVec3>,
    /// Vertices that a fit looks at.
    pub(super) vertices: Vec<usize>,
    /// Of each: the bones of the chain with weight, and the way from each bone's head at rest to the vertex.
    pub(super) held: Vec<Vec<(usize, f64, DVec3)>>,
}

impl BoneChain {
    /// The bones that swing: all, or all but the last if that moves no skin.
    pub fn swinging(&self) -> &[BoneIndex] {
        &self.bones[..self.ways.len()]
    }

    /// The mean length of the bones that swing, metres.
    pub fn mean_length(&self) -> f64 {
        self.ways.iter().map(|way| way.length()).sum::<f64>() / self.ways.len().max(1) as f64
    }

    /// Head to tail of every bone that swings, at rest, metres.
    pub fn ways(&self) -> &[DVec3] {
        &self.ways
    }

    /// The chain of these bones; `None` if it moves too little skin, or if bones have no length.
    fn new(rig: &Rig, bones: Vec<BoneIndex>) -> Option<Self> {
        let (mesh, weights) = (rig.mesh(), rig.weights()?);
        let heads: Vec<DVec3> = bones.iter().map(|bone| rig.skeleton().bind()[*bone].translation).collect();
        let mut ways: Vec<DVec3> = heads.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (leaf, from) = (*bones.last()?, *heads.last()?);
        let tip = reach(rig, leaf, from).or_else(|| {
            let carries = weights.rows().any(|row| row.iter().any(|(bone, weight)| *bone == leaf && *weight >= SHARE));
            Some(from + *ways.last()?).filter(|_| carries)
        });
        ways.extend(tip.map(|tip| tip - from));
        let is_long = |way: &DVec3| way.length() > SHORTEST * mesh.extent();
        if ways.is_empty() || !ways.iter().all(is_long) {
            return None;
        }
        let of_chain = |v: usize| -> Vec<(usize, f64, DVec3)> {
            let place = |(bone, weight): &(BoneIndex, f64)| {
                let at = bones[..ways.len()].iter().position(|own| own == bone)?;
                Some((at, *weight, mesh.positions[v] - heads[at]))
            };
            weights.of(v).iter().filter_map(place).collect()
        };
        let all: Vec<(usize, Vec<_>)> = (0..mesh.positions.len())
            .map(|v| (v, of_chain(v)))
            .filter(|(_, held)| held.iter().map(|(_, weight, _)| weight).sum::<f64>() >= SHARE)
            .collect();
        if all.len() < LEAST_VERTICES {
            return None;
        }
        let distance = |v: usize| {
            let segments = heads.iter().zip(&ways).map(|(head, way)| [*head, *head + *way]);
            let p = mesh.positions[v];
            segments.map(|[a, b]| closest_on_segment(p, a, b).0.distance(p)).fold(f64::INFINITY, f64::min)
        };
        let radius = all.iter().map(|(v, _)| distance(*v)).sum::<f64>() / all.len() as f64;
        let count = all.len().min(MOST_VERTICES);
        let (vertices, held) = (0..count).map(|i| all[i * all.len() / count].clone()).unzip();
        let above = rig.skeleton().parents()[*bones.first()?]?;
        Some(Self { above, head: heads[0], bones, tip, radius, ways, vertices, held })
    }
}

/// How far the skin that a leaf carries most reaches from its head, towards the middle of that skin.
fn reach(rig: &Rig, leaf: BoneIndex, head: DVec3) -> Option<DVec3> {
    let weights = rig.weights()?;
    let own: Vec<DVec3> = weights
        .rows()
        .zip(&rig.mesh().positions)
        .filter(|(row, _)| row.iter().any(|(bone, weight)| *bone == leaf && *weight >= SHARE))
        .map(|(_, p)| *p - head)
        .collect();
    let middle = own.iter().sum::<DVec3>() / own.len().max(1) as f64;
    let along = middle.try_normalize()?;
    let far = own.iter().map(|p| p.dot(along)).fold(0.0, f64::max);
    (far > SHORTEST * rig.mesh().extent()).then(|| head + along * far)
}

/// The chains of a rig: runs of two or more bones of which `may_swing` says so. From a leaf up, each bone is the only child of the next; a
/// bone without a parent is in none. A rig without weights has none.
pub fn find_chains(rig: &Rig, may_swing: impl Fn(BoneIndex) -> bool) -> Vec<BoneChain> {
    let runs = runs(rig.skeleton(), may_swing);
    runs.into_iter().filter_map(|bones| BoneChain::new(rig, bones)).collect()
}

fn runs(skeleton: &Skeleton, may_swing: impl Fn(BoneIndex) -> bool) -> Vec<Vec<BoneIndex>> {
    let mut children = vec![0usize; skeleton.len()];
    skeleton.parents().iter().flatten().for_each(|parent| children[parent.get()] += 1);
    let parent = |bone: BoneIndex| skeleton.parents()[bone];
    let swings = |bone: &BoneIndex| may_swing(*bone) && parent(*bone).is_some();
    let run = |leaf: BoneIndex| {
        let up = std::iter::successors(Some(leaf), |bone| {
            parent(*bone).filter(|above| children[above.get()] == 1).filter(swings)
        });
        let mut bones: Vec<BoneIndex> = up.collect();
        bones.reverse();
        bones
    };
    let leaves = skeleton.bones().filter(|bone| children[bone.get()] == 0).filter(swings);
    leaves.map(run).filter(|bones| bones.len() >= 2).collect()
}
