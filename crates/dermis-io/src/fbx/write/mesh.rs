//! The mesh of each object: vertices, polygons, and what hangs on their corners.

use super::document::Node;
use super::names::uv_set;
use super::smoothing;
use crate::WriteError;
use crate::skinned_scene::{Materials, Surface, numbered};
use dermis_rig::glam::DAffine3;
use std::ops::Range;

/// The geometry of an object, and the materials of its model in their order.
///
/// - `record`: the record that it becomes
/// - `from_ours`: from our world to the file's
pub(super) fn geometry(
    surface: &Surface<'_>,
    mut record: Node,
    (object, range): (usize, Range<usize>),
    from_ours: &DAffine3,
    materials: &mut Materials,
) -> Result<(Node, Vec<usize>), WriteError> {
    let (counts, vertices, drawn) = surface.polygons(object);
    let mut corners: Vec<i32> = vertices.iter().map(|&vertex| vertex as i32 - range.start as i32).collect();
    let mut end = 0;
    for count in &counts {
        end += count;
        // The last corner of a polygon says so by being negative.
        corners[end - 1] = !corners[end - 1];
    }
    let positions: Vec<f64> = surface.positions(range, from_ours)?.iter().flat_map(|p| p.to_array()).collect();
    record.push(Node::of("GeometryVersion", 124));
    record.push(Node::of("Vertices", &positions[..]));
    record.push(Node::of("PolygonVertexIndex", &corners[..]));
    let mut layers: Vec<Vec<(&str, i32)>> = vec![Vec::new()];
    let normals: Vec<[f64; 3]> = surface.normals(&drawn, from_ours).iter().map(|n| n.to_array()).collect();
    let (edges, smooth) = smoothing::edges(&counts, &vertices, &normals);
    record.push(Node::of("Edges", &edges[..]));
    let element = layer("LayerElementNormal", 0, "", ["ByPolygonVertex", "Direct"]);
    record.push(element.holding(Node::of("Normals", normals.as_flattened())));
    layers[0].push(("LayerElementNormal", 0));
    let element = layer("LayerElementSmoothing", 0, "", ["ByEdge", "Direct"]);
    record.push(element.holding(Node::of("Smoothing", &smooth[..])));
    layers[0].push(("LayerElementSmoothing", 0));
    let (numbers, used) = numbered(&drawn);
    for (set, values) in surface.uv_sets(&used)?.iter().enumerate() {
        let element = layer("LayerElementUV", set as i32, &uv_set(set), ["ByPolygonVertex", "IndexToDirect"]);
        let values = values.as_flattened();
        record.push(element.holding(Node::of("UV", values)).holding(Node::of("UVIndex", &numbers[..])));
        if layers.len() == set {
            layers.push(Vec::new());
        }
        layers[set].push(("LayerElementUV", set as i32));
    }
    if let Some(values) = surface.colors(&used)? {
        let element = layer("LayerElementColor", 0, "Color", ["ByPolygonVertex", "IndexToDirect"]);
        let values = values.as_flattened();
        record.push(element.holding(Node::of("Colors", values)).holding(Node::of("ColorIndex", &numbers[..])));
        layers[0].push(("LayerElementColor", 0));
    }
    let slots = surface.slots(object, materials);
    if !slots.1.is_empty() {
        let one = slots.1.len() == 1;
        let how = if one { "AllSame" } else { "ByPolygon" };
        let element = layer("LayerElementMaterial", 0, "", [how, "IndexToDirect"]);
        record.push(element.holding(Node::of("Materials", if one { &[0][..] } else { &slots.0[..] })));
        layers[0].push(("LayerElementMaterial", 0));
    }
    for (number, elements) in layers.iter().enumerate() {
        let element = |&(kind, index): &(&str, i32)| {
            Node::new("LayerElement").holding(Node::of("Type", kind)).holding(Node::of("TypedIndex", index))
        };
        let made = Node::of("Layer", number as i32).holding(Node::of("Version", 100));
        record.push(made.holding_all(elements.iter().map(element)));
    }
    Ok((record, slots.1))
}

fn layer(kind: &'static str, number: i32, name: &str, [mapping, reference]: [&str; 2]) -> Node {
    let version = if kind == "LayerElementSmoothing" { 102 } else { 101 };
    Node::of(kind, number)
        .holding(Node::of("Version", version))
        .holding(Node::of("Name", name))
        .holding(Node::of("MappingInformationType", mapping))
        .holding(Node::of("ReferenceInformationType", reference))
}
