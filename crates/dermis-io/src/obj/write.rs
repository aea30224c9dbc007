//! Writing one OBJ file.

use crate::drawn_corners::drawn_corners;
use crate::normals::{Shading, smooth_normals};
use crate::{Format, Space, WriteError};
use dermis_rig::glam::DVec3;
use dermis_rig::{Mesh, MeshObject, Polygons};
use std::fmt::Write as _;
use std::io::Write;
use std::ops::Range;

/// Writes the mesh with its vertices at `positions`: polygons, if it has them, and the texture coordinates of its drawn
/// vertices, if they hang on the same triangles. Positions are written with all their digits. Several objects stand one after the other, each below
/// an `o` line with its name; whether they are hidden is lost.
///
/// # Errors
/// [`WriteError`]: another number of positions than vertices, faces that name none, positions not finite.
pub fn write(mesh: &Mesh, positions: &[DVec3], space: &Space, out: &mut dyn Write) -> Result<(), WriteError> {
    write_shape(mesh, positions, Normals::LeftOut, space, out)
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

/// [`write()`] with normals, if they are wanted.
///
/// # Errors
/// As [`write()`].
pub fn write_shape(
    mesh: &Mesh,
    positions: &[DVec3],
    normals: Normals,
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
    let triangles = Polygons {
        counts: vec![3; if mesh.polygons.is_some() { 0 } else { mesh.triangles.len() }],
        indices: if mesh.polygons.is_some() { Vec::new() } else { mesh.triangles.as_flattened().to_vec() },
    };
    let polygons = mesh.polygons.as_ref().unwrap_or(&triangles);
    let drawn = mesh.render.as_ref().and_then(|render| drawn_corners(mesh, render, polygons));
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
    let mut text = String::new();
    for part in &parts.list {
        // Writing to a String cannot fail.
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
        for &(from, to) in &part.polygons {
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
    /// The first corner of each of its polygons, and the one after the last.
    polygons: Vec<(u32, u32)>,
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
        for &count in &polygons.counts {
            let end = start + count;
            let vertex = polygons.indices.get(start as usize).copied().unwrap_or_default();
            list[place(vertex)].polygons.push((start, end));
            start = end;
        }
        let mut numbers = vec![0; corners.len()];
        for (number, &at) in (1..).zip(list.iter().flat_map(|part| &part.corners)) {
            numbers[at as usize] = number;
        }
        Self { list, numbers }
    }
}

/// A name that stands in a line: control characters become blanks, and a backslash at the end, which would join the next line, a slash.
fn in_one_line(name: &str) -> String {
    let mut name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if name.trim_end().ends_with('\\') {
        name.truncate(name.trim_end().len() - 1);
        name.push('/');
    }
    name
}
