//! Memory of a pose that leaves for another device.

use dermis_rig::glam::Vec4;

/// One bone's dual quaternion as (x, y, z, w), and what it does beside turning and moving; rows, translation last.
#[derive(Clone, Copy, Debug)]
pub struct RoundedBone {
    /// Real part of the rigid motion.
    pub real: Vec4,
    /// Its dual part.
    pub dual: Vec4,
    /// The stretch that precedes it.
    pub stretch: [[f32; 4]; 3],
    /// Both together.
    pub whole: [[f32; 4]; 3],
}

/// What [`Baked::pose`](super::Baked::pose) lends.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaving {
    pub(super) rows: Vec<[[f32; 4]; 3]>,
    pub(super) quaternions: Vec<RoundedBone>,
    /// Of each correction.
    pub(super) corrections: Vec<LeavingCorrection>,
}

/// What a correction reads of the pose, rounded.
#[derive(Clone, Debug, Default)]
pub(super) struct LeavingCorrection {
    pub(super) features: Vec<[f32; 12]>,
    pub(super) z: Vec<f32>,
}
