//! A bone relative to its parent, in parts that can be blended.

use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix, slerp};

/// A local transform: translation, rotation, and what the rotation leaves of the linear part, A = R S.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Local {
    /// Metres, in the axes of the parent.
    pub translation: DVec3,
    /// R, the rotation nearest to A.
    pub rotation: DQuat,
    /// S, in the bone's own axes; the identity of a bone that keeps its size.
    pub stretch: DMat3,
}

impl Local {
    /// The parts of a local transform.
    pub fn new(local: &DAffine3) -> Self {
        let rotation = nearest_rotation(&local.matrix3);
        let stretch = rotation.transpose() * local.matrix3;
        Self { translation: local.translation, rotation: quat_from_matrix(&rotation), stretch }
    }

    /// The transform of the parts.
    pub fn affine(&self) -> DAffine3 {
        DAffine3 { matrix3: DMat3::from_quat(self.rotation) * self.stretch, translation: self.translation }
    }

    /// The transform `weight` of the way from this one to `other`: zero is this one, one the other.
    #[must_use]
    pub fn towards(&self, other: &Self, weight: f64) -> Self {
        Self {
            translation: self.translation.lerp(other.translation, weight),
            rotation: slerp(self.rotation, other.rotation, weight),
            stretch: self.stretch + (other.stretch - self.stretch) * weight,
        }
    }

    /// This transform with `weight` of what leads from `reference` to `other` added to it: turned in its own axes, moved in those of
    /// its parent.
    #[must_use]
    pub fn plus(&self, other: &Self, reference: &Self, weight: f64) -> Self {
        let turn = reference.rotation.conjugate() * other.rotation;
        Self {
            translation: self.translation + (other.translation - reference.translation) * weight,
            rotation: (self.rotation * slerp(DQuat::IDENTITY, turn, weight)).normalize(),
            stretch: self.stretch + (other.stretch - reference.stretch) * weight,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(angle: f64, size: f64) -> Local {
        let turn = DQuat::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), angle);
        Local::new(&DAffine3::from_scale_rotation_translation(DVec3::new(size, 1.0, 1.0), turn, DVec3::splat(angle)))
    }

    #[test]
    fn parts_make_the_transform_again() {
        let sheared = DAffine3 {
            matrix3: DMat3::from_cols(DVec3::new(1.0, 0.2, 0.0), DVec3::new(0.0, 1.3, 0.4), DVec3::new(0.1, 0.0, 0.8)),
            translation: DVec3::Y,
        };
        for affine in [sheared, DAffine3::IDENTITY, local(2.0, 1.7).affine()] {
            assert!(Local::new(&affine).affine().abs_diff_eq(affine, 1e-13));
        }
    }

    /// What leads from a to b, added to a, is b; half of it is half way.
    #[test]
    fn adding_and_blending_agree_along_one_way() {
        let (a, b) = (local(0.3, 1.0), local(1.5, 2.0));
        for weight in [0.0, 0.25, 1.0] {
            let (over, added) = (a.towards(&b, weight).affine(), a.plus(&b, &a, weight).affine());
            assert!(over.abs_diff_eq(added, 1e-12), "{weight}");
        }
        assert!(a.towards(&b, 0.5).affine().abs_diff_eq(local(0.9, 1.5).affine(), 1e-12));
    }
}
