//! Which joints a pose moves.

use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, BoneTransforms, Skeleton};

/// The joints that a pose moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MovedJoints {
    /// The bones whose joints differ from rest, parents first. A lone root moves the whole character and counts as no joint.
    pub joints: Vec<BoneIndex>,
}

/// Returns the joints that differ from rest: M_parent⁻¹ M_b turns an axis by more than the chord `turned` (radians, for small
/// angles), or moves the joint's place by more than `turned`·`length`/10.
///
/// With one root, its motion is removed first: the character may stand anywhere.
pub fn moved_joints(skeleton: &Skeleton, pose: &BoneTransforms, length: f64, turned: f64) -> MovedJoints {
    let roots = skeleton.parents().iter().filter(|p| p.is_none()).count();
    let moved = |bone: BoneIndex| {
        let above = match skeleton.parents()[bone] {
            Some(parent) => pose[parent],
            None if roots == 1 => return false,
            None => DAffine3::IDENTITY,
        };
        // A parent that cannot be inverted is no pose of a joint; its children count as moved.
        let Some(inverse) = invert(&above) else { return true };
        let change = inverse * pose[bone];
        let place = skeleton.bind()[bone].translation;
        let shift = change.transform_point3(place).distance(place);
        let columns = [change.matrix3.x_axis, change.matrix3.y_axis, change.matrix3.z_axis];
        let bent = columns.iter().zip(DVec3::AXES).map(|(c, axis)| c.distance(axis)).fold(0.0, f64::max);
        bent > turned || shift > 0.1 * turned * length
    };
    MovedJoints { joints: skeleton.bones().filter(|&bone| moved(bone)).collect() }
}
