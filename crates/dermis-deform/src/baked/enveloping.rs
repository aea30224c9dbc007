//! Multi-weight enveloping as it runs.

use super::blend::Columns;
use super::block::Corrected;
use super::coefficients::{AHEAD, Coefficients, Precision, Stored};
use super::settle::{PIECE, add_quads, settle, turn};
use super::{NO_ANCHOR, Scratch};
use crate::enveloping::{Enveloping, Rows};
use crate::simd::prefetch;
use bytemuck::cast_slice;
use dermis_rig::BoneTransforms;
use dermis_rig::glam::Vec3;
use dermis_solve::simd::{self, Fma, Kernel};

/// [`Enveloping`] in `f32`.
#[derive(Clone, Debug)]
pub struct BakedEnveloping {
    /// What depends on the pose alone, evaluated in `f64`. Its per-vertex arrays are empty.
    pub shared: Enveloping,
    /// Anchor of each vertex, or [`NO_ANCHOR`].
    pub anchors: Vec<u32>,
    /// Where the terms of vertex v start.
    pub offsets: Vec<u32>,
    /// Pair of each term.
    pub terms: Vec<u32>,
    /// Coefficients, as in [`Enveloping::coefficients`].
    pub coefficients: Coefficients,
    /// Corrections at the bind pose; empty when all are zero.
    pub constants: Vec<Vec3>,
    /// Radii of the guard; empty without it.
    pub radii: Vec<f32>,
}

impl BakedEnveloping {
    pub(super) fn of(correction: &Enveloping) -> Self {
        Self {
            anchors: correction.anchors.iter().map(|a| a.map_or(NO_ANCHOR, |bone| bone.get() as u32)).collect(),
            offsets: correction.offsets.clone(),
            terms: correction.terms.clone(),
            coefficients: Coefficients::Single(correction.coefficients.iter().map(|&u| u as f32).collect()),
            constants: correction.constants.iter().map(|c| c.as_vec3()).collect(),
            radii: correction.radii.iter().map(|&r| r as f32).collect(),
            shared: Enveloping {
                weld: correction.weld.clone(),
                pairs: correction.pairs.clone(),
                ..Enveloping::empty(correction.rows, correction.length)
            },
        }
    }

    /// Features of the pose into the scratch; how many were limited, of how many.
    pub(super) fn prepare(&self, transforms: &BoneTransforms, scratch: &mut Scratch) -> (usize, usize) {
        self.shared.features(transforms, &mut scratch.features);
        scratch.rounded.clear();
        scratch.rounded.extend(
            scratch
                .features
                .features
                .iter()
                .map(|f| Columns(std::array::from_fn(|i| f.get(i).map_or(0.0, |x| *x as f32)))),
        );
        (scratch.features.limited, scratch.rounded.len())
    }

    pub(super) fn bytes(&self) -> usize {
        4 * (self.anchors.len() + self.offsets.len() + self.terms.len())
            + self.coefficients.bytes()
            + 12 * self.constants.len()
            + 16 * self.shared.pairs.len()
    }

    /// Adds the correction to a block; at how many vertices the ball held it back.
    pub(super) fn add_block(&self, block: Corrected<'_>, radii: &[f32], out: &mut [Vec3]) -> usize {
        let (from, scratch) = (block.from, block.scratch);
        match &self.coefficients {
            Coefficients::Single(values) => {
                Add { correction: self, values, units: &[], from, scratch, radii, out }.run()
            }
            Coefficients::Sixteen { values, units } => {
                Add { correction: self, values, units, from, scratch, radii, out }.run()
            }
        }
    }

    /// The same with coefficients of another precision.
    pub(super) fn with_precision(mut self, precision: Precision) -> Self {
        self.coefficients = self.coefficients.stored(precision, self.starts());
        self
    }

    /// Where the coefficients of each vertex begin, and after the last one where they end.
    fn starts(&self) -> impl Iterator<Item = usize> + Clone {
        let size = self.shared.rows.coefficients();
        self.offsets.iter().map(move |&at| at as usize * size)
    }
}

struct Add<'a, T> {
    correction: &'a BakedEnveloping,
    values: &'a [T],
    units: &'a [f32],
    from: usize,
    scratch: &'a Scratch,
    radii: &'a [f32],
    out: &'a mut [Vec3],
}

impl<T: Stored> Add<'_, T> {
    #[cfg(target_arch = "x86_64")]
    fn run(self) -> usize {
        let Self { correction: c, values, units, from, scratch, radii, out } = self;
        let range = from..from + out.len();
        let (mut held, mut done) = (0, 0);
        if c.constants.is_empty() {
            let job = super::avx512::Envelop {
                rows: c.shared.rows,
                offsets: &c.offsets[range.start..=range.end],
                terms: &c.terms,
                values,
                units: units.get(range.clone()).unwrap_or_default(),
                features: &scratch.rounded,
                anchors: &c.anchors[range],
                table: &scratch.bones,
                radii,
                behind: scratch.behind,
                out: &mut *out,
            };
            (held, done) = job.run();
        }
        let (radii, out) = (radii.get(done..).unwrap_or_default(), &mut out[done..]);
        held + simd::run(Add { correction: c, values, units, from: from + done, scratch, radii, out })
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn run(self) -> usize {
        simd::run(self)
    }
}

impl<T: Stored> Kernel for Add<'_, T> {
    type Output = usize;

    #[inline(always)]
    fn run<F: Fma>(self) -> usize {
        let Self { correction: c, values, units, from, scratch, radii, out } = self;
        let features = &scratch.rounded[..];
        let (mut sums, mut turned) = ([[0.0f32; 12]; PIECE], [[0.0f32; 4]; PIECE]);
        let mut held = 0;
        for (at, out) in out.chunks_mut(PIECE).enumerate() {
            let (start, count) = (from + at * PIECE, out.len());
            for (sums, row) in sums[..count].iter_mut().zip(c.offsets[start..].windows(2)) {
                let (from, to) = (row[0] as usize, row[1] as usize);
                let terms = &c.terms[from..to];
                match c.shared.rows {
                    Rows::Row => row_sums::<F, T>(terms, &values[from * 12..], features, sums),
                    Rows::Full => full_sums::<F, T>(terms, &values[from * 36..], features, sums),
                }
            }
            if let Some(units) = units.get(start..start + count) {
                for (sums, unit) in sums.iter_mut().zip(units) {
                    sums.iter_mut().for_each(|s| *s *= unit);
                }
            }
            let mut deltas = [[0.0f32; 3]; PIECE];
            if let Some(constants) = c.constants.get(start..start + count) {
                deltas[..count].copy_from_slice(cast_slice(constants));
            }
            add_quads(&sums, &mut deltas);
            // Without an anchor the table's last matrix turns it, the identity.
            turn::<F>(&c.anchors[start..start + count], &scratch.bones, &deltas, &mut turned);
            let radii = radii.get(at * PIECE..at * PIECE + count).unwrap_or_default();
            held += settle(&mut turned[..count], radii, scratch.behind, out);
        }
        held
    }
}

/// Axis j reads row j of the features: four running products per axis.
#[inline(always)]
fn row_sums<F: Fma, T: Stored>(terms: &[u32], coefficients: &[T], features: &[Columns], out: &mut [f32; 12]) {
    let mut sums = [0.0f32; 12];
    for (&term, u) in terms.iter().zip(coefficients.as_chunks::<12>().0) {
        prefetch(u, AHEAD);
        let f = &features[term as usize].0;
        for c in 0..12 {
            sums[c] = F::f32(u[c].wide(), f[c], sums[c]);
        }
    }
    *out = sums;
}

/// Every axis reads all features: four running products per axis.
#[inline(always)]
fn full_sums<F: Fma, T: Stored>(terms: &[u32], coefficients: &[T], features: &[Columns], out: &mut [f32; 12]) {
    let mut sums = [0.0f32; 12];
    for (&term, u) in terms.iter().zip(coefficients.as_chunks::<36>().0) {
        for line in [0, 64, 128] {
            prefetch(u, AHEAD + line);
        }
        let f = &features[term as usize].0;
        for j in 0..3 {
            for axis in 0..3 {
                for c in 0..4 {
                    sums[axis * 4 + c] = F::f32(u[axis * 12 + j * 4 + c].wide(), f[j * 4 + c], sums[axis * 4 + c]);
                }
            }
        }
    }
    *out = sums;
}
