//! The joint model of eight vertices side by side.
//!
//! The shared part is stored eight vertices at a time, a line per bone that one of them reads, so that a bone is loaded once for all
//! eight; the free part likewise, a row per inducing rotation.

use super::block::Corrected;
use super::coefficients::AHEAD;
use super::free::Lanes;
use super::joints::{BakedJoints, BakedSharedTerm, JointsScratch};
use super::settle::{settle_eight, turned};
use crate::baked::bases::{NO_ANCHOR, blended, moved_by, summed};
use crate::baked::lanes::{self, Columns, EIGHT, Eight, EightKernel, Four, Stored, numbers, padded};
use crate::joints::CorrectionFrame;
use crate::simd::prefetch;
use dermis_rig::Rows;
use dermis_rig::glam::Vec3;

/// The shared part, eight vertices at a time.
#[derive(Clone, Debug, Default)]
pub(in crate::baked) struct SharedLines {
    /// Where the lines of each eight vertices start; one more entry than eights.
    offsets: Vec<u32>,
    /// Bone of each line.
    bones: Vec<u32>,
    lines: Vec<Line>,
}

/// What eight vertices have of one bone; zero where a vertex does not read it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
struct Line {
    relevance: [f32; EIGHT],
    /// q by coordinates.
    offset: [[f32; EIGHT]; 3],
    weight: [f32; EIGHT],
}

impl SharedLines {
    pub(in crate::baked) fn of(terms: &Rows<BakedSharedTerm>) -> Self {
        let mut made = Self { offsets: vec![0], ..Self::default() };
        // Bone and vertex of each term, so that the vertices of a bone lie together.
        let mut found: Vec<(u32, usize, &BakedSharedTerm)> = Vec::new();
        for first in (0..terms.len()).step_by(EIGHT) {
            found.clear();
            for (lane, v) in (first..terms.len()).take(EIGHT).enumerate() {
                found.extend(terms.of(v).iter().map(|term| (term.bone, lane, term)));
            }
            found.sort_by_key(|&(bone, lane, _)| (bone, lane));
            let mut before = None;
            for &(bone, lane, term) in &found {
                // A vertex that reads a bone twice has two lines of it.
                if before.is_none_or(|(of, last)| of != bone || last >= lane) {
                    made.bones.push(bone);
                    made.lines.push(Line::default());
                }
                before = Some((bone, lane));
                if let Some(line) = made.lines.last_mut() {
                    line.relevance[lane] = term.relevance;
                    (0..3).for_each(|j| line.offset[j][lane] = term.offset[j]);
                    line.weight[lane] = term.weight;
                }
            }
            made.offsets.push(made.bones.len() as u32);
        }
        made
    }

    pub(in crate::baked) fn bytes(&self) -> usize {
        4 * (self.offsets.len() + self.bones.len()) + size_of::<Line>() * self.lines.len()
    }
}

/// The correction of the vertices of a block.
pub(super) struct JointChunks<'a, T: Stored> {
    pub(super) correction: &'a BakedJoints,
    pub(super) free: Lanes<'a, T>,
    pub(super) pose: &'a JointsScratch,
}

impl<T: Stored> JointChunks<'_, T> {
    /// Adds the correction and what is behind; at how many vertices the ball held it back.
    pub(super) fn add(&self, block: Corrected<'_>, radii: &[f32], out: &mut [Vec3]) -> usize {
        let c = self.correction;
        let (range, whole) = (block.from..block.from + out.len(), out.len() / EIGHT * EIGHT);
        let limits = c.limits.get(range.clone()).unwrap_or_default();
        let more = c.weights.more_of(range.clone());
        let (before, after) = more.split_at(more.partition_point(|e| (e.0 as usize) < block.from + whole));
        let (fours, anchors, rest) = (&c.weights.fours[range.clone()], &c.anchors[range.clone()], &block.rest[range]);
        // The shared part is seen from the linear blend.
        let known = c.adds_to_blend && self.pose.back.is_empty();
        let (some, last) = out.split_at_mut(whole);
        let mut held = 0;
        lanes::run(Chunks {
            job: self,
            first: block.from,
            known,
            fours: &fours[..whole],
            more: before,
            anchors: &anchors[..whole],
            rest: &rest[..whole],
            limits: limits.get(..whole).unwrap_or_default(),
            radii: radii.get(..whole).unwrap_or_default(),
            behind: block.behind,
            out: some,
            held: &mut held,
        });
        if !last.is_empty() {
            let (mut anchors_at_end, mut positions) = ([NO_ANCHOR; EIGHT], padded(last));
            anchors_at_end[..last.len()].copy_from_slice(&anchors[whole..]);
            let filled = |list: &[f32], with: f32| {
                let mut all = [with; EIGHT];
                let end = list.get(whole..).unwrap_or_default();
                all[..end.len()].copy_from_slice(end);
                all
            };
            let limits_at_end = filled(limits, f32::MAX);
            // Vertices that are not there have no correction that a ball could hold back.
            let radii_at_end = filled(radii, f32::MAX);
            lanes::run(Chunks {
                job: self,
                first: block.from + whole,
                known,
                fours: &padded(&fours[whole..]),
                more: after,
                anchors: &anchors_at_end,
                rest: &padded(&rest[whole..]),
                limits: if limits.is_empty() { &[] } else { &limits_at_end },
                radii: if radii.is_empty() { &[] } else { &radii_at_end },
                behind: block.behind,
                out: &mut positions,
                held: &mut held,
            });
            last.copy_from_slice(&positions[..last.len()]);
        }
        held
    }
}

/// [`JointChunks`] of whole chunks of eight vertices.
struct Chunks<'a, T: Stored> {
    job: &'a JointChunks<'a, T>,
    /// The first vertex, a multiple of eight.
    first: usize,
    /// Whether `out` holds the linear blends.
    known: bool,
    fours: &'a [Four],
    more: &'a [(u32, Four)],
    anchors: &'a [u32],
    rest: &'a [Vec3],
    limits: &'a [f32],
    radii: &'a [f32],
    behind: Vec3,
    out: &'a mut [Vec3],
    held: &'a mut usize,
}

impl<T: Stored> EightKernel for Chunks<'_, T> {
    #[inline(always)]
    fn run<E: Eight>(self, e: E) {
        let Self { job, first, known, fours, more, behind, out, held, .. } = self;
        let (c, pose) = (job.correction, job.pose);
        let frame = c.model.frame;
        let blends = !known || frame == CorrectionFrame::Rest;
        // Blended matrices and blended quaternions each take what belongs to a vertex.
        let (mut of_maps, mut of_turns) = (more, more);
        let (fours, rests) = (fours.as_chunks().0, self.rest.as_chunks().0);
        let (limits, radii) = (self.limits.as_chunks().0, self.radii.as_chunks().0);
        let anchors = self.anchors.as_chunks::<EIGHT>().0;
        for (at, out) in out.as_chunks_mut::<EIGHT>().0.iter_mut().enumerate() {
            let v = first + at * EIGHT;
            let mut free = job.free.sums(e, v, &pose.z);
            if c.model.layer.is_some() {
                free = remembered(e, c, v, pose, free);
            }
            let rest = e.split(numbers(&rests[at]));
            let zero = e.splat(0.0);
            let (mut linear, mut blend) = ([[zero; 3]; 3], [zero; 3]);
            if blends {
                let maps = blended::<4, true, E>(e, v, &fours[at], &mut of_maps, &pose.columns[..]);
                blend = moved_by(e, &maps, rest, Vec3::ZERO);
                linear = [maps[0], maps[1], maps[2]];
            }
            if known {
                blend = e.split(numbers(out));
            }
            let frame = match frame {
                CorrectionFrame::Rest => linear,
                CorrectionFrame::Blend => {
                    let q = summed(e, v, &fours[at], &mut of_turns, &pose.rigid[..]);
                    rotation(e, q, &fours[at], pose)
                }
                CorrectionFrame::Anchor => of_anchors(e, &anchors[at], &pose.columns),
            };
            let lines = c.lines.offsets[v / EIGHT] as usize..c.lines.offsets[v / EIGHT + 1] as usize;
            let (mut delta, squares) = shared_sums(e, c, lines, pose, &frame, rest, blend);
            if let Some(limits) = limits.get(at) {
                let (limit, one) = (e.lanes(*limits), e.splat(1.0));
                if !e.all(e.less(squares, e.mul(limit, limit))) {
                    let share = e.div(limit, e.sqrt(squares));
                    let share = e.add(one, e.and(e.less(share, one), e.add(share, e.splat(-1.0))));
                    for delta in &mut delta {
                        *delta = e.mul(*delta, share);
                    }
                }
            }
            for j in 0..3 {
                let turned = e.mul_add(frame[1][j], free[1], e.mul_add(frame[2][j], free[2], delta[j]));
                delta[j] = e.mul_add(frame[0][j], free[0], turned);
            }
            if !pose.back.is_empty() {
                delta = turned(e, &anchors[at], &pose.back, delta);
            }
            if anchors[at].contains(&NO_ANCHOR) {
                let mut there = [0.0; EIGHT];
                for (there, &anchor) in there.iter_mut().zip(&anchors[at]) {
                    *there = f32::from_bits(if anchor == NO_ANCHOR { 0 } else { u32::MAX });
                }
                for delta in &mut delta {
                    *delta = e.and(e.lanes(there), *delta);
                }
            }
            *held += settle_eight(e, delta, radii.get(at), behind, out);
        }
    }
}

/// The free parts of eight vertices from `v` on, gated, with the shapes of the layer.
#[inline(always)]
fn remembered<E: Eight>(e: E, c: &BakedJoints, v: usize, pose: &JointsScratch, free: [E::Lanes; 3]) -> [E::Lanes; 3] {
    let (mut gates, mut sums) = ([1.0f32; EIGHT], [[0.0f32; EIGHT]; 3]);
    for (lane, v) in (v..c.layer.terms.len().min(v + EIGHT)).enumerate() {
        let (gate, sum) = c.layer.of_vertex(v, pose);
        gates[lane] = gate;
        (0..3).for_each(|axis| sums[axis][lane] = sum[axis]);
    }
    let (gates, [x, y, z]) = (e.lanes(gates), sums);
    [
        e.mul_add(free[0], gates, e.lanes(x)),
        e.mul_add(free[1], gates, e.lanes(y)),
        e.mul_add(free[2], gates, e.lanes(z)),
    ]
}

/// The rotations of blended quaternions; where a blend has no direction, that of the anchor, which is the first influence.
#[inline(always)]
fn rotation<E: Eight>(e: E, q: [E::Lanes; 8], fours: &[Four; EIGHT], pose: &JointsScratch) -> [[E::Lanes; 3]; 3] {
    let [mut x, mut y, mut z, mut w, ..] = q;
    let mut square = e.mul_add(x, x, e.mul_add(y, y, e.mul_add(z, z, e.mul(w, w))));
    let directed = e.less(e.splat(1e-12), square);
    if !e.all(directed) {
        let mut numbers = [e.array(x), e.array(y), e.array(z), e.array(w)];
        for (lane, &directed) in e.array(directed).iter().enumerate() {
            if directed.to_bits() == 0 {
                let reference = pose.rigid[usize::from(fours[lane].index(0))].0;
                for i in 0..4 {
                    numbers[i][lane] = reference[i];
                }
            }
        }
        (x, y, z, w) = (e.lanes(numbers[0]), e.lanes(numbers[1]), e.lanes(numbers[2]), e.lanes(numbers[3]));
        square = e.mul_add(x, x, e.mul_add(y, y, e.mul_add(z, z, e.mul(w, w))));
    }
    // 2/|q|² makes products of the entries of a unit quaternion.
    let (two, one) = (e.div(e.splat(2.0), square), e.splat(1.0));
    let (x2, y2, z2) = (e.mul(x, two), e.mul(y, two), e.mul(z, two));
    let (xw, yw, zw) = (e.mul(x2, w), e.mul(y2, w), e.mul(z2, w));
    [
        [e.sub_mul(y, y2, e.sub_mul(z, z2, one)), e.mul_add(x, y2, zw), e.mul_sub(x, z2, yw)],
        [e.mul_sub(x, y2, zw), e.sub_mul(x, x2, e.sub_mul(z, z2, one)), e.mul_add(y, z2, xw)],
        [e.mul_add(x, z2, yw), e.mul_sub(y, z2, xw), e.sub_mul(x, x2, e.sub_mul(y, y2, one))],
    ]
}

/// The linear parts of the anchors' bones, of the first bone without an anchor.
#[inline(always)]
fn of_anchors<E: Eight>(e: E, anchors: &[u32; EIGHT], bones: &[Columns]) -> [[E::Lanes; 3]; 3] {
    let mut maps = [e.zero(); EIGHT];
    for (map, &anchor) in maps.iter_mut().zip(anchors) {
        *map = e.map(&bones[if anchor == NO_ANCHOR { 0 } else { anchor as usize }]);
    }
    let [a, b, c, d, p, q, r, s] = maps;
    let [x, y, z, _] = e.maps(e.four_maps([a, b, c, d]), e.four_maps([p, q, r, s]));
    [x, y, z]
}

/// The shared parts Σ b ((R − F) q/√2 + ω (M p − B)/l), and Σ b² (|R − F|²/2 + |M p − B|²/l²).
#[inline(always)]
fn shared_sums<E: Eight>(
    e: E,
    c: &BakedJoints,
    lines: std::ops::Range<usize>,
    pose: &JointsScratch,
    frame: &[[E::Lanes; 3]; 3],
    rest: [E::Lanes; 3],
    blend: [E::Lanes; 3],
) -> ([E::Lanes; 3], E::Lanes) {
    let by_length = 10.0 / c.model.length as f32;
    let (half, root) = (e.splat(0.5), e.splat(std::f32::consts::FRAC_1_SQRT_2));
    let (by_length, by_square) = (e.splat(by_length), e.splat(by_length * by_length));
    let (mut sums, mut squares) = ([e.splat(0.0); 3], e.splat(0.0));
    for (line, &bone) in c.lines.lines[lines.clone()].iter().zip(&c.lines.bones[lines]) {
        prefetch(line, AHEAD);
        let m = &pose.columns[bone as usize].0;
        let relevance = e.lanes(line.relevance);
        let [p, q, r] = line.offset;
        let (p, q, r) = (e.mul(root, e.lanes(p)), e.mul(root, e.lanes(q)), e.mul(root, e.lanes(r)));
        let weight = e.mul(by_length, e.lanes(line.weight));
        let (mut of_turn, mut of_shift) = (e.splat(0.0), e.splat(0.0));
        for j in 0..3 {
            let (a, b, c, d) = (e.splat(m[j]), e.splat(m[4 + j]), e.splat(m[8 + j]), e.splat(m[12 + j]));
            let there = e.mul_add(a, rest[0], e.mul_add(b, rest[1], e.mul_add(c, rest[2], d)));
            let shift = e.sub(there, blend[j]);
            let (a, b, c) = (e.sub(a, frame[0][j]), e.sub(b, frame[1][j]), e.sub(c, frame[2][j]));
            of_turn = e.mul_add(a, a, e.mul_add(b, b, e.mul_add(c, c, of_turn)));
            of_shift = e.mul_add(shift, shift, of_shift);
            let part = e.mul_add(a, p, e.mul_add(b, q, e.mul_add(c, r, e.mul(shift, weight))));
            sums[j] = e.mul_add(relevance, part, sums[j]);
        }
        let both = e.mul_add(half, of_turn, e.mul(by_square, of_shift));
        squares = e.mul_add(e.mul(relevance, relevance), both, squares);
    }
    (sums, squares)
}
