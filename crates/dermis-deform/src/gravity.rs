//! Where down is, as bones see it.
//!
//! Rotations of joints cannot say how a character stands in the world, but skin that sags depends on it. With R_k the directions of
//! bone k's axes, which it has at the bind pose along those of the world, and ĝ a unit vector down, the bone sees
//!
//! ```text
//! h_k = R_kᵀ ĝ − ĝ,        R_k the columns of M_k, each of length one
//! ```
//!
//! three numbers, zero at the bind pose, |h_k| ≤ 2 for a rotation. They are scaled back to [`LIMIT_FACTOR`](crate::guard::LIMIT_FACTOR) times their
//! largest norm in training. M_k is that of the posed bone, not of the welded one: a joint that never moved in training still tilts
//! what hangs on it.
//!
//! Turning the character against gravity changes h, and so the skin; turning character and gravity together changes nothing.

use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms};

/// The bones that see down, as terms of a [`Joints`](crate::joints::Joints) model.
#[derive(Clone, Debug, PartialEq)]
pub struct Gravity {
    /// ĝ, posed world, of length one.
    pub down: DVec3,
    /// The bones, each once.
    pub bones: Vec<SaggingBone>,
}

/// A bone that sees down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SaggingBone {
    /// The bone.
    pub bone: BoneIndex,
    /// The largest norm h may have; infinite without limits.
    pub limit: f64,
}

/// Numbers of a bone that sees down.
pub const NUMBERS: usize = 3;

/// h of a bone before its limit. An axis of no length sees what it sees at the bind pose.
pub fn gravity_feature(bone: &DAffine3, down: DVec3) -> DVec3 {
    let seen = |axis: DVec3, at_bind: f64| axis.try_normalize().map_or(0.0, |axis| axis.dot(down) - at_bind);
    let m = &bone.matrix3;
    DVec3::new(seen(m.x_axis, down.x), seen(m.y_axis, down.y), seen(m.z_axis, down.z))
}

impl Gravity {
    /// h of every bone with its limit, one after the other, and how many limits acted.
    pub fn append(&self, transforms: &BoneTransforms, out: &mut Vec<f64>) -> usize {
        let mut limited = 0;
        for &SaggingBone { bone, limit } in &self.bones {
            let mut h = gravity_feature(&transforms[bone], self.down);
            let norm = h.length();
            if norm > limit {
                h *= limit / norm;
                limited += 1;
            }
            out.extend(h.to_array());
        }
        limited
    }
}
