//! Repeatable randomness: SplitMix64, small enough to read and good enough for test data.
//!
//! Source: Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators".

use dermis_rig::glam::{DQuat, DVec3};

/// The generator.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator whose whole future follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform between two bounds.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform among 0..count.
    pub fn below(&mut self, count: usize) -> usize {
        (self.unit() * count as f64) as usize
    }

    /// Normal with mean 0 and deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Uniform on the unit sphere.
    pub fn direction(&mut self) -> DVec3 {
        let (z, phi) = (self.between(-1.0, 1.0), self.between(0.0, std::f64::consts::TAU));
        let r = (1.0 - z * z).sqrt();
        DVec3::new(r * phi.cos(), r * phi.sin(), z)
    }

    /// A rotation about a random axis by an angle uniform in 0..=`most`.
    pub fn rotation(&mut self, most: f64) -> DQuat {
        let axis = self.direction();
        DQuat::from_axis_angle(axis, self.between(0.0, most))
    }

    /// The numbers 0..count in random order.
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed forms: mean ½ and variance 1/12 of the uniform, 0 and 1 of the normal distribution; 4 deviations wide.
    #[test]
    fn moments_are_those_of_the_distributions() {
        let (mut random, n) = (Random::new(7), 40_000);
        let uniform: Vec<f64> = (0..n).map(|_| random.unit()).collect();
        let normal: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let mean = |x: &[f64]| x.iter().sum::<f64>() / n as f64;
        let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>() / n as f64;
        assert!((mean(&uniform) - 0.5).abs() < 4.0 * (1.0 / 12.0f64).sqrt() / 200.0);
        assert!(mean(&normal).abs() < 4.0 / 200.0 && (square(&normal) - 1.0).abs() < 4.0 * 2f64.sqrt() / 200.0);
        let mut order = random.order(50);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..50));
    }
}
