//! Repeatable randomness for searches, probes and draws: SplitMix64.
//!
//! Same seed, same numbers, on every machine and for any number of threads.
//!
//! Source: Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators".

/// What the state advances by: 2⁶⁴ over the golden ratio, odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// Sets the state of [`Random::seeded`] apart from that of stream zero.
const SEEDED: u64 = 0x5851_f42d_4c95_7f2d;

/// A generator of pseudorandom numbers.
pub struct Random {
    state: u64,
}

impl Random {
    /// Returns the generator of stream `stream` of `seed`. Streams of one seed are independent.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { state: mixed(mixed(seed).wrapping_add(stream)) }
    }

    /// Returns the one generator of a search that needs no streams.
    pub fn seeded(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(STEP) ^ SEEDED }
    }

    /// Returns a number, uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.state = self.state.wrapping_add(STEP);
        (mixed(self.state) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns an integer, uniform in 0..`count`; zero if `count` is zero.
    pub fn below(&mut self, count: usize) -> usize {
        ((self.unit() * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// Returns a unit vector, uniform on the sphere.
    pub fn direction(&mut self) -> [f64; 3] {
        let (z, phi) = (2.0 * self.unit() - 1.0, std::f64::consts::TAU * self.unit());
        let r = (1.0 - z * z).sqrt();
        [r * phi.cos(), r * phi.sin(), z]
    }

    /// Returns the numbers 0..`count` in random order (Fisher and Yates).
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            let other = (self.unit() * (last + 1) as f64) as usize;
            order.swap(last, other);
        }
        order
    }
}

/// Returns 64 bits that depend on every bit of `z`, different for different `z`.
fn mixed(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed forms: means 0 and second moments 1/3 of a coordinate on the sphere; every number comes first equally often.
    /// The bounds are four standard deviations wide.
    #[test]
    fn directions_and_orders_favour_nothing() {
        let (mut random, n) = (Random::new(0, 0), 20_000);
        let (mut mean, mut square) = ([0.0; 3], [0.0; 3]);
        for _ in 0..n {
            let direction = random.direction();
            for axis in 0..3 {
                mean[axis] += direction[axis] / f64::from(n);
                square[axis] += direction[axis] * direction[axis] / f64::from(n);
            }
        }
        let wide = 4.0 / f64::from(n).sqrt();
        assert!(mean.iter().all(|m| m.abs() < wide * (1.0f64 / 3.0).sqrt()), "{mean:?}");
        // The variance of a squared coordinate is 1/5 − 1/9.
        assert!(square.iter().all(|s| (s - 1.0 / 3.0).abs() < wide * (4.0f64 / 45.0).sqrt()), "{square:?}");
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
        let orders = [of(1, 0), of(1, 1), of(2, 0), of(0, 0), of(0, 1), Random::seeded(0).order(30)];
        for (at, order) in orders.iter().enumerate() {
            assert!(orders[..at].iter().all(|other| other != order), "{at}");
        }
        assert_eq!(of(1, 1), of(1, 1));
    }
}
