//! What stands in a file beside shape and motion: materials, textures, images, cameras, lights and further nodes.
//!
//! A [`Description`] is the JSON of an [`Appearance`], in the words of glTF 2.0. Materials, textures and cameras keep the
//! numbers that they had in the file, so references within an extension that nobody here knows stay right. Bones, the skinned
//! mesh and clips are written anew from the rig. Extensions that are known to refer to them do so by name ([`links`]). What else refers to one of them
//! by number, or to bytes of the file, cannot stay and is left out ([`Description::check`]).
//!
//! Source: Khronos Group, "glTF 2.0 Specification", 2.0.1, sections 3.8 to 3.12.

mod check;
mod image;
#[cfg(feature = "formats")]
mod images;
pub(crate) mod links;

pub(crate) use image::{MOST_BESIDE, media_type, texture_extension};
#[cfg(feature = "formats")]
pub(crate) use images::{Beside, CLAMP, Images, MIRROR, REPEAT};

use crate::flaws::Flaws;
use dermis_rig::{Appearance, Image};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// An object of the file as it stands.
pub(crate) type Object = Map<String, Value>;

/// The description of an [`Appearance`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Description {
    /// Materials by number.
    pub materials: Vec<Value>,
    /// Textures by number; `source` is the number of an image.
    pub textures: Vec<Value>,
    /// Samplers by number.
    pub samplers: Vec<Value>,
    /// Name and extras of every image of the appearance.
    pub images: Vec<Value>,
    /// Cameras by number.
    pub cameras: Vec<Value>,
    /// Nodes other than bones and meshes; `children` are numbers of this list.
    pub nodes: Vec<Value>,
    /// Where the nodes hang that are nobody's child.
    pub hung: Vec<Hung>,
    /// Extras, extensions and cameras of bones, by the bone's name.
    pub bones: BTreeMap<String, Object>,
    /// Extras and extensions of the mesh's node.
    pub mesh_node: Object,
    /// Extras of the mesh.
    pub mesh: Object,
    /// The same of each of several objects, by the object's name; objects of one name one after the other.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub objects: BTreeMap<String, Vec<Worn>>,
    /// What variants of materials say of each part of the drawn mesh.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Variants>,
    /// Extras and extensions of the scene.
    pub scene: Object,
    /// Copyright, extras and extensions of the asset.
    pub asset: Object,
    /// Extras and extensions of the whole file.
    pub root: Object,
    /// Extensions without which the file must not be read.
    pub required: Vec<String>,
}

/// What the node and the mesh of one of several objects carry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Worn {
    /// Extras and extensions of its node.
    pub node: Object,
    /// Extras of its mesh.
    pub mesh: Object,
}

/// What variants of materials say of a part of the drawn mesh.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Variants {
    /// The material of the part: of another mesh it is another.
    pub material: Option<u32>,
    /// The content of the extension; null if it says nothing of the part.
    pub extension: Value,
}

/// Where a node hangs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hung {
    /// The bone it is a child of; the scene itself if it is none.
    pub bone: Option<String>,
    /// The node.
    pub node: u32,
}

/// How much of a kind of thing an appearance holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppearanceCounts {
    /// Materials.
    pub materials: usize,
    /// Textures.
    pub textures: usize,
    /// Images.
    pub images: usize,
    /// Cameras.
    pub cameras: usize,
    /// Lights.
    pub lights: usize,
    /// Nodes other than bones and meshes.
    pub nodes: usize,
}

/// Returns how many things of each kind `appearance` holds; zeros if its description is none.
pub fn appearance_counts(appearance: &Appearance) -> AppearanceCounts {
    let Ok(d) = serde_json::from_slice::<Description>(appearance.description.as_bytes()) else {
        return AppearanceCounts::default();
    };
    AppearanceCounts {
        materials: d.materials.len(),
        textures: d.textures.len(),
        images: appearance.images.len(),
        cameras: d.cameras.len(),
        lights: d.lights(),
        nodes: d.nodes.len(),
    }
}

/// Returns the names of the extensions of `appearance` that name bones, meshes or morph targets, such as `VRMC_vrm`: a GLB alone holds them.
pub fn linked_extensions(appearance: &Appearance) -> Vec<String> {
    let described = serde_json::from_slice::<Description>(appearance.description.as_bytes());
    let names = described.map(|described| described.extensions()).unwrap_or_default();
    names.into_iter().filter(|name| links::is_linked(name)).collect()
}

/// Returns the picture that a material shows as its base colour, by the first set of texture coordinates.
///
/// Returns none if the material has no such picture, moves it by an extension, or if the appearance is no description.
pub fn base_colour_image(appearance: &Appearance, material: u32) -> Option<&Image> {
    let described: Description = serde_json::from_slice(appearance.description.as_bytes()).ok()?;
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let material = described.materials.get(material as usize)?;
    let texture = material.get("pbrMetallicRoughness")?.get("baseColorTexture")?;
    if texture.get("texCoord").is_some_and(|set| set != 0) || texture.get("extensions").is_some() {
        return None;
    }
    let source = described.textures.get(number(texture.get("index")?)?)?.get("source")?;
    appearance.images.get(number(source)?)
}

impl Description {
    /// The description of `appearance`, checked: whatever its text says, the result can be written.
    ///
    /// # Errors
    /// Why the text is no description.
    pub(crate) fn of(appearance: &Appearance, flaws: &mut Flaws) -> Result<Self, String> {
        let mut made: Self = serde_json::from_slice(appearance.description.as_bytes()).map_err(|e| e.to_string())?;
        made.images.resize(appearance.images.len(), Value::Null);
        made.check(flaws);
        Ok(made)
    }

    /// Whether there is nothing to carry.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self { images: Vec::new(), ..Self::default() } && self.images.is_empty()
    }

    /// The description as text.
    pub(crate) fn text(&self) -> String {
        // JSON values and lists of them always have a text.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Number of lights that nodes may name.
    pub(crate) fn lights(&self) -> usize {
        let lights = self.root.get("extensions").and_then(|all| all.get(LIGHTS)).and_then(|own| own.get("lights"));
        lights.and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// Names of the extensions in use.
    pub(crate) fn extensions(&self) -> Vec<String> {
        let mut names = Vec::new();
        let lists = [&self.materials, &self.textures, &self.samplers, &self.images, &self.cameras, &self.nodes];
        lists.into_iter().flatten().for_each(|value| extensions_in(value, &mut names));
        let objects = [&self.mesh_node, &self.mesh, &self.scene, &self.asset, &self.root];
        let worn = self.objects.values().flatten().map(|worn| &worn.node);
        for object in objects.into_iter().chain(self.bones.values()).chain(worn) {
            extensions_of(object, &mut names);
        }
        names.extend(self.parts.iter().any(|part| part.extension.is_object()).then(|| links::VARIANTS.to_owned()));
        names.sort();
        names.dedup();
        names
    }
}

/// The extension of lights that shine on everything: its nodes name lights of the whole file by number.
pub(crate) const LIGHTS: &str = "KHR_lights_punctual";

/// Adds the names of the extensions in `value`. Extras are the user's own and hold none.
pub(crate) fn extensions_in(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(object) => extensions_of(object, names),
        Value::Array(list) => list.iter().for_each(|value| extensions_in(value, names)),
        _ => {}
    }
}

fn extensions_of(object: &Object, names: &mut Vec<String>) {
    for (key, value) in object.iter().filter(|(key, _)| *key != "extras") {
        if let (true, Value::Object(own)) = (key == "extensions", value) {
            names.extend(own.keys().cloned());
        }
        extensions_in(value, names);
    }
}
