//! Materials as preview surfaces, and their pictures.
//!
//! Source: Pixar, "UsdPreviewSurface Specification", 2.6. Textures of roughness and metalness are two channels of one picture, as in glTF.
//! A package holds PNG and JPEG, a text no picture at all.

use super::mesh::Looks;
use super::names::{unique, uv_set};
use super::text::{Number, Text, quoted};
use crate::appearance::{CLAMP, MIRROR};
use crate::skinned_scene::{Materials, Numbers, Renamed, Texture, image_ending};
use serde_json::Value;

/// The name of every material.
pub(super) fn names(materials: &Materials<'_>, renamed: &mut Vec<Renamed>) -> Vec<String> {
    let given: Vec<(&'static str, &str)> =
        (materials.list.iter()).map(|material| ("material", material["name"].as_str().unwrap_or_default())).collect();
    unique(&given, renamed)
}

/// The pictures of a file.
pub(super) struct Pictures {
    /// The path of each in the file; `None` where it cannot hold it.
    paths: Vec<Option<String>>,
    /// Those that materials show.
    used: Vec<bool>,
}

impl Pictures {
    /// - `holds`: whether the file holds pictures
    pub(super) fn new(materials: &Materials<'_>, holds: bool) -> Self {
        let given: Vec<(&'static str, &str)> =
            (0..materials.images.len()).map(|at| ("texture", materials.image_name(at))).collect();
        let names = unique(&given, &mut Vec::new());
        let path = |(name, image)| {
            let ending = image_ending(image);
            (holds && matches!(ending, "png" | "jpg")).then(|| format!("textures/{name}.{ending}"))
        };
        let paths: Vec<Option<String>> = names.iter().zip(materials.images).map(path).collect();
        Self { used: vec![false; paths.len()], paths }
    }

    /// Path and bytes of every picture that is shown.
    pub(super) fn files<'a>(&'a self, materials: &'a Materials<'_>) -> Vec<(&'a str, &'a [u8])> {
        let all = self.paths.iter().zip(materials.images).zip(&self.used);
        all.filter_map(|((path, image), used)| Some((path.as_deref().filter(|_| *used)?, &image.bytes[..]))).collect()
    }
}

/// Writes all materials, in a scope of that name.
pub(super) fn write(looks: &mut Looks<'_>, name: &str, pictures: &mut Pictures, text: &mut Text) {
    let Looks { materials, names, scope } = looks;
    if names.is_empty() {
        return;
    }
    text.open("Scope", name, &[]);
    let list = std::mem::take(&mut materials.list);
    for (material, name) in list.iter().zip(names.iter()) {
        let mut made = Made { materials, pictures, path: format!("{scope}/{name}"), text, nodes: Vec::new() };
        made.write(material, name);
    }
    materials.list = list;
    text.close();
}

/// A material in the making.
struct Made<'m, 'a> {
    materials: &'m mut Materials<'a>,
    pictures: &'m mut Pictures,
    path: String,
    text: &'m mut Text,
    /// Shaders beside the surface.
    nodes: Vec<Node>,
}

/// A picture as a shader.
struct Node {
    name: &'static str,
    picture: String,
    texture: Texture,
    scale: [f64; 4],
    bias: [f64; 4],
    /// "sRGB" for colours, "raw" for other numbers.
    space: &'static str,
}

impl Made<'_, '_> {
    fn write(&mut self, material: &Value, name: &str) {
        let Numbers { base, glow, strength, metallic, roughness } = Numbers::of(material);
        let light = glow.map(|x| x * strength);
        let surface = &material["pbrMetallicRoughness"];
        let api = displayed(material["name"].as_str().unwrap_or_default(), name);
        self.text.open("Material", name, &api);
        self.text.line(&format!("token outputs:surface.connect = <{}/Surface.outputs:surface>", self.path));
        self.text.open("Shader", "Surface", &[]);
        self.text.line("uniform token info:id = \"UsdPreviewSurface\"");
        let none = [0.0; 4];
        let is_colored = self.node(("BaseColor", "sRGB"), &surface["baseColorTexture"], base, none);
        self.input(is_colored, "color3f inputs:diffuseColor", "BaseColor.outputs:rgb", [base[0], base[1], base[2]]);
        let is_lit =
            self.node(("Emissive", "sRGB"), &material["emissiveTexture"], [light[0], light[1], light[2], 1.0], none);
        self.input(is_lit, "color3f inputs:emissiveColor", "Emissive.outputs:rgb", light);
        let packed = [1.0, roughness, metallic, 1.0];
        let is_packed = self.node(("Surfaces", "raw"), &surface["metallicRoughnessTexture"], packed, none);
        self.input(is_packed, "float inputs:metallic", "Surfaces.outputs:b", [metallic]);
        self.input(is_packed, "float inputs:roughness", "Surfaces.outputs:g", [roughness]);
        let number = |value: &Value| value.as_f64().filter(|x| x.is_finite()).unwrap_or(1.0);
        let bump = 2.0 * number(&material["normalTexture"]["scale"]);
        let (scale, bias) = ([bump, bump, 2.0, 1.0], [-0.5 * bump, -0.5 * bump, -1.0, 0.0]);
        if self.node(("Normal", "raw"), &material["normalTexture"], scale, bias) {
            self.input(true, "normal3f inputs:normal", "Normal.outputs:rgb", [0.0; 3]);
        }
        let shade = number(&material["occlusionTexture"]["strength"]).clamp(0.0, 1.0);
        let (scale, bias) = ([shade, shade, shade, 1.0], [1.0 - shade, 1.0 - shade, 1.0 - shade, 0.0]);
        if self.node(("Occlusion", "raw"), &material["occlusionTexture"], scale, bias) {
            self.input(true, "float inputs:occlusion", "Occlusion.outputs:r", [1.0]);
        }
        let mode = material["alphaMode"].as_str().unwrap_or_default();
        let shows_through = matches!(mode, "BLEND" | "MASK");
        self.input(is_colored && shows_through, "float inputs:opacity", "BaseColor.outputs:a", [base[3]]);
        if mode == "MASK" {
            let cutoff = material["alphaCutoff"].as_f64().unwrap_or(0.5);
            self.text.value("float inputs:opacityThreshold", [cutoff.clamp(0.0, 1.0)], Number::Single);
        }
        self.text.line("int inputs:useSpecularWorkflow = 0");
        self.text.line("token outputs:surface");
        self.text.close();
        let nodes = std::mem::take(&mut self.nodes);
        for node in &nodes {
            self.write_node(node);
        }
        let mut sets: Vec<usize> = nodes.iter().map(|node| node.texture.set).collect();
        sets.sort_unstable();
        sets.dedup();
        for set in sets {
            let name = uv_set(set);
            self.text.open("Shader", &name, &[]);
            self.text.line("uniform token info:id = \"UsdPrimvarReader_float2\"");
            self.text.line(&format!("string inputs:varname = \"{name}\""));
            self.text.line("float2 outputs:result");
            self.text.close();
        }
        self.text.close();
        self.materials.lose_extensions(material);
    }

    /// An input of the surface: the channel of a picture, or a number.
    fn input<const N: usize>(&mut self, is_connected: bool, declaration: &str, output: &str, value: [f64; N]) {
        match is_connected {
            true => self.text.line(&format!("{declaration}.connect = <{}/{output}>", self.path)),
            false => self.text.value(declaration, value, Number::Single),
        }
    }

    /// Keeps a picture to be written; whether there is one that the file holds.
    fn node(
        &mut self,
        (name, space): (&'static str, &'static str),
        reference: &Value,
        scale: [f64; 4],
        bias: [f64; 4],
    ) -> bool {
        let Some(texture) = self.materials.texture(reference) else { return false };
        let Some(picture) = self.pictures.paths[texture.image].clone() else {
            self.materials.lose("textures whose pictures the file cannot hold: a .usdz file holds PNG and JPEG");
            return false;
        };
        self.pictures.used[texture.image] = true;
        self.nodes.push(Node { name, picture, texture, scale, bias, space });
        true
    }

    fn write_node(&mut self, node: &Node) {
        let wrap = |at: usize| match node.texture.wrap[at] {
            CLAMP => "clamp",
            MIRROR => "mirror",
            _ => "repeat",
        };
        self.text.open("Shader", node.name, &[]);
        self.text.line("uniform token info:id = \"UsdUVTexture\"");
        self.text.line(&format!("asset inputs:file = @{}@", node.picture));
        let set = uv_set(node.texture.set);
        self.text.line(&format!("float2 inputs:st.connect = <{}/{set}.outputs:result>", self.path));
        self.text.line(&format!("token inputs:wrapS = \"{}\"", wrap(0)));
        self.text.line(&format!("token inputs:wrapT = \"{}\"", wrap(1)));
        self.text.line(&format!("token inputs:sourceColorSpace = \"{}\"", node.space));
        if node.scale != [1.0; 4] || node.bias != [0.0; 4] {
            self.text.value("float4 inputs:scale", node.scale, Number::Single);
            self.text.value("float4 inputs:bias", node.bias, Number::Single);
        }
        for output in ["float outputs:r", "float outputs:g", "float outputs:b", "float outputs:a", "float3 outputs:rgb"]
        {
            self.text.line(output);
        }
        self.text.close();
    }
}

/// The name that a prim is shown by, where it differs from its own.
pub(super) fn displayed(from: &str, to: &str) -> Vec<String> {
    if from == to || from.is_empty() { Vec::new() } else { vec![format!("displayName = {}", quoted(from))] }
}
