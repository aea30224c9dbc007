//! Which vertices a search looks at: one from each stretch of a curve that fills space.

use dermis_rig::glam::DVec3;
use dermis_solve::Random;

/// `count` vertices, ascending: the mesh in Morton order, one random vertex per stratum.
pub(super) fn stratified(rest: &[DVec3], count: usize, seed: u64) -> Vec<usize> {
    if rest.len() <= count {
        return (0..rest.len()).collect();
    }
    let (low, high) =
        rest.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), &p| (low.min(p), high.max(p)));
    let cells = 1023.0 / (high - low).max_element().max(f64::MIN_POSITIVE);
    let mut order: Vec<(u64, usize)> = rest
        .iter()
        .enumerate()
        .map(|(v, &p)| {
            let cell = ((p - low) * cells).to_array().map(|x| spread(x as u64));
            (cell[0] | cell[1] << 1 | cell[2] << 2, v)
        })
        .collect();
    order.sort_unstable();
    let mut random = Random::seeded(seed);
    let bound = |stratum: usize| stratum * rest.len() / count;
    let mut chosen: Vec<usize> =
        (0..count).map(|s| order[bound(s) + random.below(bound(s + 1) - bound(s))].1).collect();
    chosen.sort_unstable();
    chosen
}

/// The ten lowest bits, two apart.
fn spread(x: u64) -> u64 {
    (0..10).fold(0, |spread, bit| spread | (x >> bit & 1) << (3 * bit))
}
