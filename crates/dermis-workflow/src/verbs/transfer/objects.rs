//! Clothes that are objects of the body's own mesh.

use super::error::Error;
use super::write::{Made, clips, header};
use super::{FORMATS, From, To, TransferRecipe};
use crate::error::Error as Any;
use crate::output::{Output, ending};
use dermis_deform::RiggedDeformer;
use dermis_files::convert::write_converted;
use dermis_io::gltf::MorphNormals;
use dermis_io::{Contents, ModelFile, model_file};
use dermis_rig::{Mesh, MorphTargets, Rig};
use dermis_transfer::{TransferError, joined_model, joined_weights, object_mesh, object_weights};
use serde_json::Value;
use std::ops::Range;
use std::sync::Arc;

/// The objects, and the file they are in.
pub(super) struct OwnObjects {
    whole: ModelFile,
    objects: Vec<(String, Range<usize>)>,
}

impl OwnObjects {
    /// Parts a body from the objects that a recipe names: its triangles are then those of the others. `None` if it names none.
    pub(super) fn of(recipe: &TransferRecipe, from: &mut From) -> Result<Option<Self>, Any> {
        let path = &recipe.from.file.path;
        if recipe.objects.is_empty() {
            return Ok(None);
        }
        if !recipe.to.is_empty() {
            return Err(Error::MeshesAndObjects.into());
        }
        if !FORMATS.contains(&ending(&recipe.out).as_str()) {
            return Err(Any::lacks(
                &recipe.out,
                "objects of one mesh stay in one file",
                "use .dermis, .glb, .fbx or .npz",
            ));
        }
        let places = [("map", recipe.map.is_some()), ("pairs", recipe.pairs.is_some())];
        if let Some((setting, _)) = places.into_iter().find(|(_, is_set)| *is_set) {
            return Err(crate::FileError::Unused { setting, serves: "another character" }.into());
        }
        if recipe.weights && from.has_corrections {
            return Err(crate::FileError::Unused {
                setting: "weights",
                serves: "objects of a rig: a model is fitted over its weights",
            }
            .into());
        }
        let mesh = from.file.rig().mesh();
        let is_named = |name: &str| recipe.objects.iter().any(|named| named == name);
        let all = || mesh.object_ranges().filter(|_| mesh.has_several_objects());
        if let Some(name) = recipe.objects.iter().find(|name| all().all(|(object, _)| object.name != **name)) {
            let objects = all().map(|(object, _)| object.name.clone()).collect();
            return Err(Error::NoObject { body: path.clone(), name: name.clone(), objects }.into());
        }
        let objects: Vec<(String, Range<usize>)> = all()
            .filter(|(object, _)| is_named(&object.name))
            .map(|(object, range)| (object.name.clone(), range))
            .collect();
        let is_body = |corner: u32| !objects.iter().any(|(_, range)| range.contains(&(corner as usize)));
        let skin = Mesh {
            positions: mesh.positions.clone(),
            triangles: mesh.triangles.iter().filter(|triangle| is_body(triangle[0])).copied().collect(),
            ..Mesh::default()
        };
        if skin.triangles.is_empty() {
            return Err(Error::Nothing { body: path.clone(), what: "object besides those that are named" }.into());
        }
        let rig = from.file.rig();
        let skin = Rig::new(skin, rig.skeleton().clone(), rig.weights().cloned());
        let skin = skin.map_err(|e| Any::lacks(path, e.to_string(), ""))?.named(rig.name().to_owned());
        let model = RiggedDeformer::new(skin, None, from.file.baked().clone(), from.file.training().cloned())?;
        let body = ModelFile { model, space: from.file.space.clone(), header: from.file.header.clone() };
        let whole = std::mem::replace(&mut from.file, body);
        Ok(Some(Self { whole, objects }))
    }

    /// The objects as meshes of their own.
    pub(super) fn meshes(&self, recipe: &TransferRecipe) -> Result<Vec<To>, Any> {
        let rig = self.whole.rig();
        let mesh = |(name, range): &(String, Range<usize>)| {
            let weights = rig.weights().map(|weights| object_weights(weights, range)).transpose();
            let contents = Contents {
                space: self.whole.space.clone(),
                mesh: Some(object_mesh(rig.mesh(), range)),
                skeleton: Some(rig.skeleton().clone()),
                weights: weights.map_err(|source| self.failed(recipe, source))?,
                ..Contents::default()
            };
            Ok(To { input: recipe.from.clone(), name: name.clone(), contents })
        };
        self.objects.iter().map(mesh).collect()
    }

    /// Writes the file with what was made of its objects; what it could not hold, in words.
    pub(super) fn write(
        &self,
        recipe: &TransferRecipe,
        from: &mut From,
        made: Vec<Made>,
        output: &Output,
    ) -> Result<Vec<String>, Any> {
        let told: Vec<Value> = made.iter().map(|made| made.told.clone()).collect();
        let ranges = || self.objects.iter().map(|(_, range)| range.clone());
        let failed = |source| self.failed(recipe, source);
        let mut morphs = from.morphs.clone();
        for (at, morph) in morphs.iter_mut().enumerate() {
            for (range, made) in ranges().zip(&made) {
                if let Some(shape) = made.shapes.get(at) {
                    morph.deltas[range].copy_from_slice(&shape.deltas);
                }
            }
        }
        if ending(output.path()) == "dermis" {
            let parts: Vec<_> = ranges().zip(made.into_iter().map(|made| made.carried)).collect();
            let joined = joined_model(&from.deformer, &parts).map_err(failed)?;
            let baked = joined.into_baked().with_precision(self.whole.baked().precision());
            let whole = self.whole.rig();
            let own = whole.mesh().morphs.as_ref();
            let morphs = own.map(|own| Arc::new(MorphTargets { targets: morphs, weights: own.weights.clone() }));
            let rig = whole.clone().with_morphs(morphs);
            let rig = rig.map_err(|e| Any::lacks(output.path(), e.to_string(), ""))?;
            let model = RiggedDeformer::new(rig, None, baked, self.whole.training().cloned())?;
            let header = header(recipe, from, Value::Array(told))?;
            let file = ModelFile { model, space: self.whole.space.clone(), header };
            output.write_with(|out| model_file::write(&file, out))?;
            return Ok(vec![]);
        }
        let parts: Vec<_> = ranges().zip(made.into_iter().map(|made| made.weights)).collect();
        let weights = self.whole.rig().weights().map(|whole| joined_weights(whole, &parts)).transpose();
        let contents = Contents {
            weights: weights.map_err(failed)?,
            morphs,
            clips: clips(from, output),
            ..std::mem::take(&mut from.contents)
        };
        Ok(write_converted(&contents, &recipe.from.file, &recipe.read, MorphNormals::Written, output)?.left_out)
    }

    fn failed(&self, recipe: &TransferRecipe, source: TransferError) -> Any {
        Error::Transfer { mesh: recipe.from.file.path.clone(), source }.into()
    }
}
