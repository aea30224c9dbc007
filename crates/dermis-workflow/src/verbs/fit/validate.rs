//! Cross-validation of a whole method: what it predicts of examples it did not see.

use super::{FitInput, Fitted, Method, fit};
use crate::error::Error;
use crate::load::LoadedRig;
use crate::measure::{Scores, measure_within};
use dermis_fit::Progress;
use dermis_fit::method::folds;
use dermis_rig::glam::DVec3;

/// Errors on examples that were left out and predicted by a model fitted to the others, by [`folds`]; poses in the order of the examples.
/// Distances of at most `bound` are counted, if there is one. `None` where there is nothing to leave out, for a method that learns nothing
/// of one example from the others, and where no example shows what another one moves.
///
/// - `whole`: the fit to all examples
///
/// # Errors
/// As [`fit`].
pub fn cross_validate(
    loaded: &LoadedRig,
    input: &FitInput<'_>,
    method: &Method,
    whole: &Fitted,
    count: usize,
    bound: Option<f64>,
    progress: Progress<'_>,
) -> Result<Option<Scores>, Error> {
    let examples = input.examples;
    if !method.promises().predicts || !whole.report.has_evidence() {
        return Ok(None);
    }
    let (mut merged, mut places): (Option<Scores>, Vec<usize>) = (None, Vec::new());
    let folds = folds(examples, loaded.rig.mesh().extent(), count);
    let all = folds.len() as u64;
    for (fold, out) in folds.into_iter().enumerate() {
        // A fold is a part of the step.
        let progress = |done: u64, total: u64| progress(fold as u64 * total.max(1) + done, all * total.max(1));
        let mut is_out = vec![false; examples.len()];
        out.iter().for_each(|&s| is_out[s] = true);
        let kept: Vec<usize> = (0..examples.len()).filter(|&s| !is_out[s]).collect();
        let pick = |list: &[usize]| -> Option<Vec<Vec<DVec3>>> {
            input.base.map(|base| list.iter().map(|&s| base[s].clone()).collect())
        };
        let (train, train_base, out_base) = (examples.subset(&kept), pick(&kept), pick(&out));
        let of_fold = FitInput { examples: &train, base: train_base.as_deref(), ..*input };
        let fitted = fit(loaded, &of_fold, method, &progress)?;
        let scores = measure_within(&fitted.model, &examples.subset(&out), out_base.as_deref(), bound)?;
        merged = Some(match merged {
            Some(sofar) => sofar.joined(scores),
            None => scores,
        });
        places.extend(out);
    }
    Ok(merged.map(|scores| scores.in_order(&places)))
}
