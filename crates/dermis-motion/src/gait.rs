//! A walk on four legs, from nothing but a skeleton: a motion to be retargeted where no animal was captured.
//!
//! Each foot stands for [`STANCE`] of a stride, still on the ground, and swings for the rest. Feet follow each other as those of a walking cat, dog or
//! horse do: left hind, left front, right hind, right front, a quarter of the stride apart (Hildebrand 1965, "Symmetrical gaits of
//! horses": a walk in lateral sequence, feet down for 0.6 to 0.75 of the stride). The hips move at constant speed, swing up and down twice a stride, and legs follow by
//! inverse kinematics within the limits of anatomy. Every frame is solved from the rest pose, so that the walk closes: the frame a stride later is the
//! same pose, moved.
//!
//! Lengths go by L, how far the foot of the shortest leg stands below the head of its first bone: every leg then reaches as far as it shall.

use crate::anatomy::{Anatomy, Part, Side, Stance};
use crate::ik::{Goal, IkError, Solver, Target};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{BoneIndex, BoneVec, Frame, Motion, Skeleton};
use std::f64::consts::TAU;

/// The part of a stride for which a foot stands.
pub const STANCE: f64 = 0.68;
/// Seconds of a stride.
pub const STRIDE: f64 = 1.0;
/// How far a foot that stands falls behind the body, in L: legs then swing by 12° to both sides.
const REACH: f64 = 0.44;
/// How high a foot is lifted, in L.
const LIFT: f64 = 0.12;
/// How far the body is lower than at rest, so that slanting legs reach, in L.
const LOWER: f64 = 0.035;
/// How far the body goes up and down, in L.
const BOB: f64 = 0.008;
/// How far the tip of a foot points down in mid-swing, radians.
const TIP: f64 = 0.6;
/// How far elbows and knees are bent before legs are solved, radians: a straight leg that shall become shorter has no gradient to say which way it bends.
const BENT: f64 = 0.3;
/// How far the back turns from side to side, and the neck nods, radians.
const SWAY: f64 = 0.05;

/// Why there is no walk.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GaitError {
    /// The skeleton has no four legs.
    #[error(
        "a walk on four legs needs thighs and upper arms on both sides with feet and hands below them, and a level back"
    )]
    NoLegs,
    /// A number of frames that makes no walk.
    #[error("a stride has {least} to {most} frames, not {frames}")]
    Frames {
        /// How many were asked for.
        frames: usize,
        /// The fewest.
        least: usize,
        /// The most.
        most: usize,
    },
    /// Inverse kinematics refuses the skeleton.
    #[error(transparent)]
    Ik(#[from] IkError),
}

/// A leg: its first bone, the bone that is put down, and when that is, in parts of a stride.
struct Leg {
    top: BoneIndex,
    foot: BoneIndex,
    down: f64,
}

/// A walk of `strides` strides straight ahead, `frames` frames each, of a skeleton on four legs. The frame after the last would be the first, strides
/// further on.
///
/// # Errors
/// [`GaitError`].
pub fn walk(skeleton: &Skeleton, anatomy: &Anatomy, strides: usize, frames: usize) -> Result<Motion, GaitError> {
    const FRAMES: [usize; 2] = [8, 240];
    if !(FRAMES[0]..=FRAMES[1]).contains(&frames) {
        return Err(GaitError::Frames { frames, least: FRAMES[0], most: FRAMES[1] });
    }
    let legs = legs(skeleton, anatomy)?;
    let head = |bone: BoneIndex| skeleton.bind()[bone].translation;
    let Some([left, up, forward]) = directions(anatomy) else { return Err(GaitError::NoLegs) };
    let length = legs.iter().map(|leg| (head(leg.top) - head(leg.foot)).dot(up)).fold(f64::INFINITY, f64::min);
    if length.is_nan() || length <= 0.0 {
        return Err(GaitError::NoLegs);
    }
    let solver = Solver::new(skeleton).with_limits(anatomy.limits.clone())?;
    let rest = solver.rest();
    let stride = REACH * length / STANCE;
    let mut made = Vec::with_capacity(strides * frames);
    for at in 0..strides * frames {
        let phase = at as f64 / frames as f64;
        let along = forward * (stride * phase);
        let lift = up * (length * (BOB * (2.0 * TAU * phase).sin() - LOWER));
        let posture = swayed(skeleton, anatomy, &rest, along + lift, phase);
        let start = bent(skeleton, anatomy, &posture);
        let goals: Vec<Goal> = legs
            .iter()
            .flat_map(|leg| {
                let (ahead, height, tip) = foot(phase - leg.down);
                let begun = stride * ((phase - leg.down).floor() + leg.down);
                let place = head(leg.foot) + forward * (begun + ahead * length) + up * (height * length);
                // A turn about the left takes forward down.
                let turn = DQuat::from_axis_angle(left, tip);
                let own = DQuat::from_mat3(&skeleton.bind()[leg.foot].matrix3).normalize();
                // Where a foot stands comes first, how it is turned after that.
                let turned = Goal::new(leg.top, leg.foot, Target::Rotation(turn * own)).after(1);
                [Goal::point(leg.top, leg.foot, place), turned]
            })
            .collect();
        let solved = solver.solve_near(&start, Some(&posture), &goals)?;
        made.push(Frame { label: format!("walk {at}"), time: Some(STRIDE * phase), pose: solved.world() });
    }
    Ok(Motion { name: "walk".into(), frames: made })
}

/// Where a foot is at a time since it was put down, in strides: how far it is ahead of where it is at rest below the body as that was when the
/// foot was put down, and its height over that place, in L; and how far its tip points down, radians.
fn foot(since: f64) -> (f64, f64, f64) {
    let stride = REACH / STANCE;
    let part = since - since.floor();
    if part < STANCE {
        return (0.5 * REACH, 0.0, 0.0);
    }
    let swing = (part - STANCE) / (1.0 - STANCE);
    let eased = swing * swing * (3.0 - 2.0 * swing);
    let arch = (std::f64::consts::PI * swing).sin();
    (0.5 * REACH + stride * eased, LIFT * arch * arch, TIP * arch * arch * (1.0 - swing))
}

/// The rest pose, moved, with a back that sways, a neck that nods and a tail that swings.
fn swayed(
    skeleton: &Skeleton,
    anatomy: &Anatomy,
    rest: &BoneVec<DAffine3>,
    moved: DVec3,
    phase: f64,
) -> BoneVec<DAffine3> {
    let Some([left, up, _]) = directions(anatomy) else { return rest.clone() };
    let count =
        |part: Part| anatomy.roles.iter().filter(|role| role.is_some_and(|r| r.part == part)).count().max(1) as f64;
    let mut local = rest.clone();
    for bone in skeleton.bones() {
        // Axes of the world, as the bone's own at rest.
        let own = skeleton.bind()[bone].matrix3.inverse();
        let about = |axis: DVec3, angle: f64| match (own * axis).try_normalize() {
            Some(axis) => DAffine3::from_quat(DQuat::from_axis_angle(axis, angle)),
            None => DAffine3::IDENTITY,
        };
        let swing = (TAU * phase).sin();
        let turned = match anatomy.roles[bone].map(|role| role.part) {
            Some(Part::Spine) => about(up, SWAY * swing / count(Part::Spine)),
            Some(Part::Neck) => about(left, SWAY * (2.0 * TAU * phase).cos() / count(Part::Neck)),
            Some(Part::Tail) => about(up, 3.0 * SWAY * (TAU * phase + 1.0).sin() / count(Part::Tail)),
            _ => DAffine3::IDENTITY,
        };
        local[bone] = rest[bone] * turned;
        if skeleton.parents()[bone].is_none() {
            local[bone].translation += moved;
        }
    }
    local
}

/// A posture with elbows and knees bent the way they go: the forearm forward, the shin back.
fn bent(skeleton: &Skeleton, anatomy: &Anatomy, posture: &BoneVec<DAffine3>) -> BoneVec<DAffine3> {
    let Some([left, ..]) = directions(anatomy) else { return posture.clone() };
    let mut bent = posture.clone();
    for bone in skeleton.bones() {
        let angle = match anatomy.roles[bone].map(|role| role.part) {
            Some(Part::Forearm) => -BENT,
            Some(Part::Shin) => BENT,
            _ => continue,
        };
        if let Some(axis) = (skeleton.bind()[bone].matrix3.inverse() * left).try_normalize() {
            bent[bone] = posture[bone] * DAffine3::from_quat(DQuat::from_axis_angle(axis, angle));
        }
    }
    bent
}

/// Left, up and forward over level ground: the legs of an animal slant, so that up is that of the world.
fn directions(anatomy: &Anatomy) -> Option<[DVec3; 3]> {
    let left = (anatomy.frame.left - DVec3::Y * anatomy.frame.left.y).try_normalize()?;
    Some([left, DVec3::Y, left.cross(DVec3::Y)])
}

/// The four legs, the left hind one first.
fn legs(skeleton: &Skeleton, anatomy: &Anatomy) -> Result<Vec<Leg>, GaitError> {
    if anatomy.frame.stance != Stance::Level {
        return Err(GaitError::NoLegs);
    }
    let is = |bone: BoneIndex, part: Part, side: Side| {
        anatomy.roles[bone].is_some_and(|role| role.part == part && role.side == side)
    };
    let leg = |top: Part, ends: &[Part], side: Side, down: f64| {
        let top = skeleton.bones().find(|bone| is(*bone, top, side))?;
        let above = |bone| std::iter::successors(skeleton.parents()[bone], |b| skeleton.parents()[*b]);
        let below = |part: Part| skeleton.bones().find(|bone| is(*bone, part, side) && above(*bone).any(|b| b == top));
        let foot = ends.iter().find_map(|part| below(*part))?;
        Some(Leg { top, foot, down })
    };
    // An animal stands on its toes.
    let (hind, front) = ([Part::Toes, Part::Foot], [Part::Hand]);
    [
        leg(Part::Thigh, &hind, Side::Left, 0.0),
        leg(Part::UpperArm, &front, Side::Left, 0.25),
        leg(Part::Thigh, &hind, Side::Right, 0.5),
        leg(Part::UpperArm, &front, Side::Right, 0.75),
    ]
    .into_iter()
    .collect::<Option<Vec<Leg>>>()
    .ok_or(GaitError::NoLegs)
}
