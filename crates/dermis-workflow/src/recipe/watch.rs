//! What a caller sees of a recipe while it runs, and how it stops it.

use crate::error::Error;
use crate::load::FileNote;
use crate::verbs::compare::Row;
use dermis_fit::{Cancelled, Progress};
use dermis_io::Space;
use std::ops::ControlFlow;

/// Watches a recipe.
pub trait Watch: Sync {
    /// The recipe will take these steps, each with its share of the work, as far as it can be told before. Other steps may come
    /// between.
    fn plan(&self, _steps: &[(&str, f64)]) {}

    /// A step of that name is so far; breaking stops the recipe.
    fn at(&self, step: &str, done: u64, total: u64) -> ControlFlow<Cancelled>;

    /// A method of a comparison was fitted and scored.
    fn row(&self, _row: &Row, _space: &Space) {}

    /// Files were read.
    fn files(&self, _notes: &[FileNote]) {}
}

/// Nobody watches.
pub struct Silent;

impl Watch for Silent {
    fn at(&self, _step: &str, _done: u64, _total: u64) -> ControlFlow<Cancelled> {
        ControlFlow::Continue(())
    }
}

/// Runs a step under a name.
///
/// # Errors
/// The step's own, or [`Error::Cancelled`] if the caller stopped before it.
pub fn step<T, E>(watch: &dyn Watch, name: &str, work: impl FnOnce(Progress<'_>) -> Result<T, E>) -> Result<T, Error>
where
    Error: From<E>,
{
    match watch.at(name, 0, 0) {
        ControlFlow::Break(stop) => Err(stop.into()),
        ControlFlow::Continue(()) => Ok(work(&|done, total| watch.at(name, done, total))?),
    }
}
