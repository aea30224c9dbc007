//! The flaws of a surface, which readers of meshes count.

use crate::{Flaw, Warning};
use dermis_rig::glam::DVec3;
use dermis_rig::Mesh;

/// Triangles without area and vertices without a face, counted. The mesh must have passed [`Mesh::check`].
pub(crate) fn flaws(mesh: &Mesh) -> Vec<Warning> {
    let mut used = vec![false; mesh.positions.len()];
    let polygon_corners = mesh.polygons.iter().flat_map(|p| &p.indices);
    for &corner in mesh.triangles.as_flattened().iter().chain(polygon_corners) {
        used[corner as usize] = true;
    }
    let flat = |corners: &[u32; 3]| has_no_area(corners.map(|c| mesh.positions[c as usize]));
    let mut warnings = Vec::new();
    count(
        &mut warnings,
        Flaw::DegenerateTriangle,
        mesh.triangles.iter().enumerate().filter(|(_, t)| flat(t)).map(|(at, t)| format!("triangle {at}, {t:?}")),
    );
    let unused = used.iter().enumerate().filter(|(_, used)| !**used);
    count(&mut warnings, Flaw::UnusedVertex, unused.map(|(at, _)| format!("vertex {at}")));
    warnings
}

/// Adds a warning for the elements of `found`, unless there are none.
pub(crate) fn count(warnings: &mut Vec<Warning>, flaw: Flaw, found: impl IntoIterator<Item = String>) {
    let mut found = found.into_iter();
    if let Some(first) = found.next() {
        warnings.push(Warning { flaw, count: 1 + found.count(), first: Some(first) });
    }
}

/// A triangle has no area where its height over the longest side is below this part of that side: far below what 32-bit positions
/// resolve, so it is a repeated corner or three corners on a line, not a sliver somebody modelled.
pub(crate) const FLAT: f64 = 1e-10;

/// Whether a triangle has no area.
pub(crate) fn has_no_area([a, b, c]: [DVec3; 3]) -> bool {
    let (ab, bc, ca) = (b - a, c - b, a - c);
    let longest = ab.length_squared().max(bc.length_squared()).max(ca.length_squared());
    ab.cross(ca).length() <= FLAT * longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_triangles_and_loose_vertices_are_counted() {
        let mesh = Mesh {
            positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y, 2.0 * DVec3::X, DVec3::Z],
            triangles: vec![[0, 1, 2], [0, 1, 3], [1, 1, 2]],
            ..Mesh::default()
        };
        let found: Vec<_> = flaws(&mesh).into_iter().map(|w| (w.flaw, w.count, w.first.unwrap())).collect();
        let expected = [
            (Flaw::DegenerateTriangle, 2, "triangle 1, [0, 1, 3]".to_owned()),
            (Flaw::UnusedVertex, 1, "vertex 4".to_owned()),
        ];
        assert_eq!(found, expected);
    }
}
