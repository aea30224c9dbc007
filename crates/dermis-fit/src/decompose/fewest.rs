//! As few bones as reach an error.

use super::run::Run;
use super::search::Search;
use super::transforms::Motion;
use super::{DecomposeError, Decomposition};

impl Run<'_> {
    /// Doubles the bones until the error is reached. Then it eliminates bones of the last search one by one, and looks for the
    /// smallest number that still reaches the error by halving the distance between one that does and one that does not.
    pub(super) fn fewest(&self, error: f64, most: usize) -> Result<Decomposition, DecomposeError> {
        let reaches = |made: &Decomposition| made.report.mean_square <= error * error;
        let some = self.some_frames();
        let mut too_few: Option<(usize, f64)> = None;
        let mut run = self.with_bones(most.min(2));
        loop {
            let part = run.part(&some);
            let points = run.sample(&part);
            let search = run.searched(&points, &part.frames)?;
            let made = run.finished(&part, search.motion.clone())?;
            if !reaches(&made) {
                if run.bones == most {
                    let left = made.report.mean_square.sqrt();
                    return Err(DecomposeError::OutOfReach { bones: most, left, asked: error });
                }
                too_few = Some((made.report.bones, made.report.mean_square));
                run = run.with_bones(most.min(2 * run.bones));
                continue;
            }
            let least = too_few.map_or(1, |(bones, _)| bones + 1);
            let fewer = eliminated(search, least)?;
            let mut best = made;
            // fewer[i] has least + i bones.
            let (mut low, mut high) = (0, fewer.len());
            while low < high {
                let middle = (low + high) / 2;
                let made = run.with_bones(least + middle).finished(&part, fewer[middle].clone())?;
                if reaches(&made) {
                    (best, high) = (made, middle);
                } else {
                    too_few = Some((made.report.bones, made.report.mean_square));
                    low = middle + 1;
                }
            }
            best.report.too_few = too_few;
            return Ok(best);
        }
    }
}

/// The bones of a search with one less at a time, down to `least`: fewest first.
fn eliminated(mut search: Search, least: usize) -> Result<Vec<Motion>, DecomposeError> {
    let mut motions = Vec::new();
    while search.bones() > least {
        search.eliminate(search.bones() - 1)?;
        motions.push(search.motion.clone());
    }
    motions.reverse();
    Ok(motions)
}
