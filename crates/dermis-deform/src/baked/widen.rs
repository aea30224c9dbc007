//! The way back from `f32` to `f64`, for fits that start from a model.
//!
//! Every number keeps its value, but that coefficients of 16 bits become those of `f32`. A skin that is widened and baked again moves
//! by rounding alone.

use super::bases::{BakedBase, BakedDeltaMush, NO_ANCHOR, Weights};
use super::corrections::{BakedCorrection, BakedEnveloping, BakedJoints, BakedPoseSpace, BakedShapes, padded};
use super::model::Baked;
use crate::base::{AnimationSpace, Base};
use crate::correction::Correction;
use crate::deformer::Deformer;
use crate::delta_mush::{DirectDeltaMush, Moments};
use crate::enveloping::Enveloping;
use crate::joints::{Joints, SharedTerm};
use crate::parts::DeformerError;
use crate::pose_space::{CompiledShapes, PoseSpace, Remainders};
use crate::stack::StackPose;
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::{BoneIndex, InfluenceError, Influences, Rows};

impl Baked {
    /// The model in `f64`.
    ///
    /// # Errors
    /// [`DeformerError`] for weights that no rig may have, which only a file can hold.
    pub fn widened(&self) -> Result<Deformer, DeformerError> {
        let rest = self.rest.iter().map(|p| p.as_dvec3()).collect();
        let base = self.base.widened().map_err(|_| DeformerError::List { part: "skinning weights" })?;
        let corrections = self.corrections.iter().map(BakedCorrection::widened).collect::<Result<_, _>>()?;
        Deformer::of_parts(rest, base, corrections)
    }
}

impl Weights {
    fn widened(&self) -> Result<Influences, InfluenceError> {
        let row = |v| self.of_vertex(v).map(|(bone, w)| (BoneIndex::new(bone), f64::from(w))).collect::<Vec<_>>();
        Influences::from_rows((0..self.bones.len()).map(row))
    }
}

impl BakedBase {
    fn widened(&self) -> Result<Base, InfluenceError> {
        Ok(match self {
            Self::Rigid(bones) => {
                let row = |&bone: &u32| match bone {
                    NO_ANCHOR => vec![],
                    bone => vec![(BoneIndex::new(bone as usize), 1.0)],
                };
                Base::Rigid(Influences::from_rows(bones.iter().map(row))?)
            }
            Self::Lbs(weights) => Base::Lbs(weights.widened()?),
            Self::Dqs(weights, blend) => Base::Dqs(weights.widened()?, blend.clone()),
            Self::DirectDeltaMush(mush) => Base::DirectDeltaMush(mush.widened()),
            Self::CorrectiveSmooth(smooth) => Base::CorrectiveSmooth(smooth.wide().clone()),
            Self::AnimationSpace { bones, a } => {
                let terms = bones.entries().iter().zip(a);
                let terms = terms.map(|(&bone, a)| (BoneIndex::new(bone as usize), a.as_dvec4())).collect();
                let terms =
                    Rows::new(bones.offsets().to_vec(), terms).expect("coefficients for every bone, as was checked");
                Base::AnimationSpace(AnimationSpace { terms })
            }
            Self::RotationalRegression(model) => Base::RotationalRegression(model.clone()),
            Self::Stack(stack) => Base::Stack(stack.clone(), StackPose::default()),
            Self::Rest => Base::Rest,
            Self::Given => Base::Given,
        })
    }
}

impl BakedDeltaMush {
    fn widened(&self) -> DirectDeltaMush {
        let heads: Vec<[f32; 7]> = self.of_vertices().collect();
        let offsets: Vec<u32> = self.offsets().collect();
        let squares = offsets.windows(2).zip(&heads).flat_map(|(ends, head)| (ends[0]..ends[1]).map(|_| head[6]));
        let terms = self.terms().zip(squares).map(|((bone, m), square)| {
            let [weight, x, y, z, second @ ..] = m.map(f64::from);
            let square = f64::from(square);
            let first = DVec3::new(x, y, z) * square;
            (BoneIndex::new(bone as usize), Moments { weight, first, second: second.map(|m| m * square) })
        });
        let terms = terms.collect();
        let terms = Rows::new(offsets, terms).expect("the terms of every vertex follow each other");
        let centre = |head: &[f32; 7]| Vec3::from_slice(head).as_dvec3();
        DirectDeltaMush { terms, centres: heads.iter().map(centre).collect() }
    }
}

impl BakedCorrection {
    fn widened(&self) -> Result<Correction, DeformerError> {
        Ok(match self {
            Self::Enveloping(correction) => correction.widened().into(),
            Self::Joints(correction) => correction.widened()?.into(),
            Self::PoseSpace(correction) => correction.widened().into(),
            Self::Shapes(correction) => correction.widened().into(),
        })
    }
}

/// The bone of a vertex, unless it has none.
fn anchor(bone: u32) -> Option<BoneIndex> {
    (bone != NO_ANCHOR).then(|| BoneIndex::new(bone as usize))
}

impl BakedEnveloping {
    fn widened(&self) -> Enveloping {
        let size = self.shared.rows.coefficients();
        let starts = self.terms.offsets().iter().map(|&at| at as usize * size);
        Enveloping {
            anchors: self.anchors.iter().map(|&bone| anchor(bone)).collect(),
            terms: self.terms.clone(),
            coefficients: self.coefficients.widened(starts).into_iter().map(f64::from).collect(),
            constants: self.constants.iter().map(|c| c.as_dvec3()).collect(),
            radii: self.radii.iter().map(|&r| f64::from(r)).collect(),
            ..self.shared.clone()
        }
    }
}

impl BakedJoints {
    fn widened(&self) -> Result<Joints, DeformerError> {
        let list = |_| DeformerError::List { part: "free terms" };
        let starts = self.free.coefficient_starts();
        let stored = self.free.coefficients().widened(starts.iter().copied());
        let numbers: Vec<usize> = self.model.numbers().collect();
        let mut coefficients = Rows::default();
        for (v, &start) in starts.iter().take(self.free.vertices()).enumerate() {
            let (mut row, mut at) = (Vec::new(), start);
            for &joint in self.free.terms().of(v) {
                let count = numbers[joint as usize];
                for _ in 0..3 {
                    row.extend(stored[at..at + count].iter().map(|&u| f64::from(u)));
                    at += padded(count);
                }
            }
            coefficients.push(row).map_err(list)?;
        }
        let mut model = self.model.clone();
        if let Some(layer) = &mut model.layer {
            layer.terms = self.layer.terms.clone();
            layer.displacements = self.layer.displacements.iter().map(|e| e.as_dvec3()).collect();
        }
        let shared = self.shared.map(|term| SharedTerm {
            bone: BoneIndex::new(term.bone as usize),
            relevance: term.relevance.into(),
            offset: term.offset.as_dvec3(),
            weight: term.weight.into(),
        });
        Ok(Joints {
            weights: self.weights.widened().map_err(|_| DeformerError::List { part: "skinning weights" })?,
            terms: self.free.terms().clone(),
            coefficients,
            shared,
            shared_limits: self.limits.iter().map(|&l| f64::from(l)).collect(),
            radii: self.radii.iter().map(|&r| f64::from(r)).collect(),
            ..model
        })
    }
}

impl BakedPoseSpace {
    /// The same in `f64`, for fits that start from a model.
    pub fn widened(&self) -> PoseSpace {
        let r = &self.remainders;
        PoseSpace {
            kernel: self.kernel.clone(),
            carrier: self.carrier.clone(),
            groups: self.groups.clone(),
            weights: self.weights.map(|w| w.as_dvec3()),
            remainders: Remainders {
                vertices: r.vertices.clone(),
                bones: r.bones.clone(),
                weights: r.weights.map(|w| w.as_dvec3()),
            },
            radii: self.radii.iter().map(|&r| f64::from(r)).collect(),
        }
    }
}

impl BakedShapes {
    /// The same in `f64`, for fits that start from a model.
    pub fn widened(&self) -> CompiledShapes {
        CompiledShapes {
            displacements: self.displacements.iter().map(|u| u.as_dvec3()).collect(),
            radii: self.radii.iter().map(|&r| f64::from(r)).collect(),
            ..self.model.clone()
        }
    }
}
