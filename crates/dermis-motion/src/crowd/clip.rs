//! A clip of a crowd: played in cycles, from any time on, with the way over the ground known apart from the pose.

use super::CrowdError;
use crate::controls::Value;
use crate::curve::Beyond;
use crate::layer::{Layer, Mix, RootMotion, Track, ground, moving, powered};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, BoneVec, Frame, Motion, Skeleton, WorldPose};
use std::sync::Arc;

/// A clip that every instance may play from a time of its own, over and over.
///
/// Between frames, bones turn by slerp. If the last frame is not the first again, the cycle is closed by one more step, of the mean
/// length of the others, in which the character goes on as it did in the last.
#[derive(Clone, Debug)]
pub struct CrowdClip {
    name: String,
    track: Track,
    parents: BoneVec<Option<BoneIndex>>,
    times: Vec<f64>,
    /// Channels per frame.
    channels: Vec<Vec<(Arc<str>, f64)>>,
    root: Option<BoneIndex>,
    /// The root in the first frame.
    first: DAffine3,
    cycle: DAffine3,
    seam: f64,
    step: f64,
}

impl CrowdClip {
    /// A clip of poses of `skeleton`.
    ///
    /// # Errors
    /// [`CrowdError::Clip`]: no frames, frames without ascending times, matrices that are not finite or singular.
    pub fn new(motion: &Motion, skeleton: &Skeleton) -> Result<Self, CrowdError> {
        let fault = |reason: String| CrowdError::Clip { clip: motion.name.clone(), reason };
        let mut motion = motion.clone();
        for frame in &motion.frames {
            if frame.pose.bones.len() != skeleton.len() {
                let (found, expected) = (frame.pose.bones.len(), skeleton.len());
                return Err(fault(format!("\"{}\" has {found} bones, and the skeleton {expected}", frame.label)));
            }
            if frame.pose.bones.iter().any(|bone| !bone.is_finite()) {
                return Err(fault(format!("a matrix of \"{}\" is not finite", frame.label)));
            }
            let channel = frame.pose.channels.iter().find(|(_, value)| !value.is_finite());
            if let Some((name, _)) = channel {
                return Err(fault(format!("the channel \"{name}\" of \"{}\" is not finite", frame.label)));
            }
        }
        if motion.frames.is_empty() {
            return Err(fault("it has no frames".into()));
        }
        let times: Option<Vec<f64>> = motion.frames.iter().map(|frame| frame.time).collect();
        let times = times.ok_or_else(|| fault("its frames have no times".into()))?;
        if times.iter().any(|t| !t.is_finite()) || times.windows(2).any(|two| two[1] <= two[0]) {
            return Err(fault("its times do not ascend".into()));
        }
        let root = moving(&motion, skeleton);
        let first = root.map_or(DAffine3::IDENTITY, |root| motion.frames[0].pose.bones[root]);
        let way = |frame: &Frame| way_of(root, &frame.pose.bones, &first);
        let close = |a: &Frame, b: &Frame| apart(a, &way(a), b, &way(b));
        let mut step = 0.0;
        for two in motion.frames.windows(2) {
            step += close(&two[0], &two[1]) / (motion.frames.len() - 1) as f64;
        }
        let mut times = times;
        let (begin, end) = (motion.frames[0].clone(), motion.frames[motion.frames.len() - 1].clone());
        let seam = close(&end, &begin);
        // A cycle that is closed is off by rounding; one that lacks its last frame, by a whole step.
        if motion.frames.len() > 1 && seam > 0.5 * step {
            let (ways, count) = ([&motion.frames[motion.frames.len() - 2], &end].map(way), times.len());
            let next = ways[1] * ways[0].inverse() * ways[1] * way(&begin).inverse();
            let time = times[count - 1] + (times[count - 1] - times[0]) / (count - 1) as f64;
            let bones = begin.pose.bones.iter().map(|bone| next * *bone).collect();
            let pose = WorldPose { channels: begin.pose.channels.clone(), ..WorldPose::new(bones) };
            motion.frames.push(Frame { label: begin.label, time: Some(time), pose });
            times.push(time);
        }
        let track = Track::new(&layer(), &motion, skeleton).map_err(fault)?;
        let last = &motion.frames[motion.frames.len() - 1];
        let cycle = way_of(root, &last.pose.bones, &first);
        Ok(Self {
            name: motion.name.clone(),
            track,
            parents: skeleton.parents().clone(),
            channels: motion.frames.iter().map(|frame| frame.pose.channels.clone()).collect(),
            times,
            root,
            first,
            cycle,
            seam,
            step,
        })
    }

    /// What the clip is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Seconds of a cycle; zero of a single pose.
    pub fn period(&self) -> f64 {
        self.times[self.times.len() - 1] - self.times[0]
    }

    /// How far the farthest joint is in the first pose from where it is in the last frame, and how far it goes from frame to frame on
    /// average; metres, apart from the way over the ground. A seam of many steps shows as a jump once a cycle.
    pub fn seam(&self) -> (f64, f64) {
        (self.seam, self.step)
    }

    /// The way of one cycle over the ground: a turn about the vertical and a horizontal move.
    pub fn cycle(&self) -> DAffine3 {
        self.cycle
    }

    /// The way of so many cycles.
    pub(super) fn cycles(&self, count: f64) -> DAffine3 {
        powered(&self.cycle, count)
    }

    /// The time within the cycle, seconds from the first frame, and whole cycles gone by.
    pub fn within(&self, time: f64) -> (f64, f64) {
        let period = self.period();
        if period <= 0.0 {
            return (0.0, 0.0);
        }
        let cycles = (time / period).floor();
        ((time - cycles * period).clamp(0.0, period), cycles)
    }

    /// Where the root stands on the ground in the first frame.
    pub(super) fn origin(&self) -> DVec3 {
        DVec3::new(self.first.translation.x, 0.0, self.first.translation.z)
    }

    /// The time of the clip's file that is `phase` seconds after its first frame.
    pub fn clip_time(&self, phase: f64) -> f64 {
        self.times[0] + phase
    }

    /// The pose `phase` seconds after the first frame, as the clip has it: with the way that it has gone by then.
    pub fn pose(&self, phase: f64) -> WorldPose {
        let time = self.clip_time(phase);
        let local = self.track.pose(time);
        let mut bones: Vec<DAffine3> = Vec::with_capacity(local.len());
        for (bone, part) in local.enumerate() {
            let own = part.affine();
            bones.push(self.parents[bone].map_or(own, |parent| bones[parent.get()] * own));
        }
        let after = self.times.partition_point(|t| *t <= time).min(self.times.len() - 1);
        let from = after.saturating_sub(1);
        let span = self.times[after] - self.times[from];
        let s = if span > 0.0 { ((time - self.times[from]) / span).clamp(0.0, 1.0) } else { 0.0 };
        let of = |frame: usize, name: &Arc<str>| {
            self.channels[frame].iter().find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value)
        };
        let channels = self.channels[from]
            .iter()
            .map(|(name, value)| (name.clone(), value + s * (of(after, name) - value)))
            .collect();
        WorldPose { channels, ..WorldPose::new(bones) }
    }

    /// The way over the ground that is gone in a pose of the clip, from the first frame on.
    pub fn way(&self, pose: &WorldPose) -> DAffine3 {
        way_of(self.root, &pose.bones, &self.first)
    }

    /// Where the root is above the ground, in a pose of the clip.
    pub(super) fn stand(&self, pose: &WorldPose) -> DVec3 {
        self.root.map_or(DVec3::ZERO, |root| pose.bones[root].translation) * DVec3::new(1.0, 0.0, 1.0)
    }
}

/// All of a clip, as it is.
fn layer() -> Layer {
    Layer {
        clip: 0,
        cut: None,
        start: 0.0,
        speed: 1.0,
        time: None,
        beyond: [Beyond::Hold; 2],
        weight: Value::Number(1.0),
        mix: Mix::Over,
        bones: vec![],
        below: false,
        root_motion: RootMotion::Keep,
        root: None,
    }
}

fn way_of(root: Option<BoneIndex>, bones: &BoneVec<DAffine3>, first: &DAffine3) -> DAffine3 {
    root.map_or(DAffine3::IDENTITY, |root| ground(&bones[root], first) * ground(first, first).inverse())
}

/// The largest distance of a joint from where it is in another pose, each with its way taken back.
fn apart(a: &Frame, way_a: &DAffine3, b: &Frame, way_b: &DAffine3) -> f64 {
    let (a_back, b_back) = (invert(way_a).unwrap_or(DAffine3::IDENTITY), invert(way_b).unwrap_or(DAffine3::IDENTITY));
    let joint = |m: &DAffine3, back: &DAffine3| back.transform_point3(m.translation);
    (a.pose.bones.iter().zip(b.pose.bones.iter()))
        .map(|(a, b)| joint(a, &a_back).distance(joint(b, &b_back)))
        .fold(0.0, f64::max)
}
