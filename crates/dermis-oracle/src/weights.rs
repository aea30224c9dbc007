//! Skinning weights from examples.
//!
//! `affine_min_norm` of `rest_only` is not answered: its bones differ by rounding alone, and the expected numbers are what that rounding gives.

use crate::{Answers, Array, Case, CaseError, Method};
use dermis_fit::weights::{Choice, WeightKind, WeightReport, WeightSettings};
use dermis_fit::{BasePoses, Training, fit_weights, silent};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{Example, Influences, Mesh, Skeleton};

pub(crate) const METHODS: &[Method] = &[
    Method { name: "smooth", inputs: &["P", "M", "X", "F", "alpha"], answers: &["W"], run: smooth },
    Method { name: "exact_data", inputs: &["P", "M", "X"], answers: &["plain*", "affine*", "convex*"], run: separate },
];

/// Inputs of a fit.
struct Inputs {
    skeleton: Skeleton,
    mesh: Mesh,
    examples: Vec<Example>,
}

fn inputs(case: &Case) -> Result<Inputs, CaseError> {
    let (_, positions) = case.array("P")?.points("P")?;
    let (_, poses) = case.array("M")?.poses("M")?;
    let (_, targets) = case.array("X")?.points("X")?;
    CaseError::unless_equal(("positions of P and M", positions.len() * poses.len()), ("X", targets.len()))?;
    let triangles = match case.has("F") {
        true => triangles(case, positions.len())?,
        false => vec![],
    };
    let bones = poses.first().map_or(0, |pose| pose.len());
    let names = (0..bones).map(|b| b.to_string()).collect();
    let skeleton =
        Skeleton::new(names, vec![None; bones], vec![DAffine3::IDENTITY; bones]).map_err(CaseError::refused)?;
    let skins = targets.chunks_exact(positions.len().max(1)).map(<[DVec3]>::to_vec);
    let examples = poses.into_iter().zip(skins).map(|(transforms, positions)| Example {
        label: String::new(),
        time: None,
        transforms,
        positions,
        importance: 1.0,
        local: None,
    });
    let examples = examples.collect();
    Ok(Inputs { skeleton, mesh: Mesh { positions, triangles, ..Mesh::default() }, examples })
}

/// The triangles of a case, whose corners exist.
pub(crate) fn triangles(case: &Case, vertices: usize) -> Result<Vec<[u32; 3]>, CaseError> {
    let corners = case.array("F")?.integers("F")?;
    if corners.iter().any(|&c| c < 0 || c as usize >= vertices) {
        return Err(CaseError::Malformed { key: "F".into(), reason: "names a vertex that does not exist".into() });
    }
    Ok(corners.chunks_exact(3).map(|t| [t[0] as u32, t[1] as u32, t[2] as u32]).collect())
}

/// A fit with lengths as they are and without a ridge.
fn fit(inputs: &Inputs, settings: &WeightSettings) -> Result<(Influences, WeightReport), CaseError> {
    let Inputs { skeleton, mesh, examples } = inputs;
    let training = Training { skeleton, rest: &mesh.positions, length: 1.0, examples, base: BasePoses::NONE };
    let settings = WeightSettings { ridge: 0.0, choice: Choice::Smallest, ..settings.clone() };
    fit_weights(&training, &mesh.neighbours(), &settings, &silent).map_err(CaseError::refused)
}

fn separate(case: &Case) -> Result<Answers, CaseError> {
    let inputs = inputs(case)?;
    let bones = inputs.skeleton.len();
    let mut answers = Answers::default();
    for (keys, kind, influences) in [
        (&["plain", "plain_min_norm"][..], WeightKind::Plain, None),
        (&["affine"], WeightKind::Affine, None),
        (&["convex", "true"], WeightKind::Convex, None),
        (&["convex_top2"], WeightKind::Convex, Some(2)),
    ] {
        if case.expected_keys().any(|expected| keys.contains(&expected)) {
            let settings = WeightSettings { kind, influences, ..WeightSettings::default() };
            let (weights, _) = fit(&inputs, &settings)?;
            keys.iter().for_each(|key| answers.add(*key, Array::from_influences(&weights, bones)));
        }
    }
    Ok(answers)
}

fn smooth(case: &Case) -> Result<Answers, CaseError> {
    let inputs = inputs(case)?;
    let smoothness = case.number("alpha")? / inputs.examples.len().max(1) as f64;
    let settings = WeightSettings { smoothness, influences: None, ..WeightSettings::default() };
    let (weights, report) = fit(&inputs, &settings)?;
    let mut answers = Answers::default();
    answers.add("W", Array::from_influences(&weights, inputs.skeleton.len()));
    answers.add("objective", Array::scalar(report.objective));
    Ok(answers)
}
