//! Linear blend skinning with AVX-512, spelled out: the compiler makes no good vectors of its horizontal sums.
//!
//! The intrinsics are pulp's, which are safe: they ask for a token that proves the machine has them.

use super::blend::Columns;
use super::weights::Four;
use bytemuck::{cast_slice, cast_slice_mut};
use dermis_rig::glam::Vec3;
use dermis_solve::simd::{self, Level};
use pulp::x86::V4;
use pulp::{NullaryFnOnce, cast};
use std::arch::x86_64::{__m512, __m512i};

/// `out = (Σ w M) rest + behind` over four influences each, for as many groups of four vertices as there are; of how
/// many vertices: none if AVX-512 is not the level in use.
pub(super) fn first_four(fours: &[Four], table: &[Columns], rest: &[Vec3], behind: Vec3, out: &mut [Vec3]) -> usize {
    let whole = out.len() / 4 * 4;
    match V4::try_new().filter(|_| simd::level() == Level::Avx512) {
        Some(v4) => {
            let (fours, rest, out) = (&fours[..whole], &rest[..whole], &mut out[..whole]);
            v4.vectorize(FirstFour { v4, fours, table, rest, behind, out });
            whole
        }
        None => 0,
    }
}

struct FirstFour<'a> {
    v4: V4,
    fours: &'a [Four],
    table: &'a [Columns],
    rest: &'a [Vec3],
    behind: Vec3,
    out: &'a mut [Vec3],
}

impl NullaryFnOnce for FirstFour<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { v4, fours, table, rest, behind, out } = self;
        let outs = cast_slice_mut::<Vec3, f32>(out).as_chunks_mut::<12>().0;
        let rests = cast_slice::<Vec3, f32>(rest).as_chunks::<12>().0;
        let Vec3 { x, y, z } = behind;
        let behind = cast([x, y, z, 0.0, x, y, z, 0.0, x, y, z, 0.0, x, y, z, 0.0]);
        for ((out, p), group) in outs.iter_mut().zip(rests).zip(fours.as_chunks::<4>().0) {
            let mut rest = [0.0f32; 16];
            rest[..12].copy_from_slice(p);
            let p = cast(rest);
            let products = [
                product(v4, &group[0], table, spread::<0>(v4, p)),
                product(v4, &group[1], table, spread::<3>(v4, p)),
                product(v4, &group[2], table, spread::<6>(v4, p)),
                product(v4, &group[3], table, spread::<9>(v4, p)),
            ];
            let sums = v4.avx512f._mm512_add_ps(quarters(v4, products), behind);
            let order: __m512i = cast([0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15]);
            let packed: [f32; 16] = cast(v4.avx512f._mm512_permutexvar_ps(order, sums));
            out.copy_from_slice(&packed[..12]);
        }
    }
}

/// x x x x y y y y z z z z of the position that starts at `AT`.
#[inline(always)]
fn spread<const AT: i32>(v4: V4, p: __m512) -> __m512 {
    let (x, y, z) = (AT, AT + 1, AT + 2);
    let order: __m512i = cast([x, x, x, x, y, y, y, y, z, z, z, z, 0, 0, 0, 0]);
    v4.avx512f._mm512_permutexvar_ps(order, p)
}

/// The columns of Σ w M, each times its coordinate of `x`; the last as it is.
#[inline(always)]
fn product(v4: V4, four: &Four, table: &[Columns], x: __m512) -> __m512 {
    let f = v4.avx512f;
    let m = |k: usize| cast::<[f32; 16], __m512>(table[four.bones[k] as usize].0);
    let w = |k: usize| f._mm512_set1_ps(four.weights[k]);
    let sum = f._mm512_mul_ps(w(0), m(0));
    let sum = f._mm512_fmadd_ps(w(1), m(1), sum);
    let sum = f._mm512_fmadd_ps(w(2), m(2), sum);
    let sum = f._mm512_fmadd_ps(w(3), m(3), sum);
    f._mm512_mask_mul_ps(sum, 0x0fff, sum, x)
}

/// The four quarters of each of four registers added up: one quarter of the result each.
#[inline(always)]
fn quarters(v4: V4, [a, b, c, d]: [__m512; 4]) -> __m512 {
    let f = v4.avx512f;
    let ab =
        f._mm512_add_ps(f._mm512_shuffle_f32x4::<0b01_00_01_00>(a, b), f._mm512_shuffle_f32x4::<0b11_10_11_10>(a, b));
    let cd =
        f._mm512_add_ps(f._mm512_shuffle_f32x4::<0b01_00_01_00>(c, d), f._mm512_shuffle_f32x4::<0b11_10_11_10>(c, d));
    f._mm512_add_ps(f._mm512_shuffle_f32x4::<0b10_00_10_00>(ab, cd), f._mm512_shuffle_f32x4::<0b11_01_11_01>(ab, cd))
}
