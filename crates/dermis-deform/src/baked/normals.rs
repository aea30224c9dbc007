//! Positions and normals of a pose together.

use super::blend::Columns;
use super::block::BLOCK;
use super::eight::{EIGHT, Eight, EightKernel, numbers, padded, store};
use super::{Baked, BakedBase, Guarded, Scratch};
use crate::normals::{MeshNormals, skinned_normal};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;
use std::ops::Range;

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
            let held = self.block(from, given, scratch, out, Some(Turned { rest: rest_normals, out: &mut *normals }));
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

/// Normals of a block: those at rest, and where they go when turned; zero where `f32` cannot tell them.
pub(super) struct Turned<'a> {
    pub(super) rest: &'a [Vec3],
    pub(super) out: &'a mut [Vec3],
}

impl Turned<'_> {
    /// The first normals, and the others.
    pub(super) fn split_at(&mut self, at: usize) -> (Turned<'_>, Turned<'_>) {
        let ((a, b), (x, y)) = (self.rest.split_at(at), self.out.split_at_mut(at));
        (Turned { rest: a, out: x }, Turned { rest: b, out: y })
    }
}

/// Normals turned by a blend of matrices, whose bones and weights `entries` tells of every vertex from `from` on.
pub(super) struct Turn<'a, Entries> {
    pub(super) from: usize,
    pub(super) entries: Entries,
    pub(super) table: &'a [Columns],
    pub(super) normals: Turned<'a>,
}

impl<Entry: Iterator<Item = (usize, f32)>, Entries: Fn(usize) -> Entry> EightKernel for Turn<'_, Entries> {
    #[inline(always)]
    fn run<E: Eight>(self, e: E) {
        let Self { from, entries, table, normals } = self;
        let ((outs, last), (rests, last_rest)) = (normals.out.as_chunks_mut(), normals.rest.as_chunks());
        for (at, (out, rest)) in outs.iter_mut().zip(rests).enumerate() {
            turn(e, from + at * EIGHT..from + (at + 1) * EIGHT, &entries, table, rest, out);
        }
        if !last.is_empty() {
            let mut turned = [Vec3::ZERO; EIGHT];
            let first = from + outs.len() * EIGHT;
            turn(e, first..first + last.len(), &entries, table, &padded(last_rest), &mut turned);
            last.copy_from_slice(&turned[..last.len()]);
        }
    }
}

/// The normals of a chunk, or of a part of one.
#[inline(always)]
fn turn<E: Eight, Entry: Iterator<Item = (usize, f32)>>(
    e: E,
    vertices: Range<usize>,
    entries: &impl Fn(usize) -> Entry,
    table: &[Columns],
    rest: &[Vec3; EIGHT],
    out: &mut [Vec3; EIGHT],
) {
    let mut maps = [e.zero(); EIGHT];
    for (v, map) in vertices.zip(&mut maps) {
        for (bone, w) in entries(v) {
            *map = e.blend(*map, w, &table[bone]);
        }
    }
    let [a, b, c, d, p, q, r, s] = maps;
    let maps = e.maps(e.four_maps([a, b, c, d]), e.four_maps([p, q, r, s]));
    store(e, turned(e, &maps, e.split(numbers(rest))), out);
}

/// Where `f32` can tell a normal and its sign, with s = |A|²: |cof(A) n|² over s² and (det A)² over s³ above the first two,
/// s below the third and above the last.
///
/// Cofactors are off by some 1e-7 |A|²: a hundredth of |A|² keeps five digits. The sign wants less.
const LIMITS: [f32; 4] = [1e-4, 1e-6, 1e6, 1e-6];

/// sign(det A) cof(A) n over its length; zero where A is too near to flat, or of a size that `f32` cannot square twice.
#[inline(always)]
pub(super) fn turned<E: Eight>(e: E, m: &[[E::Lanes; 3]; 4], n: [E::Lanes; 3]) -> [E::Lanes; 3] {
    let [a, b, c, _] = *m;
    // The columns of the cofactor matrix.
    let (u, v, w) = (cross(e, b, c), cross(e, c, a), cross(e, a, b));
    let mut turned = n;
    for j in 0..3 {
        turned[j] = e.mul_add(u[j], n[0], e.mul_add(v[j], n[1], e.mul(w[j], n[2])));
    }
    let (det, length) = (dot(e, a, u), dot(e, turned, turned));
    let size = e.add(dot(e, a, a), e.add(dot(e, b, b), dot(e, c, c)));
    let square = e.mul(size, size);
    let [long, signed, large, small] = LIMITS;
    let (long, signed) = (e.splat(long), e.splat(signed));
    let (large, small) = (e.splat(large), e.splat(small));
    let long_enough = e.less(e.mul(long, square), length);
    let sign_is_sure = e.less(e.mul(signed, e.mul(square, size)), e.mul(det, det));
    let of_a_size = e.and(e.less(small, size), e.less(size, large));
    let regular = e.and(e.and(long_enough, sign_is_sure), of_a_size);
    let scale = e.div(e.copy_sign(e.splat(1.0), det), e.sqrt(length));
    // Not the product with zero: zero times what is not finite is no zero.
    for number in &mut turned {
        *number = e.and(regular, e.mul(*number, scale));
    }
    turned
}

#[inline(always)]
fn dot<E: Eight>(e: E, a: [E::Lanes; 3], b: [E::Lanes; 3]) -> E::Lanes {
    e.mul_add(a[0], b[0], e.mul_add(a[1], b[1], e.mul(a[2], b[2])))
}

/// a × b.
#[inline(always)]
pub(super) fn cross<E: Eight>(e: E, a: [E::Lanes; 3], b: [E::Lanes; 3]) -> [E::Lanes; 3] {
    [
        e.mul_sub(a[1], b[2], e.mul(a[2], b[1])),
        e.mul_sub(a[2], b[0], e.mul(a[0], b[2])),
        e.mul_sub(a[0], b[1], e.mul(a[1], b[0])),
    ]
}

impl Normals {
    /// From rest normals of any positive length; one of length zero stays [`UNDEFINED_NORMAL`](crate::normals::UNDEFINED_NORMAL).
    pub fn skinned(rest: &[DVec3]) -> Self {
        Self::Skinned(rest.iter().map(|n| n.normalize_or_zero().as_vec3()).collect())
    }
}
