//! Bones: the nodes that skins name and those the file calls limbs, each with the matrix it was bound at.

use super::affine;
use super::mesh::Block;
use crate::agree::{AGREE, apart, corners};
use crate::contents::{Flaw, ReadError};
use crate::flaws::{Flaws, short};
use crate::shown::{Carrier, Carriers, SAME_SCALE, moved_from_rest};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{Mesh, Skeleton, SkeletonError, WorldPose};
use std::collections::{HashMap, HashSet};
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
    /// Whether meshes hang on bones: the file has a skin, or a take moves a mesh and every mesh has a size.
    pub is_rigged: bool,
    /// The node on which meshes hang that nothing moves, in a file without a skin.
    still: Option<usize>,
    by_node: HashMap<usize, usize>,
    /// Whether a skin rests elsewhere than the file says it was bound.
    is_moved: bool,
}

/// What a skin's clusters and vertices became.
pub(super) struct SkinMap {
    /// The bone of each cluster; `None` if it names no node.
    pub bones: Vec<Option<usize>>,
    /// Moves the mesh's own vertices to our world as they were bound.
    pub rest: DAffine3,
    /// The bone that the mesh's own node became, if vertices without weights hang on it.
    pub still: Option<usize>,
}

impl SkinMap {
    /// Bones and weights of a vertex as the file has them.
    pub fn row(&self, skin: &SkinDeformer, vertex: usize) -> Vec<(usize, f64)> {
        let entries = skin.vertices.get(vertex).and_then(|vertex| {
            let from = vertex.weight_begin as usize;
            skin.weights.get(from..from + vertex.num_weights as usize)
        });
        let bone = |cluster: u32| self.bones.get(cluster as usize).copied().flatten();
        let entry = |w: &ufbx::SkinWeight| Some((bone(w.cluster_index)?, w.weight));
        entries.unwrap_or_default().iter().filter_map(entry).collect()
    }
}

/// Whether a vertex with these bones and weights follows any of them.
pub(super) fn is_weighted(row: &[(usize, f64)]) -> bool {
    row.iter().any(|(_, weight)| *weight > 0.0)
}

impl Bones {
    /// - `moving`: nodes that a take moves
    /// - `recorded`: whether meshes that move are records, in place of bones
    pub fn read(
        scene: &SceneRoot,
        world: &DAffine3,
        blocks: &[Block],
        (moving, recorded): (&HashSet<usize>, bool),
        flaws: &mut Flaws,
    ) -> Result<Self, ReadError> {
        let mut made = Self::default();
        for (at, block) in blocks.iter().enumerate() {
            let mesh = block.mesh(scene);
            if let Some(skin) = mesh.skin_deformers.first() {
                let bounds = (mesh.vertices.iter()).fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), p| {
                    let p = DVec3::new(p.x, p.y, p.z);
                    (low.min(p), high.max(p))
                });
                let skinned = (&scene.nodes[block.node], mesh.vertices.len(), &**skin);
                made.add(at, skinned, world, &corners(bounds), flaws)?;
            }
        }
        let mut limbs: Vec<usize> = (0..scene.nodes.len())
            .filter(|&at| !scene.nodes[at].is_root && scene.nodes[at].attrib_type == ElementType::Bone)
            .collect();
        let moved = |block: &Block| above(scene, block.node).any(|node| moving.contains(&node));
        // A node without a size is no bone, and nothing could hang on it.
        let has_size = |block: &Block| invert(&(*world * affine(&scene.nodes[block.node].node_to_world))).is_some();
        let is_rigid = || !recorded && blocks.iter().any(moved) && blocks.iter().all(has_size);
        made.is_rigged = !made.skins.is_empty() || is_rigid();
        if made.is_rigged {
            // A mesh that moves by itself, or with a node below the nearest bone, is a bone of its own.
            let is_limb: HashSet<usize> = limbs.iter().copied().collect();
            let is_bone = |node: usize| made.by_node.contains_key(&node) || is_limb.contains(&node);
            let below_bone = |node: usize| above(scene, node).take_while(move |&at| at == node || !is_bone(at));
            let unskinned = blocks.iter().enumerate().filter(|(at, _)| !made.skins.contains_key(at));
            let nodes = unskinned.map(|(_, block)| block.node).filter(|&node| !is_bone(node));
            let (own, others): (Vec<usize>, Vec<usize>) =
                nodes.partition(|&node| below_bone(node).any(|at| moving.contains(&at)));
            if made.skins.is_empty() {
                made.still = others.into_iter().find(|&node| !above(scene, node).any(is_bone));
            }
            limbs.extend(own.into_iter().chain(made.still));
        }
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
        (mesh_node, vertices, skin): (&ufbx::Node, usize, &SkinDeformer),
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
        let bound = best.map_or(*world, |(_, rest)| rest);
        let rest = match shared.is_empty() {
            true => shown(world, skin, &bound, corners) * bound,
            false => bound,
        };
        self.is_moved |= rest != bound;
        for cluster in skin.clusters.iter().filter(|cluster| cluster.bone_node.is_none()) {
            flaws.add(Flaw::Unsupported, || format!("cluster \"{:.100}\" without a bone", &*cluster.element.name));
        }
        let mut bone_of = |made: &mut Self, node: &ufbx::Node, to_bone: DAffine3| {
            let (at, name) = (node.element.typed_id as usize, node_name(node));
            let singular =
                || SkeletonError::SingularBind { bone: name.clone(), determinant: to_bone.matrix3.determinant() };
            let bind = rest * invert(&to_bone).ok_or_else(singular)?;
            if let Some(known) = made.of_node(at) {
                let theirs = invert(&made.sizes[known]).map(|size| made.binds[known] * size * to_bone);
                if theirs.is_some_and(|theirs| same(&theirs, &rest)) {
                    return Ok::<usize, SkeletonError>(known);
                }
                flaws.add(Flaw::BindDisagrees, || name.clone());
            }
            Ok(made.push(at, name, bind, world))
        };
        let mut map = SkinMap { bones: Vec::with_capacity(skin.clusters.len()), rest, still: None };
        for cluster in skin.clusters.iter() {
            let bone = cluster.bone_node.as_ref().map(|node| bone_of(self, node, affine(&cluster.geometry_to_bone)));
            map.bones.push(bone.transpose()?);
        }
        if (0..vertices).any(|vertex| !is_weighted(&map.row(skin, vertex))) {
            map.still = Some(bone_of(self, mesh_node, affine(&mesh_node.geometry_to_node))?);
        }
        self.skins.insert(block, map);
        Ok(())
    }

    /// Bones that no skin names: bound as the file's bind pose says, else as they now hang on the bone above them.
    fn add_unbound(&mut self, scene: &SceneRoot, world: &DAffine3, nodes: &[usize], flaws: &mut Flaws) {
        let mut nodes: Vec<usize> = nodes.iter().copied().filter(|node| !self.by_node.contains_key(node)).collect();
        nodes.sort_by_key(|&node| scene.nodes[node].node_depth);
        for at in nodes {
            let node = &scene.nodes[at];
            // The file's bind pose has the size of the binding, which a moved skin has left.
            let stated = node.bind_pose.as_ref().filter(|_| !self.is_moved).and_then(|pose| {
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
        above(scene, node).skip(1).find_map(|at| Some((at, self.of_node(at)?)))
    }

    /// The bone that a mesh without a skin hangs on, and its node: that of the mesh's own node, else the one above, else the one on which
    /// hangs what nothing moves.
    pub fn carrier(&self, scene: &SceneRoot, node: usize) -> Option<(usize, usize)> {
        let of = |node: usize| Some((node, self.of_node(node)?));
        of(node).or_else(|| self.bone_above(scene, node)).or_else(|| of(self.still?))
    }

    /// The bone above each bone, −1 for a root.
    pub fn parents(&self, scene: &SceneRoot) -> Vec<i64> {
        self.nodes.iter().map(|&node| self.bone_above(scene, node).map_or(-1, |(_, bone)| bone as i64)).collect()
    }
}

/// Returns the map from where the file bound a skin to where it rests: the identity, unless the scene shows the bones in another
/// size. Programs that change units after the binding write such files.
///
/// - `bound`: the map from the mesh's own vertices to where the file bound them, in our world
/// - `corners`: of the mesh's own box
fn shown(world: &DAffine3, skin: &SkinDeformer, bound: &DAffine3, corners: &[DVec3; 8]) -> DAffine3 {
    let Some(back) = invert(bound) else { return DAffine3::IDENTITY };
    let carriers = skin.clusters.iter().filter_map(|cluster| {
        let node = cluster.bone_node.as_ref()?;
        let (to_bone, weight) = (affine(&cluster.geometry_to_bone), cluster.weights.iter().sum::<f64>());
        let map = *world * affine(&node.node_to_world) * to_bone * back;
        let carrier = Carrier { map, weight, place: (*bound * invert(&to_bone)?).translation };
        (weight > 0.0).then_some((node.node_depth, carrier))
    });
    let (depths, joints): (Vec<u32>, Vec<Carrier>) = carriers.unzip();
    let top = (0..depths.len()).min_by_key(|&joint| depths[joint]).unwrap_or(0);
    let corners = corners.map(|corner| bound.transform_point3(corner));
    let carriers = Carriers { joints: &joints, top, corners: &corners };
    match carriers.scale() {
        Some(scale) if (scale - 1.0).abs() > SAME_SCALE => carriers.rest(&[]),
        _ => DAffine3::IDENTITY,
    }
}

/// A node, and those above it.
pub(super) fn above(scene: &SceneRoot, node: usize) -> impl Iterator<Item = usize> {
    let parent = |&at: &usize| Some(scene.nodes[at].parent.as_ref()?.element.typed_id as usize);
    std::iter::successors(Some(node), parent)
}

/// The name of a node without the namespaces in front of it ("mixamorig:Hips" keeps its name, as other programs do).
pub(super) fn node_name(node: &ufbx::Node) -> String {
    match &*node.element.name {
        "" => format!("node {}", node.element.typed_id),
        name => short(name),
    }
}

/// The pose that the scene shows without a take, if it moves the mesh's box away from rest; bones that do are counted.
pub(super) fn default_pose(
    skeleton: &Skeleton,
    scene: &SceneRoot,
    world: &DAffine3,
    sorted: &[(usize, DAffine3)],
    mesh: Option<&Mesh>,
    flaws: &mut Flaws,
) -> Option<WorldPose> {
    let now = |(node, size): &(usize, DAffine3)| *world * affine(&scene.nodes[*node].node_to_world) * *size;
    moved_from_rest(skeleton, WorldPose::new(sorted.iter().map(now).collect()), mesh, flaws)
}
