//! Joint coordinates for a model that has none of its own.
//!
//! Enveloping, a pose space that is no shape before skinning, a smoothing base and several corrections one after another follow their
//! poses in ways that no morph target knows. Their skin in the samples is therefore given to the fit of the
//! [joint model](dermis_fit::joints), over the linear blend that the engine computes. Its coordinates drive the shapes, its coefficients are
//! where the regression starts, and its λ, chosen on samples left out, is the ridge of the regression.
//!
//! It is fitted in the rest frame, without the shared part and the ball: morph targets have neither. Its sides are not mirrored, because the
//! model itself says what both do.

use crate::CompileError;
use crate::samples::Samples;
use dermis_deform::baked::{BakedCorrection, BakedJoints};
use dermis_deform::joints::CorrectionFrame;
use dermis_deform::{Base, Deformer, RiggedDeformer, blend};
use dermis_fit::joints::{JointSettings, fit_joints};
use dermis_fit::{BasePoses, Training};
use dermis_measure::WideRunner;
use dermis_rig::progress::proceed;
use dermis_rig::{BoneTransforms, Example, Influences, Progress};

/// The joints of a joint model fitted to the skin of `model` in the samples, and its ridge λ.
pub(super) fn fitted_joints(
    model: &RiggedDeformer,
    weights: &Influences,
    samples: &Samples,
    progress: Progress<'_>,
) -> Result<(Box<BakedJoints>, f64), CompileError> {
    let (rig, smooth) = (model.rig(), model.baked().clone().without_remembered());
    let rest = &rig.mesh().positions;
    let mut runner = WideRunner::new(&smooth);
    let mut examples = Vec::with_capacity(samples.poses.len());
    for (s, pose) in samples.poses.iter().enumerate() {
        proceed(progress, s, samples.poses.len())?;
        examples.push(Example {
            label: format!("sample {s}"),
            time: None,
            transforms: pose.clone(),
            positions: runner.run(pose, None)?.to_vec(),
            importance: 1.0,
            local: None,
        });
    }
    let blended = |pose: &BoneTransforms, v: usize| blend(weights.of(v), pose).transform_point3(rest[v]);
    let training = Training {
        skeleton: rig.skeleton(),
        rest,
        length: rig.mesh().extent(),
        examples: &examples,
        base: BasePoses::Computed(&blended),
    };
    let settings =
        JointSettings { frame: CorrectionFrame::Rest, shared: false, ball: false, ..JointSettings::new(false) };
    let fit = fit_joints(&training, weights, &settings, progress)?;
    let lambda = fit.report.lambda;
    let baked = Deformer::new(rest.clone(), Base::Lbs(weights.clone()), Some(fit.correction.into()))?.into_baked();
    match baked.corrections() {
        [BakedCorrection::Joints(joints)] => Ok((joints.clone(), lambda)),
        _ => Err(CompileError::NoCorrection),
    }
}
