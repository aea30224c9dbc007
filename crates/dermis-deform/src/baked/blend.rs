//! Bases that blend matrices, block by block: rigid binding, linear blend skinning, animation space.

use super::NO_ANCHOR;
use super::normals::{LbsByEight, Turned};
use super::settle::PIECE;
use super::weights::{Four, Weights};
use dermis_rig::glam::{DAffine3, Vec3, Vec4};
use dermis_solve::simd::{self, Fma, Kernel};

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

/// Σ w M of four influences.
#[inline(always)]
pub(super) fn blend_four<F: Fma>(four: &Four, table: &[Columns]) -> [f32; 16] {
    let mut sum = [0.0f32; 16];
    for k in 0..4 {
        let m = &table[four.bone(k) as usize].0;
        for l in 0..16 {
            sum[l] = F::f32(four.weights[k], m[l], sum[l]);
        }
    }
    sum
}

/// The columns of Σ w M, each times its coordinate of `p`.
#[inline(always)]
fn product<F: Fma>(four: &Four, table: &[Columns], p: Vec3) -> [f32; 16] {
    let (mut m, mut x) = (blend_four::<F>(four, table), [1.0f32; 16]);
    for l in 0..4 {
        (x[l], x[4 + l], x[8 + l]) = (p.x, p.y, p.z);
    }
    for l in 0..16 {
        m[l] *= x[l];
    }
    m
}

/// Linear blend skinning of the vertices from `from` on, with normals where wanted: `out = (Σ w M) rest + behind`.
pub(super) struct Lbs<'a> {
    pub(super) from: usize,
    pub(super) weights: &'a Weights,
    pub(super) table: &'a [Columns],
    pub(super) rest: &'a [Vec3],
    pub(super) behind: Vec3,
    pub(super) out: &'a mut [Vec3],
    pub(super) normals: Option<Turned<'a>>,
}

impl Lbs<'_> {
    pub(super) fn run(self) {
        let Self { from, weights, table, rest, behind, out, normals } = self;
        let range = from..from + out.len();
        let (fours, rest, more) = (&weights.fours[range.clone()], &rest[range.clone()], weights.more_of(range));
        if normals.is_some() || !more.is_empty() {
            return match <&[Columns; FEW_BONES]>::try_from(table) {
                Ok(table) => LbsByEight { from, fours, more, table, rest, behind, out, normals }.run(),
                Err(_) => LbsByEight { from, fours, more, table, rest, behind, out, normals }.run(),
            };
        }
        #[cfg(target_arch = "x86_64")]
        let done = super::avx2::first_four(fours, table, rest, behind, out);
        #[cfg(not(target_arch = "x86_64"))]
        let done = 0;
        simd::run(FirstFour { fours: &fours[done..], table, rest: &rest[done..], behind, out: &mut out[done..] });
    }
}

/// A block's first four influences.
struct FirstFour<'a> {
    fours: &'a [Four],
    table: &'a [Columns],
    rest: &'a [Vec3],
    behind: Vec3,
    out: &'a mut [Vec3],
}

impl Kernel for FirstFour<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Fma>(self) {
        let mut products = [[0.0f32; 16]; PIECE];
        let pieces = self.out.chunks_mut(PIECE).zip(self.rest.chunks(PIECE)).zip(self.fours.chunks(PIECE));
        for ((out, rest), fours) in pieces {
            for ((m, p), four) in products.iter_mut().zip(rest).zip(fours) {
                *m = product::<F>(four, self.table, *p);
            }
            for (out, m) in out.iter_mut().zip(&products) {
                *out = added(m) + self.behind;
            }
        }
    }
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
