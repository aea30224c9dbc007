//! When two poses are the same pose.

use crate::BoneTransforms;
use crate::skeleton::invert;
use glam::DAffine3;

/// How far two turns of one bone may be apart in the same pose, radians: single precision, after a few products.
const TURN: f64 = 1e-5;

/// How far two positions may be apart in the same pose, in parts of the character's length.
const PLACE: f64 = 1e-6;

/// Roundings of single precision that the translation of a bone far from the origin has gone through.
const ROUNDINGS: f64 = 8.0 * f32::EPSILON as f64;

/// Whether two poses are the same: after a motion of the whole character every bone is turned alike within 1e-5 rad and lies
/// within 1e-6 `length`, or within what single precision keeps of its distance from the origin; channels agree to 1e-6.
///
/// - `length`: the extent of the rest mesh, metres
///
/// The motion is M_0 of `b` after the inverse of M_0 of `a`. A pose whose first bone cannot be inverted is compared as it stands.
pub fn same_pose(a: &BoneTransforms, b: &BoneTransforms, length: f64) -> bool {
    let motion = |a: &DAffine3, b: &DAffine3| invert(a).map(|back| *b * back);
    let moved = a.iter().zip(b.iter()).next().and_then(|(a, b)| motion(a, b)).unwrap_or_default();
    let near = near(a, length).max(near(b, length));
    let same = |(a, b): (&DAffine3, &DAffine3)| {
        let a = moved * *a;
        a.matrix3.abs_diff_eq(b.matrix3, TURN) && a.translation.distance(b.translation) <= near
    };
    a.len() == b.len() && same_channels(a, b) && a.iter().zip(b.iter()).all(same)
}

/// Whether two poses are the same and stand in the same place: as [`same_pose`], without a motion of the whole.
pub fn same_place(a: &BoneTransforms, b: &BoneTransforms, length: f64) -> bool {
    let near = near(a, length).max(near(b, length));
    let same = |(a, b): (&DAffine3, &DAffine3)| {
        a.matrix3.abs_diff_eq(b.matrix3, TURN) && a.translation.distance(b.translation) <= near
    };
    a.len() == b.len() && same_channels(a, b) && a.iter().zip(b.iter()).all(same)
}

/// Numbers the different poses in the order in which they first occur, and returns the number of every pose: that of the first
/// earlier pose that is the [`same_pose`].
///
/// Examples of one pose are no evidence for each other on unseen poses: cross-validation leaves them out together.
pub fn pose_numbers<'a>(poses: impl IntoIterator<Item = &'a BoneTransforms>, length: f64) -> Vec<usize> {
    // (size, number) of each different pose, by size: only poses of nearly one size are compared.
    let mut known: Vec<(f64, usize)> = Vec::new();
    let mut firsts: Vec<&BoneTransforms> = Vec::new();
    let number = |pose: &'a BoneTransforms| {
        let (size, near) = (size(pose), near(pose, length));
        // The mean of distances that each change by at most 2 near, and as much again for the rounding of the other pose.
        let from = known.partition_point(|&(other, _)| other < size - 4.0 * near);
        let of_size = known[from..].iter().take_while(|&&(other, _)| other <= size + 4.0 * near);
        let same = of_size.map(|&(_, number)| number).filter(|&number| same_pose(firsts[number], pose, length));
        same.min().unwrap_or_else(|| {
            known.insert(known.partition_point(|&(other, _)| other < size), (size, firsts.len()));
            firsts.push(pose);
            firsts.len() - 1
        })
    };
    poses.into_iter().map(number).collect()
}

/// How far two positions of the same pose may be apart, metres.
fn near(pose: &BoneTransforms, length: f64) -> f64 {
    let farthest = pose.iter().map(|m| m.translation.abs().max_element()).fold(0.0, f64::max);
    (PLACE * length).max(ROUNDINGS * farthest)
}

/// The mean distance of M_k's image of the origin from that of M_0; no motion of the whole changes it.
fn size(pose: &BoneTransforms) -> f64 {
    let first = pose.iter().next().map_or(glam::DVec3::ZERO, |m| m.translation);
    pose.iter().map(|m| m.translation.distance(first)).sum::<f64>() / pose.len().max(1) as f64
}

fn same_channels(a: &BoneTransforms, b: &BoneTransforms) -> bool {
    let same = |((name, x), (other, y)): (&(_, f64), &(_, f64))| {
        name == other && (x - y).abs() <= 1e-6 * x.abs().max(y.abs()).max(1.0)
    };
    a.channels().len() == b.channels().len() && a.channels().iter().zip(b.channels()).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DMat3, DQuat, DVec3};

    /// A generator of numbers in -1..1; dermis-rig has none of its own.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
        fn vector(&mut self) -> DVec3 {
            DVec3::from_array(std::array::from_fn(|_| self.next()))
        }
        fn rigid(&mut self, far: f64) -> DAffine3 {
            let turn = DQuat::from_scaled_axis(self.vector() * 3.0);
            DAffine3::from_rotation_translation(turn, self.vector() * far)
        }
        fn pose(&mut self) -> BoneTransforms {
            BoneTransforms::new((0..20).map(|_| self.rigid(0.5)).collect())
        }
    }

    fn in_single(pose: &BoneTransforms) -> BoneTransforms {
        let rounded = |x: f64| f64::from(x as f32);
        let matrix = |m: &DMat3| DMat3::from_cols_array(&m.to_cols_array().map(rounded));
        let of = |m: &DAffine3| DAffine3 {
            matrix3: matrix(&m.matrix3),
            translation: DVec3::from_array(m.translation.to_array().map(rounded)),
        };
        BoneTransforms::new(pose.iter().map(of).collect())
    }

    /// Bins of 1e-6 recognise fewer than half of these.
    #[test]
    fn a_moved_pose_in_single_precision_is_the_same() {
        let mut numbers = Numbers(7);
        for case in 0..200 {
            let pose = numbers.pose();
            // As far as a stage is wide, in steps of the character's length.
            let moved = in_single(&pose.moved(numbers.rigid([0.0, 1.0, 10.0, 100.0][case % 4])));
            assert!(same_pose(&pose, &moved, 1.0) && same_pose(&moved, &pose, 1.0), "case {case}");
            let other = numbers.pose();
            assert_eq!(pose_numbers([&pose, &other, &moved, &other], 1.0), [0, 1, 0, 1], "case {case}");
        }
    }

    #[test]
    fn a_bone_turned_or_moved_is_another_pose() {
        let mut numbers = Numbers(3);
        for case in 0..50 {
            let pose = numbers.pose();
            let changed = |by: DAffine3| {
                let mut all: Vec<DAffine3> = pose.iter().copied().collect();
                all[case % 20] *= by;
                in_single(&BoneTransforms::new(all))
            };
            let turned = changed(DAffine3::from_rotation_x(1e-4));
            let moved = changed(DAffine3::from_translation(DVec3::X * 1e-5));
            assert!(!same_pose(&pose, &turned, 1.0) && !same_pose(&pose, &moved, 1.0), "case {case}");
            assert_eq!(pose_numbers([&pose, &turned, &moved], 1.0), [0, 1, 2], "case {case}");
        }
    }

    /// Numbers do not depend on where bins would end, and a pose takes the first number that fits.
    #[test]
    fn numbers_are_those_of_all_pairs() {
        let mut numbers = Numbers(11);
        let poses: Vec<BoneTransforms> = (0..8).map(|_| numbers.pose()).collect();
        let shaken: Vec<BoneTransforms> =
            (0..200).map(|at| in_single(&poses[at * 7 % 8].moved(numbers.rigid(3.0)))).collect();
        let by_pairs: Vec<usize> = (0..shaken.len())
            .map(|at| (0..=at).find(|&first| same_pose(&shaken[first], &shaken[at], 1.0)).unwrap())
            .collect();
        let mut seen: Vec<usize> = Vec::new();
        let expected: Vec<usize> = by_pairs
            .iter()
            .map(|first| {
                seen.iter().position(|known| known == first).unwrap_or_else(|| {
                    seen.push(*first);
                    seen.len() - 1
                })
            })
            .collect();
        assert_eq!(pose_numbers(&shaken, 1.0), expected);
        assert_eq!(seen.len(), 8);
    }

    #[test]
    fn channels_and_a_first_bone_of_no_size_count() {
        let mut numbers = Numbers(5);
        let pose = numbers.pose();
        let with = |value: f64| pose.clone().with_channels(vec![("muscle".into(), value)]);
        assert!(same_pose(&with(0.5), &with(0.5 + 1e-8), 1.0) && !same_pose(&with(0.5), &with(0.6), 1.0));
        let mut flat: Vec<DAffine3> = pose.iter().copied().collect();
        flat[0].matrix3 = DMat3::ZERO;
        let flat = BoneTransforms::new(flat);
        assert!(
            same_pose(&flat, &flat, 1.0) && !same_pose(&flat, &flat.moved(DAffine3::from_translation(DVec3::X)), 1.0)
        );
    }
}
