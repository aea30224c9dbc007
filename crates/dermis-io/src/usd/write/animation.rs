//! Clips as animations: translation, rotation and scale of every joint, and the weights of shapes.
//!
//! Programs join keys by straight lines, rotations along the shorter arc. The format holds scales as halves, with eleven bits: they are
//! as far off as that at keys, and once more between them.

use super::skeleton::{Joints, Part};
use super::text::{Number, Text};
use crate::skinned_scene::motion::{Key, Take, Turn};
use dermis_rig::glam::{DMat3, DQuat, DVec3};
use dermis_rig::rotation::slerp;

/// A time code is that of a frame if it is this close to it, in parts of itself: what floats lose, in which other formats hold seconds.
const ON_FRAME: f64 = 2e-7;

/// Time codes between frames are rounded to this many parts of one.
const PARTS: f64 = 1e6;

/// A quaternion of floats.
impl Turn for DQuat {
    fn near(rotation: DQuat, before: Self) -> Self {
        if rotation.dot(before) < 0.0 { -rotation } else { rotation }
    }

    fn stored(self) -> Self {
        DQuat::from_array(self.to_array().map(single))
    }

    fn is_finite(self) -> bool {
        DQuat::is_finite(self)
    }

    fn between(a: Self, b: Self, s: f64) -> DMat3 {
        DMat3::from_quat(slerp(a.normalize(), b.normalize(), s))
    }

    fn scale(scale: DVec3) -> DVec3 {
        scale.map(half)
    }

    fn weight(weight: f64) -> f64 {
        single(weight)
    }
}

fn single(x: f64) -> f64 {
    f64::from(x as f32)
}

/// What 16 bits hold of a number: eleven binary digits, to 65504; infinite beyond.
fn half(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let step = 2f64.powf(x.abs().log2().floor().max(-14.0) - 10.0);
    let rounded = (x / step).round_ties_even() * step;
    if rounded.abs() > 65504.0 { f64::INFINITY.copysign(x) } else { rounded }
}

/// The time code of so many seconds.
pub(super) fn time_code(seconds: f64, rate: f64) -> f64 {
    let code = seconds * rate;
    let whole = code.round();
    if (code - whole).abs() <= ON_FRAME * code.abs() { whole } else { (code * PARTS).round() / PARTS }
}

/// What an animation moves.
pub(super) struct Moved<'a> {
    pub(super) joints: &'a Joints,
    /// Without a skeleton of the scene's own, joints stay.
    pub(super) has_bones: bool,
    pub(super) shapes: &'a [String],
    /// Of every shape, without a clip.
    pub(super) rest_weights: &'a [f64],
}

const TRANSLATIONS: &str = "float3[] translations";
const ROTATIONS: &str = "quatf[] rotations";
const SCALES: &str = "half3[] scales";
const WEIGHTS: &str = "float[] blendShapeWeights";

fn is_still<T: PartialEq>(frames: &[T]) -> bool {
    frames.windows(2).all(|pair| pair[0] == pair[1])
}

impl Moved<'_> {
    /// - `start`: seconds by the file's clock at which the clip begins
    pub(super) fn write(&self, name: &str, take: &Take<DQuat>, (start, rate): (f64, f64), text: &mut Text) {
        let mut times: Vec<f64> = Vec::with_capacity(take.keys.len());
        let mut keys: Vec<&Key<DQuat>> = Vec::with_capacity(take.keys.len());
        for key in &take.keys {
            let time = time_code(start + key.time, rate);
            if times.last().is_none_or(|last| *last < time) {
                times.push(time);
                keys.push(key);
            }
        }
        text.open("SkelAnimation", name, &[]);
        if self.has_bones {
            self.joints.write_names(text);
            let frames = |of: fn(&Key<DQuat>, usize, Part) -> DVec3| -> Vec<Vec<[f64; 3]>> {
                let frame = |key: &&Key<DQuat>| {
                    self.joints.list.iter().map(|joint| of(key, joint.bone, joint.part).to_array()).collect()
                };
                keys.iter().map(frame).collect()
            };
            let translation = |key: &Key<DQuat>, bone: usize, part: Part| match part {
                Part::Lower => DVec3::ZERO,
                _ => key.bones[bone].translation,
            };
            let rotation = |key: &Key<DQuat>, bone: usize, part: Part| {
                let place = &key.bones[bone];
                wxyz(if part == Part::Lower { place.lower } else { place.rotation })
            };
            let turns = |key: &&Key<DQuat>| -> Vec<[f64; 4]> {
                self.joints.list.iter().map(|joint| rotation(key, joint.bone, joint.part)).collect()
            };
            let scale = |key: &Key<DQuat>, bone: usize, part: Part| match part {
                Part::Lower => DVec3::ONE,
                _ => key.bones[bone].scale,
            };
            let translations = frames(translation);
            let rotations: Vec<_> = keys.iter().map(turns).collect();
            let scales = frames(scale);
            if is_still(&translations) && is_still(&rotations) && is_still(&scales) {
                // What holds over all time would hold without a clip, too: the rest stands beside it.
                let rest = || self.joints.list.iter().map(|joint| joint.rest.to_scale_rotation_translation());
                text.tuples(TRANSLATIONS, rest().map(|(_, _, t)| t.to_array()), Number::Single, &[]);
                text.time_samples(TRANSLATIONS, &times, &translations);
                text.tuples(ROTATIONS, rest().map(|(_, r, _)| wxyz(r)), Number::Single, &[]);
                text.time_samples(ROTATIONS, &times, &rotations);
                text.tuples(SCALES, rest().map(|(s, _, _)| s.to_array()), Number::Single, &[]);
                text.time_samples(SCALES, &times, &scales);
            } else {
                text.samples(TRANSLATIONS, &times, &translations, &[]);
                text.samples(ROTATIONS, &times, &rotations, &[]);
                text.samples(SCALES, &times, &scales, &[]);
            }
        }
        if !self.shapes.is_empty() {
            self.write_shapes(text);
            let weights = |key: &&Key<DQuat>| -> Vec<[f64; 1]> { key.weights.iter().map(|w| [*w]).collect() };
            let frames: Vec<_> = keys.iter().map(weights).collect();
            let rest: Vec<_> = self.rest_weights.iter().map(|w| [*w]).collect();
            text.tuples(WEIGHTS, rest.iter().copied(), Number::Single, &[]);
            // Blender shows weights without a time in still scenes alone.
            if frames.iter().chain([&rest]).flatten().any(|weight| *weight != [0.0]) {
                text.time_samples(WEIGHTS, &times, &frames);
            }
        }
        text.close();
    }

    /// An animation that shows shapes without a clip.
    pub(super) fn write_still(&self, name: &str, text: &mut Text) {
        text.open("SkelAnimation", name, &[]);
        self.write_shapes(text);
        text.tuples(WEIGHTS, self.rest_weights.iter().map(|w| [*w]), Number::Single, &[]);
        text.close();
    }

    fn write_shapes(&self, text: &mut Text) {
        text.texts("uniform token[] blendShapes", self.shapes.iter().map(String::as_str));
    }
}

fn wxyz(q: DQuat) -> [f64; 4] {
    [q.w, q.x, q.y, q.z]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_whole_numbers() {
        for (seconds, rate, code) in [
            (f64::from(3.416_666_7_f32), 120.0, 410.0),
            (f64::from(1.0f32 / 24.0), 24.0, 1.0),
            (0.01, 24.0, 0.24),
            (1e-5, 24.0, 0.000_24),
            (-0.5, 24.0, -12.0),
        ] {
            assert_eq!(time_code(seconds, rate), code);
        }
    }

    #[test]
    fn halves_are_those_of_the_standard() {
        for (x, expected) in [
            (1.0, 1.0),
            (1.0 + 1.0 / 2048.0, 1.0), // a tie: the even one
            (1.0 + 3.0 / 2048.0, 1.0 + 2.0 / 1024.0),
            (0.1, 0.099_975_585_937_5),
            (-3.3, -3.300_781_25),
            (65504.0, 65504.0),
            (65519.0, 65504.0),
            (65520.0, f64::INFINITY),
            (6e-8, 5.960_464_477_539_063e-8),
            (2e-8, 0.0),
        ] {
            assert_eq!(half(x), expected, "{x}");
        }
    }
}
