//! The nearest rotations of all bones in all frames, eight frames at a time.

use crate::decompose::gram::Bones;
use crate::decompose::matrix::Matrix;
use crate::decompose::problem::{Frames, LANES};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::rotation::nearest_rotation;
use dermis_solve::simd::{self, Fma, Kernel};
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
                let mut m = [[0.0; LANES]; 9];
                for i in 0..3 {
                    let (t, mean) = (&full.row(i, k)[start..], &frames.mean.row(i)[start..]);
                    for axis in 0..3 {
                        for lane in 0..lanes {
                            m[3 * axis + i][lane] = t[axis * lanes + lane] + mean[axis * lanes + lane];
                        }
                    }
                }
                simd::run(Polar { m: &mut m, lanes });
                for i in 0..3 {
                    let mean = &frames.mean.row(i)[start..];
                    for axis in 0..3 {
                        for lane in 0..lanes {
                            part.row_mut(3 * k + i)[axis * lanes + lane] =
                                m[3 * axis + i][lane] - mean[axis * lanes + lane];
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

/// Replaces each of eight matrices by the nearest rotation, by Newton's iteration X ← (g X + X⁻ᵀ / g) / 2 with g² =
/// |X⁻¹| / |X|.
///
/// A matrix that is nearly singular, or that mirrors, goes to [`nearest_rotation`] instead.
///
/// Source: Higham 1986, "Computing the polar decomposition – with applications".
pub struct Polar<'a> {
    /// Nine entries, row-major, of eight matrices.
    pub m: &'a mut [[f64; LANES]; 9],
    /// How many of the eight are used.
    pub lanes: usize,
}

impl Kernel for Polar<'_> {
    type Output = ();
    #[inline(always)]
    fn run<F: Fma>(self) {
        let given = *self.m;
        let mut hard = [false; LANES];
        let x = self.m;
        // The scaled iteration converges quadratically from the start; ten steps are ample at a condition of 1e4.
        let mut scaled = true;
        for step in 0..10 {
            let (mut change, mut apart) = (0.0f64, 0.0f64);
            let mut c = [[0.0; LANES]; 9];
            for lane in 0..LANES {
                c[0][lane] = x[4][lane] * x[8][lane] - x[5][lane] * x[7][lane];
                c[1][lane] = x[5][lane] * x[6][lane] - x[3][lane] * x[8][lane];
                c[2][lane] = x[3][lane] * x[7][lane] - x[4][lane] * x[6][lane];
                c[3][lane] = x[7][lane] * x[2][lane] - x[8][lane] * x[1][lane];
                c[4][lane] = x[8][lane] * x[0][lane] - x[6][lane] * x[2][lane];
                c[5][lane] = x[6][lane] * x[1][lane] - x[7][lane] * x[0][lane];
                c[6][lane] = x[1][lane] * x[5][lane] - x[2][lane] * x[4][lane];
                c[7][lane] = x[2][lane] * x[3][lane] - x[0][lane] * x[5][lane];
                c[8][lane] = x[0][lane] * x[4][lane] - x[1][lane] * x[3][lane];
            }
            for lane in 0..LANES {
                let det = x[0][lane] * c[0][lane] + x[1][lane] * c[1][lane] + x[2][lane] * c[2][lane];
                let mut g = 1.0;
                if scaled {
                    let size: f64 = (0..9).map(|e| x[e][lane] * x[e][lane]).sum();
                    let inverse: f64 = (0..9).map(|e| c[e][lane] * c[e][lane]).sum();
                    if step == 0 {
                        hard[lane] = det.is_nan() || det <= 1e-4 * size * size.sqrt();
                    }
                    if !hard[lane] {
                        g = (inverse / size).sqrt() / det;
                        apart = apart.max((g - 1.0).abs());
                        g = g.sqrt();
                    }
                }
                let safe = if hard[lane] { 1.0 } else { det };
                let (near, far) = (0.5 * g, 0.5 / (g * safe));
                for e in 0..9 {
                    let next = if hard[lane] { x[e][lane] } else { near * x[e][lane] + far * c[e][lane] };
                    change = change.max((next - x[e][lane]).abs());
                    x[e][lane] = next;
                }
            }
            // Near a rotation the plain iteration converges as fast.
            scaled = apart > 0.1;
            if change < 1e-8 {
                // Convergence is quadratic: the next step would change nothing in double precision.
                break;
            }
        }
        for lane in (0..self.lanes).filter(|&lane| hard[lane]) {
            let at = |row: usize, col: usize| given[3 * row + col][lane];
            let m = DMat3::from_cols(
                DVec3::new(at(0, 0), at(1, 0), at(2, 0)),
                DVec3::new(at(0, 1), at(1, 1), at(2, 1)),
                DVec3::new(at(0, 2), at(1, 2), at(2, 2)),
            );
            let r = nearest_rotation(&m);
            (0..3).for_each(|row| (0..3).for_each(|col| x[3 * row + col][lane] = r.col(col)[row]));
        }
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
            let mut m = [[0.0; LANES]; 9];
            for lane in 0..LANES {
                (0..9).for_each(|e| m[e][lane] = given[lane].col(e % 3)[e / 3]);
            }
            Polar { m: &mut m, lanes: LANES }.run::<simd::Apart>();
            for lane in 0..LANES {
                let r = nearest_rotation(&given[lane]);
                (0..9).for_each(|e| assert!((m[e][lane] - r.col(e % 3)[e / 3]).abs() < 1e-9));
            }
        }
    }
}
