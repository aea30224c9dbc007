//! Why files cannot be shown.

/// A page shows one file.
#[derive(Debug, thiserror::Error)]
#[error("a page shows the rig of one file, not of {files}")]
pub struct Error {
    /// Files that were named.
    pub files: usize,
}
