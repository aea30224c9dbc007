//! Which joints a pose moves.

use crate::training::Training;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, BoneTransforms, BoneVec, Skeleton};

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

/// The examples that move one joint, by joint. The character may stand anywhere: the motion of a lone root is taken off.
pub(super) struct SingleJointPoses {
    /// Examples per bone whose joint they move.
    pub poses: BoneVec<Vec<usize>>,
    /// Examples that move several joints.
    pub unused: usize,
    /// The root, if there is only one.
    pub lone_root: Option<BoneIndex>,
    /// What takes each example back to where the root is at rest.
    homes: Vec<DAffine3>,
}

impl SingleJointPoses {
    pub fn of(training: &Training<'_>, turned: f64) -> Self {
        let (skeleton, unit) = (training.skeleton, training.unit());
        let mut poses: BoneVec<Vec<usize>> = BoneVec::new(vec![Vec::new(); skeleton.len()]);
        let mut unused = 0;
        for (s, example) in training.examples.iter().enumerate().filter(|(_, e)| e.importance > 0.0) {
            match moved_joints(skeleton, &example.transforms, unit, turned).joints[..] {
                [] => {}
                [bone] => poses[bone].push(s),
                _ => unused += 1,
            }
        }
        let mut roots = skeleton.bones().filter(|&b| skeleton.parents()[b].is_none());
        let lone_root = roots.next().filter(|_| roots.next().is_none());
        let home = |transforms: &BoneTransforms| match lone_root {
            Some(root) => invert(&transforms[root]).unwrap_or(DAffine3::IDENTITY),
            None => DAffine3::IDENTITY,
        };
        let homes = training.examples.iter().map(|e| home(&e.transforms)).collect();
        Self { poses, unused, lone_root, homes }
    }

    /// Where a vertex would be in an example if the bone alone carried it, and where its skin is.
    pub fn places(&self, training: &Training<'_>, example: usize, bone: BoneIndex, vertex: usize) -> (DVec3, DVec3) {
        let (example, home) = (&training.examples[example], self.homes[example]);
        let alone = example.transforms[bone].transform_point3(training.rest[vertex]);
        (home.transform_point3(alone), home.transform_point3(example.positions[vertex]))
    }
}
