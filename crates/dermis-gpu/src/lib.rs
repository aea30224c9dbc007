//! Models on the graphics card: compute shaders that evaluate a [`Baked`](dermis_deform::Baked) model, and the buffers they
//! read and fill.
//!
//! What depends on the pose alone is computed on the processor in `f64`, rounded once and sent; every vertex is computed on
//! the card in `f32`. Positions and normals stay there, as storage buffers that serve as vertex buffers. Many poses, or many
//! characters of one model, go in one batch.
//!
//! Runs: rigid binding, linear blend and dual quaternion skinning, animation space, the rest pose; over each multi-weight
//! enveloping, the joint model, and shapes (morph targets, compiled pose spaces). Does not run, and says so
//! ([`Unsupported`]): rotational regression, uncompiled pose spaces, given positions.
//!
//! [`Shader`] has the sources, [`export`] translates them for engines; their bindings are in `docs/gpu.md`.
//!
//! ```no_run
//! use dermis_gpu::{Evaluator, Gpu, Normals, Prefer};
//! # fn run(model: &dermis_deform::Baked, triangles: &[[u32; 3]], poses: &[dermis_rig::BoneTransforms])
//! # -> Result<(), dermis_gpu::GpuError> {
//! let gpu = Gpu::open(Prefer::Hardware)?;
//! let evaluator = Evaluator::new(&gpu.device, model, poses[0].len(), Normals::Mesh(triangles))?;
//! let mut batch = evaluator.batch(poses.len())?;
//! batch.upload(&gpu.queue, poses)?;
//! let mut encoder = gpu.device.create_command_encoder(&Default::default());
//! batch.encode(&mut encoder);
//! gpu.queue.submit([encoder.finish()]);
//! // Draw from batch.positions() and batch.normals(), or read back:
//! let positions = batch.read_positions(&gpu.queue)?;
//! # let _ = positions;
//! # Ok(())
//! # }
//! ```

mod buffers;
mod device;
mod error;
mod evaluator;
pub mod export;
mod list;
mod mesh;
mod model;
mod pose;
mod shaders;

pub use device::{Gpu, Prefer};
pub use error::{GpuError, Unsupported};
pub use evaluator::{Batch, Evaluator, Normals};
pub use shaders::Shader;
pub use wgpu;

/// Storage buffers that a shader binds at most.
pub const STORAGE_BUFFERS: u32 = 7;
