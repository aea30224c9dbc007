//! `figures`: figures of papers, made again and measured.

use crate::error::Error;
use crate::load::{ReadOptions, load_examples, load_rig};
use crate::output::reserve_folder;
use crate::recipe::{Existing, Input, Watch, sources, step};
use crate::verbs::demo;
use dermis_figures::{Character, Document, FiguresPage, IndexEntry, index_page};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Pages of figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FiguresRecipe {
    /// What is drawn; an index beside the pages if there are several.
    pub documents: Vec<Document>,
    /// A character in place of the bundled body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub character: Option<FigureCharacter>,
    /// The folder for the pages.
    pub out: PathBuf,
    /// What happens to pages that are there already.
    #[serde(default)]
    pub existing: Existing,
}

/// A character that figures are made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FigureCharacter {
    /// Mesh, skeleton and weights at rest.
    pub rig: Input,
    /// What fits learn from.
    pub examples: Vec<Input>,
    /// What fits are judged on.
    pub hold_out: Vec<Input>,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
}

/// What came of drawing.
#[derive(Clone, Debug)]
pub struct FiguresOutcome {
    /// The pages, in the order in which they were drawn.
    pub pages: Vec<(Document, FiguresPage)>,
    /// Where something was written.
    pub written: Vec<PathBuf>,
}

impl FigureCharacter {
    fn load(&self, watch: &dyn Watch) -> Result<Character, Error> {
        let loaded = step(watch, "read rig", |_| load_rig(&self.rig.file.path))?;
        let read = |inputs: &[Input], role: &str| {
            let load = || load_examples(&loaded.rig, &loaded.space, &sources(inputs), &self.read, role);
            step(watch, &format!("read {role}"), |_| load())
        };
        let (examples, mut notes) = read(&self.examples, "examples")?;
        let (held_out, more) = read(&self.hold_out, "hold-out")?;
        notes.extend(more);
        self.read.must_act_on(&notes)?;
        watch.files(&notes);
        Ok(Character::new(loaded.rig, examples, held_out)?)
    }
}

impl FiguresRecipe {
    /// Draws the figures and writes the pages, each as soon as it is drawn.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<FiguresOutcome, Error> {
        let folder = reserve_folder(&self.out, self.existing)?;
        let write = folder.folder()?;
        let character = match &self.character {
            Some(character) => character.load(watch)?,
            None => {
                let (loaded, exercise, walk, _) = step(watch, "read body", |_| demo::body())?;
                Character::new(loaded.rig, exercise, walk)?
            }
        };
        let mut outcome = FiguresOutcome { pages: Vec::new(), written: Vec::new() };
        for &document in &self.documents {
            let page = step(watch, document.name(), |p| document.draw(&character, p))?;
            let file = format!("{}.html", document.name());
            write(&file, page.to_html().as_bytes())?;
            outcome.written.push(self.out.join(file));
            outcome.pages.push((document, page));
        }
        if outcome.pages.len() > 1 {
            let files: Vec<String> =
                outcome.pages.iter().map(|(document, _)| format!("{}.html", document.name())).collect();
            let entries: Vec<IndexEntry<'_>> =
                files.iter().zip(&outcome.pages).map(|(file, (_, page))| IndexEntry { file, page }).collect();
            write("index.html", index_page(&entries).as_bytes())?;
            outcome.written.push(self.out.join("index.html"));
        }
        Ok(outcome)
    }
}

impl FiguresOutcome {
    /// The pages as JSON: for each figure its name, its verdict and its numbers, and for each part of the paper the figure that shows it.
    pub fn json(&self) -> Value {
        let page = |(document, page): &(Document, FiguresPage)| {
            let figures = page.figures.iter().map(|figure| {
                let verdict = figure.verdict();
                let measured = figure
                    .measured
                    .iter()
                    .map(|m| json!({"what": m.what, "value": m.value, "claim": m.claim, "holds": m.holds}));
                json!({
                    "figure": figure.name,
                    "title": figure.title,
                    "verdict": verdict.key(),
                    "words": verdict.words(),
                    "measured": measured.collect::<Vec<_>>(),
                })
            });
            let parts = page.listed().into_iter().map(|listed| {
                json!({
                    "part": listed.name,
                    "shows": listed.what,
                    "figure": listed.figure.map(|at| &page.figures[at].name),
                    "verdict": listed.verdict.key(),
                    "words": listed.verdict.words(),
                })
            });
            let parts = parts.collect::<Vec<_>>();
            json!({
                "document": document.name(),
                "title": page.title,
                "figures": figures.collect::<Vec<_>>(),
                "parts": parts,
            })
        };
        json!({"documents": self.pages.iter().map(page).collect::<Vec<_>>(), "written": self.written})
    }
}
