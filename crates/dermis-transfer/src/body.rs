//! The surface that is carried from.

use dermis_fit::surface::{Closest, Surface};
use dermis_rig::Mesh;
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::welded;
use std::collections::BTreeSet;

/// A body at rest: its surface with normals, and the length that settings are measured in.
#[derive(Clone, Debug)]
pub struct Body {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    normals: Vec<DVec3>,
    surface: Surface,
    unit: f64,
}

/// The extent of a body, in metres, for which the lengths of [`Settings`](crate::Settings) are stated.
pub(crate) const USUAL_EXTENT: f64 = 2.1;

/// A point of the body that a vertex belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// Three vertices of the body and their barycentric coordinates, which are not negative and sum to one.
    pub row: [(u32, f64); 3],
    /// Distance of the point, metres.
    pub distance: f64,
    /// Cosine between the normals of vertex and point; one for a vertex without a normal.
    pub cosine: f64,
    /// What was least: |x − q|² + α² (1 − cosine)².
    pub cost: f64,
}

impl Body {
    /// The body of a mesh; `None` if it has no triangle.
    pub fn new(mesh: &Mesh) -> Option<Self> {
        let normals = welded_normals(&mesh.positions, &mesh.triangles);
        let surface = Surface::new(&mesh.positions, &mesh.triangles);
        // Vertices of no triangle, such as handles of other tools, tell nothing of the size.
        let corners: BTreeSet<u32> = mesh.triangles.iter().flatten().copied().collect();
        let corners = corners.iter().map(|corner| mesh.positions[*corner as usize]).collect();
        let unit = Mesh { positions: corners, ..Mesh::default() }.extent() / USUAL_EXTENT;
        let made =
            Self { positions: mesh.positions.clone(), triangles: mesh.triangles.clone(), normals, surface, unit };
        (!made.surface.is_empty() && unit > 0.0 && unit.is_finite()).then_some(made)
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.positions.len()
    }

    /// Rest positions, rest world, metres.
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// What a metre on a body of usual size is on this one.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// The point of the body with the least |x − q|² + α² (1 − n·n_q)². `normal` is the vertex's; a vertex without one belongs to
    /// the closest point.
    ///
    /// `None` if `p` is not finite.
    pub fn find(&self, p: DVec3, normal: Option<DVec3>, alpha: f64) -> Option<Match> {
        let cosine_at = |row: &[(u32, f64); 3]| {
            let Some(normal) = normal else { return 1.0 };
            let at: DVec3 = row.iter().map(|&(v, share)| self.normals[v as usize] * share).sum();
            at.try_normalize().map_or(0.0, |at| at.dot(normal))
        };
        let cost = |closest: &Closest| {
            let turned = 1.0 - cosine_at(&self.row(closest));
            closest.distance_squared + alpha * alpha * turned * turned
        };
        let (closest, cost) = self.surface.least(p, f64::INFINITY, cost)?;
        let row = self.row(&closest);
        Some(Match { row, distance: closest.distance_squared.sqrt(), cosine: cosine_at(&row), cost })
    }

    fn row(&self, closest: &Closest) -> [(u32, f64); 3] {
        let triangle = self.triangles[closest.triangle];
        let shares = closest.shares(&triangle.map(|corner| self.positions[corner as usize]));
        [0, 1, 2].map(|k| (triangle[k], shares[k]))
    }
}

/// Unit normals of vertices, seams welded; zero where a vertex has none, or where the faces around it cancel, as those of a sheet
/// that is there twice do.
pub(crate) fn welded_normals(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let place = welded(positions);
    let (mut sums, mut areas) = (vec![DVec3::ZERO; positions.len()], vec![0.0; positions.len()]);
    for triangle in triangles {
        let [a, b, c] = triangle.map(|corner| positions[corner as usize]);
        let area = (b - a).cross(c - a);
        for corner in triangle {
            let at = place[*corner as usize] as usize;
            sums[at] += area;
            areas[at] += area.length();
        }
    }
    let normal = |&at: &u32| {
        let (sum, area) = (sums[at as usize], areas[at as usize]);
        if sum.length() > CANCELLED * area { sum.normalize_or_zero() } else { DVec3::ZERO }
    };
    place.iter().map(normal).collect()
}

/// A sum of face normals below this part of their areas is nothing but rounding.
const CANCELLED: f64 = 1e-6;
