//! Linear blend skinning, block by block.

use super::turn::{By, Turned, turned};
use super::weights::{Most, Weights};
use crate::baked::lanes::{self, Columns, EIGHT, Eight, EightKernel, FEW, Four, Table, numbers, padded, store};
use dermis_rig::glam::Vec3;

/// Linear blend skinning of the vertices from `from` on, with normals where wanted: `out = (Σ w M) rest + behind`.
pub(in crate::baked) struct Lbs<'a> {
    pub(in crate::baked) from: usize,
    pub(in crate::baked) weights: &'a Weights,
    pub(in crate::baked) table: &'a [Columns],
    /// Of the block's vertices.
    pub(in crate::baked) rest: &'a [Vec3],
    pub(in crate::baked) behind: Vec3,
    pub(in crate::baked) out: &'a mut [Vec3],
    pub(in crate::baked) normals: Option<Turned<'a>>,
}

impl Lbs<'_> {
    pub(in crate::baked) fn run(self) {
        let table = self.table;
        match <&[Columns; FEW]>::try_from(table) {
            Ok(table) => self.run_with(table),
            Err(_) => self.run_with(table),
        }
    }

    fn run_with<T: Table<Columns> + ?Sized>(self, table: &T) {
        let Self { from, weights, rest, behind, out, mut normals, .. } = self;
        let (range, whole) = (from..from + out.len(), out.len() / EIGHT * EIGHT);
        let more = weights.more_of(range.clone());
        let (before, after) = more.split_at(more.partition_point(|e| (e.0 as usize) < from + whole));
        let (fours, last_fours) = weights.fours[range].split_at(whole);
        let (rest, last_rest) = rest.split_at(whole);
        let (some, last) = out.split_at_mut(whole);
        let (mut some_normals, last_normals) = normals.as_mut().map(|n| n.split_at(whole)).unzip();
        for (most, eights) in weights.alike(from) {
            let chunks = Chunks {
                from,
                eights,
                fours: fours.as_chunks().0,
                more: before,
                table,
                rest: rest.as_chunks().0,
                behind,
                out: some.as_chunks_mut().0,
                normals: some_normals.as_mut().map(|n| n.split_at(whole).0),
            };
            match most {
                Most::Whole => lanes::run(LbsChunks::<0, false, T>(chunks)),
                Most::One => lanes::run(LbsChunks::<1, false, T>(chunks)),
                Most::Two => lanes::run(LbsChunks::<2, false, T>(chunks)),
                Most::Three => lanes::run(LbsChunks::<3, false, T>(chunks)),
                Most::Four => lanes::run(LbsChunks::<4, false, T>(chunks)),
                Most::More => lanes::run(LbsChunks::<4, true, T>(chunks)),
            }
        }
        if !last.is_empty() {
            let (mut positions, mut turned) = ([Vec3::ZERO; EIGHT], [Vec3::ZERO; EIGHT]);
            let (rest_normals, by) = last_normals.as_ref().map(|n| (padded(n.rest), n.by)).unzip();
            lanes::run(LbsChunks::<4, true, T>(Chunks {
                from: from + whole,
                eights: &[0],
                fours: &[padded(last_fours)],
                more: after,
                table,
                rest: &[padded(last_rest)],
                behind,
                out: std::slice::from_mut(&mut positions),
                normals: rest_normals.as_ref().zip(by).map(|(rest, by)| Turned { by, rest, out: &mut turned }),
            }));
            last.copy_from_slice(&positions[..last.len()]);
            if let Some(normals) = last_normals {
                normals.out.copy_from_slice(&turned[..last.len()]);
            }
        }
    }
}

/// Eights of vertices of a block.
struct Chunks<'a, T: ?Sized> {
    /// The block's first vertex.
    from: usize,
    /// Which of the block's eights, ascending.
    eights: &'a [u8],
    fours: &'a [[Four; EIGHT]],
    more: &'a [(u32, Four)],
    table: &'a T,
    rest: &'a [[Vec3; EIGHT]],
    behind: Vec3,
    out: &'a mut [[Vec3; EIGHT]],
    normals: Option<Turned<'a>>,
}

/// [`Lbs`] of eights whose vertices have at most `MOST` influences, and others beyond four if `MORE`; zero is one of weight one.
struct LbsChunks<'a, const MOST: usize, const MORE: bool, T: ?Sized>(Chunks<'a, T>);

impl<const MOST: usize, const MORE: bool, T: Table<Columns> + ?Sized> EightKernel for LbsChunks<'_, MOST, MORE, T> {
    #[inline(always)]
    fn run<E: Eight>(self, e: E) {
        let Chunks { from, eights, fours, mut more, table, rest, behind, out, normals } = self.0;
        let mut normals = normals.map(|n| (n.by, n.rest.as_chunks().0, n.out.as_chunks_mut().0));
        if eights.len() == out.len() {
            // All of them: no look-up.
            let chunks = out.iter_mut().zip(rest).zip(fours);
            for (at, ((out, rest), fours)) in chunks.enumerate() {
                let m = blended::<MOST, MORE, E>(e, from + at * EIGHT, fours, &mut more, table);
                store(e, moved(e, &m, e.split(numbers(rest)), behind), out);
                turn(e, &m, at, &mut normals);
            }
            return;
        }
        for &at in eights {
            let at = usize::from(at);
            let m = blended::<MOST, MORE, E>(e, from + at * EIGHT, &fours[at], &mut more, table);
            store(e, moved(e, &m, e.split(numbers(&rest[at])), behind), &mut out[at]);
            turn(e, &m, at, &mut normals);
        }
    }
}

/// Rest normals of eights and room for them turned.
type NormalChunks<'a> = (By, &'a [[Vec3; EIGHT]], &'a mut [[Vec3; EIGHT]]);

/// Turns the normals of an eight, where wanted.
#[inline(always)]
fn turn<E: Eight>(e: E, m: &[[E::Lanes; 3]; 4], at: usize, normals: &mut Option<NormalChunks<'_>>) {
    if let Some((by, rests, outs)) = normals {
        store(e, turned(e, *by, m, e.split(numbers(&rests[at]))), &mut outs[at]);
    }
}

/// Σ w M of eight vertices from `first` on; takes what belongs to them from the beginning of `more`.
#[inline(always)]
pub(in crate::baked) fn blended<const MOST: usize, const MORE: bool, E: Eight>(
    e: E,
    first: usize,
    [a, b, c, d, p, q, r, s]: &[Four; EIGHT],
    more: &mut &[(u32, Four)],
    table: &(impl Table<Columns> + ?Sized),
) -> [[E::Lanes; 3]; 4] {
    // Without a loop the sums stay in registers.
    let (a, b) =
        (blend::<MOST, MORE, E>(e, first, a, more, table), blend::<MOST, MORE, E>(e, first + 1, b, more, table));
    let (c, d) =
        (blend::<MOST, MORE, E>(e, first + 2, c, more, table), blend::<MOST, MORE, E>(e, first + 3, d, more, table));
    let some = e.four_maps([a, b, c, d]);
    let (p, q) =
        (blend::<MOST, MORE, E>(e, first + 4, p, more, table), blend::<MOST, MORE, E>(e, first + 5, q, more, table));
    let (r, s) =
        (blend::<MOST, MORE, E>(e, first + 6, r, more, table), blend::<MOST, MORE, E>(e, first + 7, s, more, table));
    e.maps(some, e.four_maps([p, q, r, s]))
}

/// Σ w M of one vertex.
#[inline(always)]
fn blend<const MOST: usize, const MORE: bool, E: Eight>(
    e: E,
    v: usize,
    four: &Four,
    more: &mut &[(u32, Four)],
    table: &(impl Table<Columns> + ?Sized),
) -> E::Map {
    if MOST == 0 {
        return e.map(table.at(four.index(0)));
    }
    let mut map = add_four::<MOST, E>(e, e.zero(), four, table);
    while let Some(((_, four), others)) = more.split_first().filter(|(entry, _)| MORE && entry.0 as usize == v) {
        map = add_four::<4, E>(e, map, four, table);
        *more = others;
    }
    map
}

#[inline(always)]
fn add_four<const MOST: usize, E: Eight>(
    e: E,
    map: E::Map,
    four: &Four,
    table: &(impl Table<Columns> + ?Sized),
) -> E::Map {
    let mut map = map;
    for k in 0..MOST {
        map = e.blend(map, four.weights[k], table.at(four.index(k)));
    }
    map
}

/// M p + behind.
#[inline(always)]
pub(in crate::baked) fn moved<E: Eight>(
    e: E,
    m: &[[E::Lanes; 3]; 4],
    [x, y, z]: [E::Lanes; 3],
    behind: Vec3,
) -> [E::Lanes; 3] {
    let mut out = m[3];
    for j in 0..3 {
        let sum = e.add(e.mul_add(m[0][j], x, e.mul(m[1][j], y)), e.mul_add(m[2][j], z, m[3][j]));
        out[j] = e.add(sum, e.splat(behind[j]));
    }
    out
}
