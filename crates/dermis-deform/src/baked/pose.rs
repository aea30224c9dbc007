//! What a pose alone gives to every vertex, for evaluation elsewhere, such as on a graphics card.

use super::bases::{BakedBase, Weights};
use super::corrections::{BakedCorrection, CorrectionScratch, JointsScratch};
use super::guarded::Guarded;
use super::leaving::{Leaving, LeavingCorrection, RoundedBone};
use super::model::Baked;
use super::scratch::Scratch;
use crate::pose_size::PoseError;
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{Affine3A, DAffine3, Mat3, Vec3, Vec4};
use dermis_rig::skeleton::row;

/// A pose as [`Baked::evaluate`] prepares it: computed in `f64`, rounded once. Positions are less the character's shift: how far its bones carry it from where it stands at rest.
#[derive(Clone, Debug)]
pub struct PoseData<'a> {
    /// The shift: what is added to every position in the end. Zero where the base is the rest pose or given.
    pub shift: Vec3,
    /// M_k, each moved by −shift; rows, translation last.
    pub rows: &'a [[[f32; 4]; 3]],
    /// Dual quaternions of the bones, each moved by −shift; empty unless the base blends them.
    pub quaternions: &'a [RoundedBone],
    /// What each correction reads.
    pub corrections: Vec<CorrectionData<'a>>,
    /// What the limits of features did; vertices that the ball holds back are not counted here.
    pub guarded: Guarded,
}

/// What a pose gives to the vertices of a correction.
#[derive(Clone, Copy, Debug)]
pub enum CorrectionData<'a> {
    /// Multi-weight enveloping.
    Enveloping {
        /// The linear parts of M_k.
        turns: &'a [Mat3],
        /// Twelve numbers per pair, as in [`PoseFeatures`](crate::enveloping::PoseFeatures).
        features: &'a [[f32; 12]],
    },
    /// The joint model.
    Joints {
        /// The welded bones N_k, each moved by −shift.
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
        let shift = self.shift(transforms);
        let Leaving { rows, quaternions, .. } = &mut scratch.leaving;
        let moved = |m: &DAffine3| DAffine3 { matrix3: m.matrix3, translation: m.translation - shift };
        rows.clear();
        rows.extend(transforms.iter().map(|m| rows_f32(&moved(m))));
        quaternions.clear();
        if let BakedBase::Dqs(_, blend) = &self.base {
            blend.split(transforms, shift, |real, dual, stretch, _| {
                quaternions.push(RoundedBone {
                    real: real.as_quat().into(),
                    dual: dual.as_quat().into(),
                    stretch: rows_f32(stretch),
                    whole: rows[quaternions.len()],
                });
            });
        }
        let guarded = self.prepare_corrections(transforms, shift, scratch);
        let Scratch { corrections: prepared, leaving, .. } = scratch;
        leaving.corrections.resize_with(self.corrections.len(), LeavingCorrection::default);
        for ((correction, of), rounded) in self.corrections.iter().zip(&*prepared).zip(&mut leaving.corrections) {
            let LeavingCorrection { features, z } = rounded;
            features.clear();
            z.clear();
            match correction {
                BakedCorrection::Enveloping(_) => {
                    features.extend(of.enveloping.features.features.iter().map(|f| f.map(|x| x as f32)));
                }
                BakedCorrection::Joints(_) => z.extend(of.joints.by_fours()),
                BakedCorrection::PoseSpace(_) | BakedCorrection::Shapes(_) => {}
            }
        }
        let scratch = &*scratch;
        let read = |((correction, of), rounded): ((&BakedCorrection, &'a CorrectionScratch), &'a LeavingCorrection)| {
            match correction {
                BakedCorrection::Enveloping(_) => {
                    CorrectionData::Enveloping { turns: &of.enveloping.turns, features: &rounded.features }
                }
                BakedCorrection::Joints(_) => {
                    let JointsScratch { bones, turns, quaternions, shapes, reaches, .. } = &of.joints;
                    CorrectionData::Joints { bones, turns, quaternions, z: &rounded.z, shapes, reaches }
                }
                BakedCorrection::PoseSpace(_) => {
                    CorrectionData::Values { turns: &of.pose_space.turns, values: &of.pose_space.values }
                }
                BakedCorrection::Shapes(_) => {
                    CorrectionData::Values { turns: &of.shapes.turns, values: &of.shapes.weights }
                }
            }
        };
        Ok(PoseData {
            shift: if self.base.stays_in_place() { Vec3::ZERO } else { shift.as_vec3() },
            rows: &scratch.leaving.rows,
            quaternions: &scratch.leaving.quaternions,
            corrections: self
                .corrections
                .iter()
                .zip(&scratch.corrections)
                .zip(&scratch.leaving.corrections)
                .map(read)
                .collect(),
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
