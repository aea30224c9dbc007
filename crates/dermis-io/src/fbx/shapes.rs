//! Blend shapes: what a channel's shape displaces at 100 percent.

use crate::contents::Flaw;
use crate::flaws::{Flaws, short};
use dermis_rig::glam::DVec3;
use ufbx::{BlendChannel, Element, Exporter};

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
