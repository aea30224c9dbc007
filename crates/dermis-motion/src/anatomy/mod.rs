//! Anatomy: which part of a body every bone is, which way the body faces, and how far its joints turn.
//!
//! Ranges are those of a healthy adult (Greene & Heckman 1994, "The clinical measurement of joint motion", American Academy of
//! Orthopaedic Surgeons), where a rig has one joint for one joint; the back and the neck share theirs among their bones. They count from
//! the rest pose: an elbow that is bent by 20° at rest straightens by 20°. On four legs the legs swing half as far.
//!
//! ```
//! use dermis_motion::anatomy::{Anatomy, Part};
//! use dermis_motion::ik::JointLimits;
//! use dermis_rig::{BoneIndex, Skeleton, glam::{DAffine3, DVec3}};
//! let at = |x: f64, y: f64| DAffine3::from_translation(DVec3::new(x, y, 0.0));
//! let names = ["upperarm_l", "lowerarm_l", "hand_l"].map(String::from).to_vec();
//! let parents = vec![None, Some(BoneIndex::new(0)), Some(BoneIndex::new(1))];
//! let skeleton = Skeleton::new(names, parents, vec![at(0.2, 1.4), at(0.5, 1.4), at(0.8, 1.4)])?;
//! let anatomy = Anatomy::new(&skeleton, |_| true);
//! assert_eq!(anatomy.roles[BoneIndex::new(1)].unwrap().part, Part::Forearm);
//! let JointLimits::Cone(elbow) = &anatomy.limits[BoneIndex::new(1)] else { panic!() };
//! assert!(elbow.swing()[0][1] > 2.4, "it bends by more than 140°");
//! # Ok::<(), dermis_rig::SkeletonError>(())
//! ```

mod frame;
mod ranges;
#[cfg(test)]
mod tests;

pub use crate::body::{Part, Role, Side};
pub use frame::{BodyFrame, Stance};
pub use ranges::UNKNOWN;

use crate::body::{JudgedBy, Recognised};
use crate::ik::JointLimits;
use dermis_rig::{BoneIndex, BoneVec, Skeleton};

/// A skeleton as a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Anatomy {
    /// What every bone is.
    pub roles: BoneVec<Option<Role>>,
    /// What every bone was recognised by.
    pub judged_by: BoneVec<JudgedBy>,
    /// Which way the body faces.
    pub frame: BodyFrame,
    /// How far every joint turns.
    pub limits: BoneVec<JointLimits>,
    /// Where each limit comes from.
    pub from: BoneVec<LimitFrom>,
}

/// Where a joint's limit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitFrom {
    /// The bone's part of the body.
    Anatomy,
    /// The part is not known: the joint turns by [`UNKNOWN`] in every direction, or less on a head.
    Unknown,
    /// The bone stays: it is a root, follows other bones, or moves no skin.
    Still,
    /// The user's file.
    Given,
}

impl Anatomy {
    /// Recognises the bones of a skeleton. `moves` says whether a bone moves skin, by itself or through bones below it.
    pub fn new(skeleton: &Skeleton, moves: impl Fn(BoneIndex) -> bool) -> Self {
        let Recognised { roles, by } = Recognised::new(skeleton);
        let frame = BodyFrame::new(skeleton, &roles);
        let (limits, from) = ranges::limits(skeleton, &roles, &frame, moves);
        Self { roles, judged_by: by, frame, limits, from }
    }

    /// The bones that bend as one, parents first: the segments of the back, neck and head, a tail. Others are not among them.
    pub fn series(&self) -> Vec<Vec<BoneIndex>> {
        let of = |parts: &[Part]| {
            let belongs = |role: &Option<Role>| role.is_some_and(|role| parts.contains(&role.part));
            self.roles.enumerate().filter(|(_, role)| belongs(role)).map(|(bone, _)| bone).collect::<Vec<_>>()
        };
        let all = [of(&[Part::Spine]), of(&[Part::Neck, Part::Head]), of(&[Part::Tail])];
        all.into_iter().filter(|bones| bones.len() > 1).collect()
    }
}
