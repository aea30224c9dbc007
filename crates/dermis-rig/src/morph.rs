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

/// The morph targets that a mesh came with, such as expressions of a face. No model is learnt of them: what is written of the mesh has
/// them again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MorphTargets {
    /// The targets; each has one displacement per vertex of the mesh.
    pub targets: Vec<MorphTarget>,
    /// Their weights where no clip says otherwise; empty if all are zero.
    pub weights: Vec<f64>,
}
