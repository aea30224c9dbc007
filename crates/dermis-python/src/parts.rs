//! Fits divided among machines.

use crate::errors::error;
use crate::examples::{Examples, sources};
use crate::methods::method_of;
use crate::model::Model;
use crate::rig::Rig;
use crate::work::{quick, said, work};
use dermis::PartExamples;
use dermis::internals::files::load::ReadOptions;
use dermis::internals::workflow::verbs::fit::Share;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::Arc;

/// A model of parts; `dermis.PartsFit` shows it.
#[pyclass(module = "dermis._dermis", frozen)]
pub struct PartsResult {
    fitted: dermis::Fitted,
}

#[pymethods]
impl PartsResult {
    /// The model.
    #[getter]
    fn model(&self) -> Model {
        self.fitted.model().clone().into()
    }

    /// What the fit found, as JSON.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(self.fitted.report()).map_err(|e| error(e.to_string()))
    }

    /// The few lines that say what the fit found.
    fn text(&self) -> String {
        self.fitted.report().to_string()
    }
}

/// Makes a part: `examples` are examples or a tuple of files, `share` is text such as 2/4.
#[pyfunction]
#[pyo3(name = "_fit_part")]
pub fn fit_part<'py>(
    py: Python<'py>,
    rig: &Rig,
    examples: &Bound<'py, PyAny>,
    method: &str,
    share: &str,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let method = method_of(method)?;
    let share: Share = share.parse().map_err(said)?;
    let rig = Arc::clone(&rig.inner);
    let part = match examples.cast::<Examples>() {
        Ok(held) => {
            let held = held.get();
            held.of_rig("examples", &rig)?;
            let held = Arc::clone(&held.inner);
            work(py, progress, move |watch| {
                let at = |done, total| watch.at("fit", done, total);
                dermis::fit_part(&rig, PartExamples::Held(&held), &method, share, &at)
            })?
        }
        Err(_) => {
            let files = sources(examples.cast::<PyTuple>()?)?;
            work(py, progress, move |watch| {
                let at = |done, total| watch.at("fit", done, total);
                dermis::fit_part(&rig, PartExamples::Files(&files, &ReadOptions::default()), &method, share, &at)
            })?
        }
    };
    Ok(PyBytes::new(py, &part))
}

/// Merges parts into one.
#[pyfunction]
#[pyo3(name = "_merge_parts")]
pub fn merge_parts<'py>(
    py: Python<'py>,
    rig: &Rig,
    parts: Vec<Vec<u8>>,
    method: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let (method, rig) = (method_of(method)?, &rig.inner);
    let part = quick(py, || dermis::merge_parts(rig, &parts, &method))?;
    Ok(PyBytes::new(py, &part))
}

/// Fits the model of parts.
#[pyfunction]
#[pyo3(name = "_fit_parts")]
pub fn fit_parts(
    py: Python<'_>,
    rig: &Rig,
    parts: Vec<Vec<u8>>,
    method: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PartsResult> {
    let (method, rig) = (method_of(method)?, Arc::clone(&rig.inner));
    let fitted = work(py, progress, move |watch| {
        let at = |done, total| watch.at("fit", done, total);
        dermis::fit_parts(&rig, &parts, &method, &at)
    })?;
    Ok(PartsResult { fitted })
}
