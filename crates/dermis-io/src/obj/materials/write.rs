//! Writing the library of a mesh.

use crate::Format;
use crate::appearance::{CLAMP, MIRROR};
use crate::drawn_corners::drawn_as_split;
use crate::skinned_scene::names::unique_as;
use crate::skinned_scene::{Materials, Numbers, Texture, image_ending};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Image, Mesh};
use serde_json::Value;
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
    /// What the appearance says and the library does not: a count and what it is.
    pub left_out: Vec<String>,
}

/// The materials of a mesh as a library, whose pictures are called `stem` and their name; `None` if it has none, or if what is drawn
/// does not hang on its polygons.
///
/// A colour that tints a texture, textures of roughness, metalness and occlusion, and how textures are moved are left out.
pub fn library<'a>(mesh: &'a Mesh, stem: &str) -> Option<Library<'a>> {
    let appearance = mesh.render.as_ref()?.appearance.as_deref()?;
    drawn_as_split(mesh)?;
    let mut materials = Materials::new(Some(appearance), Format::Obj).ok().filter(|all| !all.list.is_empty())?;
    let names = names(&materials);
    let mut pictures = Pictures { files: files(&materials, stem), used: vec![false; appearance.images.len()] };
    let list = std::mem::take(&mut materials.list);
    let mut text = String::new();
    for (material, name) in list.iter().zip(&names) {
        write_material(material, name, (&mut materials, &mut pictures), &mut text);
    }
    let used = pictures.files.into_iter().zip(&appearance.images).zip(pictures.used);
    let images = used.filter(|(_, used)| *used).map(|(named, _)| named).collect();
    Some(Library { text, materials: list.len(), images, left_out: materials.lost() })
}

/// Names of materials, each once and in one line.
fn names(materials: &Materials<'_>) -> Vec<String> {
    let given: Vec<(&'static str, &str)> =
        materials.list.iter().map(|material| ("material", material["name"].as_str().unwrap_or_default())).collect();
    let plain = |kind: &str, name: &str| match in_one_line(name) {
        empty if empty.is_empty() => kind.to_owned(),
        name => name,
    };
    unique_as(&given, plain, &mut Vec::new())
}

/// The name of every picture's file.
fn files(materials: &Materials<'_>, stem: &str) -> Vec<String> {
    let given: Vec<(&'static str, &str)> =
        (0..materials.images.len()).map(|at| ("texture", materials.image_name(at))).collect();
    let plain = |kind: &str, name: &str| match name {
        "" => kind.to_owned(),
        name => name.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '_' }).collect(),
    };
    let names = unique_as(&given, plain, &mut Vec::new());
    names.iter().zip(materials.images).map(|(name, image)| format!("{stem}_{name}.{}", image_ending(image))).collect()
}

/// Names of the materials of a mesh, by their number; none without materials.
pub(in crate::obj) fn names_of(mesh: &Mesh) -> Vec<String> {
    let appearance = mesh.render.as_ref().and_then(|render| render.appearance.as_deref());
    Materials::new(appearance, Format::Obj).map_or_else(|_| Vec::new(), |materials| names(&materials))
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

struct Pictures {
    /// Name of every image's file.
    files: Vec<String>,
    /// Whether a material shows it.
    used: Vec<bool>,
}

fn write_material(
    material: &Value,
    name: &str,
    (materials, pictures): (&mut Materials<'_>, &mut Pictures),
    text: &mut String,
) {
    let surface = &material["pbrMetallicRoughness"];
    let Numbers { base: [r, g, b, opacity], glow, strength, metallic, roughness } = Numbers::of(material);
    let glow = glow.map(|x| x * strength);
    let mut picture = |reference: &Value| picture(reference, materials, pictures);
    let base = picture(&surface["baseColorTexture"]);
    let emission = picture(&material["emissiveTexture"]);
    let bump = picture(&material["normalTexture"]);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "newmtl {name}\nKd {r} {g} {b}\nKe {} {} {}", glow[0], glow[1], glow[2]);
    let _ = writeln!(text, "Ns {}\nPr {roughness}\nPm {metallic}", 1000.0 * (1.0 - roughness).powi(2));
    let _ = writeln!(text, "d {opacity}\nillum 2");
    if let Some(base) = &base {
        let _ = writeln!(text, "map_Kd {base}");
        if matches!(material["alphaMode"].as_str(), Some("BLEND" | "MASK")) {
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
        (base.is_some() && [r, g, b] != [1.0; 3], "colours that tint a texture"),
        (emission.is_some() && glow != [1.0; 3], "colours that tint a texture"),
        (surface["metallicRoughnessTexture"].is_object(), "textures of metalness and roughness"),
        (material["occlusionTexture"].is_object(), "textures of occlusion"),
        (material["alphaMode"] == "MASK", "thresholds of opacity"),
        (material["doubleSided"] == true, "marks of materials as double-sided"),
    ] {
        if is_lost {
            materials.lose(what);
        }
    }
    materials.lose_extensions(material);
}

/// The options and the file of the picture that a reference of a material shows; `None` if it shows none.
fn picture(reference: &Value, materials: &mut Materials<'_>, pictures: &mut Pictures) -> Option<String> {
    let Texture { image, set, wrap } = materials.texture(reference)?;
    if set > 0 {
        materials.lose("textures by further texture coordinates");
    }
    if wrap.contains(&MIRROR) {
        materials.lose("textures that are mirrored where they repeat");
    }
    pictures.used[image] = true;
    Some(format!("{}{}", if wrap == [CLAMP; 2] { "-clamp on " } else { "" }, pictures.files[image]))
}
