//! Tables from which an engine computes driven shapes and helper bones, in memory and as this crate evaluates them.
//!
//! - [`JointTable`]: morph weights from the joint coordinates of a joint model;
//! - [`PoseDriver`]: morph weights from the kernel values of a pose space;
//! - [`HelperTable`]: the motion of helper bones from the joints around them.
//!
//! `docs/drivers.md` and `docs/compile.md` define every field. A table lists only the bones it reads, so a bone has two
//! numbers: [`BoneIndex`](dermis_rig::BoneIndex) in the rig and [`TableBone`] in the table. A pose space likewise numbers
//! its coordinates in the model by `usize` and in the table by [`TableCoordinate`].

mod helpers;
mod joints;
mod pose_space;

pub use helpers::{DrivenHelper, DrivingJoint, HelperTable, entries, joint_features, local, norm};
pub use joints::{JointTable, TableGravity, TableJoint};
pub use pose_space::{DriverChannel, PoseDriver, PoseJoint, PoseRegion};

use dermis_rig::define_index;
use dermis_rig::glam::DAffine3;

define_index!(TableBone, "A bone of a driver table, in the order in which the table lists its bones.");
define_index!(TableCoordinate, "A coordinate of a pose driver: first its joints in order, then its channels.");

/// A bone that a table reads.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedBone {
    /// Its name in the file that the table belongs to.
    pub name: String,
    /// B⁻¹: rest world to bone, metres.
    pub inverse_bind: DAffine3,
}
