//! The hot loops: sums over a block of poses.

use super::Seen;
use dermis_deform::enveloping::EnvelopingForm;
use dermis_deform::features::{about, relative_features};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, Example};
use dermis_solve::simd::{Fma, Kernel};

/// A block of poses as one anchor sees them.
pub(super) struct View {
    /// Features less those of the bind pose, pose after pose, 12 per bone.
    features: Vec<f64>,
    /// Numbers per pose.
    stride: usize,
    /// The anchor's turn back; empty for the world.
    pub(super) back: Vec<DMat3>,
}

impl View {
    pub(super) fn new(table: &Seen, block: &[(&Example, &[DVec3])], unit: f64, origin: DVec3) -> Self {
        let of = |(example, _): &(&Example, _)| {
            let seen: Vec<DAffine3> = example.transforms.iter().map(|m| about(m, origin)).collect();
            let one = |bone: &BoneIndex| relative_features(&seen, table.anchor, *bone, unit);
            table.bones.iter().flat_map(one).collect::<Vec<f64>>()
        };
        let turn = |anchor: BoneIndex| {
            let turns = block.iter().map(|(e, _)| invert(&e.transforms[anchor]));
            turns.map(|m| m.map_or(DMat3::IDENTITY, |m| m.matrix3)).collect()
        };
        Self {
            features: block.iter().flat_map(of).collect(),
            stride: 12 * table.bones.len(),
            back: table.anchor.map_or(vec![], turn),
        }
    }

    /// The columns of each regression, pose after pose.
    pub(super) fn parts(&self, form: EnvelopingForm) -> Vec<Vec<f64>> {
        match form {
            EnvelopingForm::Full => vec![self.features.clone()],
            EnvelopingForm::Row => {
                let own = |axis| self.features.chunks_exact(4).skip(axis).step_by(3).flatten().copied().collect();
                (0..3).map(own).collect()
            }
        }
    }
}

/// Adds Σ r² f fᵀ, pose after pose.
pub(super) struct GramSums<'a> {
    pub(super) columns: &'a [f64],
    pub(super) size: usize,
    pub(super) weights: &'a [f64],
    pub(super) gram: &'a mut [f64],
}

impl Kernel for GramSums<'_> {
    type Output = ();
    #[inline(always)]
    fn run<F: Fma>(self) {
        let mut start = 0;
        for i in 0..self.size {
            let row = &mut self.gram[start..=start + i];
            start += i + 1;
            for (f, r) in self.columns.chunks_exact(self.size).zip(self.weights) {
                let by = f[i] * r;
                for (sum, f) in row.iter_mut().zip(&f[..=i]) {
                    *sum = F::f64(by, *f, *sum);
                }
            }
        }
    }
}

/// Adds Σ r² f yᵀ of one vertex, pose after pose.
pub(super) struct MomentSums<'a> {
    pub(super) view: &'a View,
    pub(super) terms: &'a [u32],
    /// r² y of each pose.
    pub(super) targets: &'a [[f64; 3]],
    pub(super) form: EnvelopingForm,
    pub(super) sums: &'a mut [f64],
}

impl Kernel for MomentSums<'_> {
    type Output = ();
    #[inline(always)]
    fn run<F: Fma>(self) {
        let of = |s: usize, term: u32| {
            let start = s * self.view.stride + 12 * term as usize;
            &self.view.features[start..start + 12]
        };
        match self.form {
            EnvelopingForm::Full => {
                for (sums, &term) in self.sums.chunks_exact_mut(36).zip(self.terms) {
                    let mut kept = [[0.0; 12]; 3];
                    kept.as_flattened_mut().copy_from_slice(sums);
                    for (s, y) in self.targets.iter().enumerate() {
                        let f = of(s, term);
                        for axis in 0..3 {
                            for c in 0..12 {
                                kept[axis][c] = F::f64(f[c], y[axis], kept[axis][c]);
                            }
                        }
                    }
                    sums.copy_from_slice(kept.as_flattened());
                }
            }
            EnvelopingForm::Row => {
                for (sums, &term) in self.sums.chunks_exact_mut(12).zip(self.terms) {
                    for (s, y) in self.targets.iter().enumerate() {
                        let f = of(s, term);
                        for c in 0..12 {
                            sums[c] = F::f64(f[c], y[c / 4], sums[c]);
                        }
                    }
                }
            }
        }
    }
}
