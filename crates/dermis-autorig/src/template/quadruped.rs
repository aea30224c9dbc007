//! The quadruped: a four-legged animal that walks on its toes, in parts of its height at the head.

use super::{Frames, Hints, Row, Template, from_rows};
use dermis_motion::anatomy::Part;
use dermis_rig::glam::DVec3;

pub(super) fn template() -> Template {
    let none = Hints::default();
    let fat = Hints { is_fat: true, ..none };
    let bends = Hints { bends: true, ..none };
    let ground = Hints { on_ground: true, ..none };
    let row = |name, parent, part, at, hints| Row { name, parent, part, at, end: None, hints };
    let rows = [
        row("hips", "", Part::Hips, [0.0, 0.60, -0.30], fat),
        row("spine_01", "hips", Part::Spine, [0.0, 0.62, -0.13], none),
        row("spine_02", "spine_01", Part::Spine, [0.0, 0.62, 0.05], none),
        row("spine_03", "spine_02", Part::Spine, [0.0, 0.60, 0.22], fat),
        row("neck_01", "spine_03", Part::Neck, [0.0, 0.66, 0.36], Hints { depth: Some(0.3), ..none }),
        row("neck_02", "neck_01", Part::Neck, [0.0, 0.73, 0.44], none),
        Row {
            end: Some([0.0, 0.78, 0.80]),
            ..row("head", "neck_02", Part::Head, [0.0, 0.82, 0.54], Hints { is_bulb: true, ..none })
        },
        row("front_shoulder_", "spine_03", Part::Clavicle, [0.04, 0.60, 0.26], none),
        row(
            "front_upper_leg_",
            "front_shoulder_",
            Part::UpperArm,
            [0.08, 0.50, 0.33],
            Hints { depth: Some(0.0), reach: 0.6, ..none },
        ),
        row("front_lower_leg_", "front_upper_leg_", Part::Forearm, [0.085, 0.31, 0.27], bends),
        Row {
            end: Some([0.085, 0.015, 0.36]),
            ..row("front_foot_", "front_lower_leg_", Part::Hand, [0.085, 0.10, 0.29], Hints { bends: true, ..ground })
        },
        row(
            "hind_upper_leg_",
            "hips",
            Part::Thigh,
            [0.07, 0.54, -0.33],
            Hints { depth: Some(0.0), reach: 0.75, ..none },
        ),
        row("hind_lower_leg_", "hind_upper_leg_", Part::Shin, [0.085, 0.34, -0.26], bends),
        row("hind_foot_", "hind_lower_leg_", Part::Foot, [0.085, 0.18, -0.40], bends),
        Row {
            end: Some([0.085, 0.012, -0.27]),
            ..row("hind_toe_", "hind_foot_", Part::Toes, [0.085, 0.03, -0.35], Hints { bends: true, ..ground })
        },
        row("tail_01", "hips", Part::Tail, [0.0, 0.60, -0.42], Hints { depth: Some(0.5), is_optional: true, ..none }),
        row("tail_02", "tail_01", Part::Tail, [0.0, 0.55, -0.58], none),
        Row { end: Some([0.0, 0.45, -0.90]), ..row("tail_03", "tail_02", Part::Tail, [0.0, 0.50, -0.74], none) },
    ];
    from_rows("quadruped", "standing", Frames::Upright, &rows)
        .with_turned("head high", &[("neck_01", DVec3::NEG_X, 35.0), ("tail_01", DVec3::NEG_X, 40.0)])
        .with_turned("head low", &[("neck_01", DVec3::X, 40.0), ("tail_01", DVec3::X, 40.0)])
        .with_turned("tail up", &[("tail_01", DVec3::X, 60.0)])
}
