//! When feet and hands of the source stand: low and slow, against a ground that may move.
//!
//! Lengths go by L, the length of the source's legs. The end of a limb touches the ground in a frame if it is less than [`LOW`] · L above the lowest
//! twentieth of its frames, which itself is at most [`NEAR_GROUND`] · L above the lowest of all limbs, and slower than [`SLOW`] · L a second.
//!
//! A clip that walks on the spot has its feet slide backwards at the speed of the walk. The ground then moves: its velocity u is the one that most low
//! samples share, if two fifths of them do, and zero if it is slower than [`SLOW`] · L a second. Speeds are measured against it. Where the samples share
//! no velocity, as in drawn walks on the spot, the ground is unsteady: an end that is low then touches it if it neither rises nor falls faster than that.

use super::transfer::SourcePose;
use dermis_rig::glam::DVec3;

/// Heights of a touch, in leg lengths. A toe that stands moves by 0.01 (a walk from capture); in mid-swing it clears the ground by 0.08.
const LOW: f64 = 0.05;
/// Leg lengths per second. A toe that stands drifts by 0.1 at most (a walk at 24 frames per second); one that swings is above 1.
const SLOW: f64 = 0.4;
/// Leg lengths. Hands that hang come down to 0.7; the paws of one animal differ by 0.1.
const NEAR_GROUND: f64 = 0.25;
/// Frames of the shortest contact.
const LEAST_FRAMES: usize = 2;
/// Samples that are compared with each other for the velocity of the ground.
const MOST_SAMPLES: usize = 2000;

/// An interval in which a limb stands: frames `from` to `to`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stance {
    /// Number of the limb, as they were handed in.
    pub limb: usize,
    pub from: usize,
    pub to: usize,
}

pub(super) struct Stances {
    pub list: Vec<Stance>,
    /// Velocity of the ground, metres per second in the source's world; horizontal. `None` if it is unsteady.
    pub ground: Option<DVec3>,
}

/// Finds the stances of the bones `ends` of the source.
///
/// - `times`: seconds, ascending
/// - `is_foot`: of every end; the ground's velocity is that of feet
/// - `leg`: L, metres
pub(super) fn find(poses: &[SourcePose], times: &[f64], ends: &[usize], is_foot: &[bool], leg: f64) -> Stances {
    let tracks: Vec<Track> = ends.iter().map(|end| Track::new(poses, times, *end, leg)).collect();
    let lowest = tracks.iter().map(|track| track.floor).fold(f64::INFINITY, f64::min);
    let feet = tracks.iter().zip(is_foot).filter(|(_, is_foot)| **is_foot).map(|(track, _)| track);
    let ground = ground_velocity(feet, leg);
    let mut list = Vec::new();
    for (limb, track) in tracks.iter().enumerate() {
        if track.floor > lowest + NEAR_GROUND * leg {
            continue;
        }
        let speed = |velocity: DVec3| ground.map_or(velocity.y.abs(), |ground| (velocity - ground).length());
        let stands = |frame: &usize| track.is_low[*frame] && speed(track.velocity[*frame]) < SLOW * leg;
        let mut from = None;
        for frame in 0..=poses.len() {
            match (from, frame < poses.len() && stands(&frame)) {
                (None, true) => from = Some(frame),
                (Some(start), false) => {
                    if frame - start >= LEAST_FRAMES {
                        list.push(Stance { limb, from: start, to: frame - 1 });
                    }
                    from = None;
                }
                _ => {}
            }
        }
    }
    Stances { list, ground }
}

/// One end over time.
struct Track {
    is_low: Vec<bool>,
    velocity: Vec<DVec3>,
    /// The height that a twentieth of the frames stays below.
    floor: f64,
}

impl Track {
    fn new(poses: &[SourcePose], times: &[f64], end: usize, leg: f64) -> Self {
        let place = |frame: usize| poses[frame].heads[end];
        let count = poses.len();
        let velocity = |frame: usize| {
            let (a, b) = (frame.saturating_sub(1), (frame + 1).min(count - 1));
            let span = times[b] - times[a];
            if span > 0.0 { (place(b) - place(a)) / span } else { DVec3::ZERO }
        };
        let mut heights: Vec<f64> = (0..count).map(|frame| place(frame).y).collect();
        heights.sort_by(f64::total_cmp);
        let floor = heights.get(count / 20).copied().unwrap_or(0.0);
        let is_low = |frame: usize| place(frame).y <= floor + LOW * leg;
        Self { is_low: (0..count).map(is_low).collect(), velocity: (0..count).map(velocity).collect(), floor }
    }
}

fn ground_velocity<'a>(feet: impl Iterator<Item = &'a Track>, leg: f64) -> Option<DVec3> {
    let low: Vec<DVec3> = feet
        .flat_map(|track| track.velocity.iter().zip(&track.is_low))
        .filter(|(_, is_low)| **is_low)
        .map(|(velocity, _)| DVec3::new(velocity.x, 0.0, velocity.z))
        .collect();
    let stride = low.len().div_ceil(MOST_SAMPLES).max(1);
    let samples: Vec<DVec3> = low.into_iter().step_by(stride).collect();
    let near = |a: DVec3, radius: f64| samples.iter().filter(move |b| b.distance(a) < radius * leg).copied();
    let mut best = (0, DVec3::ZERO);
    for &sample in &samples {
        let count = near(sample, 0.25 * SLOW).count();
        if count > best.0 {
            best = (count, sample);
        }
    }
    if 5 * near(best.1, SLOW).count() < 2 * samples.len() {
        return None;
    }
    // The mean of a stance's samples, not of the steps at its ends, which are as fast on the way to a swing.
    let mut mean = best.1;
    for _ in 0..8 {
        let (sum, count) = near(mean, 0.25 * SLOW).fold((DVec3::ZERO, 0.0), |(sum, count), v| (sum + v, count + 1.0));
        mean = if count > 0.0 { sum / count } else { mean };
    }
    Some(if mean.length() < SLOW * leg { DVec3::ZERO } else { mean })
}
