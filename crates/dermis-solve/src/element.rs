//! What fills the lanes of a vector register: `f64`, or `f32` in twice as many, behind one set of operations.
//!
//! Everything here is `#[inline(always)]`: call it within [`run_with`](crate::simd::run_with).

use crate::simd::{LANES_F32, LANES_F64, Simd};

/// A number in a lane.
pub trait Element: Copy + Default + PartialOrd + std::fmt::Debug + Send + Sync + 'static {
    /// One in every lane.
    type Vector<S: Simd>: Copy;
    /// Lanes of a block, a multiple of those of any register.
    const LANES: usize;
    /// Lanes of a register.
    fn lanes<S: Simd>() -> usize;
    /// The nearest to a number.
    fn rounded(x: f64) -> Self;
    /// The same in double precision.
    fn wide(self) -> f64;
    /// Numbers as registers; a rest that fills none is left out.
    fn vectors<S: Simd>(all: &[Self]) -> &[Self::Vector<S>];
    /// As [`Element::vectors`].
    fn vectors_mut<S: Simd>(all: &mut [Self]) -> &mut [Self::Vector<S>];
    /// x in every lane.
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    /// Writes every lane, to as many numbers.
    fn store<S: Simd>(simd: S, into: &mut [Self], x: Self::Vector<S>);
    /// a + b
    fn add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// a b
    fn mul<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// a / b
    fn div<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// −a
    fn neg<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    /// √a
    fn sqrt<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    /// a b + c
    fn mul_add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>) -> Self::Vector<S>;
    /// c − a b
    fn less_product<S: Simd>(simd: S, c: Self::Vector<S>, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
}

macro_rules! element {
    ($number:ty, $vector:ident, $block:expr, $lanes:ident, $vectors:ident, $vectors_mut:ident, $splat:ident, $store:ident,
     $add:ident, $mul:ident, $div:ident, $neg:ident, $sqrt:ident, $mul_add:ident, $less_product:ident) => {
        impl Element for $number {
            type Vector<S: Simd> = S::$vector;
            const LANES: usize = $block;
            #[inline(always)]
            fn lanes<S: Simd>() -> usize {
                S::$lanes
            }
            #[inline(always)]
            fn rounded(x: f64) -> Self {
                x as Self
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn vectors<S: Simd>(all: &[Self]) -> &[S::$vector] {
                S::$vectors(all).0
            }
            #[inline(always)]
            fn vectors_mut<S: Simd>(all: &mut [Self]) -> &mut [S::$vector] {
                S::$vectors_mut(all).0
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: Self) -> S::$vector {
                simd.$splat(x)
            }
            #[inline(always)]
            fn store<S: Simd>(simd: S, into: &mut [Self], x: S::$vector) {
                simd.$store(into, x);
            }
            #[inline(always)]
            fn add<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn mul<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$mul(a, b)
            }
            #[inline(always)]
            fn div<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$div(a, b)
            }
            #[inline(always)]
            fn neg<S: Simd>(simd: S, a: S::$vector) -> S::$vector {
                simd.$neg(a)
            }
            #[inline(always)]
            fn sqrt<S: Simd>(simd: S, a: S::$vector) -> S::$vector {
                simd.$sqrt(a)
            }
            #[inline(always)]
            fn mul_add<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
                simd.$mul_add(a, b, c)
            }
            #[inline(always)]
            fn less_product<S: Simd>(simd: S, c: S::$vector, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$less_product(a, b, c)
            }
        }
    };
}

element!(
    f64,
    f64s,
    LANES_F64,
    F64_LANES,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    partial_store_f64s,
    add_f64s,
    mul_f64s,
    div_f64s,
    neg_f64s,
    sqrt_f64s,
    mul_add_e_f64s,
    negate_mul_add_e_f64s
);
element!(
    f32,
    f32s,
    LANES_F32,
    F32_LANES,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    partial_store_f32s,
    add_f32s,
    mul_f32s,
    div_f32s,
    neg_f32s,
    sqrt_f32s,
    mul_add_e_f32s,
    negate_mul_add_e_f32s
);
