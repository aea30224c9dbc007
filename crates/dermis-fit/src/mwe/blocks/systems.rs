//! The two systems of a regression: among its columns, and among its rows.

use dermis_solve::batched::{Number, Systems};
use dermis_solve::element::Element;
use dermis_solve::simd::Simd;

/// D XᵀX D among the columns.
pub(super) struct Primal<'a, S: Simd, T: Element> {
    pub simd: S,
    pub gram: &'a [T],
    pub scales: &'a [T::Vector<S>],
    pub b: &'a [T::Vector<S>],
    pub z: &'a mut [T::Vector<S>],
    pub size: usize,
}

impl<S: Simd, T: Element> Primal<'_, S, T> {
    #[inline(always)]
    fn gram(&self, i: usize, j: usize) -> T::Vector<S> {
        let g = T::splat(self.simd, self.gram[i * (i + 1) / 2 + j]);
        T::mul(self.simd, T::mul(self.simd, self.scales[i], self.scales[j]), g)
    }
}

/// X D² Xᵀ among the rows.
pub(super) struct Dual<'a, S: Simd, T: Element> {
    pub simd: S,
    pub kernels: &'a [T],
    pub maps: &'a [T::Vector<S>],
    pub b: &'a [T::Vector<S>],
    pub z: &'a mut [T::Vector<S>],
    pub size: usize,
    /// The side of which the imaginary part is wanted.
    pub imaginary_side: usize,
}

impl<S: Simd, T: Element> Dual<'_, S, T> {
    #[inline(always)]
    fn kernel(&self, i: usize, j: usize) -> T::Vector<S> {
        let of_bone = self.size * (self.size + 1) / 2;
        let own = self.kernels.iter().skip(i * (i + 1) / 2 + j).step_by(of_bone);
        let mut sum = T::splat(self.simd, T::default());
        for (k, map) in own.zip(self.maps) {
            sum = T::mul_add(self.simd, T::splat(self.simd, *k), *map, sum);
        }
        sum
    }
}

impl<S: Simd, T: Element, N: Number<S, T>> Systems<S, T, N> for Primal<'_, S, T> {
    #[inline(always)]
    fn entry(&self, i: usize, j: usize) -> T::Vector<S> {
        self.gram(i, j)
    }
    #[inline(always)]
    fn side(&self, r: usize, i: usize) -> T::Vector<S> {
        self.b[r * self.size + i]
    }
    #[inline(always)]
    fn take(&mut self, r: usize, i: usize, x: N) {
        self.z[r * self.size + i] = x.parts(self.simd).0;
    }
}

impl<S: Simd, T: Element, N: Number<S, T>> Systems<S, T, N> for Dual<'_, S, T> {
    #[inline(always)]
    fn entry(&self, i: usize, j: usize) -> T::Vector<S> {
        self.kernel(i, j)
    }
    #[inline(always)]
    fn side(&self, r: usize, i: usize) -> T::Vector<S> {
        self.b[r * self.size + i]
    }
    #[inline(always)]
    fn take(&mut self, r: usize, i: usize, x: N) {
        let (re, im) = x.parts(self.simd);
        self.z[r * self.size + i] = if r == self.imaginary_side { im } else { re };
    }
}
