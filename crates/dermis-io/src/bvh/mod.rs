//! BVH, the text format of motion capture: a hierarchy of joints with offsets and channels, then a line of numbers per frame.
//!
//! The rest pose has every rotation at zero, so a joint's frame at rest is the world's, moved to the joint. In a frame
//!
//! - a joint's translation is its OFFSET, each component replaced by its position channel where it has one, in the parent's axes;
//! - its rotation is the product of its rotation channels in the order in which they stand: "Zrotation Xrotation Yrotation" is
//!   R = R_z R_x R_y, column vectors, degrees.
//!
//! A position channel *replaces* its part of the OFFSET, as Blender, MotionBuilder and Maya read it; some viewers add the two, which is
//! the same where the OFFSET is zero.
//!
//! The format states neither unit nor axes, so the caller does. An end site that does not lie on its joint becomes a bone "NAME_end":
//! it says where the last bone of a chain points.

mod hierarchy;
mod motion;
mod write;

pub use write::{BvhMotion, write};

use crate::contents::{Clip, ClipFrame};
use crate::flaws::{Flaws, make_unique};
use crate::{Contents, Format, ReadError, Space};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, Skeleton, WorldPose};
use std::ops::RangeInclusive;

/// How the end of the name of a bone is written that stands for an end site.
const END: &str = "_end";

/// Seconds from frame to frame that a file may state: a file of one frame may also state none.
pub const FRAME_SECONDS: RangeInclusive<f64> = 1e-9..=1e6;

/// Coordinates beyond this, in units of the file, are taken for damage: sums along a skeleton stay finite.
const MOST: f64 = 1e15;

/// Reads a BVH file: a skeleton, and a clip if the file has frames. `space` says its axes and unit.
///
/// # Errors
/// [`ReadError`] naming the line. Frames that are not finite, a last line that is cut short and a number of frames other than the one
/// stated are counted as warnings.
pub fn read(bytes: &[u8], name: &str, space: &Space) -> Result<Contents, ReadError> {
    space.check()?;
    let text = String::from_utf8_lossy(bytes);
    let mut lines = Lines::new(&text);
    let mut joints = hierarchy::read(&mut lines)?;
    let mut flaws = Flaws::default();
    let mut names: Vec<String> = joints.iter().map(|joint| joint.name.clone()).collect();
    make_unique(&mut names, &mut flaws);
    let frames = motion::read(&mut lines, &mut joints, bytes.len(), &mut flaws)?;
    let rest: Vec<DAffine3> = hierarchy::rest(&joints);
    let parents = joints.iter().map(|joint| joint.parent.map(BoneIndex::new)).collect();
    let bind = rest.iter().map(|joint| space.joint_to_ours(*joint)).collect();
    let skeleton = Skeleton::new(names, parents, bind)?;
    let title = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let frames_per_second = frames.as_ref().and_then(motion::Frames::rate);
    let clips = frames.filter(|frames| !frames.times.is_empty()).map(|frames| {
        let (key_times, space) = (frames.times.clone(), space.clone());
        let sample = move |time: f64| {
            let bones = frames.world(&joints, time).into_iter().map(|joint| space.joint_to_ours(joint)).collect();
            ClipFrame { pose: WorldPose::new(bones), morph_weights: Vec::new() }
        };
        let duration = key_times.last().copied().unwrap_or(0.0);
        Clip { name: title, duration, start: 0.0, key_times, curves: None, sample: Box::new(sample) }
    });
    Ok(Contents {
        name: name.into(),
        format: Format::Bvh,
        space: space.clone(),
        skeleton: Some(skeleton),
        clips: clips.into_iter().collect(),
        frames_per_second,
        unread: flaws.unread,
        warnings: flaws.warnings,
        ..Contents::default()
    })
}

/// A joint or an end site.
struct Joint {
    name: String,
    parent: Option<usize>,
    /// From the parent's head, in the file's unit.
    offset: DVec3,
    channels: Vec<Channel>,
    /// The place of its first channel in a line of numbers.
    first: usize,
}

/// What a number of a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    /// Along axis 0, 1, 2.
    Position(usize),
    /// About axis 0, 1, 2; degrees.
    Rotation(usize),
    /// A scale, which is not read.
    Scale,
}

/// The lines of a file, with the number of the one read last, from 1.
struct Lines<'a> {
    rest: std::str::Lines<'a>,
    number: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text.trim_start_matches('\u{feff}').lines(), number: 0 }
    }

    /// The next line that is not blank.
    fn next(&mut self) -> Option<&'a str> {
        loop {
            let line = self.rest.next()?;
            self.number += 1;
            let line = line.trim();
            if !line.is_empty() {
                return Some(line);
            }
        }
    }

    /// An error at the line read last.
    fn damaged(&self, what: impl std::fmt::Display) -> ReadError {
        damaged_at(self.number, what)
    }
}

fn damaged_at(line: usize, what: impl std::fmt::Display) -> ReadError {
    ReadError::Damaged { format: Format::Bvh, reason: format!("line {line}: {what}") }
}

/// A word for a message: as the file has it, at most forty characters.
fn shown(word: &str) -> String {
    word.chars().take(40).collect()
}
