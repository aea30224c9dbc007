//! Archives that depend on their content alone: no times, no owners, names in order.

use std::fs::File as Written;
use std::path::Path;

/// A file of an archive.
pub struct File {
    /// Its path in the archive.
    pub name: String,
    pub content: Vec<u8>,
    /// Whether it may be run.
    pub is_program: bool,
}

/// Writes a `.tar.gz`.
pub fn write(path: &Path, files: &[File]) -> Result<(), String> {
    let mut files: Vec<&File> = files.iter().collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let filled = Written::create(path).and_then(|file| {
        let packed = flate2::GzBuilder::new().mtime(0).write(file, flate2::Compression::best());
        let mut archive = tar::Builder::new(packed);
        for File { name, content, is_program } in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(if *is_program { 0o755 } else { 0o644 });
            archive.append_data(&mut header, name, content.as_slice())?;
        }
        archive.into_inner()?.finish()?.sync_all()
    });
    filled.map_err(|error| format!("{}: {error}", path.display()))
}

/// Unpacks a `.tar.gz`.
pub fn unpack(path: &Path, into: &Path) -> Result<(), String> {
    let unpacked =
        Written::open(path).and_then(|file| tar::Archive::new(flate2::read::GzDecoder::new(file)).unpack(into));
    unpacked.map_err(|error| format!("{}: {error}", path.display()))
}
