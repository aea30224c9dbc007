//! Files that recipes read, with their hashes, and the outputs that are kept apart from them.

use super::Watch;
use crate::FileError;
use crate::error::Error;
use crate::load::{FileNote, Source};
use crate::output::{Existing, Output, ending, reserve_file, reserve_folder};
use crate::verbs::fit::error::Error::NothingHeldOut;
use dermis_files::sculpts::SculptSource;
use dermis_fit::method::FitWarning;
use dermis_rig::ExampleSet;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A file that a recipe reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The file or folder, and the part of it that is meant.
    pub file: Source,
    /// SHA-256 of its bytes, the first 16 hexadecimal digits, once it was read. A recipe that has one refuses another file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// A file of sculpts that a recipe reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SculptInput {
    /// The file or folder, and the part of it that is meant.
    pub file: Source,
    /// The pose of its sculpt: a frame of the file of poses, counted from zero, or a label. Without it, poses go by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// As that of an [`Input`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl SculptInput {
    pub(crate) fn input(&self) -> Input {
        Input { file: self.file.clone(), sha256: self.sha256.clone() }
    }

    pub(crate) fn source(&self) -> SculptSource {
        SculptSource { file: self.file.clone(), at: self.at.clone() }
    }

    pub(crate) fn stamp(&mut self, notes: &[FileNote]) -> Result<(), Error> {
        let mut input = self.input();
        input.stamp(notes)?;
        self.sha256 = input.sha256;
        Ok(())
    }
}

impl From<SculptSource> for SculptInput {
    fn from(SculptSource { file, at }: SculptSource) -> Self {
        Self { file, at, sha256: None }
    }
}

impl Input {
    /// A file as the user names it.
    pub fn new(file: Source) -> Self {
        Self { file, sha256: None }
    }

    /// A path without a part.
    pub fn of_path(path: &Path) -> Self {
        Self::new(Source { path: path.into(), part: None })
    }

    /// What was noted of this file when it was read.
    pub(crate) fn note<'a>(&self, notes: &'a [FileNote]) -> Option<&'a FileNote> {
        let path = self.file.path.display().to_string();
        notes.iter().find(|note| note.path == path)
    }

    /// Checks the file's hash against the one stated.
    pub(crate) fn check(&self, notes: &[FileNote]) -> Result<(), Error> {
        match (&self.sha256, self.note(notes)) {
            (Some(stated), Some(note)) if *stated != note.hash => Err(Error::lacks(
                &self.file.path,
                format!(
                    "this is another file than the recipe's: its SHA-256 begins with {}, the recipe's with {stated}",
                    note.hash
                ),
                "take \"sha256\" out of the recipe to run it on another file",
            )),
            _ => Ok(()),
        }
    }

    /// Checks the file's hash against the one stated, and states it from now on.
    pub(crate) fn stamp(&mut self, notes: &[FileNote]) -> Result<(), Error> {
        self.check(notes)?;
        if let Some(note) = self.note(notes) {
            self.sha256 = Some(note.hash.clone());
        }
        Ok(())
    }
}

impl From<Source> for Input {
    fn from(file: Source) -> Self {
        Self::new(file)
    }
}

impl From<PathBuf> for Input {
    fn from(path: PathBuf) -> Self {
        Self::of_path(&path)
    }
}

/// Shows files that were read, and checks them against the hashes of the inputs.
pub(crate) fn seen<'a>(
    watch: &dyn Watch,
    inputs: impl IntoIterator<Item = &'a Input>,
    notes: &[FileNote],
) -> Result<(), Error> {
    watch.files(notes);
    inputs.into_iter().try_for_each(|input| input.check(notes))
}

/// What is to be said of held-out examples that are training examples too. Of those at the bind pose nothing: every set may
/// have one, and no correction shows there.
///
/// # Errors
/// [`NothingHeldOut`] if all of them are.
pub(crate) fn repeated(train: &ExampleSet, held_out: &ExampleSet) -> Result<Vec<FitWarning>, Error> {
    let posed = held_out.repeated_in(train).filter(|example| !example.is_at_bind()).count();
    match (posed, held_out.repeated_in(train).count(), held_out.len()) {
        (_, repeated, poses) if repeated == poses => Err(NothingHeldOut { poses }.into()),
        (0, ..) => Ok(neighbours(train, held_out).into_iter().collect()),
        (_, repeated, held_out) => Ok(vec![FitWarning::Repeated { repeated, held_out }]),
    }
}

/// What is to be said of held-out examples most of which are neighbours of training examples, as where a clip is cut into odd and
/// even frames.
fn neighbours(train: &ExampleSet, held_out: &ExampleSet) -> Option<FitWarning> {
    /// Degrees that limbs turn between two frames of a walk.
    const ANGLE: f64 = 6.0;
    /// Pairs of bones that are compared in well under a second.
    const MOST: usize = 1 << 28;
    let near = held_out.near(train, ANGLE.to_radians(), MOST).filter(|example| !example.is_at_bind()).count();
    (near > 1 && 2 * near > held_out.len()).then_some(FitWarning::Neighbours { near, held_out: held_out.len() })
}

/// Refuses outputs that are inputs.
pub(crate) fn keep<'a>(inputs: &[&Input], outputs: impl IntoIterator<Item = &'a Output>) -> Result<(), FileError> {
    outputs.into_iter().try_for_each(|output| output.keep(inputs.iter().map(|input| input.file.path.as_path())))
}

/// The sources of inputs.
pub(crate) fn sources(inputs: &[Input]) -> Vec<Source> {
    inputs.iter().map(|input| input.file.clone()).collect()
}

/// Where something was written.
pub(crate) fn paths(outputs: &[&Option<Output>]) -> Vec<PathBuf> {
    outputs.iter().filter_map(|output| output.as_ref().map(|output| output.path().to_path_buf())).collect()
}

/// Refuses a setting that does not lie between `low` and `high`.
pub(crate) fn within(setting: &'static str, value: f64, low: f64, high: f64) -> Result<(), Error> {
    match (low..=high).contains(&value) {
        true => Ok(()),
        false => Err(Error::Setting { setting, value, low, high }),
    }
}

/// Reserves a folder or a file.
pub(crate) fn reserve(path: &Path, existing: Existing, is_folder: bool) -> Result<Output, FileError> {
    match is_folder {
        true => reserve_folder(path, existing),
        false => reserve_file(path, existing),
    }
}

/// Whether a name is that of a page.
pub(crate) fn is_page(path: &Path) -> bool {
    ending(path) == "html"
}

/// Reserves a page: one self-contained file.
///
/// # Errors
/// [`FileError::Ending`] for a name that does not end in .html, and those of [`reserve_file`].
pub(crate) fn reserve_page(path: &Path, existing: Existing) -> Result<Output, FileError> {
    match is_page(path) {
        true => reserve_file(path, existing),
        false => Err(FileError::Ending {
            path: path.into(),
            what: "a page is one file, whose name ends in .html",
            endings: "name it PAGE.html",
        }),
    }
}
