//! The polygons of each object, and what hangs on their corners.

use super::materials::Materials;
use crate::drawn_corners::drawn_corners;
use crate::gltf::expect;
use crate::normals::Shading;
use crate::{Format, WriteError};
use dermis_rig::glam::{DAffine3, DVec2, DVec3, Vec4};
use dermis_rig::{Mesh, MeshError, Polygons, RenderMesh};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// The polygons of all objects, with the drawn vertex and the material of each.
pub(crate) struct Surface<'a> {
    mesh: &'a Mesh,
    render: Cow<'a, RenderMesh>,
    polygons: Cow<'a, Polygons>,
    /// The drawn vertex of every corner.
    drawn: Vec<u32>,
    /// The material of every polygon.
    materials: Vec<Option<usize>>,
    /// Unit normals of drawn vertices.
    normals: Vec<DVec3>,
    /// The polygons of each object: the number of each, and its corners.
    by_object: Vec<Vec<(usize, Range<usize>)>>,
    /// Whether the polygons of the mesh became triangles, because what is drawn does not follow them.
    pub(crate) split: bool,
}

impl<'a> Surface<'a> {
    /// # Errors
    /// [`WriteError`]: what disagrees, or is not finite.
    pub(crate) fn new(mesh: &'a Mesh, materials: &mut Materials, format: Format) -> Result<Self, WriteError> {
        mesh.check()?;
        let as_is = || RenderMesh {
            source: (0..mesh.positions.len() as u32).collect(),
            triangles: mesh.triangles.clone(),
            ..RenderMesh::default()
        };
        let render = mesh.render.as_ref().map_or_else(|| Cow::Owned(as_is()), Cow::Borrowed);
        check(&render, mesh, format)?;
        let normals = Shading::new(mesh, &render).rest().to_vec();
        let whole = mesh.polygons.as_ref().filter(|polygons| polygons.counts.iter().all(|count| *count >= 3));
        let own = whole.and_then(|polygons| match &mesh.render {
            Some(render) => Some((polygons, drawn_corners(mesh, render, polygons)?)),
            None => Some((polygons, polygons.indices.clone())),
        });
        let split = own.is_none() && mesh.polygons.is_some();
        let (polygons, drawn) = match own {
            Some((polygons, drawn)) => (Cow::Borrowed(polygons), drawn),
            None => {
                let drawn = render.triangles.as_flattened().to_vec();
                let indices = drawn.iter().map(|&corner| render.source[corner as usize]).collect();
                (Cow::Owned(Polygons { counts: vec![3; render.triangles.len()], indices }), drawn)
            }
        };
        let of_triangles = of_triangles(&render, materials);
        let (mut of_polygons, mut triangle) = (Vec::with_capacity(polygons.counts.len()), 0);
        for count in &polygons.counts {
            of_polygons.push(of_triangles.get(triangle).copied().flatten());
            triangle += *count as usize - 2;
        }
        let objects = mesh.objects.len().max(1);
        let numbers = mesh.object_numbers();
        let (mut by_object, mut start) = (vec![Vec::new(); objects], 0);
        for (polygon, corners) in polygons.iter().enumerate() {
            let end = start + corners.len();
            let object = if objects == 1 { 0 } else { numbers[corners[0] as usize] as usize };
            by_object[object].push((polygon, start..end));
            start = end;
        }
        Ok(Self { mesh, render, polygons, drawn, materials: of_polygons, normals, by_object, split })
    }

    /// Corners of every polygon of an object; after another the vertex of each corner, by its number in the mesh, and its drawn vertex.
    pub(crate) fn polygons(&self, object: usize) -> (Vec<usize>, Vec<u32>, Vec<u32>) {
        let (mut counts, mut vertices, mut drawn) = (Vec::new(), Vec::new(), Vec::new());
        for (_, own) in &self.by_object[object] {
            counts.push(own.len());
            vertices.extend(&self.polygons.indices[own.clone()]);
            drawn.extend(&self.drawn[own.clone()]);
        }
        (counts, vertices, drawn)
    }

    /// Sets of texture coordinates of drawn vertices, from the image's lower left.
    ///
    /// # Errors
    /// [`WriteError::NotFinite`] in one of `drawn`.
    pub(crate) fn uv_sets(&self, drawn: &[u32]) -> Result<Vec<Vec<[f64; 2]>>, WriteError> {
        let sets = Some(&self.render.uvs).filter(|uvs| !uvs.is_empty()).into_iter().chain(&self.render.more_uvs);
        let set = |uvs: &Vec<DVec2>| {
            let values: Vec<[f64; 2]> = drawn.iter().map(|&at| uvs[at as usize]).map(|uv| [uv.x, 1.0 - uv.y]).collect();
            match values.as_flattened().iter().all(|x| x.is_finite()) {
                true => Ok(values),
                false => Err(WriteError::NotFinite { what: "a texture coordinate".into() }),
            }
        };
        sets.map(set).collect()
    }

    /// Colours of drawn vertices; `None` without any.
    ///
    /// # Errors
    /// [`WriteError::NotFinite`] in one of `drawn`.
    pub(crate) fn colors(&self, drawn: &[u32]) -> Result<Option<Vec<[f64; 4]>>, WriteError> {
        if self.render.colors.is_empty() && self.mesh.colors.is_none() {
            return Ok(None);
        }
        let color = |at: &u32| {
            let of_vertex = || self.mesh.colors.as_ref()?.get(self.render.source[*at as usize] as usize).copied();
            let own = self.render.colors.get(*at as usize).copied();
            own.or_else(of_vertex).unwrap_or(Vec4::ONE).to_array().map(f64::from)
        };
        let values: Vec<[f64; 4]> = drawn.iter().map(color).collect();
        match values.as_flattened().iter().all(|x| x.is_finite()) {
            true => Ok(Some(values)),
            false => Err(WriteError::NotFinite { what: "a colour".into() }),
        }
    }

    /// Positions of an object's vertices in the file's world.
    ///
    /// # Errors
    /// [`WriteError::NotFinite`].
    pub(crate) fn positions(&self, range: Range<usize>, from_ours: &DAffine3) -> Result<Vec<DVec3>, WriteError> {
        let position = |vertex: usize| {
            let p = from_ours.transform_point3(self.mesh.positions[vertex]);
            p.is_finite().then_some(p).ok_or_else(|| WriteError::NotFinite { what: format!("vertex {vertex}") })
        };
        range.map(position).collect()
    }

    /// The mesh as it is drawn.
    pub(crate) fn render(&self) -> &RenderMesh {
        &self.render
    }

    /// Unit normals of drawn vertices in the file's world.
    pub(crate) fn normals(&self, drawn: &[u32], from_ours: &DAffine3) -> Vec<DVec3> {
        drawn.iter().map(|&at| from_ours.transform_vector3(self.normals[at as usize]).normalize_or_zero()).collect()
    }

    /// The material of every polygon of an object, by its number among the materials.
    pub(crate) fn materials_of(&self, object: usize) -> Vec<Option<usize>> {
        self.by_object[object].iter().map(|(polygon, _)| self.materials[*polygon]).collect()
    }

    /// The slot of every polygon of an object, and the material of every slot. Where some polygons have none, a plain one stands for it.
    pub(crate) fn slots(&self, object: usize, materials: &mut Materials) -> (Vec<i32>, Vec<usize>) {
        let polygons = self.materials_of(object);
        let (mut slots, mut list) = (Vec::with_capacity(polygons.len()), Vec::new());
        if polygons.iter().all(Option::is_none) {
            return (slots, list);
        }
        let mut known: HashMap<usize, i32> = HashMap::new();
        for own in polygons {
            let material = own.unwrap_or_else(|| materials.none());
            let slot = *known.entry(material).or_insert_with(|| {
                list.push(material);
                list.len() as i32 - 1
            });
            slots.push(slot);
        }
        (slots, list)
    }
}

/// The material of every triangle.
fn of_triangles(render: &RenderMesh, materials: &mut Materials) -> Vec<Option<usize>> {
    let mut parts: Vec<_> = render.parts.iter().collect();
    parts.sort_by_key(|part| part.start);
    let mut made = vec![None; render.triangles.len()];
    let mut at = 0;
    for part in parts {
        let (start, end) = (part.start as usize, part.start as usize + part.count as usize);
        if end > at {
            made[start.max(at)..end].fill(materials.of(part));
            at = end;
        }
    }
    made
}

/// Refuses a drawn mesh that names what is not there, or more than the format numbers.
fn check(render: &RenderMesh, mesh: &Mesh, format: Format) -> Result<(), WriteError> {
    let out_of_range = |face: usize, vertex: u32, vertices: usize| {
        WriteError::Mesh(MeshError::IndexOutOfRange { face, vertex: vertex as usize, vertices })
    };
    if let Some(&vertex) = render.source.iter().find(|&&v| v as usize >= mesh.positions.len()) {
        return Err(out_of_range(0, vertex, mesh.positions.len()));
    }
    for (face, corners) in render.triangles.iter().enumerate() {
        if let Some(&vertex) = corners.iter().find(|&&c| c as usize >= render.source.len()) {
            return Err(out_of_range(face, vertex, render.source.len()));
        }
    }
    let drawn = render.source.len();
    for set in Some(&render.uvs).filter(|uvs| !uvs.is_empty()).into_iter().chain(&render.more_uvs) {
        expect("the mesh", "texture coordinates", set.len(), drawn)?;
    }
    if !render.colors.is_empty() {
        expect("the mesh", "colours of drawn vertices", render.colors.len(), drawn)?;
    }
    if !render.normals.is_empty() {
        expect("the mesh", "normals", render.normals.len(), drawn)?;
    }
    if let Some(colors) = &mesh.colors {
        expect("the mesh", "colours", colors.len(), mesh.positions.len())?;
    }
    for part in &render.parts {
        let end = part.start as usize + part.count as usize;
        if end > render.triangles.len() {
            let (what, things) = (format!("part \"{}\"", part.name), "triangles");
            return Err(WriteError::Count { what, things, found: end, expected: render.triangles.len() });
        }
    }
    // Arrays of three doubles per vertex or corner, whose bytes FBX counts with 32 bits.
    let corners = mesh.polygons.as_ref().map_or(0, |polygons| polygons.indices.len()).max(3 * render.triangles.len());
    let most = u32::MAX as usize / 32;
    match mesh.positions.len().max(corners).max(drawn) > most {
        true => Err(WriteError::CannotHold { format, what: format!("a mesh of more than {most} corners") }),
        false => Ok(()),
    }
}

/// Each number as its place among those that occur, and these ascending.
pub(crate) fn numbered(drawn: &[u32]) -> (Vec<i32>, Vec<u32>) {
    let mut used = drawn.to_vec();
    used.sort_unstable();
    used.dedup();
    let place = |at: &u32| used.partition_point(|own| own < at) as i32;
    (drawn.iter().map(place).collect(), used)
}
