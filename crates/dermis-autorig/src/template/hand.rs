//! The hand: five fingers, and the end of the forearm, which may be short. In parts of the length from wrist to middle fingertip.

use super::{Frames, Hints, Row, Template, from_rows};
use dermis_motion::anatomy::Part;
use dermis_rig::glam::DVec3;

pub(super) fn template() -> Template {
    let none = Hints::default();
    let root = Hints { depth: Some(0.6), ..none };
    let row = |name, parent, part, at, hints| Row { name, parent, part, at, end: None, hints };
    // Fingers point up (+Y), the palm faces forward (+Z), the thumb is at +X: a left hand.
    let rows = [
        row("lowerarm", "", Part::Forearm, [0.0, -0.25, 0.0], none),
        row("hand", "lowerarm", Part::Hand, [0.0, 0.0, 0.0], Hints { is_fat: true, ..none }),
        row("thumb_01", "hand", Part::Thumb, [0.16, 0.14, 0.03], root),
        row("thumb_02", "thumb_01", Part::Thumb, [0.28, 0.30, 0.05], none),
        Row { end: Some([0.42, 0.56, 0.08]), ..row("thumb_03", "thumb_02", Part::Thumb, [0.36, 0.43, 0.07], none) },
        row("index_01", "hand", Part::Finger, [0.15, 0.50, 0.0], root),
        row("index_02", "index_01", Part::Finger, [0.17, 0.73, 0.0], none),
        Row { end: Some([0.19, 0.96, 0.0]), ..row("index_03", "index_02", Part::Finger, [0.18, 0.85, 0.0], none) },
        row("middle_01", "hand", Part::Finger, [0.05, 0.52, 0.0], root),
        row("middle_02", "middle_01", Part::Finger, [0.05, 0.77, 0.0], none),
        Row { end: Some([0.05, 1.03, 0.0]), ..row("middle_03", "middle_02", Part::Finger, [0.05, 0.91, 0.0], none) },
        row("ring_01", "hand", Part::Finger, [-0.05, 0.49, 0.0], root),
        row("ring_02", "ring_01", Part::Finger, [-0.06, 0.72, 0.0], none),
        Row { end: Some([-0.07, 0.97, 0.0]), ..row("ring_03", "ring_02", Part::Finger, [-0.065, 0.86, 0.0], none) },
        row("pinky_01", "hand", Part::Finger, [-0.14, 0.44, 0.0], root),
        row("pinky_02", "pinky_01", Part::Finger, [-0.17, 0.62, 0.0], none),
        Row { end: Some([-0.20, 0.82, 0.0]), ..row("pinky_03", "pinky_02", Part::Finger, [-0.185, 0.73, 0.0], none) },
    ];
    let fingers = ["index_01", "middle_01", "ring_01", "pinky_01"];
    let curl: Vec<(&str, DVec3, f64)> = fingers.iter().map(|finger| (*finger, DVec3::X, 35.0)).collect();
    from_rows("hand", "flat", Frames::Any, &rows).with_turned("relaxed", &curl)
}
