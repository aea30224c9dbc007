//! Which joint is turned where, in which pose.

use super::Layout;
use super::joints::{Angles, Joint, Turned};
use dermis_rig::{BoneIndex, Rig, Skeleton};

/// What a pose is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The bind pose.
    Rest,
    /// Joints at an end of their range.
    Extreme,
    /// Joints half way to an end.
    Between,
    /// A joint and the one above it, both at an end.
    Pair,
    /// All joints anywhere in their ranges.
    Spread,
}

/// Joints turned together.
pub(super) type Posture = Vec<Turned>;

/// What share of the poses that extremes leave goes to in-betweens and to pairs; the rest is spread.
const BETWEEN: f64 = 0.15;
const PAIRS: f64 = 0.25;

/// What is planned, and how many ends of ranges found no place.
pub(super) struct Plan {
    pub postures: Vec<(Kind, Posture)>,
    pub left_out: usize,
}

/// Plans `poses` poses besides rest.
pub(super) fn plan(rig: &Rig, joints: &[Joint], poses: usize, layout: Layout) -> Plan {
    let near = neighbours(rig, joints);
    let rounds = |of: &dyn Fn(usize) -> Vec<Posture>| {
        let each: Vec<Vec<Posture>> = (0..joints.len()).map(of).collect();
        let most = each.iter().map(Vec::len).max().unwrap_or(0);
        let mut events = Vec::new();
        for round in 0..most {
            events.extend(each.iter().filter_map(|all| all.get(round).cloned()));
        }
        events
    };
    // Neighbouring joints begin with different ends, so that the two sides of a body do not show the same.
    let turned = |joint: usize, share: f64| {
        let mut ends = joints[joint].ends();
        if layout == Layout::Together && !ends.is_empty() {
            let by = joint % ends.len();
            ends.rotate_left(by);
        }
        let at = |angles: Angles| vec![Turned { joint, angles: angles.map(|a| a * share) }];
        ends.into_iter().map(at).collect::<Vec<_>>()
    };
    let paired = |joint: usize| {
        let Some(above) = joint_above(rig.skeleton(), joints, joint) else { return Vec::new() };
        let (own, other) = (joints[joint].ends(), joints[above].ends());
        let mut pairs = Vec::new();
        for i in 0..2 {
            for j in 0..2 {
                if let (Some(a), Some(b)) = (own.get((i + j) % 2), other.get(j)) {
                    pairs.push(vec![Turned { joint: above, angles: *b }, Turned { joint, angles: *a }]);
                }
            }
        }
        pairs
    };
    let mut plan = Plan { postures: Vec::new(), left_out: 0 };
    let (extremes, left_out) = packed(rounds(&|joint| turned(joint, 1.0)), &near, layout, poses);
    plan.left_out = left_out;
    plan.postures.extend(extremes.into_iter().map(|posture| (Kind::Extreme, posture)));
    let left = poses - plan.postures.len();
    let share = |part: f64| (part * left as f64).round() as usize;
    let (between, _) = packed(rounds(&|joint| turned(joint, 0.5)), &near, layout, share(BETWEEN));
    plan.postures.extend(between.into_iter().map(|posture| (Kind::Between, posture)));
    let (pairs, _) = packed(rounds(&paired), &near, layout, share(PAIRS));
    plan.postures.extend(pairs.into_iter().map(|posture| (Kind::Pair, posture)));
    plan
}

/// Puts events into at most `most` poses, first fit: joints that share skin, or of which one carries the other, do not move in the same
/// event's pose.
fn packed(events: Vec<Posture>, near: &[Vec<bool>], layout: Layout, most: usize) -> (Vec<Posture>, usize) {
    let mut poses: Vec<Posture> = Vec::new();
    let mut left_out = 0;
    for event in events {
        let fits = |pose: &Posture| {
            layout == Layout::Together && pose.iter().all(|there| event.iter().all(|new| !near[there.joint][new.joint]))
        };
        if let Some(pose) = poses.iter_mut().find(|pose| fits(pose)) {
            pose.extend(event);
        } else if poses.len() < most {
            poses.push(event);
        } else {
            left_out += 1;
        }
    }
    (poses, left_out)
}

/// The nearest joint above another that moves.
fn joint_above(skeleton: &Skeleton, joints: &[Joint], joint: usize) -> Option<usize> {
    std::iter::successors(skeleton.parents()[joints[joint].bone], |bone| skeleton.parents()[*bone])
        .find_map(|bone| joints.iter().position(|other| other.bone == bone))
}

/// Which joints must not move in one pose if their skins are to be told apart.
fn neighbours(rig: &Rig, joints: &[Joint]) -> Vec<Vec<bool>> {
    /// A weight from which a bone counts, and vertices that two bones share before they are neighbours.
    const COUNTS: (f64, usize) = (0.05, 4);
    let place = |bone: BoneIndex| joints.iter().position(|joint| joint.bone == bone);
    let places: Vec<Option<usize>> = rig.skeleton().bones().map(place).collect();
    let mut shared = vec![vec![0usize; joints.len()]; joints.len()];
    for row in rig.weights().into_iter().flat_map(|weights| weights.rows()) {
        let here: Vec<usize> = row.iter().filter(|e| e.1 >= COUNTS.0).filter_map(|e| places[e.0.get()]).collect();
        for &a in &here {
            here.iter().for_each(|&b| shared[a][b] += 1);
        }
    }
    let mut near: Vec<Vec<bool>> =
        shared.iter().map(|row| row.iter().map(|count| *count >= COUNTS.1).collect()).collect();
    for joint in 0..joints.len() {
        near[joint][joint] = true;
        if let Some(above) = joint_above(rig.skeleton(), joints, joint) {
            near[joint][above] = true;
            near[above][joint] = true;
        }
    }
    near
}
