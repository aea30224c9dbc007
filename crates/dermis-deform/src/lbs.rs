//! Linear blend skinning, also called skeleton subspace deformation or smooth skinning.
//!
//! `A_v = Σₖ w_vk M_k` (3x4), `p' = A_v [p; 1]`, with `Σₖ w_vk = 1`. In a fixed pose the map is affine per vertex. It is
//! cheap, and every engine has it. It loses volume where bones twist against each other (the candy wrapper) or bend
//! (the collapsing elbow), because the mean of two rotations is no rotation.
//!
//! Source: Magnenat-Thalmann, Laperrière & Thalmann 1988; as formulated by Lewis, Cordner & Fong 2000.

use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences};

/// The blended matrix `A_v = Σₖ w_k M_k`, for any number of influences.
///
/// Weights that sum to one but for the rounding of files sum to one: the last takes what the others leave. So the blend of identities, in the bind
/// pose, is the identity to the last bit. Other weights are used as they are: the character does not move as a whole then, since translations scale
/// with the sum ([`Influences::normalised`] mends that). No influences give the zero matrix.
///
/// # Panics
/// If an influence names a bone that `transforms` does not have.
pub fn blend(influences: &[(BoneIndex, f64)], transforms: &BoneTransforms) -> DAffine3 {
    blend_of(influences, |bone| &transforms[bone])
}

/// `Σₖ w_k X_k` over any affine maps.
pub(crate) fn blend_of<'a>(influences: &[(BoneIndex, f64)], map: impl Fn(BoneIndex) -> &'a DAffine3) -> DAffine3 {
    let mut sum = DAffine3 { matrix3: DMat3::ZERO, translation: DVec3::ZERO };
    let mut add = |bone: BoneIndex, weight: f64| {
        let map = map(bone);
        sum.matrix3 += map.matrix3 * weight;
        sum.translation += map.translation * weight;
    };
    let Some((&(last, weight), before)) = influences.split_last() else { return sum };
    let mut given = 0.0;
    for &(bone, weight) in before {
        add(bone, weight);
        given += weight;
    }
    // s + (1 − s) is one for any s of 0..=1 that was rounded: what 1 − s loses is less than half of what tells one from the number below it.
    let left = 1.0 - given;
    add(last, if (left - weight).abs() <= SUMS_TO_ONE { left } else { weight });
    sum
}

/// The rounding of weights stored as `f32` or read from files: a sum nearer to one than this is one.
pub(crate) const SUMS_TO_ONE: f64 = 1e-5;

/// Linear blend skinning of every vertex: `out[v] = A_v [rest[v]; 1]`.
///
/// - `rest`: rest positions, rest world
/// - `weights`: one row per vertex, each summing to one (see [`blend`])
/// - `out`: posed positions, posed world
///
/// # Panics
/// If `rest`, `weights` and `out` differ in number, or the weights name a bone that does not exist.
pub fn lbs(rest: &[DVec3], weights: &Influences, transforms: &BoneTransforms, out: &mut [DVec3]) {
    assert_eq!(rest.len(), weights.vertices(), "positions and weights differ in number");
    crate::for_each_vertex(rest, out, |v, p| blend(weights.of(v), transforms).transform_point3(p));
}

/// Rigid binding: every vertex follows its dominant bone (largest weight, ties to the lowest index).
///
/// A vertex without influences stays where it is; normalised weights have none.
///
/// # Panics
/// As [`lbs()`].
pub fn rigid(rest: &[DVec3], weights: &Influences, transforms: &BoneTransforms, out: &mut [DVec3]) {
    assert_eq!(rest.len(), weights.vertices(), "positions and weights differ in number");
    crate::for_each_vertex(rest, out, |v, p| match weights.dominant(v) {
        Some(bone) => transforms[bone].transform_point3(p),
        None => p,
    });
}

/// What pruning costs where it counts: the largest distance by which linear blend skinning with `after` moves a vertex
/// from where `before` puts it, over all poses. Metres; zero without poses.
///
/// # Panics
/// If `rest`, `before` and `after` differ in number, or name a bone that a pose does not have.
pub fn prune_cost<'a>(
    rest: &[DVec3],
    before: &Influences,
    after: &Influences,
    poses: impl IntoIterator<Item = &'a BoneTransforms>,
) -> f64 {
    assert_eq!(rest.len(), before.vertices(), "positions and weights differ in number");
    assert_eq!(rest.len(), after.vertices(), "positions and pruned weights differ in number");
    let mut largest = 0.0_f64;
    for transforms in poses {
        for (v, &p) in rest.iter().enumerate() {
            let full = blend(before.of(v), transforms).transform_point3(p);
            let pruned = blend(after.of(v), transforms).transform_point3(p);
            largest = largest.max(full.distance(pruned));
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DQuat;

    fn weights(table: &[f64], bones: usize) -> Influences {
        Influences::from_dense(table, bones).unwrap()
    }

    fn skin(rest: &[DVec3], weights: &Influences, transforms: &BoneTransforms) -> Vec<DVec3> {
        let mut out = vec![DVec3::NAN; rest.len()];
        lbs(rest, weights, transforms, &mut out);
        out
    }

    fn bent() -> BoneTransforms {
        let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -0.5).normalize(), 1.3);
        BoneTransforms::new(vec![
            DAffine3::from_rotation_translation(DQuat::from_rotation_z(0.4), DVec3::new(0.1, -2.0, 0.3)),
            DAffine3::from_rotation_translation(turn, DVec3::new(1.0, 0.5, 0.2)),
            DAffine3::from_scale_rotation_translation(DVec3::new(2.0, 0.5, 1.5), turn.inverse(), DVec3::Y),
        ])
    }

    #[test]
    fn the_bind_pose_is_kept_and_the_character_moves_as_a_whole() {
        let rest = [DVec3::new(0.3, -1.0, 2.0), DVec3::new(5.0, 0.0, 0.1)];
        let weights = weights(&[0.25, 0.25, 0.5, 0.6, 0.0, 0.4], 3);
        assert_eq!(skin(&rest, &weights, &BoneTransforms::identity(3)), rest);
        let g = DAffine3::from_rotation_translation(DQuat::from_rotation_y(2.0), DVec3::new(3.0, -4.0, 5.0));
        let moved = skin(&rest, &weights, &bent().moved(g));
        for (moved, still) in moved.iter().zip(skin(&rest, &weights, &bent())) {
            assert!(moved.abs_diff_eq(g.transform_point3(still), 1e-14));
        }
    }

    /// Oracle: weight the images of the point instead of the matrices; matrices with scale and shear need no care.
    #[test]
    fn blending_matrices_is_blending_images() {
        let (p, w) = (DVec3::new(0.7, -0.2, 1.1), [0.2, 0.5, 0.3]);
        let transforms = bent();
        let image: DVec3 = transforms.iter().zip(w).map(|(m, w)| m.transform_point3(p) * w).sum();
        assert!(skin(&[p], &weights(&w, 3), &transforms)[0].abs_diff_eq(image, 1e-15));
    }

    #[test]
    fn a_twist_thins_a_tube_by_the_closed_form() {
        for angle in [0.3, 1.0, 2.0, 3.0_f64] {
            let twist = BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_rotation_x(angle)]);
            for u in [0.1, 0.5, 0.8] {
                let p = DVec3::new(0.4, 0.25 * 0.6, 0.25 * 0.8);
                let posed = skin(&[p], &weights(&[1.0 - u, u], 2), &twist)[0];
                let ratio = posed.y.hypot(posed.z) / 0.25;
                let expected = (1.0 - 2.0 * u * (1.0 - u) * (1.0 - angle.cos())).sqrt();
                assert!((ratio - expected).abs() < 1e-15 && posed.x == p.x, "{angle} {u}");
            }
        }
    }

    #[test]
    fn a_bend_flattens_an_elbow_in_its_plane_only() {
        for angle in [0.5, 1.5, 3.0_f64] {
            let bend = BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_rotation_z(angle)]);
            let half = DAffine3::from_rotation_z(0.5 * angle);
            let p = DVec3::new(0.0, 0.2, 0.3);
            let posed = skin(&[p], &weights(&[0.5, 0.5], 2), &bend)[0];
            let expected = half.transform_point3(DVec3::new(0.0, 0.2 * (0.5 * angle).cos(), 0.3));
            assert!(posed.abs_diff_eq(expected, 1e-15), "{angle}");
        }
    }

    #[test]
    fn rigid_binding_takes_the_largest_weight_and_the_lowest_bone_of_a_tie() {
        let (rest, transforms) = ([DVec3::X, DVec3::Y, DVec3::Z], bent());
        let maps = weights(&[0.2, 0.4, 0.4, 0.1, 0.2, 0.7, 0.0, 0.0, 0.0], 3);
        let mut out = [DVec3::NAN; 3];
        rigid(&rest, &maps, &transforms, &mut out);
        let with = |bone, p| transforms[BoneIndex::new(bone)].transform_point3(p);
        assert_eq!(out, [with(1, DVec3::X), with(2, DVec3::Y), DVec3::Z]);
    }

    #[test]
    fn pruning_costs_the_distance_it_moves_a_vertex() {
        let before = weights(&[0.9, 0.1], 2);
        let (after, _) = before.pruned(1, 0.0);
        let away = |x| BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_translation(DVec3::X * x)]);
        let cost = prune_cost(&[DVec3::ONE], &before, &after, &[away(1.0), away(-3.0), away(2.0)]);
        assert!((cost - 0.3).abs() < 1e-15);
        assert_eq!(prune_cost(&[DVec3::ONE], &before, &before, &[away(1.0)]), 0.0);
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let rest: Vec<_> = (0..5000).map(|v| DVec3::new(f64::from(v).sin(), f64::from(v).cos(), 0.001)).collect();
        let table: Vec<f64> = (0..5000).flat_map(|v| [0.3, 0.7 * f64::from(v) / 5000.0, 0.1]).collect();
        let weights = weights(&table, 3).normalised().0;
        let all = skin(&rest, &weights, &bent());
        let alone: Vec<_> =
            rest.iter().enumerate().map(|(v, &p)| blend(weights.of(v), &bent()).transform_point3(p)).collect();
        assert_eq!(all, alone);
    }
}
