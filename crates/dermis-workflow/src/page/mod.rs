//! The report people look at: one self-contained HTML page with the numbers, charts and the skins in 3D.
//!
//! [`render`] turns a [`Page`] into text. Everything on a page was computed by others; this module only arranges,
//! formats and escapes. The file needs no network and no other file (its content policy forbids both), opens in any
//! current browser, and is readable as plain tables where scripts do not run. The 3D view is WebGL 2 without
//! libraries, with a small software rasteriser where there is no WebGL (or when the address ends in
//! `#renderer=software`).
//!
//! Units: lengths in a [`Page`] are in mesh units, as everywhere else; [`Unit`] says what the reader sees
//! (metres shown as millimetres: scale 1000). Shares lie in 0..=1. A number that is not finite is shown as `–`,
//! a vertex that is not finite is left out of the 3D view and counted.
//!
//! ```
//! use dermis_workflow::page::{render, Figure, Page, Value};
//! let page = Page {
//!     title: "arm: mwe".into(),
//!     figures: vec![Figure { label: "Held-out error".into(), value: Value::Length(0.00106), note: "rms".into() }],
//!     ..Page::default()
//! };
//! let html = render(&page);
//! assert!(html.contains("1.06") && html.contains("mm"));
//! ```

mod geometry;
mod html;
mod number;

pub use geometry::{Frame, View, frame_bytes, positions};
pub use number::Value;

/// Everything on the page. Empty parts leave no trace: no heading, no empty table.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// First heading, also the title of the browser tab.
    pub title: String,
    /// One line beneath it, e.g. "human: mwe fitted on exercise (96 poses), scored on walk (20 frames)".
    pub subtitle: String,
    /// The one sentence to take away.
    pub verdict: Option<Verdict>,
    /// Shown prominently, one item each.
    pub warnings: Vec<String>,
    /// How lengths are shown.
    pub unit: Unit,
    /// Short name of the model in charts and in the 3D view, e.g. "mwe"; "model" when empty.
    pub model_name: String,
    /// Short name of what it is compared with, e.g. "lbs"; "baseline" when empty.
    pub baseline_name: String,
    /// Key figures, most important first.
    pub figures: Vec<Figure>,
    /// The skins in 3D.
    pub view: Option<View>,
    /// Errors per pose: training, held out, or whatever was scored.
    pub sets: Vec<PoseSet>,
    /// The vertices with the largest errors, worst first.
    pub worst: Vec<WorstVertex>,
    /// Methods on the same bench.
    pub comparison: Vec<MethodRow>,
    /// How the regularisation was chosen.
    pub sweep: Option<Sweep>,
    /// Anything else: errors per bone, joints beyond their limits.
    pub tables: Vec<Table>,
    /// Key and value of every setting, defaults included.
    pub settings: Vec<(String, String)>,
    /// Where the numbers come from.
    pub provenance: Provenance,
}

/// What the reader sees for a length: `scale` times the length in mesh units, followed by `name`.
#[derive(Clone, Debug)]
pub struct Unit {
    /// e.g. "mm"
    pub name: String,
    /// Shown units per mesh unit, e.g. 1000 for metres shown as millimetres.
    pub scale: f32,
}

impl Default for Unit {
    /// Metres shown as millimetres.
    fn default() -> Self {
        Self { name: "mm".into(), scale: 1000.0 }
    }
}

/// A sentence and how to feel about it.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The sentence.
    pub text: String,
    /// Its colour and mark.
    pub tone: Tone,
}

/// How to feel about a [`Verdict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A check passed.
    Good,
    /// Usable, with something to look at.
    Caution,
    /// A check failed.
    Bad,
}

/// One key figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// e.g. "Held-out error"
    pub label: String,
    /// The number.
    pub value: Value,
    /// Small print, e.g. "rms over 20 frames"; may be empty.
    pub note: String,
}

/// The validated choice of a regularisation strength.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Strengths in increasing order. Only positive ones have a place on the logarithmic axis; others are left out of
    /// the chart.
    pub points: Vec<SweepPoint>,
    /// The strength that was taken.
    pub chosen_s: f32,
    /// How it was validated: "leave-one-out", "blocks of frames".
    pub what: String,
}

/// One strength of a [`Sweep`].
#[derive(Clone, Copy, Debug)]
pub struct SweepPoint {
    /// Regularisation strength.
    pub s: f32,
    /// Error on the poses that were fitted, mesh units.
    pub train_rms: f32,
    /// Error on the poses left out, mesh units.
    pub validated_rms: f32,
}

/// Scores of one set of poses.
#[derive(Clone, Debug)]
pub struct PoseSet {
    /// e.g. "training", "held out"
    pub name: String,
    /// In the order of the set, so that a clip reads as a curve.
    pub poses: Vec<PoseScore>,
}

/// Scores of one pose. Lengths in mesh units; columns that no pose of a set fills are not shown.
#[derive(Clone, Debug, Default)]
pub struct PoseScore {
    /// Name of the pose.
    pub label: String,
    /// Root of the mean squared distance over vertices.
    pub rms: f32,
    /// Largest distance.
    pub max: f32,
    /// 95th percentile of the distance.
    pub p95: f32,
    /// `rms` of the baseline.
    pub baseline_rms: Option<f32>,
    /// `max` of the baseline.
    pub baseline_max: Option<f32>,
    /// How far the pose lies outside the training poses: the largest angle over joints, degrees.
    pub distance_degrees: Option<f32>,
    /// The joint at which that angle occurs.
    pub distance_joint: Option<String>,
    /// Share of the vertices whose correction the guard cut, 0..=1.
    pub guarded_share: Option<f32>,
    /// Share of the joints that were beyond what training showed and therefore limited, 0..=1.
    pub limited_share: Option<f32>,
}

/// A pose of the page: index into [`Page::sets`], index into [`PoseSet::poses`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoseRef {
    /// Which set.
    pub set: usize,
    /// Which pose of it.
    pub pose: usize,
}

/// One method of a comparison. Lengths in mesh units.
#[derive(Clone, Debug, Default)]
pub struct MethodRow {
    /// Name of the method.
    pub method: String,
    /// Error on the training poses.
    pub train: Option<f32>,
    /// Error on the held-out poses.
    pub held_out: Option<f32>,
    /// Size of the model, bytes.
    pub model_bytes: Option<u64>,
    /// Time to fit, seconds.
    pub fit_seconds: Option<f32>,
    /// Speed of evaluation.
    pub vertices_per_second: Option<f32>,
    /// Remark, may be empty.
    pub note: String,
}

/// A vertex with a large error.
#[derive(Clone, Debug)]
pub struct WorstVertex {
    /// Index in the rest mesh.
    pub vertex: u32,
    /// Its strongest bone; may be empty.
    pub bone: String,
    /// Where it happens.
    pub pose: PoseRef,
    /// Distance from the target, mesh units.
    pub error: f32,
}

/// A table of anything. Rows shorter than `columns` end in empty cells, longer ones are cut.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Heading of its section.
    pub title: String,
    /// Explanation beneath the heading; may be empty.
    pub note: String,
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Vec<Value>>,
}

/// Where the numbers come from.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// Program and version, e.g. "dermis 0.1.0".
    pub program: String,
    /// Date and time, as the caller wants it read; left out when `None`, so that the same run gives the same file.
    pub date: Option<String>,
    /// The command line.
    pub command: Option<String>,
    /// Files that were read or written.
    pub files: Vec<FileStamp>,
}

/// One file of the [`Provenance`].
#[derive(Clone, Debug)]
pub struct FileStamp {
    /// e.g. "rig", "examples", "model"
    pub role: String,
    /// As the user named it.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Hash with its kind, e.g. "sha256:…"; may be empty.
    pub hash: String,
}

/// The page as HTML text, to be written to one file.
///
/// It always gives a page: frames whose vertex count differs from the mesh's and triangles that name a vertex that is
/// not there are left out, and the page says so among its warnings. The same `page` gives the same bytes.
pub fn render(page: &Page) -> String {
    html::whole_page(page)
}
