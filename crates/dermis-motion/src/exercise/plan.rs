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
    /// The same, and the whole character turned against down.
    Tilted,
}

/// Joints turned together.
pub(super) type Posture = Vec<Turned>;

/// What share of the poses that extremes leave goes to in-betweens and to pairs; the rest is spread. With 25 % of pairs the walk of the
/// bundled body (docs/exercise.md) has an error of 0.41 mm, without them 0.33 to 0.39 mm, by the seed of the spread poses; of in-betweens any
/// share up to 50 % does as well.
const BETWEEN: f64 = 0.15;
const PAIRS: f64 = 0.1;

/// What is planned, and how many ends of ranges found no place.
pub(super) struct Plan {
    pub postures: Vec<(Kind, Posture)>,
    pub left_out: usize,
}

/// Joints that move as one: the segments of a back, or one joint.
type Unit = Vec<usize>;

/// Plans `poses` poses besides rest. The bones of each of `series` bend together, but in poses that are spread.
pub(super) fn plan(rig: &Rig, joints: &[Joint], series: &[Vec<BoneIndex>], poses: usize, layout: Layout) -> Plan {
    let units = units(joints, series);
    let near = neighbours(rig, joints, &units);
    let rounds = |of: &dyn Fn(usize) -> Vec<Posture>| {
        let each: Vec<Vec<Posture>> = (0..units.len()).map(of).collect();
        let most = each.iter().map(Vec::len).max().unwrap_or(0);
        (0..most)
            .flat_map(|round| {
                each.iter()
                    .enumerate()
                    .filter_map(move |(unit, all)| Some((unit, all.get(round)?.clone())))
                    .collect::<Vec<_>>()
            })
            .collect::<Vec<_>>()
    };
    // Segments of a series have the same ranges, so their ends are in the same order.
    let ends = |unit: usize| {
        let each: Vec<Vec<Angles>> = units[unit].iter().map(|joint| joints[*joint].ends()).collect();
        let count = each.iter().map(Vec::len).min().unwrap_or(0);
        let end = |at: usize| {
            units[unit].iter().zip(&each).map(|(joint, ends)| Turned { joint: *joint, angles: ends[at] }).collect()
        };
        (0..count).map(end).collect::<Vec<Posture>>()
    };
    let scaled = |posture: Posture, share: f64| {
        posture.into_iter().map(|t| Turned { angles: t.angles.map(|a| a * share), ..t }).collect::<Posture>()
    };
    // Neighbouring joints begin with different ends, so that the two sides of a body do not show the same.
    let turned = |unit: usize, share: f64| {
        let mut ends = ends(unit);
        if layout == Layout::Together && !ends.is_empty() {
            let by = unit % ends.len();
            ends.rotate_left(by);
        }
        ends.into_iter().map(|end| scaled(end, share)).collect::<Vec<_>>()
    };
    let paired = |unit: usize| {
        let Some(above) = unit_above(rig.skeleton(), joints, &units, unit) else { return Vec::new() };
        let (own, other) = (ends(unit), ends(above));
        let mut pairs = Vec::new();
        for i in 0..2 {
            for j in 0..2 {
                if let (Some(a), Some(b)) = (own.get((i + j) % 2), other.get(j)) {
                    pairs.push([b.clone(), a.clone()].concat());
                }
            }
        }
        pairs
    };
    let mut plan = Plan { postures: Vec::new(), left_out: 0 };
    let (extremes, left_out) = packed(rounds(&|unit| turned(unit, 1.0)), &near, layout, poses);
    plan.left_out = left_out;
    plan.postures.extend(extremes.into_iter().map(|posture| (Kind::Extreme, posture)));
    let left = poses - plan.postures.len();
    let share = |part: f64| (part * left as f64).round() as usize;
    let (between, _) = packed(rounds(&|unit| turned(unit, 0.5)), &near, layout, share(BETWEEN));
    plan.postures.extend(between.into_iter().map(|posture| (Kind::Between, posture)));
    let above = |unit: usize| unit_above(rig.skeleton(), joints, &units, unit);
    // A pair keeps off what is near to either of its units.
    let both: Vec<Vec<bool>> = (0..units.len())
        .map(|a| {
            (0..units.len())
                .map(|b| {
                    let (one, other) = ([Some(a), above(a)], [Some(b), above(b)]);
                    one.iter().flatten().any(|a| other.iter().flatten().any(|b| near[*a][*b]))
                })
                .collect()
        })
        .collect();
    let (pairs, _) = packed(rounds(&paired), &both, layout, share(PAIRS));
    plan.postures.extend(pairs.into_iter().map(|posture| (Kind::Pair, posture)));
    plan
}

/// The units of an exercise, in the order of their first joints.
fn units(joints: &[Joint], series: &[Vec<BoneIndex>]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut of: Vec<Option<usize>> = vec![None; series.len()];
    for (at, joint) in joints.iter().enumerate() {
        match series.iter().position(|bones| bones.contains(&joint.bone)) {
            Some(which) => match of[which] {
                Some(unit) => units[unit].push(at),
                None => {
                    of[which] = Some(units.len());
                    units.push(vec![at]);
                }
            },
            None => units.push(vec![at]),
        }
    }
    units
}

/// Puts events into at most `most` poses, each into the first that moves nothing near; how many found no place.
fn packed(events: Vec<(usize, Posture)>, near: &[Vec<bool>], layout: Layout, most: usize) -> (Vec<Posture>, usize) {
    let mut poses: Vec<(Vec<usize>, Posture)> = Vec::new();
    let mut left_out = 0;
    for (unit, event) in events {
        let fits = |there: &[usize]| layout == Layout::Together && there.iter().all(|other| !near[*other][unit]);
        if let Some((there, pose)) = poses.iter_mut().find(|(there, _)| fits(there)) {
            there.push(unit);
            pose.extend(event);
        } else if poses.len() < most {
            poses.push((vec![unit], event));
        } else {
            left_out += 1;
        }
    }
    (poses.into_iter().map(|(_, pose)| pose).collect(), left_out)
}

/// The nearest unit above another.
fn unit_above(skeleton: &Skeleton, joints: &[Joint], units: &[Unit], unit: usize) -> Option<usize> {
    std::iter::successors(skeleton.parents()[joints[units[unit][0]].bone], |bone| skeleton.parents()[*bone])
        .find_map(|bone| units.iter().position(|other| other.iter().any(|joint| joints[*joint].bone == bone)))
}

/// Which units must not move in one pose if their skins are to be told apart: those that carry each other next, and those that share skin.
fn neighbours(rig: &Rig, joints: &[Joint], units: &[Unit]) -> Vec<Vec<bool>> {
    /// Units are neighbours if they share this part of the smaller one's skin, by the smaller of two weights. Two collar bones share
    /// 1 % of theirs, a collar bone and its upper arm 20 %.
    const SHARED: f64 = 0.03;
    let mut of: Vec<Option<usize>> = vec![None; rig.skeleton().len()];
    for (unit, members) in units.iter().enumerate() {
        members.iter().for_each(|joint| of[joints[*joint].bone.get()] = Some(unit));
    }
    let mut shared = vec![vec![0.0; units.len()]; units.len()];
    for row in rig.weights().into_iter().flat_map(|weights| weights.rows()) {
        let mut here: Vec<(usize, f64)> = Vec::new();
        for (unit, weight) in row.iter().filter_map(|(bone, weight)| Some((of[bone.get()]?, *weight))) {
            match here.iter_mut().find(|(known, _)| *known == unit) {
                Some((_, sum)) => *sum += weight,
                None => here.push((unit, weight)),
            }
        }
        for &(a, one) in &here {
            here.iter().for_each(|&(b, other)| shared[a][b] += one.min(other));
        }
    }
    let mut near = vec![vec![false; units.len()]; units.len()];
    for a in 0..units.len() {
        for b in 0..units.len() {
            near[a][b] = a == b || shared[a][b] > SHARED * shared[a][a].min(shared[b][b]);
        }
        if let Some(above) = unit_above(rig.skeleton(), joints, units, a) {
            near[a][above] = true;
            near[above][a] = true;
        }
    }
    near
}
