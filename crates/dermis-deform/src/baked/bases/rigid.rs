//! Rigid binding, block by block.

use super::block::NO_ANCHOR;
use crate::baked::lanes::Columns;
use dermis_rig::glam::Vec3;
use dermis_solve::simd::{Fma, Kernel};

/// One bone per vertex; a vertex without one stays where it is.
pub(in crate::baked) struct Rigid<'a> {
    /// The block's bones, positions at rest and results.
    pub(in crate::baked) bones: &'a [u32],
    pub(in crate::baked) table: &'a [Columns],
    pub(in crate::baked) rest: &'a [Vec3],
    pub(in crate::baked) behind: Vec3,
    /// The character's shift, which the table is moved back by.
    pub(in crate::baked) shift: Vec3,
    pub(in crate::baked) out: &'a mut [Vec3],
}

impl Kernel for Rigid<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Fma>(self) {
        for ((out, p), &bone) in self.out.iter_mut().zip(self.rest).zip(self.bones) {
            *out = match bone {
                NO_ANCHOR => *p - self.shift + self.behind,
                bone => self.table[bone as usize].apply::<F>(p.extend(1.0)) + self.behind,
            };
        }
    }
}
