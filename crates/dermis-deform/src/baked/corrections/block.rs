//! The block of vertices that a correction is added to.

use crate::baked::bases::{BakedBase, BaseScratch};
use dermis_rig::glam::Vec3;

/// The block whose positions a correction is added to.
#[derive(Clone, Copy)]
pub(in crate::baked) struct Corrected<'a> {
    pub(in crate::baked) from: usize,
    pub(in crate::baked) rest: &'a [Vec3],
    pub(in crate::baked) base: &'a BakedBase,
    /// The pose as the base has it.
    pub(in crate::baked) pose: &'a BaseScratch,
    /// What is added after the correction.
    pub(in crate::baked) behind: Vec3,
}
