//! Linear blend skinning with normals, and multi-weight enveloping, with AVX-512, spelled out: the compiler makes no good vectors of
//! their horizontal sums.
//!
//! The intrinsics are pulp's, which are safe: they ask for a token that proves the machine has them.

use super::blend::Columns;
use super::coefficients::AHEAD;
use super::normals::LIMITS;
use super::weights::Four;
use crate::enveloping::Rows;
use crate::guard::project_f32;
use crate::simd::prefetch;
use bytemuck::{cast_slice, cast_slice_mut};
use dermis_rig::glam::Vec3;
use dermis_solve::simd::{self, Level};
use pulp::x86::V4;
use pulp::{NullaryFnOnce, cast};
use std::arch::x86_64::{__m512, __m512i};

/// x x x x y y y y z z z z of the position that starts at `AT`.
#[inline(always)]
fn spread<const AT: i32>(v4: V4, p: __m512) -> __m512 {
    let (x, y, z) = (AT, AT + 1, AT + 2);
    let order: __m512i = cast([x, x, x, x, y, y, y, y, z, z, z, z, 0, 0, 0, 0]);
    v4.avx512f._mm512_permutexvar_ps(order, p)
}

/// Σ w M.
#[inline(always)]
fn blend(v4: V4, four: &Four, table: &[Columns]) -> __m512 {
    let f = v4.avx512f;
    let m = |k: usize| cast::<[f32; 16], __m512>(table[four.bones[k] as usize].0);
    let w = |k: usize| f._mm512_set1_ps(four.weights[k]);
    let sum = f._mm512_mul_ps(w(0), m(0));
    let sum = f._mm512_fmadd_ps(w(1), m(1), sum);
    let sum = f._mm512_fmadd_ps(w(2), m(2), sum);
    f._mm512_fmadd_ps(w(3), m(3), sum)
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

/// `out = (Σ w M) rest + behind` over four influences each, with normals, zero where `f32` cannot tell them; for vertices without more
/// than four influences. Done for as many groups of four vertices as there are; of how many vertices: none if AVX-512 is
/// not the level in use.
pub(super) fn first_four_with_normals(
    fours: &[Four],
    table: &[Columns],
    (rest, rest_normals): (&[Vec3], &[Vec3]),
    behind: Vec3,
    (out, normals): (&mut [Vec3], &mut [Vec3]),
) -> usize {
    let whole = out.len() / 4 * 4;
    match V4::try_new().filter(|_| simd::level() == Level::Avx512) {
        Some(v4) => {
            let (rest, rest_normals) = (&rest[..whole], &rest_normals[..whole]);
            let (out, normals) = (&mut out[..whole], &mut normals[..whole]);
            v4.vectorize(WithNormals { v4, fours, table, rest, rest_normals, behind, out, normals });
            whole
        }
        None => 0,
    }
}

struct WithNormals<'a> {
    v4: V4,
    fours: &'a [Four],
    table: &'a [Columns],
    rest: &'a [Vec3],
    rest_normals: &'a [Vec3],
    behind: Vec3,
    out: &'a mut [Vec3],
    normals: &'a mut [Vec3],
}

impl NullaryFnOnce for WithNormals<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { v4, fours, table, rest, rest_normals, behind, out, normals } = self;
        let f = v4.avx512f;
        let Vec3 { x, y, z } = behind;
        let behind = cast([x, y, z, 0.0, x, y, z, 0.0, x, y, z, 0.0, x, y, z, 0.0]);
        let outs = cast_slice_mut::<Vec3, f32>(out).as_chunks_mut::<12>().0;
        let out_normals = cast_slice_mut::<Vec3, f32>(normals).as_chunks_mut::<12>().0;
        let rests = cast_slice::<Vec3, f32>(rest).as_chunks::<12>().0;
        let rest_normals = cast_slice::<Vec3, f32>(rest_normals).as_chunks::<12>().0;
        let groups = outs.iter_mut().zip(out_normals).zip(rests.iter().zip(rest_normals)).zip(fours.as_chunks::<4>().0);
        for (((out, out_normal), (p, n)), group) in groups {
            let (p, n) = (f32::twelve(v4, p), f32::twelve(v4, n));
            let p = [spread::<0>(v4, p), spread::<3>(v4, p), spread::<6>(v4, p), spread::<9>(v4, p)];
            let n = [spread::<0>(v4, n), spread::<3>(v4, n), spread::<6>(v4, n), spread::<9>(v4, n)];
            let zero = f._mm512_setzero_ps();
            let (mut moved, mut turned, mut determinants, mut sizes) = ([zero; 4], [zero; 4], [zero; 4], [zero; 4]);
            for i in 0..4 {
                let m = blend(v4, &group[i], table);
                moved[i] = f._mm512_mask_mul_ps(m, 0x0fff, m, p[i]);
                let cofactors = cofactors(v4, m);
                turned[i] = f._mm512_mul_ps(cofactors, n[i]);
                // One column and its cofactors make the determinant.
                determinants[i] = f._mm512_maskz_mul_ps(0x000f, m, cofactors);
                sizes[i] = f._mm512_maskz_mul_ps(0x0fff, m, m);
            }
            store(v4, f._mm512_add_ps(quarters(v4, moved), behind), out);
            let turned = quarters(v4, turned);
            let determinant = within_quarters(v4, quarters(v4, determinants));
            let size = within_quarters(v4, quarters(v4, sizes));
            let squares = within_quarters(v4, f._mm512_mul_ps(turned, turned));
            let regular = regular(v4, squares, determinant, size);
            // The determinant's sign on the length.
            let sign = f._mm512_and_si512(cast(determinant), f._mm512_set1_epi32(i32::MIN));
            let length = f._mm512_or_si512(cast(f._mm512_sqrt_ps(squares)), sign);
            store(v4, f._mm512_maskz_div_ps(regular, turned, cast(length)), out_normal);
        }
    }
}

/// Where `f32` can tell a normal and its sign; see [`super::normals`].
#[inline(always)]
fn regular(v4: V4, squares: __m512, determinant: __m512, size: __m512) -> u16 {
    use std::arch::x86_64::_CMP_GT_OQ;
    let f = v4.avx512f;
    let [long, signed, large, small] = LIMITS.map(|limit| f._mm512_set1_ps(limit));
    let square = f._mm512_mul_ps(size, size);
    f._mm512_cmp_ps_mask::<_CMP_GT_OQ>(squares, f._mm512_mul_ps(long, square))
        & f._mm512_cmp_ps_mask::<_CMP_GT_OQ>(
            f._mm512_mul_ps(determinant, determinant),
            f._mm512_mul_ps(signed, f._mm512_mul_ps(square, size)),
        )
        & f._mm512_cmp_ps_mask::<_CMP_GT_OQ>(size, small)
        & f._mm512_cmp_ps_mask::<_CMP_GT_OQ>(large, size)
}

/// The columns of the cofactor matrix: b × c, c × a, a × b of the columns a, b, c. The last quarter is what it may be.
#[inline(always)]
fn cofactors(v4: V4, m: __m512) -> __m512 {
    let f = v4.avx512f;
    let (b_yzx, c_zxy): (__m512i, __m512i) = (
        cast([5, 6, 4, 7, 9, 10, 8, 11, 1, 2, 0, 3, 3, 3, 3, 3]),
        cast([10, 8, 9, 11, 2, 0, 1, 3, 6, 4, 5, 7, 3, 3, 3, 3]),
    );
    let (b_zxy, c_yzx): (__m512i, __m512i) = (
        cast([6, 4, 5, 7, 10, 8, 9, 11, 2, 0, 1, 3, 3, 3, 3, 3]),
        cast([9, 10, 8, 11, 1, 2, 0, 3, 5, 6, 4, 7, 3, 3, 3, 3]),
    );
    let minus = f._mm512_mul_ps(f._mm512_permutexvar_ps(b_zxy, m), f._mm512_permutexvar_ps(c_yzx, m));
    f._mm512_fmsub_ps(f._mm512_permutexvar_ps(b_yzx, m), f._mm512_permutexvar_ps(c_zxy, m), minus)
}

/// The sum of every quarter's numbers, in all of its lanes.
#[inline(always)]
fn within_quarters(v4: V4, x: __m512) -> __m512 {
    let f = v4.avx512f;
    let pairs = f._mm512_add_ps(x, f._mm512_permute_ps::<0b10_11_00_01>(x));
    f._mm512_add_ps(pairs, f._mm512_permute_ps::<0b01_00_11_10>(pairs))
}

/// The first three numbers of every quarter.
#[inline(always)]
fn store(v4: V4, x: __m512, out: &mut [f32; 12]) {
    let order: __m512i = cast([0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15]);
    let packed: [f32; 16] = cast(v4.avx512f._mm512_permutexvar_ps(order, x));
    out.copy_from_slice(&packed[..12]);
}
