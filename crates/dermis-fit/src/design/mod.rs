//! Design of experiments: which frames of a motion to sculpt next.
//!
//! The best frame is the one after which least is left to guess in the whole motion. The correction of a vertex v counts as a
//! Gaussian process over the poses of the joints around it,
//!
//! ```text
//! k_v(x, y) = s_v² Σ_j b_vj [ g(|x_j − y_j|) − g(|x_j|) g(|y_j|) ],      g(r) = exp(−r²/σ²),
//! ```
//!
//! - x_j is the feature of joint j ([`TrainingPoses`]). Distances are chords, 2 sin(angle/2).
//! - The process is zero at the bind pose, where the correction is known to be zero.
//! - b_vj says how much joint j matters to v: the larger squared influence map of its two bones.
//! - Training poses are observations with a noise ρ, because a sum over joints cannot describe all that skin does. A local sculpt is one
//!   where it touched the skin, and nowhere else.
//!
//! What is still unknown in frame f is the posterior variance C_v(f, f). The frame c to sculpt takes most from it:
//!
//! ```text
//! gain(c) = Σ_v m_v Σ_f C_v(f, c)² / (C_v(c, c) + ρ),      C ← C − C_·c C_c· / (C_cc + ρ),
//! ```
//!
//! with C for s_v = 1, and m_v = s_v² times the area of skin at v. The second equation makes a chosen frame part of the
//! training, so that its near copies gain nothing more. A frame far from training that says little of the others is passed
//! over, because the gain counts the whole motion. Candidates are the frames of the motion, or poses of another file.
//!
//! s_v² says how much the skin of v is corrected, and is learnt: s_v² = (ν s₀² + c_v²)/(ν + q_v). Here c_v is the largest
//! correction that the examples ask of v (from the guard's radius), q_v the prior variance of its training poses for s = 1,
//! and s₀² the same ratio over all skin. Skin whose joints never moved has the average. Without a guard all skin has the
//! same s.
//!
//! The skin is sampled in 256 places of equal share, in vertex order.
//!
//! [`Study::advise`] says the same by region: which joints, and which pairs of joints, the motion takes where training never was.
//!
//! Source: Cohn, Ghahramani & Jordan 1996, "Active learning with statistical models" (expected variance); Seo et al. 2000,
//! "Gaussian process regression: active data selection and test point rejection", for Gaussian processes.

mod advice;
mod kernels;
mod skin;
#[cfg(test)]
mod tests;
mod unknown;

pub use advice::{Advice, Amplitude, Pair, Region, Sculpt};

use crate::training::{Cancelled, Progress};
use dermis_deform::TrainingPoses;
use dermis_deform::training::degrees;
use dermis_rig::{BoneIndex, Influences, Motion, Rig};
use kernels::{Features, Kernels, square};
use rayon::prelude::*;
use skin::{Place, Skin};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use unknown::Unknown;

/// A joint counts as new from this many degrees away from training.
pub const NEW: f64 = 10.0;
/// Frames looked at; longer motions are thinned evenly.
const FRAMES: usize = 192;

/// What is known of a model before the next pose is sculpted.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The rig. Its influence maps, if there are any, say which joints matter to a vertex.
    pub rig: &'a Rig,
    /// The weights that stand in for missing influence maps.
    pub weights: Option<&'a Influences>,
    /// The poses the model was trained on.
    pub training: &'a TrainingPoses,
    /// The radius of the guard at each vertex, metres ([`dermis_deform::guard::BALL_FACTOR`] times the largest residual).
    /// Empty for a model without a guard.
    pub radii: &'a [f32],
    /// Per training pose, the vertices whose skin it shows. Empty if every pose shows all skin.
    pub touched: &'a [Vec<bool>],
}

/// A frame to sculpt.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// Its number in the motion that offers it, from zero.
    pub frame: usize,
    /// Its label.
    pub label: String,
    /// Seconds.
    pub time: Option<f64>,
    /// Joints that are [`NEW`] degrees or more from training and from earlier suggestions, as (bone, degrees). The joint with
    /// the largest product of degrees and moved skin comes first.
    pub new: Vec<(String, f64)>,
    /// The joint farthest from training, as (bone, degrees).
    pub farthest: (String, f64),
    /// Share of the skin's area that the new joints move.
    pub skin: f64,
    /// The bone whose skin gains most, of those that move a vertex most; none without weights.
    pub region: Option<String>,
    /// How much of the expected squared error of the motion this frame removes, as a part of the error before any.
    pub gain: f64,
    /// Expected rms error of the motion after it, over that before any.
    pub left: f64,
}

/// What to sculpt, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestions {
    /// The frames.
    pub list: Vec<Suggestion>,
    /// Frames of the motion.
    pub frames: usize,
    /// Frames of the motion that were looked at.
    pub looked_at: usize,
    /// Poses offered as candidates.
    pub offered: usize,
    /// Training poses of the model, as far as it holds them.
    pub trained: usize,
    /// Share of the motion's expected squared correction that training does not determine, before any suggestion.
    pub unknown: f64,
}

/// Why no pose can be suggested.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DesignError {
    /// The rig's weights make no influence maps.
    #[error(transparent)]
    Maps(crate::FitError),
    /// No joint differs between training poses.
    #[error("the model has no joint that moves skin: no pose differs from another")]
    NoJoints,
    /// The model holds no training poses.
    #[error("the model does not hold the poses it was trained on")]
    NoTraining,
    /// A motion without frames.
    #[error("the motion \"{motion}\" has no frames")]
    NoFrames {
        /// The motion.
        motion: String,
    },
    /// A frame of another skeleton.
    #[error("the motion \"{motion}\" has {found} bones in frame \"{frame}\", but the model's rig has {expected}")]
    Bones {
        /// The motion.
        motion: String,
        /// The label of the frame.
        frame: String,
        /// Its bones.
        found: usize,
        /// The rig's bones.
        expected: usize,
    },
    /// A frame with NaN or infinity.
    #[error("the motion \"{motion}\" is not finite in frame \"{frame}\"")]
    NotFinite {
        /// The motion.
        motion: String,
        /// The label of the frame.
        frame: String,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

/// What is not known of a motion before any of its poses is sculpted.
pub struct Study<'a> {
    motion: &'a Motion,
    among: Option<&'a Motion>,
    /// Of the training poses, of the motion's frames, and of the poses offered.
    features: Vec<Features>,
    trained: usize,
    frames: usize,
    skin: Skin,
    places: Vec<Place>,
    /// One per place.
    unknown: Vec<Unknown>,
}

impl<'a> Study<'a> {
    /// Compares `motion` with what a model knows. Poses are offered by `among`, or by the motion itself. Motions of more than 192
    /// frames are thinned evenly.
    ///
    /// # Errors
    /// [`DesignError`]: no training poses; a motion without frames, of another skeleton, or not finite; cancelled.
    pub fn new(
        known: &Known<'_>,
        motion: &'a Motion,
        among: Option<&'a Motion>,
        progress: Progress<'_>,
    ) -> Result<Self, DesignError> {
        let training = known.training;
        if training.joints.is_empty() {
            return Err(DesignError::NoJoints);
        }
        if training.poses() == 0 {
            return Err(DesignError::NoTraining);
        }
        let mut features = known_features(known);
        let trained = features.len();
        let frames = thinned(motion);
        add_features(known, motion, &frames, &mut features)?;
        if let Some(from) = among {
            add_features(known, from, &thinned(from), &mut features)?;
        }
        let skin = Skin::new(known)?;
        let kernels = Kernels::new(&features);
        let places = skin.places(known, &kernels, trained);
        let (done, total) = (AtomicU64::new(0), places.len() as u64);
        let unknown = places
            .par_iter()
            .map(|place| {
                if let ControlFlow::Break(Cancelled) = progress(done.fetch_add(1, Ordering::Relaxed), total) {
                    return Err(DesignError::Cancelled);
                }
                let shown: Vec<usize> = (0..trained).filter(|&s| known.shows(s, place.vertex)).collect();
                Ok(Unknown::new(place, &kernels, trained, &shown, frames.len()))
            })
            .collect::<Result<Vec<_>, DesignError>>()?;
        Ok(Self { motion, among, features, trained, frames: frames.len(), skin, places, unknown })
    }

    /// Returns the `count` poses to sculpt next, best first. There are fewer where fewer are offered or nothing is left to learn.
    pub fn suggest(self, count: usize) -> Suggestions {
        let Self { motion, among, features, trained, frames, skin, places, mut unknown } = self;
        // Poses beyond training are counted from the first frame of the motion.
        let from = among.unwrap_or(motion);
        let offered = thinned(from);
        let first = if among.is_some() { frames } else { 0 };
        let prior: f64 = unknown.iter().map(|u| u.prior).sum();
        let before: f64 = unknown.iter().map(Unknown::total).sum();
        let mut learnt: Vec<usize> = (0..trained).collect();
        let mut left = before;
        let mut list: Vec<Suggestion> = Vec::new();
        while list.len() < count.min(offered.len()) {
            let gains: Vec<Vec<f64>> = unknown.par_iter().map(Unknown::gains).collect();
            let mut best: Option<(usize, f64)> = None;
            for c in (first..first + offered.len()).filter(|c| !learnt.contains(&(trained + c))) {
                let gain = gains.iter().map(|g| g[c]).sum::<f64>();
                if best.is_none_or(|(_, most)| gain > most) {
                    best = Some((c, gain));
                }
            }
            // Frames in the bind pose have nothing to learn.
            let Some((c, gain)) = best.filter(|(_, gain)| *gain > 1e-6 * prior) else { break };
            let region = region(&places, gains.iter().map(|g| g[c]));
            unknown.par_iter_mut().for_each(|u| u.learn(c));
            left = (left - gain).max(0.0);
            let number = offered[c - first];
            let frame = &from.frames[number];
            let far = far_joints(&features, trained + c, &learnt);
            let new = skin.new_joints(&far);
            let farthest = (0..far.len()).fold(0, |most, j| if far[j] > far[most] { j } else { most });
            let named = |j: usize| (skin.names[j].clone(), far[j]);
            list.push(Suggestion {
                frame: number,
                label: frame.label.clone(),
                time: frame.time,
                skin: skin.share(&new),
                region: region.map(|bone| skin.bones[bone.get()].clone()),
                new: new.iter().map(|&j| named(j)).collect(),
                farthest: named(farthest),
                gain: gain / before,
                left: (left / before).sqrt(),
            });
            learnt.push(trained + c);
        }
        let unknown = if prior > 0.0 { before / prior } else { 0.0 };
        Suggestions { list, frames: motion.frames.len(), looked_at: frames, offered: offered.len(), trained, unknown }
    }
}

/// The bone whose places gain most together.
fn region(places: &[Place], gains: impl Iterator<Item = f64>) -> Option<BoneIndex> {
    let mut of_bone = BTreeMap::<BoneIndex, f64>::new();
    for (place, gain) in places.iter().zip(gains) {
        place.bone.into_iter().for_each(|bone| *of_bone.entry(bone).or_default() += gain);
    }
    of_bone.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(bone, _)| bone)
}

impl Known<'_> {
    /// Whether a training pose shows the skin of a vertex.
    fn shows(&self, pose: usize, vertex: usize) -> bool {
        self.touched.get(pose).is_none_or(|touched| touched[vertex])
    }
}

/// The frames of a motion that are looked at.
fn thinned(motion: &Motion) -> Vec<usize> {
    let all = motion.frames.len();
    (0..all).step_by(all.div_ceil(FRAMES).max(1)).collect()
}

/// Returns the features of the training poses.
fn known_features(known: &Known<'_>) -> Vec<Features> {
    let poses = known.training.features.chunks(known.training.joints.len());
    poses.map(|pose| at_joints(known, pose.iter().map(|f| f.map(f64::from)).collect())).collect()
}

/// The features of a pose with translations taken at the joints.
fn at_joints(known: &Known<'_>, pose: Features) -> Features {
    let skeleton = known.rig.skeleton();
    pose.iter().enumerate().map(|(j, f)| known.training.at_joint(skeleton, j, f)).collect()
}

/// Adds the features of a motion's frames.
fn add_features(
    known: &Known<'_>,
    motion: &Motion,
    frames: &[usize],
    features: &mut Vec<Features>,
) -> Result<(), DesignError> {
    let skeleton = known.rig.skeleton();
    let name = || motion.name.clone();
    if frames.is_empty() {
        return Err(DesignError::NoFrames { motion: name() });
    }
    for frame in frames.iter().map(|&f| &motion.frames[f]) {
        let (found, expected) = (frame.pose.bones.len(), skeleton.len());
        if found != expected {
            return Err(DesignError::Bones { motion: name(), frame: frame.label.clone(), found, expected });
        }
        let transforms = skeleton.bone_transforms(&frame.pose);
        let of_frame = at_joints(known, known.training.features_of(&transforms));
        if !transforms.is_finite() || of_frame.iter().flatten().any(|x| !x.is_finite()) {
            return Err(DesignError::NotFinite { motion: name(), frame: frame.label.clone() });
        }
        features.push(of_frame);
    }
    Ok(())
}

/// Returns for every joint of a pose the degrees to the nearest of the poses `known`.
fn far_joints(features: &[Features], pose: usize, known: &[usize]) -> Vec<f64> {
    let nearest =
        |j: usize| known.iter().map(|&s| square(&features[pose][j], &features[s][j])).fold(f64::INFINITY, f64::min);
    (0..features[pose].len()).map(|j| degrees(nearest(j).sqrt())).collect()
}
