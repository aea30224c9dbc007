//! One model, frame after frame: memory and results in one place, and an error where a pose does not suit the model.
//!
//! ```
//! use dermis_deform::{Base, Deformer, PoseError};
//! use dermis_rig::glam::{DAffine3, DVec3, Vec3};
//! use dermis_rig::{BoneTransforms, Influences};
//! let weights = Influences::from_dense(&[1.0, 0.0, 0.5, 0.5], 2)?;
//! let rest = vec![DVec3::ZERO, DVec3::Y];
//! let model = Deformer::new(rest, Base::Lbs(weights), None)?.bake();
//! let mut runner = model.runner();
//! let lifted = BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_translation(DVec3::Y)]);
//! assert_eq!(runner.skin(&lifted)?[1], Vec3::new(0.0, 1.5, 0.0));
//! let short = BoneTransforms::identity(1);
//! assert_eq!(runner.skin(&short), Err(PoseError::Bones { expected: 2, found: 1 }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::baked::{Baked, Guarded, Scratch};
use crate::normals::MeshNormals;
use crate::pose_size::PoseError;
use dermis_rig::glam::Vec3;
use dermis_rig::{BoneTransforms, MeshError};

/// A model that is evaluated pose after pose. It owns its scratch and its results; after the first pose it allocates
/// nothing.
///
/// A pose gives its channels by name. A channel that the model reads and the pose lacks is zero.
#[derive(Clone, Debug)]
pub struct Runner<'a> {
    model: &'a Baked,
    scratch: Scratch,
    positions: Vec<Vec3>,
    normals: Option<Surface>,
    guarded: Guarded,
}

/// The mesh's own normals.
#[derive(Clone, Debug)]
struct Surface {
    mesh: MeshNormals,
    faces: Vec<dermis_rig::glam::DVec3>,
    normals: Vec<Vec3>,
    /// Whether they are those of the last skin.
    fresh: bool,
}

impl Baked {
    /// A runner of this model, for one thread of calls; every call uses the current thread pool.
    pub fn runner(&self) -> Runner<'_> {
        Runner {
            model: self,
            scratch: Scratch::default(),
            positions: vec![Vec3::ZERO; self.vertices()],
            normals: None,
            guarded: Guarded::default(),
        }
    }
}

impl Runner<'_> {
    /// Returns the positions of all vertices in a pose, posed world, metres.
    ///
    /// # Errors
    /// [`PoseError::Bones`] for a pose with another number of bones than the model reads; [`PoseError::NeedsGiven`] for a
    /// model over given positions, which [`skin_over`](Self::skin_over) takes. The results of the last pose stay.
    pub fn skin(&mut self, pose: impl AsRef<BoneTransforms>) -> Result<&[Vec3], PoseError> {
        self.run(pose.as_ref(), None)
    }

    /// Returns the positions in a pose whose base positions the caller supplies, such as the output of another deformer.
    ///
    /// - `given`: a position per vertex, posed world, metres; a model whose base is its own does not read them
    ///
    /// # Errors
    /// [`PoseError::Bones`] as [`skin`](Self::skin); [`PoseError::Given`] if `given` has another number of vertices.
    pub fn skin_over(&mut self, pose: impl AsRef<BoneTransforms>, given: &[Vec3]) -> Result<&[Vec3], PoseError> {
        self.run(pose.as_ref(), Some(given))
    }

    /// The same runner, which also gives the normals of the deformed mesh.
    ///
    /// - `triangles`: three vertices per triangle, counter-clockwise from outside
    ///
    /// # Errors
    /// [`MeshError::IndexOutOfRange`] for a triangle with a vertex that does not exist.
    pub fn with_normals(mut self, triangles: &[[u32; 3]]) -> Result<Self, MeshError> {
        let mesh = MeshNormals::new(triangles, self.model.vertices())?;
        let normals = vec![Vec3::ZERO; self.model.vertices()];
        self.normals = Some(Surface { mesh, faces: Vec::new(), normals, fresh: true });
        Ok(self)
    }

    /// The positions of the last pose; zeros before the first.
    pub fn positions(&self) -> &[Vec3] {
        &self.positions
    }

    /// The unit normals of the last skin, computed when they are asked for; zeros before the first pose, empty without
    /// [`with_normals`](Self::with_normals).
    pub fn normals(&mut self) -> &[Vec3] {
        let Some(Surface { mesh, faces, normals, fresh }) = &mut self.normals else { return &[] };
        if !std::mem::replace(fresh, true) {
            mesh.compute_with(&self.positions, faces, normals);
        }
        normals
    }

    /// What the guard did in the last pose.
    pub fn guarded(&self) -> Guarded {
        self.guarded
    }

    fn run(&mut self, pose: &BoneTransforms, given: Option<&[Vec3]>) -> Result<&[Vec3], PoseError> {
        self.guarded = self.model.evaluate(pose, given, &mut self.scratch, &mut self.positions)?;
        if let Some(surface) = &mut self.normals {
            surface.fresh = false;
        }
        Ok(&self.positions)
    }
}
