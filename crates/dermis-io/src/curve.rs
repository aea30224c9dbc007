//! The keys of a clip as its file has them.

use dermis_rig::BoneIndex;

/// The keys of one property. At least one; times ascend and are not negative; all numbers are finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What they move.
    pub of: CurveOf,
    /// What happens between them. Before the first key and after the last the value stays.
    pub interpolation: Interpolation,
    /// Seconds.
    pub times: Vec<f64>,
    /// Per key the value; of a cubic spline the in-tangent, the value and the out-tangent, tangents per second.
    pub values: Vec<f64>,
}

/// A property that keys move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveOf {
    /// Of a bone against its parent: x, y, z.
    Translation(BoneIndex),
    /// Of a bone against its parent: a quaternion x, y, z, w; turned at constant speed if linear, normalised if cubic.
    Rotation(BoneIndex),
    /// Of a bone against its parent, before its rotation: x, y, z.
    Scale(BoneIndex),
    /// The weights of all morph targets.
    MorphWeights,
}

impl CurveOf {
    /// The bone it moves, if it is one.
    pub fn bone(self) -> Option<BoneIndex> {
        match self {
            Self::Translation(bone) | Self::Rotation(bone) | Self::Scale(bone) => Some(bone),
            Self::MorphWeights => None,
        }
    }
}

/// What happens between keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The value of the key before.
    Step,
    /// On the straight or shortest way.
    Linear,
    /// A cubic Hermite spline.
    Cubic,
}
