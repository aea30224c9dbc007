//! What weights are solved from.

use crate::decompose::gram::{Bones, Gram, products, pulled};
use crate::decompose::problem::Points;
use crate::decompose::smooth::Drawn;
use dermis_solve::simd::Simd;

/// Vertices, bones with their Gram matrices, and targets that draw the weights, if there are any. The ridge of the targets is
/// already in `gram`.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    pub points: &'a Points,
    pub bones: &'a Bones,
    pub gram: &'a Gram,
    pub drawn: Option<&'a Drawn>,
}

impl Terms<'_> {
    /// |x_v|², that of the targets included.
    #[inline(always)]
    pub fn square(&self, v: usize) -> f64 {
        self.points.squares[v] + self.drawn.map_or(0.0, |drawn| drawn.square(v))
    }
    /// g_k of one bone.
    #[inline(always)]
    pub fn pulled<S: Simd>(&self, simd: S, v: usize, k: usize) -> f64 {
        pulled(simd, self.points, v, self.bones, k) + self.drawn.map_or(0.0, |drawn| drawn.pull(v, k))
    }
    /// U Tᵀ for a block of vertices. What the targets add to g goes to the last coordinate, which is one.
    pub fn products(&self, first: usize, count: usize, product: &mut [f64]) {
        products(self.points, first, count, self.bones, product);
        let Some(drawn) = self.drawn else { return };
        let stride = self.bones.stride;
        for (at, rows) in product.chunks_exact_mut(4 * stride).take(count).enumerate() {
            let targets = drawn.targets.row(first + at);
            rows[3 * stride..].iter_mut().zip(targets).for_each(|(g, w)| *g += drawn.stiffness * w);
        }
    }
}
