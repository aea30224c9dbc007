//! Models that run: from bone transforms to the positions and normals of a skin.
//!
//! The scalar reference in `f64` is written to be read beside the equations; [`baked`] is what runs. A pose is given as
//! [`BoneTransforms`](dermis_rig::BoneTransforms) `M_k` (rest world to posed world), weights as
//! [`Influences`](dermis_rig::Influences) whose rows sum to one.
//!
//! - [`mod@lbs`]: linear blend skinning, rigid binding, and what pruned weights cost;
//! - [`dual_quaternion`]: dual quaternion skinning, also for bones that scale;
//! - [`delta_mush`]: direct delta mush, skinning that smooths the posed surface;
//! - [`corrective_smooth`]: corrective smoothing as modelling programs do it, folded into coefficients;
//! - [`smoothing`]: how far both smooth;
//! - [`rotational_regression`]: triangles that turn with joints, and [`poisson`], the surface that follows them;
//! - [`normals`]: normals of a blended matrix, and normals of a deformed mesh;
//! - [`correction`]: a learnt correction over a base: [`joints`], [`enveloping`], [`pose_space`];
//! - [`guard`]: what bounds every correction in every pose; [`features`]: bones seen from other bones;
//! - [`deformer`]: base and correction together; [`baked`]: the same in `f32`, as it runs; [`Runner`]: it runs pose after pose;
//! - [`rigged`]: a baked deformer with the rig it moves;
//! - [`deform`](mod@deform): any deformer in one pose, as a map of the whole mesh;
//! - [`lattice`], [`wires`]: free-form deformation and curves; [`stack`]: deformers one after another, on their own or as the base of a model;
//! - [`secondary`]: springs over any of these, frame after frame;
//! - [`tables`]: tables from which an engine computes driven shapes and helper bones;
//! - [`training`]: how far a pose is from those a model has seen.
//!
//! Invariants: evaluating a [`Baked`] deformer allocates nothing after the first pose, cannot fail once the inputs agree in
//! size, and gives the same bits for any number of threads, because every vertex is computed on its own, in one order.
//!
//! ```
//! use dermis_deform::{DualQuaternions, lbs};
//! use dermis_rig::{BoneTransforms, Influences, glam::{DAffine3, DVec3}};
//! // A point on a tube around x, halfway between a bone at rest and one twisted by 90 degrees.
//! let twist = BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_rotation_x(90f64.to_radians())]);
//! let (rest, weights) = ([DVec3::Y], Influences::from_dense(&[0.5, 0.5], 2)?);
//! let mut skin = [DVec3::ZERO];
//! lbs(&rest, &weights, &twist, &mut skin);
//! assert!((skin[0].length() - 45f64.to_radians().cos()).abs() < 1e-15); // the candy wrapper: the tube grows thin
//! let mut blend = DualQuaternions::at_origin(2);
//! blend.prepare(&twist);
//! blend.deform(&rest, &weights, &mut skin);
//! assert!((skin[0].length() - 1.0).abs() < 1e-15); // keeps its radius
//! # Ok::<(), dermis_rig::InfluenceError>(())
//! ```

mod attached;
pub mod baked;
pub mod base;
pub mod correction;
pub mod corrective_smooth;
pub mod deform;
pub mod deformer;
pub mod delta_mush;
pub mod dual_quaternion;
pub mod enveloping;
pub mod features;
pub mod gravity;
pub mod guard;
pub mod joint_kernel;
pub mod joints;
pub mod lattice;
pub mod lbs;
pub mod normals;
mod parts;
pub mod poisson;
mod pose_size;
pub mod pose_space;
pub mod rigged;
pub mod rotational_regression;
mod runner;
pub mod secondary;
mod simd;
pub mod smoothing;
pub mod stack;
pub mod tables;
pub mod training;
pub mod wires;

pub use baked::{Baked, Guarded, Scratch};
pub use base::{AnimationSpace, Base};
pub use correction::Correction;
pub use corrective_smooth::CorrectiveSmooth;
pub use deform::Deform;
pub use deformer::Deformer;
pub use delta_mush::DirectDeltaMush;
pub use dual_quaternion::DualQuaternions;
pub use enveloping::{Enveloping, EnvelopingForm};
pub use gravity::Gravity;
pub use joint_kernel::JointKernel;
pub use joints::Joints;
pub use lattice::{Lattice, LatticeError, Outside};
pub use lbs::{blend, lbs, prune_cost, rigid};
pub use normals::{MeshNormals, mesh_normals, skinned_normal, skinned_normals};
pub use parts::DeformerError;
pub use pose_size::{BoneCount, PoseError};
pub use pose_space::{CompiledShapes, PoseSpace};
pub use rigged::{RiggedDeformer, RiggedError};
pub use rotational_regression::RotationalRegression;
pub use runner::Runner;
pub use stack::{Layer, Posed, Stack, StackError, StackPose};
pub use training::{PoseDistance, TrainingPoses};
pub use wires::{Wire, WireError, Wires};

/// Vertices a thread takes at least; below this a task costs more than its work.
const CHUNK: usize = 512;

/// Fills `out[v] = position(v, rest[v])` in parallel. Every vertex stands alone, so threads do not change a bit.
fn for_each_vertex<T: Copy + Sync, U: Send>(rest: &[T], out: &mut [U], of: impl Fn(usize, T) -> U + Sync) {
    use rayon::prelude::*;
    assert_eq!(rest.len(), out.len(), "inputs and results differ in number");
    rest.par_iter()
        .zip(out.par_iter_mut())
        .enumerate()
        .with_min_len(CHUNK)
        .for_each(|(v, (&rest, out))| *out = of(v, rest));
}
