//! The meshes of a file that has several, such as a body and its clothes. One [`Mesh`] holds the vertices of all of them.

use crate::mesh::{Mesh, MeshError};
use std::ops::Range;

/// One of the meshes of a file: a run of vertices of the [`Mesh`], after those of the objects before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshObject {
    /// Its name as the file has it. It may be empty, and several objects may have the same.
    pub name: String,
    /// Number of its vertices, at least one.
    pub vertices: u32,
    /// Whether the file shows it.
    pub visible: bool,
}

/// Objects that a mesh may have. A film character has some hundred; a file without limit could ask a writer for a million tables.
pub const MOST_OBJECTS: usize = 1 << 14;

impl Mesh {
    /// Returns the objects with the vertices of each.
    pub fn object_ranges(&self) -> impl Iterator<Item = (&MeshObject, Range<usize>)> {
        let mut end = 0usize;
        self.objects.iter().map(move |object| {
            let start = end;
            end = end.saturating_add(object.vertices as usize);
            (object, start..end)
        })
    }

    /// Whether the mesh is several: its writers then keep them apart, by name. A lone mesh is called as its file.
    pub fn has_several_objects(&self) -> bool {
        self.objects.len() > 1
    }

    /// Returns the number of the object of every vertex; zeros without objects.
    pub fn object_numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = Vec::with_capacity(self.positions.len());
        for (number, (_, range)) in (0..).zip(self.object_ranges()) {
            numbers.resize(range.end.min(self.positions.len()), number);
        }
        numbers.resize(self.positions.len(), 0);
        numbers
    }

    /// Checks that objects cover all vertices, and that no face joins two of them.
    pub(crate) fn check_objects(&self) -> Result<(), MeshError> {
        let vertices = self.positions.len();
        if self.objects.is_empty() {
            return Ok(());
        }
        if self.objects.len() > MOST_OBJECTS {
            return Err(MeshError::ManyObjects { objects: self.objects.len() });
        }
        if let Some(object) = self.objects.iter().position(|object| object.vertices == 0) {
            return Err(MeshError::EmptyObject { object, name: self.objects[object].name.clone() });
        }
        let counted: u64 = self.objects.iter().map(|object| u64::from(object.vertices)).sum();
        if counted != vertices as u64 {
            return Err(MeshError::ObjectCounts { counted, vertices });
        }
        if !self.has_several_objects() {
            return Ok(());
        }
        let numbers = self.object_numbers();
        let one =
            |corners: &[u32]| corners.iter().all(|&corner| numbers[corner as usize] == numbers[corners[0] as usize]);
        let apart = |face: usize, corners: &[u32]| {
            let mut of = corners.iter().map(|&corner| numbers[corner as usize]);
            let first = of.next().unwrap_or_default();
            let other = of.find(|number| *number != first).unwrap_or(first);
            let name = |number: u32| self.objects[number as usize].name.clone();
            Err(MeshError::Straddles { face, objects: [name(first), name(other)] })
        };
        let triangles = self.triangles.iter().map(|corners| &corners[..]);
        let polygons = self.polygons.iter().flat_map(|polygons| polygons.iter());
        for (face, corners) in triangles.enumerate().chain(polygons.enumerate()) {
            if !one(corners) {
                return apart(face, corners);
            }
        }
        // Drawn triangles whose numbers are out of range are for those to report who draw them.
        let Some(render) = &self.render else { return Ok(()) };
        for (face, corners) in render.triangles.iter().enumerate() {
            let source = corners.map(|corner| render.source.get(corner as usize).copied().unwrap_or(u32::MAX));
            if source.iter().all(|&vertex| (vertex as usize) < vertices) && !one(&source) {
                return apart(face, &source);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Polygons, RenderMesh};
    use glam::DVec3;

    fn object(name: &str, vertices: u32) -> MeshObject {
        MeshObject { name: name.into(), vertices, visible: true }
    }

    /// A quad and a triangle.
    fn two() -> Mesh {
        Mesh {
            positions: vec![DVec3::ZERO; 7],
            triangles: vec![[0, 1, 2], [0, 2, 3], [4, 5, 6]],
            polygons: Some(Polygons { counts: vec![4, 3], indices: vec![0, 1, 2, 3, 4, 5, 6] }),
            objects: vec![object("body", 4), object("cloth", 3)],
            ..Mesh::default()
        }
    }

    #[test]
    fn objects_are_runs_of_vertices() {
        let mesh = two();
        assert_eq!(mesh.check(), Ok(()));
        let ranges: Vec<_> = mesh.object_ranges().map(|(object, range)| (object.name.as_str(), range)).collect();
        assert_eq!(ranges, [("body", 0..4), ("cloth", 4..7)]);
        assert_eq!(mesh.object_numbers(), [0, 0, 0, 0, 1, 1, 1]);
        assert_eq!(Mesh { objects: vec![], ..mesh }.object_numbers(), [0; 7]);
    }

    #[test]
    fn objects_that_do_not_cover_the_mesh_are_refused_with_their_numbers() {
        let with = |objects: Vec<MeshObject>| Mesh { objects, ..two() }.check().unwrap_err().to_string();
        let none = with(vec![object("a", 4), object("b", 0), object("c", 3)]);
        assert_eq!(none, "object 1 (\"b\") has no vertices");
        let gap = with(vec![object("a", 4), object("b", 2)]);
        assert_eq!(gap, "the objects have 6 vertices together, but the mesh has 7");
        let huge = with(vec![object("a", u32::MAX), object("b", u32::MAX)]);
        assert_eq!(huge, "the objects have 8589934590 vertices together, but the mesh has 7");
        let many = with(vec![object("", 1); MOST_OBJECTS + 1]);
        assert_eq!(many, "the mesh has 16385 objects, and 16384 are the most");
    }

    #[test]
    fn a_face_that_joins_two_objects_is_named() {
        let joined = |mesh: &Mesh| mesh.check().unwrap_err().to_string();
        let mut mesh = two();
        mesh.triangles[2][0] = 3;
        assert_eq!(joined(&mesh), "face 2 joins the objects \"body\" and \"cloth\"");
        let mut mesh = two();
        mesh.polygons.as_mut().unwrap().indices[5] = 1;
        assert_eq!(joined(&mesh), "face 1 joins the objects \"cloth\" and \"body\"");
        let mut mesh = two();
        let render =
            RenderMesh { source: vec![0, 1, 2, 6], triangles: vec![[0, 1, 3], [0, 1, 9]], ..RenderMesh::default() };
        mesh.render = Some(render);
        assert_eq!(joined(&mesh), "face 0 joins the objects \"body\" and \"cloth\"");
        mesh.render.as_mut().unwrap().source[3] = 2;
        assert_eq!(mesh.check(), Ok(()), "a drawn vertex that is not there is for the writer to report");
    }
}
