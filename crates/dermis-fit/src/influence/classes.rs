//! The published rule: what one pose of one joint says of a vertex.

use dermis_rig::glam::DVec3;
use dermis_rig::{Mesh, Neighbours};

/// What a pose in which one bone moved says of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The vertex stayed where it was.
    NotMoved,
    /// The bone alone explains where it went.
    Alone,
    /// The bone explains it only together with others.
    WithOthers,
    /// The bone would not have moved the vertex, and it did not move: nothing is known.
    Undecided,
}

/// The class of a vertex: at rest `p`, where the bone alone would carry it `q`, where it went `x`, within a distance `least`.
pub fn classify(p: DVec3, q: DVec3, x: DVec3, least: f64) -> Class {
    match (x.distance(p) <= least, q.distance(p) <= least, x.distance(q) <= least) {
        (true, true, _) => Class::Undecided,
        (true, ..) => Class::NotMoved,
        (_, _, true) => Class::Alone,
        _ => Class::WithOthers,
    }
}

/// Half the length of the longest edge at each vertex, the published threshold; zero without an edge.
pub fn half_longest_edges(mesh: &Mesh, neighbours: &Neighbours) -> Vec<f64> {
    let p = &mesh.positions;
    let longest = |v: usize| neighbours.of(v).iter().map(|u| p[*u as usize].distance(p[v])).fold(0.0, f64::max);
    (0..p.len()).map(|v| 0.5 * longest(v)).collect()
}
