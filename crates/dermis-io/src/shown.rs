//! Where a skin rests: the map from the space of its bind matrices to the world that the file shows.
//!
//! T_k I_k of the default pose is that map, followed by what the pose does to joint k. Where most of the skin agrees on
//! one map, that is it. Otherwise the file's own nodes say it: the bind matrices live in the world, or in the space of a
//! node above the skeleton, in which exporters keep units and axes. The space from which the pose moves the skin least is
//! taken. Where all of them are far off, the topmost joint says it, which a pose seldom turns. Joints that carry no skin
//! say nothing: exporters give them bind matrices of their own.

use crate::agree::{AGREE, apart, corners};
use crate::contents::Flaw;
use crate::flaws::Flaws;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix, rotation_vector};
use dermis_rig::skeleton::{frobenius, invert};
use dermis_rig::{Mesh, Skeleton, WorldPose};

/// Nodes above a skeleton whose spaces are tried; more are a hostile file's.
pub(crate) const SPACES: usize = 8;

/// Scales that differ by less are one: a hundred times what single precision loses along a chain of nodes.
pub(crate) const SAME_SCALE: f64 = 1e-3;

/// How far a pose may be from a space of the file, on average over the skin, before the topmost joint is asked: walking
/// figures are some 0.4 from theirs, in radians plus parts of the size, and figures in another space some 1.5.
const FAR: f64 = 0.5;

/// A joint that carries skin: T_k I_k of the default pose, the weight it carries, and its place in the bind pose.
pub(crate) struct Carrier {
    pub map: DAffine3,
    pub weight: f64,
    pub place: DVec3,
}

/// The joints of one skin that carry skin, in the order of the file.
pub(crate) struct Carriers<'a> {
    pub joints: &'a [Carrier],
    /// Which of them is nearest to the root.
    pub top: usize,
    /// Corners of the mesh's box in the bind pose.
    pub corners: &'a [DVec3; 8],
}

impl Carriers<'_> {
    /// The map that moves the bind space to what the file shows.
    ///
    /// - `spaces`: maps that the file's nodes and its other skins suggest, the likeliest first
    pub fn rest(&self, spaces: &[DAffine3]) -> DAffine3 {
        let Some(top) = self.joints.get(self.top) else { return DAffine3::IDENTITY };
        let all: f64 = self.joints.iter().map(|joint| joint.weight).sum();
        let agreed = |g: &DAffine3| {
            let agree = self.joints.iter().filter(|joint| agrees(&joint.map, g, self.corners, AGREE));
            let (count, weight) = agree.fold((0, 0.0), |(count, sum), joint| (count + 1, sum + joint.weight));
            // Most joints as well as half the skin: one joint may carry that much, and be posed.
            invert(g).is_some() && 2 * count > self.joints.len() && 2.0 * weight >= all
        };
        // A bind pose that is the default pose needs no rounding errors of a move: the identity comes first.
        let told = [DAffine3::IDENTITY, self.joints[0].map, top.map];
        if let Some(g) = told.iter().chain(spaces).find(|g| agreed(g)) {
            return *g;
        }
        let Some(scale) = self.scale() else { return DAffine3::IDENTITY };
        let mut best = (f64::INFINITY, DAffine3::IDENTITY);
        for space in [DAffine3::IDENTITY].iter().chain(spaces) {
            let space = scaled(space, scale);
            let misfit = self.misfit(&space);
            // Of spaces that fit alike, the first.
            if misfit < best.0 - 1e-6 {
                best = (misfit, space);
            }
        }
        let by_top = top.similarity(scale);
        // Half as far: where the pose itself is far from any space, the topmost joint is as well.
        if best.0 > FAR && self.misfit(&by_top) < 0.5 * best.0 { by_top } else { best.1 }
    }

    /// The scale that half of the skin does not exceed; `None` if no joint has one.
    pub fn scale(&self) -> Option<f64> {
        let mut scales: Vec<(f64, f64)> =
            self.joints.iter().map(|joint| (mean_scale(&joint.map), joint.weight)).collect();
        scales.retain(|(scale, _)| scale.is_finite() && *scale > 0.0);
        scales.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all: f64 = scales.iter().map(|(_, weight)| weight).sum();
        let mut below = 0.0;
        let median = scales.iter().find(|(_, weight)| {
            below += weight;
            2.0 * below >= all
        });
        median.map(|(scale, _)| if (scale - 1.0).abs() <= SAME_SCALE { 1.0 } else { *scale })
    }

    /// How far the default pose is from `g`, on average over the skin: the angle, the logarithm of the scale, and how far
    /// joints are displaced as a part of the size.
    fn misfit(&self, g: &DAffine3) -> f64 {
        /// A joint that a pose squeezes flat is far off, not infinitely.
        const MOST: f64 = 4.0;
        let (Some(back), size) = (invert(g), size(g, self.corners)) else { return f64::INFINITY };
        let (mut sum, mut all) = (0.0, 0.0);
        for joint in self.joints {
            let pose = back.matrix3 * joint.map.matrix3;
            let sign = pose.determinant().signum();
            let turned = rotation_vector(quat_from_matrix(&nearest_rotation(&(pose * sign)))).length();
            let mirrored = if sign < 0.0 { std::f64::consts::PI } else { 0.0 };
            let scaled = mean_scale(&DAffine3::from_mat3(pose)).ln().abs();
            let moved = joint.map.transform_point3(joint.place).distance(g.transform_point3(joint.place)) / size;
            let off = turned + mirrored + scaled + moved;
            sum += joint.weight * if off.is_nan() { MOST } else { off.min(MOST) };
            all += joint.weight;
        }
        sum / all
    }
}

impl Carrier {
    /// The similarity of that scale nearest to the joint's map, which it meets at the joint's place.
    fn similarity(&self, scale: f64) -> DAffine3 {
        let sign = if self.map.matrix3.determinant() < 0.0 { -1.0 } else { 1.0 };
        let matrix3 = nearest_rotation(&(self.map.matrix3 * sign)) * (scale * sign);
        DAffine3 { matrix3, translation: self.map.transform_point3(self.place) - matrix3 * self.place }
    }
}

/// A pose that a file shows without a clip, if it moves the mesh's box away from rest and is finite; bones that do are counted.
pub(crate) fn moved_from_rest(
    skeleton: &Skeleton,
    shown: WorldPose,
    mesh: Option<&Mesh>,
    flaws: &mut Flaws,
) -> Option<WorldPose> {
    let bounds = mesh.map(Mesh::bounds).unwrap_or_else(|| {
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        skeleton.bind().iter().fold(start, |(low, high), b| (low.min(b.translation), high.max(b.translation)))
    });
    let corners = corners(bounds);
    let diagonal = corners[0].distance(corners[7]);
    let mut is_rest = true;
    for (bone, now) in skeleton.bones().zip(shown.bones.iter()) {
        let moved = *now * skeleton.inverse_bind()[bone];
        if apart(&moved, &DAffine3::IDENTITY, &corners) > AGREE * diagonal {
            flaws.add(Flaw::NotAtBind, || skeleton.names()[bone].clone());
            is_rest = false;
        }
    }
    (!is_rest && shown.bones.iter().all(|bone| bone.is_finite())).then_some(shown)
}

/// Whether two maps of a box are one, within `tolerance` of the size of `b`'s image.
pub(crate) fn agrees(a: &DAffine3, b: &DAffine3, corners: &[DVec3; 8], tolerance: f64) -> bool {
    apart(a, b, corners) <= tolerance * size(b, corners)
}

/// Whether a map scales its axes unevenly.
pub(crate) fn is_uneven(map: &DAffine3) -> bool {
    let (m, scale) = (map.matrix3, mean_scale(map));
    frobenius(&(m.transpose() * m - DMat3::IDENTITY * (scale * scale))) > 2.0 * SAME_SCALE * scale * scale
}

/// The cube root of how much a map grows volumes.
pub(crate) fn mean_scale(map: &DAffine3) -> f64 {
    map.matrix3.determinant().abs().cbrt()
}

/// A space whose own unit is changed where its scale is not `scale`.
fn scaled(space: &DAffine3, scale: f64) -> DAffine3 {
    let ratio = scale / mean_scale(space);
    if (ratio - 1.0).abs() <= SAME_SCALE { *space } else { *space * DAffine3::from_scale(DVec3::splat(ratio)) }
}

/// The longest diagonal of the image of the box.
fn size(map: &DAffine3, corners: &[DVec3; 8]) -> f64 {
    let across = |at: usize| (map.transform_point3(corners[at]) - map.transform_point3(corners[7 - at])).length();
    (0..4).map(across).fold(0.0, f64::max)
}
