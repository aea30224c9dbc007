//! Deformers as they run: `f32`, flat arrays, parallel over vertices, no allocation per pose.
//!
//! [`Deformer::bake`] is the one place where `f64` becomes `f32`. Bone matrices are read in `f64`; what depends on the
//! pose alone (features, blended bones) is computed in `f64` and rounded once. Positions are computed about the
//! character's middle and moved to its place at the end, so a character far from the origin keeps its digits up to the
//! rounding of the result.
//!
//! Vertices are computed in blocks of fixed size, each in a fixed order of operations: the same bits for any number of
//! threads. The blocks run with the machine's vector instructions ([`dermis_solve::simd`]), which differ in rounding alone.

mod blend;
mod block;
mod coefficients;
mod eight;
mod enveloping;
mod joints;
mod lbs;
mod many;
mod normals;
mod pose;
mod pose_space;
mod quaternions;
mod settle;
mod weights;

pub use coefficients::{Coefficients, Precision};
pub use enveloping::BakedEnveloping;
pub use joints::{BakedJoints, BakedSharedTerm, padded};
pub use normals::Normals;
pub use pose::{CorrectionData, PoseData, RoundedBone};
pub use pose_space::{BakedPoseSpace, BakedRemainders, BakedShapes};
pub use weights::Weights;

use crate::correction::Correction;
use crate::deformer::{Base, Deformer};
use crate::dual_quaternion::DualQuaternions;
use crate::enveloping::PoseFeatures;
use crate::pose_space::KernelValues;
use crate::rotational_regression::{RotationalRegression, TurnScratch};
use blend::Columns;
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DVec3, Mat3, Vec3, Vec4};
use quaternions::BlendedBones;

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

/// [`Base`] in `f32`.
#[derive(Clone, Debug)]
pub enum BakedBase {
    /// One bone per vertex, or [`NO_ANCHOR`] for one that stays.
    Rigid(Vec<u32>),
    /// Linear blend skinning.
    Lbs(Weights),
    /// Dual quaternion skinning.
    Dqs(Weights, DualQuaternions),
    /// Animation space: four coefficients per entry.
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
    /// The bones about the character's middle, and after them the identity.
    bones: Vec<Columns>,
    /// The same without translations.
    turning: Vec<Columns>,
    /// The character's middle, which positions are computed about.
    middle: Vec3,
    /// What is added to positions at the end: the middle, where the base is computed about it.
    behind: Vec3,
    turns: Vec<Mat3>,
    quaternions: BlendedBones,
    features: PoseFeatures,
    /// Features of the pose, the last four lanes zero.
    rounded: Vec<Columns>,
    joints: joints::RoundedJoints,
    kernel: KernelValues,
    exact_values: Vec<f64>,
    kernel_values: Vec<f32>,
    turns_of_triangles: TurnScratch,
    /// Normals of faces.
    faces: Vec<DVec3>,
    /// The pose as it leaves for elsewhere.
    leaving: pose::Rounded,
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
                (0..weights.vertices()).map(|v| weights.dominant(v).map_or(NO_ANCHOR, |b| b.get() as u32)).collect(),
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
    /// The same model with its correction's coefficients stored in another precision; corrections that have one only
    /// (pose spaces) stay as they are.
    ///
    /// What 16 bits cost is measured by [`largest_difference`](Self::largest_difference).
    #[must_use]
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.correction = self.correction.map(|correction| match correction {
            BakedCorrection::Enveloping(c) => BakedCorrection::Enveloping(Box::new(c.with_precision(precision))),
            BakedCorrection::Joints(c) => BakedCorrection::Joints(Box::new(c.with_precision(precision))),
            other => other,
        });
        self
    }

    /// How the correction's coefficients are stored.
    pub fn precision(&self) -> Precision {
        match &self.correction {
            Some(BakedCorrection::Enveloping(c)) => c.coefficients.precision(),
            Some(BakedCorrection::Joints(c)) => c.coefficients.precision(),
            _ => Precision::Single,
        }
    }

    /// The largest distance over some poses between a vertex of this model and the same vertex of another, metres; zero
    /// without poses. A base of given positions is given those at rest.
    ///
    /// # Panics
    /// If the models differ in vertices, or the poses in bones.
    pub fn largest_difference<'a>(&self, other: &Self, poses: impl IntoIterator<Item = &'a BoneTransforms>) -> f32 {
        let (mut ours, mut theirs) = (vec![Vec3::ZERO; self.vertices()], vec![Vec3::ZERO; self.vertices()]);
        let (mut scratch, mut largest) = (Scratch::default(), 0.0f32);
        for pose in poses {
            self.evaluate(pose, Some(&self.rest), &mut scratch, &mut ours);
            other.evaluate(pose, Some(&other.rest), &mut scratch, &mut theirs);
            largest = ours.iter().zip(&theirs).fold(largest, |most, (a, b)| most.max(a.distance(*b)));
        }
        largest
    }

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
}
