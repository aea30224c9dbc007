//! Vectors and 3×3 matrices of eight vertices, a register per component.

use super::eight::Eight;

/// Where `f32` can tell a normal and its sign, with s = |A|²: |cof(A) n|² over s² and (det A)² over s³ above the first two,
/// s below the third and above the last.
///
/// Cofactors are off by some 1e-7 |A|²: a hundredth of |A|² keeps five digits. The sign wants less.
const LIMITS: [f32; 4] = [1e-4, 1e-6, 1e6, 1e-6];

/// sign(det A) cof(A) n over its length; zero where A is too near to flat, or of a size that `f32` cannot square twice.
#[inline(always)]
pub(in crate::baked) fn turned<E: Eight>(e: E, m: &[[E::Lanes; 3]; 4], n: [E::Lanes; 3]) -> [E::Lanes; 3] {
    let [a, b, c, _] = *m;
    // The columns of the cofactor matrix.
    let (u, v, w) = (cross(e, b, c), cross(e, c, a), cross(e, a, b));
    let mut turned = n;
    for j in 0..3 {
        turned[j] = e.mul_add(u[j], n[0], e.mul_add(v[j], n[1], e.mul(w[j], n[2])));
    }
    let (det, length) = (dot(e, a, u), dot(e, turned, turned));
    let size = e.add(dot(e, a, a), e.add(dot(e, b, b), dot(e, c, c)));
    let square = e.mul(size, size);
    let [long, signed, large, small] = LIMITS;
    let (long, signed) = (e.splat(long), e.splat(signed));
    let (large, small) = (e.splat(large), e.splat(small));
    let long_enough = e.less(e.mul(long, square), length);
    let sign_is_sure = e.less(e.mul(signed, e.mul(square, size)), e.mul(det, det));
    let of_a_size = e.and(e.less(small, size), e.less(size, large));
    let regular = e.and(e.and(long_enough, sign_is_sure), of_a_size);
    let scale = e.div(e.copy_sign(e.splat(1.0), det), e.sqrt(length));
    // Not the product with zero: zero times what is not finite is no zero.
    for number in &mut turned {
        *number = e.and(regular, e.mul(*number, scale));
    }
    turned
}

#[inline(always)]
fn dot<E: Eight>(e: E, a: [E::Lanes; 3], b: [E::Lanes; 3]) -> E::Lanes {
    e.mul_add(a[0], b[0], e.mul_add(a[1], b[1], e.mul(a[2], b[2])))
}

/// a × b.
#[inline(always)]
pub(in crate::baked) fn cross<E: Eight>(e: E, a: [E::Lanes; 3], b: [E::Lanes; 3]) -> [E::Lanes; 3] {
    [
        e.mul_sub(a[1], b[2], e.mul(a[2], b[1])),
        e.mul_sub(a[2], b[0], e.mul(a[0], b[2])),
        e.mul_sub(a[0], b[1], e.mul(a[1], b[0])),
    ]
}
