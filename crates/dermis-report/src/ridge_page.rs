//! The page of a ridge turned like a slider: what it costs to solve again, and what it does to the skin.

use crate::length::LengthUnit;
use crate::page::{
    KeyFigure, Page, PoseRef, Provenance, Quantity, ScoredPose, ScoredSet, ShownPose, SkinView, StrengthSweep,
    SweptStrength, shown_positions,
};
use dermis_rig::Mesh;

/// What the page of a sweep shows.
#[derive(Debug)]
pub struct RidgePage<'a> {
    /// The name of the rig.
    pub name: &'a str,
    /// Its mesh.
    pub mesh: &'a Mesh,
    /// How lengths are shown.
    pub unit: LengthUnit,
    /// Training poses.
    pub training_poses: usize,
    /// Median seconds to solve every vertex again.
    pub seconds: f64,
    /// The ridge that cross-validation takes.
    pub chosen: f64,
    /// The held-out pose that is shown.
    pub pose: String,
    /// The true skin in that pose.
    pub target: Vec<[f32; 3]>,
    /// The steps, s ascending.
    pub steps: Vec<RidgePageStep>,
    /// Where the numbers come from.
    pub provenance: Provenance,
}

/// One place of the slider.
#[derive(Clone, Debug)]
pub struct RidgePageStep {
    /// The ridge.
    pub s: f64,
    /// Rms error on the training poses, mesh units.
    pub train: f64,
    /// Rms error on the held-out poses, mesh units.
    pub held_out: f64,
    /// The skin in the held-out pose that is shown.
    pub skin: Vec<[f32; 3]>,
}

impl RidgePage<'_> {
    /// Returns the page: errors over s, and the skin of one held-out pose at every s.
    pub fn page(self) -> Page {
        let vertices = self.mesh.positions.len();
        let label = |step: &RidgePageStep| format!("s = {:.1e}", step.s);
        let frame = |(at, step): (usize, &RidgePageStep)| ShownPose {
            label: label(step),
            set: "held out".into(),
            note: self.pose.clone(),
            pose: Some(PoseRef { set: 0, pose: at }),
            target: self.target.clone(),
            model: step.skin.clone(),
            ..ShownPose::default()
        };
        let score = |step: &RidgePageStep| ScoredPose {
            label: label(step),
            rms: step.held_out as f32,
            ..ScoredPose::default()
        };
        let point = |step: &RidgePageStep| SweptStrength {
            s: step.s as f32,
            train_rms: step.train as f32,
            validated_rms: step.held_out as f32,
        };
        Page {
            title: format!("{}: a sweep of λ", self.name),
            subtitle: format!(
                "enveloping of {vertices} vertices solved again {} times; one pose of the walk at every ridge",
                self.steps.len()
            ),
            unit: self.unit,
            model_name: "mwe".into(),
            figures: vec![KeyFigure {
                label: "To solve again".into(),
                value: Quantity::Seconds(self.seconds as f32),
                note: format!(
                    "median, {vertices} vertices, {} poses, on the machine that made this page",
                    self.training_poses
                ),
            }],
            view: Some(SkinView {
                triangles: self.mesh.triangles.clone(),
                rest: shown_positions(&self.mesh.positions),
                poses: self.steps.iter().enumerate().map(frame).collect(),
                ..SkinView::default()
            }),
            sets: vec![ScoredSet { name: "held out, by ridge".into(), poses: self.steps.iter().map(score).collect() }],
            sweep: Some(StrengthSweep {
                points: self.steps.iter().map(point).collect(),
                chosen_s: self.chosen as f32,
                what: "the held-out walk".into(),
            }),
            provenance: self.provenance,
            ..Page::default()
        }
    }
}
