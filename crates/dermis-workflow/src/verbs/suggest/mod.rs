//! The verb `suggest`: which frames of a motion to sculpt next, and what training lacks for it, for a stored model. The design is [`dermis_fit::design`].

pub mod error;
pub(crate) mod recipe;

use crate::error::Error;
use crate::load::LoadedRig;
use crate::report::page::{LacksRow, PageTable, lacks_table};
use crate::verbs::fit::{FitInput, Method, fit};
use dermis_deform::TrainingPoses;
use dermis_fit::Progress;
use dermis_fit::design::{DesignError, Known};
use dermis_io::{Contents, Format, ModelFile, Record};
use dermis_rig::{BoneTransforms, Example, ExampleSet, Frame, Motion};
use serde_json::{Value, json};

pub use dermis_fit::design::{Advice, Amplitude, NEW, Pair, Region, Sculpt, Study, Suggestion, Suggestions};

/// Compares `motion` with what a model knows. Its own frames are offered to be sculpted, or poses of `among`.
///
/// # Errors
/// [`Error::Suggest`]: a model without training poses; a motion without frames, of another skeleton, or not finite;
/// [`Error::Cancelled`].
pub fn study<'a>(
    model: &ModelFile,
    motion: &'a Motion,
    among: Option<&'a Motion>,
    progress: Progress<'_>,
) -> Result<Study<'a>, Error> {
    let bounds = model.baked().bounds().unwrap_or_default();
    Study::new(&known(model, &bounds)?, motion, among, progress).map_err(|error| refused(model, error))
}

/// Compares `motion` with what a model knows that learnt from `training` alone, each pose of which shows the vertices in `touched`.
///
/// # Errors
/// Those of [`study`].
pub(crate) fn study_touched<'a>(
    model: &ModelFile,
    (training, touched): (&TrainingPoses, &[Vec<bool>]),
    motion: &'a Motion,
    progress: Progress<'_>,
) -> Result<Study<'a>, Error> {
    let bounds = model.baked().bounds().unwrap_or_default();
    let known = Known { training, touched, ..known(model, &bounds)? };
    Study::new(&known, motion, None, progress).map_err(|error| refused(model, error))
}

/// Returns what training lacks for the poses of some examples. `None` of a model that knows no poses or no joints.
///
/// # Errors
/// Those of [`study`].
pub fn lacks(model: &ModelFile, examples: &ExampleSet, progress: Progress<'_>) -> Result<Option<Advice>, Error> {
    let skeleton = model.rig().skeleton();
    let frame = |e: &Example| Frame { label: e.label.clone(), time: e.time, pose: skeleton.world_pose(&e.transforms) };
    let motion = Motion { name: examples.name.clone(), frames: examples.examples().iter().map(frame).collect() };
    if model.training().is_none_or(|training| training.poses() == 0 || training.joints.is_empty()) {
        return Ok(None);
    }
    Ok(Some(study(model, &motion, None, progress)?.advise()))
}

/// Returns the model of a rig's own weights, which knows the bind pose alone: what there is before anything was learnt.
///
/// # Errors
/// [`Error`] of a rig without weights.
pub(crate) fn model_of_weights(loaded: &LoadedRig) -> Result<ModelFile, Error> {
    let rest = Example {
        label: "rest".into(),
        time: None,
        transforms: BoneTransforms::identity(loaded.rig.skeleton().len()),
        positions: loaded.rig.mesh().positions.clone(),
        importance: 1.0,
        local: None,
    };
    let examples =
        ExampleSet::new("rest".into(), vec![rest], &loaded.rig).map_err(|e| Error::Internal(e.to_string()))?;
    let input = FitInput::new(&loaded.rig, &examples);
    Ok(fit(loaded, &input, &Method::OwnWeights, &dermis_fit::silent)?.model)
}

fn known<'a>(model: &'a ModelFile, radii: &'a [f32]) -> Result<Known<'a>, Error> {
    let training = model.training().ok_or_else(|| refused(model, DesignError::NoTraining))?;
    Ok(Known { rig: model.rig(), weights: model.weights(), training, radii, touched: &[] })
}

fn refused(model: &ModelFile, error: DesignError) -> Error {
    match error {
        DesignError::Cancelled => Error::Cancelled,
        DesignError::NoTraining => error::Error::NoTrainingPoses { method: model.header.method.clone() }.into(),
        other => error::Error::Design(other).into(),
    }
}

/// Returns the JSON of what training lacks.
pub fn advice_json(advice: &Advice) -> Value {
    let amplitude = |a: &Amplitude| {
        json!({
            "bone": a.joint, "degrees_from_training": a.beyond, "degrees_reached": a.reached,
            "degrees_trained": a.trained, "frames": a.frames,
        })
    };
    let pair = |p: &Pair| json!({ "bones": p.joints, "degrees_from_training": p.beyond, "frames": p.frames });
    let sculpt = |s: &Sculpt| json!({ "frame": s.frame, "label": s.label, "error_left": s.left });
    let region = |r: &Region| {
        json!({
            "bone": r.joint,
            "error_share": r.share,
            "amplitudes": r.amplitudes.iter().map(amplitude).collect::<Vec<_>>(),
            "pairs": r.pairs.iter().map(pair).collect::<Vec<_>>(),
            "sculpt": r.sculpt.iter().map(sculpt).collect::<Vec<_>>(),
        })
    };
    json!({
        "frames_looked_at": advice.frames,
        "unknown_share": advice.unknown,
        "regions": advice.regions.iter().map(region).collect::<Vec<_>>(),
    })
}

/// Returns what training lacks in a region, a phrase each.
pub fn phrases(region: &Region) -> Vec<String> {
    let frames = |n: usize| if n == 1 { "1 frame".to_owned() } else { format!("{n} frames") };
    let amplitude = |a: &Amplitude| {
        format!(
            "{} up to {:.0}° from any training pose in {} (turned up to {:.0}°; training up to {:.0}°)",
            a.joint,
            a.beyond,
            frames(a.frames),
            a.reached,
            a.trained
        )
    };
    let pair = |p: &Pair| {
        format!(
            "{} with {}: known apart, up to {:.0}° off together in {}",
            p.joints[0],
            p.joints[1],
            p.beyond,
            frames(p.frames)
        )
    };
    let mut all: Vec<String> = region.amplitudes.iter().map(amplitude).collect();
    all.extend(region.pairs.iter().map(pair));
    if all.is_empty() {
        all.push(format!("no joint {NEW:.0}° or more from training"));
    }
    all
}

/// Returns the frames to sculpt for a region in one phrase; `None` if none says enough.
pub fn expected(region: &Region) -> Option<String> {
    let named: Vec<String> = region.sculpt.iter().map(|s| format!("\"{}\"", s.label)).collect();
    let left: Vec<String> = region.sculpt.iter().map(|s| format!("{:.0} %", 100.0 * s.left)).collect();
    (!named.is_empty()).then(|| format!("poses like {}: {} of the rms error left", named.join(", "), left.join(", ")))
}

/// Returns what training lacks as a table of the report.
pub fn advice_table(advice: &Advice) -> PageTable {
    let row = |region: &Region| LacksRow {
        joint: region.joint.clone(),
        share: region.share,
        beyond: phrases(region),
        to_sculpt: expected(region),
    };
    lacks_table(advice.regions.iter().map(row))
}

/// Returns the JSON of `suggest`.
pub fn json(found: &Suggestions) -> Value {
    let joint = |(bone, degrees): &(String, f64)| json!({"bone": bone, "degrees": degrees});
    let line = |s: &Suggestion| {
        json!({
            "frame": s.frame,
            "label": s.label,
            "time": s.time,
            "new_joints": s.new.iter().map(joint).collect::<Vec<_>>(),
            "farthest": joint(&s.farthest),
            "skin_share": s.skin,
            "gain": s.gain,
            "error_left": s.left,
        })
    };
    json!({
        "suggestions": found.list.iter().map(line).collect::<Vec<_>>(),
        "frames": found.frames,
        "frames_looked_at": found.looked_at,
        "poses_to_choose_from": found.offered,
        "training_poses": found.trained,
        "unknown_share": found.unknown,
    })
}

/// Returns the suggested poses as a bundle: the rig with their matrices and labels, for the sculptor to fill with skins.
///
/// Labels that occur twice get the frame's number. `from` is the motion that offered the poses.
pub fn bundle(found: &Suggestions, model: &ModelFile, from: &Motion) -> Contents {
    let rig = model.rig();
    let twice = |s: &Suggestion| found.list.iter().filter(|other| other.label == s.label).count() > 1;
    let record = |s: &Suggestion| Record {
        label: if twice(s) { format!("{} (frame {})", s.label, s.frame) } else { s.label.clone() },
        time: None,
        pose: Some(from.frames[s.frame].pose.clone()),
        positions: None,
        importance: 1.0,
        local: None,
    };
    Contents {
        name: from.name.clone(),
        format: Format::Npz,
        space: model.space.clone(),
        mesh: Some(rig.mesh().clone()),
        skeleton: Some(rig.skeleton().clone()),
        weights: rig.weights().cloned(),
        influence_maps: rig.influence_maps().cloned(),
        records: found.list.iter().map(record).collect(),
        ..Contents::default()
    }
}

#[cfg(test)]
mod tests;
