//! The regression of several vertices of one group from sums over rows: a cost linear in poses.
//!
//! With rows s over poses, free features Z (S × M, common to the three axes) and shared features B_j (S × c, their coefficients common
//! to the axes), the minimum of
//!
//! ```text
//! Σ_j |y_j − Z u_j − B_j q|² + λ ( Σ_j |u_j|² + |q|² )
//! ```
//!
//! depends on the sums ZᵀZ, Zᵀ[y_j B_j] and Σ_j [y_j B_j]ᵀ[y_j B_j] alone. With ZᵀZ + λ = L Lᵀ, once for all vertices of a group,
//! and W_j = L⁻¹ Zᵀ B_j, w_j = L⁻¹ Zᵀ y_j,
//!
//! ```text
//! G q = Σ_j (B_jᵀ y_j − W_jᵀ w_j),   G = λ + Σ_j (B_jᵀ B_j − W_jᵀ W_j)   (order c),   u_j = L⁻ᵀ (w_j − W_j q).
//! ```
//!
//! **Mirror images.** Coefficients stand for this side, U, and for the other side alone, V. A pose reads U, its image c U + √(1 − c²) V
//! ([`rows`](super::rows)). So both are summed apart, by features that are not there twice: with own sums O and those of images I,
//! a matrix over (U, V) has the blocks O + c² I, c √(1 − c²) I and (1 − c²) I.
//!
//! **Leaving poses out.** Many rows that are left out together are subtracted from the sums, the rest is solved again, and the sums over
//! what is left out give the error. Few are cheaper by their leverage, which [`solve`](super::solve) does.

use dermis_solve::SolveError;
use dermis_solve::faer::linalg::matmul::matmul;
use dermis_solve::faer::linalg::solvers::Llt;
use dermis_solve::faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use dermis_solve::faer::prelude::Solve;
use dermis_solve::faer::{Accum, Mat, MatRef, Par, Side};
use std::ops::Range;

/// Poses, or their mirror images: features and targets of several vertices.
pub(super) struct Rows {
    /// Z, S × M.
    pub free: Mat<f64>,
    /// Columns of S numbers: per vertex its targets along the three axes, then its shared features, each with its three axes.
    pub columns: Vec<f64>,
}

/// Vertices of a group with all their rows.
pub(super) struct Vertices {
    /// Poses, then their mirror images if these are known.
    pub sides: Vec<Rows>,
    /// Number c of shared features of each vertex.
    pub shared: Vec<usize>,
    /// How an image reads coefficients: c and √(1 − c²).
    pub reads: [f64; 2],
}

/// Sums over some poses, side by side.
#[derive(Clone)]
pub(super) struct Sums(Vec<SideSums>);

#[derive(Clone)]
struct SideSums {
    /// ZᵀZ.
    gram: Mat<f64>,
    /// Zᵀ columns.
    moments: Mat<f64>,
    /// Σ_j [y_j B_j]ᵀ[y_j B_j] per vertex.
    shared: Vec<Mat<f64>>,
}

/// Coefficients of one vertex, and what its leverages are made of.
pub(super) struct Solution {
    /// Sides · M × 3.
    pub u: Mat<f64>,
    /// Sides · c.
    pub q: Mat<f64>,
    /// W_j, one axis after the other, each after w_j.
    w: Mat<f64>,
    /// The factor of G; `None` without shared features.
    shared: Option<Llt<f64>>,
}

impl Sums {
    /// Sums over nothing, for some vertices.
    fn none(of: &Vertices) -> Self {
        let columns = 3 * (of.shared.len() + of.shared.iter().sum::<usize>());
        let of_side = |_: &Rows| SideSums {
            gram: Mat::zeros(of.free(), of.free()),
            moments: Mat::zeros(of.free(), columns),
            shared: of.shared.iter().map(|c| Mat::zeros(1 + c, 1 + c)).collect(),
        };
        Self(of.sides.iter().map(of_side).collect())
    }

    /// Takes ZᵀZ of every side from elsewhere.
    pub fn take_grams(&mut self, grams: impl Iterator<Item = Mat<f64>>) {
        self.0.iter_mut().zip(grams).for_each(|(side, gram)| side.gram = gram);
    }

    /// Adds sums over other poses.
    pub fn add(&mut self, part: &Self) {
        for (sums, part) in self.0.iter_mut().zip(&part.0) {
            sums.gram += &part.gram;
            sums.moments += &part.moments;
            sums.shared.iter_mut().zip(&part.shared).for_each(|(sum, part)| *sum += part);
        }
    }

    /// The sums over the poses that `part` is not made of.
    pub fn without(&self, part: &Self) -> Self {
        let difference = |a: &SideSums, b: &SideSums| SideSums {
            gram: &a.gram - &b.gram,
            moments: &a.moments - &b.moments,
            shared: a.shared.iter().zip(&b.shared).map(|(a, b)| a - b).collect(),
        };
        Self(self.0.iter().zip(&part.0).map(|(a, b)| difference(a, b)).collect())
    }
}

impl Vertices {
    /// How the rows of a side read U and V.
    pub fn reads_of(&self, side: usize) -> [f64; 2] {
        if side == 0 { [1.0, 0.0] } else { self.reads }
    }

    /// Number of poses.
    pub fn poses(&self) -> usize {
        self.sides[0].free.nrows()
    }

    /// Free features of one side.
    fn free(&self) -> usize {
        self.sides[0].free.ncols()
    }

    /// Where the columns of a vertex start, counted in columns.
    fn start(&self, vertex: usize) -> usize {
        3 * (vertex + self.shared[..vertex].iter().sum::<usize>())
    }

    /// [y_j B_j] of a vertex and axis: S × (1 + c).
    fn axis(&self, side: usize, vertex: usize, axis: usize) -> MatRef<'_, f64> {
        let rows = self.poses();
        let columns = &self.sides[side].columns[rows * (self.start(vertex) + axis)..];
        MatRef::from_column_major_slice_with_stride(columns, rows, 1 + self.shared[vertex], 3 * rows)
    }

    /// Sums over a range of poses, and over their mirror images.
    pub fn sums(&self, poses: Range<usize>) -> Sums {
        let mut sums = self.moments(poses.clone());
        sums.take_grams(self.sides.iter().map(|rows| {
            let z = rows.free.get(poses.clone(), ..);
            z.transpose() * z
        }));
        sums
    }

    /// The same without ZᵀZ.
    pub fn moments(&self, poses: Range<usize>) -> Sums {
        let mut sums = Sums::none(self);
        for (side, (rows, sums)) in self.sides.iter().zip(&mut sums.0).enumerate() {
            let z = rows.free.get(poses.clone(), ..);
            let count = sums.moments.ncols();
            let columns = MatRef::from_column_major_slice(&rows.columns, self.poses(), count).get(poses.clone(), ..);
            matmul(sums.moments.as_mut(), Accum::Replace, z.transpose(), columns, 1.0, Par::Seq);
            for (vertex, sum) in sums.shared.iter_mut().enumerate() {
                for axis in 0..3 {
                    let part = self.axis(side, vertex, axis).get(poses.clone(), ..);
                    matmul(sum.as_mut(), Accum::Add, part.transpose(), part, 1.0, Par::Seq);
                }
            }
        }
        sums
    }

    /// A matrix over (U, V) from those of each side.
    fn combined(&self, of_side: &[MatRef<'_, f64>]) -> Mat<f64> {
        let own = of_side[0];
        let Some(image) = of_side.get(1) else { return own.to_owned() };
        let ([c, d], (rows, columns)) = (self.reads, (own.nrows(), own.ncols()));
        let mut both = Mat::zeros(2 * rows, 2 * columns);
        for (k, (own, image)) in own.col_iter().zip(image.col_iter()).enumerate() {
            for (at, read) in [(k, c), (columns + k, d)] {
                let (upper, lower) = both.col_as_slice_mut(at).split_at_mut(rows);
                upper.iter_mut().zip(image.iter()).for_each(|(x, image)| *x = c * read * image);
                lower.iter_mut().zip(image.iter()).for_each(|(x, image)| *x = d * read * image);
            }
            both.col_as_slice_mut(k).iter_mut().zip(own.iter()).for_each(|(x, own)| *x += own);
        }
        both
    }

    /// A column over (U, V): images read their targets whole.
    fn combined_targets(&self, of_side: &[MatRef<'_, f64>]) -> Mat<f64> {
        let own = of_side[0];
        let Some(image) = of_side.get(1) else { return own.to_owned() };
        let ([c, d], rows) = (self.reads, own.nrows());
        Mat::from_fn(2 * rows, own.ncols(), |i, k| match i < rows {
            true => own[(i, k)] + c * image[(i, k)],
            false => d * image[(i - rows, k)],
        })
    }

    /// L of ZᵀZ + λ.
    pub fn factor(&self, sums: &Sums, lambda: f64) -> Result<Llt<f64>, SolveError> {
        let mut gram = self.combined(&sums.0.iter().map(|side| side.gram.as_ref()).collect::<Vec<_>>());
        (0..gram.nrows()).for_each(|i| gram[(i, i)] += lambda);
        gram.llt(Side::Lower).map_err(|_| SolveError::NotPositive)
    }

    /// Solves one vertex; `factor` is that of the same sums and λ.
    pub fn solve(&self, sums: &Sums, lambda: f64, factor: &Llt<f64>, vertex: usize) -> Result<Solution, SolveError> {
        let (c, sides, m) = (self.shared[vertex], self.sides.len(), self.sides.len() * self.free());
        let (start, width) = (self.start(vertex), 1 + sides * c);
        let mut w = Mat::<f64>::zeros(m, 3 * width);
        for axis in 0..3 {
            let part = |side: &SideSums, from: usize, count: usize| {
                Mat::from_fn(self.free(), count, |i, k| side.moments[(i, start + axis + 3 * (from + k))])
            };
            let targets: Vec<_> = sums.0.iter().map(|side| part(side, 0, 1)).collect();
            let features: Vec<_> = sums.0.iter().map(|side| part(side, 1, c)).collect();
            let targets = self.combined_targets(&targets.iter().map(Mat::as_ref).collect::<Vec<_>>());
            let features = self.combined(&features.iter().map(Mat::as_ref).collect::<Vec<_>>());
            w.get_mut(.., axis * width..axis * width + 1).copy_from(&targets);
            w.get_mut(.., axis * width + 1..(axis + 1) * width).copy_from(&features);
        }
        solve_lower_triangular_in_place(factor.L(), w.as_mut(), Par::Seq);
        let (mut q, mut shared) = (Mat::zeros(0, 1), None);
        if c > 0 {
            let of_sides: Vec<_> = sums.0.iter().map(|side| side.shared[vertex].get(1.., 1..)).collect();
            let mut gram = self.combined(&of_sides);
            let of_sides: Vec<_> = sums.0.iter().map(|side| side.shared[vertex].get(1.., ..1)).collect();
            let mut right = self.combined_targets(&of_sides);
            (0..gram.nrows()).for_each(|i| gram[(i, i)] += lambda);
            for axis in 0..3 {
                let features = w.get(.., axis * width + 1..(axis + 1) * width);
                matmul(gram.as_mut(), Accum::Add, features.transpose(), features, -1.0, Par::Seq);
                matmul(
                    right.as_mut(),
                    Accum::Add,
                    features.transpose(),
                    w.get(.., axis * width..axis * width + 1),
                    -1.0,
                    Par::Seq,
                );
            }
            let of_gram = gram.llt(Side::Lower).map_err(|_| SolveError::NotPositive)?;
            q = of_gram.solve(&right);
            shared = Some(of_gram);
        }
        let mut u = Mat::from_fn(m, 3, |i, axis| w[(i, axis * width)]);
        if c > 0 {
            for axis in 0..3 {
                let features = w.get(.., axis * width + 1..(axis + 1) * width);
                matmul(u.get_mut(.., axis..axis + 1), Accum::Add, features, q.as_ref(), -1.0, Par::Seq);
            }
        }
        solve_upper_triangular_in_place(factor.L().transpose(), u.as_mut(), Par::Seq);
        Ok(Solution { u, q, w, shared })
    }

    /// Sum of the squared residuals of all poses of some sums, mirror images apart.
    pub fn squares_of(&self, sums: &Sums, solution: &Solution, vertex: usize) -> f64 {
        let (own, m, c) = (&sums.0[0], self.free(), self.shared[vertex]);
        let start = self.start(vertex);
        let q = |k: usize| if k == 0 { -1.0 } else { solution.q[(k - 1, 0)] };
        let mut sum = 0.0;
        // |y − Z u − B q|² = [−1 q]ᵀ [y B]ᵀ[y B] [−1 q] + 2 uᵀ Zᵀ[y B] [−1 q] + uᵀ ZᵀZ u, over the axes.
        for axis in 0..3 {
            for i in 0..m {
                let known: f64 = (0..=c).map(|k| own.moments[(i, start + 3 * k + axis)] * q(k)).sum();
                let free: f64 = (0..m).map(|l| own.gram[(l, i)] * solution.u[(l, axis)]).sum();
                sum += solution.u[(i, axis)] * (2.0 * known + free);
            }
        }
        let shared = &own.shared[vertex];
        for k in 0..=c {
            sum += q(k) * (0..=c).map(|l| q(l) * shared[(l, k)]).sum::<f64>();
        }
        // Of targets that are met, rounding may leave less than nothing.
        sum.max(0.0)
    }

    /// Sum of the squared residuals of some poses, mirror images apart.
    pub fn squares(&self, solution: &Solution, vertex: usize, poses: Range<usize>) -> f64 {
        let (m, c) = (self.free(), self.shared[vertex]);
        let z = self.sides[0].free.get(poses.clone(), ..);
        let of_axis = |axis: usize| {
            let known = self.axis(0, vertex, axis).get(poses.clone(), ..);
            let mut left = known.get(.., ..1).to_owned();
            matmul(left.as_mut(), Accum::Add, z, solution.u.get(..m, axis..axis + 1), -1.0, Par::Seq);
            if c > 0 {
                matmul(left.as_mut(), Accum::Add, known.get(.., 1..), solution.q.get(..c, ..), -1.0, Par::Seq);
            }
            left.squared_norm_l2()
        };
        (0..3).map(of_axis).sum()
    }

    /// The largest leverage of a pose along any axis, mirror images apart:
    /// |L⁻¹ z|² + |K⁻¹ (b_j − W_jᵀ L⁻¹ z)|² with G = K Kᵀ.
    pub fn largest_leverage(&self, solution: &Solution, factor: &Llt<f64>, vertex: usize) -> f64 {
        let (sides, c, rows) = (self.sides.len(), self.shared[vertex], self.poses());
        let (m, width) = (self.free(), 1 + sides * c);
        let own = &self.sides[0].free;
        let mut z = Mat::from_fn(sides * m, rows, |i, s| if i < m { own[(s, i)] } else { 0.0 });
        solve_lower_triangular_in_place(factor.L(), z.as_mut(), Par::Seq);
        let free: Vec<f64> = z.col_iter().map(|column| column.squared_norm_l2()).collect();
        let Some(of_gram) = &solution.shared else { return free.into_iter().fold(0.0, f64::max) };
        let mut largest = 0.0f64;
        for axis in 0..3 {
            let known = self.axis(0, vertex, axis);
            let mut left = Mat::from_fn(sides * c, rows, |k, s| if k < c { known[(s, 1 + k)] } else { 0.0 });
            let features = solution.w.get(.., axis * width + 1..(axis + 1) * width);
            matmul(left.as_mut(), Accum::Add, features.transpose(), z.as_ref(), -1.0, Par::Seq);
            solve_lower_triangular_in_place(of_gram.L(), left.as_mut(), Par::Seq);
            let of_rows = left.col_iter().zip(&free).map(|(column, free)| free + column.squared_norm_l2());
            largest = of_rows.fold(largest, f64::max);
        }
        largest
    }
}
