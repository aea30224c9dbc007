//! The map of one bone from the points it carries: rigid, affine, or rigid while other bones stay.
//!
//! These are the direct forms, summed over vertices. They start a clustering, and tests check the Gram solvers against them.

use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::rotation::nearest_rotation;
use dermis_rig::{BoneIndex, BoneTransforms, Influences};
use dermis_solve::faer::Mat;
use dermis_solve::symmetric::principal_axes;

/// The rigid map that minimises Σ w |R p + t − q|² over pairs (w, p, q): Kabsch 1976, with det R = +1.
///
/// Points on a line leave the turn about it open; then it is as small as possible. No weight at all gives the identity.
pub fn fit_rigid(pairs: impl Iterator<Item = (f64, DVec3, DVec3)> + Clone) -> DAffine3 {
    let Some((from, to)) = centroids(pairs.clone()) else { return DAffine3::IDENTITY };
    let (mut spread, mut size) = (DMat3::ZERO, 0.0);
    for (w, p, q) in pairs {
        spread += outer(w * (q - to), p - from);
        size += w * (p - from).length_squared();
    }
    // Towards the identity by far less than rounding, where the points say nothing.
    let r = nearest_rotation(&(spread + DMat3::from_diagonal(DVec3::splat(1e-14 * size))));
    DAffine3 { matrix3: r, translation: to - r * from }
}

/// The affine map that minimises Σ |A p + t − q|², of minimum |A − 1| where the points leave A open: for points of a
/// plane A is the identity across it. Axes along which the points' spread is below 1e-10 of the largest count as open.
pub fn fit_affine(pairs: impl Iterator<Item = (DVec3, DVec3)> + Clone) -> DAffine3 {
    let Some((from, to)) = centroids(pairs.clone().map(|(p, q)| (1.0, p, q))) else { return DAffine3::IDENTITY };
    let (mut gram, mut moved) = (DMat3::ZERO, DMat3::ZERO);
    for (p, q) in pairs {
        let p = p - from;
        gram += outer(p, p);
        moved += outer(q - to - p, p);
    }
    let Ok(axes) = principal_axes(Mat::from_fn(3, 3, |i, j| gram.col(j)[i]).as_ref()) else {
        return DAffine3::IDENTITY;
    };
    let mut inverse = DMat3::ZERO;
    for (h, value) in axes.values.iter().enumerate().filter(|(_, value)| **value > 1e-10 * axes.values[0]) {
        let axis = DVec3::new(axes.vectors[(0, h)], axes.vectors[(1, h)], axes.vectors[(2, h)]);
        inverse += outer(axis / *value, axis);
    }
    let a = DMat3::IDENTITY + moved * inverse;
    DAffine3 { matrix3: a, translation: to - a * from }
}

/// Returns the best rigid maps of one bone, frame by frame, with all other bones and the weights held (Le & Deng 2012).
///
/// Minimises Σ_v |x_sv − Σ_k w_vk T_sk p_v|² over T_sk of `bone`. With q = x − Σ_{l≠k} w_l T_l p, p* = Σ w² p / Σ w² and
/// q* = Σ w q / Σ w²: R is the rotation nearest to Σ w (q − w q*) (p − p*)ᵀ, t = q* − R p*. A bone without weight stays.
///
/// # Panics
/// If counts disagree.
pub fn rigid_update(
    rest: &[DVec3],
    frames: &[&[DVec3]],
    weights: &Influences,
    transforms: &[BoneTransforms],
    bone: BoneIndex,
) -> Vec<DAffine3> {
    let held: Vec<(usize, f64)> =
        weights.rows().enumerate().filter_map(|(v, row)| Some((v, row.iter().find(|e| e.0 == bone)?.1))).collect();
    let total: f64 = held.iter().map(|(_, w)| w * w).sum();
    let update = |(frame, pose): (&&[DVec3], &BoneTransforms)| {
        if total <= 0.0 {
            return pose[bone];
        }
        let left: Vec<DVec3> = held
            .iter()
            .map(|&(v, _)| {
                let others = weights.of(v).iter().filter(|e| e.0 != bone);
                frame[v] - others.map(|&(l, w)| w * pose[l].transform_point3(rest[v])).sum::<DVec3>()
            })
            .collect();
        let from = held.iter().map(|&(v, w)| w * w * rest[v]).sum::<DVec3>() / total;
        let to = held.iter().zip(&left).map(|((_, w), q)| *w * *q).sum::<DVec3>() / total;
        let pairs = held.iter().zip(&left);
        let spread = pairs.fold(DMat3::ZERO, |sum, (&(v, w), q)| sum + outer(w * (*q - w * to), rest[v] - from));
        let r = nearest_rotation(&spread);
        DAffine3 { matrix3: r, translation: to - r * from }
    };
    frames.iter().zip(transforms).map(update).collect()
}

/// a bᵀ.
pub(crate) fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

fn centroids(pairs: impl Iterator<Item = (f64, DVec3, DVec3)>) -> Option<(DVec3, DVec3)> {
    let (mut sum, mut from, mut to) = (0.0, DVec3::ZERO, DVec3::ZERO);
    for (w, p, q) in pairs {
        (sum, from, to) = (sum + w, from + w * p, to + w * q);
    }
    (sum > 0.0).then(|| (from / sum, to / sum))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DQuat;

    fn points() -> Vec<DVec3> {
        (0..9).map(f64::from).map(|i| DVec3::new((i * 1.7).sin(), (i * 0.9).cos(), 0.3 * i)).collect()
    }

    fn turn() -> DAffine3 {
        let axis = DVec3::new(0.48, -0.6, 0.64);
        DAffine3::from_rotation_translation(DQuat::from_axis_angle(axis, 2.1), DVec3::new(3.0, -1.0, 0.5))
    }

    #[test]
    fn a_planted_map_is_found() {
        let maps = [turn(), turn() * DAffine3::from_scale(DVec3::new(1.3, 0.2, -0.9))];
        let moved = |m: DAffine3| points().into_iter().map(move |p| (p, m.transform_point3(p)));
        assert!(fit_rigid(moved(maps[0]).map(|(p, q)| (0.3, p, q))).abs_diff_eq(maps[0], 1e-13));
        assert!(fit_affine(moved(maps[1])).abs_diff_eq(maps[1], 1e-12));
    }

    #[test]
    fn what_points_of_a_plane_a_line_or_one_place_leave_open_stays_as_it_is() {
        let slide = DAffine3::from_translation(DVec3::new(0.1, 0.2, -0.3));
        let flat = |keep: DVec3| points().into_iter().map(move |p| (p * keep, slide.transform_point3(2.0 * p * keep)));
        let plane = fit_affine(flat(DVec3::new(1.0, 1.0, 0.0))).matrix3;
        assert!(plane.abs_diff_eq(DMat3::from_diagonal(DVec3::new(2.0, 2.0, 1.0)), 1e-12));
        let line = fit_affine(flat(DVec3::X)).matrix3;
        assert!(line.abs_diff_eq(DMat3::from_diagonal(DVec3::new(2.0, 1.0, 1.0)), 1e-12));
        assert!(fit_rigid(flat(DVec3::X).map(|(p, q)| (1.0, p, q))).matrix3.abs_diff_eq(DMat3::IDENTITY, 1e-9));
        let point = [(DVec3::ONE, DVec3::Z); 3];
        assert!(
            fit_affine(point.into_iter()).abs_diff_eq(DAffine3::from_translation(DVec3::new(-1.0, -1.0, 0.0)), 1e-15)
        );
        assert_eq!(fit_affine(std::iter::empty()), DAffine3::IDENTITY);
        assert_eq!(fit_rigid(std::iter::empty()), DAffine3::IDENTITY);
    }

    /// The error falls to its least over the bone's rigid maps: no small turn or slide lowers it.
    #[test]
    fn the_update_of_a_bone_is_a_minimum() {
        let rest = points();
        let weights = Influences::from_rows((0..rest.len()).map(|v| {
            let w = 0.1 + 0.09 * v as f64;
            vec![(BoneIndex::new(0), w), (BoneIndex::new(1), 1.0 - w)]
        }))
        .unwrap();
        let frame: Vec<DVec3> = rest.iter().map(|p| DVec3::new(p.y - 0.1 * p.x * p.x, p.z, p.x + 0.2)).collect();
        let pose = BoneTransforms::new(vec![turn(), DAffine3::IDENTITY]);
        let error = |m: DAffine3| -> f64 {
            rest.iter()
                .zip(&frame)
                .enumerate()
                .map(|(v, (p, x))| {
                    let w = weights.value(v, BoneIndex::new(1));
                    x.distance_squared((1.0 - w) * turn().transform_point3(*p) + w * m.transform_point3(*p))
                })
                .sum()
        };
        let best = rigid_update(&rest, &[&frame], &weights, &[pose], BoneIndex::new(1))[0];
        for axis in DVec3::AXES {
            for step in [-1e-3, 1e-3] {
                assert!(error(best) < error(DAffine3::from_translation(axis * step) * best));
                assert!(error(best) < error(best * DAffine3::from_axis_angle(axis, step)));
            }
        }
    }
}
