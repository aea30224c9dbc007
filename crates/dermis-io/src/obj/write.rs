//! Writing one OBJ file.

use super::materials::{in_one_line, name_of, names_of};
use crate::drawn_corners::{drawn_as_split, polygons_of};
use crate::normals::{Shading, smooth_normals};
use crate::{Format, Space, WriteError};
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Mesh, MeshObject, Polygons, RenderMesh};
use std::fmt::Write as _;
use std::io::Write;
use std::ops::Range;

/// Writes the mesh with its vertices at `positions`: polygons, if it has them, and the texture coordinates of its drawn
/// vertices and the names of materials, if they hang on the same triangles. Positions are written with all their digits. Several objects stand
/// one after the other, each below an `o` line with its name; whether they are hidden is lost.
///
/// # Errors
/// [`WriteError`]: another number of positions than vertices, faces that name none, positions not finite.
pub fn write(mesh: &Mesh, positions: &[DVec3], space: &Space, out: &mut dyn Write) -> Result<(), WriteError> {
    write_shape(mesh, positions, Normals::LeftOut, None, space, out)
}

/// Whether an OBJ file holds normals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Normals {
    /// No `vn` lines: programs shade the shape as they see fit.
    #[default]
    LeftOut,
    /// A `vn` line for every drawn vertex. The normals that the mesh's file had turn with the surface around them, so hard
    /// edges stay hard. Without such normals, triangles are averaged by area at every vertex.
    Written,
}

/// [`write()`] with normals, if they are wanted, and the name of the [library](super::library()) that describes the materials, if there is
/// one.
///
/// # Errors
/// As [`write()`].
pub fn write_shape(
    mesh: &Mesh,
    positions: &[DVec3],
    normals: Normals,
    library: Option<&str>,
    space: &Space,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    let (found, expected) = (positions.len(), mesh.positions.len());
    if found != expected {
        return Err(WriteError::Count { what: "the shape".into(), things: "vertices", found, expected });
    }
    if positions.is_empty() || !space.is_usable() {
        return Err(WriteError::Nothing { format: Format::Obj, needs: "vertices, and a unit" });
    }
    mesh.check().map_err(|e| WriteError::CannotHold { format: Format::Obj, what: e.to_string() })?;
    let from_ours = space.to_ours().inverse();
    let polygons = &*polygons_of(mesh);
    let drawn = drawn_as_split(mesh);
    let textured = mesh.render.as_ref().filter(|render| drawn.is_some() && !render.uvs.is_empty());
    let shaded = normals == Normals::Written;
    // Of drawn vertices if corners name them, else of vertices.
    let normals = match (shaded, &mesh.render, &drawn) {
        (false, _, _) => Vec::new(),
        (true, Some(render), Some(_)) => Shading::new(mesh, render).moved(positions),
        (true, _, _) => smooth_normals(positions, &mesh.triangles),
    };
    // What corners name beside the vertex, by the vertex that each hangs on.
    let own: Vec<u32> = (0..positions.len() as u32).collect();
    let corners = mesh.render.as_ref().filter(|_| drawn.is_some()).map_or(&own, |render| &render.source);
    let parts = Parts::new(mesh, corners, polygons);
    let (names, of_polygon) = match mesh.render.as_ref().filter(|_| drawn.is_some()) {
        Some(render) => (names_of(mesh), of_polygons(render, polygons)),
        None => (Vec::new(), Vec::new()),
    };
    let mut text = String::new();
    // Writing to a String cannot fail.
    if let Some(library) = library {
        let _ = writeln!(text, "mtllib {}", in_one_line(library));
    }
    let mut current = None;
    for part in &parts.list {
        if let Some(name) = &part.name {
            let _ = writeln!(text, "o {name}");
        }
        for vertex in part.vertices.clone() {
            let p = from_ours.transform_point3(positions[vertex]);
            if !p.is_finite() {
                return Err(WriteError::NotFinite { what: format!("vertex {vertex}") });
            }
            let _ = write!(text, "v {} {} {}", p.x, p.y, p.z);
            if let Some(color) = mesh.colors.as_ref().and_then(|colors| colors.get(vertex)) {
                let _ = write!(text, " {} {} {}", color.x, color.y, color.z);
            }
            text.push('\n');
        }
        for uv in textured.into_iter().flat_map(|render| part.corners.iter().map(|&at| render.uvs[at as usize])) {
            let _ = writeln!(text, "vt {} {}", uv.x, 1.0 - uv.y);
        }
        for &at in part.corners.iter().filter(|_| shaded) {
            let n = from_ours.transform_vector3(normals[at as usize]).normalize_or_zero();
            let _ = writeln!(text, "vn {} {} {}", n.x, n.y, n.z);
        }
        for &(polygon, from, to) in &part.polygons {
            let material = of_polygon.get(polygon as usize).filter(|_| !names.is_empty());
            if let (Some(name), true) = (material.map(|part| name_of(part, &names)), material != current) {
                let _ = writeln!(text, "usemtl {name}");
                current = material;
            }
            text.push('f');
            for corner in from as usize..to as usize {
                let vertex = polygons.indices[corner];
                let number = parts.numbers[drawn.as_ref().map_or(vertex, |drawn| drawn[corner]) as usize];
                let vertex = vertex + 1;
                let _ = match (textured.is_some(), shaded) {
                    (false, false) => write!(text, " {vertex}"),
                    (true, false) => write!(text, " {vertex}/{number}"),
                    (false, true) => write!(text, " {vertex}//{number}"),
                    (true, true) => write!(text, " {vertex}/{number}/{number}"),
                };
            }
            text.push('\n');
        }
    }
    Ok(out.write_all(text.as_bytes())?)
}

/// The part that each polygon is of, by its first triangle.
fn of_polygons<'a>(render: &'a RenderMesh, polygons: &Polygons) -> Vec<&'a RenderPart> {
    let mut parts = render.parts.iter().peekable();
    let mut triangle = 0u32;
    let mut of = Vec::with_capacity(polygons.counts.len());
    for count in &polygons.counts {
        while parts.next_if(|part| part.start.saturating_add(part.count) <= triangle).is_some() {}
        // Polygons beyond the last part, of a mesh whose parts leave some out, have none.
        let Some(part) = parts.peek() else { return Vec::new() };
        of.push(*part);
        triangle += count - 2;
    }
    of
}

/// A mesh as its file lists it: object after object, or all as one.
struct Parts {
    list: Vec<Part>,
    /// From one, the number in the file of each thing that corners name beside the vertex.
    numbers: Vec<u32>,
}

/// An object: what stands below its line.
struct Part {
    /// `None` for a mesh that is not several.
    name: Option<String>,
    vertices: Range<usize>,
    /// What its corners name beside the vertex.
    corners: Vec<u32>,
    /// Each of its polygons: its number, its first corner and the one after the last.
    polygons: Vec<(u32, u32, u32)>,
}

impl Parts {
    /// - `corners`: what corners name beside the vertex, as the vertex that each hangs on
    fn new(mesh: &Mesh, corners: &[u32], polygons: &Polygons) -> Self {
        let part = |(object, vertices): (&MeshObject, _)| Part {
            name: Some(in_one_line(&object.name)),
            vertices,
            corners: Vec::new(),
            polygons: Vec::new(),
        };
        let mut list: Vec<Part> = match mesh.has_several_objects() {
            true => mesh.object_ranges().map(part).collect(),
            false => {
                let vertices = 0..mesh.positions.len();
                vec![Part { name: None, vertices, corners: Vec::new(), polygons: Vec::new() }]
            }
        };
        let of = match mesh.has_several_objects() {
            true => mesh.object_numbers(),
            false => vec![0; mesh.positions.len()],
        };
        let place = |vertex: u32| of.get(vertex as usize).map_or(0, |number| *number as usize);
        for (at, &vertex) in (0u32..).zip(corners) {
            list[place(vertex)].corners.push(at);
        }
        let mut start = 0u32;
        for (polygon, &count) in (0u32..).zip(&polygons.counts) {
            let end = start + count;
            let vertex = polygons.indices.get(start as usize).copied().unwrap_or_default();
            list[place(vertex)].polygons.push((polygon, start, end));
            start = end;
        }
        let mut numbers = vec![0; corners.len()];
        for (number, &at) in (1..).zip(list.iter().flat_map(|part| &part.corners)) {
            numbers[at as usize] = number;
        }
        Self { list, numbers }
    }
}
