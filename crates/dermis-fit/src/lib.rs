//! Models that are learnt from examples.
//!
//! - [`joints`]: the joint model, driven by joint rotations: bounded, and of constant cost per frame
//! - [`mwe`]: multi-weight enveloping, as published and in a bounded, equivariant form
//! - [`animation_space`]: coefficients shared by the three axes, equivariant
//! - [`psd`]: pose-space deformation, displacements interpolated over the pose
//! - [`rotational_regression`]: triangles that turn with joints, also by more than half a turn
//! - [`decompose`]: bones and weights from a bare mesh sequence
//! - [`design`]: which poses to sculpt next
//! - [`gain`]: how much of what another character has learnt suits this one
//! - [`heat`]: skinning weights without examples, by heat that spreads from the bones
//! - [`mod@register`]: the poses of scans, by closest points and joint angles in turn
//! - [`scans`]: skinning weights from scans without correspondence
//! - [`surface`]: closest points on triangles, and visibility
//! - [`weights`]: skinning weights from examples: the linear blend that reproduces them best
//! - [`influence`]: which bones move a vertex, from poses that move one bone or from ordinary motion
//! - [`inverse`]: sculpted corrections brought back to rest through any deformer, as a black box
//! - [`maps`]: where a bone matters: influence maps from weights, colours or tables
//!
//! Every fit takes a [`Training`] and returns the model with a report. Progress and cancelling are one argument.

pub mod animation_space;
pub mod decompose;
pub mod design;
mod evidence;
pub mod gain;
pub mod heat;
pub mod influence;
pub mod inverse;
pub mod joints;
pub mod maps;
mod mask;
pub mod method;
pub mod mwe;
pub mod psd;
pub mod register;
pub mod rotational_regression;
pub mod scans;
pub mod secondary;
pub mod surface;
mod training;
pub mod weights;

pub use animation_space::{AnimationSpaceSettings, fit_animation_space};
pub use dermis_solve::Folds;
pub use heat::{HeatError, HeatReport, HeatSettings, bone_segments, heat_weights};
pub use inverse::{Inverse, InverseError, InverseSettings, invert};
pub use joints::{JointFit, JointReport, JointSettings, fit_joints};
pub use method::{FitInput, FitReport, Learnt, Method, MethodError};
pub use mwe::{Accumulator, Mwe, MweReport, MweSettings, fit_mwe};
pub use psd::{Psd, PsdReport, PsdSettings, fit_psd};
pub use register::{RegisterError, RegisterSettings, Registration, ScanSurface, register};
pub use rotational_regression::{RotationalReport, RotationalSettings, fit_rotational_regression};
pub use scans::{
    Scan, ScanError, ScanReport, ScanSettings, Template, TemplateSettings, fit_scans, fit_templates, learn_templates,
};
pub use training::{BasePoses, Cancelled, FitError, Progress, Training, UNHELD, silent};
pub use weights::{WeightReport, WeightSettings, fit_weights};
