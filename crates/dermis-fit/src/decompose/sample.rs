//! Which vertices a search looks at: one from each stretch of a curve that fills space.

use dermis_rig::glam::DVec3;

/// Pseudorandom numbers that are the same everywhere (Steele, Lea and Flood 2014, SplitMix64).
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// In 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// In 0..n.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n - 1)
    }
}

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
    let mut random = Random::new(seed);
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
