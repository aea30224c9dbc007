//! Direct delta mush as a base: how many smoothing steps the examples ask for, and whether they ask for it at all.

use super::base::BaseChoice;
use super::learnt::SolvedBy;
use super::settings::{Row, Setting, number, some};
use super::{FitInput, FitReport, Learnt, MethodError, MethodReport};
use crate::joints::{Held, JointSettings, joint_validation, stride as stride_of};
use crate::mask::touched;
use crate::training::{BasePoses, Progress, Training};
use dermis_deform::delta_mush::{MOST_STEPS, Smoothing};
use dermis_deform::{DirectDeltaMush, lbs};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Influences, Mesh};
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
    pub(super) fn rows() -> Vec<Row<Self>> {
        const STEPS: Setting =
            Setting::new("steps", "N", "those of least training error", "Smoothing steps of direct delta mush");
        vec![Row::new(STEPS.range(1.0, MOST_STEPS as f64), some(number), |own: &mut Self| &mut own.steps)]
    }

    pub(super) fn base(self) -> BaseChoice {
        BaseChoice::DirectDeltaMush(self.steps)
    }

    pub(super) fn fit(self, input: &FitInput<'_>) -> Result<Learnt, MethodError> {
        let steps = match self.steps {
            Some(steps) => steps,
            None => best_steps(&Seen::of(input)?)?,
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
/// Vertices, evenly spread, that choose the base.
const MOST_VERTICES: usize = 500;
/// Another base than linear blending is taken if it lowers the cross-validated error by this share.
const LEAST_GAIN: f64 = 0.01;

/// The bases of a choice, each with the cross-validated error that the joint model over it leaves, rms over vertices in metres; the
/// first is the one taken.
pub(super) type Choice = Vec<(BaseChoice, f64)>;

/// Examples as the choice of a base reads them: with all vertices, or with some.
pub(super) struct Seen<'a> {
    pub mesh: &'a Mesh,
    pub weights: &'a Influences,
    /// The examples, over no base. Their positions are not read if some vertices are held.
    pub training: Training<'a>,
    pub some: Option<&'a Held>,
}

impl<'a> Seen<'a> {
    pub(super) fn of(input: &FitInput<'a>) -> Result<Self, MethodError> {
        let training = input.training(BasePoses::NONE);
        Ok(Self { mesh: input.rig.mesh(), weights: input.weights()?, training, some: None })
    }

    fn skin(&self, example: usize, v: usize) -> DVec3 {
        self.some.map_or_else(|| self.training.examples[example].positions[v], |some| some.at(example, v))
    }

    /// The cross-validated error of the joint model over a base.
    fn validated(
        &self,
        base: &(dyn Fn(&BoneTransforms, usize) -> DVec3 + Sync),
        settings: &JointSettings,
        progress: Progress<'_>,
    ) -> Result<f64, MethodError> {
        let over = |base| Training { base, ..self.training };
        Ok(match self.some {
            None => joint_validation(&over(BasePoses::Computed(base)), self.weights, settings, progress)?,
            Some(some) => {
                let residuals = some.map(|s, v, skin| skin - base(&self.training.examples[s].transforms, v));
                joint_validation(&over(residuals.residuals()), self.weights, settings, progress)?
            }
        })
    }

    /// The examples that count.
    fn counted(&self) -> Vec<usize> {
        let examples = self.training.examples;
        (0..examples.len()).filter(|&s| examples[s].importance > 0.0).collect()
    }
}

/// The stride by which vertices are looked at: the whole mesh over the most that are.
pub(super) fn stride(mesh: &Mesh) -> usize {
    mesh.positions.len().div_ceil(MOST_VERTICES).max(1)
}

/// The number of steps whose bare base has the least training error.
pub(super) fn best_steps(seen: &Seen<'_>) -> Result<u32, MethodError> {
    let stride = stride(seen.mesh);
    let candidates = candidates(seen, &|v| v.is_multiple_of(stride));
    Ok(STEPS[best_of(&candidates, seen, stride)?])
}

fn candidates(seen: &Seen<'_>, of: &(dyn Fn(usize) -> bool + Sync)) -> Vec<DirectDeltaMush> {
    let smoothing = Smoothing { steps: &STEPS, of, ..Smoothing::default() };
    DirectDeltaMush::of_smoothing(seen.mesh, seen.weights, &smoothing)
}

/// Which of [`STEPS`] has the least training error over every `stride`-th vertex.
fn best_of(candidates: &[DirectDeltaMush], seen: &Seen<'_>, stride: usize) -> Result<usize, MethodError> {
    let rest = &seen.mesh.positions;
    let counted = seen.counted();
    if counted.is_empty() {
        return Err(MethodError::InputLacks { what: "examples that choose the smoothing steps of the base" });
    }
    let step = counted.len().div_ceil(MOST_EXAMPLES);
    let squares = |mush: &DirectDeltaMush| -> f64 {
        let of_example = |&s: &usize| -> f64 {
            let pose = &seen.training.examples[s].transforms;
            let of_example = seen.training.examples[s].local.is_some().then(|| touched(&seen.training, s));
            let counts = |v: &usize| of_example.as_ref().is_none_or(|touched| touched[*v]);
            let off = |v: usize| mush.at(v, rest[v], pose).distance_squared(seen.skin(s, v));
            (0..rest.len()).step_by(stride).filter(counts).map(off).sum()
        };
        counted.iter().step_by(step).map(of_example).sum()
    };
    let errors: Vec<f64> = candidates.par_iter().map(squares).collect();
    Ok((0..errors.len()).fold(0, |best, at| if errors[at] < errors[best] { at } else { best }))
}

/// The settings by which forms of the joint model are compared: few vertices, and the examples without their mirror images, which
/// cost several times as much.
pub(super) fn for_choice(settings: &JointSettings) -> JointSettings {
    let mut made = JointSettings { sweep_vertices: MOST_VERTICES, mirror: None, ..settings.clone() };
    if let Some(lambda) = made.lambda.take() {
        made.grid = vec![lambda];
    }
    made
}

/// Chooses between linear blending, direct delta mush with the steps of least training error, and with the next smaller number, by
/// the error that the joint model leaves on examples left out. Bare errors alone choose wrongly: a simulation may ask for more steps
/// than serve a correction.
pub(super) fn choose(seen: &Seen<'_>, settings: &JointSettings, progress: Progress<'_>) -> Result<Choice, MethodError> {
    let settings = for_choice(settings);
    let rest = &seen.mesh.positions;
    let included = seen.training.included();
    let stride = stride_of(&seen.training.with(&included), &settings);
    let mushes = candidates(seen, &|v| v.is_multiple_of(stride));
    let best = best_of(&mushes, seen, stride)?;
    // The bar stays where it is: this is before the fit.
    let still = |_: u64, _: u64| progress(0, 1);
    let blended = |pose: &BoneTransforms, v: usize| lbs::blend(seen.weights.of(v), pose).transform_point3(rest[v]);
    let mut choice = vec![(BaseChoice::Lbs, seen.validated(&blended, &settings, &still)?)];
    for at in best.saturating_sub(1)..=best {
        let mushed = |pose: &BoneTransforms, v: usize| mushes[at].at(v, rest[v], pose);
        choice.push((BaseChoice::DirectDeltaMush(Some(STEPS[at])), seen.validated(&mushed, &settings, &still)?));
    }
    choice[1..].sort_by(|a, b| a.1.total_cmp(&b.1));
    if choice[1].1 <= (1.0 - LEAST_GAIN) * choice[0].1 {
        choice.swap(0, 1);
    }
    Ok(choice)
}
