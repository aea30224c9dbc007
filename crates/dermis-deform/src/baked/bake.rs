//! Baking: the one place where `f64` becomes `f32`.

use super::bases::{BakedBase, BakedCorrectiveSmooth, BakedDeltaMush, NO_ANCHOR, Weights};
use super::corrections::{
    BakedCorrection, BakedEnveloping, BakedJoints, BakedLayer, BakedPoseSpace, BakedRemainders, BakedShapes,
    BakedSharedTerm, Coefficients, FreePart, padded,
};
use super::model::Baked;
use crate::base::Base;
use crate::correction::Correction;
use crate::deformer::Deformer;
use crate::enveloping::Enveloping;
use crate::joints::{Joints, SharedTerm};
use crate::pose_space::{Carrier, CompiledShapes, PoseSpace, Remainders};
use dermis_rig::Rows;
use dermis_rig::glam::DVec3;
use std::mem::take;

impl Deformer {
    /// The deformer in `f32`.
    pub fn bake(&self) -> Baked {
        let rest = self.rest().iter().map(|p| p.as_vec3()).collect();
        Baked::unchecked(
            rest,
            BakedBase::of(self.base(), self.rest()),
            self.corrections().iter().map(BakedCorrection::of).collect(),
            self.bones(),
        )
    }

    /// [`Deformer::bake`] of a deformer that is needed no longer: the coefficients of multi-weight enveloping, by far the
    /// largest of its arrays, are never held in both precisions.
    pub fn into_baked(self) -> Baked {
        let bones = self.bones();
        let (rest, base, corrections) = self.into_parts();
        let narrow = rest.iter().map(|p| p.as_vec3()).collect();
        let baked = corrections.into_iter().map(|mut correction| {
            let coefficients = match &mut correction {
                Correction::Enveloping(correction) => take(&mut correction.coefficients),
                _ => Vec::new(),
            };
            let mut baked = BakedCorrection::of(&correction);
            drop(correction);
            if let BakedCorrection::Enveloping(correction) = &mut baked {
                correction.coefficients = Coefficients::Single(rounded(coefficients));
            }
            baked
        });
        Baked::unchecked(narrow, BakedBase::of(&base, &rest), baked.collect(), bones)
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

impl BakedBase {
    fn of(base: &Base, rest: &[DVec3]) -> Self {
        match base {
            Base::Rigid(weights) => BakedBase::Rigid(
                (0..weights.vertices()).map(|v| weights.dominant(v).map_or(NO_ANCHOR, |b| b.get() as u32)).collect(),
            ),
            Base::Lbs(weights) => BakedBase::Lbs(Weights::of(weights)),
            Base::Dqs(weights, blend) => BakedBase::Dqs(Weights::of(weights), blend.clone()),
            Base::DirectDeltaMush(mush) => BakedBase::DirectDeltaMush(BakedDeltaMush::of(mush, rest)),
            Base::CorrectiveSmooth(smooth) => {
                BakedBase::CorrectiveSmooth(Box::new(BakedCorrectiveSmooth::of(smooth, rest)))
            }
            Base::AnimationSpace(space) => BakedBase::AnimationSpace {
                bones: space.terms.map(|(bone, _)| bone.get() as u32),
                a: space.terms.entries().iter().map(|(_, a)| a.as_vec4()).collect(),
            },
            Base::RotationalRegression(model) => BakedBase::RotationalRegression(model.clone()),
            Base::Stack(stack, _) => BakedBase::Stack(stack.clone()),
            Base::Rest => BakedBase::Rest,
            Base::Given => BakedBase::Given,
        }
    }
}

impl BakedCorrection {
    fn of(correction: &Correction) -> Self {
        match correction {
            Correction::Enveloping(correction) => Self::Enveloping(Box::new(BakedEnveloping::of(correction))),
            Correction::Joints(correction) => Self::Joints(Box::new(BakedJoints::of(correction))),
            Correction::PoseSpace(correction) => Self::PoseSpace(Box::new(BakedPoseSpace::of(correction))),
            Correction::Shapes(correction) => Self::Shapes(Box::new(BakedShapes::of(correction))),
        }
    }
}

impl BakedEnveloping {
    fn of(correction: &Enveloping) -> Self {
        Self {
            anchors: correction.anchors.iter().map(|a| a.map_or(NO_ANCHOR, |bone| bone.get() as u32)).collect(),
            terms: correction.terms.clone(),
            coefficients: Coefficients::Single(correction.coefficients.iter().map(|&u| u as f32).collect()),
            constants: correction.constants.iter().map(|c| c.as_vec3()).collect(),
            radii: correction.radii.iter().map(|&r| r as f32).collect(),
            shared: Enveloping {
                weld: correction.weld.clone(),
                pairs: correction.pairs.clone(),
                origin: correction.origin,
                ..Enveloping::empty(correction.rows, correction.length)
            },
        }
    }
}

impl BakedJoints {
    fn of(correction: &Joints) -> Self {
        let Joints { length, kernel, frame, joints, gravity, weld, .. } = correction;
        let mut model = Joints::empty(*length, *kernel, *frame, joints.clone(), weld.clone());
        model.gravity.clone_from(gravity);
        let mut remembered = BakedLayer::default();
        if let Some(layer) = &correction.layer {
            let displacements = layer.displacements.iter().map(|e| e.as_vec3()).collect();
            remembered = BakedLayer { terms: layer.terms.clone(), displacements };
            model.layer = Some(layer.without_vertices());
        }
        let mut made = Self::empty(model, &correction.weights);
        made.layer = remembered;
        made.shared = correction.shared.map(BakedSharedTerm::of);
        made.limits = correction.shared_limits.iter().map(|&l| l as f32).collect();
        made.radii = correction.radii.iter().map(|&r| r as f32).collect();
        let numbers: Vec<usize> = correction.numbers().collect();
        let mut coefficients: Vec<f32> = Vec::new();
        let mut of_terms = correction.coefficients.entries();
        for &joint in correction.terms.entries() {
            let count = numbers[joint as usize];
            let of_term = of_terms.split_off(..3 * count).expect("the parts were checked in double precision");
            for row in of_term.chunks_exact(count) {
                coefficients.extend(row.iter().map(|&u| u as f32));
                coefficients.extend(std::iter::repeat_n(0.0, padded(count) - count));
            }
        }
        made.free = FreePart::new(numbers.into_iter(), correction.terms.clone(), &Coefficients::Single(coefficients))
            .expect("the parts were checked in double precision");
        made
    }
}

impl CompiledShapes {
    /// The same shapes of no vertex.
    pub fn without_vertices(&self) -> Self {
        Self { carrier: Carrier::World, terms: Rows::default(), displacements: vec![], radii: vec![], ..self.clone() }
    }
}

impl BakedSharedTerm {
    fn of(term: &SharedTerm) -> Self {
        Self {
            bone: term.bone.get() as u32,
            relevance: term.relevance as f32,
            offset: term.offset.as_vec3(),
            weight: term.weight as f32,
        }
    }
}

impl BakedRemainders {
    fn of(r: &Remainders) -> Self {
        Self { vertices: r.vertices.clone(), bones: r.bones.clone(), weights: r.weights.map(|w| w.as_vec3()) }
    }
}

impl BakedPoseSpace {
    fn of(correction: &PoseSpace) -> Self {
        Self {
            kernel: correction.kernel.clone(),
            carrier: correction.carrier.clone(),
            groups: correction.groups.clone(),
            weights: correction.weights.map(|w| w.as_vec3()),
            remainders: BakedRemainders::of(&correction.remainders),
            radii: correction.radii.iter().map(|&r| r as f32).collect(),
        }
    }
}

impl BakedShapes {
    fn of(correction: &CompiledShapes) -> Self {
        let displacements = correction.displacements.iter().map(|u| u.as_vec3()).collect();
        let radii = correction.radii.iter().map(|&r| r as f32).collect();
        Self {
            model: CompiledShapes { displacements: vec![], radii: vec![], ..correction.clone() },
            displacements,
            radii,
        }
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
