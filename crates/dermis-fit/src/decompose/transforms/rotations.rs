//! The nearest rotations of all bones in all frames, eight frames at a time.

use crate::decompose::gram::Bones;
use crate::decompose::matrix::Matrix;
use crate::decompose::problem::{Frames, LANES};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::rotation::nearest_rotation;
use dermis_solve::simd::{self, Simd, WithSimd};
use rayon::prelude::*;

/// Replaces the linear part of every bone in every frame by the nearest rotation, except for the first `fixed` bones.
///
/// The rotation is nearest to that of T, not of the T − T₀ that `full` holds.
pub fn project(full: &mut Bones, fixed: usize, frames: &Frames) {
    let (count, columns) = (full.count, frames.columns);
    let parts: Vec<Matrix> = (0..columns.groups())
        .into_par_iter()
        .map(|group| {
            let (start, lanes) = columns.group(group);
            let mut part = Matrix::zeros(3 * count, 3 * lanes);
            for k in fixed..count {
                let mut m = Eight::ZERO;
                for i in 0..3 {
                    let (t, mean) = (&full.row(i, k)[start..], &frames.mean.row(i)[start..]);
                    for axis in 0..3 {
                        for lane in 0..lanes {
                            m.0[3 * axis + i][lane] = t[axis * lanes + lane] + mean[axis * lanes + lane];
                        }
                    }
                }
                simd::run_with(Project { m: &mut m, lanes });
                for i in 0..3 {
                    let mean = &frames.mean.row(i)[start..];
                    for axis in 0..3 {
                        for lane in 0..lanes {
                            part.row_mut(3 * k + i)[axis * lanes + lane] =
                                m.0[3 * axis + i][lane] - mean[axis * lanes + lane];
                        }
                    }
                }
            }
            part
        })
        .collect();
    for (group, part) in parts.iter().enumerate() {
        full.replace(fixed..count, 3, columns.group(group).0, part);
    }
}

/// [`to_rotations`] at the level in use.
struct Project<'a> {
    m: &'a mut Eight,
    lanes: usize,
}

impl WithSimd for Project<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        to_rotations(simd, self.m, self.lanes);
    }
}

/// Nine entries, row-major, of eight matrices side by side.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Eight(pub [[f64; LANES]; 9]);

impl Eight {
    pub const ZERO: Self = Self([[0.0; LANES]; 9]);
}

/// Replaces each of eight matrices, of which `lanes` are used, by the nearest rotation, by Newton's iteration
/// X ← (g X + X⁻ᵀ / g) / 2 with g² = |X⁻¹| / |X|.
///
/// A matrix that is nearly singular, or that mirrors, goes to [`nearest_rotation`] instead.
///
/// Source: Higham 1986, "Computing the polar decomposition – with applications".
#[inline(always)]
pub fn to_rotations<S: Simd>(simd: S, m: &mut Eight, lanes: usize) {
    let given = *m;
    let mut hard = [false; LANES];
    for first in (0..LANES).step_by(S::F64_LANES) {
        newton(simd, &mut m.0, &mut hard, first);
    }
    for lane in (0..lanes).filter(|&lane| hard[lane]) {
        let at = |row: usize, col: usize| given.0[3 * row + col][lane];
        let column = |col: usize| DVec3::new(at(0, col), at(1, col), at(2, col));
        let r = nearest_rotation(&DMat3::from_cols(column(0), column(1), column(2)));
        (0..3).for_each(|row| (0..3).for_each(|col| m.0[3 * row + col][lane] = r.col(col)[row]));
    }
}

/// The iteration for one vector of matrices, those from `first` on. Those that are too `hard` for it come out as anything.
#[inline(always)]
fn newton<S: Simd>(simd: S, m: &mut [[f64; LANES]; 9], hard: &mut [bool; LANES], first: usize) {
    let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
    let half = simd.splat_f64s(0.5);
    let mut x = [zero; 9];
    for e in 0..9 {
        x[e] = simd.partial_load_f64s(&m[e][first..first + S::F64_LANES]);
    }
    // a b − c d.
    let minor = |a, b, c, d| simd.negate_mul_add_e_f64s(c, d, simd.mul_f64s(a, b));
    // The scaled iteration converges quadratically from the start; ten steps are ample at a condition of 1e4.
    let mut scaled = true;
    for step in 0..10 {
        let c = [
            minor(x[4], x[8], x[5], x[7]),
            minor(x[5], x[6], x[3], x[8]),
            minor(x[3], x[7], x[4], x[6]),
            minor(x[7], x[2], x[8], x[1]),
            minor(x[8], x[0], x[6], x[2]),
            minor(x[6], x[1], x[7], x[0]),
            minor(x[1], x[5], x[2], x[4]),
            minor(x[2], x[3], x[0], x[5]),
            minor(x[0], x[4], x[1], x[3]),
        ];
        let mut det = simd.mul_f64s(x[0], c[0]);
        det = simd.mul_add_e_f64s(x[1], c[1], det);
        det = simd.mul_add_e_f64s(x[2], c[2], det);
        let (mut g, mut apart) = (one, zero);
        if scaled {
            let (mut size, mut inverse) = (zero, zero);
            for e in 0..9 {
                size = simd.mul_add_e_f64s(x[e], x[e], size);
                inverse = simd.mul_add_e_f64s(c[e], c[e], inverse);
            }
            if step == 0 {
                let least = simd.mul_f64s(simd.splat_f64s(1e-4), simd.mul_f64s(size, simd.sqrt_f64s(size)));
                let well = simd.less_than_f64s(least, det);
                let mut wells = [0.0; LANES];
                simd.partial_store_f64s(&mut wells[..S::F64_LANES], simd.select_f64s(well, one, zero));
                for lane in 0..S::F64_LANES {
                    hard[first + lane] = wells[lane] == 0.0;
                }
            }
            g = simd.div_f64s(simd.sqrt_f64s(simd.div_f64s(inverse, size)), det);
            apart = simd.abs_f64s(simd.sub_f64s(g, one));
            g = simd.sqrt_f64s(g);
        }
        let (near, far) = (simd.mul_f64s(half, g), simd.div_f64s(half, simd.mul_f64s(g, det)));
        let mut change = zero;
        for e in 0..9 {
            let next = simd.mul_add_e_f64s(near, x[e], simd.mul_f64s(far, c[e]));
            change = simd.max_f64s(change, simd.abs_f64s(simd.sub_f64s(next, x[e])));
            x[e] = next;
        }
        let (mut changes, mut aparts) = ([0.0; LANES], [0.0; LANES]);
        simd.partial_store_f64s(&mut changes[..S::F64_LANES], change);
        simd.partial_store_f64s(&mut aparts[..S::F64_LANES], apart);
        let well = |all: &[f64; LANES]| {
            let mut most = 0.0f64;
            for lane in 0..S::F64_LANES {
                most = if hard[first + lane] || all[lane] < most { most } else { all[lane] };
            }
            most
        };
        // Near a rotation the plain iteration converges as fast.
        scaled = well(&aparts) > 0.1;
        if well(&changes) < 1e-8 {
            // Convergence is quadratic: the next step would change nothing in double precision.
            break;
        }
    }
    for e in 0..9 {
        simd.partial_store_f64s(&mut m[e][first..first + S::F64_LANES], x[e]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_solve::Random;

    fn vector(random: &mut Random) -> DVec3 {
        DVec3::new(random.unit() - 0.5, random.unit() - 0.5, random.unit() - 0.5)
    }

    #[test]
    fn eight_rotations_at_once_are_the_nearest_ones() {
        let mut random = Random::seeded(4);
        for _ in 0..200 {
            let given: [DMat3; LANES] = std::array::from_fn(|_| {
                DMat3::from_cols(vector(&mut random), vector(&mut random), vector(&mut random))
            });
            let mut m = Eight::ZERO;
            for lane in 0..LANES {
                (0..9).for_each(|e| m.0[e][lane] = given[lane].col(e % 3)[e / 3]);
            }
            simd::run_with(Project { m: &mut m, lanes: LANES });
            for lane in 0..LANES {
                let r = nearest_rotation(&given[lane]);
                (0..9).for_each(|e| assert!((m.0[e][lane] - r.col(e % 3)[e / 3]).abs() < 1e-9));
            }
        }
    }
}
