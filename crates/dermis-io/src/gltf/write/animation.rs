//! Clips as animations: the channels that move, with their keys.

use super::scene::{GlbClip, GlbScene};
use super::tables::{Tables, Use, expect, to_floats};
use super::trs::{SHEAR, Trs, locals};
use crate::WriteError;
use crate::curve::{Curve, CurveOf, Interpolation};
use dermis_rig::glam::DQuat;
use dermis_rig::skeleton::frobenius;
use dermis_rig::{BoneIndex, Skeleton};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

impl Tables {
    pub(super) fn animation(
        &mut self,
        scene: &GlbScene,
        clip: &GlbClip,
        mesh_node: Option<usize>,
    ) -> Result<Value, WriteError> {
        let name = &clip.name;
        let what = format!("clip \"{name}\"");
        if clip.times.is_empty() {
            return Err(WriteError::Count { what, things: "times", found: 0, expected: 1 });
        }
        let times = to_floats(clip.times.iter().copied(), 1, &format!("the time of clip \"{name}\""))?;
        let bad = (0..times.len()).find(|&at| times[at] < 0.0 || (at > 0 && times[at] <= times[at - 1]));
        if let Some(at) = bad {
            return Err(WriteError::Times { clip: name.clone(), at });
        }
        let mut keys =
            Keys { times, inputs: HashMap::new(), is_whole: false, channels: Vec::new(), samplers: Vec::new() };
        let (mut rest, mut frames) = (Vec::new(), Vec::new());
        if let Some(skeleton) = scene.skeleton {
            rest = scene.shown_locals(skeleton)?;
        }
        for curve in &clip.curves {
            check(curve, scene, name)?;
        }
        // A bone that is sheared at rest is a matrix, which no channel may target.
        let curves = || {
            clip.curves.iter().filter(|curve| curve.of.bone().is_none_or(|bone| rest[bone.get()].deviation <= SHEAR))
        };
        if !clip.poses.is_empty() {
            expect(&what, "poses", clip.poses.len(), clip.times.len())?;
            let Some(skeleton) = scene.skeleton else {
                return Err(WriteError::Count { what, things: "bones", found: 0, expected: 1 });
            };
            for (at, pose) in clip.poses.iter().enumerate() {
                frames.push(locals(skeleton, pose, || format!("clip \"{name}\", frame {at}"))?);
            }
            let has_curves: HashSet<BoneIndex> = curves().filter_map(|curve| curve.of.bone()).collect();
            for bone in skeleton.bones().filter(|bone| !has_curves.contains(bone)) {
                self.bone_channels(&mut keys, skeleton, bone, &rest[bone.get()], &frames, name)?;
            }
        }
        if !clip.morph_weights.is_empty() {
            expect(&what, "rows of morph weights", clip.morph_weights.len(), clip.times.len())?;
            for row in &clip.morph_weights {
                expect(&what, "morph weights in a row", row.len(), scene.morphs.len())?;
            }
            let has_curve = clip.curves.iter().any(|curve| curve.of == CurveOf::MorphWeights);
            if let Some(node) = mesh_node.filter(|_| !scene.morphs.is_empty() && !has_curve) {
                let values = clip.morph_weights.iter().flatten().copied();
                let values = to_floats(values, scene.morphs.len(), &format!("a morph weight of clip \"{name}\""))?;
                let rest: Vec<f32> = scene.rest_weights()?.iter().map(|w| *w as f32).collect();
                keys.add(self, node, "weights", &values, &rest, scene.morphs.len(), Extent::Shortest);
            }
        }
        for curve in curves() {
            let own = curve.of.bone().map(|bone| &rest[bone.get()]);
            let (node, path, rest) = match (curve.of, own) {
                (CurveOf::Translation(bone), Some(rest)) => {
                    (bone.get(), "translation", rest.translation.to_array().to_vec())
                }
                (CurveOf::Rotation(bone), Some(rest)) => (bone.get(), "rotation", rest.rotation.to_array().to_vec()),
                (CurveOf::Scale(bone), Some(rest)) => (bone.get(), "scale", rest.scale.to_array().to_vec()),
                _ => (mesh_node.unwrap_or(0), "weights", scene.rest_weights()?),
            };
            keys.curve(self, node, path, curve, &rest, name)?;
        }
        if !keys.is_whole {
            self.still(&mut keys, scene, clip, mesh_node, frames.first().unwrap_or(&rest))?;
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
        mesh_node: Option<usize>,
        first: &[Trs],
    ) -> Result<(), WriteError> {
        let moves = |of: CurveOf| clip.curves.iter().any(|curve| curve.of == of && curve.times.len() > 1);
        let plain = |bone: &BoneIndex| {
            let own = scene.skeleton.map_or(0.0, |skeleton| Trs::new(skeleton.bind()[*bone]).deviation);
            own.max(first[bone.get()].deviation) <= SHEAR && !moves(CurveOf::Translation(*bone))
        };
        let bone = (0..first.len()).map(BoneIndex::new).find(plain);
        let (node, path, row) = if let Some(bone) = bone {
            (bone.get(), "translation", first[bone.get()].translation.to_array().to_vec())
        } else if let Some(node) = mesh_node.filter(|_| !scene.morphs.is_empty() && !moves(CurveOf::MorphWeights)) {
            (node, "weights", clip.morph_weights.first().cloned().map_or_else(|| scene.rest_weights(), Ok)?)
        } else {
            return Ok(());
        };
        keys.channels.retain(|channel| channel["target"] != json!({ "node": node, "path": path }));
        let values = to_floats(keys.times.iter().flat_map(|_| row.iter().copied()), row.len(), "a still clip")?;
        keys.add(self, node, path, &values, &[], row.len(), Extent::WholeClip);
        Ok(())
    }

    fn bone_channels(
        &mut self,
        keys: &mut Keys,
        skeleton: &Skeleton,
        bone: BoneIndex,
        rest: &Trs,
        frames: &[Vec<Trs>],
        clip: &str,
    ) -> Result<(), WriteError> {
        let of_bone = || frames.iter().map(|frame| &frame[bone.get()]);
        if rest.deviation > SHEAR {
            // Written as a matrix, which no channel may target: fine as long as it never moves.
            let far = |trs: &Trs| {
                let (a, b) = (trs.matrix, rest.matrix);
                let turned = frobenius(&(a.matrix3 - b.matrix3)) > SHEAR * frobenius(&b.matrix3);
                turned || (a.translation - b.translation).length() > SHEAR * b.translation.length()
            };
            return match of_bone().position(far) {
                None => Ok(()),
                Some(_) => Err(shear(skeleton, bone, "the bind pose".into(), rest.deviation)),
            };
        }
        if let Some((at, trs)) = of_bone().enumerate().find(|(_, trs)| trs.deviation > SHEAR) {
            return Err(shear(skeleton, bone, format!("clip \"{clip}\", frame {at}"), trs.deviation));
        }
        let mut last = rest.rotation;
        let rotations: Vec<DQuat> = of_bone()
            .map(|trs| {
                last = if trs.rotation.dot(last) < 0.0 { -trs.rotation } else { trs.rotation };
                last
            })
            .collect();
        let what = format!("clip \"{clip}\"");
        let translations = to_floats(of_bone().flat_map(|trs| trs.translation.to_array()), 3, &what)?;
        let rotations = to_floats(rotations.into_iter().flat_map(|q| q.to_array()), 4, &what)?;
        let scales = to_floats(of_bone().flat_map(|trs| trs.scale.to_array()), 3, &what)?;
        for (path, values, rest) in [
            ("translation", translations, &rest.translation.to_array()[..]),
            ("rotation", rotations, &rest.rotation.to_array()[..]),
            ("scale", scales, &rest.scale.to_array()[..]),
        ] {
            let rest: Vec<f32> = rest.iter().map(|x| *x as f32).collect();
            keys.add(self, bone.get(), path, &values, &rest, rest.len(), Extent::Shortest);
        }
        Ok(())
    }
}

fn shear(skeleton: &Skeleton, bone: BoneIndex, place: String, deviation: f64) -> WriteError {
    WriteError::Shear { bone: skeleton.names()[bone].clone(), place, deviation }
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
    /// Adds a channel: none if all frames are `rest`, and one key if they are constant, unless it spans the whole clip.
    fn add(
        &mut self,
        file: &mut Tables,
        node: usize,
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
        self.push(file, (node, path), &times, (values, width), "LINEAR");
    }

    /// Adds a curve, as [`Keys::add`] adds frames.
    fn curve(
        &mut self,
        file: &mut Tables,
        node: usize,
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
            self.add(file, node, path, value, &rest, width, Extent::Shortest);
            return Ok(());
        }
        let times = to_floats(curve.times.iter().copied(), 1, &what)?;
        self.is_whole |= times.last() >= self.times.last();
        let name = match curve.interpolation {
            Interpolation::Step => "STEP",
            Interpolation::Linear => "LINEAR",
            Interpolation::Cubic => "CUBICSPLINE",
        };
        self.push(file, (node, path), &times, (&values, width), name);
        Ok(())
    }

    fn push(
        &mut self,
        file: &mut Tables,
        (node, path): (usize, &str),
        times: &[f32],
        (values, width): (&[f32], usize),
        interpolation: &str,
    ) {
        let bits = times.iter().map(|time| time.to_bits()).collect();
        let input = *self.inputs.entry(bits).or_insert_with(|| file.floats(times, 1, Use::Other, true));
        let accessor_width = if path == "weights" { 1 } else { width };
        let output = file.floats(values, accessor_width, Use::Other, false);
        self.samplers.push(json!({ "input": input, "output": output, "interpolation": interpolation }));
        self.channels.push(json!({ "sampler": self.samplers.len() - 1, "target": { "node": node, "path": path } }));
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
