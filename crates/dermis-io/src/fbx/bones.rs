//! Bones: the nodes that skins name and those the file calls limbs, each with the matrix it was bound at.

use super::affine;
use super::mesh::Block;
use crate::agree::{AGREE, apart, corners};
use crate::contents::{Flaw, ReadError};
use crate::flaws::{Flaws, short};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{Mesh, Skeleton, SkeletonError};
use std::collections::HashMap;
use ufbx::{ElementType, SceneRoot, SkinDeformer};

/// Bones in the order met.
#[derive(Default)]
pub(super) struct Bones {
    pub names: Vec<String>,
    /// Number of each bone's node in the scene.
    pub nodes: Vec<usize>,
    /// Bind matrices in our world.
    pub binds: Vec<DAffine3>,
    /// What scales each bone's own frame to unit size at rest: the same for every pose, so it moves no vertex.
    pub sizes: Vec<DAffine3>,
    /// What became of each block with a skin.
    pub skins: HashMap<usize, SkinMap>,
    by_node: HashMap<usize, usize>,
}

/// What a skin's clusters and vertices became.
pub(super) struct SkinMap {
    /// The bone of each cluster; `None` if it names no node.
    pub bones: Vec<Option<usize>>,
    /// Moves the mesh's own vertices to our world as they were bound.
    pub rest: DAffine3,
}

impl Bones {
    pub fn read(scene: &SceneRoot, world: &DAffine3, blocks: &[Block], flaws: &mut Flaws) -> Result<Self, ReadError> {
        let mut made = Self::default();
        for (at, block) in blocks.iter().enumerate() {
            let mesh = block.mesh(scene);
            if let Some(skin) = mesh.skin_deformers.first() {
                let bounds = (mesh.vertices.iter()).fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), p| {
                    let p = DVec3::new(p.x, p.y, p.z);
                    (low.min(p), high.max(p))
                });
                made.add(at, skin, world, &corners(bounds), flaws)?;
            }
        }
        let limbs: Vec<usize> = (0..scene.nodes.len())
            .filter(|&at| !scene.nodes[at].is_root && scene.nodes[at].attrib_type == ElementType::Bone)
            .collect();
        if !made.names.is_empty() || !limbs.is_empty() {
            made.add_unbound(scene, world, &limbs, flaws);
        } else if blocks.is_empty() && !scene.anim_stacks.is_empty() {
            let all: Vec<usize> = (0..scene.nodes.len()).filter(|&at| !scene.nodes[at].is_root).collect();
            made.add_unbound(scene, world, &all, flaws);
        }
        Ok(made)
    }

    /// The first bone that node `node` became.
    pub fn of_node(&self, node: usize) -> Option<usize> {
        self.by_node.get(&node).copied()
    }

    fn push(&mut self, node: usize, name: String, bind: DAffine3, world: &DAffine3) -> usize {
        let size = bind.matrix3.determinant().abs().cbrt();
        let size = if size.is_finite() && size > 0.0 { 1.0 / size } else { 1.0 };
        // Left-handed files keep bones that are not mirrored.
        let mirror = if world.matrix3.determinant() < 0.0 { -size } else { size };
        let size = DAffine3::from_scale(DVec3::new(mirror, size, size));
        self.by_node.entry(node).or_insert(self.nodes.len());
        self.nodes.push(node);
        self.names.push(name);
        self.binds.push(bind * size);
        self.sizes.push(size);
        self.nodes.len() - 1
    }

    fn add(
        &mut self,
        block: usize,
        skin: &SkinDeformer,
        world: &DAffine3,
        corners: &[DVec3; 8],
        flaws: &mut Flaws,
    ) -> Result<(), ReadError> {
        let diagonal = corners[0].distance(corners[7]);
        let same = |a: &DAffine3, b: &DAffine3| {
            let size = b.transform_vector3(corners[7] - corners[0]).length().max(1e-9 * diagonal);
            apart(a, b, corners) <= 2.0 * AGREE * size
        };
        let clusters =
            || skin.clusters.iter().filter_map(|c| Some((c, c.bone_node.as_ref()?.element.typed_id as usize)));
        // Where the file says the mesh was bound; a skin that shares bones with one before it follows that one.
        let stated = clusters().next().map(|(c, _)| *world * affine(&c.bind_to_world) * affine(&c.geometry_to_bone));
        let shared: Vec<DAffine3> = clusters()
            .filter_map(|(c, node)| {
                let bone = self.of_node(node)?;
                Some(self.binds[bone] * invert(&self.sizes[bone])? * affine(&c.geometry_to_bone))
            })
            .collect();
        // Eight candidates, so that hostile skins cost no square of their bones.
        let candidates = stated.iter().chain(shared.iter().take(7));
        let votes = |g: &DAffine3| shared.iter().filter(|map| same(map, g)).count();
        let mut best: Option<(usize, DAffine3)> = None;
        for candidate in candidates {
            let count = votes(candidate);
            if best.is_none_or(|(most, _)| count > most) {
                best = Some((count, *candidate));
            }
        }
        let rest = best.map_or(*world, |(_, rest)| rest);
        let mut bones = Vec::with_capacity(skin.clusters.len());
        for cluster in skin.clusters.iter() {
            let Some(node) = cluster.bone_node.as_ref() else {
                flaws.add(Flaw::Unsupported, || format!("cluster \"{:.100}\" without a bone", &*cluster.element.name));
                bones.push(None);
                continue;
            };
            let (at, name) = (node.element.typed_id as usize, node_name(node));
            let to_bone = affine(&cluster.geometry_to_bone);
            let singular =
                || SkeletonError::SingularBind { bone: name.clone(), determinant: to_bone.matrix3.determinant() };
            let bind = rest * invert(&to_bone).ok_or_else(singular)?;
            if let Some(known) = self.of_node(at) {
                let theirs = invert(&self.sizes[known]).map(|size| self.binds[known] * size * to_bone);
                if theirs.is_some_and(|theirs| same(&theirs, &rest)) {
                    bones.push(Some(known));
                    continue;
                }
                flaws.add(Flaw::BindDisagrees, || name.clone());
            }
            bones.push(Some(self.push(at, name, bind, world)));
        }
        self.skins.insert(block, SkinMap { bones, rest });
        Ok(())
    }

    /// Bones that no skin names: bound as the file's bind pose says, else as they now hang on the bone above them.
    fn add_unbound(&mut self, scene: &SceneRoot, world: &DAffine3, nodes: &[usize], flaws: &mut Flaws) {
        let mut nodes: Vec<usize> = nodes.iter().copied().filter(|node| !self.by_node.contains_key(node)).collect();
        nodes.sort_by_key(|&node| scene.nodes[node].node_depth);
        for at in nodes {
            let node = &scene.nodes[at];
            let stated = node.bind_pose.as_ref().and_then(|pose| {
                let own = pose.bone_poses.iter().find(|own| own.bone_node.element.typed_id as usize == at)?;
                Some(*world * affine(&own.bone_to_world))
            });
            let now = *world * affine(&node.node_to_world);
            let hung = || {
                let (above, bone) = self.bone_above(scene, at)?;
                let above_now = invert(&(*world * affine(&scene.nodes[above].node_to_world)))?;
                Some(self.binds[bone] * invert(&self.sizes[bone])? * above_now * now)
            };
            let bind = stated.filter(|bind| invert(bind).is_some()).or_else(hung).unwrap_or(now);
            match invert(&bind) {
                Some(_) => {
                    self.push(at, node_name(node), bind, world);
                }
                None => flaws.add(Flaw::Unsupported, || format!("node \"{}\", which has no size", node_name(node))),
            }
        }
    }

    /// The nearest node above `node` that is a bone, and the bone.
    pub fn bone_above(&self, scene: &SceneRoot, node: usize) -> Option<(usize, usize)> {
        let mut above = scene.nodes[node].parent.as_ref();
        while let Some(parent) = above {
            let at = parent.element.typed_id as usize;
            if let Some(bone) = self.of_node(at) {
                return Some((at, bone));
            }
            above = parent.parent.as_ref();
        }
        None
    }

    /// The bone above each bone, −1 for a root.
    pub fn parents(&self, scene: &SceneRoot) -> Vec<i64> {
        self.nodes.iter().map(|&node| self.bone_above(scene, node).map_or(-1, |(_, bone)| bone as i64)).collect()
    }
}

/// The name of a node without the namespaces in front of it ("mixamorig:Hips" keeps its name, as other programs do).
fn node_name(node: &ufbx::Node) -> String {
    match &*node.element.name {
        "" => format!("node {}", node.element.typed_id),
        name => short(name),
    }
}

/// Counts bones whose pose in the scene moves the mesh's box away from rest.
pub(super) fn count_not_at_bind(
    skeleton: &Skeleton,
    scene: &SceneRoot,
    world: &DAffine3,
    sorted: &[(usize, DAffine3)],
    mesh: Option<&Mesh>,
    flaws: &mut Flaws,
) {
    let bounds = mesh.map(Mesh::bounds).unwrap_or_else(|| {
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        skeleton.bind().iter().fold(start, |(low, high), b| (low.min(b.translation), high.max(b.translation)))
    });
    let corners = corners(bounds);
    let diagonal = corners[0].distance(corners[7]);
    for (bone, (node, size)) in skeleton.bones().zip(sorted) {
        let now = *world * affine(&scene.nodes[*node].node_to_world) * *size;
        let moved = now * skeleton.inverse_bind()[bone];
        if apart(&moved, &DAffine3::IDENTITY, &corners) > AGREE * diagonal {
            flaws.add(Flaw::NotAtBind, || skeleton.names()[bone].clone());
        }
    }
}
