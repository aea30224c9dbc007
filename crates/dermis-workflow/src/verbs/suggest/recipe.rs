//! `suggest`: which frames of a motion to sculpt next.

use crate::FileError;
use crate::error::Error;
use crate::load::{FileNote, ReadOptions, kind_of, load_model, load_motion, load_rig};
use crate::output::reserve_file;
use crate::recipe::{Existing, Input, Watch, keep, seen, step};
use crate::verbs::suggest::{Advice, Suggestions, advice_json, bundle, json, model_of_weights, study};
use dermis_io::npz::{StoredFloat, write};
use dermis_io::{Format, ModelFile};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A search for the poses to sculpt next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SuggestRecipe {
    /// The model, or a rig that nothing was learnt for yet.
    pub model: Input,
    /// The motion that the model shall become better at.
    pub motion: Input,
    /// Poses to choose among; the motion's own frames if there is none.
    #[serde(default)]
    pub among: Option<Input>,
    /// How many poses.
    #[serde(default = "SuggestRecipe::default_count")]
    pub count: u16,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// A bundle with the rig and the poses, for the sculptor to fill.
    #[serde(default)]
    pub out: Option<PathBuf>,
    /// What happens to an output that is there already.
    #[serde(default)]
    pub existing: Existing,
}

/// What came of a search.
#[derive(Debug)]
pub struct SuggestOutcome {
    /// The suggestions, best first.
    pub found: Suggestions,
    /// What training lacks for the motion, by region of the skin.
    pub lacks: Advice,
    /// What the motion is called.
    pub motion: String,
    /// What became of the bundle.
    pub bundle: SuggestedBundle,
}

/// What became of the bundle of suggested poses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuggestedBundle {
    /// None was wanted.
    Unwanted,
    /// There is nothing to sculpt.
    Empty,
    /// It went there.
    Written(PathBuf),
}

impl SuggestRecipe {
    /// How many poses are suggested by default.
    pub const COUNT: u16 = 4;

    fn default_count() -> u16 {
        Self::COUNT
    }

    /// Looks for the poses, and writes them if that is wanted.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<SuggestOutcome, Error> {
        if let Some(path) = self.out.as_ref().filter(|p| !p.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz")))
        {
            let (what, endings) = ("poses are written as a bundle", "name it .npz");
            return Err(FileError::Ending { path: path.clone(), what, endings }.into());
        }
        let out = self.out.as_deref().map(|path| reserve_file(path, self.existing)).transpose()?;
        let inputs: Vec<&Input> = [&self.model, &self.motion].into_iter().chain(&self.among).collect();
        keep(&inputs, &out)?;
        let (model, note) = step(watch, "read model", |_| model_or_rig(&self.model.file.path))?;
        let read = |role: &str, input: &Input| {
            step(watch, role, |_| load_motion(model.rig(), &model.space, &input.file, &self.read))
        };
        let (motion, motion_note) = read("read motion", &self.motion)?;
        let mut notes = vec![note, motion_note];
        let mut among = None;
        if let Some(input) = &self.among {
            let (poses, note) = read("read poses", input)?;
            notes.push(note);
            among = Some(poses);
        }
        self.read.must_act_on(&notes)?;
        seen(watch, inputs, &notes)?;
        let count = usize::from(self.count);
        let study = step(watch, "compare poses", |p| study(&model, &motion, among.as_ref(), p))?;
        let lacks = step(watch, "advise", |_| Ok::<_, Error>(study.advise()))?;
        let found = step(watch, "suggest", |_| Ok::<_, Error>(study.suggest(count)))?;
        let bundle = match (&out, found.list.is_empty()) {
            (None, _) => SuggestedBundle::Unwanted,
            (Some(_), true) => SuggestedBundle::Empty,
            (Some(out), false) => {
                let contents = bundle(&found, &model, among.as_ref().unwrap_or(&motion));
                out.write_with(|to| write(&contents, StoredFloat::Single, to))?;
                SuggestedBundle::Written(out.path().to_path_buf())
            }
        };
        Ok(SuggestOutcome { found, lacks, motion: motion.name, bundle })
    }
}

/// A model; or of a rig that nothing was learnt for yet the model of its own weights, which knows the bind pose alone.
fn model_or_rig(path: &Path) -> Result<(ModelFile, FileNote), Error> {
    if kind_of(path).is_none_or(|kind| kind == Format::Model) {
        return Ok(load_model(path)?);
    }
    let loaded = load_rig(path)?;
    let model = model_of_weights(&loaded)?;
    let note = loaded.notes.into_iter().next().unwrap_or_default();
    Ok((model, note))
}

impl SuggestOutcome {
    /// `suggest --json`.
    pub fn json(&self) -> Value {
        let mut value = json(&self.found);
        value["lacks"] = advice_json(&self.lacks);
        value
    }
}
