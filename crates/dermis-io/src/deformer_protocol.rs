//! What is said between Dermis and a deformer that is a program of its own, version 1. docs/invert-protocol.md tells it to
//! those who write such programs.
//!
//! Both sides begin with [`MAGIC`] and a version. After that everything is a frame: four letters, the length of what
//! follows as `u32`, and that many bytes. Integers are `u32`, numbers `f64`, both little-endian; a text is its length in
//! bytes and UTF-8; a matrix is 16 numbers, row after row, for column vectors.
//!
//! | from Dermis | holds |
//! |---|---|
//! | `RIG ` | numbers of vertices V, bones B, poses P; B names of bones; P names of poses; V rest positions; B bind matrices |
//! | `POSE` | number of the pose; B bone transforms M_k, rest world to posed world |
//! | `CALL` | number of the call, from 1; number of its pose; V points at rest |
//! | `END ` | nothing |
//!
//! | from the program | holds |
//! |---|---|
//! | `REDY` | nothing; answers `RIG ` |
//! | `SKIN` | number of the call; V points in the pose; answers `CALL` |
//! | `FAIL` | why, as UTF-8; instead of any other answer, and the last thing said |
//!
//! Positions and matrices are in the axes and the unit of the rig's file.

use crate::Space;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::row;
use dermis_rig::{BoneTransforms, Rig};
use std::io::{ErrorKind, Read};

/// The first bytes of either side. The line ends in it are those that a stream opened as text would change.
pub const MAGIC: [u8; 8] = *b"DERM\r\n\x1a\n";
/// What this program speaks.
pub const VERSION: u32 = 1;
/// The longest text of a `FAIL`, in bytes.
pub const LONGEST_TEXT: usize = 1 << 16;

/// Magic and version.
pub fn greeting() -> Vec<u8> {
    [&MAGIC[..], &VERSION.to_le_bytes()].concat()
}

/// A frame. `None` if it is longer than its length can say.
pub fn frame(kind: [u8; 4], payload: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(payload.len()).ok()?;
    Some([&kind[..], &length.to_le_bytes(), payload].concat())
}

/// The `RIG ` frame.
pub fn rig_frame(rig: &Rig, space: &Space, poses: &[&str]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for count in [rig.mesh().positions.len(), rig.skeleton().len(), poses.len()] {
        bytes.extend(u32::try_from(count).ok()?.to_le_bytes());
    }
    for name in rig.skeleton().names().iter().map(String::as_str).chain(poses.iter().copied()) {
        bytes.extend(u32::try_from(name.len()).ok()?.to_le_bytes());
        bytes.extend(name.as_bytes());
    }
    let from_ours = space.to_ours().inverse();
    points(rig.mesh().positions.iter().map(|p| from_ours.transform_point3(*p)), &mut bytes);
    rig.skeleton().bind().iter().for_each(|bind| matrix(&space.joint_from_ours(*bind), &mut bytes));
    frame(*b"RIG ", &bytes)
}

/// The `POSE` frame: C⁻¹ M_k C with C from the file's space to ours.
pub fn pose_frame(pose: u32, transforms: &BoneTransforms, space: &Space) -> Option<Vec<u8>> {
    let mut bytes = pose.to_le_bytes().to_vec();
    let (to_ours, from_ours) = (space.to_ours(), space.to_ours().inverse());
    transforms.iter().for_each(|m| matrix(&(from_ours * *m * to_ours), &mut bytes));
    frame(*b"POSE", &bytes)
}

/// The `CALL` frame; `at` in the file's space.
pub fn call_frame(call: u32, pose: u32, at: &[DVec3]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(8 + 24 * at.len());
    bytes.extend(call.to_le_bytes());
    bytes.extend(pose.to_le_bytes());
    points(at.iter().copied(), &mut bytes);
    frame(*b"CALL", &bytes)
}

/// Bytes of a `SKIN` of so many points.
pub fn skin_length(vertices: usize) -> usize {
    4 + 24 * vertices
}

/// The call that a `SKIN` answers.
pub fn skin_call(payload: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(payload.get(..4)?.try_into().ok()?))
}

/// The points of a `SKIN` of the right length, in the file's space.
pub fn skin_points(payload: &[u8], out: &mut [DVec3]) {
    let number = |bytes: &[u8]| bytes.try_into().map_or(f64::NAN, f64::from_le_bytes);
    for (bytes, point) in payload[4..].chunks_exact(24).zip(out) {
        *point = DVec3::from([0, 8, 16].map(|at| number(&bytes[at..at + 8])));
    }
}

/// What is heard from a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The first twelve bytes.
    Greeting([u8; 12]),
    /// A whole frame: its letters, and what follows its length.
    Frame([u8; 4], Vec<u8>),
    /// The head of a frame that no answer has. Nothing is heard after it.
    Stray([u8; 8]),
    /// The end, with what came before it of something that was to be longer.
    Closed(Vec<u8>),
}

/// Hears what a program says: a greeting, then frames. It takes no frame that is longer than the longest answer, so what
/// a program promises is not allocated.
#[derive(Clone, Debug)]
pub struct Listener {
    longest: usize,
    greeted: bool,
}

impl Listener {
    /// A listener for a program that deforms so many vertices.
    pub fn new(vertices: usize) -> Self {
        Self { longest: skin_length(vertices), greeted: false }
    }

    /// Waits for the next thing. `more` is told, as they come, how many bytes of it have come.
    pub fn hear(&mut self, from: &mut impl Read, more: &mut dyn FnMut(usize)) -> Heard {
        if !self.greeted {
            self.greeted = true;
            let mut greeting = [0; 12];
            return match fill(from, &mut greeting, more) {
                Ok(()) => Heard::Greeting(greeting),
                Err(part) => Heard::Closed(part),
            };
        }
        let mut head = [0; 8];
        if let Err(part) = fill(from, &mut head, more) {
            return Heard::Closed(part);
        }
        let [a, b, c, d, length @ ..] = head;
        let (kind, length) = ([a, b, c, d], u32::from_le_bytes(length) as usize);
        let longest = match &kind {
            b"SKIN" => self.longest,
            b"FAIL" => LONGEST_TEXT,
            b"REDY" => 0,
            _ => return Heard::Stray(head),
        };
        if length > longest {
            return Heard::Stray(head);
        }
        let mut payload = vec![0; length];
        match fill(from, &mut payload, more) {
            Ok(()) => Heard::Frame(kind, payload),
            Err(part) => Heard::Closed([&head[..], &part].concat()),
        }
    }
}

/// Fills the buffer; what was read of it if the bytes end before.
fn fill(from: &mut impl Read, buffer: &mut [u8], more: &mut dyn FnMut(usize)) -> Result<(), Vec<u8>> {
    let mut length = 0;
    while length < buffer.len() {
        match from.read(&mut buffer[length..]) {
            Ok(0) => return Err(buffer[..length].to_vec()),
            Ok(count) => {
                length += count;
                more(count);
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(buffer[..length].to_vec()),
        }
    }
    Ok(())
}

fn points(list: impl Iterator<Item = DVec3>, bytes: &mut Vec<u8>) {
    list.flat_map(|p| p.to_array()).for_each(|x| bytes.extend(x.to_le_bytes()));
}

fn matrix(m: &DAffine3, bytes: &mut Vec<u8>) {
    let rows = [row(m, 0), row(m, 1), row(m, 2), [0.0, 0.0, 0.0, 1.0]];
    rows.iter().flatten().for_each(|x| bytes.extend(x.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UpAxis;

    /// Oracle: the bytes as docs/invert-protocol.md states them, written out by hand.
    #[test]
    fn a_call_is_what_the_page_says() {
        let one = [DVec3::new(1.0, -2.0, 0.5)];
        let frame = call_frame(7, 2, &one).unwrap();
        let by_hand = [
            &b"CALL"[..],
            &[32, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0],
            &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
            &[0, 0, 0, 0, 0, 0, 0x00, 0xc0],
            &[0, 0, 0, 0, 0, 0, 0xe0, 0x3f],
        ];
        assert_eq!(frame, by_hand.concat());
        assert_eq!(greeting(), *b"DERM\r\n\x1a\n\x01\0\0\0");
    }

    /// What is sent comes back to the last bit.
    #[test]
    fn points_are_not_changed_on_the_way() {
        let some = [DVec3::new(0.1, -1e-300, 3.0), DVec3::new(1.0 / 3.0, 7e200, -0.0)];
        let frame = call_frame(3, 0, &some).unwrap();
        let mut back = [DVec3::ZERO; 2];
        // A SKIN begins like a CALL without the number of the pose.
        let skin = [&frame[8..12], &frame[16..]].concat();
        skin_points(&skin, &mut back);
        assert_eq!((skin_call(&skin), skin.len(), back), (Some(3), skin_length(2), some));
    }

    /// Bytes by hand: a greeting, two answers, and what ends the talk.
    #[test]
    fn a_listener_hears_frames_and_stops_at_what_is_none() {
        let skin = [&1u32.to_le_bytes()[..], &[0; 24]].concat();
        let said = [greeting(), frame(*b"REDY", &[]).unwrap(), frame(*b"SKIN", &skin).unwrap()].concat();
        for (last, expected) in [
            (&b"SKIN\x1d\0\0\0"[..], Heard::Stray(*b"SKIN\x1d\0\0\0")),
            (b"REDY\x01\0\0\0", Heard::Stray(*b"REDY\x01\0\0\0")),
            (b"hello world", Heard::Stray(*b"hello wo")),
            (b"FAIL\x05\0\0\0no", Heard::Closed(b"FAIL\x05\0\0\0no".to_vec())),
            (b"SKI", Heard::Closed(b"SKI".to_vec())),
        ] {
            let said = [&said[..], last].concat();
            let (mut listener, mut bytes, mut count) = (Listener::new(1), said.as_slice(), 0);
            let mut next = || listener.hear(&mut bytes, &mut |more| count += more);
            assert_eq!(next(), Heard::Greeting(*b"DERM\r\n\x1a\n\x01\0\0\0"));
            assert_eq!(next(), Heard::Frame(*b"REDY", vec![]));
            assert_eq!(next(), Heard::Frame(*b"SKIN", skin.clone()));
            assert_eq!(next(), expected);
            assert_eq!(count + bytes.len(), said.len());
        }
    }

    /// A transform seen from the file's space moves the file's points as ours moves ours.
    #[test]
    fn transforms_are_conjugated() {
        use dermis_rig::glam::DQuat;
        let feet = Space { up: UpAxis::Z, metres_per_unit: 0.3048, unit: "m".into() };
        let m = DAffine3::from_rotation_translation(DQuat::from_rotation_x(0.7), DVec3::new(1.0, 2.0, 3.0));
        let frame = pose_frame(0, &BoneTransforms::new(vec![m]), &feet).unwrap();
        let n: Vec<f64> = frame[12..].chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
        let p = DVec3::new(0.3, -4.0, 5.0);
        let moved =
            DVec3::from([0, 1, 2].map(|i| n[4 * i] * p.x + n[4 * i + 1] * p.y + n[4 * i + 2] * p.z + n[4 * i + 3]));
        let ours = m.transform_point3(feet.to_ours().transform_point3(p));
        assert!(feet.to_ours().transform_point3(moved).distance(ours) < 1e-14);
        assert_eq!(n[12..], [0.0, 0.0, 0.0, 1.0]);
    }
}
