//! The charts of the page, as data: the page's script draws them and the 3D view from one block of JSON.

use super::content::{Page, ScoredPose};
use super::rig::PackedRig;
use super::skins::PackedView;
use serde::Serialize;

/// The JSON that the page's script reads. Lengths are in the shown unit, except in the view, which is scaled by `scale`.
#[derive(Serialize)]
pub(super) struct ScriptData<'a> {
    unit: &'a str,
    scale: f32,
    model: &'a str,
    baseline: &'a str,
    sets: Vec<SetData<'a>>,
    sweep: Option<SweepData>,
    view: Option<&'a PackedView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rig: Option<&'a PackedRig<'a>>,
}

#[derive(Serialize)]
struct SetData<'a> {
    name: &'a str,
    poses: Vec<PoseData<'a>>,
}

#[derive(Serialize)]
struct PoseData<'a> {
    label: &'a str,
    rms: f32,
    max: f32,
    baseline_rms: Option<f32>,
    baseline_max: Option<f32>,
}

#[derive(Serialize)]
struct SweepData {
    chosen: f32,
    /// Strength, error on the fitted poses, error on those left out.
    points: Vec<[f32; 3]>,
}

impl<'a> ScriptData<'a> {
    /// Returns the data of a page, of its packed view and of its packed rig.
    pub(super) fn of(page: &'a Page, view: Option<&'a PackedView<'a>>, rig: Option<&'a PackedRig<'a>>) -> Self {
        let scale = page.unit.scale;
        let pose = |p: &'a ScoredPose| PoseData {
            label: &p.label,
            rms: p.rms * scale,
            max: p.max * scale,
            baseline_rms: p.baseline_rms.map(|v| v * scale),
            baseline_max: p.baseline_max.map(|v| v * scale),
        };
        Self {
            unit: &page.unit.name,
            scale,
            model: name_or(&page.model_name, "model"),
            baseline: name_or(&page.baseline_name, "baseline"),
            sets: page
                .sets
                .iter()
                .map(|s| SetData { name: &s.name, poses: s.poses.iter().map(pose).collect() })
                .collect(),
            sweep: page.sweep.as_ref().map(|s| SweepData {
                chosen: s.chosen_s,
                points: s.points.iter().map(|p| [p.s, p.train_rms * scale, p.validated_rms * scale]).collect(),
            }),
            view,
            rig,
        }
    }
}

/// Returns a name, or the default if it is empty.
pub(super) fn name_or<'a>(given: &'a str, otherwise: &'a str) -> &'a str {
    if given.is_empty() { otherwise } else { given }
}
