//! Skinning decomposition of files: a mesh sequence in, bones, weights and the clip that plays it out.
//!
//! [`load_sequences`] reads, [`solve`] finds bones and weights, [`deliver`] writes them and measures what it wrote: the
//! errors are those of the file, read back and skinned, and owe nothing to the solver.

mod affine_nodes;
mod given;
mod sequence;
mod write;

pub use sequence::{SequenceOptions, Sequences, Take, load_sequences};
pub use write::{Decomposed, deliver, is_written};

use crate::error::Error;
use crate::load::{FileNote, ReadOptions, Source};
use dermis_fit::Progress;
use dermis_fit::decompose::{
    Bandwidth, BoneKind, ClusteringError, ClusteringSettings, DecomposeError, DecomposeReport, DecomposeSettings,
    Decomposition, Hierarchy, Sequence, Task, cluster, decompose, hierarchy, rotation_only,
};
use dermis_rig::glam::{DAffine3, DMat3};
use dermis_rig::{BoneTransforms, Influences, Skeleton};
use std::time::Instant;

/// What is wanted of a decomposition.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// So many bones, and their weights.
    Bones(usize),
    /// As many bones as triangles turn apart, by this bandwidth (clustering).
    Bandwidth(f64),
    /// Weights for the bones of a file that has a pose for every frame.
    Weights(Source),
    /// Bones for the weights of a file.
    Transforms(Source),
    /// Both, from the weights of a file; those of some vertices stay.
    Refine {
        /// The file.
        start: Source,
        /// Vertices whose weights stay.
        frozen: Vec<usize>,
    },
}

/// How bones are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Growing, eliminating and alternating: least error.
    #[default]
    Search,
    /// Triangles that turn together.
    Clustering,
}

/// What ties bones together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tie {
    /// Nothing: every bone is a root.
    #[default]
    None,
    /// A tree of bones, each with its joint; they move as freely as before.
    Tree,
    /// A tree whose bones turn about their joints and do nothing else; the root moves.
    Rotations,
}

/// Options of [`solve`].
#[derive(Clone, Debug)]
pub struct Options {
    /// What is wanted.
    pub wanted: Wanted,
    /// How bones are looked for.
    pub method: Method,
    /// Kind of bones, influences, effort, seed.
    pub settings: DecomposeSettings,
    /// What ties bones together.
    pub tie: Tie,
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
/// [`Error`]: given files that do not fit, options that do not go together, [`Error::Cancelled`].
pub fn solve(
    sequences: &Sequences,
    options: &Options,
    read: &ReadOptions,
    progress: Progress<'_>,
) -> Result<Solved, Error> {
    if options.tie != Tie::None && options.settings.kind != BoneKind::Rigid {
        return Err(Error::Option("a skeleton needs rigid bones: leave --affine or --near-rigid out".into()));
    }
    let frames = sequences.frames();
    let sequence = Sequence { rest: &sequences.mesh.positions, frames: &frames };
    let mut notes = Vec::new();
    let (mut given, mut given_transforms, mut given_weights) = (None, None, None);
    match &options.wanted {
        Wanted::Weights(source) => {
            let (skeleton, transforms, note) = given::bones(source, sequences, read)?;
            (given, given_transforms) = (Some(skeleton), Some(transforms));
            notes.push(note);
        }
        Wanted::Transforms(source) | Wanted::Refine { start: source, .. } => {
            let (skeleton, weights, note) = given::weights(source, sequences, read)?;
            (given, given_weights) = (Some(skeleton), Some(weights));
            notes.push(note);
        }
        Wanted::Bones(_) | Wanted::Bandwidth(_) => {}
    }
    let start = Instant::now();
    let clustered = |bandwidth| {
        let DecomposeSettings { kind, influences, .. } = options.settings;
        let settings = ClusteringSettings { bandwidth, kind, influences };
        cluster(&sequence, &sequences.mesh.triangles, &settings, progress).map_err(|e| match e {
            ClusteringError::Sequence(error) => failed(error),
            other => Error::Option(other.to_string()),
        })
    };
    let searched = |task| decompose(&sequence, &task, &options.settings, progress).map_err(failed);
    let found: Decomposition = match (&options.wanted, &given_transforms, &given_weights) {
        (Wanted::Bones(bones), ..) if options.method == Method::Clustering => {
            clustered(Bandwidth::For { bones: *bones })?
        }
        (Wanted::Bandwidth(h), ..) => clustered(Bandwidth::Given(*h))?,
        (Wanted::Bones(bones), ..) => searched(Task::Search { bones: *bones })?,
        (Wanted::Refine { frozen, .. }, _, Some(weights)) => searched(Task::Refine { weights, frozen })?,
        (_, Some(transforms), _) => searched(Task::Weights { transforms })?,
        (_, _, Some(weights)) => searched(Task::Transforms { weights })?,
        _ => return Err(Error::Option("nothing is wanted".into())),
    };
    let Decomposition { weights, mut transforms, report } = found;
    if let Some(skeleton) = &given {
        carry_unused(skeleton, &mut transforms);
    }
    let (mut tree, mut free_rms) = (None, None);
    if options.tie != Tie::None {
        let made = hierarchy(sequence.rest, &weights, &transforms).map_err(|e| Error::Option(e.to_string()))?;
        if options.tie == Tie::Rotations {
            free_rms = Some(report.mean_square.sqrt());
            transforms = rotation_only(&sequence, &weights, &transforms, &made, progress)?;
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

fn failed(error: DecomposeError) -> Error {
    match error {
        DecomposeError::Cancelled => Error::Cancelled,
        other => Error::Option(other.to_string()),
    }
}

/// Whether translation, rotation and scale of one node express all transforms: rotations, to rounding.
fn are_rigid(transforms: &[BoneTransforms]) -> bool {
    transforms.iter().flat_map(|pose| pose.iter()).all(|m| {
        (m.matrix3.transpose() * m.matrix3).abs_diff_eq(DMat3::IDENTITY, 1e-6) && m.matrix3.determinant() > 0.0
    })
}
