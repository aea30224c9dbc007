//! Materials and their textures, as Blender writes them: Phong with the numbers of a rough and metallic surface in it.
//!
//! Shininess is (10 (1 − roughness))², ReflectionFactor the metalness, TransparencyFactor one minus the opacity. Images are within the
//! file. Textures of roughness, metalness and occlusion are left out: glTF packs them into channels of one image, and FBX cannot name a
//! channel.

use super::document::{Node, Properties, Raw};
use super::names::{Renamed, unique, uv_set};
use super::objects::{Id, Objects};
use crate::appearance::{Description, media_type};
use crate::flaws::Flaws;
use crate::{Format, WriteError};
use dermis_rig::glam::Vec4;
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Appearance, Image};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// Materials in the making.
pub(crate) struct Materials<'a> {
    look: Description,
    images: &'a [Image],
    /// In the words of glTF: those of the file, then those that parts make.
    pub(crate) list: Vec<Value>,
    lost: BTreeMap<&'static str, usize>,
}

impl<'a> Materials<'a> {
    /// # Errors
    /// [`WriteError::CannotHold`] for an appearance that is none.
    pub(crate) fn new(appearance: Option<&'a Appearance>, format: Format) -> Result<Self, WriteError> {
        let look = match appearance {
            None => Description::default(),
            // What a reader let through stays; what a caller made up is left out as a reader would.
            Some(appearance) => Description::of(appearance, &mut Flaws::default()).map_err(|reason| {
                let what = format!("an appearance whose description is none: {reason}");
                WriteError::CannotHold { format, what }
            })?,
        };
        let images: &[Image] = appearance.map_or(&[], |appearance| &appearance.images);
        let list = look.materials.clone();
        Ok(Self { look, images, list, lost: BTreeMap::new() })
    }

    /// The number of a part's material: its own, or else one of its name and colour. In a file that came with materials, a part without
    /// one stays so.
    pub(super) fn of(&mut self, part: &RenderPart) -> Option<usize> {
        let own = part.material.map(|material| material as usize).filter(|&at| at < self.look.materials.len());
        if own.is_some() || (!self.look.materials.is_empty() && part.color == Vec4::ONE) {
            return own;
        }
        let color = part.color.to_array().map(|c| if c.is_finite() { f64::from(c.clamp(0.0, 1.0)) } else { 1.0 });
        Some(self.made(&part.name, color))
    }

    /// The number of the material that stands for none.
    pub(super) fn none(&mut self) -> usize {
        self.made("none", [1.0; 4])
    }

    fn made(&mut self, name: &str, color: [f64; 4]) -> usize {
        let surface = json!({ "baseColorFactor": color, "metallicFactor": 0.0, "roughnessFactor": 0.8 });
        let made = json!({ "name": name, "pbrMetallicRoughness": surface });
        let known = self.list.iter().skip(self.look.materials.len()).position(|known| *known == made);
        known.map_or_else(
            || {
                self.list.push(made);
                self.list.len() - 1
            },
            |at| self.look.materials.len() + at,
        )
    }

    fn lose(&mut self, what: &'static str) {
        *self.lost.entry(what).or_default() += 1;
    }

    /// Writes all materials and what hangs on them. Result: the object of each.
    pub(super) fn write(
        &mut self,
        objects: &mut Objects,
        renamed: &mut Vec<Renamed>,
        left_out: &mut Vec<String>,
    ) -> Result<Vec<Id>, WriteError> {
        let list = std::mem::take(&mut self.list);
        let given: Vec<(&'static str, &str)> =
            list.iter().map(|material| ("material", material["name"].as_str().unwrap_or_default())).collect();
        let names = unique(&given, renamed);
        let mut files = Files { videos: HashMap::new(), names: self.image_names() };
        let mut made = Vec::with_capacity(list.len());
        for (material, name) in list.iter().zip(&names) {
            made.push(self.material(material, name, objects, &mut files)?);
        }
        self.lose_the_rest();
        left_out.extend(self.lost.iter().map(|(what, count)| format!("{count} {what}")));
        Ok(made)
    }

    fn material(
        &mut self,
        material: &Value,
        name: &str,
        objects: &mut Objects,
        files: &mut Files,
    ) -> Result<Id, WriteError> {
        let surface = &material["pbrMetallicRoughness"];
        let number = |value: &Value, default: f64| value.as_f64().unwrap_or(default).clamp(0.0, 1.0);
        let numbers =
            |value: &Value, default: f64| -> [f64; 4] { std::array::from_fn(|at| number(&value[at], default)) };
        let [r, g, b, alpha] = numbers(&surface["baseColorFactor"], 1.0);
        let alpha = if material["alphaMode"] == "BLEND" || material["alphaMode"] == "MASK" { alpha } else { 1.0 };
        let glow = numbers(&material["emissiveFactor"], 0.0);
        let strength = material["extensions"]["KHR_materials_emissive_strength"]["emissiveStrength"].as_f64();
        let strength = strength.unwrap_or(1.0).max(0.0);
        let metallic = number(&surface["metallicFactor"], 1.0);
        let roughness = number(&surface["roughnessFactor"], 1.0);
        let shininess = (10.0 * (1.0 - roughness)).powi(2);
        let (id, record) = objects.make("Material", name, "Material", "");
        let base = self.texture(&surface["baseColorTexture"], objects, files)?;
        let emission = self.texture(&material["emissiveTexture"], objects, files)?;
        let normal = self.texture(&material["normalTexture"], objects, files)?;
        let bump = material["normalTexture"]["scale"].as_f64().unwrap_or(1.0);
        // A texture takes the place of the colour.
        let brightest = glow[0].max(glow[1]).max(glow[2]);
        let factor = if emission.is_some() { brightest * strength } else { strength };
        let properties = Properties::default()
            .text("ShadingModel", "phong")
            .color("DiffuseColor", [r, g, b])
            .number("DiffuseFactor", 1.0)
            .color("EmissiveColor", [glow[0], glow[1], glow[2]])
            .number("EmissiveFactor", factor)
            .color("AmbientColor", [0.0; 3])
            .number("AmbientFactor", 0.0)
            // One program takes the opacity from this colour where the factor is zero or one, another always from the factor.
            .color("TransparentColor", if alpha > 0.0 && alpha < 1.0 { [1.0; 3] } else { [1.0 - alpha; 3] })
            .number("TransparencyFactor", 1.0 - alpha)
            .number("Opacity", alpha)
            .vector("NormalMap", [0.0; 3])
            .double("BumpFactor", if bump.is_finite() { bump } else { 1.0 })
            .color("SpecularColor", [r, g, b])
            .number("SpecularFactor", 0.25)
            .number("Shininess", shininess)
            .number("ShininessExponent", shininess)
            .color("ReflectionColor", [r, g, b])
            .number("ReflectionFactor", metallic);
        let version = Node::of("Version", 102);
        let model = Node::of("ShadingModel", "phong");
        objects
            .add(record.holding(version).holding(model).holding(Node::of("MultiLayer", 0)).holding(properties.node()));
        for (texture, property) in [(base, "DiffuseColor"), (emission, "EmissiveColor"), (normal, "NormalMap")] {
            if let Some(texture) = texture {
                objects.connect_property(texture, id, property);
            }
        }
        if let Some(base) = base {
            // The alpha of the base colour.
            match material["alphaMode"].as_str() {
                Some("BLEND") => objects.connect_property(base, id, "TransparentColor"),
                Some("MASK") => objects.connect_property(base, id, "TransparencyFactor"),
                _ => {}
            }
        }
        self.lose_of(
            material,
            [base.is_some() && [r, g, b] != [1.0; 3], emission.is_some() && glow[..3] != [brightest; 3]],
        );
        Ok(id)
    }

    /// Counts what a material says and the file does not.
    fn lose_of(&mut self, material: &Value, is_tinted: [bool; 2]) {
        let surface = &material["pbrMetallicRoughness"];
        if surface["metallicRoughnessTexture"].is_object() {
            self.lose("textures of metalness and roughness");
        }
        if material["occlusionTexture"].is_object() {
            self.lose("textures of occlusion");
        }
        is_tinted.iter().filter(|tinted| **tinted).for_each(|_| self.lose("colours that tint a texture"));
        if material["alphaMode"] == "MASK" {
            self.lose("thresholds of opacity");
        }
        if material["doubleSided"] == true {
            self.lose("marks of materials as double-sided");
        }
        let known = "KHR_materials_emissive_strength";
        let more = material["extensions"].as_object().into_iter().flatten().filter(|(name, _)| *name != known);
        more.for_each(|_| self.lose("extensions of materials"));
    }

    /// Counts what the description holds beside materials.
    fn lose_the_rest(&mut self) {
        let lights = self.look.lights();
        for (what, count) in [
            ("cameras", self.look.cameras.len()),
            ("lights", lights),
            ("nodes that are neither bones nor objects", self.look.nodes.len()),
        ] {
            if count > 0 {
                self.lost.insert(what, count);
            }
        }
    }

    /// The texture that a reference of a material names; `None` if it names none.
    fn texture(
        &mut self,
        reference: &Value,
        objects: &mut Objects,
        files: &mut Files,
    ) -> Result<Option<Id>, WriteError> {
        let at = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let Some(texture) = at(&reference["index"]).and_then(|at| self.look.textures.get(at)).cloned() else {
            return Ok(None);
        };
        let of_extension = || texture["extensions"].as_object()?.values().find_map(|own| at(&own["source"]));
        let source = of_extension().or_else(|| at(&texture["source"]));
        let Some(image) = source.filter(|image| *image < self.images.len()) else { return Ok(None) };
        if reference["extensions"]["KHR_texture_transform"].is_object() {
            self.lose("moves of textures");
        }
        let sampler = at(&texture["sampler"]).and_then(|at| self.look.samplers.get(at)).cloned().unwrap_or_default();
        let wrap = |key: &str| sampler[key].as_u64().unwrap_or(10497);
        if [wrap("wrapS"), wrap("wrapT")].contains(&33648) {
            self.lose("textures that are mirrored where they repeat");
        }
        let clamps = |key: &str| i32::from(wrap(key) == 33071);
        let video = match files.videos.get(&image) {
            Some(known) => *known,
            None => self.video(image, objects, files)?,
        };
        let file = files.names[image].as_str();
        let set = at(&reference["texCoord"]).unwrap_or(0);
        let (id, record) = objects.make("Texture", file, "Texture", "");
        let properties = Properties::default()
            .choice("AlphaSource", 2)
            .choice("CurrentMappingType", 0)
            .text("UVSet", &uv_set(set))
            .choice("WrapModeU", clamps("wrapS"))
            .choice("WrapModeV", clamps("wrapT"))
            .vector("Translation", [0.0; 3])
            .vector("Scaling", [1.0; 3]);
        objects.add(
            record
                .holding(Node::of("Type", "TextureVideoClip"))
                .holding(Node::of("Version", 202))
                .holding(Node::of("TextureName", &*format!("{file}\0\u{1}Texture")))
                .holding(properties.node())
                .holding(Node::of("Media", &*format!("{file}\0\u{1}Video")))
                .holding(Node::of("FileName", file))
                .holding(Node::of("RelativeFilename", file)),
        );
        objects.connect(video, id);
        Ok(Some(id))
    }

    /// The picture of a texture.
    fn video(&mut self, image: usize, objects: &mut Objects, files: &mut Files) -> Result<Id, WriteError> {
        let (name, bytes) = (files.names[image].as_str(), self.images[image].bytes.as_slice());
        if u32::try_from(bytes.len()).is_err() {
            return Err(WriteError::CannotHold {
                format: Format::Fbx,
                what: "an image of more than four gigabytes".into(),
            });
        }
        let (id, record) = objects.make("Video", name, "Video", "Clip");
        objects.add(
            record
                .holding(Node::of("Type", "Clip"))
                .holding(Properties::default().text("Path", name).node())
                .holding(Node::of("UseMipMap", 0))
                .holding(Node::of("Filename", name))
                .holding(Node::of("RelativeFilename", name))
                .holding(Node::of("Content", Raw(bytes))),
        );
        files.videos.insert(image, id);
        Ok(id)
    }

    /// A file name for every image, each once.
    fn image_names(&self) -> Vec<String> {
        let name = |at: usize| self.look.images.get(at).and_then(|image| image["name"].as_str()).unwrap_or_default();
        let given: Vec<(&'static str, &str)> = (0..self.images.len()).map(|at| ("texture", name(at))).collect();
        let names = unique(&given, &mut Vec::new());
        let ending = |image: &Image| match media_type(&image.bytes).unwrap_or(&image.media_type) {
            "image/jpeg" => "jpg",
            "image/webp" => "webp",
            "image/ktx2" => "ktx2",
            "image/vnd-ms.dds" => "dds",
            _ => "png",
        };
        names.iter().zip(self.images).map(|(name, image)| format!("{name}.{}", ending(image))).collect()
    }
}

/// Images that are in the file.
struct Files {
    /// By number.
    videos: HashMap<usize, Id>,
    names: Vec<String>,
}
