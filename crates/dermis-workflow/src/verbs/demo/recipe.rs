//! `demo`: the whole loop on the bundled body.

use crate::error::Error;
use crate::load::{FileNote, ReadOptions, Source, load_motion};
use crate::measure::{Scores, measure};
use crate::output::{Existing, reserve_file, reserve_folder};
use crate::recipe::{Provenance, Watch, bench, step};
use crate::report::{ModelOutcome, ScoredExamples, SetRole};
use crate::shown::{file_stamps, fit_summary, method_row};
use crate::verbs::compare::{Judgement, Row};
use crate::verbs::demo;
use crate::verbs::export::{ExportSettings, Exported, export_glb};
use crate::verbs::fit::ridge::RidgeSweep;
use crate::verbs::fit::{FitInput, Fitted, Method, fit};
use dermis_io::{model_file, to_bytes};
use dermis_rig::ExampleSet;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The whole loop: learn from an exercise, score on a walk nobody showed the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DemoRecipe {
    /// A folder for everything that is made. Files of the demo that are there already are replaced; no others are touched.
    pub out: PathBuf,
    /// What the page calls the command that made it.
    #[serde(skip)]
    pub command: Option<String>,
}

/// What came of the loop.
#[derive(Debug)]
pub struct DemoOutcome {
    /// The model of the exercise.
    pub fitted: Fitted,
    /// The exercise.
    pub train: ExampleSet,
    /// The walk.
    pub walk: ExampleSet,
    /// Errors on the exercise.
    pub train_scores: Scores,
    /// Errors on the walk.
    pub walk_scores: Scores,
    /// Enveloping with one ridge after another.
    pub ridges: RidgeSweep,
    /// Methods side by side.
    pub rows: Vec<Row>,
    /// The walk as a GLB; `None` if the caller stopped while methods were compared.
    pub exported: Option<Exported>,
    files: Vec<FileNote>,
    command: Option<String>,
}

/// The methods the demo sets side by side.
const METHODS: [&str; 7] = ["own-weights", "lbs", "dqs", "animation-space", "mwe-published", "mwe", "joint"];

impl DemoRecipe {
    /// Fits, scores, compares and exports, and writes everything into the folder.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<DemoOutcome, Error> {
        // The demo's own files may be replaced; the user's may not: only the names below are ever written.
        let folder = reserve_folder(&self.out, Existing::Replace)?;
        let write = folder.folder()?;
        let (loaded, train, walk, files) = step(watch, "read body", |_| demo::body())?;
        let input = FitInput::new(&loaded.rig, &train);
        let fitted = step(watch, "fit", |p| fit(&loaded, &input, &Method::joint(), p))?;
        let train_scores = step(watch, "measure", |_| measure(&fitted.model, &train, None))?;
        let walk_scores = step(watch, "measure", |_| measure(&fitted.model, &walk, None))?;
        let strengths: Vec<f64> = (-32..=8).map(|eighth| 10f64.powf(f64::from(eighth) / 8.0)).collect();
        let ridges = step(watch, "sweep the ridge", |p| RidgeSweep::new(&loaded, &train, &walk, &strengths, p))?;
        write("ridge.html", ridges.page(&loaded, &walk).to_html().as_bytes())?;
        let names = METHODS.map(String::from);
        let (rows, stopped) = bench(&loaded, &train, Judgement::HeldOut(&walk), &names, watch)?;
        let command = self.command.clone();
        let mut outcome = DemoOutcome {
            fitted,
            train,
            walk,
            train_scores,
            walk_scores,
            ridges,
            rows,
            exported: None,
            files,
            command,
        };
        if stopped {
            return Ok(outcome);
        }
        let model = &outcome.fitted.model;
        let bytes = to_bytes(|out| model_file::write(model, out)).map_err(Error::write(&self.out))?;
        write("body.dermis", &bytes)?;
        write("report.html", outcome.shown().page().to_html().as_bytes())?;
        let files = &*demo::FILES;
        let bundled =
            [("body.glb", &files.glb), ("body_exercise.npz", &files.exercise), ("body_walk.npz", &files.walk)];
        bundled.into_iter().try_for_each(|(name, bytes)| write(name, bytes))?;
        let source = Source { path: self.out.join("body_walk.npz"), part: None };
        let (motion, _) = load_motion(&loaded.rig, &loaded.space, &source, &ReadOptions::default())?;
        let glb = reserve_file(&self.out.join("body_walk_learnt.glb"), Existing::Replace)?;
        let settings = ExportSettings::default();
        outcome.exported = Some(step(watch, "export", |p| {
            export_glb(model, Some(&motion), None, settings, (&glb, &Default::default()), p)
        })?);
        Ok(outcome)
    }
}

impl DemoOutcome {
    /// What the user should know.
    pub fn warnings(&self) -> Vec<String> {
        self.shown().warnings()
    }

    fn shown(&self) -> ModelOutcome<'_> {
        ModelOutcome {
            model: &self.fitted.model,
            fit: Some(fit_summary(&self.fitted.report, self.fitted.seconds)),
            sets: vec![
                ScoredExamples { role: SetRole::Training, scores: &self.train_scores, examples: Some(&self.train) },
                ScoredExamples { role: SetRole::HeldOut, scores: &self.walk_scores, examples: Some(&self.walk) },
            ],
            comparison: self.rows.iter().map(method_row).collect(),
            further: Vec::new(),
            files: file_stamps(&self.files, Provenance::default(), None),
            command: self.command.clone(),
            pass: None,
        }
    }
}
