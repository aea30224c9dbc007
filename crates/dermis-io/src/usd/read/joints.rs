//! Bones: the joints of all skeletons, and meshes that move by themselves.

use super::geometry::vectors;
use super::scene::{Block, Hung, Scene};
use super::skel::Skeleton;
use super::xform::{Chain, world};
use crate::agree::corners;
use crate::contents::Flaw;
use crate::flaws::Flaws;
use crate::shown::{Carrier, Carriers, is_uneven};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::invert;
use std::collections::HashMap;
use std::sync::Arc;

/// What moves a bone.
pub(super) enum Source {
    /// Skeleton and joint.
    Joint(usize, usize),
    /// The transform of a mesh.
    Mesh(Chain),
}

/// Bones in the order met.
#[derive(Default)]
pub(super) struct Bones {
    pub names: Vec<String>,
    /// The bone above, −1 for a root.
    pub parents: Vec<i64>,
    /// Bind matrices in our world.
    pub binds: Vec<DAffine3>,
    /// What scales each bone's own frame to unit size at rest: the same for every pose, so it moves no vertex.
    pub sizes: Vec<DAffine3>,
    pub sources: Vec<Source>,
    /// The first bone of each skeleton.
    pub starts: Vec<usize>,
    /// From the world as each skeleton was bound to ours, where it rests.
    pub rests: Vec<DAffine3>,
    /// The bone that a mesh became, by its prim.
    pub of_mesh: HashMap<usize, usize>,
}

impl Bones {
    /// - `to_ours`: from the file's world to ours
    pub fn read(scene: &Scene<'_>, skeletons: &[Skeleton], to_ours: &DAffine3, flaws: &mut Flaws) -> Self {
        let mut made = Self::default();
        for (number, skeleton) in skeletons.iter().enumerate() {
            let rest = rest(scene, number, skeleton, to_ours, flaws) * *to_ours;
            made.starts.push(made.names.len());
            made.rests.push(rest);
            let start = made.names.len() as i64;
            for (joint, bind) in skeleton.bind.iter().enumerate() {
                let parent = skeleton.parents[joint].map_or(-1, |parent| start + parent as i64);
                made.push(skeleton.name(joint), parent, rest * *bind, Source::Joint(number, joint));
            }
        }
        for block in scene.blocks.iter().filter(|block| matches!(block.hung, Hung::Own)) {
            made.of_mesh.insert(block.prim, made.names.len());
            let bind = *to_ours * world(&block.chain, None);
            made.push(block.name.clone(), -1, bind, Source::Mesh(Arc::clone(&block.chain)));
        }
        made
    }

    fn push(&mut self, name: String, parent: i64, bind: DAffine3, source: Source) {
        let size = bind.matrix3.determinant().abs().cbrt();
        let size = if size.is_finite() && size > 0.0 { 1.0 / size } else { 1.0 };
        let size = DAffine3::from_scale(DVec3::splat(size));
        self.names.push(name);
        self.parents.push(parent);
        self.binds.push(bind * size);
        self.sizes.push(size);
        self.sources.push(source);
    }
}

/// The map, in our world, from where a skeleton's meshes were bound to where the scene shows them.
fn rest(scene: &Scene<'_>, number: usize, skeleton: &Skeleton, to_ours: &DAffine3, flaws: &mut Flaws) -> DAffine3 {
    let mut weights = vec![0.0; skeleton.joints.len()];
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    let bound = |block: &Block<'_>| match &block.hung {
        Hung::Skin(skin) if skin.skeleton == number => Some(*to_ours * skin.bound),
        _ => None,
    };
    for block in &scene.blocks {
        let (Some(map), Hung::Skin(skin)) = (bound(block), &block.hung) else { continue };
        for vertex in 0..block.geometry.vertices {
            skin.row(vertex).for_each(|(joint, weight)| weights[joint] += weight.max(0.0));
        }
        // A value that was read once is read again.
        let Ok(points) = block.geometry.points.rest() else { continue };
        for p in vectors(&points).into_iter().map(|p| map.transform_point3(p)) {
            (low, high) = (low.min(p), high.max(p));
        }
    }
    let Some(back) = invert(to_ours).filter(|_| low.is_finite() && high.is_finite()) else { return DAffine3::IDENTITY };
    let now = skeleton.player.joints(None);
    let mut top = (usize::MAX, 0);
    let mut joints = Vec::new();
    for (joint, weight) in weights.into_iter().enumerate().filter(|(_, weight)| *weight > 0.0) {
        let Some(bound) = invert(&skeleton.bind[joint]) else { continue };
        let depth = skeleton.joints[joint].matches('/').count();
        if depth < top.0 {
            top = (depth, joints.len());
        }
        let map = *to_ours * now[joint] * bound * back;
        joints.push(Carrier { map, weight, place: (*to_ours * skeleton.bind[joint]).translation });
    }
    let space = *to_ours * world(&skeleton.player.chain, None) * back;
    let rest = Carriers { joints: &joints, top: top.1, corners: &corners((low, high)) }.rest(&[space]);
    if is_uneven(&rest) {
        flaws.add(Flaw::UnevenScale, || skeleton.name(0));
    }
    rest
}
