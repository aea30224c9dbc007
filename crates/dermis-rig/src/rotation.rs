//! Rotations: conversions that stay well behaved at half turns and near the identity.
//!
//! Quaternions are glam's (x, y, z, w); the canonical sign makes the first non-zero of (w, x, y, z) positive.

use glam::{DMat3, DQuat, DVec3};

/// The unit quaternion of a rotation matrix, canonical sign. Branches on the largest of trace, m00, m11, m22.
pub fn quat_from_matrix(r: &DMat3) -> DQuat {
    let m = |row: usize, col: usize| r.col(col)[row];
    let trace = m(0, 0) + m(1, 1) + m(2, 2);
    let q = if trace >= m(0, 0) && trace >= m(1, 1) && trace >= m(2, 2) {
        let w = 1.0 + trace;
        DQuat::from_xyzw(m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1), w)
    } else if m(0, 0) >= m(1, 1) && m(0, 0) >= m(2, 2) {
        let x = 1.0 + m(0, 0) - m(1, 1) - m(2, 2);
        DQuat::from_xyzw(x, m(0, 1) + m(1, 0), m(0, 2) + m(2, 0), m(2, 1) - m(1, 2))
    } else if m(1, 1) >= m(2, 2) {
        let y = 1.0 + m(1, 1) - m(0, 0) - m(2, 2);
        DQuat::from_xyzw(m(0, 1) + m(1, 0), y, m(1, 2) + m(2, 1), m(0, 2) - m(2, 0))
    } else {
        let z = 1.0 + m(2, 2) - m(0, 0) - m(1, 1);
        DQuat::from_xyzw(m(0, 2) + m(2, 0), m(1, 2) + m(2, 1), z, m(1, 0) - m(0, 1))
    };
    canonical(q.normalize())
}

/// The quaternion or its negative, whichever has its first non-zero component in the order w, x, y, z positive.
pub fn canonical(q: DQuat) -> DQuat {
    let first = [q.w, q.x, q.y, q.z].into_iter().find(|c| *c != 0.0).unwrap_or(1.0);
    if first < 0.0 { -q } else { q }
}

/// Angle times axis, the angle in 0..π.
pub fn rotation_vector(q: DQuat) -> DVec3 {
    let q = canonical(q);
    let v = DVec3::new(q.x, q.y, q.z);
    let half_sine = v.length();
    let angle = 2.0 * half_sine.atan2(q.w);
    // angle / sin(angle/2); below 1e-8 the series 2 + angle²/12 is exact to rounding.
    let scale = if angle < 1e-8 { 2.0 + angle * angle / 12.0 } else { angle / half_sine };
    v * scale
}

/// The rotation by |v| about v.
pub fn from_rotation_vector(v: DVec3) -> DQuat {
    let angle = v.length();
    let scale = if angle < 1e-8 { 0.5 - angle * angle / 48.0 } else { (0.5 * angle).sin() / angle };
    let xyz = v * scale;
    DQuat::from_xyzw(xyz.x, xyz.y, xyz.z, (0.5 * angle).cos())
}

/// R = Rz Ry Rx: about x, then y, then z, all about fixed axes.
pub fn from_euler_xyz(angles: DVec3) -> DMat3 {
    DMat3::from_rotation_z(angles.z) * DMat3::from_rotation_y(angles.y) * DMat3::from_rotation_x(angles.x)
}

/// The rotation `s` of the way from `a` to `b` along the shorter arc, at constant speed. glam's own turns to a chord within 3.6
/// degrees, which is 1e-6 off.
pub fn slerp(a: DQuat, b: DQuat, s: f64) -> DQuat {
    let dot = a.dot(b);
    let (b, dot) = if dot < 0.0 { (-b, -dot) } else { (b, dot) };
    let angle = (b - a * dot).length().atan2(dot);
    if angle < 1e-9 {
        return (a * (1.0 - s) + b * s).normalize();
    }
    ((a * ((1.0 - s) * angle).sin() + b * (s * angle).sin()) / angle.sin()).normalize()
}

/// Splits q = swing · twist about the unit `axis`. A swing by a half turn leaves the twist undefined: the identity.
pub fn swing_twist(q: DQuat, axis: DVec3) -> (DQuat, DQuat) {
    let along = DVec3::new(q.x, q.y, q.z).dot(axis);
    let size = along.hypot(q.w);
    if size < 1e-12 {
        return (q, DQuat::IDENTITY);
    }
    let v = axis * (along / size);
    let twist = DQuat::from_xyzw(v.x, v.y, v.z, q.w / size);
    (q * twist.conjugate(), twist)
}

/// The rotation nearest to `a` in the Frobenius norm: U diag(1, 1, det(U Vᵀ)) Vᵀ of a = U S Vᵀ.
///
/// The answer to Wahba's problem: the quaternion is the eigenvector of largest eigenvalue of a symmetric 4x4 matrix,
/// found by cyclic Jacobi sweeps. Unlike the polar decomposition it needs no special case for a negative determinant.
/// What is nearly a rotation, as most bones are, takes three Newton steps X ← (X + X⁻ᵀ)/2 instead, each of which squares
/// the distance.
pub fn nearest_rotation(a: &DMat3) -> DMat3 {
    let stretch = a.transpose() * *a - DMat3::IDENTITY;
    if stretch.to_cols_array().iter().all(|x| x.abs() < 1e-3) && a.determinant() > 0.0 {
        return (0..3).fold(*a, |x, _| 0.5 * (x + x.inverse().transpose()));
    }
    let m = |row: usize, col: usize| a.col(col)[row];
    let (w_x, w_y, w_z) = (m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1));
    let (x_y, x_z, y_z) = (m(0, 1) + m(1, 0), m(0, 2) + m(2, 0), m(1, 2) + m(2, 1));
    let k = [
        [m(0, 0) + m(1, 1) + m(2, 2), w_x, w_y, w_z],
        [w_x, m(0, 0) - m(1, 1) - m(2, 2), x_y, x_z],
        [w_y, x_y, m(1, 1) - m(0, 0) - m(2, 2), y_z],
        [w_z, x_z, y_z, m(2, 2) - m(0, 0) - m(1, 1)],
    ];
    let (values, vectors) = eigenvectors(k);
    let best = (1..4).fold(0, |best, i| if values[i] > values[best] { i } else { best });
    let [w, x, y, z] = vectors.map(|row| row[best]);
    DMat3::from_quat(DQuat::from_xyzw(x, y, z, w).normalize())
}

/// The eigenvalues of a symmetric matrix, descending, and its unit eigenvectors, of either sign.
pub fn principal_axes(m: &DMat3) -> [(f64, DVec3); 3] {
    let mut k = [[0.0; 4]; 4];
    for (row, entries) in k.iter_mut().enumerate().take(3) {
        (0..3).for_each(|col| entries[col] = m.col(col)[row]);
    }
    let (values, vectors) = eigenvectors(k);
    let mut axes = [0, 1, 2].map(|i| (values[i], DVec3::new(vectors[0][i], vectors[1][i], vectors[2][i])));
    axes.sort_by(|a, b| b.0.total_cmp(&a.0));
    axes
}

/// The eigenvalues of a symmetric 4x4 matrix and its eigenvectors, as columns, by at most 30 cyclic Jacobi sweeps.
fn eigenvectors(mut k: [[f64; 4]; 4]) -> ([f64; 4], [[f64; 4]; 4]) {
    let mut vectors = [[0.0; 4]; 4];
    for (i, row) in vectors.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    let size: f64 = k.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
    for _ in 0..30 {
        let off: f64 = (0..4).flat_map(|p| (0..p).map(move |q| (p, q))).map(|(p, q)| k[p][q] * k[p][q]).sum();
        if off.sqrt() <= 1e-17 * size {
            break;
        }
        for p in 0..4 {
            for q in p + 1..4 {
                if k[p][q] == 0.0 {
                    continue;
                }
                let theta = (k[q][q] - k[p][p]) / (2.0 * k[p][q]);
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let (c, s) = (1.0 / t.hypot(1.0), t / t.hypot(1.0));
                for i in 0..4 {
                    let (a, b) = (k[i][p], k[i][q]);
                    (k[i][p], k[i][q]) = (c * a - s * b, s * a + c * b);
                }
                for i in 0..4 {
                    let (a, b) = (k[p][i], k[q][i]);
                    (k[p][i], k[q][i]) = (c * a - s * b, s * a + c * b);
                }
                for row in &mut vectors {
                    let (a, b) = (row[p], row[q]);
                    (row[p], row[q]) = (c * a - s * b, s * a + c * b);
                }
            }
        }
    }
    ([k[0][0], k[1][1], k[2][2], k[3][3]], vectors)
}

/// The cofactor matrix: rows b × c, c × a, a × b for rows a, b, c of `m`. Equals det(m) m⁻ᵀ.
pub fn cofactor(m: &DMat3) -> DMat3 {
    // For columns x, y, z of m the columns of the cofactor matrix are y × z, z × x, x × y.
    DMat3::from_cols(m.y_axis.cross(m.z_axis), m.z_axis.cross(m.x_axis), m.x_axis.cross(m.y_axis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn round_trips_hold_at_half_turns_and_near_the_identity() {
        let axes = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::new(1.0, -2.0, 0.5).normalize()];
        for axis in axes {
            for angle in [0.0, 1e-12, 1e-9, 1e-4, 1.0, PI - 1e-7, PI] {
                let q = DQuat::from_axis_angle(axis, angle);
                let r = DMat3::from_quat(q);
                assert!(DMat3::from_quat(quat_from_matrix(&r)).abs_diff_eq(r, 1e-14), "{axis} {angle}");
                let v = rotation_vector(q);
                assert!((v.length() - angle).abs() < 1e-9, "{axis} {angle}");
                assert!(DMat3::from_quat(from_rotation_vector(v)).abs_diff_eq(r, 1e-14));
            }
        }
    }

    #[test]
    fn nearest_rotation_is_proper_and_undoes_a_stretch() {
        let r = DMat3::from_quat(DQuat::from_axis_angle(DVec3::new(0.3, 0.5, -0.2).normalize(), 2.5));
        let stretch = DMat3::from_diagonal(DVec3::new(3.0, 0.5, 0.01));
        assert!(nearest_rotation(&(r * stretch)).abs_diff_eq(r, 1e-12));
        let mirrored = nearest_rotation(&(r * DMat3::from_diagonal(DVec3::new(3.0, 2.0, -1.0))));
        assert!(mirrored.abs_diff_eq(r, 1e-12), "the smallest stretch is the one that flips");
        assert!((nearest_rotation(&DMat3::ZERO).determinant() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn principal_axes_are_eigenvectors() {
        let turn = DMat3::from_quat(DQuat::from_axis_angle(DVec3::new(0.3, 0.5, -0.2).normalize(), 1.1));
        let m = turn * DMat3::from_diagonal(DVec3::new(-0.5, 3.0, 2.0)) * turn.transpose();
        let axes = principal_axes(&m);
        assert!(axes.iter().zip([3.0, 2.0, -0.5]).all(|((value, _), expected)| (value - expected).abs() < 1e-12));
        assert!(axes.iter().all(|(value, axis)| (m * *axis).abs_diff_eq(*axis * *value, 1e-12)));
        assert_eq!(principal_axes(&DMat3::ZERO).map(|(value, _)| value), [0.0; 3]);
    }

    #[test]
    fn half_way_along_the_shorter_arc() {
        let axis = DVec3::new(1.0, 2.0, -0.5).normalize();
        for (angle, sign) in [(1.0, 1.0), (3.0, 1.0), (3.0, -1.0), (0.02, -1.0), (1e-7, 1.0)] {
            let end = DQuat::from_axis_angle(axis, angle) * sign; // q and −q are one rotation
            let half = slerp(DQuat::IDENTITY, end, 0.5);
            assert!((half.dot(DQuat::from_axis_angle(axis, angle / 2.0)).abs() - 1.0).abs() < 1e-15);
            let third = slerp(DQuat::IDENTITY, end, 1.0 / 3.0);
            assert!(third.abs_diff_eq(DQuat::from_axis_angle(axis, angle / 3.0), 1e-14), "{angle} {sign}");
        }
    }

    #[test]
    fn swing_by_a_half_turn_has_no_twist() {
        let (swing, twist) = swing_twist(DQuat::from_rotation_x(PI), DVec3::Z);
        assert!(twist.abs_diff_eq(DQuat::IDENTITY, 1e-12) && swing.abs_diff_eq(DQuat::from_rotation_x(PI), 1e-12));
    }

    #[test]
    fn cofactor_is_the_determinant_times_the_inverse_transpose() {
        let m = DMat3::from_cols(DVec3::new(1.0, 2.0, 0.1), DVec3::new(-0.3, 0.8, 2.0), DVec3::new(0.5, 0.1, 1.4));
        assert!(cofactor(&m).abs_diff_eq(m.inverse().transpose() * m.determinant(), 1e-14));
    }
}
