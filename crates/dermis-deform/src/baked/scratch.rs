//! Memory that evaluation reuses from pose to pose.

use super::bases::BaseScratch;
use super::corrections::CorrectionScratch;
use super::leaving::Leaving;
use dermis_rig::glam::DVec3;

/// Memory that evaluation reuses from pose to pose. It serves any model, and grows to what the largest of them needs.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(super) base: BaseScratch,
    /// Of each correction.
    pub(super) corrections: Vec<CorrectionScratch>,
    /// Normals of faces.
    pub(super) faces: Vec<DVec3>,
    pub(super) leaving: Leaving,
}
