//! Vertices of sculpts that nobody touched, but that rounding in another program moved.

use super::ShownSkin;
use crate::load::edges;
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, LocalSculpt, Rig};

/// Sets vertices that differ from what was shown by rounding to that skin; result: a line that counts them.
///
/// Rounding is small, and rough: a vertex goes another way than its neighbours do together, where what an artist sculpts fades, but
/// goes one way. If most vertices that differ by `tolerance` at most are rough, those are set that differ by twice as much as nine in ten of the rough
/// ones, and by `tolerance` at most. A sculpt that states what was shown, and which vertices are meant, leaves nothing to guess.
pub(super) fn clear(rig: &Rig, sculpts: &mut [Example], tolerance: f64, shown: &ShownSkin<'_>) -> Option<String> {
    let least = 1e-5 * rig.mesh().diagonal(); // six printed digits and 32 bits lose less, which moves nothing that matters
    let (mut cleared, mut largest, mut first) = (0, 0.0f64, None);
    let mut touched = 0;
    let states_all = |local: &LocalSculpt| local.mask.is_some() && local.shown.is_some();
    for sculpt in sculpts.iter_mut().filter(|sculpt| !sculpt.local.as_ref().is_some_and(states_all)) {
        let skin = (shown.skin)(&sculpt.transforms)?;
        let moves: Vec<DVec3> = sculpt.positions.iter().zip(&skin).map(|(x, y)| *x - *y).collect();
        let Some(most) = rounding(&moves, &rig.mesh().triangles, tolerance).filter(|most| *most > least) else {
            continue;
        };
        let lengths: Vec<f64> = moves.iter().map(|d| d.length()).collect();
        let mut count = 0;
        for ((place, base), length) in sculpt.positions.iter_mut().zip(&skin).zip(lengths) {
            if length > 0.0 && length <= most {
                *place = *base;
                count += 1;
                largest = largest.max(length);
            }
        }
        cleared += count;
        touched += 1;
        first.get_or_insert_with(|| sculpt.label.clone());
    }
    first.map(|first| {
        format!(
            "{cleared} vertices of {touched} sculpts differ from {} by rounding, {largest:.1e} m at most, and are set to it (first: \
             \"{first:.60}\")",
            shown.name
        )
    })
}

/// How far rounding moved vertices; `None` if what is small is smooth.
fn rounding(moves: &[DVec3], triangles: &[[u32; 3]], tolerance: f64) -> Option<f64> {
    let mut around = vec![DVec3::ZERO; moves.len()];
    for (a, b) in edges(triangles) {
        for (v, w) in [(a, b), (b, a)] {
            around[v as usize] += moves[w as usize];
        }
    }
    let small = moves.iter().copied().zip(around);
    let small: Vec<(DVec3, DVec3)> = small.filter(|(d, _)| d.length() > 0.0 && d.length() <= tolerance).collect();
    // Sixty degrees apart, as three in four directions of chance are.
    let is_rough = |(d, others): &&(DVec3, DVec3)| d.dot(*others) <= 0.5 * d.length() * others.length();
    let mut rough: Vec<f64> = small.iter().filter(is_rough).map(|(d, _)| d.length()).collect();
    if rough.is_empty() || 2 * rough.len() < small.len() {
        return None;
    }
    let at = rough.len() * 9 / 10; // the last of one to ten
    let nine_in_ten = *rough.select_nth_unstable_by(at, f64::total_cmp).1;
    Some((2.0 * nine_in_ten).min(tolerance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DVec2;

    /// A square of 24 × 24 points, and a bump of 0.2 in its middle that fades smoothly over 0.3.
    fn square(noise: impl Fn(usize) -> DVec3) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let at = |v: usize| DVec2::new((v % 24) as f64, (v / 24) as f64) / 23.0;
        let bump = |v: usize| 0.2 * (-(at(v) - DVec2::splat(0.5)).length_squared() / 0.02).exp();
        let moves = (0..24 * 24).map(|v| DVec3::Z * bump(v) + noise(v)).collect();
        let quads = (0..23u32).flat_map(|y| (0..23u32).map(move |x| 24 * y + x));
        (moves, quads.flat_map(|v| [[v, v + 1, v + 25], [v, v + 25, v + 24]]).collect())
    }

    /// Rounding to a grid, as printed digits do, is found and bounded; a smooth sculpt keeps its faintest edge.
    #[test]
    fn rounding_is_rough_and_sculpts_are_smooth() {
        let step = 1e-4;
        let random = |v: usize, axis: usize| (((v * 3 + axis) as f64 * 78.233).sin() * 43758.5453).fract().abs() - 0.5;
        let noise = |v: usize| DVec3::new(random(v, 0), random(v, 1), random(v, 2)) * step;
        let (moves, triangles) = square(noise);
        let most = rounding(&moves, &triangles, 2e-4).unwrap();
        // No point is farther from the middle of its cell than half the cell's diagonal.
        assert!((0.5 * 3f64.sqrt() * step..=2e-4).contains(&most), "{most:e}");
        let (smooth, triangles) = square(|_| DVec3::ZERO);
        assert!(smooth.iter().any(|d| d.length() > 0.0 && d.length() <= 2e-4), "the edge of the bump is this faint");
        assert_eq!(rounding(&smooth, &triangles, 2e-4), None);
        // All touched: nothing is small.
        let (far, triangles) = square(|v| DVec3::X + noise(v));
        assert_eq!(rounding(&far, &triangles, 2e-4), None);
    }
}
