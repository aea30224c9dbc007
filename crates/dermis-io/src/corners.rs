//! Drawn vertices: corners of polygons that share their vertex, texture coordinates, normal and colour.

use crate::polygons::Split;
use dermis_rig::RenderMesh;
use dermis_rig::glam::{DAffine3, DVec2, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::rotation::cofactor;

/// Sets of texture coordinates that are read.
pub(crate) const MOST_UVS: usize = 8;

/// Attributes of polygon corners, one row of 32-bit words per corner: its vertex, texture coordinates of every set, normal,
/// colour. Corners with equal rows are one drawn vertex.
pub(crate) struct Corners {
    sets: usize,
    width: usize,
    rows: Vec<u32>,
    /// Normals by corner, exact; the rows have them rounded, so that noise of an exporter does not split vertices.
    normals: Vec<DVec3>,
    has_normals: bool,
    has_colors: bool,
}

impl Corners {
    /// - `sets`: sets of texture coordinates of the fullest mesh, [`MOST_UVS`] at most
    pub fn new(sets: usize) -> Self {
        let width = 1 + 2 * sets + 3 + 4;
        Self { sets, width, rows: Vec::new(), normals: Vec::new(), has_normals: false, has_colors: false }
    }

    /// Adds a corner that shows vertex `vertex` of all.
    ///
    /// - `uv`: texture coordinates of a set, from the upper left
    /// - `normal`: of unit length, in the rest space; zero if there is none
    pub fn push(&mut self, vertex: u32, uv: impl Fn(usize) -> DVec2, normal: DVec3, color: Option<Vec4>) {
        self.rows.push(vertex);
        for set in 0..self.sets {
            let uv = uv(set).as_vec2();
            self.rows.extend([uv.x + 0.0, uv.y + 0.0].map(f32::to_bits)); // −0 and 0 are the same
        }
        self.has_normals |= normal != DVec3::ZERO;
        self.normals.push(normal);
        self.rows.extend((normal * 4096.0).round().to_array().map(|x| x as i32 as u32));
        self.has_colors |= color.is_some();
        self.rows.extend(color.unwrap_or(Vec4::ONE).to_array().map(|c| (c + 0.0).to_bits()));
    }

    /// Whether corners say more than their vertices do.
    pub fn say_more(&self) -> bool {
        self.sets > 0 || self.has_normals
    }

    /// The drawn mesh, with a drawn vertex also for each of the `vertices` that no polygon has. Drawn vertices are in the order
    /// of the vertices, so that a file written from them and read again keeps that order.
    pub fn render(mut self, vertices: usize, split: &Split, parts: Vec<RenderPart>) -> RenderMesh {
        let corners = self.normals.len();
        let mut used = vec![false; vertices];
        self.rows.chunks_exact(self.width).for_each(|row| used[row[0] as usize] = true);
        for vertex in (0..vertices).filter(|&vertex| !used[vertex]) {
            self.rows.push(vertex as u32);
            self.rows.resize(self.rows.len() + self.width - 5, 0);
            self.rows.extend([1.0f32.to_bits(); 4]);
            self.normals.push(DVec3::ZERO);
        }
        let row = |corner: u32| &self.rows[corner as usize * self.width..(corner as usize + 1) * self.width];
        let mut order: Vec<u32> = (0..self.normals.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| row(a).cmp(row(b)).then(a.cmp(&b)));
        let mut place = vec![0u32; order.len()];
        let mut made = RenderMesh {
            parts,
            by_corner: true,
            more_uvs: vec![Vec::new(); self.sets.saturating_sub(1)],
            ..RenderMesh::default()
        };
        for same in order.chunk_by(|&a, &b| row(a) == row(b)) {
            same.iter().for_each(|&corner| place[corner as usize] = made.source.len() as u32);
            let row = row(same[0]);
            made.source.push(row[0]);
            let number = |at: usize| f32::from_bits(row[at]);
            for set in 0..self.sets {
                let uv = DVec2::new(number(1 + 2 * set).into(), number(2 + 2 * set).into());
                match set {
                    0 => made.uvs.push(uv),
                    _ => made.more_uvs[set - 1].push(uv),
                }
            }
            if self.has_normals {
                made.normals.push(self.normals[same[0] as usize]);
            }
            if self.has_colors {
                let at = self.width - 4;
                made.colors.push(Vec4::new(number(at), number(at + 1), number(at + 2), number(at + 3)));
            }
        }
        place.truncate(corners);
        made.triangles = split.over(&place);
        made
    }
}

/// A normal of a mesh as a unit vector of the rest space; zero if it has no length. Normals turn with the cofactor matrix, which a
/// mirror turns inside out.
pub(crate) fn normal_at_rest(rest: &DAffine3, normal: DVec3) -> DVec3 {
    let turned = cofactor(&rest.matrix3) * normal;
    (turned * rest.matrix3.determinant().signum()).try_normalize().unwrap_or(DVec3::ZERO)
}

/// Texture coordinates from the lower left as those from the upper left, as in glTF. What 32 bits cannot hold is no place on an image.
pub(crate) fn upper_left(uv: DVec2) -> DVec2 {
    let uv = DVec2::new(uv.x, 1.0 - uv.y);
    if uv.as_vec2().is_finite() { uv } else { DVec2::ZERO }
}
