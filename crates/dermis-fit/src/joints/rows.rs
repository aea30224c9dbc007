//! The regression of one vertex: its rows (poses and mirror images), features and targets.

use super::scene::{Group, Scene};
use super::solve::{DirectProblem, FreePart, LeftOut};
use dermis_deform::joints::{JointPose, shared_feature};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_solve::SolveError;
use dermis_solve::faer::Mat;

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
        let folds = self.settings.folds.ranges(self.own).into_iter().map(|fold| {
            let images = (fold.start..fold.end).map(|s| s + self.own).filter(|_| group.mirrored);
            LeftOut { rows: (fold.start..fold.end).chain(images).collect(), scored: fold.end - fold.start }
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

    /// Returns Z of a group: a column per coefficient, then again for those of the other side alone. Rows are scaled by
    /// importance.
    pub fn free_part(&self, group: &Group) -> Result<FreePart, SolveError> {
        let (rows, count) = (self.rows(group), self.free_count(group));
        let mut z = Mat::<f64>::zeros(rows, if group.mirrored { 2 * count } else { count });
        for s in 0..rows {
            let (scale, reads) = (self.importance(s), self.reads(s));
            for (i, x) in self.free_row(group, &self.poses[s]).enumerate() {
                z[(s, i)] = scale * reads[0] * x;
                if group.mirrored {
                    z[(s, count + i)] = scale * reads[1] * x;
                }
            }
        }
        FreePart::new(z)
    }

    /// Returns the residual of a row in the welded character.
    pub fn residual(&self, v: usize, row: usize) -> DVec3 {
        let residual = |s: usize, v: usize| self.training.examples[s].positions[v] - self.training.base_at(s, v);
        let world = match self.mirror.and_then(|mirror| Some((mirror, mirror.vertices[v]?))) {
            Some((mirror, partner)) if row >= self.own => mirror.vector(residual(row - self.own, partner as usize)),
            _ => residual(row, v),
        };
        match (self.poses[row].turns.is_empty(), self.model.weights.dominant(v)) {
            (false, Some(anchor)) => self.poses[row].turns[anchor.get()].inverse() * world,
            _ => world,
        }
    }

    /// Appends the targets and shared features of a vertex in its frame, as columns of [`Vertices`](super::solve::Vertices).
    ///
    /// Returns the number of shared features and their largest norm.
    pub fn columns(&self, group: &Group, v: usize, out: &mut Vec<f64>) -> (usize, f64) {
        let (rows, count) = (self.rows(group), 4 * self.bone_relevance[v].len());
        let sides = if group.mirrored { 2 } else { 1 };
        let start = out.len();
        out.resize(start + 3 * rows * (1 + sides * count), 0.0);
        let columns = &mut out[start..];
        let frames: Vec<DMat3> = self.poses[..rows]
            .iter()
            .map(|pose| pose.frame(self.settings.frame, self.model.weights.of(v), self.training.rest[v]).0.inverse())
            .collect();
        for (s, back) in frames.iter().enumerate() {
            let local = *back * self.residual(v, s) * self.importance(s);
            (0..3).for_each(|j| columns[j * rows + s] = local[j]);
        }
        let largest = self.for_shared_features(v, &self.poses[..rows], |s, k, turn, shift| {
            let (turn, shift) = (frames[s] * turn * self.importance(s), frames[s] * shift * self.importance(s));
            for (side, read) in self.reads(s).into_iter().take(sides).enumerate() {
                for c in 0..4 {
                    let feature = if c < 3 { turn.col(c) } else { shift };
                    let at = 3 * rows * (1 + side * count + 4 * k + c) + s;
                    (0..3).for_each(|j| columns[at + j * rows] = read * feature[j]);
                }
            }
        });
        if largest < LEAST_SHARED {
            out.truncate(start + 3 * rows);
            return (0, 0.0);
        }
        (sides * count, largest)
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
