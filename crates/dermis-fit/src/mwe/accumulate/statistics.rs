//! What was summed, as plain numbers; sums of parts are checked and added.

use super::{Accumulator, first_stride};
use crate::training::FitError;
use dermis_deform::enveloping::EnvelopingForm;
use dermis_rig::BoneTransforms;
use rayon::prelude::*;

/// Bytes of residuals that are kept for the choice of s, at most: as poses come in, every other vertex is dropped.
const SAMPLE_BYTES: usize = 128 << 20;

/// What an [`Accumulator`] has summed, as plain numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// The form that was summed; both can be solved from full sums.
    pub form: EnvelopingForm,
    /// Σ r² f yᵀ per vertex and bone, laid out as the coefficients of the form are.
    pub moments: Vec<f64>,
    /// Σ r² |y|² per vertex.
    pub squares: Vec<f64>,
    /// The largest |y|² per vertex.
    pub largest: Vec<f64>,
    /// Σ r² f fᵀ per anchor: a lower triangle row after row, or one per axis in the row form.
    pub grams: Vec<f64>,
    /// One in so many vertices is kept for the choice of s.
    pub stride: usize,
    /// The poses of positive importance.
    pub poses: Vec<SeenPose>,
}

/// A pose that was summed.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenPose {
    /// Its bone transforms.
    pub transforms: BoneTransforms,
    /// r.
    pub importance: f64,
    /// Example less base, posed world, of the vertices that are kept: three numbers each.
    pub residuals: Vec<f32>,
}

impl Statistics {
    /// Drops every other vertex that is kept for the choice of s until they take no more than they may.
    pub(super) fn thin(&mut self, vertices: usize) {
        while self.stride < vertices && 12 * self.poses.len() * vertices.div_ceil(self.stride) > SAMPLE_BYTES {
            self.stride *= 2;
            for pose in &mut self.poses {
                let kept = pose.residuals.chunks_exact(3).step_by(2);
                pose.residuals = kept.flatten().copied().collect();
            }
        }
    }

    /// Keeps the residuals of a coarser sample.
    fn coarsen(&mut self, stride: usize) {
        let step = stride / self.stride;
        if step > 1 {
            for pose in &mut self.poses {
                pose.residuals = pose.residuals.chunks_exact(3).step_by(step).flatten().copied().collect();
            }
            self.stride = stride;
        }
    }
}

impl Accumulator {
    /// Whether sums could be those of this accumulator.
    pub(super) fn check(&self, sums: &Statistics) -> Result<(), FitError> {
        let counts = |what, found, expected| match found == expected {
            true => Ok(()),
            false => Err(FitError::Counts { what, found, expected }),
        };
        let (own, vertices) = (&self.sums, self.anchors.len());
        if sums.form != own.form {
            return Err(FitError::Differ { what: "row or full features" });
        }
        counts("sums of features and targets", sums.moments.len(), own.moments.len())?;
        counts("sums of squares", sums.squares.len(), vertices)?;
        counts("largest residuals", sums.largest.len(), vertices)?;
        counts("sums of features", sums.grams.len(), own.grams.len())?;
        let first = first_stride(vertices, &self.settings);
        if sums.stride < first
            || sums.stride > first.max(2 * vertices)
            || !sums.stride.is_multiple_of(first)
            || !(sums.stride / first).is_power_of_two()
        {
            return Err(FitError::Differ { what: "the vertices kept for the choice of s" });
        }
        let broken = |what, index| FitError::NotFinite { example: "statistics".into(), what, index };
        let lists: [(&'static str, &[f64]); 4] = [
            ("sum of features and targets", &sums.moments),
            ("sum of squares", &sums.squares),
            ("largest residual", &sums.largest),
            ("sum of features", &sums.grams),
        ];
        for (what, list) in lists {
            if let Some(index) = list.par_iter().position_first(|x| !x.is_finite()) {
                return Err(broken(what, index));
            }
        }
        for (what, list) in [("sum of squares", &sums.squares), ("largest residual", &sums.largest)] {
            if let Some(index) = list.iter().position(|x| *x < 0.0) {
                return Err(FitError::Negative { what, index });
            }
        }
        for (s, pose) in sums.poses.iter().enumerate() {
            counts("bones of a pose", pose.transforms.len(), self.skeleton.len())?;
            counts("residuals of a pose", pose.residuals.len(), 3 * vertices.div_ceil(sums.stride))?;
            let finite = pose.transforms.iter().all(|m| m.is_finite()) && pose.residuals.iter().all(|x| x.is_finite());
            if !(finite && pose.importance > 0.0 && pose.importance.is_finite()) {
                return Err(broken("pose", s));
            }
        }
        Ok(())
    }

    /// Adds sums that were checked.
    pub(super) fn absorb(&mut self, mut other: Statistics) {
        let own = &mut self.sums;
        if own.poses.is_empty() {
            // Adding zeros would change no number, only take time.
            *own = other;
            return;
        }
        let sum = |into: &mut [f64], from: &[f64]| into.iter_mut().zip(from).for_each(|(x, more)| *x += more);
        sum(&mut own.moments, &other.moments);
        sum(&mut own.squares, &other.squares);
        sum(&mut own.grams, &other.grams);
        own.largest.iter_mut().zip(&other.largest).for_each(|(most, x)| *most = most.max(*x));
        let stride = own.stride.max(other.stride);
        own.coarsen(stride);
        other.coarsen(stride);
        own.poses.append(&mut other.poses);
        own.thin(self.anchors.len());
    }
}
