//! Whether vertices are drawn face by face: flat shading gives every face vertices of its own.

use super::mesh::Block;
use dermis_rig::glam::DVec3;
use std::collections::BTreeMap;

/// The cosine of the least angle between the normals of two faces, 0.8 degrees: above what rounding turns a face of a plane, below what
/// a low-poly character's faces turn.
const SAME: f64 = 0.9999;

/// Whether the triangles of a block are faces that share no vertex: each a triangle, or a polygon cut without further vertices, and with
/// one normal. Of a block whose faces all have one normal this is not said: it is a plane, and parts of it may be things of their own.
///
/// - `triangles`: over all drawn vertices, of this block alone
pub(super) fn is_faceted<'a>(block: &Block, triangles: impl Iterator<Item = &'a [u32; 3]> + Clone) -> bool {
    let own = |corner: u32| corner as usize - block.start;
    let mut above: Vec<u32> = (0..block.positions.len() as u32).collect();
    for [a, b, c] in triangles.clone().map(|corners| corners.map(own)) {
        join(&mut above, a, b);
        join(&mut above, b, c);
    }
    // Of every face its triangles, less its vertices, and its normal.
    let mut faces: BTreeMap<u32, (i64, DVec3)> = BTreeMap::new();
    let mut used = vec![false; above.len()];
    for corners in triangles.map(|corners| corners.map(own)) {
        let normal = match &block.normals {
            Some(table) => {
                let [first, others @ ..] = corners.map(|corner| DVec3::from_slice(table.row(corner)));
                if others.iter().any(|other| *other != first) {
                    return false;
                }
                first.normalize_or_zero()
            }
            None => {
                let [a, b, c] = corners.map(|corner| block.positions[corner]);
                (b - a).cross(c - a).normalize_or_zero()
            }
        };
        let (count, known) = faces.entry(top(&mut above, corners[0])).or_default();
        if *known == DVec3::ZERO {
            *known = normal;
        } else if normal != DVec3::ZERO && known.dot(normal) < SAME {
            return false;
        }
        *count += 1;
        for corner in corners {
            *count -= i64::from(!std::mem::replace(&mut used[corner], true));
        }
    }
    let mut normals = faces.values().map(|(_, normal)| *normal).filter(|normal| *normal != DVec3::ZERO);
    let first = normals.next();
    faces.values().all(|(count, _)| *count == -2) && first.is_some_and(|first| normals.any(|n| first.dot(n) < SAME))
}

/// The lowest vertex joined with `vertex`; halves the way for the next caller.
pub(super) fn top(above: &mut [u32], vertex: usize) -> u32 {
    let mut vertex = vertex as u32;
    while above[vertex as usize] != vertex {
        above[vertex as usize] = above[above[vertex as usize] as usize];
        vertex = above[vertex as usize];
    }
    vertex
}

/// Joins two vertices under the lower one.
pub(super) fn join(above: &mut [u32], a: usize, b: usize) {
    let (a, b) = (top(above, a), top(above, b));
    above[a.max(b) as usize] = a.min(b);
}

#[cfg(test)]
mod tests {
    use super::super::accessor::Table;
    use super::*;

    /// Quads with vertices of their own; each has two triangles.
    fn is(quads: &[[[f64; 3]; 4]], normals: Option<&[[f64; 3]]>) -> bool {
        let positions: Vec<DVec3> = quads.iter().flatten().map(|p| DVec3::from_array(*p)).collect();
        let triangles: Vec<[u32; 3]> = (0..quads.len() as u32)
            .flat_map(|q| [[4 * q, 4 * q + 1, 4 * q + 2], [4 * q, 4 * q + 2, 4 * q + 3]])
            .collect();
        let table =
            |normals: &[[f64; 3]]| Table { width: 3, values: normals.iter().flat_map(|n| n.repeat(4)).collect() };
        let block = Block { positions, normals: normals.map(table), ..Block::default() };
        is_faceted(&block, triangles.iter())
    }

    #[test]
    fn folded_quads_are_faces_and_a_plane_is_not_told() {
        let left = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
        let (right, up) = (left.map(|[x, y, z]| [x + 1.0, y, z]), left.map(|[x, y, _]| [0.0, y, x]));
        assert!(is(&[left, right, up], None) && !is(&[left, right], None));
        // A quad that is no plane is one face where the file gives it one normal.
        let bent = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.3], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
        assert!(!is(&[bent, up], None) && is(&[bent, up], Some(&[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])));
        assert!(!is(&[left, up], Some(&[[0.0, 0.0, 1.0]; 2])), "all is drawn as one plane");
    }

    #[test]
    fn a_surface_that_shares_vertices_about_a_corner_is_smooth() {
        // Four triangles about a vertex, and another face elsewhere.
        let positions: Vec<DVec3> =
            [[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [5, 0, 0], [5, 1, 0], [5, 0, 1]]
                .iter()
                .map(|p| DVec3::from_array(p.map(f64::from)))
                .collect();
        let block = Block { positions, ..Block::default() };
        let fan = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [5, 6, 7]];
        assert!(!is_faceted(&block, fan.iter()));
        assert!(is_faceted(&block, fan[..3].iter().chain(&fan[4..])), "without the last it is a polygon");
    }
}
