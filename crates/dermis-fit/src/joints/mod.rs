//! The joint model, fitted: a correction driven by the rotations of joints. [`dermis_deform::joints`] defines the model.
//!
//! For every vertex v the fit regresses the residual X − base on free features √a_ve z_e of the joints near it and on shared
//! ones √β b_vk [ (R_k − F)/√2, (N_k p − B)/l ]. One ridge λ, in units of joint angle, serves the whole model. The fit takes the
//! largest λ of a grid whose error on poses left out is within a factor of the best. The metric is length in the posed
//! character.
//!
//! **Why it is the default.** On most sets of docs/accuracy.md the joint model has the least unseen error of all methods. It
//! is bounded, and its cost per frame does not grow with the examples. Its ridge is measured in joint angle,
//! never relative to the data.
//!
//! **Mirrored examples.** On a character with a left and a right, every pose comes with its mirror image, whose residual is
//! known from the other side. Left and right are two correlated tasks, not one: their coefficients correlate by c = 0.97. A
//! mirrored row reads c U + √(1 − c²) V, with V the other side's own part, which does not concern this side. The poses left
//! out, each with its mirror image, decide whether mirrored examples take part. If they cannot tell, because one side never
//! moved, the mirrored examples stay: nothing else is known of that side.
//!
//! **The ridge is chosen on 3000 vertices**, spread evenly over the mesh and each evaluated exactly. The sweep over the grid is
//! the most expensive part of a fit, and it chooses one number for the whole model.
//!
//! **Bounds.** A ridge in joint angle bounds the model: |U z| ≤ |z| |Y| / (2√λ) with |z|² ≤ Σ_e a_ve σ². The joint limits, the
//! limit of the shared part and the ball bound it outside the training poses.

mod inducing;
mod rows;
mod scene;
mod settings;
mod solve;
mod tree;
mod whole;

pub use inducing::{joint_centre, pivots};
pub use settings::{
    JOINT_TOLERANCE, JointFit, JointReport, JointSettings, JointSummary, MIRROR_CORRELATION, SIGMA, SWEEP_VERTICES,
};
pub use tree::JointTree;

use crate::training::{FitError, Progress, Ticker, Training};
use dermis_deform::joints::{CorrectionFrame, JointPose};
use dermis_rig::{BoneTransforms, Influences, Mirror, VertexIndex};
use rayon::prelude::*;
use scene::Scene;
use whole::Choice;

/// Fits the joint model to the residuals of a base. Its features are made of the skinning weights `weights`.
///
/// # Errors
/// [`FitError`]: counts that disagree, numbers that are not finite, singular anchors, settings out of range,
/// cancellation.
pub fn fit_joints(
    training: &Training<'_>,
    weights: &Influences,
    settings: &JointSettings,
    progress: Progress<'_>,
) -> Result<JointFit, FitError> {
    check(training, weights, settings)?;
    let included = training.included();
    let training = &training.with(&included);
    let vertices = training.rest.len();
    let stride = stride(training, settings);
    let sampled = vertices.div_ceil(stride);
    let forms = forms(settings);
    let sweeps = if settings.lambda.is_some() { 0 } else { forms.len() };
    let ticker = Ticker::new((vertices + sweeps * sampled) as u64, progress);
    let mut chosen: Option<(Scene<'_>, Choice)> = None;
    let mut other_sweep = vec![];
    for form in forms {
        let scene = Scene::new(training, weights, settings, form)?;
        let choice = match settings.lambda {
            Some(lambda) => Choice { lambda, error: 0.0, typical: 0.0, sweep: vec![], vertices: 0 },
            None => scene.choose(&scene.groups(), stride, &ticker)?,
        };
        match &mut chosen {
            Some((_, best)) if choice.error >= (1.0 - LEAST_GAIN) * best.error => other_sweep = choice.sweep,
            Some(best) => other_sweep = std::mem::replace(best, (scene, choice)).1.sweep,
            None => chosen = Some((scene, choice)),
        }
    }
    let Some((scene, choice)) = chosen else { return Err(FitError::NoExamples) };
    let groups = scene.groups();
    let solved = scene.solve(&groups, choice.lambda, &ticker)?;
    Ok(scene.assemble(&groups, solved, choice, other_sweep))
}

/// Returns the mean over vertices of the error that each keeps on the poses left out, rms in metres, at the best λ and without
/// solving for a model: what bases are compared by.
///
/// It is a mean, where the choice of λ goes by the root of the mean square: few vertices, such as those that a corrective smoothing
/// tears at a seam, must not decide for all.
///
/// The base is read at `settings.sweep_vertices` vertices at most, evenly spread, and at their partners.
///
/// # Errors
/// As [`fit_joints`].
pub fn joint_validation(
    training: &Training<'_>,
    weights: &Influences,
    settings: &JointSettings,
    progress: Progress<'_>,
) -> Result<f64, FitError> {
    check(training, weights, settings)?;
    let included = training.included();
    let training = &training.with(&included);
    let stride = stride(training, settings);
    let mut least = f64::INFINITY;
    for form in forms(settings) {
        let scene = Scene::new(training, weights, settings, form)?;
        let ticker = Ticker::new(training.rest.len() as u64, progress);
        least = least.min(scene.choose(&scene.groups(), stride, &ticker)?.typical);
    }
    Ok(least)
}

/// Every `stride`-th vertex takes part in the choice of λ.
fn stride(training: &Training<'_>, settings: &JointSettings) -> usize {
    let most = settings.sweep_vertices.max(1);
    let most = if settings.frame == CorrectionFrame::Rest { most.min(MOST_DIRECT) } else { most };
    training.rest.len().div_ceil(most).max(1)
}

/// With mirrored examples, if there are, and without; only with them where λ is fixed.
fn forms(settings: &JointSettings) -> Vec<Option<&Mirror>> {
    match (&settings.mirror, settings.lambda) {
        (Some(mirror), Some(_)) => vec![Some(mirror)],
        (Some(mirror), None) => vec![Some(mirror), None],
        (None, _) => vec![None],
    }
}

/// Returns the leverage of unseen poses, one number per probe: the factor by which the fit multiplies the noise of its
/// training there.
///
/// Each is the largest over at most `most` vertices, evenly spread. Joint limits are applied.
///
/// # Errors
/// As [`fit_joints`].
pub fn joint_leverages(
    training: &Training<'_>,
    weights: &Influences,
    settings: &JointSettings,
    fitted: &JointReport,
    probes: &[&BoneTransforms],
    most: usize,
) -> Result<Vec<f64>, FitError> {
    check(training, weights, settings)?;
    let included = training.included();
    let training = &training.with(&included);
    let scene = Scene::new(training, weights, settings, settings.mirror.as_ref().filter(|_| fitted.mirrored))?;
    let poses: Vec<JointPose> = probes.iter().map(|pose| scene.pose(pose)).collect();
    let groups = scene.groups();
    let stride = training.rest.len().div_ceil(most.max(1)).max(1);
    let chunks = scene.chunks(&groups, stride);
    let parts = chunks
        .par_iter()
        .map(|(group, vertices)| {
            let mut largest = vec![0.0f64; probes.len()];
            for &v in vertices {
                let at = |source| FitError::Solve { vertex: VertexIndex::new(v), source };
                let (problem, norm) = scene.direct(group, v);
                let rows = scene.direct_features(group, v, &poses, norm, 0);
                let of_probes = problem.leverages(fitted.lambda, &rows).map_err(at)?;
                largest.iter_mut().zip(of_probes).for_each(|(most, h)| *most = most.max(h));
            }
            Ok(largest)
        })
        .collect::<Result<Vec<_>, FitError>>()?;
    let largest = |at: usize| parts.iter().map(|part| part[at]).fold(0.0, f64::max);
    Ok((0..probes.len()).map(largest).collect())
}

/// Mirrored examples are given up where that lowers the error on the poses left out by more than this share. The share lies
/// between 1e-9 (all examples move one side alone) and a quarter (right does the opposite of left).
const LEAST_GAIN: f64 = 1e-3;
/// Vertices that the choice of λ looks at in the rest frame. Its axes do not separate, so the sweep costs some hundred times
/// more.
const MOST_DIRECT: usize = 500;

fn check(training: &Training<'_>, weights: &Influences, settings: &JointSettings) -> Result<(), FitError> {
    training.check()?;
    training.check_base()?;
    settings.check()?;
    let counts = |what, found, expected| match found == expected {
        true => Ok(()),
        false => Err(FitError::Counts { what, found, expected }),
    };
    counts("vertices of the weights", weights.vertices(), training.rest.len())?;
    let (named, bones) = (weights.bones_named(), training.skeleton.len());
    counts("bones of the weights", named.max(bones), bones)
}
