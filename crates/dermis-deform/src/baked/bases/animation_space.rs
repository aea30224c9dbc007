//! Animation space, block by block.

use crate::baked::lanes::Columns;
use dermis_rig::glam::{Vec3, Vec4};
use dermis_solve::simd::{Fma, Kernel};

/// Animation space: `out = Σ M a + behind`.
pub(in crate::baked) struct AnimationSpace<'a> {
    /// Where the block's vertices start; one more entry than vertices.
    pub(in crate::baked) offsets: &'a [u32],
    pub(in crate::baked) bones: &'a [u32],
    pub(in crate::baked) a: &'a [Vec4],
    pub(in crate::baked) table: &'a [Columns],
    pub(in crate::baked) behind: Vec3,
    /// What the table is seen from: a vertex without terms lies at the origin.
    pub(in crate::baked) middle: Vec3,
    pub(in crate::baked) out: &'a mut [Vec3],
}

impl Kernel for AnimationSpace<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Fma>(self) {
        for (out, row) in self.out.iter_mut().zip(self.offsets.windows(2)) {
            let range = row[0] as usize..row[1] as usize;
            let mut sum = [0.0f32; 16];
            for (&bone, a) in self.bones[range.clone()].iter().zip(&self.a[range.clone()]) {
                let m = &self.table[bone as usize].0;
                for c in 0..4 {
                    for j in 0..4 {
                        sum[4 * c + j] = F::f32(m[4 * c + j], a[c], sum[4 * c + j]);
                    }
                }
            }
            *out = match range.is_empty() {
                true => self.behind - self.middle,
                false => added(&sum) + self.behind,
            };
        }
    }
}

/// The sum of the four quarters.
#[inline(always)]
fn added(m: &[f32; 16]) -> Vec3 {
    let mut sum = [0.0; 4];
    for j in 0..4 {
        sum[j] = (m[j] + m[4 + j]) + (m[8 + j] + m[12 + j]);
    }
    Vec3::new(sum[0], sum[1], sum[2])
}
