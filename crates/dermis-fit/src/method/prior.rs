//! A prior: what another character has learnt, where a few examples say little.
//!
//! With b the base of the prior and c what it has learnt, both already on the rig that is fitted, the joint model is fitted over
//!
//! ```text
//! b + g c,        g the factor that fits the examples best (`gain`)
//! ```
//!
//! so that the ridge draws the skin towards the prior, vertex by vertex and joint by joint, and the less so the more examples say there:
//! the coefficients of the prior are the mean of the ridge. Limits of joints and balls of the prior hold it to what its own character
//! was shown.
//!
//! **Whether to have it** is asked of poses that are left out in five folds, clips in blocks: of each, the whole fit with a prior and the
//! whole fit without one are held against what they did not see. The prior is taken if it leaves at most four fifths of what the fit
//! without it leaves; else that fit is the result, unchanged to the bit. Of local sculpts, the vertices that were touched count.
//!
//! The errors by which λ was chosen do not serve here: they leave single poses out of regressions whose base and forms saw all of them,
//! and prefer a prior where whole fits do not. The margin is wide because poses left out resemble those that are kept, and say little of
//! motion far from both: on the sculpted human of docs/accuracy.md a gain of less than an eighth did not last on a walk. A character that
//! resembles the prior's gains a third and more.

use super::base::BaseChoice;
use super::learnt::{FitInput, Learnt};
use super::{JointMethod, Method, MethodError, folds};
use crate::gain::gain_on;
use crate::mask::{over_own_skin, touched};
use crate::training::{BasePoses, Progress};
use dermis_deform::{Deformer, RiggedDeformer};
use dermis_rig::ExampleSet;
use serde::Serialize;

/// A prior is taken if it lowers the error left out by this share.
const LEAST_GAIN: f64 = 0.2;
/// Folds of the examples by which that is told.
const FOLDS: usize = 5;

/// What became of a prior.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PriorFound {
    /// Whether the model is over it.
    pub taken: bool,
    /// g, the factor of its corrections.
    pub gain: f64,
    /// The error left out over the prior, rms in metres; absent where examples cannot tell.
    pub with: Option<f64>,
    /// The error left out without it, rms in metres.
    pub without: Option<f64>,
}

impl PriorFound {
    /// In words.
    pub(super) fn words(&self) -> String {
        let by = match (self.with, self.without) {
            (Some(with), Some(without)) => {
                format!("{:.2} mm left out with it, {:.2} mm without", 1e3 * with, 1e3 * without)
            }
            _ if self.gain <= 0.0 => "the examples ask for none of it".into(),
            _ => "one pose cannot tell".into(),
        };
        match self.taken {
            true => format!("times {:.2} ({by})", self.gain),
            false => format!("not taken ({by})"),
        }
    }
}

impl JointMethod {
    /// Checks that a prior has an effect on the method.
    fn check_prior(&self) -> Result<(), MethodError> {
        let unused = |with| Err(MethodError::Unused { setting: "prior", with });
        match self.base {
            BaseChoice::Given | BaseChoice::Model => unused("over positions or a model from elsewhere"),
            _ if self.ridge.fixed().is_some() => unused("with a stated lambda: nothing chooses whether to have it"),
            _ => Ok(()),
        }
    }
}

/// A fit of the prior, and g.
type Over = Option<(Learnt, f64)>;

impl Method {
    /// Fits with and without a prior, and returns what leaves less of poses left out.
    pub(super) fn fit_with_prior(
        &self,
        input: &FitInput<'_>,
        prior: &RiggedDeformer,
        progress: Progress<'_>,
    ) -> Result<Learnt, MethodError> {
        let Self::Joint(own) = self else {
            return Err(MethodError::Unused { setting: "prior", with: "with another method than joint" });
        };
        own.check_prior()?;
        let plain = FitInput { prior: None, ..*input };
        FitInput { model: Some(prior), ..plain }.beneath()?;
        let why = "one of its corrections belongs to the vertices of its own character";
        let deformer = prior.baked().widened()?;
        deformer.with_gain(1.0).ok_or_else(|| MethodError::Beneath { why: why.into() })?;
        // An artist was shown the rig's own skin.
        let shown = over_own_skin(input.rig, input.examples);
        let examples = shown.as_ref().unwrap_or(input.examples);
        let folds = folds(examples, input.rig.mesh().extent(), FOLDS);
        let fits = 2 * (1 + folds.len()) as u64;
        let at =
            |fit: usize| move |done: u64, total: u64| progress(fit as u64 * total.max(1) + done, fits * total.max(1));
        let mut learnt = self.fit(&plain, &at(0))?;
        let over = own.over(&deformer, &FitInput { examples, ..plain }, &at(1))?;
        let gain = over.as_ref().map_or(0.0, |(_, gain)| *gain);
        let mut found = PriorFound { taken: false, gain, with: None, without: None };
        if let Some((over, _)) = over
            && !folds.is_empty()
        {
            let (mut with, mut without) = (Sum::default(), Sum::default());
            for (fold, out) in folds.iter().enumerate() {
                let kept: Vec<usize> = (0..examples.len()).filter(|s| !out.contains(s)).collect();
                let (train, out) = (examples.subset(&kept), examples.subset(out));
                let of_fold = FitInput { examples: &train, ..plain };
                let alone = self.fit(&of_fold, &at(2 + 2 * fold))?.deformer;
                without.add(&alone, input, &out)?;
                match own.over(&deformer, &of_fold, &at(3 + 2 * fold))? {
                    Some((over, _)) => with.add(&over.deformer, input, &out)?,
                    None => with.add(&alone, input, &out)?,
                }
            }
            (found.with, found.without) = (Some(with.rms()), Some(without.rms()));
            found.taken = with.rms() <= (1.0 - LEAST_GAIN) * without.rms();
            if found.taken {
                learnt = over;
                let base = learnt.report.settings.iter_mut().find(|(key, _)| key == "base");
                base.into_iter().for_each(|(_, value)| *value = "prior".into());
            }
        }
        learnt.report.settings.push(("prior".into(), found.words()));
        learnt.report.prior = Some(found);
        Ok(learnt)
    }
}

impl JointMethod {
    /// The fit over as much of a prior as suits the examples; `None` if they ask for none of it.
    fn over(&self, prior: &Deformer, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Over, MethodError> {
        let gain = gain_on(prior, input.rig, input.examples, None)?.map_or(0.0, |(gain, _)| gain);
        let Some(part) = prior.with_gain(gain).filter(|_| gain > 0.0) else { return Ok(None) };
        // Poses of another character are not known to this one.
        let model = RiggedDeformer::new(input.rig.clone(), None, part.bake(), None)?;
        let method = Method::Joint(Self { base: BaseChoice::Model, ..self.clone() });
        let over = method.fit(&FitInput { model: Some(&model), ..*input }, progress)?;
        Ok(Some((over, gain)))
    }
}

/// Squared distances from examples, where they say how the skin is.
#[derive(Default)]
struct Sum {
    squares: f64,
    points: usize,
}

impl Sum {
    fn add(&mut self, model: &Deformer, input: &FitInput<'_>, out: &ExampleSet) -> Result<(), MethodError> {
        let training = FitInput { examples: out, ..*input }.training(BasePoses::NONE);
        let baked = model.bake();
        let mut runner = baked.runner();
        for (s, example) in out.examples().iter().enumerate() {
            let counts = example.local.is_some().then(|| touched(&training, s));
            let skin = runner.skin(&example.transforms)?;
            for (v, (p, x)) in skin.iter().zip(&example.positions).enumerate() {
                if counts.as_ref().is_none_or(|counts| counts[v]) {
                    self.squares += p.as_dvec3().distance_squared(*x);
                    self.points += 1;
                }
            }
        }
        Ok(())
    }

    fn rms(&self) -> f64 {
        (self.squares / self.points.max(1) as f64).sqrt()
    }
}
