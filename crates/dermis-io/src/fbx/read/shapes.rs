//! Blend shapes: what the shapes of a channel displace, and how far each is shown.
//!
//! A channel of several shapes passes through them as its percentage grows ([`between`]). ufbx says how far each shape is shown.

use crate::between::{self, SAME_KNOT};
use crate::contents::Flaw;
use crate::flaws::{Flaws, short};
use dermis_rig::glam::DVec3;
use std::collections::{HashMap, HashSet};
use ufbx::{AnimValue, BlendChannel, BlendShape, Element, ElementType, Exporter, SceneRoot};

/// Channels of several meshes that are one shape: they have one name and are always shown alike. A format without shapes that span meshes
/// writes such a shape so.
pub(super) struct Alike<'a> {
    /// What moves each channel, by its number among all elements: with the number of the layer.
    moved: HashMap<u32, Vec<(usize, &'a AnimValue)>>,
    /// The first channel of each name, and its target.
    first: HashMap<String, (&'a BlendChannel, usize)>,
    /// Targets of the mesh.
    taken: HashSet<usize>,
}

impl<'a> Alike<'a> {
    pub(super) fn new(scene: &'a SceneRoot) -> Self {
        let mut moved: HashMap<u32, Vec<(usize, &'a AnimValue)>> = HashMap::new();
        for (number, layer) in scene.anim_layers.iter().enumerate() {
            for prop in layer.anim_props.iter().filter(|prop| prop.element.type_ == ElementType::BlendChannel) {
                moved.entry(prop.element.element_id).or_default().push((number, &prop.anim_value));
            }
        }
        Self { moved, first: HashMap::new(), taken: HashSet::new() }
    }

    /// The channels that follow are those of another mesh.
    pub(super) fn next_mesh(&mut self) {
        self.taken.clear();
    }

    /// The first of the targets that a channel is part of; `None` if they are new ones, from the number `next` on.
    pub(super) fn target(&mut self, channel: &'a BlendChannel, next: usize) -> Option<usize> {
        let name = channel.element.name.to_string();
        let known = self.first.get(&name).filter(|(first, target)| {
            let alike = first.weight == channel.weight && same_knots(first, channel);
            !self.taken.contains(target) && alike && self.move_alike(first, channel)
        });
        let known = known.map(|(_, target)| *target);
        self.taken.insert(known.unwrap_or(next));
        self.first.entry(name).or_insert((channel, next));
        known
    }

    fn move_alike(&self, a: &BlendChannel, b: &BlendChannel) -> bool {
        let of = |channel: &BlendChannel| self.moved.get(&channel.element.element_id).map_or(&[][..], Vec::as_slice);
        let (a, b) = (of(a), of(b));
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && same_keys(a.1, b.1))
    }
}

/// Whether two properties have the same keys.
fn same_keys(a: &AnimValue, b: &AnimValue) -> bool {
    let (a, b) = (a.curves[0].as_ref(), b.curves[0].as_ref());
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    a.keyframes.len() == b.keyframes.len()
        && a.keyframes.iter().zip(b.keyframes.iter()).all(|(a, b)| {
            let slopes = |key: &ufbx::Keyframe| [key.left.dx, key.left.dy, key.right.dx, key.right.dy];
            (a.time, a.value, a.interpolation) == (b.time, b.value, b.interpolation) && slopes(a) == slopes(b)
        })
}

/// What shows a morph target.
#[derive(Clone, Copy)]
pub(super) struct Shower {
    /// The channel, by its number in the scene.
    pub channel: usize,
    /// The shape in the channel; `None` if the channel's percentage says it all.
    shape: Option<usize>,
}

impl Shower {
    pub fn weight(self, scene: &ufbx::Scene) -> f64 {
        let channel = &scene.blend_channels[self.channel];
        self.shape.map_or(channel.weight, |shape| channel.keyframes[shape].effective_weight)
    }
}

/// A shape of a channel.
pub(super) struct Shape<'a> {
    pub shower: Shower,
    pub name: String,
    shape: &'a BlendShape,
    part: Part<'a>,
}

/// What a weight of 1 shows of the offsets of a shape.
enum Part<'a> {
    All(f64),
    PerVertex(&'a [f64]),
}

impl Shape<'_> {
    /// Vertices that the shape displaces and how far at a weight of 1, in the mesh's own space.
    pub fn offsets(&self) -> impl Iterator<Item = (u32, DVec3)> {
        let displaced = self.shape.offset_vertices.iter().zip(self.shape.position_offsets.iter());
        displaced.enumerate().map(|(at, (vertex, d))| {
            let part = match self.part {
                Part::All(part) => part,
                Part::PerVertex(percents) => percents[at] / 100.0,
            };
            (*vertex, DVec3::new(d.x, d.y, d.z) * part)
        })
    }
}

/// The shapes of a channel; none for a channel without one.
///
/// Of several shapes, the one with the largest percentage keeps the name of the channel, and the others have their percentage behind it.
/// Where percentages do not tell shapes apart, the last shape alone is read.
///
/// `FullWeights` has a percentage per shape: the one at which the shape is shown whole. Blender writes one per vertex of its
/// only shape instead, ascending by vertex: the part of the displacement that a vertex group lets through.
pub(super) fn shapes<'a>(channel: &'a BlendChannel, exporter: Exporter, flaws: &mut Flaws) -> Vec<Shape<'a>> {
    let name = short(&channel.element.name);
    let Some(last) = channel.keyframes.last() else { return Vec::new() };
    let id = channel.element.typed_id as usize;
    let alone = |part| {
        vec![Shape { shower: Shower { channel: id, shape: None }, name: name.clone(), shape: &last.shape, part }]
    };
    let (count, percents) = (channel.keyframes.len(), full_weights(&channel.element));
    // One percentage of one shape of one vertex means either, and is the vertex's in Blender's files.
    let is_per_vertex = count == 1
        && percents.len() == last.shape.offset_vertices.len()
        && (percents.len() > 1 || exporter == Exporter::BlenderBinary);
    if is_per_vertex {
        return alone(Part::PerVertex(percents));
    }
    if !percents.is_empty() && percents.len() != count {
        flaws.add(Flaw::CountMismatch, || format!("{} full weights of {count} shapes of \"{name}\"", percents.len()));
    }
    if count > 1 && are_knots(channel) {
        let size = |shape: &usize| channel.keyframes[*shape].target_weight.abs();
        let main = (0..count).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(0);
        let shape = |(shape, key): (usize, &'a ufbx::BlendKeyframe)| {
            let mut name = name.clone();
            if shape != main {
                name = between::name(&name, key.target_weight);
                flaws.add(Flaw::Between, || format!("\"{name}\""));
            }
            let shower = Shower { channel: id, shape: Some(shape) };
            Shape { shower, name, shape: &key.shape, part: Part::All(1.0) }
        };
        return channel.keyframes.iter().enumerate().map(shape).collect();
    }
    if count > 1 {
        let what = || format!("{} shapes of \"{name}\", whose percentages do not differ", count - 1);
        flaws.many(Flaw::Unsupported, count - 1, what);
    }
    let whole = match last.target_weight {
        at if at.is_finite() && at != 0.0 => at,
        at => {
            flaws.add(Flaw::Unsupported, || format!("shape of \"{name}\" at {} percent", 100.0 * at));
            1.0
        }
    };
    alone(Part::All(1.0 / whole))
}

/// Whether the percentages of the shapes are knots: they ascend, and none of them is zero.
fn are_knots(channel: &BlendChannel) -> bool {
    let at = |key: &ufbx::BlendKeyframe| key.target_weight;
    channel.keyframes.iter().all(|key| at(key).is_finite() && at(key).abs() > SAME_KNOT)
        && channel.keyframes.windows(2).all(|two| at(&two[1]) - at(&two[0]) > SAME_KNOT)
}

/// Whether the shapes of two channels are shown alike at every percentage.
fn same_knots(a: &BlendChannel, b: &BlendChannel) -> bool {
    let (a, b) = (&a.keyframes, &b.keyframes);
    a.len() == b.len() && (a.len() == 1 || a.iter().zip(b.iter()).all(|(a, b)| a.target_weight == b.target_weight))
}

/// The numbers of `FullWeights` as the file has them.
fn full_weights(channel: &Element) -> &[f64] {
    let node = channel.dom_node.as_ref().and_then(|node| ufbx::dom_find(node, "FullWeights"));
    node.map_or(&[], |node| ufbx::dom_as_real_list(node))
}
