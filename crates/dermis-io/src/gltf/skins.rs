//! Skins: one skeleton out of all joints, one bind matrix per bone, and the move that brings each mesh to it.
//!
//! A skinned vertex is p' = Σ w_k T_k I_k p, with T_k the joint's world matrix and I_k its inverse bind matrix. Whatever
//! affine map G moves the vertices, p' stays the same if I_k becomes I_k G⁻¹. So each skin is free to choose the space
//! its rest mesh lives in. If all T_k I_k of the default pose agree, that common map is G: the rig then rests in the
//! world, in metres, and its default pose is its bind pose. Otherwise a skin follows the bones it shares with skins
//! before it, and one that shares none takes at least the scale of the world from its root bone.

use super::document::{Document, damaged};
use super::mesh::Drawn;
use super::nodes::{Nodes, affine};
use crate::agree::{AGREE, apart, corners};
use crate::contents::{Flaw, ReadError};
use crate::flaws::{Flaws, short};
use dermis_rig::SkeletonError;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::rotation::nearest_rotation;
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
    /// T_k I_k of the default pose, if all joints agree.
    at_default: Option<DAffine3>,
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
        let skins = used.iter().map(|&at| Skin::read(document, nodes, at, boxes.get(&at).copied()));
        let skins = skins.collect::<Result<Vec<_>, _>>()?;
        let mut made = Self::default();
        for at_rest in [true, false] {
            for skin in skins.iter().filter(|skin| skin.at_default.is_some() == at_rest) {
                made.add(document, skin, nodes, flaws);
            }
        }
        Ok(made)
    }

    /// Every node of the scene as a bone that rests where the default pose has it: for files that hold a motion alone.
    pub fn of_nodes(document: &Document, nodes: &Nodes, flaws: &mut Flaws) -> Self {
        let mut made = Self::default();
        for &node in nodes.order.iter().filter(|&&node| nodes.shown[node as usize]) {
            let name = name(document, node);
            match invert(&nodes.world[node as usize]) {
                Some(_) => made.push(node, name, nodes.world[node as usize]),
                None => flaws.add(Flaw::Unsupported, || format!("node \"{name:.100}\", which has no size")),
            }
        }
        made
    }

    fn push(&mut self, node: u32, name: String, bind: DAffine3) {
        self.variants.entry(node).or_default().push(self.nodes.len());
        self.nodes.push(node);
        self.names.push(name);
        self.binds.push(bind);
    }

    /// The first bone that node `node` became.
    pub fn of_node(&self, node: u32) -> Option<usize> {
        self.variants.get(&node).and_then(|bones| bones.first()).copied()
    }

    fn add(&mut self, document: &Document, skin: &Skin, nodes: &Nodes, flaws: &mut Flaws) {
        let rest =
            skin.at_default.unwrap_or_else(|| self.shared_rest(skin).unwrap_or_else(|| skin.root_similarity(nodes)));
        let mut bones = Vec::with_capacity(skin.joints.len());
        for (at, &node) in skin.joints.iter().enumerate() {
            let known = self.variants.get(&node).map_or(&[][..], Vec::as_slice);
            // Twice the tolerance: both skins may be off the world by one.
            let same = |&&bone: &&usize| skin.agrees(&(self.binds[bone] * skin.inverse_binds[at]), &rest, 2.0 * AGREE);
            if let Some(&bone) = known.iter().take(VARIANTS).find(same) {
                bones.push(bone);
                continue;
            }
            if !known.is_empty() {
                flaws.add(Flaw::BindDisagrees, || name(document, node));
            }
            bones.push(self.nodes.len());
            self.push(node, name(document, node), rest * skin.binds[at]);
        }
        self.skins.insert(skin.at, SkinMap { bones, rest });
    }

    /// The move that makes most joints of `skin` agree with the bones that earlier skins made of them.
    fn shared_rest(&self, skin: &Skin) -> Option<DAffine3> {
        let maps: Vec<DAffine3> = (skin.joints.iter().zip(&skin.inverse_binds))
            .filter_map(|(&node, inverse_bind)| Some(self.binds[self.of_node(node)?] * *inverse_bind))
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
    fn read(document: &Document, nodes: &Nodes, at: u32, bounds: Option<(DVec3, DVec3)>) -> Result<Self, ReadError> {
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
        let mut made = Self { at, joints, inverse_binds, binds, corners: corners(bounds), at_default: None };
        let world = |joint: usize| nodes.world[made.joints[joint] as usize] * made.inverse_binds[joint];
        let first = world(0);
        if invert(&first).is_some() && (1..made.joints.len()).all(|joint| made.agrees(&world(joint), &first, AGREE)) {
            // A bind pose that is the default pose needs no rounding errors of a move.
            let stays = made.agrees(&first, &DAffine3::IDENTITY, AGREE);
            made.at_default = Some(if stays { DAffine3::IDENTITY } else { first });
        }
        Ok(made)
    }

    fn agrees(&self, a: &DAffine3, b: &DAffine3, tolerance: f64) -> bool {
        apart(a, b, &self.corners) <= tolerance * size(b, &self.corners)
    }

    /// The similarity nearest to T I of the joint nearest to the root, if its scale is not one.
    fn root_similarity(&self, nodes: &Nodes) -> DAffine3 {
        // Parents come first in the order, so the first joint in it has no other joint above it.
        let root = (0..self.joints.len()).min_by_key(|&joint| nodes.rank[self.joints[joint] as usize]).unwrap_or(0);
        let map = nodes.world[self.joints[root] as usize] * self.inverse_binds[root];
        let scale = map.matrix3.determinant().abs().cbrt();
        if !scale.is_finite() || scale <= 0.0 || (scale - 1.0).abs() <= 1e-3 || !map.is_finite() {
            return DAffine3::IDENTITY;
        }
        let rotation = DQuat::from_mat3(&nearest_rotation(&map.matrix3));
        DAffine3::from_scale_rotation_translation(DVec3::splat(scale), rotation, map.translation)
    }
}

/// The name of a node, or its number.
pub(super) fn name(document: &Document, node: u32) -> String {
    let name = document.root.nodes.get(node as usize).and_then(|node| node.name.as_deref()).unwrap_or_default();
    if name.is_empty() { format!("node {node}") } else { short(name) }
}

/// The longest diagonal of the image of the box.
fn size(map: &DAffine3, corners: &[DVec3; 8]) -> f64 {
    let across = |at: usize| (map.transform_point3(corners[at]) - map.transform_point3(corners[7 - at])).length();
    (0..4).map(across).fold(0.0, f64::max)
}
