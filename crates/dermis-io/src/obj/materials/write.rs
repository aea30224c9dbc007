//! Writing the library of a mesh.

use crate::appearance::{CLAMP, Description, image_names};
use crate::drawn_corners::drawn_as_split;
use crate::flaws::Flaws;
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Image, Mesh, make_unique};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A library of materials (.mtl) and the pictures beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library<'a> {
    /// The library.
    pub text: String,
    /// How many materials it describes.
    pub materials: usize,
    /// Name and content of every picture that it names.
    pub images: Vec<(String, &'a Image)>,
    /// What the materials say and the library does not: a count and what it is.
    pub left_out: Vec<String>,
}

/// The materials of a mesh as a library, whose pictures are called `stem` and their name; `None` if it has none, or if what is drawn
/// does not hang on its polygons.
///
/// A colour that tints a texture, textures of roughness, metalness and occlusion, and how textures are moved are left out.
pub fn library<'a>(mesh: &'a Mesh, stem: &str) -> Option<Library<'a>> {
    let appearance = mesh.render.as_ref()?.appearance.as_deref()?;
    drawn_as_split(mesh)?;
    let look = Description::of(appearance, &mut Flaws::default()).ok().filter(|look| !look.materials.is_empty())?;
    let files = image_names(&look, &appearance.images).into_iter().map(|name| format!("{stem}_{name}")).collect();
    let mut writer = Writer { look: &look, files, used: vec![false; appearance.images.len()], lost: BTreeMap::new() };
    let mut text = String::new();
    for (material, name) in look.materials.iter().zip(names(&look)) {
        writer.material(material, &name, &mut text);
    }
    let used = writer.files.into_iter().zip(&appearance.images).zip(writer.used);
    let images = used.filter(|(_, used)| *used).map(|(named, _)| named).collect();
    let left_out = writer.lost.iter().map(|(what, count)| format!("{count} {what}")).collect();
    Some(Library { text, materials: look.materials.len(), images, left_out })
}

/// Names of the materials of a description, each once and in one line.
fn names(look: &Description) -> Vec<String> {
    let mut names: Vec<String> = (look.materials.iter())
        .map(|material| in_one_line(material["name"].as_str().unwrap_or_default()))
        .map(|name| if name.is_empty() { "material".into() } else { name })
        .collect();
    make_unique(&mut names, "_");
    names
}

/// Names of the materials of a mesh, by their number; none without materials.
pub(in crate::obj) fn names_of(mesh: &Mesh) -> Vec<String> {
    let appearance = mesh.render.as_ref().and_then(|render| render.appearance.as_deref());
    let look = appearance.and_then(|appearance| Description::of(appearance, &mut Flaws::default()).ok());
    look.map_or_else(Vec::new, |look| names(&look))
}

/// The name of a part's material among `names`; none for a part without one.
pub(in crate::obj) fn name_of<'a>(part: &RenderPart, names: &'a [String]) -> &'a str {
    part.material.and_then(|at| names.get(at as usize)).map_or("none", String::as_str)
}

/// A name that stands in a line: control characters become blanks, and a backslash at the end, which would join the next line, a slash.
pub(in crate::obj) fn in_one_line(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut name = name.trim().to_owned();
    if name.ends_with('\\') {
        name.pop();
        name.push('/');
    }
    name
}

struct Writer<'a> {
    look: &'a Description,
    /// Name of every image's file.
    files: Vec<String>,
    /// Whether a material shows it.
    used: Vec<bool>,
    lost: BTreeMap<&'static str, usize>,
}

impl Writer<'_> {
    fn material(&mut self, material: &Value, name: &str, text: &mut String) {
        let surface = &material["pbrMetallicRoughness"];
        let number = |value: &Value, default: f64| value.as_f64().unwrap_or(default).clamp(0.0, 1.0);
        let color = |value: &Value, default: f64| -> [f64; 3] { std::array::from_fn(|at| number(&value[at], default)) };
        let tint = color(&surface["baseColorFactor"], 1.0);
        let glow = color(&material["emissiveFactor"], 0.0);
        let is_clear = material["alphaMode"] == "BLEND" || material["alphaMode"] == "MASK";
        let opacity = if is_clear { number(&surface["baseColorFactor"][3], 1.0) } else { 1.0 };
        let (metallic, roughness) = (number(&surface["metallicFactor"], 1.0), number(&surface["roughnessFactor"], 1.0));
        let base = self.picture(&surface["baseColorTexture"]);
        let emission = self.picture(&material["emissiveTexture"]);
        let bump = self.picture(&material["normalTexture"]);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "newmtl {name}");
        let _ = writeln!(text, "Kd {} {} {}", tint[0], tint[1], tint[2]);
        let _ = writeln!(text, "Ke {} {} {}", glow[0], glow[1], glow[2]);
        let _ = writeln!(text, "Ns {}", 1000.0 * (1.0 - roughness).powi(2));
        let _ = writeln!(text, "Pr {roughness}\nPm {metallic}\nd {opacity}\nillum 2");
        if let Some(base) = &base {
            let _ = writeln!(text, "map_Kd {base}");
            if is_clear {
                let _ = writeln!(text, "map_d {base}");
            }
        }
        if let Some(emission) = &emission {
            let _ = writeln!(text, "map_Ke {emission}");
        }
        if let Some(bump) = &bump {
            let scale = material["normalTexture"]["scale"].as_f64().filter(|x| x.is_finite()).unwrap_or(1.0);
            // Some programs know the one word, some the other.
            let _ = writeln!(text, "norm -bm {scale} {bump}\nmap_Bump -bm {scale} {bump}");
        }
        text.push('\n');
        for (is_lost, what) in [
            (base.is_some() && tint != [1.0; 3], "colours that tint a texture"),
            (emission.is_some() && glow != [1.0; 3], "colours that tint a texture"),
            (surface["metallicRoughnessTexture"].is_object(), "textures of metalness and roughness"),
            (material["occlusionTexture"].is_object(), "textures of occlusion"),
            (material["alphaMode"] == "MASK", "thresholds of opacity"),
            (material["doubleSided"] == true, "marks of materials as double-sided"),
        ] {
            *self.lost.entry(what).or_default() += usize::from(is_lost);
        }
        let extensions = material["extensions"].as_object().map_or(0, |own| own.len());
        *self.lost.entry("extensions of materials").or_default() += extensions;
        self.lost.retain(|_, count| *count > 0);
    }

    /// The options and the file of the picture that a reference of a material shows; `None` if it shows none.
    fn picture(&mut self, reference: &Value) -> Option<String> {
        let (image, sampler) = self.look.shown(reference, self.files.len())?;
        if reference["extensions"]["KHR_texture_transform"].is_object() {
            *self.lost.entry("moves of textures").or_default() += 1;
        }
        if reference["texCoord"].as_u64().is_some_and(|set| set > 0) {
            *self.lost.entry("textures by further texture coordinates").or_default() += 1;
        }
        self.used[image] = true;
        let clamps = sampler["wrapS"] == CLAMP && sampler["wrapT"] == CLAMP;
        Some(format!("{}{}", if clamps { "-clamp on " } else { "" }, self.files[image]))
    }
}
