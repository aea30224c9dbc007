//! The joint model as it runs.

use super::block::Corrected;
use super::coefficients::CoefficientPrecision;
use super::free::{FreeLanes, FreePart};
use super::joint_lanes::{JointChunks, SharedLines};
use super::settle::settle_one;
use crate::baked::bases::{BakedBase, NO_ANCHOR, Weights, moved};
use crate::baked::lanes::{Columns, DualQuaternion, FEW};
use crate::joints::{CorrectionFrame, Joints, gate};
use crate::pose_space::CompiledShapes;
use dermis_rig::glam::{Affine3A, DAffine3, DVec3, Mat3, Mat3A, Quat, Vec3, Vec3A, Vec4};
use dermis_rig::{BoneTransforms, Influences, Rows};
use std::iter::repeat_n;

/// Listed coefficients come in fours.
const FOURS: usize = 4;

/// [`Joints`] in `f32`.
#[derive(Clone, Debug)]
pub struct BakedJoints {
    /// What depends on the pose alone, evaluated in `f64`. Its per-vertex arrays are empty.
    pub model: Joints,
    /// Skinning weights, from which the shared part is made.
    pub weights: Weights,
    /// Dominant bone of each vertex, or [`NO_ANCHOR`].
    pub anchors: Vec<u32>,
    /// The free part.
    pub free: FreePart,
    /// The shared part of every vertex.
    pub shared: Rows<BakedSharedTerm>,
    /// Largest norm of the shared features per vertex; empty without that limit.
    pub limits: Vec<f32>,
    /// Radii of the guard; empty without it.
    pub radii: Vec<f32>,
    /// What the layer of `model` has of vertices, if it has one.
    pub layer: BakedLayer,
    /// The shared part as evaluation reads it; made when a model is put together.
    pub(in crate::baked) lines: SharedLines,
    /// Whether the positions that it is added to are B, the linear blend with its own weights.
    pub(in crate::baked) adds_to_blend: bool,
}

/// The shapes of every vertex in the layer of a joint model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BakedLayer {
    /// The shape of each term.
    pub terms: Rows<u32>,
    /// e of each term, metres, in the frame of the vertex.
    pub displacements: Vec<Vec3>,
}

impl BakedLayer {
    /// g and Σ w e / max(1, Σ w) of a vertex; one and zero where it has no shape.
    #[inline]
    pub(super) fn of_vertex(&self, v: usize, pose: &JointsScratch) -> (f32, Vec3) {
        let range = self.terms.range(v);
        let terms = &self.terms.entries()[range.clone()];
        let gate = gate(terms.iter().map(|&shape| pose.pose.reaches[shape as usize])) as f32;
        let (mut sum, mut weights) = (Vec3::ZERO, 0.0f32);
        for (&shape, e) in terms.iter().zip(&self.displacements[range]) {
            let w = pose.shapes[shape as usize];
            (sum, weights) = (sum + *e * w, weights + w);
        }
        (gate, sum / weights.max(1.0))
    }
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
    /// z of all joints, one after the other.
    pub(in crate::baked) z: Vec<f32>,
    /// The welded bones less the character's shift.
    pub(in crate::baked) bones: Vec<Affine3A>,
    /// Empty when nothing is welded.
    pub(in crate::baked) turns: Vec<Mat3>,
    pub(in crate::baked) quaternions: Vec<Vec4>,
    /// w of every shape of the layer.
    pub(in crate::baked) shapes: Vec<f32>,
    /// h of every shape of the layer.
    pub(in crate::baked) reaches: Vec<f32>,
    /// The same for eight vertices side by side: bones, their turns as quaternions, and the welded ones' turns back with the
    /// identity after them.
    pub(super) columns: Vec<Columns>,
    pub(super) rigid: Vec<DualQuaternion>,
    pub(super) back: Vec<Columns>,
}

impl JointsScratch {
    /// z of all joints, each joint's [filled up](padded) with zeros.
    pub(in crate::baked) fn by_fours(&self) -> impl Iterator<Item = f32> {
        let filled = |ends: &[usize]| repeat_n(0.0, padded(ends[1] - ends[0]) - (ends[1] - ends[0]));
        self.pose.starts.windows(2).flat_map(move |ends| self.z[ends[0]..ends[1]].iter().copied().chain(filled(ends)))
    }
}

impl BakedJoints {
    /// Vertices of some weights, without coefficients.
    pub fn empty(model: Joints, weights: &Influences) -> Self {
        let anchor = |v| weights.dominant(v).map_or(NO_ANCHOR, |bone| bone.get() as u32);
        Self {
            model,
            weights: Weights::of(weights),
            anchors: (0..weights.vertices()).map(anchor).collect(),
            free: FreePart::empty(),
            shared: Rows::default(),
            limits: vec![],
            radii: vec![],
            layer: BakedLayer::default(),
            lines: SharedLines::default(),
            adds_to_blend: false,
        }
    }

    /// Arranges the correction for evaluation; `beneath` is the base, unless another correction comes between.
    pub(in crate::baked) fn arrange(&mut self, beneath: Option<&BakedBase>) {
        self.lines = SharedLines::of(&self.shared);
        self.adds_to_blend = matches!(beneath, Some(BakedBase::Lbs(weights)) if *weights == self.weights);
    }

    /// The pose into the scratch; how many joints were limited, of how many.
    pub(in crate::baked) fn prepare(
        &self,
        transforms: &BoneTransforms,
        shift: DVec3,
        out: &mut JointsScratch,
    ) -> (usize, usize) {
        out.pose.prepare(&self.model, transforms);
        out.z.clear();
        out.z.extend(out.pose.z.iter().map(|&z| z as f32));
        out.shapes.clear();
        out.shapes.extend(out.pose.shapes.iter().map(|&w| w as f32));
        out.reaches.clear();
        out.reaches.extend(out.pose.reaches.iter().map(|&h| h as f32));
        out.turns.clear();
        out.turns.extend(out.pose.turns.iter().map(|t| t.as_mat3()));
        out.bones.clear();
        out.bones.extend(out.pose.welded.iter().map(|n| {
            let n = moved(n, -shift);
            Affine3A { matrix3: n.matrix3.as_mat3().into(), translation: n.translation.as_vec3a() }
        }));
        out.quaternions.clear();
        out.quaternions.extend(out.pose.quaternions().iter().map(|q| Vec4::from(q.as_quat())));
        out.columns.clear();
        out.columns.extend(out.pose.welded.iter().map(|n| Columns::of(&moved(n, -shift))));
        out.rigid.clear();
        out.rigid.extend(out.quaternions.iter().map(|q| DualQuaternion([q.x, q.y, q.z, q.w, 0.0, 0.0, 0.0, 0.0])));
        // What indices of eight bits reach.
        out.rigid.resize(out.rigid.len().max(FEW), DualQuaternion([0.0; 8]));
        out.back.clear();
        if !out.pose.turns.is_empty() {
            out.back.extend(out.pose.turns.iter().map(|turn| Columns::of(&DAffine3::from_mat3(*turn))));
            out.back.push(Columns::of(&DAffine3::IDENTITY));
        }
        (out.pose.limited, self.model.numbers().count())
    }

    pub(in crate::baked) fn bytes(&self) -> usize {
        let layer = &self.layer;
        4 * (self.anchors.len() + self.limits.len())
            + self.free.bytes()
            + self.lines.bytes()
            + self.weights.bytes()
            + self.model.layer.as_ref().map_or(0, CompiledShapes::pose_bytes)
            + 4 * (layer.terms.offsets().len() + layer.terms.entries().len())
            + 12 * layer.displacements.len()
    }

    /// The same with coefficients of another precision.
    pub(in crate::baked) fn with_precision(mut self, precision: CoefficientPrecision) -> Self {
        self.free = self.free.with_precision(precision);
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
        if !self.weights.in_fours() {
            // More bones than 16 bits can count.
            let vertices = out.iter_mut().enumerate();
            return vertices
                .map(|(i, p)| {
                    let delta = self.at(block.from + i, block.rest[block.from + i], pose);
                    settle_one(delta, radii.get(i), block.behind, p)
                })
                .sum();
        }
        match self.free.lanes() {
            FreeLanes::Single(free) => JointChunks { correction: self, free, pose }.add(block, radii, out),
            FreeLanes::Sixteen(free) => JointChunks { correction: self, free, pose }.add(block, radii, out),
        }
    }

    /// F_v (free + shared) of a vertex in posed world, before the ball.
    fn at(&self, v: usize, rest: Vec3, pose: &JointsScratch) -> Vec3 {
        let mut free = self.free.of_vertex(v, &pose.z);
        if self.model.layer.is_some() {
            let (gate, remembered) = self.layer.of_vertex(v, pose);
            free = free * gate + Vec3A::from(remembered);
        }
        self.turned(v, free, rest, pose)
    }

    /// F_v (free + shared) of a vertex in posed world from its free part.
    fn turned(&self, v: usize, free: Vec3A, rest: Vec3, pose: &JointsScratch) -> Vec3 {
        let anchor = self.anchors[v];
        if anchor == NO_ANCHOR {
            return Vec3::ZERO;
        }
        let rest = Vec3A::from(rest);
        let mut mixed = Affine3A { matrix3: Mat3A::ZERO, translation: Vec3A::ZERO };
        for (bone, w) in self.weights.of_vertex(v) {
            mixed.matrix3 += pose.bones[bone].matrix3 * w;
            mixed.translation += pose.bones[bone].translation * w;
        }
        let blend = mixed.transform_point3a(rest);
        let frame = match self.model.frame {
            CorrectionFrame::Anchor => pose.bones[anchor as usize].matrix3,
            CorrectionFrame::Rest => mixed.matrix3,
            CorrectionFrame::Blend => Mat3A::from_quat(self.blended(v, anchor, &pose.quaternions)),
        };
        let (mut shared, mut squares) = (Vec3A::ZERO, 0.0);
        let by_length = 10.0 / self.model.length as f32;
        for term in self.shared.of(v) {
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
        pose.turns.get(anchor as usize).map_or(delta, |turn| *turn * delta)
    }

    /// The normalised blend of quaternions, each on the anchor's side of the sphere.
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

/// Coefficients per axis of a joint with `count` inducing rotations, as a model file lists them: the last ones may be zero.
pub fn padded(count: usize) -> usize {
    count.next_multiple_of(FOURS)
}
