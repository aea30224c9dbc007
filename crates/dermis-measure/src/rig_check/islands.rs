//! Connected components of a mesh, its seams and its borders.

use dermis_rig::Mesh;
use std::collections::BTreeMap;

/// How a mesh hangs together. Vertices are those of the [`Mesh`]: what a file split at seams is one vertex.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Islands {
    /// For each vertex the number of its connected component; 0 is the largest one.
    pub of: Vec<u32>,
    /// Vertices of each component, descending; of equal ones the one with the lower vertex first. A vertex without a triangle is one by
    /// itself.
    pub sizes: Vec<usize>,
    /// Vertices that no triangle has.
    pub loose: usize,
    /// Edges along which the file draws two vertices in the place of one: seams of texture coordinates, hard edges, parts.
    pub seams: Vec<[u32; 2]>,
    /// Edges of one triangle.
    pub borders: Vec<[u32; 2]>,
    /// Edges of more than two triangles.
    pub crowded: Vec<[u32; 2]>,
}

impl Islands {
    /// Returns how a mesh hangs together. Edges ascend, lower vertex first.
    pub fn of(mesh: &Mesh) -> Self {
        let vertices = mesh.positions.len();
        let mut set = Sets((0..vertices as u32).collect());
        let mut edges: BTreeMap<[u32; 2], u32> = BTreeMap::new();
        let mut touched = vec![false; vertices];
        for &[a, b, c] in &mesh.triangles {
            for (from, to) in [(a, b), (b, c), (c, a)] {
                touched[from as usize] = true;
                if from != to {
                    set.join(from, to);
                    *edges.entry([from.min(to), from.max(to)]).or_default() += 1;
                }
            }
        }
        let (of, sizes) = numbered(&mut set);
        let with = |wanted: fn(u32) -> bool| edges.iter().filter(|(_, n)| wanted(**n)).map(|(edge, _)| *edge).collect();
        Self {
            of,
            sizes,
            loose: touched.iter().filter(|touched| !**touched).count(),
            seams: seams(mesh),
            borders: with(|triangles| triangles == 1),
            crowded: with(|triangles| triangles > 2),
        }
    }
}

/// Edges of the mesh that the drawn triangles know by more than one pair of drawn vertices.
fn seams(mesh: &Mesh) -> Vec<[u32; 2]> {
    let Some(drawn) = &mesh.render else { return vec![] };
    // The first pair of drawn vertices, and whether there is another.
    let mut pairs: BTreeMap<[u32; 2], ([u32; 2], bool)> = BTreeMap::new();
    for &[a, b, c] in &drawn.triangles {
        for (from, to) in [(a, b), (b, c), (c, a)] {
            let (Some(&p), Some(&q)) = (drawn.source.get(from as usize), drawn.source.get(to as usize)) else {
                continue;
            };
            if p == q {
                continue;
            }
            let (edge, pair) = if p < q { ([p, q], [from, to]) } else { ([q, p], [to, from]) };
            let (first, other) = pairs.entry(edge).or_insert((pair, false));
            *other |= *first != pair;
        }
    }
    pairs.into_iter().filter(|(_, (_, other))| *other).map(|(edge, _)| edge).collect()
}

/// The component of each vertex, and the size of each, largest first.
fn numbered(set: &mut Sets) -> (Vec<u32>, Vec<usize>) {
    let heads: Vec<u32> = (0..set.0.len() as u32).map(|v| set.head(v)).collect();
    let mut sizes = vec![0usize; heads.len()];
    heads.iter().for_each(|&head| sizes[head as usize] += 1);
    let mut order: Vec<u32> = (0..heads.len() as u32).filter(|&v| sizes[v as usize] > 0).collect();
    order.sort_by_key(|&head| (std::cmp::Reverse(sizes[head as usize]), head));
    let mut number = vec![0u32; heads.len()];
    order.iter().enumerate().for_each(|(at, &head)| number[head as usize] = at as u32);
    let of = heads.iter().map(|&head| number[head as usize]).collect();
    (of, order.iter().map(|&head| sizes[head as usize]).collect())
}

/// Disjoint sets; the head of each is its lowest member.
struct Sets(Vec<u32>);

impl Sets {
    fn head(&mut self, mut v: u32) -> u32 {
        while self.0[v as usize] != v {
            let above = self.0[self.0[v as usize] as usize];
            self.0[v as usize] = above;
            v = above;
        }
        v
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.head(a), self.head(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::RenderMesh;
    use dermis_rig::glam::DVec3;

    /// Euler's formula: a closed surface without handles has V − E + F = 2, and no border.
    #[test]
    fn a_closed_tube_is_one_island() {
        let tube = crate::Tube { radius: 0.25, length: 2.0, rings: 9, segments: 8, half_width: 0.3 };
        let mut mesh = tube.mesh().unwrap();
        let islands = Islands::of(&mesh);
        assert_eq!(islands.sizes, [mesh.positions.len()]);
        assert!(islands.borders.is_empty() && islands.crowded.is_empty() && islands.seams.is_empty());
        // Without the fan of one cap its ring of 8 edges is a border, and the fan's centre is loose.
        let centre = mesh.positions.len() as u32 - 1;
        mesh.triangles.retain(|triangle| !triangle.contains(&centre));
        let open = Islands::of(&mesh);
        assert_eq!((open.borders.len(), open.loose, open.sizes.clone()), (8, 1, vec![mesh.positions.len() - 1, 1]));
        assert_eq!(open.of[centre as usize], 1);
    }

    /// Two triangles that share an edge, of which the file draws each with vertices of its own.
    #[test]
    fn an_edge_that_is_drawn_twice_is_a_seam() {
        let mut mesh = Mesh {
            positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::ONE],
            triangles: vec![[0, 1, 2], [2, 1, 3]],
            render: Some(RenderMesh {
                source: vec![0, 1, 2, 2, 1, 3],
                triangles: vec![[0, 1, 2], [3, 4, 5]],
                ..RenderMesh::default()
            }),
            ..Mesh::default()
        };
        assert_eq!(Islands::of(&mesh).seams, [[1, 2]]);
        mesh.render =
            Some(RenderMesh { source: vec![0, 1, 2, 3], triangles: mesh.triangles.clone(), ..RenderMesh::default() });
        assert_eq!(Islands::of(&mesh).seams, [] as [[u32; 2]; 0]);
        mesh.triangles.push([1, 2, 0]);
        assert_eq!(Islands::of(&mesh).crowded, [[1, 2]]);
    }
}
