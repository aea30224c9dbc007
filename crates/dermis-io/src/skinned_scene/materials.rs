//! The materials of a scene, in the words of glTF: those of its file, and those that colours of parts make.

use crate::appearance::{Description, REPEAT, media_type};
use crate::flaws::Flaws;
use crate::{Format, WriteError};
use dermis_rig::glam::Vec4;
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Appearance, Image};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The numbers of a material that every format has, within their ranges.
pub(crate) struct Numbers {
    /// Colour, and opacity where it counts.
    pub(crate) base: [f64; 4],
    /// Emitted light.
    pub(crate) glow: [f64; 3],
    /// What that is multiplied with.
    pub(crate) strength: f64,
    pub(crate) metallic: f64,
    pub(crate) roughness: f64,
}

impl Numbers {
    pub(crate) fn of(material: &Value) -> Self {
        let surface = &material["pbrMetallicRoughness"];
        let number = |value: &Value, default: f64| value.as_f64().unwrap_or(default).clamp(0.0, 1.0);
        let color = &surface["baseColorFactor"];
        let [r, g, b, alpha] = std::array::from_fn(|at| number(&color[at], 1.0));
        let counts = material["alphaMode"] == "BLEND" || material["alphaMode"] == "MASK";
        let strength = material["extensions"][STRENGTH]["emissiveStrength"].as_f64();
        Self {
            base: [r, g, b, if counts { alpha } else { 1.0 }],
            glow: std::array::from_fn(|at| number(&material["emissiveFactor"][at], 0.0)),
            strength: strength.unwrap_or(1.0).max(0.0),
            metallic: number(&surface["metallicFactor"], 1.0),
            roughness: number(&surface["roughnessFactor"], 1.0),
        }
    }
}

/// The extension that [`Numbers`] knows.
const STRENGTH: &str = "KHR_materials_emissive_strength";

/// A picture that a material names.
pub(crate) struct Texture {
    /// The number of the image.
    pub(crate) image: usize,
    /// The set of texture coordinates.
    pub(crate) set: usize,
    /// What happens beyond the picture's edges, from left to right and from bottom to top: numbers of OpenGL.
    pub(crate) wrap: [u64; 2],
}

/// The ending of an image's file.
pub(crate) fn image_ending(image: &Image) -> &'static str {
    match media_type(&image.bytes).unwrap_or(&image.media_type) {
        "image/jpeg" => "jpg",
        "image/webp" => "webp",
        "image/ktx2" => "ktx2",
        "image/vnd-ms.dds" => "dds",
        _ => "png",
    }
}

/// Materials in the making.
pub(crate) struct Materials<'a> {
    look: Description,
    pub(crate) images: &'a [Image],
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
    pub(crate) fn of(&mut self, part: &RenderPart) -> Option<usize> {
        let own = part.material.map(|material| material as usize).filter(|&at| at < self.look.materials.len());
        if own.is_some() || (!self.look.materials.is_empty() && part.color == Vec4::ONE) {
            return own;
        }
        let color = part.color.to_array().map(|c| if c.is_finite() { f64::from(c.clamp(0.0, 1.0)) } else { 1.0 });
        Some(self.made(&part.name, color))
    }

    /// The number of the material that stands for none.
    pub(crate) fn none(&mut self) -> usize {
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

    pub(crate) fn lose(&mut self, what: &'static str) {
        *self.lost.entry(what).or_default() += 1;
    }

    /// The texture that a reference of a material names; `None` if it names none.
    pub(crate) fn texture(&mut self, reference: &Value) -> Option<Texture> {
        let at = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let texture = at(&reference["index"]).and_then(|at| self.look.textures.get(at))?;
        let of_extension = || texture["extensions"].as_object()?.values().find_map(|own| at(&own["source"]));
        let source = of_extension().or_else(|| at(&texture["source"]));
        let image = source.filter(|image| *image < self.images.len())?;
        let sampler = at(&texture["sampler"]).and_then(|at| self.look.samplers.get(at)).unwrap_or(&Value::Null);
        let wrap = ["wrapS", "wrapT"].map(|key| sampler[key].as_u64().unwrap_or(REPEAT));
        if reference["extensions"]["KHR_texture_transform"].is_object() {
            self.lose("moves of textures");
        }
        Some(Texture { image, set: at(&reference["texCoord"]).unwrap_or(0), wrap })
    }

    /// The name that the file gives an image.
    pub(crate) fn image_name(&self, image: usize) -> &str {
        self.look.images.get(image).and_then(|image| image["name"].as_str()).unwrap_or_default()
    }

    /// Counts the extensions of a material that no writer knows.
    pub(crate) fn lose_extensions(&mut self, material: &Value) {
        let more = material["extensions"].as_object().into_iter().flatten().filter(|(name, _)| *name != STRENGTH);
        more.for_each(|_| self.lose("extensions of materials"));
    }

    /// Says what was not written: what was counted, and what the description holds beside materials.
    pub(crate) fn lost(&mut self) -> Vec<String> {
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
        self.lost.iter().map(|(what, count)| format!("{count} {what}")).collect()
    }
}
