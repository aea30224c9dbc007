//! Why a file cannot be shown.

use dermis_files::Phrase;
use std::path::PathBuf;

/// Why a file cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Positions over time of a mesh that is elsewhere.
    #[error("\"{}\": it holds shapes and no triangles", path.display())]
    NoTriangles {
        /// The file.
        path: PathBuf,
    },
    /// Poses of bones that are elsewhere.
    #[error("\"{}\": it holds poses, and no skeleton that they move", path.display())]
    NoSkeleton {
        /// The file.
        path: PathBuf,
    },
    /// Neither a mesh nor a skeleton nor a motion.
    #[error("\"{}\": there is nothing to see in it", path.display())]
    Nothing {
        /// The file.
        path: PathBuf,
    },
    /// A model over positions that are in no file of ours.
    #[error("\"{}\": this model corrects given positions, which are not in it", path.display())]
    Given {
        /// The model.
        path: PathBuf,
    },
    /// A motion for a file that nothing moves.
    #[error("\"{}\": it has no skeleton that a motion could move, and the motion has no shapes of its mesh", path.display())]
    Unmoved {
        /// The file.
        path: PathBuf,
    },
}

impl Error {
    pub(crate) fn remedy(&self) -> Phrase {
        match self {
            Self::NoTriangles { .. } => "name the mesh, and this file as its `motion`: `dermis view` MESH".into(),
            Self::NoSkeleton { .. } => "name the rig, and this file as its `motion`: `dermis view` RIG".into(),
            Self::Nothing { .. } => {
                "show a rig, a mesh, a model, or a motion with its skeleton: .glb, .gltf, .fbx, .bvh, .npz, .abc, .obj, .dermis".into()
            }
            Self::Given { .. } => "`dermis eval` scores it with `base_cache`, and writes a page with `report`".into(),
            Self::Unmoved { .. } => {
                "name a motion for a rig, or the shapes of this mesh: .pc2, .mdd, .abc, .npz, or a folder of OBJ files".into()
            }
        }
    }
}
