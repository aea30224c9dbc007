//! The frames: a line of numbers each, in the order of the channels.

use super::{Channel, FRAME_SECONDS, Joint, Lines, MOST, damaged_at, shown};
use crate::contents::Flaw;
use crate::flaws::Flaws;
use crate::{Format, ReadError};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};

/// Frames that are finite.
pub(super) struct Frames {
    /// Seconds, ascending from 0 where the first frame is finite.
    pub times: Vec<f64>,
    /// Seconds from frame to frame.
    step: f64,
    /// Numbers of a frame.
    width: usize,
    values: Vec<f64>,
}

/// Reads what follows the word MOTION; `None` at the end of the file. Channels of scale are taken out of `joints`.
///
/// A file's bytes bound the numbers, but joints without channels cost nothing per frame. More than four poses of a bone per byte
/// of the file are refused: a joint with three channels takes at least six bytes a frame.
pub(super) fn read(
    lines: &mut Lines<'_>,
    joints: &mut [Joint],
    bytes: usize,
    flaws: &mut Flaws,
) -> Result<Option<Frames>, ReadError> {
    let scales = joints.iter().flat_map(|joint| &joint.channels).filter(|channel| **channel == Channel::Scale).count();
    flaws.many(Flaw::Unsupported, scales, || "channels of scale".into());
    let Some(line) = lines.next() else { return Ok(None) };
    let stated = after(line, "Frames:").and_then(|text| text.parse::<u64>().ok());
    let stated =
        stated.ok_or_else(|| lines.damaged(format!("\"{}\" stands where \"Frames: N\" is expected", shown(line))))?;
    let line = lines.next().ok_or_else(|| lines.damaged("the file ends before \"Frame Time:\""))?;
    let step = after(line, "Frame Time:").and_then(|text| text.parse::<f64>().ok());
    let step =
        step.filter(|step| FRAME_SECONDS.contains(step) || ((0.0..1.0).contains(step) && stated <= 1)).ok_or_else(
            || lines.damaged(format!("\"{}\" stands where \"Frame Time: SECONDS\" is expected", shown(line))),
        )?;
    let width = joints.last().map_or(0, |joint| joint.first + joint.channels.len());
    let mut frames = Frames { times: Vec::new(), step, width, values: Vec::new() };
    if width == 0 {
        return Ok(Some(frames));
    }
    let (mut found, mut cut) = (0_u64, None);
    while let Some(line) = lines.next() {
        if let Some((number, count)) = cut {
            return Err(damaged_at(number, format!("{count} numbers, but the joints have {width} channels")));
        }
        let (start, mut usable) = (frames.values.len(), true);
        for word in line.split_whitespace() {
            let number = word.parse::<f64>().map_err(|_| lines.damaged(format!("\"{}\" is no number", shown(word))))?;
            usable &= number.abs() <= MOST;
            frames.values.push(number);
        }
        let count = frames.values.len() - start;
        if count > width {
            return Err(lines.damaged(format!("{count} numbers, but the joints have {width} channels")));
        }
        if count < width {
            // The file may have been cut here; if a line follows, it was not.
            cut = Some((lines.number, count));
            frames.values.truncate(start);
            continue;
        }
        if found >= stated {
            frames.values.truncate(start);
        } else if usable {
            frames.times.push(found as f64 * step);
        } else {
            frames.values.truncate(start);
            flaws.add(Flaw::NonFiniteFrame, || format!("line {}", lines.number));
        }
        found += 1;
        if frames.times.len().saturating_mul(joints.len()) > 4 * bytes + (1 << 16) {
            let reason = format!("{} joints without channels, beside {width} channels", joints.len());
            return Err(ReadError::Damaged { format: Format::Bvh, reason });
        }
    }
    if found != stated || cut.is_some() {
        flaws.add(Flaw::CountMismatch, || match cut {
            Some((line, count)) => {
                format!("line {line} has {count} numbers of {width}; {stated} frames are stated, {found} are whole")
            }
            None => format!("{stated} frames are stated, there are {found}"),
        });
    }
    Ok(Some(frames))
}

/// What follows a keyword and its colon, which may stand apart.
fn after<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    let (before, value) = line.split_once(':')?;
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase();
    (plain(before) == keyword.trim_end_matches(':').to_ascii_lowercase()).then(|| value.trim())
}

impl Frames {
    /// Frames per second, if the step is one.
    pub fn rate(&self) -> Option<f64> {
        FRAME_SECONDS.contains(&self.step).then(|| 1.0 / self.step)
    }

    /// Joint to world at a time, in the file's space: rotations by slerp and translations linearly between two frames, held
    /// beyond the ends.
    pub fn world(&self, joints: &[Joint], time: f64) -> Vec<DAffine3> {
        // The last frame at or before the time, to a part in 10⁹ of a step: products and quotients of the step round.
        let slack = 1e-9 * self.step;
        let at = self.times.partition_point(|t| *t <= time + slack).saturating_sub(1);
        let next = (at + 1).min(self.times.len() - 1);
        let span = self.times[next] - self.times[at];
        let part = if span > 0.0 { ((time - self.times[at]) / span).clamp(0.0, 1.0) } else { 0.0 };
        let exact = part * span <= slack || part.is_nan();
        let mut world: Vec<DAffine3> = Vec::with_capacity(joints.len());
        for joint in joints {
            let (mut turn, mut place) = joint.local(self.row(at));
            if !exact {
                let (turn_next, place_next) = joint.local(self.row(next));
                turn = turn.slerp(turn_next, part);
                place = place.lerp(place_next, part);
            }
            let local = DAffine3::from_rotation_translation(turn.normalize(), place);
            world.push(joint.parent.map_or(local, |parent| world[parent] * local));
        }
        world
    }

    fn row(&self, frame: usize) -> &[f64] {
        &self.values[frame * self.width..(frame + 1) * self.width]
    }
}

impl Joint {
    /// Rotation and translation relative to the parent.
    fn local(&self, row: &[f64]) -> (DQuat, DVec3) {
        let (mut turn, mut place) = (DQuat::IDENTITY, self.offset);
        for (channel, value) in self.channels.iter().zip(&row[self.first..]) {
            match *channel {
                Channel::Position(axis) => place[axis] = *value,
                Channel::Rotation(axis) => {
                    turn *= DQuat::from_axis_angle(DVec3::AXES[axis], (value % 360.0).to_radians())
                }
                Channel::Scale => {}
            }
        }
        (turn, place)
    }
}
