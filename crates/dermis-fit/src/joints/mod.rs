//! The joint model, fitted: a correction driven by the rotations of joints. See [`dermis_deform::joints`] for the model.
//!
//! Per vertex v the residual X − base is regressed on free features √a_ve z_e of the joints near it and on shared ones
//! √β b_vk [ (R_k − F)/√2, (N_k p − B)/l ], with one ridge λ for the whole model, in units of joint angle: the largest of a
//! grid whose error on poses left out is within a factor of the best. The metric is length in the posed character.
//!
//! A ridge in joint angle bounds the model: |U z| ≤ |z| |Y| / (2√λ) with |z|² ≤ Σ_e a_ve σ², and the joint limits, the
//! limit of the shared part and the ball hold whatever is beyond training.

mod solve;
mod tree;

pub use tree::JointTree;

use crate::mwe::half_decades;
use crate::training::{FitError, Progress, Ticker, Training};
use dermis_deform::guard::{BALL_FACTOR, FROZEN, LIMIT_FACTOR, Weld};
use dermis_deform::joints::{
    Frame, Joint, JointFeature, JointPose, Joints, SharedTerm, forest_links, joint_feature, kernel, shared_feature,
};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, BoneTransforms, Influences};
use dermis_solve::faer::Mat;
use dermis_solve::{Folds, SolveError, cross_validation};
use rayon::prelude::*;
use solve::{Coefficients, DirectProblem, FreePart, Prepared, VertexProblem};
use std::collections::BTreeMap;

/// How the joint model is fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct JointSettings {
    /// What corrections are seen from.
    pub frame: Frame,
    /// σ of the kernel.
    pub sigma: f64,
    /// Inducing rotations per joint, at most.
    pub inducing: usize,
    /// Inducing rotations of a joint that slides by more than 0.02 L, at most.
    pub inducing_sliding: usize,
    /// κ, how far a feature may exceed its largest norm in training; infinite without limits.
    pub limit: f64,
    /// Whether the shared part is fitted.
    pub shared: bool,
    /// Whether the features of the shared part are limited.
    pub shared_limit: bool,
    /// β: how much cheaper the shared part's coefficients are than the free ones.
    pub beta: f64,
    /// λ itself, instead of choosing it.
    pub lambda: Option<f64>,
    /// The values of λ to choose from, ascending.
    pub grid: Vec<f64>,
    /// What is left out at a time.
    pub folds: Folds,
    /// The largest λ within this factor of the best error is taken.
    pub tolerance: f64,
    /// √a is rounded to one part in this many, so that vertices share their factors; zero for as it is.
    pub rounding: u32,
    /// The ball.
    pub ball: bool,
}

impl JointSettings {
    /// The defaults. `is_clip`: the examples are frames of an animation, neighbours being nearly the same.
    pub fn new(is_clip: bool) -> Self {
        Self {
            frame: Frame::Anchor,
            sigma: 2.0,
            inducing: 8,
            inducing_sliding: 16,
            limit: LIMIT_FACTOR,
            shared: true,
            shared_limit: true,
            beta: 10.0,
            lambda: None,
            grid: half_decades(1e-4, 10.0),
            folds: if is_clip { Folds::Blocks(5) } else { Folds::Single },
            tolerance: 1.03,
            rounding: 64,
            ball: true,
        }
    }

    fn check(&self) -> Result<(), FitError> {
        let rule = |name, value, good: bool, rule| match good {
            true => Ok(()),
            false => Err(FitError::Setting { name, value, rule }),
        };
        rule("sigma", self.sigma, self.sigma > 0.0 && self.sigma.is_finite(), "it must be positive")?;
        rule("limit", self.limit, self.limit >= 1.0, "it must be one or more")?;
        rule("beta", self.beta, self.beta > 0.0 && self.beta.is_finite(), "it must be positive")?;
        rule("grid", self.grid.len() as f64, !self.grid.is_empty(), "it needs at least one value")?;
        for &lambda in self.grid.iter().chain(&self.lambda) {
            rule("lambda", lambda, lambda > 0.0 && lambda.is_finite(), "it must be positive")?;
        }
        rule("tolerance", self.tolerance, self.tolerance >= 1.0, "it must be one or more")
    }
}

/// What was learnt about a fitted joint model.
#[derive(Clone, Debug, PartialEq)]
pub struct JointReport {
    /// λ.
    pub lambda: f64,
    /// (λ, rms error on the poses left out, metres) over the grid; empty when λ was given.
    pub sweep: Vec<(f64, f64)>,
    /// Vertices the sweep looked at.
    pub sweep_vertices: usize,
    /// Every joint of the forest with the largest angle it had in training, in degrees, and the number of its inducing
    /// rotations.
    pub joints: Vec<JointSummary>,
    /// Distinct sets of joints and relevances.
    pub groups: usize,
    /// Training error, rms over vertices and poses, metres.
    pub train: f64,
    /// Largest leverage of a training pose at any vertex.
    pub largest_leverage: f64,
    /// 99th percentile over vertices of the largest leverage.
    pub leverage_p99: f64,
    /// Vertices with at least one coefficient.
    pub corrected: usize,
}

/// A joint in the report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointSummary {
    /// The bone seen from.
    pub from: BoneIndex,
    /// The bone seen.
    pub to: BoneIndex,
    /// m, the largest norm of φ in training.
    pub largest: f64,
    /// Whether it never moved.
    pub frozen: bool,
    /// Inducing rotations; none for a joint that moved too little.
    pub inducing: usize,
}

/// A fitted joint model.
#[derive(Clone, Debug)]
pub struct JointFit {
    /// The correction.
    pub correction: Joints,
    /// What was learnt about it.
    pub report: JointReport,
}

/// Fits the joint model to the residuals of a base. `weights` are the skinning weights its features are made of.
///
/// # Errors
/// [`FitError`]: counts that disagree, numbers that are not finite, singular anchors, settings out of range,
/// cancellation.
pub fn fit_joints(
    training: &Training<'_>,
    weights: &Influences,
    settings: &JointSettings,
    progress: Progress<'_>,
) -> Result<JointFit, FitError> {
    check(training, weights, settings)?;
    let included = training.included();
    let training = &training.with(&included);
    let scene = Scene::new(training, weights, settings)?;
    let groups = scene.groups();
    let vertices = training.rest.len();

    // Every `stride`-th vertex takes part in the choice of λ.
    let stride = if settings.frame == Frame::Rest { vertices.div_ceil(MOST_DIRECT).max(1) } else { 1 };
    let sampled = if settings.lambda.is_some() { 0 } else { vertices.div_ceil(stride) };
    let ticker = Ticker::new((vertices + sampled) as u64, progress);
    let (lambda, sweep) = match settings.lambda {
        Some(lambda) => (lambda, vec![]),
        None => scene.choose(&groups, stride, &ticker)?,
    };
    let solved = scene.solve(&groups, lambda, &ticker)?;
    Ok(scene.assemble(&groups, solved, lambda, sweep, sampled))
}

/// Leverage of unseen poses: by how much a fit multiplies the noise of its training there, the largest over at most
/// `most` vertices, evenly spread. Joint limits are applied. Result: one number per probe.
///
/// # Errors
/// As [`fit_joints`].
pub fn joint_leverages(
    training: &Training<'_>,
    weights: &Influences,
    settings: &JointSettings,
    lambda: f64,
    probes: &[&BoneTransforms],
    most: usize,
) -> Result<Vec<f64>, FitError> {
    check(training, weights, settings)?;
    let included = training.included();
    let training = &training.with(&included);
    let scene = Scene::new(training, weights, settings)?;
    let poses: Vec<JointPose> = probes.iter().map(|pose| scene.pose(pose)).collect();
    let groups = scene.groups();
    let stride = training.rest.len().div_ceil(most.max(1)).max(1);
    let chunks = scene.chunks(&groups, stride);
    let parts = chunks
        .par_iter()
        .map(|(group, vertices)| {
            let mut largest = vec![0.0f64; probes.len()];
            for &v in vertices {
                let at = |source| FitError::Solve { vertex: v, source };
                let (problem, scale) = scene.direct(group, v);
                let rows = scene.direct_features(group, v, &poses, &vec![1.0; poses.len()], scale);
                let of_probes = problem.leverages(lambda, &rows).map_err(at)?;
                largest.iter_mut().zip(of_probes).for_each(|(most, h)| *most = most.max(h));
            }
            Ok(largest)
        })
        .collect::<Result<Vec<_>, FitError>>()?;
    let largest = |at: usize| parts.iter().map(|part| part[at]).fold(0.0, f64::max);
    Ok((0..probes.len()).map(largest).collect())
}

/// Poses at which a joint is looked at: pivots of the Cholesky factorisation of its kernel matrix with diagonal pivoting.
///
/// The largest remaining diagonal is next, ties to the lowest pose; it ends at `most` or where less than `stop` remains.
pub fn pivots(features: &[JointFeature], sigma: f64, most: usize, stop: f64) -> Vec<usize> {
    let mut left: Vec<f64> = features.iter().map(|f| kernel(f, f, sigma)).collect();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut chosen = Vec::new();
    while chosen.len() < most {
        let next = (0..left.len()).fold(None, |best: Option<usize>, s| match best {
            Some(b) if left[b] >= left[s] => best,
            _ => Some(s),
        });
        let Some(pivot) = next.filter(|&s| left[s] >= stop) else { break };
        let root = left[pivot].sqrt();
        let column: Vec<f64> = (0..features.len())
            .map(|s| {
                let known: f64 = columns.iter().map(|c| c[s] * c[pivot]).sum();
                (kernel(&features[s], &features[pivot], sigma) - known) / root
            })
            .collect();
        left.iter_mut().zip(&column).for_each(|(left, c)| *left -= c * c);
        left[pivot] = f64::NEG_INFINITY;
        columns.push(column);
        chosen.push(pivot);
    }
    chosen
}

/// c: the point a joint turns about, in units of L, from t/L = (I − R) c over the training poses, with 1e-6 |c|².
pub fn joint_centre(transforms: &[&BoneTransforms], (from, to): (BoneIndex, BoneIndex), length: f64) -> DVec3 {
    let (mut gram, mut right) = (DMat3::from_diagonal(DVec3::splat(1e-6)), DVec3::ZERO);
    for pose in transforms {
        // About the zero centre the slide is t/L; the rotation part is (R − I)/√2.
        let f = joint_feature(pose.as_slice(), (from, to), DVec3::ZERO, length);
        let back = |j: usize, c: usize| -f[4 * j + c] * std::f64::consts::SQRT_2;
        let a = DMat3::from_cols_array_2d(&[0, 1, 2].map(|c| [0, 1, 2].map(|j| back(j, c))));
        gram += a.transpose() * a;
        right += a.transpose() * DVec3::new(f[3], f[7], f[11]);
    }
    gram.inverse() * right
}

/// Pivots end where less than this remains of k(φ, φ): joints of at most 6 degrees have none.
const STOP: f64 = 0.01;
/// A joint slides if it leaves its centre by more than this, in L.
const SLIDING: f64 = 0.02;
/// Shared features of a smaller norm are rounding.
const LEAST_SHARED: f64 = 1e-6;
/// Vertices the choice of λ looks at in the rest frame, whose axes do not separate: the sweep is some hundred times dearer.
const MOST_DIRECT: usize = 1500;
/// Vertices of a group a task takes at a time.
const CHUNK: usize = 32;

fn check(training: &Training<'_>, weights: &Influences, settings: &JointSettings) -> Result<(), FitError> {
    training.check()?;
    training.check_base()?;
    settings.check()?;
    let counts = |what, found, expected| match found == expected {
        true => Ok(()),
        false => Err(FitError::Counts { what, found, expected }),
    };
    counts("vertices of the weights", weights.vertices(), training.rest.len())?;
    let (named, bones) = (weights.bones_named(), training.skeleton.len());
    counts("bones of the weights", named.max(bones), bones)
}

/// Vertices that share their joints and relevances.
struct Group {
    /// Joint and √a.
    joints: Vec<(u32, f64)>,
    vertices: Vec<usize>,
}

/// The training, seen as the model sees it.
struct Scene<'a> {
    training: &'a Training<'a>,
    settings: &'a JointSettings,
    /// The model without coefficients.
    model: Joints,
    tree: JointTree,
    summaries: Vec<JointSummary>,
    /// Joint of the model of each edge of the tree.
    joint_of: Vec<Option<u32>>,
    bone_relevance: Vec<Vec<(BoneIndex, f64)>>,
    poses: Vec<JointPose>,
    /// Importance of each pose.
    scale: Vec<f64>,
    folds: Vec<Vec<usize>>,
}

impl<'a> Scene<'a> {
    fn new(training: &'a Training<'a>, weights: &Influences, settings: &'a JointSettings) -> Result<Self, FitError> {
        let (skeleton, length) = (training.skeleton, training.unit());
        let tree = JointTree::new(skeleton, weights);
        let transforms: Vec<&BoneTransforms> = training.examples.iter().map(|e| &e.transforms).collect();
        let (mut joints, mut summaries, mut joint_of) = (Vec::new(), Vec::new(), Vec::new());
        for &edge in &tree.edges {
            let centre = joint_centre(&transforms, edge, length);
            let features: Vec<JointFeature> =
                transforms.iter().map(|pose| joint_feature(pose.as_slice(), edge, centre, length)).collect();
            let norm = |f: &JointFeature| f.iter().map(|x| x * x).sum::<f64>().sqrt();
            let largest = features.iter().map(norm).fold(0.0, f64::max);
            // Rounding of matrices grows with the distance from the origin.
            let joint = skeleton.bind()[edge.1].translation;
            let reach = transforms.iter().map(|pose| pose[edge.1].transform_point3(joint).length()).fold(0.0, f64::max);
            let frozen = largest < FROZEN * (reach / length).max(1.0);
            let slides = features.iter().any(|f| DVec3::new(f[3], f[7], f[11]).length() > SLIDING);
            let most = if slides { settings.inducing_sliding } else { settings.inducing };
            let chosen = if frozen { vec![] } else { pivots(&features, settings.sigma, most, STOP) };
            summaries.push(JointSummary { from: edge.0, to: edge.1, largest, frozen, inducing: chosen.len() });
            joint_of.push((!chosen.is_empty()).then_some(joints.len() as u32));
            if !chosen.is_empty() {
                let inducing = chosen.iter().map(|&s| features[s]).collect();
                let joint = Joint::new(edge, centre, settings.limit * largest, inducing, settings.sigma)
                    .ok_or(FitError::Solve { vertex: 0, source: SolveError::NotPositive })?;
                joints.push(joint);
            }
        }
        let frozen: Vec<bool> = summaries.iter().map(|joint| joint.frozen).collect();
        let model = Joints {
            length,
            sigma: settings.sigma,
            frame: settings.frame,
            joints,
            weld: Weld { links: forest_links(&tree.edges, &frozen, &tree.ancestors) },
            weights: weights.clone(),
            offsets: vec![0],
            terms: vec![],
            starts: vec![0],
            coefficients: vec![],
            shared_offsets: vec![0],
            shared: vec![],
            shared_limits: vec![],
            radii: vec![],
        };
        let bone_relevance = match settings.shared {
            true => tree.bone_relevance(weights),
            false => vec![vec![]; weights.vertices()],
        };
        let mut scene = Self {
            training,
            settings,
            model,
            tree,
            summaries,
            joint_of,
            bone_relevance,
            poses: vec![],
            scale: training.examples.iter().map(|e| e.importance).collect(),
            folds: settings.folds.ranges(training.examples.len()).iter().map(|f| (f.start..f.end).collect()).collect(),
        };
        scene.poses = transforms.iter().map(|pose| scene.pose(pose)).collect();
        scene.check_anchors(weights)?;
        Ok(scene)
    }

    fn pose(&self, transforms: &BoneTransforms) -> JointPose {
        let mut pose = JointPose::default();
        pose.prepare(&self.model, transforms);
        pose
    }

    /// Residuals are turned back into the frame of the anchor, so it must have an inverse.
    fn check_anchors(&self, weights: &Influences) -> Result<(), FitError> {
        let mut anchors: Vec<BoneIndex> = (0..weights.vertices()).filter_map(|v| weights.dominant(v)).collect();
        anchors.sort_unstable();
        anchors.dedup();
        for bone in anchors {
            if let Some(example) = self.training.examples.iter().find(|e| invert(&e.transforms[bone]).is_none()) {
                return Err(FitError::SingularAnchor {
                    bone: self.training.skeleton.names()[bone].clone(),
                    example: example.label.clone(),
                });
            }
        }
        Ok(())
    }

    /// Vertices by their joints and relevances.
    fn groups(&self) -> Vec<Group> {
        let mut groups: BTreeMap<Vec<(u32, u64)>, Vec<usize>> = BTreeMap::new();
        for (v, relevance) in self.tree.joint_relevance(&self.model.weights).into_iter().enumerate() {
            let key = relevance.iter().filter_map(|&(edge, a)| {
                let root = match self.settings.rounding {
                    0 => a.sqrt(),
                    steps => (a.sqrt() * f64::from(steps)).round() / f64::from(steps),
                };
                Some((self.joint_of[edge as usize]?, root.to_bits()))
            });
            groups.entry(key.collect()).or_default().push(v);
        }
        let group = |(joints, vertices): (Vec<(u32, u64)>, _)| Group {
            joints: joints.into_iter().map(|(joint, bits)| (joint, f64::from_bits(bits))).collect(),
            vertices,
        };
        groups.into_iter().map(group).collect()
    }

    /// Groups with some of their vertices at a time, of which every `stride`-th vertex of the mesh is taken.
    fn chunks<'g>(&self, groups: &'g [Group], stride: usize) -> Vec<(&'g Group, Vec<usize>)> {
        let mut chunks = Vec::new();
        for group in groups {
            let taken: Vec<usize> = group.vertices.iter().copied().filter(|v| v.is_multiple_of(stride)).collect();
            chunks.extend(taken.chunks(CHUNK).map(|part| (group, part.to_vec())));
        }
        chunks
    }

    /// Z of a group, S × M, rows scaled by importance.
    fn free_features(&self, group: &Group, poses: &[JointPose], scale: &[f64]) -> Mat<f64> {
        let columns: Vec<(usize, usize, f64)> = group
            .joints
            .iter()
            .flat_map(|&(joint, root)| {
                let count = self.model.joints[joint as usize].inducing.len();
                (0..count).map(move |i| (joint as usize, i, root))
            })
            .collect();
        Mat::from_fn(poses.len(), columns.len(), |s, at| {
            let (joint, i, root) = columns[at];
            scale[s] * root * poses[s].of(joint)[i]
        })
    }

    /// The residual of a pose in the welded character.
    fn residual(&self, v: usize, s: usize) -> DVec3 {
        let world = self.training.examples[s].positions[v] - self.training.base[s][v];
        match (self.poses[s].turns.is_empty(), self.model.weights.dominant(v)) {
            (false, Some(anchor)) => self.poses[s].turns[anchor.get()].inverse() * world,
            _ => world,
        }
    }

    /// Targets and shared features of a vertex in its frame, and the largest norm of the latter.
    fn problem(&self, v: usize) -> (VertexProblem, f64) {
        let (rows, bones) = (self.poses.len(), &self.bone_relevance[v]);
        let mut y = Mat::<f64>::zeros(rows, 3);
        let mut b = Mat::<f64>::zeros(rows, 12 * bones.len());
        let largest = self.for_shared_features(v, &self.poses, |s, k, frame, turn, shift| {
            let back = frame.inverse();
            let (turn, shift) = (back * turn, back * shift);
            for j in 0..3 {
                let at = 4 * (j * bones.len() + k);
                (0..3).for_each(|c| b[(s, at + c)] = self.scale[s] * turn.col(c)[j]);
                b[(s, at + 3)] = self.scale[s] * shift[j];
            }
        });
        for s in 0..rows {
            let (frame, _) = self.poses[s].frame(self.settings.frame, self.model.weights.of(v), self.training.rest[v]);
            let local = frame.inverse() * self.residual(v, s);
            (0..3).for_each(|j| y[(s, j)] = self.scale[s] * local[j]);
        }
        if largest < LEAST_SHARED {
            return (VertexProblem { y, b: Mat::zeros(rows, 0) }, 0.0);
        }
        (VertexProblem { y, b }, largest)
    }

    /// Visits the shared features √β b [turn, shift] of every pose and bone; result: the largest norm over poses of b
    /// [turn, shift], which the limit refers to.
    fn for_shared_features(
        &self,
        v: usize,
        poses: &[JointPose],
        mut visit: impl FnMut(usize, usize, &DMat3, DMat3, DVec3),
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
                visit(s, k, &frame, turn * (b * root), shift * (b * root));
            }
            largest = largest.max(squares.sqrt());
        }
        largest
    }

    /// The whole regression of a vertex, axes together, and the largest norm of its shared features.
    fn direct(&self, group: &Group, v: usize) -> (DirectProblem, f64) {
        let largest = self.for_shared_features(v, &self.poses, |_, _, _, _, _| {});
        let x = self.direct_features(group, v, &self.poses, &self.scale, largest);
        let y = Mat::from_fn(3 * self.poses.len(), 1, |i, _| self.scale[i / 3] * self.residual(v, i / 3)[i % 3]);
        (DirectProblem { y, x }, largest)
    }

    /// Features of some poses in the welded world, 3S × (3M + c). `largest` is that of the shared features in training;
    /// the limit is applied.
    fn direct_features(&self, group: &Group, v: usize, poses: &[JointPose], scale: &[f64], largest: f64) -> Mat<f64> {
        let z = self.free_features(group, poses, scale);
        let columns = z.ncols();
        let bones = if largest < LEAST_SHARED { 0 } else { self.bone_relevance[v].len() };
        let mut x = Mat::<f64>::zeros(3 * poses.len(), 3 * columns + 4 * bones);
        for (s, pose) in poses.iter().enumerate() {
            let (frame, _) = pose.frame(self.settings.frame, self.model.weights.of(v), self.training.rest[v]);
            for j in 0..3 {
                for axis in 0..3 {
                    for i in 0..columns {
                        x[(3 * s + j, axis * columns + i)] = frame.col(axis)[j] * z[(s, i)];
                    }
                }
            }
        }
        if bones > 0 {
            let mut norms = vec![0.0; poses.len()];
            let root = self.settings.beta.sqrt();
            self.for_shared_features(v, poses, |s, k, _, turn, shift| {
                norms[s] += turn.to_cols_array().iter().map(|x| x * x).sum::<f64>() + shift.length_squared();
                for j in 0..3 {
                    let at = 3 * columns + 4 * k;
                    (0..3).for_each(|c| x[(3 * s + j, at + c)] = scale[s] * turn.col(c)[j]);
                    x[(3 * s + j, at + 3)] = scale[s] * shift[j];
                }
            });
            for s in 0..poses.len() {
                let (norm, limit) = (norms[s].sqrt() / root, self.settings.limit * largest);
                if self.settings.shared_limit && norm > limit {
                    for i in 3 * s..3 * s + 3 {
                        (3 * columns..x.ncols()).for_each(|c| x[(i, c)] *= limit / norm);
                    }
                }
            }
        }
        x
    }

    /// λ from the poses left out: (λ, sweep).
    fn choose(&self, groups: &[Group], stride: usize, ticker: &Ticker<'_>) -> Result<(f64, Vec<(f64, f64)>), FitError> {
        let grid = &self.settings.grid;
        let chunks = self.chunks(groups, stride);
        let parts = chunks
            .par_iter()
            .map(|(group, vertices)| {
                ticker.tick(0)?;
                let at = |v: usize| move |source| FitError::Solve { vertex: v, source };
                let mut sums = vec![0.0; grid.len()];
                let free = match self.settings.frame {
                    Frame::Rest => None,
                    _ => {
                        let z = self.free_features(group, &self.poses, &self.scale);
                        Some(FreePart::new(z).map_err(at(vertices[0]))?)
                    }
                };
                for &v in vertices {
                    let mut of_vertex = |left_out: &dyn Fn(f64) -> Result<f64, SolveError>| {
                        for (sum, &lambda) in sums.iter_mut().zip(grid) {
                            *sum += left_out(lambda).map_err(at(v))?;
                        }
                        Ok(())
                    };
                    match &free {
                        Some(free) => {
                            let (problem, _) = self.problem(v);
                            let prepared = Prepared::new(free, &problem);
                            of_vertex(&|lambda| prepared.left_out(lambda, &self.folds))?;
                        }
                        None => {
                            let (problem, _) = self.direct(group, v);
                            of_vertex(&|lambda| problem.left_out(lambda, &self.folds))?;
                        }
                    }
                }
                ticker.tick(vertices.len() as u64)?;
                Ok(sums)
            })
            .collect::<Result<Vec<_>, FitError>>()?;
        let sums: Vec<f64> = (0..grid.len()).map(|i| parts.iter().map(|part| part[i]).sum()).collect();
        let looked_at: usize = chunks.iter().map(|(_, vertices)| vertices.len()).sum();
        let count = (looked_at * self.poses.len()).max(1) as f64;
        let chosen = cross_validation::choose(&sums, self.settings.tolerance).unwrap_or(0);
        let sweep = grid.iter().zip(&sums).map(|(&lambda, &sum)| (lambda, (sum / count).sqrt())).collect();
        Ok((grid[chosen], sweep))
    }

    /// Coefficients of every vertex in the order of groups, with the largest norm of its shared features.
    fn solve(
        &self,
        groups: &[Group],
        lambda: f64,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<(usize, Coefficients, f64)>, FitError> {
        let parts = self
            .chunks(groups, 1)
            .into_par_iter()
            .map(|(group, vertices)| {
                ticker.tick(0)?;
                let at = |v: usize| move |source| FitError::Solve { vertex: v, source };
                let z = self.free_features(group, &self.poses, &self.scale);
                let columns = z.ncols();
                let free = match self.settings.frame {
                    Frame::Rest => None,
                    _ => Some(FreePart::new(z).map_err(at(vertices[0]))?),
                };
                let solved = vertices.iter().map(|&v| {
                    let (coefficients, largest) = match &free {
                        Some(free) => {
                            let (problem, largest) = self.problem(v);
                            (Prepared::new(free, &problem).solve(lambda), largest)
                        }
                        None => {
                            let (problem, largest) = self.direct(group, v);
                            (problem.solve(lambda, columns), largest)
                        }
                    };
                    Ok((v, coefficients.map_err(at(v))?, largest))
                });
                let solved = solved.collect::<Result<Vec<_>, FitError>>()?;
                ticker.tick(vertices.len() as u64)?;
                Ok(solved)
            })
            .collect::<Result<Vec<_>, FitError>>()?;
        Ok(parts.into_iter().flatten().collect())
    }

    fn assemble(
        mut self,
        groups: &[Group],
        solved: Vec<(usize, Coefficients, f64)>,
        lambda: f64,
        sweep: Vec<(f64, f64)>,
        sweep_vertices: usize,
    ) -> JointFit {
        let vertices = self.training.rest.len();
        let mut group_of = vec![0; vertices];
        for (g, group) in groups.iter().enumerate() {
            group.vertices.iter().for_each(|&v| group_of[v] = g);
        }
        let mut place: Vec<Option<(Coefficients, f64)>> = (0..vertices).map(|_| None).collect();
        for (v, coefficients, largest) in solved {
            place[v] = Some((coefficients, largest));
        }
        let radii = if self.settings.ball {
            self.training.largest_residuals().iter().map(|rho| BALL_FACTOR * rho).collect()
        } else {
            vec![]
        };
        let (mut leverages, mut squares, mut corrected) = (Vec::with_capacity(vertices), 0.0, 0);
        let root = self.settings.beta.sqrt();
        let model = &mut self.model;
        for (v, solution) in place.into_iter().flatten().enumerate() {
            let (Coefficients { u, q, leverage, squares: left }, largest) = solution;
            let still = u.norm_max() == 0.0 && q.iter().all(|q| *q == 0.0);
            if !still {
                let mut at = 0;
                for &(joint, relevance) in &groups[group_of[v]].joints {
                    let count = model.joints[joint as usize].inducing.len();
                    model.terms.push(joint);
                    for axis in 0..3 {
                        model.coefficients.extend((at..at + count).map(|i| relevance * u[(i, axis)]));
                    }
                    at += count;
                }
                for (q, &(bone, relevance)) in q.chunks_exact(4).zip(&self.bone_relevance[v]) {
                    let offset = DVec3::from_slice(q) * root;
                    model.shared.push(SharedTerm { bone, relevance, offset, weight: q[3] * root });
                }
            }
            corrected += usize::from(!still);
            model.offsets.push(model.terms.len() as u32);
            model.starts.push(model.coefficients.len() as u32);
            model.shared_offsets.push(model.shared.len() as u32);
            if self.settings.shared_limit && self.settings.limit.is_finite() {
                model.shared_limits.push(self.settings.limit * largest);
            }
            leverages.push(leverage);
            squares += left;
        }
        model.radii = radii;
        leverages.sort_by(f64::total_cmp);
        let report = JointReport {
            lambda,
            sweep,
            sweep_vertices,
            joints: self.summaries,
            groups: groups.len(),
            train: (squares / (vertices * self.poses.len()).max(1) as f64).sqrt(),
            largest_leverage: leverages.last().copied().unwrap_or(0.0),
            leverage_p99: leverages.get(leverages.len() * 99 / 100).copied().unwrap_or(0.0),
            corrected,
        };
        JointFit { correction: self.model, report }
    }
}
