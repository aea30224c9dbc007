//! A deformer: a base, and a correction over it. The reference in `f64`.

use crate::baked::{Baked, BakedCorrection, Coefficients};
use crate::correction::Correction;
use crate::{DualQuaternions, RotationalRegression, lbs};
use dermis_rig::glam::{DAffine3, DMat3, DVec3, DVec4};
use dermis_rig::{BoneIndex, BoneTransforms, Influences};
use std::mem::take;

/// The underlying deformer of a model.
#[derive(Clone, Debug)]
pub enum Base {
    /// Every vertex follows its dominant bone.
    Rigid(Influences),
    /// Linear blend skinning.
    Lbs(Influences),
    /// Dual quaternion skinning; pivots are the bones' rest positions.
    Dqs(Influences, DualQuaternions),
    /// p' = Σ_k M_k a_vk.
    AnimationSpace(AnimationSpace),
    /// Rotational regression.
    RotationalRegression(Box<RotationalRegression>),
    /// The rest pose itself: what is learnt is a rest shape per pose, for another program to deform.
    Rest,
    /// Positions the caller supplies with every pose, such as the output of another deformer.
    Given,
}

/// Animation space: four coefficients per vertex and bone, shared by the three output axes; Σ_k a_vk.w = 1.
#[derive(Clone, Debug)]
pub struct AnimationSpace {
    /// Where the terms of vertex v start; one more entry than vertices.
    pub offsets: Vec<u32>,
    /// Bone and coefficients of each term, metres and weight.
    pub terms: Vec<(BoneIndex, DVec4)>,
}

impl AnimationSpace {
    /// p' of vertex `v`.
    pub fn at(&self, v: usize, transforms: &BoneTransforms) -> DVec3 {
        let terms = &self.terms[self.offsets[v] as usize..self.offsets[v + 1] as usize];
        terms.iter().map(|(bone, a)| apply(&transforms[*bone], *a)).sum()
    }
}

/// M a for homogeneous a.
fn apply(m: &DAffine3, a: DVec4) -> DVec3 {
    m.matrix3 * a.truncate() + m.translation * a.w
}

/// A deformer in `f64`.
#[derive(Clone, Debug)]
pub struct Deformer {
    /// Rest positions.
    pub rest: Vec<DVec3>,
    /// What is corrected.
    pub base: Base,
    /// The learnt correction, if any.
    pub correction: Option<Correction>,
}

impl Deformer {
    /// [`Deformer::bake`] of a deformer that is needed no longer: the coefficients of multi-weight enveloping, by far the
    /// largest of its arrays, are never held in both precisions.
    pub fn into_baked(mut self) -> Baked {
        let coefficients = match &mut self.correction {
            Some(Correction::Enveloping(correction)) => take(&mut correction.coefficients),
            _ => Vec::new(),
        };
        let mut baked = self.bake();
        drop(self);
        if let Some(BakedCorrection::Enveloping(correction)) = &mut baked.correction {
            correction.coefficients = Coefficients::Single(rounded(coefficients));
        }
        baked
    }
}

/// Numbers in `f32`, from the last to the first: those behind are given back as the others come.
fn rounded(mut numbers: Vec<f64>) -> Vec<f32> {
    /// Numbers from one return of memory to the next.
    const STEP: usize = 1 << 20;
    // Zeros from the system take no memory before they are written to.
    let mut rounded = vec![0.0; numbers.len()];
    while !numbers.is_empty() {
        let from = (numbers.len() - 1) / STEP * STEP;
        for (rounded, number) in rounded[from..].iter_mut().zip(&numbers[from..]) {
            *rounded = *number as f32;
        }
        numbers.truncate(from);
        numbers.shrink_to_fit();
    }
    rounded
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
            Self::AnimationSpace(space) => {
                for (v, p) in out.iter_mut().enumerate() {
                    *p = space.at(v, transforms);
                }
            }
            Self::RotationalRegression(model) => model.evaluate(rest, transforms, out),
            Self::Rest => out.copy_from_slice(rest),
            Self::Given => out.copy_from_slice(given.expect("a base of given positions needs them with every pose")),
        }
    }
}

impl Base {
    /// How a small displacement of vertex `v` at rest moves it in the pose last evaluated: the linear part of the map
    /// p ↦ p', which is affine in a fixed pose. The identity for [`Base::Given`], whose map is not known; that of linear
    /// blending for [`Base::RotationalRegression`], whose vertices hang together.
    pub fn linear(&self, v: usize, transforms: &BoneTransforms) -> DMat3 {
        match self {
            Self::Rigid(weights) => weights.dominant(v).map_or(DMat3::IDENTITY, |bone| transforms[bone].matrix3),
            Self::Lbs(weights) => lbs::blend(weights.of(v), transforms).matrix3,
            Self::RotationalRegression(model) => lbs::blend(model.weights.of(v), transforms).matrix3,
            Self::Dqs(weights, blend) => blend.map(weights.of(v)).matrix3,
            Self::AnimationSpace(space) => {
                let terms = &space.terms[space.offsets[v] as usize..space.offsets[v + 1] as usize];
                terms.iter().fold(DMat3::ZERO, |sum, (bone, a)| sum + transforms[*bone].matrix3 * a.w)
            }
            Self::Rest | Self::Given => DMat3::IDENTITY,
        }
    }
}

impl Deformer {
    /// Positions in a pose, and at how many vertices the ball held the correction back.
    ///
    /// # Panics
    /// As [`Base::evaluate`].
    pub fn evaluate(&mut self, transforms: &BoneTransforms, given: Option<&[DVec3]>, out: &mut [DVec3]) -> usize {
        self.base.evaluate(&self.rest, transforms, given, out);
        self.correction.as_ref().map_or(0, |c| c.add(&self.rest, transforms, &self.base, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_in_their_places() {
        for count in [0, 1, 1 << 20, (1 << 21) + 3] {
            let numbers: Vec<f64> = (0..count).map(|i| (i as f64).sin()).collect();
            let expected: Vec<f32> = numbers.iter().map(|&x| x as f32).collect();
            assert!(rounded(numbers) == expected, "{count}");
        }
    }
}
