//! The training as the joint model sees it: joints, features of every pose, vertices that share them.

use super::composite::{self, composite_gate, composite_pairs, composite_relevance};
use super::inducing::{STOP, joint_centre, pivots, pivots_of_parts, ranked};
use super::lanes::PoseLanes;
use super::settings::{CompositeSummary, JointSettings, JointSummary};
use super::tree::JointTree;
use crate::mask::{Masks, Said};
use crate::training::{FitError, Training};
use dermis_deform::Gravity;
use dermis_deform::gravity::{SaggingBone, gravity_feature};
use dermis_deform::guard::{FROZEN, Weld};
use dermis_deform::joints::{
    Joint, JointFeature, JointPose, JointReading, Joints, forest_links, joint_feature, part_of,
};
use dermis_rig::glam::DVec3;
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mirror, Skeleton, pose_numbers};
use dermis_solve::SolveError;
use dermis_solve::faer::Mat;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Composites of a smaller gate have no influence.
const LEAST_GATE: f64 = 1e-3;
/// Bones of a smaller weight do not tell a vertex where down is.
const LEAST_WEIGHT: f64 = 0.004;
/// A joint slides if it leaves its centre by more than this, in L.
const SLIDING: f64 = 0.02;

/// Vertices that share their joints and relevances.
pub struct Group {
    /// Joint, or bone that sees down, and √a.
    pub joints: Vec<(u32, f64)>,
    /// Whether their mirror images are known.
    pub mirrored: bool,
    /// What each row says of them; empty where every row says how the skin is.
    pub said: Vec<Said>,
    /// What each row is multiplied by; the same numbers for all groups where every row says how the skin is.
    pub scales: Arc<[f64]>,
    pub vertices: Vec<usize>,
}

impl Group {
    /// Whether a row says how the skin is.
    pub fn touched(&self, row: usize) -> bool {
        self.said.get(row).is_none_or(|said| *said == Said::Touched)
    }
}

/// The training, seen as the model sees it.
pub struct Scene<'a> {
    pub training: &'a Training<'a>,
    pub settings: &'a JointSettings,
    pub mirror: Option<&'a Mirror>,
    /// What each example says of each vertex; `None` if all say how all of the skin is.
    pub masks: Option<Masks>,
    /// The model without coefficients.
    pub model: Joints,
    pub tree: JointTree,
    pub summaries: Vec<JointSummary>,
    /// Joints of the model of each edge of the tree: none that moved too little, two where its parts are read.
    pub joints_of: Vec<Vec<u32>>,
    pub composites: Vec<CompositeSummary>,
    pub products: Vec<CompositeSummary>,
    /// Joints of the model of each pair of edges that has a composite or a product, each with gate and η.
    pub pairs_of: BTreeMap<(u32, u32), Vec<(u32, f64, f64)>>,
    /// Term of the model of each bone that sees down.
    gravity_of: Vec<Option<u32>>,
    /// How many numbers each term of the model has.
    pub numbers: Vec<usize>,
    pub bone_relevance: Vec<Vec<(BoneIndex, f64)>>,
    /// The examples, then their mirror images.
    pub poses: Vec<JointPose>,
    /// z of the examples, and of their mirror images: a column per number.
    pub free: Vec<Mat<f64>>,
    /// The bones in the examples, and in their mirror images.
    pub lanes: Vec<PoseLanes>,
    /// Number of examples.
    pub own: usize,
    /// Where the examples of each pose start, and their number: [`Training::grouped`] puts them one after another.
    starts: Vec<usize>,
}

impl<'a> Scene<'a> {
    /// Finds the joints that the poses of `training` can tell apart, and their features.
    pub fn new(
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
        let (mut joints, mut summaries, mut joints_of) = (Vec::new(), Vec::new(), Vec::new());
        let features_of = |ends: (BoneIndex, BoneIndex), centre: Option<DVec3>| -> Vec<JointFeature> {
            transforms.iter().map(|pose| joint_feature(pose.as_slice(), ends, centre, length)).collect()
        };
        let unsolved =
            |bone: BoneIndex| FitError::Joint { bone: skeleton.names()[bone].clone(), source: SolveError::NotPositive };
        let joint_of_model =
            |reading, ends: (BoneIndex, BoneIndex), centre, features: &[JointFeature], chosen: &[usize]| {
                let inducing = chosen.iter().map(|&s| features[s]).collect();
                let limit = settings.limit * largest_norm(features);
                Joint::read_as(reading, (ends, centre), limit, (inducing, vec![]), settings.kernel())
                    .ok_or_else(|| unsolved(ends.1))
            };
        let mut features_of_edges = Vec::with_capacity(tree.edges.len());
        let mut features_of_joints: Vec<Vec<JointFeature>> = vec![];
        for &edge in &tree.edges {
            let joint = skeleton.bind()[edge.1].translation;
            let centre = joint_centre(&transforms, edge, length, joint / length);
            let features = features_of(edge, Some(centre));
            let largest = largest_norm(&features);
            // Rounding of matrices grows with the distance from the origin.
            let reach = transforms.iter().map(|pose| pose[edge.1].transform_point3(joint).length()).fold(0.0, f64::max);
            let frozen = largest < FROZEN * (reach / length).max(1.0);
            let slides = features.iter().any(|f| DVec3::new(f[3], f[7], f[11]).length() > SLIDING);
            let most = if slides { settings.inducing_sliding } else { settings.inducing };
            let axis = settings.swing_twist.then(|| axis_of(training.rest, weights, edge.1, centre * length));
            let (mut of_edge, mut count) = (vec![], 0);
            let parts = |reading| features.iter().map(|f| part_of(f, reading)).collect::<Vec<JointFeature>>();
            let readings = match axis {
                None => vec![(JointReading::Whole, features.clone(), pivots(&features, settings.kernel(), most, STOP))],
                Some(axis) => {
                    let [swing, twist] = [JointReading::Swing(axis), JointReading::Twist(axis)];
                    let (swings, twists) = (parts(swing), parts(twist));
                    let [of_swing, of_twist] = pivots_of_parts([&swings, &twists], settings.kernel(), most, STOP);
                    vec![(swing, swings, of_swing), (twist, twists, of_twist)]
                }
            };
            for (reading, parts, chosen) in readings.into_iter().filter(|(.., chosen)| !frozen && !chosen.is_empty()) {
                of_edge.push(joints.len() as u32);
                count += chosen.len();
                joints.push(joint_of_model(reading, edge, Some(centre), &parts, &chosen)?);
                features_of_joints.push(parts);
            }
            summaries.push(JointSummary { from: edge.0, to: edge.1, largest, frozen, inducing: count });
            joints_of.push(of_edge);
            features_of_edges.push(features);
        }
        let (mut composites, mut products) = (Vec::new(), Vec::new());
        let mut pairs_of: BTreeMap<(u32, u32), Vec<(u32, f64, f64)>> = BTreeMap::new();
        let any = settings.composites > 0.0 || settings.products > 0.0;
        let pairs = if any { composite_pairs(&tree.edges) } else { vec![] };
        for pair in pairs {
            let (e, f) = pair.joints;
            let (Some(&first), Some(&second)) = (joints_of[e].first(), joints_of[f].first()) else { continue };
            let examples = |edge: usize| features_of_edges[edge][..training.examples.len()].iter();
            let gate = composite_gate(examples(e), examples(f));
            if gate < LEAST_GATE {
                continue;
            }
            let mut of_pair = vec![];
            if settings.composites > 0.0 {
                let features = features_of(pair.outer, None);
                let chosen = pivots(&features, settings.kernel(), composite::MOST_INDUCING, STOP);
                if !chosen.is_empty() {
                    of_pair.push((joints.len() as u32, gate, settings.composites));
                    composites.push(CompositeSummary { joints: pair.joints, gate, inducing: chosen.len() });
                    joints.push(joint_of_model(JointReading::Whole, pair.outer, None, &features, &chosen)?);
                    features_of_joints.push(vec![]);
                }
            }
            if settings.products > 0.0 {
                let [x, y] = [first, second].map(|joint| &features_of_joints[joint as usize]);
                let kernel = settings.kernel();
                let both = |s: usize, t: usize| {
                    kernel.at(&x[s], &x[t]) * kernel.at(&y[s], &y[t]) / (kernel.sigma * kernel.sigma)
                };
                let chosen = ranked(x.len(), both, composite::MOST_PAIRS, STOP);
                let chosen: Vec<usize> = chosen.into_iter().map(|(pose, _)| pose).collect();
                if !chosen.is_empty() {
                    of_pair.push((joints.len() as u32, gate, settings.products));
                    products.push(CompositeSummary { joints: pair.joints, gate, inducing: chosen.len() });
                    let reading = JointReading::Product([first, second]);
                    let inducing = [x, y].map(|of| chosen.iter().map(|&s| of[s]).collect());
                    let made = Joint::read_as(reading, (pair.outer, None), f64::INFINITY, inducing.into(), kernel);
                    joints.push(made.ok_or_else(|| unsolved(pair.outer.1))?);
                    features_of_joints.push(vec![]);
                }
            }
            if !of_pair.is_empty() {
                pairs_of.insert((e as u32, f as u32), of_pair);
            }
        }
        let frozen: Vec<bool> = summaries.iter().map(|joint| joint.frozen).collect();
        let weld = Weld { links: forest_links(&tree.edges, &frozen, &tree.ancestors) };
        let gravity = settings.gravity.and_then(|down| sagging(down, (skeleton, weights), &transforms, settings.limit));
        let mut gravity_of = vec![None; skeleton.len()];
        for (at, sagging) in gravity.iter().flat_map(|gravity| &gravity.bones).enumerate() {
            gravity_of[sagging.bone.get()] = Some((joints.len() + at) as u32);
        }
        let model = Joints {
            weights: weights.clone(),
            gravity,
            ..Joints::empty(length, settings.kernel(), settings.frame, joints, weld)
        };
        let bone_relevance = match settings.shared {
            true => tree.bone_relevance(weights),
            false => vec![vec![]; weights.vertices()],
        };
        let mut scene = Self {
            training,
            settings,
            mirror,
            masks: Masks::of(training),
            tree,
            summaries,
            joints_of,
            composites,
            products,
            pairs_of,
            gravity_of,
            numbers: model.numbers().collect(),
            model,
            bone_relevance,
            poses: vec![],
            free: vec![],
            lanes: vec![],
            own: training.examples.len(),
            starts: starts(training),
        };
        scene.poses = transforms.par_iter().map(|pose| scene.pose(pose)).collect();
        for side in scene.poses.chunks(scene.own.max(1)) {
            scene.free.push(Mat::from_fn(side.len(), side[0].z.len(), |s, i| side[s].z[i]));
            scene.lanes.push(PoseLanes::of(side));
        }
        scene.check_anchors(weights)?;
        Ok(scene)
    }

    /// Returns the examples that are left out together. Those of one pose are.
    pub fn fold_ranges(&self) -> Vec<Range<usize>> {
        let folds = self.settings.folds.ranges(self.starts.len() - 1);
        folds.into_iter().map(|fold| self.starts[fold.start]..self.starts[fold.end]).collect()
    }

    /// The number of different poses.
    pub fn different_poses(&self) -> usize {
        self.starts.len() - 1
    }

    /// Evaluates the features of a pose.
    pub fn pose(&self, transforms: &BoneTransforms) -> JointPose {
        let mut pose = JointPose::default();
        pose.prepare(&self.model, transforms);
        pose
    }

    /// Refuses an anchor without inverse: residuals are carried back into its frame.
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

    /// Returns the vertices that a row touches by their joints, relevances, and what each row says of them.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: BTreeMap<(Vec<(u32, u64)>, bool, Vec<Said>), Vec<usize>> = BTreeMap::new();
        let root = |a: f64| match self.settings.rounding {
            0 => a.sqrt(),
            steps => (a.sqrt() * f64::from(steps)).round() / f64::from(steps),
        };
        for (v, relevance) in self.tree.joint_relevance(&self.model.weights).into_iter().enumerate() {
            let of_edge = |&(edge, a): &(u32, f64)| self.joints_of[edge as usize].iter().map(move |&joint| (joint, a));
            let single = relevance.iter().flat_map(of_edge).map(|(joint, a)| (joint, root(a).to_bits()));
            let mut joints: Vec<(u32, u64)> = single.collect();
            if !self.pairs_of.is_empty() {
                for (at, &(f, b)) in relevance.iter().enumerate() {
                    for &(e, a) in &relevance[..at] {
                        for &(joint, gate, eta) in self.pairs_of.get(&(e, f)).into_iter().flatten() {
                            let root = root(composite_relevance((a, b), gate, eta));
                            joints.extend((root > 0.0).then_some((joint, root.to_bits())));
                        }
                    }
                }
            }
            let sagging = self.model.weights.of(v).iter().filter(|(_, w)| *w >= LEAST_WEIGHT);
            joints.extend(sagging.filter_map(|&(bone, w)| Some((self.gravity_of[bone.get()]?, root(w).to_bits()))));
            let mirrored = self.mirror.is_some_and(|mirror| mirror.vertices[v].is_some());
            let rows = if mirrored { self.poses.len() } else { self.own };
            let said: Vec<Said> = match self.masks {
                Some(_) => (0..rows).map(|row| self.said(v, row)).collect(),
                None => vec![],
            };
            if self.masks.is_none() || said.contains(&Said::Touched) {
                groups.entry((joints, mirrored, said)).or_default().push(v);
            }
        }
        let common = self.scales(&[]);
        let group = |((joints, mirrored, said), vertices): ((Vec<(u32, u64)>, bool, Vec<Said>), _)| Group {
            joints: joints.into_iter().map(|(joint, bits)| (joint, f64::from_bits(bits))).collect(),
            scales: if said.is_empty() { common.clone() } else { self.scales(&said) },
            mirrored,
            said,
            vertices,
        };
        groups.into_iter().map(group).collect()
    }
}

/// The axis about which a joint twists: from where it turns to the middle of the skin that its bone moves.
fn axis_of(rest: &[DVec3], weights: &Influences, bone: BoneIndex, centre: DVec3) -> DVec3 {
    let (mut sum, mut total) = (DVec3::ZERO, 0.0);
    for (v, p) in rest.iter().enumerate() {
        for &(_, w) in weights.of(v).iter().filter(|(of, _)| *of == bone) {
            sum += *p * w;
            total += w;
        }
    }
    (sum / f64::max(total, f64::MIN_POSITIVE) - centre).normalize_or(DVec3::Y)
}

/// The bones with weights that tilt by more than six degrees in some pose. Not those that hang on one which does not tilt: what they see
/// is a function of their joint, which is read anyway, and would take what the joint does for what gravity does.
fn sagging(
    down: DVec3,
    (skeleton, weights): (&Skeleton, &Influences),
    poses: &[&BoneTransforms],
    limit: f64,
) -> Option<Gravity> {
    let mut named: Vec<BoneIndex> = weights.rows().flatten().map(|(bone, _)| *bone).collect();
    named.sort_unstable();
    named.dedup();
    let largest =
        |&bone: &BoneIndex| poses.iter().map(|pose| gravity_feature(&pose[bone], down).length()).fold(0.0, f64::max);
    let tilts: BTreeMap<BoneIndex, f64> = named.iter().map(|bone| (*bone, largest(bone))).collect();
    let tilt_above = |bone: BoneIndex| {
        let above = std::iter::successors(skeleton.parents()[bone], |bone| skeleton.parents()[*bone]);
        above.into_iter().find_map(|bone| tilts.get(&bone)).copied()
    };
    let seen = tilts.iter().filter(|(bone, h)| tilt_above(**bone).unwrap_or(**h).min(**h).powi(2) >= STOP);
    let bones: Vec<SaggingBone> = seen.map(|(&bone, h)| SaggingBone { bone, limit: limit * h }).collect();
    (!bones.is_empty()).then_some(Gravity { down, bones })
}

/// Where the examples of each pose start, and their number.
pub(super) fn starts(training: &Training<'_>) -> Vec<usize> {
    let numbers = pose_numbers(training.examples.iter().map(|e| &e.transforms), training.unit());
    let mut starts: Vec<usize> = (0..numbers.len()).filter(|&s| s == 0 || numbers[s] != numbers[s - 1]).collect();
    starts.push(numbers.len());
    starts
}

/// The largest |φ|.
fn largest_norm(features: &[JointFeature]) -> f64 {
    features.iter().map(|f| f.iter().map(|x| x * x).sum::<f64>().sqrt()).fold(0.0, f64::max)
}
