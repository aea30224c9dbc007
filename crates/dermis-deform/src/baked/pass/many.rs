//! Many poses of one model at once: baking, crowds.

use crate::baked::bases::BLOCK;
use crate::baked::guarded::Guarded;
use crate::baked::model::Baked;
use crate::baked::scratch::Scratch;
use crate::pose_size::PoseError;
use dermis_rig::BoneTransforms;
use dermis_rig::glam::Vec3;
use rayon::prelude::*;

/// Pieces per thread, so that a slow one does not keep the others waiting.
const PIECES: usize = 4;

impl Baked {
    /// Positions in many poses, the bits of [`evaluate`](Self::evaluate): block after block in all poses, so that
    /// weights and coefficients are read from memory once.
    ///
    /// - `poses`: each with its given positions, which a base of given positions needs
    /// - `scratch`: grows to one per pose
    /// - `out`: a skin per pose
    /// - result: sums over the poses
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate); [`PoseError::Skins`] if there are not as many skins as poses.
    pub fn evaluate_many(
        &self,
        poses: &[(&BoneTransforms, Option<&[Vec3]>)],
        scratch: &mut Vec<Scratch>,
        out: &mut [&mut [Vec3]],
    ) -> Result<Guarded, PoseError> {
        if out.len() != poses.len() {
            return Err(PoseError::Skins { expected: poses.len(), found: out.len() });
        }
        scratch.resize_with(poses.len().max(scratch.len()), Scratch::default);
        let mut sum = Guarded::default();
        for (((transforms, given), scratch), out) in poses.iter().zip(&mut *scratch).zip(&*out) {
            self.admit(out)?;
            let guarded = self.prepare(transforms, *given, scratch)?;
            sum.limited += guarded.limited;
            sum.features += guarded.features;
        }
        // Of every skin, the same few blocks.
        let pieces = PIECES * rayon::current_num_threads();
        let size = self.rest.len().div_ceil(BLOCK).div_ceil(pieces).max(1) * BLOCK;
        let mut of_piece: Vec<Vec<&mut [Vec3]>> = (0..pieces).map(|_| Vec::with_capacity(poses.len())).collect();
        for skin in out {
            for (piece, part) in of_piece.iter_mut().zip(skin.chunks_mut(size)) {
                piece.push(part);
            }
        }
        let scratch = &*scratch;
        sum.held = of_piece
            .par_iter_mut()
            .enumerate()
            .map(|(at, parts)| {
                let (start, length) = (at * size, parts.first().map_or(0, |part| part.len()));
                let mut held = 0;
                for from in (0..length).step_by(BLOCK) {
                    let to = length.min(from + BLOCK);
                    for ((part, scratch), (_, given)) in parts.iter_mut().zip(scratch).zip(poses) {
                        held += self.block(start + from, *given, scratch, &mut part[from..to], None);
                    }
                }
                held
            })
            .sum();
        Ok(sum)
    }
}
