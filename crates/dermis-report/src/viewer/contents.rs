//! What a viewer's page holds, as key figures and notes.

use crate::length::{LengthUnit, show_length};
use crate::page::{KeyFigure, Quantity};

/// What the page of an exported model holds.
#[derive(Clone, Copy, Debug)]
pub struct ViewerContents<'a> {
    /// Vertices of the mesh.
    pub vertices: usize,
    /// Bones of the skeleton.
    pub bones: usize,
    /// Morph targets that the joints drive.
    pub shapes: usize,
    /// Bytes of the GLB.
    pub glb_bytes: usize,
    /// Bytes of the model in a Rust program.
    pub model_bytes: usize,
    /// What the export loses, if it was measured.
    pub cost: Option<ViewerCost<'a>>,
}

/// Root mean square and largest distance of skins from the model itself, metres.
#[derive(Clone, Copy, Debug)]
pub struct ViewerCost<'a> {
    /// The poses that it was measured over, e.g. "this motion".
    pub over: &'a str,
    /// Of the morph targets.
    pub learnt: (f64, f64),
    /// Of the rig's own weights: root mean square alone.
    pub weights: f64,
}

impl ViewerContents<'_> {
    /// Returns the key figures; `glb` is the name of the GLB's file beside the page, if there is one.
    pub fn figures(&self, glb: Option<&str>) -> Vec<KeyFigure> {
        let figure =
            |label: &str, value: Quantity, note: &str| KeyFigure { label: label.into(), value, note: note.into() };
        let count = |n: usize| Quantity::Count(n as u64);
        let mut figures = vec![
            figure("Vertices", count(self.vertices), ""),
            figure("Bones", count(self.bones), ""),
            figure("Morph targets", count(self.shapes), "driven by the joints"),
        ];
        figures.extend(glb.map(|glb| figure("GLB", Quantity::Bytes(self.glb_bytes as u64), glb)));
        figures.push(figure("Model", Quantity::Bytes(self.model_bytes as u64), "in a Rust program"));
        figures
    }

    /// Returns what the reader should know, a sentence each. The page holds the true skin of one frame in `truth_step`, if of any.
    pub fn notes(&self, glb: Option<&str>, unit: &LengthUnit, truth_step: Option<usize>) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(ViewerCost { over, learnt: (rms, most), weights }) = self.cost {
            notes.push(format!(
                "“learnt” is the skin of {} morph targets, whose weights this page computes from the joints. Over {over} it is \
                 {} rms from the model itself, at most {}; the rig's own weights are {} rms from it.",
                self.shapes,
                show_length(rms, unit),
                show_length(most, unit),
                show_length(weights, unit)
            ));
        }
        if let Some(step) = truth_step.filter(|step| *step > 1) {
            notes.push(format!("The page holds the true skin of one frame in {step}."));
        }
        let beside = glb.map_or(String::new(), |glb| {
            format!("{glb} beside this page holds the same character for programs that read glTF. ")
        });
        notes.push(format!("{beside}This page alone is enough to send: it needs no network and no other file."));
        notes
    }
}
