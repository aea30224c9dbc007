//! Fits divided among machines: each makes a part, and the parts together are the model.

use crate::fitted::Fitted;
use crate::{Error, Examples, Method, Rig};
use dermis_files::FileError;
use dermis_files::load::{ReadOptions, Source, stream_examples};
use dermis_fit::Progress;
use dermis_fit::method::FitInput;
use dermis_rig::{Example, ExampleSet};
use dermis_workflow::verbs::fit::{Share, Streaming};
use std::io::Cursor;
use std::path::PathBuf;

/// Where a part's examples come from.
#[derive(Clone, Copy, Debug)]
pub enum PartExamples<'a> {
    /// Examples in memory.
    Held(&'a Examples),
    /// Files, read a few poses at a time, and by the joint model several times.
    Files(&'a [Source], &'a ReadOptions),
}

/// Makes a part of a fit: the bytes of a part file (.part), as `dermis fit --accumulate` writes them.
///
/// Parts of multi-weight enveloping divide the examples, and `share` is the whole. Parts of the joint model divide the vertices:
/// every machine reads all examples and solves the vertices of its share.
///
/// # Errors
/// [`Error`]: methods that need every example at hand, examples that do not fit the rig, cancellation.
pub fn fit_part(
    rig: &Rig,
    examples: PartExamples<'_>,
    method: &Method,
    share: Share,
    progress: Progress<'_>,
) -> Result<Vec<u8>, Error> {
    let nothing = ExampleSet::default();
    let input = FitInput::new(rig, &nothing);
    let mut streaming = Streaming::new(&rig.loaded, &input, method, share)?;
    loop {
        let is_clip = match examples {
            PartExamples::Held(set) => {
                streaming.add(set.examples())?;
                set.is_clip()
            }
            PartExamples::Files(files, options) => {
                let take = |some: &[Example]| streaming.add(some);
                stream_examples(rig, &rig.loaded.space, files, options, "examples", take)?.is_clip
            }
        };
        if !streaming.end_pass(is_clip, progress)? {
            break;
        }
    }
    bytes(streaming)
}

/// Merges parts into one part, in this order. Only sums of multi-weight enveloping have such a part.
///
/// # Errors
/// As [`fit_parts`].
pub fn merge_parts(rig: &Rig, parts: &[Vec<u8>], method: &Method) -> Result<Vec<u8>, Error> {
    let nothing = ExampleSet::default();
    bytes(Streaming::merged(&rig.loaded, &FitInput::new(rig, &nothing), method, opened(parts))?)
}

/// Fits the model of some parts, in this order. It holds no recipe.
///
/// # Errors
/// [`Error`], naming the part by its place: damaged bytes, parts of another rig or of other settings, shares that are no whole.
pub fn fit_parts(rig: &Rig, parts: &[Vec<u8>], method: &Method, progress: Progress<'_>) -> Result<Fitted, Error> {
    let nothing = ExampleSet::default();
    let input = FitInput::new(rig, &nothing);
    Ok(Streaming::merged(&rig.loaded, &input, method, opened(parts))?.finish(progress)?.into())
}

fn opened(parts: &[Vec<u8>]) -> impl Iterator<Item = Result<(PathBuf, Cursor<&[u8]>, u64), FileError>> {
    parts
        .iter()
        .enumerate()
        .map(|(at, bytes)| Ok((PathBuf::from(format!("part {at}")), Cursor::new(bytes.as_slice()), bytes.len() as u64)))
}

fn bytes(streaming: Streaming<'_>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    streaming.part()?.write(&mut out).map_err(|error| dermis_workflow::Error::Internal(error.to_string()))?;
    Ok(out)
}
