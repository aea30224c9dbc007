//! Poses near the origin, and skins of another deformer.

use super::FLEX;
use crate::{Random, Tree, tree};
use dermis_deform::blend;
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DAffine3, DMat3, DVec3, Vec3};

/// Three rigid poses, then one whose bones stretch along axes of their own, then one in which some of them mirror, too.
pub fn poses(tree: &Tree, random: &mut Random) -> Vec<BoneTransforms> {
    let skeleton = tree.rig.skeleton();
    let stretch = |random: &mut Random, mirrored: bool| {
        let r = random.rotation(3.0);
        let mut scale = DVec3::from_array([0; 3].map(|_| random.between(0.6, 1.6)));
        scale.y *= if mirrored { -1.0 } else { 1.0 };
        DAffine3::from_mat3(DMat3::from_quat(r) * DMat3::from_diagonal(scale) * DMat3::from_quat(r.inverse()))
    };
    let mut made: Vec<_> = (0..3).map(|_| tree::wild(skeleton, random, 2.0)).collect();
    for mirrors in [false, true] {
        made.push(tree::jointed(skeleton, |bone| {
            let mirrored = mirrors && bone.get() % 3 == 1;
            DAffine3::from_quat(random.rotation(1.0)) * stretch(random, mirrored)
        }));
    }
    made.into_iter().map(|pose| pose.with_channels(vec![(FLEX.into(), random.between(-1.0, 1.0))])).collect()
}

/// What another deformer may have made of a pose: near linear blending, rounded to `f32`.
pub fn given(tree: &Tree, pose: &BoneTransforms, random: &mut Random) -> Vec<Vec3> {
    let points = tree.rig.mesh().positions.iter().zip(tree.weights().rows());
    points.map(|(p, row)| (blend(row, pose).transform_point3(*p) + random.direction() * 0.02).as_vec3()).collect()
}
