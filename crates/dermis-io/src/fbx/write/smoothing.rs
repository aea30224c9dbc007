//! Which edges of a mesh are hard.

use std::collections::HashMap;

/// Normals closer than this are one: a twentieth of a degree, less than an exporter means by a hard edge and more than 32 bits lose.
const SAME: f64 = 1e-3;

/// The edges of polygons, each by its first corner among those of all polygons, and for each 1 if it is smooth, 0 if it is hard: its polygons
/// have different normals at an end. An edge of one polygon is smooth.
///
/// - `counts`: corners of each polygon
/// - `vertices`, `normals`: of each corner
pub(super) fn edges(counts: &[usize], vertices: &[u32], normals: &[[f64; 3]]) -> (Vec<i32>, Vec<i32>) {
    let differ = |a: [f64; 3], b: [f64; 3]| (0..3).map(|at| (a[at] - b[at]).powi(2)).sum::<f64>() > SAME * SAME;
    let (mut first, mut smooth) = (Vec::new(), Vec::new());
    // Of an edge its number, and the normals at its ends in the order of their vertices.
    let mut known: HashMap<[u32; 2], (usize, [[f64; 3]; 2])> = HashMap::new();
    let mut begin = 0;
    for count in counts {
        for at in 0..*count {
            let (from, to) = (begin + at, begin + (at + 1) % count);
            let (mut ends, mut own) = ([vertices[from], vertices[to]], [normals[from], normals[to]]);
            if ends[0] > ends[1] {
                ends.reverse();
                own.reverse();
            }
            match known.get(&ends) {
                Some((edge, others)) if differ(own[0], others[0]) || differ(own[1], others[1]) => smooth[*edge] = 0,
                Some(_) => {}
                None => {
                    known.insert(ends, (first.len(), own));
                    first.push(from as i32);
                    smooth.push(1);
                }
            }
        }
        begin += count;
    }
    (first, smooth)
}

#[cfg(all(test, feature = "fbx"))]
mod tests {
    use super::super::{common_space, write};
    use crate::skinned_scene::SkinnedScene;
    use crate::to_bytes;
    use dermis_rig::glam::DVec3;
    use dermis_rig::{Mesh, Polygons, RenderMesh};
    use std::collections::BTreeMap;

    /// Three squares in a row, folded between the first two, as the library that reads them sees their edges.
    #[test]
    fn the_fold_alone_is_hard() {
        let (left, up) = (DVec3::NEG_X, DVec3::Z);
        let positions: Vec<DVec3> = [[0.0, 0.0, -1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
            .into_iter()
            .flat_map(|[x, y, z]| [DVec3::new(x, y, z), DVec3::new(x, y + 1.0, z)])
            .collect();
        let squares = |of: fn(u32) -> [u32; 4]| -> Vec<u32> { (0..3).flat_map(of).collect() };
        let indices = squares(|at| [0, 2, 3, 1].map(|corner| corner + 2 * at));
        // The first square has drawn vertices of its own, the others share theirs.
        let drawn: [u32; 12] = [0, 1, 2, 3, 4, 6, 7, 5, 6, 8, 9, 7];
        let source = vec![0, 2, 3, 1, 2, 3, 4, 5, 6, 7];
        let triangles = |corners: &[u32]| -> Vec<[u32; 3]> {
            corners.as_chunks::<4>().0.iter().flat_map(|c| [[c[0], c[1], c[2]], [c[0], c[2], c[3]]]).collect()
        };
        let normals = [[left; 4].as_slice(), &[up; 6]].concat();
        let render = RenderMesh { source, triangles: triangles(&drawn), normals, ..RenderMesh::default() };
        let mesh = Mesh {
            positions,
            triangles: triangles(&indices),
            polygons: Some(Polygons { counts: vec![4; 3], indices }),
            render: Some(render),
            ..Mesh::default()
        };
        let scene = SkinnedScene { name: "fold", mesh: Some(&mesh), ..SkinnedScene::default() };
        let bytes = to_bytes(|out| write(&scene, &common_space(), out).map(drop)).unwrap();
        let read = ufbx::load_memory(&bytes, ufbx::LoadOpts::default()).unwrap();
        let read = &read.meshes[0];
        let vertex = |corner: u32| read.vertex_indices[corner as usize];
        let found: BTreeMap<[u32; 2], bool> = (read.edges.iter().zip(read.edge_smoothing.iter()))
            .map(|(edge, smooth)| {
                let [a, b] = [vertex(edge.a), vertex(edge.b)];
                ([a.min(b), a.max(b)], *smooth)
            })
            .collect();
        let edges = [[0, 1], [0, 2], [1, 3], [2, 3], [2, 4], [3, 5], [4, 5], [4, 6], [5, 7], [6, 7]];
        assert_eq!(read.edges.len(), edges.len());
        assert_eq!(found, edges.into_iter().map(|edge| (edge, edge != [2, 3])).collect());
    }
}
