//! What shapes of both kinds are made from: training poses rebuilt from a model, recombinations of their joints, and bones by name.

use crate::Warning;
use dermis_deform::TrainingPoses;
use dermis_deform::guard::LIMIT_FACTOR;
use dermis_deform::joints::{Joint, JointReading, Joints, whole_of};
use dermis_deform::tables::{NamedBone, TableBone};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::skeleton::{from_rows, invert};
use dermis_rig::{BoneIndex, BoneTransforms, IndexVec, Influences, Skeleton};
use dermis_solve::Random;
use std::f64::consts::TAU;

/// Poses the shapes are made from, at most.
const MOST_SAMPLES: usize = 256;
/// Training poses among them, at most; more are thinned evenly.
const MOST_TRAINING: usize = 192;
/// Recombinations, at least: of few training poses every joint has few rotations of its own, and only mixed poses part the joints.
const LEAST_MIXED: usize = 48;
/// Seed of the recombinations.
const SEED: u64 = 1;

/// Warns of joints whose bones hang on different roots: a model does not keep how these stood to each other in training.
pub(crate) fn apart(skeleton: &Skeleton, joints: &[Joint]) -> Option<Warning> {
    let roots = roots(skeleton);
    let names = joints.iter().filter(|j| j.centre.is_some() && roots[j.from.get()] != roots[j.to.get()]);
    let names: Vec<String> =
        names.map(|j| format!("{} to {}", skeleton.names()[j.from], skeleton.names()[j.to])).collect();
    (!names.is_empty()).then_some(Warning::JointsApart { joints: names })
}

/// The root above each bone.
pub(crate) fn roots(skeleton: &Skeleton) -> Vec<usize> {
    let mut roots: Vec<usize> = Vec::with_capacity(skeleton.len());
    for bone in skeleton.bones() {
        roots.push(skeleton.parents()[bone].map_or(bone.get(), |parent| roots[parent.get()]));
    }
    roots
}

/// Joins bones under different roots, as rigs with free feet have them: moves everything below one root so that the joint
/// between them stands at one of its inducing rotations or at rest.
pub(crate) fn join_roots(skeleton: &Skeleton, model: &Joints, poses: &mut [BoneTransforms]) {
    let mut random = Random::new(SEED, 1);
    let roots = roots(skeleton);
    for pose in poses {
        let mut group = roots.clone();
        let mut moved = pose.as_slice().to_vec();
        for (at, joint) in model.joints.iter().enumerate() {
            // A composite follows from the joints that it is made of; the twist of a joint comes with its swing.
            let (a, b) = (joint.from.get(), joint.to.get());
            let Some(centre) = joint.centre.filter(|_| group[a] != group[b]) else { continue };
            let mut some = |joint: &Joint| {
                let choice = (random.unit() * (joint.inducing.len() + 1) as f64) as usize;
                joint.inducing.get(choice).copied()
            };
            let feature = match joint.reading {
                JointReading::Swing(axis) => {
                    let twists = |other: &&Joint| {
                        (other.from, other.to) == (joint.from, joint.to) && other.reading == JointReading::Twist(axis)
                    };
                    let twist = model.joints.get(at + 1).filter(twists).and_then(&mut some);
                    let (none, swing) = ([0.0; 12], some(joint));
                    Some(whole_of(axis, &swing.unwrap_or(none), &twist.unwrap_or(none)))
                }
                JointReading::Whole | JointReading::Twist(_) | JointReading::Product(_) => some(joint),
            };
            let wanted = feature.map_or(DAffine3::IDENTITY, |f| at_feature(&f, centre, model.length));
            let Some(inverse) = invert(&moved[b]) else { continue };
            let (step, old, new) = (moved[a] * wanted * inverse, group[b], group[a]);
            for (m, group) in moved.iter_mut().zip(&mut group).filter(|(_, group)| **group == old) {
                (*m, *group) = (step * *m, new);
            }
        }
        *pose = BoneTransforms::new(moved);
    }
}

/// Turns the character of every pose against down, where training turned it: a model keeps by how much, of the first bone of the skin.
pub(crate) fn tilt(model: &Joints, weights: &Influences, poses: &mut [BoneTransforms]) {
    let Some(gravity) = &model.gravity else { return };
    let first = weights.rows().flatten().map(|(bone, _)| *bone).min();
    let Some(hips) = gravity.bones.iter().find(|sagging| Some(sagging.bone) == first) else { return };
    // |h| = 2 sin(angle/2); limits exceed training by a quarter.
    let largest = 2.0 * (hips.limit / LIMIT_FACTOR / 2.0).min(1.0).asin();
    let mut random = Random::new(SEED, 2);
    for pose in poses {
        let axis = gravity.down.any_orthonormal_vector();
        let axis = DQuat::from_axis_angle(gravity.down, TAU * random.unit()) * axis;
        let turn = DAffine3::from_axis_angle(axis, largest * random.unit());
        *pose = BoneTransforms::new(pose.iter().map(|m| turn * *m).collect());
    }
}

/// M_a⁻¹ M_b of a joint about a centre whose feature is φ.
fn at_feature(feature: &[f64; 12], centre: DVec3, length: f64) -> DAffine3 {
    let entry = |j: usize, i: usize| feature[4 * j + i] * std::f64::consts::SQRT_2;
    let slide = |j: usize| feature[4 * j + 3] - (0..3).map(|i| entry(j, i) * centre[i]).sum::<f64>();
    from_rows([0, 1, 2].map(|j| {
        let turn = |i: usize| entry(j, i) + f64::from(u8::from(i == j));
        [turn(0), turn(1), turn(2), slide(j) * length]
    }))
}

/// Poses the shapes are made from.
pub(crate) struct Samples {
    pub poses: Vec<BoneTransforms>,
    /// The first so many are training poses.
    pub training: usize,
}

/// Returns the training poses with every root at rest, then as many recombinations of their joints, or [`LEAST_MIXED`].
///
/// A model does not keep bones that move no skin; here they stand still to their parent.
pub(crate) fn sample_poses(skeleton: &Skeleton, training: &TrainingPoses) -> Samples {
    let kept = training.features.len() / training.joints.len().max(1);
    let step = kept.div_ceil(MOST_TRAINING).max(1);
    let known: Vec<usize> = (0..kept).step_by(step).collect();
    let mut joint_of = vec![None; skeleton.len()];
    for (j, &(parent, bone)) in training.joints.iter().enumerate() {
        if skeleton.parents()[bone] == Some(parent) {
            joint_of[bone.get()] = Some(j);
        }
    }
    let assemble = |mut of: Box<dyn FnMut() -> usize + '_>| {
        let mut made: Vec<DAffine3> = Vec::with_capacity(skeleton.len());
        for bone in skeleton.bones() {
            let above = skeleton.parents()[bone].map_or(DAffine3::IDENTITY, |parent| made[parent.get()]);
            let joint = joint_of[bone.get()].map(|j| training.features[of() * training.joints.len() + j]);
            made.push(joint.map_or(above, |f| above * seen(&f, training.length)));
        }
        BoneTransforms::new(made)
    };
    let mut poses: Vec<BoneTransforms> = known.iter().map(|&s| assemble(Box::new(move || s))).collect();
    let mut random = Random::new(SEED, 0);
    for _ in 0..known.len().max(LEAST_MIXED).min(MOST_SAMPLES - known.len()) {
        poses.push(assemble(Box::new(|| known[(random.unit() * known.len() as f64) as usize])));
    }
    Samples { poses, training: known.len() }
}

/// M_parent⁻¹ M_bone from the feature of [`TrainingPoses`].
fn seen(feature: &[f32; 12], length: f64) -> DAffine3 {
    let entry = |j: usize, c: usize| {
        let x = f64::from(feature[4 * j + c]);
        if c == 3 { x * length } else { x * std::f64::consts::SQRT_2 + f64::from(u8::from(c == j)) }
    };
    from_rows([0, 1, 2].map(|j| [0, 1, 2, 3].map(|c| entry(j, c))))
}

/// Names and bind poses of the bones that a table lists.
pub(crate) fn named_bones(skeleton: &Skeleton, bones: &[BoneIndex]) -> IndexVec<TableBone, NamedBone> {
    let bone = |&bone: &BoneIndex| NamedBone {
        name: skeleton.names()[bone].clone(),
        inverse_bind: skeleton.inverse_bind()[bone],
    };
    IndexVec::new(bones.iter().map(bone).collect())
}
