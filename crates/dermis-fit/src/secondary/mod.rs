//! Secondary motion that is learnt: springs between a skin and where a model puts it, from clips in which the skin swung.
//!
//! With b(t) the model's skin in the poses of a clip and x(t) the clip's own, every vertex v obeys
//!
//! ```text
//! o″ + c_v o′ + k_v o + k₃_v |o|² o + κ Σ_j e eᵀ (o − o_j) = −b″,        o = x − b,
//! ```
//!
//! over the edges to its neighbours j, e their directions on the skin ([`dermis_deform::secondary`] steps it). Parameters are sought by
//! their logarithms, hence positive, and by what a *simulation* over whole clips leaves, not by how well single frames obey the equation:
//! noise in second differences of frames drowns that.
//!
//! **Levenberg–Marquardt, all vertices at once.** A vertex swings by its own parameters and, through κ, by its neighbours' offsets. Its
//! derivatives are taken with its neighbours held to what they do, so that one run, with a lane for each parameter, serves all vertices:
//!
//! ```text
//! (J_vᵀJ_v + (μ D + s) 1) δ_v = J_vᵀ r_v + s (θ̄_v − θ_v),        θ = (ln k, ln c, ln k₃)
//! ```
//!
//! with θ̄_v the mean of the neighbours, D the diagonal of J_vᵀJ_v, and s a hundredth of the mean squared offset of a vertex. κ, one for the
//! skin, has a step of its own from a lane of its own. A step is taken if the whole error falls.
//!
//! The first two frames of a clip give offset and speed to begin with, and count for nothing. A vertex stops at 1.5 times the largest
//! offset that it had in the clips.
//!
//! **Whether to have it** is asked of clips that are left out in turn, in four groups at most (or of the halves of a single clip),
//! with the limits of all: springs are kept if a simulation leaves at most [`LEAST_GAIN`] of what the model alone leaves.
//!
//! Source: none has published it; the equation is that of masses and springs (Provot 1995) with Duffing's stiffening.

mod chains;
mod flesh;
mod run;

pub use chains::{BoneChain, LearntChain, find_chains, learn_chains};
pub use flesh::flesh_gain;

use crate::training::{Cancelled, Progress};
use dermis_deform::secondary::{
    FASTEST, SLOWEST, STIFFEST, STRONGEST, SecondaryError, Spring, Springs, VertexSpring, edges,
};
use dermis_rig::Mesh;
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::mesh::Neighbours;
use dermis_rig::progress::proceed;
use rayon::prelude::*;
use run::{Sums, errors, parameter_sums};
use std::f64::consts::TAU;
use std::ops::Range;

/// Parameters of a vertex: ln k, ln c, ln k₃.
type Parameters = [f64; 3];

/// How much a vertex's parameters are drawn to its neighbours', of the mean squared offset.
const SMOOTH: f64 = 0.01;
/// An offset may reach so many times the largest one of the clips.
const REACH: f64 = 1.5;
/// What springs may leave at most of a clip that was left out, of what the model alone leaves.
pub const LEAST_GAIN: f64 = 0.95;
/// Rounds of Levenberg–Marquardt at most.
const ROUNDS: usize = 10;
/// A round that takes less than this part off the error is the last.
const STILL: f64 = 1e-3;
/// The largest step of a logarithm.
const LARGEST_STEP: f64 = 0.5;
/// Frequencies in hertz and damping ratios that every vertex is tried with first.
const STARTS: ([f64; 5], [f64; 2]) = ([2.0, 3.0, 4.0, 5.5, 7.5], [0.1, 0.3]);
/// κ to begin with, 1/s².
const FIRST_COUPLING: f64 = 100.0;
/// How much stiffer a spring is at its limit to begin with, of k.
const FIRST_STIFFENING: f64 = 1.0;
/// The part of its step that κ takes: every vertex mends the same error at the same time.
const COUPLING_SHARE: f64 = 0.6;
/// Damping ratios lie in this range.
const DAMPINGS: [f64; 2] = [1e-3, 3.0];
/// A vertex may always move this far, in metres per metre of the mesh's extent.
const LEAST_LIMIT: f64 = 1e-6;
/// Clips that are left out at most, one after another.
const MOST_FOLDS: usize = 4;

/// A clip: where a model puts the skin, and where it was.
#[derive(Clone, Debug)]
pub struct Clip {
    /// What it is called.
    pub name: String,
    /// Seconds of every frame, rising.
    pub times: Vec<f64>,
    /// b: the model's skin in every frame, metres.
    pub posed: Vec<Vec<Vec3>>,
    /// o: the skin less the model's, metres.
    pub offsets: Vec<Vec<Vec3>>,
}

/// The frames of a clip that are simulated.
#[derive(Clone)]
struct Shot<'a> {
    /// Which clip.
    at: usize,
    name: String,
    clip: &'a Clip,
    frames: Range<usize>,
}

/// Why springs cannot be learnt.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SecondaryFitError {
    /// No clip has enough frames.
    #[error("no clip has {LEAST_FRAMES} frames in time")]
    NoClips,
    /// Frames that do not follow each other.
    #[error("\"{clip}\": frame {frame} comes no later than the one before it")]
    Times {
        /// The clip.
        clip: String,
        /// The frame, from 0.
        frame: usize,
    },
    /// A clip of another mesh.
    #[error("\"{clip}\" has {found} vertices, but the mesh has {vertices}")]
    Vertices {
        /// The clip.
        clip: String,
        /// Its vertices.
        found: usize,
        /// The mesh's.
        vertices: usize,
    },
    /// A clip whose poses do not go with its frames, or with the skeleton.
    #[error("\"{clip}\" has {poses} poses of the skeleton for {frames} frames")]
    Poses {
        /// The clip.
        clip: String,
        /// Its poses of the right number of bones.
        poses: usize,
        /// Its frames.
        frames: usize,
    },
    /// What the springs would be is out of range.
    #[error(transparent)]
    Springs(#[from] SecondaryError),
    /// The caller stopped it.
    #[error("cancelled")]
    Cancelled,
}

impl From<Cancelled> for SecondaryFitError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// A clip has at least so many frames.
const LEAST_FRAMES: usize = 8;

/// Springs with what is known of them.
#[derive(Clone, Debug)]
pub struct LearntSprings {
    /// The springs.
    pub springs: Springs,
    /// The rms error of a simulation over the clips it was learnt from, of what the model alone leaves.
    pub training: f64,
    /// The same on clips that were left out, all together.
    pub left_out: f64,
    /// The same of every clip, or half of one, that was left out.
    pub folds: Vec<(String, f64)>,
    /// Frames that counted.
    pub frames: usize,
}

impl LearntSprings {
    /// Whether they are worth having.
    pub fn are_kept(&self) -> bool {
        self.left_out <= LEAST_GAIN
    }
}

/// Learns springs from clips.
///
/// # Errors
/// [`SecondaryFitError`].
pub fn learn_springs(mesh: &Mesh, clips: &[Clip], progress: Progress<'_>) -> Result<LearntSprings, SecondaryFitError> {
    let Split { all, folds: parts } = Split::of(mesh, clips)?;
    let all: Vec<&Shot> = all.iter().collect();
    let frames = all.iter().map(|shot| shot.frames.len() - run::GIVEN).sum();
    let folds = parts.len();
    let steps = (1 + folds) * (ROUNDS + 1);
    let mut fit = Fit { mesh, neighbours: edges(mesh), progress, done: 0, steps };
    let limits = limits(mesh, &all);
    let (springs, training) = fit.run(&all, &limits)?;
    let (mut left, mut alone, mut ratios) = (0.0, 0.0, Vec::new());
    for (held, others) in &parts {
        let (without, _) = fit.run(&others.iter().collect::<Vec<_>>(), &limits)?;
        for shot in held {
            let (error, of_model) = (errors(mesh, &[shot], &without)?.iter().sum::<f64>(), shot.alone());
            ratios.push((shot.name.clone(), ratio(error, of_model)));
            (left, alone) = (left + error, alone + of_model);
        }
    }
    Ok(LearntSprings { springs, training, left_out: ratio(left, alone), folds: ratios, frames })
}

impl Clip {
    fn check(&self, mesh: &Mesh) -> Result<(), SecondaryFitError> {
        let vertices = mesh.positions.len();
        if let Some(frame) = self.times.windows(2).position(|w| !(w[1] > w[0] && (w[1] - w[0]).is_finite())) {
            return Err(SecondaryFitError::Times { clip: self.name.clone(), frame: frame + 1 });
        }
        match self.posed.iter().chain(&self.offsets).find(|skin| skin.len() != vertices) {
            Some(skin) => Err(SecondaryFitError::Vertices { clip: self.name.clone(), found: skin.len(), vertices }),
            None => Ok(()),
        }
    }
}

/// Shots to learn from, and those that are left out in turn, each with the others.
struct Split<'a> {
    all: Vec<Shot<'a>>,
    folds: Vec<(Vec<Shot<'a>>, Vec<Shot<'a>>)>,
}

impl<'a> Split<'a> {
    fn of(mesh: &Mesh, clips: &'a [Clip]) -> Result<Self, SecondaryFitError> {
        clips.iter().try_for_each(|clip| clip.check(mesh))?;
        let all: Vec<Shot> = clips.iter().enumerate().map(Shot::of).filter(Shot::is_long).collect();
        let parts = match &all[..] {
            [one] => one.halves().into_iter().filter(Shot::is_long).collect(),
            several => several.to_vec(),
        };
        if parts.len() < 2 {
            return Err(SecondaryFitError::NoClips);
        }
        let folds = parts.len().min(MOST_FOLDS);
        let fold = |fold: usize| {
            let (held, others): (Vec<_>, Vec<_>) =
                parts.iter().cloned().enumerate().partition(|(at, _)| at % folds == fold);
            let shots = |list: Vec<(usize, Shot<'a>)>| list.into_iter().map(|(_, shot)| shot).collect();
            (shots(held), shots(others))
        };
        let folds = (0..folds).map(fold).collect();
        Ok(Self { all, folds })
    }
}

impl<'a> Shot<'a> {
    fn of((at, clip): (usize, &'a Clip)) -> Self {
        Self { at, name: clip.name.clone(), clip, frames: 0..clip.times.len() }
    }

    /// The shot cut in two.
    fn halves(&self) -> [Self; 2] {
        let middle = self.frames.len() / 2;
        [("first half", 0..middle), ("second half", middle..self.frames.len())].map(|(which, frames)| Self {
            at: self.at,
            name: format!("{}, {which}", self.name),
            clip: self.clip,
            frames,
        })
    }

    fn is_long(&self) -> bool {
        self.frames.len() >= LEAST_FRAMES
    }
}

/// The root of what is left of a square; one of nothing.
fn ratio(left: f64, of: f64) -> f64 {
    if of > 0.0 { (left / of).sqrt() } else { 1.0 }
}

/// What fits share.
struct Fit<'a> {
    mesh: &'a Mesh,
    neighbours: Neighbours,
    progress: Progress<'a>,
    done: usize,
    steps: usize,
}

/// What is sought.
#[derive(Clone)]
struct Guess {
    vertices: Vec<Parameters>,
    /// ln κ.
    coupling: f64,
}

impl Fit<'_> {
    fn step(&mut self, to: usize) -> Result<(), Cancelled> {
        self.done = to;
        proceed(self.progress, to.min(self.steps), self.steps)
    }

    /// The springs that clips show, and the rms error they leave, of the model's.
    fn run(&mut self, clips: &[&Shot<'_>], limits: &[f64]) -> Result<(Springs, f64), SecondaryFitError> {
        let start = self.done;
        let mut guess = self.first(clips, limits)?;
        self.step(start + 1)?;
        let alone: f64 = clips.iter().map(|clip| clip.alone()).sum();
        let pull = SMOOTH * alone / limits.len().max(1) as f64;
        let mut damping = 1e-2;
        let mut cost = self.cost(clips, &guess, limits)?;
        'rounds: for round in 0..ROUNDS {
            let means = self.means(&guess.vertices);
            let sums = parameter_sums(self.mesh, clips, |change| guess.changed(change, limits))?;
            let drawn = |guess: &Guess| -> f64 {
                let far =
                    guess.vertices.iter().zip(&means).map(|(t, m)| (0..3).map(|i| (t[i] - m[i]).powi(2)).sum::<f64>());
                pull * far.sum::<f64>()
            };
            let before = cost + drawn(&guess);
            let mut share = 1.0;
            for _ in 0..5 {
                let tried = guess.moved(&sums, &means, pull, damping, share);
                let found = self.cost(clips, &tried, limits)?;
                if found + drawn(&tried) < before {
                    let gain = 1.0 - (found + drawn(&tried)) / before;
                    (guess, cost) = (tried, found);
                    damping = (damping / 3.0).max(1e-6);
                    if gain < STILL {
                        break 'rounds;
                    }
                    self.step(start + 2 + round)?;
                    continue 'rounds;
                }
                (damping, share) = (4.0 * damping, 0.5 * share);
            }
            break;
        }
        self.step(start + 1 + ROUNDS)?;
        Ok((guess.springs(limits)?, ratio(cost, alone)))
    }

    /// The best of a few frequencies and dampings at every vertex, as if all others had the same.
    fn first(&self, clips: &[&Shot<'_>], limits: &[f64]) -> Result<Guess, SecondaryFitError> {
        let (frequencies, dampings) = STARTS;
        let mut best = vec![(f64::INFINITY, [0.0; 3]); limits.len()];
        for (frequency, ratio) in frequencies.iter().flat_map(|f| dampings.map(|d| (*f, d))) {
            let omega = TAU * frequency;
            let stiffness = omega * omega;
            let of = |limit: &f64| {
                [stiffness.ln(), (2.0 * ratio * omega).ln(), (FIRST_STIFFENING * stiffness / (limit * limit)).ln()]
            };
            let guess = Guess { vertices: limits.iter().map(of).collect(), coupling: FIRST_COUPLING.ln() };
            let errors = errors(self.mesh, clips, &guess.springs(limits)?)?;
            for ((best, error), parameters) in best.iter_mut().zip(errors).zip(guess.vertices) {
                if error < best.0 {
                    *best = (error, parameters);
                }
            }
        }
        Ok(Guess { vertices: best.into_iter().map(|b| b.1).collect(), coupling: FIRST_COUPLING.ln() })
    }

    fn cost(&self, clips: &[&Shot<'_>], guess: &Guess, limits: &[f64]) -> Result<f64, SecondaryFitError> {
        Ok(errors(self.mesh, clips, &guess.springs(limits)?)?.iter().sum())
    }

    /// The mean of every vertex's neighbours; its own where it has none.
    fn means(&self, parameters: &[Parameters]) -> Vec<Parameters> {
        let mean = |v: usize| {
            let row = self.neighbours.of(v);
            if row.is_empty() {
                return parameters[v];
            }
            [0, 1, 2].map(|i| row.iter().map(|&j| parameters[j as usize][i]).sum::<f64>() / row.len() as f64)
        };
        (0..parameters.len()).into_par_iter().map(mean).collect()
    }
}

impl Guess {
    /// The springs, within what can be stepped.
    fn springs(&self, limits: &[f64]) -> Result<Springs, SecondaryError> {
        let of = |(parameters, &limit): (&Parameters, &f64)| {
            let [k, c, k3] = parameters.map(f64::exp);
            let omega = k.sqrt().clamp(TAU * SLOWEST, TAU * FASTEST);
            let ratio = (0.5 * c / omega).clamp(DAMPINGS[0], DAMPINGS[1]);
            let stiffening = k3.min(STIFFEST / (limit * limit));
            Ok(VertexSpring { spring: Spring::of_omega(omega, ratio)?, stiffening, limit })
        };
        let vertices: Result<Vec<_>, SecondaryError> = self.vertices.iter().zip(limits).map(of).collect();
        Springs::new(vertices?, self.coupling.exp().min(STRONGEST))
    }

    /// The springs with one parameter of every vertex, or κ, a little larger.
    fn changed(&self, change: Option<usize>, limits: &[f64]) -> Result<Springs, SecondaryError> {
        let mut guess = self.clone();
        match change {
            Some(i @ 0..3) => guess.vertices.iter_mut().for_each(|p| p[i] += run::DIFFERENCE),
            Some(_) => guess.coupling += run::DIFFERENCE,
            None => {}
        }
        guess.springs(limits)
    }

    /// The guess after a step.
    fn moved(&self, sums: &Sums, means: &[Parameters], pull: f64, damping: f64, share: f64) -> Self {
        let of = |(v, own): (usize, &Parameters)| {
            let sums = &sums.vertices[v];
            let mut normal = sums.normal;
            let mut right = sums.gradient;
            for i in 0..3 {
                normal[i][i] += (damping * sums.normal[i][i] + pull).max(f64::MIN_POSITIVE);
                right[i] += pull * (means[v][i] - own[i]);
            }
            let step = solve(normal, right);
            [0, 1, 2].map(|i| own[i] + step[i].clamp(-LARGEST_STEP, LARGEST_STEP))
        };
        let [normal, gradient] = sums.coupling;
        let step = if normal > 0.0 { share * COUPLING_SHARE * gradient / (normal * (1.0 + damping)) } else { 0.0 };
        Self {
            vertices: self.vertices.par_iter().enumerate().map(of).collect(),
            coupling: (self.coupling + step.clamp(-2.0 * LARGEST_STEP, 2.0 * LARGEST_STEP)).clamp(-7.0, STRONGEST.ln()),
        }
    }
}

/// The solution of three symmetric positive equations; zero where they say nothing.
fn solve(a: [[f64; 3]; 3], b: [f64; 3]) -> [f64; 3] {
    let [x, y, z] = a.map(DVec3::from_array);
    let matrix = dermis_rig::glam::DMat3::from_cols(x, y, z);
    let solved = matrix.inverse() * DVec3::from_array(b);
    if solved.is_finite() { solved.to_array() } else { [0.0; 3] }
}

/// How far every vertex may swing, metres.
fn limits(mesh: &Mesh, clips: &[&Shot<'_>]) -> Vec<f64> {
    let least = (LEAST_LIMIT * mesh.extent()).max(f64::MIN_POSITIVE);
    let largest = |v: usize| {
        let frames = clips.iter().flat_map(|shot| &shot.clip.offsets[shot.frames.clone()]);
        let all = frames.map(|frame| f64::from(frame[v].length()));
        (REACH * all.fold(0.0, f64::max)).max(least)
    };
    (0..mesh.positions.len()).into_par_iter().map(largest).collect()
}
