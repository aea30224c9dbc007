//! Eight vertices with AVX2.

use super::eight::{EIGHT, Eight, EightKernel};
use super::registers::{Columns, DualQuaternion, Four, Table};
use super::stored::Stored;
use pulp::x86::V3;
use pulp::{NullaryFnOnce, cast};
use std::arch::x86_64::{__m128, __m256, __m256d, __m256i, _CMP_LT_OQ, _CMP_NGE_UQ};

pub(super) struct With<K>(pub(super) V3, pub(super) K);

impl<K: EightKernel> NullaryFnOnce for With<K> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        self.1.run(self.0);
    }
}

impl Eight for V3 {
    type Lanes = __m256;
    /// The first two columns, and the last two.
    type Map = [__m256; 2];
    /// In each half, rows of one column: of the first two columns, and of the last two.
    type FourMaps = [[__m256; 4]; 2];
    type Motion = __m256;
    type FourMotions = [__m256; 4];

    #[inline(always)]
    fn zero(self) -> [__m256; 2] {
        [self.avx._mm256_setzero_ps(); 2]
    }

    #[inline(always)]
    fn map(self, m: &Columns) -> [__m256; 2] {
        cast(m.0)
    }

    #[inline(always)]
    fn blend(self, [low, high]: [__m256; 2], w: f32, m: &Columns) -> [__m256; 2] {
        let w = self.avx._mm256_set1_ps(w);
        let [l, h]: [__m256; 2] = cast(m.0);
        [self.fma._mm256_fmadd_ps(w, l, low), self.fma._mm256_fmadd_ps(w, h, high)]
    }

    #[inline(always)]
    fn add_product(self, [low, high]: [__m256; 2], m: &Columns, a: &[f32; 4]) -> [__m256; 2] {
        let avx = self.avx;
        let twice = avx._mm256_broadcast_ps(&cast(*a));
        let (xy, zw) = (
            avx._mm256_permutevar_ps(twice, cast([0u32, 0, 0, 0, 1, 1, 1, 1])),
            avx._mm256_permutevar_ps(twice, cast([2u32, 2, 2, 2, 3, 3, 3, 3])),
        );
        let [l, h]: [__m256; 2] = cast(m.0);
        [self.fma._mm256_fmadd_ps(xy, l, low), self.fma._mm256_fmadd_ps(zw, h, high)]
    }

    #[inline(always)]
    fn four_maps(self, [a, b, c, d]: [[__m256; 2]; 4]) -> [[__m256; 4]; 2] {
        [four_by_four(self, [a[0], b[0], c[0], d[0]]), four_by_four(self, [a[1], b[1], c[1], d[1]])]
    }

    #[inline(always)]
    fn maps(self, first: [[__m256; 4]; 2], last: [[__m256; 4]; 2]) -> [[__m256; 3]; 4] {
        let [a, b] = halves(self, first[0], last[0]);
        let [c, d] = halves(self, first[1], last[1]);
        [[a[0], a[1], a[2]], [b[0], b[1], b[2]], [c[0], c[1], c[2]], [d[0], d[1], d[2]]]
    }

    #[inline(always)]
    fn still(self) -> __m256 {
        self.avx._mm256_setzero_ps()
    }

    #[inline(always)]
    fn add_four(
        self,
        sum: __m256,
        four: &Four,
        reference: &DualQuaternion,
        table: &(impl Table<DualQuaternion> + ?Sized),
    ) -> __m256 {
        let (sse, avx) = (self.sse, self.avx);
        let q: [__m256; 4] = [
            cast(table.at(four.index(0)).0),
            cast(table.at(four.index(1)).0),
            cast(table.at(four.index(2)).0),
            cast(table.at(four.index(3)).0),
        ];
        let reference = avx._mm256_castps256_ps128(cast(reference.0));
        let a = sse._mm_mul_ps(avx._mm256_castps256_ps128(q[0]), reference);
        let b = sse._mm_mul_ps(avx._mm256_castps256_ps128(q[1]), reference);
        let c = sse._mm_mul_ps(avx._mm256_castps256_ps128(q[2]), reference);
        let d = sse._mm_mul_ps(avx._mm256_castps256_ps128(q[3]), reference);
        // Sums of the first and third, and of the second and fourth product of a and b, and of c and d.
        let ab = sse._mm_add_ps(sse._mm_unpacklo_ps(a, b), sse._mm_unpackhi_ps(a, b));
        let cd = sse._mm_add_ps(sse._mm_unpacklo_ps(c, d), sse._mm_unpackhi_ps(c, d));
        let same = sse._mm_add_ps(sse._mm_movelh_ps(ab, cd), sse._mm_movehl_ps(cd, ab));
        let other = avx._mm_cmp_ps::<_CMP_NGE_UQ>(same, sse._mm_setzero_ps());
        let signs = sse._mm_and_ps(other, sse._mm_set1_ps(-0.0));
        let weights = avx._mm256_castps128_ps256(sse._mm_xor_ps(cast(four.weights), signs));
        let w = |k: i32| self.avx2._mm256_permutevar8x32_ps(weights, cast([k; 8]));
        let sum = self.fma._mm256_fmadd_ps(w(0), q[0], sum);
        let sum = self.fma._mm256_fmadd_ps(w(1), q[1], sum);
        let sum = self.fma._mm256_fmadd_ps(w(2), q[2], sum);
        self.fma._mm256_fmadd_ps(w(3), q[3], sum)
    }

    #[inline(always)]
    fn four_motions(self, sums: [__m256; 4]) -> [__m256; 4] {
        four_by_four(self, sums)
    }

    #[inline(always)]
    fn motions(self, first: [__m256; 4], last: [__m256; 4]) -> [__m256; 8] {
        let [[a, b, c, d], [e, f, g, h]] = halves(self, first, last);
        [a, b, c, d, e, f, g, h]
    }

    #[inline(always)]
    fn add_row<T: Stored>(self, [a, b]: [__m256; 2], u: &[T], features: &Columns) -> [__m256; 2] {
        let ([u, v], [f, g]) = (T::registers(self, u), cast(features.0));
        [self.fma._mm256_fmadd_ps(u, f, a), self.fma._mm256_fmadd_ps(v, g, b)]
    }

    #[inline(always)]
    fn row_sums<T: Stored>(self, s: [[__m256; 2]; EIGHT]) -> [__m256; 3] {
        let avx = self.avx;
        if T::INTERLEAVED {
            // Two numbers of each axis.
            let first = four_by_four(self, [both(self, s[0]), both(self, s[1]), both(self, s[2]), both(self, s[3])]);
            let last = four_by_four(self, [both(self, s[4]), both(self, s[5]), both(self, s[6]), both(self, s[7])]);
            let (xz, y) = (avx._mm256_add_ps(first[0], first[1]), avx._mm256_add_ps(first[2], first[3]));
            let (xz_last, y_last) = (avx._mm256_add_ps(last[0], last[1]), avx._mm256_add_ps(last[2], last[3]));
            return [
                avx._mm256_permute2f128_ps::<0x20>(xz, xz_last),
                avx._mm256_permute2f128_ps::<0x20>(y, y_last),
                avx._mm256_permute2f128_ps::<0x31>(xz, xz_last),
            ];
        }
        // Four numbers of the first two axes, and of the third.
        let xy = all_four(self, four_by_four(self, [s[0][0], s[1][0], s[2][0], s[3][0]]));
        let xy_last = all_four(self, four_by_four(self, [s[4][0], s[5][0], s[6][0], s[7][0]]));
        let z = [
            avx._mm256_permute2f128_ps::<0x20>(s[0][1], s[4][1]),
            avx._mm256_permute2f128_ps::<0x20>(s[1][1], s[5][1]),
            avx._mm256_permute2f128_ps::<0x20>(s[2][1], s[6][1]),
            avx._mm256_permute2f128_ps::<0x20>(s[3][1], s[7][1]),
        ];
        [
            avx._mm256_permute2f128_ps::<0x20>(xy, xy_last),
            avx._mm256_permute2f128_ps::<0x31>(xy, xy_last),
            all_four(self, four_by_four(self, z)),
        ]
    }

    #[inline(always)]
    fn add_full<T: Stored>(self, s: [__m256; 6], u: &[T; 36], features: &Columns) -> [__m256; 6] {
        let ([f, g], fma): ([__m256; 2], _) = (cast(features.0), self.fma);
        let ([a, b], [c, d]) = (T::registers(self, &u[..28]), T::registers(self, &u[12..]));
        let [p, q] = T::registers(self, &u[24..]);
        [
            fma._mm256_fmadd_ps(a, f, s[0]),
            fma._mm256_fmadd_ps(b, g, s[1]),
            fma._mm256_fmadd_ps(c, f, s[2]),
            fma._mm256_fmadd_ps(d, g, s[3]),
            fma._mm256_fmadd_ps(p, f, s[4]),
            fma._mm256_fmadd_ps(q, g, s[5]),
        ]
    }

    #[inline(always)]
    fn full_sums(self, s: [[__m256; 6]; EIGHT]) -> [__m256; 3] {
        [axis_sums::<0>(self, &s), axis_sums::<2>(self, &s), axis_sums::<4>(self, &s)]
    }

    #[inline(always)]
    fn gather(self, points: &[f32], at: &[u32; EIGHT]) -> [__m256; 3] {
        // Four vertices in the lower halves, four in the upper.
        let four = |lane: usize| -> __m128 {
            let first = 3 * at[lane] as usize;
            cast(*points[first..].first_chunk::<4>().unwrap_or(&[0.0; 4]))
        };
        let two = |lane: usize| {
            let low = self.avx._mm256_castps128_ps256(four(lane));
            self.avx._mm256_insertf128_ps::<1>(low, four(lane + 4))
        };
        let [x, y, z, _] = four_by_four(self, [two(0), two(1), two(2), two(3)]);
        [x, y, z]
    }

    #[inline(always)]
    fn wide<T: Stored>(self, row: &[T; EIGHT]) -> __m256 {
        T::eight(self, row)
    }

    #[inline(always)]
    fn split(self, points: &[f32; 3 * EIGHT]) -> [__m256; 3] {
        let [a, b, c]: [__m256; 3] = cast(*points);
        let avx = self.avx;
        // x lies in lanes 0, 3, 6 of a, 1, 4, 7 of b, 2, 5 of c; y and z behind it.
        let x = avx._mm256_blend_ps::<THIRD>(avx._mm256_blend_ps::<SECOND>(a, b), c);
        let y = avx._mm256_blend_ps::<THIRD>(avx._mm256_blend_ps::<SECOND>(c, a), b);
        let z = avx._mm256_blend_ps::<THIRD>(avx._mm256_blend_ps::<SECOND>(b, c), a);
        let order = |v: __m256, order: __m256i| self.avx2._mm256_permutevar8x32_ps(v, order);
        [order(x, cast(X)), order(y, cast(Y)), order(z, cast(Z))]
    }

    #[inline(always)]
    fn join(self, [x, y, z]: [__m256; 3]) -> [f32; 3 * EIGHT] {
        let avx = self.avx;
        let order = |v: __m256, order: __m256i| self.avx2._mm256_permutevar8x32_ps(v, order);
        let x = order(x, cast(X));
        let y = order(y, cast(Y_BACK));
        let z = order(z, cast(Z));
        let points = [
            avx._mm256_blend_ps::<THIRD>(avx._mm256_blend_ps::<SECOND>(x, y), z),
            avx._mm256_blend_ps::<THIRD>(avx._mm256_blend_ps::<SECOND>(z, x), y),
            avx._mm256_blend_ps::<THIRD>(avx._mm256_blend_ps::<SECOND>(y, z), x),
        ];
        cast(points)
    }

    #[inline(always)]
    fn lanes(self, a: [f32; EIGHT]) -> __m256 {
        cast(a)
    }

    #[inline(always)]
    fn array(self, a: __m256) -> [f32; EIGHT] {
        cast(a)
    }

    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        self.avx._mm256_set1_ps(x)
    }

    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        self.avx._mm256_add_ps(a, b)
    }

    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        self.avx._mm256_sub_ps(a, b)
    }

    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        self.avx._mm256_mul_ps(a, b)
    }

    #[inline(always)]
    fn div(self, a: __m256, b: __m256) -> __m256 {
        self.avx._mm256_div_ps(a, b)
    }

    #[inline(always)]
    fn sqrt(self, a: __m256) -> __m256 {
        self.avx._mm256_sqrt_ps(a)
    }

    #[inline(always)]
    fn inverse_sqrt(self, a: __m256) -> __m256 {
        // Twelve bits, and a Newton step.
        let near = self.avx._mm256_rsqrt_ps(a);
        let half = self.avx._mm256_mul_ps(self.avx._mm256_mul_ps(a, self.splat(0.5)), near);
        self.avx._mm256_mul_ps(near, self.fma._mm256_fnmadd_ps(half, near, self.splat(1.5)))
    }

    #[inline(always)]
    fn mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        self.fma._mm256_fmadd_ps(a, b, c)
    }

    #[inline(always)]
    fn mul_sub(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        self.fma._mm256_fmsub_ps(a, b, c)
    }

    #[inline(always)]
    fn sub_mul(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        self.fma._mm256_fnmadd_ps(a, b, c)
    }

    #[inline(always)]
    fn min(self, a: __m256, b: __m256) -> __m256 {
        self.avx._mm256_min_ps(a, b)
    }

    #[inline(always)]
    fn copy_sign(self, a: __m256, b: __m256) -> __m256 {
        let sign = self.avx._mm256_set1_ps(-0.0);
        self.avx._mm256_or_ps(self.avx._mm256_andnot_ps(sign, a), self.avx._mm256_and_ps(sign, b))
    }

    #[inline(always)]
    fn less(self, a: __m256, b: __m256) -> __m256 {
        self.avx._mm256_cmp_ps::<_CMP_LT_OQ>(a, b)
    }

    #[inline(always)]
    fn and(self, a: __m256, b: __m256) -> __m256 {
        self.avx._mm256_and_ps(a, b)
    }

    #[inline(always)]
    fn all(self, a: __m256) -> bool {
        self.avx._mm256_movemask_ps(a) == 0xff
    }
}

/// Lanes 1, 4, 7 and lanes 2, 5; 0, 3, 6 are what remains.
const SECOND: i32 = 0b1001_0010;
const THIRD: i32 = 0b0010_0100;
/// Where the coordinates of eight points lie when what three registers hold of them is put into one, lane by lane; for x
/// and z also the way back.
const X: [i32; 8] = [0, 3, 6, 1, 4, 7, 2, 5];
const Y: [i32; 8] = [1, 4, 7, 2, 5, 0, 3, 6];
const Y_BACK: [i32; 8] = [5, 0, 3, 6, 1, 4, 7, 2];
const Z: [i32; 8] = [2, 5, 0, 3, 6, 1, 4, 7];

#[inline(always)]
fn both(v3: V3, [a, b]: [__m256; 2]) -> __m256 {
    v3.avx._mm256_add_ps(a, b)
}

#[inline(always)]
fn all_four(v3: V3, [a, b, c, d]: [__m256; 4]) -> __m256 {
    v3.avx._mm256_add_ps(v3.avx._mm256_add_ps(a, b), v3.avx._mm256_add_ps(c, d))
}

/// Sums of four numbers of the halves of four rows, and of four more rows: of the whole rows.
#[inline(always)]
fn all_eight(v3: V3, first: [__m256; 4], last: [__m256; 4]) -> __m256 {
    let (first, last) = (all_four(v3, first), all_four(v3, last));
    let low = v3.avx._mm256_permute2f128_ps::<0x20>(first, last);
    v3.avx._mm256_add_ps(low, v3.avx._mm256_permute2f128_ps::<0x31>(first, last))
}

/// Of eight vertices, what the sums from number `AT` on come to.
#[inline(always)]
fn axis_sums<const AT: usize>(v3: V3, s: &[[__m256; 6]; EIGHT]) -> __m256 {
    let a = both(v3, [s[0][AT], s[0][AT + 1]]);
    let b = both(v3, [s[1][AT], s[1][AT + 1]]);
    let c = both(v3, [s[2][AT], s[2][AT + 1]]);
    let d = both(v3, [s[3][AT], s[3][AT + 1]]);
    let first = four_by_four(v3, [a, b, c, d]);
    let a = both(v3, [s[4][AT], s[4][AT + 1]]);
    let b = both(v3, [s[5][AT], s[5][AT + 1]]);
    let c = both(v3, [s[6][AT], s[6][AT + 1]]);
    let d = both(v3, [s[7][AT], s[7][AT + 1]]);
    all_eight(v3, first, four_by_four(v3, [a, b, c, d]))
}

/// In each half, the transpose of four rows of four.
#[inline(always)]
fn four_by_four(v3: V3, [a, b, c, d]: [__m256; 4]) -> [__m256; 4] {
    let avx = v3.avx;
    let (ab, cd): (__m256d, __m256d) = (cast(avx._mm256_unpacklo_ps(a, b)), cast(avx._mm256_unpacklo_ps(c, d)));
    let (ef, gh): (__m256d, __m256d) = (cast(avx._mm256_unpackhi_ps(a, b)), cast(avx._mm256_unpackhi_ps(c, d)));
    [
        cast(avx._mm256_unpacklo_pd(ab, cd)),
        cast(avx._mm256_unpackhi_pd(ab, cd)),
        cast(avx._mm256_unpacklo_pd(ef, gh)),
        cast(avx._mm256_unpackhi_pd(ef, gh)),
    ]
}

/// The first halves of all, and the second.
#[inline(always)]
fn halves(v3: V3, a: [__m256; 4], b: [__m256; 4]) -> [[__m256; 4]; 2] {
    let avx = v3.avx;
    [
        [
            avx._mm256_permute2f128_ps::<0x20>(a[0], b[0]),
            avx._mm256_permute2f128_ps::<0x20>(a[1], b[1]),
            avx._mm256_permute2f128_ps::<0x20>(a[2], b[2]),
            avx._mm256_permute2f128_ps::<0x20>(a[3], b[3]),
        ],
        [
            avx._mm256_permute2f128_ps::<0x31>(a[0], b[0]),
            avx._mm256_permute2f128_ps::<0x31>(a[1], b[1]),
            avx._mm256_permute2f128_ps::<0x31>(a[2], b[2]),
            avx._mm256_permute2f128_ps::<0x31>(a[3], b[3]),
        ],
    ]
}
