//! Dermis learns how a character's skin moves from examples.
//!
//! Input: a rig (mesh and skeleton) and examples of its skin: sculpted poses, shots, a simulation. Output: a small, fast
//! deformer that reproduces them, generalises to motion it never saw, and says honestly where it does not.
//!
//! # The tour
//!
//! ```no_run
//! use dermis::rig::glam::DQuat;
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
//! | module | what it is |
//! |---|---|
//! | [`arrays`] | characters from plain numbers, in any axes and unit |
//! | [`rig`] | the vocabulary: mesh, skeleton, pose, influences, examples |
//! | [`io`] | files in and out |
//! | [`fitting`] | models that are learnt |
//! | [`deform`] | models that run |
//! | [`compile`] | models made into something else: morph targets, helper bones, tables |
//! | [`measure`] | errors and volumes |
//! | [`report`] | pages, charts, JSON |
//! | [`workflow`] | the recipes the program runs |

pub mod arrays;
mod examples;
mod fitted;
mod model;
mod opened;
mod parts;

pub use dermis_compile as compile;
pub use dermis_deform as deform;
pub use dermis_deform::Runner;
pub use dermis_files as files;
pub use dermis_fit as fitting;
pub use dermis_fit::Method;
pub use dermis_io as io;
pub use dermis_measure as measure;
pub use dermis_motion as motion;
pub use dermis_report as report;
pub use dermis_rig as rig;
pub use dermis_solve as solve;
pub use dermis_workflow as workflow;
pub use dermis_workflow::Error;
pub use examples::Examples;
pub use fitted::{Fitted, fit, fit_with};
pub use model::{Model, Score, UnskinnedError};
pub use opened::Rig;
pub use parts::{PartExamples, fit_part, fit_parts, merge_parts};
