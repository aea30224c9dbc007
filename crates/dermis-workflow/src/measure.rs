//! Scoring a model on examples from files that are not held in memory.

use crate::error::Error;
use crate::load::{FileNote, ReadOptions, Source, stream_examples};
use dermis_io::{ModelFile, Space};
pub use dermis_measure::{
    ErrorStats, FrameScore, MeasureError, MotionRun, PassError, PassRule, Scores, Scoring, WideRunner, run_motion,
};
use dermis_rig::glam::DVec3;
use dermis_rig::{ExampleSet, Rig};

/// Scores a model on examples in memory.
///
/// # Errors
/// Those of [`dermis_measure::measure`].
pub fn measure(model: &ModelFile, examples: &ExampleSet, given: Option<&[Vec<DVec3>]>) -> Result<Scores, Error> {
    Ok(dermis_measure::measure(model, examples, given)?)
}

/// Scores a model on examples in memory, and counts its distances of at most `bound`, if there is one.
///
/// # Errors
/// Those of [`dermis_measure::measure`].
pub fn measure_within(
    model: &ModelFile,
    examples: &ExampleSet,
    given: Option<&[Vec<DVec3>]>,
    bound: Option<f64>,
) -> Result<Scores, Error> {
    Ok(dermis_measure::measure_within(model, examples, given, bound)?)
}

/// Returns the bound of a demand, if there is one, in the unit of a rig.
///
/// # Errors
/// [`Error::Pass`] if the demand names a length and the rig's unit is unknown.
pub(crate) fn bound_of(rule: Option<&PassRule>, rig: &Rig, space: &Space) -> Result<Option<f64>, Error> {
    Ok(rule.map(|rule| rule.bound(&space.unit, rig.mesh().diagonal())).transpose()?)
}

/// Scores a model on examples as they are read, and counts its distances of at most `bound`, if there is one.
///
/// # Errors
/// Those of [`stream_examples`] and [`Scoring::add`].
pub fn measure_streamed(
    model: &ModelFile,
    sources: &[Source],
    options: &ReadOptions,
    role: &str,
    bound: Option<f64>,
) -> Result<(Scores, Vec<FileNote>), Error> {
    let baseline = model.baseline();
    let mut scoring = Scoring::new(model, baseline.as_ref()).counting(bound);
    let streamed = stream_examples(model.rig(), &model.space, sources, options, role, |examples| {
        examples.iter().try_for_each(|example| scoring.add(example, None)).map_err(Error::from)
    })?;
    Ok((scoring.finish(&streamed.name)?, streamed.notes))
}
