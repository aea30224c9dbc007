//! A surface with holes: the closest point of it, the normal there, and whether the point lies on a border.

use super::{Place, Surface, closest_on_triangle};
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::welded;

/// A mesh of a scan, ready for questions. Vertices at the same place count as one; triangles without area are left out.
#[derive(Clone, Debug)]
pub(crate) struct Bordered {
    surface: Surface,
    positions: Vec<DVec3>,
    /// Triangles over welded vertices.
    triangles: Vec<[u32; 3]>,
    /// Area-weighted vertex normals, not of unit length.
    normals: Vec<DVec3>,
    /// Per triangle, whether the edge from each corner to the next has no other triangle.
    borders: Vec<[bool; 3]>,
    /// Per welded vertex, whether it lies on such an edge.
    on_border: Vec<bool>,
}

/// Shares of a corner in a point that are rounding.
const ROUNDING: f64 = 1e-9;

/// A point of the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spot {
    pub point: DVec3,
    /// Unit: those of the corners, mixed as the point mixes the corners. Zero where they cancel.
    pub normal: DVec3,
    /// Whether there is no surface beyond.
    pub border: bool,
}

impl Bordered {
    /// `None` if no triangle has an area. Triangles must name vertices that exist.
    pub fn new(positions: &[DVec3], triangles: &[[u32; 3]]) -> Option<Self> {
        let weld = welded(positions);
        let mut triangles: Vec<[u32; 3]> = triangles.iter().map(|t| t.map(|c| weld[c as usize])).collect();
        let face = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|c| positions[c as usize]);
            (b - a).cross(c - a)
        };
        triangles.retain(|t| face(t) != DVec3::ZERO);
        if triangles.is_empty() {
            return None;
        }
        let mut normals = vec![DVec3::ZERO; positions.len()];
        let mut edges: Vec<(u32, u32, u32, u32)> = Vec::with_capacity(3 * triangles.len());
        for (t, corners) in triangles.iter().enumerate() {
            let normal = face(corners);
            for i in 0..3 {
                normals[corners[i] as usize] += normal;
                let (a, b) = (corners[i], corners[(i + 1) % 3]);
                edges.push((a.min(b), a.max(b), t as u32, i as u32));
            }
        }
        edges.sort_unstable();
        let (mut borders, mut on_border) = (vec![[false; 3]; triangles.len()], vec![false; positions.len()]);
        for alone in edges.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)).filter(|same| same.len() == 1) {
            let (a, b, t, i) = alone[0];
            borders[t as usize][i as usize] = true;
            (on_border[a as usize], on_border[b as usize]) = (true, true);
        }
        let surface = Surface::new(positions, &triangles);
        Some(Self { surface, positions: positions.to_vec(), triangles, normals, borders, on_border })
    }

    /// The triangle closest to `p` within `limit`.
    pub fn closest(&self, p: DVec3, limit: f64) -> Option<usize> {
        self.surface.closest(p, limit).map(|c| c.triangle)
    }

    /// The point of a triangle that is closest to `p`.
    pub fn on(&self, triangle: usize, p: DVec3) -> Spot {
        let corners = self.triangles[triangle];
        let [a, b, c] = corners.map(|c| self.positions[c as usize]);
        let (point, place) = closest_on_triangle(p, &[a, b, c]);
        let whole = (b - a).cross(c - a);
        let share = |u: DVec3, v: DVec3| (u.cross(v).dot(whole) / whole.length_squared()).clamp(0.0, 1.0);
        let shares = [share(b - point, c - point), share(c - point, a - point), share(a - point, b - point)];
        // A point on an edge or at a corner but for rounding is there: a vertex that lies on a scan's border must not be within one time and beyond another.
        let without = |i: usize| shares[i % 3] <= ROUNDING;
        let on_edge = |i: usize| self.borders[triangle][i];
        let at_corner = |i: usize| self.on_border[corners[i] as usize];
        let near = (0..3).any(|i| without(i + 2) && (on_edge(i) || without(i + 1) && at_corner(i)));
        let border = near
            || match place {
                Place::Face => false,
                Place::Edge(i) => on_edge(i),
                Place::Corner(i) => at_corner(i),
            };
        let mixed: DVec3 =
            corners.iter().zip(shares).map(|(&c, t)| self.normals[c as usize].normalize_or_zero() * t).sum();
        Spot { point, normal: mixed.normalize_or_zero(), border }
    }
}
