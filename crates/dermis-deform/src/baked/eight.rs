//! Eight vertices side by side, one in each lane: what every vertex blends for itself is turned over, so that what follows
//! is the same for all of them.
//!
//! On x86-64 with AVX2 the turning over is spelled out, with the intrinsics of pulp, which are safe: they ask for a token that
//! proves the machine has them. Elsewhere it is plain loops.

use super::blend::{Columns, FEW_BONES};
use super::coefficients::Stored;
use super::quaternions::DualQuaternion;
use super::weights::Four;
use dermis_rig::glam::Vec3;
use dermis_solve::simd::{self, Fma, Kernel};
use std::marker::PhantomData;

/// Vertices side by side.
pub(super) const EIGHT: usize = 8;

/// The ways to blend, to turn over, and to compute lane by lane.
pub(super) trait Eight: Copy {
    /// How products of one vertex are added.
    type Fma: Fma;
    /// One number of each of eight vertices.
    type Lanes: Copy;
    /// An affine map of one vertex.
    type Map: Copy;
    /// Four of them.
    type FourMaps;
    /// A sum of dual quaternions of one vertex, or any eight numbers of it.
    type Motion: Copy;
    /// Four of them.
    type FourMotions;

    /// No map.
    fn zero(self) -> Self::Map;
    /// M.
    fn map(self, m: &Columns) -> Self::Map;
    /// w M added to a map.
    fn blend(self, map: Self::Map, w: f32, m: &Columns) -> Self::Map;
    /// Four maps on their way.
    fn four_maps(self, maps: [Self::Map; 4]) -> Self::FourMaps;
    /// Columns by rows: entry `[c][r]` of all maps.
    fn maps(self, first: Self::FourMaps, last: Self::FourMaps) -> [[Self::Lanes; 3]; 4];

    /// No sum.
    fn still(self) -> Self::Motion;
    /// ± w (q, e) of four influences added to a sum, each on the side of the sphere that `reference` is on.
    fn add_four(
        self,
        sum: Self::Motion,
        four: &Four,
        reference: &DualQuaternion,
        table: &(impl Table<DualQuaternion> + ?Sized),
    ) -> Self::Motion;
    /// Four sums on their way.
    fn four_motions(self, sums: [Self::Motion; 4]) -> Self::FourMotions;
    /// Numbers x, y, z, w of the real and of the dual parts.
    fn motions(self, first: Self::FourMotions, last: Self::FourMotions) -> [Self::Lanes; 8];

    /// Coefficients times features, in running sums of one vertex that [`row_sums`](Self::row_sums) adds up: axis j reads row j of
    /// the features. The coefficients are the first twelve.
    fn add_row<T: Stored>(self, sums: [Self::Motion; 2], u: &[T], features: &Columns) -> [Self::Motion; 2];
    /// The sums of eight vertices, by axis.
    fn row_sums<T: Stored>(self, sums: [[Self::Motion; 2]; EIGHT]) -> [Self::Lanes; 3];
    /// The same where every axis reads all features; two sums per axis.
    fn add_full<T: Stored>(self, sums: [Self::Motion; 6], u: &[T; 36], features: &Columns) -> [Self::Motion; 6];
    /// The sums of eight vertices, by axis.
    fn full_sums(self, sums: [[Self::Motion; 6]; EIGHT]) -> [Self::Lanes; 3];

    /// Coordinates of eight points.
    fn split(self, points: &[f32; 3 * EIGHT]) -> [Self::Lanes; 3];
    /// Points of eight coordinates each.
    fn join(self, coordinates: [Self::Lanes; 3]) -> [f32; 3 * EIGHT];

    fn lanes(self, a: [f32; EIGHT]) -> Self::Lanes;
    fn array(self, a: Self::Lanes) -> [f32; EIGHT];
    fn splat(self, x: f32) -> Self::Lanes;
    fn add(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    fn mul(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    fn div(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    fn sqrt(self, a: Self::Lanes) -> Self::Lanes;
    /// a b + c.
    fn mul_add(self, a: Self::Lanes, b: Self::Lanes, c: Self::Lanes) -> Self::Lanes;
    /// a b − c.
    fn mul_sub(self, a: Self::Lanes, b: Self::Lanes, c: Self::Lanes) -> Self::Lanes;
    /// c − a b.
    fn sub_mul(self, a: Self::Lanes, b: Self::Lanes, c: Self::Lanes) -> Self::Lanes;
    /// a with the sign of b.
    fn copy_sign(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// All bits where a < b, none elsewhere.
    fn less(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// The bits that both have.
    fn and(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// Whether all lanes of a comparison are true.
    fn all(self, a: Self::Lanes) -> bool;
}

/// A look-up by bone.
pub(super) trait Table<T> {
    /// What belongs to a bone.
    fn at(&self, bone: u16) -> &T;
}

impl<T> Table<T> for [T; FEW_BONES] {
    /// An index of eight bits needs no check here.
    #[inline(always)]
    fn at(&self, bone: u16) -> &T {
        &self[usize::from(bone as u8)]
    }
}

impl<T> Table<T> for [T] {
    #[inline(always)]
    fn at(&self, bone: u16) -> &T {
        &self[usize::from(bone)]
    }
}

/// A loop over eight vertices at a time.
pub(super) trait EightKernel {
    /// Runs it. Must be `#[inline(always)]`, as must be all it calls.
    fn run<E: Eight>(self, eight: E);
}

/// Runs a loop with the level in use.
pub(super) fn run(kernel: impl EightKernel) {
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new().filter(|_| simd::level() >= simd::Level::Avx2) {
        // More registers, and the same operations on them.
        return match pulp::x86::V4::try_new().filter(|_| simd::level() == simd::Level::Avx512) {
            Some(v4) => v4.vectorize(x86::With(v3, kernel)),
            None => v3.vectorize(x86::With(v3, kernel)),
        };
    }
    struct Loops<K>(K);
    impl<K: EightKernel> Kernel for Loops<K> {
        type Output = ();
        #[inline(always)]
        fn run<F: Fma>(self) {
            self.0.run(Plain::<F>(PhantomData));
        }
    }
    simd::run(Loops(kernel));
}

/// Points as the numbers they are made of.
#[inline(always)]
pub(super) fn numbers(points: &[Vec3; EIGHT]) -> &[f32; 3 * EIGHT] {
    bytemuck::cast_ref(points)
}

/// Writes points of eight coordinates each.
#[inline(always)]
pub(super) fn store<E: Eight>(e: E, coordinates: [E::Lanes; 3], out: &mut [Vec3; EIGHT]) {
    *bytemuck::cast_mut(out) = e.join(coordinates);
}

/// A list of fewer than eight, filled up.
pub(super) fn padded<T: Copy + Default>(list: &[T]) -> [T; EIGHT] {
    let mut all = [T::default(); EIGHT];
    all[..list.len()].copy_from_slice(list);
    all
}

/// Plain loops.
#[derive(Clone, Copy)]
struct Plain<F>(PhantomData<F>);

impl<F: Fma> Eight for Plain<F> {
    type Fma = F;
    type Lanes = [f32; EIGHT];
    type Map = [f32; 16];
    type FourMaps = [[f32; 16]; 4];
    type Motion = [f32; 8];
    type FourMotions = [[f32; 8]; 4];

    #[inline(always)]
    fn zero(self) -> [f32; 16] {
        [0.0; 16]
    }

    #[inline(always)]
    fn map(self, m: &Columns) -> [f32; 16] {
        m.0
    }

    #[inline(always)]
    fn blend(self, mut map: [f32; 16], w: f32, m: &Columns) -> [f32; 16] {
        for l in 0..16 {
            map[l] = F::f32(w, m.0[l], map[l]);
        }
        map
    }

    #[inline(always)]
    fn four_maps(self, maps: [[f32; 16]; 4]) -> [[f32; 16]; 4] {
        maps
    }

    #[inline(always)]
    fn maps(self, first: [[f32; 16]; 4], last: [[f32; 16]; 4]) -> [[[f32; EIGHT]; 3]; 4] {
        let mut over = [[[0.0; EIGHT]; 3]; 4];
        for c in 0..4 {
            for r in 0..3 {
                for l in 0..4 {
                    over[c][r][l] = first[l][4 * c + r];
                    over[c][r][4 + l] = last[l][4 * c + r];
                }
            }
        }
        over
    }

    #[inline(always)]
    fn still(self) -> [f32; 8] {
        [0.0; 8]
    }

    #[inline(always)]
    fn add_four(
        self,
        mut sum: [f32; 8],
        four: &Four,
        reference: &DualQuaternion,
        table: &(impl Table<DualQuaternion> + ?Sized),
    ) -> [f32; 8] {
        let r = &reference.0;
        for k in 0..4 {
            let q = &table.at(four.bone(k)).0;
            let same = (q[0] * r[0] + q[2] * r[2]) + (q[1] * r[1] + q[3] * r[3]);
            let w = if same >= 0.0 { four.weights[k] } else { -four.weights[k] };
            for l in 0..8 {
                sum[l] = F::f32(w, q[l], sum[l]);
            }
        }
        sum
    }

    #[inline(always)]
    fn four_motions(self, sums: [[f32; 8]; 4]) -> [[f32; 8]; 4] {
        sums
    }

    #[inline(always)]
    fn motions(self, first: [[f32; 8]; 4], last: [[f32; 8]; 4]) -> [[f32; EIGHT]; 8] {
        let mut over = [[0.0; EIGHT]; 8];
        for i in 0..8 {
            for l in 0..4 {
                over[i][l] = first[l][i];
                over[i][4 + l] = last[l][i];
            }
        }
        over
    }

    #[inline(always)]
    fn add_row<T: Stored>(self, mut sums: [[f32; 8]; 2], u: &[T], features: &Columns) -> [[f32; 8]; 2] {
        let u = T::arranged(u);
        for (half, sums) in sums.iter_mut().enumerate() {
            for l in 0..8 {
                sums[l] = F::f32(u[8 * half + l], features.0[8 * half + l], sums[l]);
            }
        }
        sums
    }

    #[inline(always)]
    fn row_sums<T: Stored>(self, sums: [[[f32; 8]; 2]; EIGHT]) -> [[f32; EIGHT]; 3] {
        let mut over = [[0.0; EIGHT]; 3];
        for (l, [a, b]) in sums.iter().enumerate() {
            for j in 0..3 {
                over[j][l] = match T::INTERLEAVED {
                    false if j < 2 => (a[4 * j] + a[4 * j + 2]) + (a[4 * j + 1] + a[4 * j + 3]),
                    false => (b[0] + b[2]) + (b[1] + b[3]),
                    true => (a[2 * j] + b[2 * j]) + (a[2 * j + 1] + b[2 * j + 1]),
                };
            }
        }
        over
    }

    #[inline(always)]
    fn add_full<T: Stored>(self, mut sums: [[f32; 8]; 6], u: &[T; 36], features: &Columns) -> [[f32; 8]; 6] {
        for axis in 0..3 {
            let u = T::arranged(&u[12 * axis..]);
            for half in 0..2 {
                for l in 0..8 {
                    let at = 8 * half + l;
                    sums[2 * axis + half][l] = F::f32(u[at], features.0[at], sums[2 * axis + half][l]);
                }
            }
        }
        sums
    }

    #[inline(always)]
    fn full_sums(self, sums: [[[f32; 8]; 6]; EIGHT]) -> [[f32; EIGHT]; 3] {
        let mut over = [[0.0; EIGHT]; 3];
        for (l, sums) in sums.iter().enumerate() {
            for axis in 0..3 {
                let s: [f32; 8] = std::array::from_fn(|i| sums[2 * axis][i] + sums[2 * axis + 1][i]);
                over[axis][l] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
            }
        }
        over
    }

    #[inline(always)]
    fn split(self, points: &[f32; 3 * EIGHT]) -> [[f32; EIGHT]; 3] {
        let mut over = [[0.0; EIGHT]; 3];
        for l in 0..EIGHT {
            for j in 0..3 {
                over[j][l] = points[3 * l + j];
            }
        }
        over
    }

    #[inline(always)]
    fn join(self, coordinates: [[f32; EIGHT]; 3]) -> [f32; 3 * EIGHT] {
        let mut points = [0.0; 3 * EIGHT];
        for l in 0..EIGHT {
            for j in 0..3 {
                points[3 * l + j] = coordinates[j][l];
            }
        }
        points
    }

    #[inline(always)]
    fn lanes(self, a: [f32; EIGHT]) -> [f32; EIGHT] {
        a
    }

    #[inline(always)]
    fn array(self, a: [f32; EIGHT]) -> [f32; EIGHT] {
        a
    }

    #[inline(always)]
    fn splat(self, x: f32) -> [f32; EIGHT] {
        [x; EIGHT]
    }

    #[inline(always)]
    fn add(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| a[l] + b[l])
    }

    #[inline(always)]
    fn mul(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| a[l] * b[l])
    }

    #[inline(always)]
    fn div(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| a[l] / b[l])
    }

    #[inline(always)]
    fn sqrt(self, a: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| a[l].sqrt())
    }

    #[inline(always)]
    fn mul_add(self, a: [f32; EIGHT], b: [f32; EIGHT], c: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| F::f32(a[l], b[l], c[l]))
    }

    #[inline(always)]
    fn mul_sub(self, a: [f32; EIGHT], b: [f32; EIGHT], c: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| F::f32(a[l], b[l], -c[l]))
    }

    #[inline(always)]
    fn sub_mul(self, a: [f32; EIGHT], b: [f32; EIGHT], c: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| F::f32(-a[l], b[l], c[l]))
    }

    #[inline(always)]
    fn copy_sign(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| a[l].copysign(b[l]))
    }

    #[inline(always)]
    fn less(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| f32::from_bits(if a[l] < b[l] { u32::MAX } else { 0 }))
    }

    #[inline(always)]
    fn and(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| f32::from_bits(a[l].to_bits() & b[l].to_bits()))
    }

    #[inline(always)]
    fn all(self, a: [f32; EIGHT]) -> bool {
        a.iter().fold(u32::MAX, |all, x| all & x.to_bits()) != 0
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use dermis_solve::simd::Fused;
    use pulp::x86::V3;
    use pulp::{NullaryFnOnce, cast};
    use std::arch::x86_64::{__m256, __m256d, __m256i, _CMP_LT_OQ, _CMP_NGE_UQ};

    pub(super) struct With<K>(pub(super) V3, pub(super) K);

    impl<K: EightKernel> NullaryFnOnce for With<K> {
        type Output = ();
        #[inline(always)]
        fn call(self) {
            self.1.run(self.0);
        }
    }

    impl Eight for V3 {
        type Fma = Fused;
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
                cast(table.at(four.bone(0)).0),
                cast(table.at(four.bone(1)).0),
                cast(table.at(four.bone(2)).0),
                cast(table.at(four.bone(3)).0),
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
                let first =
                    four_by_four(self, [both(self, s[0]), both(self, s[1]), both(self, s[2]), both(self, s[3])]);
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

    /// In each half, four rows of four turned over.
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
}
