//! A model as displacements before linear blending: morph targets, or shape keys.

use crate::arrays::{Extent, Floats};
use crate::errors::error;
use crate::model::Model;
use crate::work::work;
use dermis::glam::DAffine3;
use dermis::internals::compile::CompileError;
use dermis::internals::compile::pose_space::{PoseSpaceSettings, drive_pose_space, refusal};
use dermis::internals::compile::principal::principal_shapes;
use dermis::internals::rig::{Frame, MorphTarget, Motion, WorldPose};
use dermis::internals::workflow::Error;
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use std::sync::Arc;

/// What came of it: names, displacements (S, V, 3), weights (N, S).
type Shapes<'py> = (Vec<String>, Bound<'py, PyArray3<f32>>, Bound<'py, PyArray2<f64>>);

/// The shapes of a model over poses (N, B, 4, 4), and the weight of each in every pose.
#[pyfunction]
#[pyo3(name = "_shapes", signature = (model, pose_matrices, most, progress))]
pub fn shapes<'py>(
    py: Python<'py>,
    model: &Model,
    pose_matrices: &Bound<'py, PyAny>,
    most: usize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Shapes<'py>> {
    let bones = model.rig.skeleton().len();
    let shape = [Extent::Any("N"), Extent::Is(bones), Extent::Is(4), Extent::Is(4)];
    let joints: Vec<DAffine3> = Floats::of("pose_matrices", pose_matrices, &[&shape])?.matrices("pose_matrices")?;
    if joints.is_empty() {
        return Err(error("pose_matrices holds no pose"));
    }
    let to_ours = |joint: &DAffine3| model.rig.space().joint_to_ours(*joint);
    let frame = |(at, joints): (usize, &[DAffine3])| Frame {
        label: at.to_string(),
        time: None,
        pose: WorldPose::new(joints.iter().map(to_ours).collect()),
    };
    let motion = Motion { name: "motion".into(), frames: joints.chunks(bones).enumerate().map(frame).collect() };
    let inner = Arc::clone(&model.inner);
    let (morphs, weights) = work(py, progress, move |watch| {
        watch.plan(&[("shapes", 1.0)]);
        made(&inner, &motion, most, &|done, total| watch.at("shapes", done, total))
    })?;
    let names = morphs.iter().map(|morph| morph.name.clone()).collect();
    let from_ours = model.rig.space().to_ours().inverse().matrix3;
    let deltas = morphs.iter().flat_map(|morph| &morph.deltas);
    let flat: Vec<f32> = deltas.flat_map(|d| (from_ours * *d).as_vec3().to_array()).collect();
    let displacements = PyArray1::from_vec(py, flat).reshape([morphs.len(), model.rig.mesh().positions.len(), 3])?;
    let table = PyArray1::from_vec(py, weights.concat()).reshape([weights.len(), morphs.len()])?;
    Ok((names, displacements, table))
}

/// Morph targets and their weights in every frame: the model's own where it is made of shapes, else principal shapes of the motion.
fn made(
    model: &dermis::Model,
    motion: &Motion,
    most: usize,
    progress: dermis::internals::fitting::Progress<'_>,
) -> Result<(Vec<MorphTarget>, Vec<Vec<f64>>), Error> {
    let file = model.as_file();
    if refusal(file).is_none() {
        let settings = PoseSpaceSettings { shapes: None, kernels: None, influences: None };
        let found = drive_pose_space(file, Some(motion), settings, progress)?;
        return Ok((found.morphs, found.frames.unwrap_or_default()));
    }
    let rig = file.rig();
    let weights = rig.weights().ok_or_else(|| CompileError::NoWeights { rig: rig.name().to_owned() })?;
    let found = principal_shapes(file, weights, motion, None, most, progress)?;
    Ok((found.morphs, found.weights))
}
