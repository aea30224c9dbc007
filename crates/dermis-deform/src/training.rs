//! How far a pose is from those a model was trained on, joint by joint, in degrees.
//!
//! A joint's feature φ holds the entries of its rotation minus the identity over √2 and its translation over L, both
//! relative to the parent. With the translation taken at the joint ([`TrainingPoses::at_joint`]) |φ(x) − φ(y)| = 2 sin(angle/2)
//! for two rotations of a true joint, wherever it lies. The distance of a pose is
//! the largest over joints of the distance to the nearest training pose of that joint: "the left knee is 34 degrees from
//! anything it was trained on".

use crate::features::relative_features;
use dermis_rig::{BoneIndex, BoneTransforms, Skeleton};
use std::f64::consts::SQRT_2;

/// The joints' features over the training poses.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingPoses {
    /// Parent and bone of each joint that moves skin.
    pub joints: Vec<(BoneIndex, BoneIndex)>,
    /// Twelve numbers per pose and joint, pose after pose.
    pub features: Vec<[f32; 12]>,
    /// L.
    pub length: f64,
}

/// How far one pose is from training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoseDistance {
    /// Degrees from the nearest training pose of the joint that is farthest from its own.
    pub degrees: f64,
    /// That joint's bone; `None` without joints or training poses.
    pub bone: Option<BoneIndex>,
}

impl TrainingPoses {
    /// Training poses kept at most; more are thinned evenly, which can only enlarge a distance.
    pub const MOST: usize = 512;

    /// Degrees within which every joint of a pose beside a training pose lies.
    pub const BESIDE: f64 = 0.5;

    /// The training poses of a model. `moves_skin[b]` says whether bone b or a bone below it has weight anywhere.
    pub fn new(skeleton: &Skeleton, moves_skin: &[bool], poses: &[&BoneTransforms], length: f64) -> Self {
        let joints: Vec<_> = skeleton
            .bones()
            .filter(|b| moves_skin[b.get()])
            .filter_map(|bone| Some((skeleton.parents()[bone]?, bone)))
            .collect();
        let step = poses.len().div_ceil(Self::MOST).max(1);
        let features = poses
            .iter()
            .step_by(step)
            .flat_map(|pose| joints.iter().map(|&joint| feature(pose, joint, length).map(|x| x as f32)))
            .collect();
        Self { joints, features, length }
    }

    /// The same with the poses of another model of the same skeleton that are not among its own. A joint of which that model knows
    /// nothing counts as at rest in them.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        let places: Vec<_> = self.joints.iter().map(|joint| other.joints.iter().position(|o| o == joint)).collect();
        let (scale, own) = ((other.length / self.length) as f32, self.features.len());
        for pose in other.features.chunks_exact(other.joints.len().max(1)) {
            let seen = |place: &Option<usize>| {
                let mut feature = place.map_or([0.0; 12], |at| pose[at]);
                // Translations are in units of L.
                [3, 7, 11].into_iter().for_each(|at| feature[at] *= scale);
                feature
            };
            let pose: Vec<[f32; 12]> = places.iter().map(seen).collect();
            if !self.features[..own].chunks_exact(pose.len().max(1)).any(|known| known == pose) {
                self.features.extend(pose);
            }
        }
        self
    }

    /// The features of a pose, joints in order.
    pub fn features_of(&self, pose: &BoneTransforms) -> Vec<[f64; 12]> {
        self.joints.iter().map(|&joint| feature(pose, joint, self.length)).collect()
    }

    /// How many poses are held.
    pub fn poses(&self) -> usize {
        self.features.len().checked_div(self.joints.len()).unwrap_or(0)
    }

    /// A feature, or a difference of two, with the translation of the joint's own place at rest instead of the origin's.
    ///
    /// `features` are about the origin: t' = t + (R − I) c / L, with c where the bone lies at rest.
    pub fn at_joint(&self, skeleton: &Skeleton, joint: usize, feature: &[f64; 12]) -> [f64; 12] {
        let centre = (skeleton.bind()[self.joints[joint].1].translation * (SQRT_2 / self.length)).to_array();
        let mut at = *feature;
        for row in at.chunks_exact_mut(4) {
            row[3] += row[0] * centre[0] + row[1] * centre[1] + row[2] * centre[2];
        }
        at
    }

    /// The distance of a pose.
    pub fn distance(&self, skeleton: &Skeleton, pose: &BoneTransforms) -> PoseDistance {
        let mut far = PoseDistance { degrees: 0.0, bone: None };
        if self.joints.is_empty() || self.features.is_empty() {
            return far;
        }
        for (j, &joint) in self.joints.iter().enumerate() {
            let f = feature(pose, joint, self.length);
            let nearest = self.features[j..]
                .iter()
                .step_by(self.joints.len())
                .map(|g| self.chord(skeleton, j, &f, g))
                .fold(f64::INFINITY, f64::min);
            let degrees = degrees(nearest);
            if far.bone.is_none() || degrees > far.degrees {
                far = PoseDistance { degrees, bone: Some(joint.1) };
            }
        }
        far
    }

    /// Whether one training pose has every joint within [`Self::BESIDE`]: an error there says nothing about new poses.
    pub fn has_beside(&self, skeleton: &Skeleton, pose: &BoneTransforms) -> bool {
        let features = self.features_of(pose);
        let near =
            |(j, (f, g)): (usize, (&[f64; 12], &[f32; 12]))| degrees(self.chord(skeleton, j, f, g)) <= Self::BESIDE;
        let mut poses = self.features.chunks_exact(self.joints.len().max(1));
        poses.any(|trained| features.iter().zip(trained).enumerate().all(near))
    }

    /// |φ(x) − φ(y)| of one joint in two poses, at the joint.
    fn chord(&self, skeleton: &Skeleton, joint: usize, f: &[f64; 12], g: &[f32; 12]) -> f64 {
        let change = std::array::from_fn(|at| f[at] - f64::from(g[at]));
        self.at_joint(skeleton, joint, &change).iter().map(|x| x * x).sum::<f64>().sqrt()
    }
}

/// The angle of a rotation whose feature has this norm: 2 sin(angle/2), in degrees.
pub fn degrees(chord: f64) -> f64 {
    2.0 * (chord / 2.0).min(1.0).asin().to_degrees()
}

/// Which bones have weight above 0.01 somewhere, or a bone below them has.
pub fn moves_skin(skeleton: &Skeleton, weights: &dermis_rig::Influences) -> Vec<bool> {
    let mut moves = vec![false; skeleton.len()];
    for row in weights.rows() {
        for &(bone, weight) in row {
            moves[bone.get()] |= weight > 0.01;
        }
    }
    for bone in skeleton.bones().rev() {
        if let Some(parent) = skeleton.parents()[bone].filter(|_| moves[bone.get()]) {
            moves[parent.get()] = true;
        }
    }
    moves
}

/// φ of a joint: rotation entries over √2, so that a rotation by an angle has the norm 2 sin(angle/2).
fn feature(pose: &BoneTransforms, (parent, bone): (BoneIndex, BoneIndex), length: f64) -> [f64; 12] {
    let mut f = relative_features(pose.as_slice(), Some(parent), bone, length);
    for (at, x) in f.iter_mut().enumerate() {
        if at % 4 != 3 {
            *x *= std::f64::consts::FRAC_1_SQRT_2;
        }
    }
    f
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DAffine3;

    #[test]
    fn the_distance_is_the_angle_to_the_nearest_training_pose() {
        let parents = vec![None, Some(BoneIndex::new(0))];
        let skeleton = Skeleton::new(vec!["a".into(), "b".into()], parents, vec![DAffine3::IDENTITY; 2]).unwrap();
        let pose = |degrees: f64| {
            let elbow = DAffine3::from_rotation_z(degrees.to_radians());
            BoneTransforms::new(vec![DAffine3::from_rotation_y(1.0), DAffine3::from_rotation_y(1.0) * elbow])
        };
        let (a, b) = (pose(0.0), pose(40.0));
        let known = TrainingPoses::new(&skeleton, &[true, true], &[&a, &b], 1.0);
        let far = known.distance(&skeleton, &pose(70.0));
        // Features are stored in f32: 1e-7 of a chord is 1e-5 degrees.
        assert!((far.degrees - 30.0).abs() < 1e-4 && far.bone == Some(BoneIndex::new(1)), "{far:?}");
        assert!(known.distance(&skeleton, &pose(40.0)).degrees < 1e-4);
    }

    #[test]
    fn a_pose_is_beside_training_if_one_training_pose_has_all_of_its_joints() {
        let parents = vec![None, Some(BoneIndex::new(0)), Some(BoneIndex::new(1))];
        let names = ["a", "b", "c"].map(String::from).to_vec();
        let skeleton = Skeleton::new(names, parents, vec![DAffine3::IDENTITY; 3]).unwrap();
        let pose = |b: f64, c: f64| {
            let b = DAffine3::from_rotation_z(b.to_radians());
            BoneTransforms::new(vec![DAffine3::IDENTITY, b, b * DAffine3::from_rotation_x(c.to_radians())])
        };
        let (first, second) = (pose(0.0, 0.0), pose(40.0, 30.0));
        let known = TrainingPoses::new(&skeleton, &[true; 3], &[&first, &second], 1.0);
        let beside = |b, c| known.has_beside(&skeleton, &pose(b, c));
        assert!(beside(40.4, 29.6) && beside(0.0, -0.49));
        assert!(!beside(40.6, 30.0) && !beside(40.0, 30.51));
        // Every joint is at a training pose, but not all at the same one.
        assert!(known.distance(&skeleton, &pose(0.0, 30.0)).degrees < 1e-4 && !beside(0.0, 30.0));
    }
}
