//! Eight vertices in plain loops.

use super::eight::{EIGHT, Eight};
use super::registers::{Columns, DualQuaternion, Four, Table};
use super::stored::Stored;
use dermis_solve::simd::Fma;
use std::marker::PhantomData;

/// Plain loops.
#[derive(Clone, Copy)]
pub(super) struct Plain<F>(pub(super) PhantomData<F>);

impl<F: Fma> Eight for Plain<F> {
    type Lanes = [f32; EIGHT];
    type Map = [f32; 16];
    type FourMaps = [[f32; 16]; 4];
    type Motion = [f32; 8];
    type FourMotions = [[f32; 8]; 4];

    #[inline(always)]
    fn zero(self) -> [f32; 16] {
        [0.0; 16]
    }

    #[inline(always)]
    fn map(self, m: &Columns) -> [f32; 16] {
        m.0
    }

    #[inline(always)]
    fn blend(self, mut map: [f32; 16], w: f32, m: &Columns) -> [f32; 16] {
        for l in 0..16 {
            map[l] = F::f32(w, m.0[l], map[l]);
        }
        map
    }

    #[inline(always)]
    fn add_product(self, mut map: [f32; 16], m: &Columns, a: &[f32; 4]) -> [f32; 16] {
        for l in 0..16 {
            map[l] = F::f32(a[l / 4], m.0[l], map[l]);
        }
        map
    }

    #[inline(always)]
    fn four_maps(self, maps: [[f32; 16]; 4]) -> [[f32; 16]; 4] {
        maps
    }

    #[inline(always)]
    fn maps(self, first: [[f32; 16]; 4], last: [[f32; 16]; 4]) -> [[[f32; EIGHT]; 3]; 4] {
        let mut over = [[[0.0; EIGHT]; 3]; 4];
        for c in 0..4 {
            for r in 0..3 {
                for l in 0..4 {
                    over[c][r][l] = first[l][4 * c + r];
                    over[c][r][4 + l] = last[l][4 * c + r];
                }
            }
        }
        over
    }

    #[inline(always)]
    fn still(self) -> [f32; 8] {
        [0.0; 8]
    }

    #[inline(always)]
    fn add_four(
        self,
        mut sum: [f32; 8],
        four: &Four,
        reference: &DualQuaternion,
        table: &(impl Table<DualQuaternion> + ?Sized),
    ) -> [f32; 8] {
        let r = &reference.0;
        for k in 0..4 {
            let q = &table.at(four.index(k)).0;
            let same = (q[0] * r[0] + q[2] * r[2]) + (q[1] * r[1] + q[3] * r[3]);
            let w = if same >= 0.0 { four.weights[k] } else { -four.weights[k] };
            for l in 0..8 {
                sum[l] = F::f32(w, q[l], sum[l]);
            }
        }
        sum
    }

    #[inline(always)]
    fn four_motions(self, sums: [[f32; 8]; 4]) -> [[f32; 8]; 4] {
        sums
    }

    #[inline(always)]
    fn motions(self, first: [[f32; 8]; 4], last: [[f32; 8]; 4]) -> [[f32; EIGHT]; 8] {
        let mut over = [[0.0; EIGHT]; 8];
        for i in 0..8 {
            for l in 0..4 {
                over[i][l] = first[l][i];
                over[i][4 + l] = last[l][i];
            }
        }
        over
    }

    #[inline(always)]
    fn add_row<T: Stored>(self, mut sums: [[f32; 8]; 2], u: &[T], features: &Columns) -> [[f32; 8]; 2] {
        let u = T::arranged(u);
        for (half, sums) in sums.iter_mut().enumerate() {
            for l in 0..8 {
                sums[l] = F::f32(u[8 * half + l], features.0[8 * half + l], sums[l]);
            }
        }
        sums
    }

    #[inline(always)]
    fn row_sums<T: Stored>(self, sums: [[[f32; 8]; 2]; EIGHT]) -> [[f32; EIGHT]; 3] {
        let mut over = [[0.0; EIGHT]; 3];
        for (l, [a, b]) in sums.iter().enumerate() {
            for j in 0..3 {
                over[j][l] = match T::INTERLEAVED {
                    false if j < 2 => (a[4 * j] + a[4 * j + 2]) + (a[4 * j + 1] + a[4 * j + 3]),
                    false => (b[0] + b[2]) + (b[1] + b[3]),
                    true => (a[2 * j] + b[2 * j]) + (a[2 * j + 1] + b[2 * j + 1]),
                };
            }
        }
        over
    }

    #[inline(always)]
    fn add_full<T: Stored>(self, mut sums: [[f32; 8]; 6], u: &[T; 36], features: &Columns) -> [[f32; 8]; 6] {
        for axis in 0..3 {
            let u = T::arranged(&u[12 * axis..]);
            for half in 0..2 {
                for l in 0..8 {
                    let at = 8 * half + l;
                    sums[2 * axis + half][l] = F::f32(u[at], features.0[at], sums[2 * axis + half][l]);
                }
            }
        }
        sums
    }

    #[inline(always)]
    fn full_sums(self, sums: [[[f32; 8]; 6]; EIGHT]) -> [[f32; EIGHT]; 3] {
        let mut over = [[0.0; EIGHT]; 3];
        for (l, sums) in sums.iter().enumerate() {
            for axis in 0..3 {
                let s: [f32; 8] = std::array::from_fn(|i| sums[2 * axis][i] + sums[2 * axis + 1][i]);
                over[axis][l] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
            }
        }
        over
    }

    #[inline(always)]
    fn gather(self, points: &[f32], at: &[u32; EIGHT]) -> [[f32; EIGHT]; 3] {
        let mut over = [[0.0; EIGHT]; 3];
        for l in 0..EIGHT {
            for j in 0..3 {
                over[j][l] = points[3 * at[l] as usize + j];
            }
        }
        over
    }

    #[inline(always)]
    fn wide<T: Stored>(self, row: &[T; EIGHT]) -> [f32; EIGHT] {
        row.map(T::wide)
    }

    #[inline(always)]
    fn split(self, points: &[f32; 3 * EIGHT]) -> [[f32; EIGHT]; 3] {
        let mut over = [[0.0; EIGHT]; 3];
        for l in 0..EIGHT {
            for j in 0..3 {
                over[j][l] = points[3 * l + j];
            }
        }
        over
    }

    #[inline(always)]
    fn join(self, coordinates: [[f32; EIGHT]; 3]) -> [f32; 3 * EIGHT] {
        let mut points = [0.0; 3 * EIGHT];
        for l in 0..EIGHT {
            for j in 0..3 {
                points[3 * l + j] = coordinates[j][l];
            }
        }
        points
    }

    #[inline(always)]
    fn lanes(self, a: [f32; EIGHT]) -> [f32; EIGHT] {
        a
    }

    #[inline(always)]
    fn array(self, a: [f32; EIGHT]) -> [f32; EIGHT] {
        a
    }

    #[inline(always)]
    fn splat(self, x: f32) -> [f32; EIGHT] {
        [x; EIGHT]
    }

    #[inline(always)]
    fn add(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| a[l] + b[l])
    }

    #[inline(always)]
    fn sub(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| a[l] - b[l])
    }

    #[inline(always)]
    fn mul(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| a[l] * b[l])
    }

    #[inline(always)]
    fn div(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| a[l] / b[l])
    }

    #[inline(always)]
    fn sqrt(self, a: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| a[l].sqrt())
    }

    #[inline(always)]
    fn inverse_sqrt(self, a: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| 1.0 / a[l].sqrt())
    }

    #[inline(always)]
    fn mul_add(self, a: [f32; EIGHT], b: [f32; EIGHT], c: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| F::f32(a[l], b[l], c[l]))
    }

    #[inline(always)]
    fn mul_sub(self, a: [f32; EIGHT], b: [f32; EIGHT], c: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| F::f32(a[l], b[l], -c[l]))
    }

    #[inline(always)]
    fn sub_mul(self, a: [f32; EIGHT], b: [f32; EIGHT], c: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| F::f32(-a[l], b[l], c[l]))
    }

    #[inline(always)]
    fn min(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| if a[l] < b[l] { a[l] } else { b[l] })
    }

    #[inline(always)]
    fn copy_sign(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| a[l].copysign(b[l]))
    }

    #[inline(always)]
    fn less(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| f32::from_bits(if a[l] < b[l] { u32::MAX } else { 0 }))
    }

    #[inline(always)]
    fn and(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        std::array::from_fn(|l| f32::from_bits(a[l].to_bits() & b[l].to_bits()))
    }

    #[inline(always)]
    fn all(self, a: [f32; EIGHT]) -> bool {
        a.iter().fold(u32::MAX, |all, x| all & x.to_bits()) != 0
    }
}
