//! The objects and the drawn mesh of a rig in a model file: seams, texture coordinates, normals, colours, materials and images.

use super::{Reader, Stored, Tensors, damaged};
use crate::appearance::Description;
use crate::contents::ReadError;
use crate::flaws::Flaws;
use dermis_rig::glam::{DVec2, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Appearance, Image, Mesh, MeshObject, RenderMesh};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A run of triangles with one material, as the header has it.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredPart {
    name: String,
    start: u32,
    count: u32,
    color: [f32; 4],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    material: Option<u32>,
}

/// One of several meshes, as the header has it.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredObject {
    name: String,
    vertices: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    hidden: bool,
}

/// The objects of the mesh, if it is several.
pub(super) fn objects(mesh: &Mesh) -> Vec<StoredObject> {
    let stored = |object: &MeshObject| StoredObject {
        name: object.name.clone(),
        vertices: object.vertices,
        hidden: !object.visible,
    };
    mesh.objects.iter().filter(|_| mesh.has_several_objects()).map(stored).collect()
}

/// The description of an appearance, and after a dot and its number an image.
const APPEARANCE: &str = "appearance";

/// Sets of texture coordinates and images in a file, at most: each is an array with a name.
const MOST: usize = 1 << 16;

/// The parts of the drawn mesh.
pub(super) fn parts(mesh: &Mesh) -> Vec<StoredPart> {
    let stored = |part: &RenderPart| StoredPart {
        name: part.name.clone(),
        start: part.start,
        count: part.count,
        color: part.color.to_array(),
        material: part.material,
    };
    mesh.render.iter().flat_map(|render| &render.parts).map(stored).collect()
}

/// Adds the arrays of the drawn mesh, if there is one, and the colours of the vertices.
pub(super) fn write<'a>(t: &mut Tensors<'a>, mesh: &'a Mesh) {
    if let Some(colors) = &mesh.colors {
        t.f32("colors", &[colors.len(), 4], colors.iter().flat_map(|c| c.to_array()));
    }
    let Some(render) = &mesh.render else { return };
    t.u32("render.source", &[render.source.len()], render.source.iter().copied());
    t.u32("render.triangles", &[render.triangles.len(), 3], render.triangles.iter().flatten().copied());
    let pairs = |uvs: &'a [DVec2]| uvs.iter().flat_map(|uv| uv.to_array().map(|x| x as f32));
    t.f32("render.uvs", &[render.uvs.len(), 2], pairs(&render.uvs));
    for (at, uvs) in render.more_uvs.iter().enumerate() {
        t.f32(&format!("render.uvs.{}", at + 1), &[uvs.len(), 2], pairs(uvs));
    }
    if !render.colors.is_empty() {
        t.f32("render.colors", &[render.colors.len(), 4], render.colors.iter().flat_map(|c| c.to_array()));
    }
    let normals = render.normals.iter().flat_map(|n| n.to_array().map(|x| x as f32));
    t.f32("render.normals", &[render.normals.len(), 3], normals);
    let Some(appearance) = render.appearance.as_deref() else { return };
    let text = appearance.description.as_bytes();
    t.u8(APPEARANCE, &[text.len()], text.iter().copied());
    for (at, image) in appearance.images.iter().enumerate() {
        t.u8(&format!("{APPEARANCE}.{at}"), &[image.bytes.len()], image.bytes.iter().copied());
    }
}

/// Reads the objects of the mesh, the drawn mesh, if the file has one, and the colours of the vertices.
pub(super) fn read(r: &Reader<'_>, stored: &Stored, mesh: &mut Mesh) -> Result<(), ReadError> {
    let vertices = mesh.positions.len();
    let object = |o: &StoredObject| MeshObject { name: o.name.clone(), vertices: o.vertices, visible: !o.hidden };
    mesh.objects = stored.objects.iter().map(object).collect();
    if r.has("colors") {
        mesh.colors = Some(colors(r, "colors", vertices)?);
    }
    if !r.has("render.source") {
        return Ok(());
    }
    let source = r.indices("render.source", 1, vertices)?;
    let triangles = threes(&r.indices("render.triangles", 3, source.len())?);
    let uvs = |name: &str| -> Result<Vec<DVec2>, ReadError> {
        let uvs: Vec<DVec2> = r.f32(name, 2)?.chunks_exact(2).map(|x| DVec2::new(x[0].into(), x[1].into())).collect();
        if !uvs.is_empty() {
            r.count(name, uvs.len(), source.len())?;
        }
        Ok(uvs)
    };
    let more = (1..MOST).map(|at| format!("render.uvs.{at}")).take_while(|name| r.has(name));
    let more_uvs = more.map(|name| uvs(&name)).collect::<Result<Vec<_>, _>>()?;
    if more_uvs.iter().any(Vec::is_empty) {
        return Err(damaged("a set of texture coordinates is empty"));
    }
    let normal = |n: &[f32]| DVec3::new(n[0].into(), n[1].into(), n[2].into());
    let normals: Vec<DVec3> = r.f32("render.normals", 3)?.chunks_exact(3).map(normal).collect();
    if !normals.is_empty() {
        r.count("render.normals", normals.len(), source.len())?;
    }
    let parts: Vec<RenderPart> = (stored.parts.iter())
        .map(|p| RenderPart {
            name: p.name.clone(),
            start: p.start,
            count: p.count,
            color: Vec4::from_array(p.color),
            material: p.material,
        })
        .collect();
    if parts.iter().any(|p| u64::from(p.start) + u64::from(p.count) > triangles.len() as u64) {
        return Err(damaged("a material covers triangles that do not exist"));
    }
    // The header is text, and holds numbers that 32 bits do not.
    if let Some(part) = parts.iter().find(|p| !p.color.is_finite()) {
        return Err(damaged(format!("the colour of part \"{:.100}\" is not finite in 32 bits", part.name)));
    }
    let colors = if r.has("render.colors") { colors(r, "render.colors", source.len())? } else { Vec::new() };
    let (uvs, appearance) = (uvs("render.uvs")?, appearance(r)?.map(Arc::new));
    let by_corner = stored.by_corner;
    mesh.render = Some(RenderMesh { source, triangles, uvs, more_uvs, colors, normals, parts, by_corner, appearance });
    Ok(())
}

fn colors(r: &Reader<'_>, name: &str, rows: usize) -> Result<Vec<Vec4>, ReadError> {
    let colors: Vec<Vec4> = r.f32(name, 4)?.chunks_exact(4).map(Vec4::from_slice).collect();
    r.count(name, colors.len(), rows)?;
    Ok(colors)
}

/// Corners as triangles.
pub(super) fn threes(list: &[u32]) -> Vec<[u32; 3]> {
    list.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect()
}

fn appearance(r: &Reader<'_>) -> Result<Option<Appearance>, ReadError> {
    if !r.has(APPEARANCE) {
        return Ok(None);
    }
    let bad = |reason: String| damaged(format!("array \"{APPEARANCE}\": {reason}"));
    let description = String::from_utf8(r.u8(APPEARANCE)?).map_err(|e| bad(e.to_string()))?;
    let names = (0..MOST).map(|at| format!("{APPEARANCE}.{at}")).take_while(|name| r.has(name));
    let image = |name: String| {
        let bytes = r.u8(&name)?;
        let media_type = crate::appearance::media_type(&bytes);
        let media_type = media_type.ok_or_else(|| damaged(format!("array \"{name}\" is no image")))?;
        Ok(Image { media_type: media_type.into(), bytes })
    };
    let images = names.map(image).collect::<Result<Vec<_>, ReadError>>()?;
    let appearance = Appearance { description, images };
    // Whoever writes it checks it again; here a text that is none is damage.
    Description::of(&appearance, &mut Flaws::default()).map_err(bad)?;
    Ok(Some(appearance))
}
