//! Corrections of a few vertices on their way to the positions: summed, turned, held by the ball, added.
//!
//! Every step runs over all vertices of a piece before the next begins, through small arrays: loops that the compiler
//! makes vectors of.

use crate::guard::project_f32;
use dermis_rig::glam::Vec3;

/// Vertices of a piece.
pub(super) const PIECE: usize = 64;

/// Sums of four running sums each: three per vertex, added to what is there.
#[inline(always)]
pub(super) fn add_quads(sums: &[[f32; 12]], out: &mut [[f32; 3]]) {
    for (sum, four) in out.as_flattened_mut().iter_mut().zip(sums.as_flattened().as_chunks::<4>().0) {
        *sum += (four[0] + four[2]) + (four[1] + four[3]);
    }
}

/// Adds deltas as far as the ball lets them, and what is behind; at how many vertices the ball acted.
///
/// `radii` is empty without a ball.
#[inline(always)]
pub(super) fn settle(deltas: &mut [[f32; 4]], radii: &[f32], behind: Vec3, out: &mut [Vec3]) -> usize {
    // Well inside is decided without a root, for all at once. Not "outside": what is no number is not inside.
    let inside = |(d, r): (&[f32; 4], &f32)| usize::from(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < 0.999 * r * r);
    let mut held = 0;
    if deltas.iter().zip(radii).map(inside).sum::<usize>() < radii.len() {
        for (d, &radius) in deltas.iter_mut().zip(radii) {
            let (delta, acted) = project_f32(Vec3::new(d[0], d[1], d[2]), radius);
            (d[0], d[1], d[2]) = (delta.x, delta.y, delta.z);
            held += usize::from(acted);
        }
    }
    for (p, d) in out.iter_mut().zip(deltas) {
        *p = Vec3::new((p.x + d[0]) + behind.x, (p.y + d[1]) + behind.y, (p.z + d[2]) + behind.z);
    }
    held
}

/// [`settle`] for one vertex: adds what the ball leaves of its correction, and what is behind; one if the ball acted.
#[inline(always)]
pub(super) fn settle_one(delta: Vec3, radius: Option<&f32>, behind: Vec3, p: &mut Vec3) -> usize {
    let Some(&radius) = radius else {
        *p = (*p + delta) + behind;
        return 0;
    };
    // Well inside is decided without a root.
    if delta.length_squared() < 0.999 * radius * radius {
        *p = (*p + delta) + behind;
        return 0;
    }
    let (delta, acted) = project_f32(delta, radius);
    *p = (*p + delta) + behind;
    usize::from(acted)
}
