//! Corrective smoothing, block by block; see [`crate::corrective_smooth`].
//!
//! The smoothed surface comes first, for all vertices. Then the neighbours of eight vertices are gathered side by side, around each
//! vertex in order, so that an edge that two corners share is read once. With unit edges u from a vertex to its neighbours, a = u_before
//! and b = −u_after, and T_c needs no inverse function but the angle:
//!
//! ```text
//! t = (a + b)/|a + b|,   n × t = (b − a)/|b − a|,   n = (a × b)/|a × b|,   |a × b| = ½ |a + b| |b − a|
//! ω = 2 asin(½ |b − a|) where the corner is acute, π − 2 asin(½ |a + b|) where it is not
//! ```
//!
//! Nothing is divided: lengths come from an approximate inverse root and a Newton step.

use super::AnimationSpace;
use super::block::BLOCK;
use super::turn::{By, Turned, turned};
use crate::baked::lanes::{self, Columns, EIGHT, Eight, EightKernel, cross, numbers, padded, store};
use crate::base;
use crate::corrective_smooth::{Corner, CorrectiveSmooth, LEAST_SINE};
use dermis_rig::glam::{DMat3, DVec3, Vec3, Vec4};
use dermis_rig::{BoneIndex, Rows};
use rayon::prelude::*;
use std::mem::size_of;

/// Corrective smoothing in `f32`, eight vertices side by side.
#[derive(Clone, Debug)]
pub struct BakedCorrectiveSmooth {
    bones: Rows<u32>,
    a: Vec<Vec4>,
    /// What the arrays mean, in `f64`.
    wide: CorrectiveSmooth,
    /// Vertices without terms, and where they are.
    still: Vec<(u32, Vec3)>,
    /// Where the lines of each chunk of eight start; one more entry than chunks.
    starts: Vec<u32>,
    lines: Vec<Line>,
    /// T_c at rest of each line, column after column: what normals read.
    frames: Vec<[[f32; EIGHT]; 9]>,
}

/// The next neighbour around eight vertices, and the corner between it and the one before.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct Line {
    neighbours: [u32; EIGHT],
    /// δ, rest detail in the frame of the corner.
    detail: [[f32; EIGHT]; 3],
    /// 1 where there is such a corner, 0 where a vertex has no more, or begins again elsewhere.
    counts: [f32; EIGHT],
}

/// The smallest square of a sine that counts.
const LEAST_SQUARE: f32 = (LEAST_SINE * LEAST_SINE) as f32;
/// 2 asin(x/2) = x Q(x²) for x² in 0..2, within 1.3e-7: a least-squares fit to Chebyshev points, ascending.
const ARC: [f32; 7] =
    [1.000_000_1, 0.041_662_25, 0.004_721_135, 6.031_244e-4, 2.412_084_6e-4, -5.515_042_7e-5, 2.487_434e-5];

impl BakedCorrectiveSmooth {
    /// The arrays of a model file.
    ///
    /// - `rest`: rest positions, rest world, metres
    /// - `bones`, `a`: bones and coefficients of the smoothed surface, as those of animation space
    /// - `corners`: the vertices before and after every vertex in its polygons
    ///
    /// `None` if the arrays are not of one length, or a corner names no vertex.
    pub fn new(rest: &[Vec3], bones: Rows<u32>, a: Vec<Vec4>, corners: &Rows<Corner>) -> Option<Self> {
        let vertices = rest.len();
        let named = corners.entries().iter().flatten().all(|&v| (v as usize) < vertices);
        if (bones.len(), bones.entries().len(), corners.len()) != (vertices, a.len(), vertices) || !named {
            return None;
        }
        let terms = bones.entries().iter().zip(&a).map(|(&bone, a)| (BoneIndex::new(bone as usize), a.as_dvec4()));
        let terms = Rows::new(bones.offsets().to_vec(), terms.collect()).ok()?;
        let rest: Vec<DVec3> = rest.iter().map(|p| p.as_dvec3()).collect();
        let wide = CorrectiveSmooth::of_parts(&rest, base::AnimationSpace { terms }, corners);
        let still = (0..vertices).filter(|&v| bones.of(v).is_empty()).map(|v| (v as u32, rest[v].as_vec3())).collect();
        let (starts, lines, frames) = (vec![0], vec![], vec![]);
        let mut made = Self { bones, a, wide, still, starts, lines, frames };
        for first in (0..vertices).step_by(EIGHT) {
            let around: Vec<Vec<Step>> = (first..vertices.min(first + EIGHT)).map(|v| made.around(v)).collect();
            for at in 0..around.iter().map(Vec::len).max().unwrap_or(0) {
                let (mut line, mut of_line) = (
                    Line { neighbours: [0; EIGHT], detail: [[0.0; EIGHT]; 3], counts: [0.0; EIGHT] },
                    [[0.0; EIGHT]; 9],
                );
                for (lane, steps) in around.iter().enumerate() {
                    let Some(step) = steps.get(at) else {
                        line.neighbours[lane] = (first + lane) as u32;
                        continue;
                    };
                    line.neighbours[lane] = step.neighbour;
                    let Some(frame) = step.corner else { continue };
                    let v = first + lane;
                    let detail = frame.transpose() * (rest[v] - made.wide.centres()[v]);
                    (0..3).for_each(|j| line.detail[j][lane] = detail[j] as f32);
                    frame.to_cols_array().iter().zip(&mut of_line).for_each(|(x, of)| of[lane] = *x as f32);
                    line.counts[lane] = 1.0;
                }
                made.lines.push(line);
                made.frames.push(of_line);
            }
            made.starts.push(made.lines.len() as u32);
        }
        Some(made)
    }

    pub(in crate::baked) fn of(smooth: &CorrectiveSmooth, rest: &[DVec3]) -> Self {
        let terms = &smooth.smoothed().terms;
        let a = terms.entries().iter().map(|(_, a)| a.as_vec4()).collect();
        let rest: Vec<Vec3> = rest.iter().map(|p| p.as_vec3()).collect();
        Self::new(&rest, terms.map(|(bone, _)| bone.get() as u32), a, smooth.corners()).expect("parts of one mesh")
    }

    /// The neighbours of a vertex as its corners follow each other.
    fn around(&self, v: usize) -> Vec<Step> {
        let mut left: Vec<(Corner, DMat3)> = self.wide.framed(v).collect();
        let mut steps: Vec<Step> = Vec::with_capacity(left.len() + 1);
        while !left.is_empty() {
            let last = steps.last().map(|step| step.neighbour);
            let follows = left.iter().position(|([before, _], _)| Some(*before) == last);
            let opens = || left.iter().position(|(a, _)| left.iter().all(|(b, _)| b[1] != a[0]));
            let ([before, after], frame) = left.remove(follows.or_else(opens).unwrap_or(0));
            if follows.is_none() {
                steps.push(Step { neighbour: before, corner: None });
            }
            steps.push(Step { neighbour: after, corner: Some(frame) });
        }
        steps
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.bones.len()
    }

    /// The smoothed surface: the bones of every vertex.
    pub fn bones(&self) -> &Rows<u32> {
        &self.bones
    }

    /// The smoothed surface: the coefficients of every bone of every vertex, metres and weight.
    pub fn coefficients(&self) -> &[Vec4] {
        &self.a
    }

    /// The model in `f64`, with its corners, and where the smoothed surface is at rest.
    pub fn wide(&self) -> &CorrectiveSmooth {
        &self.wide
    }

    pub(in crate::baked) fn bytes(&self) -> usize {
        4 * (self.bones.offsets().len() + self.bones.entries().len() + self.starts.len())
            + 16 * self.a.len()
            + size_of::<Line>() * self.lines.len()
    }

    /// Bones and weights of a vertex.
    pub(in crate::baked) fn weights_of(&self, v: usize) -> impl Iterator<Item = (usize, f32)> {
        self.bones.of(v).iter().map(|&bone| bone as usize).zip(self.a[self.bones.range(v)].iter().map(|a| a.w))
    }

    /// The smoothed surface of a pose less the character's shift, with room behind it for reading four numbers at once.
    pub(in crate::baked) fn prepare(&self, table: &[Columns], shift: Vec3, out: &mut Vec<Vec3>) {
        let vertices = self.vertices();
        out.clear();
        out.resize(vertices.next_multiple_of(EIGHT) + 1, Vec3::ZERO);
        let block = |(at, out): (usize, &mut [Vec3])| {
            let from = at * BLOCK;
            let offsets = &self.bones.offsets()[from..=from + out.len()];
            let (bones, a, behind) = (self.bones.entries(), &self.a[..], Vec3::ZERO);
            lanes::run(AnimationSpace { offsets, bones, a, table, behind, shift, out });
        };
        match rayon::current_num_threads() {
            1 => out[..vertices].chunks_mut(BLOCK).enumerate().for_each(block),
            _ => out[..vertices].par_chunks_mut(BLOCK).enumerate().for_each(block),
        }
        for &(v, p) in &self.still {
            out[v as usize] = p - shift;
        }
    }

    /// How a displacement moves vertex `v` on the smoothed surface, in `f64`.
    pub(in crate::baked) fn linear(&self, v: usize, table: &[Columns], smooth: &[Vec3]) -> DMat3 {
        self.wide.turn(v, |v| smooth[v].as_dvec3()).unwrap_or_else(|| {
            let m = Columns::blended(table, self.weights_of(v)).0.map(f64::from);
            let column = |c: usize| DVec3::from_slice(&m[4 * c..4 * c + 3]);
            DMat3::from_cols(column(0), column(1), column(2))
        })
    }
}

/// A neighbour, and the frame at rest of the corner between it and the one before, if there is one.
struct Step {
    neighbour: u32,
    corner: Option<DMat3>,
}

/// Corrective smoothing of the vertices from `from` on, a multiple of eight: `out = q + A (p − q(rest)) + behind`; normals by A.
pub(in crate::baked) struct Smooth<'a> {
    pub(in crate::baked) from: usize,
    pub(in crate::baked) model: &'a BakedCorrectiveSmooth,
    /// The smoothed surface of the pose.
    pub(in crate::baked) smooth: &'a [Vec3],
    pub(in crate::baked) behind: Vec3,
    pub(in crate::baked) out: &'a mut [Vec3],
    pub(in crate::baked) normals: Option<Turned<'a>>,
}

impl Smooth<'_> {
    pub(in crate::baked) fn run(self) {
        lanes::run(self);
    }
}

impl EightKernel for Smooth<'_> {
    #[inline(always)]
    fn run<E: Eight>(self, e: E) {
        let Self { from, model, smooth, behind, out, mut normals } = self;
        let points: &[f32] = bytemuck::cast_slice(smooth);
        let tiny = e.splat(f32::MIN_POSITIVE);
        for (at, out) in out.chunks_mut(EIGHT).enumerate() {
            let chunk = from / EIGHT + at;
            let mut lines = model.starts[chunk] as usize..model.starts[chunk + 1] as usize;
            let Some(own) = points[3 * EIGHT * chunk..].first_chunk() else { return };
            let own = e.split(own);
            let mut around = Around::new(e, own);
            // The first neighbour of each vertex closes no corner.
            if let Some(first) = lines.next() {
                around.step(e, &model.lines[first], points);
            }
            match &mut normals {
                None => {
                    for line in &model.lines[lines] {
                        around.corner(e, line, points);
                    }
                }
                Some(normals) => {
                    let mut map = [[e.splat(0.0); 3]; 4];
                    for (line, frame) in model.lines[lines.clone()].iter().zip(&model.frames[lines]) {
                        let posed = around.corner(e, line, points);
                        posed.turn(e, frame, &mut map);
                    }
                    let range = at * EIGHT..at * EIGHT + out.len();
                    let n = e.split(numbers(&padded(&normals.rest[range.clone()])));
                    let mut n = turned(e, normals.by, &map, n);
                    if normals.by == By::Matrix {
                        let scale = e.div(e.splat(1.0), e.add(around.angles, tiny));
                        for number in &mut n {
                            *number = e.mul(*number, scale);
                        }
                    }
                    let mut all = [Vec3::ZERO; EIGHT];
                    store(e, n, &mut all);
                    let count = range.len();
                    normals.out[range].copy_from_slice(&all[..count]);
                }
            }
            let mut p = own;
            let scale = e.div(e.splat(1.0), e.add(around.angles, tiny));
            for j in 0..3 {
                // Far from the origin the last sum alone rounds.
                p[j] = e.add(e.mul_add(around.sum[j], scale, own[j]), e.splat(behind[j]));
            }
            let mut all = [Vec3::ZERO; EIGHT];
            store(e, p, &mut all);
            out.copy_from_slice(&all[..out.len()]);
        }
    }
}

/// What is summed around eight vertices.
#[derive(Clone, Copy)]
struct Around<L> {
    own: [L; 3],
    /// The unit edge to the neighbour before.
    edge: [L; 3],
    /// Σ ω T δ, and Σ ω.
    sum: [L; 3],
    angles: L,
}

/// T_c of eight corners: directions of any length, and by what they are multiplied, ω over the length.
struct Posed<L> {
    columns: [[L; 3]; 3],
    scales: [L; 3],
}

impl<L: Copy> Around<L> {
    #[inline(always)]
    fn new<E: Eight<Lanes = L>>(e: E, own: [L; 3]) -> Self {
        let zero = e.splat(0.0);
        Self { own, edge: [zero; 3], sum: [zero; 3], angles: zero }
    }

    /// Goes on to the edge of a line.
    #[inline(always)]
    fn step<E: Eight<Lanes = L>>(&mut self, e: E, line: &Line, points: &[f32]) {
        let mut edge = e.gather(points, &line.neighbours);
        for j in 0..3 {
            edge[j] = e.sub(edge[j], self.own[j]);
        }
        let scale = e.inverse_sqrt(e.add(dot(e, edge, edge), e.splat(f32::MIN_POSITIVE)));
        for number in &mut edge {
            *number = e.mul(*number, scale);
        }
        self.edge = edge;
    }

    /// Adds the corner between the edge before and that of a line.
    #[inline(always)]
    fn corner<E: Eight<Lanes = L>>(&mut self, e: E, line: &Line, points: &[f32]) -> Posed<L> {
        let before = self.edge;
        self.step(e, line, points);
        let edge = self.edge;
        // a + b, a − b and a × b.
        let (mut along, mut across) = (edge, edge);
        for j in 0..3 {
            along[j] = e.sub(before[j], edge[j]);
            across[j] = e.add(before[j], edge[j]);
        }
        let normal = cross(e, edge, before);
        let tiny = e.splat(f32::MIN_POSITIVE);
        let (sum, apart) = (dot(e, along, along), dot(e, across, across));
        let (over_sum, over_apart) = (e.inverse_sqrt(e.add(sum, tiny)), e.inverse_sqrt(e.add(apart, tiny)));
        let (long, wide) = (e.mul(sum, over_sum), e.mul(apart, over_apart));
        let half = e.min(long, wide);
        let (square, mut arc) = (e.min(sum, apart), e.splat(ARC[6]));
        for at in [5, 4, 3, 2, 1, 0] {
            arc = e.mul_add(arc, square, e.splat(ARC[at]));
        }
        let right = e.splat(std::f32::consts::FRAC_PI_2);
        let beyond = e.copy_sign(e.sub_mul(half, arc, right), e.sub(wide, long));
        let angle = e.mul(e.add(right, beyond), e.lanes(line.counts));
        let angle = e.and(e.less(e.splat(LEAST_SQUARE), dot(e, normal, normal)), angle);
        let over = e.mul(angle, over_sum);
        let scales = [over, e.sub(e.splat(0.0), e.mul(angle, over_apart)), e.mul(e.add(over, over), over_apart)];
        let columns = [along, across, normal];
        for k in 0..3 {
            let scale = e.mul(scales[k], e.lanes(line.detail[k]));
            for j in 0..3 {
                self.sum[j] = e.mul_add(scale, columns[k][j], self.sum[j]);
            }
        }
        self.angles = e.add(self.angles, angle);
        Posed { columns, scales }
    }
}

impl<L: Copy> Posed<L> {
    /// Adds ω T_c T_c(rest)ᵀ to the columns of a map.
    #[inline(always)]
    fn turn<E: Eight<Lanes = L>>(&self, e: E, rest: &[[f32; EIGHT]; 9], map: &mut [[L; 3]; 4]) {
        for k in 0..3 {
            for c in 0..3 {
                let scale = e.mul(self.scales[k], e.lanes(rest[3 * k + c]));
                for j in 0..3 {
                    map[c][j] = e.mul_add(scale, self.columns[k][j], map[c][j]);
                }
            }
        }
    }
}

#[inline(always)]
fn dot<E: Eight>(e: E, a: [E::Lanes; 3], b: [E::Lanes; 3]) -> E::Lanes {
    e.mul_add(a[0], b[0], e.mul_add(a[1], b[1], e.mul(a[2], b[2])))
}
