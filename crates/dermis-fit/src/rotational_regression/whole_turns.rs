//! How a joint turned in training, whole turns counted.
//!
//! A rotation vector is known up to whole turns about its axis. Examples are joined, from the rest pose outwards, each
//! to the nearest one already joined (a minimum spanning tree over rotation angles), and every vector is continued from
//! its neighbour's. That follows a joint past a half turn if the examples are dense enough, and also where they only
//! come close to it from both sides; so the plain vectors are kept unless the triangles fit better otherwise.

use dermis_deform::rotational_regression::branches;
use dermis_rig::BoneIndex;
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::rotation::{quat_from_matrix, rotation_vector};
use std::f64::consts::PI;

/// The turns of one joint.
#[derive(Clone, Debug)]
pub(super) struct JointTurns {
    /// θ = log(R_fromᵀ R_to).
    pub(super) from: BoneIndex,
    pub(super) to: BoneIndex,
    /// θ per example.
    pub(super) vectors: Vec<DVec3>,
    /// Examples in the order in which they are joined, each with the one it continues; `None`: the rest pose.
    tree: Vec<(usize, Option<usize>)>,
    /// Whether the vectors count whole turns.
    pub(super) counts: bool,
}

impl JointTurns {
    /// A joint's turns, from the rotations of all bones per example; `None` if it never turned by 0.01 rad.
    pub(super) fn new(from: BoneIndex, to: BoneIndex, rotated: &[Vec<DMat3>]) -> Option<Self> {
        let relative: Vec<DMat3> = rotated.iter().map(|r| r[from.get()].transpose() * r[to.get()]).collect();
        let vectors: Vec<DVec3> = relative.iter().map(|r| rotation_vector(quat_from_matrix(r))).collect();
        let most = vectors.iter().map(|v| v.length()).fold(0.0, f64::max);
        if most < 0.01 {
            return None;
        }
        // Below a quarter turn continuing changes nothing.
        let tree = if most < 0.5 * PI { vec![] } else { spanning_tree(&relative, &vectors) };
        Some(Self { from, to, vectors, tree, counts: false })
    }

    /// The same with whole turns counted, if that differs.
    pub(super) fn counted(&self) -> Option<Self> {
        let vectors = self.continued(&self.vectors);
        (vectors != self.vectors).then(|| Self { vectors, counts: true, ..self.clone() })
    }

    /// Vectors of other rotations, each continued along this joint's tree.
    pub(super) fn continued(&self, vectors: &[DVec3]) -> Vec<DVec3> {
        let mut made = vectors.to_vec();
        for &(example, before) in &self.tree {
            let near = before.map_or(DVec3::ZERO, |b| made[b]);
            let nearer = |a: DVec3, b: DVec3| if b.distance_squared(near) < a.distance_squared(near) { b } else { a };
            made[example] = branches(vectors[example]).into_iter().reduce(nearer).unwrap_or_default();
        }
        made
    }

    /// How long θ̂ may be: a quarter longer than training saw it.
    pub(super) fn limit(&self) -> f64 {
        1.25 * self.vectors.iter().map(|v| v.length()).fold(0.0, f64::max)
    }
}

/// Prim's algorithm from the rest pose; distances are angles between rotations.
fn spanning_tree(rotations: &[DMat3], vectors: &[DVec3]) -> Vec<(usize, Option<usize>)> {
    let cosine = |a: &DMat3, b: &DMat3| a.x_axis.dot(b.x_axis) + a.y_axis.dot(b.y_axis) + a.z_axis.dot(b.z_axis);
    let mut open: Vec<(f64, Option<usize>)> = vectors.iter().map(|v| (1.0 + 2.0 * v.length().cos(), None)).collect();
    let mut left: Vec<usize> = (0..vectors.len()).collect();
    let mut tree = Vec::with_capacity(left.len());
    while let Some(place) = (0..left.len()).reduce(|a, b| if open[left[b]].0 > open[left[a]].0 { b } else { a }) {
        let example = left.remove(place);
        tree.push((example, open[example].1));
        for &other in &left {
            let near = cosine(&rotations[example], &rotations[other]);
            if near > open[other].0 {
                open[other] = (near, Some(example));
            }
        }
    }
    tree
}
