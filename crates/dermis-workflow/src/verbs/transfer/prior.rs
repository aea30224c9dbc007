//! What another character has learnt, on a rig: the prior of a fit.

use super::error::Error;
use super::{To, TransferRecipe, Wanted, character, poses, read};
use crate::error::Error as Any;
use crate::load::{FileNote, LoadedRig};
use crate::recipe::Input;
use dermis_deform::RiggedDeformer;
use dermis_io::{Contents, ModelFile};
use dermis_transfer::Body;
use std::path::{Path, PathBuf};

/// The model `file` on a rig, which keeps its own weights; corrections at their full size.
///
/// # Errors
/// [`Any`]: a model without corrections, a rig that is not matched with it.
pub fn carried_prior(file: ModelFile, note: FileNote, loaded: &LoadedRig) -> Result<RiggedDeformer, Any> {
    let path = PathBuf::from(&note.path);
    let rig = &loaded.rig;
    let of_rig = loaded.notes.first().map_or_else(|| PathBuf::from(rig.name()), |note| PathBuf::from(&note.path));
    let from = read::of_model(file, note)?;
    if from.deformer.corrections().is_empty() {
        return Err(Error::Nothing { body: path, what: "corrections" }.into());
    }
    let recipe = TransferRecipe::new(Input::of_path(&path), vec![], PathBuf::from("prior.dermis"));
    let contents = Contents {
        space: loaded.space.clone(),
        mesh: Some(rig.mesh().clone()),
        skeleton: Some(rig.skeleton().clone()),
        weights: rig.weights().cloned(),
        ..Contents::default()
    };
    let to = To { input: Input::of_path(&of_rig), name: rig.name().into(), contents };
    let marks = character::Marks::default();
    let wanted = Wanted { weights: false, corrections: true, shapes: false };
    let nowhere = poses::Poses::of(&[]);
    let (_, drawn, _) = match character::other(&recipe, &from, &to, &marks)? {
        Some(other) => {
            let found = Some(other.found.clone());
            recipe.carry(&other.from, (&other.body, &[]), &to, wanted, &nowhere, found)?
        }
        None => {
            let own = from.file.rig();
            if own.skeleton().names() != rig.skeleton().names() {
                return Err(Error::Unpaired { body: path, mesh: of_rig }.into());
            }
            let body = Body::new(own.mesh()).ok_or_else(|| no_triangles(&path))?;
            recipe.carry(&from, (&body, &[]), &to, wanted, &nowhere, None)?
        }
    };
    Ok(RiggedDeformer::new(rig.clone(), None, drawn.model.bake(), None)?)
}

fn no_triangles(path: &Path) -> Any {
    Any::lacks(path, "the body has no triangles", "")
}
