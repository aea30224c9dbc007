//! A pose as joint rotations: what a solve changes.

use super::{IkError, JointLimits};
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix};
use dermis_rig::{BoneIndex, BoneVec, Skeleton};

/// A skeleton whose joints are turned: local_k = rest_k · q_k · stretch_k, with the translation that the pose gives.
///
/// q_k is the rotation of [`JointLimits`]: in the bone's own axes, from rest. The stretch is what the pose has beside it (the identity
/// in most), and a solve leaves it alone.
#[derive(Clone, Debug)]
pub(super) struct State<'a> {
    pub skeleton: &'a Skeleton,
    /// Linear part of the rest local transform.
    rest: Vec<DMat3>,
    stretch: Vec<DMat3>,
    translation: Vec<DVec3>,
    pub turn: Vec<DQuat>,
    /// T_k, bone to posed world.
    pub world: Vec<DAffine3>,
}

impl<'a> State<'a> {
    /// The state of a pose in local transforms.
    pub fn new(skeleton: &'a Skeleton, local: &BoneVec<DAffine3>) -> Result<Self, IkError> {
        if local.len() != skeleton.len() {
            return Err(IkError::PoseSize { found: local.len(), bones: skeleton.len() });
        }
        let rest = rest_local(skeleton);
        let mut state = Self {
            skeleton,
            rest: rest.iter().map(|rest| rest.matrix3).collect(),
            stretch: Vec::with_capacity(local.len()),
            translation: local.iter().map(|local| local.translation).collect(),
            turn: Vec::with_capacity(local.len()),
            world: vec![DAffine3::IDENTITY; local.len()],
        };
        for bone in skeleton.bones() {
            let matrix = &local[bone];
            if !matrix.is_finite() {
                return Err(IkError::NotFinitePose { bone: skeleton.names()[bone].clone() });
            }
            // Bind matrices can be inverted: the skeleton was made with their inverses.
            let from_rest = rest[bone].matrix3.inverse() * matrix.matrix3;
            let turn = nearest_rotation(&from_rest);
            state.stretch.push(turn.transpose() * from_rest);
            state.turn.push(quat_from_matrix(&turn));
        }
        state.follow(skeleton.bones());
        Ok(state)
    }

    /// The local transform of a bone.
    pub fn local(&self, bone: BoneIndex) -> DAffine3 {
        let k = bone.get();
        DAffine3 {
            matrix3: self.rest[k] * DMat3::from_quat(self.turn[k]) * self.stretch[k],
            translation: self.translation[k],
        }
    }

    /// Forward kinematics of bones, parents first.
    pub fn follow(&mut self, bones: impl IntoIterator<Item = BoneIndex>) {
        for bone in bones {
            let local = self.local(bone);
            self.world[bone.get()] = match self.skeleton.parents()[bone] {
                Some(parent) => self.world[parent.get()] * local,
                None => local,
            };
        }
    }

    /// The head of a bone, world.
    pub fn head(&self, bone: BoneIndex) -> DVec3 {
        self.world[bone.get()].translation
    }

    /// The rotation of a bone, world.
    pub fn rotation(&self, bone: BoneIndex) -> DQuat {
        quat_from_matrix(&nearest_rotation(&self.world[bone.get()].matrix3))
    }

    /// The map from a bone's own axes, as its joint has them, to the world: without its stretch.
    pub fn axes(&self, bone: BoneIndex) -> DMat3 {
        let k = bone.get();
        let turned = self.rest[k] * DMat3::from_quat(self.turn[k]);
        match self.skeleton.parents()[bone] {
            Some(parent) => self.world[parent.get()].matrix3 * turned,
            None => turned,
        }
    }

    /// Turns a bone by a rotation in world axes about its head, then holds it to its limits. The caller follows.
    pub fn turn_by(&mut self, bone: BoneIndex, rotation: DQuat, limits: &JointLimits) {
        let own = quat_from_matrix(&nearest_rotation(&self.axes(bone)));
        let turned = (self.turn[bone.get()] * own.conjugate() * rotation * own).normalize();
        self.turn[bone.get()] = limits.nearest(turned);
    }
}

/// The local transforms at rest: of a bone against its parent, of a root against the world.
pub(super) fn rest_local(skeleton: &Skeleton) -> BoneVec<DAffine3> {
    let local = skeleton.bones().map(|bone| match skeleton.parents()[bone] {
        Some(parent) => skeleton.inverse_bind()[parent] * skeleton.bind()[bone],
        None => skeleton.bind()[bone],
    });
    BoneVec::new(local.collect())
}
