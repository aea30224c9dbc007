//! `report`: two outcomes of `fit`, `eval` or `compare` side by side.

use crate::error::Error;
use crate::load::{FileNote, note, read_bytes};
use crate::recipe::{Existing, Input, Provenance, Watch, keep, reserve_page, seen, step};
use crate::report::{OutcomePair, StoredOutcome};
use crate::shown::file_stamps;
use dermis_files::provenance::folder_of;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Two outcomes to be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReportRecipe {
    /// The outcome to start from, as JSON.
    pub first: Input,
    /// The outcome whose difference from the first is shown.
    pub second: Input,
    /// Where the page goes (.html).
    #[serde(default)]
    pub out: Option<PathBuf>,
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

/// What came of a comparison of outcomes.
#[derive(Clone, Debug)]
pub struct ReportOutcome {
    /// The outcomes.
    pub pair: OutcomePair,
    /// Where the page went.
    pub written: Option<PathBuf>,
}

impl ReportRecipe {
    /// Reads both outcomes, compares them and writes the page.
    ///
    /// # Errors
    /// [`FileError::Lacks`](crate::FileError::Lacks) for a file that is no outcome, or that does not go with the other.
    pub fn run(&self, watch: &dyn Watch) -> Result<ReportOutcome, Error> {
        const HINT: &str = "dermis fit, eval and compare print their outcomes with `json`";
        let out = self.out.as_deref().map(|path| reserve_page(path, self.existing)).transpose()?;
        let inputs = [&self.first, &self.second];
        keep(&inputs, &out)?;
        let read = |input: &Input| -> Result<(StoredOutcome, FileNote), Error> {
            let path = &input.file.path;
            let bytes = read_bytes(path)?;
            let text = String::from_utf8_lossy(&bytes);
            let outcome = StoredOutcome::from_json(&text).map_err(|e| Error::lacks(path, e.to_string(), HINT))?;
            Ok((outcome, FileNote { role: "outcome".into(), ..note(path, &bytes, Vec::new()) }))
        };
        let (first, a) = step(watch, "read", |_| read(&self.first))?;
        let (second, b) = step(watch, "read", |_| read(&self.second))?;
        let files = [a, b];
        seen(watch, inputs, &files)?;
        let path = &self.second.file.path;
        let names = self.names();
        let pair = OutcomePair::new(names, first, second).map_err(|e| Error::lacks(path, e.to_string(), ""))?;
        if let Some(out) = &out {
            let files = file_stamps(&files, self.provenance, self.out.as_deref());
            let page = pair.page(crate::PROGRAM, self.command.clone(), files).to_html();
            out.write(page.as_bytes())?;
        }
        Ok(ReportOutcome { pair, written: out.map(|out| out.path().to_path_buf()) })
    }

    /// What the outcomes are called: their files without folder and ending, unless that is the same for both.
    fn names(&self) -> [String; 2] {
        let paths = [&self.first.file.path, &self.second.file.path];
        let short =
            paths.map(|path| path.file_stem().map_or(String::new(), |name| name.to_string_lossy().into_owned()));
        let folder = self.out.as_deref().map_or(Path::new("."), folder_of);
        let long = paths.map(|path| self.provenance.stated(path, folder).display().to_string());
        match (short[0] == short[1], long[0] == long[1]) {
            (false, _) => short,
            (true, false) => long,
            (true, true) => [format!("{} (first)", short[0]), format!("{} (second)", short[1])],
        }
    }
}

impl ReportOutcome {
    /// `report --json`.
    pub fn json(&self) -> Value {
        self.pair.json()
    }
}
