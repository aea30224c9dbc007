//! The joint model, fitted: a correction driven by the rotations of joints. See [`dermis_deform::joints`] for the model.
//!
//! Per vertex v the residual X − base is regressed on free features √a_ve z_e of the joints near it and on shared ones
//! √β b_vk [ (R_k − F)/√2, (N_k p − B)/l ], with one ridge λ for the whole model, in units of joint angle: the largest of a
//! grid whose error on poses left out is within a factor of the best. The metric is length in the posed character.
//!
//! **Mirrored examples.** On a character with a left and a right every pose comes with its mirror image, whose residual
//! is known from the other side. Left and right are learnt as two tasks whose coefficients correlate by c = 0.97: a
//! mirrored row reads c U + √(1 − c²) V, V the part of the other side's own that does not concern this one. Whether
//! that helps is decided by the poses left out, each with its mirror image. Where they cannot tell, because one side never
//! moved, the mirrored examples stay: they are all that is known of it.
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
    Frame, Joint, JointFeature, JointPose, Joints, MOST_INDUCING, SharedTerm, forest_links, joint_feature, kernel,
    shared_feature,
};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mirror};
use dermis_solve::faer::Mat;
use dermis_solve::{Folds, SolveError, cross_validation};
use rayon::prelude::*;
use solve::{Coefficients, DirectProblem, FreePart, LeftOut, Vertices};
use std::collections::BTreeMap;

/// How the joint model is fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct JointSettings {
    /// What corrections are seen from.
    pub frame: Frame,
    /// σ of the kernel.
    pub sigma: f64,
    /// Inducing rotations per joint, at most; with none only the shared part is fitted.
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
    /// The rig's left and right, if examples shall teach both.
    pub mirror: Option<Mirror>,
    /// c: how alike left and right are.
    pub mirror_correlation: f64,
    /// Vertices the choice of λ looks at, evenly spread, at most.
    pub sweep_vertices: usize,
    /// √a is rounded to one part in this many, so that vertices share their factors; zero for as it is.
    pub rounding: u32,
    /// The ball.
    pub ball: bool,
}

impl JointSettings {
    /// The defaults. `is_clip`: the examples are frames of an animation, neighbours being nearly the same.
    pub fn new(is_clip: bool) -> Self {
        Self {
            frame: Frame::default(),
            sigma: 1.4,
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
            mirror: None,
            mirror_correlation: 0.97,
            sweep_vertices: 3000,
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
        let ascending = !self.grid.is_empty() && self.grid.windows(2).all(|w| w[0] < w[1]);
        rule("grid", self.grid.len() as f64, ascending, "it needs at least one value, and to ascend")?;
        for &lambda in self.grid.iter().chain(&self.lambda) {
            rule("lambda", lambda, lambda > 0.0 && lambda.is_finite(), "it must be positive")?;
        }
        for count in [self.inducing, self.inducing_sliding] {
            rule("inducing rotations", count as f64, count <= MOST_INDUCING, "they must be at most 256")?;
        }
        let c = self.mirror_correlation;
        rule("mirror correlation", c, (0.0..=1.0).contains(&c), "it must lie in 0..1")?;
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
    /// The same for the form that was not chosen, with mirrored examples or without; empty if there was no choice.
    pub other_sweep: Vec<(f64, f64)>,
    /// Whether examples teach both sides.
    pub mirrored: bool,
    /// Vertices the sweep looked at.
    pub sweep_vertices: usize,
    /// Every joint of the forest, with the largest norm its feature had in training and the number of its inducing
    /// rotations.
    pub joints: Vec<JointSummary>,
    /// Distinct sets of joints and relevances.
    pub groups: usize,
    /// Training error, rms over vertices and poses, metres.
    pub train: f64,
    /// The largest ρ of any vertex, metres: no pose moves a vertex farther from the base than 1.5 times that.
    pub largest_residual: f64,
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
    let vertices = training.rest.len();
    // Every `stride`-th vertex takes part in the choice of λ.
    let most = if settings.frame == Frame::Rest { MOST_DIRECT } else { settings.sweep_vertices.max(1) };
    let stride = vertices.div_ceil(most).max(1);
    let sampled = vertices.div_ceil(stride);
    // With mirrored examples, if there are, and without.
    let forms: Vec<Option<&Mirror>> = match (&settings.mirror, settings.lambda) {
        (Some(mirror), Some(_)) => vec![Some(mirror)],
        (Some(mirror), None) => vec![Some(mirror), None],
        (None, _) => vec![None],
    };
    let sweeps = if settings.lambda.is_some() { 0 } else { forms.len() };
    let ticker = Ticker::new((vertices + sweeps * sampled) as u64, progress);
    let mut chosen: Option<(Scene<'_>, Choice)> = None;
    let mut other_sweep = vec![];
    for form in forms {
        let scene = Scene::new(training, weights, settings, form)?;
        let choice = match settings.lambda {
            Some(lambda) => Choice { lambda, error: 0.0, sweep: vec![], vertices: 0 },
            None => scene.choose(&scene.groups(), stride, &ticker)?,
        };
        match &mut chosen {
            Some((_, best)) if choice.error >= (1.0 - LEAST_GAIN) * best.error => other_sweep = choice.sweep,
            Some(best) => other_sweep = std::mem::replace(best, (scene, choice)).1.sweep,
            None => chosen = Some((scene, choice)),
        }
    }
    let Some((scene, choice)) = chosen else { return Err(FitError::NoExamples) };
    let groups = scene.groups();
    let solved = scene.solve(&groups, choice.lambda, &ticker)?;
    Ok(scene.assemble(&groups, solved, choice, other_sweep))
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
    fitted: &JointReport,
    probes: &[&BoneTransforms],
    most: usize,
) -> Result<Vec<f64>, FitError> {
    check(training, weights, settings)?;
    let included = training.included();
    let training = &training.with(&included);
    let scene = Scene::new(training, weights, settings, settings.mirror.as_ref().filter(|_| fitted.mirrored))?;
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
                let (problem, norm) = scene.direct(group, v);
                let rows = scene.direct_features(group, v, &poses, norm, 0);
                let of_probes = problem.leverages(fitted.lambda, &rows).map_err(at)?;
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
/// The largest remaining diagonal is next; it ends at `most` or where less than `stop` remains. Of equals, up to
/// 1e-5, the lowest pose is taken: a pose and its mirror image are equally far from rest, and the rounding of a file
/// must not choose between them.
pub fn pivots(features: &[JointFeature], sigma: f64, most: usize, stop: f64) -> Vec<usize> {
    let mut left: Vec<f64> = features.iter().map(|f| kernel(f, f, sigma)).collect();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut chosen = Vec::new();
    while chosen.len() < most {
        let next = (0..left.len()).fold(None, |best: Option<usize>, s| match best {
            Some(b) if left[s] <= left[b] + TIE => best,
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
/// Mirrored examples are given up where that lowers the error on the poses left out by more than this share: between 1e-9,
/// where all examples move one side alone, and a quarter, where right does the opposite of left.
const LEAST_GAIN: f64 = 1e-3;
/// Remaining diagonals that differ by no more are equal. f32 matrices leave some 1e-7 of k.
const TIE: f64 = 1e-5;
/// A joint slides if it leaves its centre by more than this, in L.
const SLIDING: f64 = 0.02;
/// Shared features of a smaller norm are rounding.
const LEAST_SHARED: f64 = 1e-6;
/// Vertices the choice of λ looks at in the rest frame, whose axes do not separate: the sweep is some hundred times dearer.
const MOST_DIRECT: usize = 500;
/// Vertices of a group a task takes at a time: their matrices fit a core's cache.
const CHUNK: usize = 8;

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
    /// Whether their mirror images are known.
    mirrored: bool,
    vertices: Vec<usize>,
}

/// λ and how it was chosen.
struct Choice {
    lambda: f64,
    /// Of the poses left out.
    error: f64,
    sweep: Vec<(f64, f64)>,
    vertices: usize,
}

/// The training, seen as the model sees it.
struct Scene<'a> {
    training: &'a Training<'a>,
    settings: &'a JointSettings,
    mirror: Option<&'a Mirror>,
    /// The model without coefficients.
    model: Joints,
    tree: JointTree,
    summaries: Vec<JointSummary>,
    /// Joint of the model of each edge of the tree.
    joint_of: Vec<Option<u32>>,
    bone_relevance: Vec<Vec<(BoneIndex, f64)>>,
    /// The examples, then their mirror images.
    poses: Vec<JointPose>,
    /// Number of examples.
    own: usize,
}

impl<'a> Scene<'a> {
    fn new(
        training: &'a Training<'a>,
        weights: &Influences,
        settings: &'a JointSettings,
        mirror: Option<&'a Mirror>,
    ) -> Result<Self, FitError> {
        let (skeleton, length) = (training.skeleton, training.unit());
        let tree = JointTree::new(skeleton, weights);
        let own = || training.examples.iter().map(|e| &e.transforms);
        let images: Vec<BoneTransforms> =
            mirror.iter().flat_map(|mirror| own().map(|pose| mirror.pose(pose))).collect();
        let transforms: Vec<&BoneTransforms> = own().chain(&images).collect();
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
        let weld = Weld { links: forest_links(&tree.edges, &frozen, &tree.ancestors) };
        let model =
            Joints { weights: weights.clone(), ..Joints::empty(length, settings.sigma, settings.frame, joints, weld) };
        let bone_relevance = match settings.shared {
            true => tree.bone_relevance(weights),
            false => vec![vec![]; weights.vertices()],
        };
        let mut scene = Self {
            training,
            settings,
            mirror,
            model,
            tree,
            summaries,
            joint_of,
            bone_relevance,
            poses: vec![],
            own: training.examples.len(),
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
        let mut groups: BTreeMap<(Vec<(u32, u64)>, bool), Vec<usize>> = BTreeMap::new();
        for (v, relevance) in self.tree.joint_relevance(&self.model.weights).into_iter().enumerate() {
            let joints = relevance.iter().filter_map(|&(edge, a)| {
                let root = match self.settings.rounding {
                    0 => a.sqrt(),
                    steps => (a.sqrt() * f64::from(steps)).round() / f64::from(steps),
                };
                Some((self.joint_of[edge as usize]?, root.to_bits()))
            });
            let mirrored = self.mirror.is_some_and(|mirror| mirror.vertices[v].is_some());
            groups.entry((joints.collect(), mirrored)).or_default().push(v);
        }
        let group = |((joints, mirrored), vertices): ((Vec<(u32, u64)>, bool), _)| Group {
            joints: joints.into_iter().map(|(joint, bits)| (joint, f64::from_bits(bits))).collect(),
            mirrored,
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

    /// Number of rows of a group's vertices: a row per example, and one per mirror image.
    fn rows(&self, group: &Group) -> usize {
        if group.mirrored { self.poses.len() } else { self.own }
    }

    /// Importance of a row.
    fn importance(&self, row: usize) -> f64 {
        self.training.examples[row % self.own].importance
    }

    /// How a row reads coefficients: those of its vertex, and those of the other side alone.
    fn reads(&self, row: usize) -> [f64; 2] {
        let c = self.settings.mirror_correlation;
        if row < self.own { [1.0, 0.0] } else { [c, (1.0 - c * c).max(0.0).sqrt()] }
    }

    /// Rows left out together: poses, each with its mirror image.
    fn folds(&self, group: &Group) -> Vec<LeftOut> {
        let folds = self.settings.folds.ranges(self.own).into_iter().map(|fold| {
            let images = (fold.start..fold.end).map(|s| s + self.own).filter(|_| group.mirrored);
            LeftOut { rows: (fold.start..fold.end).chain(images).collect(), scored: fold.end - fold.start }
        });
        folds.collect()
    }

    /// Number of free coefficients per axis.
    fn free_count(&self, group: &Group) -> usize {
        group.joints.iter().map(|&(joint, _)| self.model.joints[joint as usize].inducing.len()).sum()
    }

    /// √a z of a pose, all joints of a group.
    fn free_row(&self, group: &Group, pose: &JointPose) -> impl Iterator<Item = f64> {
        group.joints.iter().flat_map(move |&(joint, root)| pose.of(joint as usize).iter().map(move |z| root * z))
    }

    /// Z of a group: a column per coefficient, then again for those of the other side alone. Rows are scaled by importance.
    fn free_part(&self, group: &Group) -> Result<FreePart, SolveError> {
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

    /// The residual of a row in the welded character.
    fn residual(&self, v: usize, row: usize) -> DVec3 {
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

    /// Targets and shared features of a vertex in its frame, as columns of [`Vertices`], appended; the number of shared
    /// features, and their largest norm.
    fn columns(&self, group: &Group, v: usize, out: &mut Vec<f64>) -> (usize, f64) {
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

    /// Visits the shared features √β b [turn, shift] of every pose and bone; result: the largest norm over poses of b
    /// [turn, shift], which the limit refers to.
    fn for_shared_features(
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

    /// The whole regression of a vertex, axes together, and the largest norm of its shared features.
    fn direct(&self, group: &Group, v: usize) -> (DirectProblem, f64) {
        let rows = self.rows(group);
        let largest = self.for_shared_features(v, &self.poses[..rows], |_, _, _, _| {});
        let x = self.direct_features(group, v, &self.poses[..rows], largest, self.own);
        let y = Mat::from_fn(3 * rows, 1, |i, _| self.importance(i / 3) * self.residual(v, i / 3)[i % 3]);
        (DirectProblem { y, x }, largest)
    }

    /// Features of some poses in the welded world, three rows each: free ones axis by axis, then shared ones, each for
    /// this side and, with mirrored examples, the other side alone. `largest` is that of the shared features in training;
    /// their limit is applied. The first `training` poses are examples with their importance, after them come their
    /// mirror images; with none all are read as this side's.
    fn direct_features(&self, group: &Group, v: usize, poses: &[JointPose], largest: f64, training: usize) -> Mat<f64> {
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

    /// Runs `work` on some vertices of a group at a time, in parallel, results in order; a vertex is left to `direct` where
    /// its axes do not separate.
    fn for_chunks<T: Send>(
        &self,
        groups: &[Group],
        stride: usize,
        ticker: &Ticker<'_>,
        together: impl Fn(&Group, &[usize], Vertices<'_>, Vec<f64>) -> Result<T, SolveError> + Sync,
        direct: impl Fn(&Group, &[usize]) -> Result<T, SolveError> + Sync,
    ) -> Result<Vec<T>, FitError> {
        self.chunks(groups, stride)
            .into_par_iter()
            .map(|(group, vertices)| {
                ticker.tick(0)?;
                let result = if self.settings.frame == Frame::Rest {
                    direct(group, &vertices)
                } else {
                    self.free_part(group).and_then(|free| {
                        let (mut columns, mut counts, mut largest) = (Vec::new(), Vec::new(), Vec::new());
                        for &v in &vertices {
                            let (count, norm) = self.columns(group, v, &mut columns);
                            counts.push(count);
                            largest.push(norm);
                        }
                        together(group, &vertices, Vertices::new(&free, columns, counts), largest)
                    })
                };
                ticker.tick(vertices.len() as u64)?;
                result.map_err(|source| FitError::Solve { vertex: vertices[0], source })
            })
            .collect()
    }

    /// λ from the poses left out.
    fn choose(&self, groups: &[Group], stride: usize, ticker: &Ticker<'_>) -> Result<Choice, FitError> {
        let grid = &self.settings.grid;
        let parts = self.for_chunks(
            groups,
            stride,
            ticker,
            |group, _, vertices, _| {
                let folds = self.folds(group);
                grid.iter().map(|&lambda| vertices.left_out(lambda, &folds)).collect::<Result<Vec<_>, _>>()
            },
            |group, vertices| {
                let (folds, mut sums) = (self.folds(group), vec![0.0; grid.len()]);
                for &v in vertices {
                    let (problem, _) = self.direct(group, v);
                    for (sum, &lambda) in sums.iter_mut().zip(grid) {
                        *sum += problem.left_out(lambda, &folds)?;
                    }
                }
                Ok(sums)
            },
        )?;
        let sums: Vec<f64> = (0..grid.len()).map(|i| parts.iter().map(|part| part[i]).sum()).collect();
        let vertices = self.training.rest.len().div_ceil(stride);
        let rms = |sum: f64| (sum / (vertices * self.own).max(1) as f64).sqrt();
        let chosen = cross_validation::choose(&sums, self.settings.tolerance).unwrap_or(0);
        Ok(Choice {
            lambda: grid[chosen],
            error: sums.iter().copied().map(rms).fold(f64::INFINITY, f64::min),
            sweep: grid.iter().zip(&sums).map(|(&lambda, &sum)| (lambda, rms(sum))).collect(),
            vertices,
        })
    }

    /// Coefficients of every vertex in the order of groups, with the largest norm of its shared features.
    fn solve(
        &self,
        groups: &[Group],
        lambda: f64,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<(usize, Coefficients, f64)>, FitError> {
        let parts = self.for_chunks(
            groups,
            1,
            ticker,
            |group, vertices, problems, largest| {
                let solved = problems.solve(lambda, self.free_count(group), self.own)?.into_iter().zip(largest);
                Ok(vertices.iter().zip(solved).map(|(&v, (coefficients, norm))| (v, coefficients, norm)).collect())
            },
            |group, vertices| {
                let sides = if group.mirrored { 2 } else { 1 };
                let solved = vertices.iter().map(|&v| {
                    let (problem, largest) = self.direct(group, v);
                    Ok((v, problem.solve(lambda, sides * self.free_count(group), self.own)?, largest))
                });
                solved.collect::<Result<Vec<_>, SolveError>>()
            },
        )?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// ρ: the largest residual of each vertex, mirror images included.
    fn largest_residuals(&self) -> Vec<f64> {
        let own = self.training.largest_residuals();
        let image = |v: usize| self.mirror.and_then(|mirror| mirror.vertices[v]).map_or(0.0, |m| own[m as usize]);
        (0..own.len()).map(|v| own[v].max(image(v))).collect()
    }

    fn assemble(
        mut self,
        groups: &[Group],
        solved: Vec<(usize, Coefficients, f64)>,
        choice: Choice,
        other_sweep: Vec<(f64, f64)>,
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
        let residuals = self.largest_residuals();
        let radii = match self.settings.ball {
            true => residuals.iter().map(|rho| BALL_FACTOR * rho).collect(),
            false => vec![],
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
            lambda: choice.lambda,
            sweep: choice.sweep,
            other_sweep,
            mirrored: self.mirror.is_some(),
            sweep_vertices: choice.vertices,
            joints: self.summaries,
            groups: groups.len(),
            train: (squares / (vertices * self.own).max(1) as f64).sqrt(),
            largest_residual: residuals.into_iter().fold(0.0, f64::max),
            largest_leverage: leverages.last().copied().unwrap_or(0.0),
            leverage_p99: leverages.get(leverages.len() * 99 / 100).copied().unwrap_or(0.0),
            corrected,
        };
        JointFit { correction: self.model, report }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DAffine3;

    /// A pose and its mirror image are equally far from rest; last digits, of either sign, must not choose between them.
    #[test]
    fn rounding_does_not_choose_between_a_pose_and_its_mirror_image() {
        let bones = (BoneIndex::new(0), BoneIndex::new(1));
        let feature = |bend: f64, twist: f64| {
            let turn = DAffine3::from_rotation_z(bend) * DAffine3::from_rotation_x(twist);
            joint_feature(&[DAffine3::IDENTITY, turn], bones, DVec3::ZERO, 1.0)
        };
        let angles = [(0.0, 0.0), (1.2, 0.3), (0.4, -0.8), (-0.7, 0.1), (0.2, 0.9)];
        let own = angles.map(|(bend, twist)| feature(bend, twist));
        let images = angles.map(|(bend, twist)| feature(-bend, -twist));
        let exact = pivots(&[own, images].concat(), 1.4, 6, STOP);
        assert_eq!(exact[0], 1, "the largest angle of the examples, not of the images");
        for sign in [1.0, -1.0] {
            // As f32 rounds, the examples outwards and the images inwards, then the other way.
            let scaled = |list: [JointFeature; 5], by: f64| list.map(|f| f.map(|x| x * (1.0 + by)));
            let rounded = [scaled(own, sign * 6e-8), scaled(images, -sign * 6e-8)].concat();
            assert_eq!(pivots(&rounded, 1.4, 6, STOP), exact, "{sign}");
        }
    }
}
