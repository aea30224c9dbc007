//! Weights on a fixed support: the bones of a vertex stay, their weights are solved.
//!
//! Vertices with the same number of bones, from two to eight, are solved eight at a time on the affine hull of their bones.
//! A vertex whose solution has a negative weight, or another number of bones, is solved alone on the simplex.

use super::lanes::Eight;
use super::room::{BLOCK, Room};
use super::support::Support;
use super::terms::Terms;
use crate::decompose::gram::pull_of;
use crate::decompose::problem::{LANES, MONOMIALS};
use dermis_solve::simd::Simd;

/// The weights of one block of vertices, on the supports they have.
pub struct FixedSupport<'a> {
    pub terms: Terms<'a>,
    pub supports: &'a mut [Support],
    /// The first vertex of the block.
    pub first: usize,
    /// Whether `room` holds the products U Tᵀ of the block.
    pub products: bool,
    /// Receives g of the members and the energies.
    pub room: &'a mut Room,
}

impl FixedSupport<'_> {
    /// Solves the weights of every vertex. `room.energies` holds |x − y|² afterwards.
    #[inline(always)]
    pub fn solve<S: Simd>(mut self, simd: S) {
        let terms = self.terms;
        let stride = terms.bones.stride;
        for at in 0..self.supports.len() {
            let v = self.first + at;
            for (a, (k, _)) in self.supports[at].members().enumerate() {
                self.room.pulls[at][a] = match self.products {
                    true => pull_of(terms.points, v, &self.room.product[at * 4 * stride..], stride, k),
                    false => terms.pulled(simd, v, k),
                };
            }
        }
        self.solve_eights::<2>();
        self.solve_eights::<3>();
        self.solve_eights::<4>();
        self.solve_eights::<5>();
        self.solve_eights::<6>();
        self.solve_eights::<7>();
        self.solve_eights::<8>();
        for at in 0..self.supports.len() {
            if !(2..=8).contains(&self.supports[at].n) {
                self.solve_alone(at);
            }
        }
    }

    /// Solves every vertex with N bones, and alone those where a weight would be negative.
    #[inline(always)]
    fn solve_eights<const N: usize>(&mut self) {
        let mut chosen = [0; BLOCK];
        let mut count = 0;
        for at in (0..self.supports.len()).filter(|&at| self.supports[at].n == N) {
            chosen[count] = at;
            count += 1;
        }
        for start in (0..count).step_by(LANES) {
            let lanes = LANES.min(count - start);
            // Lanes beyond the last vertex repeat it.
            let vertices: [usize; LANES] = std::array::from_fn(|lane| chosen[start + lane.min(lanes - 1)]);
            let (supports, terms) = (&self.supports, self.terms);
            let table = |a: usize, b: usize, at: usize| {
                let bones = &supports[at].bones;
                &terms.gram.near[bones[a] as usize * terms.gram.stride + bones[b] as usize]
            };
            let eight = Eight::<N> {
                monomials: vertices.map(|at| &terms.points.monomials[self.first + at]),
                tables: std::array::from_fn(|a| {
                    std::array::from_fn(|b| vertices.map(|at| table(a.max(b), a.min(b), at)))
                }),
                g: std::array::from_fn(|a| vertices.map(|at| self.room.pulls[at][a])),
            };
            let had = std::array::from_fn(|a| vertices.map(|at| supports[at].weights[a]));
            let solved = eight.solve(&had);
            for (lane, &at) in vertices.iter().enumerate().take(lanes) {
                let square = terms.square(self.first + at);
                if (0..N).any(|a| solved.weights[a][lane] < 0.0) {
                    self.solve_alone(at);
                } else if solved.value[lane] < solved.before[lane] {
                    (0..N).for_each(|a| self.supports[at].weights[a] = solved.weights[a][lane]);
                    self.room.energies[at] = square + solved.value[lane];
                } else {
                    self.room.energies[at] = square + solved.before[lane];
                }
            }
        }
    }

    /// Solves one vertex on the simplex of its bones.
    #[inline(always)]
    fn solve_alone(&mut self, at: usize) {
        let gram = self.terms.gram;
        let monomials = &self.terms.points.monomials[self.first + at];
        let square = self.terms.square(self.first + at);
        let (support, room) = (&mut self.supports[at], &mut *self.room);
        let n = support.n;
        room.quadratic.n = n;
        for a in 0..n {
            room.quadratic.g[a] = room.pulls[at][a];
            for b in 0..=a {
                let table = &gram.near[support.bones[a] as usize * gram.stride + support.bones[b] as usize];
                let h = (0..MONOMIALS).map(|m| monomials[m] * table[m]).sum();
                (room.quadratic.h[a][b], room.quadratic.h[b][a]) = (h, h);
            }
        }
        let before = square + room.quadratic.value(&support.weights);
        let mut w = support.weights;
        let solved = square + room.quadratic.minimise(&mut w);
        room.energies[at] = before;
        if solved < before {
            (support.weights, room.energies[at]) = (w, solved);
        }
    }
}
