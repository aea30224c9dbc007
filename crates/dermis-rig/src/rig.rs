//! A rig: the rest mesh, the skeleton at rest, and what each bone influences.

use crate::{Influences, Mesh, MeshError, Skeleton};

/// A character before it is posed.
#[derive(Clone, Debug, PartialEq)]
pub struct Rig {
    /// What the rig is called in messages and reports.
    pub name: String,
    /// The rest mesh.
    pub mesh: Mesh,
    /// The skeleton at rest.
    pub skeleton: Skeleton,
    /// The artist's skinning weights, if the rig has any; every row sums to one.
    pub weights: Option<Influences>,
    /// Influence maps μ in 0..1 as the file gives them: where a bone matters, not by how much it moves the skin.
    pub influence_maps: Option<Influences>,
}

/// Why parts do not make a rig.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RigError {
    /// The mesh is unusable.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// Weights or maps for another number of vertices.
    #[error("the {what} cover {found} vertices, but the mesh has {vertices}")]
    Vertices {
        /// Weights or influence maps.
        what: &'static str,
        /// Vertices they cover.
        found: usize,
        /// Vertices of the mesh.
        vertices: usize,
    },
    /// Weights or maps for another number of bones.
    #[error("the {what} name bone {bone}, but the skeleton has {bones} bones")]
    Bones {
        /// Weights or influence maps.
        what: &'static str,
        /// The largest bone they name.
        bone: usize,
        /// Bones of the skeleton.
        bones: usize,
    },
}

impl Rig {
    /// Checks that mesh, skeleton, weights and maps belong together.
    ///
    /// # Errors
    /// [`RigError`], naming what disagrees.
    pub fn check(&self) -> Result<(), RigError> {
        self.mesh.check()?;
        for (what, influences) in [("weights", &self.weights), ("influence maps", &self.influence_maps)] {
            let Some(influences) = influences else { continue };
            let (found, vertices) = (influences.vertices(), self.mesh.positions.len());
            if found != vertices {
                return Err(RigError::Vertices { what, found, vertices });
            }
            let (bone, bones) = (influences.bones_named(), self.skeleton.len());
            if bone > bones {
                return Err(RigError::Bones { what, bone: bone - 1, bones });
            }
        }
        Ok(())
    }
}
