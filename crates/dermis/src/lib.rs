//! Dermis learns how a character's skin moves from examples.
//!
//! Input: a rig (mesh and skeleton) and examples of its skin: sculpted poses, shots, a simulation. Output: a small, fast
//! deformer that reproduces them, generalises to motion it never saw, and says honestly where it does not.
//!
//! # The tour
//!
//! ```no_run
//! use dermis::glam::DQuat;
//! use dermis::{Examples, Method, Model, Rig};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rig = Rig::open("hero.glb")?;
//! let shots = Examples::open(&rig, ["shots.npz"])?;
//! let walk = Examples::open(&rig, ["walk.glb", "walk.pc2"])?;
//!
//! let fitted = dermis::fit(&rig, &shots, &Method::default())?; // the joint model; Method::mwe(), Method::psd(), …
//! println!("{}", fitted.report());
//! println!("{:.2} mm", 1e3 * fitted.model().score(&walk)?.error.rms);
//! fitted.model().save("hero.dermis")?;
//!
//! let model = Model::open("hero.dermis")?;
//! let mut runner = model.runner(); // owns scratch and output: no allocation per frame
//! let pose = model.skeleton().pose().turned("elbow_l", DQuat::from_rotation_z(1.2))?;
//! let skin = runner.skin(&pose)?; // positions; runner.normals() beside them
//! println!("{} vertices", skin.len());
//! # Ok(()) }
//! ```
//!
//! The same from memory: [`Rig::new`], [`Examples::new`], [`Model::read`], [`Model::write`]. The example `tour` runs these
//! lines on the bundled body.
//!
//! # The parts
//!
//! The names at the top are the ones to build on. [`internals`] has every crate behind them, whole: its items may change with any
//! version.
//!
//! # Features
//!
//! | feature | what it adds | what it compiles |
//! |---|---|---|
//! | none | characters, examples, fits and models in memory, scored, run and carried to other meshes | rig, solve, deform, fit, measure, compile, transfer |
//! | `formats` | [`Rig::open`], [`Examples::open`], [`Model::save`], [`arrays`] | io, files |
//! | `motion` | where poses come from | motion |
//! | `report` | pages, charts, JSON | report |
//! | `workflow` | every verb of the program as a recipe, and fits divided among machines ([`fit_part`]) | workflow, autorig |
//! | `figures` | the figures of papers, as a recipe; not on by default | figures |

#[cfg(feature = "formats")]
pub mod arrays;
mod carried;
mod error;
mod examples;
mod fitted;
mod model;
mod opened;
#[cfg(feature = "workflow")]
mod parts;

pub use carried::{Carried, CarrySettings};
pub use dermis_deform::Runner;
pub use dermis_deform::secondary::{Secondary, SecondaryError};
pub use dermis_fit::method::{self, Method};
pub use dermis_measure::ErrorStats;
pub use dermis_rig::{BoneIndex, BoneTransforms, Influences, LocalSculpt, Mesh, MeshObject, Skeleton, glam};
pub use error::Error;
pub use examples::Examples;
pub use fitted::{Fitted, fit, fit_with};
pub use model::{Model, Score, UnskinnedError};
pub use opened::Rig;
#[cfg(feature = "workflow")]
pub use parts::{PartExamples, fit_part, fit_parts, merge_parts};

/// The crates behind the façade, whole.
pub mod internals {
    pub use dermis_compile as compile;
    pub use dermis_deform as deform;
    #[cfg(feature = "formats")]
    pub use dermis_files as files;
    pub use dermis_fit as fitting;
    #[cfg(feature = "formats")]
    pub use dermis_io as io;
    pub use dermis_measure as measure;
    #[cfg(feature = "motion")]
    pub use dermis_motion as motion;
    #[cfg(feature = "report")]
    pub use dermis_report as report;
    pub use dermis_rig as rig;
    pub use dermis_solve as solve;
    pub use dermis_transfer as transfer;
    #[cfg(feature = "workflow")]
    pub use dermis_workflow as workflow;
}
