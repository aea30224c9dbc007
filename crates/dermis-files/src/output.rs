//! Outputs: kept unless replaced on purpose, and whole or not at all.

use crate::error::FileError;
use dermis_io::WriteError;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A place the caller may write to, checked before the long work.
#[derive(Clone, Debug)]
pub struct Output {
    path: PathBuf,
    force: bool,
}

/// Reserves an output: refuses now, not after the work, if it exists and `force` is off, or if its folder is
/// missing or cannot be written to.
///
/// # Errors
/// [`FileError::Exists`], [`FileError::Write`].
pub fn reserve(path: &Path, force: bool) -> Result<Output, FileError> {
    let occupied = match path.is_dir() {
        true => std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()),
        false => path.exists(),
    };
    if occupied && !force {
        return Err(FileError::Exists { path: path.into() });
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let reason = format!("the folder \"{}\" does not exist", folder.display());
        return Err(FileError::Write { path: path.into(), reason });
    }
    let place = if path.is_dir() { path } else { folder };
    let probe = place.join(format!(".dermis.{}.probe", std::process::id()));
    let tried = File::create(&probe).and_then(|_| std::fs::remove_file(&probe));
    tried.map_err(|source| FileError::System { path: place.into(), source })?;
    Ok(Output { path: path.into(), force })
}

/// Reserves a file: what is a folder already is refused as well.
///
/// # Errors
/// As [`reserve`].
pub fn reserve_file(path: &Path, force: bool) -> Result<Output, FileError> {
    match path.is_dir() {
        true => {
            // A full folder is somebody's; so is an empty one, but there the remedy is another name.
            reserve(path, force)?;
            Err(FileError::Write { path: path.into(), reason: "this is a folder, and a file is to be written".into() })
        }
        false => reserve(path, force),
    }
}

/// Reserves a folder: what is a file already is refused as well.
///
/// # Errors
/// As [`reserve`].
pub fn reserve_folder(path: &Path, force: bool) -> Result<Output, FileError> {
    match reserve(path, force) {
        Ok(_) if path.exists() && !path.is_dir() => {
            Err(FileError::Write { path: path.into(), reason: "this is a file, and a folder is to be written".into() })
        }
        other => other,
    }
}

impl Output {
    /// Where it goes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file beside its place and renames it there: an interrupted program leaves the old file whole.
    ///
    /// # Errors
    /// [`FileError::System`] or [`FileError::Write`], or [`FileError::Exists`] if somebody wrote it meanwhile.
    pub fn write(&self, bytes: &[u8]) -> Result<(), FileError> {
        self.write_with(|out| write_all(out, bytes))
    }

    /// The same for what need not be held: `task` writes it piece by piece.
    ///
    /// # Errors
    /// Those of [`Output::write`], and [`FileError::Write`] with what `task` says.
    pub fn write_with(&self, task: impl FnOnce(&mut dyn Write) -> Result<(), WriteError>) -> Result<(), FileError> {
        if !self.force && self.path.exists() {
            return Err(FileError::Exists { path: self.path.clone() });
        }
        write_whole(&self.path, task)
    }

    /// Makes the folder and gives a writer of files in it.
    ///
    /// # Errors
    /// [`FileError::System`]; of the writer [`FileError::System`] or [`FileError::Write`].
    pub fn folder(&self) -> Result<impl Fn(&str, &[u8]) -> Result<(), FileError> + use<'_>, FileError> {
        std::fs::create_dir_all(&self.path).map_err(|source| FileError::System { path: self.path.clone(), source })?;
        Ok(|name: &str, bytes: &[u8]| write_whole(&self.path.join(name), |out| write_all(out, bytes)))
    }
}

fn write_all(out: &mut dyn Write, bytes: &[u8]) -> Result<(), WriteError> {
    Ok(out.write_all(bytes)?)
}

fn write_whole(path: &Path, task: impl FnOnce(&mut dyn Write) -> Result<(), WriteError>) -> Result<(), FileError> {
    let failed = |source| FileError::System { path: path.into(), source };
    let name = path.file_name().map_or_else(|| "out".into(), |n| n.to_string_lossy().into_owned());
    let beside = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let written = || {
        let mut file = File::create(&beside).map_err(failed)?;
        task(&mut file).map_err(FileError::write(path))?;
        file.sync_all().map_err(failed)
    };
    let moved = written().and_then(|()| std::fs::rename(&beside, path).map_err(failed));
    if moved.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    moved
}

/// The ending of a file's name, in lower case; empty if there is none.
pub fn ending(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}
