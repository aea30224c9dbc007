//! Skinning decomposition: bones and weights from a bare mesh sequence.
//!
//! Given rest positions p_v (V) and frames x_sv (P), find weights w_vk ≥ 0 (rows sum to one, at most K entries) and transforms
//! T_sk with small E = Σ |x_sv − Σ_k w_vk T_sk p_v|².
//!
//! The rest shape is given and never optimised: a frame equal to it has identity transforms.

pub mod bone_maps;
pub mod clustering;
pub mod hierarchy;
mod lanes;
mod matrix;
mod problem;
mod run;
mod sample;
mod search;
mod support;
mod transforms;
mod weights;

pub use clustering::{Bandwidth, ClusteringError, ClusteringSettings, cluster};
pub use hierarchy::{Hierarchy, hierarchy, rotation_only};
pub use run::decompose;

use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Influences};

/// A mesh that moves: what there is to decompose. The frames of several clips of one mesh follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Sequence<'a> {
    /// Rest positions, metres.
    pub rest: &'a [DVec3],
    /// Every frame's positions, as many as at rest.
    pub frames: &'a [&'a [DVec3]],
}

/// What a bone may do to the skin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum BoneKind {
    /// Turn and move. What every engine plays.
    #[default]
    Rigid,
    /// Any affine map, held near a rotation by λ Σ_v w_vk² |A_sk − R_sk|²; A_sk then rarely mirrors or shears much.
    NearRigid {
        /// λ, in squared half diagonals.
        stiffness: f64,
    },
    /// Any affine map.
    Affine,
}

/// What is wanted, and what is given.
#[derive(Clone, Copy, Debug)]
pub enum Task<'a> {
    /// Bones and weights from nothing.
    Search {
        /// How many bones.
        bones: usize,
    },
    /// Weights for bones whose transforms are known, one pose per frame.
    Weights {
        /// The transforms.
        transforms: &'a [BoneTransforms],
    },
    /// Weights for bones whose transforms are known and for a few more bones that are found: rigid, whatever the kind
    /// asked for. The known bones come first in what is delivered.
    Helpers {
        /// The transforms of the known bones.
        transforms: &'a [BoneTransforms],
        /// How many bones are found besides.
        helpers: usize,
    },
    /// Transforms for weights that are known.
    Transforms {
        /// The weights.
        weights: &'a Influences,
    },
    /// Both, from weights that are roughly known.
    Refine {
        /// Where to start.
        weights: &'a Influences,
        /// Vertices whose weights stay as they are.
        frozen: &'a [usize],
    },
}

/// How hard to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// The error of a good solution within seconds.
    #[default]
    Fast,
    /// A few percent less, for several times the time.
    Quality,
}

/// Settings of a decomposition.
#[derive(Clone, Copy, Debug)]
pub struct DecomposeSettings {
    /// What a bone may do.
    pub kind: BoneKind,
    /// K: the most influences of a vertex.
    pub influences: usize,
    /// How hard to look.
    pub effort: Effort,
    /// Seed of the sample and of the candidates for new bones.
    pub seed: u64,
    /// The rms distance, metres, at which a search for bones may stop.
    pub enough: Option<f64>,
}

impl Default for DecomposeSettings {
    fn default() -> Self {
        Self { kind: BoneKind::Rigid, influences: 4, effort: Effort::Fast, seed: 1, enough: None }
    }
}

/// Bones and weights that reproduce a sequence.
#[derive(Clone, Debug)]
pub struct Decomposition {
    /// Weights: at most K a vertex, none negative, rows sum to one.
    pub weights: Influences,
    /// T_sk: one set of transforms per frame, rest to posed.
    pub transforms: Vec<BoneTransforms>,
    /// What happened.
    pub report: DecomposeReport,
}

/// Why a decomposition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The error no longer fell.
    Converged,
    /// The error was as small as asked for.
    Enough,
    /// The most iterations were used.
    IterationLimit,
    /// The sequence is reproduced to rounding.
    Exact,
}

/// What a decomposition went through.
#[derive(Clone, Debug, PartialEq)]
pub struct DecomposeReport {
    /// Bones asked for.
    pub bones_requested: usize,
    /// Bones found; fewer than asked for only with `fewer_because`.
    pub bones: usize,
    /// Why there are fewer bones than asked for.
    pub fewer_because: Option<String>,
    /// Iterations over the whole mesh.
    pub iterations: usize,
    /// Why it ended.
    pub stopped: Stopped,
    /// E / (V P) at the end, squared metres.
    pub mean_square: f64,
}

/// Why a sequence cannot be decomposed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecomposeError {
    /// Nothing to work on.
    #[error(
        "a decomposition needs at least one vertex, one frame, one bone and one influence; there are {vertices} vertices, {frames} frames, {bones} bones, {influences} influences"
    )]
    Empty {
        /// Vertices.
        vertices: usize,
        /// Frames.
        frames: usize,
        /// Bones asked for.
        bones: usize,
        /// Influences allowed.
        influences: usize,
    },
    /// More bones than a search ends with in bounded time.
    #[error("{bones} bones: a search finds {most} at most")]
    TooMany {
        /// Bones asked for.
        bones: usize,
        /// The most that may be.
        most: usize,
    },
    /// A frame with another number of vertices, or given parts that do not fit.
    #[error("{what}: {found}, but there are {expected}")]
    Counts {
        /// Which part.
        what: &'static str,
        /// How many it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// A number that is NaN or infinite.
    #[error("{place}: vertex {vertex} is not finite")]
    NotFinite {
        /// The rest shape, or which frame.
        place: String,
        /// The vertex.
        vertex: usize,
    },
    /// A given transform that is NaN or infinite.
    #[error("frame {frame}: the given transform of bone {bone} is not finite")]
    Transform {
        /// The frame.
        frame: usize,
        /// The bone.
        bone: usize,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}
