//! Scoring a model on examples from files that are not held in memory.

use crate::error::Error;
use crate::load::{FileNote, ReadOptions, Source, stream_examples};
use dermis_io::ModelFile;
pub use dermis_measure::{ErrorStats, FrameScore, MeasureError, Scores, Scoring, WideRunner, run_motion};
use dermis_rig::ExampleSet;
use dermis_rig::glam::DVec3;

/// Scores a model on examples in memory.
///
/// # Errors
/// Those of [`dermis_measure::measure`].
pub fn measure(model: &ModelFile, examples: &ExampleSet, given: Option<&[Vec<DVec3>]>) -> Result<Scores, Error> {
    Ok(dermis_measure::measure(model, examples, given)?)
}

/// Scores a model on examples as they are read.
///
/// # Errors
/// Those of [`stream_examples`] and [`Scoring::add`].
pub fn measure_streamed(
    model: &ModelFile,
    sources: &[Source],
    options: &ReadOptions,
    role: &str,
) -> Result<(Scores, Vec<FileNote>), Error> {
    let baseline = model.baseline();
    let mut scoring = Scoring::new(model, baseline.as_ref());
    let streamed = stream_examples(model.rig(), &model.space, sources, options, role, |examples| {
        examples.iter().try_for_each(|example| scoring.add(example, None)).map_err(Error::from)
    })?;
    Ok((scoring.finish(&streamed.name)?, streamed.notes))
}
