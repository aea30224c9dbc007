//! What drives the shapes of a pose space: its kernel as an engine reads it, without welds.

use super::Origin;
use super::delivered::{Delivered, whole};
use crate::samples::named_bones;
use dermis_deform::guard::Weld;
use dermis_deform::pose_space::{CompiledShapes, Joint};
use dermis_deform::tables::{DriverChannel, NamedBone, PoseDriver, PoseJoint, PoseRegion, TableBone, TableCoordinate};
use dermis_rig::{BoneIndex, IndexVec, Skeleton};

/// The driver with the rig's bones. `kept` are the shapes with the factors of their coordinates, in the order of the morph
/// targets, after the constant one where there is one.
pub(super) fn driver(delivered: &Delivered, kept: &[(usize, f64)], offset: Vec<f64>) -> PoseDriver<BoneIndex> {
    let kernel = &delivered.kernel;
    let first_target = offset.len() - kept.len();
    let target_of = |shape: usize| kept.iter().position(|k| k.0 == shape);
    // Regions with coordinates as the kernel numbers them, until it is known which of them are read.
    let mut regions: Vec<(Vec<(usize, f64)>, PoseRegion)> = Vec::new();
    for (g, region) in delivered.regions.iter().enumerate() {
        let relevance = kernel.relevance_of(g).iter().map(|&(j, a)| (j as usize, a)).collect::<Vec<_>>();
        let targets = || region.iter().filter_map(|(shape, row)| Some((target_of(*shape)?, row)));
        if targets().next().is_none() {
            continue;
        }
        let centre = |&s: &u32| {
            let x = &kernel.examples[s as usize * kernel.width()..][..kernel.width()];
            relevance.iter().flat_map(|&(j, _)| x[j][..kernel.dimensions(j)].to_vec()).collect()
        };
        let region = PoseRegion {
            relevance: vec![],
            centres: kernel.centres(g).iter().map(centre).collect(),
            shapes: targets().map(|(at, _)| first_target + at).collect(),
            matrix: targets().map(|(at, row)| row.iter().map(|x| x * kept[at].1).collect()).collect(),
            windows: targets().filter_map(|(at, _)| delivered.windows.get(kept[at].0).cloned()).collect(),
        };
        regions.push((relevance, region));
    }
    // Coordinates no region reads are left out.
    let mut read: Vec<usize> = regions.iter().flat_map(|r| r.0.iter().map(|r| r.0)).collect();
    read.sort_unstable();
    read.dedup();
    let number = |(j, a): (usize, f64)| (TableCoordinate::new(read.partition_point(|k| *k < j)), a);
    let renumbered = |(relevance, region): (Vec<(usize, f64)>, PoseRegion)| PoseRegion {
        relevance: relevance.into_iter().map(number).collect(),
        ..region
    };
    let regions = regions.into_iter().map(renumbered).collect();
    let limit = |limit: f64| Some(limit).filter(|limit| limit.is_finite());
    let joint = |joint: &Joint| PoseJoint {
        path: path(&kernel.weld, joint).into_iter().map(|(a, b)| [a, b]).collect(),
        axis: joint.axis.to_array(),
        limit: limit(joint.limit),
        part: joint.part,
    };
    let first = kernel.joints.len();
    let channel = |&j: &usize| {
        let channel = &kernel.channels[j - first];
        DriverChannel { name: channel.name.clone(), scale: channel.scale, limit: limit(channel.limit) }
    };
    PoseDriver {
        coordinates: kernel.coordinates,
        family: kernel.family,
        sigma: kernel.sigma,
        linear: kernel.linear,
        joints: read.iter().filter(|j| **j < first).map(|&j| joint(&kernel.joints[j])).collect(),
        channels: read.iter().filter(|j| **j >= first).map(channel).collect(),
        regions,
        offset,
        clamp: delivered.correctives.as_ref().map_or([0.0, 1.0], |(_, clamp)| *clamp),
    }
}

/// The driver of the shapes that a joint model remembers, the morph targets after `first` others. Its offsets are zero.
pub(crate) fn layer_driver(layer: &CompiledShapes, first: usize) -> PoseDriver<BoneIndex> {
    let kept: Vec<(usize, f64)> = (0..layer.count()).map(|shape| (shape, 1.0)).collect();
    driver(&whole(layer.clone(), Origin::Correctives), &kept, vec![0.0; first + kept.len()])
}

/// The rig's bones that a driver reads, ascending: the bones of its table.
pub fn table_bones(driver: &PoseDriver<BoneIndex>) -> IndexVec<TableBone, BoneIndex> {
    let mut bones: Vec<BoneIndex> = driver.joints.iter().flat_map(|j| j.path.iter().flatten().copied()).collect();
    bones.sort_unstable();
    bones.dedup();
    IndexVec::new(bones)
}

/// The driver for a table of its own, with the bones that the table lists.
pub fn table_driver(
    driver: &PoseDriver<BoneIndex>,
    skeleton: &Skeleton,
) -> (IndexVec<TableBone, NamedBone>, PoseDriver<TableBone>) {
    let bones = table_bones(driver);
    let renumbered = driver.renumbered(|bone| TableBone::new(bones.partition_point(|b| *b < bone)));
    (named_bones(skeleton, &bones), renumbered)
}

/// The steps whose rotations multiply to that of a joint in a welded pose.
///
/// They follow the links from the joint's first bone to its second and leave out the frozen ones. Steps that follow one
/// another are joined.
fn path(weld: &Weld, joint: &Joint) -> Vec<(BoneIndex, BoneIndex)> {
    // From a root to the bone: the bone of each step, and whether it is frozen.
    let way = |bone: BoneIndex| {
        let mut way = vec![];
        let mut at = bone;
        while let Some(link) = weld.links.iter().find(|link| link.to == at) {
            way.push((link.from, link.to, link.frozen));
            at = link.from;
        }
        way.reverse();
        (at, way)
    };
    let ((root, up), (other, down)) = (way(joint.parent), way(joint.bone));
    let same = up.iter().zip(&down).take_while(|(a, b)| root == other && a == b).count();
    let mut steps: Vec<(BoneIndex, BoneIndex)> =
        up[same..].iter().rev().filter(|s| !s.2).map(|&(from, to, _)| (to, from)).collect();
    if root != other {
        steps.push((root, other));
    }
    steps.extend(down[same..].iter().filter(|s| !s.2).map(|&(from, to, _)| (from, to)));
    let mut path: Vec<(BoneIndex, BoneIndex)> = vec![];
    for (from, to) in steps {
        match path.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => path.push((from, to)),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_deform::features::relative_features;
    use dermis_deform::pose_space::JointPart;
    use dermis_rig::BoneTransforms;
    use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};

    /// Oracle: the welded pose itself.
    #[test]
    fn rotations_along_a_path_are_those_of_the_welded_pose() {
        let mut random = dermis_testkit::Random::new(5);
        // Two roots; the second carries a branch.
        let parents = [None, Some(0), Some(1), Some(2), None, Some(4), Some(5), Some(4)];
        let names = (0..8).map(|b| format!("b{b}")).collect();
        let parents = parents.iter().map(|p| p.map(BoneIndex::new)).collect();
        let skeleton = Skeleton::new(names, parents, vec![DAffine3::IDENTITY; 8]).unwrap();
        for trial in 0..200 {
            let frozen: Vec<bool> = (0..8).map(|_| random.normal() > 0.3).collect();
            let weld = Weld::along(&skeleton, &frozen);
            let pose: Vec<DAffine3> = (0..8)
                .map(|_| {
                    let v = DVec3::new(random.normal(), random.normal(), random.normal());
                    DAffine3::from_rotation_translation(DQuat::from_scaled_axis(v), v)
                })
                .collect();
            let pose = BoneTransforms::new(pose);
            let mut welded = vec![];
            weld.apply(&pose, &mut welded);
            let (a, b) = (BoneIndex::new(trial % 8), BoneIndex::new(trial / 8 % 8));
            let joint = Joint { parent: a, bone: b, limit: f64::INFINITY, axis: DVec3::X, part: JointPart::Whole };
            let product = path(&weld, &joint)
                .iter()
                .fold(DMat3::IDENTITY, |r, &(from, to)| r * pose[from].matrix3.inverse() * pose[to].matrix3);
            let wanted = relative_features(&welded, Some(a), b, 1.0);
            for row in 0..3 {
                for column in 0..3 {
                    let found = product.col(column)[row] - f64::from(u8::from(row == column));
                    assert!((found - wanted[4 * row + column]).abs() < 1e-12, "{trial}: {found}");
                }
            }
        }
    }
}
