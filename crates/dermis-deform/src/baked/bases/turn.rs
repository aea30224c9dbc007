//! Normals turned by a blend of matrices, block by block.

use crate::baked::lanes::{self, Columns, EIGHT, Eight, EightKernel, numbers, padded, store};
use dermis_rig::glam::Vec3;
use std::ops::Range;

/// How a blended matrix A takes a normal n along.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::baked) enum By {
    /// The direction of cof(A) n, which is that of A⁻ᵀ n; zero where `f32` cannot tell it.
    Cofactors,
    /// A n, of whatever length.
    Matrix,
}

/// Normals of a block: those at rest, and where they go when turned.
pub(in crate::baked) struct Turned<'a> {
    pub(in crate::baked) by: By,
    pub(in crate::baked) rest: &'a [Vec3],
    pub(in crate::baked) out: &'a mut [Vec3],
}

impl Turned<'_> {
    /// The first normals, and the others.
    pub(in crate::baked) fn split_at(&mut self, at: usize) -> (Turned<'_>, Turned<'_>) {
        let ((a, b), (x, y)) = (self.rest.split_at(at), self.out.split_at_mut(at));
        (Turned { by: self.by, rest: a, out: x }, Turned { by: self.by, rest: b, out: y })
    }
}

/// Normals turned by a blend of matrices, whose bones and weights `entries` tells of every vertex from `from` on.
pub(in crate::baked) struct Turn<'a, Entries> {
    pub(in crate::baked) from: usize,
    pub(in crate::baked) entries: Entries,
    pub(in crate::baked) table: &'a [Columns],
    pub(in crate::baked) normals: Turned<'a>,
}

impl<Entry: Iterator<Item = (usize, f32)>, Entries: Fn(usize) -> Entry> EightKernel for Turn<'_, Entries> {
    #[inline(always)]
    fn run<E: Eight>(self, e: E) {
        let Self { from, entries, table, normals } = self;
        let ((outs, last), (rests, last_rest)) = (normals.out.as_chunks_mut(), normals.rest.as_chunks());
        for (at, (out, rest)) in outs.iter_mut().zip(rests).enumerate() {
            turn(e, (normals.by, from + at * EIGHT..from + (at + 1) * EIGHT), &entries, table, rest, out);
        }
        if !last.is_empty() {
            let mut turned = [Vec3::ZERO; EIGHT];
            let first = from + outs.len() * EIGHT;
            turn(e, (normals.by, first..first + last.len()), &entries, table, &padded(last_rest), &mut turned);
            last.copy_from_slice(&turned[..last.len()]);
        }
    }
}

/// The normals of a chunk, or of a part of one.
#[inline(always)]
fn turn<E: Eight, Entry: Iterator<Item = (usize, f32)>>(
    e: E,
    (by, vertices): (By, Range<usize>),
    entries: &impl Fn(usize) -> Entry,
    table: &[Columns],
    rest: &[Vec3; EIGHT],
    out: &mut [Vec3; EIGHT],
) {
    let mut maps = [e.zero(); EIGHT];
    for (v, map) in vertices.zip(&mut maps) {
        for (bone, w) in entries(v) {
            *map = e.blend(*map, w, &table[bone]);
        }
    }
    let [a, b, c, d, p, q, r, s] = maps;
    let maps = e.maps(e.four_maps([a, b, c, d]), e.four_maps([p, q, r, s]));
    store(e, turned(e, by, &maps, e.split(numbers(rest))), out);
}

/// Normals of eight vertices turned by their maps.
#[inline(always)]
pub(in crate::baked) fn turned<E: Eight>(e: E, by: By, m: &[[E::Lanes; 3]; 4], n: [E::Lanes; 3]) -> [E::Lanes; 3] {
    match by {
        By::Cofactors => lanes::turned(e, m, n),
        By::Matrix => {
            let mut out = n;
            for j in 0..3 {
                out[j] = e.mul_add(m[0][j], n[0], e.mul_add(m[1][j], n[1], e.mul(m[2][j], n[2])));
            }
            out
        }
    }
}
