//! The joint model as it runs.

use super::block::Corrected;
use super::coefficients::{AHEAD, CoefficientPrecision, Coefficients};
use super::settle::{PIECE, add_quads, settle};
use crate::baked::bases::{BakedBase, NO_ANCHOR, Weights, moved};
use crate::baked::lanes::Stored;
use crate::joints::{CorrectionFrame, Joints};
use crate::simd::prefetch;
use dermis_rig::glam::{Affine3A, DVec3, Mat3, Mat3A, Quat, Vec3, Vec3A, Vec4};
use dermis_rig::{BoneTransforms, Influences};
use dermis_solve::simd::{self, Fma, Kernel};

/// Inducing rotations come in lanes of four; the last ones of a joint may be zero.
const LANES: usize = 4;

/// [`Joints`] in `f32`.
#[derive(Clone, Debug)]
pub struct BakedJoints {
    /// What depends on the pose alone, evaluated in `f64`. Its per-vertex arrays are empty.
    pub model: Joints,
    /// Skinning weights, from which the shared part is made.
    pub weights: Weights,
    /// Dominant bone of each vertex, or [`NO_ANCHOR`].
    pub anchors: Vec<u32>,
    /// Where the free terms of vertex v start.
    pub offsets: Vec<u32>,
    /// Joint of each free term.
    pub terms: Vec<u32>,
    /// Where the coefficients of vertex v start.
    pub starts: Vec<u32>,
    /// Per free term three rows of the joint's inducing rotations, each filled up with zeros to a multiple of four.
    pub coefficients: Coefficients,
    /// Where the shared terms of vertex v start.
    pub shared_offsets: Vec<u32>,
    /// The shared part.
    pub shared: Vec<BakedSharedTerm>,
    /// Largest norm of the shared features per vertex; empty without that limit.
    pub limits: Vec<f32>,
    /// Radii of the guard; empty without it.
    pub radii: Vec<f32>,
}

/// The shared part of one vertex and bone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BakedSharedTerm {
    /// The bone.
    pub bone: u32,
    /// b.
    pub relevance: f32,
    /// q, metres.
    pub offset: Vec3,
    /// ω, metres.
    pub weight: f32,
}

/// Memory of this correction: what a pose gives to all vertices, rounded.
#[derive(Clone, Debug, Default)]
pub(in crate::baked) struct JointsScratch {
    pose: crate::joints::JointPose,
    /// z, each joint's filled up to a multiple of [`LANES`].
    pub(in crate::baked) z: Vec<f32>,
    pub(in crate::baked) starts: Vec<usize>,
    /// The welded bones about the middle of the character.
    pub(in crate::baked) bones: Vec<Affine3A>,
    /// Empty when nothing is welded.
    pub(in crate::baked) turns: Vec<Mat3>,
    pub(in crate::baked) quaternions: Vec<Vec4>,
}

impl BakedJoints {
    /// Vertices of some weights, without coefficients.
    pub fn empty(model: Joints, weights: &Influences) -> Self {
        let anchor = |v| weights.dominant(v).map_or(NO_ANCHOR, |bone| bone.get() as u32);
        Self {
            model,
            weights: Weights::of(weights),
            anchors: (0..weights.vertices()).map(anchor).collect(),
            offsets: vec![0],
            terms: vec![],
            starts: vec![0],
            coefficients: Coefficients::Single(vec![]),
            shared_offsets: vec![0],
            shared: vec![],
            limits: vec![],
            radii: vec![],
        }
    }

    /// The pose into the scratch; how many joints were limited, of how many.
    pub(in crate::baked) fn prepare(
        &self,
        transforms: &BoneTransforms,
        middle: DVec3,
        out: &mut JointsScratch,
    ) -> (usize, usize) {
        out.pose.prepare(&self.model, transforms);
        out.z.clear();
        out.starts.clear();
        for joint in 0..self.model.joints.len() {
            out.starts.push(out.z.len());
            let z = out.pose.of(joint);
            out.z.extend(z.iter().map(|&z| z as f32));
            out.z.extend(std::iter::repeat_n(0.0, padded(z.len()) - z.len()));
        }
        out.starts.push(out.z.len());
        out.turns.clear();
        out.turns.extend(out.pose.turns.iter().map(|t| t.as_mat3()));
        out.bones.clear();
        out.bones.extend(out.pose.welded.iter().map(|n| {
            let n = moved(n, -middle);
            Affine3A { matrix3: n.matrix3.as_mat3().into(), translation: n.translation.as_vec3a() }
        }));
        out.quaternions.clear();
        out.quaternions.extend(out.pose.quaternions().iter().map(|q| Vec4::from(q.as_quat())));
        (out.pose.limited, self.model.joints.len())
    }

    pub(in crate::baked) fn bytes(&self) -> usize {
        4 * (self.anchors.len() + self.offsets.len() + self.terms.len() + self.starts.len())
            + self.coefficients.bytes()
            + 4 * (self.shared_offsets.len() + self.limits.len())
            + size_of::<BakedSharedTerm>() * self.shared.len()
            + self.weights.bytes()
    }

    /// The same with coefficients of another precision.
    pub(in crate::baked) fn with_precision(mut self, precision: CoefficientPrecision) -> Self {
        self.coefficients = self.coefficients.stored(precision, self.starts.iter().map(|&at| at as usize));
        self
    }

    /// Adds the correction to a block; at how many vertices the ball held it back.
    pub(in crate::baked) fn add_block(
        &self,
        block: Corrected<'_>,
        pose: &JointsScratch,
        radii: &[f32],
        out: &mut [Vec3],
    ) -> usize {
        match &self.coefficients {
            Coefficients::Single(values) => {
                simd::run(Add { correction: self, values, units: &[], block, pose, radii, out })
            }
            Coefficients::Sixteen { values, units } => {
                simd::run(Add { correction: self, values, units, block, pose, radii, out })
            }
        }
    }

    /// F_v (free + shared) of a vertex in posed world, before the ball. `blend` is the vertex's linear blend about the
    /// character's middle where the base has it already.
    #[inline(always)]
    fn turned(&self, v: usize, free: Vec3A, rest: Vec3, blend: Option<Vec3>, pose: &JointsScratch) -> Vec3 {
        let anchor = self.anchors[v];
        if anchor == NO_ANCHOR {
            return Vec3::ZERO;
        }
        let (welded, rest) = (!pose.turns.is_empty(), Vec3A::from(rest));
        let mut mixed = Affine3A { matrix3: Mat3A::ZERO, translation: Vec3A::ZERO };
        let known = blend.filter(|_| !welded && self.model.frame != CorrectionFrame::Rest);
        if known.is_none() {
            for (bone, w) in self.weights.of_vertex(v) {
                mixed.matrix3 += pose.bones[bone].matrix3 * w;
                mixed.translation += pose.bones[bone].translation * w;
            }
        }
        let blend = known.map_or_else(|| mixed.transform_point3a(rest), Vec3A::from);
        let frame = match self.model.frame {
            CorrectionFrame::Anchor => pose.bones[anchor as usize].matrix3,
            CorrectionFrame::Rest => mixed.matrix3,
            CorrectionFrame::Blend => Mat3A::from_quat(self.blended(v, anchor, &pose.quaternions)),
        };
        let (mut shared, mut squares) = (Vec3A::ZERO, 0.0);
        let by_length = 10.0 / self.model.length as f32;
        for term in &self.shared[self.shared_offsets[v] as usize..self.shared_offsets[v + 1] as usize] {
            let bone = &pose.bones[term.bone as usize];
            let turn = (bone.matrix3 - frame) * std::f32::consts::FRAC_1_SQRT_2;
            let shift = (bone.transform_point3a(rest) - blend) * by_length;
            shared += (turn * Vec3A::from(term.offset) + shift * term.weight) * term.relevance;
            let by_column = turn.x_axis * turn.x_axis + turn.y_axis * turn.y_axis + turn.z_axis * turn.z_axis;
            squares += term.relevance * term.relevance * (by_column + shift * shift).element_sum();
        }
        if let Some(&limit) = self.limits.get(v)
            && squares > limit * limit
        {
            shared *= limit / squares.sqrt();
        }
        let delta = Vec3::from(frame * free + shared);
        if welded { pose.turns[anchor as usize] * delta } else { delta }
    }

    /// The normalised blend of quaternions, each on the anchor's side of the sphere.
    #[inline(always)]
    fn blended(&self, v: usize, anchor: u32, quaternions: &[Vec4]) -> Quat {
        let reference = quaternions[anchor as usize];
        let mut sum = Vec4::ZERO;
        for (bone, w) in self.weights.of_vertex(v) {
            let q = quaternions[bone];
            sum += q * if q.dot(reference) < 0.0 { -w } else { w };
        }
        Quat::from_vec4(if sum.length() < 1e-6 { reference } else { sum.normalize() })
    }
}

struct Add<'a, T> {
    correction: &'a BakedJoints,
    values: &'a [T],
    units: &'a [f32],
    block: Corrected<'a>,
    pose: &'a JointsScratch,
    radii: &'a [f32],
    out: &'a mut [Vec3],
}

impl<T: Stored> Kernel for Add<'_, T> {
    type Output = usize;

    #[inline(always)]
    fn run<F: Fma>(self) -> usize {
        let Self { correction: c, values, units, block, pose, radii, out } = self;
        let linear = matches!(block.base, BakedBase::Lbs(_));
        let (mut sums, mut turned) = ([[0.0f32; 12]; PIECE], [[0.0f32; 4]; PIECE]);
        let mut held = 0;
        for (at, out) in out.chunks_mut(PIECE).enumerate() {
            let (start, count) = (block.from + at * PIECE, out.len());
            for (i, sums) in sums[..count].iter_mut().enumerate() {
                let v = start + i;
                let terms = &c.terms[c.offsets[v] as usize..c.offsets[v + 1] as usize];
                free_sums::<F, T>(terms, &values[c.starts[v] as usize..], pose, sums);
            }
            if let Some(units) = units.get(start..start + count) {
                for (sums, unit) in sums.iter_mut().zip(units) {
                    sums.iter_mut().for_each(|s| *s *= unit);
                }
            }
            let mut free = [[0.0f32; 3]; PIECE];
            add_quads(&sums, &mut free);
            for i in 0..count {
                let (v, free) = (start + i, Vec3A::from_array(free[i]));
                let delta = c.turned(v, free, block.rest[v], linear.then_some(out[i]), pose);
                turned[i] = [delta.x, delta.y, delta.z, 0.0];
            }
            let radii = radii.get(at * PIECE..at * PIECE + count).unwrap_or_default();
            held += settle(&mut turned[..count], radii, block.pose.behind, out);
        }
        held
    }
}

/// Σ_e U_ve z_e: four running sums per axis.
#[inline(always)]
fn free_sums<F: Fma, T: Stored>(terms: &[u32], mut rows: &[T], pose: &JointsScratch, out: &mut [f32; 12]) {
    let mut sums = [[0.0f32; LANES]; 3];
    for &joint in terms {
        let (from, to) = (pose.starts[joint as usize], pose.starts[joint as usize + 1]);
        let z = pose.z[from..to].as_chunks::<LANES>().0;
        for sum in &mut sums {
            let (row, after) = rows.split_at(to - from);
            rows = after;
            for (u, z) in row.as_chunks::<LANES>().0.iter().zip(z) {
                prefetch(u, AHEAD);
                for lane in 0..LANES {
                    sum[lane] = F::f32(u[lane].wide(), z[lane], sum[lane]);
                }
            }
        }
    }
    *out = std::array::from_fn(|i| sums[i / LANES][i % LANES]);
}

/// Numbers per row of a joint with `count` inducing rotations.
pub fn padded(count: usize) -> usize {
    count.next_multiple_of(LANES)
}
