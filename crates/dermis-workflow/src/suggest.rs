//! The verb `suggest`: which frames of a motion to sculpt next, for a stored model. The design is [`dermis_fit::design`].

use crate::error::Error;
use dermis_fit::Progress;
use dermis_fit::design::{self, DesignError, Known};
use dermis_io::{Contents, Format, ModelFile, Record};
use dermis_rig::Motion;
use serde_json::{Value, json};

pub use dermis_fit::design::{NEW, Suggestion, Suggestions};

/// Returns the `count` poses to sculpt next for `motion`, best first: its own frames, or poses of `among`.
///
/// # Errors
/// [`Error::NoTrainingPoses`]; [`Error::Design`]: a motion without frames, of another skeleton, or not finite;
/// [`Error::Cancelled`].
pub fn suggest(
    model: &ModelFile,
    motion: &Motion,
    among: Option<&Motion>,
    count: usize,
    progress: Progress<'_>,
) -> Result<Suggestions, Error> {
    let unknown = || Error::NoTrainingPoses { method: model.header.method.clone() };
    let training = model.training().ok_or_else(unknown)?;
    let radii = model.baked().correction().map_or(&[][..], |c| c.radii());
    let known = Known { rig: model.rig(), weights: model.weights(), training, radii };
    design::suggest(&known, motion, among, count, progress).map_err(|error| match error {
        DesignError::Cancelled => Error::Cancelled,
        DesignError::NoTraining => unknown(),
        other => Error::Design(other),
    })
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
