//! From markers to joint angles.
//!
//! A [`MarkerSet`] says which bone carries a marker, and where. [`solve`] finds for every frame the pose x that minimises
//!
//! Σ_m w_m |T_b(x) B_b⁻¹ a_m − y_m|² / σ² + Σ_k |log(q_k ⊖ q̂_k)|² / τ² + |t − t̂|² / ρ²
//!
//! over the rotations q_k of all joints that a marker depends on, and the place t of the root: a_m is the marker on the rest pose, y_m where the
//! cameras saw it, and q̂, t̂ the pose of the frame before. The first sum is the whole skeleton at once, so a marker on the hand corrects the
//! shoulder. The second holds what the markers leave free; τ is so large that it moves nothing that they determine.
//!
//! 1. **Start.** The first frame is laid onto the rest pose by its markers (Kabsch), each other one begins at the frame before.
//! 2. **Wrong markers.** Two markers that each lie where the other is expected are swapped back; one that lies where none is expected is left
//!    out of its frame. Both are named.
//! 3. **Gaps.** Where a joint's markers are missing, its rotation is taken over from the frames beside the gap by slerp, and the frame is solved again
//!    around it. A gap of more than a second is reported as one.
//!
//! Minimised by Levenberg's and Marquardt's steps with derivatives in closed form: a turn δ of joint k moves a marker below it by δ × (p − h_k).

mod calibrate;
mod solve;
#[cfg(test)]
mod tests;

pub use calibrate::calibrate;
pub use solve::{MarkerReport, Solved, Trouble, TroubleKind, solve};

use crate::ik::JointLimits;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneVec, Cancelled};

/// A marker on the skin.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// Its name in the take.
    pub name: String,
    /// The bone that carries it.
    pub bone: BoneIndex,
    /// Where it is on the rest pose, world, metres.
    pub at: DVec3,
    /// What its squared residual counts.
    pub weight: f64,
}

/// The markers of a character.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MarkerSet {
    /// The markers.
    pub markers: Vec<Marker>,
}

/// Where markers were seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Take {
    /// Names of the markers.
    pub names: Vec<String>,
    /// Frames per second.
    pub rate: f64,
    /// World places per frame and marker, metres; `None` where a marker was not seen.
    pub frames: Vec<Vec<Option<DVec3>>>,
}

/// How far a solve goes, and what it believes.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkerSettings {
    /// σ: the noise of a coordinate, metres.
    pub noise: f64,
    /// τ: what a joint turns in a second without surprise, radians. A fast wrist turns by 20.
    pub turn_rate: f64,
    /// ρ: what a root moves in a second without surprise, metres.
    pub move_rate: f64,
    /// A marker farther than this from where the others put it is wrong, metres. Skin slides by 0.02 over bones.
    pub wrong: f64,
    /// Limits of joints, on their rotations since rest; free without.
    pub limits: Option<BoneVec<JointLimits>>,
}

impl Default for MarkerSettings {
    fn default() -> Self {
        Self { noise: 1e-3, turn_rate: 20.0, move_rate: 10.0, wrong: 0.08, limits: None }
    }
}

/// Why markers cannot be solved.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MarkerError {
    /// Fewer markers of the set in the take than a rigid placement needs.
    #[error("{found} of the {markers} markers of the set are in the take, but 3 are needed; the take has {names}")]
    FewMarkers {
        /// How many are.
        found: usize,
        /// Markers of the set.
        markers: usize,
        /// Names in the take.
        names: String,
    },
    /// No frame of a take shows three markers.
    #[error("no frame shows three markers of the set at once")]
    NoFrame,
    /// A marker with NaN, or a weight that is none.
    #[error("marker \"{marker}\": its {what} is not usable")]
    BadMarker {
        /// The marker.
        marker: String,
        /// Place or weight.
        what: &'static str,
    },
    /// A frame with another number of places than names, or a place that is not finite.
    #[error("frame {frame} has {found} usable places for {markers} markers")]
    BadFrame {
        /// The frame.
        frame: usize,
        /// Usable places.
        found: usize,
        /// Names.
        markers: usize,
    },
    /// A rate or setting that is not positive.
    #[error("{what} is {value}: it must be positive")]
    Setting {
        /// Which.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// Limits for another number of joints.
    #[error("there are limits for {found} joints, but the skeleton has {bones} bones")]
    LimitCount {
        /// How many limits.
        found: usize,
        /// How many bones.
        bones: usize,
    },
    /// The caller stopped it.
    #[error("stopped")]
    Cancelled,
}

impl From<Cancelled> for MarkerError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}
