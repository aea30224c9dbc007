//! The hierarchy: joints, parents first, with offsets and channels.

use super::{Channel, END, Joint, Lines, MOST, shown};
use crate::flaws::short;
use crate::{Format, ReadError};
use dermis_rig::glam::{DAffine3, DVec3};

/// A block that is open: the place of its joint; `None` for an end site on its joint, which makes no bone.
struct Open {
    joint: usize,
    is_end: bool,
    has_offset: bool,
    has_channels: bool,
}

/// Reads up to the word MOTION or the end of the file. Blocks are kept on a stack of their own, so a file may nest as deep as it likes.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Vec<Joint>, ReadError> {
    let wrong = |reason: String| ReadError::WrongKind { format: Format::Bvh, reason };
    match lines.next() {
        Some(line) if line.eq_ignore_ascii_case("HIERARCHY") => {}
        Some(line) => return Err(wrong(format!("it starts with \"{}\", not with HIERARCHY", shown(line)))),
        None => return Err(wrong("it is empty".into())),
    }
    let mut joints: Vec<Joint> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    // A joint whose brace has not come yet, and whether it is an end site.
    let mut announced: Option<(String, bool)> = None;
    'lines: while let Some(line) = lines.next() {
        let spaced = line.replace('{', " { ").replace('}', " } ");
        let mut words = spaced.split_whitespace().peekable();
        while let Some(word) = words.next() {
            if announced.is_some() && word != "{" {
                return Err(lines.damaged(format!("\"{}\" stands where {{ is expected", shown(word))));
            }
            match word.to_ascii_uppercase().as_str() {
                "MOTION" if open.is_empty() => break 'lines,
                "ROOT" | "JOINT" | "END" => {
                    let (is_root, is_end) = (word.eq_ignore_ascii_case("ROOT"), word.eq_ignore_ascii_case("END"));
                    if is_root != open.is_empty() {
                        let place = if is_root { "inside another joint" } else { "outside a ROOT" };
                        return Err(lines.damaged(format!("{} {place}", shown(word))));
                    }
                    if open.last().is_some_and(|block| block.is_end) {
                        return Err(lines.damaged(format!("{} inside an end site", shown(word))));
                    }
                    let mut name = Vec::new();
                    while let Some(part) = words.next_if(|part| *part != "{") {
                        name.push(part);
                    }
                    let name = match (is_end, open.last()) {
                        (true, Some(block)) => format!("{}{END}", joints[block.joint].name),
                        _ if name.is_empty() => format!("joint {}", joints.len()),
                        _ => name.join(" "),
                    };
                    announced = Some((short(&name), is_end));
                }
                "{" => {
                    let Some((name, is_end)) = announced.take() else {
                        return Err(lines.damaged("a { without a joint before it"));
                    };
                    let parent = open.last().map(|block| block.joint);
                    open.push(Open { joint: joints.len(), is_end, has_offset: false, has_channels: false });
                    joints.push(Joint { name, parent, offset: DVec3::ZERO, channels: Vec::new(), first: 0 });
                }
                "}" => {
                    let block = open.pop().ok_or_else(|| lines.damaged("a } too many"))?;
                    // An end site on its joint says nothing. It is the last joint: nothing hangs below it.
                    if block.is_end && joints[block.joint].offset == DVec3::ZERO {
                        joints.pop();
                    }
                }
                "OFFSET" => {
                    let block = inside(&mut open, word, lines)?;
                    if std::mem::replace(&mut block.has_offset, true) {
                        return Err(lines.damaged("a second OFFSET of one joint"));
                    }
                    for axis in 0..3 {
                        let what = || format!("OFFSET of \"{}\"", shown(&joints[block.joint].name));
                        let text =
                            words.next().ok_or_else(|| lines.damaged(format!("{} has {axis} numbers of 3", what())))?;
                        let number = text.parse::<f64>().ok().filter(|x| x.abs() <= MOST);
                        joints[block.joint].offset[axis] = number.ok_or_else(|| {
                            lines.damaged(format!("{}: \"{}\" is no usable number", what(), shown(text)))
                        })?;
                    }
                }
                "CHANNELS" => {
                    let block = inside(&mut open, word, lines)?;
                    if block.is_end {
                        return Err(lines.damaged("CHANNELS of an end site"));
                    }
                    if std::mem::replace(&mut block.has_channels, true) {
                        return Err(lines.damaged("a second list of CHANNELS of one joint"));
                    }
                    let joint = &mut joints[block.joint];
                    let count = words.next().and_then(|text| text.parse::<u64>().ok());
                    let count = count
                        .ok_or_else(|| lines.damaged(format!("no number of CHANNELS of \"{}\"", shown(&joint.name))))?;
                    for at in 0..count {
                        let text = words.next().ok_or_else(|| {
                            lines.damaged(format!("\"{}\" has {at} CHANNELS of {count}", shown(&joint.name)))
                        })?;
                        let known = channel(text)
                            .ok_or_else(|| lines.damaged(format!("the channel \"{}\" is not known", shown(text))))?;
                        joint.channels.push(known);
                    }
                }
                _ => return Err(lines.damaged(format!("\"{}\" is not understood here", shown(word)))),
            }
        }
    }
    if let Some((name, _)) = announced {
        return Err(lines.damaged(format!("the file ends before the block of \"{}\"", shown(&name))));
    }
    if let Some(block) = open.last() {
        return Err(lines.damaged(format!("the block of \"{}\" is not closed", shown(&joints[block.joint].name))));
    }
    if joints.is_empty() {
        return Err(lines.damaged("there is no ROOT"));
    }
    let mut first = 0;
    for joint in &mut joints {
        joint.first = first;
        first += joint.channels.len();
    }
    Ok(joints)
}

fn inside<'a>(open: &'a mut [Open], word: &str, lines: &Lines<'_>) -> Result<&'a mut Open, ReadError> {
    open.last_mut().ok_or_else(|| lines.damaged(format!("{} outside a joint", shown(word))))
}

fn channel(word: &str) -> Option<Channel> {
    let lower = word.to_ascii_lowercase();
    let (axis, what) = lower.split_at_checked(1)?;
    let axis = match axis {
        "x" => 0,
        "y" => 1,
        "z" => 2,
        _ => return None,
    };
    match what {
        "position" => Some(Channel::Position(axis)),
        "rotation" => Some(Channel::Rotation(axis)),
        "scale" => Some(Channel::Scale),
        _ => None,
    }
}

/// Joint to world at rest, in the file's space: translations alone.
pub(super) fn rest(joints: &[Joint]) -> Vec<DAffine3> {
    let mut heads: Vec<DVec3> = Vec::with_capacity(joints.len());
    for joint in joints {
        heads.push(joint.parent.map_or(DVec3::ZERO, |parent| heads[parent]) + joint.offset);
    }
    heads.into_iter().map(DAffine3::from_translation).collect()
}
