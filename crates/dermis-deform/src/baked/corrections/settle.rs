//! Corrections on their way to the positions: turned, held by the ball, added.

use crate::baked::lanes::{Columns, EIGHT, Eight, numbers, store};
use crate::guard::project_f32;
use dermis_rig::glam::Vec3;

/// Adds what the ball leaves of the corrections of eight vertices, and what is behind; at how many the ball acted.
///
/// `radii` is `None` without a ball.
#[inline(always)]
pub(super) fn settle_eight<E: Eight>(
    e: E,
    mut delta: [E::Lanes; 3],
    radii: Option<&[f32; EIGHT]>,
    behind: Vec3,
    out: &mut [Vec3; EIGHT],
) -> usize {
    let mut held = 0;
    if let Some(radii) = radii {
        let r = e.lanes(*radii);
        let squares = e.mul_add(delta[0], delta[0], e.mul_add(delta[1], delta[1], e.mul(delta[2], delta[2])));
        // Well inside is decided without a root; what is no number is not inside.
        if !e.all(e.less(squares, e.mul(e.splat(0.999), e.mul(r, r)))) {
            let [x, y, z] = delta;
            let ([x, y, z], acted) = held_back([e.array(x), e.array(y), e.array(z)], radii);
            delta = [e.lanes(x), e.lanes(y), e.lanes(z)];
            held = acted;
        }
    }
    let mut p = e.split(numbers(out));
    for j in 0..3 {
        p[j] = e.add(e.add(p[j], delta[j]), e.splat(behind[j]));
    }
    store(e, p, out);
    held
}

/// Corrections of eight vertices as far as the ball lets them; at how many it acted.
fn held_back(mut delta: [[f32; EIGHT]; 3], radii: &[f32; EIGHT]) -> ([[f32; EIGHT]; 3], usize) {
    let mut held = 0;
    for (l, &radius) in radii.iter().enumerate() {
        let (d, acted) = project_f32(Vec3::new(delta[0][l], delta[1][l], delta[2][l]), radius);
        (delta[0][l], delta[1][l], delta[2][l]) = (d.x, d.y, d.z);
        held += usize::from(acted);
    }
    (delta, held)
}

/// Displacements turned by the vertices' anchors; without an anchor the table's last matrix turns them, the identity.
#[inline(always)]
pub(super) fn turned<E: Eight>(
    e: E,
    anchors: &[u32; EIGHT],
    table: &[Columns],
    [x, y, z]: [E::Lanes; 3],
) -> [E::Lanes; 3] {
    let mut maps = [e.zero(); EIGHT];
    for (map, anchor) in maps.iter_mut().zip(anchors) {
        *map = e.map(&table[(*anchor as usize).min(table.len() - 1)]);
    }
    let [a, b, c, d, p, q, r, s] = maps;
    let m = e.maps(e.four_maps([a, b, c, d]), e.four_maps([p, q, r, s]));
    let mut out = [x, y, z];
    for (j, out) in out.iter_mut().enumerate() {
        *out = e.mul_add(m[0][j], x, e.mul_add(m[1][j], y, e.mul(m[2][j], z)));
    }
    out
}

/// [`settle_eight`] for one vertex: adds what the ball leaves of its correction, and what is behind; one if the ball acted.
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
