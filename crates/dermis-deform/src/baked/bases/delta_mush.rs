//! Direct delta mush, block by block; see [`crate::delta_mush`].
//!
//! Moments are stored for eight vertices side by side and in units of the size of each neighbourhood, so that C is of size one
//! however large the character. The rotation R of C = R S needs no decomposition: with I₁ = tr S = s₁ + s₂ + s₃ and I₂ the sum
//! of the products of two, s₃ with the sign of det C,
//!
//! ```text
//! R d = [ I₁ cof(C) d + (I₁² − I₂) C d − C Cᵀ C d ] / ((s₁ + s₂)(s₁ + s₃)(s₂ + s₃)),
//! I₂² = |cof C|² + 2 det C I₁,   I₁² = |C|² + 2 I₂,   (s₁ + s₂)(s₁ + s₃)(s₂ + s₃) = I₁ I₂ − det C
//! ```
//!
//! by Cayley and Hamilton, from which I₂ comes in a few Newton steps, none where C is flat. The denominator vanishes just where R
//! is not defined. Near there R is polished by Newton steps, and nearer still a vertex is computed in `f64`, by itself.

use super::turn::Turned;
use crate::baked::lanes::{self, Columns, EIGHT, Eight, EightKernel, cross, numbers, padded, store};
use crate::delta_mush::{DirectDeltaMush, rotation_of};
use dermis_rig::Rows;
use dermis_rig::glam::{DMat3, DVec3, Vec3, Vec4};
use std::mem::size_of;

/// Direct delta mush in `f32`, eight vertices side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BakedDeltaMush {
    /// Where the terms of every vertex start; one more entry than vertices.
    offsets: Vec<u32>,
    /// Of every term, its line among those of its chunk.
    places: Vec<u16>,
    heads: Vec<Head>,
    /// Where the lines of each chunk of eight start; one more entry than chunks.
    starts: Vec<u32>,
    /// Bone of each line.
    bones: Vec<u32>,
    lines: Vec<Line>,
}

/// What eight vertices have once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
struct Head {
    /// p̄, and p − p̄.
    centre: [[f32; EIGHT]; 3],
    offset: [[f32; EIGHT]; 3],
    /// Square of the neighbourhood's size, the trace of its second moments.
    square: [f32; EIGHT],
}

/// The moments that eight vertices have of one bone; zero where a vertex does not read it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
struct Line {
    /// Weight, first moments over the square size, second moments over it.
    moments: [[f32; EIGHT]; NUMBERS],
}

/// Numbers of a term: weight; first moment x, y, z; second moment xx, xy, xz, yy, yz, zz; both moments over the square of the
/// neighbourhood's size.
const NUMBERS: usize = 10;
/// Newton steps for I₂.
const STEPS: usize = 3;
/// Below this share of I₁³ the denominator loses digits, and R is polished.
const REGULAR: f32 = 2e-2;
/// Below this share a vertex is computed in `f64`.
const DEFINED: f32 = 1e-4;
/// A last step of polishing by less, half the radians, leaves its square.
const SHORT: f32 = 1e-3;
/// The last step's share of I₁², at most: I₂ is off by its square.
const SETTLED: f32 = 1e-5;

impl BakedDeltaMush {
    /// The arrays of a model file: for every vertex [its numbers](Self::of_vertices), and terms in compressed rows.
    ///
    /// - `bones`: the bone of each term of every vertex
    /// - `moments`: [ten numbers](Self::terms) per term
    ///
    /// `None` if the arrays are not of one length, or eight vertices have more than 65535 bones.
    pub fn new(bones: &Rows<u32>, moments: &[[f32; 10]], of_vertices: &[[f32; 7]]) -> Option<Self> {
        let (vertices, terms) = (bones.len(), bones.entries().len());
        if (vertices, terms) != (of_vertices.len(), moments.len()) {
            return None;
        }
        let mut made = Self { offsets: bones.offsets().to_vec(), starts: vec![0], ..Self::default() };
        made.places.resize(terms, 0);
        // Bone of each term, and how many terms of its vertex before it have that bone: a line holds one of each vertex.
        let mut found: Vec<(u32, usize, usize, usize)> = Vec::new();
        for (chunk, of_chunk) in of_vertices.chunks(EIGHT).enumerate() {
            let mut head = Head::default();
            found.clear();
            for (lane, of_vertex) in of_chunk.iter().enumerate() {
                for j in 0..3 {
                    head.centre[j][lane] = of_vertex[j];
                    head.offset[j][lane] = of_vertex[3 + j];
                }
                head.square[lane] = of_vertex[6];
                let v = chunk * EIGHT + lane;
                let first = found.len();
                found.extend(bones.range(v).zip(bones.of(v)).map(|(term, &bone)| (bone, 0, lane, term)));
                found[first..].sort_unstable();
                for at in first + 1..found.len() {
                    found[at].1 = if found[at].0 == found[at - 1].0 { found[at - 1].1 + 1 } else { 0 };
                }
            }
            made.heads.push(head);
            found.sort_unstable();
            let first = made.lines.len();
            for of_bone in found.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
                let place = u16::try_from(made.lines.len() - first).ok()?;
                let mut line = Line::default();
                for &(_, _, lane, term) in of_bone {
                    made.places[term] = place;
                    for (number, m) in line.moments.iter_mut().zip(moments[term]) {
                        number[lane] = m;
                    }
                }
                made.bones.push(of_bone[0].0);
                made.lines.push(line);
            }
            made.bring_first(chunk, first);
            made.starts.push(made.lines.len() as u32);
        }
        Some(made)
    }

    /// Puts the line of most weight before the others of the last chunk: what moves a chunk is told relative to its bone.
    fn bring_first(&mut self, chunk: usize, first: usize) {
        let weight = |line: &Line| line.moments[0].iter().sum::<f32>();
        let heaviest =
            (first..self.lines.len()).max_by(|a, b| weight(&self.lines[*a]).total_cmp(&weight(&self.lines[*b])));
        let Some(heaviest) = heaviest else { return };
        self.lines.swap(first, heaviest);
        self.bones.swap(first, heaviest);
        let last = (self.offsets.len() - 1).min((chunk + 1) * EIGHT);
        let (of_first, of_heaviest) = (0, (heaviest - first) as u16);
        for place in &mut self.places[self.offsets[chunk * EIGHT] as usize..self.offsets[last] as usize] {
            *place = match *place {
                at if at == of_first => of_heaviest,
                at if at == of_heaviest => of_first,
                at => at,
            };
        }
    }

    pub(in crate::baked) fn of(mush: &DirectDeltaMush, rest: &[DVec3]) -> Self {
        let terms = mush.terms.entries().len();
        let (mut bones, mut moments) = (Vec::with_capacity(terms), Vec::with_capacity(terms));
        let mut of_vertices = Vec::with_capacity(rest.len());
        let mut sorted = Vec::new();
        for (v, p) in rest.iter().enumerate() {
            sorted.clear();
            sorted.extend_from_slice(mush.of(v));
            // Translations count relative to the first bone's.
            sorted.sort_by(|a, b| b.1.weight.total_cmp(&a.1.weight));
            let square: f64 = sorted.iter().map(|(_, m)| m.second[0] + m.second[3] + m.second[5]).sum();
            let unit = if square > 0.0 { square } else { 1.0 };
            for (bone, m) in &sorted {
                bones.push(bone.get() as u32);
                let DVec3 { x, y, z } = m.first / unit;
                let [a, b, c, d, e, f] = m.second.map(|s| s / unit);
                moments.push([m.weight, x, y, z, a, b, c, d, e, f].map(|number| number as f32));
            }
            let (centre, offset) = (mush.centres[v].as_vec3(), (*p - mush.centres[v]).as_vec3());
            of_vertices.push([centre.x, centre.y, centre.z, offset.x, offset.y, offset.z, unit as f32]);
        }
        let bones = Rows::new(mush.terms.offsets().to_vec(), bones).expect("a bone per term");
        Self::new(&bones, &moments, &of_vertices).expect("rows of one length")
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Where the terms of every vertex start, in the order of [`terms`](Self::terms); one more entry than vertices.
    pub fn offsets(&self) -> impl Iterator<Item = u32> {
        self.offsets.iter().copied()
    }

    /// Bone and ten numbers of every term, vertex after vertex: weight; first moment x, y, z; second moment xx, xy, xz, yy, yz,
    /// zz. Both moments are about p̄, and divided by the square of the neighbourhood's size.
    pub fn terms(&self) -> impl Iterator<Item = (u32, [f32; 10])> {
        (0..self.vertices()).flat_map(|v| self.terms_of(v))
    }

    /// Seven numbers of every vertex: p̄; p − p̄; the square of the neighbourhood's size, which is the trace of its second moments.
    pub fn of_vertices(&self) -> impl Iterator<Item = [f32; 7]> {
        (0..self.vertices()).map(|v| {
            let (head, lane) = (&self.heads[v / EIGHT], v % EIGHT);
            let [x, y, z] = head.centre.map(|of| of[lane]);
            let [a, b, c] = head.offset.map(|of| of[lane]);
            [x, y, z, a, b, c, head.square[lane]]
        })
    }

    /// The bones named.
    pub(in crate::baked) fn bones(&self) -> impl Iterator<Item = usize> {
        self.bones.iter().map(|&bone| bone as usize)
    }

    pub(in crate::baked) fn bytes(&self) -> usize {
        size_of::<Head>() * self.heads.len()
            + size_of::<Line>() * self.lines.len()
            + 4 * (self.starts.len() + self.bones.len())
    }

    fn lines_of(&self, chunk: usize) -> (&[Line], &[u32]) {
        let range = self.starts[chunk] as usize..self.starts[chunk + 1] as usize;
        (&self.lines[range.clone()], &self.bones[range])
    }

    fn terms_of(&self, v: usize) -> impl Iterator<Item = (u32, [f32; NUMBERS])> {
        let ((lines, bones), lane) = (self.lines_of(v / EIGHT), v % EIGHT);
        let places = &self.places[self.offsets[v] as usize..self.offsets[v + 1] as usize];
        places.iter().map(move |&at| (bones[usize::from(at)], lines[usize::from(at)].moments.map(|of| of[lane])))
    }

    /// Bones and weights of a vertex.
    pub(in crate::baked) fn weights_of(&self, v: usize) -> impl Iterator<Item = (usize, f32)> {
        self.terms_of(v).map(|(bone, moments)| (bone as usize, moments[0]))
    }

    /// Where vertex `v` goes, of a homogeneous rest position, or a displacement, whose last entry is zero; in `f64`.
    pub(in crate::baked) fn at(&self, v: usize, rest: Vec4, (table, shift): (&[Columns], Vec3)) -> Vec3 {
        let (q, turn) = self.exact(v, table, shift);
        let p = rest.truncate().as_dvec3();
        match rest.w == 0.0 {
            true => (turn * p).as_vec3(),
            false => (q + turn * (p - vector(&self.heads[v / EIGHT].centre, v % EIGHT))).as_vec3(),
        }
    }

    /// q less the character's shift, and R of a vertex, in `f64`.
    fn exact(&self, v: usize, table: &[Columns], shift: Vec3) -> (DVec3, DMat3) {
        let (head, lane) = (&self.heads[v / EIGHT], v % EIGHT);
        let centre = vector(&head.centre, lane);
        if self.offsets[v] == self.offsets[v + 1] {
            return (centre - shift.as_dvec3(), DMat3::IDENTITY);
        }
        let mut reference = None;
        let (mut along, mut first, mut c) = (DVec3::ZERO, DVec3::ZERO, DMat3::ZERO);
        for (bone, moments) in self.terms_of(v) {
            let columns = table[bone as usize].0.map(f64::from);
            let column = |c: usize| DVec3::from_slice(&columns[4 * c..4 * c + 3]);
            let linear = DMat3::from_cols(column(0), column(1), column(2));
            let [w, mx, my, mz, xx, xy, xz, yy, yz, zz] = moments.map(f64::from);
            let (m, at) = (DVec3::new(mx, my, mz), linear * centre + column(3));
            let apart = at - *reference.get_or_insert(at);
            along += w * apart;
            first += linear * m;
            c += linear * DMat3::from_cols_array(&[xx, xy, xz, xy, yy, yz, xz, yz, zz]);
            c += DMat3::from_cols(apart * m.x, apart * m.y, apart * m.z);
        }
        (reference.unwrap_or_default() + along + first * f64::from(head.square[lane]), rotation_of(&c))
    }
}

/// Direct delta mush of the vertices from `from` on, a multiple of eight: `out = q + R (p − p̄) + behind`; normals by R.
pub(in crate::baked) struct Mushed<'a> {
    pub(in crate::baked) from: usize,
    pub(in crate::baked) mush: &'a BakedDeltaMush,
    pub(in crate::baked) table: &'a [Columns],
    /// What the table is seen from: a vertex without terms stays where it is.
    pub(in crate::baked) shift: Vec3,
    pub(in crate::baked) behind: Vec3,
    pub(in crate::baked) out: &'a mut [Vec3],
    pub(in crate::baked) normals: Option<Turned<'a>>,
}

impl Mushed<'_> {
    pub(in crate::baked) fn run(self) {
        lanes::run(self);
    }
}

impl EightKernel for Mushed<'_> {
    #[inline(always)]
    fn run<E: Eight>(self, e: E) {
        let Self { from, mush, table, shift, behind, out, normals } = self;
        let tiny = e.splat(f32::MIN_POSITIVE);
        let (mut rest_normals, mut out_normals) = normals.map(|n| (n.rest, n.out)).unzip();
        for (at, out) in out.chunks_mut(EIGHT).enumerate() {
            let chunk = from / EIGHT + at;
            let head = &mush.heads[chunk];
            let (q, c) = carried(e, head, mush.lines_of(chunk), table);
            let turn = Rotation::of(e, &c);
            let offset = three(e, &head.offset);
            let (polished, sure) = if e.all(turn.regular) { (None, turn.regular) } else { turn.polished(e) };
            let mut p = turn.apply(e, polished.as_ref(), offset);
            // A rotation keeps the length.
            let scale = e.div(e.sqrt(dot(e, offset, offset)), e.sqrt(e.add(dot(e, p, p), tiny)));
            for j in 0..3 {
                p[j] = e.add(e.mul_add(p[j], scale, q[j]), e.splat(behind[j]));
            }
            let mut positions = [Vec3::ZERO; EIGHT];
            store(e, p, &mut positions);
            let mut turned = [Vec3::ZERO; EIGHT];
            let rest = rest_normals.as_mut().map(|rest| {
                let (of_chunk, others) = rest.split_at(out.len());
                *rest = others;
                padded(of_chunk)
            });
            if let Some(rest) = &rest {
                let mut n = turn.apply(e, polished.as_ref(), e.split(numbers(rest)));
                let scale = e.div(e.splat(1.0), e.sqrt(e.add(dot(e, n, n), tiny)));
                for number in &mut n {
                    *number = e.mul(*number, scale);
                }
                store(e, n, &mut turned);
            }
            if !e.all(sure) {
                for (lane, &sure) in e.array(sure).iter().enumerate().take(out.len()) {
                    if sure.to_bits() == 0 {
                        let (q, turn) = mush.exact(from + at * EIGHT + lane, table, shift);
                        positions[lane] = (q + turn * vector(&head.offset, lane)).as_vec3() + behind;
                        turned[lane] = rest.map_or(Vec3::ZERO, |rest| (turn * rest[lane].as_dvec3()).as_vec3());
                    }
                }
            }
            out.copy_from_slice(&positions[..out.len()]);
            if let Some(normals) = out_normals.take() {
                let (of_chunk, others) = normals.split_at_mut(out.len());
                of_chunk.copy_from_slice(&turned[..out.len()]);
                out_normals = Some(others);
            }
        }
    }
}

/// q less the character's shift, and the columns of C of eight vertices.
#[inline(always)]
fn carried<E: Eight>(
    e: E,
    head: &Head,
    (lines, bones): (&[Line], &[u32]),
    table: &[Columns],
) -> ([E::Lanes; 3], [[E::Lanes; 3]; 3]) {
    let zero = e.splat(0.0);
    let centre = three(e, &head.centre);
    let (mut c, mut q) = ([[zero; 3]; 3], [zero; 3]);
    // A row at a time, so that its sums stay in registers.
    for j in 0..3 {
        let (mut first, mut along, mut reference) = (zero, zero, zero);
        let (mut c0, mut c1, mut c2) = (zero, zero, zero);
        for (k, (line, &bone)) in lines.iter().zip(bones).enumerate() {
            let m = &table[bone as usize].0;
            let (x, y, z) = (e.splat(m[j]), e.splat(m[4 + j]), e.splat(m[8 + j]));
            let [w, m, n, o] = [0, 1, 2, 3].map(|i| e.lanes(line.moments[i]));
            let [xx, xy, xz, yy, yz, zz] = [4, 5, 6, 7, 8, 9].map(|i| e.lanes(line.moments[i]));
            let moved = e.splat(table[bone as usize].0[12 + j]);
            let at = e.mul_add(x, centre[0], e.mul_add(y, centre[1], e.mul_add(z, centre[2], moved)));
            if k == 0 {
                reference = at;
            }
            // Translations count relative to the first bone's.
            let apart = e.sub(at, reference);
            along = e.mul_add(w, apart, along);
            first = e.mul_add(x, m, e.mul_add(y, n, e.mul_add(z, o, first)));
            c0 = e.mul_add(x, xx, e.mul_add(y, xy, e.mul_add(z, xz, e.mul_add(apart, m, c0))));
            c1 = e.mul_add(x, xy, e.mul_add(y, yy, e.mul_add(z, yz, e.mul_add(apart, n, c1))));
            c2 = e.mul_add(x, xz, e.mul_add(y, yz, e.mul_add(z, zz, e.mul_add(apart, o, c2))));
        }
        q[j] = e.mul_add(first, e.lanes(head.square), e.add(along, reference));
        (c[0][j], c[1][j], c[2][j]) = (c0, c1, c2);
    }
    (q, c)
}

#[inline(always)]
fn three<E: Eight>(e: E, of: &[[f32; EIGHT]; 3]) -> [E::Lanes; 3] {
    [e.lanes(of[0]), e.lanes(of[1]), e.lanes(of[2])]
}

fn vector(of: &[[f32; EIGHT]; 3], lane: usize) -> DVec3 {
    DVec3::new(f64::from(of[0][lane]), f64::from(of[1][lane]), f64::from(of[2][lane]))
}

/// R of eight vertices, as what it takes to turn a vector.
struct Rotation<L> {
    c: [[L; 3]; 3],
    /// Columns of cof C.
    cofactor: [[L; 3]; 3],
    /// I₁, and I₁² − I₂, both over I₁ I₂ − det C, and one over that.
    trace: L,
    rest: L,
    scale: L,
    /// Where `f32` can tell R by this.
    regular: L,
}

impl<L: Copy> Rotation<L> {
    #[inline(always)]
    fn of<E: Eight<Lanes = L>>(e: E, c: &[[L; 3]; 3]) -> Self {
        let cofactor = [cross(e, c[1], c[2]), cross(e, c[2], c[0]), cross(e, c[0], c[1])];
        let (size, areas, det) = (squares(e, c), squares(e, &cofactor), dot(e, c[0], cofactor[0]));
        let (one, two, tiny) = (e.splat(1.0), e.splat(2.0), e.splat(f32::MIN_POSITIVE));
        // With a positive determinant a step without derivative comes close first; with a negative one Newton's steps come
        // from above.
        let start = e.sqrt(e.mul_add(two, e.sqrt(areas), e.add(size, tiny)));
        let positive = e.and(e.less(e.splat(0.0), det), det);
        let mut second = e.sqrt(e.mul_add(e.mul(two, positive), start, areas));
        let mut step = second;
        for _ in 0..STEPS {
            let trace = e.sqrt(e.mul_add(two, second, e.add(size, tiny)));
            let value = e.sub_mul(e.mul(two, det), trace, e.mul_sub(second, second, areas));
            let slope = e.mul(two, e.mul_sub(trace, second, det));
            step = e.div(e.mul(value, trace), e.add(slope, tiny));
            second = e.sub_mul(step, one, second);
        }
        let trace = e.sqrt(e.mul_add(two, second, e.add(size, tiny)));
        let square = e.mul(trace, trace);
        let denominator = e.mul_sub(trace, second, det);
        let apart = e.less(e.mul(e.splat(REGULAR), e.mul(trace, square)), denominator);
        let settled = e.less(e.mul(step, step), e.mul(e.splat(SETTLED * SETTLED), e.mul(square, square)));
        let rest = e.mul_sub(trace, trace, second);
        let scale = e.div(one, denominator);
        let (trace, rest) = (e.mul(trace, scale), e.mul(rest, scale));
        Self { c: *c, cofactor, trace, rest, scale, regular: e.and(apart, settled) }
    }

    /// R as a matrix after two Newton steps, which find what the closed form loses near where R is not defined, and where it is.
    #[inline(always)]
    fn polished<E: Eight<Lanes = L>>(&self, e: E) -> (Option<[[L; 3]; 3]>, L) {
        let mut r = self.c;
        for i in 0..3 {
            let gram = [dot(e, self.c[0], self.c[i]), dot(e, self.c[1], self.c[i]), dot(e, self.c[2], self.c[i])];
            let again = times(e, &self.c, gram);
            for j in 0..3 {
                let near = e.mul_add(self.trace, self.cofactor[i][j], e.mul(self.rest, self.c[i][j]));
                r[i][j] = e.sub_mul(again[j], self.scale, near);
            }
        }
        let (r, _) = nearer(e, &orthonormal(e, &r), &self.c);
        let (r, sure) = nearer(e, &r, &self.c);
        (Some(r), sure)
    }

    /// R d, up to rounding of its length, of R as a matrix if there is one; anything where R is not known.
    #[inline(always)]
    fn apply<E: Eight<Lanes = L>>(&self, e: E, polished: Option<&[[L; 3]; 3]>, d: [L; 3]) -> [L; 3] {
        if let Some(r) = polished {
            return times(e, r, d);
        }
        let moved = times(e, &self.c, d);
        let back = [dot(e, self.c[0], moved), dot(e, self.c[1], moved), dot(e, self.c[2], moved)];
        let (again, mut turned) = (times(e, &self.c, back), times(e, &self.cofactor, d));
        for j in 0..3 {
            let near = e.mul_add(self.trace, turned[j], e.mul(self.rest, moved[j]));
            turned[j] = e.sub_mul(again[j], self.scale, near);
        }
        turned
    }
}

/// The columns of a nearly orthonormal matrix made so.
#[inline(always)]
fn orthonormal<E: Eight>(e: E, r: &[[E::Lanes; 3]; 3]) -> [[E::Lanes; 3]; 3] {
    let x = unit(e, r[0]);
    let along = dot(e, x, r[1]);
    let mut y = r[1];
    for j in 0..3 {
        y[j] = e.sub_mul(along, x[j], y[j]);
    }
    let y = unit(e, y);
    [x, y, cross(e, x, y)]
}

#[inline(always)]
fn unit<E: Eight>(e: E, mut d: [E::Lanes; 3]) -> [E::Lanes; 3] {
    let scale = e.div(e.splat(1.0), e.sqrt(e.add(dot(e, d, d), e.splat(f32::MIN_POSITIVE))));
    for number in &mut d {
        *number = e.mul(*number, scale);
    }
    d
}

/// A Newton step from a rotation near R: the turn ω after which RᵀC is symmetric, (tr S − S) ω = axis of RᵀC, S its symmetric part.
/// With it, where R is defined and the step was so short that another changes nothing.
#[inline(always)]
fn nearer<E: Eight>(e: E, r: &[[E::Lanes; 3]; 3], c: &[[E::Lanes; 3]; 3]) -> ([[E::Lanes; 3]; 3], E::Lanes) {
    let one = e.splat(1.0);
    let mut a = *c;
    for i in 0..3 {
        a[i] = [dot(e, r[0], c[i]), dot(e, r[1], c[i]), dot(e, r[2], c[i])];
    }
    let half = e.splat(-0.5);
    let (xy, xz, yz) = (
        e.mul(half, e.add(a[0][1], a[1][0])),
        e.mul(half, e.add(a[0][2], a[2][0])),
        e.mul(half, e.add(a[1][2], a[2][1])),
    );
    let k = [[e.add(a[1][1], a[2][2]), xy, xz], [xy, e.add(a[0][0], a[2][2]), yz], [xz, yz, e.add(a[0][0], a[1][1])]];
    let b = [e.mul_sub(a[1][2], one, a[2][1]), e.mul_sub(a[2][0], one, a[0][2]), e.mul_sub(a[0][1], one, a[1][0])];
    let (u, v, w) = (cross(e, k[1], k[2]), cross(e, k[2], k[0]), cross(e, k[0], k[1]));
    // Half of ω, the vector part of a quaternion.
    let det = dot(e, k[0], u);
    let scale = e.div(e.splat(0.5), det);
    // Twice tr S.
    let trace = e.add(k[0][0], e.add(k[1][1], k[2][2]));
    let least = e.mul(e.splat(DEFINED / 8.0), e.mul(trace, e.mul(trace, trace)));
    let defined = e.and(e.less(e.splat(0.0), trace), e.less(least, det));
    let mut h = b;
    for j in 0..3 {
        h[j] = e.mul(scale, e.mul_add(u[j], b[0], e.mul_add(v[j], b[1], e.mul(w[j], b[2]))));
    }
    let [x, y, z] = h;
    let turned_by = dot(e, h, h);
    let sure = e.and(defined, e.less(turned_by, e.splat(SHORT * SHORT)));
    let n = e.div(one, e.add(one, turned_by));
    let (two, m) = (e.mul(e.splat(2.0), n), e.mul_sub(n, e.splat(2.0), one));
    let turn = [
        [e.mul_add(two, e.mul(x, x), m), e.mul(two, e.mul_add(x, y, z)), e.mul(two, e.mul_sub(x, z, y))],
        [e.mul(two, e.mul_sub(x, y, z)), e.mul_add(two, e.mul(y, y), m), e.mul(two, e.mul_add(y, z, x))],
        [e.mul(two, e.mul_add(x, z, y)), e.mul(two, e.mul_sub(y, z, x)), e.mul_add(two, e.mul(z, z), m)],
    ];
    let turned = [times(e, r, turn[0]), times(e, r, turn[1]), times(e, r, turn[2])];
    (orthonormal(e, &turned), sure)
}

/// M d, of the columns of M.
#[inline(always)]
fn times<E: Eight>(e: E, m: &[[E::Lanes; 3]; 3], d: [E::Lanes; 3]) -> [E::Lanes; 3] {
    let mut made = d;
    for j in 0..3 {
        made[j] = e.mul_add(m[0][j], d[0], e.mul_add(m[1][j], d[1], e.mul(m[2][j], d[2])));
    }
    made
}

/// |M|².
#[inline(always)]
fn squares<E: Eight>(e: E, m: &[[E::Lanes; 3]; 3]) -> E::Lanes {
    e.add(dot(e, m[0], m[0]), e.add(dot(e, m[1], m[1]), dot(e, m[2], m[2])))
}

#[inline(always)]
fn dot<E: Eight>(e: E, a: [E::Lanes; 3], b: [E::Lanes; 3]) -> E::Lanes {
    e.mul_add(a[0], b[0], e.mul_add(a[1], b[1], e.mul(a[2], b[2])))
}
