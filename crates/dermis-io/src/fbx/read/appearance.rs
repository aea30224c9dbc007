//! Materials and file textures of a scene, in the words of glTF.

use crate::appearance::{Beside, CLAMP, Description, Images, REPEAT};
use crate::contents::{Flaw, Resolve};
use crate::corners::MOST_UVS;
use crate::flaws::{Flaws, short};
use dermis_rig::Appearance;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use ufbx::{Material, MaterialMap, SceneRoot, ShaderType, Texture, WrapMode};

/// Every material of the scene by its number, with the textures that glTF has a place for: base colour, normals, emission,
/// occlusion, and opacity where it is the alpha of the base colour. Others are counted ([`Flaw::Material`]).
///
/// A texture's file is taken from the scene if it is embedded, else looked for beside it: under its relative path, under its
/// name alone, in `textures/` and in `STEM.fbm/`, never outside the folder.
pub(super) fn read(scene: &SceneRoot, name: &str, resolve: &Resolve<'_>, flaws: &mut Flaws) -> Option<Appearance> {
    if scene.materials.is_empty() {
        return None;
    }
    let mut files = Files {
        images: Images::default(),
        beside: Beside::new(name, resolve),
        is_ours: scene.metadata.creator.starts_with("Dermis "),
        sets: HashMap::new(),
        known: HashMap::new(),
        made: Description::default(),
    };
    for (at, set) in scene.meshes.iter().flat_map(|mesh| mesh.uv_sets.iter().take(MOST_UVS).enumerate()) {
        files.sets.entry(set.name.to_string()).or_insert(at);
    }
    for material in &scene.materials {
        let material = files.material(material, flaws);
        files.made.materials.push(material);
    }
    Some(files.images.with(files.made))
}

/// Textures as they are met.
struct Files<'a> {
    images: Images,
    beside: Beside<'a>,
    /// Whether this crate wrote the file, whose Phong materials say how rough, metallic and opaque they are.
    is_ours: bool,
    /// Number of each set of texture coordinates in the first mesh that has one of its name.
    sets: HashMap<String, usize>,
    /// Number of each texture met, by its number in the scene; `None` for one without a picture.
    known: HashMap<u32, Option<usize>>,
    made: Description,
}

impl Files<'_> {
    fn material(&mut self, material: &Material, flaws: &mut Flaws) -> Value {
        let name = short(&material.element.name);
        let (pbr, fbx) = (&material.pbr, &material.fbx);
        let legacy =
            matches!(material.shader_type, ShaderType::Unknown | ShaderType::FbxLambert | ShaderType::FbxPhong);
        let mut taken: Vec<u32> = Vec::new();
        let mut map = |files: &mut Self, map: &MaterialMap, flaws: &mut Flaws| -> Option<Map<String, Value>> {
            let texture = map.texture.as_ref().filter(|_| map.texture_enabled)?;
            taken.push(texture.element.typed_id);
            files.reference(texture, flaws)
        };
        let base = map(self, &pbr.base_color, flaws);
        let normal = map(self, &pbr.normal_map, flaws);
        let emission = map(self, &pbr.emission_color, flaws);
        let occlusion = map(self, &pbr.ambient_occlusion, flaws);
        // A texture takes the place of the colour.
        let factor = unit(&pbr.base_factor).unwrap_or(1.0);
        let [r, g, b] = if base.is_some() { [1.0; 3] } else { color(&pbr.base_color).map(|c| c * factor) };
        let opacity = [&pbr.opacity, &fbx.transparency_color, &fbx.transparency_factor];
        let alpha_of_base = opacity.iter().filter_map(|map| map.texture.as_ref()).any(|texture| {
            let same = pbr.base_color.texture.as_ref().is_some_and(|base| same_file(base, texture));
            if same {
                taken.push(texture.element.typed_id);
            }
            same
        });
        // None at all is what exporters write that mean the opposite.
        let opacity = match self.is_ours {
            true => unit(&fbx.transparency_factor).map(|clear| 1.0 - clear),
            false => unit(&pbr.opacity),
        };
        let alpha = opacity.filter(|alpha| *alpha > 0.0).unwrap_or(1.0);
        let metalness = if self.is_ours { &fbx.reflection_factor } else { &pbr.metalness };
        let metallic = if legacy && !self.is_ours { 0.0 } else { unit(metalness).unwrap_or(0.0) };
        let roughness = unit(&pbr.roughness).unwrap_or(0.8);
        let mut surface = json!({
            "baseColorFactor": [r, g, b, alpha], "metallicFactor": metallic, "roughnessFactor": roughness,
        });
        if let Some(base) = &base {
            surface["baseColorTexture"] = json!(base);
        }
        let mut made = json!({ "name": name, "pbrMetallicRoughness": surface });
        let strength = unit(&pbr.emission_factor).unwrap_or(1.0);
        let glow = if emission.is_some() { [strength; 3] } else { color(&pbr.emission_color).map(|c| c * strength) };
        if pbr.emission_color.has_value && glow != [0.0; 3] || emission.is_some() {
            made["emissiveFactor"] = json!(glow);
        }
        for (key, texture) in
            [("normalTexture", normal), ("emissiveTexture", emission), ("occlusionTexture", occlusion)]
        {
            if let Some(texture) = texture {
                made[key] = json!(texture);
            }
        }
        if alpha < 1.0 || (alpha_of_base && base.is_some()) {
            made["alphaMode"] = json!("BLEND");
        }
        if material.features.double_sided.enabled {
            made["doubleSided"] = json!(true);
        }
        for other in material.textures.iter().filter(|other| !taken.contains(&other.texture.element.typed_id)) {
            flaws.add(Flaw::Material, || format!("the {:.50} texture of \"{name}\"", &*other.material_prop));
        }
        made
    }

    /// A reference to a texture; `None` if it has no picture.
    fn reference(&mut self, texture: &Texture, flaws: &mut Flaws) -> Option<Map<String, Value>> {
        let id = texture.element.typed_id;
        let number = match self.known.get(&id) {
            Some(&known) => known,
            None => {
                let made = self.texture(texture, flaws);
                self.known.insert(id, made);
                made
            }
        }?;
        let mut made = Map::from_iter([("index".to_owned(), json!(number))]);
        if let Some(set @ 1..) = self.sets.get(&*texture.uv_set) {
            made.insert("texCoord".into(), json!(set));
        }
        Some(made)
    }

    fn texture(&mut self, texture: &Texture, flaws: &mut Flaws) -> Option<usize> {
        // A layered or computed texture is shown as the first file in it.
        let file = if texture.has_file { texture } else { texture.file_textures.iter().next()? };
        if texture.has_uv_transform {
            flaws.add(Flaw::Material, || format!("the move of texture \"{}\"", short(&texture.element.name)));
        }
        let image = match self.image(file) {
            Ok(image) => image,
            Err(reason) => {
                flaws.add(Flaw::Image, || reason);
                return None;
            }
        };
        let wrap = |mode: WrapMode| match mode {
            WrapMode::Repeat => REPEAT,
            WrapMode::Clamp => CLAMP,
        };
        Some(self.images.texture(image, [wrap(texture.wrap_u), wrap(texture.wrap_v)], &mut self.made))
    }

    /// The image of a file texture; the same bytes are one image.
    fn image(&mut self, texture: &Texture) -> Result<usize, String> {
        let embedded = [Some(&texture.content), texture.video.as_ref().map(|video| &video.content)];
        let content = embedded.into_iter().flatten().find(|content| !content.is_empty());
        let bytes = match content {
            Some(content) => content.to_vec(),
            None => self.beside.read(&[&texture.relative_filename, &texture.filename, &texture.absolute_filename])?,
        };
        self.images.add(bytes, &texture.filename)
    }
}

/// Whether two textures show one file.
fn same_file(a: &Texture, b: &Texture) -> bool {
    a.element.typed_id == b.element.typed_id || (a.has_file && b.has_file && a.file_index == b.file_index)
}

/// A number in 0..1, if there is one.
fn unit(map: &MaterialMap) -> Option<f64> {
    Some(map.value_vec4.x).filter(|x| map.has_value && x.is_finite()).map(|x| x.clamp(0.0, 1.0))
}

/// A colour with components in 0..1; white if there is none.
fn color(map: &MaterialMap) -> [f64; 3] {
    let v = &map.value_vec4;
    [v.x, v.y, v.z].map(|x| if map.has_value && x.is_finite() { x.clamp(0.0, 1.0) } else { 1.0 })
}
