//! A package (.usdz): a zip archive whose members are not packed and begin at multiples of 64 bytes, the stage first.
//!
//! Source: Pixar, "Usdz File Format Specification".

use crate::{Format, WriteError};
use std::io::{Cursor, Write};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// Writes a package.
///
/// - `members`: path and bytes of each
pub(super) fn write(members: &[(&str, &[u8])], out: &mut dyn Write) -> Result<(), WriteError> {
    let room = members.iter().map(|(path, bytes)| bytes.len() + 2 * path.len() + 256).sum::<usize>();
    if u32::try_from(room).is_err() {
        let what = "more than four gigabytes in a package".into();
        return Err(WriteError::CannotHold { format: Format::Usd, what });
    }
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).with_alignment(64);
    let failed = |error: zip::result::ZipError| WriteError::Output { reason: error.to_string() };
    let mut archive = ZipWriter::new(Cursor::new(Vec::with_capacity(room)));
    for (path, bytes) in members {
        archive.start_file(*path, options).map_err(failed)?;
        archive.write_all(bytes)?;
    }
    Ok(out.write_all(archive.finish().map_err(failed)?.get_ref())?)
}
