//! What each bone is worth: the error that its removal would leave.

use super::exchange::{best_step, exchange, fill};
use super::room::{BLOCK, Room};
use super::support::{Fit, MOST, Support};
use super::terms::Terms;
use crate::decompose::gram::{pulls, squares};
use dermis_solve::simd::{self, Simd, WithSimd};
use rayon::prelude::*;

/// Returns for every bone the rise of the energy without it, summed over its vertices.
///
/// Each vertex is solved again without the bone, and one other bone may enter.
pub fn removal_costs(terms: Terms, supports: &[Support], fits: &[Fit], most: usize) -> Vec<f64> {
    let blocks: Vec<Vec<f64>> = supports
        .par_chunks(BLOCK)
        .enumerate()
        .map(|(block, supports)| {
            Room::lent(terms.bones.stride, |room| {
                let first = block * BLOCK;
                let mut costs = vec![0.0; terms.bones.count];
                terms.products(first, supports.len(), &mut room.product);
                simd::run_with(Removal { terms, supports, fits, most, first, room, costs: &mut costs });
                costs
            })
        })
        .collect();
    let mut total = vec![0.0; terms.bones.count];
    for block in blocks {
        total.iter_mut().zip(block).for_each(|(t, b)| *t += b);
    }
    total
}

/// The costs in one block of vertices.
struct Removal<'a> {
    terms: Terms<'a>,
    supports: &'a [Support],
    fits: &'a [Fit],
    most: usize,
    first: usize,
    room: &'a mut Room,
    costs: &'a mut [f64],
}

impl WithSimd for Removal<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Terms { points, gram, .. } = self.terms;
        let stride = gram.stride;
        for (at, support) in self.supports.iter().enumerate() {
            let v = self.first + at;
            let (monomials, square) = (&points.monomials[v], self.terms.square(v));
            pulls(simd, points, v, &self.room.product[at * 4 * stride..(at + 1) * 4 * stride], &mut self.room.g);
            squares(simd, gram, monomials, &mut self.room.diagonal);
            fill(simd, gram, monomials, support, self.room);
            for (out, (bone, _)) in support.members().enumerate() {
                let value = without(support, out, bone, gram.columns, stride, self.most, self.room);
                self.costs[bone] += (square + value - self.fits[v].energy).max(0.0);
            }
        }
    }
}

/// Returns wᵀHw − 2 w·g without member `out`, where one other bone may enter.
#[inline(always)]
fn without(
    support: &Support,
    out: usize,
    bone: usize,
    columns: usize,
    stride: usize,
    most: usize,
    room: &mut Room,
) -> f64 {
    let row_of = |a: usize| if a == out { support.n - 1 } else { a };
    let trial = &mut room.trial;
    trial.copy(&room.quadratic);
    if support.n == 1 {
        let value = |k: usize| room.diagonal[k] - 2.0 * room.g[k];
        return (0..columns).filter(|&k| k != bone).map(value).fold(f64::INFINITY, f64::min);
    }
    trial.remove(out);
    let mut w = [0.0; MOST];
    let value = trial.minimise(&mut w);
    let blend = &mut room.blend[..stride];
    blend.fill(0.0);
    for a in 0..trial.n {
        let row = &room.rows[row_of(a) * stride..][..stride];
        for k in 0..stride {
            blend[k] += w[a] * row[k];
        }
    }
    let (mut size, mut level) = (0.0, 0.0);
    for a in 0..trial.n {
        let k = support.bones[row_of(a)] as usize;
        size += w[a] * blend[k];
        level += w[a] * (blend[k] - room.g[k]);
    }
    let Some((j, _)) = best_step(support, level, size, columns, stride, room) else { return value };
    exchange(support, Some(out), j, most, room).map_or(value, |(_, exact)| exact.min(value))
}
