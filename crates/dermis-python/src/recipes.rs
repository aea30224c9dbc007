//! Recipes as JSON, and the program.

use crate::errors::error;
use crate::work::work;
use dermis::internals::workflow::recipe::Recipe;
use pyo3::prelude::*;

/// Runs a recipe from its JSON; what the program prints with `--json`.
#[pyfunction]
#[pyo3(name = "_run", signature = (recipe, progress = None))]
pub fn run(py: Python<'_>, recipe: &str, progress: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
    let recipe: Recipe = serde_json::from_str(recipe).map_err(|found| {
        let text = found.to_string();
        let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        error(format!("this is no recipe: {text}"))
    })?;
    work(py, progress, move |watch| recipe.run(watch).map(|done| done.json().to_string()))
}

/// Runs the program `dermis` with these arguments, its name first; the exit code.
#[pyfunction]
#[pyo3(name = "_program")]
pub fn program(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| dermis_cli::exit_byte(arguments))
}
