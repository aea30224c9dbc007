//! One pose of all vertices: what the pose gives to all of them first, then block by block.
//!
//! A block is a few thousand operations, so that choosing vector instructions for it costs nothing, and small enough that
//! its positions stay in the nearest cache from the base to the correction.

use super::blend::{AnimationSpace, Columns, FEW_BONES, Rigid};
use super::eight;
use super::lbs::Lbs;
use super::normals::{Turn, Turned};
use super::quaternions::{Dqs, blend_quaternions};
use super::settle::settle_one;
use super::{Baked, BakedBase, BakedCorrection, Guarded, Scratch};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DAffine3, DVec3, Vec3, Vec4};
use dermis_solve::simd::{self, Apart};
use rayon::prelude::*;
use std::iter::once;

/// Vertices of a block.
pub(super) const BLOCK: usize = 1024;

impl Baked {
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
        let mut guarded = self.prepare(transforms, given, scratch);
        let scratch = &*scratch;
        guarded.held = match rayon::current_num_threads() {
            1 => {
                out.chunks_mut(BLOCK).enumerate().map(|(b, out)| self.block(b * BLOCK, given, scratch, out, None)).sum()
            }
            _ => {
                let blocks = out.par_chunks_mut(BLOCK).enumerate();
                blocks.map(|(b, out)| self.block(b * BLOCK, given, scratch, out, None)).sum()
            }
        };
        guarded
    }

    /// What the pose gives to all vertices, into the scratch.
    pub(super) fn prepare(
        &self,
        transforms: &BoneTransforms,
        given: Option<&[Vec3]>,
        scratch: &mut Scratch,
    ) -> Guarded {
        let middle = self.middle(transforms);
        scratch.middle = middle.as_vec3();
        // Positions given or at rest have their rounding already and keep their bits; only the correction is computed about the middle.
        let there = matches!(self.base, BakedBase::Given | BakedBase::Rest);
        scratch.behind = if there { Vec3::ZERO } else { scratch.middle };
        scratch.bones.clear();
        scratch.bones.extend(transforms.iter().map(|m| Columns::of(&moved(m, -middle))));
        let entries = (scratch.bones.len() + 1).max(FEW_BONES);
        scratch.bones.resize(entries, Columns::of(&DAffine3::IDENTITY));
        match &self.base {
            BakedBase::Dqs(_, blend) => scratch.quaternions.prepare(blend, transforms, middle),
            BakedBase::RotationalRegression(model) => {
                let rest = |v: usize| self.rest[v].as_dvec3();
                model.prepare(rest, transforms, middle, &mut scratch.turns_of_triangles);
            }
            BakedBase::Given => {
                let given = given.expect("a base of given positions needs them with every pose");
                assert_eq!(given.len(), self.rest.len(), "the given positions have another number of vertices");
            }
            _ => {}
        }
        let mut guarded = Guarded::default();
        if let Some(correction) = &self.correction {
            (guarded.limited, guarded.features) = correction.prepare(transforms, middle, scratch);
        }
        guarded
    }

    /// A point near the posed character: the mean over bones of where they carry the first rest vertex.
    pub(super) fn middle(&self, transforms: &BoneTransforms) -> DVec3 {
        let point = self.rest.first().map_or(DVec3::ZERO, |p| p.as_dvec3());
        let sum: DVec3 = transforms.iter().map(|m| m.transform_point3(point)).sum();
        let middle = sum / transforms.len().max(1) as f64;
        // Rounded first, so that subtracting and adding it back cancel exactly.
        let rounded = middle.as_vec3();
        if rounded.is_finite() { rounded.as_dvec3() } else { DVec3::ZERO }
    }

    /// The block of vertices from `from` on, with the normals of its base where wanted; at how many of them the ball held the
    /// correction back.
    pub(super) fn block(
        &self,
        from: usize,
        given: Option<&[Vec3]>,
        scratch: &Scratch,
        out: &mut [Vec3],
        normals: Option<Turned<'_>>,
    ) -> usize {
        // The last step of a vertex puts it behind the middle again.
        let behind = if self.correction.is_some() { Vec3::ZERO } else { scratch.behind };
        self.base.block(from, (&self.rest, given), scratch, behind, out, normals);
        let held = self.correction.as_ref().map_or(0, |correction| {
            let given = Corrected { from, rest: &self.rest, base: &self.base, scratch };
            correction.add_block(given, out)
        });
        if let BakedBase::Lbs(weights) = &self.base {
            for &(v, excess) in weights.unnormalised_of(from..from + out.len()) {
                out[v as usize - from] += scratch.middle * excess;
            }
        }
        held
    }
}

/// The map followed by a translation.
pub(super) fn moved(m: &DAffine3, by: DVec3) -> DAffine3 {
    DAffine3 { matrix3: m.matrix3, translation: m.translation + by }
}

/// The block whose positions a correction is added to.
#[derive(Clone, Copy)]
pub(super) struct Corrected<'a> {
    pub(super) from: usize,
    pub(super) rest: &'a [Vec3],
    pub(super) base: &'a BakedBase,
    pub(super) scratch: &'a Scratch,
}

impl BakedCorrection {
    /// Adds the correction and the middle to the base's positions; at how many vertices the ball held it back.
    fn add_block(&self, block: Corrected<'_>, out: &mut [Vec3]) -> usize {
        let radii = self.radii().get(block.from..block.from + out.len()).unwrap_or_default();
        match self {
            Self::Enveloping(correction) => correction.add_block(block, radii, out),
            Self::Shapes(correction) => correction.add_block(block, radii, out),
            Self::Joints(correction) => correction.add_block(block, radii, out),
            Self::PoseSpace(correction) => {
                let at = |v| correction.at(v, block.base, block.scratch);
                out.iter_mut()
                    .enumerate()
                    .map(|(i, p)| settle_one(at(block.from + i), radii.get(i), block.scratch.behind, p))
                    .sum()
            }
        }
    }
}

impl BakedBase {
    /// Positions of a block, and its normals where wanted.
    fn block(
        &self,
        from: usize,
        (rest, given): (&[Vec3], Option<&[Vec3]>),
        scratch: &Scratch,
        behind: Vec3,
        out: &mut [Vec3],
        normals: Option<Turned<'_>>,
    ) {
        let range = from..from + out.len();
        let (table, middle) = (&scratch.bones[..], scratch.middle);
        match self {
            Self::Rigid(bones) => {
                let (bones, rest) = (&bones[range.clone()], &rest[range]);
                simd::run(Rigid { bones, table, rest, behind, middle, out });
            }
            Self::Lbs(weights) if !weights.fours.is_empty() => {
                let rest = &rest[range];
                return Lbs { from, weights, table, rest, behind, out, normals }.run();
            }
            Self::Dqs(weights, _) if !weights.fours.is_empty() => {
                let (bones, whole) = (&scratch.quaternions, table);
                return Dqs { from, weights, bones, whole, rest, behind, middle, out, normals }.run();
            }
            Self::AnimationSpace { offsets, bones, a } => {
                let offsets = &offsets[range.start..=range.end];
                simd::run(AnimationSpace { offsets, bones, a, table, behind, middle, out });
            }
            Self::Given => out.copy_from_slice(&given.unwrap_or_default()[range]),
            Self::Rest => out.copy_from_slice(&rest[range]),
            Self::Lbs(_) | Self::Dqs(..) | Self::RotationalRegression(_) => {
                for (v, p) in range.zip(out) {
                    *p = self.at(v, rest[v].extend(1.0), scratch) + behind;
                }
            }
        }
        if let Some(normals) = normals {
            self.turn(from, table, normals);
        }
    }

    /// Normals of a block by themselves.
    fn turn(&self, from: usize, table: &[Columns], normals: Turned<'_>) {
        match self {
            Self::Rigid(bones) => {
                let entries = |v: usize| once(((bones[v] as usize).min(table.len() - 1), 1.0));
                eight::run(Turn { from, entries, table, normals });
            }
            Self::Lbs(weights) => {
                let entries = |v| weights.of_vertex(v);
                eight::run(Turn { from, entries, table, normals });
            }
            Self::AnimationSpace { offsets, bones, a } => {
                let entries = |v: usize| {
                    let range = offsets[v] as usize..offsets[v + 1] as usize;
                    bones[range.clone()].iter().zip(&a[range]).map(|(&bone, a)| (bone as usize, a.w))
                };
                eight::run(Turn { from, entries, table, normals });
            }
            Self::RotationalRegression(model) => {
                let entries = |v| model.weights.of(v).iter().map(|&(bone, w)| (bone.get(), w as f32));
                eight::run(Turn { from, entries, table, normals });
            }
            Self::Rest | Self::Given => normals.out.copy_from_slice(normals.rest),
            // More bones than 16 bits can count: one by one.
            Self::Dqs(..) => normals.out.fill(Vec3::ZERO),
        }
    }

    /// The map of vertex `v` applied to a homogeneous rest position, or to a displacement, whose last entry is zero.
    pub(super) fn at(&self, v: usize, rest: Vec4, scratch: &Scratch) -> Vec3 {
        let transform = |bone: usize, x: Vec4| scratch.bones[bone].apply::<Apart>(x);
        match self {
            Self::Rigid(bones) => transform((bones[v] as usize).min(scratch.bones.len() - 1), rest),
            Self::Lbs(weights) => weights.of_vertex(v).map(|(bone, w)| transform(bone, rest) * w).sum(),
            Self::Dqs(weights, _) => blend_quaternions(weights, v, scratch, rest),
            Self::AnimationSpace { offsets, bones, a } => {
                let range = offsets[v] as usize..offsets[v + 1] as usize;
                let terms = bones[range.clone()].iter().zip(&a[range]);
                // The rest position is inside the coefficients; a displacement follows their weights.
                let of = |a: &Vec4| if rest.w == 0.0 { rest * a.w } else { *a };
                terms.map(|(&bone, a)| transform(bone as usize, of(a))).sum()
            }
            Self::RotationalRegression(_) if rest.w != 0.0 => scratch.turns_of_triangles.positions[v].as_vec3(),
            // A displacement follows linear blending.
            Self::RotationalRegression(model) => {
                let terms = model.weights.of(v).iter();
                terms.map(|(bone, w)| transform(bone.get(), rest) * *w as f32).sum()
            }
            Self::Rest | Self::Given => rest.truncate(),
        }
    }
}
