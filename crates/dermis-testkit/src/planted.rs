//! Corrections that lie in the class a fit searches: a fit of their examples must give them back.

use crate::Random;
use dermis_deform::lbs;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Rig};

/// A correction over linear blend skinning: δ = R_a Σ_k U_k : (M_a⁻¹ M_k − I), anchored in the dominant bone a.
#[derive(Clone, Debug)]
pub struct Planted {
    anchors: Vec<BoneIndex>,
    /// Per vertex: bones other than the anchor with three times twelve coefficients.
    terms: Vec<Vec<(BoneIndex, [[f64; 12]; 3])>>,
    length: f64,
}

impl Planted {
    /// Random coefficients of `size` metres on the bones of `maps`, anchors dominant in `maps`.
    pub fn new(maps: &Influences, length: f64, size: f64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let root = BoneIndex::new(0);
        let anchors: Vec<_> = (0..maps.vertices()).map(|v| maps.dominant(v).unwrap_or(root)).collect();
        let terms = (0..maps.vertices())
            .map(|v| {
                let bones = maps.of(v).iter().filter(|(bone, _)| *bone != anchors[v]);
                bones.map(|&(bone, _)| (bone, [[0; 12]; 3].map(|row| row.map(|_| size * random.normal())))).collect()
            })
            .collect();
        Self { anchors, terms, length }
    }

    /// The correction of a vertex in posed world.
    pub fn delta(&self, v: usize, pose: &BoneTransforms) -> DVec3 {
        let anchor = pose[self.anchors[v]];
        let mut delta = DVec3::ZERO;
        for (bone, u) in &self.terms[v] {
            let m: DAffine3 = anchor.inverse() * pose[*bone];
            let (columns, t) = (m.matrix3.to_cols_array_2d(), m.translation.to_array());
            for axis in 0..3 {
                for j in 0..3 {
                    for c in 0..3 {
                        delta[axis] += u[axis][4 * j + c] * (columns[c][j] - if c == j { 1.0 } else { 0.0 });
                    }
                    delta[axis] += u[axis][4 * j + 3] * t[j] / self.length;
                }
            }
        }
        anchor.matrix3 * delta
    }

    /// Skins of poses: linear blend skinning with the rig's weights plus the planted correction.
    pub fn examples(&self, rig: &Rig, poses: &[BoneTransforms]) -> Vec<Example> {
        let weights = rig.weights().expect("the rig has weights");
        poses
            .iter()
            .enumerate()
            .map(|(s, pose)| {
                let mut positions = vec![DVec3::ZERO; rig.mesh().positions.len()];
                lbs(&rig.mesh().positions, weights, pose, &mut positions);
                positions.iter_mut().enumerate().for_each(|(v, p)| *p += self.delta(v, pose));
                let label = format!("planted {s}");
                Example { label, time: None, transforms: pose.clone(), positions, importance: 1.0, local: None }
            })
            .collect()
    }
}
