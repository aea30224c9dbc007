//! What is loaded into registers: maps, motions, weighted indices, and tables of them.

use dermis_rig::glam::{DAffine3, Vec3, Vec4};
use dermis_solve::simd::Fma;

/// A table has at least so many entries: what indices of eight bits reach.
pub(in crate::baked) const FEW: usize = 256;

/// An affine map as four columns of four numbers, of which the last is zero: one register of sixteen lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(in crate::baked) struct Columns(pub(in crate::baked) [f32; 16]);

impl Columns {
    pub(in crate::baked) fn of(m: &DAffine3) -> Self {
        let c = [m.matrix3.x_axis, m.matrix3.y_axis, m.matrix3.z_axis, m.translation].map(|c| c.as_vec3().to_array());
        Self(std::array::from_fn(|i| if i % 4 < 3 { c[i / 4][i % 4] } else { 0.0 }))
    }

    /// Σ w M over entries of a table.
    pub(in crate::baked) fn blended(table: &[Self], entries: impl Iterator<Item = (usize, f32)>) -> Self {
        let add = |sum: Self, (at, w): (usize, f32)| Self(std::array::from_fn(|i| sum.0[i] + w * table[at].0[i]));
        entries.fold(Self([0.0; 16]), add)
    }

    /// The map of displacements.
    pub(in crate::baked) fn without_translation(&self) -> Self {
        Self(std::array::from_fn(|i| if i < 12 { self.0[i] } else { 0.0 }))
    }

    /// M x for a homogeneous x.
    #[inline(always)]
    pub(in crate::baked) fn apply<F: Fma>(&self, x: Vec4) -> Vec3 {
        let m = &self.0;
        let mut sum = [0.0; 4];
        for j in 0..4 {
            sum[j] = F::f32(m[j], x.x, F::f32(m[4 + j], x.y, F::f32(m[8 + j], x.z, m[12 + j] * x.w)));
        }
        Vec3::new(sum[0], sum[1], sum[2])
    }
}

/// A rigid motion as two quaternions (x, y, z, w), the real and the dual part: one register of eight lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(32))]
pub(in crate::baked) struct DualQuaternion(pub(in crate::baked) [f32; 8]);

/// Four weights and what they weigh, by index. Missing entries weigh nothing and repeat an index.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::baked) struct Four {
    pub(in crate::baked) weights: [f32; 4],
    /// Sixteen bits each.
    indices: u64,
}

impl Four {
    /// Of one to four entries.
    pub(in crate::baked) fn of(entries: &[(u16, f32)]) -> Self {
        let (mut indices, mut weights) = ([entries[0].0; 4], [0.0; 4]);
        for (at, &(index, weight)) in entries.iter().enumerate() {
            (indices[at], weights[at]) = (index, weight);
        }
        Self { weights, indices: (0..4).map(|k| u64::from(indices[k]) << (16 * k)).sum() }
    }

    /// One of the indices. They are one number, because the compiler would load four as a vector, and take it apart.
    #[inline(always)]
    pub(in crate::baked) fn index(&self, k: usize) -> u16 {
        (self.indices >> (16 * k)) as u16
    }
}

/// A look-up by index.
pub(in crate::baked) trait Table<T> {
    /// The entry of an index.
    fn at(&self, index: u16) -> &T;
}

impl<T> Table<T> for [T; FEW] {
    /// An index of eight bits needs no check here.
    #[inline(always)]
    fn at(&self, index: u16) -> &T {
        &self[usize::from(index as u8)]
    }
}

impl<T> Table<T> for [T] {
    #[inline(always)]
    fn at(&self, index: u16) -> &T {
        &self[usize::from(index)]
    }
}
