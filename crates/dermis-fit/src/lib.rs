//! Models that are learnt from examples.
//!
//! - [`joints`]: the joint model, driven by joint rotations, of constant cost and bounded
//! - [`mwe`]: multi-weight enveloping, the published form to the letter and the form that keeps its promises
//! - [`animation_space`]: coefficients shared by the three axes, equivariant as they stand
//! - [`psd`]: pose-space deformation, displacements interpolated over the pose
//! - [`rotational_regression`]: triangles that turn with joints, beyond a half turn
//! - [`decompose`]: bones and weights from a bare mesh sequence
//! - [`heat`]: skinning weights without examples, by heat spreading from the bones
//! - [`scans`]: skinning weights from scans without correspondence
//! - [`surface`]: closest points on triangles, and what hides behind them
//! - [`weights`]: skinning weights: the linear blend that reproduces examples best
//! - [`influence`]: which bones move a vertex: from poses that move one bone, or from ordinary motion
//! - [`inverse`]: sculpted corrections brought back through any deformer, as a black box
//! - [`maps`]: where a bone matters: influence maps from weights, colours or tables
//!
//! Every fit takes a [`Training`] and returns the model with a report; progress and cancelling are an argument.

pub mod animation_space;
pub mod decompose;
pub mod heat;
pub mod influence;
pub mod inverse;
pub mod joints;
pub mod maps;
pub mod mwe;
pub mod psd;
mod random;
pub mod rotational_regression;
pub mod scans;
pub mod surface;
mod training;
pub mod weights;

pub use animation_space::{AnimationSpaceSettings, fit_animation_space};
pub use dermis_solve::Folds;
pub use heat::{HeatError, HeatReport, HeatSettings, bone_segments, heat_weights};
pub use inverse::{Inverse, InverseError, InverseSettings, invert};
pub use joints::{JointFit, JointReport, JointSettings, fit_joints};
pub use mwe::{Accumulator, Mwe, MweReport, MweSettings, fit_mwe};
pub use psd::{Psd, PsdReport, PsdSettings, fit_psd};
pub use rotational_regression::{RotationalReport, RotationalSettings, fit_rotational_regression};
pub use scans::{Scan, ScanError, ScanReport, ScanSettings, fit_scans};
pub use training::{BasePoses, Cancelled, FitError, Progress, Training, silent};
pub use weights::{WeightReport, WeightSettings, fit_weights};
