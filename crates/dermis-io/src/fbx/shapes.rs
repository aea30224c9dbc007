//! Blend shapes: what a channel's shape displaces at 100 percent.

use crate::contents::Flaw;
use crate::flaws::{Flaws, short};
use dermis_rig::glam::DVec3;
use std::collections::{HashMap, HashSet};
use ufbx::{AnimValue, BlendChannel, Element, ElementType, Exporter, SceneRoot};

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

    /// The target that a channel is part of; `None` if it is a new one, whose number is `next`.
    pub(super) fn target(&mut self, channel: &'a BlendChannel, next: usize) -> Option<usize> {
        let name = channel.element.name.to_string();
        let known = self.first.get(&name).filter(|(first, target)| {
            !self.taken.contains(target) && first.weight == channel.weight && self.move_alike(first, channel)
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

/// Vertices that the shape of `channel` displaces and how far at 100 percent, in the mesh's own space; `None` for a channel
/// without a shape. Of several shapes, which are shapes in between, the one with the largest percentage is taken.
///
/// `FullWeights` has a percentage per shape: the one at which the shape is shown whole. Blender writes one per vertex of its
/// only shape instead, ascending by vertex: the part of the displacement that a vertex group lets through.
pub(super) fn offsets(channel: &BlendChannel, exporter: Exporter, flaws: &mut Flaws) -> Option<Vec<(u32, DVec3)>> {
    let name = || format!("\"{}\"", short(&channel.element.name));
    let key = channel.keyframes.last()?;
    let shape = &key.shape;
    let offsets =
        (shape.offset_vertices.iter().copied()).zip(shape.position_offsets.iter().map(|d| DVec3::new(d.x, d.y, d.z)));
    let (shapes, percents) = (channel.keyframes.len(), full_weights(&channel.element));
    // One percentage of one shape of one vertex means either, and is the vertex's in Blender's files.
    let is_per_vertex = shapes == 1
        && percents.len() == shape.offset_vertices.len()
        && (percents.len() > 1 || exporter == Exporter::BlenderBinary);
    if is_per_vertex {
        return Some(offsets.zip(percents).map(|((vertex, d), percent)| (vertex, d * (percent / 100.0))).collect());
    }
    if shapes > 1 {
        flaws.add(Flaw::Unsupported, || format!("shapes in between of {}", name()));
    }
    if !percents.is_empty() && percents.len() != shapes {
        flaws.add(Flaw::CountMismatch, || format!("{} full weights of {shapes} shapes of {}", percents.len(), name()));
    }
    let whole = match key.target_weight {
        at if at.is_finite() && at != 0.0 => at,
        at => {
            flaws.add(Flaw::Unsupported, || format!("shape of {} at {} percent", name(), 100.0 * at));
            1.0
        }
    };
    Some(offsets.map(|(vertex, d)| (vertex, d / whole)).collect())
}

/// The numbers of `FullWeights` as the file has them.
fn full_weights(channel: &Element) -> &[f64] {
    let node = channel.dom_node.as_ref().and_then(|node| ufbx::dom_find(node, "FullWeights"));
    node.map_or(&[], |node| ufbx::dom_as_real_list(node))
}
