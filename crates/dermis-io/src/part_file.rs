//! Statistics of a part of the examples (`.part`): a safetensors file like the model file, with arrays of sums and a JSON
//! header (metadata entry `dermis-part`).

use crate::contents::{Format, ReadError};
use crate::tensors::{Reader, Tensors, damaged};
use crate::writing::WriteError;
use dermis_rig::glam::DAffine3;
use dermis_rig::skeleton::{from_rows, row};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{Cursor, Read, Seek, Write};

/// The version this program writes and reads.
pub const VERSION: u32 = 1;

/// Sums over some of the examples, as multi-weight enveloping takes them.
#[derive(Clone, Debug, PartialEq)]
pub struct PartFile {
    /// What it belongs to and how it was made.
    pub header: PartHeader,
    /// Σ r² f yᵀ.
    pub moments: Vec<f64>,
    /// Σ r² |y|² per vertex.
    pub squares: Vec<f64>,
    /// Largest |y|² per vertex.
    pub largest: Vec<f64>,
    /// Σ r² f fᵀ.
    pub grams: Vec<f64>,
    /// Bone transforms, pose after pose.
    pub transforms: Vec<DAffine3>,
    /// r of each pose.
    pub importance: Vec<f64>,
    /// Residuals of the vertices kept, pose after pose, three numbers each.
    pub residuals: Vec<f32>,
}

/// What a part says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartHeader {
    /// [`VERSION`].
    pub format_version: u32,
    /// The program that wrote it.
    pub program: String,
    /// Of the rig, as model files have it.
    pub fingerprint: String,
    /// Everything that must agree between parts, by name.
    pub settings: Vec<(String, String)>,
    /// Whether row features alone were summed.
    pub row: bool,
    /// Whether the examples were frames of a clip.
    pub is_clip: bool,
    /// One in so many vertices is kept.
    pub stride: u64,
}

const KEY: &str = "dermis-part";

/// Writes a part, array after array: the file is never held.
///
/// # Errors
/// [`WriteError::CannotHold`] if the arrays cannot be stored, [`WriteError::Output`] if `out` takes no more.
pub fn write(part: &PartFile, out: &mut dyn Write) -> Result<(), WriteError> {
    let cannot = |what: String| WriteError::CannotHold { format: Format::Model, what };
    let json = serde_json::to_string(&part.header).map_err(|e| cannot(e.to_string()))?;
    let mut t = Tensors::default();
    for (name, list) in [
        ("moments", &part.moments),
        ("squares", &part.squares),
        ("largest", &part.largest),
        ("grams", &part.grams),
        ("importance", &part.importance),
    ] {
        t.f64(name, &[list.len()], list.iter().copied());
    }
    let rows = part.transforms.iter().flat_map(|m| [0, 1, 2].map(|j| row(m, j))).flatten();
    t.f64("transforms", &[part.transforms.len(), 12], rows);
    t.f32("residuals", &[part.residuals.len()], part.residuals.iter().copied());
    t.write(KEY, json, out)
}

/// Reads a part. Arrays are as many bytes as their shapes say and the file has; whether their counts fit a rig is for the
/// caller to check.
///
/// # Errors
/// [`ReadError`]: wrong kind, damaged, or written by a newer program.
pub fn read(bytes: &[u8]) -> Result<PartFile, ReadError> {
    read_from(Cursor::new(bytes), bytes.len() as u64)
}

/// Reads a part of `length` bytes, array after array: the file is never held.
///
/// # Errors
/// As [`read`].
pub fn read_from(mut source: impl Read + Seek, length: u64) -> Result<PartFile, ReadError> {
    let wrong = |reason: String| ReadError::WrongKind { format: Format::Model, reason };
    let r = Reader::open(&mut source, length).map_err(|reason| wrong(format!("no part of statistics: {reason}")))?;
    let json = r.text(KEY).ok_or_else(|| wrong("it holds no statistics of a fit".into()))?;
    let header: PartHeader = header(json, VERSION, "statistics")?;
    let rows = r.f64("transforms", 12)?;
    let take = |m: &[f64], at: usize| [m[at], m[at + 1], m[at + 2], m[at + 3]];
    Ok(PartFile {
        header,
        moments: r.f64("moments", 1)?,
        squares: r.f64("squares", 1)?,
        largest: r.f64("largest", 1)?,
        grams: r.f64("grams", 1)?,
        transforms: rows.chunks_exact(12).map(|m| from_rows([take(m, 0), take(m, 4), take(m, 8)])).collect(),
        importance: r.f64("importance", 1)?,
        residuals: r.f32("residuals", 1)?,
    })
}

/// A header of this version.
pub(crate) fn header<T: DeserializeOwned>(json: &str, own: u32, what: &str) -> Result<T, ReadError> {
    // The version first: a newer header need not have the fields of this one.
    let version = serde_json::from_slice::<Value>(json.as_bytes()).ok().and_then(|v| v.get("format_version")?.as_u64());
    match version {
        Some(version) if version != u64::from(own) => {
            let feature = format!("{what} of format version {version} (this program reads {own})");
            return Err(ReadError::Unsupported { feature });
        }
        Some(_) => {}
        None => return Err(damaged("the header has no format version")),
    }
    serde_json::from_slice(json.as_bytes()).map_err(|e| damaged(format!("header: {e}")))
}
