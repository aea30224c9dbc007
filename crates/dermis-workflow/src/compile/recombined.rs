//! Poses to compile for besides the given ones.
//!
//! Where two bones never move against each other in the given poses, weights may go to either at no cost, and the first other pose
//! shows it; where they always move in the same step, nearly so. So as many poses again are made in which every joint takes
//! its motion from a random given pose, and a joint that stands still in all of them is turned at random. The model says what
//! the skin does there: a correction is bounded in any pose.

use crate::random::Random;
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::skeleton::{frobenius, invert};
use dermis_rig::{BoneIndex, BoneTransforms, Skeleton};

/// At least and at most so many: enough to tell the joints of a body apart, and no more than that of a long motion.
const COUNT: (usize, usize) = (48, 192);
/// A joint that turns less stands still: |R − I| of three degrees.
const STILL: f64 = 0.074;
/// How far it is turned, at most.
const TURN: f64 = 30.0 * std::f64::consts::PI / 180.0;

/// Bone transforms of poses made from the given ones; the same for the same poses.
pub(super) fn recombined(skeleton: &Skeleton, given: &[BoneTransforms]) -> Vec<BoneTransforms> {
    // M_parent⁻¹ M_bone; a bone on a parent squeezed flat stays on it.
    let joint = |pose: &BoneTransforms, bone: BoneIndex| match skeleton.parents()[bone] {
        None => pose[bone],
        Some(parent) => invert(&pose[parent]).map_or(DAffine3::IDENTITY, |inverse| inverse * pose[bone]),
    };
    let turned = |m: DAffine3| frobenius(&(m.matrix3 - DMat3::IDENTITY)) > STILL;
    let moves = |bone: BoneIndex| given.iter().any(|pose| turned(joint(pose, bone)));
    let still: Vec<bool> =
        skeleton.bones().map(|bone| skeleton.parents()[bone].is_some() && !moves(bone)).collect();
    let mut random = Random::new(1, 0);
    let made = |_| {
        let any = |random: &mut Random| &given[((random.unit() * given.len() as f64) as usize).min(given.len() - 1)];
        // Bones under different roots stand to each other as they were seen.
        let roots = any(&mut random);
        let mut bones: Vec<DAffine3> = Vec::with_capacity(skeleton.len());
        for bone in skeleton.bones() {
            let Some(parent) = skeleton.parents()[bone] else {
                bones.push(roots[bone]);
                continue;
            };
            let mut local = joint(any(&mut random), bone);
            if still[bone.get()] {
                let place: DVec3 = skeleton.bind()[bone].translation;
                let turn = DQuat::from_axis_angle(random.direction(), TURN * random.unit());
                local = local
                    * DAffine3::from_translation(place)
                    * DAffine3::from_quat(turn)
                    * DAffine3::from_translation(-place);
            }
            bones.push(bones[parent.get()] * local);
        }
        BoneTransforms::new(bones)
    };
    let count = if given.is_empty() { 0 } else { given.len().clamp(COUNT.0, COUNT.1) };
    (0..count).map(made).collect()
}
