//! Direct delta mush and corrective smoothing as bases: how many smoothing steps the examples ask for, and whether they ask for them at
//! all.

use super::base::{BaseChoice, SmoothingSteps};
use super::learnt::SolvedBy;
use super::settings::{Row, Setting, number, some};
use super::{FitInput, FitReport, Learnt, MethodError, MethodReport};
use crate::joints::{Held, JointSettings, Validation, joint_validation, stride as stride_of};
use crate::mask::touched;
use crate::training::{BasePoses, Progress, Training};
use dermis_deform::corrective_smooth::LEAST_WEIGHT;
use dermis_deform::smoothing::{MOST_STEPS, Smoothing};
use dermis_deform::{CorrectiveSmooth, DirectDeltaMush, lbs};
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
/// Factors of corrective smoothing that are tried: what modelling programs start from, and the mean itself.
const FACTORS: [f64; 2] = [0.5, 1.0];
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
    ) -> Result<Validation, MethodError> {
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

/// The number of steps of direct delta mush whose bare base has the least training error.
pub(super) fn best_steps(seen: &Seen<'_>) -> Result<u32, MethodError> {
    let stride = stride(seen.mesh);
    let mushes = mushes(seen, &|v| v.is_multiple_of(stride));
    Ok(STEPS[least(errors_of(&mushes, DirectDeltaMush::at, seen, stride)?.into_iter())])
}

/// The base with its smoothing stated: what has the least training error, if it is not.
pub(super) fn stated(base: BaseChoice, seen: &Seen<'_>) -> Result<BaseChoice, MethodError> {
    Ok(match base {
        BaseChoice::DirectDeltaMush(None) => BaseChoice::DirectDeltaMush(Some(best_steps(seen)?)),
        BaseChoice::Smooth(None) => BaseChoice::Smooth(Some(best_smooth(seen, stride(seen.mesh))?.0)),
        stated => stated,
    })
}

fn mushes(seen: &Seen<'_>, of: &(dyn Fn(usize) -> bool + Sync)) -> Vec<DirectDeltaMush> {
    let smoothing = Smoothing { steps: &STEPS, of, ..Smoothing::default() };
    DirectDeltaMush::of_smoothing(seen.mesh, seen.weights, &smoothing)
}

/// Corrective smoothing of least training error, of every `stride`-th vertex, and whether it explains the examples. Where it does, the rig ends with a
/// modifier, whose steps may lie between those that are tried first.
fn best_smooth(seen: &Seen<'_>, stride: usize) -> Result<(SmoothingSteps, CorrectiveSmooth, bool), MethodError> {
    let of = |v: usize| v.is_multiple_of(stride);
    let blended =
        |_: &(), v: usize, p: DVec3, pose: &BoneTransforms| lbs::blend(seen.weights.of(v), pose).transform_point3(p);
    let explained = EXPLAINED * EXPLAINED * errors_of(&[()], blended, seen, stride)?[0];
    let mut best: Option<(f64, SmoothingSteps, CorrectiveSmooth)> = None;
    // Of every factor, steps with the error they leave, ascending, and those to try next.
    let mut searches = FACTORS.map(|factor| (factor, Vec::new(), STEPS.to_vec()));
    while searches.iter().any(|(.., next)| !next.is_empty()) {
        for (factor, known, next) in &mut searches {
            let smoothing = Smoothing { steps: next, factor: *factor, of: &of, least_weight: LEAST_WEIGHT };
            let smooths = CorrectiveSmooth::of_smoothing(seen.mesh, seen.weights, &smoothing);
            let errors = errors_of(&smooths, CorrectiveSmooth::at, seen, stride)?;
            for ((&steps, &error), smooth) in next.iter().zip(&errors).zip(smooths) {
                if best.as_ref().is_none_or(|(least, ..)| error < *least) {
                    best = Some((error, SmoothingSteps { steps, factor: *factor }, smooth));
                }
            }
            known.extend(next.drain(..).zip(errors));
            known.sort_by_key(|(steps, _)| *steps);
        }
        if best.as_ref().is_some_and(|(least, ..)| *least < explained) {
            searches.iter_mut().for_each(|(_, known, next)| *next = around_least(known));
        }
    }
    let none = MethodError::InputLacks { what: "examples that choose the smoothing steps of the base" };
    best.map(|(least, steps, smooth)| (steps, smooth, least < explained)).ok_or(none)
}

/// Smoothing explains the examples if it leaves less than this share of the error of linear blending: 0.03 where a rig ends with the
/// modifier and its steps are not among those tried, 0.8 on simulations.
const EXPLAINED: f64 = 0.25;
/// The most smoothing steps that are tried without being asked for.
const MOST_TRIED: u32 = 100;
/// At most so many numbers of steps between two that are known are tried at once.
const BETWEEN: usize = 8;

/// Numbers of steps to try next to those of least error, evenly spread; none if all are known.
fn around_least(known: &[(u32, f64)]) -> Vec<u32> {
    let at = least(known.iter().map(|(_, error)| *error));
    let low = if at == 0 { 0 } else { known[at - 1].0 };
    let high = known.get(at + 1).map_or(MOST_TRIED + 1, |(steps, _)| *steps);
    let open: Vec<u32> = (low + 1..high).filter(|steps| *steps != known[at].0).collect();
    let count = open.len().min(BETWEEN);
    (0..count).map(|i| open[(2 * i + 1) * open.len() / (2 * count)]).collect()
}

/// The first of the least.
fn least(errors: impl Iterator<Item = f64>) -> usize {
    errors.enumerate().fold((0, f64::INFINITY), |best, (at, error)| if error < best.1 { (at, error) } else { best }).0
}

/// The training error of some bases over every `stride`-th vertex, sums of squares.
fn errors_of<B: Sync>(
    candidates: &[B],
    at: impl Fn(&B, usize, DVec3, &BoneTransforms) -> DVec3 + Sync,
    seen: &Seen<'_>,
    stride: usize,
) -> Result<Vec<f64>, MethodError> {
    let rest = &seen.mesh.positions;
    let counted = seen.counted();
    if counted.is_empty() {
        return Err(MethodError::InputLacks { what: "examples that choose the smoothing steps of the base" });
    }
    let step = counted.len().div_ceil(MOST_EXAMPLES);
    let squares = |base: &B| -> f64 {
        let of_example = |&s: &usize| -> f64 {
            let pose = &seen.training.examples[s].transforms;
            let of_example = seen.training.examples[s].local.is_some().then(|| touched(&seen.training, s));
            let counts = |v: &usize| of_example.as_ref().is_none_or(|touched| touched[*v]);
            let off = |v: usize| at(base, v, rest[v], pose).distance_squared(seen.skin(s, v));
            (0..rest.len()).step_by(stride).filter(counts).map(off).sum()
        };
        counted.iter().step_by(step).map(of_example).sum()
    };
    Ok(candidates.par_iter().map(squares).collect())
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

/// Chooses between linear blending, and direct delta mush and corrective smoothing with the steps of least training error and with the
/// next smaller number, by the rms that the joint model leaves on examples left out. Of the two numbers of steps the larger must lower the
/// mean over vertices, too, unless it explains the examples: it may serve a few that move far, and most others not.
/// Bare errors alone choose wrongly: a simulation may ask for more steps than serve a correction.
///
/// Returns them with the error that the base taken leaves.
pub(super) fn choose(
    seen: &Seen<'_>,
    settings: &JointSettings,
    progress: Progress<'_>,
) -> Result<(Choice, Validation), MethodError> {
    let settings = for_choice(settings);
    let rest = &seen.mesh.positions;
    let included = seen.training.included();
    let stride = stride_of(&seen.training.with(&included), &settings);
    let mushes = mushes(seen, &|v| v.is_multiple_of(stride));
    let best = least(errors_of(&mushes, DirectDeltaMush::at, seen, stride)?.into_iter());
    let (steps, smooth, explains) = best_smooth(seen, stride)?;
    // The bar stays where it is: this is before the fit.
    let still = |_: u64, _: u64| progress(0, 1);
    let blended = |pose: &BoneTransforms, v: usize| lbs::blend(seen.weights.of(v), pose).transform_point3(rest[v]);
    let blending = (BaseChoice::Lbs, seen.validated(&blended, &settings, &still)?);
    let mut of_mush = vec![];
    for at in best.saturating_sub(1)..=best {
        let mushed = |pose: &BoneTransforms, v: usize| mushes[at].at(v, rest[v], pose);
        of_mush.push((BaseChoice::DirectDeltaMush(Some(STEPS[at])), seen.validated(&mushed, &settings, &still)?));
    }
    let mut smooths = vec![(steps, smooth)];
    if let Some(&fewer) = STEPS.iter().rev().find(|fewer| **fewer < steps.steps) {
        let of = |v: usize| v.is_multiple_of(stride);
        let smoothing = Smoothing { steps: &[fewer], factor: steps.factor, of: &of, least_weight: LEAST_WEIGHT };
        let made = CorrectiveSmooth::of_smoothing(seen.mesh, seen.weights, &smoothing);
        smooths.splice(0..0, made.into_iter().map(|smooth| (SmoothingSteps { steps: fewer, ..steps }, smooth)));
    }
    let mut of_smooth = vec![];
    for (steps, smooth) in &smooths {
        let smoothed = |pose: &BoneTransforms, v: usize| smooth.at(v, rest[v], pose);
        of_smooth.push((BaseChoice::Smooth(Some(*steps)), seen.validated(&smoothed, &settings, &still)?));
    }
    // The base taken, then the others.
    let mut choice: Vec<(BaseChoice, Validation)> = vec![blending];
    let mut others = vec![];
    for (family, explains) in [(of_mush, false), (of_smooth, explains)] {
        let (fewer, more) = (family[0], *family.last().unwrap_or(&family[0]));
        let serves_most = explains || more.1.mean <= fewer.1.mean;
        let taken = if more.1.rms <= fewer.1.rms && serves_most { more } else { fewer };
        others.extend(family.into_iter().filter(|(base, _)| *base != taken.0));
        choice.push(taken);
    }
    choice[1..].sort_by(|a, b| a.1.rms.total_cmp(&b.1.rms));
    if choice[1].1.rms <= (1.0 - LEAST_GAIN) * choice[0].1.rms {
        choice.swap(0, 1);
    }
    choice.extend(others);
    let taken = choice[0].1;
    Ok((choice.into_iter().map(|(base, error)| (base, error.rms)).collect(), taken))
}
