//! A share of a fit of the joint model (`.part`): a safetensors file like the model file, with what was solved for some of the
//! vertices and a JSON header (metadata entry `dermis-share`).

use crate::contents::{Format, ReadError};
use crate::part_file::header;
use crate::tensors::{Reader, Tensors, damaged};
use crate::writing::WriteError;
use dermis_rig::Rows;
use dermis_rig::glam::DAffine3;
use dermis_rig::skeleton::{from_rows, row};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{Cursor, Read, Seek, Write};

/// The version this program writes and reads.
pub const VERSION: u32 = 1;

/// What a fit of the joint model solved for a share of the vertices.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareFile {
    /// What it belongs to and how it was made.
    pub header: ShareHeader,
    /// Bone transforms, pose after pose.
    pub transforms: Vec<DAffine3>,
    /// Importance of each pose.
    pub importance: Vec<f64>,
    /// The vertices.
    pub vertices: Vec<u32>,
    /// Free coefficients of each of them, axis after axis.
    pub free: Rows<f64>,
    /// Shared coefficients of each of them.
    pub shared: Rows<f64>,
    /// Of each vertex: largest norm of the shared features, largest leverage or −1, sum of squared residuals, and largest residual
    /// of the base.
    pub of_vertices: Vec<[f64; 4]>,
}

/// What a share says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShareHeader {
    /// [`VERSION`].
    pub format_version: u32,
    /// The program that wrote it.
    pub program: String,
    /// Of the rig, as model files have it.
    pub fingerprint: String,
    /// Everything that must agree between shares, by name.
    pub settings: Vec<(String, String)>,
    /// Which share of how many.
    pub share: String,
    /// The form of the model that the fit chose.
    pub form: Value,
    /// Whether the examples were frames of a clip.
    pub is_clip: bool,
}

const KEY: &str = "dermis-share";

/// Writes a share.
///
/// # Errors
/// [`WriteError::CannotHold`] if the arrays cannot be stored, [`WriteError::Output`] if `out` takes no more.
pub fn write(share: &ShareFile, out: &mut dyn Write) -> Result<(), WriteError> {
    let cannot = |what: String| WriteError::CannotHold { format: Format::Model, what };
    let json = serde_json::to_string(&share.header).map_err(|e| cannot(e.to_string()))?;
    let mut t = Tensors::default();
    let rows = share.transforms.iter().flat_map(|m| [0, 1, 2].map(|j| row(m, j))).flatten();
    t.f64("transforms", &[share.transforms.len(), 12], rows);
    for (name, list) in
        [("importance", &share.importance[..]), ("free", share.free.entries()), ("shared", share.shared.entries())]
    {
        t.f64(name, &[list.len()], list.iter().copied());
    }
    for (name, list) in [
        ("vertices", &share.vertices[..]),
        ("free.offsets", share.free.offsets()),
        ("shared.offsets", share.shared.offsets()),
    ] {
        t.u32(name, &[list.len()], list.iter().copied());
    }
    t.f64("of_vertices", &[share.of_vertices.len(), 4], share.of_vertices.iter().flatten().copied());
    t.write(KEY, json, out)
}

/// Reads a share. Rows are within their lists; whether vertices and counts fit a rig is for the caller to check.
///
/// # Errors
/// [`ReadError`]: wrong kind, damaged, or written by a newer program.
pub fn read(bytes: &[u8]) -> Result<ShareFile, ReadError> {
    read_from(Cursor::new(bytes), bytes.len() as u64)
}

/// Reads a share of `length` bytes, array after array: the file is never held.
///
/// # Errors
/// As [`read`].
pub fn read_from(mut source: impl Read + Seek, length: u64) -> Result<ShareFile, ReadError> {
    let wrong = |reason: String| ReadError::WrongKind { format: Format::Model, reason };
    let r = Reader::open(&mut source, length).map_err(|reason| wrong(format!("no share of a fit: {reason}")))?;
    let json = r.text(KEY).ok_or_else(|| wrong("it holds no share of a fit of the joint model".into()))?;
    let header: ShareHeader = header(json, VERSION, "a share of a fit")?;
    let rows = r.f64("transforms", 12)?;
    let take = |m: &[f64], at: usize| [m[at], m[at + 1], m[at + 2], m[at + 3]];
    let vertices = r.u32("vertices", 1)?;
    let (free, shared) = (r.f64("free", 1)?, r.f64("shared", 1)?);
    let of_vertices = r.f64("of_vertices", 4)?.as_chunks().0.to_vec();
    r.count("of_vertices", of_vertices.len(), vertices.len())?;
    let importance = r.f64("importance", 1)?;
    for (name, list) in [("transforms", &rows), ("importance", &importance), ("free", &free), ("shared", &shared)] {
        finite(name, list)?;
    }
    finite("of_vertices", of_vertices.as_flattened())?;
    Ok(ShareFile {
        header,
        transforms: rows.chunks_exact(12).map(|m| from_rows([take(m, 0), take(m, 4), take(m, 8)])).collect(),
        importance,
        free: r.rows("free.offsets", vertices.len(), free)?,
        shared: r.rows("shared.offsets", vertices.len(), shared)?,
        vertices,
        of_vertices,
    })
}

/// Checks that numbers are finite.
fn finite(name: &str, list: &[f64]) -> Result<(), ReadError> {
    match list.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(damaged(format!("array \"{name}\": number {at} is not finite"))),
        None => Ok(()),
    }
}
