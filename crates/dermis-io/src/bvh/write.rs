//! Writing: a skeleton and its poses at a constant rate.

use super::{END, FRAME_SECONDS, MOST};
use crate::{Format, WriteError};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::rotation::nearest_rotation;
use dermis_rig::{BoneIndex, BoneVec, Skeleton, WorldPose, make_unique};
use std::fmt::Write as _;
use std::io::Write;

/// What is written.
#[derive(Clone, Copy, Debug)]
pub struct BvhMotion<'a> {
    /// The skeleton at rest.
    pub skeleton: &'a Skeleton,
    /// Joint-to-world matrices per frame, bones in the order of the skeleton.
    pub poses: &'a [WorldPose],
    /// Seconds from frame to frame.
    pub frame_seconds: f64,
    /// Metres per unit of the file. Y is up.
    pub metres_per_unit: f64,
}

/// Writes a BVH file: Y up, rotations as Z, X, Y.
///
/// BVH has no rotation at rest, so what is written of bone k is how it turned since the bind pose, R_k = rot(T_k B_k⁻¹), seen from
/// its parent: R_parent⁻¹ R_k. Roots have six channels. Another bone has six if it moves against its parent by more than 10⁻⁷ of
/// the skeleton's size, else three. A bone "NAME_end" that is the only one below NAME, has none below it and never moves against
/// it is written as an end site. Angles are continued from frame to frame: each is the one of its equivalents nearest to the
/// frame before. Scale is not written.
///
/// # Errors
/// [`WriteError`] for poses of another number of bones, numbers that are not finite, a unit that is none, and what no reader takes: a step
/// outside [`FRAME_SECONDS`], bones 1e15 units apart.
pub fn write(motion: &BvhMotion<'_>, out: &mut dyn Write) -> Result<(), WriteError> {
    let BvhMotion { skeleton, poses, frame_seconds, metres_per_unit } = *motion;
    if poses.is_empty() {
        return Err(WriteError::Nothing { format: Format::Bvh, needs: "a skeleton and at least one pose" });
    }
    if !(metres_per_unit.is_finite() && metres_per_unit > 0.0) {
        return Err(WriteError::CannotHold { format: Format::Bvh, what: format!("a unit of {metres_per_unit}") });
    }
    if !FRAME_SECONDS.contains(&frame_seconds) {
        let (least, most) = (FRAME_SECONDS.start(), FRAME_SECONDS.end());
        let what = format!("a frame time of {frame_seconds:e} s: it must lie between {least:e} and {most:e}");
        return Err(WriteError::CannotHold { format: Format::Bvh, what });
    }
    for (at, pose) in poses.iter().enumerate() {
        if pose.bones.len() != skeleton.len() {
            return Err(WriteError::Count {
                what: format!("the pose of frame {at}"),
                things: "bones",
                found: pose.bones.len(),
                expected: skeleton.len(),
            });
        }
        if let Some(bone) = skeleton.bones().find(|bone| !pose.bones[*bone].is_finite()) {
            return Err(WriteError::NotFinite { what: format!("bone \"{}\" in frame {at}", skeleton.names()[bone]) });
        }
    }
    let heads: Vec<DVec3> = skeleton.bind().iter().map(|bind| bind.translation).collect();
    let size = heads.iter().fold(0.0, |size: f64, head| size.max(head.distance(heads[0])));
    let far = |place: DVec3| (place / metres_per_unit).abs().max_element() > MOST;
    let beyond = |what: String| WriteError::CannotHold {
        format: Format::Bvh,
        what: format!("{what}, more than {MOST:e} units from what it hangs on"),
    };
    if let Some(at) = heads.iter().position(|head| far(*head)) {
        return Err(beyond(format!("bone \"{}\" at rest", skeleton.names()[BoneIndex::new(at)])));
    }
    let locals: Vec<BoneVec<Local>> = poses.iter().map(|pose| locals(skeleton, pose)).collect();
    let mut joints: Vec<Written> = (heads.iter().enumerate())
        .map(|(at, &head)| {
            let bone = BoneIndex::new(at);
            let parent = skeleton.parents()[bone];
            let offset = head - parent.map_or(DVec3::ZERO, |parent| heads[parent.get()]);
            let moves = parent.is_none() || locals.iter().any(|l| l[bone].place.distance(offset) > 1e-7 * size);
            let turns = locals.iter().any(|l| !l[bone].turn.abs_diff_eq(DMat3::IDENTITY, 1e-9));
            Written { offset, moves, children: Vec::new(), is_still: !moves && !turns, is_end: false }
        })
        .collect();
    for bone in skeleton.bones() {
        if let Some(parent) = skeleton.parents()[bone] {
            joints[parent.get()].children.push(bone.get());
        }
    }
    for bone in skeleton.bones() {
        let is_named = |parent: BoneIndex| *skeleton.names()[bone] == format!("{}{END}", skeleton.names()[parent]);
        let is_only = |parent: BoneIndex| joints[parent.get()].children.len() == 1;
        let joint = &joints[bone.get()];
        let is_leaf = joint.children.is_empty() && joint.is_still && joint.offset != DVec3::ZERO;
        joints[bone.get()].is_end = is_leaf && skeleton.parents()[bone].is_some_and(|p| is_named(p) && is_only(p));
    }
    let mut names: Vec<String> = skeleton.names().iter().map(|name| plain(name)).collect();
    make_unique(&mut names, "_");
    let mut order = Vec::with_capacity(joints.len());
    let mut text = String::from("HIERARCHY\n");
    for root in skeleton.bones().filter(|bone| skeleton.parents()[*bone].is_none()) {
        hierarchy(&names, &joints, root.get(), 1.0 / metres_per_unit, &mut order, &mut text);
    }
    let _ = writeln!(text, "MOTION\nFrames: {}\nFrame Time: {frame_seconds}", poses.len());
    out.write_all(text.as_bytes())?;
    let mut before = vec![DVec3::ZERO; joints.len()];
    for (frame, local) in locals.iter().enumerate() {
        text.clear();
        for &at in &order {
            let Local { place, turn } = &local[BoneIndex::new(at)];
            if joints[at].moves && far(*place) {
                return Err(beyond(format!("bone \"{}\" in frame {frame}", skeleton.names()[BoneIndex::new(at)])));
            }
            if joints[at].moves {
                let place = *place / metres_per_unit;
                let _ = write!(text, "{} {} {} ", number(place.x), number(place.y), number(place.z));
            }
            let zxy = angles(turn, before[at]);
            before[at] = zxy;
            let degrees = zxy.to_array().map(|angle| number(angle.to_degrees()));
            let _ = write!(text, "{} {} {} ", degrees[0], degrees[1], degrees[2]);
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// A joint of the file.
struct Written {
    /// Metres.
    offset: DVec3,
    /// Whether it has channels of position.
    moves: bool,
    children: Vec<usize>,
    /// Whether it never leaves its place and rotation relative to its parent.
    is_still: bool,
    is_end: bool,
}

/// A bone relative to its parent: metres, and how it turned since the bind pose.
struct Local {
    place: DVec3,
    turn: DMat3,
}

fn locals(skeleton: &Skeleton, pose: &WorldPose) -> BoneVec<Local> {
    let turns: Vec<DMat3> = skeleton
        .bones()
        .map(|bone| nearest_rotation(&(pose.bones[bone] * skeleton.inverse_bind()[bone]).matrix3))
        .collect();
    let local = |bone: BoneIndex| {
        let (place, turn) = (pose.bones[bone].translation, turns[bone.get()]);
        match skeleton.parents()[bone] {
            Some(parent) => {
                let back = turns[parent.get()].transpose();
                Local { place: back * (place - pose.bones[parent].translation), turn: back * turn }
            }
            None => Local { place, turn },
        }
    };
    BoneVec::new(skeleton.bones().map(local).collect())
}

/// Writes a joint and all below it, and collects the order of the joints that have channels. On a stack of its own: a skeleton may
/// be as deep as it likes. Beyond forty levels lines are not indented further, or a deep skeleton's file would be its square.
fn hierarchy(names: &[String], joints: &[Written], root: usize, scale: f64, order: &mut Vec<usize>, text: &mut String) {
    enum Step {
        Open(usize, usize),
        Close(usize),
    }
    let tabs = |depth: usize| "\t".repeat(depth.min(40));
    let mut steps = vec![Step::Open(root, 0)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Close(depth) => {
                let _ = writeln!(text, "{}}}", tabs(depth));
            }
            Step::Open(at, depth) => {
                let joint = &joints[at];
                let (outer, inner) = (tabs(depth), tabs(depth + 1));
                let kind = if at == root { "ROOT" } else { "JOINT" };
                let title = match joint.is_end {
                    true => "End Site".to_owned(),
                    false => format!("{kind} {}", names[at]),
                };
                let offset = joint.offset * scale;
                let [x, y, z] = offset.to_array().map(number);
                let _ = writeln!(text, "{outer}{title}\n{outer}{{\n{inner}OFFSET {x} {y} {z}");
                steps.push(Step::Close(depth));
                if joint.is_end {
                    continue;
                }
                order.push(at);
                let channels = match joint.moves {
                    true => "6 Xposition Yposition Zposition Zrotation Xrotation Yrotation",
                    false => "3 Zrotation Xrotation Yrotation",
                };
                let _ = writeln!(text, "{inner}CHANNELS {channels}");
                if joint.children.is_empty() {
                    let _ = writeln!(text, "{inner}End Site\n{inner}{{\n{inner}\tOFFSET 0 0 0\n{inner}}}");
                }
                steps.extend(joint.children.iter().rev().map(|child| Step::Open(*child, depth + 1)));
            }
        }
    }
}

/// A name on one line, without braces.
fn plain(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_control() || "{}".contains(c) { '_' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Ten decimals: 1e-10 degrees, a tenth of a nanometre if the unit is a metre; without zeros at the end.
fn number(value: f64) -> String {
    let text = format!("{value:.10}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// (z, x, y) of R = R_z R_x R_y in radians, nearest to those of the frame before.
///
/// R₂₁ = sin x, R₀₁ = −sin z cos x, R₁₁ = cos z cos x, R₂₀ = −cos x sin y, R₂₂ = cos x cos y. The other solution is (z + π, π − x, y + π).
/// Where cos x is below 1e-7 only z ± y is determined, and z stays what it was.
fn angles(turn: &DMat3, before: DVec3) -> DVec3 {
    let r = |row: usize, col: usize| turn.col(col)[row];
    let cosine = r(0, 1).hypot(r(1, 1));
    let x = r(2, 1).atan2(cosine);
    let first = match cosine < 1e-7 {
        // With c = cos z, s = sin z known, the first column of R_x R_y = R_zᵀ R has cos y on top, and the third sin y.
        true => {
            let (s, c) = before.x.sin_cos();
            DVec3::new(before.x, x, (c * r(0, 2) + s * r(1, 2)).atan2(c * r(0, 0) + s * r(1, 0)))
        }
        false => DVec3::new((-r(0, 1)).atan2(r(1, 1)), x, (-r(2, 0)).atan2(r(2, 2))),
    };
    let half = std::f64::consts::PI;
    let second = DVec3::new(first.x + half, half - first.y, first.z + half);
    let nearest = |angles: DVec3| angles - ((angles - before) / (2.0 * half)).round() * (2.0 * half);
    let (first, second) = (nearest(first), nearest(second));
    if second.distance_squared(before) < first.distance_squared(before) { second } else { first }
}
