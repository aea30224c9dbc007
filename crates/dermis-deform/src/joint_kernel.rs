//! The kernel of a joint's rotations.

use crate::joints::JointFeature;
use std::f64::consts::PI;

/// k(x, y) = (1 − s) g(x, y) + s h(x, y): how alike two features φ of a joint are, zero at the bind pose in either argument.
///
/// ```text
/// g(x, y) = (σ²/2) (e(x − y) − e(x) − e(y) + 1),   e(d) = exp(−|d|²/σ²)
/// h(x, y) = |x| |y| (sin θ + (π − θ) cos θ)/π,     θ the angle between x and y
/// ```
///
/// g is a Gaussian, which tends to x·y as σ grows. h, the arc-cosine kernel of order one (Cho and Saul 2009, equation 1), is that of
/// a wide layer of rectified linear units: along a direction it grows with the angle without end, so that skin which bulges on after
/// the last example is met. Both are |φ|² for small features, so λ means the same in each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointKernel {
    /// σ, a chord.
    pub sigma: f64,
    /// s, the share of h, 0 to 1.
    pub arc_cosine: f64,
}

impl JointKernel {
    /// The Gaussian alone.
    pub fn gaussian(sigma: f64) -> Self {
        Self { sigma, arc_cosine: 0.0 }
    }

    /// k(x, y).
    pub fn at(&self, x: &JointFeature, y: &JointFeature) -> f64 {
        let dot = |a: &JointFeature, b: &JointFeature| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (xx, yy) = (dot(x, x), dot(y, y));
        let s = self.sigma * self.sigma;
        let apart: f64 = x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum();
        // In differences from one, so that digits survive a large σ.
        let below = |d: f64| (-d / s).exp_m1();
        let gaussian = 0.5 * s * (below(apart) - below(xx) - below(yy));
        if self.arc_cosine == 0.0 {
            return gaussian;
        }
        let lengths = (xx * yy).sqrt();
        let arc = match lengths > 0.0 {
            true => {
                let cosine = (dot(x, y) / lengths).clamp(-1.0, 1.0);
                let angle = cosine.acos();
                lengths * (angle.sin() + (PI - angle) * cosine) / PI
            }
            false => 0.0,
        };
        (1.0 - self.arc_cosine) * gaussian + self.arc_cosine * arc
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_solve::Random;

    /// Oracle: h is the mean of 2 max(0, w·x) max(0, w·y) over normally distributed w.
    #[test]
    fn the_arc_cosine_kernel_is_that_of_rectified_units() {
        let mut random = Random::new(3, 0);
        // Box and Muller.
        let mut normal = || (-2.0 * (1.0 - random.unit()).ln()).sqrt() * (2.0 * PI * random.unit()).cos();
        let mut feature = |scale: f64| -> JointFeature { std::array::from_fn(|_| scale * normal()) };
        let (x, y) = (feature(0.3), feature(0.5));
        let kernel = JointKernel { sigma: 1.4, arc_cosine: 1.0 };
        let count = 400_000;
        let mut sum = 0.0;
        for _ in 0..count {
            let w = feature(1.0);
            let at = |f: &JointFeature| w.iter().zip(f).map(|(w, f)| w * f).sum::<f64>().max(0.0);
            sum += 2.0 * at(&x) * at(&y);
        }
        let (found, mean) = (kernel.at(&x, &y), sum / f64::from(count));
        assert!((found - mean).abs() < 0.02 * mean, "{found} for {mean}");
        let square: f64 = x.iter().map(|x| x * x).sum();
        assert!((kernel.at(&x, &x) - square).abs() < 1e-12, "k(x, x) is |x|²");
        let back = x.map(|x| -x);
        assert!(kernel.at(&x, &back).abs() < 1e-12, "units of one side know nothing of the other");
        assert_eq!((kernel.at(&x, &[0.0; 12]), kernel.at(&[0.0; 12], &y)), (0.0, 0.0));
    }

    #[test]
    fn shares_are_mixed() {
        let (x, y) = ([0.2; 12], std::array::from_fn(|i| 0.1 * i as f64 - 0.4));
        let at = |arc_cosine: f64| JointKernel { sigma: 0.9, arc_cosine }.at(&x, &y);
        assert_eq!(at(0.0), JointKernel::gaussian(0.9).at(&x, &y));
        assert!((at(0.25) - (0.75 * at(0.0) + 0.25 * at(1.0))).abs() < 1e-15);
    }
}
