//! The forest of joints, and how far each joint and bone reaches over the skin.

use crate::maps::used_bones;
use dermis_rig::{BoneIndex, Influences, Skeleton};

/// What a joint or bone next to a vertex's own keeps of their relevance.
const DECAY: f64 = 0.3;
/// Joints of a relevance below this have no influence.
const LEAST_JOINT: f64 = 0.004;
/// Bones of a relevance up to this have no shared part, before the root.
const LEAST_BONE: f64 = 0.01;

/// The joints of a skin: a maximum spanning forest over its used bones, by how much skin two bones share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JointTree {
    /// Pairs of bones (a, b), a the one with fewer ancestors in the skeleton, then of lower index; in order of
    /// acceptance.
    pub edges: Vec<(BoneIndex, BoneIndex)>,
    /// Number of ancestors of each bone in the skeleton.
    pub ancestors: Vec<usize>,
}

impl JointTree {
    /// The forest of a skeleton and its skinning weights.
    ///
    /// Used bones have a weight above 0.01 somewhere. O_kl = Σ_v min(w_vk, w_vl). Candidates, in this order: a bone and
    /// its nearest used ancestor with O > 0; other pairs with O > 0; a bone and its nearest used ancestor with O = 0. In
    /// each kind larger O comes first, then lower indices. Pairs beyond the hierarchy matter for rigs whose feet hang on
    /// bones of their own.
    pub fn new(skeleton: &Skeleton, weights: &Influences) -> Self {
        let bones = skeleton.len();
        let used = used_bones(skeleton, weights);
        let mut overlap = std::collections::BTreeMap::<(usize, usize), f64>::new();
        for row in weights.rows() {
            let row: Vec<_> = row.iter().filter(|(b, w)| used[b.get()] && *w > 0.0).collect();
            for (at, &&(k, wk)) in row.iter().enumerate() {
                for &&(l, wl) in &row[at + 1..] {
                    *overlap.entry((k.get(), l.get())).or_insert(0.0) += wk.min(wl);
                }
            }
        }
        let mut ancestors = vec![0; bones];
        let mut kinds = std::collections::BTreeMap::<(usize, usize), (u8, f64)>::new();
        for (&pair, &o) in &overlap {
            kinds.insert(pair, (1, o));
        }
        for bone in skeleton.bones() {
            let mut above = skeleton.parents()[bone];
            ancestors[bone.get()] = above.map_or(0, |parent| ancestors[parent.get()] + 1);
            while let Some(parent) = above.filter(|p| !used[p.get()]) {
                above = skeleton.parents()[parent];
            }
            if let Some(parent) = above.filter(|_| used[bone.get()]) {
                let pair = (parent.get().min(bone.get()), parent.get().max(bone.get()));
                kinds.entry(pair).and_modify(|(kind, _)| *kind = 0).or_insert((2, 0.0));
            }
        }
        let mut candidates: Vec<_> = kinds.into_iter().collect();
        // In single precision: on a symmetric character left and right share the same but for rounding, which depends on how it stands.
        let more = |r: f64, o: f64| (r as f32).total_cmp(&(o as f32));
        candidates.sort_by(|(p, (kind, o)), (q, (other, r))| kind.cmp(other).then(more(*r, *o)).then(p.cmp(q)));
        let mut tree: Vec<usize> = (0..bones).collect();
        let mut edges = Vec::new();
        for ((k, l), _) in candidates {
            let (a, b) = (tree[k], tree[l]);
            if a == b {
                continue;
            }
            tree.iter_mut().filter(|t| **t == b).for_each(|t| *t = a);
            let (a, b) = if ancestors[l] < ancestors[k] { (l, k) } else { (k, l) };
            edges.push((BoneIndex::new(a), BoneIndex::new(b)));
        }
        Self { edges, ancestors }
    }

    /// Returns a, how far each joint reaches: per vertex as (joint, a), in order of joints.
    ///
    /// A joint has the larger weight of its two bones, or 0.3 times the value of a joint that shares a bone with it, if that
    /// is more. Values below 0.004 become zero. a is continuous in the weights, so it makes no seams.
    pub fn joint_relevance(&self, weights: &Influences) -> Vec<Vec<(u32, f64)>> {
        let of_bone = self.by_bone();
        let mut own = vec![0.0f64; self.edges.len()];
        let mut reach = vec![0.0f64; of_bone.len()];
        let mut touched: Vec<u32> = Vec::new();
        weights
            .rows()
            .map(|row| {
                touched.clear();
                for &(bone, w) in row {
                    for &joint in &of_bone[bone.get()] {
                        own[joint as usize] = own[joint as usize].max(w);
                        touched.push(joint);
                    }
                }
                touched.sort_unstable();
                touched.dedup();
                // The largest of a bone's joints reaches all of them.
                let mut around: Vec<u32> = Vec::new();
                for &joint in &touched {
                    for bone in self.ends(joint) {
                        reach[bone] = reach[bone].max(own[joint as usize]);
                        around.extend(&of_bone[bone]);
                    }
                }
                around.sort_unstable();
                around.dedup();
                let relevance: Vec<(u32, f64)> = around
                    .iter()
                    .map(|&joint| {
                        let beside = self.ends(joint).map(|bone| reach[bone]).into_iter().fold(0.0, f64::max);
                        (joint, own[joint as usize].max(DECAY * beside))
                    })
                    .filter(|(_, a)| *a >= LEAST_JOINT)
                    .collect();
                for &joint in &touched {
                    own[joint as usize] = 0.0;
                    self.ends(joint).into_iter().for_each(|bone| reach[bone] = 0.0);
                }
                relevance
            })
            .collect()
    }

    /// Returns b, how far each bone reaches in the shared part: per vertex as (bone, b), in order of bones.
    ///
    /// b is the root of the bone's weight, or of 0.3 times the weight of a neighbour in the forest, if that is more. Bones
    /// of which both are 0.01 or less are left out.
    pub fn bone_relevance(&self, weights: &Influences) -> Vec<Vec<(BoneIndex, f64)>> {
        let of_bone = self.by_bone();
        weights
            .rows()
            .map(|row| {
                let mut reached = std::collections::BTreeMap::<usize, f64>::new();
                for &(bone, w) in row {
                    let own = reached.entry(bone.get()).or_insert(0.0);
                    *own = own.max(w);
                    for &joint in &of_bone[bone.get()] {
                        for next in self.ends(joint) {
                            let beside = reached.entry(next).or_insert(0.0);
                            *beside = beside.max(DECAY * w);
                        }
                    }
                }
                reached.retain(|_, w| *w > LEAST_BONE);
                reached.into_iter().map(|(bone, w)| (BoneIndex::new(bone), w.sqrt())).collect()
            })
            .collect()
    }

    fn ends(&self, joint: u32) -> [usize; 2] {
        let (a, b) = self.edges[joint as usize];
        [a.get(), b.get()]
    }

    /// The joints of each bone.
    fn by_bone(&self) -> Vec<Vec<u32>> {
        let mut of_bone = vec![Vec::new(); self.ancestors.len()];
        for joint in 0..self.edges.len() as u32 {
            for bone in self.ends(joint) {
                of_bone[bone].push(joint);
            }
        }
        of_bone
    }
}
