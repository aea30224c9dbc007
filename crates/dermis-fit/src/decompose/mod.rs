//! Skinning decomposition: bones and weights from a bare mesh sequence.
//!
//! Given rest positions p_v (V) and frames x_sv (P), find weights w_vk ≥ 0 (rows sum to one, at most K entries) and transforms
//! T_sk with small
//!
//! ```text
//! E = Σ_sv |x_sv − Σ_k w_vk T_sk p_v|².
//! ```
//!
//! The rest shape is given and never optimised: a frame equal to it has identity transforms.
//!
//! **No frame is read twice.** The trajectories are compressed once. Everything after that uses Gram matrices: weights
//! through H = p̃ G p̃ᵀ, transforms through S = Φᵀ Φ and Q = Φᵀ X. An iteration costs the same for ten frames and for ten
//! thousand, except that rigid transforms are solved frame by frame. The hot loops run on vector registers
//! ([`dermis_solve::simd`]): vertices, bones or frames side by side.
//!
//! | module | idea |
//! |---|---|
//! | `problem` | the sequence in the solver's units, compressed |
//! | `gram` | inner products of the compressed transforms |
//! | `weights` | weights on a fixed support; support exchange; candidates for new bones; what a bone is worth |
//! | `transforms` | transforms on fixed weights: affine, near-rigid and rigid |
//! | `smooth` | weights drawn to those of their neighbours on the surface |
//! | `outliers` | positions that no skin can have, and the sequence without them |
//! | `ties` | choices that rounding must not make |
//! | `search`, `run`, `fewest` | grow, settle, eliminate, finish; one function per [`Task`] |
//! | [`hierarchy`](mod@hierarchy), [`clustering`], [`bone_maps`] | a skeleton for the bones; bones without weights; one bone alone |
//!
//! Source: Le & Deng 2012, "Smooth skinning decomposition with rigid bones": block descent on E, weights given transforms and
//! transforms given weights, with their closed form for one rigid bone while the others stay (equations 7 to 10).
//!
//! Departures:
//! - Every sum over frames goes through compressed trajectories, which are exact up to 160 columns and a randomised basis
//!   beyond (Halko, Martinsson & Tropp 2011).
//! - The best affine map of each frame is taken out first.
//! - Weights are minimised on the simplex, and bones enter, leave and are exchanged by what each change gains. The
//!   paper solves for all bones and keeps the largest K.
//! - The search starts from one bone, grows twice as many bones as asked for where the error is, and eliminates the least
//!   useful. The paper starts from clusters of the motion ([`clustering`] is another method).
//! - Iterations on the whole mesh extrapolate with momentum. A step that raises E is replaced by the plain one.
//! - Positions far from all their neighbours are set aside first ([`Outlier`]).
//! - Bones may be affine or near-rigid ([`BoneKind`]), and weights, transforms or some of the bones may be given ([`Task`]).

pub mod bone_maps;
pub mod clustering;
mod fewest;
mod gram;
pub mod hierarchy;
mod matrix;
mod outliers;
mod problem;
mod run;
mod sample;
mod search;
mod smooth;
mod ties;
mod transforms;
mod weights;

pub use clustering::{Bandwidth, ClusteringError, ClusteringSettings, cluster};
pub use hierarchy::{Hierarchy, hierarchy, rotation_only};
pub use outliers::{Outlier, without_outliers};
pub use run::decompose;

use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Influences};

/// A mesh that moves. Frames of several clips of one mesh follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Sequence<'a> {
    /// Rest positions, metres.
    pub rest: &'a [DVec3],
    /// The positions of every frame, metres; as many as at rest.
    pub frames: &'a [&'a [DVec3]],
    /// The triangles of the surface: what [`DecomposeSettings::smooth`] looks at, and the search for [outliers](Outlier).
    pub triangles: &'a [[u32; 3]],
}

/// Which transforms a bone may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoneKind {
    /// Rotation and translation, which every engine plays.
    #[default]
    Rigid,
    /// Any affine map, held near a rotation by λ Σ_v w_vk² |A_sk − R_sk|², so that A_sk rarely mirrors or shears much.
    NearRigid {
        /// λ, in squared half diagonals.
        stiffness: f64,
    },
    /// Any affine map.
    Affine,
}

/// What is given, and what the decomposition finds.
#[derive(Clone, Copy, Debug)]
pub enum Task<'a> {
    /// Bones and weights from nothing.
    Search {
        /// How many bones.
        bones: usize,
    },
    /// As few bones as bring the rms distance to an error, and their weights.
    Fewest {
        /// The rms distance, metres.
        error: f64,
        /// The most bones there may be.
        most: usize,
    },
    /// Weights for bones whose transforms are known, one pose per frame.
    Weights {
        /// The transforms.
        transforms: &'a [BoneTransforms],
    },
    /// Weights for bones whose transforms are known, and a few more bones with theirs. The new bones are rigid whatever
    /// [`DecomposeSettings::kind`] says. In the result the known bones come first.
    Helpers {
        /// The transforms of the known bones.
        transforms: &'a [BoneTransforms],
        /// How many bones are added.
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

/// How long to search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// The error of a good solution within seconds.
    #[default]
    Fast,
    /// An error lower by a few percent, for several times the time; never above that of [`Effort::Fast`].
    Quality,
}

/// Settings of a decomposition.
#[derive(Clone, Copy, Debug)]
pub struct DecomposeSettings {
    /// Which transforms a bone may have.
    pub kind: BoneKind,
    /// K: the most influences of a vertex.
    pub influences: usize,
    /// How long to search.
    pub effort: Effort,
    /// Seed of the sample and of the candidates for new bones.
    pub seed: u64,
    /// The rms distance, metres, at which a search for bones may stop.
    pub enough: Option<f64>,
    /// λ of weights that are smooth over the surface: the objective of Dem Bones, whose default is 1e-4. With `None` only the
    /// error counts.
    pub smooth: Option<f64>,
}

impl Default for DecomposeSettings {
    fn default() -> Self {
        Self { kind: BoneKind::Rigid, influences: 4, effort: Effort::Fast, seed: 1, enough: None, smooth: None }
    }
}

/// Bones and weights that reproduce a sequence.
#[derive(Clone, Debug)]
pub struct Decomposition {
    /// Weights: at most K a vertex, none negative, rows sum to one.
    pub weights: Influences,
    /// T_sk: one set of transforms per frame, rest to posed.
    pub transforms: Vec<BoneTransforms>,
    /// What the decomposition went through.
    pub report: DecomposeReport,
}

/// Why a decomposition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The error no longer fell.
    Converged,
    /// The error reached [`DecomposeSettings::enough`].
    Enough,
    /// The cap on iterations was reached.
    IterationLimit,
    /// The sequence is reproduced to rounding: within 1e-6 of half the extent, root mean square, and 1e-5 at every position. Never where some were
    /// set aside.
    Exact,
}

/// What a decomposition went through.
#[derive(Clone, Debug, PartialEq)]
pub struct DecomposeReport {
    /// Bones asked for.
    pub bones_requested: usize,
    /// Bones found. If there are fewer than asked for, `fewer_because` says why.
    pub bones: usize,
    /// Why there are fewer bones than asked for.
    pub fewer_because: Option<String>,
    /// Iterations over the whole mesh.
    pub iterations: usize,
    /// Why it ended.
    pub stopped: Stopped,
    /// E / (V P) at the end, squared metres. Outliers count as reproduced.
    pub mean_square: f64,
    /// The mean over vertices of |w_v − ŵ_v|², how far weights are from the mean of their neighbours. With
    /// [`DecomposeSettings::smooth`].
    pub roughness: Option<f64>,
    /// With [`Task::Fewest`]: the largest number of bones tried that leaves a larger error than asked for, and its mean square.
    pub too_few: Option<(usize, f64)>,
    /// Positions that were set aside, by frame and then by vertex.
    pub outliers: Vec<Outlier>,
}

/// Why a sequence cannot be decomposed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecomposeError {
    /// No vertices, frames, bones or influences.
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
    /// Weights that the search computed are NaN or infinite.
    #[error("the weights of the decomposition: {0}")]
    Weights(dermis_rig::InfluenceError),
    /// Smooth weights for a sequence without a surface.
    #[error("smooth weights need the triangles of the surface")]
    NoSurface,
    /// An error that the most bones allowed do not reach.
    #[error("{bones} bones, the most allowed, leave an rms error of {left:.3e} m: {asked:.3e} m was asked for")]
    OutOfReach {
        /// The most bones.
        bones: usize,
        /// Their rms error, metres.
        left: f64,
        /// The error asked for, metres.
        asked: f64,
    },
    /// More bones than a search can find in bounded time.
    #[error("{bones} bones: a search finds {most} at most")]
    TooMany {
        /// Bones asked for.
        bones: usize,
        /// The most that may be.
        most: usize,
    },
    /// A frame with another number of vertices, or given parts of another size.
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
