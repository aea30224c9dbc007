//! What is not known at one place of the skin: the posterior covariance of the poses beyond training.

use super::kernels::Kernels;
use super::skin::Place;
use dermis_solve::Interpolation;
use dermis_solve::faer::Mat;

/// Variance ρ of what a training pose leaves unsaid; the prior variance of a far pose is one per joint. With 0.1 seven of
/// eight chosen frames are the same.
const NOISE: f64 = 0.01;

/// The posterior covariance C of the poses beyond training, for s = 1.
#[derive(Clone)]
pub struct Unknown {
    /// The motion's frames come first.
    frames: usize,
    poses: usize,
    pub mass: f64,
    /// The sum over frames of the prior variance, times the mass.
    pub prior: f64,
    covariance: Vec<f32>,
}

impl Unknown {
    /// Conditions the prior of `place` on the poses `shown` of the first `trained` ones of `kernels`. The next `frames` poses are the
    /// motion.
    pub fn new(place: &Place, kernels: &Kernels, trained: usize, shown: &[usize], frames: usize) -> Self {
        let k = |s: usize, t: usize| place.joints.iter().map(|&(j, b)| b * kernels.at(j, s, t)).sum::<f64>();
        let (n, m) = (shown.len(), kernels.poses - trained);
        let own = Mat::from_fn(n, n, |s, t| if s >= t { k(shown[s], shown[t]) } else { 0.0 });
        let cross = Mat::from_fn(n, m, |s, f| k(shown[s], trained + f));
        let prior = Mat::from_fn(m, m, |e, f| if e >= f { k(trained + e, trained + f) } else { 0.0 });
        // Gaussians and noise sum to a positive definite matrix. If rounding spoils it, nothing counts as known here.
        let explained = Interpolation::new(own.as_ref(), &vec![NOISE; n])
            .map_or_else(|_| Mat::zeros(m, m), |solved| cross.transpose() * solved.weights(cross.as_ref()));
        let entry = |at: usize| {
            let (e, f) = ((at / m).max(at % m), (at / m).min(at % m));
            (prior[(e, f)] - explained[(e, f)]) as f32
        };
        Self {
            frames,
            poses: m,
            mass: place.mass,
            prior: place.mass * (0..frames).map(|f| prior[(f, f)]).sum::<f64>(),
            covariance: (0..m * m).map(entry).collect(),
        }
    }

    fn row(&self, f: usize) -> &[f32] {
        &self.covariance[f * self.poses..][..self.poses]
    }

    /// Returns C(f, f), or zero where rounding takes it below.
    pub fn variance(&self, f: usize) -> f64 {
        f64::from(self.row(f)[f]).max(0.0)
    }

    /// Returns the variance that is left over the motion, times the mass.
    pub fn total(&self) -> f64 {
        self.mass * (0..self.frames).map(|f| self.variance(f)).sum::<f64>()
    }

    /// Returns what each pose would take from the total.
    pub fn gains(&self) -> Vec<f64> {
        let squares = |c: usize| self.row(c)[..self.frames].iter().map(|&c| f64::from(c).powi(2)).sum::<f64>();
        (0..self.poses).map(|c| self.mass * squares(c) / (self.variance(c) + NOISE)).collect()
    }

    /// Conditions on one more pose.
    pub fn learn(&mut self, f: usize) {
        let (row, scale) = (self.row(f).to_vec(), 1.0 / (self.variance(f) + NOISE));
        for (line, &a) in self.covariance.chunks_mut(self.poses).zip(&row) {
            let a = f64::from(a) * scale;
            line.iter_mut().zip(&row).for_each(|(c, &b)| *c = (f64::from(*c) - a * f64::from(b)) as f32);
        }
    }
}
