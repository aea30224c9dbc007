//! The outcome as JSON.

use super::{ModelOutcome, SetRole};
use dermis_measure::{Scores, Totals};
use serde_json::{Map, Value, json};

impl ModelOutcome<'_> {
    /// Returns the JSON of `fit` and `eval`: lengths in mesh units, shares in 0..=1. Empty if no set was scored.
    ///
    /// `error`, `baseline`, `ratio`, `per_pose` and `worst_vertices` are those of all poses of the set that counts, which `validation`
    /// names. `counted` are the errors of its poses that are not beside a training pose: the headline's; null if nothing is validated.
    pub fn json(&self) -> Value {
        let rig = self.model.rig();
        let Some(counts) = self.counts() else { return json!({}) };
        let main = counts.scores;
        let error = |role: SetRole| self.scores_of(role).map(|s| json!(s.model.error));
        let mut value = json!({
            "method": self.model.header.method,
            "vertices": rig.mesh().positions.len(),
            "bones": rig.skeleton().len(),
            "poses": self.scores_of(SetRole::Training).unwrap_or(main).model.per_pose.len(),
            "unit": self.model.space.unit,
            "diagonal": rig.mesh().diagonal(),
            "seconds": self.fit.as_ref().map(|f| f.seconds),
            "error": main.model.error,
            "baseline": main.baseline.as_ref().map(|b| json!({"method": "lbs", "error": b.error})),
            "ratio": main.ratio(),
            "validation": counts.validation(),
            "counted": counts.evidence().map(counted),
            "verdict": self.verdict().map(|verdict| verdict.text),
            "per_pose": per_pose(main),
            "worst_vertices": main.model.worst_vertices,
            "model_bytes": self.model.baked().bytes(),
            "report": self.model.header.report,
            "settings": self.model.header.settings.iter().map(|(k, v)| (k.clone(), json!(v))).collect::<Map<_, _>>(),
            "warnings": self.warnings(),
        });
        if self.fit.is_some() {
            value["train"] = json!(error(SetRole::Training));
            value["held_out"] = json!(error(SetRole::HeldOut));
            if let Some(error) = error(SetRole::CrossValidated) {
                value["cross_validated"] = error;
            }
            if let Some(scores) = self.scores_of(SetRole::Training) {
                value["per_pose_train"] = json!(per_pose(scores));
            }
        }
        value
    }
}

/// Returns the errors of the poses that count.
fn counted(totals: &Totals) -> Value {
    json!({
        "poses": totals.poses, "error": totals.error,
        "baseline": totals.baseline.map(|error| json!({"method": "lbs", "error": error})),
        "ratio": totals.ratio(),
    })
}

/// Returns an object per pose, in the order of the set.
fn per_pose(scores: &Scores) -> Vec<Value> {
    let pairs = scores.model.per_pose.iter().zip(&scores.frames).enumerate();
    pairs
        .map(|(at, (pose, frame))| {
            let base = scores.baseline.as_ref().and_then(|b| b.per_pose.get(at));
            json!({
                "label": pose.label, "rms": pose.rms, "max": pose.max, "p95": pose.p95,
                "worst_vertex": pose.worst_vertex,
                "baseline_rms": base.map(|b| b.rms),
                "distance_degrees": frame.distance.as_ref().map(|d| d.0),
                "trained": frame.trained,
                "distance_joint": frame.distance.as_ref().map(|d| &d.1),
                "limited_share": frame.limited, "guarded_share": frame.held,
                "volume_ratio": frame.volume.map(|v| v.1),
                "volume_ratio_target": frame.volume.map(|v| v.0),
            })
        })
        .collect()
}
