//! The free part of the joint model, Σ_e U_ve z_e, of eight vertices side by side.
//!
//! Coefficients are stored lane by lane: for every inducing rotation that one of eight vertices reads, a row per axis with a number of
//! each. A sum is one multiply-add per row, and nothing is transposed. Neighbours on a mesh read nearly the same joints, so few
//! numbers are zeros of vertices that do not read a rotation.

use super::coefficients::{AHEAD, CoefficientPrecision, Coefficients, narrowed, unit};
use super::joints::padded;
use crate::baked::lanes::{EIGHT, Eight, Stored};
use crate::parts::{DeformerError, beside, names};
use crate::simd::prefetch;
use dermis_rig::Rows;
use dermis_rig::glam::Vec3A;
use std::mem::size_of;
use std::ops::Range;

/// The free terms of all vertices and their coefficients.
#[derive(Clone, Debug)]
pub struct FreePart {
    /// The terms of every vertex: the joint of each.
    terms: Rows<u32>,
    /// The first inducing rotation of each joint, counted over all joints; one more entry than joints.
    first: Vec<u32>,
    /// Where the rotations of each eight vertices start; one more entry than eights.
    starts: Vec<u32>,
    /// Inducing rotations.
    rotations: Vec<u32>,
    values: Values,
}

/// Lines by axis for each entry of `rotations`.
#[derive(Clone, Debug)]
enum Values {
    Single(Vec<Lines<f32>>),
    /// In units of a number per vertex.
    Sixteen(Vec<Lines<i16>>, Vec<f32>),
}

/// The coefficients of eight vertices for an inducing rotation, by axis.
pub(super) type Lines<T> = [<T as Stored>::Row; 3];

impl FreePart {
    /// - `counts`: inducing rotations of each joint
    /// - `terms`: the terms of every vertex, the joint of each
    /// - `coefficients`: per term three rows of the joint's inducing rotations, each [filled up](padded) with zeros
    ///
    /// # Errors
    /// [`DeformerError::List`] if the lists do not belong together.
    pub fn new(
        counts: impl Iterator<Item = usize>,
        terms: Rows<u32>,
        coefficients: &Coefficients,
    ) -> Result<Self, DeformerError> {
        const PART: &str = "free terms";
        let mut first = vec![0u32];
        for count in counts {
            let last = first[first.len() - 1];
            let end = u32::try_from(count).ok().and_then(|count| last.checked_add(count));
            first.push(end.ok_or(DeformerError::List { part: PART })?);
        }
        let vertices = terms.len();
        names(PART, terms.entries().iter().map(|&joint| joint as usize), first.len() - 1)?;
        let (starts, rotations) = (vec![0], vec![]);
        let mut made = Self { terms, first, starts, rotations, values: Values::Single(vec![]) };
        beside(PART, coefficients.len(), made.terms.entries().iter().map(|&joint| made.numbers(joint)).sum())?;
        if let Coefficients::Sixteen { units, .. } = coefficients {
            beside(PART, units.len(), vertices)?;
        }
        for eight in 0..vertices.div_ceil(EIGHT) {
            for joint in made.joints_of(eight) {
                made.rotations.extend(made.first[joint as usize]..made.first[joint as usize + 1]);
            }
            made.starts.push(u32::try_from(made.rotations.len()).map_err(|_| DeformerError::List { part: PART })?);
        }
        made.values = match coefficients {
            Coefficients::Single(values) => Values::Single(made.arranged(values)),
            Coefficients::Sixteen { values, units } => Values::Sixteen(made.arranged(values), units.clone()),
        };
        Ok(made)
    }

    /// Of vertices that there are not.
    pub fn empty() -> Self {
        let values = Values::Single(vec![]);
        Self { terms: Rows::default(), first: vec![0], starts: vec![0], rotations: vec![], values }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.terms.len()
    }

    /// The terms of every vertex: the joint of each.
    pub fn terms(&self) -> &Rows<u32> {
        &self.terms
    }

    /// Inducing rotations of each joint.
    pub fn counts(&self) -> impl Iterator<Item = usize> {
        self.first.windows(2).map(|ends| (ends[1] - ends[0]) as usize)
    }

    /// Where the [`coefficients`](Self::coefficients) of vertex v start; one more entry than vertices.
    pub fn coefficient_starts(&self) -> Vec<usize> {
        let mut starts = vec![0];
        for v in 0..self.vertices() {
            starts.push(starts[v] + self.terms.of(v).iter().map(|&joint| self.numbers(joint)).sum::<usize>());
        }
        starts
    }

    /// The coefficients vertex after vertex, as [`new`](Self::new) takes them.
    pub fn coefficients(&self) -> Coefficients {
        match &self.values {
            Values::Single(rows) => Coefficients::Single(self.listed(rows)),
            Values::Sixteen(rows, units) => Coefficients::Sixteen { values: self.listed(rows), units: units.clone() },
        }
    }

    /// How the coefficients are stored.
    pub fn precision(&self) -> CoefficientPrecision {
        match self.values {
            Values::Single(_) => CoefficientPrecision::Single,
            Values::Sixteen(..) => CoefficientPrecision::Sixteen,
        }
    }

    /// The same with coefficients of another precision.
    #[must_use]
    pub fn with_precision(self, precision: CoefficientPrecision) -> Self {
        let values = match (&self.values, precision) {
            (Values::Single(rows), CoefficientPrecision::Sixteen) => {
                let units = self.units(rows);
                Values::Sixteen(self.scaled(rows, |v, u| narrowed(u, units[v])), units)
            }
            (Values::Sixteen(rows, units), CoefficientPrecision::Single) => {
                Values::Single(self.scaled(rows, |v, u: i16| f32::from(u) * units[v]))
            }
            _ => return self,
        };
        Self { values, ..self }
    }

    /// What 16 bits of each vertex are measured in.
    fn units(&self, rows: &[Lines<f32>]) -> Vec<f32> {
        let mut units = Vec::with_capacity(self.vertices());
        for eight in 0..self.vertices().div_ceil(EIGHT) {
            let of_vertex = |v: usize| rows[self.range(eight)].iter().flatten().map(move |row| row.as_ref()[v % EIGHT]);
            units.extend(self.lanes_of(eight).map(|v| unit(of_vertex(v))));
        }
        units
    }

    /// The lines with every number changed by its vertex.
    fn scaled<A: Stored, B: Stored>(&self, rows: &[Lines<A>], of: impl Fn(usize, A) -> B) -> Vec<Lines<B>> {
        let mut made = vec![Lines::<B>::default(); rows.len()];
        for eight in 0..self.vertices().div_ceil(EIGHT) {
            let range = self.range(eight);
            for (to, from) in made[range.clone()].iter_mut().flatten().zip(rows[range].iter().flatten()) {
                for v in self.lanes_of(eight) {
                    to.as_mut()[v % EIGHT] = of(v, from.as_ref()[v % EIGHT]);
                }
            }
        }
        made
    }

    /// Bytes of the arrays that evaluation reads.
    pub(super) fn bytes(&self) -> usize {
        let of_values = match &self.values {
            Values::Single(rows) => size_of::<Lines<f32>>() * rows.len(),
            Values::Sixteen(rows, units) => size_of::<Lines<i16>>() * rows.len() + 4 * units.len(),
        };
        of_values + 4 * (self.starts.len() + self.rotations.len())
    }

    /// The sum of one vertex.
    ///
    /// - `z`: of all joints, one after the other
    pub(super) fn of_vertex(&self, v: usize, z: &[f32]) -> Vec3A {
        let range = self.range(v / EIGHT);
        let z = self.rotations[range.clone()].iter().map(|&at| z[at as usize]);
        match &self.values {
            Values::Single(rows) => lane_sum::<f32>(&rows[range], z, v % EIGHT),
            Values::Sixteen(rows, units) => lane_sum::<i16>(&rows[range], z, v % EIGHT) * units[v],
        }
    }

    /// What the lanes read.
    pub(super) fn lanes(&self) -> FreeLanes<'_> {
        match &self.values {
            Values::Single(rows) => FreeLanes::Single(Lanes { part: self, rows, units: &[] }),
            Values::Sixteen(rows, units) => FreeLanes::Sixteen(Lanes { part: self, rows, units }),
        }
    }

    /// Numbers of a term.
    fn numbers(&self, joint: u32) -> usize {
        3 * padded((self.first[joint as usize + 1] - self.first[joint as usize]) as usize)
    }

    /// Where the rotations of eight vertices lie.
    fn range(&self, eight: usize) -> Range<usize> {
        self.starts[eight] as usize..self.starts[eight + 1] as usize
    }

    fn lanes_of(&self, eight: usize) -> Range<usize> {
        eight * EIGHT..self.vertices().min((eight + 1) * EIGHT)
    }

    /// The joints that eight vertices read, ascending; one that a vertex reads twice is there twice.
    fn joints_of(&self, eight: usize) -> Vec<u32> {
        let mut all: Vec<(u32, usize)> = Vec::new();
        for v in self.lanes_of(eight) {
            all.extend(self.terms.of(v).iter().enumerate().map(|(k, &joint)| (joint, self.before(v, k))));
        }
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(|(joint, _)| joint).collect()
    }

    /// How many terms of a vertex before its term `k` have the same joint.
    fn before(&self, v: usize, k: usize) -> usize {
        let terms = self.terms.of(v);
        terms[..k].iter().filter(|&&joint| joint == terms[k]).count()
    }

    /// Calls `visit` with the first row of each term of a vertex, the joint's inducing rotations and where its coefficients start among
    /// those of the vertex.
    fn for_each_term(&self, v: usize, mut visit: impl FnMut(usize, usize, usize)) {
        let range = self.range(v / EIGHT);
        let mut start = 0;
        for (k, &joint) in self.terms.of(v).iter().enumerate() {
            let (first, end) = (self.first[joint as usize], self.first[joint as usize + 1]);
            let same = self.rotations[range.clone()].iter().enumerate().filter(|(_, at)| **at == first && first < end);
            if let Some((at, _)) = same.clone().nth(self.before(v, k)) {
                visit(range.start + at, (end - first) as usize, start);
            }
            start += self.numbers(joint);
        }
    }

    /// Coefficients vertex after vertex, as rows.
    fn arranged<T: Stored>(&self, values: &[T]) -> Vec<Lines<T>> {
        let mut rows = vec![Lines::<T>::default(); self.rotations.len()];
        let mut start = 0;
        for v in 0..self.vertices() {
            self.for_each_term(v, |row, count, at| {
                for (i, row) in rows[row..row + count].iter_mut().enumerate() {
                    for (axis, row) in row.iter_mut().enumerate() {
                        row.as_mut()[v % EIGHT] = values[start + at + axis * padded(count) + i];
                    }
                }
            });
            start += self.terms.of(v).iter().map(|&joint| self.numbers(joint)).sum::<usize>();
        }
        rows
    }

    /// Lines as coefficients vertex after vertex.
    fn listed<T: Stored>(&self, rows: &[Lines<T>]) -> Vec<T> {
        let starts = self.coefficient_starts();
        let mut values = vec![T::default(); starts[starts.len() - 1]];
        for v in 0..self.vertices() {
            self.for_each_term(v, |row, count, at| {
                for (i, row) in rows[row..row + count].iter().enumerate() {
                    for (axis, row) in row.iter().enumerate() {
                        values[starts[v] + at + axis * padded(count) + i] = row.as_ref()[v % EIGHT];
                    }
                }
            });
        }
        values
    }
}

/// A [`FreePart`] by precision.
pub(super) enum FreeLanes<'a> {
    Single(Lanes<'a, f32>),
    Sixteen(Lanes<'a, i16>),
}

/// The sums of eight vertices.
#[derive(Clone, Copy)]
pub(super) struct Lanes<'a, T: Stored> {
    part: &'a FreePart,
    rows: &'a [Lines<T>],
    /// Per vertex; empty for coefficients in units of one.
    units: &'a [f32],
}

impl<T: Stored> Lanes<'_, T> {
    /// Σ_e U_ve z_e of the eight vertices from `v` on, by axis.
    #[inline(always)]
    pub(super) fn sums<E: Eight>(&self, e: E, v: usize, z: &[f32]) -> [E::Lanes; 3] {
        let range = self.part.range(v / EIGHT);
        let (rotations, rows) = (&self.part.rotations[range.clone()], &self.rows[range]);
        let ((pairs, last), (row_pairs, last_rows)) = (rotations.as_chunks::<2>(), rows.as_chunks::<2>());
        // Two sums per axis, because a multiply-add waits for the one before.
        let (mut even, mut odd) = ([e.splat(0.0); 3], [e.splat(0.0); 3]);
        for (&[a, b], rows) in pairs.iter().zip(row_pairs) {
            prefetch(&rows[0], AHEAD);
            prefetch(&rows[1], AHEAD);
            even = added::<E, T>(e, even, &rows[0], z[a as usize]);
            odd = added::<E, T>(e, odd, &rows[1], z[b as usize]);
        }
        for (&at, rows) in last.iter().zip(last_rows) {
            even = added::<E, T>(e, even, rows, z[at as usize]);
        }
        let sums = [e.add(even[0], odd[0]), e.add(even[1], odd[1]), e.add(even[2], odd[2])];
        match self.units.get(v..) {
            Some(units) if !self.units.is_empty() => {
                let units = match units.first_chunk::<EIGHT>() {
                    Some(units) => e.lanes(*units),
                    None => e.lanes(crate::baked::lanes::padded(units)),
                };
                [e.mul(sums[0], units), e.mul(sums[1], units), e.mul(sums[2], units)]
            }
            _ => sums,
        }
    }
}

/// Coefficients times z, added.
#[inline(always)]
fn added<E: Eight, T: Stored>(e: E, sums: [E::Lanes; 3], rows: &Lines<T>, z: f32) -> [E::Lanes; 3] {
    let z = e.splat(z);
    [
        e.mul_add(e.wide(rows[0].as_ref()), z, sums[0]),
        e.mul_add(e.wide(rows[1].as_ref()), z, sums[1]),
        e.mul_add(e.wide(rows[2].as_ref()), z, sums[2]),
    ]
}

fn lane_sum<T: Stored>(rows: &[Lines<T>], z: impl Iterator<Item = f32>, lane: usize) -> Vec3A {
    let of = |row: &Lines<T>| Vec3A::from_array([0, 1, 2].map(|axis: usize| row[axis].as_ref()[lane].wide()));
    rows.iter().zip(z).map(|(row, z)| of(row) * z).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joints of one, five and four rotations; nineteen vertices, of which some read a joint twice, some none, in any order.
    fn part(precision: CoefficientPrecision) -> (FreePart, Rows<u32>, Coefficients) {
        let counts = [1usize, 5, 4];
        let (mut offsets, mut terms, mut values, mut starts) = (vec![0], vec![], vec![], vec![0]);
        for v in 0..19u32 {
            for k in 0..v % 4 {
                let joint = (v * 7 + k * k) % 3;
                terms.push(joint);
                let count = counts[joint as usize];
                for axis in 0..3 {
                    let number = |i: usize| ((values.len() + 3 * axis + i) as f32 * 0.37).sin();
                    let row: Vec<f32> = (0..padded(count)).map(|i| if i < count { number(i) } else { 0.0 }).collect();
                    values.extend(row);
                }
            }
            offsets.push(terms.len() as u32);
            starts.push(values.len());
        }
        let listed = Coefficients::Single(values).stored(precision, starts.into_iter());
        let terms = Rows::new(offsets, terms).unwrap();
        (FreePart::new(counts.into_iter(), terms.clone(), &listed).unwrap(), terms, listed)
    }

    #[test]
    fn coefficients_come_back_as_they_were_listed() {
        for precision in [CoefficientPrecision::Single, CoefficientPrecision::Sixteen] {
            let (part, terms, listed) = part(precision);
            assert_eq!(part.terms(), &terms);
            assert_eq!((part.coefficients(), part.precision()), (listed, precision));
        }
        let (single, ..) = part(CoefficientPrecision::Single);
        let (.., listed) = part(CoefficientPrecision::Sixteen);
        assert_eq!(single.with_precision(CoefficientPrecision::Sixteen).coefficients(), listed);
    }

    #[test]
    fn sums_are_those_of_the_listed_coefficients() {
        let (part, _, listed) = part(CoefficientPrecision::Single);
        let Coefficients::Single(listed) = listed else { panic!("another precision") };
        let z: Vec<f32> = (0..10).map(|i| 1.0 + i as f32).collect();
        let (first, starts) = ([0, 1, 6], part.coefficient_starts());
        for v in 0..part.vertices() {
            let (mut sum, mut at) = (Vec3A::ZERO, starts[v]);
            for &joint in part.terms().of(v) {
                let count = [1, 5, 4][joint as usize];
                for axis in 0..3 {
                    sum[axis] += (0..count).map(|i| listed[at + i] * z[first[joint as usize] + i]).sum::<f32>();
                    at += padded(count);
                }
            }
            assert!((part.of_vertex(v, &z) - sum).length() < 1e-5, "{v}");
        }
    }

    #[test]
    fn lists_that_do_not_belong_together_are_refused() {
        let (_, terms, listed) = part(CoefficientPrecision::Sixteen);
        let made = |counts: [usize; 3], terms: &Rows<u32>, listed: &Coefficients| {
            FreePart::new(counts.into_iter(), terms.clone(), listed)
        };
        let counts = [1, 5, 4];
        assert!(made(counts, &terms, &listed).is_ok());
        assert!(made([1, 5, 9], &terms, &listed).is_err());
        assert!(made([1, 5, usize::MAX], &terms, &listed).is_err());
        assert!(made(counts, &Rows::default(), &listed).is_err());
        assert!(made(counts, &terms.map(|_| 77), &listed).is_err());
        assert!(made(counts, &terms, &Coefficients::Single(vec![0.0])).is_err());
        let Coefficients::Sixteen { values, .. } = listed else { panic!("another precision") };
        assert!(made(counts, &terms, &Coefficients::Sixteen { values, units: vec![1.0] }).is_err());
    }
}
