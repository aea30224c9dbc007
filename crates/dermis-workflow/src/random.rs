//! Repeatable randomness for choices that a user may want to repeat: SplitMix64.
//!
//! Source: Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators".

use dermis_rig::glam::DVec3;

/// What the generator's state advances by: 2⁶⁴ over the golden ratio, odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The generator.
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// A generator whose whole future follows from `seed` and `stream`: streams of one seed have nothing in common.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { state: mixed(mixed(seed).wrapping_add(stream)) }
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.state = self.state.wrapping_add(STEP);
        (mixed(self.state) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform on the unit sphere.
    pub fn direction(&mut self) -> DVec3 {
        let (z, phi) = (2.0 * self.unit() - 1.0, std::f64::consts::TAU * self.unit());
        let r = (1.0 - z * z).sqrt();
        DVec3::new(r * phi.cos(), r * phi.sin(), z)
    }

    /// The numbers 0..count in random order (Fisher and Yates).
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            let other = (self.unit() * (last + 1) as f64) as usize;
            order.swap(last, other);
        }
        order
    }
}

/// 64 bits that depend on every bit of `z`, different for different `z`.
fn mixed(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed forms: means 0 and second moments 1/3 of a coordinate on the sphere; every number first equally often.
    /// Four deviations wide.
    #[test]
    fn directions_and_orders_favour_nothing() {
        let (mut random, n) = (Random::new(0, 0), 20_000);
        let directions: Vec<DVec3> = (0..n).map(|_| random.direction()).collect();
        let mean = directions.iter().sum::<DVec3>() / f64::from(n);
        let square = directions.iter().map(|d| *d * *d).sum::<DVec3>() / f64::from(n);
        let wide = 4.0 / f64::from(n).sqrt();
        assert!(mean.abs().max_element() < wide * (1.0f64 / 3.0).sqrt(), "{mean}");
        // The variance of a squared coordinate is 1/5 − 1/9.
        assert!((square - 1.0 / 3.0).abs().max_element() < wide * (4.0f64 / 45.0).sqrt(), "{square}");
        let mut first = [0.0; 5];
        (0..n).for_each(|_| first[random.order(5)[0]] += 1.0 / f64::from(n));
        assert!(first.iter().all(|share| (share - 0.2).abs() < wide * 0.4), "{first:?}");
        let mut order = random.order(50);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..50));
    }

    #[test]
    fn streams_and_seeds_differ() {
        let of = |seed, stream| Random::new(seed, stream).order(30);
        let orders = [of(1, 0), of(1, 1), of(2, 0), of(0, 0), of(0, 1)];
        for (at, order) in orders.iter().enumerate() {
            assert!(orders[..at].iter().all(|other| other != order), "{at}");
        }
        assert_eq!(of(1, 1), of(1, 1));
    }
}
