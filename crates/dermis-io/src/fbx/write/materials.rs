//! Materials and their textures, as Blender writes them: Phong with the numbers of a rough and metallic surface in it.
//!
//! Shininess is (10 (1 − roughness))², ReflectionFactor the metalness, TransparencyFactor one minus the opacity. Images are within the
//! file. Textures of roughness, metalness and occlusion are left out: glTF packs them into channels of one image, and FBX cannot name a
//! channel.

use super::document::{Node, Properties, Raw};
use super::names::{unique, uv_set};
use super::objects::{Id, Objects};
use crate::appearance::{CLAMP, MIRROR};
use crate::skinned_scene::{Materials, Numbers, Renamed, image_ending};
use crate::{Format, WriteError};
use serde_json::Value;
use std::collections::HashMap;

impl Materials<'_> {
    /// Writes all materials and what hangs on them. Result: the object of each.
    pub(super) fn write_phong(
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
            made.push(self.phong(material, name, objects, &mut files)?);
        }
        left_out.extend(self.lost());
        Ok(made)
    }

    fn phong(
        &mut self,
        material: &Value,
        name: &str,
        objects: &mut Objects,
        files: &mut Files,
    ) -> Result<Id, WriteError> {
        let surface = &material["pbrMetallicRoughness"];
        let Numbers { base: [r, g, b, alpha], glow, strength, metallic, roughness } = Numbers::of(material);
        let shininess = (10.0 * (1.0 - roughness)).powi(2);
        let (id, record) = objects.make("Material", name, "Material", "");
        let base = self.texture_node(&surface["baseColorTexture"], objects, files)?;
        let emission = self.texture_node(&material["emissiveTexture"], objects, files)?;
        let normal = self.texture_node(&material["normalTexture"], objects, files)?;
        let bump = material["normalTexture"]["scale"].as_f64().unwrap_or(1.0);
        // A texture takes the place of the colour.
        let brightest = glow[0].max(glow[1]).max(glow[2]);
        let factor = if emission.is_some() { brightest * strength } else { strength };
        let properties = Properties::default()
            .text("ShadingModel", "phong")
            .color("DiffuseColor", [r, g, b])
            .number("DiffuseFactor", 1.0)
            .color("EmissiveColor", glow)
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
        self.lose_of(material, [base.is_some() && [r, g, b] != [1.0; 3], emission.is_some() && glow != [brightest; 3]]);
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
        self.lose_extensions(material);
    }

    /// The texture that a reference of a material names; `None` if it names none.
    fn texture_node(
        &mut self,
        reference: &Value,
        objects: &mut Objects,
        files: &mut Files,
    ) -> Result<Option<Id>, WriteError> {
        let Some(texture) = self.texture(reference) else { return Ok(None) };
        let image = texture.image;
        if texture.wrap.contains(&MIRROR) {
            self.lose("textures that are mirrored where they repeat");
        }
        let clamps = |at: usize| i32::from(texture.wrap[at] == CLAMP);
        let video = match files.videos.get(&image) {
            Some(known) => *known,
            None => self.video(image, objects, files)?,
        };
        let file = files.names[image].as_str();
        let (id, record) = objects.make("Texture", file, "Texture", "");
        let properties = Properties::default()
            .choice("AlphaSource", 2)
            .choice("CurrentMappingType", 0)
            .text("UVSet", &uv_set(texture.set))
            .choice("WrapModeU", clamps(0))
            .choice("WrapModeV", clamps(1))
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
        let given: Vec<(&'static str, &str)> =
            (0..self.images.len()).map(|at| ("texture", self.image_name(at))).collect();
        let names = unique(&given, &mut Vec::new());
        names.iter().zip(self.images).map(|(name, image)| format!("{name}.{}", image_ending(image))).collect()
    }
}

/// Images that are in the file.
struct Files {
    /// By number.
    videos: HashMap<usize, Id>,
    names: Vec<String>,
}
