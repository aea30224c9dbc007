//! What all writers share: why something cannot be written, and a place in memory to write it to.
//!
//! Every writer of this crate takes what it writes, its options, and the place that takes the bytes, and returns
//! `Result<(), WriteError>`. The same input gives the same bytes.

use crate::contents::Format;
use dermis_rig::glam::DVec3;
use std::io::{self, Write};

/// Returns what `write` writes, as bytes in memory.
/// ```
/// use dermis_io::{Contents, Record, npz, to_bytes};
///
/// let shape = Record { label: "rest".into(), time: None, pose: None, positions: Some(vec![Default::default()]), importance: 1.0, local: None };
/// let contents = Contents { records: vec![shape], ..Contents::default() };
/// let bytes = to_bytes(|out| npz::write(&contents, npz::StoredFloat::Single, out))?;
/// assert!(bytes.starts_with(b"PK"));
/// # Ok::<(), dermis_io::WriteError>(())
/// ```
///
/// # Errors
/// Those of `write`.
pub fn to_bytes(write: impl FnOnce(&mut dyn Write) -> Result<(), WriteError>) -> Result<Vec<u8>, WriteError> {
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    Ok(bytes)
}

/// Gives the positions of the n-th frame of a sequence that is not held. Frames are asked for once, in their order.
pub type Fill<'a> = &'a mut dyn FnMut(usize, &mut Vec<DVec3>) -> Result<(), WriteError>;

/// Why something cannot be written. The caller adds the path.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WriteError {
    /// There is nothing the format could hold.
    #[error("there is nothing to write to a {format} file: it needs {needs}")]
    Nothing {
        /// The format.
        format: Format,
        /// What it needs.
        needs: &'static str,
    },
    /// Parts that belong together differ in number.
    #[error("{what} has {found} {things}, but {expected} are expected")]
    Count {
        /// What differs.
        what: String,
        /// Vertices, bones, ...
        things: &'static str,
        /// Its number of them.
        found: usize,
        /// The number of the others.
        expected: usize,
    },
    /// A number that is NaN or infinite, or is so once it is stored in 32 bits.
    #[error("{what} is not finite in 32 bits")]
    NotFinite {
        /// The first such element.
        what: String,
    },
    /// The format cannot hold it.
    #[error("a {format} file cannot hold {what}")]
    CannotHold {
        /// The format.
        format: Format,
        /// What it cannot hold, with numbers.
        what: String,
    },
    /// Weights that do not sum to one.
    #[error("the weights of vertex {vertex} sum to {sum}")]
    WeightSum {
        /// The vertex.
        vertex: usize,
        /// The sum.
        sum: f64,
    },
    /// A parent squeezed flat, so that its children have no local transform.
    #[error("bone \"{bone}\" has a singular matrix in {place}, so its children have no local transform")]
    Singular {
        /// The bone.
        bone: String,
        /// Clip and frame.
        place: String,
    },
    /// Key times that do not ascend.
    #[error("clip \"{clip}\": time {at} is not after the one before it once it is stored in 32 bits, or negative")]
    Times {
        /// The clip.
        clip: String,
        /// Number of the key.
        at: usize,
    },
    /// A mesh that names what it does not have.
    #[error(transparent)]
    Mesh(#[from] dermis_rig::MeshError),
    /// A sequence that is not held ended early: whoever gives its frames knows why.
    #[error("the frames ended early")]
    Ended,
    /// The place that takes the bytes takes no more.
    #[error("{reason}")]
    Output {
        /// Why, in the system's words.
        reason: String,
    },
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Output { reason: error.to_string() }
    }
}
