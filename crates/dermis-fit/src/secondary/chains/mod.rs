//! Springs of bone chains, from clips in which the skin swung: what a tail, an ear or hair has to be given in an engine.
//!
//! The law is that of VRM ([`dermis_deform::secondary::ChainMotion`]), in steps of [`STEP`] whatever the rate of a clip: what the chain
//! hangs on is interpolated between frames, places by lines and rotations by slerp, and tails between the steps around a frame. So the
//! parameters are those of a program that draws 60 frames a second.
//!
//! **What is minimised** is the distance of the skin that the chain carries. With M_k the transforms of the pose, S_k those of the chain as it
//! swings, w_vk the weights, and o_v = x_v − b_v how the skin x of the clip differs from the skin b of the model,
//!
//! ```text
//! E = Σ_frames Σ_v |o_v − Σ_k w_vk (S_k − M_k) p_v|²
//! ```
//!
//! over vertices of which the chain has half the weight or more. S follows from a simulation over the whole clip. It begins with the tails
//! of the first two frames, from the rotations that carry the skin there best, and those frames do not count.
//!
//! **Unknown** are three numbers of a chain: ln stiffness, logit drag and ln gravity. A grid of them gives three starts for
//! Levenberg–Marquardt, without gravity and with it. Gravity stays if it takes a hundredth off E.
//!
//! **Whether to have it** is asked as for springs of vertices: a simulation of clips that are left out, in turn, must leave at most
//! [`LEAST_GAIN`] of what the model alone leaves on the skin of the chain.

mod find;
mod track;

pub use find::{BoneChain, find_chains};

use super::{Clip, LEAST_GAIN, SecondaryFitError, Shot, Split, ratio, solve};
use crate::training::Progress;
use dermis_deform::secondary::{ChainSpring, STEP, SecondaryError};
use dermis_rig::progress::proceed;
use dermis_rig::{BoneTransforms, Rig};
use rayon::prelude::*;
use std::f64::consts::TAU;
use track::Track;

/// Frequencies in hertz and drags that every chain is tried with first.
const STARTS: ([f64; 7], [f64; 6]) = ([0.7, 1.0, 1.5, 2.2, 3.3, 5.0, 7.5], [0.05, 0.15, 0.3, 0.5, 0.7, 0.9]);
/// How many of them are followed.
const FOLLOWED: usize = 3;
/// Rounds of Levenberg–Marquardt at most.
const ROUNDS: usize = 40;
/// A round that takes less than this part off the error is the last.
const STILL: f64 = 1e-7;
/// The largest step of a logarithm.
const LARGEST_STEP: f64 = 0.7;
/// The difference of logarithms that derivatives are taken over.
const DIFFERENCE: f64 = 1e-4;
/// Gravities to begin with, of stiffness.
const GRAVITIES: [f64; 2] = [0.1, 0.5];
/// The part of the error that gravity has to take off.
const GRAVITY_GAIN: f64 = 0.01;
/// The slowest chain that is learnt, hertz: a softer one is a rope, which never comes back to rest.
const SLOWEST: f64 = 0.3;
/// ln gravity lies in this range, below the upper end of which ln stiffness lies, and logit drag in the next.
const LOGARITHMS: [f64; 2] = [-18.0, 16.0];
const LOGITS: [f64; 2] = [-7.0, 7.0];

/// The springs of a chain with what is known of them.
#[derive(Clone, Debug)]
pub struct LearntChain {
    /// The chain.
    pub chain: BoneChain,
    /// Its springs.
    pub spring: ChainSpring,
    /// The rms error of a simulation over the clips it was learnt from, of what the model alone leaves on the skin of the chain.
    pub training: f64,
    /// The same on clips that were left out, all together.
    pub left_out: f64,
    /// The same of every clip, or half of one, that was left out.
    pub folds: Vec<(String, f64)>,
    /// Rms of the offsets of the chain's skin from the model in the frames that count, metres.
    pub swing: f64,
}

impl LearntChain {
    /// Whether they are worth having.
    pub fn is_kept(&self) -> bool {
        self.left_out <= LEAST_GAIN
    }
}

/// Learns the springs of chains from clips; a chain that no clip serves is left out.
///
/// - `poses`: of every clip, the bone transforms of each frame
///
/// # Errors
/// [`SecondaryFitError`].
pub fn learn_chains(
    rig: &Rig,
    chains: &[BoneChain],
    (clips, poses): (&[Clip], &[Vec<&BoneTransforms>]),
    progress: Progress<'_>,
) -> Result<Vec<LearntChain>, SecondaryFitError> {
    let split = Split::of(rig.mesh(), clips)?;
    for (at, clip) in clips.iter().enumerate() {
        let fits = |pose: &&&BoneTransforms| pose.len() == rig.skeleton().len();
        let (found, frames) = (poses.get(at).map_or(0, |list| list.iter().filter(fits).count()), clip.times.len());
        if found != frames || poses.get(at).is_some_and(|list| list.len() != frames) {
            return Err(SecondaryFitError::Poses { clip: clip.name.clone(), poses: found, frames });
        }
    }
    let mut learnt = Vec::new();
    for (at, chain) in chains.iter().enumerate() {
        proceed(progress, at, chains.len())?;
        let all = tracks(chain, &split.all, poses);
        if all.is_empty() {
            continue;
        }
        let (spring, error) = fit(chain, &all)?;
        let alone: f64 = all.iter().map(Track::alone).sum();
        let counted: usize = all.iter().map(Track::counted).sum();
        let (mut left, mut of_model, mut folds) = (0.0, 0.0, Vec::new());
        for (held, others) in &split.folds {
            let others = tracks(chain, others, poses);
            if others.is_empty() {
                continue;
            }
            let (without, _) = fit(chain, &others)?;
            for track in &tracks(chain, held, poses) {
                let (error, model) = (track.error(&without), track.alone());
                folds.push((track.name().to_owned(), ratio(error, model)));
                (left, of_model) = (left + error, of_model + model);
            }
        }
        learnt.push(LearntChain {
            chain: chain.clone(),
            spring,
            training: ratio(error, alone),
            left_out: ratio(left, of_model),
            folds,
            swing: (alone / counted.max(1) as f64).sqrt(),
        });
    }
    proceed(progress, chains.len(), chains.len())?;
    Ok(learnt)
}

/// A chain over the shots that serve it.
fn tracks<'a>(chain: &'a BoneChain, shots: &'a [Shot<'_>], poses: &[Vec<&BoneTransforms>]) -> Vec<Track<'a>> {
    shots.par_iter().filter_map(|shot| Track::new(chain, shot, &poses[shot.at])).collect()
}

/// ln stiffness, logit drag, ln gravity.
type Parameters = [f64; 3];

/// ln stiffness at which a bone of a length swings at so many hertz: ω² = stiffness/(L dt).
fn of_hertz(chain: &BoneChain, hertz: f64) -> f64 {
    ((TAU * hertz).powi(2) * chain.mean_length() * STEP).max(f64::MIN_POSITIVE).ln()
}

/// Springs of parameters; without the third there is no gravity.
fn springs(chain: &BoneChain, [k, drag, gravity]: Parameters, count: usize) -> Result<ChainSpring, SecondaryError> {
    let [low, high] = LOGARITHMS;
    let least = of_hertz(chain, SLOWEST).min(high);
    let gravity = if count > 2 { gravity.clamp(low, high).exp() } else { 0.0 };
    let drag = 1.0 / (1.0 + (-drag.clamp(LOGITS[0], LOGITS[1])).exp());
    ChainSpring::new(k.clamp(least, high).exp(), drag, gravity)
}

/// The springs that explain tracks best, and what they leave.
fn fit(chain: &BoneChain, tracks: &[Track]) -> Result<(ChainSpring, f64), SecondaryFitError> {
    let light = followed(chain, tracks, &[0.0], 2)?;
    let [k, drag, _] = light.1;
    let on = refined(chain, tracks, [k, drag, k + GRAVITIES[0].ln()], 3)?;
    let anew = followed(chain, tracks, &GRAVITIES, 3)?;
    let heavy = if anew.0 < on.0 { anew } else { on };
    let (error, spring) = match heavy.0 < (1.0 - GRAVITY_GAIN) * light.0 {
        true => (heavy.0, springs(chain, heavy.1, 3)?),
        false => (light.0, springs(chain, light.1, 2)?),
    };
    Ok((spring, error))
}

/// The best of a grid of starts, followed; gravities are parts of stiffness.
fn followed(
    chain: &BoneChain,
    tracks: &[Track],
    gravities: &[f64],
    count: usize,
) -> Result<(f64, Parameters), SecondaryFitError> {
    let logit = |part: f64| (part / (1.0 - part)).ln();
    let mut starts: Vec<Parameters> = Vec::new();
    for hertz in STARTS.0 {
        for drag in STARTS.1 {
            let start = |part: &f64| {
                [of_hertz(chain, hertz), logit(drag), of_hertz(chain, hertz) + part.max(f64::MIN_POSITIVE).ln()]
            };
            starts.extend(gravities.iter().map(start));
        }
    }
    let tried = |start: Parameters| {
        let spring = springs(chain, start, count)?;
        Ok((tracks.iter().map(|track| track.error(&spring)).sum(), start))
    };
    let tried: Result<Vec<(f64, Parameters)>, SecondaryError> = starts.into_par_iter().map(tried).collect();
    let mut tried = tried?;
    tried.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut best = (f64::INFINITY, [0.0; 3]);
    for (_, start) in tried.into_iter().take(FOLLOWED) {
        let found = refined(chain, tracks, start, count)?;
        if found.0 < best.0 {
            best = found;
        }
    }
    Ok(best)
}

/// Levenberg–Marquardt on the first `count` parameters: where it ends, and what is left there.
fn refined(
    chain: &BoneChain,
    tracks: &[Track],
    start: Parameters,
    count: usize,
) -> Result<(f64, Parameters), SecondaryFitError> {
    let (mut at, mut damping) = (start, 1e-3);
    let first = springs(chain, at, count)?;
    let mut error: f64 = tracks.par_iter().map(|track| track.error(&first)).collect::<Vec<_>>().iter().sum();
    for _ in 0..ROUNDS {
        let mut lanes = vec![springs(chain, at, count)?];
        for i in 0..count {
            let mut moved = at;
            moved[i] += DIFFERENCE;
            lanes.push(springs(chain, moved, count)?);
        }
        let (mut normal, mut gradient) = ([[0.0; 3]; 3], [0.0; 3]);
        let sums: Vec<_> = tracks.par_iter().map(|track| track.sums(&lanes, DIFFERENCE)).collect();
        for (n, g) in sums {
            for i in 0..3 {
                gradient[i] += g[i];
                (0..3).for_each(|j| normal[i][j] += n[i][j]);
            }
        }
        let mut gained = None;
        while damping < 1e8 {
            let mut damped = normal;
            (0..3).for_each(|i| damped[i][i] += (damping * normal[i][i]).max(f64::MIN_POSITIVE));
            if count < 3 {
                damped[2] = [0.0, 0.0, 1.0];
            }
            let step = solve(damped, gradient).map(|s| s.clamp(-LARGEST_STEP, LARGEST_STEP));
            let next = [0, 1, 2].map(|i| at[i] + step[i]);
            let spring = springs(chain, next, count)?;
            let left: f64 = tracks.par_iter().map(|track| track.error(&spring)).collect::<Vec<_>>().iter().sum();
            if left < error {
                gained = Some(1.0 - left / error);
                (at, error, damping) = (next, left, (damping / 5.0).max(1e-9));
                break;
            }
            damping *= 5.0;
        }
        if gained.is_none_or(|gain| gain < STILL) {
            break;
        }
    }
    Ok((error, at))
}
