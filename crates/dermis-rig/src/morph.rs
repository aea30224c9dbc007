//! Morph targets: shapes of the rest mesh, added before skinning.

use crate::glam::DVec3;

/// A morph target: a shape of the rest mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct MorphTarget {
    /// Its name.
    pub name: String,
    /// Displacement of each rest vertex, metres.
    pub deltas: Vec<DVec3>,
}
