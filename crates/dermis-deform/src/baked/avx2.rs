//! Linear blend skinning with AVX2, spelled out; on machines with AVX-512 too, where it is faster than wider registers: a
//! vertex asks for four matrices and four weights, a load of 512 bits takes two of 256, and so does a weight spread over
//! 512 bits. Here a weight is spread in the registers, and the loads of matrices are what remains.
//!
//! The intrinsics are pulp's, which are safe: they ask for a token that proves the machine has them.

use super::blend::{Columns, FEW_BONES};
use super::weights::Four;
use bytemuck::{cast_slice, cast_slice_mut};
use dermis_rig::glam::Vec3;
use dermis_solve::simd::{self, Level};
use pulp::x86::V3;
use pulp::{NullaryFnOnce, cast};
use std::arch::x86_64::{__m128, __m256, __m256i};

/// Where matrices are looked up.
trait Table {
    /// The matrix of a bone.
    fn at(&self, bone: u16) -> &[f32; 16];
}

impl Table for [Columns; FEW_BONES] {
    /// An index of eight bits needs no check here.
    #[inline(always)]
    fn at(&self, bone: u16) -> &[f32; 16] {
        &self[usize::from(bone as u8)].0
    }
}

impl Table for [Columns] {
    #[inline(always)]
    fn at(&self, bone: u16) -> &[f32; 16] {
        &self[usize::from(bone)].0
    }
}

/// `out = (Σ w M) rest + behind` over four influences each, for as many groups of four vertices as there are; of how
/// many vertices: none without AVX2.
pub(super) fn first_four(fours: &[Four], table: &[Columns], rest: &[Vec3], behind: Vec3, out: &mut [Vec3]) -> usize {
    let whole = out.len() / 4 * 4;
    let Some(v3) = V3::try_new().filter(|_| matches!(simd::level(), Level::Avx2 | Level::Avx512)) else { return 0 };
    let (fours, rest, out) = (&fours[..whole], &rest[..whole], &mut out[..whole]);
    match <&[Columns; FEW_BONES]>::try_from(table) {
        Ok(table) => v3.vectorize(FirstFour { v3, fours, table, rest, behind, out }),
        Err(_) => v3.vectorize(FirstFour { v3, fours, table, rest, behind, out }),
    }
    whole
}

struct FirstFour<'a, T: ?Sized> {
    v3: V3,
    fours: &'a [Four],
    table: &'a T,
    rest: &'a [Vec3],
    behind: Vec3,
    out: &'a mut [Vec3],
}

impl<T: Table + ?Sized> NullaryFnOnce for FirstFour<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { v3, fours, table, rest, behind, out } = self;
        let outs = cast_slice_mut::<Vec3, f32>(out).as_chunks_mut::<12>().0;
        let rests = cast_slice::<Vec3, f32>(rest).as_chunks::<12>().0;
        let behind: __m128 = cast([behind.x, behind.y, behind.z, 0.0]);
        for ((out, p), group) in outs.iter_mut().zip(rests).zip(fours.as_chunks::<4>().0) {
            let at = |i: usize| -> __m128 { cast([p[i], p[i + 1], p[i + 2], p[i + 3]]) };
            let moved = [
                v3.sse._mm_add_ps(moved::<0>(v3, &group[0], table, at(0)), behind),
                v3.sse._mm_add_ps(moved::<0>(v3, &group[1], table, at(3)), behind),
                v3.sse._mm_add_ps(moved::<0>(v3, &group[2], table, at(6)), behind),
                // The last four numbers hold the last position behind one of another.
                v3.sse._mm_add_ps(moved::<1>(v3, &group[3], table, at(8)), behind),
            ];
            // Each store but the last writes one number too many, which the next one mends.
            let [a, b, c, d] = moved.map(cast::<__m128, [f32; 4]>);
            out[..4].copy_from_slice(&a);
            out[3..7].copy_from_slice(&b);
            out[6..10].copy_from_slice(&c);
            out[9..].copy_from_slice(&d[..3]);
        }
    }
}

/// (Σ w M) p for the position that starts at number `AT` of `p`.
#[inline(always)]
fn moved<const AT: i32>(v3: V3, four: &Four, table: &(impl Table + ?Sized), p: __m128) -> __m128 {
    let (low, high) = blend(v3, four, table);
    // One where the translation is multiplied.
    let one = v3.sse._mm_set1_ps(1.0);
    let p = if AT == 0 { v3.sse4_1._mm_blend_ps::<0b1000>(p, one) } else { v3.sse4_1._mm_blend_ps::<0b0001>(p, one) };
    let p = v3.avx._mm256_castps128_ps256(p);
    let (x, y, z, w) = if AT == 0 { (0, 1, 2, 3) } else { (1, 2, 3, 0) };
    let (xy, zw): (__m256i, __m256i) = (cast([x, x, x, x, y, y, y, y]), cast([z, z, z, z, w, w, w, w]));
    let sum = v3.avx._mm256_mul_ps(low, v3.avx2._mm256_permutevar8x32_ps(p, xy));
    let sum = v3.fma._mm256_fmadd_ps(high, v3.avx2._mm256_permutevar8x32_ps(p, zw), sum);
    v3.sse._mm_add_ps(v3.avx._mm256_castps256_ps128(sum), v3.avx._mm256_extractf128_ps::<1>(sum))
}

/// Σ w M: its first two columns, and its last two.
#[inline(always)]
fn blend(v3: V3, four: &Four, table: &(impl Table + ?Sized)) -> (__m256, __m256) {
    let weights = v3.avx._mm256_castps128_ps256(cast(four.weights));
    let w = |k: i32| v3.avx2._mm256_permutevar8x32_ps(weights, cast([k; 8]));
    let m = |k: usize| -> (__m256, __m256) {
        let (low, high) = table.at(four.bone(k)).split_at(8);
        (
            cast::<[f32; 8], __m256>(std::array::from_fn(|i| low[i])),
            cast::<[f32; 8], __m256>(std::array::from_fn(|i| high[i])),
        )
    };
    let (f, (low, high), spread) = (v3.fma, m(0), w(0));
    let (low, high) = (v3.avx._mm256_mul_ps(spread, low), v3.avx._mm256_mul_ps(spread, high));
    let ((l, h), spread) = (m(1), w(1));
    let (low, high) = (f._mm256_fmadd_ps(spread, l, low), f._mm256_fmadd_ps(spread, h, high));
    let ((l, h), spread) = (m(2), w(2));
    let (low, high) = (f._mm256_fmadd_ps(spread, l, low), f._mm256_fmadd_ps(spread, h, high));
    let ((l, h), spread) = (m(3), w(3));
    (f._mm256_fmadd_ps(spread, l, low), f._mm256_fmadd_ps(spread, h, high))
}
