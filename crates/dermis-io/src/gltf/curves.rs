//! The keys of bones as an animation has them, where a bone's node hangs on that of its parent or on nodes that stand still.

use super::clip::{Move, Player, Track, parts};
use crate::curve::{Curve, CurveOf, Interpolation};
use crate::shown::mean_scale;
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::rotation::quat_from_matrix;
use dermis_rig::{BoneIndex, Skeleton};
use std::collections::HashMap;

/// The tracks of one node: translation, rotation, scale.
type Tracks<'a> = [Option<&'a Track>; 3];

/// The curves of the player's bones and morph targets; none for a bone that moves in a way that its own keys do not say.
pub(super) fn curves(player: &Player, skeleton: Option<&Skeleton>) -> Vec<Curve> {
    let mut curves = Vec::new();
    if let Some(skeleton) = skeleton {
        let mut tracks: HashMap<usize, Tracks<'_>> = HashMap::new();
        // Of two channels of one property the last counts.
        for (place, track) in &player.turns {
            tracks.entry(*place).or_default()[1] = Some(track);
        }
        for (place, path, track) in &player.moves {
            tracks.entry(*place).or_default()[if matches!(path, Move::Translation) { 0 } else { 2 }] = Some(track);
        }
        for bone in skeleton.bones() {
            of_bone(player, skeleton, bone, &tracks, &mut curves);
        }
    }
    if let [(morphs, track)] = &player.morphs[..]
        && morphs.iter().copied().eq(0..player.rig.weights.len())
        && is_usable(track)
    {
        let (times, values) = (track.times.to_vec(), track.values.to_vec());
        curves.push(Curve { of: CurveOf::MorphWeights, interpolation: track.interpolation, times, values });
    }
    curves
}

fn of_bone(
    player: &Player,
    skeleton: &Skeleton,
    bone: BoneIndex,
    tracks: &HashMap<usize, Tracks<'_>>,
    curves: &mut Vec<Curve>,
) {
    let rig = &player.rig;
    let place = rig.bones[bone.get()];
    let Some(own) = tracks.get(&place) else { return };
    let parent = skeleton.parents()[bone].map(|parent| rig.bones[parent.get()]);
    // The nodes between the bone's and its parent's, or above all bones.
    let (mut between, mut at) = (DAffine3::IDENTITY, rig.parents[place]);
    while let Some(node) = at.filter(|_| at != parent) {
        if tracks.contains_key(&node) {
            return;
        }
        between = rig.locals[node].affine() * between;
        at = rig.parents[node];
    }
    let (Some(between), Some(base)) = (Similarity::new(&between), parts(&rig.locals[place])) else { return };
    if at != parent || !own.iter().flatten().all(|track| is_usable(track)) {
        return;
    }
    let constant = |value: &[f64]| (Interpolation::Step, vec![0.0], value.to_vec());
    let (translation, rotation, scale) = base;
    let base = [&translation.to_array()[..], &rotation.to_array(), &scale.to_array()];
    for (at, (track, base)) in own.iter().zip(base).enumerate() {
        let (interpolation, times, mut values) = match track {
            Some(track) => (track.interpolation, track.times.to_vec(), track.values.to_vec()),
            None => constant(base),
        };
        let cubic = interpolation == Interpolation::Cubic;
        for (row, value) in values.chunks_exact_mut(base.len()).enumerate() {
            let tangent = cubic && row % 3 != 1;
            match at {
                0 => between.translate(value, tangent),
                1 => between.rotate(value, cubic),
                _ => value.iter_mut().for_each(|scale| *scale *= between.scale),
            }
        }
        let of = [CurveOf::Translation(bone), CurveOf::Rotation(bone), CurveOf::Scale(bone)][at];
        curves.push(Curve { of, interpolation, times, values });
    }
}

fn is_usable(track: &Track) -> bool {
    track.times.first().is_some_and(|time| *time >= 0.0)
}

/// A map that keeps angles: what keys pass through unharmed, also between them.
struct Similarity {
    scale: f64,
    rotation: DQuat,
    matrix: DAffine3,
}

impl Similarity {
    fn new(matrix: &DAffine3) -> Option<Self> {
        let scale = mean_scale(matrix);
        let turn = matrix.matrix3 * (1.0 / scale);
        let is_one = turn.determinant() > 0.0 && (turn.transpose() * turn).abs_diff_eq(DMat3::IDENTITY, 1e-6);
        is_one.then(|| Self { scale, rotation: quat_from_matrix(&turn).normalize(), matrix: *matrix })
    }

    fn translate(&self, value: &mut [f64], is_tangent: bool) {
        let v = DVec3::from_slice(value);
        let moved = if is_tangent { self.matrix.matrix3 * v } else { self.matrix.transform_point3(v) };
        moved.write_to_slice(value);
    }

    /// The keys of a cubic spline keep their lengths: tangents belong to them.
    fn rotate(&self, value: &mut [f64], cubic: bool) {
        let q = DQuat::from_slice(value);
        let q = if cubic || (q.length() - 1.0).abs() <= 1e-6 { q } else { q.normalize() };
        if self.rotation == DQuat::IDENTITY {
            q.write_to_slice(value);
            return;
        }
        // The product is linear in q, which need not be of length one.
        let (p, v, w) = (self.rotation, q.xyz(), q.w);
        let xyz = p.xyz() * w + v * p.w + p.xyz().cross(v);
        value.copy_from_slice(&[xyz.x, xyz.y, xyz.z, p.w * w - p.xyz().dot(v)]);
    }
}
