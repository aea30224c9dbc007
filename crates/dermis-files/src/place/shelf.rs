//! Files in memory, for a browser: what the host puts, what a recipe reads, and what it writes.

use super::Existing;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::io::{self, Cursor, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that may be read while the shelf changes.
#[derive(Clone, Debug)]
pub struct Bytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A file, or a folder.
#[derive(Clone, Debug)]
enum Held {
    File(Bytes),
    Folder,
}

/// What is on the shelf, by paths from its top. The top is always there and has no entry.
static SHELF: Mutex<BTreeMap<PathBuf, Held>> = Mutex::new(BTreeMap::new());

fn shelf() -> MutexGuard<'static, BTreeMap<PathBuf, Held>> {
    SHELF.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The path from the top, without "." and "..".
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}

/// What has this name.
fn held(path: &Path) -> Option<Held> {
    let path = plain(path);
    if path.as_os_str().is_empty() { Some(Held::Folder) } else { shelf().get(&path).cloned() }
}

fn file(path: &Path) -> io::Result<Bytes> {
    match held(path) {
        Some(Held::File(bytes)) => Ok(bytes),
        Some(Held::Folder) => Err(ErrorKind::IsADirectory.into()),
        None => Err(ErrorKind::NotFound.into()),
    }
}

/// Puts a file, in place of one of that name, and the folders around it.
///
/// # Errors
/// If the name is that of a folder, or of a file a folder around it.
pub fn put(path: &Path, bytes: Vec<u8>) -> io::Result<()> {
    make_folder(&folder_of(path))?;
    write(path, bytes, Existing::Replace)
}

/// Takes a file off the shelf.
///
/// # Errors
/// If there is no such file.
pub fn take(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = file(path)?;
    shelf().remove(&plain(path));
    Ok(Arc::try_unwrap(bytes.0).unwrap_or_else(|shared| shared.to_vec()))
}

/// All files with their lengths in bytes, by their names.
pub fn all() -> Vec<(PathBuf, usize)> {
    let file = |(path, held): (&PathBuf, &Held)| match held {
        Held::File(bytes) => Some((path.clone(), bytes.0.len())),
        Held::Folder => None,
    };
    shelf().iter().filter_map(file).collect()
}

fn folder_of(path: &Path) -> PathBuf {
    plain(path).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Writes a file into a folder that is there.
fn write(path: &Path, bytes: Vec<u8>, existing: Existing) -> io::Result<()> {
    let name = plain(path);
    match held(&folder_of(path)) {
        Some(Held::Folder) if !name.as_os_str().is_empty() => {}
        Some(Held::Folder) => return Err(ErrorKind::IsADirectory.into()),
        Some(Held::File(_)) => return Err(ErrorKind::NotADirectory.into()),
        None => return Err(ErrorKind::NotFound.into()),
    }
    let bytes = Held::File(Bytes(Arc::new(bytes)));
    match (shelf().entry(name), existing) {
        (Entry::Vacant(free), _) => {
            free.insert(bytes);
        }
        (Entry::Occupied(_), Existing::Keep) => return Err(ErrorKind::AlreadyExists.into()),
        (Entry::Occupied(taken), Existing::Replace) if matches!(taken.get(), Held::Folder) => {
            return Err(ErrorKind::IsADirectory.into());
        }
        (Entry::Occupied(mut taken), Existing::Replace) => {
            taken.insert(bytes);
        }
    }
    Ok(())
}

/// A file that is read.
pub type Opened = Cursor<Bytes>;

/// Whether there is a file or a folder.
pub fn exists(path: &Path) -> bool {
    held(path).is_some()
}

/// Whether it is a folder.
pub fn is_dir(path: &Path) -> bool {
    matches!(held(path), Some(Held::Folder))
}

/// Whether it is a file.
pub fn is_file(path: &Path) -> bool {
    matches!(held(path), Some(Held::File(_)))
}

/// Whether the name is taken.
///
/// # Errors
/// None; on a disk there are.
pub fn is_taken(path: &Path) -> io::Result<bool> {
    Ok(exists(path))
}

/// The bytes of a file.
///
/// # Errors
/// If there is no such file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    Ok(file(path)?.0.to_vec())
}

/// A file to be read in pieces, and its length in bytes.
///
/// # Errors
/// If there is no such file.
pub fn open(path: &Path) -> io::Result<(Opened, u64)> {
    let bytes = file(path)?;
    let length = bytes.0.len() as u64;
    Ok((Cursor::new(bytes), length))
}

/// The names in a folder, in order.
///
/// # Errors
/// If there is no such folder.
pub fn names(folder: &Path) -> io::Result<impl Iterator<Item = OsString> + use<>> {
    match held(folder) {
        Some(Held::Folder) => {}
        Some(Held::File(_)) => return Err(ErrorKind::NotADirectory.into()),
        None => return Err(ErrorKind::NotFound.into()),
    }
    let folder = plain(folder);
    let within = |path: &PathBuf| (path.parent() == Some(&folder)).then(|| path.file_name().map(Into::into)).flatten();
    let names: Vec<OsString> = shelf().keys().filter_map(within).collect();
    Ok(names.into_iter())
}

/// Makes a folder and those around it, where they are missing.
///
/// # Errors
/// If one of them is a file.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let folder = plain(folder);
    let around: Vec<&Path> = folder.ancestors().filter(|folder| !folder.as_os_str().is_empty()).collect();
    let mut shelf = shelf();
    if around.iter().any(|folder| matches!(shelf.get(*folder), Some(Held::File(_)))) {
        return Err(ErrorKind::NotADirectory.into());
    }
    shelf.extend(around.iter().map(|folder| (folder.to_path_buf(), Held::Folder)));
    Ok(())
}

/// Makes an empty file.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] if the name is taken, or if its folder is missing.
pub fn make_file(path: &Path) -> io::Result<()> {
    write(path, Vec::new(), Existing::Keep)
}

/// Removes a file.
///
/// # Errors
/// If there is no such file.
pub fn remove(path: &Path) -> io::Result<()> {
    take(path).map(|_| ())
}

/// The path of a file or a folder that is there, from the top, without `..`.
///
/// # Errors
/// If there is nothing.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    held(path).map(|_| Path::new("/").join(plain(path))).ok_or_else(|| ErrorKind::NotFound.into())
}

/// A path from the top, whether or not there is something.
///
/// # Errors
/// None; on a disk there are.
pub fn absolute(path: &Path) -> io::Result<PathBuf> {
    Ok(Path::new("/").join(path))
}

/// A lock, held until it is dropped.
#[derive(Debug)]
pub struct Lock(());

/// Locks a file, which is made where it is missing. No other program writes on the shelf, so nobody is kept out.
///
/// # Errors
/// If its folder is missing.
pub fn lock(path: &Path) -> io::Result<Lock> {
    if !is_file(path) {
        make_file(path)?;
    }
    Ok(Lock(()))
}

/// A file under way, which nobody sees until it gets its name.
#[derive(Debug)]
pub struct Part(Writer);

/// What writes into a file under way.
pub type Writer = Cursor<Vec<u8>>;

impl Part {
    /// Makes one for a folder.
    ///
    /// # Errors
    /// If there is no such folder.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        if is_dir(folder) { Ok(Self(Writer::default())) } else { Err(ErrorKind::NotFound.into()) }
    }

    /// Where its bytes go.
    pub fn writer(&mut self) -> &mut Writer {
        &mut self.0
    }

    /// Does nothing: there is no disk.
    ///
    /// # Errors
    /// None; on a disk there are.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] for a name that is taken and to be kept; [`ErrorKind::IsADirectory`] for that of a folder.
    pub fn named(self, path: &Path, existing: Existing) -> io::Result<()> {
        let mut bytes = self.0.into_inner();
        bytes.shrink_to_fit();
        write(path, bytes, existing)
    }
}

/// Does nothing: there is no disk.
///
/// # Errors
/// None; on a disk there are.
pub fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Does nothing: a file under way goes with the program that writes it.
pub fn remove_abandoned(_folder: &Path) {}

#[cfg(test)]
mod tests;
