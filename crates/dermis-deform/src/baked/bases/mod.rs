//! Bases as they run: what carries a vertex before any correction.
//!
//! Positions are computed less the character's shift, how far its bones carry it from where it stands at rest, which is added at the end. Far from the
//! origin `f32` keeps their digits that way, and in the bind pose the shift is zero. Positions that are given or at rest are rounded already; they stay in place.

mod animation_space;
mod block;
mod corrective_smooth;
mod delta_mush;
mod dqs;
mod lbs;
mod rigid;
mod turn;
mod weights;

pub(super) use block::BLOCK;
pub use block::NO_ANCHOR;
pub use corrective_smooth::BakedCorrectiveSmooth;
pub use delta_mush::BakedDeltaMush;
pub(super) use dqs::summed;
pub(super) use lbs::{Lbs, blended, moved as moved_by};
pub(super) use turn::{By, Turned};
pub use weights::Weights;

use super::lanes::{self, Columns, FEW};
use crate::dual_quaternion::DualQuaternions;
use crate::rotational_regression::{RotationalRegression, TurnScratch};
use crate::stack::{Stack, StackPose};
use animation_space::AnimationSpace;
use corrective_smooth::Smooth;
use delta_mush::Mushed;
use dermis_rig::glam::{DAffine3, DMat3, DVec3, Vec3, Vec4};
use dermis_rig::{BoneTransforms, Rows};
use dermis_solve::simd::{self, Apart};
use dqs::{BlendedBones, Dqs, blend_quaternions};
use rigid::Rigid;
use std::iter::once;
use turn::Turn;

/// [`Base`](crate::base::Base) in `f32`.
#[derive(Clone, Debug)]
pub enum BakedBase {
    /// One bone per vertex, or [`NO_ANCHOR`] for one that stays.
    Rigid(Vec<u32>),
    /// Linear blend skinning.
    Lbs(Weights),
    /// Dual quaternion skinning.
    Dqs(Weights, DualQuaternions),
    /// Direct delta mush.
    DirectDeltaMush(BakedDeltaMush),
    /// Corrective smoothing.
    CorrectiveSmooth(Box<BakedCorrectiveSmooth>),
    /// Animation space: four coefficients per entry.
    AnimationSpace {
        /// The bones of every vertex.
        bones: Rows<u32>,
        /// The coefficients of each of them.
        a: Vec<Vec4>,
    },
    /// Rotational regression; computes in `f64`, as its system of equations needs.
    RotationalRegression(Box<RotationalRegression>),
    /// Deformers one after another; computes in `f64` and rounds once, vertex by vertex.
    Stack(Box<Stack>),
    /// The rest pose itself.
    Rest,
    /// Positions come with every pose.
    Given,
}

/// Memory of the bases, reused from pose to pose.
#[derive(Clone, Debug, Default)]
pub(super) struct BaseScratch {
    /// The bones less the character's shift, and after them the identity.
    pub(super) table: Vec<Columns>,
    /// The character's shift, which positions are computed without.
    pub(super) shift: Vec3,
    /// What is added to positions at the end: the shift, where the base is computed without it.
    pub(super) behind: Vec3,
    dqs: BlendedBones,
    rotational_regression: TurnScratch,
    /// The smoothed surface of corrective smoothing.
    smooth: Vec<Vec3>,
    stack: StackPose,
}

/// The map followed by a translation.
pub(super) fn moved(m: &DAffine3, by: DVec3) -> DAffine3 {
    DAffine3 { matrix3: m.matrix3, translation: m.translation + by }
}

impl BakedBase {
    /// What the pose gives to all vertices, into the scratch; bones are moved back by `shift`.
    pub(super) fn prepare(&self, rest: &[Vec3], transforms: &BoneTransforms, shift: DVec3, scratch: &mut BaseScratch) {
        scratch.shift = shift.as_vec3();
        scratch.behind = if self.stays_in_place() { Vec3::ZERO } else { scratch.shift };
        scratch.table.clear();
        scratch.table.extend(transforms.iter().map(|m| Columns::of(&moved(m, -shift))));
        let entries = (scratch.table.len() + 1).max(FEW);
        scratch.table.resize(entries, Columns::of(&DAffine3::IDENTITY));
        match self {
            Self::Dqs(_, blend) => scratch.dqs.prepare(blend, transforms, shift),
            Self::RotationalRegression(model) => {
                let rest = |v: usize| rest[v].as_dvec3();
                model.prepare(rest, transforms, shift, &mut scratch.rotational_regression);
            }
            Self::CorrectiveSmooth(model) => model.prepare(&scratch.table, scratch.shift, &mut scratch.smooth),
            Self::Stack(stack) => scratch.stack.prepare(stack, transforms),
            _ => {}
        }
    }

    /// Whether positions are rounded already and keep their bits: only the correction is computed without the shift.
    pub(super) fn stays_in_place(&self) -> bool {
        matches!(self, Self::Given | Self::Rest)
    }

    /// Bytes of the arrays that evaluation reads.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Rigid(bones) => 4 * bones.len(),
            Self::Lbs(weights) | Self::Dqs(weights, _) => weights.bytes(),
            Self::DirectDeltaMush(mush) => mush.bytes(),
            Self::CorrectiveSmooth(model) => model.bytes(),
            Self::AnimationSpace { bones, a } => 4 * (bones.offsets().len() + bones.entries().len()) + 16 * a.len(),
            Self::RotationalRegression(model) => model.bytes(),
            Self::Stack(stack) => stack.bytes(),
            Self::Rest | Self::Given => 0,
        }
    }

    /// Positions of a block, and its normals where wanted.
    pub(super) fn block(
        &self,
        from: usize,
        (rest, given): (&[Vec3], Option<&[Vec3]>),
        scratch: &BaseScratch,
        behind: Vec3,
        out: &mut [Vec3],
        normals: Option<Turned<'_>>,
    ) {
        let range = from..from + out.len();
        let (table, shift) = (&scratch.table[..], scratch.shift);
        match self {
            Self::Rigid(bones) => {
                let (bones, rest) = (&bones[range.clone()], &rest[range]);
                simd::run(Rigid { bones, table, rest, behind, shift, out });
            }
            Self::Lbs(weights) if !weights.fours.is_empty() => {
                let rest = &rest[range];
                return Lbs { from, weights, table, rest, behind, out, normals }.run();
            }
            Self::Dqs(weights, _) if !weights.fours.is_empty() => {
                let (bones, whole) = (&scratch.dqs, table);
                return Dqs { from, weights, bones, whole, rest, behind, shift, out, normals }.run();
            }
            Self::DirectDeltaMush(mush) => {
                return Mushed { from, mush, table, shift, behind, out, normals }.run();
            }
            Self::CorrectiveSmooth(model) => {
                return Smooth { from, model, smooth: &scratch.smooth, behind, out, normals }.run();
            }
            Self::AnimationSpace { bones, a } => {
                let (offsets, bones) = (&bones.offsets()[range.start..=range.end], bones.entries());
                lanes::run(AnimationSpace { offsets, bones, a, table, behind, shift, out });
            }
            Self::Given => out.copy_from_slice(&given.unwrap_or_default()[range]),
            Self::Rest => out.copy_from_slice(&rest[range]),
            Self::Lbs(_) | Self::Dqs(..) | Self::RotationalRegression(_) | Self::Stack(_) => {
                for (v, p) in range.zip(out) {
                    *p = self.at(v, rest[v].extend(1.0), scratch) + behind;
                }
            }
        }
        if let Some(normals) = normals {
            self.turn(from, rest, scratch, normals);
        }
    }

    /// Normals of a block by themselves.
    fn turn(&self, from: usize, rest: &[Vec3], scratch: &BaseScratch, normals: Turned<'_>) {
        let table = &scratch.table[..];
        match self {
            Self::Rigid(bones) => {
                let entries = |v: usize| once(((bones[v] as usize).min(table.len() - 1), 1.0));
                lanes::run(Turn { from, entries, table, normals });
            }
            Self::Lbs(weights) => {
                let entries = |v| weights.of_vertex(v);
                lanes::run(Turn { from, entries, table, normals });
            }
            Self::AnimationSpace { bones, a } => {
                let entries =
                    |v: usize| bones.of(v).iter().zip(&a[bones.range(v)]).map(|(&bone, a)| (bone as usize, a.w));
                lanes::run(Turn { from, entries, table, normals });
            }
            Self::RotationalRegression(model) => {
                let entries = |v| model.weights.of(v).iter().map(|&(bone, w)| (bone.get(), w as f32));
                lanes::run(Turn { from, entries, table, normals });
            }
            Self::Rest | Self::Given => normals.out.copy_from_slice(normals.rest),
            // More bones than 16 bits can count, and stacks: one by one. Smoothing bases have turned them with the positions.
            Self::Dqs(..) | Self::Stack(_) | Self::DirectDeltaMush(_) | Self::CorrectiveSmooth(_) => {
                for (i, (out, n)) in normals.out.iter_mut().zip(normals.rest).enumerate() {
                    *out = match normals.by {
                        By::Cofactors => Vec3::ZERO,
                        By::Matrix => self.linear(from + i, rest[from + i], scratch).as_mat3() * *n,
                    };
                }
            }
        }
    }

    /// Where a displacement `d` before the base moves vertex `v` with rest position `p`: S(p + d) − S(p).
    pub(super) fn carry(&self, v: usize, p: Vec3, d: Vec3, scratch: &BaseScratch) -> Vec3 {
        match self {
            Self::Stack(_) if d == Vec3::ZERO => Vec3::ZERO,
            Self::Stack(stack) => {
                let p = p.as_dvec3();
                let at = |p| stack.at(&scratch.stack, v, p);
                (at(p + d.as_dvec3()) - at(p)).as_vec3()
            }
            _ => self.at(v, d.extend(0.0), scratch),
        }
    }

    /// The map of vertex `v` applied to a homogeneous rest position, or to a displacement, whose last entry is zero: through a
    /// stack, [`carry`](Self::carry) takes displacements.
    fn at(&self, v: usize, rest: Vec4, scratch: &BaseScratch) -> Vec3 {
        let transform = |bone: usize, x: Vec4| scratch.table[bone].apply::<Apart>(x);
        match self {
            Self::Rigid(bones) => transform((bones[v] as usize).min(scratch.table.len() - 1), rest),
            Self::Lbs(weights) => Columns::blended(&scratch.table, weights.of_vertex(v)).apply::<Apart>(rest),
            Self::Dqs(weights, _) => blend_quaternions(weights, v, &scratch.dqs, (&scratch.table, scratch.shift), rest),
            Self::DirectDeltaMush(mush) => mush.at(v, rest, (&scratch.table, scratch.shift)),
            Self::CorrectiveSmooth(model) => {
                let turned = model.linear(v, &scratch.table, &scratch.smooth) * rest.truncate().as_dvec3();
                turned.as_vec3()
            }
            Self::AnimationSpace { bones, a } => {
                let terms = bones.of(v).iter().zip(&a[bones.range(v)]);
                // The rest position is inside the coefficients; a displacement follows their weights.
                let of = |a: &Vec4| if rest.w == 0.0 { rest * a.w } else { *a };
                terms.map(|(&bone, a)| transform(bone as usize, of(a))).sum()
            }
            Self::RotationalRegression(_) if rest.w != 0.0 => scratch.rotational_regression.positions[v].as_vec3(),
            // A displacement follows linear blending.
            Self::RotationalRegression(model) => {
                let terms = model.weights.of(v).iter();
                terms.map(|(bone, w)| transform(bone.get(), rest) * *w as f32).sum()
            }
            Self::Stack(stack) => {
                let p = rest.truncate().as_dvec3();
                (stack.at(&scratch.stack, v, p) - scratch.shift.as_dvec3()).as_vec3()
            }
            Self::Rest | Self::Given => rest.truncate(),
        }
    }

    /// The linear part of the base's map at vertex `v` with rest position `p`.
    pub(super) fn linear(&self, v: usize, p: Vec3, scratch: &BaseScratch) -> DMat3 {
        match self {
            Self::Stack(stack) => return stack.linear(&scratch.stack, v, p.as_dvec3()),
            Self::CorrectiveSmooth(model) => return model.linear(v, &scratch.table, &scratch.smooth),
            _ => {}
        }
        let [x, y, z] = Vec3::AXES.map(|axis| self.at(v, axis.extend(0.0), scratch).as_dvec3());
        DMat3::from_cols(x, y, z)
    }

    /// The bone of largest weight.
    pub(super) fn dominant(&self, v: usize) -> Option<usize> {
        match self {
            Self::Rigid(bones) => Some(bones[v] as usize).filter(|b| *b != NO_ANCHOR as usize),
            Self::Lbs(weights) | Self::Dqs(weights, _) => largest(weights.of_vertex(v)),
            Self::DirectDeltaMush(mush) => largest(mush.weights_of(v)),
            Self::CorrectiveSmooth(model) => largest(model.weights_of(v)),
            Self::AnimationSpace { bones, a } => {
                largest(bones.of(v).iter().map(|b| *b as usize).zip(a[bones.range(v)].iter().map(|a| a.w)))
            }
            Self::RotationalRegression(model) => model.weights.dominant(v).map(|bone| bone.get()),
            Self::Stack(stack) => stack.weights()?.dominant(v).map(|bone| bone.get()),
            Self::Rest | Self::Given => None,
        }
    }
}

/// The first of the largest.
fn largest(weights: impl Iterator<Item = (usize, f32)>) -> Option<usize> {
    let mut best: Option<(usize, f32)> = None;
    for (bone, w) in weights {
        if best.is_none_or(|(_, most)| w > most) {
            best = Some((bone, w));
        }
    }
    best.map(|(bone, _)| bone)
}
