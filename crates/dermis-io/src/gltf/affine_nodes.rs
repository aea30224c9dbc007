//! Bones that shear, as pairs of nodes that glTF can animate.
//!
//! glTF animates translation, rotation and scale, T R S of one node, and no product of rotation and scale shears. By the
//! singular value decomposition A = U S V' any affine map is that of two nodes: a parent with rotation U, scale S and the
//! translation, and below it a joint with rotation V'. Every key frame is exact; between keys U, S and V' are interpolated
//! each on its own, so they are chosen to change little from frame to frame.

use dermis_rig::glam::{DAffine3, DMat3, DVec3};

/// Scales are at least this part of the largest: a bone squeezed flat would leave the joint below without a local transform.
const LEAST_SCALE: f64 = 2e-6;

/// A map as two nodes: world matrices of the parent (U S, with the joint's place) and of the joint (the map itself, at `head`).
///
/// `before` is V of the frame before, the identity for the first; result: V of this one. V is found by turning
/// `before` until the columns of A V are orthogonal (one-sided Jacobi), so it changes as little as the map demands, and a
/// bone that is rigid keeps it. The scale is negative along one axis where the map mirrors.
pub fn split(map: &DAffine3, head: DVec3, before: DMat3) -> (DAffine3, DAffine3, DMat3) {
    let (u, scale, v) = svd(&map.matrix3, before);
    let place = map.transform_point3(head);
    let stretch = DAffine3 { matrix3: u * DMat3::from_diagonal(scale), translation: place };
    let joint = DAffine3 { matrix3: stretch.matrix3 * v.transpose(), translation: place };
    (stretch, joint, v)
}

/// A = U S Vᵀ with rotations U and V, V near `start`; at most one entry of S is negative: along x, as the writer has it.
pub(super) fn svd(a: &DMat3, start: DMat3) -> (DMat3, DVec3, DMat3) {
    let (mut v, mut b) = (start, *a * start);
    // Converges quadratically; six sweeps are ample for three columns.
    for _ in 0..12 {
        let mut turned = false;
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let (x, y) = (b.col(p), b.col(q));
            let (dot, size) = (x.dot(y), x.length() * y.length());
            if dot.abs() <= 1e-15 * size || dot == 0.0 {
                continue;
            }
            turned = true;
            let zeta = (y.length_squared() - x.length_squared()) / (2.0 * dot);
            let t = if zeta == 0.0 { 1.0 } else { zeta.signum() / (zeta.abs() + zeta.hypot(1.0)) };
            let c = 1.0 / t.hypot(1.0);
            for m in [&mut b, &mut v] {
                let (x, y) = (m.col(p), m.col(q));
                *m.col_mut(p) = c * (x - t * y);
                *m.col_mut(q) = c * (t * x + y);
            }
        }
        if !turned {
            break;
        }
    }
    let size = [0, 1, 2].map(|c| b.col(c).length());
    let largest = size.iter().copied().fold(0.0, f64::max);
    let floor = if largest > 0.0 { LEAST_SCALE * largest } else { LEAST_SCALE };
    let mut u = frame([0, 1, 2].map(|c| if size[c] > 1e-14 * largest { b.col(c) / size[c] } else { DVec3::ZERO }));
    let mut scale = DVec3::from(size.map(|s| s.max(floor)));
    if u.determinant() < 0.0 {
        u.x_axis = -u.x_axis;
        scale.x = -scale.x;
    }
    (u, scale, v)
}

/// Orthonormal columns with the zero ones filled in.
fn frame(columns: [DVec3; 3]) -> DMat3 {
    let given: Vec<usize> = (0..3).filter(|&c| columns[c] != DVec3::ZERO).collect();
    let mut made = columns;
    match given[..] {
        [0, 1, 2] => {}
        [p, q] => made[3 - p - q] = columns[p].cross(columns[q]) * if (q + 3 - p) % 3 == 1 { 1.0 } else { -1.0 },
        [p] => {
            let y = columns[p].any_orthonormal_vector();
            (made[(p + 1) % 3], made[(p + 2) % 3]) = (y, columns[p].cross(y));
        }
        _ => made = DVec3::AXES,
    }
    DMat3::from_cols(made[0], made[1], made[2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DQuat;

    fn turn(axis: DVec3, angle: f64) -> DMat3 {
        DMat3::from_quat(DQuat::from_axis_angle(axis.normalize(), angle))
    }

    fn check(a: DMat3) {
        let (u, s, v) = svd(&a, DMat3::IDENTITY);
        let size = dermis_rig::skeleton::frobenius(&a).max(1e-300);
        let lost = dermis_rig::skeleton::frobenius(&(u * DMat3::from_diagonal(s) * v.transpose() - a));
        assert!(lost <= 4.0 * LEAST_SCALE * size || size < 1e-200, "{a}: {lost:e}");
        for r in [u, v] {
            assert!((r.transpose() * r).abs_diff_eq(DMat3::IDENTITY, 1e-13) && r.determinant() > 0.0, "{a}: {r}");
        }
        assert!(s.abs().min_element() > 0.0);
    }

    #[test]
    fn sheared_mirrored_and_collapsed_maps_are_split() {
        let (p, q) = (turn(DVec3::new(1.0, 2.0, 3.0), 1.0), turn(DVec3::new(-1.0, 0.3, 0.2), 2.5));
        for scale in [
            DVec3::ONE,
            DVec3::new(3.0, 0.5, 1.0),
            DVec3::new(1.0, -1.0, 1.0),
            DVec3::new(-2.0, -0.1, -5.0),
            DVec3::new(1.0, 1e-9, 1.0),
            DVec3::new(0.0, 2.0, 0.0),
            DVec3::new(1.0, 0.0, 3.0),
            DVec3::new(1.0, 2.0, 0.0),
            DVec3::ZERO,
        ] {
            check(p * DMat3::from_diagonal(scale) * q);
        }
        let regular = p * DMat3::from_diagonal(DVec3::new(3.0, 0.5, -1.0)) * q;
        let (u, s, v) = svd(&regular, DMat3::IDENTITY);
        assert!((u * DMat3::from_diagonal(s) * v.transpose()).abs_diff_eq(regular, 1e-14));
    }

    /// The maps of a bone that turns and pulses, past a place where two of its scales agree, and through a mirror image: the
    /// joint's rotation never jumps, though the order of the scales changes.
    #[test]
    fn the_axes_do_not_jump_from_frame_to_frame() {
        let (mut before, mut last) = (DMat3::IDENTITY, None::<DMat3>);
        for frame in 0..200 {
            let t = 0.05 * f64::from(frame + 1); // at zero two scales agree, and no axes are given
            let stretch =
                turn(DVec3::Y, 0.4) * DMat3::from_diagonal(DVec3::new(1.0 + 0.5 * t.sin(), 1.2, 0.9 + 0.1 * t.cos()));
            let a = turn(DVec3::new(0.2, 1.0, 0.4), t) * stretch * turn(DVec3::Y, -0.4);
            let map = DAffine3 { matrix3: a, translation: DVec3::new(t, 0.0, 0.0) };
            let head = DVec3::new(0.3, 0.2, 0.1);
            let (parent, joint, v) = split(&map, head, before);
            let expected = map * DAffine3::from_translation(head);
            assert!(joint.abs_diff_eq(expected, 1e-13), "frame {frame}");
            assert!(parent.translation.abs_diff_eq(joint.translation, 1e-15));
            if let Some(last) = last {
                assert!(v.abs_diff_eq(last, 0.1), "frame {frame}: {v} after {last}");
            }
            (before, last) = (v, Some(v));
        }
    }
}
