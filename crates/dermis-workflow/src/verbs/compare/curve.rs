//! How many examples are enough: the held-out error of every method over the number of poses it may learn from.
//!
//! A draw is a random order of the examples; its first n are the n poses a method gets. Within a draw the sets are
//! therefore nested: more poses never lose one. Which poses are drawn matters, most of all when they are few, so errors
//! are means over several draws. All poses are one set, whatever the draw.

use super::error::Error::SubsetSize;
use crate::error::Error;
use crate::load::LoadedRig;
use crate::measure::measure;
use crate::verbs::compare::method_of;
use crate::verbs::fit::{FitInput, fit};
use dermis_fit::Progress;
use dermis_rig::{Example, ExampleSet};
use dermis_solve::Random;
use serde_json::{Value, json};

/// Examples in several random orders.
#[derive(Clone, Debug)]
pub struct Draws<'a> {
    loaded: &'a LoadedRig,
    examples: &'a ExampleSet,
    /// Examples a fit would look at: those of positive importance.
    used: Vec<usize>,
    /// Each a random order of `used`.
    orders: Vec<Vec<usize>>,
    seed: u64,
}

/// The held-out error of a method that learnt from some of the poses.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// How many.
    pub poses: usize,
    /// The name of one of the [`presets`](dermis_fit::method::presets).
    pub method: String,
    /// The rms on the held-out examples of each draw, metres.
    pub draws: Vec<f64>,
    /// That of the rig's own weights, if it has any.
    pub baseline: Option<f64>,
}

impl Point {
    /// The mean rms over the draws, metres.
    pub fn rms(&self) -> f64 {
        self.draws.iter().sum::<f64>() / self.draws.len() as f64
    }

    /// The mean rms over that of the rig's own weights.
    pub fn ratio(&self) -> Option<f64> {
        self.baseline.filter(|baseline| *baseline > 0.0).map(|baseline| self.rms() / baseline)
    }
}

impl<'a> Draws<'a> {
    /// `count` random orders of the examples, at least one. More orders begin with those of fewer. Examples of importance
    /// zero are left out.
    pub fn new(loaded: &'a LoadedRig, examples: &'a ExampleSet, count: usize, seed: u64) -> Self {
        let used: Vec<usize> = (0..examples.len()).filter(|&s| examples.examples()[s].importance > 0.0).collect();
        let order = |draw: usize| Random::new(seed, draw as u64).order(used.len()).iter().map(|&at| used[at]).collect();
        let orders = (0..count.max(1)).map(order).collect();
        Self { loaded, examples, used, orders, seed }
    }

    /// How many poses there are to draw from.
    pub fn available(&self) -> usize {
        self.used.len()
    }

    /// Numbers of poses in ascending order, each once.
    ///
    /// # Errors
    /// [`Error::Compare`] for zero, and for more poses than there are.
    pub fn counts(&self, wanted: &[usize]) -> Result<Vec<usize>, Error> {
        let available = self.available();
        let mut counts = wanted.to_vec();
        counts.sort_unstable();
        counts.dedup();
        let wrong = counts.first().filter(|poses| **poses == 0).or(counts.last().filter(|poses| **poses > available));
        match wrong {
            Some(&poses) => Err(SubsetSize { poses, examples: available }.into()),
            None => Ok(counts),
        }
    }

    /// The poses of each draw at `count`, in the order of the examples; all poses are one set.
    fn sets(&self, count: usize) -> Vec<Vec<usize>> {
        if count >= self.available() {
            return vec![self.used.clone()];
        }
        let mut sets: Vec<Vec<usize>> = self.orders.iter().map(|order| order[..count].to_vec()).collect();
        sets.iter_mut().for_each(|set| set.sort_unstable());
        sets
    }

    /// The examples of a set. All of them stay a clip if they are one; some frames of a clip are poses like any others,
    /// validated one at a time.
    fn examples_of(&self, set: &[usize]) -> Result<ExampleSet, Error> {
        if set.len() == self.available() {
            return Ok(self.examples.subset(set));
        }
        let timeless = set.iter().map(|&s| Example { time: None, ..self.examples.examples()[s].clone() });
        ExampleSet::new(self.examples.name.clone(), timeless.collect(), &self.loaded.rig)
            .map_err(|e| Error::Internal(e.to_string()))
    }

    /// Fits one of the [`presets`](dermis_fit::method::presets) to `count` poses of every draw and scores it.
    ///
    /// # Errors
    /// [`Error`]: an unknown method, a failed fit, cancellation.
    pub fn point(
        &self,
        held_out: &ExampleSet,
        method: &str,
        count: usize,
        progress: Progress<'_>,
    ) -> Result<Point, Error> {
        let own = method_of(method)?;
        let mut point = Point { poses: count, method: method.to_owned(), draws: Vec::new(), baseline: None };
        for set in self.sets(count) {
            let examples = self.examples_of(&set)?;
            let fitted = fit(self.loaded, &FitInput::new(&self.loaded.rig, &examples), &own, progress)?;
            let scores = measure(&fitted.model, held_out, None)?;
            point.draws.push(scores.model.error.rms);
            point.baseline = scores.baseline.map(|b| b.error.rms);
        }
        Ok(point)
    }

    /// How the poses were chosen, a sentence for people.
    pub fn choice(&self) -> String {
        let draws = match self.orders.len() {
            1 => "one random draw".into(),
            count => format!("means of {count} random draws"),
        };
        format!("{draws} from {} poses, smaller sets inside larger ones (seed {})", self.available(), self.seed)
    }

    /// The JSON of `compare --counts`.
    pub fn json(&self, points: &[Point], held_out: &ExampleSet) -> Value {
        let line = |p: &Point| {
            json!({
                "poses": p.poses,
                "method": p.method,
                "rms": p.rms(),
                "ratio": p.ratio(),
                "rms_of_draws": p.draws,
            })
        };
        json!({
            "points": points.iter().map(line).collect::<Vec<_>>(),
            "baseline_rms": points.iter().find_map(|p| p.baseline),
            "examples": self.available(),
            "held_out_poses": held_out.len(),
            "draws": self.orders.len(),
            "seed": self.seed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_fit::silent;
    use dermis_io::Space;
    use dermis_testkit::{Arm, ArmPose};

    fn arm(poses: usize) -> (LoadedRig, ExampleSet, ExampleSet) {
        let arm = Arm::new(16, 6);
        let set =
            |count, seed| ExampleSet::new("arm".into(), arm.examples(&ArmPose::some(count, seed)), &arm.rig).unwrap();
        let (train, held_out) = (set(poses, 1), set(9, 2));
        (LoadedRig { rig: arm.rig.clone(), space: Space::default(), notes: vec![] }, train, held_out)
    }

    #[test]
    fn draws_are_nested_distinct_and_independent_of_their_number() {
        let (loaded, train, _) = arm(20);
        let (three, five) = (Draws::new(&loaded, &train, 3, 8), Draws::new(&loaded, &train, 5, 8));
        for count in 1..20 {
            let sets = three.sets(count);
            assert_eq!((sets.len(), &five.sets(count)[..3]), (3, &sets[..]));
            for (set, larger) in sets.iter().zip(three.sets(count + 1).iter().cycle()) {
                assert!(set.len() == count && set.is_sorted_by(|a, b| a < b));
                assert!(set.iter().all(|s| larger.contains(s)));
            }
        }
        assert_eq!(three.sets(20), [(0..20).collect::<Vec<_>>()]);
        assert_ne!(three.sets(10)[0], three.sets(10)[1]);
        assert_ne!(three.sets(10), Draws::new(&loaded, &train, 3, 9).sets(10));
    }

    /// Two ends that are known: the rig's own weights learn nothing, and all poses are the fit of `compare`.
    #[test]
    fn the_rig_s_own_weights_are_a_level_line_and_all_poses_are_the_whole_fit() {
        let (loaded, train, held_out) = arm(20);
        let draws = Draws::new(&loaded, &train, 2, 1);
        let point = |method, count| draws.point(&held_out, method, count, &silent).unwrap();
        for count in [1, 5, 20] {
            assert_eq!(point("own-weights", count).ratio(), Some(1.0));
        }
        let whole = fit(&loaded, &FitInput::new(&loaded.rig, &train), &method_of("mwe").unwrap(), &silent).unwrap();
        let whole = measure(&whole.model, &held_out, None).unwrap();
        let all = point("mwe", 20);
        assert_eq!((all.draws.len(), all.rms(), all.ratio()), (1, whole.model.error.rms, whole.ratio()));
        let few = point("mwe", 4);
        assert_eq!(few.draws.len(), 2);
        assert!((few.rms() - 0.5 * (few.draws[0] + few.draws[1])).abs() < 1e-15);
        assert!(few.draws[0] != few.draws[1] && few.rms() > all.rms(), "{few:?} {all:?}");
        assert_eq!(few, point("mwe", 4));
    }

    #[test]
    fn every_method_takes_a_single_pose() {
        let (loaded, train, held_out) = arm(6);
        let draws = Draws::new(&loaded, &train, 1, 1);
        for preset in dermis_fit::method::presets() {
            let point = draws.point(&held_out, preset.name, 1, &silent).unwrap();
            assert!(point.rms().is_finite(), "{}", preset.name);
        }
    }

    /// Callers keep the points before: they must know a stop from a failure, also in the middle of a fit.
    #[test]
    fn a_fit_that_is_stopped_is_cancelled_and_not_failed() {
        let (loaded, train, held_out) = arm(6);
        let draws = Draws::new(&loaded, &train, 1, 1);
        let stop = |_, _| std::ops::ControlFlow::Break(dermis_fit::Cancelled);
        for method in ["mwe", "animation-space"] {
            let stopped = draws.point(&held_out, method, 4, &stop);
            assert!(matches!(stopped, Err(Error::Cancelled)), "{method}: {stopped:?}");
        }
    }

    #[test]
    fn counts_are_sorted_and_checked() {
        let (loaded, train, _) = arm(6);
        let draws = Draws::new(&loaded, &train, 1, 1);
        assert_eq!(draws.counts(&[4, 2, 6, 2]).unwrap(), [2, 4, 6]);
        let says = |counts: &[usize]| draws.counts(counts).unwrap_err().to_string();
        assert!(says(&[0, 2]).contains("subsets of 0 poses"));
        assert!(says(&[3, 7]).contains("7") && says(&[7]).contains("6 examples"));
    }

    #[test]
    fn examples_of_importance_zero_are_never_drawn() {
        let (loaded, train, _) = arm(6);
        let mut examples = train.examples().to_vec();
        examples[2].importance = 0.0;
        let train = ExampleSet::new("arm".into(), examples, &loaded.rig).unwrap();
        let draws = Draws::new(&loaded, &train, 4, 1);
        assert_eq!((draws.available(), draws.sets(5)), (5, vec![vec![0, 1, 3, 4, 5]]));
        assert!((1..5).all(|count| draws.sets(count).iter().flatten().all(|&s| s != 2)));
        assert!(draws.counts(&[6]).is_err());
    }

    #[test]
    fn some_frames_of_a_clip_are_poses_and_all_of_them_are_the_clip() {
        let arm = Arm::new(16, 6);
        let clip = ExampleSet::new("swing".into(), arm.clip(10), &arm.rig).unwrap();
        let loaded = LoadedRig { rig: arm.rig.clone(), space: Space::default(), notes: vec![] };
        let draws = Draws::new(&loaded, &clip, 1, 1);
        let of = |count: usize| draws.examples_of(&draws.sets(count)[0]).unwrap();
        assert!(clip.is_clip() && of(10).is_clip() && !of(9).is_clip());
        assert_eq!(of(10), clip);
    }
}
