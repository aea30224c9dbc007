//! Multi-weight enveloping with AVX-512, spelled out: the compiler makes no good vectors of its horizontal sums.
//!
//! The intrinsics are pulp's, which are safe: they ask for a token that proves the machine has them.

use super::blend::Columns;
use super::coefficients::AHEAD;
use crate::enveloping::Rows;
use crate::guard::project_f32;
use crate::simd::prefetch;
use bytemuck::cast_slice_mut;
use dermis_rig::glam::Vec3;
use dermis_solve::simd::{self, Level};
use pulp::x86::V4;
use pulp::{NullaryFnOnce, cast};
use std::arch::x86_64::{__m512, __m512i};

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

/// Multi-weight enveloping of as many groups of four vertices as a block has: adds the correction.
pub(super) struct Envelop<'a, T> {
    pub(super) rows: Rows,
    /// Where the block's vertices start; one more entry than vertices.
    pub(super) offsets: &'a [u32],
    pub(super) terms: &'a [u32],
    pub(super) values: &'a [T],
    /// Of the block's vertices; empty for coefficients in units of one.
    pub(super) units: &'a [f32],
    pub(super) features: &'a [Columns],
    pub(super) anchors: &'a [u32],
    pub(super) table: &'a [Columns],
    /// Of the block's vertices; empty without a ball.
    pub(super) radii: &'a [f32],
    pub(super) behind: Vec3,
    pub(super) out: &'a mut [Vec3],
}

impl<T: Twelve> Envelop<'_, T> {
    /// At how many vertices the ball acted, and how many vertices are done: none if AVX-512 is not the level in use.
    pub(super) fn run(self) -> (usize, usize) {
        let whole = self.out.len() / 4 * 4;
        match V4::try_new().filter(|_| simd::level() == Level::Avx512) {
            Some(v4) => (v4.vectorize(Envelops(v4, self)), whole),
            None => (0, 0),
        }
    }
}

struct Envelops<'a, T>(V4, Envelop<'a, T>);

impl<T: Twelve> NullaryFnOnce for Envelops<'_, T> {
    type Output = usize;

    #[inline(always)]
    fn call(self) -> usize {
        let Self(v4, job) = self;
        let f = v4.avx512f;
        let last = job.table.len() - 1;
        let Vec3 { x, y, z } = job.behind;
        let behind = cast([x, y, z, 0.0, x, y, z, 0.0, x, y, z, 0.0, x, y, z, 0.0]);
        let (rows, full) = (job.values.as_chunks::<12>().0, job.values.as_chunks::<36>().0);
        let mut held = 0;
        let outs = cast_slice_mut::<Vec3, f32>(job.out).as_chunks_mut::<12>().0;
        for (group, out) in outs.iter_mut().enumerate() {
            let first = 4 * group;
            let mut sums = [f._mm512_setzero_ps(); 4];
            for i in 0..4 {
                let (from, to) = (job.offsets[first + i] as usize, job.offsets[first + i + 1] as usize);
                let terms = &job.terms[from..to];
                sums[i] = match job.rows {
                    Rows::Row => row_sums(v4, terms, &rows[from..to], job.features),
                    Rows::Full => full_sums(v4, terms, &full[from..to], job.features),
                };
            }
            if let Some(units) = job.units.get(first..first + 4) {
                for i in 0..4 {
                    sums[i] = f._mm512_mul_ps(sums[i], f._mm512_set1_ps(units[i]));
                }
            }
            // Per quarter, that is per axis, the sums of the four vertices.
            let [a, b, c, d] = sums;
            let ab = f._mm512_add_ps(f._mm512_unpacklo_ps(a, b), f._mm512_unpackhi_ps(a, b));
            let cd = f._mm512_add_ps(f._mm512_unpacklo_ps(c, d), f._mm512_unpackhi_ps(c, d));
            let (ab, cd) = (f._mm512_castps_pd(ab), f._mm512_castps_pd(cd));
            let axes = f._mm512_add_ps(
                f._mm512_castpd_ps(f._mm512_unpacklo_pd(ab, cd)),
                f._mm512_castpd_ps(f._mm512_unpackhi_pd(ab, cd)),
            );
            let mut turned = [axes; 4];
            for i in 0..4 {
                let m = cast::<[f32; 16], __m512>(job.table[(job.anchors[first + i] as usize).min(last)].0);
                let at = i as i32;
                let (x, y, z) = (at, 4 + at, 8 + at);
                let order: __m512i = cast([x, x, x, x, y, y, y, y, z, z, z, z, 0, 0, 0, 0]);
                turned[i] = f._mm512_maskz_mul_ps(0x0fff, m, f._mm512_permutexvar_ps(order, axes));
            }
            let mut deltas = quarters(v4, turned);
            if let Some(radii) = job.radii.get(first..first + 4) {
                let order: __m512i = cast([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
                let mut four = [0.0f32; 16];
                four[..4].copy_from_slice(radii);
                let r = f._mm512_permutexvar_ps(order, cast(four));
                let squares = f._mm512_mul_ps(deltas, deltas);
                let pairs = f._mm512_add_ps(squares, f._mm512_permute_ps::<0b10_11_00_01>(squares));
                let squares = f._mm512_add_ps(pairs, f._mm512_permute_ps::<0b01_00_11_10>(pairs));
                let most = f._mm512_mul_ps(f._mm512_mul_ps(r, r), f._mm512_set1_ps(0.999));
                // Well inside is decided without a root; what is no number is not inside.
                if f._mm512_cmp_ps_mask::<{ std::arch::x86_64::_CMP_LT_OQ }>(squares, most) != 0xffff {
                    let mut each: [f32; 16] = cast(deltas);
                    for (d, &radius) in each.as_chunks_mut::<4>().0.iter_mut().zip(radii) {
                        let (delta, acted) = project_f32(Vec3::new(d[0], d[1], d[2]), radius);
                        (d[0], d[1], d[2]) = (delta.x, delta.y, delta.z);
                        held += usize::from(acted);
                    }
                    deltas = cast(each);
                }
            }
            let order: __m512i = cast([0, 1, 2, 12, 3, 4, 5, 12, 6, 7, 8, 12, 9, 10, 11, 12]);
            let base = f._mm512_permutexvar_ps(order, f32::twelve(v4, out));
            store(v4, f._mm512_add_ps(f._mm512_add_ps(base, deltas), behind), out);
        }
        held
    }
}

/// Axis j reads row j of the features: four running products per axis.
#[inline(always)]
fn row_sums<T: Twelve>(v4: V4, terms: &[u32], values: &[[T; 12]], features: &[Columns]) -> __m512 {
    let f = v4.avx512f;
    let mut sum = f._mm512_setzero_ps();
    for (&term, u) in terms.iter().zip(values) {
        prefetch(u, AHEAD);
        sum = f._mm512_fmadd_ps(T::twelve(v4, u), cast(features[term as usize].0), sum);
    }
    sum
}

/// Every axis reads all features: four running products per axis.
#[inline(always)]
fn full_sums<T: Twelve>(v4: V4, terms: &[u32], values: &[[T; 36]], features: &[Columns]) -> __m512 {
    let f = v4.avx512f;
    let mut sums = [f._mm512_setzero_ps(); 4];
    for (&term, u) in terms.iter().zip(values) {
        let feature = cast(features[term as usize].0);
        for (axis, u) in u.as_chunks::<12>().0.iter().enumerate() {
            prefetch(u, AHEAD);
            sums[axis] = f._mm512_fmadd_ps(T::twelve(v4, u), feature, sums[axis]);
        }
    }
    quarters(v4, sums)
}

/// Coefficients that are read twelve at a time; the last quarter is zero.
pub(super) trait Twelve: Copy {
    fn twelve(v4: V4, u: &[Self; 12]) -> __m512;
}

impl Twelve for f32 {
    #[inline(always)]
    fn twelve(v4: V4, u: &[f32; 12]) -> __m512 {
        let (low, high) = u.split_at(8);
        let low: [f32; 8] = std::array::from_fn(|i| low[i]);
        let high: [f32; 4] = std::array::from_fn(|i| high[i]);
        v4.avx512dq._mm512_insertf32x8::<1>(
            v4.avx512f._mm512_zextps256_ps512(cast(low)),
            v4.avx._mm256_zextps128_ps256(cast(high)),
        )
    }
}

impl Twelve for i16 {
    #[inline(always)]
    fn twelve(v4: V4, u: &[i16; 12]) -> __m512 {
        let (low, high) = u.split_at(8);
        let low: [i16; 8] = std::array::from_fn(|i| low[i]);
        let high: [i16; 4] = std::array::from_fn(|i| high[i]);
        let all = v4.avx2._mm256_inserti128_si256::<1>(
            v4.avx._mm256_zextsi128_si256(cast(low)),
            cast([cast::<[i16; 4], u64>(high), 0]),
        );
        v4.avx512f._mm512_cvtepi32_ps(v4.avx512f._mm512_cvtepi16_epi32(all))
    }
}

/// The first three numbers of every quarter.
#[inline(always)]
fn store(v4: V4, x: __m512, out: &mut [f32; 12]) {
    let order: __m512i = cast([0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15]);
    let packed: [f32; 16] = cast(v4.avx512f._mm512_permutexvar_ps(order, x));
    out.copy_from_slice(&packed[..12]);
}
