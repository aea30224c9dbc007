//! Rotational regression: every triangle turns and stretches with the joints near its bone, and the surface follows.
//!
//! In the frame of its bone b, triangle t has the deformation gradient R S with
//!
//! ```text
//! R = Π_j exp(A_j θ_j)       A_j = c W, c ≥ 0 and W a rotation: a fraction of the joint's turn, about an axis of its own
//! S = I + Σ_j B_j θ̂_j        six entries, linear: at rest exactly I
//! ```
//!
//! over the joints j near b in the order of the skeleton. θ_j is the rotation vector of the far bone seen from the near
//! one, θ̂_j the same no longer than training saw it, and a quarter more. Positions are those whose triangles come closest to M_b R S
//! ([`crate::poisson`]), with the skin that training saw to move rigidly held to its bone. Rotation vectors, unlike the
//! entries of matrices, are proportional: half the twist of a joint is half its vector, also beyond a half turn.
//!
//! A rotation vector is known up to whole turns. Of the vectors that mean the same rotation, the one nearest to those of
//! training is taken, so a joint may be turned past a half turn where training was; the jump comes on the far side.
//!
//! The bind pose is exact, and a motion of the whole character carries the skin along. Gradients are bounded in every
//! pose, and with them the distances along the surface; there is no ball around linear blending.
//!
//! Source: Wang, Pulli and Popović, *Real-time enveloping with rotational regression*, 2007. Departures: a joint's whole
//! turn scales with one c, as there; joints are fitted in turn ([`dermis-fit`](https://docs.rs/dermis-fit)); S has no constant,
//! for the bind pose; positions are solved for, not approximated by a matrix of few key points.

use crate::lbs;
use crate::poisson::{Poisson, PoissonScratch};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::rotation::{from_rotation_vector, nearest_rotation, quat_from_matrix, rotation_vector};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Rows};
use dermis_solve::SolveError;
use rayon::prelude::*;
use std::f64::consts::TAU;

/// The model. Coefficients are stored in `f32`; evaluation computes in `f64` and rounds positions.
#[derive(Clone, Debug)]
pub struct RotationalRegression {
    /// The skinning weights, which vertices outside every usable triangle follow.
    pub weights: Influences,
    /// Joints whose turn some triangle follows.
    pub joints: Vec<TurningJoint>,
    /// The bone of each triangle.
    pub bones: Vec<BoneIndex>,
    /// How every triangle follows joints, in the order in which rotations multiply.
    pub terms: Rows<TurnTerm>,
    /// Vertices held to a bone.
    pub anchors: Vec<(u32, BoneIndex)>,
    surface: Poisson,
}

/// A joint between two bones, and where training saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct TurningJoint {
    /// θ = log(R_fromᵀ R_to).
    pub from: BoneIndex,
    /// See `from`.
    pub to: BoneIndex,
    /// Largest |θ̂|, radians.
    pub limit: f32,
    /// Some vectors of training, whole turns counted: what a pose's vector should be near to.
    pub seen: Vec<[f32; 3]>,
}

/// How a triangle follows a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnTerm {
    /// Which joint.
    pub joint: u32,
    /// A_j, column after column; its sign counts the direction from the triangle's bone outwards.
    pub turn: [f32; 9],
    /// B_j: xx, yy, zz, xy, xz, yz of S for θ̂ along x, then y, then z.
    pub stretch: [f32; 18],
}

/// Memory that evaluation reuses.
#[derive(Clone, Debug, Default)]
pub struct TurnScratch {
    rotations: Vec<DMat3>,
    vectors: Vec<(DVec3, DVec3)>,
    gradients: Vec<DMat3>,
    poisson: PoissonScratch,
    /// Positions of the last pose.
    pub(crate) positions: Vec<DVec3>,
}

/// The rotation vector log(R_fromᵀ R_to), of the same rotation the one nearest to one of `seen`.
pub fn joint_vector(from: &DMat3, to: &DMat3, seen: &[[f32; 3]]) -> DVec3 {
    let vector = rotation_vector(quat_from_matrix(&(from.transpose() * *to)));
    let near = |v: &DVec3| {
        let distances = seen.iter().map(|s| v.distance_squared(DVec3::from_array(s.map(f64::from))));
        distances.fold(f64::INFINITY, f64::min)
    };
    branches(vector)
        .into_iter()
        .map(|v| (near(&v), v))
        .reduce(|a, b| if b.0 < a.0 { b } else { a })
        .map_or(vector, |b| b.1)
}

/// The vector and those a turn more and a turn less, which mean the same rotation; itself first.
pub fn branches(vector: DVec3) -> [DVec3; 3] {
    let turn = vector.normalize_or_zero() * TAU;
    [vector, vector - turn, vector + turn]
}

/// S from its six entries.
pub fn symmetric(s: [f64; 6]) -> DMat3 {
    let [xx, yy, zz, xy, xz, yz] = s;
    DMat3::from_cols(DVec3::new(xx, xy, xz), DVec3::new(xy, yy, yz), DVec3::new(xz, yz, zz))
}

/// The rotation part of every bone transform.
pub fn rotations(transforms: &BoneTransforms, out: &mut Vec<DMat3>) {
    out.clear();
    out.extend(transforms.iter().map(|m| nearest_rotation(&m.matrix3)));
}

impl TurnTerm {
    /// A_j.
    pub fn turn(&self) -> DMat3 {
        DMat3::from_cols_array(&self.turn.map(f64::from))
    }
}

/// The parts of a model before its system is factorised.
#[derive(Clone, Debug, Default)]
pub struct TurnParts {
    /// See [`RotationalRegression::joints`].
    pub joints: Vec<TurningJoint>,
    /// See [`RotationalRegression::bones`].
    pub bones: Vec<BoneIndex>,
    /// See [`RotationalRegression::terms`].
    pub terms: Rows<TurnTerm>,
    /// See [`RotationalRegression::anchors`].
    pub anchors: Vec<(u32, BoneIndex)>,
}

impl RotationalRegression {
    /// The model of a rest mesh; factorises its system.
    ///
    /// # Errors
    /// As [`Poisson::new`].
    ///
    /// # Panics
    /// If the parts name vertices, triangles, joints or bones that do not exist: callers check.
    pub fn new(
        rest: &[DVec3],
        triangles: &[[u32; 3]],
        weights: Influences,
        parts: TurnParts,
    ) -> Result<Self, SolveError> {
        assert_eq!(weights.vertices(), rest.len(), "weights of another mesh");
        assert_eq!((parts.bones.len(), parts.terms.len()), (triangles.len(), triangles.len()), "other triangles");
        let anchors: Vec<u32> = parts.anchors.iter().map(|a| a.0).collect();
        let surface = Poisson::new(rest, triangles, &anchors)?;
        let TurnParts { joints, bones, terms, anchors } = parts;
        Ok(Self { weights, joints, bones, terms, anchors, surface })
    }

    /// The gradient R S of a triangle in its bone's frame. `vectors` are (θ, θ̂) of all joints.
    fn gradient(&self, t: usize, vectors: &[(DVec3, DVec3)]) -> DMat3 {
        let (mut turn, mut stretch) = (DMat3::IDENTITY, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
        for term in self.terms.of(t) {
            let (vector, limited) = vectors[term.joint as usize];
            turn *= DMat3::from_quat(from_rotation_vector(term.turn() * vector));
            for (axis, entries) in term.stretch.chunks_exact(6).enumerate() {
                for (s, b) in stretch.iter_mut().zip(entries) {
                    *s += f64::from(*b) * limited[axis];
                }
            }
        }
        turn * symmetric(stretch)
    }

    /// Positions of a pose, less `shift`, into the scratch.
    pub(crate) fn prepare(
        &self,
        rest: impl Fn(usize) -> DVec3 + Sync,
        transforms: &BoneTransforms,
        shift: DVec3,
        scratch: &mut TurnScratch,
    ) {
        rotations(transforms, &mut scratch.rotations);
        scratch.vectors.clear();
        scratch.vectors.extend(self.joints.iter().map(|joint| {
            let [from, to] = [joint.from, joint.to].map(|b| &scratch.rotations[b.get()]);
            let vector = joint_vector(from, to, &joint.seen);
            (vector, vector.clamp_length_max(f64::from(joint.limit)))
        }));
        scratch.gradients.resize(self.bones.len(), DMat3::IDENTITY);
        let vectors = &scratch.vectors;
        scratch.gradients.par_iter_mut().enumerate().with_min_len(crate::CHUNK).for_each(|(t, d)| {
            *d = transforms[self.bones[t]].matrix3 * self.gradient(t, vectors);
        });
        scratch.positions.resize(self.weights.vertices(), DVec3::ZERO);
        // Targets: of vertices that stand alone by linear blending, of anchors by their bone. Others are not read.
        scratch.positions.par_iter_mut().enumerate().with_min_len(crate::CHUNK).for_each(|(v, p)| {
            *p = lbs::blend(self.weights.of(v), transforms).transform_point3(rest(v)) - shift;
        });
        for &(v, bone) in &self.anchors {
            scratch.positions[v as usize] = transforms[bone].transform_point3(rest(v as usize)) - shift;
        }
        self.surface.solve(&scratch.gradients, &mut scratch.poisson, &mut scratch.positions);
    }

    /// Positions of a pose in `f64`.
    pub fn evaluate(&self, rest: &[DVec3], transforms: &BoneTransforms, out: &mut [DVec3]) {
        let mut scratch = TurnScratch::default();
        self.prepare(|v| rest[v], transforms, DVec3::ZERO, &mut scratch);
        out.copy_from_slice(&scratch.positions);
    }

    /// Bytes that evaluation reads.
    pub fn bytes(&self) -> usize {
        let seen: usize = self.joints.iter().map(|j| 12 + 12 * j.seen.len()).sum();
        4 * (self.bones.len() + self.terms.offsets().len())
            + size_of_val(self.terms.entries())
            + 8 * self.anchors.len()
            + 12 * self.weights.count()
            + seen
            + 8 * self.surface.entries()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DQuat;

    /// Vectors a turn apart along one axis are one rotation.
    #[test]
    fn branches_are_the_same_rotation_a_turn_less_and_a_turn_more() {
        let vector = DVec3::new(0.5, -1.0, 0.7);
        let found = branches(vector);
        for (branch, turns) in found.iter().zip([0.0, -1.0, 1.0]) {
            assert!((branch.dot(vector.normalize()) - vector.length() - turns * TAU).abs() < 1e-12);
            let [a, b] = [*branch, vector].map(|v| DMat3::from_quat(DQuat::from_scaled_axis(v)));
            assert!(a.abs_diff_eq(b, 1e-12), "{branch}");
        }
        // Training went to 200 degrees about x: 190 degrees stay 190. Where it stayed at rest they are −170.
        let about = |degrees: f64| DMat3::from_rotation_x(degrees.to_radians());
        for (seen, expected) in [(200.0f32, 190.0f64), (0.0, -170.0), (-200.0, -170.0)] {
            let found = joint_vector(&DMat3::IDENTITY, &about(190.0), &[[seen.to_radians(), 0.0, 0.0]]);
            let expected = DVec3::X * expected.to_radians();
            assert!(found.abs_diff_eq(expected, 1e-12), "{seen}: {found}, not {expected}");
        }
    }
}
