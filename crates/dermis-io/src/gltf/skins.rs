//! Skins: one skeleton out of all joints, one bind matrix per bone, and the move that brings each mesh to it.
//!
//! A skinned vertex is p' = Σ w_k T_k I_k p, with T_k the joint's world matrix and I_k its inverse bind matrix. Whatever
//! affine map G moves the vertices, p' stays the same if I_k becomes I_k G⁻¹. So each skin is free to choose the space
//! its rest mesh lives in: that of skins before it with which it shares bones, else the world that the file shows, as
//! [`Carriers::rest`] finds it. Skins whose mesh hangs on more joints come first. A joint that carries no skin may have
//! any bind matrix; it takes that of the first skin in which it carries some.

use super::document::{Document, damaged};
use super::mesh::Drawn;
use super::nodes::{Nodes, affine};
use crate::agree::{AGREE, corners};
use crate::contents::{Flaw, ReadError};
use crate::flaws::{Flaws, short};
use crate::shown::{Carrier, Carriers, SPACES, agrees, is_uneven, mean_scale};
use dermis_rig::SkeletonError;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::invert;
use std::collections::HashMap;

/// Bones a joint may have become in earlier skins and still be looked through; more are a hostile file's.
const VARIANTS: usize = 16;

/// Bones in the order met, and what each skin makes of them.
#[derive(Default)]
pub(super) struct Bones {
    pub names: Vec<String>,
    pub nodes: Vec<u32>,
    pub binds: Vec<DAffine3>,
    /// By index of the skin in the file.
    pub skins: HashMap<u32, SkinMap>,
    variants: HashMap<u32, Vec<usize>>,
    /// Whether each bone carries skin of the skins read so far.
    carries: Vec<bool>,
    /// Where the first skins rest.
    rests: Vec<DAffine3>,
}

/// What a skin's joints and vertices became.
pub(super) struct SkinMap {
    /// The bone of each joint.
    pub bones: Vec<usize>,
    /// Moves the skin's vertices to the space of the bind matrices.
    pub rest: DAffine3,
}

struct Skin {
    at: u32,
    joints: Vec<u32>,
    inverse_binds: Vec<DAffine3>,
    binds: Vec<DAffine3>,
    corners: [DVec3; 8],
    /// The sum of each joint's weights.
    carried: Vec<f64>,
}

impl Bones {
    /// Bones of the skins that the scene draws with, or of every skin if it draws with none.
    pub fn read(document: &Document, nodes: &Nodes, drawn: &Drawn, flaws: &mut Flaws) -> Result<Self, ReadError> {
        let mut used: Vec<u32> = drawn.blocks.iter().filter_map(|block| block.skin).collect();
        used.sort_unstable();
        used.dedup();
        if used.is_empty() {
            used = (0..document.root.skins.len() as u32).collect();
        }
        let mut boxes: HashMap<u32, (DVec3, DVec3)> = HashMap::new();
        for block in &drawn.blocks {
            if let Some(skin) = block.skin {
                let (low, high) = boxes.entry(skin).or_insert((DVec3::INFINITY, DVec3::NEG_INFINITY));
                for p in &block.positions {
                    (*low, *high) = (low.min(*p), high.max(*p));
                }
            }
        }
        let mut skins = (used.iter())
            .map(|&at| Skin::read(document, nodes, drawn, at, boxes.get(&at).copied()))
            .collect::<Result<Vec<_>, _>>()?;
        let carrying = |skin: &Skin| skin.carried.iter().filter(|weight| **weight > 0.0).count();
        skins.sort_by_cached_key(|skin| std::cmp::Reverse(carrying(skin)));
        let mut made = Self::default();
        for skin in &skins {
            made.add(document, skin, nodes, flaws);
        }
        Ok(made)
    }

    /// Every node of the scene as a bone that rests where the default pose has it: for files that hold a motion alone.
    pub fn of_nodes(document: &Document, nodes: &Nodes, flaws: &mut Flaws) -> Self {
        let mut made = Self::default();
        for &node in nodes.order.iter().filter(|&&node| nodes.shown[node as usize]) {
            let name = name(document, node);
            match invert(&nodes.world[node as usize]) {
                Some(_) => made.push(node, name, nodes.world[node as usize], true),
                None => flaws.add(Flaw::Unsupported, || format!("node \"{name:.100}\", which has no size")),
            }
        }
        made
    }

    /// Adds nodes as bones, parents first. At rest each stands as the default pose has it: to the bone above it, else to one below it.
    pub fn add_nodes(&mut self, document: &Document, further: &[u32], nodes: &Nodes, flaws: &mut Flaws) {
        if further.is_empty() {
            return;
        }
        let mut below: Vec<Option<u32>> = vec![None; nodes.parents.len()];
        for &at in nodes.order.iter().rev() {
            let own = self.of_node(at).map(|_| at).or(below[at as usize]);
            if let (Some(parent), Some(own)) = (nodes.parents[at as usize], own) {
                below[parent as usize] = Some(own);
            }
        }
        for &node in further {
            let near = above(nodes, node).find(|&at| self.of_node(at).is_some()).or(below[node as usize]);
            let near = near.and_then(|at| Some(self.binds[self.of_node(at)?] * invert(&nodes.world[at as usize])?));
            let bind = near.unwrap_or(DAffine3::IDENTITY) * nodes.world[node as usize];
            let name = name(document, node);
            match invert(&nodes.world[node as usize]).and(invert(&bind)) {
                Some(_) => self.push(node, name, bind, false),
                None => flaws.add(Flaw::Unsupported, || format!("node \"{name:.100}\", which has no size")),
            }
        }
    }

    fn push(&mut self, node: u32, name: String, bind: DAffine3, carries: bool) {
        self.variants.entry(node).or_default().push(self.nodes.len());
        self.nodes.push(node);
        self.names.push(name);
        self.binds.push(bind);
        self.carries.push(carries);
    }

    /// The first bone that node `node` became.
    pub fn of_node(&self, node: u32) -> Option<usize> {
        self.variants.get(&node).and_then(|bones| bones.first()).copied()
    }

    fn add(&mut self, document: &Document, skin: &Skin, nodes: &Nodes, flaws: &mut Flaws) {
        let rest = self.shared_rest(skin).unwrap_or_else(|| self.own_rest(skin, nodes));
        if is_uneven(&rest) {
            flaws.add(Flaw::UnevenScale, || format!("above \"{}\"", name(document, skin.joints[skin.top(nodes)])));
        }
        let mut bones = Vec::with_capacity(skin.joints.len());
        for (at, &node) in skin.joints.iter().enumerate() {
            let known = self.variants.get(&node).map_or(&[][..], Vec::as_slice);
            let carries = skin.carried[at] > 0.0;
            // Twice the tolerance: both skins may be off the world by one.
            let same = |&&bone: &&usize| {
                !carries
                    || !self.carries[bone]
                    || skin.agrees(&(self.binds[bone] * skin.inverse_binds[at]), &rest, 2.0 * AGREE)
            };
            let bind = rest * skin.binds[at];
            if let Some(&bone) = known.iter().take(VARIANTS).find(same) {
                if carries && !self.carries[bone] {
                    (self.binds[bone], self.carries[bone]) = (bind, true);
                }
                bones.push(bone);
                continue;
            }
            if !known.is_empty() {
                flaws.add(Flaw::BindDisagrees, || name(document, node));
            }
            bones.push(self.nodes.len());
            // The bind matrix of a joint without skin may be in another unit than all others: it takes that of its node.
            let ratio = mean_scale(&(nodes.world[node as usize] * skin.inverse_binds[at])) / mean_scale(&rest);
            let other = !carries && ratio.is_finite() && ratio > 0.0 && (ratio - 1.0).abs() > 1e-3;
            let bind = if other { bind * DAffine3::from_scale(DVec3::splat(ratio)) } else { bind };
            self.push(node, name(document, node), bind, carries);
        }
        if self.rests.len() < SPACES {
            self.rests.push(rest);
        }
        self.skins.insert(skin.at, SkinMap { bones, rest });
    }

    /// The space of a skin that shares no bone with skins before it.
    fn own_rest(&self, skin: &Skin, nodes: &Nodes) -> DAffine3 {
        let top = skin.joints[skin.top(nodes)];
        // A skin below a bone of another one, such as eyes below a head, rests where that bone brings it at rest.
        let carried = |above: u32| {
            let bone = self.of_node(above).filter(|&bone| self.carries[bone])?;
            Some(self.binds[bone] * invert(&nodes.world[above as usize])?)
        };
        let lift = above(nodes, top).find_map(carried).unwrap_or(DAffine3::IDENTITY);
        let mut own = skin.joints.clone();
        own.sort_unstable();
        let mut spaces = spaces_above(nodes, top, |node| own.binary_search(&node).is_err());
        spaces.extend(&self.rests);
        let carriers = skin.carriers(|joint| lift * nodes.world[skin.joints[joint] as usize]);
        let top = carriers.iter().position(|(joint, _)| *joint == skin.top(nodes)).unwrap_or(0);
        let joints: Vec<Carrier> = carriers.into_iter().map(|(_, carrier)| carrier).collect();
        Carriers { joints: &joints, top, corners: &skin.corners }.rest(&spaces)
    }

    /// The move that makes most joints of `skin` agree with the bones that earlier skins made of them.
    fn shared_rest(&self, skin: &Skin) -> Option<DAffine3> {
        let maps: Vec<DAffine3> = (skin.joints.iter().zip(&skin.inverse_binds).zip(&skin.carried))
            .filter(|(_, weight)| **weight > 0.0)
            .filter_map(|((&node, inverse_bind), _)| {
                let bone = self.of_node(node).filter(|&bone| self.carries[bone])?;
                Some(self.binds[bone] * *inverse_bind)
            })
            .collect();
        let votes = |g: &DAffine3| maps.iter().filter(|map| skin.agrees(map, g, AGREE)).count();
        // The first of the most voted for; eight candidates, so that hostile skins cost no square of their joints.
        let candidates = [DAffine3::IDENTITY].into_iter().chain(maps.iter().take(7).copied());
        let mut best = None;
        for candidate in candidates.filter(|_| !maps.is_empty()) {
            let count = votes(&candidate);
            if best.is_none_or(|(most, _)| count > most) {
                best = Some((count, candidate));
            }
        }
        best.map(|(_, g)| g)
    }
}

impl Skin {
    fn read(
        document: &Document,
        nodes: &Nodes,
        drawn: &Drawn,
        at: u32,
        bounds: Option<(DVec3, DVec3)>,
    ) -> Result<Self, ReadError> {
        let skins = &document.root.skins;
        let skin = skins.get(at as usize);
        let skin = skin.ok_or_else(|| damaged(format!("a node names skin {at}, but there are {}", skins.len())))?;
        let joints = skin.joints.clone();
        if joints.is_empty() {
            return Err(SkeletonError::NoBones.into());
        }
        let count = nodes.parents.len();
        if let Some(joint) = joints.iter().find(|&&joint| joint as usize >= count) {
            return Err(damaged(format!("skin {at} names node {joint}, but there are {count}")));
        }
        let mut sorted = joints.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|two| two[0] == two[1]) {
            return Err(damaged(format!("skin {at} names node {} twice", twice[0])));
        }
        let mut inverse_binds = vec![DAffine3::IDENTITY; joints.len()];
        if let Some(accessor) = skin.inverse_bind_matrices {
            let table = document.table(accessor, "inverse bind matrices", &[16])?;
            if table.rows() < joints.len() {
                let (rows, joints) = (table.rows(), joints.len());
                return Err(damaged(format!("skin {at} has {rows} inverse bind matrices for {joints} joints")));
            }
            for (joint, inverse_bind) in inverse_binds.iter_mut().enumerate() {
                let projective = || {
                    damaged(format!("the inverse bind matrix of \"{}\" is projective", name(document, joints[joint])))
                };
                *inverse_bind = affine(table.row(joint)).ok_or_else(projective)?;
            }
        }
        let mut binds = Vec::with_capacity(joints.len());
        for (inverse_bind, &node) in inverse_binds.iter().zip(&joints) {
            if !inverse_bind.is_finite() {
                return Err(SkeletonError::NotFinite { bone: name(document, node), what: "inverse bind" }.into());
            }
            let determinant = inverse_bind.matrix3.determinant();
            let singular = || SkeletonError::SingularBind { bone: name(document, node), determinant };
            binds.push(invert(inverse_bind).ok_or_else(singular)?);
        }
        let bounds = bounds.unwrap_or_else(|| {
            let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
            binds.iter().fold(start, |(low, high), b| (low.min(b.translation), high.max(b.translation)))
        });
        let mut carried = vec![0.0; joints.len()];
        for (joints, weights) in
            drawn.blocks.iter().filter(|block| block.skin == Some(at)).flat_map(|block| &block.sets)
        {
            for (&joint, &weight) in joints.iter().zip(&weights.values) {
                if let Some(sum) = carried.get_mut(joint as usize).filter(|_| weight.is_finite() && weight > 0.0) {
                    *sum += weight;
                }
            }
        }
        if carried.iter().all(|weight| *weight == 0.0) {
            carried.fill(1.0); // nothing drawn hangs on it
        }
        Ok(Self { at, joints, inverse_binds, binds, corners: corners(bounds), carried })
    }

    /// Which joint nearest to the root carries skin.
    fn top(&self, nodes: &Nodes) -> usize {
        // Parents come first in the order, so the first joint in it has no other joint above it.
        let carrying = (0..self.joints.len()).filter(|&joint| self.carried[joint] > 0.0);
        carrying.min_by_key(|&joint| nodes.rank[self.joints[joint] as usize]).unwrap_or(0)
    }

    /// The joints that carry skin, where `world` has them.
    fn carriers(&self, world: impl Fn(usize) -> DAffine3) -> Vec<(usize, Carrier)> {
        let carrier = |joint: usize| {
            let (map, place) = (world(joint) * self.inverse_binds[joint], self.binds[joint].translation);
            (joint, Carrier { map, weight: self.carried[joint], place })
        };
        (0..self.joints.len()).filter(|&joint| self.carried[joint] > 0.0).map(carrier).collect()
    }

    fn agrees(&self, a: &DAffine3, b: &DAffine3, tolerance: f64) -> bool {
        agrees(a, b, &self.corners, tolerance)
    }
}

/// The nodes above `node`, the nearest first; the hundreds nearest, so that hostile skins cost no square of their nodes.
pub(super) fn above(nodes: &Nodes, node: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(nodes.parents[node as usize], |&at| nodes.parents[at as usize]).take(256)
}

/// The spaces of the nodes above `node` for which `is_above` holds, the nearest first.
pub(super) fn spaces_above(nodes: &Nodes, node: u32, is_above: impl Fn(u32) -> bool) -> Vec<DAffine3> {
    let spaces = above(nodes, node).filter(|&at| is_above(at)).map(|at| nodes.world[at as usize]);
    spaces.filter(|world| invert(world).is_some()).take(SPACES).collect()
}

/// The name of a node, or its number.
pub(super) fn name(document: &Document, node: u32) -> String {
    let name = document.root.nodes.get(node as usize).and_then(|node| node.name.as_deref()).unwrap_or_default();
    if name.is_empty() { format!("node {node}") } else { short(name) }
}
