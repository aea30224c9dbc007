//! The guard: what keeps a learnt correction bounded in every pose. Every correction model shares it.
//!
//! It has three parts, each of which leaves the training poses as they are:
//! - **Welding.** A joint that never moved in training has no influence: N_b = N_a across it. Noise in its matrices
//!   would otherwise be fitted at full strength, and bones that always moved as one share coefficients arbitrarily.
//! - **Limits.** A feature is scaled by min(1, κ m / |f|), m its largest norm in training, κ = 1.25.
//! - **The ball.** Π_v projects to the radius 1.5 ρ_v, ρ_v the largest training residual of the base at v. Hence in
//!   every pose |p' − base| ≤ 1.5 ρ_v, and a vertex whose examples agree with the base never moves. Projection to a ball
//!   is non-expansive, so it cannot tear the surface.

use crate::features::{relative, relative_features};
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms, Skeleton};

/// How far a feature may exceed its largest norm in training before it is held: κ.
///
/// Above 1, because a motion a little larger than the training must pass; the ball stands behind it.
pub const LIMIT_FACTOR: f64 = 1.25;
/// Radius of the ball in units of the largest training residual.
pub const BALL_FACTOR: f64 = 1.5;
/// A feature norm below this is a joint that never moved: float32 rounding of matrices is 1e-7, times the distance from
/// the origin in L where that is larger.
pub const FROZEN: f64 = 1e-6;

/// Π: radial projection to the ball of `radius`, and whether it acted. Anything not finite becomes zero.
pub fn project(delta: DVec3, radius: f64) -> (DVec3, bool) {
    let length = delta.length();
    if length <= radius {
        (delta, false)
    } else if length.is_finite() {
        (delta * (radius / length), true)
    } else {
        (DVec3::ZERO, true)
    }
}

/// [`project`] in `f32`.
pub(crate) fn project_f32(delta: Vec3, radius: f32) -> (Vec3, bool) {
    let length = delta.length();
    if length <= radius {
        (delta, false)
    } else if length.is_finite() {
        (delta * (radius / length), true)
    } else {
        (Vec3::ZERO, true)
    }
}

/// One step from a bone to the next, across a joint that is welded or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The bone whose transform is known.
    pub from: BoneIndex,
    /// The bone that follows it.
    pub to: BoneIndex,
    /// Whether the joint between them never moved in training.
    pub frozen: bool,
}

/// Joints that never moved in training, welded: features are those of the pose without them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weld {
    /// The links of a forest of bones, each after the one that leads to it. Bones no link leads to stay as they are.
    pub links: Vec<Link>,
}

impl Weld {
    /// The joints of the skeleton itself, of which some are frozen: `frozen[b]` tells of the joint above bone b.
    pub fn along(skeleton: &Skeleton, frozen: &[bool]) -> Self {
        let link = |to: BoneIndex| Some(Link { from: skeleton.parents()[to]?, to, frozen: frozen[to.get()] });
        Self { links: skeleton.bones().filter_map(link).collect() }
    }

    /// Welds the skeleton's joints that never moved more over the training poses than [`FROZEN`] and rounding. `length`
    /// is L.
    pub fn of_training<'a>(
        skeleton: &Skeleton,
        poses: impl IntoIterator<Item = &'a BoneTransforms>,
        length: f64,
    ) -> Self {
        let frozen: Vec<bool> =
            largest_joint_motions(skeleton, poses, length).into_iter().map(|motion| motion < FROZEN).collect();
        Self::along(skeleton, &frozen)
    }

    /// N: N_to = N_from across a frozen joint, N_from M_from⁻¹ M_to across any other, M elsewhere.
    pub fn apply(&self, transforms: &BoneTransforms, out: &mut Vec<DAffine3>) {
        out.clear();
        out.extend_from_slice(transforms.as_slice());
        if self.links.iter().all(|link| !link.frozen) {
            return;
        }
        for &Link { from, to, frozen } in &self.links {
            let (a, b) = (from.get(), to.get());
            if frozen {
                out[b] = out[a];
            } else if out[a] != transforms[from] {
                let joint = relative(&transforms[from], &transforms[to]);
                out[b] = joint.map_or(out[a], |joint| out[a] * joint);
            }
        }
    }

    /// Bones welded to the one that leads to them.
    pub fn frozen(&self) -> impl Iterator<Item = BoneIndex> + '_ {
        self.links.iter().filter(|link| link.frozen).map(|link| link.to)
    }
}

/// Per bone, the largest norm over the poses of its joint's feature, the bone seen from its parent; zero for a root.
///
/// Rounding of matrices grows with the joint's distance from the origin, so the norm is divided by that distance in L
/// where it exceeds one: a character that walks 10 m away does not loosen its frozen joints.
fn largest_joint_motions<'a>(
    skeleton: &Skeleton,
    poses: impl IntoIterator<Item = &'a BoneTransforms>,
    length: f64,
) -> Vec<f64> {
    let mut largest = vec![0.0f64; skeleton.len()];
    for pose in poses {
        for (bone, parent) in skeleton.parents().enumerate().filter(|(_, p)| p.is_some()) {
            let f = relative_features(pose.as_slice(), *parent, bone, length);
            let norm = f.iter().map(|x| x * x).sum::<f64>().sqrt();
            let joint = skeleton.bind()[bone].translation;
            let reach = pose[bone].transform_point3(joint).length().max(joint.length()) / length;
            largest[bone.get()] = largest[bone.get()].max(norm / reach.max(1.0));
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::{DMat3, DQuat};

    fn turn(angle: f64) -> DAffine3 {
        DAffine3::from_rotation_translation(DQuat::from_rotation_z(angle), DVec3::new(angle, 0.0, 0.0))
    }

    fn chain(bones: usize) -> Skeleton {
        let parents = (0..bones).map(|b| b.checked_sub(1).map(BoneIndex::new)).collect();
        Skeleton::new((0..bones).map(|b| format!("b{b}")).collect(), parents, vec![DAffine3::IDENTITY; bones]).unwrap()
    }

    #[test]
    fn a_frozen_joint_has_no_influence_and_bones_below_it_keep_theirs() {
        let train = BoneTransforms::new(vec![turn(0.0), turn(0.5), turn(0.5), turn(0.9)]);
        let weld = Weld::of_training(&chain(4), [&train], 1.0);
        assert_eq!(weld.frozen().collect::<Vec<_>>(), [BoneIndex::new(2)]);
        let posed = BoneTransforms::new(vec![turn(0.1), turn(0.4), turn(2.0), turn(2.7)]);
        let mut welded = Vec::new();
        weld.apply(&posed, &mut welded);
        assert_eq!(welded[2], welded[1]);
        // Bone 3 keeps its own joint: seen from bone 2 it stands as before.
        let expected = posed[BoneIndex::new(2)].inverse() * posed[BoneIndex::new(3)];
        assert!((welded[2].inverse() * welded[3]).abs_diff_eq(expected, 1e-14));
    }

    #[test]
    fn features_do_not_see_a_moved_character_even_far_away() {
        let pose = BoneTransforms::new(vec![turn(0.3), turn(1.2)]);
        let far = DAffine3::from_rotation_translation(DQuat::from_rotation_y(1.0), DVec3::splat(1e6));
        let f = |p: &BoneTransforms| relative_features(p.as_slice(), Some(BoneIndex::new(0)), BoneIndex::new(1), 2.0);
        let (near, moved) = (f(&pose), f(&pose.moved(far)));
        // Translations near 1e6 carry 1e6 · 2⁻⁵² ≈ 2e-10.
        assert!(near.iter().zip(moved).all(|(a, b)| (a - b).abs() < 1e-9));
    }

    #[test]
    fn projection_is_non_expansive_and_turns_with_the_world() {
        let r = DMat3::from_rotation_x(0.7);
        for (a, b) in [(DVec3::new(3.0, 1.0, 0.2), DVec3::new(-0.1, 0.4, 0.0)), (DVec3::splat(0.1), DVec3::X * 9.0)] {
            let (pa, pb) = (project(a, 1.0).0, project(b, 1.0).0);
            assert!((pa - pb).length() <= (a - b).length() + 1e-15);
            assert!((project(r * a, 1.0).0 - r * pa).length() < 1e-15);
        }
        assert_eq!(project(DVec3::NAN, 1.0), (DVec3::ZERO, true));
    }
}
