//! Feet and hands are kept on what they touch.
//!
//! While a limb of the source stands, the same limb of the target moves as the source's does, times s: where its partner is still, it is still. The
//! place that it stands in is the one nearest to where the transfer alone puts it, in the mean over the stance; its height is the partner's, times s.
//! The limb's joints turn for it ([`crate::ik`]), the foot keeps its rotation. Before and after a stance the change fades over [`FADE`] seconds.
//! Where a leg is too short for its foothold, the hips come down. No limb goes below the lowest place that its partner comes to, times s: a swing over a bent
//! knee of other proportions does not dip into the ground.

use super::body::Body;
use super::contacts::{Stance, Stances, find};
use super::transfer::{SourcePose, Transfer};
use super::{Contact, Contacts, RetargetError};
use crate::body::{Limb, Part, Side};
use crate::ik::{Goal, Solver, Target};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{BoneIndex, WorldPose};

/// Seconds over which a foot finds its place: about half of a step's swing.
const FADE: f64 = 0.15;
/// The part of a leg's length that it may be stretched to.
const STRETCHED: f64 = 0.9995;

/// A limb of the target that may stand, with its partner.
struct Stander {
    /// The bone whose joint turns first.
    root: usize,
    /// The bone that is brought to its place and keeps its rotation: the foot.
    foot: usize,
    /// The bone that touches: toe, foot or hand.
    end: usize,
    source_end: usize,
    is_foot: bool,
}

/// What keeping contacts did.
pub(super) struct Planted {
    pub contacts: Vec<Contact>,
    /// Velocity of the ground in the target's world, metres per second; `None` if it is unsteady.
    pub ground: Option<DVec3>,
    /// The most that the hips came down, metres.
    pub lowered: f64,
    /// Whether there are feet, and none of them ever stands.
    pub feet_never_stand: bool,
}

/// Moves the bone transforms in `frames` so that limbs stand where the source's do.
pub(super) fn plant(
    transfer: &Transfer<'_>,
    poses: &[SourcePose],
    times: &[f64],
    keep: Contacts,
    frames: &mut [Vec<DAffine3>],
) -> Result<Planted, RetargetError> {
    let target = transfer.target;
    let standers = standers(transfer);
    let ends: Vec<usize> = standers.iter().map(|stander| stander.source_end).collect();
    let is_foot: Vec<bool> = standers.iter().map(|stander| stander.is_foot).collect();
    let leg = leg_length(transfer, &standers);
    let Stances { list, ground } = find(poses, times, &ends, &is_foot, leg);
    let ground = ground.map(|ground| transfer.scale * (transfer.turn * ground));
    let still = ground.filter(|_| keep == Contacts::Still);
    let wanted: Vec<Vec<DVec3>> = (list.iter())
        .map(|stance| wanted(transfer, &standers[stance.limb], stance, (still, times), poses, frames))
        .collect();
    let offsets: Vec<Vec<DVec3>> = (standers.iter().enumerate())
        .map(|(limb, stander)| {
            let mut offsets = offsets(limb, stander, &list, &wanted, times, frames, target);
            if list.iter().any(|stance| stance.limb == limb) {
                above_floor(transfer, stander, poses, frames, &mut offsets);
            }
            offsets
        })
        .collect();
    let drops = drops(&standers, &offsets, times, frames, target);
    let lowered = drops.iter().fold(0.0, |most: f64, drop| most.max(*drop));
    let hips = hips(transfer);
    let solver = Solver::new(&target.skeleton);
    for (frame, bones) in frames.iter_mut().enumerate() {
        let is_moved = |limb: usize| {
            offsets[limb][frame].length() > 1e-9 * target.size || (drops[frame] > 0.0 && standers[limb].is_foot)
        };
        let moved: Vec<usize> = (0..standers.len()).filter(|limb| is_moved(*limb)).collect();
        if moved.is_empty() {
            continue;
        }
        let goals: Vec<Goal> = moved
            .iter()
            .map(|&limb| {
                let Stander { root, foot, .. } = standers[limb];
                let place = head(target, bones, foot) + offsets[limb][frame];
                let turn = DQuat::from_mat3(&(bones[foot].matrix3 * unscaled(target, foot)));
                Goal::new(BoneIndex::new(root), BoneIndex::new(foot), Target::Frame(place, turn))
            })
            .collect();
        if drops[frame] > 0.0 {
            for bone in 0..target.len() {
                if hips.is_none_or(|hips| target.is_above(hips, bone)) {
                    bones[bone].translation.y -= drops[frame];
                }
            }
        }
        let world = WorldPose::new(
            target.skeleton.bones().map(|bone| bones[bone.get()] * target.skeleton.bind()[bone]).collect(),
        );
        let local = target.skeleton.local_transforms(&world).ok_or(RetargetError::Singular { frame })?;
        let solved = solver.solve(&local, &goals)?;
        let found = target.skeleton.bone_transforms(&solved.world());
        bones.iter_mut().zip(found.iter()).for_each(|(bone, found)| *bone = *found);
    }
    let contacts = list
        .iter()
        .zip(&wanted)
        .map(|(stance, wanted)| {
            measured(stance, &standers[stance.limb], wanted, (ground, times), (transfer, poses), frames)
        })
        .collect();
    let feet_never_stand = is_foot.contains(&true) && !list.iter().any(|stance| is_foot[stance.limb]);
    Ok(Planted { contacts, ground, lowered, feet_never_stand })
}

/// The limbs whose end is paired, and a bone above it. Without names, every branch that ends near the ground at rest.
fn standers(transfer: &Transfer<'_>) -> Vec<Stander> {
    let (target, partners) = (transfer.target, transfer.partners);
    let mut found = Vec::new();
    for (limb, is_foot) in [(Limb::Leg, true), (Limb::Arm, false)] {
        for side in [Side::Left, Side::Right, Side::Middle] {
            let part = |bone: usize| target.roles[bone].map(|role| role.part);
            let chain: Vec<usize> = target
                .limb(limb, side)
                .into_iter()
                .filter(|bone| partners[*bone].is_some() && !matches!(part(*bone), Some(Part::Clavicle | Part::Haunch)))
                .collect();
            let (Some(&root), Some(&end)) = (chain.first(), chain.last()) else { continue };
            // A toe stands, and the foot above it is brought there, if the leg has thigh, shin and foot besides.
            let foot = if part(end) == Some(Part::Toes) && chain.len() > 2 { chain[chain.len() - 2] } else { end };
            found.extend(stander(transfer, root, foot, end, is_foot));
        }
    }
    let has_names = target.roles.iter().zip(partners).any(|(role, partner)| role.is_some() && partner.is_some());
    if found.is_empty() && !has_names {
        let below = |bone: usize| target.children[bone].iter().any(|child| partners[*child].is_some());
        for end in (0..target.len()).filter(|bone| partners[*bone].is_some() && !below(*bone)) {
            if target.heads[end].y > target.lowest() + 0.12 * target.size {
                continue;
            }
            let mut root = end;
            while let Some(parent) =
                target.parents[root].filter(|parent| target.children[*parent].len() == 1 && partners[*parent].is_some())
            {
                root = parent;
            }
            found.extend(stander(transfer, root, end, end, true));
        }
    }
    found
}

fn stander(transfer: &Transfer<'_>, root: usize, foot: usize, end: usize, is_foot: bool) -> Option<Stander> {
    let partner = transfer.partners[end]?;
    // The nearer of two neighbours stands for what lies between them.
    let source_end = if partner.part < 0.5 { partner.bone } else { partner.next };
    let goes_down = root != foot && transfer.target.is_above(root, foot);
    goes_down.then_some(Stander { root, foot, end, source_end, is_foot })
}

/// L: the mean length of the source's feet below their hips; without feet a quarter of the source's size.
fn leg_length(transfer: &Transfer<'_>, standers: &[Stander]) -> f64 {
    let feet: Vec<f64> = standers
        .iter()
        .filter(|stander| stander.is_foot)
        .map(|stander| chain_length(transfer.target, stander.root, stander.foot) / transfer.scale)
        .collect();
    match feet.is_empty() {
        true => 0.25 * transfer.source.size,
        false => feet.iter().sum::<f64>() / feet.len() as f64,
    }
}

fn chain_length(body: &Body, root: usize, end: usize) -> f64 {
    let (mut length, mut at) = (0.0, end);
    while let Some(parent) = body.parents[at].filter(|_| at != root) {
        length += body.heads[at].distance(body.heads[parent]);
        at = parent;
    }
    length
}

fn hips(transfer: &Transfer<'_>) -> Option<usize> {
    transfer.target.find(Part::Hips, Side::Middle)
}

fn head(target: &Body, bones: &[DAffine3], bone: usize) -> DVec3 {
    bones[bone].transform_point3(target.heads[bone])
}

/// The rotation of a bone's own axes at rest: what a solver calls its rotation is that of the joint-to-world matrix.
fn unscaled(target: &Body, bone: usize) -> dermis_rig::glam::DMat3 {
    let m = target.skeleton.bind()[BoneIndex::new(bone)].matrix3;
    dermis_rig::rotation::nearest_rotation(&m)
}

/// Where the end of a limb shall be in every frame of a stance: the partner's path times s, as near to the transferred one as a shift makes it; heights
/// are not shifted. On a `still` ground, which moves at that velocity, the mean of the path over the stance takes the place of the path.
fn wanted(
    transfer: &Transfer<'_>,
    stander: &Stander,
    stance: &Stance,
    (still, times): (Option<DVec3>, &[f64]),
    poses: &[SourcePose],
    frames: &[Vec<DAffine3>],
) -> Vec<DVec3> {
    let range = stance.from..=stance.to;
    let mut path: Vec<DVec3> = range
        .clone()
        .map(|frame| transfer.placed(stander.end, poses[frame].heads[stander.source_end], stander.source_end))
        .collect();
    if let Some(ground) = still {
        let gone = |frame: usize| ground * (times[frame] - times[stance.from]);
        let sum: DVec3 = range.clone().zip(&path).map(|(frame, place)| *place - gone(frame)).sum();
        let mean = sum / path.len() as f64;
        for (frame, place) in range.clone().zip(&mut path) {
            let stands = mean + gone(frame);
            *place = DVec3::new(stands.x, place.y, stands.z);
        }
    }
    let mean = (range.zip(&path))
        .map(|(frame, wanted)| head(transfer.target, &frames[frame], stander.end) - *wanted)
        .fold(DVec3::ZERO, |sum, apart| sum + apart)
        / path.len() as f64;
    path.into_iter().map(|place| place + DVec3::new(mean.x, 0.0, mean.z)).collect()
}

/// What the limb is moved by in every frame: in a stance what it takes, outside a share of the nearest stances' that fades.
fn offsets(
    limb: usize,
    stander: &Stander,
    list: &[Stance],
    wanted: &[Vec<DVec3>],
    times: &[f64],
    frames: &[Vec<DAffine3>],
    target: &Body,
) -> Vec<DVec3> {
    let mut offsets = vec![DVec3::ZERO; frames.len()];
    let own: Vec<(&Stance, &Vec<DVec3>)> = list.iter().zip(wanted).filter(|(stance, _)| stance.limb == limb).collect();
    let apart = |frame: usize, wanted: DVec3| wanted - head(target, &frames[frame], stander.end);
    for (stance, wanted) in &own {
        for frame in stance.from..=stance.to {
            offsets[frame] = apart(frame, wanted[frame - stance.from]);
        }
    }
    // Between two stances both fade, the one out and the other in.
    let edges: Vec<(usize, usize, DVec3, DVec3)> = (own.iter())
        .map(|(stance, wanted)| {
            let first = apart(stance.from, wanted[0]);
            (stance.from, stance.to, first, apart(stance.to, wanted[wanted.len() - 1]))
        })
        .collect();
    for frame in 0..frames.len() {
        if edges.iter().any(|(from, to, ..)| (*from..=*to).contains(&frame)) {
            continue;
        }
        let before = edges
            .iter()
            .rev()
            .find(|(_, to, ..)| *to < frame)
            .map(|(_, to, _, last)| (times[frame] - times[*to], *last));
        let after = edges
            .iter()
            .find(|(from, ..)| *from > frame)
            .map(|(from, _, first, _)| (times[*from] - times[frame], *first));
        let near = |edge: Option<(f64, DVec3)>| edge.map_or((0.0, DVec3::ZERO), |(seconds, by)| (fade(seconds), by));
        let ((a, left), (b, right)) = (near(before), near(after));
        offsets[frame] = match a + b > 1.0 {
            true => (a * left + b * right) / (a + b),
            false => a * left + b * right,
        };
    }
    offsets
}

/// Lifts the end of a limb to the lowest place that its partner comes to, where it would be below.
fn above_floor(
    transfer: &Transfer<'_>,
    stander: &Stander,
    poses: &[SourcePose],
    frames: &[Vec<DAffine3>],
    offsets: &mut [DVec3],
) {
    let placed = |pose: &SourcePose| transfer.placed(stander.end, pose.heads[stander.source_end], stander.source_end).y;
    let floor = poses.iter().map(placed).fold(f64::INFINITY, f64::min);
    for (bones, offset) in frames.iter().zip(offsets) {
        offset.y = offset.y.max(floor - head(transfer.target, bones, stander.end).y);
    }
}

/// 1 at the edge of a stance, 0 from [`FADE`] on, smooth at both ends.
fn fade(seconds: f64) -> f64 {
    let t = (1.0 - seconds / FADE).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// How far the hips come down in every frame, so that legs reach: the least that does, over a window that fades.
fn drops(
    standers: &[Stander],
    offsets: &[Vec<DVec3>],
    times: &[f64],
    frames: &[Vec<DAffine3>],
    target: &Body,
) -> Vec<f64> {
    let need = |frame: usize| {
        let mut most = 0.0_f64;
        for (stander, offsets) in standers.iter().zip(offsets) {
            if offsets[frame] == DVec3::ZERO {
                continue;
            }
            let reach = STRETCHED * chain_length(target, stander.root, stander.foot);
            let (hip, foot) = (head(target, &frames[frame], stander.root), head(target, &frames[frame], stander.foot));
            // A pose that is stretched as it comes needs no more than its own length.
            let reach = reach.max(hip.distance(foot));
            let line = hip - foot - offsets[frame];
            let across = line.x.hypot(line.z);
            if line.length() > reach && across < reach {
                most = most.max(line.y - (reach * reach - across * across).sqrt());
            }
        }
        most
    };
    let needs: Vec<f64> = (0..frames.len()).map(need).collect();
    let mut drops = needs.clone();
    for (frame, &need) in needs.iter().enumerate().filter(|(_, need)| **need > 0.0) {
        let near = |other: usize| fade((times[other] - times[frame]).abs() * 0.5);
        for other in (0..frame).rev().take_while(|other| near(*other) > 0.0) {
            drops[other] = drops[other].max(need * near(other));
        }
        for other in (frame + 1..frames.len()).take_while(|other| near(*other) > 0.0) {
            drops[other] = drops[other].max(need * near(other));
        }
    }
    drops
}

/// How still a limb stands, against the ground, or against the source's path where the ground is unsteady, and how far from its place.
fn measured(
    stance: &Stance,
    stander: &Stander,
    wanted: &[DVec3],
    (ground, times): (Option<DVec3>, &[f64]),
    (transfer, poses): (&Transfer<'_>, &[SourcePose]),
    frames: &[Vec<DAffine3>],
) -> Contact {
    let range = stance.from..=stance.to;
    let path = |frame: usize| transfer.placed(stander.end, poses[frame].heads[stander.source_end], stander.source_end);
    let still = |place: DVec3, frame: usize| match ground {
        Some(ground) => place - ground * (times[frame] - times[stance.from]),
        None => place - path(frame),
    };
    let slide = |places: Vec<DVec3>| {
        let mean = places.iter().fold(DVec3::ZERO, |sum, place| sum + *place) / places.len() as f64;
        places.iter().map(|place| (*place - mean).length()).fold(0.0, f64::max)
    };
    let own: Vec<DVec3> = range.clone().map(|frame| head(transfer.target, &frames[frame], stander.end)).collect();
    let off = own.iter().zip(wanted).map(|(place, wanted)| place.distance(*wanted)).fold(0.0, f64::max);
    let theirs = range.clone().map(|frame| still(path(frame), frame));
    Contact {
        bone: transfer.target.name(stander.end).to_owned(),
        source_bone: transfer.source.name(stander.source_end).to_owned(),
        from: stance.from,
        to: stance.to,
        slide: slide(range.zip(&own).map(|(frame, place)| still(*place, frame)).collect()),
        source_slide: slide(theirs.collect()),
        off,
    }
}
