//! What training lacks for a motion, region by region.

use super::kernels::{Features, square};
use super::unknown::Unknown;
use super::{NEW, Study, thinned};
use dermis_deform::training::degrees;
use rayon::prelude::*;

/// Regions with a smaller part of the expected error are left out.
const LEAST_SHARE: f64 = 0.05;
/// The most regions that are named.
const REGIONS: usize = 5;
/// The most frames and joints that are named for a region, and the most pairs.
const NAMED: usize = 3;
const PAIRS: usize = 2;
/// Joints and pairs that matter less than this part of what the region's own joint does are left out.
const LEAST_RELEVANCE: f64 = 0.1;

/// What training lacks for a motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Regions of the skin, the one with the largest part of the expected error first.
    pub regions: Vec<Region>,
    /// Frames of the motion that were looked at.
    pub frames: usize,
    /// Share of the motion's expected squared correction that training does not determine.
    pub unknown: f64,
}

/// The skin that one joint moves most.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// The joint's bone.
    pub joint: String,
    /// Part of the motion's expected squared error that lies here.
    pub share: f64,
    /// Joints that the motion takes [`NEW`] degrees or more away from any training pose.
    pub amplitudes: Vec<Amplitude>,
    /// Pairs of joints that training knows one by one and not together.
    pub pairs: Vec<Pair>,
    /// The frames that teach most about this skin, best first.
    pub sculpt: Vec<Sculpt>,
}

/// A joint that the motion takes where training never was.
#[derive(Clone, Debug, PartialEq)]
pub struct Amplitude {
    /// Its bone.
    pub joint: String,
    /// The farthest frame's angle from the nearest training pose, degrees.
    pub beyond: f64,
    /// The largest angle from the bind pose in the motion, degrees.
    pub reached: f64,
    /// The largest angle from the bind pose in training, degrees.
    pub trained: f64,
    /// Frames that are [`NEW`] degrees or more away.
    pub frames: usize,
}

/// Two joints that no training pose has where a frame has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Their bones.
    pub joints: [String; 2],
    /// The larger of both angles to the training pose that is nearest in this sense, in the farthest frame, degrees.
    pub beyond: f64,
    /// Frames in which each is within [`NEW`] degrees of a training pose, but not both of the same one.
    pub frames: usize,
}

/// A frame to sculpt for a region.
#[derive(Clone, Debug, PartialEq)]
pub struct Sculpt {
    /// Its number in the motion, from zero.
    pub frame: usize,
    /// Its label.
    pub label: String,
    /// Expected rms error of the region over the motion once it and those before it are known, over that before any.
    pub left: f64,
}

impl Study<'_> {
    /// Says which joints and pairs of joints training lacks for the motion, by region of the skin, and what its frames are expected
    /// to gain there.
    ///
    /// A place of the skin belongs to the joint of largest b there. What is unknown in a region, and what a frame takes from it, are
    /// the sums of [`suggest`](Self::suggest) over its places alone. The expected gain counts joints one by one, as the prior does: a
    /// pair that is new together is named, but adds nothing to it.
    pub fn advise(&self) -> Advice {
        let prior: f64 = self.unknown.iter().map(|u| u.prior).sum();
        let whole: f64 = self.unknown.iter().map(Unknown::total).sum();
        let mut regions: Vec<(usize, f64, Vec<usize>)> =
            (0..self.skin.names.len()).map(|j| (j, 0.0, Vec::new())).collect();
        for (at, place) in self.places.iter().enumerate() {
            // The first of equals.
            let Some(&(joint, _)) = place.joints.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
            regions[joint].1 += self.unknown[at].total() / whole.max(f64::MIN_POSITIVE);
            regions[joint].2.push(at);
        }
        regions.retain(|(_, share, _)| *share >= LEAST_SHARE);
        regions.sort_by(|a, b| b.1.total_cmp(&a.1));
        regions.truncate(REGIONS);
        let told = regions.into_iter().map(|(joint, share, places)| Region {
            joint: self.skin.names[joint].clone(),
            share,
            amplitudes: self.amplitudes(&places, joint),
            pairs: self.pairs(&places, joint),
            sculpt: self.sculpt(&places),
        });
        let regions = if whole > 1e-6 * prior { told.collect() } else { Vec::new() };
        Advice { regions, frames: self.frames, unknown: if prior > 0.0 { whole / prior } else { 0.0 } }
    }

    /// How much two joints matter together at some places: the smaller b, or b itself of one joint, summed.
    fn relevance(&self, places: &[usize], [j, k]: [usize; 2]) -> f64 {
        let b =
            |at: usize, joint: usize| self.places[at].joints.iter().find(|row| row.0 == joint).map_or(0.0, |row| row.1);
        places.iter().map(|&at| b(at, j).min(b(at, k))).sum()
    }

    fn training(&self) -> &[Features] {
        &self.features[..self.trained]
    }

    fn motion(&self) -> &[Features] {
        &self.features[self.trained..self.trained + self.frames]
    }

    /// Joints that matter at some places at least a tenth as much as `main`, with how much.
    fn relevant(&self, places: &[usize], main: usize) -> Vec<(usize, f64)> {
        let least = LEAST_RELEVANCE * self.relevance(places, [main, main]);
        let all = (0..self.skin.names.len()).map(|j| (j, self.relevance(places, [j, j])));
        all.filter(|&(_, relevance)| relevance > 0.0 && relevance >= least).collect()
    }

    fn amplitudes(&self, places: &[usize], main: usize) -> Vec<Amplitude> {
        let rest = [0.0; 12];
        let largest = |poses: &[Features], j: usize| {
            degrees(poses.iter().map(|x| square(&x[j], &rest)).fold(0.0, f64::max).sqrt())
        };
        let of_joint = |(j, relevance): (usize, f64)| {
            let far: Vec<f64> =
                self.motion().iter().map(|x| nearest(self.training(), |y| square(&x[j], &y[j]))).collect();
            let frames = far.iter().filter(|&&d| d >= NEW).count();
            let beyond = far.iter().copied().fold(0.0, f64::max);
            let found = Amplitude {
                joint: self.skin.names[j].clone(),
                beyond,
                reached: largest(self.motion(), j),
                trained: largest(self.training(), j),
                frames,
            };
            (frames > 0).then_some((relevance * beyond * frames as f64, found))
        };
        first(NAMED, self.relevant(places, main).into_iter().filter_map(of_joint).collect())
    }

    fn pairs(&self, places: &[usize], main: usize) -> Vec<Pair> {
        let joints: Vec<usize> = self.relevant(places, main).into_iter().map(|(j, _)| j).collect();
        let least = LEAST_RELEVANCE * self.relevance(places, [main, main]);
        let alone = |j: usize| -> Vec<f64> {
            self.motion().iter().map(|x| nearest(self.training(), |y| square(&x[j], &y[j]))).collect()
        };
        let alone: Vec<Vec<f64>> = joints.par_iter().map(|&j| alone(j)).collect();
        let both: Vec<(usize, usize)> =
            (0..joints.len()).flat_map(|a| (a + 1..joints.len()).map(move |b| (a, b))).collect();
        let of_pair = |&(a, b): &(usize, usize)| {
            let (j, k) = (joints[a], joints[b]);
            let relevance = self.relevance(places, [j, k]);
            if relevance < least {
                return None;
            }
            let far = self
                .motion()
                .iter()
                .enumerate()
                .filter(|&(f, _)| alone[a][f] < NEW && alone[b][f] < NEW)
                .map(|(_, x)| nearest(self.training(), |y| square(&x[j], &y[j]).max(square(&x[k], &y[k]))));
            let far: Vec<f64> = far.filter(|&d| d >= NEW).collect();
            let beyond = far.iter().copied().fold(0.0, f64::max);
            let pair = Pair { joints: [j, k].map(|j| self.skin.names[j].clone()), beyond, frames: far.len() };
            (!far.is_empty()).then_some((relevance * beyond * far.len() as f64, pair))
        };
        first(PAIRS, both.par_iter().filter_map(of_pair).collect())
    }

    /// The frames that take most from what is unknown at some places, one after another.
    fn sculpt(&self, places: &[usize]) -> Vec<Sculpt> {
        let frames = thinned(self.motion);
        let mut unknown: Vec<Unknown> = places.iter().map(|&at| self.unknown[at].clone()).collect();
        let before: f64 = unknown.iter().map(Unknown::total).sum();
        let (mut left, mut list) = (before, Vec::<Sculpt>::new());
        while list.len() < NAMED.min(frames.len()) {
            let gains: Vec<Vec<f64>> = unknown.par_iter().map(Unknown::gains).collect();
            let gain = |c: usize| gains.iter().map(|g| g[c]).sum::<f64>();
            let all: Vec<f64> = (0..frames.len()).map(gain).collect();
            let best = (0..all.len()).fold(0, |best, c| if all[c] > all[best] { c } else { best });
            if all[best] <= 1e-3 * before {
                break;
            }
            unknown.par_iter_mut().for_each(|u| u.learn(best));
            left = (left - all[best]).max(0.0);
            let number = frames[best];
            let label = self.motion.frames[number].label.clone();
            list.push(Sculpt { frame: number, label, left: (left / before).sqrt() });
        }
        list
    }
}

/// The `most` of largest score, the largest first.
fn first<T>(most: usize, mut scored: Vec<(f64, T)>) -> Vec<T> {
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(most).map(|(_, found)| found).collect()
}

/// Degrees to the nearest of some poses, by a squared distance of features.
fn nearest(poses: &[Features], distance: impl Fn(&Features) -> f64) -> f64 {
    degrees(poses.iter().map(distance).fold(f64::INFINITY, f64::min).sqrt())
}
