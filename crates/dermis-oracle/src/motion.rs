//! Rotational regression of one triangle, and secondary motion.

use crate::{Answers, Array, Case, CaseError, Method};
use dermis_deform::secondary::{Secondary, SecondarySettings, Spring};
use dermis_fit::rotational_regression::proportional_rotation;
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::rotation::from_rotation_vector;

pub(crate) const ROTATION_REGRESSION: Method = Method {
    name: "rotation_regression",
    inputs: &["bone", "triangle"],
    answers: &["scale", "W", "R_pred"],
    run: rotation_regression,
};
pub(crate) const SPRING: Method =
    Method { name: "spring", inputs: &["o", "v"], answers: &["zeta_0.1", "zeta_1.0", "zeta_1.7"], run: spring };
pub(crate) const SECONDARY: Method = Method {
    name: "secondary",
    inputs: &["base", "gain"],
    answers: &["out", "out_clamped", "out_gravity"],
    run: secondary,
};

fn rotation_regression(case: &Case) -> Result<Answers, CaseError> {
    let (_, joint) = case.array("bone")?.points("bone")?;
    let (_, triangle) = case.array("triangle")?.points("triangle")?;
    CaseError::unless_equal(("bone", joint.len()), ("triangle", triangle.len()))?;
    let (c, w) = proportional_rotation(joint.iter().zip(&triangle).map(|(j, t)| (*j, *t, 1.0)), 0.0);
    let predicted: Vec<_> = joint.iter().map(|j| DMat3::from_quat(from_rotation_vector(w * *j * c))).collect();
    let mut answers = Answers::default();
    answers.add("scale", Array::new(&[], vec![c]));
    answers.add("W", Array::from_matrices(&[], &[w]));
    answers.add("R_pred", Array::from_matrices(&[predicted.len()], &predicted));
    Ok(answers)
}

fn spring(case: &Case) -> Result<Answers, CaseError> {
    let (offsets, speeds) = (case.array("o")?, case.array("v")?);
    let (dt, omega) = (case.number("dt")?, case.number("omega")?);
    CaseError::unless_equal(("o", offsets.data.len()), ("v", speeds.data.len()))?;
    let mut answers = Answers::default();
    for key in SPRING.answers {
        let zeta = key.trim_start_matches("zeta_").parse().map_err(CaseError::refused)?;
        let m = Spring::of_omega(omega, zeta).map_err(CaseError::refused)?.step(dt);
        let row = |i: usize| offsets.data.iter().zip(&speeds.data).map(move |(o, v)| m[i][0] * o + m[i][1] * v);
        answers.add(*key, Array::new(&[2, offsets.data.len()], row(0).chain(row(1)).collect()));
    }
    Ok(answers)
}

fn secondary(case: &Case) -> Result<Answers, CaseError> {
    let (shape, base) = case.array("base")?.points("base")?;
    let gain = case.array("gain")?.data;
    CaseError::unless_equal(("vertices", shape.last().copied().unwrap_or(0)), ("gain", gain.len()))?;
    let (dt, limit) = (case.number("dt")?, case.number("max_offset")?);
    let spring = Spring::of_omega(case.number("omega")?, case.number("zeta")?).map_err(CaseError::refused)?;
    let pull: Vec<f64> = match case.param("gravity").and_then(|g| g.as_array()) {
        Some(list) => list.iter().filter_map(serde_json::Value::as_f64).collect(),
        None => vec![0.0; 3],
    };
    CaseError::unless_equal(("gravity", pull.len()), ("axes", 3))?;
    let mut answers = Answers::default();
    for (key, gravity, limit) in [
        ("out", DVec3::ZERO, None),
        ("out_clamped", DVec3::ZERO, Some(limit)),
        ("out_gravity", DVec3::from_slice(&pull), None),
    ] {
        let settings = SecondarySettings { spring, gravity, limit };
        let (mut state, mut all) = (Secondary::new(settings, gain.clone()).map_err(CaseError::refused)?, base.clone());
        for frame in all.chunks_exact_mut(gain.len().max(1)) {
            state.apply(dt, frame).map_err(CaseError::refused)?;
        }
        answers.add(key, Array::from_points(&shape, &all));
    }
    Ok(answers)
}
