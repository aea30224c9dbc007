//! Clips as animations: the channels that move, with their keys.

use super::scene::{GlbClip, GlbScene};
use super::tables::{Tables, Use, expect, to_floats};
use super::trs::{SHEAR, Trs, locals};
use crate::WriteError;
use dermis_rig::glam::DQuat;
use dermis_rig::skeleton::frobenius;
use dermis_rig::{BoneIndex, Skeleton};
use serde_json::{Value, json};

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
        let mut keys = Keys { times, whole: None, first: None, channels: Vec::new(), samplers: Vec::new() };
        if !clip.poses.is_empty() {
            expect(&what, "poses", clip.poses.len(), clip.times.len())?;
            let Some(skeleton) = scene.skeleton else {
                return Err(WriteError::Count { what, things: "bones", found: 0, expected: 1 });
            };
            let rest = scene.shown_locals(skeleton)?;
            let mut frames = Vec::with_capacity(clip.poses.len());
            for (at, pose) in clip.poses.iter().enumerate() {
                frames.push(locals(skeleton, pose, || format!("clip \"{name}\", frame {at}"))?);
            }
            for bone in skeleton.bones() {
                self.bone_channels(&mut keys, skeleton, bone, &rest[bone.get()], &frames, name)?;
            }
        }
        if !clip.morph_weights.is_empty() {
            expect(&what, "rows of morph weights", clip.morph_weights.len(), clip.times.len())?;
            for row in &clip.morph_weights {
                expect(&what, "morph weights in a row", row.len(), scene.morphs.len())?;
            }
            if let Some(node) = mesh_node.filter(|_| !scene.morphs.is_empty()) {
                let values = clip.morph_weights.iter().flatten().copied();
                let values = to_floats(values, scene.morphs.len(), &format!("a morph weight of clip \"{name}\""))?;
                let rest: Vec<f32> = scene.rest_weights()?.iter().map(|w| *w as f32).collect();
                keys.add(self, node, "weights", &values, &rest, scene.morphs.len(), Extent::Shortest);
            }
        }
        if keys.whole.is_none() {
            self.still(&mut keys, scene, clip, mesh_node)?;
        }
        if keys.channels.is_empty() {
            return Err(WriteError::Count { what, things: "things to move", found: 0, expected: 1 });
        }
        Ok(json!({ "name": name, "channels": keys.channels, "samplers": keys.samplers }))
    }

    /// Nothing moves, but the clip's length is worth two keys: of the first bone, else of the morph targets.
    fn still(
        &mut self,
        keys: &mut Keys,
        scene: &GlbScene,
        clip: &GlbClip,
        mesh_node: Option<usize>,
    ) -> Result<(), WriteError> {
        let root = BoneIndex::new(0);
        let plain = |skeleton: &&Skeleton| Trs::new(skeleton.bind()[root]).deviation <= SHEAR;
        let (node, path, row) = if let Some(skeleton) = scene.skeleton.filter(plain) {
            let root_pose = clip.poses.first().map_or(skeleton.bind()[root], |pose| pose.bones[root]);
            (0, "translation", root_pose.translation.to_array().to_vec())
        } else if let Some(node) = mesh_node.filter(|_| !scene.morphs.is_empty()) {
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
    /// The accessor of all times, once something needs it.
    whole: Option<usize>,
    /// The accessor of the first time alone.
    first: Option<usize>,
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
        let times = if short { &self.times[..1] } else { &self.times[..] };
        let known = if short { &mut self.first } else { &mut self.whole };
        let input = *known.get_or_insert_with(|| file.floats(times, 1, Use::Other, true));
        let accessor_width = if path == "weights" { 1 } else { width };
        let output = file.floats(values, accessor_width, Use::Other, false);
        self.samplers.push(json!({ "input": input, "output": output, "interpolation": "LINEAR" }));
        self.channels.push(json!({ "sampler": self.samplers.len() - 1, "target": { "node": node, "path": path } }));
    }
}
