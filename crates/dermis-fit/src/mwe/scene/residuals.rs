//! What a vertex's base misses of its examples, as its anchor sees it.

use super::super::blocks::WIDEST;
use super::super::settings::Centring;
use super::{Local, Scene, Table};
use crate::mask::Said;
use dermis_rig::glam::DVec3;
use dermis_solve::element::Element;
use dermis_solve::faer::Mat;

impl Scene<'_> {
    /// The residual of each row of a group's matrices as the anchor sees it: of its pose, or the mean of those merged. Where a local
    /// sculpt was not touched, it is that of what was shown. The result is ρ, over the poses that say how the skin is.
    pub fn residuals(&self, local: &Local, table: &Table, v: usize, mut take: impl FnMut(usize, DVec3)) -> f64 {
        let mut largest = 0.0f64;
        let mut of = |s: usize| {
            let world = match local.said(s) {
                Said::Touched => {
                    let world = self.training.residual(s, v);
                    largest = largest.max(world.length_squared());
                    world
                }
                _ => self.training.shown(s, v),
            };
            table.back.get(s).map_or(world, |turn| *turn * world)
        };
        if local.clusters.is_empty() {
            (0..self.poses()).for_each(|s| take(s, of(s)));
        }
        for (row, members) in local.clusters.iter().enumerate() {
            let square = |s: u32| local.weight_roots[s as usize].powi(2);
            let mass: f64 = members.iter().map(|&s| square(s)).sum();
            let sum = |sum: DVec3, &s: &u32| sum + of(s as usize) * square(s);
            match members[..] {
                [only] => take(row, of(only as usize)),
                _ => take(row, members.iter().fold(DVec3::ZERO, sum) / mass),
            }
        }
        largest.sqrt()
    }

    /// Scaled residuals of up to [`Element::LANES`] vertices of a group, axis by axis, row by row, vertices innermost; ρ of
    /// each.
    ///
    /// Poses outside, vertices inside: neighbours lie side by side in every pose, each pose in a place of its own.
    pub fn residual_block<T: Element>(
        &self,
        local: &Local,
        table: &Table,
        vertices: &[u32],
        y: &mut [T],
    ) -> [f64; WIDEST] {
        let rows = local.rows();
        let mut largest = [0.0; WIDEST];
        if !local.clusters.is_empty() {
            for (lane, &v) in vertices.iter().enumerate() {
                largest[lane] = self.residuals(local, table, v as usize, |row, r| {
                    (0..3).for_each(|j| y[(j * rows + row) * T::LANES + lane] = T::rounded(local.scale[row] * r[j]));
                });
            }
            return largest;
        }
        let (x, yz) = y.split_at_mut(rows * T::LANES);
        let (y, z) = yz.split_at_mut(rows * T::LANES);
        for (s, ((x, y), z)) in
            x.chunks_exact_mut(T::LANES).zip(y.chunks_exact_mut(T::LANES)).zip(z.chunks_exact_mut(T::LANES)).enumerate()
        {
            let scale = local.scale[s];
            let turn = table.back.get(s);
            for (lane, &v) in vertices.iter().enumerate() {
                let world = self.training.residual(s, v as usize);
                largest[lane] = world.length_squared().max(largest[lane]);
                let seen = turn.map_or(world, |turn| *turn * world) * scale;
                (x[lane], y[lane], z[lane]) = (T::rounded(seen.x), T::rounded(seen.y), T::rounded(seen.z));
            }
        }
        largest.map(f64::sqrt)
    }

    /// Scaled targets of some vertices of a group (rows × 3·vertices), and their weighted means if centred by the mean.
    pub fn targets(&self, local: &Local, table: &Table, vertices: &[u32], centring: Centring) -> (Mat<f64>, Vec<f64>) {
        let mut y = Mat::<f64>::zeros(local.rows(), 3 * vertices.len());
        for (at, &v) in vertices.iter().enumerate() {
            self.residuals(local, table, v as usize, |row, r| (0..3).for_each(|j| y[(row, 3 * at + j)] = r[j]));
        }
        let mut means = vec![0.0; y.ncols()];
        for column in 0..y.ncols() {
            if centring == Centring::Mean && local.mass > 0.0 {
                let weighted = (0..y.nrows()).map(|row| local.scale[row] * local.scale[row] * y[(row, column)]);
                means[column] = weighted.sum::<f64>() / local.mass;
            }
            for row in 0..y.nrows() {
                y[(row, column)] = local.scale[row] * (y[(row, column)] - means[column]);
            }
        }
        (y, means)
    }
}
