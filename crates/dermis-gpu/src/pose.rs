//! A pose as the shaders read it.

use crate::model::Header;
use dermis_deform::baked::{CorrectionData, PoseData};
use dermis_rig::glam::Mat3;

/// Writes a pose into its `stride` vec4, section after section as the headers of the passes say.
pub(crate) fn write<'a>(pose: &PoseData, passes: impl Iterator<Item = &'a Header>, out: &mut [[f32; 4]]) {
    out[0] = pose.shift.extend(0.0).to_array();
    for (at, header) in passes.enumerate() {
        write_pass(pose, pose.corrections.get(at), header, out);
    }
}

/// What one pass reads of a pose.
fn write_pass(pose: &PoseData, correction: Option<&CorrectionData>, header: &Header, out: &mut [[f32; 4]]) {
    let mut put = |start: u32, values: &mut dyn Iterator<Item = [f32; 4]>| {
        for (place, value) in out[start as usize..].iter_mut().zip(values) {
            *place = value;
        }
    };
    if header.rows != 0 {
        let [x, y, z] = pose.shift.to_array();
        let world = [[1.0, 0.0, 0.0, -x], [0.0, 1.0, 0.0, -y], [0.0, 0.0, 1.0, -z]];
        put(header.rows, &mut pose.rows.iter().chain(header.has_world().then_some(&world)).flatten().copied());
    }
    if header.quaternions != 0 {
        put(
            header.quaternions,
            &mut pose.quaternions.iter().flat_map(|bone| {
                let [s0, s1, s2] = bone.stretch;
                let [w0, w1, w2] = bone.whole;
                [bone.real.to_array(), bone.dual.to_array(), s0, s1, s2, w0, w1, w2]
            }),
        );
    }
    match correction {
        None => {}
        Some(CorrectionData::Enveloping { turns, features }) => {
            put(header.turns, &mut turns.iter().flat_map(rows));
            put(header.features, &mut fours(features.as_flattened()));
        }
        Some(CorrectionData::Joints { bones, turns, quaternions, z, shapes, reaches }) => {
            put(
                header.bones,
                &mut bones.iter().flat_map(|bone| {
                    let (m, t) = (Mat3::from(bone.matrix3), bone.translation);
                    [0, 1, 2].map(|j| m.row(j).extend(t[j]).to_array())
                }),
            );
            if header.frames != 0 {
                put(header.frames, &mut quaternions.iter().map(|q| q.to_array()));
            }
            if header.turns != 0 {
                put(header.turns, &mut turns.iter().flat_map(rows));
            }
            put(header.features, &mut fours(z));
            if header.shapes != 0 {
                put(header.shapes, &mut shapes.iter().zip(*reaches).map(|(&w, &h)| [w, h, 0.0, 0.0]));
            }
        }
        Some(CorrectionData::Values { turns, values }) => {
            if header.turns != 0 {
                put(header.turns, &mut turns.iter().flat_map(rows));
            }
            put(header.features, &mut fours(values));
        }
    }
}

fn rows(m: &Mat3) -> [[f32; 4]; 3] {
    [0, 1, 2].map(|j| m.row(j).extend(0.0).to_array())
}

/// The numbers four by four, the last filled up with zeros.
fn fours(values: &[f32]) -> impl Iterator<Item = [f32; 4]> {
    values.chunks(4).map(|four| std::array::from_fn(|j| four.get(j).copied().unwrap_or(0.0)))
}
