//! One pass over the weights of all vertices, in parallel, block by block.

use super::exchange::{Pass, look_around};
use super::fixed::FixedSupport;
use super::room::{BLOCK, Room};
use super::support::{Fit, Support};
use super::terms::Terms;
use crate::decompose::gram::{Bones, Gram, products, pulls, squares};
use crate::decompose::problem::Points;
use crate::decompose::ties::slack;
use dermis_solve::simd::{self, Simd, WithSimd};
use rayon::prelude::*;

/// Improves the weights of every vertex and returns the sum of the energies Σ_v |x_v − y_v|².
///
/// No energy rises: a vertex keeps its weights where a solve does not lower it.
pub fn improve(terms: Terms, supports: &mut [Support], fits: &mut [Fit], pass: Pass) -> f64 {
    let blocks = supports.par_chunks_mut(BLOCK).zip(fits.par_chunks_mut(BLOCK));
    blocks.enumerate().for_each(|(block, (supports, fits))| {
        Room::lent(terms.bones.stride, |room| {
            let first = block * BLOCK;
            if pass.entries > 0 {
                terms.products(first, supports.len(), &mut room.product);
            }
            simd::run_with(Improve { terms, supports, fits, pass, first, room });
        });
    });
    fits.iter().map(|fit| fit.energy).sum()
}

/// Returns for every vertex the single bone that comes closest to it.
pub fn nearest(points: &Points, bones: &Bones, gram: &Gram) -> Vec<Support> {
    let mut supports = vec![Support::single(0); points.len()];
    supports.par_chunks_mut(BLOCK).enumerate().for_each(|(block, supports)| {
        Room::lent(bones.stride, |room| {
            let first = block * BLOCK;
            products(points, first, supports.len(), bones, &mut room.product);
            simd::run_with(Nearest { points, gram, supports, first, room });
        });
    });
    supports
}

/// The nearest bones of one block.
struct Nearest<'a> {
    points: &'a Points,
    gram: &'a Gram,
    supports: &'a mut [Support],
    first: usize,
    room: &'a mut Room,
}

impl WithSimd for Nearest<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { points, gram, room, .. } = self;
        for (at, support) in self.supports.iter_mut().enumerate() {
            let v = self.first + at;
            pulls(simd, points, v, &room.product[at * 4 * gram.stride..], &mut room.g);
            squares(simd, gram, &points.monomials[v], &mut room.diagonal);
            let energy = |k: usize| room.diagonal[k] - 2.0 * room.g[k];
            let nearer = |k: usize, b: usize| energy(k) < energy(b) - slack(0.0, points.squares[v] + room.diagonal[b]);
            *support = Support::single((1..gram.columns).fold(0, |b, k| if nearer(k, b) { k } else { b }));
        }
    }
}

/// The pass over one block.
struct Improve<'a> {
    terms: Terms<'a>,
    supports: &'a mut [Support],
    fits: &'a mut [Fit],
    pass: Pass,
    first: usize,
    room: &'a mut Room,
}

impl WithSimd for Improve<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let wide = 4 * self.terms.bones.stride;
        let look = self.pass.entries > 0;
        FixedSupport {
            terms: self.terms,
            supports: &mut *self.supports,
            first: self.first,
            products: look,
            room: &mut *self.room,
        }
        .solve(simd);
        for at in 0..self.supports.len() {
            let of_members = &self.room.pulls[at];
            let mut pull = (0..self.supports[at].n).map(|a| self.supports[at].weights[a] * of_members[a]).sum();
            let support = &mut self.supports[at];
            if support.weights[..support.n].iter().any(|&w| w < 1e-9) {
                support.normalise();
            }
            let mut energy = self.room.energies[at];
            if look {
                let v = self.first + at;
                let Terms { points, gram, .. } = self.terms;
                let (monomials, square) = (&points.monomials[v], self.terms.square(v));
                let room = &mut *self.room;
                pulls(simd, points, v, &room.product[at * wide..(at + 1) * wide], &mut room.g);
                energy = look_around(simd, gram, monomials, square, support, energy, self.pass, room);
                pull = support.members().map(|(k, w)| w * room.g[k]).sum();
            }
            self.fits[at] = Fit { energy: energy.max(0.0), pull };
        }
    }
}
