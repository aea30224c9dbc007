//! Pose spaces of vertices: joints, the examples' coordinates, and groups of vertices that compare poses alike.

use super::displacements::Displacements;
use super::{ChannelSetting, PsdSettings, Reach, UNMOVED};
use crate::training::Training;
use dermis_deform::guard::{FROZEN, LIMIT_FACTOR, Weld};
use dermis_deform::pose_space::{Channel, Coordinates, Joint, JointPart, Kernel, ROOM, difference, square};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Skeleton};
use dermis_solve::faer::Mat;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Steps of a joint's relevance a: vertices that agree within them share a kernel. 13 380 vertices of a human body have
/// 4 326 pose spaces.
pub(super) const STEPS: f64 = 64.0;

/// The joints and the examples' coordinates.
#[derive(Clone)]
pub(super) struct Space<'a> {
    pub training: &'a Training<'a>,
    pub weld: Weld,
    pub joints: Vec<Joint>,
    pub channels: Vec<Channel>,
    /// Per example and mirror image: joints, then channels, in order.
    pub examples: Vec<Vec<[f64; ROOM]>>,
    /// Of each bone the topmost one that it moves as one with: the bones that joints name.
    pub top: Vec<BoneIndex>,
    coordinates: Coordinates,
    /// Per vertex: joints that count, in steps of relevance.
    relevance: Vec<Vec<(u32, u32)>>,
}

/// Vertices that share a pose space and the examples that tell of them.
#[derive(Clone)]
pub(super) struct Group {
    pub relevance: Vec<(u32, f64)>,
    pub vertices: Vec<u32>,
    /// Example of each row: the first of those merged.
    pub centres: Vec<u32>,
    /// Examples of each row.
    pub merged: Vec<Vec<u32>>,
}

/// Squared distances of a group's examples, joint after joint.
pub(super) struct Squares {
    /// a of the joint, distances to each other, distances to the bind pose.
    pub joints: Vec<(f64, Mat<f64>, Vec<f64>)>,
}

impl<'a> Space<'a> {
    /// `poses` are those of the examples, then their mirror images.
    pub fn new(
        training: &'a Training<'a>,
        poses: &[&BoneTransforms],
        maps: &Influences,
        weights: &Influences,
        settings: &PsdSettings,
    ) -> Self {
        let skeleton = training.skeleton;
        let weld = match settings.guard {
            true => Weld::of_training(skeleton, poses.iter().copied(), training.unit()),
            false => Weld::default(),
        };
        // Bones that move as one count as the topmost of them, with the largest of their maps.
        let mut top: Vec<BoneIndex> = skeleton.bones().collect();
        for link in weld.links.iter().filter(|link| link.frozen) {
            top[link.to.get()] = top[link.from.get()];
        }
        let mut mapped = vec![false; skeleton.len()];
        maps.rows().flatten().filter(|(_, mu)| *mu > 0.0).for_each(|(bone, _)| mapped[top[bone.get()].get()] = true);
        let whole = joints(skeleton, &top, &mapped, weights);
        let joints =
            whole.iter().flat_map(|joint| settings.parts.iter().map(|&part| Joint { part, ..*joint })).collect();
        let channels = settings.channels.iter().map(|c| channel(c, poses)).collect();
        let mut kernel = Kernel::new(1.0, weld, joints, vec![]);
        (kernel.channels, kernel.coordinates) = (channels, settings.coordinates);
        let (mut welded, mut all): (_, Vec<Vec<[f64; ROOM]>>) = (Vec::new(), Vec::new());
        for pose in poses {
            kernel.weld.apply(pose, &mut welded);
            let mut x = Vec::new();
            kernel.coordinates_of(&welded, pose, &mut x);
            all.push(x);
        }
        let largest: Vec<f64> =
            (0..kernel.width()).map(|j| all.iter().map(|x| square(&x[j]).sqrt()).fold(0.0, f64::max)).collect();
        let moving = |j: usize| largest[j] >= FROZEN;
        for x in &mut all {
            *x = (0..x.len()).filter(|&j| moving(j)).map(|j| x[j]).collect();
        }
        let first = kernel.joints.len();
        if settings.guard {
            kernel.joints.iter_mut().zip(&largest).for_each(|(joint, most)| joint.limit = LIMIT_FACTOR * most);
            kernel.channels.iter_mut().zip(&largest[first..]).for_each(|(c, most)| c.limit = LIMIT_FACTOR * most);
        }
        let joints: Vec<Joint> = (0..first).filter(|&j| moving(j)).map(|j| kernel.joints[j]).collect();
        let channels: Vec<Channel> =
            (0..kernel.channels.len()).filter(|&c| moving(first + c)).map(|c| kernel.channels[c].clone()).collect();
        let everywhere: Vec<(u32, u32)> =
            (0..channels.len()).map(|c| ((joints.len() + c) as u32, STEPS as u32)).collect();
        let of_vertex = |row: &[(BoneIndex, f64)]| {
            let mut largest: BTreeMap<BoneIndex, f64> = BTreeMap::new();
            for &(bone, mu) in row.iter().filter(|(_, mu)| *mu > 0.0) {
                let most = largest.entry(top[bone.get()]).or_insert(0.0);
                *most = most.max(mu * mu);
            }
            let of = |bone: &BoneIndex| largest.get(bone).copied().unwrap_or(0.0);
            let steps = joints.iter().map(|joint| match settings.reach {
                Reach::Local => (of(&joint.parent).max(of(&joint.bone)) * STEPS).round() as u32,
                Reach::Global => STEPS as u32,
            });
            let relevant = steps.enumerate().filter(|(_, a)| *a > 0).map(|(j, a)| (j as u32, a));
            relevant.chain(everywhere.iter().copied()).collect()
        };
        let relevance = maps.rows().map(of_vertex).collect();
        let (weld, coordinates) = (kernel.weld, kernel.coordinates);
        Self { training, weld, joints, channels, examples: all, top, coordinates, relevance }
    }

    pub fn coordinates(&self) -> Coordinates {
        self.coordinates
    }

    /// The joints and channels that count for vertex `v`, each with its a.
    pub fn relevance_of(&self, v: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.relevance[v].iter().map(|&(j, steps)| (j, f64::from(steps) / STEPS))
    }

    /// Importance of an example or of a mirror image.
    fn importance(&self, s: u32) -> f64 {
        self.training.examples[s as usize % self.training.examples.len()].importance
    }

    /// Numbers that coordinate `j` has.
    pub fn dimensions(&self, j: usize) -> usize {
        if j < self.joints.len() { self.coordinates.dimensions() } else { 1 }
    }

    /// |x_sj − x_tj|², the bind pose's x = 0 for no example.
    pub fn square_of(&self, j: usize, s: u32, t: Option<u32>) -> f64 {
        let x = &self.examples[s as usize][j];
        t.map_or_else(|| square(x), |t| square(&difference(x, &self.examples[t as usize][j])))
    }

    /// Σ_j a_j |x_j − y_j|².
    pub fn distance_squared(&self, relevance: &[(u32, f64)], s: u32, t: Option<u32>) -> f64 {
        relevance.iter().map(|&(j, a)| a * self.square_of(j as usize, s, t)).sum()
    }

    /// Groups of the vertices that some example displaces, or leaves a remainder at.
    pub fn groups(&self, asked: &Displacements, settings: &PsdSettings) -> Vec<Group> {
        let least = UNMOVED * self.training.unit();
        let mut members: BTreeMap<(&[(u32, u32)], Vec<u32>), Vec<u32>> = BTreeMap::new();
        for (v, relevance) in self.relevance.iter().enumerate().filter(|(_, relevance)| !relevance.is_empty()) {
            if asked.all.iter().any(|d| d[v].length() >= least) || asked.leaves(v, least) {
                let unknown = (0..asked.all.len() as u32).filter(|&s| asked.all[s as usize][v].is_nan()).collect();
                members.entry((relevance, unknown)).or_default().push(v as u32);
            }
        }
        let members: Vec<_> = members.into_iter().collect();
        let groups = members.into_par_iter().map(|((steps, unknown), vertices)| {
            let relevance: Vec<_> = steps.iter().map(|&(j, a)| (j, f64::from(a) / STEPS)).collect();
            let (centres, merged) = self.merge(&relevance, &unknown, settings.duplicates);
            Group { relevance, vertices, centres, merged }
        });
        groups.filter(|group| !group.centres.is_empty()).collect()
    }

    /// Merges examples that agree: each joins the first earlier one within `tolerance`, or the bind pose, where the
    /// correction is zero and nothing is to be learnt. The examples `unknown`, ascending, are left out.
    pub fn merge(&self, relevance: &[(u32, f64)], unknown: &[u32], tolerance: f64) -> (Vec<u32>, Vec<Vec<u32>>) {
        let close = |square: f64| square.sqrt() <= tolerance.max(0.0);
        let (mut leaders, mut merged): (Vec<u32>, Vec<Vec<u32>>) = Default::default();
        for s in (0..self.examples.len() as u32).filter(|s| unknown.binary_search(s).is_err()) {
            if close(self.distance_squared(relevance, s, None)) {
                continue;
            }
            let near = |&t: &u32| tolerance >= 0.0 && close(self.distance_squared(relevance, s, Some(t)));
            match leaders.iter().position(near) {
                Some(row) => merged[row].push(s),
                None => {
                    leaders.push(s);
                    merged.push(vec![s]);
                }
            }
        }
        (leaders, merged)
    }

    /// Mean over vertices of the mean distance of an example to its nearest, the bind pose among them.
    pub fn spacing(&self, groups: &[Group]) -> f64 {
        let of_groups: Vec<f64> = groups
            .par_iter()
            .map(|group| {
                let n = group.centres.len();
                let mut nearest = vec![f64::INFINITY; n + 1];
                for row in 0..n {
                    let to_rest = self.distance_squared(&group.relevance, group.centres[row], None).sqrt();
                    nearest[row] = nearest[row].min(to_rest);
                    nearest[n] = nearest[n].min(to_rest);
                    for other in 0..row {
                        let (s, t) = (group.centres[row], group.centres[other]);
                        let d = self.distance_squared(&group.relevance, s, Some(t)).sqrt();
                        nearest[row] = nearest[row].min(d);
                        nearest[other] = nearest[other].min(d);
                    }
                }
                nearest.iter().sum::<f64>() / (n + 1) as f64
            })
            .collect();
        let vertices: usize = groups.iter().map(|g| g.vertices.len()).sum();
        let sum: f64 = groups.iter().zip(of_groups).map(|(g, spacing)| g.vertices.len() as f64 * spacing).sum();
        if sum > 0.0 { sum / vertices as f64 } else { 1.0 }
    }

    /// Squared distances of examples to each other, and to the bind pose, for each of some joints.
    pub fn squares(&self, relevance: &[(u32, f64)], centres: &[u32]) -> Squares {
        let n = centres.len();
        let of_joint = |&(j, a): &(u32, f64)| {
            let mut squares = Mat::zeros(n, n);
            for i in 0..n {
                for k in 0..i {
                    let d = self.square_of(j as usize, centres[i], Some(centres[k]));
                    (squares[(i, k)], squares[(k, i)]) = (d, d);
                }
            }
            (a, squares, centres.iter().map(|&s| self.square_of(j as usize, s, None)).collect())
        };
        Squares { joints: relevance.iter().map(of_joint).collect() }
    }

    /// √a_j x_j of a group's examples: a row each, the numbers of its joints side by side.
    pub fn linear(&self, group: &Group) -> Mat<f64> {
        let columns: Vec<(usize, usize, f64)> = group
            .relevance
            .iter()
            .flat_map(|&(j, a)| (0..self.dimensions(j as usize)).map(move |i| (j as usize, i, a.sqrt())))
            .collect();
        let of = |row: usize, column: usize| {
            let (j, i, root) = columns[column];
            root * self.examples[group.centres[row] as usize][j][i]
        };
        Mat::from_fn(group.centres.len(), columns.len(), of)
    }

    /// Displacements of a group's vertices (rows × 3·vertices), examples merged by their importance.
    pub fn targets(&self, group: &Group, all: &[Vec<DVec3>]) -> Mat<f64> {
        let mut y = Mat::zeros(group.centres.len(), 3 * group.vertices.len());
        for (at, &v) in group.vertices.iter().enumerate() {
            let of = |s: u32| all[s as usize][v as usize];
            self.fill(group, of, &mut y, at);
        }
        y
    }

    /// One vertex's columns of a group's targets.
    pub fn fill(&self, group: &Group, of: impl Fn(u32) -> DVec3, y: &mut Mat<f64>, at: usize) {
        for (row, members) in group.merged.iter().enumerate() {
            let total: f64 = members.iter().map(|&s| self.importance(s).powi(2)).sum();
            let sum: DVec3 = members.iter().map(|&s| of(s) * self.importance(s).powi(2)).sum();
            (sum / total).to_array().into_iter().enumerate().for_each(|(c, x)| y[(row, 3 * at + c)] = x);
        }
    }

    /// ρ / r² per row, r the largest importance of those merged.
    pub fn smoothing(&self, group: &Group, rho: f64) -> Vec<f64> {
        let largest = |members: &Vec<u32>| members.iter().map(|&s| self.importance(s)).fold(0.0, f64::max);
        group.merged.iter().map(|members| rho / largest(members).powi(2)).collect()
    }
}

/// A channel with its scale: given, or such that its largest value in training counts as one radian.
fn channel(setting: &ChannelSetting, poses: &[&BoneTransforms]) -> Channel {
    let value = |pose: &&BoneTransforms| pose.channel(&setting.name).abs();
    let largest = poses.iter().map(value).fold(0.0, f64::max);
    let scale = setting.scale.unwrap_or(if largest > 0.0 { 1.0 / largest } else { 1.0 });
    Channel { name: setting.name.clone(), scale, limit: f64::INFINITY }
}

/// Joints between bones that matter: a maximum spanning forest of the overlaps Σ_v min(w_va, w_vb).
///
/// A bone and the nearest one above it come first, then any bones that share vertices, then bones above without overlap. Larger
/// overlaps come first, ties by index. So a foot whose parent is a control bone next to the leg still meets the shin that
/// shares its skin. Where the hierarchy follows the skin, the joints follow the hierarchy.
fn joints(skeleton: &Skeleton, top: &[BoneIndex], mapped: &[bool], weights: &Influences) -> Vec<Joint> {
    let above = |bone: BoneIndex| skeleton.parents()[bone].map(|parent| top[parent.get()]);
    let ancestors = |bone: BoneIndex| std::iter::successors(above(bone), |b| above(*b));
    let mut overlaps: BTreeMap<(BoneIndex, BoneIndex), f64> = BTreeMap::new();
    for row in weights.rows() {
        let mut shares: BTreeMap<BoneIndex, f64> = BTreeMap::new();
        let positive = row.iter().filter(|(bone, w)| *w > 0.0 && mapped[top[bone.get()].get()]);
        positive.for_each(|(bone, w)| *shares.entry(top[bone.get()]).or_insert(0.0) += w);
        let shares: Vec<_> = shares.into_iter().collect();
        for (at, &(a, wa)) in shares.iter().enumerate() {
            shares[at + 1..].iter().for_each(|&(b, wb)| *overlaps.entry((a, b)).or_insert(0.0) += wa.min(wb));
        }
    }
    let mut candidates: Vec<(u8, f64, (BoneIndex, BoneIndex))> = Vec::new();
    for bone in skeleton.bones().filter(|b| top[b.get()] == *b && mapped[b.get()]) {
        if let Some(parent) = ancestors(bone).find(|b| mapped[b.get()]) {
            let pair = (bone.min(parent), bone.max(parent));
            let overlap = overlaps.remove(&pair).unwrap_or(0.0);
            candidates.push((if overlap > 0.0 { 0 } else { 2 }, overlap, pair));
        }
    }
    candidates.extend(overlaps.into_iter().map(|(pair, overlap)| (1, overlap, pair)));
    candidates.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    let mut tree: Vec<usize> = (0..skeleton.len()).collect();
    let mut joints = Vec::new();
    for (_, _, (a, b)) in candidates {
        let (of_a, of_b) = (tree[a.get()], tree[b.get()]);
        if of_a != of_b {
            tree.iter_mut().filter(|t| **t == of_b).for_each(|t| *t = of_a);
            let (parent, bone) = if ancestors(b).count() < ancestors(a).count() { (b, a) } else { (a, b) };
            joints.push(Joint {
                parent,
                bone,
                limit: f64::INFINITY,
                axis: direction(skeleton, bone),
                part: JointPart::Whole,
            });
        }
    }
    joints.sort_by_key(|joint| (joint.bone, joint.parent));
    joints
}

/// The direction of a bone at rest: from its joint to the mean of its children's, or as its parent points to it.
fn direction(skeleton: &Skeleton, bone: BoneIndex) -> DVec3 {
    let at = |bone: BoneIndex| skeleton.bind()[bone].translation;
    let children: Vec<DVec3> = skeleton.bones().filter(|&b| skeleton.parents()[b] == Some(bone)).map(at).collect();
    let along = match children.len() {
        0 => skeleton.parents()[bone].map_or(DVec3::ZERO, |parent| at(bone) - at(parent)),
        count => children.iter().sum::<DVec3>() / count as f64 - at(bone),
    };
    along.try_normalize().unwrap_or(DVec3::X)
}
