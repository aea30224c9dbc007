//! Takes as clips, evaluated by the library when they are asked for.

use super::affine;
use super::bones::{above, node_name};
use super::shapes::Shower;
use crate::contents::{Clip, ClipFrame, Flaw};
use crate::flaws::{Flaws, short};
use dermis_rig::WorldPose;
use dermis_rig::glam::DAffine3;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use ufbx::{AnimCurve, AnimProp, AnimStack, ElementType, EvaluateOpts, SceneRoot};

/// Names that a line lists at most.
const LISTED: usize = 3;

/// An hour at 24 frames per second, as much as anything samples from a clip.
pub(super) const MOST_FRAMES: f64 = 86_400.0;

/// Frames per second of the file.
pub(super) fn rate(scene: &SceneRoot) -> Option<f64> {
    Some(scene.settings.frames_per_second).filter(|rate| (1e-3..=1e4).contains(rate))
}

/// Numbers of the nodes that any take moves.
pub(super) fn moving_nodes(scene: &SceneRoot) -> HashSet<usize> {
    scene.anim_stacks.iter().flat_map(|stack| moved_nodes(stack)).collect()
}

/// Numbers of the nodes that a take moves.
pub(super) fn moved_nodes(stack: &AnimStack) -> HashSet<usize> {
    moving(stack).filter_map(moved_node).collect()
}

/// What changes in a take: properties with a curve that is not level.
fn moving(stack: &AnimStack) -> impl Iterator<Item = &AnimProp> {
    let changes = |curve: &AnimCurve| {
        let (low, high) = (curve.min_value, curve.max_value);
        // A millionth: what exporters that write a key per frame lose of a constant in 32 bits.
        high - low > 1e-6 * low.abs().max(high.abs()).max(1.0)
    };
    let props = stack.layers.iter().flat_map(|layer| layer.anim_props.iter());
    props.filter(move |prop| prop.anim_value.curves.iter().flatten().any(|curve| changes(curve)))
}

/// The node whose place the property is.
fn moved_node(prop: &AnimProp) -> Option<usize> {
    let is_place = matches!(&*prop.prop_name, "Lcl Translation" | "Lcl Rotation" | "Lcl Scaling");
    (is_place && prop.element.type_ == ElementType::Node).then_some(prop.element.typed_id as usize)
}

/// Names what takes change and nothing here reads: nodes that carry no bone, and other properties.
fn name_unread(scene: &SceneRoot, bones: &[(usize, DAffine3)], showers: &[Shower], flaws: &mut Flaws) {
    let mut read: HashSet<usize> = HashSet::new();
    for (node, _) in bones {
        // Nodes above a node that was met were met as well.
        above(scene, *node).take_while(|&at| read.insert(at)).for_each(drop);
    }
    let is_skinned = |node: usize| {
        let mesh = scene.nodes[node].mesh.as_ref();
        mesh.is_some_and(|mesh| !mesh.skin_deformers.is_empty()) // goes where its bones go
    };
    let channels: HashSet<usize> = showers.iter().map(|shower| shower.channel).collect();
    let names: HashSet<&str> = channels.iter().map(|&at| &*scene.blend_channels[at].element.name).collect();
    let (mut nodes, mut others) = (BTreeSet::new(), BTreeSet::new());
    for prop in scene.anim_stacks.iter().flat_map(|stack| moving(stack)) {
        let (element, at) = (&prop.element, prop.element.typed_id as usize);
        match moved_node(prop) {
            Some(node) if read.contains(&node) || is_skinned(node) => {}
            Some(node) => _ = nodes.insert(node),
            None if element.type_ == ElementType::BlendChannel && channels.contains(&at) => {}
            // One that goes with a channel of another mesh.
            None if element.type_ == ElementType::BlendChannel && names.contains(&*element.name) => {}
            // Some programs key the mesh's property of a channel's name as well.
            None if element.type_ == ElementType::Mesh && names.contains(&*prop.prop_name) => {}
            None => _ = others.insert((&*prop.prop_name, element.element_id)),
        }
    }
    let list = |names: Vec<String>| {
        let more = if names.len() > LISTED { ", …" } else { "" };
        let shown: Vec<String> = names.iter().take(LISTED).map(|name| format!("\"{name:.40}\"")).collect();
        shown.join(", ") + more
    };
    let (count, names) = (nodes.len(), nodes.iter().map(|&node| node_name(&scene.nodes[node])).collect());
    match count {
        0 => {}
        1 => flaws.unread(&format!("1 animated node outside the skeleton: {}", list(names))),
        _ => flaws.unread(&format!("{count} animated nodes outside the skeleton: {}", list(names))),
    }
    let of = |(prop, id): &(&str, u32)| format!("{prop} of {}", &*scene.elements[*id as usize].name);
    let (count, names) = (others.len(), others.iter().map(of).collect());
    match count {
        0 => {}
        1 => flaws.unread(&format!("1 animated property: {}", list(names))),
        _ => flaws.unread(&format!("{count} animated properties: {}", list(names))),
    }
}

/// Every take over the bones (node and size) and what shows the blend shapes.
///
/// - `recorded`: whether the contents have the first take as records
pub(super) fn read(
    scene: &Arc<SceneRoot>,
    world: &DAffine3,
    bones: Vec<(usize, DAffine3)>,
    showers: Vec<Shower>,
    (allowance, recorded): (usize, bool),
    flaws: &mut Flaws,
) -> Vec<Clip> {
    if bones.is_empty() && showers.is_empty() {
        let takes = scene.anim_stacks.len() - usize::from(recorded && !scene.anim_stacks.is_empty());
        if takes > 0 {
            flaws.unread(&format!("{takes} takes of nodes without skin or blend shapes"));
        }
        return Vec::new();
    }
    name_unread(scene, &bones, &showers, flaws);
    let rate = rate(scene).unwrap_or(24.0);
    let player = Arc::new(Player { scene: Arc::clone(scene), world: *world, bones, showers });
    let mut clips = Vec::new();
    let mut keys = 0usize;
    for (take, stack) in scene.anim_stacks.iter().enumerate() {
        let name = short(&stack.element.name);
        let (begin, frames) = frames(stack, rate);
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
            curves: None,
            key_times: (0..=frames as usize).map(|frame| frame as f64 / rate).collect(),
            sample: Box::new(move |time| player.sample(take, begin + time.clamp(0.0, duration))),
        });
    }
    clips
}

/// When a take begins, seconds, and the number of its last frame.
fn frames(stack: &AnimStack, rate: f64) -> (f64, f64) {
    let (begin, end) = span(stack);
    // A thousandth of a frame: what the format's clock rounds away.
    (begin, ((end - begin) * rate + 1e-3).floor().max(0.0))
}

/// The moments of the frames of a take, by the clock of the scene; `None` if they are too many.
pub(super) fn frame_times(stack: &AnimStack, rate: f64) -> Option<impl Iterator<Item = f64>> {
    let (begin, frames) = frames(stack, rate);
    let fits = begin.is_finite() && frames <= MOST_FRAMES;
    fits.then(|| (0..=frames as usize).map(move |frame| begin + frame as f64 / rate))
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
    showers: Vec<Shower>,
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
            morph_weights: self.showers.iter().map(|shower| shower.weight(scene)).collect(),
        }
    }
}
