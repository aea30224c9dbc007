//! Files on the disk.

use super::Existing;
use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::{Builder, NamedTempFile};

/// How names of files under way begin and end.
const PART: (&str, &str) = (".dermis-", ".tmp");

/// From this age on, a file under way that nobody holds is a killed program's. A younger one may not be locked yet.
const ABANDONED: Duration = Duration::from_secs(60);

/// A file that is read.
pub type Opened = File;

/// Whether there is a file or a folder.
pub fn exists(path: &Path) -> bool {
    path.exists()
}

/// Whether it is a folder.
pub fn is_dir(path: &Path) -> bool {
    path.is_dir()
}

/// Whether it is a file.
pub fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Whether the name is taken, be it by a link that leads nowhere.
///
/// # Errors
/// Those of the system.
pub fn is_taken(path: &Path) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A device such as /dev/zero, which a hostile file may name, would never end, and a pipe would be waited for.
fn expect_file(path: &Path) -> io::Result<()> {
    let found = std::fs::metadata(path)?;
    match (found.is_file(), found.is_dir()) {
        (true, _) => Ok(()),
        (_, true) => Err(ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "this is no file")),
    }
}

/// The bytes of a file.
///
/// # Errors
/// Those of the system; for whatever is no file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    expect_file(path)?;
    std::fs::read(path)
}

/// A file to be read in pieces, and its length in bytes.
///
/// # Errors
/// As [`read`].
pub fn open(path: &Path) -> io::Result<(Opened, u64)> {
    expect_file(path)?;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// The names in a folder, in any order.
///
/// # Errors
/// Those of the system.
pub fn names(folder: &Path) -> io::Result<impl Iterator<Item = OsString> + use<>> {
    Ok(std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.file_name())))
}

/// Makes a folder and those around it, where they are missing.
///
/// # Errors
/// Those of the system.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

/// Makes an empty file.
///
/// # Errors
/// Those of the system; [`ErrorKind::AlreadyExists`] if the name is taken.
pub fn make_file(path: &Path) -> io::Result<()> {
    File::create_new(path).map(|_| ())
}

/// Removes a file.
///
/// # Errors
/// Those of the system.
pub fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// The path of a file or a folder that is there, from the top, without links and `..`: two names of one file have the same.
///
/// # Errors
/// Those of the system.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// A path from the top, whether or not there is something.
///
/// # Errors
/// Those of the system.
pub fn absolute(path: &Path) -> io::Result<PathBuf> {
    std::path::absolute(path)
}

/// A lock, held until it is dropped.
pub type Lock = File;

/// Locks a file, which is made where it is missing, for one program. Where files cannot be locked, as on some network drives, everybody
/// has the lock.
///
/// # Errors
/// Those of the system; [`ErrorKind::WouldBlock`] if another program has it.
pub fn lock(path: &Path) -> io::Result<Lock> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) if error.kind() != ErrorKind::Unsupported => Err(error),
        _ => Ok(file),
    }
}

/// A file under way: it has a random name and is locked, and it is removed unless it gets its own name.
#[derive(Debug)]
pub struct Part(NamedTempFile);

/// What writes into a file under way.
pub type Writer = File;

impl Part {
    /// Makes one in a folder.
    ///
    /// # Errors
    /// Those of the system.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        let mut builder = Builder::new();
        builder.prefix(PART.0).suffix(PART.1);
        // As any program's files: what the user's mask leaves of it.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let part = builder.tempfile_in(folder)?;
        // Where files cannot be locked, none is ever taken for abandoned.
        let _ = part.as_file().lock();
        Ok(Self(part))
    }

    /// Where its bytes go.
    pub fn writer(&mut self) -> &mut Writer {
        self.0.as_file_mut()
    }

    /// Brings its bytes to the disk.
    ///
    /// # Errors
    /// Those of the system.
    pub fn sync(&self) -> io::Result<()> {
        self.0.as_file().sync_all()
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// Those of the system; [`ErrorKind::AlreadyExists`] for a name that is taken and to be kept.
    pub fn named(self, path: &Path, existing: Existing) -> io::Result<()> {
        let moved = match existing {
            Existing::Replace => self.0.persist(path),
            Existing::Keep => self.0.persist_noclobber(path),
        };
        moved.map(|_| ()).map_err(|failed| failed.error)
    }
}

/// Brings the names in a folder to the disk, where they have a place of their own.
///
/// # Errors
/// Those of the system.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Removes what killed programs left: files under way that are old and locked by nobody.
pub fn remove_abandoned(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let is_part = name.to_str().is_some_and(|name| name.starts_with(PART.0) && name.ends_with(PART.1));
        // Of the entry itself: a link is never followed.
        let old = entry
            .metadata()
            .is_ok_and(|m| m.is_file() && m.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED)));
        if !(is_part && old) {
            continue;
        }
        let free = File::open(entry.path()).is_ok_and(|file| !matches!(file.try_lock(), Err(TryLockError::WouldBlock)));
        if free {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
