//! Takes as clips, evaluated by the library when they are asked for.

use super::affine;
use crate::contents::{Clip, ClipFrame, Flaw};
use crate::flaws::{Flaws, short};
use dermis_rig::WorldPose;
use dermis_rig::glam::DAffine3;
use std::sync::Arc;
use ufbx::{AnimStack, EvaluateOpts, SceneRoot};

/// An hour at 24 frames per second, as much as anything samples from a clip.
const MOST_FRAMES: f64 = 86_400.0;

/// Frames per second of the file.
pub(super) fn rate(scene: &SceneRoot) -> Option<f64> {
    Some(scene.settings.frames_per_second).filter(|rate| (1e-3..=1e4).contains(rate))
}

/// Every take over the bones (node and size) and the blend channels.
pub(super) fn read(
    scene: &Arc<SceneRoot>,
    world: &DAffine3,
    bones: Vec<(usize, DAffine3)>,
    channels: Vec<usize>,
    allowance: usize,
    flaws: &mut Flaws,
) -> Vec<Clip> {
    if bones.is_empty() && channels.is_empty() {
        if !scene.anim_stacks.is_empty() {
            flaws.unread(&format!("{} takes of nodes without skin or blend shapes", scene.anim_stacks.len()));
        }
        return Vec::new();
    }
    let rate = rate(scene).unwrap_or(24.0);
    let player = Arc::new(Player { scene: Arc::clone(scene), world: *world, bones, channels });
    let mut clips = Vec::new();
    let mut keys = 0usize;
    for (take, stack) in scene.anim_stacks.iter().enumerate() {
        let name = short(&stack.element.name);
        let (begin, end) = span(stack);
        // A thousandth of a frame: what the format's clock rounds away.
        let frames = ((end - begin) * rate + 1e-3).floor().max(0.0);
        keys = keys.saturating_add(frames as usize + 1);
        if !(begin.is_finite() && frames <= MOST_FRAMES && keys.saturating_mul(8) <= allowance) {
            flaws.add(Flaw::Unsupported, || format!("take \"{name}\" of {frames} frames"));
            continue;
        }
        let player = Arc::clone(&player);
        let duration = frames / rate;
        clips.push(Clip {
            name,
            duration,
            start: begin,
            key_times: (0..=frames as usize).map(|frame| frame as f64 / rate).collect(),
            sample: Box::new(move |time| player.sample(take, begin + time.clamp(0.0, duration))),
        });
    }
    clips
}

/// When a take begins and ends, seconds: as it says, or from its first key to its last if it says nothing.
fn span(stack: &AnimStack) -> (f64, f64) {
    if stack.time_end > stack.time_begin {
        return (stack.time_begin, stack.time_end);
    }
    let values = stack.layers.iter().flat_map(|layer| layer.anim_values.iter());
    let keys = values.flat_map(|value| value.curves.iter().flatten()).flat_map(|curve| curve.keyframes.iter());
    let (begin, end) = keys.fold((f64::INFINITY, f64::NEG_INFINITY), |(b, e), key| (b.min(key.time), e.max(key.time)));
    if begin <= end { (begin, end) } else { (stack.time_begin, stack.time_begin) }
}

struct Player {
    scene: Arc<SceneRoot>,
    world: DAffine3,
    bones: Vec<(usize, DAffine3)>,
    channels: Vec<usize>,
}

impl Player {
    fn sample(&self, take: usize, time: f64) -> ClipFrame {
        let anim = &self.scene.anim_stacks[take].anim;
        // Evaluation fails only where there is no memory left; the scene as it stands is shown then.
        let evaluated = ufbx::evaluate_scene(&self.scene, anim, time, EvaluateOpts::default()).ok();
        let scene: &ufbx::Scene = evaluated.as_deref().unwrap_or(&self.scene);
        let bone = |(node, size): &(usize, DAffine3)| self.world * affine(&scene.nodes[*node].node_to_world) * *size;
        ClipFrame {
            pose: WorldPose::new(self.bones.iter().map(bone).collect()),
            morph_weights: self.channels.iter().map(|&channel| scene.blend_channels[channel].weight).collect(),
        }
    }
}
