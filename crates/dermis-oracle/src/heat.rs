//! Weights without examples, and closest points: methods of the files `models` and `influence`.

use crate::{Answers, Array, Case, CaseError, Method};
use dermis_fit::surface::Surface;
use dermis_fit::{HeatSettings, heat_weights, silent};
use dermis_rig::{BoneVec, Mesh};

pub(crate) const BONE_HEAT: Method =
    Method { name: "bone_heat", inputs: &["P", "F", "seg_a", "seg_b"], answers: &["W"], run: bone_heat };

pub(crate) const CLOSEST_POINT: Method =
    Method { name: "closest_point", inputs: &["Q", "S", "F"], answers: &["C"], run: closest_point };

/// One segment per bone.
fn bone_heat(case: &Case) -> Result<Answers, CaseError> {
    let (_, positions) = case.array("P")?.points("P")?;
    let triangles = case.array("F")?.triangles("F", positions.len())?;
    let ((_, from), (_, to)) = (case.array("seg_a")?.points("seg_a")?, case.array("seg_b")?.points("seg_b")?);
    CaseError::unless_equal(("seg_a", from.len()), ("seg_b", to.len()))?;
    let segments = from.iter().zip(&to).map(|(a, b)| vec![[*a, *b]]).collect();
    let mesh = Mesh { positions, triangles, ..Mesh::default() };
    let settings = HeatSettings { transfer: case.number("c").unwrap_or(1.0), influences: None };
    let (weights, _) = heat_weights(&mesh, &BoneVec::new(segments), &settings, &silent).map_err(CaseError::refused)?;
    let bones = (0..from.len()).map(dermis_rig::BoneIndex::new);
    let table = (0..weights.vertices()).flat_map(|v| bones.clone().map(move |k| (v, k)));
    let mut answers = Answers::default();
    let entries = table.map(|(v, k)| weights.value(v, k)).collect();
    answers.add("W", Array::new(&[weights.vertices(), from.len()], entries));
    Ok(answers)
}

fn closest_point(case: &Case) -> Result<Answers, CaseError> {
    let (_, queries) = case.array("Q")?.points("Q")?;
    let (_, positions) = case.array("S")?.points("S")?;
    let triangles = case.array("F")?.triangles("F", positions.len())?;
    let surface = Surface::new(&positions, &triangles);
    let closest = queries.iter().map(|q| surface.closest(*q, f64::INFINITY).map(|c| c.point));
    let closest: Vec<_> = closest.collect::<Option<_>>().ok_or_else(|| CaseError::refused("there is no triangle"))?;
    let mut answers = Answers::default();
    answers.add("C", Array::from_points(&[closest.len()], &closest));
    Ok(answers)
}
