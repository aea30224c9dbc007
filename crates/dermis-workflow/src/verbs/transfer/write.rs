//! The files of a transfer.

use super::{From, To, TransferRecipe};
use crate::error::Error;
use crate::output::{Output, ending};
use dermis_deform::{Deformer, RiggedDeformer};
use dermis_files::convert::write_converted;
use dermis_io::gltf::MorphNormals;
use dermis_io::{Clip, Contents, ModelFile, ModelHeader, model_file};
use dermis_rig::{Influences, Mesh, MorphTarget, Rig};
use serde_json::{Value, json};
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

pub(super) fn write(recipe: &TransferRecipe, from: &From, to: To, made: Made, output: &Output) -> Result<(), Error> {
    let skeleton = from.file.rig().skeleton().clone();
    if ending(output.path()) != "dermis" {
        let (has_shapes, skinned) = (!made.shapes.is_empty(), made.skinned);
        let contents = Contents {
            name: to.name,
            mesh: Some(made.mesh),
            weights: skinned.then_some(made.weights),
            skeleton: skinned.then_some(skeleton),
            morphs: made.shapes,
            morph_weights: if has_shapes { from.contents.morph_weights.clone() } else { vec![] },
            default_pose: from.contents.default_pose.clone().filter(|_| skinned),
            clips: if skinned { clips(from, output) } else { vec![] },
            space: to.contents.space,
            ..Contents::default()
        };
        write_converted(&contents, &to.input.file, &recipe.read, MorphNormals::Written, output)?;
        return Ok(());
    }
    let path = output.path();
    let rig = Rig::new(made.mesh, skeleton, Some(made.weights)).map_err(|e| Error::lacks(path, e.to_string(), ""))?;
    let baked = made.carried.into_baked().with_precision(from.file.baked().precision());
    let model = RiggedDeformer::new(rig.named(to.name), None, baked, from.file.training().cloned())?;
    let header = header(recipe, from, made.told)?;
    let file = ModelFile { model, space: to.contents.space, header };
    Ok(output.write_with(|out| model_file::write(&file, out))?)
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
