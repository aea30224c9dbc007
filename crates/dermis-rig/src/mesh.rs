//! The rest mesh a model is learnt on, and the mesh an engine draws.

use crate::object::{MOST_OBJECTS, MeshObject};
use crate::principal::extent;
use crate::rows::Rows;
use crate::{Appearance, MorphTarget, MorphTargets};
use glam::{DVec2, DVec3, Vec4};
use std::collections::HashMap;
use std::sync::Arc;

/// A mesh at rest. Its vertices are the places where skin is learnt: a seam that a file split is one vertex here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Rest positions, metres, Y up.
    pub positions: Vec<DVec3>,
    /// Triangles, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
    /// The polygons as authored, if the file had any, in the order of `triangles`: a polygon of n corners is n − 2 of them.
    pub polygons: Option<Polygons>,
    /// One colour per vertex, if the file had any (influence maps can be painted with them).
    pub colors: Option<Vec<Vec4>>,
    /// The meshes of the file, if it has several or names its only one: runs of vertices that cover all of them, in file order. A face
    /// belongs to the object of its vertices.
    pub objects: Vec<MeshObject>,
    /// How the file's own vertices hang on these, when they are not the same.
    pub render: Option<RenderMesh>,
    /// The morph targets of the file, if it has any. Carried through to export.
    pub morphs: Option<Arc<MorphTargets>>,
}

/// Polygons with any number of corners.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polygons {
    /// Corners of each polygon.
    pub counts: Vec<u32>,
    /// The corners, polygon after polygon.
    pub indices: Vec<u32>,
}

/// The mesh as a file draws it: vertices split at seams, materials, texture coordinates. Carried through to export.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderMesh {
    /// For each drawn vertex, the vertex of the [`Mesh`] it hangs on.
    pub source: Vec<u32>,
    /// Triangles over drawn vertices.
    pub triangles: Vec<[u32; 3]>,
    /// Texture coordinates per drawn vertex, or empty. (0, 0) is the upper left corner of an image.
    pub uvs: Vec<DVec2>,
    /// Further sets of texture coordinates, each per drawn vertex.
    pub more_uvs: Vec<Vec<DVec2>>,
    /// Linear colours per drawn vertex, or empty where those of the [`Mesh`] say it all.
    pub colors: Vec<Vec4>,
    /// Unit normals at rest per drawn vertex as the file had them, or empty: hard edges live here. Zero where it had none.
    pub normals: Vec<DVec3>,
    /// Runs of triangles that share a material.
    pub parts: Vec<RenderPart>,
    /// Whether the file gives texture coordinates and normals to corners of polygons (FBX). It lists no drawn vertices
    /// then: files of positions that go with it follow the vertices of the [`Mesh`].
    pub by_corner: bool,
    /// Materials, textures and what else stands in the file, if it has any.
    pub appearance: Option<Arc<Appearance>>,
}

/// A run of triangles with one material.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderPart {
    /// Name of the mesh or material.
    pub name: String,
    /// First triangle.
    pub start: u32,
    /// Number of triangles.
    pub count: u32,
    /// Base colour, linear RGBA.
    pub color: Vec4,
    /// Number of its material in the [`Appearance`].
    pub material: Option<u32>,
}

/// Why a mesh cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// The mesh has no vertex.
    #[error("the mesh has no vertices")]
    Empty,
    /// A coordinate is NaN or infinite.
    #[error("vertex {vertex} is not finite")]
    NotFinite {
        /// The first such vertex.
        vertex: usize,
    },
    /// A face names a vertex that does not exist.
    #[error("face {face} names vertex {vertex}, but the mesh has {vertices} vertices")]
    IndexOutOfRange {
        /// The face.
        face: usize,
        /// The vertex it names.
        vertex: usize,
        /// How many there are.
        vertices: usize,
    },
    /// Polygon corners do not add up.
    #[error("the polygons have {counted} corners by their counts but list {listed}")]
    PolygonCounts {
        /// Sum of the counts.
        counted: u64,
        /// Corners listed.
        listed: usize,
    },
    /// An object without vertices.
    #[error("object {object} (\"{name:.100}\") has no vertices")]
    EmptyObject {
        /// The object.
        object: usize,
        /// Its name.
        name: String,
    },
    /// Objects that do not cover the vertices.
    #[error("the objects have {counted} vertices together, but the mesh has {vertices}")]
    ObjectCounts {
        /// Sum of their vertices.
        counted: u64,
        /// Vertices of the mesh.
        vertices: usize,
    },
    /// A morph target of another mesh.
    #[error("the morph target \"{name:.100}\" moves {found} vertices, but the mesh has {vertices}")]
    MorphTarget {
        /// Its name.
        name: String,
        /// Its displacements.
        found: usize,
        /// Vertices of the mesh.
        vertices: usize,
    },
    /// Morph targets whose weights are not as many.
    #[error("{targets} morph targets have {weights} weights")]
    MorphWeights {
        /// The targets.
        targets: usize,
        /// The weights.
        weights: usize,
    },
    /// More objects than a writer could name.
    #[error("the mesh has {objects} objects, and {MOST_OBJECTS} are the most")]
    ManyObjects {
        /// How many there are.
        objects: usize,
    },
    /// A face with vertices of two objects.
    #[error("face {face} joins the objects \"{:.100}\" and \"{:.100}\"", objects[0], objects[1])]
    Straddles {
        /// The face.
        face: usize,
        /// Names of the objects.
        objects: [String; 2],
    },
}

impl Polygons {
    /// Returns the corners of every polygon; fewer where the list ends early.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let mut rest = &self.indices[..];
        self.counts.iter().map(move |&count| {
            let (polygon, others) = rest.split_at((count as usize).min(rest.len()));
            rest = others;
            polygon
        })
    }
}

impl Mesh {
    /// Checks that positions are finite, faces name vertices that exist, and objects cover the vertices.
    ///
    /// # Errors
    /// [`MeshError`], naming the first offending element.
    pub fn check(&self) -> Result<(), MeshError> {
        if self.positions.is_empty() {
            return Err(MeshError::Empty);
        }
        if let Some(vertex) = self.positions.iter().position(|p| !p.is_finite()) {
            return Err(MeshError::NotFinite { vertex });
        }
        let vertices = self.positions.len();
        for (face, corners) in self.triangles.iter().enumerate() {
            if let Some(&bad) = corners.iter().find(|&&c| c as usize >= vertices) {
                return Err(MeshError::IndexOutOfRange { face, vertex: bad as usize, vertices });
            }
        }
        if let Some(polygons) = &self.polygons {
            let counted: u64 = polygons.counts.iter().map(|&c| u64::from(c)).sum();
            if counted != polygons.indices.len() as u64 {
                return Err(MeshError::PolygonCounts { counted, listed: polygons.indices.len() });
            }
            if let Some(at) = polygons.indices.iter().position(|&c| c as usize >= vertices) {
                return Err(MeshError::IndexOutOfRange { face: at, vertex: polygons.indices[at] as usize, vertices });
            }
        }
        self.check_morphs()?;
        self.check_objects()
    }

    /// The morph targets that it came with.
    pub fn morph_targets(&self) -> &[MorphTarget] {
        self.morphs.as_deref().map_or(&[], |morphs| &morphs.targets)
    }

    /// Weights of [`Mesh::morph_targets`] where no clip says otherwise; empty if all are zero.
    pub fn morph_weights(&self) -> &[f64] {
        self.morphs.as_deref().map_or(&[], |morphs| &morphs.weights)
    }

    fn check_morphs(&self) -> Result<(), MeshError> {
        let Some(morphs) = &self.morphs else { return Ok(()) };
        let vertices = self.positions.len();
        if let Some(target) = morphs.targets.iter().find(|target| target.deltas.len() != vertices) {
            let (name, found) = (target.name.clone(), target.deltas.len());
            return Err(MeshError::MorphTarget { name, found, vertices });
        }
        let (targets, weights) = (morphs.targets.len(), morphs.weights.len());
        match weights == 0 || weights == targets {
            true => Ok(()),
            false => Err(MeshError::MorphWeights { targets, weights }),
        }
    }

    /// L, the length unit of every fit: the diagonal of the box around the rest mesh along its own principal axes, which does not
    /// depend on the way that the character stands. Zero for a single point.
    pub fn extent(&self) -> f64 {
        extent(&self.positions)
    }

    /// Length of the rest bounding box's diagonal, which tolerances and errors are measured in. Zero for a single point.
    pub fn diagonal(&self) -> f64 {
        let (low, high) = self.bounds();
        (high - low).length()
    }

    /// Corners of the rest bounding box; both zero for an empty mesh.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        if self.positions.is_empty() {
            return (DVec3::ZERO, DVec3::ZERO);
        }
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        self.positions.iter().fold(start, |(low, high), &p| (low.min(p), high.max(p)))
    }

    /// Neighbours of every vertex along edges of triangles, sorted, without repetition.
    pub fn neighbours(&self) -> Neighbours {
        let edges = self.triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
        Neighbours::along(self.positions.len(), edges)
    }

    /// Neighbours along the edges of the polygons as authored, or of the triangles where the file had no others. A diagonal
    /// of a polygon is no edge.
    ///
    /// `place[v]` is the vertex that stands for v, such as the first of those that a seam split; an edge joins the vertices
    /// that stand for its ends.
    pub fn neighbours_along_polygons(&self, place: &[u32]) -> Neighbours {
        let edge = |(a, b): (u32, u32)| (place[a as usize], place[b as usize]);
        let Some(polygons) = &self.polygons else {
            let edges = self.triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
            return Neighbours::along(self.positions.len(), edges.map(edge));
        };
        let edges = polygons.iter().flat_map(|polygon| polygon.iter().zip(polygon.iter().cycle().skip(1)));
        Neighbours::along(self.positions.len(), edges.map(|(&a, &b)| edge((a, b))))
    }

    /// Whether every edge belongs to exactly two triangles that run along it in opposite directions: only then does the
    /// mesh enclose a volume.
    pub fn is_closed(&self) -> bool {
        let mut edges: Vec<(u32, u32, bool)> = Vec::with_capacity(self.triangles.len() * 3);
        for &[a, b, c] in &self.triangles {
            for (from, to) in [(a, b), (b, c), (c, a)] {
                edges.push((from.min(to), from.max(to), from < to));
            }
        }
        edges.sort_unstable();
        !edges.is_empty()
            && edges.len().is_multiple_of(2)
            && edges.chunks_exact(2).all(|two| (two[0].0, two[0].1) == (two[1].0, two[1].1) && two[0].2 != two[1].2)
    }
}

/// For every vertex the first at exactly the same position: vertices that a file split at seams become one.
pub fn welded(positions: &[DVec3]) -> Vec<u32> {
    let mut first: HashMap<[u64; 3], u32> = HashMap::with_capacity(positions.len());
    // Adding zero makes −0 the same as 0.
    let key = |p: &DVec3| [p.x, p.y, p.z].map(|x| (x + 0.0).to_bits());
    positions.iter().enumerate().map(|(v, p)| *first.entry(key(p)).or_insert(v as u32)).collect()
}

/// A third of the area of the triangles around each vertex.
///
/// # Panics
/// If a triangle has a corner that is no position.
pub fn vertex_areas(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<f64> {
    let mut areas = vec![0.0; positions.len()];
    for corners in triangles {
        let [a, b, c] = corners.map(|corner| positions[corner as usize]);
        let area = (b - a).cross(c - a).length() / 6.0;
        corners.iter().for_each(|&corner| areas[corner as usize] += area);
    }
    areas
}

/// The neighbours of every vertex.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    rows: Rows<u32>,
}

impl Neighbours {
    /// Of the ends of edges, each in both directions; an edge from a vertex to itself is none.
    fn along(vertices: usize, edges: impl Iterator<Item = (u32, u32)>) -> Self {
        let both = edges.filter(|(from, to)| from != to).flat_map(|(from, to)| [(from, to), (to, from)]);
        let mut pairs: Vec<(u32, u32)> = both.collect();
        pairs.sort_unstable();
        pairs.dedup();
        Self { rows: Rows::by_row(vertices, pairs) }
    }

    /// Neighbours of vertex `v`.
    pub fn of(&self, v: usize) -> &[u32] {
        self.rows.of(v)
    }

    /// The same with those of `place[v]` for every v: a vertex that another stands for has that one's neighbours.
    #[must_use]
    pub fn for_all(&self, place: &[u32]) -> Self {
        let of = |(at, &v): (usize, &u32)| self.of(v as usize).iter().map(move |&j| (at as u32, j));
        Self { rows: Rows::by_row(place.len(), place.iter().enumerate().flat_map(of).collect()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tetrahedron() -> Mesh {
        Mesh {
            positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z],
            triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
            ..Mesh::default()
        }
    }

    #[test]
    fn a_tetrahedron_is_closed_until_a_face_is_missing_or_turned() {
        let mut mesh = tetrahedron();
        assert!(mesh.is_closed());
        mesh.triangles[0] = [0, 1, 2];
        assert!(!mesh.is_closed());
        mesh.triangles.remove(0);
        assert!(!mesh.is_closed());
    }

    #[test]
    fn neighbours_are_sorted_and_unique() {
        let mesh = tetrahedron();
        assert_eq!(mesh.neighbours().of(0), [1, 2, 3]);
        assert_eq!(mesh.neighbours().of(3), [0, 1, 2]);
    }

    #[test]
    fn a_face_out_of_range_is_named() {
        let mut mesh = tetrahedron();
        mesh.triangles[2][1] = 9;
        assert_eq!(mesh.check(), Err(MeshError::IndexOutOfRange { face: 2, vertex: 9, vertices: 4 }));
    }

    #[test]
    fn seams_are_welded_and_zero_has_one_sign() {
        let positions = [DVec3::X, DVec3::ZERO, DVec3::X, DVec3::new(0.0, -0.0, 0.0), DVec3::Y];
        assert_eq!(welded(&positions), [0, 1, 0, 1, 4]);
    }

    #[test]
    fn diagonals_of_polygons_are_no_edges_and_seams_are_joined() {
        // Two squares side by side; the second has its own copies, 4 and 5, of the corners 1 and 2.
        let square = |x: f64| [DVec3::new(x, 0.0, 0.0), DVec3::new(x + 1.0, 0.0, 0.0), DVec3::new(x + 1.0, 1.0, 0.0)];
        let [a, b, c] = square(0.0);
        let [_, e, f] = square(1.0);
        let positions = vec![a, b, c, DVec3::Y, b, c, e, f];
        let indices = vec![0, 1, 2, 3, 4, 6, 7, 5];
        let triangles = vec![[0, 1, 2], [0, 2, 3], [4, 6, 7], [4, 7, 5]];
        let mut mesh = Mesh { positions, triangles, ..Mesh::default() };
        let place = welded(&mesh.positions);
        assert_eq!(mesh.neighbours_along_polygons(&place).of(1), [0, 2, 6, 7]);
        mesh.polygons = Some(Polygons { counts: vec![4, 4], indices });
        let along = mesh.neighbours_along_polygons(&place);
        assert_eq!((along.of(1), along.of(2), along.of(4)), (&[0, 2, 6][..], &[1, 3, 7][..], &[][..]));
    }
}
