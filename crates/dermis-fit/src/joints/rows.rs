//! The regression of one vertex: its rows (poses and mirror images), features and targets.

use super::lanes::VertexFeatures;
use super::normal::{Rows, Vertices};
use super::scene::{Group, Scene};
use super::solve::{DirectProblem, LeftOut};
use crate::evidence::{Evidence, Movements};
use crate::mask::Said;
use dermis_deform::joints::{JointPose, shared_feature};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_solve::faer::Mat;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Shared features of a smaller norm are rounding.
pub(super) const LEAST_SHARED: f64 = 1e-6;

/// The most numbers of all terms whose products are summed once for all groups: 32 MiB.
const MOST_NUMBERS: usize = 2048;

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

    /// Returns what rows are multiplied by: importance and the root of the weight of what they say of a vertex, if not all say how the skin is.
    pub fn scales(&self, said: &[Said]) -> Arc<[f64]> {
        let rows = if said.is_empty() { self.poses.len() } else { said.len() };
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

    /// Returns Z of a group over some examples, or over their mirror images: a column per coefficient. Rows are scaled.
    fn free_rows(&self, group: &Group, side: usize, examples: &Range<usize>) -> Mat<f64> {
        let mut z = Mat::<f64>::zeros(examples.len(), self.free_count(group));
        let scales = &group.scales[side * self.own..][examples.clone()];
        for ((place, root), column) in self.places(group).zip(z.col_iter_mut()) {
            let known = self.free[side].col_as_slice(place)[examples.clone()].iter().zip(scales);
            column.iter_mut().zip(known).for_each(|(x, (z, scale))| *x = scale * root * z);
        }
        z
    }

    /// Returns the place of each number of a group among those of all terms, and √a.
    fn places(&self, group: &Group) -> impl Iterator<Item = (usize, f64)> {
        let starts = &self.poses[0].starts;
        let of_term = move |&(term, root): &(u32, f64)| {
            (starts[term as usize]..starts[term as usize + 1]).map(move |i| (i, root))
        };
        group.joints.iter().flat_map(of_term)
    }

    /// Returns ZᵀZ of all terms without relevances, over the examples and over their mirror images; none where rows count differently
    /// at different vertices, or where there are more numbers than a matrix of a reasonable size has.
    pub fn free_grams(&self) -> Vec<Mat<f64>> {
        if self.masks.is_some() || self.numbers.iter().sum::<usize>() > MOST_NUMBERS {
            return vec![];
        }
        let of_side = |z: &Mat<f64>| {
            let mut scaled = z.clone();
            for column in scaled.col_iter_mut() {
                column.iter_mut().zip(self.training.examples).for_each(|(z, example)| *z *= example.importance);
            }
            scaled.transpose() * &scaled
        };
        self.free.par_iter().map(of_side).collect()
    }

    /// Returns ZᵀZ of a group from that of all terms.
    pub fn free_gram(&self, group: &Group, all: &Mat<f64>) -> Mat<f64> {
        let places: Vec<(usize, f64)> = self.places(group).collect();
        Mat::from_fn(places.len(), places.len(), |i, k| places[i].1 * places[k].1 * all[(places[i].0, places[k].0)])
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

    /// Returns several vertices of a group in some of the examples, and in their mirror images, with the largest norm of the shared
    /// features of each.
    pub fn vertices(&self, group: &Group, vertices: &[usize], examples: Range<usize>) -> (Vertices, Vec<f64>) {
        let sides = if group.mirrored { 2 } else { 1 };
        let (mut columns, mut shared, mut largest) = (vec![Vec::new(); sides], Vec::new(), Vec::new());
        for &v in vertices {
            let norms =
                columns.iter_mut().enumerate().map(|(side, out)| self.columns(group, v, (side, &examples), out));
            largest.push(norms.fold(0.0, f64::max));
            shared.push(4 * self.bone_relevance[v].len());
        }
        let rows = |(side, columns)| Rows { free: self.free_rows(group, side, &examples), columns };
        let sides = columns.into_iter().enumerate().map(rows).collect();
        (Vertices { sides, shared, reads: self.reads(self.own) }, largest)
    }

    /// Appends the targets and the shared features of a vertex in its frame, as columns of [`Rows`]. Returns the largest norm of
    /// the features.
    fn columns(&self, group: &Group, v: usize, (side, examples): (usize, &Range<usize>), out: &mut Vec<f64>) -> f64 {
        let start = out.len();
        out.resize(start + 3 * examples.len() * (1 + 4 * self.bone_relevance[v].len()), 0.0);
        let rows = side * self.own + examples.start..side * self.own + examples.end;
        let targets: Vec<DVec3> = rows.clone().map(|row| self.residual(v, row)).collect();
        VertexFeatures {
            poses: &self.lanes[side],
            first: examples.start,
            frame: self.settings.frame,
            weights: self.model.weights.of(v),
            dominant: self.model.weights.dominant(v),
            relevance: &self.bone_relevance[v],
            root: self.settings.beta.sqrt(),
            rest: self.training.rest[v],
            length: self.model.length,
            scales: &group.scales[rows],
            targets: &targets,
            columns: &mut out[start..],
        }
        .fill()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joints::JointSettings;
    use crate::training::{BasePoses, Training};
    use dermis_deform::joints::CorrectionFrame;
    use dermis_rig::{Example, Mirror};
    use dermis_testkit::{Arm, ArmPose};

    /// The scene of an arm in some poses, over its own skin, and what it is made of.
    fn with_scene(poses: usize, frame: CorrectionFrame, check: impl Fn(&Scene<'_>)) {
        let arm = Arm::new(10, 8);
        let mut examples: Vec<Example> = arm.examples(&ArmPose::some(poses, 5));
        examples.iter_mut().enumerate().for_each(|(s, e)| e.importance = [1.0, 0.5, 2.0][s % 3]);
        let rest = &arm.rig.mesh().positions;
        let still = |_: &dermis_rig::BoneTransforms, v: usize| rest[v];
        let training = Training {
            skeleton: arm.rig.skeleton(),
            rest,
            length: arm.rig.mesh().extent(),
            examples: &examples,
            base: BasePoses::Computed(&still),
        };
        let mirror = Mirror::find(rest, arm.rig.skeleton(), arm.weights());
        let settings = JointSettings { frame, mirror: mirror.clone(), ..JointSettings::new(false) };
        check(&Scene::new(&training, arm.weights(), &settings, mirror.as_ref()).unwrap());
    }

    /// Lanes, the last of which are not all used, hold what every pose alone says.
    #[test]
    fn features_side_by_side_are_those_of_each_pose() {
        for frame in [CorrectionFrame::Blend, CorrectionFrame::Anchor] {
            with_scene(21, frame, |scene| {
                for group in &scene.groups() {
                    let v = group.vertices[0];
                    let (found, largest) = scene.vertices(group, &[v], 0..scene.own);
                    let mut most = 0.0f64;
                    for (at, side) in found.sides.iter().enumerate() {
                        let (rows, first) = (scene.own, at * scene.own);
                        let poses = &scene.poses[first..first + rows];
                        let norm = scene.for_shared_features(v, poses, |s, frame, features| {
                            let back = frame.inverse() * group.scales[first + s];
                            let columns = features.iter().flat_map(|(turn, shift)| {
                                [turn.x_axis, turn.y_axis, turn.z_axis, *shift].map(|column| back * column)
                            });
                            let target = back * scene.residual(v, first + s);
                            for (k, expected) in std::iter::once(target).chain(columns).enumerate() {
                                let at = |j: usize| side.columns[(3 * k + j) * rows + s];
                                let far = expected.distance(DVec3::new(at(0), at(1), at(2)));
                                assert!(far < 1e-12, "{frame:?} {k}: {far:e}");
                            }
                        });
                        most = most.max(norm);
                    }
                    assert!((largest[0] - most).abs() < 1e-12, "{} {most}", largest[0]);
                }
            });
        }
    }

    /// Products of all terms, of which each group takes its own, and squares from sums are those of the rows.
    #[test]
    fn sums_over_parts_are_those_of_all_rows() {
        with_scene(40, CorrectionFrame::Blend, |scene| {
            let grams = scene.free_grams();
            for group in &scene.groups() {
                let vertices = &group.vertices[..group.vertices.len().min(3)];
                let (whole, _) = scene.vertices(group, vertices, 0..scene.own);
                let expected = whole.sums(0..scene.own);
                let mut sums = scene.vertices(group, vertices, 0..17).0.moments(0..17);
                sums.add(&scene.vertices(group, vertices, 17..scene.own).0.moments(0..scene.own - 17));
                sums.take_grams(grams.iter().map(|gram| scene.free_gram(group, gram)));
                let factors = [&sums, &expected].map(|sums| whole.factor(sums, 0.01).unwrap());
                for at in 0..vertices.len() {
                    let [found, known] = [(&sums, &factors[0]), (&expected, &factors[1])]
                        .map(|(sums, factor)| whole.solve(sums, 0.01, factor, at).unwrap());
                    let far = (&found.u - &known.u).norm_max().max((&found.q - &known.q).norm_max());
                    assert!(far < 1e-9, "{far:e}");
                    let squares = whole.squares(&known, at, 0..scene.own);
                    let summed = whole.squares_of(&sums, &found, at);
                    assert!((summed - squares).abs() < 1e-9 * squares.max(1e-3), "{summed:e} {squares:e}");
                }
            }
        });
    }
}
