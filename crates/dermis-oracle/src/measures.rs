//! Volume of a bent and twisted tube, error measures.

use crate::{Answers, Array, Case, CaseError, Method};
use dermis_deform::{DualQuaternions, lbs};
use dermis_measure::{Artefact, ErrorAccumulator, Movement, Tube, ring_radius_ratio, volume};
use dermis_rig::glam::DVec3;

pub(crate) const METHODS: &[Method] = &[
    Method { name: "volume", inputs: &["angles"], answers: &["ratios_*", "volume0"], run: tube },
    Method {
        name: "metrics",
        inputs: &["X", "Y"],
        answers: &["e_rms", "distortion_percent", "max", "rms", "p95"],
        run: errors,
    },
];

fn tube(case: &Case) -> Result<Answers, CaseError> {
    let given = case.array("angles")?;
    let angles = &given.data;
    let tube = Tube {
        radius: case.number("radius")?,
        length: case.number("length").unwrap_or(2.0),
        rings: case.count("rings")?,
        segments: case.count("segments")?,
        half_width: case.number("half_width")?,
    };
    let rest = tube.mesh().map_err(CaseError::refused)?;
    let mut answers = Answers::default();
    answers.add("volume0", Array::scalar(volume(&rest.triangles, &rest.positions)));
    for key in case.expected_keys() {
        // The name lists the columns: ratios_lbsbend_dqsbend_lbstwist_dqstwist.
        let Some(names) = key.strip_prefix("ratios_") else { continue };
        let columns = names.split('_').map(|name| column(&tube, name, angles)).collect::<Result<Vec<_>, _>>()?;
        let table = (0..angles.len()).flat_map(|at| columns.iter().map(move |column| column[at].volume_ratio));
        answers.add(key, Array::new(&[angles.len(), columns.len()], table.collect()));
    }
    let weights = tube.weights(&rest.positions).map_err(CaseError::refused)?;
    let mut posed = rest.positions.clone();
    let mut middle = Vec::new();
    for &angle in angles {
        lbs(&rest.positions, &weights, &tube.transforms(Movement::Twist, angle), &mut posed);
        let ratio = ring_radius_ratio(tube.ring(tube.rings / 2), &rest.positions, &posed);
        middle.push(ratio.unwrap_or(f64::NAN));
    }
    answers.add("mid_radius_twist_lbs", Array::new(&[angles.len()], middle));
    Ok(answers)
}

fn column(tube: &Tube, name: &str, angles: &[f64]) -> Result<Vec<Artefact>, CaseError> {
    let unknown = || CaseError::Malformed { key: name.into(), reason: "is no known column".into() };
    let movement = match name {
        _ if name.ends_with("bend") => Movement::Bend,
        _ if name.ends_with("twist") => Movement::Twist,
        _ => return Err(unknown()),
    };
    let measured = match name {
        _ if name.starts_with("lbs") => tube.artefacts(movement, angles, lbs),
        _ if name.starts_with("dqs") => {
            let mut blend = DualQuaternions::with_pivots(tube.joints());
            tube.artefacts(movement, angles, |rest, weights, pose, out| {
                blend.prepare(pose);
                blend.deform(rest, weights, out);
            })
        }
        _ => return Err(unknown()),
    };
    measured.map_err(CaseError::refused)
}

/// `e_rms` with factor 100 and the whole diagonal D, `max` over D; D is 1 if the case has none.
fn errors(case: &Case) -> Result<Answers, CaseError> {
    let (shape, targets) = case.array("X")?.points("X")?;
    let (predicted_shape, predictions) = case.array("Y")?.points("Y")?;
    let [_, vertices] = shape[..] else { return Err(CaseError::Missing { key: "X".into() }) };
    if shape != predicted_shape {
        return Err(CaseError::Shape { key: "Y".into(), found: predicted_shape, wanted: shape });
    }
    let diagonal = case.number("D").or_else(|_| case.number("diagonal")).unwrap_or(1.0);
    let mut errors = ErrorAccumulator::new(vertices, diagonal);
    let frames = |of: &[DVec3]| of.chunks(vertices.max(1)).map(<[DVec3]>::to_vec).collect::<Vec<_>>();
    for (target, prediction) in frames(&targets).iter().zip(&frames(&predictions)) {
        errors.add_frame("", target, prediction).map_err(CaseError::refused)?;
    }
    let Some(report) = errors.finish() else { return Err(CaseError::Missing { key: "X".into() }) };
    let mut answers = Answers::default();
    let percent_of_diagonal = report.error.e_rms.map_or(f64::NAN, |thousandths| thousandths / 20.0);
    answers.add("e_rms", Array::scalar(percent_of_diagonal));
    answers.add("distortion_percent", Array::scalar(report.error.distortion_percent.unwrap_or(f64::NAN)));
    answers.add("max", Array::scalar(report.error.max / diagonal));
    answers.add("rms", Array::scalar(report.error.rms));
    answers.add("p95", Array::scalar(report.error.p95 / diagonal));
    Ok(answers)
}
