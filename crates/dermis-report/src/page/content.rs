//! What a page shows, computed by the caller.

use super::quantity::Quantity;
use super::rig::RigView;
use super::skins::SkinView;
use crate::length::LengthUnit;

/// Everything on the page. Empty parts leave no trace: no heading, no empty table.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// First heading, also the title of the browser tab.
    pub title: String,
    /// One line beneath it, e.g. "human: mwe fitted on exercise (96 poses), scored on walk (20 frames)".
    pub subtitle: String,
    /// The one sentence to take away.
    pub verdict: Option<PageVerdict>,
    /// Whether a demand is met; stands before the verdict.
    pub pass: Option<PageVerdict>,
    /// Shown prominently, one item each.
    pub warnings: Vec<PageWarning>,
    /// How lengths are shown.
    pub unit: LengthUnit,
    /// Short name of the model in charts and in the 3D view, e.g. "mwe"; "model" when empty.
    pub model_name: String,
    /// Short name of what it is compared with, e.g. "lbs"; "baseline" when empty.
    pub baseline_name: String,
    /// Key figures, most important first.
    pub figures: Vec<KeyFigure>,
    /// The skins in 3D.
    pub view: Option<SkinView>,
    /// The rig in 3D: weights, maps, symmetry, islands, joints.
    pub rig: Option<RigView>,
    /// Errors per pose: of the training set, of the held-out set, or of what was scored.
    pub sets: Vec<ScoredSet>,
    /// The vertices with the largest errors, worst first.
    pub worst: Vec<WorstVertexRow>,
    /// Methods on the same bench.
    pub comparison: Vec<MethodRow>,
    /// How the regularisation was chosen.
    pub sweep: Option<StrengthSweep>,
    /// Other tables, e.g. errors per bone or joints beyond their limits.
    pub tables: Vec<PageTable>,
    /// Key and value of every setting, defaults included.
    pub settings: Vec<(String, String)>,
    /// Where the numbers come from.
    pub provenance: Provenance,
}

/// A sentence and how to feel about it.
#[derive(Clone, Debug)]
pub struct PageVerdict {
    /// The sentence.
    pub text: String,
    /// Its colour and mark.
    pub tone: Tone,
}

/// Something the reader should know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageWarning {
    /// The sentence. The label of its pose stands in it in double quotes.
    pub text: String,
    /// The pose that it is about: its label becomes a link to the 3D view.
    pub pose: Option<PoseRef>,
}

impl From<String> for PageWarning {
    fn from(text: String) -> Self {
        Self { text, pose: None }
    }
}

impl From<&str> for PageWarning {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// How to feel about a [`PageVerdict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
pub struct KeyFigure {
    /// e.g. "Held-out error"
    pub label: String,
    /// The number.
    pub value: Quantity,
    /// Small print, e.g. "rms over 20 frames"; may be empty.
    pub note: String,
}

/// The validated choice of a regularisation strength.
#[derive(Clone, Debug)]
pub struct StrengthSweep {
    /// Strengths in increasing order. The axis is logarithmic, so the chart leaves out strengths that are not positive.
    pub points: Vec<SweptStrength>,
    /// The strength of the model.
    pub chosen_s: f32,
    /// How it was validated: "leave-one-out", "blocks of frames".
    pub what: String,
}

/// One strength of a [`StrengthSweep`].
#[derive(Clone, Copy, Debug)]
pub struct SweptStrength {
    /// Regularisation strength.
    pub s: f32,
    /// Error on the poses that were fitted, mesh units.
    pub train_rms: f32,
    /// Error on the poses left out, mesh units.
    pub validated_rms: f32,
}

/// Scores of one set of poses.
#[derive(Clone, Debug)]
pub struct ScoredSet {
    /// e.g. "training", "held out"
    pub name: String,
    /// In the order of the set, so that a clip reads as a curve.
    pub poses: Vec<ScoredPose>,
}

/// Scores of one pose. Lengths are in mesh units. The page hides a column that no pose of a set fills.
#[derive(Clone, Debug, Default)]
pub struct ScoredPose {
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

/// A pose of the page: index into [`Page::sets`], index into [`ScoredSet::poses`].
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
pub struct WorstVertexRow {
    /// Index in the rest mesh.
    pub vertex: u32,
    /// Its strongest bone; may be empty.
    pub bone: String,
    /// Where it happens.
    pub pose: PoseRef,
    /// Distance from the target, mesh units.
    pub error: f32,
}

/// A table of any quantities. Rows shorter than `columns` end in empty cells, longer ones are cut.
#[derive(Clone, Debug, Default)]
pub struct PageTable {
    /// Heading of its section.
    pub title: String,
    /// Explanation beneath the heading; may be empty.
    pub note: String,
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Vec<Quantity>>,
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
