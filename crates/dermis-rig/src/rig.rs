//! A rig: the rest mesh, the skeleton at rest, and what each bone influences.

use crate::{Influences, Mesh, MeshError, MorphTargets, Skeleton};
use std::sync::Arc;

/// A character before it is posed. Its parts belong together: whoever has one need not check it again.
#[derive(Clone, Debug, PartialEq)]
pub struct Rig {
    name: String,
    mesh: Mesh,
    skeleton: Skeleton,
    weights: Option<Influences>,
    influence_maps: Option<Influences>,
    states_up: bool,
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
    /// A rig called "rig" from parts that belong together. Rows of `weights` sum to one.
    ///
    /// # Errors
    /// [`RigError`], naming what disagrees.
    pub fn new(mesh: Mesh, skeleton: Skeleton, weights: Option<Influences>) -> Result<Self, RigError> {
        mesh.check()?;
        let rig = Self { name: "rig".into(), mesh, skeleton, weights, influence_maps: None, states_up: true };
        rig.check("weights", rig.weights())?;
        Ok(rig)
    }

    /// The same rig under another name.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The same rig, from a file that does not say which of its axes points up.
    #[must_use]
    pub fn without_up(self) -> Self {
        Self { states_up: false, ..self }
    }

    /// Whether Y is known to point up, not assumed.
    pub fn states_up(&self) -> bool {
        self.states_up
    }

    /// The same rig with other skinning weights, or none.
    ///
    /// # Errors
    /// [`RigError`] if they are for another number of vertices or bones.
    pub fn with_weights(self, weights: Option<Influences>) -> Result<Self, RigError> {
        self.check("weights", weights.as_ref())?;
        Ok(Self { weights, ..self })
    }

    /// The same rig with other influence maps, or none.
    ///
    /// # Errors
    /// [`RigError`] if they are for another number of vertices or bones.
    pub fn with_influence_maps(self, influence_maps: Option<Influences>) -> Result<Self, RigError> {
        self.check("influence maps", influence_maps.as_ref())?;
        Ok(Self { influence_maps, ..self })
    }

    /// The same rig with other morph targets of its mesh, or none.
    ///
    /// # Errors
    /// [`RigError`] if they move another number of vertices.
    pub fn with_morphs(self, morphs: Option<Arc<MorphTargets>>) -> Result<Self, RigError> {
        let rig = Self { mesh: Mesh { morphs, ..self.mesh }, ..self };
        rig.mesh.check()?;
        Ok(rig)
    }

    /// What the rig is called in messages and reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rest mesh.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// The skeleton at rest.
    pub fn skeleton(&self) -> &Skeleton {
        &self.skeleton
    }

    /// The artist's skinning weights, if the rig has any; every row sums to one.
    pub fn weights(&self) -> Option<&Influences> {
        self.weights.as_ref()
    }

    /// Influence maps μ in 0..1 as the file gives them: where a bone matters, not by how much it moves the skin.
    pub fn influence_maps(&self) -> Option<&Influences> {
        self.influence_maps.as_ref()
    }

    fn check(&self, what: &'static str, influences: Option<&Influences>) -> Result<(), RigError> {
        let Some(influences) = influences else { return Ok(()) };
        let (found, vertices) = (influences.vertices(), self.mesh.positions.len());
        if found != vertices {
            return Err(RigError::Vertices { what, found, vertices });
        }
        let (bone, bones) = (influences.bones_named(), self.skeleton.len());
        match bone > bones {
            true => Err(RigError::Bones { what, bone: bone - 1, bones }),
            false => Ok(()),
        }
    }
}
