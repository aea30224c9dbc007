//! Rotations.

use crate::{Answers, Array, Case, CaseError, Method};
use dermis_rig::glam::{DMat3, DQuat, DVec3};
use dermis_rig::rotation::{from_euler_xyz, nearest_rotation, quat_from_matrix, rotation_vector, swing_twist};
use std::f64::consts::PI;

pub(crate) const METHODS: &[Method] = &[
    Method { name: "swing_twist", inputs: &["q", "axis"], answers: &["R_swing", "R_twist"], run: split },
    Method { name: "quat_to_matrix", inputs: &["q"], answers: &["R", "q_canonical", "rotvec"], run: convert },
    Method { name: "euler_extrinsic_xyz", inputs: &["angles"], answers: &["R"], run: euler },
    Method { name: "nearest_rotation", inputs: &["A"], answers: &["R", "det_A"], run: nearest },
];

fn convert(case: &Case) -> Result<Answers, CaseError> {
    let (leading, given) = case.array("q")?.quaternions("q")?;
    let matrices: Vec<DMat3> = given.iter().map(|q| DMat3::from_quat(*q)).collect();
    let canonical = matrices.iter().map(quat_from_matrix).flat_map(|q: DQuat| [q.w, q.x, q.y, q.z]).collect();
    let vectors: Vec<DVec3> = given.iter().map(|q| rotation_vector(*q)).collect();
    let mut canonical = Array::new(&[&leading[..], &[4]].concat(), canonical);
    let mut vectors = Array::from_points(&leading, &vectors);
    // A half turn has two quaternions and two vectors: only there the other sign is as good.
    align(case, "q_canonical", &mut canonical, 4, |want| want[0].abs() < 1e-9)?;
    align(case, "rotvec", &mut vectors, 3, |want| DVec3::from_slice(want).length() > PI - 1e-9)?;
    let mut answers = Answers::default();
    answers.add("R", Array::from_matrices(&leading, &matrices));
    answers.add("q_canonical", canonical);
    answers.add("rotvec", vectors);
    Ok(answers)
}

/// Gives each row of `got` the sign of the expected one, where `either` says that both are right.
fn align(
    case: &Case,
    key: &str,
    got: &mut Array,
    row: usize,
    either: impl Fn(&[f64]) -> bool,
) -> Result<(), CaseError> {
    let Some(want) = case.expected(key)? else { return Ok(()) };
    let Some(want) = want.first().filter(|want| want.shape == got.shape) else { return Ok(()) };
    for (got, want) in got.data.chunks_exact_mut(row).zip(want.data.chunks_exact(row)) {
        let along: f64 = got.iter().zip(want).map(|(g, w)| g * w).sum();
        if either(want) && along < 0.0 {
            got.iter_mut().for_each(|g| *g = -*g);
        }
    }
    Ok(())
}

fn euler(case: &Case) -> Result<Answers, CaseError> {
    let (leading, angles) = case.array("angles")?.points("angles")?;
    let matrices: Vec<DMat3> = angles.iter().map(|a| from_euler_xyz(*a)).collect();
    let mut answers = Answers::default();
    answers.add("R", Array::from_matrices(&leading, &matrices));
    Ok(answers)
}

fn split(case: &Case) -> Result<Answers, CaseError> {
    let (leading, given) = case.array("q")?.quaternions("q")?;
    let (_, axis) = case.array("axis")?.points("axis")?;
    let [axis] = axis[..] else { return Err(CaseError::Missing { key: "axis".into() }) };
    let (swings, twists): (Vec<_>, Vec<_>) = given.iter().map(|q| swing_twist(*q, axis)).unzip();
    let matrices = |of: Vec<DQuat>| of.into_iter().map(DMat3::from_quat).collect::<Vec<_>>();
    let mut answers = Answers::default();
    answers.add("R_swing", Array::from_matrices(&leading, &matrices(swings)));
    answers.add("R_twist", Array::from_matrices(&leading, &matrices(twists)));
    Ok(answers)
}

fn nearest(case: &Case) -> Result<Answers, CaseError> {
    let (leading, given) = case.array("A")?.matrices("A")?;
    let rotations: Vec<DMat3> = given.iter().map(nearest_rotation).collect();
    let mut answers = Answers::default();
    answers.add("R", Array::from_matrices(&leading, &rotations));
    answers.add("det_A", Array::new(&leading, given.iter().map(DMat3::determinant).collect()));
    Ok(answers)
}
