//! The biped: 22 joints, heights in parts of the body's.
//!
//! Heights of hip, knee and ankle follow Drillis & Contini 1966 (body segment lengths over stature: 0.530, 0.285, 0.039). Arms
//! are split as rigs do, elbow half way from shoulder to wrist. The spine and the collar bones, and how deep shoulders and hips lie, follow the rigs of
//! 125 bodies that tools/make_body.py makes. The spine lies behind the line from the hips to the shoulders, by twice what is wanted, because a joint of
//! the trunk goes half way to its middle.

use super::{Frames, Hints, Row, Template, from_rows};
use dermis_motion::anatomy::Part;
use dermis_rig::glam::DVec3;

pub(super) fn template() -> Template {
    let none = Hints::default();
    let fat = Hints { is_fat: true, ..none };
    let narrow = Hints { is_narrow: true, ..none };
    let bends = Hints { bends: true, ..none };
    let row = |name, parent, part, at, hints| Row { name, parent, part, at, end: None, hints };
    let rows = [
        row("pelvis", "", Part::Hips, [0.0, 0.535, -0.005], fat),
        row("spine_01", "pelvis", Part::Spine, [0.0, 0.575, -0.04], none),
        row("spine_02", "spine_01", Part::Spine, [0.0, 0.62, -0.033], none),
        row("spine_03", "spine_02", Part::Spine, [0.0, 0.674, -0.028], fat),
        row("neck_01", "spine_03", Part::Neck, [0.0, 0.85, 0.0], Hints { depth: Some(0.3), ..none }),
        Row {
            end: Some([0.0, 1.0, 0.02]),
            ..row("head", "neck_01", Part::Head, [0.0, 0.91, 0.01], Hints { is_bulb: true, ..none })
        },
        row("clavicle_", "spine_03", Part::Clavicle, [0.015, 0.833, 0.01], none),
        row("upperarm_", "clavicle_", Part::UpperArm, [0.11, 0.81, 0.0], Hints { depth: Some(-0.1), ..none }),
        row("lowerarm_", "upperarm_", Part::Forearm, [0.265, 0.81, -0.005], bends),
        Row { end: Some([0.53, 0.81, 0.01]), ..row("hand_", "lowerarm_", Part::Hand, [0.42, 0.81, 0.005], narrow) },
        row("thigh_", "pelvis", Part::Thigh, [0.06, 0.53, 0.0], Hints { depth: Some(0.0), ..none }),
        row("calf_", "thigh_", Part::Shin, [0.065, 0.285, 0.01], bends),
        row("foot_", "calf_", Part::Foot, [0.07, 0.042, 0.0], bends),
        Row {
            end: Some([0.075, 0.01, 0.115]),
            ..row("ball_", "foot_", Part::Toes, [0.073, 0.01, 0.075], Hints { on_ground: true, ..none })
        },
    ];
    from_rows("biped", "T", Frames::Upright, &rows)
        .with_turned("A", &[("upperarm_l", DVec3::NEG_Z, 45.0)])
        .with_turned("arms down", &[("upperarm_l", DVec3::NEG_Z, 75.0)])
}
