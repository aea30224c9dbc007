//! The caller's axes and unit: the map between them and the model's (Y up, metres, right-handed).

use crate::status::{DERMIS_ERROR_VALUE, Failure};
use dermis_rig::glam::{DAffine3, DMat3, DVec3, Mat3, Vec3};

/// How far the columns may be from orthogonal and of one length, in parts of that length squared.
const SKEW: f64 = 1e-6;

/// A map from the caller's axes and unit to the model's.
#[derive(Clone, Copy)]
pub(crate) struct Axes {
    /// A: a rotation or reflection times a length.
    to_model: DMat3,
    from_model: DMat3,
    /// Of positions and of unit normals, in the numbers that they are written in.
    positions: Mat3,
    normals: Mat3,
    given: Mat3,
}

impl Axes {
    /// The map x_model = A x_caller, A given row after row.
    pub(crate) fn new(rows: [f64; 9]) -> Result<Self, Failure> {
        let to_model = DMat3::from_cols_array(&rows).transpose();
        let squared = to_model.transpose() * to_model;
        let scale = (squared.x_axis.x + squared.y_axis.y + squared.z_axis.z) / 3.0;
        let skew = (squared - DMat3::from_diagonal(DVec3::splat(scale))).to_cols_array();
        // Units from a picometre to a gigametre. Written so that NaN is refused.
        let usable = (1e-24..=1e18).contains(&scale) && skew.iter().all(|x| x.abs() <= SKEW * scale);
        if !usable {
            let what = "the axes are not a rotation or reflection times a positive unit";
            return Err(Failure::new(DERMIS_ERROR_VALUE, format!("{what}: {rows:?}")));
        }
        let from_model = to_model.inverse();
        Ok(Self {
            to_model,
            from_model,
            positions: from_model.as_mat3(),
            normals: (from_model * scale.sqrt()).as_mat3(),
            given: to_model.as_mat3(),
        })
    }

    /// A skinning matrix of the caller as the model has it: A M A^-1.
    pub(crate) fn matrix(&self, m: &DAffine3) -> DAffine3 {
        DAffine3 { matrix3: self.to_model * m.matrix3 * self.from_model, translation: self.to_model * m.translation }
    }

    /// A position of the model as the caller has it.
    pub(crate) fn position(&self, p: Vec3) -> Vec3 {
        self.positions * p
    }

    /// A unit normal of the model as the caller has it.
    pub(crate) fn normal(&self, n: Vec3) -> Vec3 {
        self.normals * n
    }

    /// A position of the caller as the model has it.
    pub(crate) fn given(&self, p: Vec3) -> Vec3 {
        self.given * p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the same matrix applied by hand, point by point, on both sides.
    #[test]
    fn matrices_and_points_are_carried_over_alike() {
        // Z up, centimetres, left-handed: (x, y, z) in metres, Y up, is (100 x, 100 z, 100 y).
        let axes = Axes::new([0.01, 0.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.01, 0.0]).ok().unwrap();
        let m = DAffine3::from_rotation_translation(
            dermis_rig::glam::DQuat::from_rotation_x(0.4),
            DVec3::new(10.0, -20.0, 30.0),
        );
        let p = DVec3::new(5.0, 70.0, 110.0);
        let to = |p: DVec3| DVec3::new(p.x, p.z, p.y) / 100.0;
        let (expected, got) = (to(m.transform_point3(p)), axes.matrix(&m).transform_point3(to(p)));
        assert!(got.abs_diff_eq(expected, 1e-14), "{got} {expected}");
        assert!(axes.position(to(p).as_vec3()).abs_diff_eq(p.as_vec3(), 2e-5));
        assert!(axes.given(p.as_vec3()).abs_diff_eq(to(p).as_vec3(), 1e-6));
        assert!(axes.normal(Vec3::Y).abs_diff_eq(Vec3::Z, 1e-6), "up is up, and of length one");
    }

    #[test]
    fn what_is_no_change_of_axes_is_refused() {
        let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        assert!(Axes::new(identity).is_ok());
        for (at, x) in [(0, 2.0), (1, 0.1), (4, 0.0), (8, f64::NAN), (8, f64::INFINITY)] {
            let mut rows = identity;
            rows[at] = x;
            assert!(Axes::new(rows).is_err(), "{rows:?}");
        }
        assert!(Axes::new([0.0; 9]).is_err());
    }
}
