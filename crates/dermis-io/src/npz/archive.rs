//! An archive of arrays, each taken out once; nothing is unfolded on a promise.

use super::damaged;
use crate::npy::{Array, Header, NpyError, Shape};
use crate::{Format, ReadError};
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use zip::ZipArchive;

/// How many bytes of arrays a byte of a file may unfold to, beyond [`ALLOWANCE`]. Deflate itself reaches 1032. A dense
/// table of weights for 300 bones with four influences per vertex, packed with little else, reaches 60.
const INFLATION: u64 = 100;
/// Bytes any file may unfold to: a small rig is mostly zeros.
const ALLOWANCE: u64 = 32 << 20;
/// The most that one byte of a deflate stream can stand for.
const DEFLATE_LIMIT: u64 = 1032;

/// An archive of arrays, each taken out once.
pub(super) struct Bundle<R> {
    archive: ZipArchive<R>,
    file_length: u64,
    /// Arrays not taken yet: name without `.npy`, place in the archive.
    pub(super) members: BTreeMap<String, usize>,
    /// Bytes of arrays that may still be unfolded.
    allowance: u64,
}

impl<R: Read + Seek> Bundle<R> {
    pub(super) fn open(mut reader: R, file_length: u64) -> Result<Self, ReadError> {
        let wrong = |reason: &str| Err(ReadError::WrongKind { format: Format::Npz, reason: reason.into() });
        let mut start = Vec::new();
        let begun = reader.by_ref().take(6).read_to_end(&mut start).and_then(|_| reader.rewind());
        begun.map_err(|e| damaged(format!("the archive: {e}")))?;
        if start == b"\x93NUMPY" {
            return wrong("it is a single array (.npy), not an archive of named arrays (numpy.savez)");
        }
        if !start.starts_with(b"PK") {
            return wrong(if start.is_empty() { "it is empty" } else { "it does not start like a zip archive" });
        }
        let archive = ZipArchive::new(reader).map_err(|e| damaged(format!("the archive: {e}")))?;
        if archive.has_duplicate_names() {
            return Err(damaged("the archive holds two arrays of the same name".into()));
        }
        let mut members = BTreeMap::new();
        for (at, name) in archive.file_names_raw().enumerate() {
            let name = String::from_utf8_lossy(name);
            members.insert(name.strip_suffix(".npy").unwrap_or(&name).to_owned(), at);
        }
        Ok(Self { archive, file_length, members, allowance: INFLATION * file_length + ALLOWANCE })
    }

    /// Takes an array out of the archive; `None` if there is none of that name.
    pub(super) fn take(&mut self, key: &str) -> Result<Option<Array>, ReadError> {
        let Some((header, member)) = self.member(key)? else { return Ok(None) };
        let promised = header.data_length as u64;
        let mut data = Vec::with_capacity(header.data_length);
        member.take(promised + 1).read_to_end(&mut data).map_err(|e| damaged(format!("array \"{key}\": {e}")))?;
        let length = data.len();
        let array = Array::new(header, data)
            .ok_or_else(|| damaged(format!("array \"{key}\": {promised} bytes are promised, but it has {length}")))?;
        Ok(Some(array))
    }

    /// The header of an array, and its values to be read; `None` if there is none of that name.
    ///
    /// Nothing is unfolded before the header's promise agrees with the archive's directory, and with what its packed
    /// bytes can stand for.
    pub(super) fn member(&mut self, key: &str) -> Result<Option<(Header, impl Read + use<'_, R>)>, ReadError> {
        use zip::result::ZipError::{CompressionMethodNotSupported, UnsupportedArchive};
        let Some(index) = self.members.remove(key) else { return Ok(None) };
        let file_length = self.file_length;
        let mut member = self.archive.by_index(index).map_err(|e| match e {
            UnsupportedArchive(_) | CompressionMethodNotSupported(_) => {
                ReadError::Unsupported { feature: format!("array \"{key}\": {e}") }
            }
            _ => damaged(format!("array \"{key}\": {e}")),
        })?;
        let (directory, packed) = (member.size(), member.compressed_size().min(file_length));
        let header = Header::read(&mut member).map_err(|e| match e {
            NpyError::Damaged(reason) => damaged(format!("array \"{key}\": {reason}")),
            NpyError::Unsupported(what) => ReadError::Unsupported { feature: format!("array \"{key}\": {what}") },
        })?;
        let promised = header.data_length as u64;
        let held = directory.saturating_sub(header.length as u64);
        let shape = Shape(&header.shape);
        if promised != held || header.length as u64 > directory {
            return Err(damaged(format!(
                "array \"{key}\": its shape {shape} promises {promised} bytes, but the archive lists {held}"
            )));
        }
        if promised > DEFLATE_LIMIT.saturating_mul(packed) {
            return Err(damaged(format!(
                "array \"{key}\": its shape {shape} promises {promised} bytes, but it is packed into {packed}"
            )));
        }
        self.allowance = self.allowance.checked_sub(header.held_length()).ok_or_else(|| {
            damaged(format!(
                "array \"{key}\": its shape {shape} promises {promised} bytes; a file of {file_length} bytes may unfold \
                 to {INFLATION} times its length"
            ))
        })?;
        Ok(Some((header, member)))
    }

    /// Takes an array of numbers of the given shape, `None` standing for any extent; returns the extents found.
    pub(super) fn numbers<const N: usize>(
        &mut self,
        key: &str,
        shape: [Option<usize>; N],
    ) -> Result<Option<(Array, [usize; N])>, ReadError> {
        let Some(array) = self.take(key)? else { return Ok(None) };
        let extents = extents(key, array.shape(), shape)?;
        if !array.is_number() {
            return Err(damaged(format!("array \"{key}\" holds text where numbers are expected")));
        }
        Ok(Some((array, extents)))
    }

    /// Takes an array of integers, as [`Bundle::numbers`].
    pub(super) fn integers<const N: usize>(
        &mut self,
        key: &str,
        shape: [Option<usize>; N],
    ) -> Result<Option<(Array, [usize; N])>, ReadError> {
        let found = self.numbers(key, shape)?;
        if found.as_ref().is_some_and(|(array, _)| !array.is_integer()) {
            return Err(damaged(format!("array \"{key}\" holds no integers")));
        }
        Ok(found)
    }

    /// Takes a row of texts.
    pub(super) fn texts(&mut self, key: &str, count: Option<usize>) -> Result<Option<Vec<String>>, ReadError> {
        let Some(array) = self.take(key)? else { return Ok(None) };
        let [count] = extents(key, array.shape(), [count])?;
        (0..count).map(|at| text(key, &array, [at])).collect::<Result<_, _>>().map(Some)
    }

    /// Takes a single text.
    pub(super) fn single_text(&mut self, key: &str) -> Result<Option<String>, ReadError> {
        let Some(array) = self.take(key)? else { return Ok(None) };
        match array.shape() {
            [] => text(key, &array, []),
            [1] => text(key, &array, [0]),
            shape => Err(damaged(format!("array \"{key}\" has shape {}; a single text is expected", Shape(shape)))),
        }
        .map(Some)
    }
}

/// Checks a shape, `None` standing for any extent, and returns the extents found.
pub(super) fn extents<const N: usize>(
    key: &str,
    shape: &[usize],
    expected: [Option<usize>; N],
) -> Result<[usize; N], ReadError> {
    let found: Option<[usize; N]> = shape.try_into().ok();
    let agrees = |found: &[usize; N]| found.iter().zip(&expected).all(|(f, e)| e.is_none_or(|e| e == *f));
    let found = found.filter(agrees).ok_or_else(|| {
        let expected: Vec<_> = expected.iter().map(|e| e.map_or("any".to_owned(), |e| e.to_string())).collect();
        let comma = if N == 1 { "," } else { "" };
        let (shape, expected) = (Shape(shape), expected.join(", "));
        damaged(format!("array \"{key}\" has shape {shape}, but ({expected}{comma}) is expected"))
    })?;
    // An empty array costs no bytes, so that its other extents could be anything: only "none of them" makes sense.
    let hollow = found.contains(&0) && found.first() != Some(&0);
    if hollow || found.iter().any(|&extent| extent >= u32::MAX as usize) {
        return Err(damaged(format!("array \"{key}\" has the unusable shape {}", Shape(shape))));
    }
    Ok(found)
}

fn text<const N: usize>(key: &str, array: &Array, index: [usize; N]) -> Result<String, ReadError> {
    if !array.is_text() {
        return Err(damaged(format!("array \"{key}\" holds numbers where text is expected")));
    }
    array.text(index).ok_or_else(|| damaged(format!("array \"{key}\", entry {index:?} is no valid text")))
}
