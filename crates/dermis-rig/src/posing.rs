//! A skeleton in a pose that is made joint by joint, or from local transforms by forward kinematics.
//!
//! ```
//! use dermis_rig::{BoneIndex, Skeleton, glam::{DAffine3, DQuat, DVec3}};
//! let bind = vec![DAffine3::IDENTITY, DAffine3::from_translation(DVec3::X)];
//! let skeleton = Skeleton::new(vec!["upper".into(), "lower".into()], vec![None, Some(BoneIndex::new(0))], bind)?;
//! let bent = skeleton.pose().turned("lower", DQuat::from_rotation_z(0.5))?;
//! assert!(bent.transforms()[BoneIndex::new(0)].abs_diff_eq(DAffine3::IDENTITY, 1e-15));
//! # Ok::<(), dermis_rig::SkeletonError>(())
//! ```

use crate::{BoneIndex, BoneTransforms, BoneVec, Skeleton, SkeletonError, WorldPose};
use glam::{DAffine3, DQuat, DVec3};

/// A skeleton with a pose, at first the bind pose. It keeps the bone transforms up to date, so that a pose that changes
/// every frame allocates nothing.
#[derive(Clone, Debug)]
pub struct PosedSkeleton<'a> {
    skeleton: &'a Skeleton,
    /// local_k, bone to parent; bone to world for a root.
    local: BoneVec<DAffine3>,
    /// T_k, bone to posed world.
    world: BoneVec<DAffine3>,
    /// M_k = T_k B_k⁻¹.
    transforms: BoneTransforms,
}

impl Skeleton {
    /// The bind pose, to be changed joint by joint.
    pub fn pose(&self) -> PosedSkeleton<'_> {
        let local = self.bones().map(|bone| match self.parents()[bone] {
            // Bind matrices can be inverted: the skeleton was made with their inverses.
            Some(parent) => self.inverse_bind()[parent] * self.bind()[bone],
            None => self.bind()[bone],
        });
        PosedSkeleton {
            skeleton: self,
            local: BoneVec::new(local.collect()),
            world: self.bind().clone(),
            transforms: BoneTransforms::identity(self.len()),
        }
    }

    /// Forward kinematics: T_root = local_root, T_k = T_parent local_k. Such local transforms are what keyframes hold.
    ///
    /// # Errors
    /// [`SkeletonError::PoseSize`] for another number of bones.
    pub fn posed(&self, local: BoneVec<DAffine3>) -> Result<PosedSkeleton<'_>, SkeletonError> {
        if local.len() != self.len() {
            return Err(SkeletonError::PoseSize { found: local.len(), bones: self.len() });
        }
        let mut posed = PosedSkeleton { local, ..self.pose() };
        posed.follow(BoneIndex::new(0));
        Ok(posed)
    }
}

impl PosedSkeleton<'_> {
    /// The pose with a bone turned in its own axes, about its head; bones below it follow.
    ///
    /// # Errors
    /// [`SkeletonError::NoBone`] for a name that no bone has.
    pub fn turned(mut self, bone: &str, rotation: DQuat) -> Result<Self, SkeletonError> {
        let bone = self.find(bone)?;
        self.turn(bone, rotation);
        Ok(self)
    }

    /// The pose with a bone moved in the axes of its parent, metres; bones below it follow.
    ///
    /// # Errors
    /// As [`Self::turned`].
    pub fn moved(mut self, bone: &str, by: DVec3) -> Result<Self, SkeletonError> {
        let bone = self.find(bone)?;
        self.local[bone].translation += by;
        self.follow(bone);
        Ok(self)
    }

    /// Turns a bone in its own axes, about its head; bones below it follow.
    ///
    /// # Panics
    /// If the skeleton has no such bone.
    pub fn turn(&mut self, bone: BoneIndex, rotation: DQuat) {
        self.local[bone] *= DAffine3::from_quat(rotation);
        self.follow(bone);
    }

    /// The bone transforms M_k, rest world to posed world.
    pub fn transforms(&self) -> &BoneTransforms {
        &self.transforms
    }

    /// The joint-to-world matrices T_k.
    pub fn world(&self) -> WorldPose {
        WorldPose::new(self.world.to_vec())
    }

    fn find(&self, name: &str) -> Result<BoneIndex, SkeletonError> {
        let missing = || SkeletonError::NoBone {
            bone: name.to_owned(),
            bones: self.skeleton.len(),
            first: self.skeleton.names()[BoneIndex::new(0)].clone(),
        };
        self.skeleton.find(name).ok_or_else(missing)
    }

    /// Forward kinematics from a bone on; parents come first.
    fn follow(&mut self, from: BoneIndex) {
        for at in from.get()..self.skeleton.len() {
            let bone = BoneIndex::new(at);
            self.world[bone] = match self.skeleton.parents()[bone] {
                Some(parent) => self.world[parent] * self.local[bone],
                None => self.local[bone],
            };
            self.transforms.set(bone, self.world[bone] * self.skeleton.inverse_bind()[bone]);
        }
    }
}

impl AsRef<BoneTransforms> for PosedSkeleton<'_> {
    fn as_ref(&self) -> &BoneTransforms {
        &self.transforms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skeleton::invert;

    fn chain() -> Skeleton {
        let turned = DAffine3::from_rotation_translation(DQuat::from_rotation_y(0.4), DVec3::new(0.0, 1.0, 0.2));
        let bind = vec![DAffine3::IDENTITY, turned, turned * DAffine3::from_translation(DVec3::X), DAffine3::IDENTITY];
        let parents = vec![None, Some(BoneIndex::new(0)), Some(BoneIndex::new(1)), None];
        Skeleton::new(["hip", "upper", "lower", "prop"].map(String::from).to_vec(), parents, bind).unwrap()
    }

    /// Oracle: the same local transforms, and products along the chain.
    #[test]
    fn a_pose_made_joint_by_joint_is_forward_kinematics() {
        let skeleton = chain();
        let (turn, swing) = (DQuat::from_rotation_z(0.7), DQuat::from_rotation_x(-1.1));
        let posed = skeleton.pose().turned("upper", turn).unwrap().turned("lower", swing).unwrap();
        let posed = posed.moved("hip", DVec3::Y).unwrap();
        let mut local = skeleton.local_transforms(&WorldPose::new(skeleton.bind().to_vec())).unwrap();
        local[BoneIndex::new(1)] *= DAffine3::from_quat(turn);
        local[BoneIndex::new(2)] *= DAffine3::from_quat(swing);
        local[BoneIndex::new(0)].translation += DVec3::Y;
        let [hip, upper, lower, prop] = [0, 1, 2, 3].map(|bone| local[BoneIndex::new(bone)]);
        let world = WorldPose::new(vec![hip, hip * upper, hip * upper * lower, prop]);
        let expected = skeleton.bone_transforms(&world);
        let given = skeleton.posed(local).unwrap();
        for bone in skeleton.bones() {
            assert!(posed.transforms()[bone].abs_diff_eq(expected[bone], 1e-14));
            assert!(given.transforms()[bone].abs_diff_eq(expected[bone], 1e-14));
            let world = expected[bone] * invert(&skeleton.inverse_bind()[bone]).unwrap();
            assert!(posed.world().bones[bone].abs_diff_eq(world, 1e-14));
        }
        let head = |m: &BoneTransforms, b: usize| {
            m[BoneIndex::new(b)].transform_point3(skeleton.bind()[BoneIndex::new(b)].translation)
        };
        let still = skeleton.pose().turned("upper", turn).unwrap();
        assert!(head(still.transforms(), 1).distance(skeleton.bind()[BoneIndex::new(1)].translation) < 1e-15);
    }

    #[test]
    fn an_unknown_bone_is_named() {
        let skeleton = chain();
        let refused = skeleton.pose().turned("elbow", DQuat::IDENTITY).unwrap_err();
        assert_eq!(refused.to_string(), "there is no bone \"elbow\"; the skeleton has 4 bones, the first is \"hip\"");
    }
}
