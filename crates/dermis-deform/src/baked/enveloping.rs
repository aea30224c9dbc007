//! Multi-weight enveloping as it runs.

use super::{NO_ANCHOR, Scratch};
use crate::enveloping::{Enveloping, Rows};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::Vec3;

/// [`Enveloping`] in `f32`.
#[derive(Clone, Debug)]
pub struct BakedEnveloping {
    /// What depends on the pose alone, evaluated in `f64`. Its per-vertex arrays are empty.
    pub shared: Enveloping,
    /// Anchor of each vertex, or [`NO_ANCHOR`].
    pub anchors: Vec<u32>,
    /// Where the terms of vertex v start.
    pub offsets: Vec<u32>,
    /// Pair of each term.
    pub terms: Vec<u32>,
    /// Coefficients, as in [`Enveloping::coefficients`].
    pub coefficients: Vec<f32>,
    /// Corrections at the bind pose; empty when all are zero.
    pub constants: Vec<Vec3>,
    /// Radii of the guard; empty without it.
    pub radii: Vec<f32>,
}

impl BakedEnveloping {
    pub(super) fn of(correction: &Enveloping) -> Self {
        Self {
            anchors: correction.anchors.iter().map(|a| a.map_or(NO_ANCHOR, |bone| bone.get() as u32)).collect(),
            offsets: correction.offsets.clone(),
            terms: correction.terms.clone(),
            coefficients: correction.coefficients.iter().map(|&u| u as f32).collect(),
            constants: correction.constants.iter().map(|c| c.as_vec3()).collect(),
            radii: correction.radii.iter().map(|&r| r as f32).collect(),
            shared: Enveloping {
                weld: correction.weld.clone(),
                pairs: correction.pairs.clone(),
                ..Enveloping::empty(correction.rows, correction.length)
            },
        }
    }

    /// Features of the pose into the scratch; how many were limited, of how many.
    pub(super) fn prepare(&self, transforms: &BoneTransforms, scratch: &mut Scratch) -> (usize, usize) {
        self.shared.features(transforms, &mut scratch.features);
        scratch.rounded.clear();
        scratch.rounded.extend(scratch.features.features.iter().map(|f| f.map(|x| x as f32)));
        (scratch.features.limited, scratch.rounded.len())
    }

    pub(super) fn bytes(&self) -> usize {
        4 * (self.anchors.len() + self.offsets.len() + self.terms.len() + self.coefficients.len())
            + 12 * self.constants.len()
            + 16 * self.shared.pairs.len()
    }

    /// The correction of vertex `v` in posed world, before the ball.
    pub(super) fn at(&self, v: usize, scratch: &Scratch) -> Vec3 {
        let (features, turns) = (&scratch.rounded, &scratch.turns);
        // Twelve running sums per axis, added up at the end: the order is fixed, and the compiler keeps them in vectors.
        let mut sums = [[0.0f32; 12]; 3];
        let (from, to) = (self.offsets[v] as usize, self.offsets[v + 1] as usize);
        match self.shared.rows {
            Rows::Full => {
                let blocks = self.coefficients[from * 36..to * 36].chunks_exact(36);
                for (&term, u) in self.terms[from..to].iter().zip(blocks) {
                    let f = &features[term as usize];
                    for axis in 0..3 {
                        for c in 0..12 {
                            sums[axis][c] += u[axis * 12 + c] * f[c];
                        }
                    }
                }
            }
            Rows::Row => {
                let blocks = self.coefficients[from * 12..to * 12].chunks_exact(12);
                for (&term, u) in self.terms[from..to].iter().zip(blocks) {
                    let f = &features[term as usize];
                    for axis in 0..3 {
                        for c in 0..4 {
                            sums[axis][c] += u[axis * 4 + c] * f[axis * 4 + c];
                        }
                    }
                }
            }
        }
        let mut delta = self.constants.get(v).copied().unwrap_or(Vec3::ZERO);
        delta += Vec3::from_array(sums.map(|lane| lane.iter().sum()));
        match self.anchors[v] {
            NO_ANCHOR => delta,
            anchor => turns[anchor as usize] * delta,
        }
    }
}
