//! The published rule: what one pose of one joint says of a vertex.
//!
//! Source: Hopkins & Owen, influences and weights from scans: movement against a threshold v_min, half the longest edge at
//! the vertex. Departures: a vertex that the joint does not move is not its vertex, and one that the joint would not move
//! either way stays undecided (read to the letter, both are moved "together with other bones").

use super::joints::SingleJointPoses;
use crate::training::{FitError, Training};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Influences, Neighbours};
use rayon::prelude::*;

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

/// Half the length of the longest edge at each vertex, the published threshold v_min; zero without an edge.
pub fn half_longest_edges(rest: &[DVec3], neighbours: &Neighbours) -> Vec<f64> {
    let longest = |v: usize| neighbours.of(v).iter().map(|u| rest[*u as usize].distance(rest[v])).fold(0.0, f64::max);
    (0..rest.len()).map(|v| 0.5 * longest(v)).collect()
}

/// The bones that the published rule gives each vertex, with value one: those whose joints move it by more than v_min in a
/// pose of their own. A bone of which no pose decides stays, and so does one without a pose.
///
/// A joint carries everything below it, so a vertex gets the bones above its own as well; the fit of the weights takes them
/// away again.
///
/// # Errors
/// [`FitError::SeveralJoints`] for an example that moves more than one joint.
pub(super) fn by_movement(
    training: &Training<'_>,
    neighbours: &Neighbours,
    turned: f64,
) -> Result<Influences, FitError> {
    let single = SingleJointPoses::of(training, turned);
    if single.unused > 0 {
        return Err(FitError::SeveralJoints { examples: single.unused, of: training.examples.len() });
    }
    let least = half_longest_edges(training.rest, neighbours);
    let follows = |bone: BoneIndex, v: usize| {
        let class = |&s: &usize| {
            let (alone, skin) = single.places(training, s, bone, v);
            classify(training.rest[v], alone, skin, least[v])
        };
        let classes: Vec<Class> = single.poses[bone].iter().map(class).collect();
        let moved = classes.iter().any(|class| matches!(class, Class::Alone | Class::WithOthers));
        moved || classes.iter().all(|class| *class == Class::Undecided)
    };
    let rows: Vec<Vec<BoneIndex>> = (0..training.rest.len())
        .into_par_iter()
        .map(|v| training.skeleton.bones().filter(|&bone| follows(bone, v)).collect())
        .collect();
    Influences::of_bones(rows).map_err(|source| FitError::Table { table: "the bones that move each vertex", source })
}
