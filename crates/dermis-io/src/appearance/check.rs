//! Makes a description safe to write: every reference leads somewhere, every node has one place.

use super::links::{Place, To};
use super::{Description, Hung, LIGHTS, Object, links};
use crate::contents::Flaw;
use crate::flaws::{Flaws, short};
use serde_json::{Value, json};

impl Description {
    /// Leaves out what cannot be written, and counts it: references that lead nowhere ([`Flaw::Reference`]), extensions that
    /// refer to parts of the file that are written anew ([`Flaw::Extension`]).
    pub(crate) fn check(&mut self, flaws: &mut Flaws) {
        for value in
            self.images.iter_mut().chain(&mut self.samplers).chain(&mut self.textures).chain(&mut self.materials)
        {
            if !value.is_object() {
                *value = json!({});
            }
        }
        for image in self.images.iter_mut().filter_map(Value::as_object_mut) {
            image.retain(|key, _| ["name", "extras", "extensions"].contains(&key.as_str()));
            own_extensions(image, "an image", flaws);
        }
        for sampler in self.samplers.iter_mut().filter_map(Value::as_object_mut) {
            own_extensions(sampler, "a sampler", flaws);
        }
        self.check_textures(flaws);
        self.check_cameras(flaws);
        let usable: Vec<bool> = self.textures.iter().map(has_image).collect();
        for (at, material) in self.materials.iter_mut().enumerate() {
            let name = material.get("name").and_then(Value::as_str).map_or_else(|| format!("material {at}"), short);
            keep_extensions(material, &name, flaws);
            keep_textures(material, &usable, &name, flaws);
        }
        let several = self.objects.values_mut().flatten().flat_map(|worn| {
            [
                (&mut worn.node, "an object's node", &["extras", "extensions"][..]),
                (&mut worn.mesh, "an object", &["extras"]),
            ]
        });
        for (object, what, keys) in several.chain([
            (&mut self.mesh_node, "the mesh's node", &["extras", "extensions"][..]),
            (&mut self.mesh, "the mesh", &["extras"]),
            (&mut self.scene, "the scene", &["extras", "extensions"]),
            (&mut self.asset, "the asset", &["copyright", "extras", "extensions"]),
            (&mut self.root, "the file", &["extras", "extensions"]),
        ]) {
            object.retain(|key, _| keys.contains(&key.as_str()));
            own_extensions(object, what, flaws);
        }
        if self.asset.get("copyright").is_some_and(|text| !text.is_string()) {
            self.asset.remove("copyright");
        }
        let (cameras, lights) = (self.cameras.len(), self.lights());
        for (name, object) in &mut self.bones {
            object.retain(|key, _| ["camera", "extras", "extensions"].contains(&key.as_str()));
            check_node(object, name, cameras, lights, flaws);
        }
        self.bones.retain(|_, object| !object.is_empty());
        self.check_nodes(flaws);
        self.parts.iter_mut().for_each(|part| drop(part.extension.as_object_mut().map(|own| own.remove("extensions"))));
        self.required.sort();
        self.required.dedup();
    }

    fn check_textures(&mut self, flaws: &mut Flaws) {
        let (images, samplers) = (self.images.len(), self.samplers.len());
        for (at, texture) in self.textures.iter_mut().enumerate() {
            let Some(texture) = texture.as_object_mut() else { continue };
            number(texture, "source", images, || format!("texture {at}"), flaws);
            number(texture, "sampler", samplers, || format!("texture {at}"), flaws);
            // An extension of a texture names another form of the picture, or nothing.
            if let Some(own) = texture.get_mut("extensions").and_then(Value::as_object_mut) {
                own.retain(|name, extension| {
                    let Some(object) = extension.as_object_mut() else { return false };
                    let had = object.contains_key("source");
                    number(object, "source", images, || format!("texture {at}"), flaws);
                    let lost = had && !object.contains_key("source"); // counted as it went
                    let refers = object.iter().any(|(key, value)| key != "source" && refers_by(key, value));
                    if refers && !lost {
                        flaws.add(Flaw::Extension, || short(name));
                    }
                    !lost && !refers
                });
            }
            drop_empty_extensions(texture);
        }
    }

    fn check_cameras(&mut self, flaws: &mut Flaws) {
        let good = |camera: &Value| {
            let kind = camera.get("type").and_then(Value::as_str).unwrap_or_default();
            ["perspective", "orthographic"].contains(&kind) && camera.get(kind).is_some_and(Value::is_object)
        };
        let mut place = Vec::with_capacity(self.cameras.len());
        let mut kept = 0;
        for (at, camera) in self.cameras.iter().enumerate() {
            let stays = good(camera);
            place.push(stays.then_some(kept));
            kept += usize::from(stays);
            if !stays {
                flaws.add(Flaw::Reference, || format!("camera {at}"));
            }
        }
        if kept == self.cameras.len() {
            self.cameras.iter_mut().filter_map(Value::as_object_mut).for_each(|c| own_extensions(c, "a camera", flaws));
            return;
        }
        self.cameras.retain(good);
        self.cameras.iter_mut().filter_map(Value::as_object_mut).for_each(|c| own_extensions(c, "a camera", flaws));
        let nodes = self.nodes.iter_mut().filter_map(Value::as_object_mut);
        for object in nodes.chain(self.bones.values_mut()) {
            let Some(camera) = object.get("camera").and_then(Value::as_u64) else { continue };
            match place.get(camera as usize).copied().flatten() {
                Some(camera) => object.insert("camera".into(), json!(camera)),
                None => object.remove("camera"),
            };
        }
    }

    /// Leaves nodes that hang in one place each: in a tree below a bone or the scene.
    fn check_nodes(&mut self, flaws: &mut Flaws) {
        const KEYS: &[&str] =
            &["name", "translation", "rotation", "scale", "matrix", "camera", "children", "extras", "extensions"];
        let (cameras, lights, count) = (self.cameras.len(), self.lights(), self.nodes.len());
        for (at, node) in self.nodes.iter_mut().enumerate() {
            if !node.is_object() {
                *node = json!({});
            }
            let Some(node) = node.as_object_mut() else { continue };
            node.retain(|key, _| KEYS.contains(&key.as_str()));
            for (key, numbers) in [("translation", 3), ("rotation", 4), ("scale", 3), ("matrix", 16)] {
                let good = |value: &Value| {
                    let list = value.as_array().filter(|list| list.len() == numbers);
                    list.is_some_and(|list| list.iter().all(|x| x.as_f64().is_some_and(f64::is_finite)))
                };
                if node.get(key).is_some_and(|value| !good(value)) {
                    node.remove(key);
                    flaws.add(Flaw::Reference, || format!("{key} of node {at}"));
                }
            }
            if node.contains_key("matrix") {
                node.retain(|key, _| !["translation", "rotation", "scale"].contains(&key.as_str()));
            }
            check_node(node, &format!("node {at}"), cameras, lights, flaws);
        }
        // Each node once: the first that claims it has it, if a root leads there.
        let mut claimed = vec![false; count];
        let mut hung: Vec<Hung> = std::mem::take(&mut self.hung);
        hung.retain(|one| {
            let free = claimed.get(one.node as usize) == Some(&false);
            match free {
                true => claimed[one.node as usize] = true,
                false => flaws.add(Flaw::Reference, || format!("node {}", one.node)),
            }
            free
        });
        let mut open: Vec<usize> = hung.iter().map(|one| one.node as usize).collect();
        while let Some(at) = open.pop() {
            let Some(node) = self.nodes[at].as_object_mut() else { continue };
            let Some(children) = node.remove("children") else { continue };
            let mut kept = Vec::new();
            for child in children.as_array().into_iter().flatten() {
                let child = child.as_u64().and_then(|child| usize::try_from(child).ok());
                match child.filter(|&child| claimed.get(child) == Some(&false)) {
                    Some(child) => {
                        claimed[child] = true;
                        kept.push(child);
                    }
                    None => flaws.add(Flaw::Reference, || format!("a child of node {at}")),
                }
            }
            open.extend(&kept);
            if !kept.is_empty() {
                node.insert("children".into(), json!(kept));
            }
        }
        flaws.many(Flaw::Reference, claimed.iter().filter(|claimed| !**claimed).count(), || "a node".into());
        let mut next = 0;
        let place: Vec<usize> = claimed
            .iter()
            .map(|&claimed| {
                next += usize::from(claimed);
                next.saturating_sub(1)
            })
            .collect();
        let mut at = 0;
        self.nodes.retain(|_| {
            at += 1;
            claimed[at - 1]
        });
        for children in self.nodes.iter_mut().filter_map(|node| node.get_mut("children")?.as_array_mut()) {
            for child in children {
                *child = json!(place[child.as_u64().unwrap_or(0) as usize]); // in range: checked above
            }
        }
        hung.iter_mut().for_each(|one| one.node = place[one.node as usize] as u32);
        self.hung = hung;
        if claimed.contains(&false) {
            self.follow(&mut |_, value| {
                let node = match value.as_str().and_then(Place::of) {
                    Some(Place::Node(node)) => node as usize,
                    _ => return true,
                };
                let stays = claimed.get(node) == Some(&true);
                if stays {
                    *value = json!(Place::Node(place[node] as u32).text());
                }
                stays
            });
        }
    }

    /// [`links::follow`] through all extensions that are known; what must be left out is.
    pub(crate) fn follow(&mut self, see: &mut dyn FnMut(To, &mut Value) -> bool) {
        let worn = self.objects.values_mut().flatten().map(|worn| &mut worn.node);
        let nodes = self.nodes.iter_mut().filter_map(Value::as_object_mut);
        let objects = [&mut self.root, &mut self.scene, &mut self.mesh_node];
        for object in objects.into_iter().chain(worn).chain(nodes).chain(self.bones.values_mut()) {
            if let Some(own) = object.get_mut("extensions").and_then(Value::as_object_mut) {
                own.retain(|name, extension| !links::follow(name, extension, see).all);
            }
            drop_empty_extensions(object);
        }
    }
}

/// Whether a texture has a picture in some form.
fn has_image(texture: &Value) -> bool {
    let extensions = texture.get("extensions").and_then(Value::as_object);
    texture.get("source").is_some() || extensions.is_some_and(|own| own.values().any(|e| e.get("source").is_some()))
}

/// Removes `key` unless it is a number below `limit`.
fn number(object: &mut Object, key: &str, limit: usize, what: impl FnOnce() -> String, flaws: &mut Flaws) {
    let Some(value) = object.get(key) else { return };
    if value.as_u64().is_none_or(|number| number >= limit as u64) {
        object.remove(key);
        flaws.add(Flaw::Reference, what);
    }
}

/// Camera and extensions of a node.
fn check_node(node: &mut Object, name: &str, cameras: usize, lights: usize, flaws: &mut Flaws) {
    if node.get("name").is_some_and(|name| !name.is_string()) {
        node.remove("name");
    }
    number(node, "camera", cameras, || short(name), flaws);
    let mut light = None;
    if let Some(own) = node.get_mut("extensions").and_then(Value::as_object_mut) {
        light = own.remove(LIGHTS).and_then(|own| own.get("light")?.as_u64());
        if light.is_some_and(|light| light >= lights as u64) {
            light = None;
            flaws.add(Flaw::Reference, || format!("the light of {}", short(name)));
        }
    }
    own_extensions(node, name, flaws);
    if let Some(light) = light {
        let own = node.entry("extensions").or_insert_with(|| json!({}));
        own[LIGHTS] = json!({ "light": light });
    }
}

/// Leaves the extensions of `object` that refer to nothing that is written anew, and no empty list of them.
fn own_extensions(object: &mut Object, what: &str, flaws: &mut Flaws) {
    if let Some(extensions) = object.get_mut("extensions") {
        match extensions.as_object_mut() {
            Some(own) => own.retain(|name, extension| {
                let stays = extension.is_object() && !refers(name, extension);
                if stays && links::is_linked(name) {
                    keep_extensions(extension, what, flaws);
                }
                if !stays {
                    flaws.add(Flaw::Extension, || format!("{} of {}", short(name), short(what)));
                }
                stays
            }),
            None => *extensions = json!({}),
        }
    }
    drop_empty_extensions(object);
}

fn drop_empty_extensions(object: &mut Object) {
    if object.get("extensions").is_some_and(|own| own.as_object().is_none_or(Object::is_empty)) {
        object.remove("extensions");
    }
}

/// [`own_extensions`] of a material and of everything in it but extras.
fn keep_extensions(value: &mut Value, material: &str, flaws: &mut Flaws) {
    let Some(object) = value.as_object_mut() else { return };
    if object.contains_key("extensions") {
        own_extensions(object, material, flaws);
    }
    for (_, inner) in object.iter_mut().filter(|(key, _)| *key != "extras" && *key != "extensions") {
        keep_extensions(inner, material, flaws);
    }
}

/// Removes references to textures without a picture, in a material and its extensions. A texture is named by an object with
/// an `index`, under a key that ends with "Texture".
fn keep_textures(value: &mut Value, usable: &[bool], material: &str, flaws: &mut Flaws) {
    match value {
        Value::Object(object) => {
            object.retain(|key, inner| {
                let index = is_texture(key).then(|| inner.get("index")).flatten();
                let bad = index
                    .is_some_and(|at| at.as_u64().and_then(|at| usable.get(usize::try_from(at).ok()?)) != Some(&true));
                if bad {
                    flaws.add(Flaw::Reference, || format!("{} of \"{material}\"", short(key)));
                }
                !bad
            });
            for (_, inner) in object.iter_mut().filter(|(key, _)| *key != "extras") {
                keep_textures(inner, usable, material, flaws);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| keep_textures(inner, usable, material, flaws)),
        _ => {}
    }
}

/// Whether a key of a material or an extension holds a reference to a texture.
fn is_texture(key: &str) -> bool {
    key.ends_with("Texture") || key == "texture"
}

/// Extensions whose numbers refer to parts that are written anew, though no key says so.
const WRITTEN_ANEW: &[&str] = &["MSFT_lod", "EXT_mesh_gpu_instancing"];

/// Whether all that an extension names is written anew: clips and their channels, for drafts that are not kept by name.
fn is_written_anew(name: &str) -> bool {
    WRITTEN_ANEW.contains(&name) || (links::is_draft(name) && !links::is_linked(name))
}

/// Words in a key under which a number is a reference to a part of the file.
const PARTS: &[&str] = &[
    "accessor",
    "buffer",
    "node",
    "mesh",
    "skin",
    "joint",
    "bone",
    "animation",
    "scene",
    "camera",
    "image",
    "light",
    "primitive",
    "attribute",
    "collider",
    "shape",
];

/// Whether an extension may refer to parts of the file that are written anew, or to its bytes.
///
/// Nobody knows every extension. A number under a key such as `node` or `bufferView`, under `index` or `source` outside a
/// reference to a texture, and a text that points into the file count as references.
fn refers(name: &str, extension: &Value) -> bool {
    // Lists of lights are named by nodes, and name nothing. Links are names already.
    name != LIGHTS && !links::is_known(name) && (is_written_anew(name) || refers_within(extension, false))
}

fn refers_by(key: &str, value: &Value) -> bool {
    let lower = key.to_ascii_lowercase();
    let part =
        PARTS.iter().any(|part| lower.contains(part)) || ["index", "indices", "source", "ids"].contains(&&*lower);
    (part && has_number(value)) || refers_within(value, is_texture(key))
}

/// `texture`: the value is a reference to a texture, whose own number is in order.
fn refers_within(value: &Value, texture: bool) -> bool {
    match value {
        Value::Object(object) => {
            object.iter().any(|(key, value)| !(texture && key == "index") && key != "extras" && refers_by(key, value))
        }
        Value::Array(list) => list.iter().any(|value| refers_within(value, false)),
        Value::String(text) => {
            ["/nodes/", "/meshes/", "/accessors/", "/bufferViews/", "/animations/", "/skins/", "/scenes/", "/images/"]
                .iter()
                .any(|start| text.starts_with(start))
        }
        _ => false,
    }
}

/// Whether a value is, or lists, numbers that could count something. A fraction counts nothing.
fn has_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_u64(),
        Value::Array(list) => list.iter().any(has_number),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(description: Value) -> (Description, Flaws) {
        let (mut made, mut flaws) = (serde_json::from_value::<Description>(description).unwrap(), Flaws::default());
        made.check(&mut flaws);
        (made, flaws)
    }

    fn count(flaws: &Flaws, flaw: Flaw) -> usize {
        flaws.warnings.iter().filter(|w| w.flaw == flaw).map(|w| w.count).sum()
    }

    #[test]
    fn references_that_lead_nowhere_are_left_out_and_counted() {
        let (made, flaws) = checked(json!({
            "images": [{}],
            "samplers": [{}],
            "textures": [{ "source": 0, "sampler": 0 }, { "source": 1 }, { "source": 0, "sampler": 9 }, 7],
            "materials": [{
                "normalTexture": { "index": 1 },
                "emissiveTexture": { "index": "x" },
                "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } },
                "extensions": { "ACME_paint": { "coatTexture": { "index": 4 }, "depth": 2 } },
            }],
        }));
        let expected = json!({
            "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } },
            "extensions": { "ACME_paint": { "depth": 2 } },
        });
        assert_eq!(made.materials, [expected]);
        assert_eq!(made.textures, [json!({ "source": 0, "sampler": 0 }), json!({}), json!({ "source": 0 }), json!({})]);
        assert_eq!(count(&flaws, Flaw::Reference), 5);
    }

    #[test]
    fn extensions_stay_unless_they_refer_to_what_is_written_anew() {
        let (made, flaws) = checked(json!({
            "root": { "extensions": {
                "ACME_mood": { "mood": 3, "tags": ["a"] },
                "ACME_bones": { "humanoid": { "humanBones": [{ "bone": "hips", "node": 4 }] } },
                "ACME_bytes": { "deep": [{ "bufferView": 1 }] },
                "MSFT_lod": { "ids": [1] },
                "ACME_pointer": { "target": "/nodes/3/rotation" },
                "KHR_lights_punctual": { "lights": [{ "type": "point" }] },
            } },
            "nodes": [{ "extensions": { "KHR_lights_punctual": { "light": 0 } } }, { "extensions": { "KHR_lights_punctual": { "light": 1 } } }],
            "hung": [{ "bone": null, "node": 0 }, { "bone": "hand", "node": 1 }],
        }));
        let kept: Vec<&String> = made.root["extensions"].as_object().unwrap().keys().collect();
        assert_eq!(kept, ["ACME_mood", "KHR_lights_punctual"]);
        assert_eq!(count(&flaws, Flaw::Extension), 4);
        assert_eq!(count(&flaws, Flaw::Reference), 1, "there is no light 1");
        assert_eq!(made.nodes, [json!({ "extensions": { "KHR_lights_punctual": { "light": 0 } } }), json!({})]);
        assert_eq!(made.extensions(), ["ACME_mood", "KHR_lights_punctual"]);
    }

    /// 0 ← 1, 2 ↔ 3 a circle, 4 claimed twice, 5 nowhere.
    #[test]
    fn every_node_hangs_in_one_place() {
        let (made, _) = checked(json!({
            "nodes": [
                { "name": "a", "children": [1, 4, 99] }, { "name": "b", "children": [0, 4] }, { "children": [3] },
                { "children": [2] }, { "name": "e" }, { "name": "f", "matrix": [1, 2] },
            ],
            "hung": [{ "bone": null, "node": 0 }, { "bone": null, "node": 0 }, { "bone": "x", "node": 77 }],
        }));
        assert_eq!(
            made.nodes,
            [json!({ "name": "a", "children": [1, 2] }), json!({ "name": "b" }), json!({ "name": "e" })]
        );
        assert_eq!(made.hung, [Hung { bone: None, node: 0 }]);
    }

    #[test]
    fn cameras_without_a_lens_are_left_out_with_their_numbers() {
        let lens = json!({ "type": "perspective", "perspective": { "yfov": 1.0, "znear": 0.1 } });
        let (made, _) = checked(json!({
            "cameras": [{}, lens],
            "nodes": [{ "camera": 0 }, { "camera": 1 }],
            "hung": [{ "bone": null, "node": 0 }, { "bone": null, "node": 1 }],
            "bones": { "head": { "camera": 1, "name": "no" }, "hand": { "camera": 0 } },
        }));
        assert_eq!(made.cameras, [lens]);
        assert_eq!(made.nodes, [json!({}), json!({ "camera": 0 })]);
        assert_eq!(made.bones.len(), 1);
        assert_eq!(made.bones["head"], json!({ "camera": 0 }).as_object().unwrap().clone());
    }
}
