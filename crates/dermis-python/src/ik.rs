//! `dermis.ik`: goals of bones, solved by `dermis_motion::ik`. Arrays are in the rig's own axes and unit.

use crate::arrays::{Extent, Floats};
use crate::errors::{error, of_library};
use crate::rig::Rig;
use crate::work::said;
use dermis::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis::internals::motion::anatomy::Anatomy;
use dermis::internals::motion::ik::{Goal, JointLimits, Reach, Solver, Stop, Target};
use dermis::internals::rig::rotation::{nearest_rotation, quat_from_matrix};
use dermis::internals::rig::{BoneIndex, BoneVec, Skeleton, WorldPose};
use dermis::internals::workflow::joint_limits;
use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

/// Solves goals, given as JSON by `dermis.ik`: the pose matrices, and what came of every goal as JSON.
#[pyfunction]
#[pyo3(name = "_ik", signature = (rig, goals, begin, posture, limits))]
pub fn solve<'py>(
    py: Python<'py>,
    rig: &Rig,
    goals: &str,
    begin: Option<&Bound<'py, PyAny>>,
    posture: Option<&Bound<'py, PyAny>>,
    limits: Option<&str>,
) -> PyResult<(Bound<'py, PyArray3<f64>>, String)> {
    let (skeleton, space) = (rig.inner.skeleton(), rig.inner.space());
    let solver = Solver::new(skeleton).with_limits(limits_of(skeleton, limits)?).map_err(said)?;
    let local = |name: &str, given: Option<&Bound<'py, PyAny>>| -> PyResult<Option<BoneVec<DAffine3>>> {
        let Some(given) = given else { return Ok(None) };
        let shape = [Extent::Is(skeleton.len()), Extent::Is(4), Extent::Is(4)];
        let matrices = Floats::of(name, given, &[&shape])?.matrices(name)?;
        let world = WorldPose::new(matrices.into_iter().map(|m| space.joint_to_ours(m)).collect());
        let local = skeleton.local_transforms(&world);
        local.map(Some).ok_or_else(|| error(format!("{name}: a matrix has no inverse")))
    };
    let begin = local("begin", begin)?.unwrap_or_else(|| solver.rest());
    let posture = local("posture", posture)?;
    let given: Vec<Value> = serde_json::from_str(goals).map_err(said)?;
    let to_ours = space.to_ours();
    let goals: Vec<Goal> = (given.iter().enumerate())
        .map(|(at, value)| goal(at, value, skeleton, &to_ours, space.metres_per_unit))
        .collect::<PyResult<_>>()?;
    let solved = solver.solve_near(&begin, posture.as_ref(), &goals).map_err(said)?;
    let entries =
        solved.world().bones.iter().flat_map(|m| dermis::arrays::entries(&space.joint_from_ours(*m))).collect();
    let matrices = PyArray1::from_vec(py, entries).reshape([skeleton.len(), 4, 4])?;
    let stop = match solved.stop {
        Stop::Met => "met",
        Stop::Nearest => "nearest",
        Stop::Steps => "steps",
    };
    let told = |reach: &Reach| {
        json!({
            "distance": reach.distance / space.metres_per_unit,
            "angle": reach.angle.to_degrees(),
            "out_of_reach": reach.out_of_reach / space.metres_per_unit,
            "length": reach.length / space.metres_per_unit,
            "off_pole": reach.off_pole.to_degrees(),
        })
    };
    let reaches: Vec<Value> = solved.reaches.iter().map(told).collect();
    Ok((matrices, json!({"reaches": reaches, "steps": solved.steps, "stop": stop}).to_string()))
}

/// None: joints turn freely. "anatomy", or a table of joints as `dermis exercise --limits` reads it, over those of anatomy.
fn limits_of(skeleton: &Skeleton, limits: Option<&str>) -> PyResult<BoneVec<JointLimits>> {
    let Some(text) = limits else { return Ok(BoneVec::new(vec![JointLimits::Free; skeleton.len()])) };
    let mut anatomy = Anatomy::new(skeleton, |_| true);
    if text != "anatomy" {
        let path = Path::new("limits");
        let apply = |anatomy: &mut Anatomy| joint_limits::parse(text, path)?.apply(anatomy, skeleton, path);
        apply(&mut anatomy).map_err(|found| of_library(&found))?;
    }
    Ok(anatomy.limits)
}

fn goal(at: usize, value: &Value, skeleton: &Skeleton, to_ours: &DAffine3, unit: f64) -> PyResult<Goal> {
    let bone = |key: &str| -> PyResult<BoneIndex> {
        let name = value[key].as_str().unwrap_or_default();
        skeleton.find(name).ok_or_else(|| error(format!("goal {at}: {key} is {name:?}, and no bone is called that")))
    };
    let numbers = |key: &str, count: usize| -> PyResult<Option<Vec<f64>>> {
        let Some(list) = value.get(key).filter(|list| !list.is_null()) else { return Ok(None) };
        let found: Option<Vec<f64>> = list.as_array().and_then(|list| list.iter().map(Value::as_f64).collect());
        let found = found.filter(|found| found.len() == count && found.iter().all(|x| x.is_finite()));
        found.map(Some).ok_or_else(|| error(format!("goal {at}: {key} needs {count} finite numbers")))
    };
    let vector = |key: &str| Ok::<_, PyErr>(numbers(key, 3)?.map(|v| DVec3::from_slice(&v)));
    let place = |key: &str| Ok::<_, PyErr>(vector(key)?.map(|p| to_ours.transform_point3(p)));
    let rotation = numbers("rotation", 9)?.map(|rows| -> DQuat {
        let turned = to_ours.matrix3 * (1.0 / unit) * DMat3::from_cols_slice(&rows).transpose();
        quat_from_matrix(&nearest_rotation(&turned))
    });
    let target = match (place("target")?, rotation, place("look_at")?) {
        (Some(point), None, None) => Target::Point(point),
        (Some(point), Some(turn), None) => Target::Frame(point, turn),
        (None, Some(turn), None) => Target::Rotation(turn),
        (None, None, Some(point)) => Target::LookAt { axis: vector("axis")?.unwrap_or(DVec3::Y), point },
        (None, None, None) => return Err(error(format!("goal {at} needs a target, a rotation or look_at"))),
        _ => return Err(error(format!("goal {at}: look_at stands alone, without target and rotation"))),
    };
    let mut goal = Goal::new(bone("root")?, bone("end")?, target);
    goal.point = vector("point")?.unwrap_or(DVec3::ZERO) * unit;
    goal.weight = value["weight"].as_f64().unwrap_or(1.0);
    goal.priority = value["priority"].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
    match place("pole")? {
        Some(pole) => Ok(goal.with_pole(bone("pole_joint")?, pole)),
        None => Ok(goal),
    }
}
