//! Why files cannot be converted as it is set.

use std::path::PathBuf;

/// Normals to leave out of a file that would hold none.
#[derive(Debug, thiserror::Error)]
#[error("\"{}\": normals are left out of the morph targets of a GLB, and this file has none", path.display())]
pub struct Error {
    /// The file.
    pub path: PathBuf,
}
