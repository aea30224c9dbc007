//! Positions and normals of a pose together.

use super::blend::{Columns, blend_four};
use super::block::BLOCK;
use super::settle::PIECE;
use super::weights::Four;
use super::{Baked, BakedBase, Guarded, Scratch};
use crate::normals::{MeshNormals, skinned_normal};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DMat3, DVec3, Vec3};
use dermis_solve::simd::{self, Apart, Fma, Kernel};
use rayon::prelude::*;

/// What normals are made from.
#[derive(Clone, Debug)]
pub enum Normals {
    /// Rest normals, which the base's blended matrix turns: [`skinned_normal`]. A correction does not turn them.
    Skinned(Vec<Vec3>),
    /// The deformed mesh itself, as corrected shapes need.
    Mesh(MeshNormals),
}

impl Baked {
    /// Positions and normals in a pose; positions are those of [`evaluate`](Self::evaluate), up to their last bit or two.
    ///
    /// # Panics
    /// As [`evaluate`](Self::evaluate), or if `normals` or `out_normals` have another number of vertices.
    pub fn evaluate_with_normals(
        &self,
        transforms: &BoneTransforms,
        given: Option<&[Vec3]>,
        normals: &Normals,
        scratch: &mut Scratch,
        out: &mut [Vec3],
        out_normals: &mut [Vec3],
    ) -> Guarded {
        assert_eq!(out_normals.len(), self.rest.len(), "the normals have another number of vertices");
        let rest_normals = match normals {
            Normals::Skinned(normals) => normals,
            Normals::Mesh(mesh) => {
                let guarded = self.evaluate(transforms, given, scratch, out);
                mesh.compute_with(out, &mut scratch.faces, out_normals);
                return guarded;
            }
        };
        assert_eq!(rest_normals.len(), self.rest.len(), "the rest normals have another number of vertices");
        assert_eq!(out.len(), self.rest.len(), "the output has another number of vertices");
        let mut guarded = self.prepare(transforms, given, scratch);
        let scratch = &*scratch;
        let blocks = out.par_chunks_mut(BLOCK).zip(out_normals.par_chunks_mut(BLOCK)).enumerate();
        let work = |(b, (out, normals)): (usize, (&mut [Vec3], &mut [Vec3]))| {
            let from = b * BLOCK;
            let rest_normals = &rest_normals[from..from + out.len()];
            let held = match (&self.base, &self.correction) {
                (BakedBase::Lbs(weights), None) if !weights.fours.is_empty() => {
                    let range = from..from + out.len();
                    let (fours, more) = (&weights.fours[range.clone()], weights.more_of(range.clone()));
                    let (table, rest, behind) = (&scratch.bones[..], &self.rest[range.clone()], scratch.behind);
                    #[cfg(target_arch = "x86_64")]
                    let done = match more.is_empty() {
                        true => {
                            let (lists, outs) = ((rest, rest_normals), (&mut *out, &mut *normals));
                            super::avx512::first_four_with_normals(fours, table, lists, behind, outs)
                        }
                        false => 0,
                    };
                    #[cfg(not(target_arch = "x86_64"))]
                    let done = 0;
                    let (from, fours, rest) = (from + done, &fours[done..], &rest[done..]);
                    let (rest_normals, positions) = (&rest_normals[done..], &mut out[done..]);
                    let normals = &mut normals[done..];
                    simd::run(Blend { from, fours, more, table, rest, behind, rest_normals, positions, normals });
                    for &(v, excess) in weights.unnormalised_of(range.clone()) {
                        out[v as usize - range.start] += scratch.middle * excess;
                    }
                    0
                }
                _ => {
                    let held = self.block(from, given, scratch, out);
                    for (i, (normal, rest)) in normals.iter_mut().zip(rest_normals).enumerate() {
                        *normal = turned::<Apart>(&self.base.linear(from + i, scratch), *rest);
                    }
                    held
                }
            };
            self.mend(from, transforms, rest_normals, scratch, normals);
            held
        };
        guarded.held = match rayon::current_num_threads() {
            1 => out_blocks(out, out_normals).map(work).sum(),
            _ => blocks.map(work).sum(),
        };
        guarded
    }

    /// Normals of a block where they are still zero: one by one, in `f64`.
    fn mend(
        &self,
        from: usize,
        transforms: &BoneTransforms,
        rest_normals: &[Vec3],
        scratch: &Scratch,
        normals: &mut [Vec3],
    ) {
        for (i, normal) in normals.iter_mut().enumerate().filter(|(_, n)| **n == Vec3::ZERO) {
            let v = from + i;
            let linear = match &self.base {
                BakedBase::Lbs(weights) => weights
                    .of_vertex(v)
                    .fold(DMat3::ZERO, |sum, (bone, w)| sum + transforms.as_slice()[bone].matrix3 * f64::from(w)),
                base => {
                    let m = base.linear(v, scratch).map(f64::from);
                    let column = |at: usize| DVec3::new(m[at], m[at + 1], m[at + 2]);
                    DMat3::from_cols(column(0), column(4), column(8))
                }
            };
            let dominant = self.base.dominant(v).map_or(linear, |bone| transforms.as_slice()[bone].matrix3);
            *normal = skinned_normal(rest_normals[i].as_dvec3(), &linear, &dominant).as_vec3();
        }
    }
}

/// The blocks of two lists side by side.
fn out_blocks<'a>(
    out: &'a mut [Vec3],
    normals: &'a mut [Vec3],
) -> impl Iterator<Item = (usize, (&'a mut [Vec3], &'a mut [Vec3]))> {
    out.chunks_mut(BLOCK).zip(normals.chunks_mut(BLOCK)).enumerate()
}

impl BakedBase {
    /// The linear part of the base's map at a vertex, column by column, four numbers each.
    fn linear(&self, v: usize, scratch: &Scratch) -> [f32; 16] {
        let [x, y, z] = [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| self.at(v, axis.extend(0.0), scratch));
        [x.x, x.y, x.z, 0.0, y.x, y.y, y.z, 0.0, z.x, z.y, z.z, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    /// The bone of largest weight.
    fn dominant(&self, v: usize) -> Option<usize> {
        match self {
            Self::Rigid(bones) => Some(bones[v] as usize).filter(|b| *b != super::NO_ANCHOR as usize),
            Self::Lbs(weights) | Self::Dqs(weights, _) => largest(weights.of_vertex(v)),
            Self::AnimationSpace { offsets, bones, a } => {
                let range = offsets[v] as usize..offsets[v + 1] as usize;
                largest(bones[range.clone()].iter().map(|b| *b as usize).zip(a[range].iter().map(|a| a.w)))
            }
            Self::RotationalRegression(model) => model.weights.dominant(v).map(|bone| bone.get()),
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

/// Linear blend skinning of a block with normals: `normalise(sign(det A) cof(A) n)`, zero where `f32` cannot tell.
struct Blend<'a> {
    from: usize,
    fours: &'a [Four],
    more: &'a [(u32, Four)],
    table: &'a [Columns],
    rest: &'a [Vec3],
    behind: Vec3,
    rest_normals: &'a [Vec3],
    positions: &'a mut [Vec3],
    normals: &'a mut [Vec3],
}

impl Kernel for Blend<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Fma>(self) {
        let Self { from, fours, mut more, table, rest, behind, rest_normals, positions, normals } = self;
        let mut blends = [[0.0f32; 16]; PIECE];
        for start in (0..positions.len()).step_by(PIECE) {
            let end = positions.len().min(start + PIECE);
            for (m, four) in blends.iter_mut().zip(&fours[start..end]) {
                *m = blend_four::<F>(four, table);
            }
            while let Some(((v, four), others)) = more.split_first() {
                let at = *v as usize - from;
                if at >= end {
                    break;
                }
                let sum = blend_four::<F>(four, table);
                for l in 0..16 {
                    blends[at - start][l] += sum[l];
                }
                more = others;
            }
            let (rest, rest_normals) = (&rest[start..end], &rest_normals[start..end]);
            let out = positions[start..end].iter_mut().zip(&mut normals[start..end]);
            for (((m, p), n), (position, normal)) in blends.iter().zip(rest).zip(rest_normals).zip(out) {
                let mut x = [0.0; 4];
                for j in 0..4 {
                    x[j] = F::f32(m[j], p.x, m[4 + j] * p.y) + F::f32(m[8 + j], p.z, m[12 + j]);
                }
                *position = Vec3::new(x[0], x[1], x[2]) + behind;
                *normal = turned::<F>(m, *n);
            }
        }
    }
}

/// Where `f32` can tell a normal and its sign, with s = |A|²: |cof(A) n|² over s² and (det A)² over s³ above the first two,
/// s below the third and above the last.
///
/// Cofactors are off by some 1e-7 |A|²: a hundredth of |A|² keeps five digits. The sign wants less.
pub(super) const LIMITS: [f32; 4] = [1e-4, 1e-6, 1e6, 1e-6];

/// The normal, or zero where the matrix is too near to flat, or of a size that `f32` cannot square twice.
#[inline(always)]
fn turned<F: Fma>(m: &[f32; 16], n: Vec3) -> Vec3 {
    let (ax, ay, az, bx, by, bz, cx, cy, cz) = (m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]);
    // b × c, c × a, a × b: the columns of the cofactor matrix.
    let (ux, uy, uz) = (F::f32(by, cz, -(bz * cy)), F::f32(bz, cx, -(bx * cz)), F::f32(bx, cy, -(by * cx)));
    let (vx, vy, vz) = (F::f32(cy, az, -(cz * ay)), F::f32(cz, ax, -(cx * az)), F::f32(cx, ay, -(cy * ax)));
    let (wx, wy, wz) = (F::f32(ay, bz, -(az * by)), F::f32(az, bx, -(ax * bz)), F::f32(ax, by, -(ay * bx)));
    let x = F::f32(ux, n.x, F::f32(vx, n.y, wx * n.z));
    let y = F::f32(uy, n.x, F::f32(vy, n.y, wy * n.z));
    let z = F::f32(uz, n.x, F::f32(vz, n.y, wz * n.z));
    let det = F::f32(ax, ux, F::f32(ay, uy, az * uz));
    let size = F::f32(ax, ax, F::f32(ay, ay, az * az))
        + (F::f32(bx, bx, F::f32(by, by, bz * bz)) + F::f32(cx, cx, F::f32(cy, cy, cz * cz)));
    let length = F::f32(x, x, F::f32(y, y, z * z));
    let [long, signed, large, small] = LIMITS;
    let square = size * size;
    let regular = (length > long * square) & (det * det > signed * (square * size)) & (size > small) & (size < large);
    let scale = if regular { det.signum() / length.sqrt() } else { 0.0 };
    // Not the product: zero times what is not finite is no zero.
    if regular { Vec3::new(x * scale, y * scale, z * scale) } else { Vec3::ZERO }
}

impl Normals {
    /// From rest normals of any positive length; one of length zero stays [`UNDEFINED_NORMAL`](crate::normals::UNDEFINED_NORMAL).
    pub fn skinned(rest: &[DVec3]) -> Self {
        Self::Skinned(rest.iter().map(|n| n.normalize_or_zero().as_vec3()).collect())
    }
}
