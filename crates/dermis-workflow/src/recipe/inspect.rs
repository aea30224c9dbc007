//! `inspect`: what files hold, and what is wrong with them.

use super::{Input, Watch, step};
use crate::error::Error;
use crate::inspect::{inspect, lines};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A look into files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct InspectRecipe {
    /// The files, or folders of OBJ files.
    pub files: Vec<Input>,
}

/// What came of a look into files.
#[derive(Debug)]
pub struct InspectOutcome {
    /// What each file holds, or why it cannot be read, in the order of the recipe.
    pub files: Vec<Result<Inspected, Error>>,
}

/// What one file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspected(Value);

impl InspectRecipe {
    /// Looks into every file, also after one that cannot be read.
    ///
    /// # Errors
    /// [`Error::Cancelled`] alone; files that cannot be read are in the outcome.
    pub fn run(&self, watch: &dyn Watch) -> Result<InspectOutcome, Error> {
        let look = |input: &Input| {
            let (held, note) = step(watch, "inspect", |_| inspect(&input.file.path))?;
            input.check(&[note])?;
            Ok(Inspected(held))
        };
        let mut files = Vec::with_capacity(self.files.len());
        for input in &self.files {
            match look(input) {
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                looked => files.push(looked),
            }
        }
        Ok(InspectOutcome { files })
    }
}

impl InspectOutcome {
    /// Whether a file cannot be read.
    pub fn failed(&self) -> bool {
        self.files.iter().any(Result::is_err)
    }

    /// `inspect --json`: an object for every file that can be read.
    pub fn json(&self) -> Value {
        self.files.iter().flatten().map(Inspected::json).collect()
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
