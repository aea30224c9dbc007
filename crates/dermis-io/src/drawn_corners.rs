//! The corners of polygons as a mesh draws them.

use dermis_rig::{Mesh, Polygons, RenderMesh};
use std::borrow::Cow;

/// The polygons of a mesh: its triangles if it has no others.
pub(crate) fn polygons_of(mesh: &Mesh) -> Cow<'_, Polygons> {
    match &mesh.polygons {
        Some(polygons) => Cow::Borrowed(polygons),
        None => Cow::Owned(Polygons {
            counts: vec![3; mesh.triangles.len()],
            indices: mesh.triangles.as_flattened().to_vec(),
        }),
    }
}

/// [`drawn_corners`] of what a mesh draws and its polygons.
pub(crate) fn drawn_as_split(mesh: &Mesh) -> Option<Vec<u32>> {
    drawn_corners(mesh, mesh.render.as_ref()?, &polygons_of(mesh))
}

/// The drawn vertex of every polygon corner, if the triangles drawn are those that the polygons were split into, one for one. `None` also
/// where a polygon meets a vertex twice and draws it differently.
pub(crate) fn drawn_corners(mesh: &Mesh, render: &RenderMesh, polygons: &Polygons) -> Option<Vec<u32>> {
    let count = render.source.len();
    let is_whole = [render.uvs.len(), render.normals.len()].iter().all(|&of| of == 0 || of == count)
        && render.source.iter().all(|&vertex| (vertex as usize) < mesh.positions.len())
        && render.triangles.as_flattened().iter().all(|&corner| (corner as usize) < count)
        && render.triangles.len() == mesh.triangles.len();
    let mut triangles = render.triangles.iter().zip(&mesh.triangles).filter(|_| is_whole);
    let mut rest = polygons.indices.as_slice();
    let mut drawn = Vec::with_capacity(rest.len());
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for &count in &polygons.counts {
        let (corners, after) = rest.split_at_checked(count as usize)?;
        rest = after;
        pairs.clear();
        for _ in 0..count.checked_sub(2)? {
            let (drawn, vertices) = triangles.next()?;
            pairs.extend(vertices.iter().copied().zip(drawn.iter().copied()));
        }
        pairs.sort_unstable();
        pairs.dedup();
        for corner in corners {
            let at = pairs.partition_point(|(vertex, _)| vertex < corner);
            let mut found = pairs[at..].iter().filter(|(vertex, _)| vertex == corner).map(|(_, drawn)| *drawn);
            let (own, None) = (found.next()?, found.next()) else { return None };
            drawn.push(own);
        }
    }
    let hangs = |(drawn, vertex): (&u32, &u32)| render.source[*drawn as usize] == *vertex;
    let fits = drawn.len() == polygons.indices.len() && triangles.next().is_none();
    (fits && drawn.iter().zip(&polygons.indices).all(hangs)).then_some(drawn)
}
