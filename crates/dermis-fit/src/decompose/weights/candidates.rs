//! Candidates for new bones: how much the skin would gain from each.
//!
//! Every vertex may take one step from its present blend towards the candidate; nothing is solved again.

use super::room::BLOCK;
use super::support::{Fit, Support};
use super::terms::Terms;
use crate::decompose::gram::{Bones, Gram, combine, products, pulls, squares};
use crate::decompose::problem::MONOMIALS;
use dermis_solve::simd::{self, Simd, WithSimd};
use rayon::prelude::*;

/// Returns for every candidate the gain over the present blend, summed over vertices.
///
/// `against` holds H between the present bones and `candidates`. No target draws a vertex to a new bone.
pub fn candidate_gains(
    terms: Terms,
    supports: &[Support],
    fits: &[Fit],
    candidates: &Bones,
    against: &Gram,
) -> Vec<f64> {
    let blocks: Vec<Vec<f64>> = supports
        .par_chunks(BLOCK)
        .enumerate()
        .map(|(block, supports)| {
            let mut total = vec![0.0; candidates.stride];
            gains_of_block((terms, supports, fits), block * BLOCK, candidates, against, (&mut total, None));
            total
        })
        .collect();
    let mut total = vec![0.0; candidates.count];
    for block in blocks {
        total.iter_mut().zip(block).for_each(|(t, b)| *t += b);
    }
    total
}

/// Returns the step l_v of every vertex towards one candidate, in 0..1.
pub fn candidate_steps(
    terms: Terms,
    supports: &[Support],
    fits: &[Fit],
    candidate: &Bones,
    against: &Gram,
) -> Vec<f64> {
    let mut steps = vec![0.0; supports.len()];
    steps.par_chunks_mut(BLOCK).zip(supports.par_chunks(BLOCK)).enumerate().for_each(|(block, (steps, supports))| {
        let mut total = vec![0.0; candidate.stride];
        gains_of_block((terms, supports, fits), block * BLOCK, candidate, against, (&mut total, Some(steps)));
    });
    steps
}

/// Adds the gains of the vertices from `first` on to `total`, and stores their steps if they are wanted.
fn gains_of_block(
    (terms, supports, fits): (Terms, &[Support], &[Fit]),
    first: usize,
    candidates: &Bones,
    against: &Gram,
    (total, steps): (&mut [f64], Option<&mut [f64]>),
) {
    let mut product = vec![0.0; BLOCK * 4 * candidates.stride];
    products(terms.points, first, supports.len(), candidates, &mut product);
    simd::run_with(Gains { terms, against, supports, fits, product: &product, first, total, steps });
}

/// The gains of one block of vertices.
struct Gains<'a> {
    terms: Terms<'a>,
    against: &'a Gram,
    supports: &'a [Support],
    /// One per vertex of the whole mesh.
    fits: &'a [Fit],
    product: &'a [f64],
    first: usize,
    total: &'a mut [f64],
    /// Filled with the steps towards the first candidate.
    steps: Option<&'a mut [f64]>,
}

impl WithSimd for Gains<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let stride = self.against.stride;
        let (mut g, mut diagonal, mut blend, mut row) =
            (vec![0.0; stride], vec![0.0; stride], vec![0.0; stride], vec![0.0; stride]);
        for (at, support) in self.supports.iter().enumerate() {
            let v = self.first + at;
            let monomials = &self.terms.points.monomials[v];
            pulls(simd, self.terms.points, v, &self.product[at * 4 * stride..(at + 1) * 4 * stride], &mut g);
            squares(simd, self.against, monomials, &mut diagonal);
            blend.fill(0.0);
            for (k, w) in support.members() {
                let table = &self.against.wide[k * MONOMIALS * stride..(k + 1) * MONOMIALS * stride];
                combine(simd, table, stride, monomials, &mut row);
                for c in 0..stride {
                    blend[c] += w * row[c];
                }
            }
            // |y|² and y·(y − x), from |x − y|² and x·y.
            let fit = self.fits[v];
            let size = fit.energy - self.terms.square(v) + 2.0 * fit.pull;
            let level = size - fit.pull;
            let (g, diagonal, blend, total) =
                (&g[..stride], &diagonal[..stride], &blend[..stride], &mut self.total[..stride]);
            for c in 0..stride {
                let d = level - (blend[c] - g[c]);
                let n = (diagonal[c] - 2.0 * blend[c] + size).max(1e-300);
                let l = (d / n).clamp(0.0, 1.0);
                total[c] += l * (2.0 * d - l * n);
            }
            if let Some(steps) = &mut self.steps {
                let d = level - (blend[0] - g[0]);
                let n = (diagonal[0] - 2.0 * blend[0] + size).max(1e-300);
                steps[at] = (d / n).clamp(0.0, 1.0);
            }
        }
    }
}
