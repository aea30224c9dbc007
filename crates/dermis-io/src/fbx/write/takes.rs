//! Clips as takes: a stack with one layer, and curves for what moves.

use super::bones::Bones;
use super::document::{Node, Properties};
use super::objects::{Id, Objects};
use crate::contents::Clip;
use crate::skinned_scene::motion::{Key, Place, Take, ticks};
use dermis_rig::glam::DVec3;

/// A key joins the next by a straight line, and has the tangents that programs make for it.
const LINEAR: i32 = 0x6104;

/// Angles closer than this are one: degrees, a hundredth of what moves a fingertip by a micrometre.
const SAME_ANGLE: f64 = 1e-6;

/// Other numbers closer than this, in parts of the largest, are one: floats are 6e-8 off, on both sides, and products of them some more.
const SAME: f64 = 3e-7;

/// Writes a clip. Result: its entry in the list of takes.
///
/// - `channels`: number and channel of every shape of every object
/// - `percents`: of the shapes without a clip
pub(super) fn write(
    (clip, name): (&Clip, &str),
    take: &Take<DVec3>,
    bones: &Bones,
    (channels, percents): (&[(usize, Id)], &[f64]),
    objects: &mut Objects,
) -> Node {
    let (begin, end) = (ticks(clip.start), ticks(clip.start + clip.duration.max(0.0)));
    let (stack, record) = objects.make("AnimationStack", name, "AnimStack", "");
    let span = Properties::default()
        .time("LocalStart", begin)
        .time("LocalStop", end)
        .time("ReferenceStart", begin)
        .time("ReferenceStop", end);
    objects.add(record.holding(span.node()));
    let (layer, record) = objects.make("AnimationLayer", "BaseLayer", "AnimLayer", "");
    objects.add(record);
    objects.connect(layer, stack);
    let times: Vec<i64> = take.keys.iter().map(|key| ticks(clip.start + key.time)).collect();
    let mut curves = Curves { layer, times: &times, may_rest: true, objects };
    let vector = |at: usize, of: fn(&Place<DVec3>) -> DVec3| {
        move |key: &Key<DVec3>| key.bones.get(at).map(of).unwrap_or_default()
    };
    for (at, rest) in bones.places.iter().enumerate() {
        let node = bones.nodes[at];
        // Programs differ in where a bone stands that a take does not key: as it does without a take, or as it was bound.
        curves.may_rest = bones.is_at_bind[at];
        let moved = bones.upper[at].unwrap_or(node);
        curves.vector((moved, "T", "Lcl Translation"), rest.translation, &take.keys, vector(at, |p| p.translation));
        curves.vector((moved, "R", "Lcl Rotation"), rest.rotation, &take.keys, vector(at, |p| p.rotation));
        curves.vector((moved, "S", "Lcl Scaling"), rest.scale, &take.keys, vector(at, |p| p.scale));
        if bones.upper[at].is_some() {
            curves.vector((node, "R", "Lcl Rotation"), rest.lower, &take.keys, vector(at, |p| p.lower));
        }
    }
    curves.may_rest = true;
    for &(shape, channel) in channels {
        let values: Vec<f64> = take.keys.iter().map(|key| 100.0 * key.weights[shape]).collect();
        curves.shape(channel, percents[shape], &values);
    }
    Node::of("Take", name)
        .holding(Node::of("FileName", &*format!("{name}.tak")))
        .holding(Node::of("LocalTime", begin).with(end))
        .holding(Node::of("ReferenceTime", begin).with(end))
}

/// Curves in the making.
struct Curves<'a> {
    layer: Id,
    times: &'a [i64],
    /// Whether what stays at rest has no curve.
    may_rest: bool,
    objects: &'a mut Objects,
}

impl Curves<'_> {
    /// The curves of a place, if it leaves its rest.
    fn vector(&mut self, of: (Id, &str, &str), rest: DVec3, keys: &[Key<DVec3>], value: impl Fn(&Key<DVec3>) -> DVec3) {
        let (node, name, property) = of;
        let values: Vec<DVec3> = keys.iter().map(value).collect();
        let size = values.iter().fold(rest.abs(), |most, v| most.max(v.abs())).max_element();
        let same = if name == "R" { SAME_ANGLE.max(1e-7 * size) } else { SAME * size };
        if self.may_rest && values.iter().all(|v| (*v - rest).abs().max_element() <= same) {
            return;
        }
        let parts = [("d|X", 0), ("d|Y", 1), ("d|Z", 2)];
        let id = self.node(name, parts.map(|(part, axis)| (part, rest[axis])));
        self.objects.connect_property(id, node, property);
        for (part, axis) in parts {
            let own: Vec<f32> = values.iter().map(|v| v[axis] as f32).collect();
            self.curve(id, part, rest[axis], &own);
        }
    }

    /// The curve of a shape, if it leaves its percentage.
    fn shape(&mut self, channel: Id, rest: f64, values: &[f64]) {
        if values.iter().all(|value| (value - rest).abs() <= SAME * rest.abs().max(1.0)) {
            return;
        }
        let id = self.node("DeformPercent", [("d|DeformPercent", rest)]);
        self.objects.connect_property(id, channel, "DeformPercent");
        let own: Vec<f32> = values.iter().map(|value| *value as f32).collect();
        self.curve(id, "d|DeformPercent", rest, &own);
    }

    fn node<const N: usize>(&mut self, name: &str, rest: [(&str, f64); N]) -> Id {
        let (id, record) = self.objects.make("AnimationCurveNode", name, "AnimCurveNode", "");
        let properties = rest.iter().fold(Properties::default(), |made, (part, value)| made.number(part, *value));
        self.objects.add(record.holding(properties.node()));
        self.objects.connect(id, self.layer);
        id
    }

    /// Keys; of a value that stays the first and the last.
    fn curve(&mut self, node: Id, part: &str, rest: f64, values: &[f32]) {
        let stays = values.iter().all(|value| *value == values[0]);
        let last = values.len() - 1;
        let kept: Vec<usize> = match (stays, last) {
            (true, 1..) => vec![0, last],
            _ => (0..=last).collect(),
        };
        let times: Vec<i64> = kept.iter().map(|&at| self.times[at]).collect();
        let values: Vec<f32> = kept.iter().map(|&at| values[at]).collect();
        let (id, record) = self.objects.make("AnimationCurve", "", "AnimCurve", "");
        self.objects.add(
            record
                .holding(Node::of("Default", rest))
                .holding(Node::of("KeyVer", 4009))
                .holding(Node::of("KeyTime", &times[..]))
                .holding(Node::of("KeyValueFloat", &values[..]))
                .holding(Node::of("KeyAttrFlags", &[LINEAR][..]))
                .holding(Node::of("KeyAttrDataFloat", &[0.0f32; 4][..]))
                .holding(Node::of("KeyAttrRefCount", &[kept.len() as i32][..])),
        );
        self.objects.connect_property(id, node, part);
    }
}
