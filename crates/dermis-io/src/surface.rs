//! What readers of polygon meshes share: fan triangulation, and the flaws of a surface.

use crate::{Flaw, Warning};
use dermis_rig::glam::DVec3;
use dermis_rig::{Mesh, Polygons};

/// The fan triangulation: polygon (c₀ c₁ … cₙ) gives (c₀ c₁ c₂), (c₀ c₂ c₃), …
///
/// Corners beyond the list are ignored; [`Mesh::check`] reports counts that do not add up.
pub(crate) fn fan(polygons: &Polygons) -> Vec<[u32; 3]> {
    let mut triangles = Vec::with_capacity(polygons.indices.len());
    let mut rest = polygons.indices.as_slice();
    for &count in &polygons.counts {
        let (corners, after) = rest.split_at(rest.len().min(count as usize));
        if let [first, others @ ..] = corners {
            triangles.extend(others.windows(2).map(|pair| [*first, pair[0], pair[1]]));
        }
        rest = after;
    }
    triangles
}

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

/// Whether the height over the longest side is below 1e-10 of that side: far below what 32-bit positions resolve, so it
/// is a repeated corner or three corners on a line, not a sliver somebody modelled.
fn has_no_area([a, b, c]: [DVec3; 3]) -> bool {
    let (ab, bc, ca) = (b - a, c - b, a - c);
    let longest = ab.length_squared().max(bc.length_squared()).max(ca.length_squared());
    ab.cross(ca).length() <= 1e-10 * longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pentagon_gives_three_triangles_and_short_lists_none() {
        let polygons = Polygons { counts: vec![5, 3], indices: vec![4, 0, 1, 2, 3, 7, 8, 9] };
        assert_eq!(fan(&polygons), [[4, 0, 1], [4, 1, 2], [4, 2, 3], [7, 8, 9]]);
        assert_eq!(fan(&Polygons { counts: vec![u32::MAX, 3], indices: vec![1, 2] }), [[0u32; 3]; 0]);
    }

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
