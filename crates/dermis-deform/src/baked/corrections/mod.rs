//! Corrections as they run: what is added to the positions of a base.

mod block;
mod coefficients;
mod enveloping;
mod free;
mod joint_lanes;
mod joints;
mod pose_space;
mod settle;
mod shapes;

pub(super) use block::Corrected;
pub use coefficients::{CoefficientPrecision, Coefficients};
pub use enveloping::BakedEnveloping;
pub(super) use enveloping::EnvelopingScratch;
pub use free::FreePart;
pub(super) use joints::JointsScratch;
pub use joints::{BakedJoints, BakedLayer, BakedSharedTerm, padded};
pub(super) use pose_space::PoseSpaceScratch;
pub use pose_space::{BakedPoseSpace, BakedRemainders};
pub use shapes::BakedShapes;
pub(super) use shapes::ShapesScratch;

use super::bases::BaseScratch;
use crate::pose_space::{Carrier, Channel};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::{Influences, Rows};
use settle::settle_one;

/// [`Correction`](crate::correction::Correction) in `f32`.
#[derive(Clone, Debug)]
pub enum BakedCorrection {
    /// Multi-weight enveloping.
    Enveloping(Box<BakedEnveloping>),
    /// The joint model.
    Joints(Box<BakedJoints>),
    /// Pose-space deformation.
    PoseSpace(Box<BakedPoseSpace>),
    /// A pose space of shapes.
    Shapes(Box<BakedShapes>),
}

/// Memory of the corrections, each in a part of its own, reused from pose to pose.
#[derive(Clone, Debug, Default)]
pub(super) struct CorrectionScratch {
    pub(super) enveloping: EnvelopingScratch,
    pub(super) joints: JointsScratch,
    pub(super) pose_space: PoseSpaceScratch,
    pub(super) shapes: ShapesScratch,
}

impl BakedCorrection {
    /// What the pose gives to all vertices, into the scratch; how many features were limited, of how many.
    ///
    /// - `shift`: what the base's positions are without
    /// - `base`: the pose as the base has it
    pub(super) fn prepare(
        &self,
        transforms: &BoneTransforms,
        shift: DVec3,
        base: &BaseScratch,
        scratch: &mut CorrectionScratch,
    ) -> (usize, usize) {
        match self {
            Self::Enveloping(correction) => correction.prepare(transforms, &mut scratch.enveloping),
            Self::Joints(correction) => correction.prepare(transforms, shift, &mut scratch.joints),
            Self::PoseSpace(correction) => correction.prepare(transforms, &mut scratch.pose_space),
            Self::Shapes(correction) => correction.prepare(transforms, &base.table, &mut scratch.shapes),
        }
    }

    /// Adds the correction and the shift to the base's positions; at how many vertices the ball held it back.
    pub(super) fn add_block(&self, block: Corrected<'_>, scratch: &CorrectionScratch, out: &mut [Vec3]) -> usize {
        let radii = self.radii().get(block.from..block.from + out.len()).unwrap_or_default();
        match self {
            Self::Enveloping(correction) => correction.add_block(block, &scratch.enveloping, radii, out),
            Self::Shapes(correction) => correction.add_block(block, &scratch.shapes, radii, out),
            Self::Joints(correction) => correction.add_block(block, &scratch.joints, radii, out),
            Self::PoseSpace(correction) => {
                let at = |v| correction.at(v, block.rest[v], block.base, block.pose, &scratch.pose_space);
                out.iter_mut()
                    .enumerate()
                    .map(|(i, p)| settle_one(at(block.from + i), radii.get(i), block.behind, p))
                    .sum()
            }
        }
    }

    /// Radii of the ball per vertex; empty without the guard.
    pub fn radii(&self) -> &[f32] {
        match self {
            Self::Enveloping(correction) => &correction.radii,
            Self::Joints(correction) => &correction.radii,
            Self::PoseSpace(correction) => &correction.radii,
            Self::Shapes(correction) => &correction.radii,
        }
    }

    /// Channels that the correction reads of a pose, beside its bones.
    pub fn channels(&self) -> &[Channel] {
        match self {
            Self::Enveloping(_) => &[],
            Self::Joints(correction) => correction.model.layer.as_ref().map_or(&[], |layer| &layer.kernel.channels),
            Self::PoseSpace(correction) => &correction.kernel.channels,
            Self::Shapes(correction) => &correction.model.kernel.channels,
        }
    }

    /// L: features divide translations by it; one for a form that reads rotations alone.
    pub fn length(&self) -> f64 {
        match self {
            Self::Enveloping(correction) => correction.shared.length,
            Self::Joints(correction) => correction.model.length,
            Self::PoseSpace(_) | Self::Shapes(_) => 1.0,
        }
    }

    /// Bytes of the arrays that evaluation reads.
    pub fn bytes(&self) -> usize {
        4 * self.radii().len()
            + match self {
                Self::Enveloping(correction) => correction.bytes(),
                Self::Joints(correction) => correction.bytes(),
                Self::PoseSpace(correction) => correction.bytes(),
                Self::Shapes(correction) => correction.bytes(),
            }
    }

    /// The same without its vertices.
    pub(super) fn without_vertices(&self) -> Self {
        match self {
            Self::Enveloping(c) => Self::Enveloping(Box::new(BakedEnveloping {
                shared: c.shared.clone(),
                anchors: vec![],
                terms: Rows::default(),
                coefficients: Coefficients::Single(vec![]),
                constants: vec![],
                radii: vec![],
            })),
            Self::Joints(c) => Self::Joints(Box::new(BakedJoints::empty(c.model.clone(), &Influences::default()))),
            Self::PoseSpace(c) => Self::PoseSpace(Box::new(BakedPoseSpace {
                kernel: c.kernel.clone(),
                carrier: Carrier::World,
                groups: vec![],
                weights: Rows::default(),
                remainders: Default::default(),
                radii: vec![],
            })),
            Self::Shapes(c) => {
                let mut model = c.model.clone();
                (model.terms, model.carrier) = (Rows::default(), Carrier::World);
                Self::Shapes(Box::new(BakedShapes { model, displacements: vec![], radii: vec![] }))
            }
        }
    }
}
