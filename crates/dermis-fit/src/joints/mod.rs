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
//! **The ridge is chosen on 500 vertices**, spread evenly over the mesh and each evaluated exactly. The sweep over the grid is
//! the most expensive part of a fit, and it chooses one number for the whole model.
//!
//! **Local sculpts** say how the skin is where somebody touched it (`mask`). Rows of other vertices weigh c₀, a vertex
//! that nobody touched keeps its base, and the sculpts choose λ and β by a rule of their own (`local`).
//!
//! **Bounds.** A ridge in joint angle bounds the model: |U z| ≤ |z| |Y| / (2√λ) with |z|² ≤ Σ_e a_ve σ². The joint limits, the
//! limit of the shared part and the ball bound it outside the training poses.

mod blocks;
pub mod composite;
mod inducing;
mod lanes;
mod local;
mod normal;
mod rows;
mod scene;
mod settings;
mod solve;
mod tree;
mod whole;

pub use crate::mask::UNTOUCHED;
pub(crate) use blocks::{BlockFit, Held};
pub use blocks::{JointForm, SolvedVertex};
pub use inducing::{joint_centre, pivots};
pub use local::sculpts_tell;
pub use settings::{
    CompositeSummary, JOINT_TOLERANCE, JointFit, JointReport, JointSettings, JointSummary, MIRROR_CORRELATION, Prior,
    SIGMA, SWEEP_VERTICES,
};
pub use tree::JointTree;

use crate::mask::Masks;
use crate::training::{FitError, Progress, Ticker, Training};
use blocks::Dealt;
use dermis_deform::joints::JointPose;
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
    let included = training.grouped();
    let training = &training.with(&included);
    let vertices = training.rest.len();
    let stride = stride(training, settings);
    let sweeps = if settings.lambda.is_some() { 0 } else { forms(settings).len() };
    let ticker = Ticker::new((vertices + sweeps * vertices.div_ceil(stride)) as u64, progress);
    let dealt = Dealt::of(training, settings);
    let (looked_at, of_choice) = dealt.or(training, settings);
    let form = Form::choose(&looked_at, weights, of_choice, &ticker)?;
    let settings = &JointSettings { beta: form.beta, ..settings.clone() };
    let scene = form.scene(training, weights, settings)?;
    let groups = scene.groups();
    let solved = scene.solve(&groups, form.choice.lambda, stride, &ticker)?;
    let residuals = scene.touched_residuals();
    scene.assemble(&groups, solved, &residuals, form)
}

/// Returns the stride at which vertices take part in a choice, by the number of those that an example touched.
pub(crate) fn stride(training: &Training<'_>, settings: &JointSettings) -> usize {
    let vertices = Masks::of(training).map_or(training.rest.len(), |masks| masks.vertices());
    settings.stride(vertices, training.examples.len())
}

/// λ, β and whether mirrored examples take part, and how they were chosen.
struct Form {
    choice: Choice,
    mirrored: bool,
    beta: f64,
    prior: Option<Prior>,
    left_out_share: Option<f64>,
    /// The sweep of the alternative.
    other_sweep: Vec<(f64, f64)>,
}

impl Form {
    /// Chooses by the error on poses left out; where local sculpts predict each other too little, by what they ask for.
    fn choose(
        training: &Training<'_>,
        weights: &Influences,
        settings: &JointSettings,
        ticker: &Ticker<'_>,
    ) -> Result<Self, FitError> {
        match settings.lambda.is_none() && Masks::of(training).is_some() {
            true => local::choose(training, weights, settings, ticker),
            false => Self::by_left_out(training, weights, settings, ticker),
        }
    }

    /// Chooses by the error on poses left out.
    fn by_left_out(
        training: &Training<'_>,
        weights: &Influences,
        settings: &JointSettings,
        ticker: &Ticker<'_>,
    ) -> Result<Self, FitError> {
        let stride = stride(training, settings);
        let mut chosen: Option<Self> = None;
        for mirror in forms(settings) {
            let scene = Scene::new(training, weights, settings, mirror)?;
            let choice = match settings.lambda {
                Some(lambda) => Choice { lambda, error: 0.0, sweep: vec![], vertices: 0 },
                None => scene.choose(&scene.groups(), stride, ticker)?,
            };
            let form = Self {
                choice,
                mirrored: mirror.is_some(),
                beta: settings.beta,
                prior: None,
                left_out_share: None,
                other_sweep: vec![],
            };
            chosen = Some(match chosen {
                Some(best) if form.choice.error >= (1.0 - LEAST_GAIN) * best.choice.error => {
                    Self { other_sweep: form.choice.sweep, ..best }
                }
                Some(best) => Self { other_sweep: best.choice.sweep, ..form },
                None => form,
            });
        }
        chosen.ok_or(FitError::NoExamples)
    }

    /// The training as the fit sees it.
    fn scene<'a>(
        &self,
        training: &'a Training<'a>,
        weights: &Influences,
        settings: &'a JointSettings,
    ) -> Result<Scene<'a>, FitError> {
        Scene::new(training, weights, settings, settings.mirror.as_ref().filter(|_| self.mirrored))
    }
}

/// The error on poses left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Validation {
    /// Rms over vertices and poses, metres. It sees a base that tears one vertex in a hundred.
    pub rms: f64,
    /// The mean over vertices of each one's rms, metres. Few vertices do not decide it.
    pub mean: f64,
}

/// Returns the errors on the poses left out, each at the λ that is best for it and without solving for a model: bases are compared by the
/// rms, composite joints by the mean.
///
/// The base is read at `settings.sweep_vertices` vertices at most, evenly spread, and at their mirror images. Of local sculpts what
/// they touched counts.
///
/// # Errors
/// As [`fit_joints`].
pub fn joint_validation(
    training: &Training<'_>,
    weights: &Influences,
    settings: &JointSettings,
    progress: Progress<'_>,
) -> Result<Validation, FitError> {
    check(training, weights, settings)?;
    let included = training.grouped();
    let training = &training.with(&included);
    let settings = &JointSettings { untouched: 0.0, ..settings.clone() };
    let dealt = Dealt::of(training, settings);
    let (training, settings) = dealt.or(training, settings);
    let training = &training;
    let stride = stride(training, settings);
    let mut least = Validation { rms: f64::INFINITY, mean: f64::INFINITY };
    for form in forms(settings) {
        let scene = Scene::new(training, weights, settings, form)?;
        let ticker = Ticker::new(training.rest.len() as u64, progress);
        let found = scene.validated(&scene.groups(), stride, &ticker)?;
        least = Validation { rms: least.rms.min(found.rms), mean: least.mean.min(found.mean) };
    }
    Ok(least)
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
    let included = training.grouped();
    let training = &training.with(&included);
    let settings = &JointSettings {
        composites: fitted.eta,
        products: fitted.products_eta,
        swing_twist: fitted.swing_twist,
        beta: fitted.beta,
        arc_cosine: fitted.kernel.arc_cosine,
        gravity: fitted.gravity.as_ref().map(|gravity| gravity.down),
        ..settings.clone()
    };
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

fn check(training: &Training<'_>, weights: &Influences, settings: &JointSettings) -> Result<(), FitError> {
    training.check_residuals()?;
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
