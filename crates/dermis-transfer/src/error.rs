//! Why a body and a mesh do not go together.

use dermis_deform::{DeformerError, RiggedError};
use dermis_rig::{InfluenceError, RigError};
use dermis_solve::SolveError;

/// Why nothing is carried.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TransferError {
    /// There is nothing to carry to.
    #[error("the mesh has no vertices")]
    EmptyMesh,
    /// Most of the mesh lies far from the body.
    #[error(
        "{unmatched} of {vertices} vertices have no trusted match on the body{}",
        change.as_ref().map_or_else(String::new, |change| format!("; {change} most would have one"))
    )]
    Unmatched {
        /// Vertices without a match.
        unmatched: usize,
        /// Vertices of the mesh.
        vertices: usize,
        /// The move, or the change of axes or unit, after which most would have one, in words; `None` if none is known.
        change: Option<String>,
    },
    /// A place that is none.
    #[error("vertex {vertex} of the mesh is not finite")]
    NotFinite {
        /// The vertex.
        vertex: usize,
    },
    /// A marked pair of vertices that are not there.
    #[error("the marked pair {mesh}, {body} names a vertex that is not there")]
    Marked {
        /// The vertex of the mesh.
        mesh: u32,
        /// The vertex of the body.
        body: u32,
    },
    /// A kind of base or correction whose numbers belong to the body's own vertices.
    #[error("{part} belongs to the vertices of the body and is not carried")]
    Part {
        /// The part.
        part: &'static str,
    },
    /// A body without weights to carry.
    #[error("the body has no skinning weights")]
    Unskinned,
    /// A body without a surface to carry from.
    #[error("the body has no triangles")]
    NoSurface,
    /// Numbers that are not those of the body's vertices.
    #[error("the body has {expected} numbers, but {found} are given")]
    Numbers {
        /// What its vertices have.
        expected: usize,
        /// What is given.
        found: usize,
    },
    /// The smoothing has no solution.
    #[error("the smoothing on the mesh failed: {0}")]
    Solve(#[from] SolveError),
    /// Weights that are not finite.
    #[error(transparent)]
    Influences(#[from] InfluenceError),
    /// Parts that do not belong together.
    #[error(transparent)]
    Deformer(#[from] DeformerError),
    /// Mesh, skeleton and weights that do not belong together.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// A model that is not of the rig.
    #[error(transparent)]
    Rigged(#[from] RiggedError),
}
