//! Skinning decomposition of files: a mesh sequence in, bones, weights and the clip that plays it out.
//!
//! [`load_sequences`] reads, [`solve`] finds bones and weights, [`write_decomposition`] writes them and measures what it wrote: the
//! errors are those of the file, read back and skinned, and owe nothing to the solver.

pub mod error;
pub(crate) mod recipe;
mod write;

pub use dermis_files::sequence::{SequenceOptions, Sequences, Take, load_sequences};
pub use write::{Decomposed, check_ending, write_decomposition};

use crate::error::Error;
use crate::load::{FileNote, ReadOptions};
use crate::recipe::{Input, within};
use dermis_files::sequence::{load_given_bones, load_given_weights};
use dermis_fit::Progress;
use dermis_fit::decompose::{
    Bandwidth, BoneKind, ClusteringSettings, DecomposeReport, DecomposeSettings, Decomposition, Effort, Hierarchy,
    Sequence, Task, cluster, decompose, hierarchy, rotation_only, without_outliers,
};
use dermis_rig::clock::Instant;
use dermis_rig::glam::{DAffine3, DMat3};
use dermis_rig::{BoneTransforms, Influences, Skeleton};
use serde::{Deserialize, Serialize};

/// How bones and weights are found, with the settings that serve it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecompositionMethod {
    /// Growing, eliminating and alternating: least error.
    Search(SearchOptions),
    /// Triangles that turn together (James & Twigg 2005).
    Clustering(ClusteringOptions),
    /// Weights for the bones of a file that has a pose for every frame.
    GivenBones(GivenBonesOptions),
    /// Bones for the weights of a file.
    GivenWeights(GivenWeightsOptions),
    /// Both, from the weights of a file.
    Refine(RefineOptions),
}

/// Settings of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SearchOptions {
    /// How many bones; with `max_error`, how many there may be.
    pub bones: usize,
    /// The rms distance that as few bones as possible are to reach, metres.
    #[serde(default)]
    pub max_error: Option<f64>,
    /// Which transforms a bone may have.
    #[serde(default)]
    pub kind: BoneKind,
    /// Influences per vertex at most.
    #[serde(default = "default_influences")]
    pub influences: usize,
    /// How long to search.
    #[serde(default)]
    pub effort: Effort,
    /// Seed of the search.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// The rms distance at which the search may stop, metres.
    #[serde(default)]
    pub stop_at: Option<f64>,
    /// The strength λ that draws weights to those of their neighbours.
    #[serde(default)]
    pub smooth: Option<f64>,
}

/// Settings of a clustering.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClusteringOptions {
    /// How many bones.
    pub bones: ClusteredBones,
    /// Which transforms a bone may have.
    #[serde(default)]
    pub kind: BoneKind,
    /// Influences per vertex at most.
    #[serde(default = "default_influences")]
    pub influences: usize,
}

/// How many bones a clustering makes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClusteredBones {
    /// So many.
    Number(usize),
    /// As many as triangles turn apart by so much: the root mean square over frames of |R − R'|, √8 at a half turn.
    Bandwidth(f64),
}

/// Settings of weights for given bones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GivenBonesOptions {
    /// The file with the bones and their motion.
    pub bones: Input,
    /// Influences per vertex at most.
    #[serde(default = "default_influences")]
    pub influences: usize,
    /// Seed of the compression of long sequences.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// The strength λ that draws weights to those of their neighbours.
    #[serde(default)]
    pub smooth: Option<f64>,
}

/// Settings of bones for given weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GivenWeightsOptions {
    /// The file with the weights.
    pub weights: Input,
    /// Which transforms a bone may have.
    #[serde(default)]
    pub kind: BoneKind,
    /// Seed of the compression of long sequences.
    #[serde(default = "default_seed")]
    pub seed: u64,
}

/// Settings of a refinement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RefineOptions {
    /// The file with the weights it begins with.
    pub start: Input,
    /// Vertices whose weights stay.
    #[serde(default)]
    pub frozen: Vec<usize>,
    /// Which transforms a bone may have.
    #[serde(default)]
    pub kind: BoneKind,
    /// Influences per vertex at most.
    #[serde(default = "default_influences")]
    pub influences: usize,
    /// Seed of the compression of long sequences.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// The strength λ that draws weights to those of their neighbours.
    #[serde(default)]
    pub smooth: Option<f64>,
}

fn default_influences() -> usize {
    DecomposeSettings::default().influences
}

fn default_seed() -> u64 {
    DecomposeSettings::default().seed
}

impl DecompositionMethod {
    /// The file it is given, if there is one.
    pub fn given(&self) -> Option<&Input> {
        match self {
            Self::Search(_) | Self::Clustering(_) => None,
            Self::GivenBones(options) => Some(&options.bones),
            Self::GivenWeights(options) => Some(&options.weights),
            Self::Refine(options) => Some(&options.start),
        }
    }

    /// Which transforms a bone may have; `None` if they are given.
    pub fn kind(&self) -> Option<BoneKind> {
        match self {
            Self::Search(options) => Some(options.kind),
            Self::Clustering(options) => Some(options.kind),
            Self::GivenBones(_) => None,
            Self::GivenWeights(options) => Some(options.kind),
            Self::Refine(options) => Some(options.kind),
        }
    }

    /// The strength that draws weights to those of their neighbours.
    pub fn smooth(&self) -> Option<f64> {
        match self {
            Self::Search(options) => options.smooth,
            Self::GivenBones(options) => options.smooth,
            Self::Refine(options) => options.smooth,
            Self::Clustering(_) | Self::GivenWeights(_) => None,
        }
    }

    /// Refuses settings out of range, and a tie that the bones cannot have.
    pub(crate) fn check(&self, tie: Tie) -> Result<(), Error> {
        let positive = |setting, value| within(setting, value, f64::MIN_POSITIVE, f64::MAX);
        if let Some(BoneKind::NearRigid { stiffness }) = self.kind() {
            positive("near-rigid", stiffness)?;
        }
        if let Some(strength) = self.smooth() {
            positive("smooth", strength)?;
        }
        match self {
            Self::Search(SearchOptions { max_error: Some(_), stop_at: Some(_), .. }) => {
                return Err(error::Error::TwoEndings.into());
            }
            Self::Search(SearchOptions { max_error: Some(rms), .. }) => positive("max-error", *rms)?,
            Self::Search(SearchOptions { stop_at: Some(rms), .. }) => positive("stop-at", *rms)?,
            Self::Clustering(ClusteringOptions { bones: ClusteredBones::Bandwidth(h), .. }) => {
                positive("bandwidth", *h)?;
            }
            _ => {}
        }
        match (tie, self.kind()) {
            (Tie::None, _) | (_, Some(BoneKind::Rigid)) => Ok(()),
            (_, None) => Err(error::Error::TiedGivenBones.into()),
            (_, Some(_)) => Err(error::Error::TiedShear.into()),
        }
    }
}

/// What ties bones together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// Nothing: every bone is a root.
    #[default]
    None,
    /// A tree of bones, each with its joint; they move as freely as before.
    Tree,
    /// A tree whose bones turn about their joints and do nothing else; the root moves.
    Rotations,
}

/// Bones and weights as found, before they are written.
#[derive(Clone, Debug)]
pub struct Solved {
    weights: Influences,
    transforms: Vec<BoneTransforms>,
    /// What happened.
    pub report: DecomposeReport,
    tree: Option<Hierarchy>,
    given: Option<Skeleton>,
    /// Root mean square error with free bones, if they were tied to rotations after, metres.
    pub free_rms: Option<f64>,
    /// Bones that share no skin with the others, in a tree.
    pub detached: usize,
    /// Seconds of the solve, files not counted.
    pub seconds: f64,
    /// Other files read.
    pub notes: Vec<FileNote>,
}

/// Finds bones and weights of a sequence.
///
/// # Errors
/// [`Error`]: given files that do not fit, settings that do not go together, [`Error::Cancelled`].
pub fn solve(
    sequences: &Sequences,
    method: &DecompositionMethod,
    tie: Tie,
    read: &ReadOptions,
    progress: Progress<'_>,
) -> Result<Solved, Error> {
    method.check(tie)?;
    let frames = sequences.frames();
    let sequence = Sequence { rest: &sequences.mesh.positions, frames: &frames, triangles: &sequences.mesh.triangles };
    let defaults = DecomposeSettings { smooth: method.smooth(), ..DecomposeSettings::default() };
    let searched = |task, settings| Ok::<_, Error>(decompose(&sequence, &task, &settings, progress)?);
    let (mut given, mut notes) = (None, Vec::new());
    let start;
    let found: Decomposition = match method {
        DecompositionMethod::Search(options) => {
            let SearchOptions { bones, max_error, kind, influences, effort, seed, stop_at: enough, smooth } = *options;
            let task = max_error.map_or(Task::Search { bones }, |error| Task::Fewest { error, most: bones });
            start = Instant::now();
            searched(task, DecomposeSettings { kind, influences, effort, seed, enough, smooth })?
        }
        DecompositionMethod::Clustering(options) => {
            let bandwidth = match options.bones {
                ClusteredBones::Number(bones) => Bandwidth::For { bones },
                ClusteredBones::Bandwidth(h) => Bandwidth::Given(h),
            };
            let settings = ClusteringSettings { bandwidth, kind: options.kind, influences: options.influences };
            start = Instant::now();
            cluster(&sequence, &settings, progress)?
        }
        DecompositionMethod::GivenBones(options) => {
            let (skeleton, transforms, note) = load_given_bones(&options.bones.file, sequences, read)?;
            given = Some(skeleton);
            notes.push(note);
            let (influences, seed) = (options.influences, options.seed);
            start = Instant::now();
            searched(Task::Weights { transforms: &transforms }, DecomposeSettings { influences, seed, ..defaults })?
        }
        DecompositionMethod::GivenWeights(options) => {
            let (skeleton, weights, note) = load_given_weights(&options.weights.file, sequences, read)?;
            given = Some(skeleton);
            notes.push(note);
            let (kind, seed) = (options.kind, options.seed);
            start = Instant::now();
            searched(Task::Transforms { weights: &weights }, DecomposeSettings { kind, seed, ..defaults })?
        }
        DecompositionMethod::Refine(options) => {
            let (skeleton, weights, note) = load_given_weights(&options.start.file, sequences, read)?;
            given = Some(skeleton);
            notes.push(note);
            let (kind, influences, seed) = (options.kind, options.influences, options.seed);
            let task = Task::Refine { weights: &weights, frozen: &options.frozen };
            start = Instant::now();
            searched(task, DecomposeSettings { kind, influences, seed, ..defaults })?
        }
    };
    let Decomposition { weights, mut transforms, report } = found;
    if let Some(skeleton) = &given {
        carry_unused(skeleton, &mut transforms);
    }
    let (mut tree, mut free_rms) = (None, None);
    if tie != Tie::None {
        let made = hierarchy(sequence.rest, &weights, &transforms)?;
        if tie == Tie::Rotations {
            free_rms = Some(report.mean_square.sqrt());
            let mended = without_outliers(&sequence, &report.outliers, &weights, &transforms);
            let given = frames.iter().enumerate();
            let frames: Vec<_> = given.map(|(at, frame)| mended.get(&at).map_or(*frame, Vec::as_slice)).collect();
            transforms =
                rotation_only(&Sequence { frames: &frames, ..sequence }, &weights, &transforms, &made, progress)?;
        }
        tree = Some(made);
        given = None;
    }
    let detached = tree.as_ref().map_or(0, |t| t.detached);
    let seconds = start.elapsed().as_secs_f64();
    Ok(Solved { weights, transforms, report, tree, given, free_rms, detached, seconds, notes })
}

/// Bones of a given skeleton beyond those that weights name go with their parents.
fn carry_unused(skeleton: &Skeleton, transforms: &mut [BoneTransforms]) {
    for pose in transforms {
        let mut all = pose.to_vec();
        for bone in skeleton.bones().skip(all.len()) {
            all.push(skeleton.parents()[bone].map_or(DAffine3::IDENTITY, |parent| all[parent.get()]));
        }
        *pose = BoneTransforms::new(all);
    }
}

/// Whether translation, rotation and scale of one node express all transforms: rotations, to rounding.
fn are_rigid(transforms: &[BoneTransforms]) -> bool {
    transforms.iter().flat_map(|pose| pose.iter()).all(|m| {
        (m.matrix3.transpose() * m.matrix3).abs_diff_eq(DMat3::IDENTITY, 1e-6) && m.matrix3.determinant() > 0.0
    })
}
