//! What each way to compute with eight vertices offers.

use super::registers::{Columns, DualQuaternion, Four, Table};
use super::stored::Stored;
use dermis_rig::glam::Vec3;

/// Vertices side by side.
pub(in crate::baked) const EIGHT: usize = 8;

/// Blends per vertex, transposition of eight of them, and arithmetic lane by lane.
pub(in crate::baked) trait Eight: Copy {
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
    /// The columns of M, each times its entry of a, added to a map: its columns sum to M a.
    fn add_product(self, map: Self::Map, m: &Columns, a: &[f32; 4]) -> Self::Map;
    /// Four maps, half transposed.
    fn four_maps(self, maps: [Self::Map; 4]) -> Self::FourMaps;
    /// The eight maps, transposed: entry `[c][r]` of all of them in one register.
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
    /// Four sums, half transposed.
    fn four_motions(self, sums: [Self::Motion; 4]) -> Self::FourMotions;
    /// The eight sums, transposed: numbers x, y, z, w of the real and of the dual parts.
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

    /// Coordinates of eight points of a list; a number lies behind the last of them.
    fn gather(self, points: &[f32], at: &[u32; EIGHT]) -> [Self::Lanes; 3];

    /// A stored number of each of eight vertices.
    fn wide<T: Stored>(self, row: &[T; EIGHT]) -> Self::Lanes;

    /// Coordinates of eight points.
    fn split(self, points: &[f32; 3 * EIGHT]) -> [Self::Lanes; 3];
    /// Points of eight coordinates each.
    fn join(self, coordinates: [Self::Lanes; 3]) -> [f32; 3 * EIGHT];

    fn lanes(self, a: [f32; EIGHT]) -> Self::Lanes;
    fn array(self, a: Self::Lanes) -> [f32; EIGHT];
    fn splat(self, x: f32) -> Self::Lanes;
    fn add(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    fn sub(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    fn mul(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    fn div(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    fn sqrt(self, a: Self::Lanes) -> Self::Lanes;
    /// One over the root, within a few of its last bits; a is positive, and no denormal number.
    fn inverse_sqrt(self, a: Self::Lanes) -> Self::Lanes;
    /// a b + c.
    fn mul_add(self, a: Self::Lanes, b: Self::Lanes, c: Self::Lanes) -> Self::Lanes;
    /// a b − c.
    fn mul_sub(self, a: Self::Lanes, b: Self::Lanes, c: Self::Lanes) -> Self::Lanes;
    /// c − a b.
    fn sub_mul(self, a: Self::Lanes, b: Self::Lanes, c: Self::Lanes) -> Self::Lanes;
    /// The smaller of both.
    fn min(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// a with the sign of b.
    fn copy_sign(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// All bits where a < b, none elsewhere.
    fn less(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// The bits that both have.
    fn and(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// Whether all lanes of a comparison are true.
    fn all(self, a: Self::Lanes) -> bool;
}

/// A loop over eight vertices at a time.
pub(in crate::baked) trait EightKernel {
    /// Runs it. Must be `#[inline(always)]`, as must be all it calls.
    fn run<E: Eight>(self, eight: E);
}

/// Points as the numbers they are made of.
#[inline(always)]
pub(in crate::baked) fn numbers(points: &[Vec3; EIGHT]) -> &[f32; 3 * EIGHT] {
    bytemuck::cast_ref(points)
}

/// Writes points of eight coordinates each.
#[inline(always)]
pub(in crate::baked) fn store<E: Eight>(e: E, coordinates: [E::Lanes; 3], out: &mut [Vec3; EIGHT]) {
    *bytemuck::cast_mut(out) = e.join(coordinates);
}

/// A list of fewer than eight, filled up.
pub(in crate::baked) fn padded<T: Copy + Default>(list: &[T]) -> [T; EIGHT] {
    let mut all = [T::default(); EIGHT];
    all[..list.len()].copy_from_slice(list);
    all
}
