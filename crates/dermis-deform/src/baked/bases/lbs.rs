//! Linear blend skinning, block by block.

use super::turn::Turned;
use super::weights::Weights;
use crate::baked::lanes::{self, Columns, EIGHT, Eight, EightKernel, FEW, Four, Table, numbers, padded, store, turned};
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
        match self.weights.most(self.from) {
            1 => self.run_up_to::<1, T>(table),
            2 => self.run_up_to::<2, T>(table),
            3 => self.run_up_to::<3, T>(table),
            _ => self.run_up_to::<4, T>(table),
        }
    }

    /// For vertices of which none has more than `MOST` of the first four influences.
    fn run_up_to<const MOST: usize, T: Table<Columns> + ?Sized>(self, table: &T) {
        let Self { from, weights, rest, behind, out, mut normals, .. } = self;
        let (range, whole) = (from..from + out.len(), out.len() / EIGHT * EIGHT);
        let more = weights.more_of(range.clone());
        let (before, after) = more.split_at(more.partition_point(|e| (e.0 as usize) < from + whole));
        let (some_fours, last_fours) = weights.fours[range].split_at(whole);
        let (some_rest, last_rest) = rest.split_at(whole);
        let (some, last) = out.split_at_mut(whole);
        let (some_normals, last_normals) = normals.as_mut().map(|n| n.split_at(whole)).unzip();
        lanes::run(LbsChunks::<MOST, T> {
            from,
            fours: some_fours,
            more: before,
            table,
            rest: some_rest,
            behind,
            out: some,
            normals: some_normals,
        });
        if !last.is_empty() {
            let (mut positions, mut turned) = ([Vec3::ZERO; EIGHT], [Vec3::ZERO; EIGHT]);
            let rest_normals = last_normals.as_ref().map(|n| padded(n.rest));
            lanes::run(LbsChunks::<MOST, T> {
                from: from + whole,
                fours: &padded(last_fours),
                more: after,
                table,
                rest: &padded(last_rest),
                behind,
                out: &mut positions,
                normals: rest_normals.as_ref().map(|rest| Turned { rest, out: &mut turned }),
            });
            last.copy_from_slice(&positions[..last.len()]);
            if let Some(normals) = last_normals {
                normals.out.copy_from_slice(&turned[..last.len()]);
            }
        }
    }
}

/// [`Lbs`] of whole chunks of eight vertices.
struct LbsChunks<'a, const MOST: usize, T: ?Sized> {
    from: usize,
    fours: &'a [Four],
    more: &'a [(u32, Four)],
    table: &'a T,
    rest: &'a [Vec3],
    behind: Vec3,
    out: &'a mut [Vec3],
    normals: Option<Turned<'a>>,
}

impl<const MOST: usize, T: Table<Columns> + ?Sized> EightKernel for LbsChunks<'_, MOST, T> {
    #[inline(always)]
    fn run<E: Eight>(self, e: E) {
        let Self { from, fours, mut more, table, rest, behind, out, normals } = self;
        let mut normals = normals.map(|n| (n.rest.as_chunks().0, n.out.as_chunks_mut().0));
        let chunks = out.as_chunks_mut().0.iter_mut().zip(rest.as_chunks().0).zip(fours.as_chunks().0);
        for (at, ((out, rest), fours)) in chunks.enumerate() {
            let m = blended::<MOST, E>(e, from + at * EIGHT, fours, &mut more, table);
            store(e, moved(e, &m, e.split(numbers(rest)), behind), out);
            if let Some((rests, outs)) = &mut normals {
                store(e, turned(e, &m, e.split(numbers(&rests[at]))), &mut outs[at]);
            }
        }
    }
}

/// Σ w M of eight vertices from `first` on; takes what belongs to them from the beginning of `more`.
#[inline(always)]
pub(in crate::baked) fn blended<const MOST: usize, E: Eight>(
    e: E,
    first: usize,
    [a, b, c, d, p, q, r, s]: &[Four; EIGHT],
    more: &mut &[(u32, Four)],
    table: &(impl Table<Columns> + ?Sized),
) -> [[E::Lanes; 3]; 4] {
    // Without a loop the sums stay in registers.
    let (a, b) = (blend::<MOST, E>(e, first, a, more, table), blend::<MOST, E>(e, first + 1, b, more, table));
    let (c, d) = (blend::<MOST, E>(e, first + 2, c, more, table), blend::<MOST, E>(e, first + 3, d, more, table));
    let some = e.four_maps([a, b, c, d]);
    let (p, q) = (blend::<MOST, E>(e, first + 4, p, more, table), blend::<MOST, E>(e, first + 5, q, more, table));
    let (r, s) = (blend::<MOST, E>(e, first + 6, r, more, table), blend::<MOST, E>(e, first + 7, s, more, table));
    e.maps(some, e.four_maps([p, q, r, s]))
}

/// Σ w M of one vertex.
#[inline(always)]
fn blend<const MOST: usize, E: Eight>(
    e: E,
    v: usize,
    four: &Four,
    more: &mut &[(u32, Four)],
    table: &(impl Table<Columns> + ?Sized),
) -> E::Map {
    let mut map = add_four::<MOST, E>(e, e.zero(), four, table);
    while let Some(((_, four), others)) = more.split_first().filter(|(entry, _)| entry.0 as usize == v) {
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
