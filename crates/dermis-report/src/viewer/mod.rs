//! A page that poses a model in the browser: its skin in motion, and a slider for every angle of a joint.
//!
//! [`Viewer::to_html`] turns a [`Viewer`] into text, as a [`Page`](crate::page::Page) does: one file that needs no network and no
//! other file. It holds the GLB of `dermis export viewer`, rounded and compressed (`pack`). The scripts of `js/` read it, compute morph
//! weights, and skin it where there is no WebGL 2 or a number is asked for; the graphics card skins what is drawn. Those of the report's
//! 3D view draw it. The skin that the page shows is that of the GLB: what the export loses, the page says.

mod bundle;
mod contents;
mod headline;
mod pack;
#[cfg(test)]
mod tests;

pub use contents::{ViewerContents, ViewerCost};
pub use headline::{Shown, headline};

use crate::length::{LengthUnit, show_length};
use crate::page::html::{Data, DataKind, Document, STYLE, escape, fill, json, verdict};
use crate::page::{KeyFigure, PageVerdict};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// What a page of a model shows.
#[derive(Clone, Debug, Default)]
pub struct Viewer {
    /// The heading, and the title of the browser's tab.
    pub title: String,
    /// One line beneath it.
    pub subtitle: String,
    /// What is known of the model's error.
    pub headline: Option<PageVerdict>,
    /// Key figures, most important first.
    pub figures: Vec<KeyFigure>,
    /// What the reader should know, a sentence each.
    pub notes: Vec<String>,
    /// How lengths are shown.
    pub unit: LengthUnit,
    /// The GLB: a skinned mesh, with driven morph targets if it is a model's, and a clip if there are frames.
    pub glb: Vec<u8>,
    /// The frames of the clip, in order.
    pub frames: Vec<ViewerFrame>,
    /// What the skins are that frames have beside those that the page computes.
    pub given: Given,
    /// What the skin of the weights alone is called; "skin weights" if empty.
    pub skin: String,
    /// The height of the ground in the GLB, where the character goes over one: the picture then has a grid there.
    pub ground: Option<f64>,
    /// How sure joints are, 0 to 1, by name: the picture then marks them, from red to green.
    pub sure: Vec<(String, f64)>,
    /// What swings while the clip plays, if anything does.
    pub springs: Option<ViewerSprings>,
    /// HTML below all else, such as drawings of [`crate::svg`] and tables; written as it is.
    pub below: String,
}

/// Springs of the skin, which swings while the clip plays (`js/dermis_springs.js`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViewerSprings {
    /// Per vertex radians per second, damping ratio, stiffening and limit.
    pub vertices: Vec<[f64; 4]>,
    /// Per vertex those that edges tie to it.
    pub neighbours: Vec<Vec<u32>>,
    /// Stiffness of the edges.
    pub coupling: f64,
}

impl ViewerSprings {
    /// The springs as the page holds them, viewer/unpack.js reads them: all numbers of a kind one after the other, little-endian.
    fn packed(&self) -> Vec<u8> {
        let entries: usize = self.neighbours.iter().map(Vec::len).sum();
        let head = [self.vertices.len() as u32, entries as u32].into_iter().flat_map(u32::to_le_bytes);
        let vertices = self.vertices.iter().flatten().flat_map(|x| x.to_le_bytes());
        let counts = self.neighbours.iter().map(|row| row.len() as u32);
        let rows = counts.chain(self.neighbours.iter().flatten().copied()).flat_map(u32::to_le_bytes);
        self.coupling.to_le_bytes().into_iter().chain(head).chain(vertices).chain(rows).collect()
    }
}

/// A frame of the clip.
#[derive(Clone, Debug, Default)]
pub struct ViewerFrame {
    /// What it is called.
    pub label: String,
    /// Its time in the clip, seconds.
    pub time: f64,
    /// A skin beside those that the page computes, a position per vertex of the mesh, metres; empty if it is not known or not shown.
    pub target: Vec<[f32; 3]>,
}

/// What the skins of [`ViewerFrame::target`] are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Given {
    /// True skins: the page shows how far its own are from them.
    #[default]
    Truth,
    /// Those of a model, which the page shows first, and how far the skin weights alone are from them.
    Model,
    /// Shapes of a mesh without bones, which are all that the page shows.
    Shape,
}

/// The most bytes that the true skins of a page take before they are compressed.
pub const MOST_TARGET_BYTES: usize = 24_000_000;

/// Every how many frames a page shows a true skin: as often as [`MOST_TARGET_BYTES`] allow.
pub fn every(frames: usize, vertices: usize) -> usize {
    // Three numbers of 16 bits, in base64.
    let bytes = frames.saturating_mul(vertices).saturating_mul(8);
    bytes.div_ceil(MOST_TARGET_BYTES).max(1)
}

/// The body of the page.
const TEMPLATE: &str = include_str!("viewer.html");
const VIEWER_STYLE: &str = include_str!("viewer.css");
/// Parts of the report's 3D view, in the order in which they use each other.
const VIEW_SCRIPT: &str = concat!(
    include_str!("../page/html/view/data.js"),
    include_str!("../page/html/view/shapes.js"),
    include_str!("../page/html/view/camera.js"),
    include_str!("../page/html/view/webgl.js"),
    include_str!("../page/html/view/software.js"),
    include_str!("../page/html/view/controls.js"),
    include_str!("../page/html/view/overlay.js"),
    include_str!("../page/html/view/pointer.js"),
);
/// The parts of the viewer itself.
const VIEWER_SCRIPT: &str = concat!(
    include_str!("unpack.js"),
    include_str!("card.js"),
    include_str!("character.js"),
    include_str!("clip.js"),
    include_str!("joints.js"),
    include_str!("stage.js"),
    include_str!("ground.js"),
    include_str!("viewer.js")
);

/// What the page's script reads beside the GLB.
#[derive(Serialize)]
struct ScriptData<'a> {
    unit: &'a str,
    scale: f32,
    skin: &'a str,
    given: Given,
    ground: Option<f64>,
    sure: Vec<(&'a str, f64)>,
    frames: Vec<PackedFrame<'a>>,
}

#[derive(Serialize)]
struct PackedFrame<'a> {
    label: &'a str,
    time: f64,
    target: Option<pack::PackedSkin>,
}

impl Viewer {
    /// Returns the page as HTML text, to be written to one file. The same viewer gives the same bytes.
    pub fn to_html(&self) -> String {
        let targets: Vec<&[[f32; 3]]> = self.frames.iter().map(|frame| frame.target.as_slice()).collect();
        let (skins, targets) = pack::pack_skins(&targets);
        let frames = self.frames.iter().zip(targets);
        let frames = frames.map(|(frame, target)| PackedFrame { label: &frame.label, time: frame.time, target });
        let data = ScriptData {
            unit: &self.unit.name,
            scale: self.unit.scale,
            skin: if self.skin.is_empty() { "skin weights" } else { &self.skin },
            given: self.given,
            ground: self.ground,
            sure: self.sure.iter().map(|(name, sure)| (name.as_str(), *sure)).collect(),
            frames: frames.collect(),
        };
        let packed = pack::pack(&self.glb);
        let rounded = packed.as_ref().map(|packed| {
            format!(
                "The page rounds the numbers of the GLB: before skinning a vertex is at most {} from its place there.",
                show_length(packed.deviation, &self.unit)
            )
        });
        let notes: String =
            self.notes.iter().chain(&rounded).map(|note| format!("<p class=\"note\">{}</p>", escape(note))).collect();
        let body = fill(TEMPLATE, |name| match name {
            "title" => escape(&self.title),
            "subtitle" if self.subtitle.is_empty() => String::new(),
            "subtitle" => format!("<p class=\"subtitle\">{}</p>", escape(&self.subtitle)),
            "headline" => self.headline.iter().map(verdict).collect(),
            "figures" => crate::page::html::figure_list(&self.figures, &self.unit),
            "notes" => notes.clone(),
            "below" => self.below.clone(),
            _ => String::new(),
        });
        let springs = self.springs.as_ref().map_or_else(Vec::new, |springs| pack::deflated(&springs.packed()));
        let glb = STANDARD.encode(packed.as_ref().map_or(&self.glb, |packed| &packed.bytes));
        Document {
            title: &self.title,
            styles: &[STYLE, VIEWER_STYLE],
            body: &body,
            data: &[
                Data { id: "page-data", kind: DataKind::Json, text: &json(&data) },
                Data { id: "page-glb", kind: DataKind::Bytes, text: &glb },
                Data { id: "page-springs", kind: DataKind::Bytes, text: &STANDARD.encode(&springs) },
                Data { id: "page-skins", kind: DataKind::Bytes, text: &STANDARD.encode(&skins) },
            ],
            scripts: &[&bundle::dermis(), VIEW_SCRIPT, VIEWER_SCRIPT],
        }
        .to_html()
    }
}
