//! The prior of a joint: the covariance of two poses as far as this joint tells them apart.

use rayon::prelude::*;

/// The features of a pose, joints in order.
pub type Features = Vec<[f64; 12]>;

/// Width of the kernel, in chords: σ. Joints that differ by 60 degrees are one chord apart. With σ = 2 the chosen frames
/// serve a body and a human as well, but the expected error falls faster than the true one.
const SIGMA: f64 = 1.0;

/// Returns |x − y|² of the features of one joint.
pub fn square(x: &[f64; 12], y: &[f64; 12]) -> f64 {
    x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum()
}

/// g(|x_j − y_j|) − g(|x_j|) g(|y_j|) of every joint and pair of poses.
pub struct Kernels {
    pub poses: usize,
    /// Per joint the lower triangle, row after row.
    joints: Vec<Vec<f32>>,
}

impl Kernels {
    /// Evaluates the kernel of every joint for all pairs of poses.
    pub fn new(features: &[Features]) -> Self {
        let g = |square: f64| (-square / (SIGMA * SIGMA)).exp();
        let joint = |j: usize| {
            let rest: Vec<f64> = features.iter().map(|x| g(square(&x[j], &[0.0; 12]))).collect();
            let mut values = Vec::with_capacity(features.len() * (features.len() + 1) / 2);
            for (s, x) in features.iter().enumerate() {
                let row = features[..=s].iter().zip(&rest);
                values.extend(row.map(|(y, at_rest)| (g(square(&x[j], &y[j])) - rest[s] * at_rest) as f32));
            }
            values
        };
        let joints = features.first().map_or(0, Vec::len);
        Self { poses: features.len(), joints: (0..joints).into_par_iter().map(joint).collect() }
    }

    /// Returns the kernel of `joint` between poses `s` and `t`.
    pub fn at(&self, joint: usize, s: usize, t: usize) -> f64 {
        let (low, high) = (s.min(t), s.max(t));
        f64::from(self.joints[joint][high * (high + 1) / 2 + low])
    }
}
