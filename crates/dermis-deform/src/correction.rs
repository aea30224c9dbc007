//! A learnt correction over a base deformer: linear in the bones' relative transforms, bounded in every pose.
//!
//! For vertex v with anchor bone a,
//!
//! ```text
//! p' = base + Π_v( R_a ( c_v + Σ_k U_vk : f_ak ) ),      f_ak = limit( [Ñ_ak − I, translation divided by L] ),
//! ```
//!
//! Ñ_ak = N_a⁻¹ N_k the transform of bone k seen from the anchor, N the bone transforms with frozen joints welded, R_a
//! the linear part of M_a, Π_v the projection to a ball. Multi-weight enveloping in all its forms is such a map: the
//! published world form has no anchor (f_k from M_k itself, R = I), the row form lets axis j read row j only.
//!
//! The guard has three parts, each of which leaves the training poses as they are:
//! - **Welding.** A joint that never moved in training has no influence: N_b = N_parent across it. Noise in its matrices
//!   would otherwise be fitted at full strength, and bones that always moved as one share coefficients arbitrarily.
//! - **Limits.** f_ak is scaled by min(1, κ m / |f_ak|), m its largest norm in training, κ = 1.25.
//! - **The ball.** Π_v projects to the radius 1.5 ρ_v, ρ_v the largest training residual of the base at v. Hence in
//!   every pose |p' − base| ≤ 1.5 ρ_v, and a vertex whose examples agree with the base never moves. Projection to a ball
//!   is non-expansive, so it cannot tear the surface.

use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::{invert, row};
use dermis_rig::{BoneIndex, BoneTransforms, Skeleton};

/// How far a feature may exceed its largest norm in training before it is held: κ.
///
/// Above 1, because a motion a little larger than the training must pass; the ball stands behind it.
pub const LIMIT_FACTOR: f64 = 1.25;
/// Radius of the ball in units of the largest training residual.
pub const BALL_FACTOR: f64 = 1.5;
/// A feature norm below this is a joint that never moved: float32 rounding of matrices is 1e-7, times the distance from
/// the origin in L where that is larger.
pub const FROZEN: f64 = 1e-6;

/// Which entries of a bone's transform an output axis reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Axis j reads row j: 4 numbers per bone and axis (the published class).
    Row,
    /// Every axis reads all three rows: 12 numbers per bone and axis.
    Full,
}

impl Rows {
    /// Coefficients per (vertex, bone): three axes times the entries each reads.
    pub fn coefficients(self) -> usize {
        match self {
            Self::Row => 12,
            Self::Full => 36,
        }
    }
}

/// A bone seen from an anchor: one feature block of a pose, shared by all vertices that use it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The anchor; `None` for the world.
    pub anchor: Option<BoneIndex>,
    /// The bone.
    pub bone: BoneIndex,
    /// Largest norm the feature may have; infinite without limits.
    pub limit: f64,
}

/// A correction in `f64`, the reference. Everything is relative to the bind pose, where features vanish.
#[derive(Clone, Debug)]
pub struct Correction {
    /// Which entries an axis reads.
    pub rows: Rows,
    /// L: features divide translations by it.
    pub length: f64,
    /// Joints that never moved in training.
    pub weld: Weld,
    /// The distinct (anchor, bone) pairs.
    pub pairs: Vec<Pair>,
    /// Anchor of each vertex; `None` for the world.
    pub anchors: Vec<Option<BoneIndex>>,
    /// Where the terms of vertex v start; one more entry than vertices.
    pub offsets: Vec<u32>,
    /// Pair of each term.
    pub terms: Vec<u32>,
    /// [`Rows::coefficients`] numbers per term: axis by axis, row by row, translation last in each row.
    pub coefficients: Vec<f64>,
    /// c_v, the correction at the bind pose, in the anchor's frame; empty when all are zero.
    pub constants: Vec<DVec3>,
    /// Radius of the ball per vertex, metres; empty without the guard.
    pub radii: Vec<f64>,
}

/// What one pose gives to all vertices.
#[derive(Clone, Debug, Default)]
pub struct PoseFeatures {
    /// Twelve numbers per pair: rows of [Ñ − I], translation over L last in each row, limited.
    pub features: Vec<[f64; 12]>,
    /// Pairs whose limit acted.
    pub limited: usize,
    welded: Vec<DAffine3>,
}

impl Correction {
    /// A correction of no vertices.
    pub fn empty(rows: Rows, length: f64) -> Self {
        Self {
            rows,
            length,
            weld: Weld { parents: vec![], frozen: vec![] },
            pairs: vec![],
            anchors: vec![],
            offsets: vec![],
            terms: vec![],
            coefficients: vec![],
            constants: vec![],
            radii: vec![],
        }
    }

    /// The features of a pose for every pair.
    pub fn features(&self, transforms: &BoneTransforms, out: &mut PoseFeatures) {
        self.weld.apply(transforms, &mut out.welded);
        out.limited = 0;
        out.features.clear();
        for pair in &self.pairs {
            let mut f = relative_features(&out.welded, pair.anchor, pair.bone, self.length);
            let norm = f.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm > pair.limit {
                out.limited += 1;
                f.iter_mut().for_each(|x| *x *= pair.limit / norm);
            }
            out.features.push(f);
        }
    }

    /// The correction of vertex `v` in posed world space, and whether the ball held it back.
    pub fn at(&self, v: usize, features: &PoseFeatures, transforms: &BoneTransforms) -> (DVec3, bool) {
        let mut delta = self.constants.get(v).copied().unwrap_or(DVec3::ZERO);
        let size = self.rows.coefficients();
        for at in self.offsets[v] as usize..self.offsets[v + 1] as usize {
            let f = &features.features[self.terms[at] as usize];
            let u = &self.coefficients[at * size..(at + 1) * size];
            for axis in 0..3 {
                delta[axis] += match self.rows {
                    Rows::Row => (0..4).map(|c| u[axis * 4 + c] * f[axis * 4 + c]).sum::<f64>(),
                    Rows::Full => (0..12).map(|c| u[axis * 12 + c] * f[c]).sum::<f64>(),
                };
            }
        }
        let world = self.anchors[v].map_or(delta, |a| transforms[a].matrix3 * delta);
        match self.radii.get(v) {
            Some(&radius) => project(world, radius),
            None => (world, false),
        }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.anchors.len()
    }
}

/// Π: radial projection to the ball of `radius`, and whether it acted. Anything not finite becomes zero.
pub fn project(delta: DVec3, radius: f64) -> (DVec3, bool) {
    let length = delta.length();
    if length <= radius {
        (delta, false)
    } else if length.is_finite() {
        (delta * (radius / length), true)
    } else {
        (DVec3::ZERO, true)
    }
}

/// Rows of M̃ − I with translations over L: M̃ = A⁻¹ B of two bones, or M itself without an anchor.
///
/// A singular anchor gives the zero feature: nothing can be seen from it.
pub fn relative_features(
    transforms: &[DAffine3],
    anchor: Option<BoneIndex>,
    bone: BoneIndex,
    length: f64,
) -> [f64; 12] {
    let m = transforms[bone.get()];
    let relative = match anchor {
        None => m,
        Some(a) if a == bone => DAffine3::IDENTITY,
        Some(a) => match relative(&transforms[a.get()], &m) {
            Some(relative) => relative,
            None => return [0.0; 12],
        },
    };
    let mut f = [0.0; 12];
    for j in 0..3 {
        let r = row(&relative, j);
        for c in 0..3 {
            f[j * 4 + c] = r[c] - f64::from(u8::from(c == j));
        }
        f[j * 4 + 3] = r[3] / length;
    }
    f
}

/// A⁻¹ B, computed about A's own origin so that a character far from the world's origin loses no digits.
fn relative(a: &DAffine3, b: &DAffine3) -> Option<DAffine3> {
    let inverse = invert(&DAffine3 { matrix3: a.matrix3, translation: DVec3::ZERO })?.matrix3;
    Some(DAffine3 { matrix3: inverse * b.matrix3, translation: inverse * (b.translation - a.translation) })
}

/// Joints that never moved in training, welded: features are those of the pose without them.
#[derive(Clone, Debug, PartialEq)]
pub struct Weld {
    /// Parent of each bone.
    pub parents: Vec<Option<BoneIndex>>,
    /// Whether the joint between a bone and its parent is frozen.
    pub frozen: Vec<bool>,
}

impl Weld {
    /// Nothing welded.
    pub fn none(skeleton: &Skeleton) -> Self {
        Self { parents: skeleton.parents().to_vec(), frozen: vec![false; skeleton.len()] }
    }

    /// Welds the joints that never moved more over the training poses than [`FROZEN`] and rounding. `length` is L.
    pub fn of_training<'a>(
        skeleton: &Skeleton,
        poses: impl IntoIterator<Item = &'a BoneTransforms>,
        length: f64,
    ) -> Self {
        let largest = largest_joint_motions(skeleton, poses, length);
        let frozen = skeleton.parents().iter().zip(&largest).map(|(p, &m)| p.is_some() && m < FROZEN).collect();
        Self { parents: skeleton.parents().to_vec(), frozen }
    }

    /// N: N_b = N_parent across a frozen joint, N_parent M_parent⁻¹ M_b across any other below one, M_b elsewhere.
    pub fn apply(&self, transforms: &BoneTransforms, out: &mut Vec<DAffine3>) {
        out.clear();
        out.extend_from_slice(transforms.as_slice());
        if !self.frozen.contains(&true) {
            return;
        }
        for b in 0..out.len() {
            let Some(parent) = self.parents[b] else { continue };
            let p = parent.get();
            if self.frozen[b] {
                out[b] = out[p];
            } else if out[p] != transforms[parent] {
                let joint = relative(&transforms[parent], &transforms[BoneIndex::new(b)]);
                out[b] = joint.map_or(out[p], |joint| out[p] * joint);
            }
        }
    }

    /// Number of welded joints.
    pub fn count(&self) -> usize {
        self.frozen.iter().filter(|f| **f).count()
    }
}

/// Per bone, the largest norm over the poses of its joint's feature, the bone seen from its parent; zero for a root.
///
/// Rounding of matrices grows with the joint's distance from the origin, so the norm is divided by that distance in L
/// where it exceeds one: a character that walks 10 m away does not loosen its frozen joints.
fn largest_joint_motions<'a>(
    skeleton: &Skeleton,
    poses: impl IntoIterator<Item = &'a BoneTransforms>,
    length: f64,
) -> Vec<f64> {
    let mut largest = vec![0.0f64; skeleton.len()];
    for pose in poses {
        for (bone, parent) in skeleton.parents().enumerate().filter(|(_, p)| p.is_some()) {
            let f = relative_features(pose.as_slice(), *parent, bone, length);
            let norm = f.iter().map(|x| x * x).sum::<f64>().sqrt();
            let joint = skeleton.bind()[bone].translation;
            let reach = pose[bone].transform_point3(joint).length().max(joint.length()) / length;
            largest[bone.get()] = largest[bone.get()].max(norm / reach.max(1.0));
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::{DMat3, DQuat};

    fn turn(angle: f64) -> DAffine3 {
        DAffine3::from_rotation_translation(DQuat::from_rotation_z(angle), DVec3::new(angle, 0.0, 0.0))
    }

    fn chain(bones: usize) -> Skeleton {
        let parents = (0..bones).map(|b| b.checked_sub(1).map(BoneIndex::new)).collect();
        Skeleton::new((0..bones).map(|b| format!("b{b}")).collect(), parents, vec![DAffine3::IDENTITY; bones]).unwrap()
    }

    #[test]
    fn a_frozen_joint_has_no_influence_and_bones_below_it_keep_theirs() {
        let train = BoneTransforms::new(vec![turn(0.0), turn(0.5), turn(0.5), turn(0.9)]);
        let weld = Weld::of_training(&chain(4), [&train], 1.0);
        assert_eq!(weld.frozen, [false, false, true, false]);
        let posed = BoneTransforms::new(vec![turn(0.1), turn(0.4), turn(2.0), turn(2.7)]);
        let mut welded = Vec::new();
        weld.apply(&posed, &mut welded);
        assert_eq!(welded[2], welded[1]);
        // Bone 3 keeps its own joint: seen from bone 2 it stands as before.
        let expected = posed[BoneIndex::new(2)].inverse() * posed[BoneIndex::new(3)];
        assert!((welded[2].inverse() * welded[3]).abs_diff_eq(expected, 1e-14));
    }

    #[test]
    fn features_do_not_see_a_moved_character_even_far_away() {
        let pose = BoneTransforms::new(vec![turn(0.3), turn(1.2)]);
        let far = DAffine3::from_rotation_translation(DQuat::from_rotation_y(1.0), DVec3::splat(1e6));
        let f = |p: &BoneTransforms| relative_features(p.as_slice(), Some(BoneIndex::new(0)), BoneIndex::new(1), 2.0);
        let (near, moved) = (f(&pose), f(&pose.moved(far)));
        // Translations near 1e6 carry 1e6 · 2⁻⁵² ≈ 2e-10.
        assert!(near.iter().zip(moved).all(|(a, b)| (a - b).abs() < 1e-9));
    }

    #[test]
    fn projection_is_non_expansive_and_turns_with_the_world() {
        let r = DMat3::from_rotation_x(0.7);
        for (a, b) in [(DVec3::new(3.0, 1.0, 0.2), DVec3::new(-0.1, 0.4, 0.0)), (DVec3::splat(0.1), DVec3::X * 9.0)] {
            let (pa, pb) = (project(a, 1.0).0, project(b, 1.0).0);
            assert!((pa - pb).length() <= (a - b).length() + 1e-15);
            assert!((project(r * a, 1.0).0 - r * pa).length() < 1e-15);
        }
        assert_eq!(project(DVec3::NAN, 1.0), (DVec3::ZERO, true));
    }
}
