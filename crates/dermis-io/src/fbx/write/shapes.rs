//! Blend shapes: a channel with one shape for each morph target that moves an object.

use super::document::{Node, Properties};
use super::objects::{Id, Objects};
use dermis_rig::MorphTarget;
use dermis_rig::glam::{DAffine3, DVec3};
use std::ops::Range;

/// Writes the shapes of the vertices `range`, which hang on `geometry`. Result: the number of each shape that moves them, and its channel.
///
/// - `percents`: of every shape without a clip
/// - `from_ours`: from our world to the file's
pub(super) fn write(
    morphs: &[MorphTarget],
    (names, percents): (&[String], &[f64]),
    range: Range<usize>,
    from_ours: &DAffine3,
    (geometry, name): (Id, &str),
    objects: &mut Objects,
) -> Vec<(usize, Id)> {
    let moved = |morph: &MorphTarget| morph.deltas[range.clone()].iter().any(|delta| *delta != DVec3::ZERO);
    let chosen: Vec<usize> = (0..morphs.len()).filter(|&at| moved(&morphs[at])).collect();
    if chosen.is_empty() {
        return Vec::new();
    }
    write_chosen(morphs, &chosen, (names, percents), range, from_ours, (geometry, name), objects)
}

/// [`write`] for shapes that may move nothing.
pub(super) fn write_chosen(
    morphs: &[MorphTarget],
    chosen: &[usize],
    (names, percents): (&[String], &[f64]),
    range: Range<usize>,
    from_ours: &DAffine3,
    (geometry, name): (Id, &str),
    objects: &mut Objects,
) -> Vec<(usize, Id)> {
    let (deformer, record) = objects.make("Deformer", name, "Deformer", "BlendShape");
    objects.add(record.holding(Node::of("Version", 100)));
    objects.connect(deformer, geometry);
    let mut channels = Vec::with_capacity(chosen.len());
    for &at in chosen {
        let (channel, record) = objects.make("Deformer", &names[at], "SubDeformer", "BlendShapeChannel");
        let properties = Properties::default().number("DeformPercent", percents[at]);
        objects.add(
            record
                .holding(Node::of("Version", 100))
                .holding(Node::of("DeformPercent", percents[at]))
                .holding(Node::of("FullWeights", &[100.0][..]))
                .holding(properties.node()),
        );
        objects.connect(channel, deformer);
        let (shape, record) = objects.make("Geometry", &names[at], "Geometry", "Shape");
        let (mut vertices, mut deltas) = (Vec::new(), Vec::new());
        for (vertex, delta) in morphs[at].deltas[range.clone()].iter().enumerate().filter(|(_, d)| **d != DVec3::ZERO) {
            vertices.push(vertex as i32);
            deltas.extend(from_ours.transform_vector3(*delta).to_array());
        }
        objects.add(
            record
                .holding(Node::of("Version", 100))
                .holding(Node::of("Indexes", &vertices[..]))
                .holding(Node::of("Vertices", &deltas[..])),
        );
        objects.connect(shape, channel);
        channels.push((at, channel));
    }
    channels
}
