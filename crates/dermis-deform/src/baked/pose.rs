//! What a pose alone gives to every vertex, for evaluation elsewhere, such as on a graphics card.

use super::bases::{BakedBase, Weights};
use super::corrections::{BakedCorrection, JointsScratch};
use super::guarded::Guarded;
use super::leaving::{Leaving, RoundedBone};
use super::model::Baked;
use super::scratch::Scratch;
use crate::pose_size::PoseError;
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{Affine3A, DAffine3, Mat3, Vec3, Vec4};
use dermis_rig::skeleton::row;

/// A pose as [`Baked::evaluate`] prepares it: computed in `f64`, rounded once. Positions are about the character's middle.
#[derive(Clone, Copy, Debug)]
pub struct PoseData<'a> {
    /// The middle: what is added to every position in the end. Zero where the base is the rest pose or given.
    pub middle: Vec3,
    /// M_k, each moved by −middle; rows, translation last.
    pub rows: &'a [[[f32; 4]; 3]],
    /// Dual quaternions of the bones about the middle; empty unless the base blends them.
    pub quaternions: &'a [RoundedBone],
    /// What the correction reads.
    pub correction: CorrectionData<'a>,
    /// What the limits of features did; vertices that the ball holds back are not counted here.
    pub guarded: Guarded,
}

/// What a pose gives to the vertices of a correction.
#[derive(Clone, Copy, Debug)]
pub enum CorrectionData<'a> {
    /// No correction.
    None,
    /// Corrections one after another, which only [`Baked::evaluate`] computes.
    Several,
    /// Multi-weight enveloping.
    Enveloping {
        /// The linear parts of M_k.
        turns: &'a [Mat3],
        /// Twelve numbers per pair, as in [`PoseFeatures`](crate::enveloping::PoseFeatures).
        features: &'a [[f32; 12]],
    },
    /// The joint model.
    Joints {
        /// The welded bones N_k, each moved by −middle.
        bones: &'a [Affine3A],
        /// T of each bone; empty when nothing is welded.
        turns: &'a [Mat3],
        /// Rotations of the welded bones as (x, y, z, w); empty unless the frame is a quaternion blend.
        quaternions: &'a [Vec4],
        /// z of all joints, each joint's filled up with zeros to a multiple of four.
        z: &'a [f32],
        /// w of every shape of the layer; empty without one.
        shapes: &'a [f32],
        /// h of every shape of the layer.
        reaches: &'a [f32],
    },
    /// A pose space, or shapes.
    Values {
        /// The linear parts of M_k.
        turns: &'a [Mat3],
        /// Kernel values, or the weights of the shapes.
        values: &'a [f32],
    },
}

/// The three rows of an affine map, translation last.
fn rows_f32(m: &DAffine3) -> [[f32; 4]; 3] {
    [0, 1, 2].map(|j| row(m, j).map(|x| x as f32))
}

impl Baked {
    /// Prepares a pose without evaluating any vertex. The same numbers [`evaluate`](Self::evaluate) works with, except
    /// for a base of rotational regression, whose positions are solved for in there.
    ///
    /// # Errors
    /// [`PoseError::Bones`] for a pose with another number of bones than the model reads.
    pub fn pose<'a>(&self, transforms: &BoneTransforms, scratch: &'a mut Scratch) -> Result<PoseData<'a>, PoseError> {
        self.bones.admit(transforms.len())?;
        let middle = self.middle(transforms);
        let Leaving { rows, quaternions, features, z } = &mut scratch.leaving;
        let moved = |m: &DAffine3| DAffine3 { matrix3: m.matrix3, translation: m.translation - middle };
        rows.clear();
        rows.extend(transforms.iter().map(|m| rows_f32(&moved(m))));
        quaternions.clear();
        features.clear();
        z.clear();
        if let BakedBase::Dqs(_, blend) = &self.base {
            blend.split(transforms, middle, |real, dual, stretch, _| {
                quaternions.push(RoundedBone {
                    real: real.as_quat().into(),
                    dual: dual.as_quat().into(),
                    stretch: rows_f32(stretch),
                    whole: rows[quaternions.len()],
                });
            });
        }
        let guarded = self.prepare_corrections(transforms, middle, scratch);
        match (&self.corrections[..], &scratch.corrections[..]) {
            ([BakedCorrection::Enveloping(_)], [correction, ..]) => {
                let twelve = |f: &[f64; 12]| f.map(|x| x as f32);
                scratch.leaving.features.extend(correction.enveloping.features.features.iter().map(twelve));
            }
            ([BakedCorrection::Joints(_)], [correction, ..]) => {
                scratch.leaving.z.extend(correction.joints.by_fours());
            }
            _ => {}
        }
        let scratch = &*scratch;
        Ok(PoseData {
            middle: if self.base.stays_in_place() { Vec3::ZERO } else { middle.as_vec3() },
            rows: &scratch.leaving.rows,
            quaternions: &scratch.leaving.quaternions,
            correction: match (&self.corrections[..], &scratch.corrections[..]) {
                ([], _) | (_, []) => CorrectionData::None,
                ([BakedCorrection::Enveloping(_)], [scratch_of, ..]) => CorrectionData::Enveloping {
                    turns: &scratch_of.enveloping.turns,
                    features: &scratch.leaving.features,
                },
                ([BakedCorrection::Joints(_)], [scratch_of, ..]) => {
                    let JointsScratch { bones, turns, quaternions, shapes, reaches, .. } = &scratch_of.joints;
                    CorrectionData::Joints { bones, turns, quaternions, z: &scratch.leaving.z, shapes, reaches }
                }
                ([BakedCorrection::PoseSpace(_)], [scratch_of, ..]) => {
                    let scratch = &scratch_of.pose_space;
                    CorrectionData::Values { turns: &scratch.turns, values: &scratch.values }
                }
                ([BakedCorrection::Shapes(_)], [scratch_of, ..]) => {
                    let scratch = &scratch_of.shapes;
                    CorrectionData::Values { turns: &scratch.turns, values: &scratch.weights }
                }
                ([_, _, ..], _) => CorrectionData::Several,
            },
            guarded,
        })
    }

    /// The model of no vertices whose [`pose`](Self::pose) gives the same.
    #[must_use]
    pub fn without_vertices(&self) -> Self {
        let base = match &self.base {
            BakedBase::Dqs(_, blend) => BakedBase::Dqs(Weights::none(), blend.clone()),
            BakedBase::Given => BakedBase::Given,
            BakedBase::Rest => BakedBase::Rest,
            _ => BakedBase::Rigid(vec![]),
        };
        let corrections = self.corrections.iter().map(BakedCorrection::without_vertices).collect();
        Self { rest: vec![], base, corrections, bones: self.bones, point: self.point }
    }
}
