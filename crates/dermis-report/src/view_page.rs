//! The page of a file: a rig in motion, a skeleton, shapes of a mesh, or skins of a model that were computed beforehand.

use crate::length::LengthUnit;
use crate::page::{KeyFigure, PageVerdict, Quantity};
use crate::viewer::{Given, Viewer, ViewerFrame};

/// What the page of a file shows.
#[derive(Clone, Debug, Default)]
pub struct ViewPage {
    /// What it is called.
    pub title: String,
    /// What kind of file it is.
    pub subtitle: String,
    /// What is known of a model's error, as [`viewer::headline`](crate::viewer::headline) says it.
    pub known: Option<(PageVerdict, Vec<KeyFigure>)>,
    /// What the reader should know, a sentence each.
    pub notes: Vec<String>,
    /// Vertices and triangles of the mesh; `None` if the mesh only shows bones.
    pub mesh: Option<[usize; 2]>,
    /// Bones; none if the mesh hangs on one of ours.
    pub bones: usize,
    /// What the motion is called.
    pub motion: String,
    /// How lengths are shown.
    pub unit: LengthUnit,
    /// The rig with its clip.
    pub glb: Vec<u8>,
    /// The frames of the clip, in order.
    pub frames: Vec<ViewerFrame>,
    /// What the skin of the weights is called.
    pub skin: String,
    /// What the skins are that frames have.
    pub given: Given,
}

impl ViewPage {
    /// Returns the page as HTML.
    pub fn to_html(self) -> String {
        let figures = self.figures();
        let (headline, known) = self.known.unzip();
        let motion = match self.frames.len() {
            0 => String::new(),
            frames => format!("; {} over {frames} frames", self.motion),
        };
        let viewer = Viewer {
            title: self.title,
            subtitle: self.subtitle + &motion,
            headline,
            figures: known.into_iter().flatten().chain(figures).collect(),
            notes: self.notes,
            unit: self.unit,
            glb: self.glb,
            frames: self.frames,
            skin: self.skin,
            given: self.given,
            ..Viewer::default()
        };
        viewer.to_html()
    }

    fn figures(&self) -> Vec<KeyFigure> {
        let figure = |label: &str, count: usize, note: String| KeyFigure {
            label: label.into(),
            value: Quantity::Count(count as u64),
            note,
        };
        let mut figures = Vec::new();
        figures.extend(
            self.mesh.map(|[vertices, triangles]| figure("Vertices", vertices, format!("{triangles} triangles"))),
        );
        figures.extend((self.bones > 0).then(|| figure("Bones", self.bones, String::new())));
        figures
            .extend(self.frames.last().map(|last| figure("Frames", self.frames.len(), format!("{:.2} s", last.time))));
        figures
    }
}
