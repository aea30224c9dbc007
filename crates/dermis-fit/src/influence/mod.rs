//! Which bones move a vertex: candidates for weights, and where influence maps come from.
//!
//! There are two sources. Poses that turn one joint each show it directly ([`shares`]). In such a pose every bone below joint b
//! moves as one and all others stand still, so under linear blending x − p = ω_b (q − p), with q = M_b p and ω_b the sum of
//! the weights below b. Ordinary motion needs a fit ([`discover`]): convex weights on all bones, the small ones dropped.
//! [`from_examples`] takes shares if every example moves one joint, and the fit otherwise. [`plan()`] makes a list of
//! single-joint poses for any skeleton. [`moved_joints`] tells which joints an example really moves.
//!
//! Source: Hopkins & Owen, influences and weights from scans (the published rule, [`Rule::Published`]). Departure: read to the
//! letter, the rule lets the upper arm claim the hand, because a joint carries everything below it. Shares of subtrees
//! subtract the hand again. [`Rule`] names the ways to choose.

mod classes;
mod joints;
mod plan;
mod shares;

pub use classes::{Class, classify, half_longest_edges};
pub use joints::{MovedJoints, moved_joints};
pub use plan::{JointLimits, PlanSettings, plan};
pub use shares::{Shares, shares};

use crate::heat::{bone_segments, distance_to_bone};
use crate::training::{FitError, Progress, Training};
use crate::weights::{WeightSettings, fit_weights};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Influences, Neighbours};

/// How the bones that may move a vertex are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// By the shares of subtrees if every example moves one joint at most, by a fit otherwise.
    #[default]
    Shares,
    /// As published, from examples of one joint each: the bones whose joints move the vertex by more than half its longest
    /// edge.
    Published,
    /// The nearest bones, so many: what needs no example.
    Nearest(usize),
}

/// When a bone counts as an influence, and a joint as moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InfluenceSettings {
    /// How bones are chosen.
    pub rule: Rule,
    /// A bone influences a vertex if its weight there exceeds this; 0.02 by default.
    pub least: f64,
    /// A joint counts as moved if it turns by more than this, radians; 0.01 by default (half a degree). A shift counts if it
    /// exceeds this share of a tenth of the rest diagonal.
    pub turned: f64,
}

impl Default for InfluenceSettings {
    fn default() -> Self {
        Self { rule: Rule::default(), least: 0.02, turned: 0.01 }
    }
}

/// Where influences came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Shares of subtrees in poses of one joint each.
    SingleJoints,
    /// A fit of convex weights on all bones.
    Motion,
    /// The published rule.
    Published,
    /// The nearest bones.
    Nearest,
}

/// Influences found in examples.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Weights above the threshold, every row of sum one. Influence maps are made of them.
    pub weights: Influences,
    /// Bones that a fit may use, with value one: the bones of `weights`, those of neighbouring vertices, and those that no
    /// example determines; of the published rule and the nearest bones what they name, and no more.
    pub candidates: Influences,
    /// The source that was used.
    pub source: Source,
    /// Joints that no example moves.
    pub unmoved: Vec<BoneIndex>,
}

/// Influences from examples, by the rule of the settings.
///
/// # Errors
/// As [`fit_weights`]; [`FitError::SeveralJoints`] where the published rule is asked of other examples than those of one joint.
pub fn from_examples(
    training: &Training<'_>,
    neighbours: &Neighbours,
    settings: &InfluenceSettings,
    progress: Progress<'_>,
) -> Result<Found, FitError> {
    training.check()?;
    let moved: Vec<MovedJoints> = training
        .examples
        .iter()
        .map(|e| moved_joints(training.skeleton, &e.transforms, training.unit(), settings.turned))
        .collect();
    let used = || moved.iter().zip(training.examples).filter(|(_, e)| e.importance > 0.0).map(|(moved, _)| moved);
    let mut still = vec![true; training.skeleton.len()];
    used().flat_map(|m| &m.joints).for_each(|bone| still[bone.get()] = false);
    let unmoved = training.skeleton.bones().filter(|b| still[b.get()]).collect();
    let single = used().all(|m| m.joints.len() <= 1) && used().any(|m| m.joints.len() == 1);
    let (weights, candidates, source) = match settings.rule {
        Rule::Shares if single => {
            let shares = shares(training, settings)?;
            (shares.weights, spread(&shares.candidates, neighbours)?, Source::SingleJoints)
        }
        Rule::Shares => {
            let weights = discover(training, neighbours, None, settings, progress)?;
            (weights.clone(), spread(&weights, neighbours)?, Source::Motion)
        }
        Rule::Published => {
            let candidates = classes::by_movement(training, neighbours, settings.turned)?;
            let weights = discover(training, neighbours, Some(candidates.clone()), settings, progress)?;
            (weights, candidates, Source::Published)
        }
        Rule::Nearest(bones) => {
            let candidates = nearest_bones(training, bones)?;
            let weights = discover(training, neighbours, Some(candidates.clone()), settings, progress)?;
            (weights, candidates, Source::Nearest)
        }
    };
    Ok(Found { candidates, weights, source, unmoved })
}

/// The bones nearest to each vertex at rest, with value one, by the distance to their segments ([`bone_segments`]).
fn nearest_bones(training: &Training<'_>, most: usize) -> Result<Influences, FitError> {
    let segments = bone_segments(training.skeleton, |_| false);
    let row = |p: &DVec3| {
        let mut near: Vec<(f64, BoneIndex)> =
            segments.enumerate().map(|(bone, own)| (distance_to_bone(*p, own), bone)).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near.into_iter().take(most.max(1)).map(|(_, bone)| bone).collect()
    };
    let rows = Influences::of_bones(training.rest.iter().map(row));
    rows.map_err(|source| FitError::Table { table: "the nearest bones", source })
}

/// Fits convex weights on the candidates, else on all bones, and returns those above the threshold, at most eight per vertex;
/// every row has sum one.
///
/// # Errors
/// As [`fit_weights`].
pub fn discover(
    training: &Training<'_>,
    neighbours: &Neighbours,
    candidates: Option<Influences>,
    settings: &InfluenceSettings,
    progress: Progress<'_>,
) -> Result<Influences, FitError> {
    let settings_of_fit = WeightSettings { influences: Some(8), candidates, ..WeightSettings::default() };
    let (weights, _) = fit_weights(training, neighbours, &settings_of_fit, progress)?;
    Ok(weights.pruned(8, settings.least).0)
}

/// The bones of a vertex and of its neighbours, with value one.
fn spread(influences: &Influences, neighbours: &Neighbours) -> Result<Influences, FitError> {
    let rows = (0..influences.vertices()).map(|v| {
        let around = neighbours.of(v).iter().map(|u| *u as usize);
        std::iter::once(v).chain(around).flat_map(|u| influences.of(u)).map(|(bone, _)| *bone).collect()
    });
    Influences::of_bones(rows).map_err(|source| FitError::Table { table: "the bones around each vertex", source })
}
