//! Materials, textures, images, cameras, lights and further nodes, with numbers that fit what is written around them.

use super::tables::Tables;
use crate::appearance::{Description, Object, Worn, extensions_in, media_type};
use crate::flaws::Flaws;
use crate::{Format, WriteError};
use dermis_rig::{Appearance, Image, Mesh};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The checked description of an appearance; an empty one if there is none.
pub(super) fn description(appearance: Option<&Appearance>) -> Result<Description, WriteError> {
    let Some(appearance) = appearance else { return Ok(Description::default()) };
    // What a reader let through stays; what a caller made up is left out as a reader would.
    Description::of(appearance, &mut Flaws::default()).map_err(|reason| WriteError::CannotHold {
        format: Format::Gltf,
        what: format!("an appearance whose description is none: {reason}"),
    })
}

impl Tables {
    /// Images with their bytes, textures and samplers.
    pub(super) fn textures(&mut self, look: &Description, images: &[Image], root: &mut Object) {
        let mut list = Vec::new();
        for (said, image) in look.images.iter().zip(images) {
            let view = self.view(&image.bytes);
            let mut made = said.as_object().cloned().unwrap_or_default();
            made.insert("bufferView".into(), json!(view));
            let media_type = media_type(&image.bytes).unwrap_or(image.media_type.as_str());
            made.insert("mimeType".into(), json!(media_type));
            list.push(Value::Object(made));
        }
        for (name, list) in [
            ("images", list),
            ("textures", look.textures.clone()),
            ("samplers", look.samplers.clone()),
            ("cameras", look.cameras.clone()),
        ] {
            if !list.is_empty() {
                root.insert(name.into(), Value::Array(list));
            }
        }
    }
}

/// Adds what bones carry and the nodes that are neither bones nor meshes; each hangs on its bone, or else joins `roots`.
///
/// - `bones`: the number of each by its name
pub(super) fn add_nodes(
    look: &Description,
    bones: &HashMap<&str, usize>,
    nodes: &mut Vec<Value>,
    roots: &mut Vec<usize>,
) {
    for (name, carried) in &look.bones {
        if let Some(&bone) = bones.get(name.as_str()) {
            carried.iter().for_each(|(key, value)| nodes[bone][key.as_str()] = value.clone());
        }
    }
    let first = nodes.len();
    for node in &look.nodes {
        let mut node = node.clone();
        for child in node.get_mut("children").and_then(Value::as_array_mut).into_iter().flatten() {
            *child = json!(child.as_u64().unwrap_or(0) + first as u64);
        }
        nodes.push(node);
    }
    for hung in &look.hung {
        let node = first + hung.node as usize;
        match hung.bone.as_deref().and_then(|name| bones.get(name)) {
            Some(&bone) => match nodes[bone]["children"].as_array_mut() {
                Some(children) => children.push(json!(node)),
                None => nodes[bone]["children"] = json!([node]),
            },
            None => roots.push(node),
        }
    }
}

/// What one of several objects carries.
pub(super) fn worn<'a>(look: &'a Description, mesh: &Mesh, number: usize) -> Option<&'a Worn> {
    let name = &mesh.objects.get(number)?.name;
    let list = look.objects.get(name)?;
    let before = mesh.objects[..number].iter().filter(|object| object.name == *name).count();
    list.get(before)
}

/// The object with more keys; keys that it has stay, and extensions are joined.
pub(super) fn join(object: &mut Value, more: &Object) {
    for (key, value) in more {
        match (key.as_str(), object.get_mut(key.as_str())) {
            ("extensions" | "extras", Some(Value::Object(own))) => {
                let more = value.as_object().into_iter().flatten();
                more.for_each(|(key, value)| {
                    own.entry(key).or_insert_with(|| value.clone());
                });
            }
            (_, Some(_)) => {}
            (_, None) => object[key.as_str()] = value.clone(),
        }
    }
}

/// Names the extensions that the file uses, and those without which it must not be read.
pub(super) fn name_extensions(root: &mut Map<String, Value>, required: &[String]) {
    let mut names = Vec::new();
    root.values().for_each(|value| extensions_in(value, &mut names));
    names.extend(root.get("extensions").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.clone()));
    names.sort();
    names.dedup();
    let needed: Vec<&String> = required.iter().filter(|name| names.contains(name)).collect();
    for (key, list) in [("extensionsUsed", json!(names)), ("extensionsRequired", json!(needed))] {
        if list != json!([]) {
            root.insert(key.into(), list);
        }
    }
}
