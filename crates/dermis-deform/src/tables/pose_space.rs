//! The driver of a pose space: morph weights from kernel values, region by region.

use super::TableCoordinate;
use crate::pose_space::{Coordinates, Family, JointPart, Window};

/// How weights of morph targets follow from a pose space.
///
/// `B` numbers bones: [`BoneIndex`](dermis_rig::BoneIndex) for a driver inside the file of the rig, or
/// [`TableBone`](super::TableBone) for a table that lists its bones.
#[derive(Clone, Debug, PartialEq)]
pub struct PoseDriver<B> {
    /// What rotations become.
    pub coordinates: Coordinates,
    /// φ.
    pub family: Family,
    /// σ.
    pub sigma: f64,
    /// Whether a region's coordinates are values as well, after its kernels.
    pub linear: bool,
    /// Joints whose rotations are coordinates.
    pub joints: Vec<PoseJoint<B>>,
    /// Per-pose values other than joints that are coordinates.
    pub channels: Vec<DriverChannel>,
    /// Which values move which shapes.
    pub regions: Vec<PoseRegion>,
    /// Weights at the bind pose.
    pub offset: Vec<f64>,
    /// Where weights are clamped.
    pub clamp: [f64; 2],
}

/// A joint whose rotation is a coordinate.
#[derive(Clone, Debug, PartialEq)]
pub struct PoseJoint<B> {
    /// Pairs of bones, from and to: the rotation is the product of those of each second bone seen from the first.
    pub path: Vec<[B; 2]>,
    /// The axis of its twist, rest world, unit length.
    pub axis: [f64; 3],
    /// Largest norm of its coordinate, if there is a limit.
    pub limit: Option<f64>,
    /// What of its rotation is read.
    pub part: JointPart,
}

/// A per-pose value other than the joints, such as a muscle's contraction.
#[derive(Clone, Debug, PartialEq)]
pub struct DriverChannel {
    /// Its name.
    pub name: String,
    /// Factor before it is compared.
    pub scale: f64,
    /// Largest absolute value, scaled, if there is a limit.
    pub limit: Option<f64>,
}

/// A part of the character with a pose space of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct PoseRegion {
    /// Coordinates that count, each with its relevance a.
    pub relevance: Vec<(TableCoordinate, f64)>,
    /// Poses it is compared with: the numbers of the coordinates that count, one after the other.
    pub centres: Vec<Vec<f64>>,
    /// The morph targets it moves.
    pub shapes: Vec<usize>,
    /// A row per shape it moves, a column per value.
    pub matrix: Vec<Vec<f64>>,
    /// Where each of the morph targets may show: its weight, clamped, counts times this. Empty: everywhere.
    pub windows: Vec<Window>,
}

impl<B: Copy> PoseDriver<B> {
    /// The same driver with its bones numbered otherwise.
    pub fn renumbered<C>(&self, number: impl Fn(B) -> C) -> PoseDriver<C> {
        let joint = |joint: &PoseJoint<B>| PoseJoint {
            path: joint.path.iter().map(|&[from, to]| [number(from), number(to)]).collect(),
            axis: joint.axis,
            limit: joint.limit,
            part: joint.part,
        };
        PoseDriver {
            coordinates: self.coordinates,
            family: self.family,
            sigma: self.sigma,
            linear: self.linear,
            joints: self.joints.iter().map(joint).collect(),
            channels: self.channels.clone(),
            regions: self.regions.clone(),
            offset: self.offset.clone(),
            clamp: self.clamp,
        }
    }
}
