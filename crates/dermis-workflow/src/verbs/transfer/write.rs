//! The files of a transfer.

use super::{From, To, TransferRecipe};
use crate::error::Error;
use crate::output::{Output, ending};
use dermis_deform::{Deformer, RiggedDeformer};
use dermis_files::convert::write_converted;
use dermis_io::gltf::MorphNormals;
use dermis_io::{Clip, Contents, ModelFile, ModelHeader, model_file};
use dermis_rig::{Influences, Mesh, MorphTarget, MorphTargets, Rig};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// What is written of a mesh.
pub(super) struct Made {
    pub mesh: Mesh,
    pub weights: Influences,
    /// Whether a file other than a model has weights and skeleton.
    pub skinned: bool,
    /// The model on the mesh.
    pub carried: Deformer,
    pub shapes: Vec<MorphTarget>,
    /// What is told of it.
    pub told: Value,
}

/// Writes the file of a mesh; what it could not hold, in words.
pub(super) fn write(
    recipe: &TransferRecipe,
    from: &From,
    to: To,
    made: Made,
    output: &Output,
) -> Result<Vec<String>, Error> {
    let skeleton = from.file.rig().skeleton().clone();
    let morphs = with_own(made.shapes, &from.contents.morph_weights, &made.mesh);
    if ending(output.path()) != "dermis" {
        let skinned = made.skinned;
        let contents = Contents {
            name: to.name,
            mesh: Some(made.mesh),
            weights: skinned.then_some(made.weights),
            skeleton: skinned.then_some(skeleton),
            morphs: morphs.targets,
            morph_weights: morphs.weights,
            default_pose: from.contents.default_pose.clone().filter(|_| skinned),
            clips: if skinned { clips(from, output) } else { vec![] },
            space: to.contents.space,
            ..Contents::default()
        };
        let normals = MorphNormals::Written;
        return Ok(write_converted(&contents, &to.input.file, &recipe.read, normals, output)?.left_out);
    }
    let path = output.path();
    let mesh = Mesh { morphs: Some(Arc::new(morphs)).filter(|morphs| !morphs.targets.is_empty()), ..made.mesh };
    let rig = Rig::new(mesh, skeleton, Some(made.weights)).map_err(|e| Error::lacks(path, e.to_string(), ""))?;
    let baked = made.carried.into_baked().with_precision(from.file.baked().precision());
    let model = RiggedDeformer::new(rig.named(to.name), None, baked, from.file.training().cloned())?;
    let header = header(recipe, from, made.told)?;
    let file = ModelFile { model, space: to.contents.space, header };
    output.write_with(|out| model_file::write(&file, out))?;
    Ok(vec![])
}

/// The body's morph targets on a mesh, and behind them those that the mesh came with. Where two have one name, the body's stands.
///
/// - `weights`: of the body's, empty if all are zero
fn with_own(shapes: Vec<MorphTarget>, weights: &[f64], mesh: &Mesh) -> MorphTargets {
    let weight = |weights: &[f64], at: usize| weights.get(at).copied().unwrap_or(0.0);
    let mut made = MorphTargets { weights: (0..shapes.len()).map(|at| weight(weights, at)).collect(), targets: shapes };
    let carried: HashSet<String> = made.targets.iter().map(|target| target.name.clone()).collect();
    for (at, target) in mesh.morph_targets().iter().enumerate().filter(|(_, target)| !carried.contains(&target.name)) {
        made.targets.push(target.clone());
        made.weights.push(weight(mesh.morph_weights(), at));
    }
    if made.weights.iter().all(|weight| *weight == 0.0) {
        made.weights.clear();
    }
    made
}

/// The header of a carried model: that of the body, and where it is from.
pub(super) fn header(recipe: &TransferRecipe, from: &From, told: Value) -> Result<ModelHeader, Error> {
    let mut body = recipe.from.clone();
    body.stamp(std::slice::from_ref(&from.note))?;
    let name = body.file.path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(ModelHeader {
        report: json!({"transferred": {
            "from": {"file": name, "sha256": body.sha256},
            "influences": recipe.influences,
            "stiff_islands": recipe.stiff_islands,
            "falloff": recipe.falloff,
            "mesh": told,
        }}),
        program: crate::PROGRAM.into(),
        recipe: None,
        evidence: None,
        chains: Vec::new(),
        ..from.file.header.clone()
    })
}

/// The clips of a body for a file that holds them.
pub(super) fn clips(from: &From, output: &Output) -> Vec<Clip> {
    from.clips.iter().filter(|_| ending(output.path()) != "npz").map(again).collect()
}

/// A clip once more.
fn again(clip: &Arc<Clip>) -> Clip {
    let own = Arc::clone(clip);
    Clip {
        name: clip.name.clone(),
        duration: clip.duration,
        start: clip.start,
        key_times: clip.key_times.clone(),
        curves: clip.curves.clone(),
        sample: Box::new(move |time| (own.sample)(time)),
    }
}
