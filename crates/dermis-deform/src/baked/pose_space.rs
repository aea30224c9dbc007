//! Pose-space deformation as it runs.

use super::{BakedBase, Scratch};
use crate::pose_space::{Carrier, Kernel, NO_GROUP, PoseSpace};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::Vec3;

/// [`PoseSpace`] in `f32`; kernel values are computed in `f64` and rounded once.
#[derive(Clone, Debug)]
pub struct BakedPoseSpace {
    /// What a pose is compared with.
    pub kernel: Kernel,
    /// What carries displacements into the posed world.
    pub carrier: Carrier,
    /// Group of each vertex, or [`NO_GROUP`].
    pub groups: Vec<u32>,
    /// Where the displacements of vertex v start; one more entry than vertices.
    pub offsets: Vec<u32>,
    /// W_vs, in the order of the group's centres.
    pub weights: Vec<Vec3>,
    /// Radii of the guard; empty without it.
    pub radii: Vec<f32>,
}

impl BakedPoseSpace {
    pub(super) fn of(correction: &PoseSpace) -> Self {
        Self {
            kernel: correction.kernel.clone(),
            carrier: correction.carrier.clone(),
            groups: correction.groups.clone(),
            offsets: correction.offsets.clone(),
            weights: correction.weights.iter().map(|w| w.as_vec3()).collect(),
            radii: correction.radii.iter().map(|&r| r as f32).collect(),
        }
    }

    /// Kernel values of the pose into the scratch; how many joints were limited, of how many.
    pub(super) fn prepare(&self, transforms: &BoneTransforms, scratch: &mut Scratch) -> (usize, usize) {
        scratch.kernel_values.resize(self.kernel.values(), 0.0);
        self.kernel.evaluate(transforms, &mut scratch.kernel, &mut scratch.kernel_values, |k| k as f32);
        (scratch.kernel.limited, self.kernel.joints.len())
    }

    pub(super) fn bytes(&self) -> usize {
        let bones = if let Carrier::Bones(bones) = &self.carrier { bones.len() } else { 0 };
        self.kernel.bytes() + 4 * (self.groups.len() + self.offsets.len() + bones) + 12 * self.weights.len()
    }

    /// The correction of vertex `v` in posed world, before the ball.
    pub(super) fn at(&self, v: usize, base: &BakedBase, scratch: &Scratch) -> Vec3 {
        if self.groups[v] == NO_GROUP {
            return Vec3::ZERO;
        }
        let weights = &self.weights[self.offsets[v] as usize..self.offsets[v + 1] as usize];
        let values = &scratch.kernel_values[self.kernel.range(self.groups[v] as usize)];
        let d = weights.iter().zip(values).fold(Vec3::ZERO, |sum, (w, k)| sum + *w * *k);
        match &self.carrier {
            Carrier::Base => base.at(v, d.extend(0.0), scratch),
            Carrier::Bones(bones) => scratch.turns[bones[v].get()] * d,
            Carrier::World => d,
        }
    }
}
