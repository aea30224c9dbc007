//! One pose of all vertices: what the pose gives to all of them first, then block by block, in parallel.

mod many;
mod normals;

pub use normals::Normals;

use super::bases::{BLOCK, BakedBase, Turned};
use super::corrections::Corrected;
use super::guarded::Guarded;
use super::model::Baked;
use super::scratch::Scratch;
use crate::pose_size::{PoseError, admit_given};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DVec3, Vec3};
use rayon::prelude::*;

impl Baked {
    /// Computes the positions in a pose; returns what the guard did.
    ///
    /// - `given`: base positions, posed world, metres; read by [`BakedBase::Given`] alone
    /// - `out`: a position per vertex, posed world, metres
    ///
    /// [`Runner`](crate::Runner) is the same with its memory and results in one place.
    ///
    /// # Errors
    /// [`PoseError`] if the pose, `given` or `out` has another size than the model, or `given` is missing where the base
    /// needs it.
    pub fn evaluate(
        &self,
        transforms: &BoneTransforms,
        given: Option<&[Vec3]>,
        scratch: &mut Scratch,
        out: &mut [Vec3],
    ) -> Result<Guarded, PoseError> {
        self.admit(out)?;
        let mut guarded = self.prepare(transforms, given, scratch)?;
        let scratch = &*scratch;
        guarded.held = match rayon::current_num_threads() {
            1 => {
                out.chunks_mut(BLOCK).enumerate().map(|(b, out)| self.block(b * BLOCK, given, scratch, out, None)).sum()
            }
            _ => {
                let blocks = out.par_chunks_mut(BLOCK).enumerate();
                blocks.map(|(b, out)| self.block(b * BLOCK, given, scratch, out, None)).sum()
            }
        };
        Ok(guarded)
    }

    /// Checks the room for the positions.
    fn admit(&self, out: &[Vec3]) -> Result<(), PoseError> {
        let (expected, found) = (self.rest.len(), out.len());
        if found == expected { Ok(()) } else { Err(PoseError::Output { expected, found }) }
    }

    /// The largest distance over some poses between a vertex of this model and the same vertex of another, metres; zero
    /// without poses. A base of given positions is given those at rest.
    ///
    /// # Errors
    /// [`PoseError`] if the models differ in vertices, or a pose has other bones than a model.
    pub fn largest_difference<'a>(
        &self,
        other: &Self,
        poses: impl IntoIterator<Item = &'a BoneTransforms>,
    ) -> Result<f32, PoseError> {
        let (mut ours, mut theirs) = (vec![Vec3::ZERO; self.vertices()], vec![Vec3::ZERO; self.vertices()]);
        let (mut scratch, mut largest) = (Scratch::default(), 0.0f32);
        for pose in poses {
            self.evaluate(pose, Some(&self.rest), &mut scratch, &mut ours)?;
            other.evaluate(pose, Some(&other.rest), &mut scratch, &mut theirs)?;
            largest = ours.iter().zip(&theirs).fold(largest, |most, (a, b)| most.max(a.distance(*b)));
        }
        Ok(largest)
    }

    /// What the pose gives to all vertices, into the scratch.
    pub(super) fn prepare(
        &self,
        transforms: &BoneTransforms,
        given: Option<&[Vec3]>,
        scratch: &mut Scratch,
    ) -> Result<Guarded, PoseError> {
        self.bones.admit(transforms.len())?;
        if self.needs_given() {
            admit_given(self.rest.len(), given.map(<[_]>::len))?;
        }
        let shift = self.shift(transforms);
        self.base.prepare(&self.rest, transforms, shift, &mut scratch.base);
        Ok(self.prepare_corrections(transforms, shift, scratch))
    }

    /// What the pose gives to the corrections, into the scratch, once the base has its part.
    pub(super) fn prepare_corrections(
        &self,
        transforms: &BoneTransforms,
        shift: DVec3,
        scratch: &mut Scratch,
    ) -> Guarded {
        let Scratch { base, corrections: scratch, .. } = scratch;
        scratch.resize_with(self.corrections.len().max(scratch.len()), Default::default);
        let mut guarded = Guarded::default();
        for (correction, scratch) in self.corrections.iter().zip(scratch) {
            let (limited, features) = correction.prepare(transforms, shift, base, scratch);
            (guarded.limited, guarded.features) = (guarded.limited + limited, guarded.features + features);
        }
        guarded
    }

    /// How far the bones carry the first rest vertex, their mean: exactly zero in the bind pose.
    pub(super) fn shift(&self, transforms: &BoneTransforms) -> DVec3 {
        let point = self.point.as_dvec3();
        let sum: DVec3 = transforms.iter().map(|m| m.transform_point3(point) - point).sum();
        let shift = sum / transforms.len().max(1) as f64;
        // Rounded first, so that subtracting and adding it back cancel exactly.
        let rounded = shift.as_vec3();
        if rounded.is_finite() { rounded.as_dvec3() } else { DVec3::ZERO }
    }

    /// The block of vertices from `from` on, with the normals of its base where wanted; how often a ball held a correction back.
    pub(super) fn block(
        &self,
        from: usize,
        given: Option<&[Vec3]>,
        scratch: &Scratch,
        out: &mut [Vec3],
        normals: Option<Turned<'_>>,
    ) -> usize {
        // The last step of a vertex adds the shift again.
        let steps = self.corrections.len();
        let behind = |step: usize| if step == steps { scratch.base.behind } else { Vec3::ZERO };
        self.base.block(from, (&self.rest, given), &scratch.base, behind(0), out, normals);
        let mut held = 0;
        for (step, (correction, of_pose)) in self.corrections.iter().zip(&scratch.corrections).enumerate() {
            let behind = behind(step + 1);
            let block = Corrected { from, rest: &self.rest, base: &self.base, pose: &scratch.base, behind };
            held += correction.add_block(block, of_pose, out);
        }
        if let BakedBase::Lbs(weights) = &self.base {
            for &(v, excess) in weights.unnormalised_of(from..from + out.len()) {
                out[v as usize - from] += scratch.base.shift * excess;
            }
        }
        held
    }
}
