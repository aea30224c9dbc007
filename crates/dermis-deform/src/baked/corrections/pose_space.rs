//! Pose-space deformation as it runs.

use crate::baked::bases::{BakedBase, BaseScratch};
use crate::pose_space::{Carrier, Kernel, KernelValues, NO_GROUP};
use dermis_rig::glam::{Mat3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms, Rows};

/// [`PoseSpace`](crate::pose_space::PoseSpace) in `f32`; kernel values are computed in `f64` and rounded once.
#[derive(Clone, Debug)]
pub struct BakedPoseSpace {
    /// What a pose is compared with.
    pub kernel: Kernel,
    /// What carries displacements into the posed world.
    pub carrier: Carrier,
    /// Group of each vertex, or [`NO_GROUP`].
    pub groups: Vec<u32>,
    /// W_vs of every vertex, in the order of the group's values.
    pub weights: Rows<Vec3>,
    /// What the base cannot produce.
    pub remainders: BakedRemainders,
    /// Radii of the guard; empty without it.
    pub radii: Vec<f32>,
}

/// [`Remainders`](crate::pose_space::Remainders) in `f32`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BakedRemainders {
    /// The vertices, ascending.
    pub vertices: Vec<u32>,
    /// The bone whose frame each remainder lives in.
    pub bones: Vec<BoneIndex>,
    /// V_vs of each, in the order of the values of the vertex's group.
    pub weights: Rows<Vec3>,
}

/// Memory of this correction.
#[derive(Clone, Debug, Default)]
pub(in crate::baked) struct PoseSpaceScratch {
    /// The linear parts of M_k.
    pub(in crate::baked) turns: Vec<Mat3>,
    kernel: KernelValues,
    /// Kernel values.
    pub(in crate::baked) values: Vec<f32>,
}

impl BakedPoseSpace {
    /// Kernel values of the pose into the scratch; how many joints were limited, of how many.
    pub(in crate::baked) fn prepare(
        &self,
        transforms: &BoneTransforms,
        scratch: &mut PoseSpaceScratch,
    ) -> (usize, usize) {
        scratch.turns.clear();
        scratch.turns.extend(transforms.iter().map(|m| m.matrix3.as_mat3()));
        scratch.values.resize(self.kernel.values(), 0.0);
        self.kernel.evaluate(transforms, &mut scratch.kernel, &mut scratch.values, |k| k as f32);
        (scratch.kernel.limited, self.kernel.width())
    }

    pub(super) fn bytes(&self) -> usize {
        let r = &self.remainders;
        self.kernel.bytes()
            + self.carrier.bytes()
            + 4 * (self.groups.len() + self.weights.offsets().len())
            + 4 * (r.vertices.len() + r.bones.len() + r.weights.offsets().len())
            + 12 * (self.weights.entries().len() + r.weights.entries().len())
    }

    /// The correction of vertex `v` with rest position `p` in posed world, before the ball.
    pub(super) fn at(
        &self,
        v: usize,
        p: Vec3,
        base: &BakedBase,
        pose: &BaseScratch,
        scratch: &PoseSpaceScratch,
    ) -> Vec3 {
        if self.groups[v] == NO_GROUP {
            return Vec3::ZERO;
        }
        let values = &scratch.values[self.kernel.range(self.groups[v] as usize)];
        let d = dot(self.weights.of(v), values);
        let mut world = self.carrier.carry_f32((v, p), d, (base, pose), &scratch.turns);
        let r = &self.remainders;
        if let Ok(at) = r.vertices.binary_search(&(v as u32)) {
            let w = dot(r.weights.of(at), values);
            world += scratch.turns[r.bones[at].get()] * w;
        }
        world
    }
}

fn dot(weights: &[Vec3], values: &[f32]) -> Vec3 {
    weights.iter().zip(values).fold(Vec3::ZERO, |sum, (w, k)| sum + *w * *k)
}

impl Carrier {
    /// C_v d of vertex `v` with rest position `p`. `turns` are the linear parts of the bones' transforms.
    #[inline]
    pub(super) fn carry_f32(
        &self,
        (v, p): (usize, Vec3),
        d: Vec3,
        (base, pose): (&BakedBase, &BaseScratch),
        turns: &[Mat3],
    ) -> Vec3 {
        match self {
            Self::Base => base.carry(v, p, d, pose),
            Self::Bones(bones) => turns[bones[v].get()] * d,
            Self::World => d,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        if let Self::Bones(bones) = self { 4 * bones.len() } else { 0 }
    }
}
