//! One regression of one block of vertices, a vertex in every lane.

use super::part::{Part, Shift};
use super::systems::{Dual, Primal};
use super::{Blocks, Room, WIDEST};
use dermis_deform::enveloping::EnvelopingForm;
use dermis_solve::batched::{Complex, Real, solve};
use dermis_solve::element::Element;
use dermis_solve::simd::{Simd, WithSimd};

/// One part of one block.
pub(super) struct Run<'a, T> {
    pub blocks: &'a Blocks<T>,
    pub part: &'a Part<T>,
    pub room: &'a mut Room<T>,
}

impl<T: Element> WithSimd for Run<'_, T> {
    /// Which lanes are well enough conditioned.
    type Output = [bool; WIDEST];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [bool; WIDEST] {
        let Self { blocks, part, room } = self;
        let (rows, bones, columns) = (blocks.rows, blocks.bones, part.columns.len());
        let per_bone = columns / bones.max(1);
        // A block of `T::LANES` numbers is this many vectors of the level.
        let vectors = T::LANES / T::lanes::<S>();
        let dual = part.dual();
        let size = if dual { rows } else { columns };
        let paper = !part.mean.is_empty();
        let sides = part.axes + usize::from(paper);
        let mut fine = [true; WIDEST];
        let mu = T::vectors::<S>(room.maps.get(bones * T::LANES));
        let targets = if blocks.summed { 36 * bones } else { 3 * rows };
        let y = T::vectors::<S>(room.targets.get(targets * T::LANES));
        // Where a column and axis stand in a vertex's coefficients.
        let place = |axis: usize, c: usize| match blocks.form {
            EnvelopingForm::Full => 36 * (c / 12) + 12 * axis + c % 12,
            EnvelopingForm::Row => c,
        };
        let out = T::vectors_mut::<S>(room.coefficients.get(36 * bones * T::LANES));
        for h in 0..vectors {
            let zero = T::splat(simd, T::default());
            let mu_at = |bone: usize| mu[bone * vectors + h];
            let y_at = |axis: usize, row: usize| y[((part.first_axis + axis) * rows + row) * vectors + h];
            // Squared maps, then right-hand sides, then answers, one vector each.
            let b = T::vectors_mut::<S>(room.sides.get((bones + columns + (sides + 1) * size) * T::lanes::<S>()));
            let (maps, b) = b.split_at_mut(bones);
            let (scales, b) = b.split_at_mut(columns);
            let mut trace = zero;
            for k in 0..bones {
                maps[k] = T::mul(simd, mu_at(k), mu_at(k));
            }
            for c in 0..columns {
                scales[c] = mu_at(c / per_bone);
                trace = T::mul_add(simd, maps[c / per_bone], T::splat(simd, part.squares[c]), trace);
            }
            let mut traces = [T::default(); WIDEST];
            T::store(simd, &mut traces[..T::lanes::<S>()], trace);
            for lane in 0..T::lanes::<S>() {
                fine[h * T::lanes::<S>() + lane] = part.traces.contains(&traces[lane].wide());
            }
            // Σ r y of each axis, by which features as they are differ from centred ones.
            let mut sums = [zero; 3];
            if paper {
                for axis in 0..part.axes {
                    for row in 0..rows {
                        let r = T::splat(simd, T::rounded(blocks.scale[row]));
                        sums[axis] = T::mul_add(simd, y_at(axis, row), r, sums[axis]);
                    }
                }
            }
            for axis in 0..part.axes {
                let side = &mut b[axis * size..(axis + 1) * size];
                if dual {
                    for row in 0..rows {
                        side[row] = y_at(axis, row);
                    }
                } else if blocks.summed {
                    for c in 0..columns {
                        side[c] = match part.squares[c] > T::default() {
                            true => T::mul(simd, y[place(axis, part.columns[c]) * vectors + h], scales[c]),
                            false => zero,
                        };
                    }
                } else {
                    let from = (part.first_axis + axis) * rows * vectors;
                    product::<S, T>(simd, &part.x, rows, &y[from..from + rows * vectors], h, vectors, side);
                    for c in 0..columns {
                        if paper {
                            side[c] = T::mul_add(simd, T::splat(simd, part.mean[c]), sums[axis], side[c]);
                        }
                        side[c] = T::mul(simd, side[c], scales[c]);
                    }
                }
            }
            if paper {
                let side = &mut b[part.axes * size..(part.axes + 1) * size];
                for i in 0..size {
                    side[i] = match dual {
                        true => {
                            let mut sum = zero;
                            for k in 0..bones {
                                sum = T::mul_add(simd, maps[k], T::splat(simd, part.mean_rows[i * bones + k]), sum);
                            }
                            sum
                        }
                        false => T::mul(simd, T::splat(simd, part.mean[i]), scales[i]),
                    };
                }
            }
            let z = T::vectors_mut::<S>(room.answers.get((sides + 1) * size * T::lanes::<S>()));
            {
                let (b, z, factor) = (&*b, &mut *z, &mut room.factor);
                let imaginary_side = if paper && dual { part.axes } else { usize::MAX };
                match (part.shift, dual) {
                    (Shift::Real(s), false) => {
                        let mut systems = Primal { simd, gram: &part.gram, scales, b, z, size };
                        solve::<S, T, Real<T::Vector<S>>>(simd, factor, size, T::rounded(s), sides, &mut systems);
                    }
                    (Shift::Real(s), true) => {
                        let mut systems = Dual { simd, kernels: &part.kernels, maps, b, z, size, imaginary_side };
                        solve::<S, T, Real<T::Vector<S>>>(simd, factor, size, T::rounded(s), sides, &mut systems);
                    }
                    (Shift::Imaginary(a), false) => {
                        let mut systems = Primal { simd, gram: &part.gram, scales, b, z, size };
                        solve::<S, T, Complex<T::Vector<S>>>(simd, factor, size, T::rounded(a), sides, &mut systems);
                    }
                    (Shift::Imaginary(a), true) => {
                        let mut systems = Dual { simd, kernels: &part.kernels, maps, b, z, size, imaginary_side };
                        solve::<S, T, Complex<T::Vector<S>>>(simd, factor, size, T::rounded(a), sides, &mut systems);
                    }
                }
            }
            if paper {
                let (q, rest) = z.split_at_mut(part.axes * size);
                let q2 = &mut rest[..size];
                let mean = &b[part.axes * size..(part.axes + 1) * size];
                if let (Shift::Imaginary(a), true) = (part.shift, dual) {
                    let by = T::splat(simd, T::rounded(-1.0 / a));
                    for i in 0..size {
                        q2[i] = T::mul(simd, q2[i], by);
                    }
                    for axis in 0..part.axes {
                        for i in 0..size {
                            q[axis * size + i] = T::mul_add(simd, sums[axis], q2[i], q[axis * size + i]);
                        }
                    }
                }
                let mass = T::splat(simd, T::rounded(blocks.mass));
                let mut under = zero;
                for i in 0..size {
                    under = T::mul_add(simd, mean[i], q2[i], under);
                }
                let under = T::mul_add(simd, mass, under, T::splat(simd, T::rounded(1.0)));
                for axis in 0..part.axes {
                    let q1 = &mut q[axis * size..(axis + 1) * size];
                    let mut over = zero;
                    for i in 0..size {
                        over = T::mul_add(simd, mean[i], q1[i], over);
                    }
                    let by = T::div(simd, T::mul(simd, mass, over), under);
                    for i in 0..size {
                        q1[i] = T::less_product(simd, q1[i], q2[i], by);
                    }
                }
            }
            let made = T::vectors_mut::<S>(room.factor.get(columns * T::lanes::<S>()));
            for axis in 0..part.axes {
                let z = &z[axis * size..(axis + 1) * size];
                if dual {
                    product::<S, T>(simd, &part.x, rows, z, 0, 1, made);
                }
                for (at, &c) in part.columns.iter().enumerate() {
                    let u = match dual {
                        true => T::mul(simd, maps[at / per_bone], made[at]),
                        false => T::mul(simd, scales[at], z[at]),
                    };
                    out[place(axis, c) * vectors + h] = u;
                }
            }
        }
        fine
    }
}

/// Xᵀ y: `x` column after column, y_row at `step`·row + `first`, into one vector per column.
#[inline(always)]
fn product<S: Simd, T: Element>(
    simd: S,
    x: &[T],
    rows: usize,
    y: &[T::Vector<S>],
    first: usize,
    step: usize,
    out: &mut [T::Vector<S>],
) {
    const COLUMNS: usize = 8;
    if rows == 0 {
        return;
    }
    for (x, out) in x.chunks(COLUMNS * rows).zip(out.chunks_mut(COLUMNS)) {
        let mut sums = [T::splat(simd, T::default()); COLUMNS];
        if out.len() == COLUMNS {
            let columns: [&[T]; COLUMNS] = [
                &x[..rows],
                &x[rows..2 * rows],
                &x[2 * rows..3 * rows],
                &x[3 * rows..4 * rows],
                &x[4 * rows..5 * rows],
                &x[5 * rows..6 * rows],
                &x[6 * rows..7 * rows],
                &x[7 * rows..8 * rows],
            ];
            for row in 0..rows {
                let y = y[row * step + first];
                for k in 0..COLUMNS {
                    sums[k] = T::mul_add(simd, T::splat(simd, columns[k][row]), y, sums[k]);
                }
            }
        } else {
            for (sum, x) in sums.iter_mut().zip(x.chunks_exact(rows)) {
                for row in 0..rows {
                    *sum = T::mul_add(simd, T::splat(simd, x[row]), y[row * step + first], *sum);
                }
            }
        }
        out.copy_from_slice(&sums[..out.len()]);
    }
}
