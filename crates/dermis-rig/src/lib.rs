//! The vocabulary of Dermis: what every other crate talks about. It opens no file and solves nothing.
//!
//! A [`Rig`] is a rest [`Mesh`], a [`Skeleton`] at rest and the [`Influences`] of its bones. A [`WorldPose`] places every
//! bone; with the bind pose it gives the [`BoneTransforms`] `M_k = T_k B_k⁻¹` that all deformers read. An [`Example`]
//! is a pose together with the skin in that pose, and an [`ExampleSet`] is examples proven to fit one rig.
//!
//! Conventions, everywhere: right-handed, Y up, metres, column vectors (`p' = M p`), parents before children, `f64`.
//!
//! ```
//! use dermis_rig::{BoneIndex, Skeleton, WorldPose, glam::{DAffine3, DVec3}};
//! let bind = vec![DAffine3::IDENTITY, DAffine3::from_translation(DVec3::X)];
//! let skeleton = Skeleton::new(vec!["upper".into(), "lower".into()], vec![None, Some(BoneIndex::new(0))], bind)?;
//! let at_bind = WorldPose::new(skeleton.bind().to_vec());
//! let transforms = skeleton.bone_transforms(&at_bind);
//! assert!(transforms.iter().all(|m| m.abs_diff_eq(DAffine3::IDENTITY, 1e-15)));
//! # Ok::<(), dermis_rig::SkeletonError>(())
//! ```

pub mod appearance;
pub mod clock;
pub mod examples;
pub mod index;
pub mod influences;
pub mod memory;
pub mod mesh;
pub mod mirror;
pub mod morph;
pub mod motion;
mod names;
pub mod number;
pub mod object;
pub mod pattern;
pub mod posing;
pub mod principal;
pub mod progress;
pub mod rig;
pub mod rotation;
pub mod rows;
pub mod same_pose;
pub mod skeleton;

pub use appearance::{Appearance, Image};
pub use examples::{Example, ExampleSet, LocalSculpt};
pub use glam;
pub use index::{BoneIndex, BoneVec, IndexVec, VertexIndex};
pub use influences::{InfluenceError, Influences, Mended, Pruned};
pub use mesh::{Mesh, MeshError, Neighbours, Polygons, RenderMesh};
pub use mirror::Mirror;
pub use morph::{MorphTarget, MorphTargets};
pub use motion::{Frame, Motion};
pub use names::make_unique;
pub use object::{MOST_OBJECTS, MeshObject};
pub use posing::PosedSkeleton;
pub use principal::PrincipalBox;
pub use progress::{Cancelled, Progress, silent};
pub use rig::{Rig, RigError};
pub use rows::{Rows, RowsError, check_offsets};
pub use same_pose::{pose_numbers, same_place, same_pose};
pub use skeleton::{BoneTransforms, Channels, Skeleton, SkeletonError, WorldPose};
