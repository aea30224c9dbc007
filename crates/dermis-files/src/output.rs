//! Outputs: kept unless replaced on purpose, and whole or not at all.
//!
//! A file is written under a random name in its own folder, which no planted link can lead elsewhere, and renamed to its
//! place when it is whole. Without leave to replace, the renaming itself refuses a name that is taken, so of two programs
//! that write the same file one succeeds. A folder of frames holds a mark until its last frame is written, and a reader
//! refuses a folder with the mark. What a killed program left behind is removed by the next one that writes there.
//!
//! Every call of the system that a write makes is a `Step`. The tests let the n-th step fail, for every n.

use crate::error::FileError;
pub use crate::place::Existing;
use crate::place::{self, Part, Writer};
pub use crate::provenance::folder_of;
use dermis_io::WriteError;
use dermis_io::gltf::compress_glb;
use serde::{Deserialize, Serialize};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The mark of a folder that is not written to its end.
const UNFINISHED: &str = ".dermis-unfinished";

/// How a GLB is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compression {
    /// Without loss, by the glTF extension `EXT_meshopt_compression`, which a reader must know.
    Meshopt,
}

/// A place the caller may write to, checked before the long work.
#[derive(Clone, Debug)]
pub struct Output {
    path: PathBuf,
    existing: Existing,
    compress: Option<Compression>,
    before: Before,
}

/// A call of the system that can fail while an output is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The folder is made.
    MakeFolder,
    /// The folder gets its mark.
    Mark,
    /// The file under way is made.
    Create,
    /// Bytes go into it.
    Write,
    /// They go to the disk.
    Sync,
    /// It gets its name.
    Rename,
    /// The name goes to the disk.
    SyncFolder,
    /// The folder loses its mark.
    Unmark,
}

/// Called before every step; an error is the step's own.
type Before = fn(Step) -> io::Result<()>;

/// Every step is taken.
fn go_on(_: Step) -> io::Result<()> {
    Ok(())
}

/// The file under way, as its writer sees it.
pub struct UnderWay<'a> {
    file: &'a mut Writer,
    before: Before,
}

impl Write for UnderWay<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.before)(Step::Write)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for UnderWay<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Reserves an output: refuses now, not after the work, if it exists and is to be kept, or if its folder is
/// missing or cannot be written to.
///
/// # Errors
/// [`FileError::Exists`], [`FileError::Write`], [`FileError::System`] for a name that the system does not take.
pub fn reserve(path: &Path, existing: Existing) -> Result<Output, FileError> {
    let failed = |source| FileError::System { path: path.into(), source };
    // A link that leads nowhere is somebody's, too.
    let occupied = match place::is_taken(path).map_err(failed)? {
        true if place::is_dir(path) => place::names(path).is_ok_and(|mut names| names.next().is_some()),
        taken => taken,
    };
    if occupied && existing == Existing::Keep {
        return Err(FileError::Exists { path: path.into() });
    }
    let folder = folder_of(path);
    if !place::is_dir(folder) {
        let reason = format!("the folder \"{}\" does not exist", folder.display());
        return Err(FileError::Write { path: path.into(), reason });
    }
    let within = if place::is_dir(path) { path } else { folder };
    let probe = Part::in_folder(within).map_err(|source| FileError::System { path: within.into(), source })?;
    drop(probe);
    place::remove_abandoned(within);
    Ok(Output { path: path.into(), existing, compress: None, before: go_on })
}

/// Reserves a file: what is a folder already is refused as well.
///
/// # Errors
/// As [`reserve`].
pub fn reserve_file(path: &Path, existing: Existing) -> Result<Output, FileError> {
    match place::is_dir(path) {
        true => {
            // A full folder is somebody's; so is an empty one, but there the remedy is another name.
            reserve(path, existing)?;
            Err(FileError::Write { path: path.into(), reason: "this is a folder, and a file is to be written".into() })
        }
        false => reserve(path, existing),
    }
}

/// Reserves a file that will hold one kind of thing: a name that ends as another kind's is refused.
///
/// # Errors
/// [`FileError::Ending`], and as [`reserve_file`].
pub fn reserve_file_of(kind: Kind, path: &Path, existing: Existing) -> Result<Output, FileError> {
    let (own, what, endings) = match kind {
        Kind::Model => {
            ("dermis", "this name is not one of a model, which would be written to it", "name it MODEL.dermis")
        }
        Kind::Sums => ("part", "this name is not one of sums, which would be written to it", "name it SUMS.part"),
        Kind::Table => ("json", "this name is not one of a table, which would be written to it", "name it TABLE.json"),
    };
    let ending = ending(path);
    if ending != own && ENDINGS.contains(&ending.as_str()) {
        return Err(FileError::Ending { path: path.into(), what, endings });
    }
    reserve_file(path, existing)
}

/// What a file will hold whose name is free but for endings that mean something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A model.
    Model,
    /// Sums over examples.
    Sums,
    /// A table of drivers or helper bones.
    Table,
}

/// Endings that mean something, whether we read and write it or not.
const ENDINGS: [&str; 25] = [
    "dermis", "part", "json", "glb", "gltf", "vrm", "fbx", "abc", "npz", "npy", "obj", "pc2", "mdd", "usd", "usda",
    "usdc", "usdz", "bvh", "blend", "ma", "mb", "html", "svg", "png", "csv",
];

/// Reserves a folder: what is a file already is refused as well, and so is the name of a page.
///
/// # Errors
/// [`FileError::Ending`], and as [`reserve`].
pub fn reserve_folder(path: &Path, existing: Existing) -> Result<Output, FileError> {
    if ending(path) == "html" {
        let what = "several files are written into a folder, and this is the name of a page";
        return Err(FileError::Ending { path: path.into(), what, endings: "leave .html out" });
    }
    match reserve(path, existing) {
        Ok(_) if place::exists(path) && !place::is_dir(path) => {
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

    /// Refuses an output that is one of the inputs, also by another name of the same file.
    ///
    /// # Errors
    /// [`FileError::OwnInput`].
    pub fn keep<'a>(&self, inputs: impl IntoIterator<Item = &'a Path>) -> Result<(), FileError> {
        let Ok(own) = place::real(&self.path) else { return Ok(()) };
        match inputs.into_iter().any(|input| place::real(input).is_ok_and(|input| input == own)) {
            true => Err(FileError::OwnInput { path: self.path.clone() }),
            false => Ok(()),
        }
    }

    /// The same output, whose GLB is compressed.
    ///
    /// # Errors
    /// [`FileError::Ending`] if it is no GLB.
    pub fn compressed(self, compress: Option<Compression>) -> Result<Self, FileError> {
        if compress.is_some() && !matches!(ending(&self.path).as_str(), "glb" | "vrm") {
            let what = "only a GLB is compressed";
            return Err(FileError::Ending {
                path: self.path,
                what,
                endings: "name the output .glb, or leave the compression out",
            });
        }
        Ok(Self { compress, ..self })
    }

    /// Writes a GLB, compressed if the output is; result: its bytes.
    ///
    /// # Errors
    /// Those of [`Output::write`].
    pub fn write_glb(&self, glb: &[u8]) -> Result<usize, FileError> {
        let Some(Compression::Meshopt) = self.compress else {
            return self.write(glb).map(|()| glb.len());
        };
        let glb = compress_glb(glb).map_err(FileError::write(&self.path))?;
        self.write(&glb).map(|()| glb.len())
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
        write_whole(&self.path, self.existing, self.before, |file| task(file))
    }

    /// The same for a writer that goes back to fill in lengths.
    ///
    /// # Errors
    /// Those of [`Output::write_with`].
    pub fn write_back_and_forth(
        &self,
        task: impl FnOnce(&mut BufWriter<&mut UnderWay<'_>>) -> Result<(), WriteError>,
    ) -> Result<(), FileError> {
        write_whole(&self.path, self.existing, self.before, |file| {
            let mut buffered = BufWriter::with_capacity(1 << 16, file);
            task(&mut buffered)?;
            Ok(buffered.flush()?)
        })
    }

    /// Another file in the same folder, which the output refers to: kept or replaced as the output is.
    pub fn beside(&self, name: &str) -> Self {
        Self { path: folder_of(&self.path).join(name), compress: None, ..self.clone() }
    }

    /// Writes the file once more, over the one that this output has written.
    ///
    /// # Errors
    /// Those of [`Output::write_with`].
    pub fn rewrite_with(&self, task: impl FnOnce(&mut dyn Write) -> Result<(), WriteError>) -> Result<(), FileError> {
        write_whole(&self.path, Existing::Replace, self.before, |file| task(file))
    }

    /// Makes the folder and gives a writer of files in it.
    ///
    /// # Errors
    /// [`FileError::System`]; of the writer [`FileError::System`] or [`FileError::Write`].
    pub fn folder(&self) -> Result<impl Fn(&str, &[u8]) -> Result<(), FileError> + use<'_>, FileError> {
        let made = (self.before)(Step::MakeFolder).and_then(|()| place::make_folder(&self.path));
        made.map_err(|source| FileError::System { path: self.path.clone(), source })?;
        Ok(|name: &str, bytes: &[u8]| {
            write_whole(&self.path.join(name), Existing::Replace, self.before, |out| write_all(out, bytes))
        })
    }

    /// The same for files that are read together, as frames of one sequence: readers refuse the folder until `task`, which
    /// is handed the writer, is done.
    ///
    /// # Errors
    /// Those of [`Output::folder`] and of `task`.
    pub fn sequence<E: From<FileError>>(
        &self,
        task: impl FnOnce(&dyn Fn(&str, &[u8]) -> Result<(), FileError>) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = |source| FileError::System { path: self.path.clone(), source };
        let (write, mark) = (self.folder()?, self.path.join(UNFINISHED));
        match (self.before)(Step::Mark).and_then(|()| place::make_file(&mark)) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed(error).into()),
            _ => task(&write)?,
        }
        Ok((self.before)(Step::Unmark).and_then(|()| place::remove(&mark)).map_err(failed)?)
    }
}

/// Whether a folder was not written to its end.
pub(crate) fn is_unfinished(folder: &Path) -> bool {
    place::exists(&folder.join(UNFINISHED))
}

fn write_all(out: &mut dyn Write, bytes: &[u8]) -> Result<(), WriteError> {
    Ok(out.write_all(bytes)?)
}

fn write_whole(
    path: &Path,
    existing: Existing,
    before: Before,
    task: impl FnOnce(&mut UnderWay<'_>) -> Result<(), WriteError>,
) -> Result<(), FileError> {
    let failed = |source| FileError::System { path: path.into(), source };
    let folder = folder_of(path);
    let mut part = before(Step::Create).and_then(|()| Part::in_folder(folder)).map_err(failed)?;
    task(&mut UnderWay { file: part.writer(), before }).map_err(FileError::write(path))?;
    before(Step::Sync).and_then(|()| part.sync()).map_err(failed)?;
    before(Step::Rename).map_err(failed)?;
    match part.named(path, existing) {
        Err(error) if existing == Existing::Keep && error.kind() == ErrorKind::AlreadyExists => {
            return Err(FileError::Exists { path: path.into() });
        }
        moved => moved.map_err(failed)?,
    }
    // The name lives in the folder, which has a place on the disk of its own.
    before(Step::SyncFolder).and_then(|()| place::sync_folder(folder)).map_err(failed)
}

/// The ending of a file's name, in lower case; empty if there is none.
pub fn ending(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
