//! Direct delta mush.

use crate::skinning::Skin;
use crate::{Answers, Array, Case, CaseError, Method};
use dermis_deform::smoothing::Smoothing;
use dermis_deform::{Base, DirectDeltaMush};
use dermis_rig::{BoneIndex, Mesh, Polygons};

pub(crate) const METHODS: &[Method] =
    &[Method { name: "n*", inputs: &["P", "W", "M", "faces"], answers: &["base", "weights"], run: mushed }];

fn mushed(case: &Case) -> Result<Answers, CaseError> {
    let skin = Skin::read(case, "P")?;
    let mesh = mesh_of(case, &skin)?;
    let steps = [case.count("n")? as u32];
    let smoothing = Smoothing { steps: &steps, least_weight: case.number("cut")?, ..Smoothing::default() };
    let made = DirectDeltaMush::of_smoothing(&mesh, &skin.weights, &smoothing).remove(0);
    let bones = skin.poses.first().map_or(0, |pose| pose.len());
    let weight = |v: usize, bone: usize| {
        let term = made.of(v).iter().find(|(of, _)| *of == BoneIndex::new(bone));
        term.map_or(0.0, |(_, moments)| moments.weight)
    };
    let weights = (0..skin.rest.len()).flat_map(|v| (0..bones).map(move |bone| (v, bone)));
    let weights: Vec<f64> = weights.map(|(v, bone)| weight(v, bone)).collect();
    let mut base = Base::DirectDeltaMush(made.clone());
    let posed = skin.posed(|rest, _, pose, out| base.evaluate(rest, pose, None, out));
    let mut answers = Answers::default();
    answers.add("base", posed);
    answers.add("weights", Array::new(&[skin.rest.len(), bones], weights));
    Ok(answers)
}

/// The mesh of a case, whose polygons have as many corners each.
pub(crate) fn mesh_of(case: &Case, skin: &Skin) -> Result<Mesh, CaseError> {
    let faces = case.array("faces")?;
    let corners = faces.shape.last().copied().unwrap_or(0) as u32;
    let indices: Vec<u32> = faces.integers("faces")?.into_iter().map(|corner| corner as u32).collect();
    let counts = vec![corners; indices.len() / corners.max(1) as usize];
    let mesh = Mesh { positions: skin.rest.clone(), polygons: Some(Polygons { counts, indices }), ..Mesh::default() };
    mesh.check().map_err(CaseError::refused)?;
    Ok(mesh)
}
