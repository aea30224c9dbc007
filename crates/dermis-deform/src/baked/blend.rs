//! Affine maps of bones, and bases that need no weights beside them, block by block: rigid binding, animation space.

use super::NO_ANCHOR;
use dermis_rig::glam::{DAffine3, Vec3, Vec4};
use dermis_solve::simd::{Fma, Kernel};

/// A table of bones has at least so many entries: what indices of eight bits reach.
pub(super) const FEW_BONES: usize = 256;

/// An affine map as four columns of four numbers, of which the last is zero: one register of sixteen lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Columns(pub(super) [f32; 16]);

impl Columns {
    pub(super) fn of(m: &DAffine3) -> Self {
        let c = [m.matrix3.x_axis, m.matrix3.y_axis, m.matrix3.z_axis, m.translation].map(|c| c.as_vec3().to_array());
        Self(std::array::from_fn(|i| if i % 4 < 3 { c[i / 4][i % 4] } else { 0.0 }))
    }

    /// The map of displacements.
    pub(super) fn without_translation(&self) -> Self {
        Self(std::array::from_fn(|i| if i < 12 { self.0[i] } else { 0.0 }))
    }

    /// M x for a homogeneous x.
    #[inline(always)]
    pub(super) fn apply<F: Fma>(&self, x: Vec4) -> Vec3 {
        let m = &self.0;
        let mut sum = [0.0; 4];
        for j in 0..4 {
            sum[j] = F::f32(m[j], x.x, F::f32(m[4 + j], x.y, F::f32(m[8 + j], x.z, m[12 + j] * x.w)));
        }
        Vec3::new(sum[0], sum[1], sum[2])
    }
}

/// The sum of the four quarters.
#[inline(always)]
fn added(m: &[f32; 16]) -> Vec3 {
    let mut sum = [0.0; 4];
    for j in 0..4 {
        sum[j] = (m[j] + m[4 + j]) + (m[8 + j] + m[12 + j]);
    }
    Vec3::new(sum[0], sum[1], sum[2])
}

/// One bone per vertex; a vertex without one stays where it is.
pub(super) struct Rigid<'a> {
    /// The block's bones, positions at rest and results.
    pub(super) bones: &'a [u32],
    pub(super) table: &'a [Columns],
    pub(super) rest: &'a [Vec3],
    pub(super) behind: Vec3,
    /// What `rest` is seen from, like the table: the character's middle.
    pub(super) middle: Vec3,
    pub(super) out: &'a mut [Vec3],
}

impl Kernel for Rigid<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Fma>(self) {
        for ((out, p), &bone) in self.out.iter_mut().zip(self.rest).zip(self.bones) {
            *out = match bone {
                NO_ANCHOR => *p - self.middle + self.behind,
                bone => self.table[bone as usize].apply::<F>(p.extend(1.0)) + self.behind,
            };
        }
    }
}

/// Animation space: `out = Σ M a + behind`.
pub(super) struct AnimationSpace<'a> {
    /// Where the block's vertices start; one more entry than vertices.
    pub(super) offsets: &'a [u32],
    pub(super) bones: &'a [u32],
    pub(super) a: &'a [Vec4],
    pub(super) table: &'a [Columns],
    pub(super) behind: Vec3,
    /// What the table is seen from: a vertex without terms lies at the origin.
    pub(super) middle: Vec3,
    pub(super) out: &'a mut [Vec3],
}

impl Kernel for AnimationSpace<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Fma>(self) {
        for (out, row) in self.out.iter_mut().zip(self.offsets.windows(2)) {
            let range = row[0] as usize..row[1] as usize;
            let mut sum = [0.0f32; 16];
            for (&bone, a) in self.bones[range.clone()].iter().zip(&self.a[range.clone()]) {
                let m = &self.table[bone as usize].0;
                for c in 0..4 {
                    for j in 0..4 {
                        sum[4 * c + j] = F::f32(m[4 * c + j], a[c], sum[4 * c + j]);
                    }
                }
            }
            *out = match range.is_empty() {
                true => self.behind - self.middle,
                false => added(&sum) + self.behind,
            };
        }
    }
}
