//! The regression of one vertex: its rows (poses and mirror images), features and targets.

use super::normal::{Rows, Vertices};
use super::scene::{Group, Scene};
use super::solve::{DirectProblem, LeftOut};
use crate::evidence::{Evidence, Movements};
use crate::mask::Said;
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

    /// Returns what a row says of a vertex; a mirror image says what its example says of the other side.
    pub fn said(&self, v: usize, row: usize) -> Said {
        let Some(masks) = &self.masks else { return Said::Touched };
        match self.mirror.and_then(|mirror| mirror.vertices[v]).filter(|_| row >= self.own) {
            Some(partner) => masks.at(row - self.own, partner as usize),
            None => masks.at(row % self.own, v),
        }
    }

    /// Returns what the rows of a group are multiplied by: importance and the root of the weight of what they say.
    pub fn scales(&self, said: &[Said], mirrored: bool) -> Vec<f64> {
        let rows = if mirrored { self.poses.len() } else { self.own };
        let root = |row: usize| said.get(row).map_or(1.0, |said| said.weight(self.settings.untouched).sqrt());
        (0..rows).map(|row| self.training.examples[row % self.own].importance * root(row)).collect()
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

    /// Returns which of [`Scene::folds`] count in the choice of λ at a group's vertices: those whose movement other poses show.
    /// Blocks of several poses all do.
    pub fn counted(&self, group: &Group) -> Vec<bool> {
        let folds = self.folds(group);
        if folds.len() < self.different_poses() {
            return vec![true; folds.len()];
        }
        // A row that does not count shows nothing to others.
        let square = |row: usize, at: usize| match group.scales[row] == 0.0 {
            true => 0.0,
            false => self.poses[row].of(group.joints[at].0 as usize).iter().map(|z| z * z).sum::<f64>(),
        };
        let sides = folds.iter().map(|fold| (&fold.rows[..], fold.scored));
        let relevance: Vec<f64> = group.joints.iter().map(|(_, root)| root * root).collect();
        Movements::new((self.rows(group), relevance.len()), square, sides).counted(&relevance)
    }

    /// Returns what the base leaves of some vertices, in poses that count in the choice of λ and in others.
    pub fn evidence(&self, group: &Group, vertices: &[usize], counted: &[bool]) -> Evidence {
        let mut evidence = Evidence::default();
        for (fold, &counts) in self.fold_ranges().into_iter().zip(counted) {
            for s in fold {
                let left = |&v: &usize| (group.scales[s] * self.target(s, v)).length_squared();
                evidence.add(counts, vertices.iter().map(left).sum());
            }
        }
        evidence
    }

    /// Returns the number of free coefficients per axis.
    pub fn free_count(&self, group: &Group) -> usize {
        group.joints.iter().map(|&(joint, _)| self.numbers[joint as usize]).sum()
    }

    /// Returns √a z of a pose, all joints of a group.
    pub fn free_row(&self, group: &Group, pose: &JointPose) -> impl Iterator<Item = f64> {
        group.joints.iter().flat_map(move |&(joint, root)| pose.of(joint as usize).iter().map(move |z| root * z))
    }

    /// Returns Z of a group over the examples, or over their mirror images: a column per coefficient. Rows are scaled.
    pub fn free_rows(&self, group: &Group, poses: Range<usize>) -> Mat<f64> {
        let mut z = Mat::<f64>::zeros(poses.len(), self.free_count(group));
        for (at, s) in poses.enumerate() {
            let scale = group.scales[s];
            self.free_row(group, &self.poses[s]).enumerate().for_each(|(i, x)| z[(at, i)] = scale * x);
        }
        z
    }

    /// Returns the poses of a group's rows: the examples, then their mirror images if these are known.
    pub fn sides(&self, group: &Group) -> Vec<Range<usize>> {
        let images = self.own..self.poses.len();
        std::iter::once(0..self.own).chain(group.mirrored.then_some(images)).collect()
    }

    /// Returns what a vertex is to be moved by in an example: to the skin where it was touched, else to what was shown.
    fn target(&self, s: usize, v: usize) -> DVec3 {
        match self.masks.as_ref().map(|masks| masks.at(s, v)) {
            Some(Said::Shown) => self.training.shown(s, v),
            _ => self.training.residual(s, v),
        }
    }

    /// Returns the target of a row in the welded character.
    pub fn residual(&self, v: usize, row: usize) -> DVec3 {
        let world = match self.mirror.and_then(|mirror| Some((mirror, mirror.vertices[v]?))) {
            Some((mirror, partner)) if row >= self.own => mirror.vector(self.target(row - self.own, partner as usize)),
            _ => self.target(row, v),
        };
        match (self.poses[row].turns.is_empty(), self.model.weights.dominant(v)) {
            (false, Some(anchor)) => self.poses[row].turns[anchor.get()].inverse() * world,
            _ => world,
        }
    }

    /// Returns several vertices of a group, and the largest norm of the shared features of each.
    pub fn vertices(&self, group: &Group, vertices: &[usize]) -> (Vertices, Vec<f64>) {
        let mut sides: Vec<(Range<usize>, Vec<f64>)> =
            self.sides(group).into_iter().map(|poses| (poses, Vec::new())).collect();
        let (mut shared, mut largest) = (Vec::new(), Vec::new());
        for &v in vertices {
            let norms = sides.iter_mut().map(|(poses, columns)| self.columns(group, v, poses.clone(), columns));
            let norm = norms.fold(0.0, f64::max);
            let count = 4 * self.bone_relevance[v].len();
            if norm < LEAST_SHARED {
                sides.iter_mut().for_each(|(poses, out)| out.truncate(out.len() - 3 * poses.len() * count));
                shared.push(0);
                largest.push(0.0);
            } else {
                shared.push(count);
                largest.push(norm);
            }
        }
        let rows = |(poses, columns)| Rows { free: self.free_rows(group, poses), columns };
        (Vertices { sides: sides.into_iter().map(rows).collect(), shared, reads: self.reads(self.own) }, largest)
    }

    /// Appends the targets and the shared features of a vertex in its frame, as columns of [`Rows`]. Returns the largest norm of
    /// the features.
    fn columns(&self, group: &Group, v: usize, poses: Range<usize>, out: &mut Vec<f64>) -> f64 {
        let (rows, start, first) = (poses.len(), out.len(), poses.start);
        out.resize(start + 3 * rows * (1 + 4 * self.bone_relevance[v].len()), 0.0);
        let columns = &mut out[start..];
        self.for_shared_features(v, &self.poses[poses], |s, frame, features| {
            let back = frame.inverse() * group.scales[first + s];
            let local = back * self.residual(v, first + s);
            (0..3).for_each(|j| columns[j * rows + s] = local[j]);
            for (k, &(turn, shift)) in features.iter().enumerate() {
                let (turn, shift) = (back * turn, back * shift);
                for (c, feature) in [turn.x_axis, turn.y_axis, turn.z_axis, shift].into_iter().enumerate() {
                    let at = 3 * rows * (1 + 4 * k + c) + s;
                    (0..3).for_each(|j| columns[at + j * rows] = feature[j]);
                }
            }
        })
    }

    /// Visits every pose with the frame of a vertex and the shared features √β b [turn, shift] of its bones.
    ///
    /// Returns the largest norm of b [turn, shift] over the poses, to which the limit refers.
    pub fn for_shared_features(
        &self,
        v: usize,
        poses: &[JointPose],
        mut visit: impl FnMut(usize, &DMat3, &[(DMat3, DVec3)]),
    ) -> f64 {
        let (weights, rest) = (self.model.weights.of(v), self.training.rest[v]);
        let root = self.settings.beta.sqrt();
        let (mut largest, mut features) = (0.0f64, Vec::with_capacity(self.bone_relevance[v].len()));
        for (s, pose) in poses.iter().enumerate() {
            let (frame, blend) = pose.frame(self.settings.frame, weights, rest);
            let mut squares = 0.0;
            features.clear();
            for &(bone, b) in &self.bone_relevance[v] {
                let (turn, shift) = shared_feature(&pose.welded[bone.get()], (&frame, blend), rest, self.model.length);
                squares += b * b * (turn.to_cols_array().iter().map(|x| x * x).sum::<f64>() + shift.length_squared());
                features.push((turn * (b * root), shift * (b * root)));
            }
            largest = largest.max(squares.sqrt());
            visit(s, &frame, &features);
        }
        largest
    }

    /// Returns the whole regression of a vertex, axes together, and the largest norm of its shared features.
    pub fn direct(&self, group: &Group, v: usize) -> (DirectProblem, f64) {
        let rows = self.rows(group);
        let largest = self.for_shared_features(v, &self.poses[..rows], |_, _, _| {});
        let x = self.direct_features(group, v, &self.poses[..rows], largest, self.own);
        let y = Mat::from_fn(3 * rows, 1, |i, _| group.scales[i / 3] * self.residual(v, i / 3)[i % 3]);
        (DirectProblem { y, x }, largest)
    }

    /// Returns the features of some poses in the welded world, three rows each: free ones axis by axis, then shared ones.
    /// Each is there for this side and, with mirrored examples, for the other side alone.
    ///
    /// `largest` is the largest norm of the shared features in training; their limit is applied. The first `training` poses
    /// are examples with their scale, and their mirror images follow. With zero, all poses are read as this side's.
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
            _ => self.reads(s).map(|read| read * group.scales[s]),
        };
        let first = sides * 3 * count;
        self.for_shared_features(v, poses, |s, frame, features| {
            for (i, z) in self.free_row(group, &poses[s]).enumerate() {
                for (side, read) in reads(s).into_iter().take(sides).enumerate() {
                    for axis in 0..3 {
                        let column = axis * sides * count + side * count + i;
                        (0..3).for_each(|j| x[(3 * s + j, column)] = read * frame.col(axis)[j] * z);
                    }
                }
            }
            let features = &features[..bones];
            let square = |(turn, shift): &(DMat3, DVec3)| {
                turn.to_cols_array().iter().map(|x| x * x).sum::<f64>() + shift.length_squared()
            };
            let norm = (features.iter().map(square).sum::<f64>() / self.settings.beta).sqrt();
            let limit = self.settings.limit * largest;
            let limited = if self.settings.shared_limit && norm > limit { limit / norm } else { 1.0 };
            for (k, &(turn, shift)) in features.iter().enumerate() {
                for (side, read) in reads(s).into_iter().take(sides).enumerate() {
                    for (c, feature) in [turn.x_axis, turn.y_axis, turn.z_axis, shift].into_iter().enumerate() {
                        let column = first + 4 * (side * bones + k) + c;
                        (0..3).for_each(|j| x[(3 * s + j, column)] = read * limited * feature[j]);
                    }
                }
            }
        });
        x
    }
}
