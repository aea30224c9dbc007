//! When two affine maps are one: they move the corners of a box to the same places.

use dermis_rig::glam::{DAffine3, DVec3};

/// Two maps are one if they move no corner of the mesh's box apart by more than this part of its diagonal: a hundred
/// times what single-precision matrices lose, a hundredth of what an eye sees.
pub(crate) const AGREE: f64 = 1e-4;

/// The corners of a box; of a unit box about it where it is a single point.
pub(crate) fn corners((low, high): (DVec3, DVec3)) -> [DVec3; 8] {
    let grow = if low == high { DVec3::splat(0.5) } else { DVec3::ZERO };
    let (low, high) = (low - grow, high + grow);
    std::array::from_fn(|at| {
        let pick = |axis: usize| if at >> axis & 1 == 0 { low[axis] } else { high[axis] };
        DVec3::new(pick(0), pick(1), pick(2))
    })
}

/// The largest distance between the images of the corners under two maps. NaN counts as infinitely far.
pub(crate) fn apart(a: &DAffine3, b: &DAffine3, corners: &[DVec3; 8]) -> f64 {
    let far = |p: &DVec3| (a.transform_point3(*p) - b.transform_point3(*p)).length();
    corners.iter().map(far).fold(0.0, |most, d| if d.is_nan() { f64::INFINITY } else { f64::max(most, d) })
}
