//! `decompose`: bones and weights of a mesh sequence.

use crate::error::Error;
use crate::load::ReadOptions;
use crate::output::reserve_file;
use crate::recipe::{Existing, Input, Provenance, Watch, keep, reserve_page, seen, sources, step};
use crate::report::page::FileStamp;
use crate::report::{ModelOutcome, ScoredExamples, SetRole};
use crate::shown::file_stamps;
use crate::verbs::decompose::{
    Decomposed, DecompositionMethod, SequenceOptions, Sequences, Solved, Tie, check_ending, load_sequences, solve,
    write_decomposition,
};
use dermis_fit::decompose::BoneKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// A decomposition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DecomposeRecipe {
    /// The mesh sequences, a clip each.
    pub sequences: Vec<Input>,
    /// The frame that serves as rest shape, by label or by number from 0; the mesh of the first file otherwise.
    #[serde(default)]
    pub rest: Option<String>,
    /// How bones and weights are found.
    pub method: DecompositionMethod,
    /// What ties bones together.
    #[serde(default)]
    pub tie: Tie,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// Where bones, weights and clips go: a GLB or a bundle.
    pub out: PathBuf,
    /// Where the page goes (.html).
    #[serde(default)]
    pub report: Option<PathBuf>,
    /// What happens to outputs that are there already.
    #[serde(default)]
    pub existing: Existing,
    /// What the page says of the places of its files.
    #[serde(default, skip_serializing_if = "Provenance::is_relative")]
    pub provenance: Provenance,
    /// What the page calls the command that made it.
    #[serde(skip)]
    pub command: Option<String>,
}

/// What came of a decomposition.
#[derive(Debug)]
pub struct DecomposeOutcome {
    /// The sequences.
    pub sequences: Sequences,
    /// What was found.
    pub solved: Solved,
    /// What was written, read back and measured.
    pub made: Decomposed,
    /// Which transforms a bone may have; `None` if they were given.
    pub kind: Option<BoneKind>,
    /// Where bones and weights went.
    pub written: PathBuf,
    files: Vec<FileStamp>,
    command: Option<String>,
}

impl DecomposeRecipe {
    /// Reads the sequences, finds bones and weights, writes and measures them.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<DecomposeOutcome, Error> {
        check_ending(&self.out)?;
        self.method.check(self.tie)?;
        let out = reserve_file(&self.out, self.existing)?;
        let report = self.report.as_deref().map(|path| reserve_page(path, self.existing)).transpose()?;
        let inputs: Vec<&Input> = self.sequences.iter().chain(self.method.given()).collect();
        keep(&inputs, [&out])?;
        let options = SequenceOptions { rest: self.rest.clone(), read: self.read.clone() };
        let sequences = step(watch, "read", |_| load_sequences(&sources(&self.sequences), &options))?;
        let solved = step(watch, "decompose", |p| solve(&sequences, &self.method, self.tie, &self.read, p))?;
        let mut files = sequences.notes.clone();
        files.extend(solved.notes.clone());
        self.read.must_act_on(&files)?;
        seen(watch, inputs, &files)?;
        let made = step(watch, "write", |_| write_decomposition(&sequences, &solved, &out))?;
        let (written, command) = (out.path().to_path_buf(), self.command.clone());
        let files = file_stamps(&files, self.provenance, self.report.as_deref());
        let outcome = DecomposeOutcome { sequences, solved, made, kind: self.method.kind(), written, files, command };
        if let Some(page) = &report {
            page.write(outcome.page().as_bytes())?;
        }
        Ok(outcome)
    }
}

impl DecomposeOutcome {
    fn page(&self) -> String {
        let made = &self.made;
        let set = ScoredExamples { role: SetRole::Training, scores: &made.scores, examples: Some(&made.examples) };
        let (files, command) = (self.files.clone(), self.command.clone());
        let outcome = ModelOutcome { files, command, ..ModelOutcome::of_set(&made.model, set) };
        outcome.page().to_html()
    }

    /// `decompose --json`.
    pub fn json(&self) -> Value {
        self.made.json(&self.sequences, &self.solved)
    }
}
