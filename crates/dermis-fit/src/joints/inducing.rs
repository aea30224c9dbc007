//! The inducing rotations of a joint, and the point it turns about.

use dermis_deform::JointKernel;
use dermis_deform::joints::{JointFeature, joint_feature};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms};

/// Pivots end where less than this remains of k(φ, φ): joints that turn by at most 6 degrees have none.
pub const STOP: f64 = 0.01;
/// Remaining diagonals that differ by no more count as equal. Rounding to f32 leaves some 1e-7 of k.
const TIE: f64 = 1e-5;

/// Returns the poses that represent a joint: the pivots of a Cholesky factorisation of its kernel matrix with diagonal
/// pivoting.
///
/// The pose with the largest remaining diagonal comes next, up to `most` poses or until less than `stop` remains. Of
/// diagonals that agree within 1e-5, the first pose wins: a pose and its mirror image are equally far from rest, and the
/// rounding of a file must not choose between them.
pub fn pivots(features: &[JointFeature], kernel: JointKernel, most: usize, stop: f64) -> Vec<usize> {
    let kernel = |s: usize, pivot: usize| kernel.at(&features[s], &features[pivot]);
    ranked(features.len(), kernel, most, stop).into_iter().map(|(pose, _)| pose).collect()
}

/// The same of both parts of a joint, which have so many together: the largest remaining diagonal of either comes next.
pub(super) fn pivots_of_parts(
    parts: [&[JointFeature]; 2],
    kernel: JointKernel,
    most: usize,
    stop: f64,
) -> [Vec<usize>; 2] {
    let of = |part: &[JointFeature]| ranked(part.len(), |s, pivot| kernel.at(&part[s], &part[pivot]), most, stop);
    let [mut first, mut second] = parts.map(of);
    while first.len() + second.len() > most {
        let left = |list: &[(usize, f64)]| list.last().map_or(f64::INFINITY, |(_, left)| *left);
        if left(&first) < left(&second) {
            first.pop()
        } else {
            second.pop()
        };
    }
    [first, second].map(|list| list.into_iter().map(|(pose, _)| pose).collect())
}

/// Pivots of poses by number, with the diagonal that remained of each when it was chosen, which falls.
pub(super) fn ranked(count: usize, kernel: impl Fn(usize, usize) -> f64, most: usize, stop: f64) -> Vec<(usize, f64)> {
    let mut left: Vec<f64> = (0..count).map(|s| kernel(s, s)).collect();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut chosen = Vec::new();
    while chosen.len() < most {
        let next = (0..left.len()).fold(None, |best: Option<usize>, s| match best {
            Some(b) if left[s] <= left[b] + TIE => best,
            _ => Some(s),
        });
        let Some(pivot) = next.filter(|&s| left[s] >= stop) else { break };
        let remained = left[pivot];
        let root = remained.sqrt();
        let column: Vec<f64> = (0..count)
            .map(|s| {
                let known: f64 = columns.iter().map(|c| c[s] * c[pivot]).sum();
                (kernel(s, pivot) - known) / root
            })
            .collect();
        left.iter_mut().zip(&column).for_each(|(left, c)| *left -= c * c);
        left[pivot] = f64::NEG_INFINITY;
        columns.push(column);
        chosen.push((pivot, remained));
    }
    chosen
}

/// Returns c, the point a joint turns about, in units of L: the least-squares solution of t/L = (I − R) c over the training
/// poses, with a ridge of 1e-6 |c − near|².
///
/// `near`, in units of L, settles what the poses leave open, such as where along its axis a hinge turns.
pub fn joint_centre(
    transforms: &[&BoneTransforms],
    (from, to): (BoneIndex, BoneIndex),
    length: f64,
    near: DVec3,
) -> DVec3 {
    let (mut gram, mut right) = (DMat3::from_diagonal(DVec3::splat(1e-6)), DVec3::ZERO);
    for pose in transforms {
        // The slide about `near` is (I − R)(c − near); the rotation part is (R − I)/√2.
        let f = joint_feature(pose.as_slice(), (from, to), Some(near), length);
        let back = |j: usize, c: usize| -f[4 * j + c] * std::f64::consts::SQRT_2;
        let a = DMat3::from_cols_array_2d(&[0, 1, 2].map(|c| [0, 1, 2].map(|j| back(j, c))));
        gram += a.transpose() * a;
        right += a.transpose() * DVec3::new(f[3], f[7], f[11]);
    }
    near + gram.inverse() * right
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
            joint_feature(&[DAffine3::IDENTITY, turn], bones, Some(DVec3::ZERO), 1.0)
        };
        let angles = [(0.0, 0.0), (1.2, 0.3), (0.4, -0.8), (-0.7, 0.1), (0.2, 0.9)];
        let own = angles.map(|(bend, twist)| feature(bend, twist));
        let images = angles.map(|(bend, twist)| feature(-bend, -twist));
        let exact = pivots(&[own, images].concat(), JointKernel::gaussian(1.4), 6, STOP);
        assert_eq!(exact[0], 1, "the largest angle of the examples, not of the images");
        for sign in [1.0, -1.0] {
            // As f32 rounds, the examples outwards and the images inwards, then the other way.
            let scaled = |list: [JointFeature; 5], by: f64| list.map(|f| f.map(|x| x * (1.0 + by)));
            let rounded = [scaled(own, sign * 6e-8), scaled(images, -sign * 6e-8)].concat();
            assert_eq!(pivots(&rounded, JointKernel::gaussian(1.4), 6, STOP), exact, "{sign}");
        }
    }
}
