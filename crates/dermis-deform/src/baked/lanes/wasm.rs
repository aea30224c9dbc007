//! Eight vertices with the vectors of WebAssembly, four in each. Every number has the bits that plain loops give it: a product and its sum
//! are rounded apart, and sums are taken in the same order.

use super::eight::{EIGHT, Eight};
use super::registers::{Columns, DualQuaternion, Four, Table};
use super::stored::Stored;
use pulp::cast;
use std::arch::wasm32::{
    f32x4_add, f32x4_div, f32x4_extract_lane, f32x4_lt, f32x4_mul, f32x4_neg, f32x4_splat, f32x4_sqrt, f32x4_sub,
    i32x4_all_true, i32x4_shuffle, v128, v128_and, v128_bitselect,
};

/// The vectors that the module is compiled for.
#[derive(Clone, Copy)]
pub(super) struct Vectors;

impl Eight for Vectors {
    /// Of the first four vertices, and of the last.
    type Lanes = [v128; 2];
    /// Columns.
    type Map = [v128; 4];
    /// By column, then by row.
    type FourMaps = [[v128; 4]; 4];
    type Motion = [v128; 2];
    /// By half, then by number.
    type FourMotions = [[v128; 4]; 2];

    #[inline(always)]
    fn zero(self) -> [v128; 4] {
        [f32x4_splat(0.0); 4]
    }

    #[inline(always)]
    fn map(self, m: &Columns) -> [v128; 4] {
        cast(m.0)
    }

    #[inline(always)]
    fn blend(self, map: [v128; 4], w: f32, m: &Columns) -> [v128; 4] {
        let m: [v128; 4] = cast(m.0);
        scaled(map, [f32x4_splat(w); 4], m)
    }

    #[inline(always)]
    fn add_product(self, map: [v128; 4], m: &Columns, a: &[f32; 4]) -> [v128; 4] {
        let m: [v128; 4] = cast(m.0);
        scaled(map, [f32x4_splat(a[0]), f32x4_splat(a[1]), f32x4_splat(a[2]), f32x4_splat(a[3])], m)
    }

    #[inline(always)]
    fn four_maps(self, [a, b, c, d]: [[v128; 4]; 4]) -> [[v128; 4]; 4] {
        [
            four_by_four([a[0], b[0], c[0], d[0]]),
            four_by_four([a[1], b[1], c[1], d[1]]),
            four_by_four([a[2], b[2], c[2], d[2]]),
            four_by_four([a[3], b[3], c[3], d[3]]),
        ]
    }

    #[inline(always)]
    fn maps(self, first: [[v128; 4]; 4], last: [[v128; 4]; 4]) -> [[[v128; 2]; 3]; 4] {
        let rows = |c: usize| {
            let (first, last) = (first[c], last[c]);
            [[first[0], last[0]], [first[1], last[1]], [first[2], last[2]]]
        };
        [rows(0), rows(1), rows(2), rows(3)]
    }

    #[inline(always)]
    fn still(self) -> [v128; 2] {
        [f32x4_splat(0.0); 2]
    }

    #[inline(always)]
    fn add_four(
        self,
        mut sum: [v128; 2],
        four: &Four,
        reference: &DualQuaternion,
        table: &(impl Table<DualQuaternion> + ?Sized),
    ) -> [v128; 2] {
        let [real, _]: [v128; 2] = cast(reference.0);
        for k in 0..4 {
            let q: [v128; 2] = cast(table.at(four.index(k)).0);
            let products = f32x4_mul(q[0], real);
            let two = f32x4_add(products, i32x4_shuffle::<2, 3, 0, 1>(products, products));
            let same = f32x4_extract_lane::<0>(two) + f32x4_extract_lane::<1>(two);
            let w = f32x4_splat(if same >= 0.0 { four.weights[k] } else { -four.weights[k] });
            sum = self.mul_add([w; 2], q, sum);
        }
        sum
    }

    #[inline(always)]
    fn four_motions(self, [a, b, c, d]: [[v128; 2]; 4]) -> [[v128; 4]; 2] {
        [four_by_four([a[0], b[0], c[0], d[0]]), four_by_four([a[1], b[1], c[1], d[1]])]
    }

    #[inline(always)]
    fn motions(self, first: [[v128; 4]; 2], last: [[v128; 4]; 2]) -> [[v128; 2]; 8] {
        let [[a, b, c, d], [e, f, g, h]] = first;
        let [[i, j, k, l], [m, n, o, p]] = last;
        [[a, i], [b, j], [c, k], [d, l], [e, m], [f, n], [g, o], [h, p]]
    }

    #[inline(always)]
    fn add_row<T: Stored>(self, sums: [[v128; 2]; 2], u: &[T], features: &Columns) -> [[v128; 2]; 2] {
        let (u, features): (_, [[v128; 2]; 2]) = (T::vectors(u), cast(features.0));
        [self.mul_add(u[0], features[0], sums[0]), self.mul_add(u[1], features[1], sums[1])]
    }

    #[inline(always)]
    fn row_sums<T: Stored>(self, s: [[[v128; 2]; 2]; EIGHT]) -> [[v128; 2]; 3] {
        let first = row_sums::<T>(self, [s[0], s[1], s[2], s[3]]);
        let last = row_sums::<T>(self, [s[4], s[5], s[6], s[7]]);
        [[first[0], last[0]], [first[1], last[1]], [first[2], last[2]]]
    }

    #[inline(always)]
    fn add_full<T: Stored>(self, s: [[v128; 2]; 6], u: &[T; 36], features: &Columns) -> [[v128; 2]; 6] {
        // Four coefficients more than an axis has, where there are any, spare a copy.
        let ([a, b], [c, d]) = (T::vectors(&u[..28]), T::vectors(&u[12..]));
        let ([p, q], [f, g]): (_, [[v128; 2]; 2]) = (T::vectors(&u[24..]), cast(features.0));
        [
            self.mul_add(a, f, s[0]),
            self.mul_add(b, g, s[1]),
            self.mul_add(c, f, s[2]),
            self.mul_add(d, g, s[3]),
            self.mul_add(p, f, s[4]),
            self.mul_add(q, g, s[5]),
        ]
    }

    #[inline(always)]
    fn full_sums(self, s: [[[v128; 2]; 6]; EIGHT]) -> [[v128; 2]; 3] {
        [axis_sums::<0>(self, &s), axis_sums::<2>(self, &s), axis_sums::<4>(self, &s)]
    }

    #[inline(always)]
    fn gather(self, points: &[f32], at: &[u32; EIGHT]) -> [[v128; 2]; 3] {
        let point =
            |lane: usize| -> v128 { cast(*points[3 * at[lane] as usize..].first_chunk::<4>().unwrap_or(&[0.0; 4])) };
        let first = four_by_four([point(0), point(1), point(2), point(3)]);
        let last = four_by_four([point(4), point(5), point(6), point(7)]);
        [[first[0], last[0]], [first[1], last[1]], [first[2], last[2]]]
    }

    #[inline(always)]
    fn wide<T: Stored>(self, row: &[T; EIGHT]) -> [v128; 2] {
        T::two(row)
    }

    #[inline(always)]
    fn split(self, points: &[f32; 3 * EIGHT]) -> [[v128; 2]; 3] {
        let [first, last]: [[v128; 3]; 2] = cast(*points);
        // x y z x, y z x y, z x y z.
        let four = |[a, b, c]: [v128; 3]| {
            [
                i32x4_shuffle::<0, 3, 6, 7>(a, i32x4_shuffle::<0, 1, 2, 5>(b, c)),
                i32x4_shuffle::<0, 1, 4, 7>(i32x4_shuffle::<1, 4, 0, 0>(a, b), i32x4_shuffle::<3, 0, 0, 6>(b, c)),
                i32x4_shuffle::<0, 1, 4, 7>(i32x4_shuffle::<2, 5, 0, 0>(a, b), c),
            ]
        };
        let (first, last) = (four(first), four(last));
        [[first[0], last[0]], [first[1], last[1]], [first[2], last[2]]]
    }

    #[inline(always)]
    fn join(self, [x, y, z]: [[v128; 2]; 3]) -> [f32; 3 * EIGHT] {
        let four = |half: usize| {
            let (x, y, z) = (x[half], y[half], z[half]);
            [
                i32x4_shuffle::<0, 1, 4, 3>(i32x4_shuffle::<0, 4, 0, 1>(x, y), z),
                i32x4_shuffle::<0, 1, 6, 2>(i32x4_shuffle::<1, 5, 2, 0>(y, z), x),
                i32x4_shuffle::<0, 1, 6, 7>(i32x4_shuffle::<6, 3, 0, 0>(x, z), i32x4_shuffle::<0, 0, 3, 7>(y, z)),
            ]
        };
        cast([four(0), four(1)])
    }

    #[inline(always)]
    fn lanes(self, a: [f32; EIGHT]) -> [v128; 2] {
        cast(a)
    }

    #[inline(always)]
    fn array(self, a: [v128; 2]) -> [f32; EIGHT] {
        cast(a)
    }

    #[inline(always)]
    fn splat(self, x: f32) -> [v128; 2] {
        [f32x4_splat(x); 2]
    }

    #[inline(always)]
    fn add(self, a: [v128; 2], b: [v128; 2]) -> [v128; 2] {
        [f32x4_add(a[0], b[0]), f32x4_add(a[1], b[1])]
    }

    #[inline(always)]
    fn sub(self, a: [v128; 2], b: [v128; 2]) -> [v128; 2] {
        [f32x4_sub(a[0], b[0]), f32x4_sub(a[1], b[1])]
    }

    #[inline(always)]
    fn mul(self, a: [v128; 2], b: [v128; 2]) -> [v128; 2] {
        [f32x4_mul(a[0], b[0]), f32x4_mul(a[1], b[1])]
    }

    #[inline(always)]
    fn div(self, a: [v128; 2], b: [v128; 2]) -> [v128; 2] {
        [f32x4_div(a[0], b[0]), f32x4_div(a[1], b[1])]
    }

    #[inline(always)]
    fn sqrt(self, a: [v128; 2]) -> [v128; 2] {
        [f32x4_sqrt(a[0]), f32x4_sqrt(a[1])]
    }

    #[inline(always)]
    fn inverse_sqrt(self, a: [v128; 2]) -> [v128; 2] {
        self.div(self.splat(1.0), self.sqrt(a))
    }

    #[inline(always)]
    fn mul_add(self, a: [v128; 2], b: [v128; 2], c: [v128; 2]) -> [v128; 2] {
        self.add(self.mul(a, b), c)
    }

    #[inline(always)]
    fn mul_sub(self, a: [v128; 2], b: [v128; 2], c: [v128; 2]) -> [v128; 2] {
        self.sub(self.mul(a, b), c)
    }

    #[inline(always)]
    fn sub_mul(self, a: [v128; 2], b: [v128; 2], c: [v128; 2]) -> [v128; 2] {
        self.mul_add([f32x4_neg(a[0]), f32x4_neg(a[1])], b, c)
    }

    #[inline(always)]
    fn min(self, a: [v128; 2], b: [v128; 2]) -> [v128; 2] {
        let [first, last] = self.less(a, b);
        [v128_bitselect(a[0], b[0], first), v128_bitselect(a[1], b[1], last)]
    }

    #[inline(always)]
    fn copy_sign(self, a: [v128; 2], b: [v128; 2]) -> [v128; 2] {
        let sign = f32x4_splat(-0.0);
        [v128_bitselect(b[0], a[0], sign), v128_bitselect(b[1], a[1], sign)]
    }

    #[inline(always)]
    fn less(self, a: [v128; 2], b: [v128; 2]) -> [v128; 2] {
        [f32x4_lt(a[0], b[0]), f32x4_lt(a[1], b[1])]
    }

    #[inline(always)]
    fn and(self, a: [v128; 2], b: [v128; 2]) -> [v128; 2] {
        [v128_and(a[0], b[0]), v128_and(a[1], b[1])]
    }

    #[inline(always)]
    fn all(self, a: [v128; 2]) -> bool {
        i32x4_all_true(v128_and(a[0], a[1]))
    }
}

/// The transpose of four rows of four.
#[inline(always)]
fn four_by_four([a, b, c, d]: [v128; 4]) -> [v128; 4] {
    let (ab, cd) = (i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<0, 4, 1, 5>(c, d));
    let (ef, gh) = (i32x4_shuffle::<2, 6, 3, 7>(a, b), i32x4_shuffle::<2, 6, 3, 7>(c, d));
    [
        i32x4_shuffle::<0, 1, 4, 5>(ab, cd),
        i32x4_shuffle::<2, 3, 6, 7>(ab, cd),
        i32x4_shuffle::<0, 1, 4, 5>(ef, gh),
        i32x4_shuffle::<2, 3, 6, 7>(ef, gh),
    ]
}

#[inline(always)]
fn all_four([a, b, c, d]: [v128; 4]) -> v128 {
    f32x4_add(f32x4_add(a, b), f32x4_add(c, d))
}

/// A map and another, its columns scaled.
#[inline(always)]
fn scaled(map: [v128; 4], w: [v128; 4], m: [v128; 4]) -> [v128; 4] {
    [
        f32x4_add(f32x4_mul(w[0], m[0]), map[0]),
        f32x4_add(f32x4_mul(w[1], m[1]), map[1]),
        f32x4_add(f32x4_mul(w[2], m[2]), map[2]),
        f32x4_add(f32x4_mul(w[3], m[3]), map[3]),
    ]
}

/// The sums of four vertices, by axis.
#[inline(always)]
fn row_sums<T: Stored>(e: Vectors, [a, b, c, d]: [[[v128; 2]; 2]; 4]) -> [v128; 3] {
    if T::INTERLEAVED {
        // Two numbers of each axis.
        let (a, b, c, d) = (e.add(a[0], a[1]), e.add(b[0], b[1]), e.add(c[0], c[1]), e.add(d[0], d[1]));
        let [x, x2, y, y2] = four_by_four([a[0], b[0], c[0], d[0]]);
        let [z, z2, ..] = four_by_four([a[1], b[1], c[1], d[1]]);
        return [f32x4_add(x, x2), f32x4_add(y, y2), f32x4_add(z, z2)];
    }
    // Four numbers of each axis.
    let sum = |fours: [v128; 4]| {
        let [a, b, c, d] = four_by_four(fours);
        f32x4_add(f32x4_add(a, c), f32x4_add(b, d))
    };
    [
        sum([a[0][0], b[0][0], c[0][0], d[0][0]]),
        sum([a[0][1], b[0][1], c[0][1], d[0][1]]),
        sum([a[1][0], b[1][0], c[1][0], d[1][0]]),
    ]
}

/// Of eight vertices, what the sums from number `AT` on come to.
#[inline(always)]
fn axis_sums<const AT: usize>(e: Vectors, s: &[[[v128; 2]; 6]; EIGHT]) -> [v128; 2] {
    let four = |at: usize| {
        let (a, b) = (e.add(s[at][AT], s[at][AT + 1]), e.add(s[at + 1][AT], s[at + 1][AT + 1]));
        let (c, d) = (e.add(s[at + 2][AT], s[at + 2][AT + 1]), e.add(s[at + 3][AT], s[at + 3][AT + 1]));
        let low = all_four(four_by_four([a[0], b[0], c[0], d[0]]));
        f32x4_add(low, all_four(four_by_four([a[1], b[1], c[1], d[1]])))
    };
    [four(0), four(4)]
}
