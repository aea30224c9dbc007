//! The body and the meshes of a transfer, read.

use super::error::Error;
use super::{From, To, name_of};
use crate::error::Error as Any;
use crate::load::{FileNote, ReadOptions, kind_of, load_model, load_rig_with_clips, read_contents};
use crate::recipe::Input;
use dermis_deform::{Base, Deformer, RiggedDeformer};
use dermis_io::{Contents, Flaw, Format, ModelFile, Space};
use dermis_rig::{BoneIndex, Influences, Rig};
use std::path::Path;
use std::sync::Arc;

pub(super) fn body(input: &Input) -> Result<From, Any> {
    let path = &input.file.path;
    if kind_of(path) == Some(Format::Model) {
        let (file, note) = load_model(path)?;
        return of_model(file, note);
    }
    let (loaded, _) = load_rig_with_clips(path)?;
    let (mut contents, mut note) = read_contents(path, &Space::default())?;
    note.role = "body".into();
    let weights = loaded.rig.weights().cloned();
    let Some(weights) = weights else {
        return Err(Error::Nothing { body: path.clone(), what: "skinning weights" }.into());
    };
    let deformer = Deformer::new(loaded.rig.mesh().positions.clone(), Base::Lbs(weights), None);
    let deformer = deformer.map_err(|e| Any::lacks(path, e.to_string(), ""))?;
    let model = RiggedDeformer::new(loaded.rig, None, deformer.bake(), None)?;
    let header = dermis_io::ModelHeader { method: "lbs".into(), program: crate::PROGRAM.into(), ..Default::default() };
    let file = ModelFile { model, space: contents.space.clone(), header };
    let clips = std::mem::take(&mut contents.clips).into_iter().map(Arc::new).collect();
    let morphs = std::mem::take(&mut contents.morphs);
    Ok(From { file, deformer, has_corrections: false, morphs, contents, clips, note })
}

/// A model as a body.
pub(super) fn of_model(file: ModelFile, note: FileNote) -> Result<From, Any> {
    let deformer = file.baked().widened().map_err(|e| Any::lacks(Path::new(&note.path), e.to_string(), ""))?;
    let mesh = file.rig().mesh();
    let (morphs, morph_weights) = (mesh.morph_targets().to_vec(), mesh.morph_weights().to_vec());
    let contents = Contents { space: file.space.clone(), morph_weights, ..Contents::default() };
    let has_corrections =
        !deformer.corrections().is_empty() || !matches!(deformer.base(), Base::Lbs(_) | Base::Rigid(_));
    Ok(From { file, deformer, has_corrections, morphs, contents, clips: vec![], note })
}

pub(super) fn mesh(input: &Input, space: &Space, read: &ReadOptions) -> Result<(To, FileNote), Any> {
    let path = &input.file.path;
    let (contents, mut note) = match kind_of(path) {
        Some(Format::Model) => {
            let (file, note) = load_model(path)?;
            let rig = file.rig();
            let contents = Contents {
                space: file.space.clone(),
                mesh: Some(rig.mesh().clone()),
                skeleton: Some(rig.skeleton().clone()),
                weights: rig.weights().cloned(),
                ..Contents::default()
            };
            (contents, note)
        }
        _ => {
            let stated = read.space_of(path, space);
            let (mut contents, mut note) = read_contents(path, &stated)?;
            input.file.select(&mut contents)?;
            // A bundle that states neither axes nor unit has those of the body.
            if contents.warnings.iter().any(|warning| warning.flaw == Flaw::UnknownSpace) {
                let to_ours = stated.to_ours();
                for p in contents.mesh.iter_mut().flat_map(|mesh| &mut mesh.positions) {
                    *p = to_ours.transform_point3(*p);
                }
                contents.space = stated;
                let assumed = Flaw::UnknownSpace.to_string();
                note.remarks.retain(|remark| !remark.contains(&assumed));
                note.needs.space = true;
            }
            (contents, note)
        }
    };
    note.role = "mesh".into();
    Ok((To { input: input.clone(), name: name_of(path), contents }, note))
}

/// Weights that the mesh's file has for the body's bones.
pub(super) fn own_weights(contents: &Contents, rig: &Rig, path: &Path) -> Result<Option<Influences>, Any> {
    let (Some(weights), Some(skeleton)) = (&contents.weights, &contents.skeleton) else { return Ok(None) };
    let places: Vec<Option<BoneIndex>> = skeleton.names().iter().map(|name| rig.skeleton().find(name)).collect();
    let mut used: Vec<BoneIndex> = weights.rows().flatten().map(|(bone, _)| *bone).collect();
    used.sort_unstable();
    used.dedup();
    let unknown: Vec<BoneIndex> = used.iter().copied().filter(|bone| places[bone.get()].is_none()).collect();
    match unknown.first() {
        // Not one bone in common: weights of something else.
        Some(_) if unknown.len() == used.len() => Ok(None),
        Some(&first) => Err(Error::OtherSkeleton {
            mesh: path.to_path_buf(),
            count: unknown.len(),
            first: skeleton.names()[first].clone(),
        }
        .into()),
        None => {
            let places: Vec<usize> = places.iter().map(|place| place.map_or(0, BoneIndex::get)).collect();
            Ok(Some(weights.with_bones(&places)))
        }
    }
}
