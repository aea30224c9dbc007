//! Dermis learns how a character's skin moves from examples.
//!
//! Input: a rig (mesh and skeleton) and examples of its skin: sculpted poses, shots, a simulation. Output: a small, fast
//! deformer that reproduces them, generalises to motion it never saw, and says honestly where it does not.
//!
//! `read → rig + examples → fit → model → evaluate / validate → export`
//!
//! | module | what it is |
//! |---|---|
//! | [`rig`] | the vocabulary: mesh, skeleton, pose, influences, examples |
//! | [`io`] | files in and out |
//! | [`fit`] | models that are learnt |
//! | [`deform`] | models that run |
//! | [`measure`] | errors and volumes |
//! | [`workflow`] | the recipes the program runs |
//!
//! # The tour
//!
//! Learn the bundled body's skin from its exercise, and score it on a walk it never saw:
//!
//! ```no_run
//! use dermis::workflow::{demo, fit, measure};
//! let (rig, exercise, walk, _) = demo::body()?;
//! let fitted = fit::fit(&rig, &exercise, None, &fit::FitOptions::new(fit::Method::Mwe), &dermis::fit::silent)?;
//! let scores = measure::measure(&fitted.model, &walk, None)?;
//! println!("{:.2} mm on unseen motion", 1000.0 * scores.model.error.rms);
//! # Ok::<(), dermis::workflow::Error>(())
//! ```
//!
//! Run a model, frame after frame, positions and normals, with no allocation after the first:
//!
//! ```
//! use dermis::deform::{Base, Deformer, MeshNormals, Scratch};
//! use dermis::rig::{BoneTransforms, Influences, glam::{DAffine3, DVec3, Vec3}};
//! // A triangle on two bones; its first corner hangs half way between them.
//! let (rest, triangles) = (vec![DVec3::X, DVec3::Y, DVec3::ZERO], [[0, 1, 2]]);
//! let weights = Influences::from_dense(&[0.5, 0.5, 1.0, 0.0, 1.0, 0.0], 2)?;
//! let normals_of = MeshNormals::new(&triangles, rest.len())?;
//! let model = Deformer { rest, base: Base::Lbs(weights), correction: None }.bake();
//! let (mut scratch, mut skin, mut normals) = (Scratch::default(), [Vec3::ZERO; 3], [Vec3::ZERO; 3]);
//! let pose = BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_translation(-DVec3::Z)]);
//! model.evaluate(&pose, None, &mut scratch, &mut skin);
//! normals_of.compute(&skin, &mut normals);
//! assert_eq!(skin[0], Vec3::new(1.0, 0.0, -0.5));
//! assert!(normals[0].abs_diff_eq(Vec3::new(1.0, 0.0, 2.0).normalize(), 1e-6));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use dermis_deform as deform;
pub use dermis_fit as fit;
pub use dermis_io as io;
pub use dermis_measure as measure;
pub use dermis_rig as rig;
pub use dermis_solve as solve;
pub use dermis_workflow as workflow;
