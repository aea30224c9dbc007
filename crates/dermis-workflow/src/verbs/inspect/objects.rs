//! The meshes of a file that has several.

use crate::report::inspect_page::InspectedObject;
use dermis_rig::{Mesh, MeshObject};
use serde_json::{Value, json};
use std::ops::Range;

/// Objects that are listed in lines.
const LISTED: usize = 40;

/// Returns what is found of every object, in order.
pub(crate) fn objects(mesh: &Mesh) -> Vec<InspectedObject> {
    let object = |(object, range): (&MeshObject, Range<usize>)| InspectedObject {
        name: object.name.clone(),
        vertices: range.len(),
        triangles: 0,
        polygons: mesh.polygons.as_ref().map(|_| 0),
        materials: Vec::new(),
        visible: object.visible,
    };
    let mut found: Vec<InspectedObject> = mesh.object_ranges().map(object).collect();
    if found.is_empty() {
        return found;
    }
    let numbers = mesh.object_numbers();
    let of = |vertex: u32| numbers.get(vertex as usize).map_or(0, |number| *number as usize);
    for corners in &mesh.triangles {
        found[of(corners[0])].triangles += 1;
    }
    for corners in mesh.polygons.iter().flat_map(|polygons| polygons.iter()) {
        if let Some(count) = corners.first().and_then(|vertex| found[of(*vertex)].polygons.as_mut()) {
            *count += 1;
        }
    }
    let Some(render) = &mesh.render else { return found };
    for part in &render.parts {
        let triangles = render.triangles.iter().skip(part.start as usize).take(part.count as usize);
        let mut last = None;
        for corners in triangles {
            let own = render.source.get(corners[0] as usize).map_or(0, |&vertex| of(vertex));
            if last != Some(own) {
                let InspectedObject { name, materials, .. } = &mut found[own];
                // Triangles without a material are called as their mesh.
                let has_one = !part.name.is_empty() && (part.material.is_some() || part.name != *name);
                if has_one && !materials.contains(&part.name) {
                    materials.push(part.name.clone());
                }
                last = Some(own);
            }
        }
    }
    found
}

/// Names several objects in a sentence; `None` of a mesh that is not several.
pub(crate) fn several(mesh: &Mesh) -> Option<String> {
    /// Names at most.
    const NAMED: usize = 12;
    let name = |object: &MeshObject| {
        let name =
            if object.name.is_empty() { "one without a name".into() } else { format!("\"{:.60}\"", object.name) };
        if object.visible { name } else { name + " (hidden)" }
    };
    let names: Vec<String> = mesh.objects.iter().take(NAMED).map(name).collect();
    let more = if mesh.objects.len() > NAMED { ", …" } else { "" };
    mesh.has_several_objects().then(|| format!("{} objects: {}{more}", mesh.objects.len(), names.join(", ")))
}

/// An object as JSON.
pub(super) fn object_json(object: &InspectedObject) -> Value {
    json!({
        "name": object.name,
        "vertices": object.vertices,
        "triangles": object.triangles,
        "polygons": object.polygons,
        "materials": object.materials,
        "visible": object.visible,
    })
}

/// A line for each of several objects.
pub(super) fn object_lines(objects: &Value, out: &mut Vec<String>) {
    let Some(objects) = objects.as_array().filter(|objects| objects.len() > 1) else { return };
    for object in objects.iter().take(LISTED) {
        let name = object["name"].as_str().filter(|name| !name.is_empty());
        let name = name.map_or_else(|| "without a name".to_owned(), |name| format!("\"{name:.100}\""));
        let faces = match &object["polygons"] {
            Value::Null => format!("{} triangles", object["triangles"]),
            polygons => format!("{polygons} polygons"),
        };
        let materials: Vec<&str> =
            object["materials"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let drawn = match materials.is_empty() {
            true => String::new(),
            false => format!(", drawn with {}", materials.join(", ")),
        };
        let hidden = if object["visible"] == false { ", hidden" } else { "" };
        out.push(format!("  object      {name}, {} vertices, {faces}{drawn}{hidden}", object["vertices"]));
    }
    if objects.len() > LISTED {
        out.push(format!("  objects     {} more, which json lists", objects.len() - LISTED));
    }
}
