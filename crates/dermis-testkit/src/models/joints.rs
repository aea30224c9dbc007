//! The joint model.

use super::{FEW, length, limit, radii, weld};
use crate::{Random, Tree, tree};
use dermis_deform::gravity::SaggingBone;
use dermis_deform::joints::{CorrectionFrame, Joint, JointReading, Joints, SharedTerm, joint_feature, part_of};
use dermis_deform::{Gravity, JointKernel};
use dermis_rig::BoneIndex;

/// A joint model: joints of one to eight inducing rotations, swings, twists, composites and a product among them, of every kernel, a
/// shared part, in half of the models bones that see down, and with the guard a welded joint, limits of all parts and balls.
pub fn joints(tree: &Tree, frame: CorrectionFrame, guarded: bool, random: &mut Random) -> Joints {
    let (skeleton, length) = (tree.rig.skeleton(), length(tree));
    let kernel = JointKernel { sigma: 1.4, arc_cosine: [0.0, 0.5, 1.0][random.below(3)] };
    let mut joints: Vec<Joint> = Vec::new();
    let parent = |bone: BoneIndex| skeleton.parents()[bone];
    let single = skeleton.bones().filter_map(|bone| Some((parent(bone)?, bone, true)));
    let composite = skeleton.bones().filter_map(|bone| Some((parent(parent(bone)?)?, bone, false)));
    for (parent, bone, slides) in single.chain(composite).collect::<Vec<_>>() {
        let centre = slides.then(|| skeleton.bind()[bone].translation / length + random.direction() * 0.02);
        let axis = random.direction();
        let reading = match (slides, joints.len() % 3) {
            (true, 1) => JointReading::Swing(axis),
            (true, 2) => JointReading::Twist(axis),
            _ => JointReading::Whole,
        };
        let inducing = (0..=joints.len() % 8).map(|_| {
            let pose = tree::wild(skeleton, random, 2.0);
            part_of(&joint_feature(pose.as_slice(), (parent, bone), centre, length), reading)
        });
        let inducing = (inducing.collect(), vec![]);
        let limit = limit(guarded, random);
        let made = Joint::read_as(reading, ((parent, bone), centre), limit, inducing, kernel);
        joints.push(made.expect("random rotations are apart"));
    }
    if let [first, second, ..] = &joints[..] {
        let poses: Vec<_> = (0..5).map(|_| tree::wild(skeleton, random, 2.0)).collect();
        let features = |joint: &Joint| poses.iter().map(|pose| joint.feature(pose.as_slice(), length)).collect();
        let (inducing, ends) = ((features(first), features(second)), (first.from, second.to));
        let reading = JointReading::Product([0, 1]);
        let made = Joint::read_as(reading, (ends, None), f64::INFINITY, inducing, kernel);
        joints.push(made.expect("random rotations are apart"));
    }
    let mut made = Joints::empty(length, kernel, frame, joints, weld(tree, guarded));
    if random.below(2) == 0 {
        let sagging = |bone| SaggingBone { bone, limit: limit(guarded, random) };
        let bones = skeleton.bones().step_by(2).map(sagging).collect();
        made.gravity = Some(Gravity { down: random.direction(), bones });
    }
    let numbers: Vec<usize> = made.numbers().collect();
    made.weights = tree.weights().clone();
    for row in tree.weights().rows() {
        // A vertex without influences has no frame, and no fit gives it a correction.
        let (mut terms, mut coefficients, mut shared) = (Vec::new(), Vec::new(), Vec::new());
        let share = usize::from(!row.is_empty());
        for _ in 0..random.below(4) * share {
            let joint = random.below(numbers.len());
            terms.push(joint as u32);
            let count = 3 * numbers[joint];
            coefficients.extend((0..count).map(|_| 0.02 * random.normal()));
        }
        for _ in 0..random.below(5) * share {
            shared.push(SharedTerm {
                bone: BoneIndex::new(random.below(skeleton.len())),
                relevance: random.between(0.1, 1.0),
                offset: random.direction() * 0.02,
                weight: 0.02 * random.normal(),
            });
        }
        made.terms.push(terms).expect(FEW);
        made.coefficients.push(coefficients).expect(FEW);
        made.shared.push(shared).expect(FEW);
        if guarded {
            made.shared_limits.push(random.between(0.2, 8.0));
        }
    }
    made.radii = radii(tree, guarded, random);
    made
}
