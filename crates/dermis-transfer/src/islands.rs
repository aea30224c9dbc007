//! Connected pieces of a mesh.

use dermis_rig::Mesh;
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::welded;

/// A connected piece of the target: seams are welded, and a vertex without a triangle is a piece of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Island {
    /// Its vertices, ascending.
    pub vertices: Vec<u32>,
    /// Diagonal of the box around it, metres.
    pub size: f64,
    /// How it was carried.
    pub held: Held,
    /// The part of its area whose trust is above [`TRUSTED`](crate::operator::TRUSTED).
    pub trusted: f64,
}

/// How an island gets its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Held {
    /// Every vertex has its own.
    #[default]
    Smooth,
    /// It lies across the body, as strips of hair do, and follows where it is nearest.
    Nearest,
    /// One row for all vertices: buttons and buckles.
    Rigid,
    /// No vertex has a match that is trusted; it follows the nearest vertex that has one.
    Unmatched,
}

impl Held {
    /// Its name in files and arrays.
    pub fn name(self) -> &'static str {
        match self {
            Self::Smooth => "smooth",
            Self::Nearest => "nearest",
            Self::Rigid => "rigid",
            Self::Unmatched => "unmatched",
        }
    }
}

/// For every vertex the one that stands for its place.
pub(crate) fn place_of(mesh: &Mesh) -> Vec<u32> {
    welded(&mesh.positions)
}

/// The island of every vertex, numbered by first vertex, and how many there are.
pub(crate) fn label(mesh: &Mesh, place: &[u32]) -> (Vec<u32>, usize) {
    let mut parent: Vec<u32> = place.to_vec();
    // The lowest vertex of a piece stands for it.
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|corner| root(&mut parent, corner));
        let least = a.min(b).min(c);
        [a, b, c].into_iter().for_each(|at| parent[at as usize] = least);
    }
    let (mut label, mut count) = (vec![u32::MAX; place.len()], 0);
    for v in 0..place.len() {
        let at = root(&mut parent, v as u32) as usize;
        if at == v {
            label[v] = count;
            count += 1;
        } else {
            label[v] = label[at];
        }
    }
    (label, count as usize)
}

fn root(parent: &mut [u32], mut at: u32) -> u32 {
    while parent[at as usize] != at {
        let above = parent[parent[at as usize] as usize];
        parent[at as usize] = above;
        at = above;
    }
    at
}

/// Diagonal of the box around points.
pub(crate) fn size_of(points: impl Iterator<Item = DVec3>) -> f64 {
    let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    let (low, high) = points.fold(start, |(low, high), p| (low.min(p), high.max(p)));
    if low.x <= high.x { low.distance(high) } else { 0.0 }
}
