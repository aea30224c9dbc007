//! Deformers as they run: `f32`, flat arrays, parallel over vertices, no allocation per pose.
//!
//! [`Deformer::bake`] is the one place where `f64` becomes `f32`. Bone matrices are read in `f64`; what depends on the
//! pose alone (features, blended bones) is computed in `f64` and rounded once. Positions are computed about the
//! character's middle and moved to its place at the end, so a character far from the origin keeps its digits up to the
//! rounding of the result.
//!
//! Every vertex is computed on its own in a fixed order of operations: the same bits for any number of threads.

mod enveloping;
mod joints;
mod pose;
mod pose_space;

pub use enveloping::BakedEnveloping;
pub use joints::{BakedJoints, BakedSharedTerm, padded};
pub use pose::{CorrectionData, PoseData};
pub use pose_space::{BakedPoseSpace, BakedRemainders, BakedShapes};

use crate::correction::Correction;
use crate::deformer::{Base, Deformer, rows_f32};
use crate::dual_quaternion::{DualQuaternions, RoundedBone};
use crate::enveloping::PoseFeatures;
use crate::guard::project_f32;
use crate::pose_space::KernelValues;
use crate::rotational_regression::{RotationalRegression, TurnScratch};
use dermis_rig::glam::{DAffine3, DVec3, Mat3, Quat, Vec3, Vec4};
use dermis_rig::{BoneTransforms, Influences};
use rayon::prelude::*;

/// Vertices a thread takes at least; a smaller task costs more than its work.
const CHUNK: usize = 1024;
/// Marks a vertex whose features are those of the world.
pub const NO_ANCHOR: u32 = u32::MAX;

/// A deformer ready to run.
#[derive(Clone, Debug)]
pub struct Baked {
    /// Rest positions.
    pub rest: Vec<Vec3>,
    /// The base.
    pub base: BakedBase,
    /// The correction, if any.
    pub correction: Option<BakedCorrection>,
}

/// Sparse weights in `f32`, compressed rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    /// Where the entries of vertex v start; one more entry than vertices.
    pub offsets: Vec<u32>,
    /// Bones.
    pub bones: Vec<u32>,
    /// Weights.
    pub weights: Vec<f32>,
}

/// [`Base`] in `f32`.
#[derive(Clone, Debug)]
pub enum BakedBase {
    /// One bone per vertex.
    Rigid(Vec<u32>),
    /// Linear blend skinning.
    Lbs(Weights),
    /// Dual quaternion skinning.
    Dqs(Weights, DualQuaternions),
    /// Animation space: `weights` is unused, `a` holds four coefficients per entry.
    AnimationSpace {
        /// Where the entries of vertex v start.
        offsets: Vec<u32>,
        /// Bones.
        bones: Vec<u32>,
        /// Coefficients.
        a: Vec<Vec4>,
    },
    /// Rotational regression; computes in `f64`, as its system of equations needs.
    RotationalRegression(Box<RotationalRegression>),
    /// The rest pose itself.
    Rest,
    /// Positions come with every pose.
    Given,
}

/// [`Correction`] in `f32`.
#[derive(Clone, Debug)]
pub enum BakedCorrection {
    /// Multi-weight enveloping.
    Enveloping(Box<BakedEnveloping>),
    /// The joint model.
    Joints(Box<BakedJoints>),
    /// Pose-space deformation.
    PoseSpace(Box<BakedPoseSpace>),
    /// A pose space of shapes.
    Shapes(Box<BakedShapes>),
}

/// Memory that evaluation reuses from pose to pose.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    rows: Vec<[[f32; 4]; 3]>,
    turns: Vec<Mat3>,
    quaternions: Vec<RoundedBone>,
    features: PoseFeatures,
    rounded: Vec<[f32; 12]>,
    joints: joints::RoundedJoints,
    kernel: KernelValues,
    exact_values: Vec<f64>,
    kernel_values: Vec<f32>,
    turns_of_triangles: TurnScratch,
}

/// What the guard did in one pose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guarded {
    /// Vertices whose correction the ball held back.
    pub held: usize,
    /// Features of the pose whose limit acted: pairs of bones, or joints.
    pub limited: usize,
    /// Features of the pose altogether.
    pub features: usize,
}

impl Deformer {
    /// The deformer in `f32`.
    pub fn bake(&self) -> Baked {
        let base = match &self.base {
            Base::Rigid(weights) => BakedBase::Rigid(
                (0..weights.vertices()).map(|v| weights.dominant(v).map_or(0, |b| b.get() as u32)).collect(),
            ),
            Base::Lbs(weights) => BakedBase::Lbs(Weights::of(weights)),
            Base::Dqs(weights, blend) => BakedBase::Dqs(Weights::of(weights), blend.clone()),
            Base::AnimationSpace(space) => BakedBase::AnimationSpace {
                offsets: space.offsets.clone(),
                bones: space.terms.iter().map(|(bone, _)| bone.get() as u32).collect(),
                a: space.terms.iter().map(|(_, a)| a.as_vec4()).collect(),
            },
            Base::RotationalRegression(model) => BakedBase::RotationalRegression(model.clone()),
            Base::Rest => BakedBase::Rest,
            Base::Given => BakedBase::Given,
        };
        let rest = self.rest.iter().map(|p| p.as_vec3()).collect();
        Baked { rest, base, correction: self.correction.as_ref().map(BakedCorrection::of) }
    }
}

impl Weights {
    fn of(influences: &Influences) -> Self {
        let mut made = Self { offsets: vec![0], ..Self::default() };
        for row in influences.rows() {
            for &(bone, weight) in row {
                made.bones.push(bone.get() as u32);
                made.weights.push(weight as f32);
            }
            made.offsets.push(made.bones.len() as u32);
        }
        made
    }

    fn bytes(&self) -> usize {
        4 * (self.offsets.len() + self.bones.len() + self.weights.len())
    }

    fn of_vertex(&self, v: usize) -> impl Iterator<Item = (usize, f32)> {
        let range = self.offsets[v] as usize..self.offsets[v + 1] as usize;
        self.bones[range.clone()].iter().map(|&b| b as usize).zip(self.weights[range].iter().copied())
    }
}

impl BakedCorrection {
    fn of(correction: &Correction) -> Self {
        match correction {
            Correction::Enveloping(correction) => Self::Enveloping(Box::new(BakedEnveloping::of(correction))),
            Correction::Joints(correction) => Self::Joints(Box::new(BakedJoints::of(correction))),
            Correction::PoseSpace(correction) => Self::PoseSpace(Box::new(BakedPoseSpace::of(correction))),
            Correction::Shapes(correction) => Self::Shapes(Box::new(BakedShapes::of(correction))),
        }
    }

    /// What the pose gives to all vertices, into the scratch; how many features were limited, of how many.
    fn prepare(&self, transforms: &BoneTransforms, middle: DVec3, scratch: &mut Scratch) -> (usize, usize) {
        scratch.turns.clear();
        scratch.turns.extend(transforms.iter().map(|m| m.matrix3.as_mat3()));
        match self {
            Self::Enveloping(correction) => correction.prepare(transforms, scratch),
            Self::Joints(correction) => correction.prepare(transforms, middle, &mut scratch.joints),
            Self::PoseSpace(correction) => correction.prepare(transforms, scratch),
            Self::Shapes(correction) => correction.prepare(transforms, scratch),
        }
    }

    /// The correction of vertex `v` in posed world, and whether the ball acted. `local` is the base's position about the
    /// character's middle.
    fn at(&self, v: usize, rest: Vec3, base: &BakedBase, local: Vec3, scratch: &Scratch) -> (Vec3, bool) {
        let delta = match self {
            Self::Enveloping(correction) => correction.at(v, scratch),
            Self::Joints(correction) => {
                correction.at(v, rest, matches!(base, BakedBase::Lbs(_)).then_some(local), &scratch.joints)
            }
            Self::PoseSpace(correction) => correction.at(v, base, scratch),
            Self::Shapes(correction) => correction.at(v, base, scratch),
        };
        match self.radii().get(v) {
            Some(&radius) => project_f32(delta, radius),
            None => (delta, false),
        }
    }

    /// Radii of the ball per vertex; empty without the guard.
    pub fn radii(&self) -> &[f32] {
        match self {
            Self::Enveloping(correction) => &correction.radii,
            Self::Joints(correction) => &correction.radii,
            Self::PoseSpace(correction) => &correction.radii,
            Self::Shapes(correction) => &correction.radii,
        }
    }

    /// L: features divide translations by it; one for a form that reads rotations alone.
    pub fn length(&self) -> f64 {
        match self {
            Self::Enveloping(correction) => correction.shared.length,
            Self::Joints(correction) => correction.model.length,
            Self::PoseSpace(_) | Self::Shapes(_) => 1.0,
        }
    }

    /// Bytes of the arrays that evaluation reads.
    pub fn bytes(&self) -> usize {
        4 * self.radii().len()
            + match self {
                Self::Enveloping(correction) => correction.bytes(),
                Self::Joints(correction) => correction.bytes(),
                Self::PoseSpace(correction) => correction.bytes(),
                Self::Shapes(correction) => correction.bytes(),
            }
    }
}

impl Baked {
    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.rest.len()
    }

    /// Whether every pose must come with the base's positions.
    pub fn needs_given(&self) -> bool {
        matches!(self.base, BakedBase::Given)
    }

    /// Bytes of the arrays that evaluation reads, the rest mesh apart.
    pub fn bytes(&self) -> usize {
        let base = match &self.base {
            BakedBase::Rigid(bones) => 4 * bones.len(),
            BakedBase::Lbs(weights) | BakedBase::Dqs(weights, _) => weights.bytes(),
            BakedBase::AnimationSpace { offsets, bones, a } => 4 * (offsets.len() + bones.len()) + 16 * a.len(),
            BakedBase::RotationalRegression(model) => model.bytes(),
            BakedBase::Rest | BakedBase::Given => 0,
        };
        base + self.correction.as_ref().map_or(0, BakedCorrection::bytes)
    }

    /// Positions in a pose.
    ///
    /// `given` serves a base of given positions and is not read otherwise.
    ///
    /// # Panics
    /// If `out`, `given` or the pose have other counts than the model, or `given` is missing where the base needs it.
    pub fn evaluate(
        &self,
        transforms: &BoneTransforms,
        given: Option<&[Vec3]>,
        scratch: &mut Scratch,
        out: &mut [Vec3],
    ) -> Guarded {
        assert_eq!(out.len(), self.rest.len(), "the output has another number of vertices");
        let middle = self.middle(transforms);
        scratch.rows.clear();
        scratch.rows.extend(transforms.iter().map(|m| rows_f32(&moved(m, -middle))));
        if let BakedBase::Dqs(_, blend) = &self.base {
            blend.rounded(transforms, middle, &mut scratch.quaternions);
        }
        if let BakedBase::RotationalRegression(model) = &self.base {
            let rest = |v: usize| self.rest[v].as_dvec3();
            model.prepare(rest, transforms, middle, &mut scratch.turns_of_triangles);
        }
        let mut guarded = Guarded::default();
        if let Some(correction) = &self.correction {
            (guarded.limited, guarded.features) = correction.prepare(transforms, middle, scratch);
        }
        if let (BakedBase::Given, Some(given)) = (&self.base, given) {
            assert_eq!(given.len(), out.len(), "the given positions have another number of vertices");
        }
        // Positions given or at rest have their rounding already and keep their bits; only the correction is computed about the middle.
        let back = if matches!(self.base, BakedBase::Given | BakedBase::Rest) { Vec3::ZERO } else { middle.as_vec3() };
        let scratch = &*scratch;
        guarded.held = out
            .par_iter_mut()
            .enumerate()
            .with_min_len(CHUNK)
            .map(|(v, p)| {
                let mut local = match &self.base {
                    BakedBase::Given => given.expect("a base of given positions needs them with every pose")[v],
                    base => base.at(v, self.rest[v].extend(1.0), scratch),
                };
                let mut held = 0;
                if let Some(correction) = &self.correction {
                    let (delta, acted) = correction.at(v, self.rest[v], &self.base, local, scratch);
                    local += delta;
                    held = usize::from(acted);
                }
                *p = local + back;
                held
            })
            .sum();
        guarded
    }

    /// A point near the posed character: the mean over bones of where they carry the first rest vertex.
    fn middle(&self, transforms: &BoneTransforms) -> DVec3 {
        let point = self.rest.first().map_or(DVec3::ZERO, |p| p.as_dvec3());
        let sum: DVec3 = transforms.iter().map(|m| m.transform_point3(point)).sum();
        let middle = sum / transforms.len().max(1) as f64;
        // Rounded first, so that subtracting and adding it back cancel exactly.
        let rounded = middle.as_vec3();
        if rounded.is_finite() { rounded.as_dvec3() } else { DVec3::ZERO }
    }
}

/// The map followed by a translation.
fn moved(m: &DAffine3, by: DVec3) -> DAffine3 {
    DAffine3 { matrix3: m.matrix3, translation: m.translation + by }
}

impl BakedBase {
    /// The map of vertex `v` applied to a homogeneous rest position, or to a displacement, whose last entry is zero.
    fn at(&self, v: usize, rest: Vec4, scratch: &Scratch) -> Vec3 {
        match self {
            Self::Rigid(bones) => transform(&scratch.rows[bones[v] as usize], rest),
            Self::Lbs(weights) => {
                let mut blend = [[0.0f32; 4]; 3];
                for (bone, w) in weights.of_vertex(v) {
                    let m = &scratch.rows[bone];
                    for j in 0..3 {
                        for c in 0..4 {
                            blend[j][c] += w * m[j][c];
                        }
                    }
                }
                transform(&blend, rest)
            }
            Self::Dqs(weights, _) => blend_quaternions(weights, v, &scratch.quaternions, rest),
            Self::AnimationSpace { offsets, bones, a } => {
                let range = offsets[v] as usize..offsets[v + 1] as usize;
                let terms = bones[range.clone()].iter().zip(&a[range]);
                // The rest position is inside the coefficients; a displacement follows their weights.
                let of = |a: &Vec4| if rest.w == 0.0 { rest * a.w } else { *a };
                terms.map(|(&bone, a)| transform(&scratch.rows[bone as usize], of(a))).sum()
            }
            Self::RotationalRegression(_) if rest.w != 0.0 => scratch.turns_of_triangles.positions[v].as_vec3(),
            // A displacement follows linear blending.
            Self::RotationalRegression(model) => {
                let terms = model.weights.of(v).iter();
                terms.map(|(bone, w)| transform(&scratch.rows[bone.get()], rest) * *w as f32).sum()
            }
            Self::Rest | Self::Given => rest.truncate(),
        }
    }
}

/// M x for a homogeneous x.
fn transform(m: &[[f32; 4]; 3], x: Vec4) -> Vec3 {
    let dot = |r: &[f32; 4]| r[0] * x.x + r[1] * x.y + r[2] * x.z + r[3] * x.w;
    Vec3::new(dot(&m[0]), dot(&m[1]), dot(&m[2]))
}

/// Dual quaternion blend of one vertex, both phases; see [`crate::dual_quaternion`].
fn blend_quaternions(weights: &Weights, v: usize, bones: &[RoundedBone], rest: Vec4) -> Vec3 {
    let mut dominant: Option<(usize, f32)> = None;
    for (bone, w) in weights.of_vertex(v) {
        if dominant.is_none_or(|(_, most)| w > most) {
            dominant = Some((bone, w));
        }
    }
    let Some((dominant, _)) = dominant else { return rest.truncate() };
    let reference = bones[dominant].real;
    let (mut b, mut e, mut p) = (Vec4::ZERO, Vec4::ZERO, Vec3::ZERO);
    for (bone, w) in weights.of_vertex(v) {
        let bone = &bones[bone];
        let signed = if bone.real.dot(reference) >= 0.0 { w } else { -w };
        b += bone.real * signed;
        e += bone.dual * signed;
        p += transform(&bone.stretch, rest) * w;
    }
    let length = b.length();
    if length < 1e-9 {
        return transform(&bones[dominant].whole, rest);
    }
    let (b, e) = (Quat::from_vec4(b / length), Quat::from_vec4(e / length));
    let shift = (e * b.conjugate()).xyz() * 2.0;
    b * p + shift * rest.w
}
