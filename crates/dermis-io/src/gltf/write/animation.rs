//! Clips as animations: the channels that move, with their keys.

use super::scene::{GlbClip, GlbScene};
use super::tables::{Tables, Use, expect, to_floats};
use super::trs::{Pair, SHEAR, Trs, locals};
use crate::WriteError;
use crate::curve::{Curve, CurveOf, Interpolation};
use dermis_rig::glam::{DMat3, DQuat, DVec3};
use dermis_rig::skeleton::frobenius;
use dermis_rig::{BoneIndex, Skeleton};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};

/// The skeleton of a scene as its nodes have it.
#[derive(Default)]
pub(super) struct Played {
    /// Where no clip says otherwise.
    pub(super) rest: Vec<Trs>,
    /// The node above each bone that shears as it moves: the bone's own has the rotation alone ([`Pair`]).
    pub(super) upper: Vec<Option<usize>>,
    /// Of each clip, frame after frame.
    pub(super) frames: Vec<Vec<Vec<Trs>>>,
}

/// Local transforms of a clip's poses.
pub(super) fn frames(scene: &GlbScene<'_>, clip: &GlbClip) -> Result<Vec<Vec<Trs>>, WriteError> {
    let what = || format!("clip \"{}\"", clip.name);
    if clip.poses.is_empty() {
        return Ok(Vec::new());
    }
    expect(&what(), "poses", clip.poses.len(), clip.times.len())?;
    let Some(skeleton) = scene.skeleton else {
        return Err(WriteError::Count { what: what(), things: "bones", found: 0, expected: 1 });
    };
    let frame = |(at, pose)| locals(skeleton, pose, || format!("{}, frame {at}", what()));
    clip.poses.iter().enumerate().map(frame).collect()
}

impl Played {
    /// The bones of a scene; a bone that one node cannot move is two, the further nodes numbered from `bones` on.
    pub(super) fn new(scene: &GlbScene<'_>, skeleton: &Skeleton) -> Result<Self, WriteError> {
        let rest = scene.shown_locals(skeleton)?;
        let frames = scene.clips.iter().map(|clip| frames(scene, clip)).collect::<Result<Vec<_>, _>>()?;
        let mut shears = vec![false; rest.len()];
        for (clip, frames) in scene.clips.iter().zip(&frames) {
            let mut has_curve = vec![false; rest.len()];
            let curved = clip.curves.iter().filter_map(|curve| curve.of.bone()).filter(|bone| bone.get() < rest.len());
            curved.for_each(|bone| has_curve[bone.get()] = true);
            for (bone, rest) in rest.iter().enumerate() {
                let stiff = rest.deviation > SHEAR; // a matrix, which no channel may target
                shears[bone] |= match has_curve[bone] {
                    true => stiff,
                    false => frames.iter().map(|frame| &frame[bone]).any(|trs| match stiff {
                        true => is_elsewhere(trs, rest),
                        false => trs.deviation > SHEAR,
                    }),
                };
            }
        }
        let mut next = rest.len()..;
        let upper = shears.into_iter().map(|shears| if shears { next.next() } else { None }).collect();
        Ok(Self { rest, upper, frames })
    }

    /// The two nodes of a bone that has two, where no clip says otherwise.
    pub(super) fn pair(&self, bone: usize) -> Pair {
        Pair::new(&self.rest[bone].matrix, DMat3::IDENTITY)
    }
}

/// Whether a transform is another one than that at rest.
fn is_elsewhere(trs: &Trs, rest: &Trs) -> bool {
    let (a, b) = (trs.matrix, rest.matrix);
    let is_turned = frobenius(&(a.matrix3 - b.matrix3)) > SHEAR * frobenius(&b.matrix3);
    is_turned || (a.translation - b.translation).length() > SHEAR * b.translation.length()
}

impl Tables {
    /// The animation of clip number `at`, called `name`. `targeted` are the nodes of the meshes that have morph targets.
    pub(super) fn animation(
        &mut self,
        scene: &GlbScene,
        played: &Played,
        (at, name): (usize, &str),
        targeted: &[usize],
    ) -> Result<Value, WriteError> {
        let clip = &scene.clips[at];
        let what = format!("clip \"{}\"", clip.name);
        if clip.times.is_empty() {
            return Err(WriteError::Count { what, things: "times", found: 0, expected: 1 });
        }
        let times = to_floats(clip.times.iter().copied(), 1, &format!("the time of {what}"))?;
        let bad = (0..times.len()).find(|&at| times[at] < 0.0 || (at > 0 && times[at] <= times[at - 1]));
        if let Some(at) = bad {
            return Err(WriteError::Times { clip: clip.name.clone(), at });
        }
        let mut keys =
            Keys { times, inputs: HashMap::new(), is_whole: false, channels: Vec::new(), samplers: Vec::new() };
        for curve in &clip.curves {
            check(curve, scene, &clip.name)?;
        }
        let frames = played.frames.get(at).map_or(&[][..], Vec::as_slice);
        let curved: BTreeSet<BoneIndex> = clip.curves.iter().filter_map(|curve| curve.of.bone()).collect();
        if let Some(skeleton) = scene.skeleton.filter(|_| !frames.is_empty()) {
            for bone in skeleton.bones().filter(|bone| !curved.contains(bone)) {
                self.bone_channels(&mut keys, played, bone, frames, &what)?;
            }
        }
        if !clip.morph_weights.is_empty() {
            expect(&what, "rows of morph weights", clip.morph_weights.len(), clip.times.len())?;
            for row in &clip.morph_weights {
                expect(&what, "morph weights in a row", row.len(), scene.morphs.len())?;
            }
            let has_curve = clip.curves.iter().any(|curve| curve.of == CurveOf::MorphWeights);
            if !targeted.is_empty() && !has_curve {
                let values = clip.morph_weights.iter().flatten().copied();
                let values = to_floats(values, scene.morphs.len(), &format!("a morph weight of {what}"))?;
                let rest: Vec<f32> = scene.rest_weights()?.iter().map(|w| *w as f32).collect();
                keys.add(self, targeted, "weights", &values, &rest, scene.morphs.len(), Extent::Shortest);
            }
        }
        for bone in curved {
            self.curved_bone(&mut keys, played, bone, clip)?;
        }
        for curve in clip.curves.iter().filter(|curve| curve.of == CurveOf::MorphWeights) {
            keys.curve(self, targeted, "weights", curve, &scene.rest_weights()?, &clip.name)?;
        }
        if !keys.is_whole {
            self.still(&mut keys, scene, clip, played, frames.first().unwrap_or(&played.rest), targeted)?;
        }
        if keys.channels.is_empty() {
            return Err(WriteError::Count { what, things: "things to move", found: 0, expected: 1 });
        }
        Ok(json!({ "name": name, "channels": keys.channels, "samplers": keys.samplers }))
    }

    /// Nothing moves until the clip ends, but its length is worth two keys: of the first bone whose place stays, else of the morph targets.
    fn still(
        &mut self,
        keys: &mut Keys,
        scene: &GlbScene,
        clip: &GlbClip,
        played: &Played,
        first: &[Trs],
        targeted: &[usize],
    ) -> Result<(), WriteError> {
        let moves = |of: CurveOf| clip.curves.iter().any(|curve| curve.of == of && curve.times.len() > 1);
        let stays = |bone: &BoneIndex| {
            let may_move = played.rest[bone.get()].deviation <= SHEAR || played.upper[bone.get()].is_some();
            may_move && !moves(CurveOf::Translation(*bone))
        };
        let bone = (0..first.len()).map(BoneIndex::new).find(stays);
        let (nodes, path, row) = if let Some(bone) = bone {
            let node = played.upper[bone.get()].unwrap_or(bone.get());
            (vec![node], "translation", first[bone.get()].translation.to_array().to_vec())
        } else if !targeted.is_empty() && !moves(CurveOf::MorphWeights) {
            let row = clip.morph_weights.first().cloned().map_or_else(|| scene.rest_weights(), Ok)?;
            (targeted.to_vec(), "weights", row)
        } else {
            return Ok(());
        };
        let targets = |node: &usize| json!({ "node": node, "path": path });
        let replaced: Vec<Value> = nodes.iter().map(targets).collect();
        keys.channels.retain(|channel| !replaced.contains(&channel["target"]));
        let values = to_floats(keys.times.iter().flat_map(|_| row.iter().copied()), row.len(), "a still clip")?;
        keys.add(self, &nodes, path, &values, &[], row.len(), Extent::WholeClip);
        Ok(())
    }

    /// The frames of a bone.
    fn bone_channels(
        &mut self,
        keys: &mut Keys,
        played: &Played,
        bone: BoneIndex,
        frames: &[Vec<Trs>],
        what: &str,
    ) -> Result<(), WriteError> {
        let at = bone.get();
        let (of_bone, rest) = (|| frames.iter().map(|frame| &frame[at]), &played.rest[at]);
        let Some(upper) = played.upper[at] else {
            // A bone that is a matrix and has no node above it never moves.
            return match rest.deviation > SHEAR {
                true => Ok(()),
                false => self.moves(keys, at, rest, &of_bone().collect::<Vec<_>>(), what),
            };
        };
        let pair = played.pair(at);
        let mut axes = pair.axes;
        let pairs = of_bone().map(|trs| {
            let pair = Pair::new(&trs.matrix, axes);
            axes = pair.axes;
            pair
        });
        let pairs: Vec<Pair> = pairs.collect();
        self.moves(keys, upper, &pair.upper, &pairs.iter().map(|pair| &pair.upper).collect::<Vec<_>>(), what)?;
        self.turns(keys, at, pair.lower, pairs.iter().map(|pair| pair.lower), what)
    }

    /// Translation, rotation and scale of a node in every frame.
    fn moves(
        &mut self,
        keys: &mut Keys,
        node: usize,
        rest: &Trs,
        frames: &[&Trs],
        what: &str,
    ) -> Result<(), WriteError> {
        let vectors = |of: fn(&Trs) -> DVec3| to_floats(frames.iter().flat_map(|trs| of(trs).to_array()), 3, what);
        let (translations, scales) = (vectors(|trs| trs.translation)?, vectors(|trs| trs.scale)?);
        let at_rest = |vector: DVec3| vector.as_vec3().to_array();
        keys.add(self, &[node], "translation", &translations, &at_rest(rest.translation), 3, Extent::Shortest);
        self.turns(keys, node, rest.rotation, frames.iter().map(|trs| trs.rotation), what)?;
        keys.add(self, &[node], "scale", &scales, &at_rest(rest.scale), 3, Extent::Shortest);
        Ok(())
    }

    /// The rotation of a node in every frame, each quaternion on the side of the one before.
    fn turns(
        &mut self,
        keys: &mut Keys,
        node: usize,
        rest: DQuat,
        frames: impl Iterator<Item = DQuat>,
        what: &str,
    ) -> Result<(), WriteError> {
        let mut last = rest;
        let near = frames.flat_map(|rotation| {
            last = if rotation.dot(last) < 0.0 { -rotation } else { rotation };
            last.to_array()
        });
        let values = to_floats(near, 4, what)?;
        keys.add(self, &[node], "rotation", &values, &rest.as_quat().to_array(), 4, Extent::Shortest);
        Ok(())
    }

    /// The curves of a bone. They never shear: of a bone that is two nodes the lower one stays straight.
    fn curved_bone(
        &mut self,
        keys: &mut Keys,
        played: &Played,
        bone: BoneIndex,
        clip: &GlbClip,
    ) -> Result<(), WriteError> {
        let (at, what) = (bone.get(), format!("clip \"{}\"", clip.name));
        let plain = &played.rest[at];
        let mut node = at;
        let mut rest = plain.clone();
        if let Some(upper) = played.upper[at] {
            let pair = played.pair(at);
            self.turns(keys, at, pair.lower, std::iter::once(DQuat::IDENTITY), &what)?;
            (node, rest) = (upper, pair.upper);
        }
        for (of, path, rest, plain) in [
            (
                CurveOf::Translation(bone),
                "translation",
                rest.translation.to_array().to_vec(),
                plain.translation.to_array().to_vec(),
            ),
            (
                CurveOf::Rotation(bone),
                "rotation",
                rest.rotation.to_array().to_vec(),
                plain.rotation.to_array().to_vec(),
            ),
            (CurveOf::Scale(bone), "scale", rest.scale.to_array().to_vec(), plain.scale.to_array().to_vec()),
        ] {
            let mut curves = clip.curves.iter().filter(|curve| curve.of == of).peekable();
            if curves.peek().is_none() {
                let values = to_floats(plain, rest.len(), &what)?;
                let rest: Vec<f32> = rest.iter().map(|x| *x as f32).collect();
                keys.add(self, &[node], path, &values, &rest, rest.len(), Extent::Shortest);
            }
            curves.try_for_each(|curve| keys.curve(self, &[node], path, curve, &rest, &clip.name))?;
        }
        Ok(())
    }
}

/// How much of a clip a channel spans.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    /// As few keys as show the motion.
    Shortest,
    /// Every time of the clip, so that its length is kept.
    WholeClip,
}

/// The channels of one animation.
struct Keys {
    times: Vec<f32>,
    /// The accessors of times, by their bits.
    inputs: HashMap<Vec<u32>, usize>,
    /// Whether some channel lasts as long as the clip.
    is_whole: bool,
    channels: Vec<Value>,
    samplers: Vec<Value>,
}

impl Keys {
    /// Adds a channel, the same for each of `nodes`: none if all frames are `rest`, and one key if they are constant, unless it spans the whole clip.
    fn add(
        &mut self,
        file: &mut Tables,
        nodes: &[usize],
        path: &str,
        values: &[f32],
        rest: &[f32],
        width: usize,
        extent: Extent,
    ) {
        // Rounding must not make a channel: floats are 6e-8 off, on both sides, and products of them some more.
        let size = values.iter().chain(rest).fold(0.0, |most, x| f32::max(most, x.abs()));
        let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 3e-7 * size);
        let constant = values.chunks_exact(width).all(|row| close(row, &values[..width]));
        let shorten = extent == Extent::Shortest;
        if constant && shorten && close(&values[..width], rest) {
            return;
        }
        let short = constant && shorten;
        let values = if short { &values[..width] } else { values };
        let times = if short { &self.times[..1] } else { &self.times[..] }.to_vec();
        self.is_whole |= !short;
        self.push(file, (nodes, path), &times, (values, width), "LINEAR");
    }

    /// Adds a curve, as [`Keys::add`] adds frames.
    fn curve(
        &mut self,
        file: &mut Tables,
        nodes: &[usize],
        path: &str,
        curve: &Curve,
        rest: &[f64],
        clip: &str,
    ) -> Result<(), WriteError> {
        let (width, what) = (rest.len(), format!("a curve of clip \"{clip}\""));
        let values = to_floats(curve.values.iter().copied(), width, &what)?;
        let rest: Vec<f32> = rest.iter().map(|x| *x as f32).collect();
        let cubic = curve.interpolation == Interpolation::Cubic;
        let value = if cubic { &values[width..2 * width] } else { &values[..width] };
        let stays = |(row, values): (usize, &[f32])| match cubic && row % 3 != 1 {
            true => values.iter().all(|slope| *slope == 0.0),
            false => values == value,
        };
        if values.chunks_exact(width).enumerate().all(stays) {
            self.add(file, nodes, path, value, &rest, width, Extent::Shortest);
            return Ok(());
        }
        let times = to_floats(curve.times.iter().copied(), 1, &what)?;
        self.is_whole |= times.last() >= self.times.last();
        let name = match curve.interpolation {
            Interpolation::Step => "STEP",
            Interpolation::Linear => "LINEAR",
            Interpolation::Cubic => "CUBICSPLINE",
        };
        self.push(file, (nodes, path), &times, (&values, width), name);
        Ok(())
    }

    fn push(
        &mut self,
        file: &mut Tables,
        (nodes, path): (&[usize], &str),
        times: &[f32],
        (values, width): (&[f32], usize),
        interpolation: &str,
    ) {
        let bits = times.iter().map(|time| time.to_bits()).collect();
        let input = *self.inputs.entry(bits).or_insert_with(|| file.floats(times, 1, Use::Other, true));
        let accessor_width = if path == "weights" { 1 } else { width };
        let output = file.floats(values, accessor_width, Use::Other, false);
        self.samplers.push(json!({ "input": input, "output": output, "interpolation": interpolation }));
        let sampler = self.samplers.len() - 1;
        let channel = |node| json!({ "sampler": sampler, "target": { "node": node, "path": path } });
        self.channels.extend(nodes.iter().map(channel));
    }
}

/// Refuses a curve that is none, or of what the scene does not have.
fn check(curve: &Curve, scene: &GlbScene, clip: &str) -> Result<(), WriteError> {
    let what = || format!("a curve of clip \"{clip}\"");
    let bones = scene.skeleton.map_or(0, Skeleton::len);
    let (width, had) = match curve.of {
        CurveOf::Translation(bone) | CurveOf::Scale(bone) => (3, bone.get() < bones),
        CurveOf::Rotation(bone) => (4, bone.get() < bones),
        CurveOf::MorphWeights => (scene.morphs.len(), !scene.morphs.is_empty()),
    };
    if !had {
        return Err(WriteError::Count {
            what: what(),
            things: "bones or morph targets of its number",
            found: 0,
            expected: 1,
        });
    }
    let per_key = if curve.interpolation == Interpolation::Cubic { 3 * width } else { width };
    expect(&what(), "numbers", curve.values.len(), per_key * curve.times.len().max(1))?;
    let times = to_floats(curve.times.iter().copied(), 1, &format!("the time of {}", what()))?;
    match (0..times.len()).find(|&at| times[at] < 0.0 || (at > 0 && times[at] <= times[at - 1])) {
        Some(at) => Err(WriteError::Times { clip: clip.into(), at }),
        None => Ok(()),
    }
}
