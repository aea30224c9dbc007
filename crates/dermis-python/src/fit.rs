//! Fits from memory.

use crate::arrays::{Extent, Floats};
use crate::errors::{error, hinted, of_library};
use crate::examples::Examples;
use crate::methods::method_of;
use crate::model::Model;
use crate::rig::Rig;
use crate::work::work;
use dermis::Method;
use dermis::internals::files::load::FileNote;
use dermis::internals::fitting::method::{BaseChoice, MapSource};
use dermis::internals::rig::{ExampleSet, Influences};
use dermis::internals::workflow::recipe::{Beside, FitExamples, FitOutcome, FitRecipe, HeldFit, Input, Provenance};
use dermis::internals::workflow::verbs::transfer::carried_prior;
use pyo3::prelude::*;
use std::sync::Arc;

/// What came of a fit; `dermis.Fit` shows it.
#[pyclass(module = "dermis._dermis", frozen)]
pub struct FitResult {
    outcome: FitOutcome,
}

#[pymethods]
impl FitResult {
    /// The model.
    #[getter]
    fn model(&self) -> Model {
        dermis::Model::from(self.outcome.model.clone()).into()
    }

    /// Everything that was found, as `dermis fit --json` prints it.
    fn json(&self) -> String {
        self.outcome.json().to_string()
    }

    /// The few lines that say what the fit found.
    fn text(&self) -> String {
        self.outcome.report.to_string()
    }

    /// The sentence to take away.
    fn verdict(&self) -> Option<String> {
        self.outcome.shown().verdict().map(|verdict| verdict.text)
    }

    /// What the user should know.
    fn warnings(&self) -> Vec<String> {
        self.outcome.warnings()
    }

    /// The report page.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.outcome.shown().page().to_html())
    }
}

/// Fits a model to examples that are held, and scores it. `method` is JSON.
#[pyfunction]
#[pyo3(name = "_fit", signature = (rig, examples, hold_out, method, folds, maps, base, prior, provenance, progress))]
pub fn fit(
    py: Python<'_>,
    rig: &Rig,
    examples: &Examples,
    hold_out: Option<&Examples>,
    method: &str,
    folds: usize,
    maps: Option<&Bound<'_, PyAny>>,
    base: Option<&Model>,
    prior: Option<&Model>,
    provenance: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<FitResult> {
    examples.of_rig("examples", &rig.inner)?;
    hold_out.map_or(Ok(()), |held| held.of_rig("hold_out", &rig.inner))?;
    let method = method_of(method)?;
    let maps = maps.map(|maps| maps_of(rig, maps)).transpose()?;
    if maps.is_some() && method.maps() != Some(&MapSource::Table) {
        return Err(hinted(
            format!("maps has no effect on {method} with these settings"),
            "choose a method that takes maps, such as dermis.Mwe(maps=\"table\")",
        ));
    }
    if base.is_some() != (method.base() == Some(BaseChoice::Model)) {
        return Err(hinted(
            format!("{method} with these settings corrects another base, or base is missing"),
            "say both: dermis.fit(..., method=dermis.Mwe(base=\"model\"), base=model)",
        ));
    }
    let model = base.map(|base| base.inner.as_file().model.clone());
    let prior = prior.map(|prior| prior.inner.as_file().clone());
    // The recipe would need a file of maps or of a model.
    let named = maps.is_none() && model.is_none() && prior.is_none();
    let recipe = recipe_of(rig, examples, hold_out, &method, folds).filter(|_| named);
    let provenance = match provenance {
        "relative" => Provenance::Relative,
        "full" => Provenance::Full,
        other => return Err(error(format!("provenance is \"{other}\": it must be \"relative\" or \"full\""))),
    };
    let stamped = |(mut recipe, files): (FitRecipe, Vec<FileNote>)| {
        recipe.outputs.provenance = provenance;
        recipe.stamped(&files)
    };
    let recipe = recipe.map(stamped).transpose().map_err(|found| of_library(&found))?;
    let rig = Arc::clone(&rig.inner);
    let set = |examples: &Examples| -> ExampleSet { (**examples.inner).clone() };
    let (train, held_out) = (set(examples), hold_out.map(set));
    let outcome = work(py, progress, move |watch| {
        let onto_rig =
            |file| carried_prior(file, FileNote { path: "prior".into(), ..FileNote::default() }, rig.as_loaded());
        let beside = Beside { maps, model, prior: prior.map(onto_rig).transpose()?, ..Beside::default() };
        let fit = HeldFit { held_out, folds, beside, ..HeldFit::new(rig.as_loaded(), train, &method) };
        watch.plan(&fit.steps());
        fit.run(watch, |fitted| {
            fitted.model.header.recipe = recipe;
            Ok(())
        })
    })?;
    if outcome.validation_stopped {
        return Err(error("the fit was stopped"));
    }
    Ok(FitResult { outcome })
}

/// Influence maps (V, B).
fn maps_of(rig: &Rig, maps: &Bound<'_, PyAny>) -> PyResult<Influences> {
    let (vertices, bones) = (rig.inner.mesh().positions.len(), rig.inner.skeleton().len());
    let maps = Floats::of("maps", maps, &[&[Extent::Is(vertices), Extent::Is(bones)]])?;
    let entries = maps.entries()?;
    let dense: Vec<f64> = (0..vertices * bones).map(|at| entries.at(at)).collect();
    Influences::from_dense(&dense, bones).map_err(|found| error(format!("maps: {found}")))
}

/// The recipe that fits the same to the files that everything was opened from, with what was noted of them; `None` where something
/// came from arrays.
fn recipe_of(
    rig: &Rig,
    examples: &Examples,
    hold_out: Option<&Examples>,
    method: &Method,
    folds: usize,
) -> Option<(FitRecipe, Vec<FileNote>)> {
    let sources = |examples: &Examples| -> Option<Vec<Input>> {
        let inputs: Vec<Input> = examples.sources.iter().cloned().map(Input::from).collect();
        // Examples that were matched to another rig, though of the same size, are not those that the recipe would read.
        let of_this_rig = Arc::ptr_eq(&examples.rig, &rig.inner);
        Some(inputs).filter(|inputs| of_this_rig && !inputs.is_empty())
    };
    let of_rig = Input::of_path(rig.file.as_deref()?);
    let held = FitExamples::Held(sources(examples)?);
    let hold_out_inputs = hold_out.map_or(Some(vec![]), sources)?;
    let sets = [Some(examples), hold_out].into_iter().flatten();
    let files = rig.inner.files().iter().chain(sets.flat_map(|set| set.inner.files())).cloned().collect();
    let recipe = FitRecipe { hold_out: hold_out_inputs, folds, ..FitRecipe::new(of_rig, held, method.clone()) };
    Some((recipe, files))
}
