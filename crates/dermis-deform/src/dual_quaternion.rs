//! Dual quaternion skinning: the blend of rigid motions is a rigid motion.
//!
//! For rigid `M_k = (R_k, t_k)`: real part `q_k` from `R_k`, dual part `e_k = ½ (0, t_k) q_k`. With c the bone of
//! largest weight (ties to the lowest index) and `s_k = +1` if `q_k · q_c ≥ 0`, else −1,
//! `b = Σ w_k s_k q_k`, `e = Σ w_k s_k e_k`, both divided by |b|; the vertex is turned by b and moved by the vector part
//! of `2 e b*`. A tube keeps its radius under a twist, and bends without collapsing.
//!
//! **Bones that scale or shear** are not dropped but blended in two phases, following the paper's section on scaling.
//! Each matrix is split by its polar decomposition into a stretch of the rest pose about the bone's pivot `c_k`, then a
//! rigid motion:
//!
//! ```text
//! A_k = R_k S_k            A_k the 3x3 part of M_k, R_k a rotation, S_k symmetric
//! stretch_k(p) = S_k (p − c_k) + c_k
//! rigid_k(x)   = R_k x + t_k + R_k (S_k − 1) c_k        so that rigid_k(stretch_k(p)) = M_k p
//! p~ = Σ w_k stretch_k(p),   p' = (dual quaternion blend of rigid_k)(p~)
//! ```
//!
//! The pivot is the bone's joint at rest, not the world's origin. It matters only for bones that stretch: about a distant pivot the blended
//! stretch and the blended motion would not agree where the bones meet.
//!
//! **Mirrored matrices** (det A_k < 0) are split with `R_k` the rotation nearest to −A_k and `S_k` negative definite.
//! That split is unique and continuous, and a mirrored character deforms as the mirror image; but a blend of a mirrored
//! and an unmirrored bone passes through a point, as it does with linear blending.
//!
//! What it does badly: the result jumps where `q_k · q_c` changes sign, that is, when the rotation of a bone relative to
//! the dominant one passes 180 degrees, and where two such bones swap dominance; joints bulge on the outside of a bend.
//!
//! Source: Kavan, Collins, Žára & O'Sullivan 2008, "Geometric skinning with approximate dual quaternion blending".
//! Departures: the sign reference is the dominant bone rather than the first; scaling is about pivots at rest.

use crate::lbs::blend_of;
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix};
use dermis_rig::skeleton::frobenius;
use dermis_rig::{BoneIndex, BoneTransforms, BoneVec, Influences, Skeleton};

/// Below this length a blend of quaternions has no direction; only negative weights lead there.
const VANISHING: f64 = 1e-9;
/// A stretch nearer to the identity than this is rounding. Rotations that went through `f32` differ by about 1e-7 and
/// are kept.
const UNSTRETCHED: f64 = 1e-12;

/// The bones of one pose, ready to be blended per vertex. Made once per rig, prepared once per pose.
#[derive(Clone, Debug)]
pub struct DualQuaternions {
    pivots: BoneVec<DVec3>,
    bones: BoneVec<Bone>,
    /// Whether some bone stretches; if none does, the first phase is skipped.
    stretched: bool,
}

/// One bone: M_k = rigid ∘ stretch.
#[derive(Clone, Copy, Debug)]
struct Bone {
    real: DQuat,
    dual: DQuat,
    stretch: DAffine3,
    whole: DAffine3,
}

impl DualQuaternions {
    /// For a skeleton: every bone stretches about its joint at rest. Starts at the bind pose.
    pub fn new(skeleton: &Skeleton) -> Self {
        Self::with_pivots(BoneVec::new(skeleton.bind().iter().map(|bind| bind.translation).collect()))
    }

    /// With a pivot per bone, rest world. Starts at the bind pose.
    pub fn with_pivots(pivots: BoneVec<DVec3>) -> Self {
        let bones = BoneVec::new(vec![Bone::of(&DAffine3::IDENTITY, DVec3::ZERO).0; pivots.len()]);
        Self { pivots, bones, stretched: false }
    }

    /// For rigid bones, whose pivots do not matter: all pivots at the origin.
    pub fn at_origin(bones: usize) -> Self {
        Self::with_pivots(BoneVec::new(vec![DVec3::ZERO; bones]))
    }

    /// Takes the bones of a pose; reuses its memory.
    ///
    /// # Panics
    /// If the pose has another number of bones.
    pub fn prepare(&mut self, transforms: &BoneTransforms) {
        assert_eq!(transforms.len(), self.pivots.len(), "the pose has another number of bones");
        self.stretched = false;
        for bone in transforms.indices() {
            let (split, stretched) = Bone::of(&transforms[bone], self.pivots[bone]);
            self.bones[bone] = split;
            self.stretched |= stretched;
        }
    }

    /// The pivots the bones stretch about, rest world.
    pub fn pivots(&self) -> &BoneVec<DVec3> {
        &self.pivots
    }

    /// The bones of a pose moved by −`shift`, without touching the prepared pose: to `bone` go real and dual part,
    /// stretch, and whether there is a stretch.
    ///
    /// # Panics
    /// If the pose has another number of bones.
    pub(crate) fn split(
        &self,
        transforms: &BoneTransforms,
        shift: DVec3,
        mut bone: impl FnMut(DQuat, DQuat, &DAffine3, bool),
    ) {
        assert_eq!(transforms.len(), self.pivots.len(), "the pose has another number of bones");
        for (at, m) in transforms.enumerate() {
            let local = DAffine3 { matrix3: m.matrix3, translation: m.translation - shift };
            let (split, stretched) = Bone::of(&local, self.pivots[at]);
            bone(split.real, split.dual, &split.stretch, stretched);
        }
    }

    /// Whether some bone of the pose scales or shears.
    pub fn is_stretched(&self) -> bool {
        self.stretched
    }

    /// The map of one vertex in the prepared pose: affine, and rigid if no bone stretches. `p' = map(p)`.
    ///
    /// Its 3x3 part serves [`skinned_normal`](crate::skinned_normal). Without influences it is the identity.
    ///
    /// # Panics
    /// If an influence names a bone that does not exist.
    pub fn map(&self, influences: &[(BoneIndex, f64)]) -> DAffine3 {
        let Some(dominant) = dominant(influences) else { return DAffine3::IDENTITY };
        let reference = self.bones[dominant].real;
        let zero = DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0);
        let (mut b, mut e) = (zero, zero);
        for &(bone, weight) in influences {
            let bone = &self.bones[bone];
            let signed = if bone.real.dot(reference) >= 0.0 { weight } else { -weight };
            b += bone.real * signed;
            e += bone.dual * signed;
        }
        let length = b.length();
        if length < VANISHING {
            return self.bones[dominant].whole;
        }
        let (b, e) = (b * (1.0 / length), e * (1.0 / length));
        let moved = e.mul_quat(b.conjugate());
        let rigid = DAffine3 { matrix3: DMat3::from_quat(b), translation: DVec3::new(moved.x, moved.y, moved.z) * 2.0 };
        match self.stretched {
            true => rigid * blend_of(influences, |bone| &self.bones[bone].stretch),
            false => rigid,
        }
    }

    /// Skins every vertex in the prepared pose: `out[v] = map(weights of v)(rest[v])`.
    ///
    /// # Panics
    /// If `rest`, `weights` and `out` differ in number, or the weights name a bone that does not exist.
    pub fn deform(&self, rest: &[DVec3], weights: &Influences, out: &mut [DVec3]) {
        assert_eq!(rest.len(), weights.vertices(), "positions and weights differ in number");
        crate::for_each_vertex(rest, out, |v, p| self.map(weights.of(v)).transform_point3(p));
    }
}

/// The bone of largest weight, ties to the lowest index.
fn dominant(influences: &[(BoneIndex, f64)]) -> Option<BoneIndex> {
    let mut best: Option<(BoneIndex, f64)> = None;
    for &(bone, weight) in influences {
        if best.is_none_or(|(first, most)| weight > most || (weight == most && bone < first)) {
            best = Some((bone, weight));
        }
    }
    best.map(|(bone, _)| bone)
}

impl Bone {
    /// Splits M_k into a stretch about `pivot`, then a rigid motion; says whether there is a stretch at all.
    fn of(matrix: &DAffine3, pivot: DVec3) -> (Self, bool) {
        let rotation = polar_rotation(&matrix.matrix3);
        let stretch = rotation.transpose() * matrix.matrix3;
        let stretched = frobenius(&(stretch - DMat3::IDENTITY)) > UNSTRETCHED;
        let (stretch, translation) = if stretched {
            let about_pivot = DAffine3 { matrix3: stretch, translation: pivot - stretch * pivot };
            (about_pivot, matrix.translation + rotation * (stretch * pivot - pivot))
        } else {
            (DAffine3::IDENTITY, matrix.translation)
        };
        let real = quat_from_matrix(&rotation);
        let half = translation * 0.5;
        let dual = DQuat::from_xyzw(half.x, half.y, half.z, 0.0).mul_quat(real);
        (Self { real, dual, stretch, whole: *matrix }, stretched)
    }
}

/// R of A = R S: S positive semidefinite, or negative definite where A mirrors.
fn polar_rotation(a: &DMat3) -> DMat3 {
    match mirrors(a) {
        true => nearest_rotation(&-*a),
        false => nearest_rotation(a),
    }
}

/// Whether a matrix turns space inside out: det A < 0, where |det A| ≤ 1e-9 |A|³ counts as flat, not as mirrored.
pub(crate) fn mirrors(a: &DMat3) -> bool {
    let size = frobenius(a);
    a.determinant() < -1e-9 * size * size * size
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn bone(at: usize) -> BoneIndex {
        BoneIndex::new(at)
    }

    fn row(weights: &[f64]) -> Vec<(BoneIndex, f64)> {
        weights.iter().enumerate().map(|(at, &w)| (bone(at), w)).collect()
    }

    fn prepared(matrices: &[DAffine3]) -> DualQuaternions {
        let mut made = DualQuaternions::at_origin(matrices.len());
        made.prepare(&BoneTransforms::new(matrices.to_vec()));
        made
    }

    fn rigid(x: f64, y: f64, z: f64, angle: f64) -> DAffine3 {
        let axis = DVec3::new(x, y, z).normalize();
        DAffine3::from_rotation_translation(DQuat::from_axis_angle(axis, angle), DVec3::new(z, -x, 2.0 * y))
    }

    fn some_rigid() -> Vec<DAffine3> {
        vec![rigid(1.0, 0.2, 0.3, 0.9), rigid(-0.4, 1.0, 0.1, 2.2), rigid(0.3, -0.2, 1.0, 1.4)]
    }

    #[test]
    fn one_influence_is_the_bone_itself_whatever_its_matrix() {
        let shear = DMat3::from_cols(DVec3::new(1.0, 0.3, 0.0), DVec3::new(0.2, 2.0, 0.1), DVec3::new(0.5, 0.0, 0.7));
        let flat = DAffine3::from_scale(DVec3::new(1.0, 2.0, 0.0));
        let mirror = DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0)) * rigid(1.0, 2.0, 3.0, 1.0);
        let gone = DAffine3 { matrix3: DMat3::ZERO, translation: DVec3::ONE };
        let matrices = [rigid(1.0, 1.0, 0.0, PI), DAffine3::from_mat3(shear), flat, mirror, gone];
        let pivots = (0..5).map(|k| DVec3::new(f64::from(k), -1.0, 0.5)).collect();
        let mut blend = DualQuaternions::with_pivots(BoneVec::new(pivots));
        blend.prepare(&BoneTransforms::new(matrices.to_vec()));
        assert!(blend.is_stretched());
        for (at, matrix) in matrices.iter().enumerate() {
            let map = blend.map(&[(bone(at), 1.0)]);
            assert!(map.abs_diff_eq(*matrix, 1e-13), "bone {at}: {map} for {matrix}");
        }
    }

    #[test]
    fn equivariant_on_both_sides_and_rigid() {
        let (matrices, w) = (some_rigid(), row(&[0.2, 0.5, 0.3]));
        let (g, h) = (rigid(0.1, 0.5, -1.0, 2.9), rigid(2.0, 0.5, 1.0, -1.9));
        let plain = prepared(&matrices).map(&w);
        let moved: Vec<_> = matrices.iter().map(|m| g * *m * h).collect();
        assert!(prepared(&moved).map(&w).abs_diff_eq(g * plain * h, 1e-14));
        let m = plain.matrix3;
        assert!((m * m.transpose()).abs_diff_eq(DMat3::IDENTITY, 1e-14) && (m.determinant() - 1.0).abs() < 1e-14);
    }

    #[test]
    fn the_sign_of_a_quaternion_does_not_matter() {
        // 190 degrees about x is also −170 degrees; seen from the dominant bone the short way round is taken.
        let (near, far) = (DAffine3::from_rotation_x(0.1), DAffine3::from_rotation_x(0.1 + 190f64.to_radians()));
        let blended = prepared(&[near, far]).map(&row(&[0.5, 0.5]));
        let expected = DAffine3::from_rotation_x(0.1 - 85f64.to_radians());
        assert!(blended.abs_diff_eq(expected, 1e-14));
        // Three bones, two of them with antipodal canonical quaternions relative to the first.
        let turn = |degrees: f64| DAffine3::from_rotation_z(degrees.to_radians());
        let blended = prepared(&[turn(0.0), turn(170.0), turn(-170.0)]).map(&row(&[0.4, 0.3, 0.3]));
        assert!(blended.abs_diff_eq(DAffine3::IDENTITY, 1e-14));
        let blended = prepared(&[turn(0.0), turn(170.0), turn(190.0)]).map(&row(&[0.0, 0.5, 0.5]));
        assert!(blended.abs_diff_eq(turn(180.0), 1e-14));
    }

    #[test]
    fn ties_take_their_sign_from_the_lowest_bone() {
        // Relative to bone 0, bone 2 flips; relative to bone 1 nothing would, and the blend would be another.
        let turn = |degrees: f64| DAffine3::from_rotation_z(degrees.to_radians());
        let b = |angle: f64| DQuat::from_rotation_z(angle.to_radians());
        let sum = b(0.0) + b(100.0) + (-b(200.0));
        let expected = DAffine3::from_quat(sum.normalize());
        let third = 1.0 / 3.0;
        let map = prepared(&[turn(0.0), turn(100.0), turn(200.0)]).map(&row(&[third; 3]));
        assert!(map.abs_diff_eq(expected, 1e-14));
    }

    #[test]
    fn negative_weights_that_cancel_leave_the_dominant_bone() {
        let matrices = [rigid(1.0, 0.0, 0.0, 0.5), rigid(1.0, 0.0, 0.0, 0.5)];
        let map = prepared(&matrices).map(&row(&[0.5, -0.5]));
        assert!(map.abs_diff_eq(matrices[0], 1e-15));
        assert_eq!(prepared(&matrices).map(&[]), DAffine3::IDENTITY);
    }

    #[test]
    fn a_twist_keeps_the_radius() {
        for degrees in [30f64, 90.0, 179.0] {
            let twist = prepared(&[DAffine3::IDENTITY, DAffine3::from_rotation_x(degrees.to_radians())]);
            for u in [0.1, 0.5, 0.7] {
                let p = twist.map(&row(&[1.0 - u, u])).transform_point3(DVec3::new(0.3, 0.15, 0.2));
                assert!((p.y.hypot(p.z) - 0.25).abs() < 1e-15 && (p.x - 0.3).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn scaled_bones_blend_their_stretch_first() {
        // By hand: pivot (1, 0, 0). Bone 0 rests; bone 1 stretches by (1, 3, 5) about the pivot, then turns about x by
        // 120 degrees through it. Halfway: p − c = (0, 1, 1) is stretched by (1, 2, 3) to (0, 2, 3), then turned by 60
        // degrees: y = 2/2 − 3 √3/2, z = 2 √3/2 + 3/2.
        let pivot = DVec3::X;
        let about = |m: DAffine3| DAffine3::from_translation(pivot) * m * DAffine3::from_translation(-pivot);
        let stretch = DAffine3::from_scale(DVec3::new(1.0, 3.0, 5.0));
        let bone_1 = about(DAffine3::from_rotation_x(120f64.to_radians()) * stretch);
        let mut blend = DualQuaternions::with_pivots(BoneVec::new(vec![DVec3::ZERO, pivot]));
        blend.prepare(&BoneTransforms::new(vec![DAffine3::IDENTITY, bone_1]));
        let half = row(&[0.5, 0.5]);
        let posed = blend.map(&half).transform_point3(DVec3::new(1.0, 1.0, 1.0));
        let root = 3f64.sqrt();
        assert!(posed.abs_diff_eq(DVec3::new(1.0, 1.0 - 1.5 * root, root + 1.5), 1e-14), "{posed}");
        assert!(blend.map(&half).transform_point3(pivot).abs_diff_eq(pivot, 1e-14), "the joint stays");
    }

    #[test]
    fn scaled_bones_are_equivariant_when_pivots_move_along() {
        let stretch = DAffine3::from_scale(DVec3::new(0.5, 2.0, 1.3));
        let matrices: Vec<_> = some_rigid().iter().map(|m| *m * stretch).collect();
        let pivots = vec![DVec3::ZERO, DVec3::new(0.2, 0.3, 0.1), DVec3::new(1.0, -0.4, 0.6)];
        let w = row(&[0.2, 0.5, 0.3]);
        let (g, h) = (rigid(0.1, 0.5, -1.0, 2.9), rigid(2.0, 0.5, 1.0, -1.9));
        let map = |pivots: Vec<DVec3>, matrices: Vec<DAffine3>| {
            let mut made = DualQuaternions::with_pivots(BoneVec::new(pivots));
            made.prepare(&BoneTransforms::new(matrices));
            made.map(&w)
        };
        let plain = map(pivots.clone(), matrices.clone());
        let moved = map(
            pivots.iter().map(|p| h.transform_point3(*p)).collect(),
            matrices.iter().map(|m| g * *m * h.inverse()).collect(),
        );
        assert!(moved.abs_diff_eq(g * plain * h.inverse(), 1e-13));
    }

    #[test]
    fn a_mirrored_character_deforms_as_the_mirror_image() {
        let (matrices, w) = (some_rigid(), row(&[0.2, 0.5, 0.3]));
        let mirror = DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0));
        let mirrored: Vec<_> = matrices.iter().map(|m| mirror * *m).collect();
        assert!(prepared(&mirrored).map(&w).abs_diff_eq(mirror * prepared(&matrices).map(&w), 1e-13));
    }
}
