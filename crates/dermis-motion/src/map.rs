//! Maps from controls of meaning to many: a table of examples, read between them.

use crate::key_path::KeyPath;
use crate::scene::{Fault, SceneError};
use dermis_solve::Interpolation;
use dermis_solve::faer::Mat;

/// How a map reads between its examples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Between {
    /// Straight lines from example to example of the one control that it reads; the nearest example beyond them.
    Linear,
    /// The interpolation of pose space: values minus their mean as a sum of Gaussians k(x, xₛ) = exp(−|x − xₛ|² / σ²) about the
    /// examples, so that far from all of them the mean is left.
    Gaussian {
        /// σ, in the unit of the controls that it reads; the mean distance of an example to the nearest other one by default.
        width: Option<f64>,
    },
}

/// A map: controls in, numbers of other controls out.
#[derive(Clone, Debug)]
pub struct Map {
    /// Names of the controls that it reads.
    pub from: Vec<String>,
    /// Names of the controls that it makes.
    pub to: Vec<String>,
    examples: Vec<Example>,
    read: Read,
}

/// Values that controls have together.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// One value for each control that the map reads.
    pub at: Vec<f64>,
    /// One value for each that it makes.
    pub give: Vec<f64>,
}

#[derive(Clone, Debug)]
enum Read {
    Linear,
    /// σ, the mean of every output, and a weight per example and output.
    Gaussian(f64, Vec<f64>, Mat<f64>),
}

/// The most examples of a map: its system has their number squared.
const MOST_EXAMPLES: usize = 1000;

impl Map {
    /// A map from examples. `path` is where it stands in the scene.
    ///
    /// # Errors
    /// [`SceneError`]: counts that disagree, numbers that are not finite, two examples at one place, several controls read by lines.
    pub fn new(
        from: Vec<String>,
        to: Vec<String>,
        mut examples: Vec<Example>,
        between: Between,
        path: &KeyPath,
    ) -> Result<Self, SceneError> {
        let fault = |path: KeyPath, what: String| Err(SceneError::new(path, Fault::Unfit(what)));
        let list = path.key("examples");
        if from.is_empty() || to.is_empty() {
            return fault(path.clone(), "it reads and makes one control at least".into());
        }
        if examples.is_empty() || examples.len() > MOST_EXAMPLES {
            return fault(list, format!("there are {} examples; 1 to {MOST_EXAMPLES} serve", examples.len()));
        }
        for (at, example) in examples.iter().enumerate() {
            for (key, found, wanted) in [("at", &example.at, from.len()), ("give", &example.give, to.len())] {
                if found.len() != wanted {
                    return fault(list.at(at).key(key), format!("{} numbers, but {wanted} are named", found.len()));
                }
                if found.iter().any(|x| !x.is_finite()) {
                    return fault(list.at(at).key(key), "a number is not finite".into());
                }
            }
            if let Some(other) = examples[..at].iter().position(|other| other.at == example.at) {
                return fault(list.at(at).key("at"), format!("example {other} is at the same place"));
            }
        }
        let read = match between {
            Between::Linear if from.len() > 1 => {
                let what = format!("{} controls are read; lines serve one, \"gaussian\" serves several", from.len());
                return fault(path.key("between"), what);
            }
            Between::Linear => {
                examples.sort_by(|a, b| a.at[0].total_cmp(&b.at[0]));
                Read::Linear
            }
            Between::Gaussian { width } => {
                let width = width.unwrap_or_else(|| spacing(&examples));
                if !(width > 0.0 && width.is_finite()) {
                    return fault(path.key("between"), format!("the width is {width}; it must be positive"));
                }
                match gaussian(&examples, width) {
                    Some((mean, weights)) => Read::Gaussian(width, mean, weights),
                    None => {
                        let what = format!("with the width {width} the examples are too alike to tell apart");
                        return fault(path.key("between"), what);
                    }
                }
            }
        };
        Ok(Self { from, to, examples, read })
    }

    /// The numbers that it makes of those that it reads.
    pub fn evaluate(&self, input: &[f64]) -> Vec<f64> {
        match &self.read {
            Read::Linear => self.between_two(input[0]),
            Read::Gaussian(width, mean, weights) => {
                let kernel: Vec<f64> = self.examples.iter().map(|example| bell(&example.at, input, *width)).collect();
                let sum = |output: usize| (0..kernel.len()).map(|s| kernel[s] * weights[(s, output)]).sum::<f64>();
                (0..mean.len()).map(|output| mean[output] + sum(output)).collect()
            }
        }
    }

    fn between_two(&self, x: f64) -> Vec<f64> {
        let after = self.examples.partition_point(|example| example.at[0] <= x);
        let (Some(from), Some(to)) = (after.checked_sub(1).map(|i| &self.examples[i]), self.examples.get(after)) else {
            return self.examples[after.saturating_sub(1)].give.clone();
        };
        let s = (x - from.at[0]) / (to.at[0] - from.at[0]);
        from.give.iter().zip(&to.give).map(|(a, b)| a + (b - a) * s).collect()
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.from == other.from && self.to == other.to && self.examples == other.examples
    }
}

fn squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn bell(a: &[f64], b: &[f64], width: f64) -> f64 {
    (-squared(a, b) / (width * width)).exp()
}

/// The mean distance of an example to the nearest other one; one if there is no other.
fn spacing(examples: &[Example]) -> f64 {
    let nearest = |at: usize| {
        let others = examples.iter().enumerate().filter(|(other, _)| *other != at);
        others.map(|(_, other)| squared(&examples[at].at, &other.at)).fold(f64::INFINITY, f64::min).sqrt()
    };
    match examples.len() {
        1 => 1.0,
        count => (0..count).map(nearest).sum::<f64>() / count as f64,
    }
}

/// The mean of every output and a weight per example and output; `None` if the examples cannot be told apart.
fn gaussian(examples: &[Example], width: f64) -> Option<(Vec<f64>, Mat<f64>)> {
    /// What an example may be missed by, in parts of what it differs from the mean: invisible, and enough to solve for bells that
    /// are four times wider than their distance.
    const SMOOTHING: f64 = 1e-12;
    let (count, outputs) = (examples.len(), examples[0].give.len());
    let mean: Vec<f64> = (0..outputs).map(|o| examples.iter().map(|e| e.give[o]).sum::<f64>() / count as f64).collect();
    let kernel = Mat::from_fn(count, count, |i, j| bell(&examples[i].at, &examples[j].at, width));
    let solved = Interpolation::new(kernel.as_ref(), &vec![SMOOTHING; count]).ok()?;
    let values = Mat::from_fn(count, outputs, |s, o| examples[s].give[o] - mean[o]);
    let weights = solved.weights(values.as_ref());
    // Bells much wider than the examples are apart have weights beyond what numbers can hold, and miss the examples.
    let missed = (&kernel * &weights - &values).norm_max();
    (missed <= 1e-6 * values.norm_max()).then_some((mean, weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(at: &[f64], give: &[f64]) -> Example {
        Example { at: at.to_vec(), give: give.to_vec() }
    }

    fn map(from: usize, to: usize, examples: Vec<Example>, between: Between) -> Result<Map, SceneError> {
        let names = |start: &str, count: usize| (0..count).map(|at| format!("{start}{at}")).collect();
        Map::new(names("a", from), names("b", to), examples, between, &KeyPath::new().key("maps").at(0))
    }

    #[test]
    fn lines_go_through_the_examples_in_any_order_and_stop_at_the_ends() {
        let examples = vec![example(&[1.0], &[4.0, 0.0]), example(&[0.0], &[0.0, 1.0]), example(&[3.0], &[5.0, 0.5])];
        let map = map(1, 2, examples, Between::Linear).unwrap();
        for (x, y) in [(-1.0, [0.0, 1.0]), (0.5, [2.0, 0.5]), (1.0, [4.0, 0.0]), (2.0, [4.5, 0.25]), (7.0, [5.0, 0.5])]
        {
            assert_eq!(map.evaluate(&[x]), y, "{x}");
        }
    }

    #[test]
    fn gaussians_meet_their_examples_and_leave_the_mean_far_away() {
        let examples: Vec<Example> = (0..9)
            .map(|i| {
                let (x, y) = (f64::from(i % 3), f64::from(i / 3) * 0.8);
                example(&[x, y], &[(x * 1.3 + y).sin(), x * y])
            })
            .collect();
        for width in [None, Some(0.4), Some(2.0)] {
            let map = map(2, 2, examples.clone(), Between::Gaussian { width }).unwrap();
            for example in &examples {
                let found = map.evaluate(&example.at);
                assert!(found.iter().zip(&example.give).all(|(a, b)| (a - b).abs() < 1e-6), "{width:?} {found:?}");
            }
            let mean = examples.iter().map(|e| e.give[0]).sum::<f64>() / 9.0;
            assert!((map.evaluate(&[1e3, 0.0])[0] - mean).abs() < 1e-12);
        }
    }

    #[test]
    fn examples_that_make_no_map_are_named() {
        let says = |from, to, examples, between, word: &str| {
            let error = map(from, to, examples, between).unwrap_err().to_string();
            assert!(error.starts_with("maps[0]") && error.contains(word), "{error}");
        };
        let two = || vec![example(&[0.0], &[1.0]), example(&[1.0], &[2.0])];
        says(1, 1, vec![], Between::Linear, "0 examples");
        says(1, 2, two(), Between::Linear, "examples[0].give: 1 numbers, but 2 are named");
        says(1, 1, vec![example(&[0.0], &[1.0]), example(&[0.0], &[2.0])], Between::Linear, "same place");
        says(1, 1, vec![example(&[f64::NAN], &[1.0])], Between::Linear, "not finite");
        says(2, 1, vec![example(&[0.0, 0.0], &[1.0])], Between::Linear, "gaussian");
        says(1, 1, two(), Between::Gaussian { width: Some(0.0) }, "width");
        says(1, 1, two(), Between::Gaussian { width: Some(1e9) }, "too alike");
    }
}
