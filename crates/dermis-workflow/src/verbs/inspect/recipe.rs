//! `inspect`: what files hold, and what is wrong with them.

use crate::error::Error;
use crate::output::Output;
use crate::recipe::{Existing, Input, Provenance, Watch, keep, reserve_page, step};
use crate::shown::file_stamps;
use crate::verbs::inspect::{lines, look};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A look into files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct InspectRecipe {
    /// The files, or folders of OBJ files.
    pub files: Vec<Input>,
    /// Where the page of the rig goes, of a look into one file (.html).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<PathBuf>,
    /// What happens to a page that is there already.
    #[serde(default)]
    pub existing: Existing,
    /// What the page says of the places of its files.
    #[serde(default, skip_serializing_if = "Provenance::is_relative")]
    pub provenance: Provenance,
    /// What the page calls the command that made it.
    #[serde(skip)]
    pub command: Option<String>,
}

/// What came of a look into files.
#[derive(Debug)]
pub struct InspectOutcome {
    /// Each file with what it holds, or why it cannot be read, in the order of the recipe.
    pub files: Vec<(PathBuf, Result<Inspected, Error>)>,
    /// Where the page went.
    pub written: Option<PathBuf>,
}

/// What one file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspected(Value);

impl InspectRecipe {
    /// Looks into every file, also after one that cannot be read.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; files that cannot be read are in the outcome. With a page: [`Error::Inspect`] for several files, and an
    /// error for a page that cannot be written or a file without a mesh.
    pub fn run(&self, watch: &dyn Watch) -> Result<InspectOutcome, Error> {
        let page = self.report.as_deref().map(|path| self.reserve(path)).transpose()?;
        let inputs: Vec<&Input> = self.files.iter().collect();
        keep(&inputs, &page)?;
        let mut written = None;
        let mut one = |input: &Input| {
            let looked = step(watch, "inspect", |_| look(&input.file.path))?;
            input.check(std::slice::from_ref(&looked.note))?;
            if let Some(out) = &page {
                let note = std::slice::from_ref(&looked.note);
                let files = file_stamps(note, self.provenance, self.report.as_deref());
                let drawn = looked.page(self.command.clone(), files).ok_or_else(|| {
                    let what = "there is no mesh to show";
                    Error::lacks(&input.file.path, what, "name a rig, a bundle with its rig, or a model")
                })?;
                let html = drawn.to_html();
                out.write(html.as_bytes())?;
                written = Some(out.path().to_path_buf());
            }
            Ok(Inspected(looked.value))
        };
        let mut files = Vec::with_capacity(self.files.len());
        for input in &self.files {
            match one(input) {
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                looked => files.push((input.file.path.clone(), looked)),
            }
        }
        Ok(InspectOutcome { files, written })
    }

    fn reserve(&self, path: &Path) -> Result<Output, Error> {
        if self.files.len() != 1 {
            return Err(super::error::Error { files: self.files.len() }.into());
        }
        Ok(reserve_page(path, self.existing)?)
    }
}

impl InspectOutcome {
    /// Whether a file cannot be read.
    pub fn failed(&self) -> bool {
        self.files.iter().any(|(_, held)| held.is_err())
    }

    /// `inspect --json`: an object for every file. That of a file that cannot be read holds the reason as `error`.
    pub fn json(&self) -> Value {
        let one = |(path, held): &(PathBuf, Result<Inspected, Error>)| match held {
            Ok(held) => held.json(),
            Err(error) => json!({"file": path, "error": error.to_string()}),
        };
        self.files.iter().map(one).collect()
    }
}

impl Inspected {
    /// What the file holds, as JSON.
    pub fn json(&self) -> Value {
        self.0.clone()
    }

    /// The same in lines for people.
    pub fn lines(&self) -> Vec<String> {
        lines(&self.0)
    }
}
