//! Bones, poses and the matrices that carry rest to pose.

use crate::index::{BoneIndex, BoneVec};
use glam::{DAffine3, DMat3, DVec3};
use std::sync::Arc;

/// Bones at rest: names, parents and bind matrices. A parent always comes before its children.
#[derive(Clone, Debug, PartialEq)]
pub struct Skeleton {
    names: BoneVec<String>,
    parents: BoneVec<Option<BoneIndex>>,
    bind: BoneVec<DAffine3>,
    inverse_bind: BoneVec<DAffine3>,
    /// How far joints lie from the origin, along an axis.
    reach: f64,
}

/// Why bones do not make a skeleton.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SkeletonError {
    /// There is no bone.
    #[error("the skeleton has no bones")]
    NoBones,
    /// Names, parents and bind matrices differ in number.
    #[error("the skeleton has {names} names, {parents} parents and {binds} bind matrices")]
    Counts {
        /// Bone names.
        names: usize,
        /// Parents.
        parents: usize,
        /// Bind matrices.
        binds: usize,
    },
    /// A parent that does not exist.
    #[error("bone \"{bone}\" names parent {parent}, but there are {bones} bones")]
    MissingParent {
        /// The bone.
        bone: String,
        /// The parent it names.
        parent: i64,
        /// How many bones there are.
        bones: usize,
    },
    /// A bone that comes before its parent.
    #[error("bone \"{bone}\" comes before its parent \"{parent}\": parents are listed first")]
    ParentAfterChild {
        /// The bone.
        bone: String,
        /// Its parent.
        parent: String,
    },
    /// A bone is its own ancestor.
    #[error("bone \"{bone}\" is its own ancestor")]
    Cycle {
        /// One bone of the cycle.
        bone: String,
    },
    /// A bind matrix that cannot be inverted.
    #[error("the bind matrix of bone \"{bone}\" cannot be inverted (determinant {determinant:e})")]
    SingularBind {
        /// The bone.
        bone: String,
        /// Determinant of its 3x3 block.
        determinant: f64,
    },
    /// A bone that the skeleton does not have.
    #[error("there is no bone \"{bone}\"; the skeleton has {bones} bones, the first is \"{first}\"")]
    NoBone {
        /// The name.
        bone: String,
        /// How many bones there are.
        bones: usize,
        /// The first of them.
        first: String,
    },
    /// A pose of another number of bones.
    #[error("the pose has {found} bones, but the skeleton has {bones}")]
    PoseSize {
        /// How many the pose has.
        found: usize,
        /// How many the skeleton has.
        bones: usize,
    },
    /// A matrix with NaN or infinity.
    #[error("the {what} matrix of bone \"{bone}\" is not finite")]
    NotFinite {
        /// The bone.
        bone: String,
        /// Which matrix.
        what: &'static str,
    },
}

impl Skeleton {
    /// A skeleton from bones that are already parents first.
    ///
    /// `bind[k]` is B_k, the joint-to-world matrix of bone k at rest.
    ///
    /// # Errors
    /// [`SkeletonError`]; [`Skeleton::sorted`] takes bones in any order.
    pub fn new(
        names: Vec<String>,
        parents: Vec<Option<BoneIndex>>,
        bind: Vec<DAffine3>,
    ) -> Result<Self, SkeletonError> {
        let counts = SkeletonError::Counts { names: names.len(), parents: parents.len(), binds: bind.len() };
        if names.len() != parents.len() || names.len() != bind.len() {
            return Err(counts);
        }
        if names.is_empty() {
            return Err(SkeletonError::NoBones);
        }
        for (at, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent.filter(|p| p.get() >= at) {
                let (bones, bone) = (names.len(), names[at].clone());
                return Err(match names.get(parent.get()) {
                    Some(_) if parent.get() == at => SkeletonError::Cycle { bone },
                    Some(found) => SkeletonError::ParentAfterChild { bone, parent: found.clone() },
                    None => SkeletonError::MissingParent { bone, parent: parent.get() as i64, bones },
                });
            }
        }
        let mut inverse_bind = Vec::with_capacity(bind.len());
        for (name, matrix) in names.iter().zip(&bind) {
            if !matrix.is_finite() {
                return Err(SkeletonError::NotFinite { bone: name.clone(), what: "bind" });
            }
            inverse_bind.push(invert(matrix).ok_or_else(|| SkeletonError::SingularBind {
                bone: name.clone(),
                determinant: matrix.matrix3.determinant(),
            })?);
        }
        Ok(Self {
            names: BoneVec::new(names),
            parents: BoneVec::new(parents),
            reach: bind.iter().map(|b| b.translation.abs().max_element()).fold(0.0, f64::max),
            bind: BoneVec::new(bind),
            inverse_bind: BoneVec::new(inverse_bind),
        })
    }

    /// A skeleton from bones in any order, with the order that put parents first: `order[new] = old`.
    ///
    /// `parents` are indices, negative for a root. Bones keep their relative order where parents allow it.
    ///
    /// # Errors
    /// [`SkeletonError`]: cycles, parents that do not exist, singular or non-finite bind matrices.
    pub fn sorted(names: Vec<String>, parents: &[i64], bind: &[DAffine3]) -> Result<(Self, Vec<usize>), SkeletonError> {
        if names.len() != parents.len() || names.len() != bind.len() {
            return Err(SkeletonError::Counts { names: names.len(), parents: parents.len(), binds: bind.len() });
        }
        let order = parents_first(&names, parents)?;
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        let skeleton = Self::new(
            order.iter().map(|&old| names[old].clone()).collect(),
            order.iter().map(|&old| usize::try_from(parents[old]).ok().map(|p| BoneIndex::new(place[p]))).collect(),
            order.iter().map(|&old| bind[old]).collect(),
        )?;
        Ok((skeleton, order))
    }

    /// Number of bones; never zero.
    pub fn len(&self) -> usize {
        self.names.len()
    }
    /// Never true: a skeleton has at least one bone.
    pub fn is_empty(&self) -> bool {
        false
    }
    /// The bones, parents first.
    pub fn bones(&self) -> impl DoubleEndedIterator<Item = BoneIndex> + ExactSizeIterator + use<> {
        (0..self.names.len()).map(BoneIndex::new)
    }
    /// Bone names.
    pub fn names(&self) -> &BoneVec<String> {
        &self.names
    }
    /// Parents; `None` for a root.
    pub fn parents(&self) -> &BoneVec<Option<BoneIndex>> {
        &self.parents
    }
    /// Bind matrices B_k: joint to world at rest.
    pub fn bind(&self) -> &BoneVec<DAffine3> {
        &self.bind
    }
    /// Inverse bind matrices B_k⁻¹.
    pub fn inverse_bind(&self) -> &BoneVec<DAffine3> {
        &self.inverse_bind
    }
    /// The bone of that name, the first if several have it.
    pub fn find(&self, name: &str) -> Option<BoneIndex> {
        self.names.iter().position(|n| n == name).map(BoneIndex::new)
    }

    /// Local transforms, the inverse of forward kinematics ([`Skeleton::posed`]): local_k = T_parent⁻¹ T_k.
    ///
    /// `None` if a parent's matrix is singular.
    ///
    /// # Panics
    /// If the pose has another number of bones.
    pub fn local_transforms(&self, world: &WorldPose) -> Option<BoneVec<DAffine3>> {
        self.must_have_the_bones_of(&world.bones);
        let local = self.bones().map(|bone| match self.parents[bone] {
            Some(parent) => Some(invert(&world.bones[parent])? * world.bones[bone]),
            None => Some(world.bones[bone]),
        });
        Some(BoneVec::new(local.collect::<Option<Vec<_>>>()?))
    }

    /// Bone transforms M_k = T_k B_k⁻¹, rest world to posed world; at the bind pose the identity, to the last bit: a bone whose matrix is that of the bind
    /// pose but for the rounding of products has it.
    ///
    /// # Panics
    /// If the pose has another number of bones.
    pub fn bone_transforms(&self, pose: &WorldPose) -> BoneTransforms {
        self.must_have_the_bones_of(&pose.bones);
        let matrices = self.bones().map(|bone| self.bone_transform(bone, &pose.bones[bone])).collect();
        BoneTransforms::new(matrices).with_channels(pose.channels.clone())
    }

    /// M_k of one bone, as [`bone_transforms`](Self::bone_transforms) has it.
    pub fn bone_transform(&self, bone: BoneIndex, posed: &DAffine3) -> DAffine3 {
        /// What some tens of products leave.
        const ROUNDINGS: f64 = 64.0 * f64::EPSILON;
        let bind = &self.bind[bone];
        let size = bind.matrix3.to_cols_array().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let stands = posed.matrix3.abs_diff_eq(bind.matrix3, ROUNDINGS * size)
            && posed.translation.abs_diff_eq(bind.translation, ROUNDINGS * self.reach);
        if stands { DAffine3::IDENTITY } else { *posed * self.inverse_bind[bone] }
    }

    /// The joint-to-world matrices of a pose, T_k = M_k B_k.
    ///
    /// # Panics
    /// If the pose has another number of bones.
    pub fn world_pose(&self, transforms: &BoneTransforms) -> WorldPose {
        self.must_have_the_bones_of(transforms);
        let bones = transforms.iter().zip(self.bind.iter()).map(|(m, b)| *m * *b).collect();
        WorldPose { channels: transforms.channels().clone(), ..WorldPose::new(bones) }
    }

    fn must_have_the_bones_of(&self, pose: &BoneVec<DAffine3>) {
        assert_eq!(pose.len(), self.len(), "the pose has another number of bones than the skeleton");
    }

    /// Number of joints above each bone: zero for a root.
    pub fn depths(&self) -> BoneVec<u32> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.len());
        for bone in self.bones() {
            depths.push(self.parents[bone].map_or(0, |parent| depths[parent.get()] + 1));
        }
        BoneVec::new(depths)
    }
}

/// Orders bones so that parents come first: `order[new] = old`.
fn parents_first(names: &[String], parents: &[i64]) -> Result<Vec<usize>, SkeletonError> {
    let bones = names.len();
    for (bone, &parent) in parents.iter().enumerate() {
        if parent >= bones as i64 {
            return Err(SkeletonError::MissingParent { bone: names[bone].clone(), parent, bones });
        }
    }
    let mut placed = vec![false; bones];
    let mut order = Vec::with_capacity(bones);
    let mut chain = Vec::new();
    for start in 0..bones {
        // Walk up to the first bone already placed; a walk longer than the skeleton goes in circles.
        let mut bone = start;
        while !placed[bone] {
            if chain.len() > bones {
                return Err(SkeletonError::Cycle { bone: names[start].clone() });
            }
            chain.push(bone);
            match usize::try_from(parents[bone]) {
                Ok(parent) => bone = parent,
                Err(_) => break,
            }
        }
        while let Some(bone) = chain.pop() {
            placed[bone] = true;
            order.push(bone);
        }
    }
    Ok(order)
}

/// The inverse of an affine map, or `None` if its linear part is singular: |det| ≤ 1e-12 |A|³.
pub fn invert(matrix: &DAffine3) -> Option<DAffine3> {
    let size = frobenius(&matrix.matrix3);
    let determinant = matrix.matrix3.determinant();
    let regular = determinant.is_finite() && determinant.abs() > 1e-12 * size * size * size;
    let inverse = matrix.inverse();
    (regular && inverse.is_finite()).then_some(inverse)
}

/// The Frobenius norm of a 3x3 matrix.
pub fn frobenius(a: &DMat3) -> f64 {
    (a.x_axis.length_squared() + a.y_axis.length_squared() + a.z_axis.length_squared()).sqrt()
}

/// Per-pose values other than joints, by name, such as the contraction of a muscle; zero at rest.
pub type Channels = Vec<(Arc<str>, f64)>;

/// A pose as joint-to-world matrices T_k.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldPose {
    /// T_k, bone to posed world.
    pub bones: BoneVec<DAffine3>,
    /// Numeric channels of the pose.
    pub channels: Channels,
}

impl WorldPose {
    /// Wraps matrices in bone order.
    pub fn new(bones: Vec<DAffine3>) -> Self {
        Self { bones: BoneVec::new(bones), channels: Vec::new() }
    }
}

/// Bone transforms M_k = T_k B_k⁻¹: rest world to posed world, one per bone; and what else the pose is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct BoneTransforms {
    matrices: BoneVec<DAffine3>,
    channels: Channels,
}

impl BoneTransforms {
    /// Wraps matrices in bone order.
    pub fn new(matrices: Vec<DAffine3>) -> Self {
        Self { matrices: BoneVec::new(matrices), channels: Vec::new() }
    }
    /// The same pose with numeric channels.
    pub fn with_channels(self, channels: Channels) -> Self {
        Self { channels, ..self }
    }
    /// Numeric channels of the pose.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }
    /// A numeric channel by name; one that the pose does not have is at rest, zero.
    pub fn channel(&self, name: &str) -> f64 {
        self.channels.iter().find(|(known, _)| **known == *name).map_or(0.0, |(_, value)| *value)
    }
    /// The bind pose: identities.
    pub fn identity(bones: usize) -> Self {
        Self::new(vec![DAffine3::IDENTITY; bones])
    }
    /// The pose with the whole character moved by `g`: G M_k.
    pub fn moved(&self, g: DAffine3) -> Self {
        Self::new(self.matrices.iter().map(|m| g * *m).collect()).with_channels(self.channels.clone())
    }
    /// Sets the transform of a bone.
    ///
    /// # Panics
    /// If there is no such bone.
    pub fn set(&mut self, bone: BoneIndex, transform: DAffine3) {
        self.matrices[bone] = transform;
    }
    /// Whether every entry is finite.
    pub fn is_finite(&self) -> bool {
        self.matrices.iter().all(DAffine3::is_finite) && self.channels.iter().all(|(_, value)| value.is_finite())
    }
}

impl AsRef<BoneTransforms> for BoneTransforms {
    fn as_ref(&self) -> &BoneTransforms {
        self
    }
}

impl std::ops::Deref for BoneTransforms {
    type Target = BoneVec<DAffine3>;
    fn deref(&self) -> &BoneVec<DAffine3> {
        &self.matrices
    }
}

/// Row `row` of an affine map as four numbers, translation last: row j of the M of the equations.
pub fn row(m: &DAffine3, row: usize) -> [f64; 4] {
    let pick = |v: DVec3| v.to_array()[row];
    [pick(m.matrix3.x_axis), pick(m.matrix3.y_axis), pick(m.matrix3.z_axis), pick(m.translation)]
}

/// An affine map from its three rows of four numbers.
pub fn from_rows(rows: [[f64; 4]; 3]) -> DAffine3 {
    let column = |c: usize| DVec3::new(rows[0][c], rows[1][c], rows[2][c]);
    DAffine3 { matrix3: DMat3::from_cols(column(0), column(1), column(2)), translation: column(3) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|b| format!("b{b}")).collect()
    }

    #[test]
    fn bones_in_any_order_are_sorted_parents_first() {
        let bind: Vec<_> = (0..4).map(|b| DAffine3::from_translation(DVec3::splat(f64::from(b)))).collect();
        let (skeleton, order) = Skeleton::sorted(names(4), &[2, -1, 1, 0], &bind).unwrap();
        assert_eq!(order, [1, 2, 0, 3]);
        for bone in skeleton.bones() {
            assert!(skeleton.parents()[bone].is_none_or(|p| p < bone));
            assert_eq!(skeleton.bind()[bone], bind[order[bone.get()]]);
        }
    }

    #[test]
    fn cycles_missing_parents_and_singular_binds_are_named() {
        let bind = vec![DAffine3::IDENTITY; 3];
        assert!(matches!(Skeleton::sorted(names(3), &[1, 2, 0], &bind), Err(SkeletonError::Cycle { .. })));
        assert!(matches!(
            Skeleton::sorted(names(3), &[-1, 7, 0], &bind),
            Err(SkeletonError::MissingParent { parent: 7, .. })
        ));
        let new = |parents: [Option<usize>; 3]| {
            let parents = parents.map(|parent| parent.map(BoneIndex::new)).to_vec();
            Skeleton::new(names(3), parents, bind.clone()).unwrap_err()
        };
        assert!(matches!(new([None, Some(2), Some(0)]), SkeletonError::ParentAfterChild { .. }));
        assert!(matches!(new([None, Some(3), Some(0)]), SkeletonError::MissingParent { parent: 3, bones: 3, .. }));
        assert!(matches!(new([None, Some(1), Some(0)]), SkeletonError::Cycle { .. }));
        let flat = vec![DAffine3::from_scale(DVec3::new(1.0, 1.0, 0.0)); 1];
        assert!(matches!(Skeleton::sorted(names(1), &[-1], &flat), Err(SkeletonError::SingularBind { .. })));
        assert!(matches!(Skeleton::sorted(vec![], &[], &[]), Err(SkeletonError::NoBones)));
    }

    #[test]
    fn tiny_characters_have_regular_binds() {
        let tiny = vec![DAffine3::from_scale(DVec3::splat(1e-6))];
        assert!(Skeleton::sorted(names(1), &[-1], &tiny).is_ok());
    }

    fn chain() -> Skeleton {
        let bind: Vec<_> = (0..3).map(|b| DAffine3::from_translation(DVec3::X * f64::from(b))).collect();
        Skeleton::new(names(3), vec![None, Some(BoneIndex::new(0)), Some(BoneIndex::new(1))], bind).unwrap()
    }

    #[test]
    fn moving_the_root_multiplies_every_bone_from_the_left() {
        let skeleton = chain();
        let mut local = skeleton.local_transforms(&WorldPose::new(skeleton.bind().to_vec())).unwrap();
        local[BoneIndex::new(1)] *= DAffine3::from_rotation_z(0.7);
        let before = skeleton.posed(local.clone()).unwrap().world();
        let g = DAffine3::from_rotation_translation(DQuat::from_rotation_y(1.1), DVec3::new(3.0, 2.0, 1.0));
        local[BoneIndex::new(0)] = g * local[BoneIndex::new(0)];
        let after = skeleton.posed(local.clone()).unwrap().world();
        assert_eq!(after.bones.len(), 3);
        for (bone, a) in after.bones.enumerate() {
            assert!(a.abs_diff_eq(g * before.bones[bone], 1e-14));
        }
        let again = skeleton.local_transforms(&after).unwrap();
        for bone in skeleton.bones() {
            assert!(again[bone].abs_diff_eq(local[bone], 1e-14));
        }
    }

    #[test]
    fn bone_transforms_and_world_pose_are_inverse_and_keep_channels() {
        let skeleton = chain();
        let bones = skeleton.bind().iter().map(|b| DAffine3::from_rotation_y(0.3) * *b).collect();
        let pose = WorldPose { channels: vec![("biceps".into(), 0.25)], ..WorldPose::new(bones) };
        let transforms = skeleton.bone_transforms(&pose);
        assert_eq!(transforms.channel("biceps"), 0.25);
        let again = skeleton.world_pose(&transforms);
        assert_eq!(again.channels, pose.channels);
        for bone in skeleton.bones() {
            assert!(again.bones[bone].abs_diff_eq(pose.bones[bone], 1e-15));
        }
    }

    /// A pose of another rig is never cut to fit, nor filled up.
    #[test]
    fn poses_with_another_number_of_bones_are_refused() {
        let skeleton = chain();
        for bones in [2, 4] {
            let pose = WorldPose::new(vec![DAffine3::IDENTITY; bones]);
            assert!(std::panic::catch_unwind(|| skeleton.bone_transforms(&pose)).is_err());
            assert!(std::panic::catch_unwind(|| skeleton.local_transforms(&pose)).is_err());
            assert!(std::panic::catch_unwind(|| skeleton.world_pose(&BoneTransforms::identity(bones))).is_err());
            let local = BoneVec::new(vec![DAffine3::IDENTITY; bones]);
            assert_eq!(skeleton.posed(local).unwrap_err(), SkeletonError::PoseSize { found: bones, bones: 3 });
        }
    }
}
