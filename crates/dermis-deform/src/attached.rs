//! What hangs on a bone: a map of space that a bone carries along.

use dermis_rig::glam::{DAffine3, DMat3, DVec3};

/// Where a bone has carried the space of its map in a pose: M ∘ map ∘ M⁻¹ acts on posed points.
///
/// Without a bone the map stands still. Where M is flat no point has a place in the bone's space, and the map does nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Attached {
    /// M is the identity.
    Still,
    /// M and M⁻¹.
    Moved(DAffine3, DAffine3),
    /// M has no inverse.
    Flat,
}

impl Attached {
    /// By the enveloping matrix M of the bone, rest world to posed world; the identity without one.
    pub(crate) fn to(bone: &DAffine3) -> Self {
        let back = bone.inverse();
        match *bone == DAffine3::IDENTITY {
            true => Self::Still,
            false if bone.is_finite() && back.is_finite() => Self::Moved(*bone, back),
            false => Self::Flat,
        }
    }

    /// The displacement of a posed point, from the map's displacement in the bone's space; both in the axes of their space.
    pub(crate) fn displacement(&self, p: DVec3, of: impl Fn(DVec3) -> DVec3) -> DVec3 {
        match self {
            Self::Still => of(p),
            Self::Moved(place, back) => place.matrix3 * of(back.transform_point3(p)),
            Self::Flat => DVec3::ZERO,
        }
    }

    /// The derivative of that displacement after the posed point.
    pub(crate) fn gradient(&self, p: DVec3, of: impl Fn(DVec3) -> DMat3) -> DMat3 {
        match self {
            Self::Still => of(p),
            Self::Moved(place, back) => place.matrix3 * of(back.transform_point3(p)) * back.matrix3,
            Self::Flat => DMat3::ZERO,
        }
    }
}
