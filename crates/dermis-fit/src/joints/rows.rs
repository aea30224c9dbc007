//! The regression of one vertex: its rows (poses and mirror images), features and targets.

use super::normal::{Rows, Vertices};
use super::scene::{Group, Scene};
use super::solve::{DirectProblem, LeftOut};
use dermis_deform::joints::{JointPose, shared_feature};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_solve::faer::Mat;
use std::ops::Range;

/// Shared features of a smaller norm are rounding.
const LEAST_SHARED: f64 = 1e-6;

impl Scene<'_> {
    /// Returns the number of rows of a group's vertices: a row per example, and one per mirror image.
    pub fn rows(&self, group: &Group) -> usize {
        if group.mirrored { self.poses.len() } else { self.own }
    }

    /// Returns the importance of a row.
    pub fn importance(&self, row: usize) -> f64 {
        self.training.examples[row % self.own].importance
    }

    /// Returns how a row reads coefficients: those of its vertex, and those of the other side alone.
    pub fn reads(&self, row: usize) -> [f64; 2] {
        let c = self.settings.mirror_correlation;
        if row < self.own { [1.0, 0.0] } else { [c, (1.0 - c * c).max(0.0).sqrt()] }
    }

    /// Returns the rows that are left out together: poses, each with its mirror image.
    pub fn folds(&self, group: &Group) -> Vec<LeftOut> {
        let folds = self.fold_ranges().into_iter().map(|fold| {
            let images = fold.clone().map(|s| s + self.own).filter(|_| group.mirrored);
            LeftOut { scored: fold.len(), rows: fold.chain(images).collect() }
        });
        folds.collect()
    }

    /// Returns the number of free coefficients per axis.
    pub fn free_count(&self, group: &Group) -> usize {
        group.joints.iter().map(|&(joint, _)| self.model.joints[joint as usize].inducing.len()).sum()
    }

    /// Returns √a z of a pose, all joints of a group.
    pub fn free_row(&self, group: &Group, pose: &JointPose) -> impl Iterator<Item = f64> {
        group.joints.iter().flat_map(move |&(joint, root)| pose.of(joint as usize).iter().map(move |z| root * z))
    }

    /// Returns Z of a group over the examples, or over their mirror images: a column per coefficient. Rows are scaled by
    /// importance.
    pub fn free_rows(&self, group: &Group, poses: Range<usize>) -> Mat<f64> {
        let mut z = Mat::<f64>::zeros(poses.len(), self.free_count(group));
        for (at, s) in poses.enumerate() {
            let scale = self.importance(s);
            self.free_row(group, &self.poses[s]).enumerate().for_each(|(i, x)| z[(at, i)] = scale * x);
        }
        z
    }

    /// Returns the poses of a group's rows: the examples, then their mirror images if these are known.
    pub fn sides(&self, group: &Group) -> Vec<Range<usize>> {
        let images = self.own..self.poses.len();
        std::iter::once(0..self.own).chain(group.mirrored.then_some(images)).collect()
    }

    /// Returns the residual of a row in the welded character.
    pub fn residual(&self, v: usize, row: usize) -> DVec3 {
        let world = match self.mirror.and_then(|mirror| Some((mirror, mirror.vertices[v]?))) {
            Some((mirror, partner)) if row >= self.own => {
                mirror.vector(self.training.residual(row - self.own, partner as usize))
            }
            _ => self.training.residual(row, v),
        };
        match (self.poses[row].turns.is_empty(), self.model.weights.dominant(v)) {
            (false, Some(anchor)) => self.poses[row].turns[anchor.get()].inverse() * world,
            _ => world,
        }
    }

    /// Returns several vertices of a group, and the largest norm of the shared features of each.
    pub fn vertices(&self, group: &Group, vertices: &[usize]) -> (Vertices, Vec<f64>) {
        let sides = self.sides(group);
        let largest_of = |v: &usize| {
            let norm = self.for_shared_features(*v, &self.poses[..self.rows(group)], |_, _, _, _| {});
            if norm < LEAST_SHARED { 0.0 } else { norm }
        };
        let largest: Vec<f64> = vertices.iter().map(largest_of).collect();
        let count = |(v, largest): (&usize, &f64)| if *largest > 0.0 { 4 * self.bone_relevance[*v].len() } else { 0 };
        let shared: Vec<usize> = vertices.iter().zip(&largest).map(count).collect();
        let rows = |poses: Range<usize>| {
            let total = 3 * poses.len() * (shared.len() + shared.iter().sum::<usize>());
            let mut columns = Vec::with_capacity(total);
            for (&v, &count) in vertices.iter().zip(&shared) {
                self.columns(v, count > 0, poses.clone(), &mut columns);
            }
            Rows { free: self.free_rows(group, poses), columns }
        };
        let reads = self.reads(self.own);
        (Vertices { sides: sides.into_iter().map(rows).collect(), shared, reads }, largest)
    }

    /// Appends the targets and, if asked for, the shared features of a vertex in its frame, as columns of [`Rows`].
    fn columns(&self, v: usize, shared: bool, poses: Range<usize>, out: &mut Vec<f64>) {
        let (rows, start, first) = (poses.len(), out.len(), poses.start);
        let count = if shared { 4 * self.bone_relevance[v].len() } else { 0 };
        out.resize(start + 3 * rows * (1 + count), 0.0);
        let columns = &mut out[start..];
        let frames: Vec<DMat3> = self.poses[poses.clone()]
            .iter()
            .map(|pose| pose.frame(self.settings.frame, self.model.weights.of(v), self.training.rest[v]).0.inverse())
            .collect();
        for (s, back) in frames.iter().enumerate() {
            let local = *back * self.residual(v, first + s) * self.importance(first + s);
            (0..3).for_each(|j| columns[j * rows + s] = local[j]);
        }
        if !shared {
            return;
        }
        self.for_shared_features(v, &self.poses[poses], |s, k, turn, shift| {
            let back = frames[s] * self.importance(first + s);
            let (turn, shift) = (back * turn, back * shift);
            for c in 0..4 {
                let feature = if c < 3 { turn.col(c) } else { shift };
                let at = 3 * rows * (1 + 4 * k + c) + s;
                (0..3).for_each(|j| columns[at + j * rows] = feature[j]);
            }
        });
    }

    /// Visits the shared features √β b [turn, shift] of every pose and bone.
    ///
    /// Returns the largest norm of b [turn, shift] over the poses, to which the limit refers.
    pub fn for_shared_features(
        &self,
        v: usize,
        poses: &[JointPose],
        mut visit: impl FnMut(usize, usize, DMat3, DVec3),
    ) -> f64 {
        let (weights, rest) = (self.model.weights.of(v), self.training.rest[v]);
        let root = self.settings.beta.sqrt();
        let mut largest = 0.0f64;
        for (s, pose) in poses.iter().enumerate() {
            let (frame, blend) = pose.frame(self.settings.frame, weights, rest);
            let mut squares = 0.0;
            for (k, &(bone, b)) in self.bone_relevance[v].iter().enumerate() {
                let (turn, shift) = shared_feature(&pose.welded[bone.get()], (&frame, blend), rest, self.model.length);
                squares += b * b * (turn.to_cols_array().iter().map(|x| x * x).sum::<f64>() + shift.length_squared());
                visit(s, k, turn * (b * root), shift * (b * root));
            }
            largest = largest.max(squares.sqrt());
        }
        largest
    }

    /// Returns the whole regression of a vertex, axes together, and the largest norm of its shared features.
    pub fn direct(&self, group: &Group, v: usize) -> (DirectProblem, f64) {
        let rows = self.rows(group);
        let largest = self.for_shared_features(v, &self.poses[..rows], |_, _, _, _| {});
        let x = self.direct_features(group, v, &self.poses[..rows], largest, self.own);
        let y = Mat::from_fn(3 * rows, 1, |i, _| self.importance(i / 3) * self.residual(v, i / 3)[i % 3]);
        (DirectProblem { y, x }, largest)
    }

    /// Returns the features of some poses in the welded world, three rows each: free ones axis by axis, then shared ones.
    /// Each is there for this side and, with mirrored examples, for the other side alone.
    ///
    /// `largest` is the largest norm of the shared features in training; their limit is applied. The first `training` poses
    /// are examples with their importance, and their mirror images follow. With zero, all poses are read as this side's.
    pub fn direct_features(
        &self,
        group: &Group,
        v: usize,
        poses: &[JointPose],
        largest: f64,
        training: usize,
    ) -> Mat<f64> {
        let count = self.free_count(group);
        let bones = if largest < LEAST_SHARED { 0 } else { self.bone_relevance[v].len() };
        let sides = if group.mirrored { 2 } else { 1 };
        let mut x = Mat::<f64>::zeros(3 * poses.len(), sides * (3 * count + 4 * bones));
        let reads = |s: usize| match training {
            0 => [1.0, 0.0],
            _ => self.reads(s).map(|read| read * self.importance(s)),
        };
        for (s, pose) in poses.iter().enumerate() {
            let (frame, _) = pose.frame(self.settings.frame, self.model.weights.of(v), self.training.rest[v]);
            for (i, z) in self.free_row(group, pose).enumerate() {
                for (side, read) in reads(s).into_iter().take(sides).enumerate() {
                    for axis in 0..3 {
                        let column = axis * sides * count + side * count + i;
                        (0..3).for_each(|j| x[(3 * s + j, column)] = read * frame.col(axis)[j] * z);
                    }
                }
            }
        }
        if bones == 0 {
            return x;
        }
        let first = sides * 3 * count;
        let mut norms = vec![0.0; poses.len()];
        self.for_shared_features(v, poses, |s, k, turn, shift| {
            norms[s] += turn.to_cols_array().iter().map(|x| x * x).sum::<f64>() + shift.length_squared();
            for (side, read) in reads(s).into_iter().take(sides).enumerate() {
                for c in 0..4 {
                    let feature = if c < 3 { turn.col(c) } else { shift };
                    (0..3).for_each(|j| x[(3 * s + j, first + 4 * (side * bones + k) + c)] = read * feature[j]);
                }
            }
        });
        for s in 0..poses.len() {
            let (norm, limit) = ((norms[s] / self.settings.beta).sqrt(), self.settings.limit * largest);
            if self.settings.shared_limit && norm > limit {
                for i in 3 * s..3 * s + 3 {
                    (first..x.ncols()).for_each(|c| x[(i, c)] *= limit / norm);
                }
            }
        }
        x
    }
}
