//! Materials of UsdPreviewSurface, in the words of glTF.
//!
//! Source: "UsdPreviewSurface Specification", 2.6. A texture of one channel keeps its place where glTF has one for that channel.

use super::files::{Files, within};
use super::layer::Target;
use super::stage::Stage;
use crate::appearance::{CLAMP, Description, Images, MIRROR, REPEAT};
use crate::contents::{Flaw, ReadError};
use crate::flaws::{Flaws, short};
use dermis_rig::Appearance;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Connections that are followed from an input to what feeds it.
const LONGEST: usize = 32;

/// Materials as they are met.
pub(super) struct Materials<'s> {
    stage: &'s Stage<'s, 's>,
    files: &'s Files<'s>,
    /// Number of each material prim.
    numbers: HashMap<usize, u32>,
    images: Images,
    /// The picture of each file; `None` if it cannot be read.
    by_path: HashMap<String, Option<usize>>,
    /// Number of each texture by picture and wrapping.
    textures: Vec<(usize, [u64; 2])>,
    made: Description,
    /// Names of sets of texture coordinates in their order.
    sets: Vec<String>,
}

/// What feeds an input: a value, or a channel of a texture.
enum Fed {
    Value(Vec<f64>),
    Texture(Texture),
}

struct Texture {
    /// "rgb", "r", "g", "b" or "a".
    channel: String,
    image: usize,
    reference: Map<String, Value>,
    scale: [f64; 4],
}

impl<'s> Materials<'s> {
    /// - `sets`: names of the mesh's sets of texture coordinates
    pub fn new(stage: &'s Stage<'s, 's>, files: &'s Files<'s>, sets: Vec<String>) -> Self {
        Self {
            stage,
            files,
            numbers: HashMap::new(),
            images: Images::default(),
            by_path: HashMap::new(),
            textures: Vec::new(),
            made: Description::default(),
            sets,
        }
    }

    /// All that were met; `None` if none was.
    pub fn finish(self) -> Option<Appearance> {
        (!self.made.materials.is_empty()).then(|| self.images.with(self.made))
    }

    pub fn name(&self, number: u32) -> String {
        self.made.materials[number as usize]["name"].as_str().unwrap_or_default().to_owned()
    }

    /// The material bound to a prim or to one above it.
    pub fn bound(&mut self, prim: usize, flaws: &mut Flaws) -> Result<Option<u32>, ReadError> {
        for purpose in ["material:binding:preview", "material:binding", "material:binding:full"] {
            let mut found = None;
            for at in self.stage.above(prim) {
                let stronger = || self.stage.said(at, purpose, |spec| spec.is_stronger.then_some(())).is_some();
                if found.is_some() && !stronger() {
                    continue;
                }
                let target = self.stage.targets(at, purpose)?;
                let target = target.first().and_then(|target| self.stage.find(&target.prim));
                found = target.filter(|&at| self.stage.is(at, "Material")).or(found);
            }
            if let Some(material) = found {
                return self.number(material, flaws).map(Some);
            }
        }
        Ok(None)
    }

    fn number(&mut self, prim: usize, flaws: &mut Flaws) -> Result<u32, ReadError> {
        if let Some(&known) = self.numbers.get(&prim) {
            return Ok(known);
        }
        let material = self.material(prim, flaws)?;
        self.made.materials.push(material);
        let number = self.made.materials.len() as u32 - 1;
        self.numbers.insert(prim, number);
        Ok(number)
    }

    fn material(&mut self, prim: usize, flaws: &mut Flaws) -> Result<Value, ReadError> {
        let name = short(&self.stage.prims[prim].name);
        let surface = self.source(prim, "outputs:surface")?.map(|(shader, _)| shader);
        let id = match surface {
            Some(shader) => self.stage.word(shader, "info:id")?,
            None => None,
        };
        let Some(shader) = surface.filter(|_| id.as_deref() == Some("UsdPreviewSurface")) else {
            let what = id.unwrap_or_else(|| "no surface".into());
            flaws.add(Flaw::Material, || format!("\"{name}\" has {what:.60}, not UsdPreviewSurface"));
            return Ok(json!({ "name": name, "pbrMetallicRoughness": { "metallicFactor": 0.0 } }));
        };
        let lost = |what: &str, flaws: &mut Flaws| flaws.add(Flaw::Material, || format!("the {what} of \"{name}\""));
        let mut surface = json!({});
        let mut made = json!({ "name": name });
        let mut alpha = 1.0;
        let mut base_image = None;
        let color = match self.fed(shader, "inputs:diffuseColor", flaws)? {
            Some(Fed::Texture(texture)) => {
                surface["baseColorTexture"] = json!(texture.reference);
                base_image = Some(texture.image);
                [texture.scale[0], texture.scale[1], texture.scale[2]].map(unit)
            }
            Some(Fed::Value(values)) => three(&values, 0.18),
            None => [0.18; 3],
        };
        let threshold = self.number_of(shader, "inputs:opacityThreshold", 0.0)?;
        let mut mode = None;
        match self.fed(shader, "inputs:opacity", flaws)? {
            Some(Fed::Texture(texture)) if texture.channel == "a" && Some(texture.image) == base_image => {
                alpha = unit(texture.scale[3]);
                mode = Some("BLEND");
            }
            Some(Fed::Texture(_)) => lost("texture of opacity", flaws),
            Some(Fed::Value(values)) => alpha = unit(values.first().copied().unwrap_or(1.0)),
            None => {}
        }
        if alpha < 1.0 {
            mode = Some("BLEND");
        }
        if threshold > 0.0 && mode.is_some() {
            mode = Some("MASK");
            made["alphaCutoff"] = json!(threshold);
        }
        surface["baseColorFactor"] = json!([color[0], color[1], color[2], alpha]);
        if let Some(mode) = mode {
            made["alphaMode"] = json!(mode);
        }
        // glTF has roughness in the green channel and metalness in the blue one of one texture.
        let (mut metallic, mut roughness) = (0.0, 0.5);
        let mut packed: Vec<(&str, Texture)> = Vec::new();
        for (input, channel, factor) in
            [("inputs:roughness", "g", &mut roughness), ("inputs:metallic", "b", &mut metallic)]
        {
            match self.fed(shader, input, flaws)? {
                Some(Fed::Texture(texture)) => {
                    *factor = 1.0;
                    packed.push((channel, texture));
                }
                Some(Fed::Value(values)) => *factor = unit(values.first().copied().unwrap_or(*factor)),
                None => {}
            }
        }
        let fits = packed.iter().all(|(channel, texture)| texture.channel == *channel)
            && packed.windows(2).all(|pair| pair[0].1.reference == pair[1].1.reference);
        // A texture of one of both would change the other unless that is at an end of its range.
        let alone = match packed.as_slice() {
            [("g", _)] => metallic == 0.0,
            [("b", _)] => false,
            _ => true,
        };
        match packed.first() {
            Some((_, texture)) if fits && alone => surface["metallicRoughnessTexture"] = json!(texture.reference),
            Some(_) => {
                lost("texture of roughness or metalness", flaws);
                for (channel, _) in &packed {
                    *(if *channel == "g" { &mut roughness } else { &mut metallic }) =
                        if *channel == "g" { 0.5 } else { 0.0 };
                }
            }
            None => {}
        }
        surface["metallicFactor"] = json!(metallic);
        surface["roughnessFactor"] = json!(roughness);
        made["pbrMetallicRoughness"] = surface;
        match self.fed(shader, "inputs:emissiveColor", flaws)? {
            Some(Fed::Texture(texture)) => {
                made["emissiveFactor"] = json!([texture.scale[0], texture.scale[1], texture.scale[2]].map(unit));
                made["emissiveTexture"] = json!(texture.reference);
            }
            Some(Fed::Value(values)) if values.iter().any(|x| *x > 0.0) => {
                made["emissiveFactor"] = json!(three(&values, 0.0))
            }
            _ => {}
        }
        if let Some(Fed::Texture(texture)) = self.fed(shader, "inputs:normal", flaws)? {
            made["normalTexture"] = json!(texture.reference);
        }
        match self.fed(shader, "inputs:occlusion", flaws)? {
            Some(Fed::Texture(texture)) if texture.channel == "r" => {
                made["occlusionTexture"] = json!(texture.reference)
            }
            Some(Fed::Texture(_)) => lost("texture of occlusion", flaws),
            _ => {}
        }
        for (input, none) in [("clearcoat", 0.0), ("displacement", 0.0), ("useSpecularWorkflow", 0.0), ("ior", 1.5)] {
            let is_fed = !self.stage.targets(shader, &format!("inputs:{input}"))?.is_empty();
            if is_fed || self.number_of(shader, &format!("inputs:{input}"), none)? != none {
                lost(input, flaws);
            }
        }
        Ok(made)
    }

    fn number_of(&self, prim: usize, name: &str, none: f64) -> Result<f64, ReadError> {
        let found = self.stage.numbers(prim, name)?.values.first().copied();
        Ok(found.filter(|number| number.is_finite()).unwrap_or(none))
    }

    /// What feeds an input or output in the end: a prim, and the name of its output or input with the value.
    fn source(&self, prim: usize, name: &str) -> Result<Option<(usize, String)>, ReadError> {
        let (mut prim, mut name) = (prim, name.to_owned());
        for _ in 0..LONGEST {
            let next = self.stage.targets(prim, &name)?;
            let Some(Target { prim: path, property: Some(property) }) = next.first() else { return Ok(None) };
            let Some(at) = self.stage.find(path) else { return Ok(None) };
            (prim, name) = (at, property.to_string());
            if self.stage.is(prim, "Shader") || self.stage.targets(prim, &name)?.is_empty() {
                return Ok(Some((prim, name)));
            }
        }
        Ok(None)
    }

    fn fed(&mut self, shader: usize, input: &str, flaws: &mut Flaws) -> Result<Option<Fed>, ReadError> {
        let own = |prim: usize, name: &str| -> Result<Option<Fed>, ReadError> {
            let values = self.stage.numbers(prim, name)?.values;
            Ok(Some(values).filter(|values| !values.is_empty()).map(Fed::Value))
        };
        let Some((from, output)) = self.source(shader, input)? else { return own(shader, input) };
        if !self.stage.is(from, "Shader") {
            return own(from, &output);
        }
        let id = self.stage.word(from, "info:id")?;
        if id.as_deref() != Some("UsdUVTexture") {
            let what = id.unwrap_or_else(|| "a shader without a name".into());
            flaws.add(Flaw::Material, || format!("{what:.60} at <{}>", self.stage.path(from)));
            return own(shader, input);
        }
        let channel = output.strip_prefix("outputs:").unwrap_or(&output).to_owned();
        Ok(self.texture(from, channel, flaws)?.map(Fed::Texture))
    }

    fn texture(&mut self, prim: usize, channel: String, flaws: &mut Flaws) -> Result<Option<Texture>, ReadError> {
        let (file_prim, file_name) = match self.source(prim, "inputs:file")? {
            Some(source) => source,
            None => (prim, "inputs:file".to_owned()),
        };
        let Some(attribute) = self.stage.attribute(file_prim, &file_name) else { return Ok(None) };
        let Some(asset) = attribute.words()?.into_iter().next().filter(|asset| !asset.is_empty()) else {
            return Ok(None);
        };
        let Some(path) = within(&attribute.layer.folder, &asset) else {
            flaws.add(Flaw::Image, || format!("\"{}\" is outside of the folder", short(&asset)));
            return Ok(None);
        };
        let image = match self.by_path.get(&path) {
            Some(known) => *known,
            None => {
                let read = self.files.read(&path).and_then(|bytes| self.images.add(bytes.into_owned(), &path));
                let image = read.map_err(|reason| flaws.add(Flaw::Image, || short(&reason))).ok();
                self.by_path.insert(path, image);
                image
            }
        };
        let Some(image) = image else { return Ok(None) };
        let wrap = |word: Option<super::layer::Name>| match word.as_deref() {
            Some("clamp" | "black") => CLAMP,
            Some("mirror") => MIRROR,
            _ => REPEAT,
        };
        let wraps = [wrap(self.stage.word(prim, "inputs:wrapS")?), wrap(self.stage.word(prim, "inputs:wrapT")?)];
        let number = self.textures.iter().position(|known| *known == (image, wraps)).unwrap_or_else(|| {
            self.textures.push((image, wraps));
            self.images.texture(image, wraps, &mut self.made)
        });
        let mut reference = Map::from_iter([("index".to_owned(), json!(number))]);
        self.place(prim, &mut reference, flaws)?;
        let mut scale = [1.0; 4];
        let said = self.stage.numbers(prim, "inputs:scale")?.values;
        scale.iter_mut().zip(said).for_each(|(own, said)| *own = said);
        Ok(Some(Texture { channel, image, reference, scale }))
    }

    /// Which texture coordinates a texture is laid on, and how they are moved.
    fn place(&self, texture: usize, reference: &mut Map<String, Value>, flaws: &mut Flaws) -> Result<(), ReadError> {
        let Some((mut reader, _)) = self.source(texture, "inputs:st")? else { return Ok(()) };
        if self.stage.word(reader, "info:id")?.as_deref() == Some("UsdTransform2d") {
            let two = |name: &str, none: f64| -> Result<[f64; 2], ReadError> {
                let values = self.stage.numbers(reader, name)?.values;
                Ok([0, 1].map(|at| values.get(at).copied().filter(|x| x.is_finite()).unwrap_or(none)))
            };
            let ([tx, ty], [sx, sy]) = (two("inputs:translation", 0.0)?, two("inputs:scale", 1.0)?);
            let turn = self.number_of(reader, "inputs:rotation", 0.0)?.to_radians();
            if (tx, ty, sx, sy, turn) != (0.0, 0.0, 1.0, 1.0, 0.0) {
                // st' = t + R S st from the lower left, in coordinates (u, 1 − v) from the upper left.
                let (sin, cos) = turn.sin_cos();
                let offset = [tx - sin * sy, 1.0 - ty - cos * sy];
                let moved = json!({ "offset": offset, "rotation": turn, "scale": [sx, sy] });
                reference.insert("extensions".into(), json!({ "KHR_texture_transform": moved }));
            }
            let Some((next, _)) = self.source(reader, "inputs:in")? else { return Ok(()) };
            reader = next;
        }
        let (prim, name) = self.source(reader, "inputs:varname")?.unwrap_or((reader, "inputs:varname".to_owned()));
        let Some(set) = self.stage.word(prim, &name)? else { return Ok(()) };
        match self.sets.iter().position(|own| **own == *set) {
            Some(0) => {}
            Some(at) => _ = reference.insert("texCoord".into(), json!(at)),
            None => flaws.add(Flaw::Reference, || format!("texture coordinates \"{}\"", short(&set))),
        }
        Ok(())
    }
}

fn unit(x: f64) -> f64 {
    if x.is_finite() { x.clamp(0.0, 1.0) } else { 1.0 }
}

fn three(values: &[f64], none: f64) -> [f64; 3] {
    [0, 1, 2].map(|at| values.get(at).copied().map_or(none, unit))
}
