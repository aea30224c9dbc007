//! Eight vertices side by side, one in each lane: what every vertex blends for itself is turned over, so that what follows
//! is the same for all of them.
//!
//! On x86-64 with AVX2 the turning over is spelled out, with the intrinsics of pulp, which are safe: they ask for a token that
//! proves the machine has them. Elsewhere it is plain loops.

mod plain;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::blend::{Columns, FEW_BONES};
use super::coefficients::Stored;
use super::quaternions::DualQuaternion;
use super::weights::Four;
use dermis_rig::glam::Vec3;
use dermis_solve::simd::{self, Fma, Kernel};

/// Vertices side by side.
pub(super) const EIGHT: usize = 8;

/// The ways to blend, to turn over, and to compute lane by lane.
pub(super) trait Eight: Copy {
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
            self.0.run(plain::Plain::<F>(std::marker::PhantomData));
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
