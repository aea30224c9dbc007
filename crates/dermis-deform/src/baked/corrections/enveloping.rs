//! Multi-weight enveloping as it runs.

use super::block::Corrected;
use super::coefficients::{AHEAD, CoefficientPrecision, Coefficients};
use super::settle::{settle_eight, turned};
use crate::baked::bases::NO_ANCHOR;
use crate::baked::lanes::{self, Columns, EIGHT, Eight, EightKernel, Stored, numbers, padded};
use crate::enveloping::{Enveloping, EnvelopingForm, PoseFeatures};
use crate::simd::prefetch;
use dermis_rig::glam::{Mat3, Vec3};
use dermis_rig::{BoneTransforms, Rows};

/// [`Enveloping`] in `f32`.
#[derive(Clone, Debug)]
pub struct BakedEnveloping {
    /// What depends on the pose alone, evaluated in `f64`. Its per-vertex arrays are empty.
    pub shared: Enveloping,
    /// Anchor of each vertex, or [`NO_ANCHOR`].
    pub anchors: Vec<u32>,
    /// The terms of every vertex: the pair of each.
    pub terms: Rows<u32>,
    /// Coefficients, as in [`Enveloping::coefficients`].
    pub coefficients: Coefficients,
    /// Corrections at the bind pose; empty when all are zero.
    pub constants: Vec<Vec3>,
    /// Radii of the guard; empty without it.
    pub radii: Vec<f32>,
}

/// Memory of this correction.
#[derive(Clone, Debug, Default)]
pub(in crate::baked) struct EnvelopingScratch {
    /// The linear parts of M_k.
    pub(in crate::baked) turns: Vec<Mat3>,
    pub(in crate::baked) features: PoseFeatures,
    /// The features arranged as the coefficients are; the last four lanes are zero.
    arranged: Vec<Columns>,
}

impl BakedEnveloping {
    /// Features of the pose into the scratch; how many were limited, of how many.
    pub(in crate::baked) fn prepare(
        &self,
        transforms: &BoneTransforms,
        scratch: &mut EnvelopingScratch,
    ) -> (usize, usize) {
        scratch.turns.clear();
        scratch.turns.extend(transforms.iter().map(|m| m.matrix3.as_mat3()));
        self.shared.features(transforms, &mut scratch.features);
        let arrange = match self.coefficients.precision() {
            CoefficientPrecision::Single => f32::arrange,
            CoefficientPrecision::Sixteen => i16::arrange,
        };
        scratch.arranged.clear();
        scratch.arranged.extend(scratch.features.features.iter().map(|f| Columns(arrange(f))));
        (scratch.features.limited, scratch.arranged.len())
    }

    pub(in crate::baked) fn bytes(&self) -> usize {
        4 * (self.anchors.len() + self.terms.offsets().len() + self.terms.entries().len())
            + self.coefficients.bytes()
            + 12 * self.constants.len()
            + 16 * self.shared.pairs.len()
    }

    /// Adds the correction to a block; at how many vertices the ball held it back.
    pub(in crate::baked) fn add_block(
        &self,
        block: Corrected<'_>,
        scratch: &EnvelopingScratch,
        radii: &[f32],
        out: &mut [Vec3],
    ) -> usize {
        match &self.coefficients {
            Coefficients::Single(values) => self.add((values, &[]), block, scratch, radii, out),
            Coefficients::Sixteen { values, units } => self.add((values, units), block, scratch, radii, out),
        }
    }

    fn add<T: Stored>(
        &self,
        (values, units): (&[T], &[f32]),
        block: Corrected<'_>,
        scratch: &EnvelopingScratch,
        radii: &[f32],
        out: &mut [Vec3],
    ) -> usize {
        let (range, whole) = (block.from..block.from + out.len(), out.len() / EIGHT * EIGHT);
        let constants = self.constants.get(range.clone()).unwrap_or_default();
        let units = units.get(range.clone()).unwrap_or_default();
        let (offsets, anchors) = (&self.terms.offsets()[range.start..=range.end], &self.anchors[range]);
        let (some, last) = out.split_at_mut(whole);
        let mut held = 0;
        let all = Envelop {
            rows: self.shared.rows,
            terms: self.terms.entries(),
            values,
            features: &scratch.arranged,
            table: &block.pose.table,
            behind: block.behind,
            offsets,
            anchors: &anchors[..whole],
            units: &units[..whole.min(units.len())],
            constants: &constants[..whole.min(constants.len())],
            radii: &radii[..whole.min(radii.len())],
            out: some,
            held: &mut held,
        };
        lanes::run(all);
        if !last.is_empty() {
            let mut ends = [offsets[offsets.len() - 1]; EIGHT + 1];
            ends[..offsets.len() - whole].copy_from_slice(&offsets[whole..]);
            let mut positions = padded(last);
            lanes::run(Envelop {
                rows: self.shared.rows,
                terms: self.terms.entries(),
                values,
                features: &scratch.arranged,
                table: &block.pose.table,
                behind: block.behind,
                offsets: &ends,
                anchors: &padded(&anchors[whole..]),
                units: end_of(units, whole, &mut [0.0; EIGHT]),
                constants: end_of(constants, whole, &mut [Vec3::ZERO; EIGHT]),
                // Vertices that are not there have no correction that a ball could hold back.
                radii: end_of(radii, whole, &mut [f32::MAX; EIGHT]),
                out: &mut positions,
                held: &mut held,
            });
            last.copy_from_slice(&positions[..last.len()]);
        }
        held
    }

    /// The same with coefficients of another precision.
    pub(in crate::baked) fn with_precision(mut self, precision: CoefficientPrecision) -> Self {
        self.coefficients = self.coefficients.stored(precision, self.starts());
        self
    }

    /// Where the coefficients of each vertex begin, and after the last one where they end.
    fn starts(&self) -> impl Iterator<Item = usize> + Clone {
        let size = self.shared.rows.coefficients();
        self.terms.offsets().iter().map(move |&at| at as usize * size)
    }
}

/// The end of a list, filled up; of an empty list, nothing.
fn end_of<'a, T: Copy>(list: &[T], from: usize, room: &'a mut [T; EIGHT]) -> &'a [T] {
    let Some(end) = list.get(from..).filter(|end| !end.is_empty()) else { return &[] };
    room[..end.len()].copy_from_slice(end);
    room
}

/// Multi-weight enveloping of whole chunks of eight vertices: adds the correction, and what is behind.
struct Envelop<'a, T> {
    rows: EnvelopingForm,
    terms: &'a [u32],
    values: &'a [T],
    features: &'a [Columns],
    table: &'a [Columns],
    behind: Vec3,
    /// Where the terms of these vertices start, and where those of the last one end.
    offsets: &'a [u32],
    anchors: &'a [u32],
    /// Empty for coefficients in units of one.
    units: &'a [f32],
    /// Empty where they are zero.
    constants: &'a [Vec3],
    /// Empty without a ball.
    radii: &'a [f32],
    out: &'a mut [Vec3],
    /// At how many vertices the ball acted.
    held: &'a mut usize,
}

impl<T: Stored> EightKernel for Envelop<'_, T> {
    #[inline(always)]
    fn run<E: Eight>(self, e: E) {
        let anchored = self.anchors.iter().any(|a| *a != NO_ANCHOR);
        let (units, radii) = (self.units.as_chunks().0, self.radii.as_chunks().0);
        let (constants, anchors) = (self.constants.as_chunks().0, self.anchors.as_chunks().0);
        for (at, anchors) in anchors.iter().enumerate() {
            let ends = &self.offsets[at * EIGHT..=(at + 1) * EIGHT];
            let mut delta = match self.rows {
                EnvelopingForm::Row => row_sums(e, &self, ends),
                EnvelopingForm::Full => full_sums(e, &self, ends),
            };
            if let Some(units) = units.get(at) {
                for d in &mut delta {
                    *d = e.mul(*d, e.lanes(*units));
                }
            }
            if let Some(constants) = constants.get(at) {
                let constants = e.split(numbers(constants));
                for j in 0..3 {
                    delta[j] = e.add(delta[j], constants[j]);
                }
            }
            if anchored {
                delta = turned(e, anchors, self.table, delta);
            }
            let out = &mut self.out.as_chunks_mut().0[at];
            *self.held += settle_eight(e, delta, radii.get(at), self.behind, out);
        }
    }
}

/// Axis j reads row j of the features.
#[inline(always)]
fn row_sums<E: Eight, T: Stored>(e: E, job: &Envelop<'_, T>, ends: &[u32]) -> [E::Lanes; 3] {
    let mut sums = [[e.still(); 2]; EIGHT];
    for (sums, ends) in sums.iter_mut().zip(ends.windows(2)) {
        let (from, to) = (ends[0] as usize, ends[1] as usize);
        let mut sum = [e.still(); 2];
        for (at, &term) in job.terms[from..to].iter().enumerate() {
            let u = &job.values[(from + at) * 12..];
            prefetch(&u[0], AHEAD);
            sum = e.add_row(sum, u, &job.features[term as usize]);
        }
        *sums = sum;
    }
    e.row_sums::<T>(sums)
}

/// Every axis reads all features.
#[inline(always)]
fn full_sums<E: Eight, T: Stored>(e: E, job: &Envelop<'_, T>, ends: &[u32]) -> [E::Lanes; 3] {
    let values = job.values.as_chunks::<36>().0;
    let mut sums = [[e.still(); 6]; EIGHT];
    for (sums, ends) in sums.iter_mut().zip(ends.windows(2)) {
        let (from, to) = (ends[0] as usize, ends[1] as usize);
        let mut sum = [e.still(); 6];
        for (&term, u) in job.terms[from..to].iter().zip(&values[from..to]) {
            for line in [0, 12, 24] {
                prefetch(&u[line], AHEAD);
            }
            sum = e.add_full(sum, u, &job.features[term as usize]);
        }
        *sums = sum;
    }
    e.full_sums(sums)
}
