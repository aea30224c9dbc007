//! Which vertices a search looks at: one from each stretch of a curve that fills space.

use dermis_rig::PrincipalBox;
use dermis_rig::glam::DVec3;
use dermis_solve::Random;

/// Cells along the longest side of the box, and where the first begins. Neither is a simple fraction of the other, so that no vertex of a regular mesh
/// lies where two cells meet and rounding would decide.
const CELLS: (f64, f64) = (1_021.732_050_807_569, 0.381_966_011_250_105_1);

/// `count` vertices, ascending: the mesh in Morton order, one random vertex per stratum. The cells lie along the principal axes of the mesh.
pub(super) fn stratified(rest: &[DVec3], count: usize, seed: u64) -> Vec<usize> {
    if rest.len() <= count {
        return (0..rest.len()).collect();
    }
    let around = PrincipalBox::of(rest);
    let per_length = CELLS.0 / (2.0 * around.half.max_element()).max(f64::MIN_POSITIVE);
    let mut order: Vec<(u64, usize)> = rest
        .iter()
        .enumerate()
        .map(|(v, &p)| {
            let from_corner = around.inward(p) + around.half;
            let cell = (from_corner * per_length + CELLS.1).to_array().map(|x| spread(x as u64));
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
