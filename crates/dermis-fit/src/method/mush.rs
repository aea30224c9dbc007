//! Direct delta mush as a base: how many smoothing steps the examples ask for, and whether they ask for it at all.

use super::base::BaseChoice;
use super::learnt::SolvedBy;
use super::{FitInput, FitReport, Learnt, MethodError, MethodReport};
use crate::joints::{JointSettings, joint_validation};
use crate::training::{BasePoses, Progress};
use dermis_deform::delta_mush::Smoothing;
use dermis_deform::{DirectDeltaMush, lbs};
use dermis_rig::{BoneTransforms, Example, Influences};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Direct delta mush of the rig's own weights, without a correction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct DeltaMushMethod {
    /// Smoothing steps; `None` takes those of least training error.
    pub steps: Option<u32>,
}

impl DeltaMushMethod {
    pub(super) fn base(self) -> BaseChoice {
        BaseChoice::DirectDeltaMush(self.steps)
    }

    pub(super) fn fit(self, input: &FitInput<'_>) -> Result<Learnt, MethodError> {
        let steps = match self.steps {
            Some(steps) => steps,
            None => best_steps(input)?,
        };
        let mut report = FitReport::new("ddm", MethodReport::Nothing {});
        let chosen = if self.steps.is_none() { " (of least training error)" } else { "" };
        report.settings.push(("smoothing steps".into(), format!("{steps}{chosen}")));
        let base = BaseChoice::DirectDeltaMush(Some(steps)).of(input)?;
        Learnt::new(base, None, input, report, SolvedBy::Other)
    }
}

/// Numbers of smoothing steps that are tried.
const STEPS: [u32; 9] = [1, 2, 3, 5, 8, 12, 20, 30, 50];
/// Examples, evenly spread, whose error chooses among them.
const MOST_EXAMPLES: usize = 24;
/// Vertices, evenly spread, that choose the base: 500 and the partners of those.
const MOST_VERTICES: usize = 500;
/// Another base than linear blending is taken if it lowers the cross-validated error by this share.
const LEAST_GAIN: f64 = 0.01;

/// The bases of a choice, each with the cross-validated error that the joint model over it leaves, the mean over vertices of their
/// rms in metres; the first is the one taken.
pub(super) type Choice = Vec<(BaseChoice, f64)>;

/// The stride by which vertices are looked at: the whole mesh over the most that are.
fn stride(input: &FitInput<'_>) -> usize {
    input.rig.mesh().positions.len().div_ceil(MOST_VERTICES).max(1)
}

/// The number of steps whose bare base has the least training error.
pub(super) fn best_steps(input: &FitInput<'_>) -> Result<u32, MethodError> {
    let stride = stride(input);
    let candidates = candidates(input, &|v| v.is_multiple_of(stride))?;
    Ok(STEPS[best_of(&candidates, input, stride)?])
}

fn candidates(input: &FitInput<'_>, of: &(dyn Fn(usize) -> bool + Sync)) -> Result<Vec<DirectDeltaMush>, MethodError> {
    let smoothing = Smoothing { steps: &STEPS, of, ..Smoothing::default() };
    Ok(DirectDeltaMush::of_smoothing(input.rig.mesh(), input.weights()?, &smoothing))
}

/// Which of [`STEPS`] has the least training error over every `stride`-th vertex.
fn best_of(candidates: &[DirectDeltaMush], input: &FitInput<'_>, stride: usize) -> Result<usize, MethodError> {
    let rest = &input.rig.mesh().positions;
    let counted: Vec<&Example> = input.examples.examples().iter().filter(|e| e.importance > 0.0).collect();
    if counted.is_empty() {
        return Err(MethodError::InputLacks { what: "examples that choose the smoothing steps of the base" });
    }
    let step = counted.len().div_ceil(MOST_EXAMPLES);
    let squares = |mush: &DirectDeltaMush| -> f64 {
        let vertices = || (0..rest.len()).step_by(stride);
        let of_example = |example: &&Example| -> f64 {
            let off = |v: usize| mush.at(v, rest[v], &example.transforms).distance_squared(example.positions[v]);
            vertices().map(off).sum()
        };
        counted.iter().step_by(step).map(of_example).sum()
    };
    let errors: Vec<f64> = candidates.par_iter().map(squares).collect();
    Ok((0..errors.len()).fold(0, |best, at| if errors[at] < errors[best] { at } else { best }))
}

/// Chooses between linear blending, direct delta mush with the steps of least training error, and with the next smaller number, by
/// the error that the joint model leaves on examples left out. Bare errors alone choose wrongly: a simulation may ask for more steps
/// than serve a correction.
pub(super) fn choose(
    input: &FitInput<'_>,
    weights: &Influences,
    settings: &JointSettings,
    progress: Progress<'_>,
) -> Result<Choice, MethodError> {
    let stride = stride(input);
    let rest = &input.rig.mesh().positions;
    let mut looked_at: Vec<bool> = (0..rest.len()).map(|v| v.is_multiple_of(stride)).collect();
    if let Some(mirror) = &settings.mirror {
        for v in (0..rest.len()).step_by(stride) {
            mirror.vertices[v].iter().for_each(|&partner| looked_at[partner as usize] = true);
        }
    }
    let mushes = candidates(input, &|v| looked_at[v])?;
    let best = best_of(&mushes, input, stride)?;
    let mut settings = JointSettings { sweep_vertices: MOST_VERTICES, ..settings.clone() };
    if let Some(lambda) = settings.lambda.take() {
        settings.grid = vec![lambda];
    }
    // The bar stays where it is: this is before the fit.
    let still = |_: u64, _: u64| progress(0, 1);
    let validated = |base: BasePoses<'_>| joint_validation(&input.training(base), weights, &settings, &still);
    let blended = |pose: &BoneTransforms, v: usize| lbs::blend(weights.of(v), pose).transform_point3(rest[v]);
    let mut choice = vec![(BaseChoice::Lbs, validated(BasePoses::Computed(&blended))?)];
    for at in best.saturating_sub(1)..=best {
        let mushed = |pose: &BoneTransforms, v: usize| mushes[at].at(v, rest[v], pose);
        choice.push((BaseChoice::DirectDeltaMush(Some(STEPS[at])), validated(BasePoses::Computed(&mushed))?));
    }
    choice[1..].sort_by(|a, b| a.1.total_cmp(&b.1));
    if choice[1].1 <= (1.0 - LEAST_GAIN) * choice[0].1 {
        choice.swap(0, 1);
    }
    Ok(choice)
}
