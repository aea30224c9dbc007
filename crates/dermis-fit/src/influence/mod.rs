//! Which bones move a vertex: candidates for weights, and where influence maps come from.
//!
//! There are two sources. Poses that turn one joint each show it directly ([`shares`]). In such a pose every bone below joint b
//! moves as one and all others stand still, so under linear blending x − p = ω_b (q − p), with q = M_b p and ω_b the sum of
//! the weights below b. Ordinary motion needs a fit ([`discover`]): convex weights on all bones, the small ones dropped.
//! [`from_examples`] takes shares if every example moves one joint, and the fit otherwise. [`plan()`] makes a list of
//! single-joint poses for any skeleton. [`moved_joints`] tells which joints an example really moves.
//!
//! Source: Wang & Phillips 2002, Multi-Weight Enveloping, section 4.1 (the published rule, [`classify`]). Departure: read to the
//! letter, the rule lets the upper arm claim the hand, because a joint carries everything below it. Shares of subtrees
//! subtract the hand again.

mod classes;
mod joints;
mod plan;
mod shares;

pub use classes::{Class, classify, half_longest_edges};
pub use joints::{MovedJoints, moved_joints};
pub use plan::{JointLimits, PlanSettings, plan};
pub use shares::{Shares, shares};

use crate::training::{FitError, Progress, Training};
use crate::weights::{WeightSettings, fit_weights};
use dermis_rig::{BoneIndex, Influences, Neighbours};

/// When a bone counts as an influence, and a joint as moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InfluenceSettings {
    /// A bone influences a vertex if its weight there exceeds this; 0.02 by default.
    pub least: f64,
    /// A joint counts as moved if it turns by more than this, radians; 0.01 by default (half a degree). A shift counts if it
    /// exceeds this share of a tenth of the rest diagonal.
    pub turned: f64,
}

impl Default for InfluenceSettings {
    fn default() -> Self {
        Self { least: 0.02, turned: 0.01 }
    }
}

/// Where influences came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Shares of subtrees in poses of one joint each.
    SingleJoints,
    /// A fit of convex weights on all bones.
    Motion,
}

/// Influences found in examples.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Weights above the threshold, every row of sum one. Influence maps are made of them.
    pub weights: Influences,
    /// Bones that a fit may use, with value one: the bones of `weights`, those of neighbouring vertices, and those that no
    /// example determines.
    pub candidates: Influences,
    /// The source that was used.
    pub source: Source,
    /// Joints that no example moves.
    pub unmoved: Vec<BoneIndex>,
}

/// Influences from examples: by shares of subtrees if every example moves one joint at most, by a fit otherwise.
///
/// # Errors
/// As [`fit_weights`].
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
    let (weights, candidates, source) = match single {
        true => {
            let shares = shares(training, settings)?;
            (shares.weights, shares.candidates, Source::SingleJoints)
        }
        false => {
            let weights = discover(training, neighbours, settings, progress)?;
            (weights.clone(), weights, Source::Motion)
        }
    };
    Ok(Found { candidates: spread(&candidates, neighbours), weights, source, unmoved })
}

/// Fits convex weights on all bones and returns those above the threshold, at most eight per vertex; every row has sum one.
///
/// # Errors
/// As [`fit_weights`].
pub fn discover(
    training: &Training<'_>,
    neighbours: &Neighbours,
    settings: &InfluenceSettings,
    progress: Progress<'_>,
) -> Result<Influences, FitError> {
    let settings_of_fit = WeightSettings { influences: Some(8), ..WeightSettings::default() };
    let (weights, _) = fit_weights(training, neighbours, &settings_of_fit, progress)?;
    Ok(weights.pruned(8, settings.least).0)
}

/// The bones of a vertex and of its neighbours, with value one.
fn spread(influences: &Influences, neighbours: &Neighbours) -> Influences {
    let rows = (0..influences.vertices()).map(|v| {
        let around = neighbours.of(v).iter().map(|u| *u as usize);
        let mut bones: Vec<BoneIndex> =
            std::iter::once(v).chain(around).flat_map(|u| influences.of(u)).map(|(bone, _)| *bone).collect();
        bones.sort_unstable();
        bones.dedup();
        bones.into_iter().map(|bone| (bone, 1.0)).collect()
    });
    Influences::from_rows(rows).unwrap_or_default()
}
