//! The model, as a caller has it.

use crate::{Error, Examples, Rig};
use dermis_deform::Runner;
use dermis_files::load::{LoadedRig, load_model};
use dermis_files::output::{Existing, reserve_file};
use dermis_io::{ModelFile, ReadError, WriteError, model_file};
use dermis_measure::{ErrorStats, Scores};
use dermis_rig::Skeleton;
use dermis_workflow::recipe::FitRecipe;
use std::io::Write;
use std::path::Path;

/// A fitted deformer with its rig, ready to run.
#[derive(Clone, Debug)]
pub struct Model {
    file: ModelFile,
}

/// A model's error on examples.
#[derive(Clone, Debug)]
pub struct Score {
    /// Over all vertices and poses, metres.
    pub error: ErrorStats,
    /// The same of the rig's own weights, if it has any.
    pub baseline: Option<ErrorStats>,
    /// Per pose and per vertex.
    pub details: Scores,
}

impl Model {
    /// A model from a file (.dermis).
    ///
    /// # Errors
    /// [`Error`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self { file: load_model(path.as_ref())?.0 })
    }

    /// A model from the bytes of a file.
    ///
    /// # Errors
    /// [`ReadError`]: wrong kind, damaged, or written by a newer program.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        Ok(Self { file: model_file::read(bytes)? })
    }

    /// Writes the bytes of a file.
    ///
    /// # Errors
    /// [`WriteError`] if `out` takes no more.
    pub fn write(&self, out: &mut dyn Write) -> Result<(), WriteError> {
        model_file::write(&self.file, out)
    }

    /// Saves the model. A file of that name is replaced, whole or not at all.
    ///
    /// # Errors
    /// [`Error`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Ok(reserve_file(path.as_ref(), Existing::Replace)?.write_with(|to| self.write(to))?)
    }

    /// The rig it was fitted on.
    pub fn rig(&self) -> Rig {
        LoadedRig { rig: self.file.rig().clone(), space: self.file.space.clone(), notes: Vec::new() }.into()
    }

    /// The skeleton it is driven by.
    pub fn skeleton(&self) -> &Skeleton {
        self.file.rig().skeleton()
    }

    /// A runner: it owns its scratch memory and its output, and allocates nothing after the first pose. Normals are there
    /// when they are asked for.
    pub fn runner(&self) -> Runner<'_> {
        let runner = self.file.baked().runner();
        let with = runner.clone().with_normals(&self.file.rig().mesh().triangles);
        // A rig's triangles name vertices that exist.
        with.unwrap_or(runner)
    }

    /// Scores the model on examples.
    ///
    /// # Errors
    /// [`Error`]: no examples, or examples of another rig.
    pub fn score(&self, examples: &Examples) -> Result<Score, Error> {
        let details = dermis_measure::measure(&self.file, examples, None)?;
        let baseline = details.baseline.as_ref().map(|report| report.error);
        Ok(Score { error: details.model.error, baseline, details })
    }

    /// The recipe that made it, if it was fitted from files.
    pub fn recipe(&self) -> Option<FitRecipe> {
        FitRecipe::of_model(&self.file, Path::new("")).ok()
    }

    /// The same as a file holds it, with settings and report.
    pub fn as_file(&self) -> &ModelFile {
        &self.file
    }
}

impl From<ModelFile> for Model {
    fn from(file: ModelFile) -> Self {
        Self { file }
    }
}
