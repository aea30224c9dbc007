//! Scores of models on examples in memory: evaluations and comparisons.

use crate::errors::error;
use crate::examples::Examples;
use crate::model::Model;
use crate::rig::Rig;
use crate::work::work;
use dermis::internals::measure::{Scores, measure};
use dermis::internals::report::{ModelOutcome, ScoredExamples, SetRole};
use dermis::internals::workflow::recipe::{Subsets, USUAL, compare_held, comparison_steps};
use dermis::internals::workflow::verbs::compare::Judgement;
use pyo3::prelude::*;
use std::sync::Arc;

/// What came of an evaluation; `dermis.Evaluation` shows it.
#[pyclass(module = "dermis._dermis", frozen)]
pub struct ScoreResult {
    model: Arc<dermis::Model>,
    examples: Arc<dermis::Examples>,
    scores: Scores,
}

impl ScoreResult {
    fn shown(&self) -> ModelOutcome<'_> {
        let set = ScoredExamples { role: SetRole::Scored, scores: &self.scores, examples: Some(&self.examples) };
        ModelOutcome::of_set(self.model.as_file(), set)
    }
}

#[pymethods]
impl ScoreResult {
    /// Everything that was found, as JSON.
    fn json(&self) -> String {
        self.shown().json().to_string()
    }

    /// The sentence to take away.
    fn verdict(&self) -> Option<String> {
        self.shown().verdict().map(|verdict| verdict.text)
    }

    /// The report page.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.shown().page().to_html())
    }
}

/// Scores a model on examples.
#[pyfunction]
#[pyo3(name = "_evaluate")]
pub fn evaluate(py: Python<'_>, model: &Model, examples: &Examples) -> PyResult<ScoreResult> {
    examples.of_rig("examples", &model.rig)?;
    let (model, examples) = (Arc::clone(&model.inner), Arc::clone(&examples.inner));
    let (of, on) = (Arc::clone(&model), Arc::clone(&examples));
    let scores = work(py, None, move |_| measure(of.as_file(), &on, None))?;
    Ok(ScoreResult { model, examples, scores })
}

/// Methods side by side, or the error over the number of examples, as JSON.
#[pyfunction]
#[pyo3(name = "_compare", signature = (rig, examples, hold_out, folds, methods, poses, draws, seed, progress))]
pub fn compare(
    py: Python<'_>,
    rig: &Rig,
    examples: &Examples,
    hold_out: Option<&Examples>,
    folds: usize,
    methods: Vec<String>,
    poses: Vec<usize>,
    draws: u16,
    seed: u64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    examples.of_rig("examples", &rig.inner)?;
    if let Some(hold_out) = hold_out {
        hold_out.of_rig("hold_out", &rig.inner)?;
    }
    let names = if methods.is_empty() { USUAL.map(str::to_owned).to_vec() } else { methods };
    let subsets = Some(Subsets { poses, draws, seed }).filter(|subsets| !subsets.poses.is_empty());
    let (rig, train) = (Arc::clone(&rig.inner), Arc::clone(&examples.inner));
    let held_out = hold_out.map(|examples| Arc::clone(&examples.inner));
    let outcome = work(py, progress, move |watch| {
        let steps = comparison_steps(&names, subsets.as_ref());
        watch.plan(&steps.iter().map(|name| (name.as_str(), 1.0)).collect::<Vec<_>>());
        let judgement = held_out.as_deref().map_or(Judgement::Folds(folds), |set| Judgement::HeldOut(set));
        compare_held(rig.as_loaded(), &train, judgement, &names, subsets.as_ref(), watch)
    })?;
    match outcome.stopped {
        true => Err(error("the comparison was stopped")),
        false => Ok(outcome.json().to_string()),
    }
}
