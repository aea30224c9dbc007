//! The driver table of a pose space; docs/drivers.md defines every field.

use super::pose_space::Delivered;
use super::{DriverBone, FORMAT};
use dermis_deform::guard::Weld;
use dermis_deform::pose_space::{Coordinates, Family, Joint};
use dermis_rig::skeleton::row;
use dermis_rig::{BoneIndex, Skeleton};
use serde::Serialize;

/// The version of tables that hold a pose space.
pub const VERSION: u32 = 2;
/// What the glTF extension is called.
pub const EXTENSION: &str = "DERMIS_pose_space";

/// How weights of morph targets follow from joints through a pose space.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoseSpaceTable {
    /// `dermis-drivers`.
    pub format: String,
    /// 2.
    pub version: u32,
    /// `pose-space`.
    pub kind: String,
    /// The program that wrote it.
    pub generator: String,
    /// The mesh in the GLB whose morph targets are driven.
    pub mesh: String,
    /// The bones that are read.
    pub bones: Vec<DriverBone>,
    /// The morph targets, in the order of the GLB.
    pub shapes: Vec<String>,
    /// What is computed.
    #[serde(flatten)]
    pub driver: PoseDriver,
}

/// What the table and the glTF extension have in common. Numbers of bones are those of the table's list, or of nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoseDriver {
    /// What rotations become.
    pub coordinates: DriverCoordinates,
    /// φ.
    pub kernel: DriverKernel,
    /// Whether a region's coordinates are values, too, after its kernels.
    pub linear: bool,
    /// Joints whose rotations are coordinates.
    pub joints: Vec<PoseJoint>,
    /// Numbers of the pose that are coordinates; they are counted after the joints.
    pub channels: Vec<DriverChannel>,
    /// Which values move which shapes.
    pub regions: Vec<PoseRegion>,
    /// Weights at the bind pose.
    pub offset: Vec<f64>,
    /// Where weights are clamped.
    pub clamp: [f64; 2],
}

/// What rotations become.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DriverCoordinates {
    /// (R − I)/√2, nine numbers, column after column.
    Chord,
    /// Angle times axis.
    RotationVector,
    /// Angles of Rz Ry Rx.
    Euler,
    /// Five numbers, scaled.
    SwingTwist {
        /// Scale of the swing.
        swing: f64,
        /// Scale of the twist.
        twist: f64,
    },
}

/// φ and its width.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DriverKernel {
    /// The family.
    pub kind: KernelKind,
    /// σ.
    pub sigma: f64,
}

/// Families of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelKind {
    /// exp(−Σ r²).
    Gaussian,
    /// Π (1 − r)⁷₊ (7 r + 1).
    Wendland,
    /// −|r|.
    Polyharmonic,
}

/// A joint whose rotation is a coordinate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoseJoint {
    /// Pairs of bones, from and to: the rotation is the product of those of each second bone seen from the first.
    pub path: Vec<[usize; 2]>,
    /// The axis of its twist, in the space of the GLB.
    pub axis: [f64; 3],
    /// Largest norm of its coordinate, if there is a limit.
    pub limit: Option<f64>,
}

/// A number of the pose beside its joints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriverChannel {
    /// What it is called.
    pub name: String,
    /// Factor before it is compared.
    pub scale: f64,
    /// Largest absolute value, scaled, if there is a limit.
    pub limit: Option<f64>,
}

/// A part of the character with a pose space of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoseRegion {
    /// Coordinates that count, each with its a.
    pub relevance: Vec<(usize, f64)>,
    /// Poses it is compared with: the numbers of the coordinates that count, one after the other.
    pub centres: Vec<Vec<f64>>,
    /// The shapes it moves.
    pub shapes: Vec<usize>,
    /// A row per shape it moves, a column per value.
    pub matrix: Vec<Vec<f64>>,
}

/// The driver with bones as the rig numbers them. `kept` are shapes with the factors of their coordinates, in the order of the
/// morph targets after the first.
pub(super) fn driver(delivered: &Delivered, kept: &[(usize, f64)], offset: Vec<f64>) -> PoseDriver {
    let kernel = &delivered.kernel;
    let target_of = |shape: usize| kept.iter().position(|k| k.0 == shape);
    let mut regions = Vec::new();
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
        regions.push(PoseRegion {
            centres: kernel.centres(g).iter().map(centre).collect(),
            shapes: targets().map(|(at, _)| at + 1).collect(),
            matrix: targets().map(|(at, row)| row.iter().map(|x| x * kept[at].1).collect()).collect(),
            relevance,
        });
    }
    // Coordinates no region reads are left out.
    let mut read: Vec<usize> = regions.iter().flat_map(|r| r.relevance.iter().map(|r| r.0)).collect();
    read.sort_unstable();
    read.dedup();
    for (j, _) in regions.iter_mut().flat_map(|r| &mut r.relevance) {
        *j = read.partition_point(|k| k < j);
    }
    let limit = |limit: f64| Some(limit).filter(|limit| limit.is_finite());
    let joint = |joint: &Joint| PoseJoint {
        path: path(&kernel.weld, joint).into_iter().map(|(a, b)| [a.get(), b.get()]).collect(),
        axis: joint.axis.to_array(),
        limit: limit(joint.limit),
    };
    let first = kernel.joints.len();
    let channel = |&j: &usize| {
        let channel = &kernel.channels[j - first];
        DriverChannel { name: channel.name.clone(), scale: channel.scale, limit: limit(channel.limit) }
    };
    PoseDriver {
        coordinates: match kernel.coordinates {
            Coordinates::Chord => DriverCoordinates::Chord,
            Coordinates::RotationVector => DriverCoordinates::RotationVector,
            Coordinates::Euler => DriverCoordinates::Euler,
            Coordinates::SwingTwist { swing, twist } => DriverCoordinates::SwingTwist { swing, twist },
        },
        kernel: DriverKernel {
            kind: match kernel.family {
                Family::Gaussian => KernelKind::Gaussian,
                Family::Wendland => KernelKind::Wendland,
                Family::Polyharmonic => KernelKind::Polyharmonic,
            },
            sigma: kernel.sigma,
        },
        linear: kernel.linear,
        joints: read.iter().filter(|j| **j < first).map(|&j| joint(&kernel.joints[j])).collect(),
        channels: read.iter().filter(|j| **j >= first).map(channel).collect(),
        regions,
        offset,
        clamp: [0.0, 1.0],
    }
}

/// The table for a file of its own: bones by name.
pub(super) fn table(driver: &PoseDriver, mesh: &str, skeleton: &Skeleton, shapes: Vec<String>) -> PoseSpaceTable {
    let mut bones: Vec<usize> = driver.joints.iter().flat_map(|j| j.path.iter().flatten().copied()).collect();
    bones.sort_unstable();
    bones.dedup();
    let mut driver = driver.clone();
    for bone in driver.joints.iter_mut().flat_map(|j| j.path.iter_mut().flatten()) {
        *bone = bones.partition_point(|b| b < bone);
    }
    let bone = |&bone: &usize| DriverBone {
        name: skeleton.names()[BoneIndex::new(bone)].clone(),
        inverse_bind: [0, 1, 2].map(|j| row(&skeleton.inverse_bind()[BoneIndex::new(bone)], j)),
    };
    PoseSpaceTable {
        format: FORMAT.into(),
        version: VERSION,
        kind: "pose-space".into(),
        generator: crate::PROGRAM.into(),
        mesh: mesh.into(),
        bones: bones.iter().map(bone).collect(),
        shapes,
        driver,
    }
}

/// The steps whose rotations make up those of a joint in a welded pose: along the links from its first bone to its second, without the
/// frozen ones; steps that follow one another are one.
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
            let joint = Joint { parent: a, bone: b, limit: f64::INFINITY, axis: DVec3::X };
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
