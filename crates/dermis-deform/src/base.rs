//! Bases in `f64`: what carries a vertex before any correction.

use crate::corrective_smooth::CorrectiveSmooth;
use crate::delta_mush::DirectDeltaMush;
use crate::dual_quaternion::DualQuaternions;
use crate::lbs;
use crate::rotational_regression::RotationalRegression;
use crate::stack::{Stack, StackPose};
use dermis_rig::glam::{DAffine3, DMat3, DVec3, DVec4};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Rows};

/// The underlying deformer of a model.
#[derive(Clone, Debug)]
pub enum Base {
    /// Every vertex follows its dominant bone.
    Rigid(Influences),
    /// Linear blend skinning.
    Lbs(Influences),
    /// Dual quaternion skinning; pivots are the bones' rest positions.
    Dqs(Influences, DualQuaternions),
    /// Direct delta mush.
    DirectDeltaMush(DirectDeltaMush),
    /// Corrective smoothing.
    CorrectiveSmooth(CorrectiveSmooth),
    /// p' = Σ_k M_k a_vk.
    AnimationSpace(AnimationSpace),
    /// Rotational regression.
    RotationalRegression(Box<RotationalRegression>),
    /// Deformers one after another, and what the pose last evaluated gives to them.
    Stack(Box<Stack>, StackPose),
    /// The rest pose itself: what is learnt is a rest shape per pose, for another program to deform.
    Rest,
    /// Positions the caller supplies with every pose, such as the output of another deformer.
    Given,
}

/// Animation space: four coefficients per vertex and bone, shared by the three output axes; Σ_k a_vk.w = 1.
#[derive(Clone, Debug)]
pub struct AnimationSpace {
    /// Per vertex, bone and coefficients of each term, metres and weight.
    pub terms: Rows<(BoneIndex, DVec4)>,
}

impl AnimationSpace {
    /// p' of vertex `v`.
    pub fn at(&self, v: usize, transforms: &BoneTransforms) -> DVec3 {
        self.terms.of(v).iter().map(|(bone, a)| apply(&transforms[*bone], *a)).sum()
    }

    /// How a displacement at rest moves vertex `v`: Σ_k a_vk.w M_k.
    pub fn linear(&self, v: usize, transforms: &BoneTransforms) -> DMat3 {
        let terms = self.terms.of(v).iter();
        terms.fold(DMat3::ZERO, |sum, (bone, a)| sum + transforms[*bone].matrix3 * a.w)
    }
}

/// M a for homogeneous a.
fn apply(m: &DAffine3, a: DVec4) -> DVec3 {
    m.matrix3 * a.truncate() + m.translation * a.w
}

impl Base {
    /// The base's positions in a pose. `given` serves [`Base::Given`] and is not read otherwise.
    ///
    /// # Panics
    /// If the counts disagree, or `given` is missing for [`Base::Given`]: callers check once, at construction.
    pub fn evaluate(
        &mut self,
        rest: &[DVec3],
        transforms: &BoneTransforms,
        given: Option<&[DVec3]>,
        out: &mut [DVec3],
    ) {
        match self {
            Self::Rigid(weights) => lbs::rigid(rest, weights, transforms, out),
            Self::Lbs(weights) => lbs::lbs(rest, weights, transforms, out),
            Self::Dqs(weights, blend) => {
                blend.prepare(transforms);
                blend.deform(rest, weights, out);
            }
            Self::DirectDeltaMush(mush) => crate::for_each_vertex(rest, out, |v, p| mush.at(v, p, transforms)),
            Self::CorrectiveSmooth(smooth) => smooth.evaluate(rest, transforms, out),
            Self::AnimationSpace(space) => {
                for (v, p) in out.iter_mut().enumerate() {
                    *p = space.at(v, transforms);
                }
            }
            Self::RotationalRegression(model) => model.evaluate(rest, transforms, out),
            Self::Stack(stack, pose) => {
                pose.prepare(stack, transforms);
                crate::for_each_vertex(rest, out, |v, p| stack.at(pose, v, p));
            }
            Self::Rest => out.copy_from_slice(rest),
            Self::Given => out.copy_from_slice(given.expect("a base of given positions needs them with every pose")),
        }
    }

    /// How a small displacement of vertex `v` at rest moves it in the pose last evaluated: the linear part of the map
    /// p ↦ p' at its rest position `p`. The map is affine in a fixed pose, but for a stack with lattices or wires, which is
    /// differentiated at `p`. The identity for [`Base::Given`], whose map is not known; that of linear blending for
    /// [`Base::RotationalRegression`], whose vertices hang together. Corrective smoothing has that of its corners: a displacement of one vertex is not smoothed.
    pub fn linear(&self, v: usize, p: DVec3, transforms: &BoneTransforms) -> DMat3 {
        match self {
            Self::Rigid(weights) => weights.dominant(v).map_or(DMat3::IDENTITY, |bone| transforms[bone].matrix3),
            Self::Lbs(weights) => lbs::blend(weights.of(v), transforms).matrix3,
            Self::RotationalRegression(model) => lbs::blend(model.weights.of(v), transforms).matrix3,
            Self::Dqs(weights, blend) => blend.map(weights.of(v)).matrix3,
            Self::DirectDeltaMush(mush) => mush.rotation(v, transforms),
            Self::CorrectiveSmooth(smooth) => smooth.linear(v, transforms),
            Self::Stack(stack, pose) => stack.linear(pose, v, p),
            Self::AnimationSpace(space) => space.linear(v, transforms),
            Self::Rest | Self::Given => DMat3::IDENTITY,
        }
    }

    /// Where a displacement `d` before the base moves vertex `v` in the pose last evaluated, S(p + d) − S(p), posed world. For
    /// an affine map that is its linear part times d; through a stack it holds for displacements of any size.
    pub fn carry(&self, v: usize, p: DVec3, d: DVec3, transforms: &BoneTransforms) -> DVec3 {
        match self {
            // Without the difference of two equal points there is no rounding either.
            Self::Stack(..) if d == DVec3::ZERO => DVec3::ZERO,
            Self::Stack(stack, pose) => stack.at(pose, v, p + d) - stack.at(pose, v, p),
            _ => self.linear(v, p, transforms) * d,
        }
    }
}
