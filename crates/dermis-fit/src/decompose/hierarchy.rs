//! A hierarchy for found bones: which bone hangs on which, where, and the same motion by rotations about those joints alone.
//!
//! Bones found in a sequence float: nothing ties one to another. Animators want a tree whose bones keep their length. Bones that
//! share skin are joined, most shared weight first ([`JointTree`]), the bone with the most skin is the root, and a joint
//! stands where its two bones agree best over the frames. [`rotation_only`] then moves bones by rotations about
//! their joints; only the root moves. What that costs in error depends on how far the skin is from a body with joints.
//!
//! Source: after Le & Deng 2014 (joint placement and rotation-only bones), with a maximum spanning tree of shared weights in
//! place of their pruning, and without their final update of weights.

use super::Sequence;
use super::bone_maps::{fit_rigid, outer};
use super::ties::first_of_largest;
use crate::joints::JointTree;
use crate::{Cancelled, Progress};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::rotation::nearest_rotation;
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Skeleton, SkeletonError};
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Weight of the distance of a joint from the skin its bones share, per frame, beside the square of the angle between the
/// bones: half a degree. A hinge leaves its axis open, and this closes it.
const SHARED: f64 = 1e-4;
/// Sweeps over the bones of a frame, at most, and the relative decrease below which they end.
const SWEEPS: (usize, f64) = (30, 1e-4);

/// Bones in a tree, each with the place it turns about.
#[derive(Clone, Debug, PartialEq)]
pub struct Hierarchy {
    /// The parent of each bone; `None` for the root alone.
    pub parents: Vec<Option<BoneIndex>>,
    /// The place at rest about which each bone turns: the joint with its parent, and the middle of its skin for the root.
    pub joints: Vec<DVec3>,
    /// The bones, parents first.
    pub order: Vec<BoneIndex>,
    /// Bones that share no skin with the others and hang on the bone nearest to them.
    pub detached: usize,
}

/// The tree of found bones.
///
/// # Errors
/// [`SkeletonError`] without bones.
pub fn hierarchy(
    rest: &[DVec3],
    weights: &Influences,
    transforms: &[BoneTransforms],
) -> Result<Hierarchy, SkeletonError> {
    let bones = transforms.first().map_or(weights.bones_named(), |t| t.len());
    let flat = Skeleton::new(vec![String::new(); bones], vec![None; bones], vec![DAffine3::IDENTITY; bones])?;
    let (totals, centres) = middles(rest, weights, bones);
    let mut beside = vec![Vec::new(); bones];
    for (a, b) in JointTree::new(&flat, weights).edges {
        beside[a.get()].push(b.get());
        beside[b.get()].push(a.get());
    }
    let (mut parents, mut order, mut placed) = (vec![None; bones], Vec::with_capacity(bones), vec![false; bones]);
    let mut detached = 0;
    while order.len() < bones {
        // The heaviest bone not placed yet: the root, then one of each part that shares no skin with what is placed.
        let left: Vec<usize> = (0..bones).filter(|&bone| !placed[bone]).collect();
        let top = left[first_of_largest(left.iter().map(|&bone| totals[bone]), rest.len() as f64)];
        let away = |&bone: &usize| centres[bone].distance_squared(centres[top]);
        let farthest = order.iter().map(away).fold(0.0, f64::max);
        let nearest = order.get(first_of_largest(order.iter().map(|bone| -away(bone)), farthest)).copied();
        parents[top] = nearest;
        detached += usize::from(nearest.is_some());
        let mut next = order.len();
        placed[top] = true;
        order.push(top);
        while next < order.len() {
            let bone = order[next];
            for &child in &beside[bone] {
                if !placed[child] {
                    placed[child] = true;
                    parents[child] = Some(bone);
                    order.push(child);
                }
            }
            next += 1;
        }
    }
    let joint = |bone: usize| match parents[bone] {
        None => centres[bone],
        Some(parent) => {
            joint(transforms, (parent, bone), shared_skin(rest, weights, (parent, bone)).unwrap_or(centres[bone]))
        }
    };
    Ok(Hierarchy {
        joints: (0..bones).map(joint).collect(),
        parents: parents.into_iter().map(|p| p.map(BoneIndex::new)).collect(),
        order: order.into_iter().map(BoneIndex::new).collect(),
        detached,
    })
}

/// The sum of weights of each bone and the weighted middle of its skin; the middle of the mesh for a bone without.
pub fn middles(rest: &[DVec3], weights: &Influences, bones: usize) -> (Vec<f64>, Vec<DVec3>) {
    let (mut totals, mut sums) = (vec![0.0; bones], vec![DVec3::ZERO; bones]);
    for (row, p) in weights.rows().zip(rest) {
        for &(bone, w) in row {
            totals[bone.get()] += w;
            sums[bone.get()] += w * *p;
        }
    }
    let middle = rest.iter().sum::<DVec3>() / rest.len().max(1) as f64;
    let centres = sums.into_iter().zip(&totals).map(|(sum, &w)| if w > 0.0 { sum / w } else { middle }).collect();
    (totals, centres)
}

/// The middle of the skin two bones share, by the product of their weights.
fn shared_skin(rest: &[DVec3], weights: &Influences, (a, b): (usize, usize)) -> Option<DVec3> {
    let (mut total, mut sum) = (0.0, DVec3::ZERO);
    for (v, p) in rest.iter().enumerate() {
        let w = weights.value(v, BoneIndex::new(a)) * weights.value(v, BoneIndex::new(b));
        (total, sum) = (total + w, sum + w * *p);
    }
    (total > 0.0).then(|| sum / total)
}

/// The point j that two bones move alike: Σ_s |(G_s − 1) j|² + ε |j − shared|² is least, G = M_parent⁻¹ M_child.
fn joint(transforms: &[BoneTransforms], (parent, child): (usize, usize), shared: DVec3) -> DVec3 {
    let ridge = SHARED * transforms.len().max(1) as f64;
    let (mut gram, mut right) = (DMat3::from_diagonal(DVec3::splat(ridge)), DVec3::ZERO);
    for pose in transforms {
        let seen = pose[BoneIndex::new(parent)].inverse() * pose[BoneIndex::new(child)];
        let a = seen.matrix3 - DMat3::IDENTITY;
        gram += a.transpose() * a;
        right -= a.transpose() * seen.transform_point3(shared) - a.transpose() * shared;
    }
    let found = shared + gram.inverse() * right;
    if found.is_finite() { found } else { shared }
}

/// The sequence by rotations about joints: transforms of every frame in which bone k is its parent's map after a rotation about
/// its joint, and the root is any rigid map.
///
/// Each frame starts from the rotations of `transforms` and turns one bone with all below it at a time, to the rotation of least
/// squared error of the skin (Kabsch), until a sweep gains less than 1e-4. The error never rises.
///
/// # Errors
/// [`Cancelled`].
pub fn rotation_only(
    sequence: &Sequence<'_>,
    weights: &Influences,
    transforms: &[BoneTransforms],
    tree: &Hierarchy,
    progress: Progress<'_>,
) -> Result<Vec<BoneTransforms>, Cancelled> {
    let bones = tree.parents.len();
    let below: Vec<Vec<bool>> = (0..bones).map(|k| subtree(tree, k)).collect();
    let touched: Vec<Vec<usize>> = below
        .iter()
        .map(|below| {
            let moves = |v: &usize| weights.of(*v).iter().any(|(b, w)| *w > 0.0 && below[b.get()]);
            (0..sequence.rest.len()).filter(moves).collect()
        })
        .collect();
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let solve = |(frame, free): (&&[DVec3], &BoneTransforms)| {
        let mut chain = Chain::new(tree, free);
        for _ in 0..SWEEPS.0 {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let before = chain.error(sequence.rest, weights, frame);
            for &bone in &tree.order {
                let bone = bone.get();
                chain.turn(bone, &below[bone], &touched[bone], sequence.rest, weights, frame);
            }
            if before - chain.error(sequence.rest, weights, frame) <= SWEEPS.1 * before {
                break;
            }
        }
        let at = done.fetch_add(1, Ordering::Relaxed);
        if let ControlFlow::Break(_) = progress(at, transforms.len() as u64) {
            stop.store(true, Ordering::Relaxed);
        }
        BoneTransforms::new(chain.world)
    };
    let found: Vec<BoneTransforms> = sequence.frames.par_iter().zip(transforms).map(solve).collect();
    if stop.into_inner() { Err(Cancelled) } else { Ok(found) }
}

fn subtree(tree: &Hierarchy, top: usize) -> Vec<bool> {
    let mut below = vec![false; tree.parents.len()];
    for bone in &tree.order {
        let parent = tree.parents[bone.get()];
        below[bone.get()] = bone.get() == top || parent.is_some_and(|p| below[p.get()]);
    }
    below
}

/// One frame's bones, each turned about its joint.
struct Chain<'a> {
    tree: &'a Hierarchy,
    /// M_parent⁻¹ M_k: a rotation about the joint, or the root's map.
    local: Vec<DAffine3>,
    /// M_k.
    world: Vec<DAffine3>,
}

impl<'a> Chain<'a> {
    /// The rotations of free bones, about the joints.
    fn new(tree: &'a Hierarchy, free: &BoneTransforms) -> Self {
        let turn = |bone: usize| nearest_rotation(&free[BoneIndex::new(bone)].matrix3);
        let local = (0..tree.parents.len()).map(|bone| match tree.parents[bone] {
            None => {
                let m = free[BoneIndex::new(bone)];
                let joint = tree.joints[bone];
                DAffine3 { matrix3: turn(bone), translation: m.transform_point3(joint) - turn(bone) * joint }
            }
            Some(parent) => about(tree.joints[bone], turn(parent.get()).transpose() * turn(bone)),
        });
        let mut made = Self { tree, local: local.collect(), world: vec![DAffine3::IDENTITY; tree.parents.len()] };
        made.place();
        made
    }

    fn place(&mut self) {
        for bone in &self.tree.order {
            let bone = bone.get();
            self.world[bone] = match self.tree.parents[bone] {
                Some(parent) => self.world[parent.get()] * self.local[bone],
                None => self.local[bone],
            };
        }
    }

    fn error(&self, rest: &[DVec3], weights: &Influences, frame: &[DVec3]) -> f64 {
        let skin =
            |v: usize| weights.of(v).iter().map(|&(b, w)| w * self.world[b.get()].transform_point3(rest[v])).sum();
        (0..rest.len()).map(|v| frame[v].distance_squared(skin(v))).sum()
    }

    /// Turns a bone and all below it; the root is moved as well.
    ///
    /// With N_l = local_k⁻¹ M_parent⁻¹ M_l the skin is Σ_{above} w M p + M_parent (W j + R Σ_{below} w (N p − j)), W the sum of
    /// the weights below: a rotation problem for R in the parent's space.
    fn turn(
        &mut self,
        bone: usize,
        below: &[bool],
        touched: &[usize],
        rest: &[DVec3],
        weights: &Influences,
        frame: &[DVec3],
    ) {
        let parent = self.tree.parents[bone].map_or(DAffine3::IDENTITY, |p| self.world[p.get()]);
        let back = (parent * self.local[bone]).inverse();
        let under: Vec<DAffine3> = self.world.iter().map(|m| back * *m).collect();
        let joint = self.tree.joints[bone];
        let pair = |v: usize| {
            let (mut arm, mut others, mut sum) = (DVec3::ZERO, DVec3::ZERO, 0.0);
            for &(b, w) in weights.of(v) {
                match below[b.get()] {
                    true => (arm, sum) = (arm + w * under[b.get()].transform_point3(rest[v]), sum + w),
                    false => others += w * self.world[b.get()].transform_point3(rest[v]),
                }
            }
            (arm, others, sum)
        };
        if self.tree.parents[bone].is_none() {
            // All bones hang below the root: Σ w N p is the skin before the root's map.
            let pairs: Vec<(f64, DVec3, DVec3)> = touched.iter().map(|&v| (1.0, pair(v).0, frame[v])).collect();
            self.local[bone] = fit_rigid(pairs.into_iter());
        } else {
            let (mut spread, mut size) = (DMat3::ZERO, 0.0);
            for &v in touched {
                let (arm, others, sum) = pair(v);
                let arm = arm - sum * joint;
                let wanted = frame[v] - others - sum * parent.transform_point3(joint);
                spread += outer(parent.matrix3.transpose() * wanted, arm);
                size += arm.length_squared();
            }
            // Towards the rotation it has by less than rounding, where its skin says nothing.
            self.local[bone] = about(joint, nearest_rotation(&(spread + self.local[bone].matrix3 * (1e-14 * size))));
        }
        self.place();
    }
}

/// The rotation about a point.
fn about(point: DVec3, r: DMat3) -> DAffine3 {
    DAffine3 { matrix3: r, translation: point - r * point }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::silent;
    use dermis_rig::glam::DQuat;

    /// A tube of `bones` unit segments along x with blends at its joints, and frames of a chain of rotations.
    fn tube(bones: usize, frames: usize) -> (Vec<DVec3>, Influences, Vec<BoneTransforms>, Vec<Vec<DVec3>>) {
        let mut rest = Vec::new();
        let mut rows = Vec::new();
        for ring in 0..=10 * bones {
            let x = 0.1 * ring as f64;
            let (bone, along) = ((x.floor() as usize).min(bones - 1), x - x.floor());
            let mut row = vec![(BoneIndex::new(bone), 1.0)];
            if along < 0.25 && bone > 0 && x < bones as f64 {
                row = vec![(BoneIndex::new(bone), 0.5 + 2.0 * along), (BoneIndex::new(bone - 1), 0.5 - 2.0 * along)];
            }
            for side in 0..6 {
                let angle = f64::from(side) * std::f64::consts::FRAC_PI_3;
                rest.push(DVec3::new(x, 0.2 * angle.cos(), 0.2 * angle.sin()));
                rows.push(row.clone());
            }
        }
        let weights = Influences::from_rows(rows).unwrap();
        let pose = |s: usize| {
            let mut world =
                vec![DAffine3::from_rotation_translation(DQuat::from_rotation_y(0.3 * s as f64), DVec3::ONE)];
            for bone in 1..bones {
                let axis = DVec3::new((s * bone) as f64, (s as f64 * 1.7).sin(), (bone as f64).cos()).normalize();
                let turn = DMat3::from_axis_angle(axis, 0.5 * (s as f64 + bone as f64).sin());
                world.push(world[bone - 1] * about(DVec3::X * bone as f64, turn));
            }
            BoneTransforms::new(world)
        };
        let poses: Vec<BoneTransforms> = (1..=frames).map(pose).collect();
        let skin = |pose: &BoneTransforms| {
            let of = |v: usize| weights.of(v).iter().map(|&(b, w)| w * pose[b].transform_point3(rest[v])).sum();
            (0..rest.len()).map(of).collect()
        };
        let frames = poses.iter().map(skin).collect();
        (rest, weights, poses, frames)
    }

    #[test]
    fn the_joints_of_a_chain_are_found() {
        let (rest, weights, poses, _) = tube(4, 6);
        let tree = hierarchy(&rest, &weights, &poses).unwrap();
        assert_eq!(tree.detached, 0);
        let root = tree.order[0].get();
        for bone in 0..4 {
            let Some(parent) = tree.parents[bone] else {
                assert_eq!(bone, root);
                continue;
            };
            assert_eq!(parent.get().abs_diff(bone), 1, "a chain");
            let expected = DVec3::X * parent.get().max(bone) as f64;
            assert!(tree.joints[bone].distance(expected) < 0.02, "{} {expected}", tree.joints[bone]);
        }
        assert!(
            tree.order
                .iter()
                .enumerate()
                .all(|(at, b)| tree.parents[b.get()].is_none_or(|p| tree.order[..at].contains(&p)))
        );
    }

    /// Frames of a chain are reproduced, also from rotations that are a little off.
    #[test]
    fn rotations_about_joints_reproduce_a_chain_and_keep_it_whole() {
        let (rest, weights, poses, frames) = tube(4, 3);
        let mut tree = hierarchy(&rest, &weights, &poses).unwrap();
        for bone in 0..4 {
            if let Some(parent) = tree.parents[bone] {
                tree.joints[bone] = DVec3::X * parent.get().max(bone) as f64;
            }
        }
        let nudge = |(k, m): (usize, &DAffine3)| {
            let turn = DMat3::from_axis_angle(DVec3::Y, 0.1 * (k as f64 - 1.5));
            *m * about(DVec3::X * k as f64, turn) * DAffine3::from_translation(DVec3::Z * 0.1)
        };
        let off: Vec<BoneTransforms> =
            poses.iter().map(|p| BoneTransforms::new(p.iter().enumerate().map(nudge).collect())).collect();
        let slices: Vec<&[DVec3]> = frames.iter().map(Vec::as_slice).collect();
        let sequence = Sequence { rest: &rest, frames: &slices, triangles: &[] };
        let found = rotation_only(&sequence, &weights, &off, &tree, &silent).unwrap();
        for (pose, frame) in found.iter().zip(&frames) {
            let chain = Chain { tree: &tree, local: vec![], world: pose.to_vec() };
            let rms = (chain.error(&rest, &weights, frame) / rest.len() as f64).sqrt();
            assert!(rms < 0.01, "{rms}: a chain has the solution 0; sweeps end at a gain of 1e-4");
            for bone in 0..4 {
                let Some(parent) = tree.parents[bone] else { continue };
                let ends = [BoneIndex::new(bone), parent].map(|b| pose[b].transform_point3(tree.joints[bone]));
                assert!(ends[0].distance(ends[1]) < 1e-12, "a joint holds together");
            }
        }
    }

    #[test]
    fn parts_without_common_skin_hang_on_the_nearest_bone() {
        let rest = [0.0, 1.0, 2.0, 10.0].map(|x| DVec3::X * x);
        let rows = [vec![(0, 1.0)], vec![(0, 0.5), (1, 0.5)], vec![(1, 1.0)], vec![(3, 1.0)]];
        let rows = rows.map(|row: Vec<(usize, f64)>| row.into_iter().map(|(b, w)| (BoneIndex::new(b), w)).collect());
        let weights = Influences::from_rows(rows).unwrap();
        let tree = hierarchy(&rest, &weights, &[BoneTransforms::identity(4)]).unwrap();
        assert_eq!(tree.parents[3], Some(BoneIndex::new(1)));
        assert_eq!(tree.detached, 2, "the far part, and the bone without skin");
        assert!(tree.joints.iter().all(|j| j.is_finite()));
    }
}
