//! `eval`: a model scored on examples, or tried in poses far beyond any.

use crate::error::Error;
use crate::load::{FileNote, ReadOptions, load_base_cache, load_examples, load_model};
use crate::measure::{PassRule, Scores, bound_of, measure_streamed, measure_within};
use crate::output::reserve_file;
use crate::recipe::{Existing, Input, Provenance, Watch, keep, paths, reserve_page, sources, step};
use crate::report::page::FileStamp;
use crate::report::{ModelOutcome, PassVerdict, ScoredExamples, SetRole, vertex_csv};
use crate::shown::file_stamps;
use crate::verbs::eval::stress::{Stress, stress};
use crate::verbs::fit::recipe::FitRecipe;
use crate::verbs::suggest::{Advice, advice_json, advice_table, lacks};
use dermis_deform::baked::BakedBase;
use dermis_io::ModelFile;
use dermis_rig::ExampleSet;
use dermis_rig::clock::Instant;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// An evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EvalRecipe {
    /// The model.
    pub model: Input,
    /// Examples to score it on.
    #[serde(default)]
    pub score: Option<ScoreRecipe>,
    /// Random poses to try it in.
    #[serde(default)]
    pub stress: Option<StressTest>,
}

/// A score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScoreRecipe {
    /// The examples.
    pub examples: Vec<Input>,
    /// Positions of a given base in their poses.
    #[serde(default)]
    pub base_cache: Option<Input>,
    /// Whether the examples are held, so that the page can show them.
    #[serde(default)]
    pub held: Held,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// Where the page goes (.html).
    #[serde(default)]
    pub report: Option<PathBuf>,
    /// A CSV file of errors per vertex.
    #[serde(default)]
    pub vertex_errors: Option<PathBuf>,
    /// What happens to outputs that are there already.
    #[serde(default)]
    pub existing: Existing,
    /// The model fails if the rms error is above this, metres.
    #[serde(default)]
    pub fail_above: Option<f64>,
    /// The model fails unless this share of the distances lies within this bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<PassRule>,
    /// What the page says of the places of its files.
    #[serde(default, skip_serializing_if = "Provenance::is_relative")]
    pub provenance: Provenance,
    /// What the page calls the command that made it.
    #[serde(skip)]
    pub command: Option<String>,
}

/// Whether examples are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// All at once.
    #[default]
    Held,
    /// A few at a time.
    Streamed,
}

/// Random poses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StressTest {
    /// How many at each angle.
    pub poses: u32,
    /// Where the random numbers start.
    pub seed: u64,
}

/// What came of an evaluation.
#[derive(Debug)]
pub struct EvalOutcome {
    /// The model.
    pub model: ModelFile,
    /// The scores.
    pub scored: Option<Scored>,
    /// What random poses did.
    pub stress: Option<Stress>,
}

/// Scores on examples.
#[derive(Debug)]
pub struct Scored {
    /// The scores.
    pub scores: Scores,
    /// What training lacks for the poses, expected from the poses alone.
    pub lacks: Option<Advice>,
    /// Seconds that scoring took.
    pub seconds: f64,
    /// Where something was written.
    pub written: Vec<PathBuf>,
    /// Whether the rms error is above its limit, or the demand on the distances not met.
    pub failed: bool,
    role: SetRole,
    pass: Option<PassRule>,
    examples: ExampleSet,
    files: Vec<FileStamp>,
    command: Option<String>,
}

impl EvalRecipe {
    /// Scores the model and tries it.
    ///
    /// # Errors
    /// [`Error::Eval`] without a score and a stress test; [`Error`] of files and examples.
    pub fn run(&self, watch: &dyn Watch) -> Result<EvalOutcome, Error> {
        if self.score.is_none() && self.stress.is_none() {
            return Err(super::error::Error.into());
        }
        let (model, note) = step(watch, "read model", |_| load_model(&self.model.file.path))?;
        self.model.check(std::slice::from_ref(&note))?;
        let scored = match &self.score {
            Some(score) => Some(score.run((&self.model, &model), note, watch)?),
            None => {
                watch.files(&[note]);
                None
            }
        };
        let tried = |test: &StressTest| {
            step(watch, "stress", |p| stress(&model, test.poses as usize, test.seed, p).map_err(Error::from))
        };
        let stress = self.stress.as_ref().map(tried).transpose()?;
        Ok(EvalOutcome { model, scored, stress })
    }
}

impl ScoreRecipe {
    fn run(&self, model: (&Input, &ModelFile), note: FileNote, watch: &dyn Watch) -> Result<Scored, Error> {
        let report = self.report.as_deref().map(|path| reserve_page(path, self.existing)).transpose()?;
        let vertex_errors = self.vertex_errors.as_deref().map(|path| reserve_file(path, self.existing)).transpose()?;
        let (input, model) = model;
        let inputs: Vec<&Input> = [input].into_iter().chain(&self.examples).chain(&self.base_cache).collect();
        keep(&inputs, &vertex_errors)?;
        let bound = bound_of(self.pass.as_ref(), model.rig(), &model.space)?;
        let mut files = vec![note];
        let mut start = Instant::now();
        let of_inputs = sources(&self.examples);
        let options = self.read.of_rest_shapes(matches!(model.baked().base(), BakedBase::Rest));
        let (scores, examples) = match self.held {
            Held::Streamed => {
                let (scores, notes) =
                    step(watch, "measure", |_| measure_streamed(model, &of_inputs, &options, "examples", bound))?;
                files.extend(notes);
                watch.files(&files);
                (scores, ExampleSet::default())
            }
            Held::Held => {
                let (examples, notes) = step(watch, "read examples", |_| {
                    load_examples(model.rig(), &model.space, &of_inputs, &options, "examples")
                })?;
                files.extend(notes);
                let given = match &self.base_cache {
                    None => None,
                    Some(input) => {
                        let (path, poses) = (&input.file.path, examples.len());
                        let (frames, note) = load_base_cache(model.rig(), &model.space, path, poses, &self.read)?;
                        files.push(note);
                        Some(frames)
                    }
                };
                watch.files(&files);
                start = Instant::now();
                (step(watch, "measure", |_| measure_within(model, &examples, given.as_deref(), bound))?, examples)
            }
        };
        self.read.must_act_on(&files)?;
        inputs.iter().try_for_each(|input| input.check(&files))?;
        if let Some(out) = &vertex_errors {
            out.write(vertex_csv(model.rig(), &scores).as_bytes())?;
        }
        let seconds = start.elapsed().as_secs_f64();
        let lacks = match examples.is_empty() {
            true => None,
            false => step(watch, "advise", |p| lacks(model, &examples, p))?,
        };
        let rms = scores.unseen.map_or(scores.model.error.rms, |unseen| unseen.error.rms);
        let failed = self.fail_above.is_some_and(|limit| rms > limit);
        let written = paths(&[&report, &vertex_errors]);
        let (pass, command) = (self.pass, self.command.clone());
        let role = FitRecipe::role_of(model, &self.examples, &files);
        let files = file_stamps(&files, self.provenance, self.report.as_deref());
        let mut scored = Scored { role, scores, lacks, seconds, written, failed, pass, examples, files, command };
        scored.failed |= scored.shown(model).pass().is_some_and(|pass| !pass.passed());
        if let Some(page) = &report {
            page.write(scored.shown(model).page().to_html().as_bytes())?;
        }
        Ok(scored)
    }
}

impl Scored {
    fn shown<'a>(&'a self, model: &'a ModelFile) -> ModelOutcome<'a> {
        let examples = Some(&self.examples).filter(|examples| !examples.is_empty());
        ModelOutcome {
            further: self.lacks.iter().map(advice_table).collect(),
            files: self.files.clone(),
            command: self.command.clone(),
            pass: self.pass,
            ..ModelOutcome::of_set(model, ScoredExamples { role: self.role, scores: &self.scores, examples })
        }
    }
}

impl EvalOutcome {
    /// Whether a check failed.
    pub fn failed(&self) -> bool {
        self.scored.as_ref().is_some_and(|scored| scored.failed) || self.stress.as_ref().is_some_and(|s| !s.passed())
    }

    /// The sentence to take away from the scores.
    pub fn verdict(&self) -> Option<String> {
        self.scored.as_ref()?.shown(&self.model).verdict().map(|verdict| verdict.text)
    }

    /// Whether the demand is met, if there is one.
    pub fn pass(&self) -> Option<PassVerdict> {
        self.scored.as_ref()?.shown(&self.model).pass()
    }

    /// What the user should know.
    pub fn warnings(&self) -> Vec<String> {
        self.scored.as_ref().map_or(vec![], |scored| scored.shown(&self.model).warnings())
    }

    /// `eval --json`.
    pub fn json(&self) -> Value {
        let rig = self.model.rig();
        let mut value = match &self.scored {
            Some(scored) => {
                let mut value = scored.shown(&self.model).json();
                value["seconds"] = scored.seconds.into();
                if let Some(lacks) = &scored.lacks {
                    value["lacks"] = advice_json(lacks);
                }
                if let Some(pass) = self.pass() {
                    value["pass"] = pass.json();
                }
                value
            }
            None => json!({
                "method": self.model.header.method,
                "vertices": rig.mesh().positions.len(),
                "bones": rig.skeleton().len(),
                "unit": self.model.space.unit,
                "diagonal": rig.mesh().diagonal(),
            }),
        };
        if let Some(stress) = &self.stress {
            value["stress"] = crate::verbs::eval::stress::json(stress);
        }
        value
    }
}
