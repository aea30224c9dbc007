//! How much examples count, by patterns of their labels.

use super::MethodError;
use super::settings::Setting;
use dermis_rig::pattern::matches;
use dermis_rig::{Example, ExampleSet};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How much examples count, by patterns of their labels, such as `squat=3,knee*=0.5`.
///
/// An example of weight 2 counts as two, one of weight 0 is left out. Of several patterns that match a label the last holds. A weight
/// multiplies that of the file: importance r is the root of a weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Importance(Vec<(String, f64)>);

pub(super) const IMPORTANCE: Setting = Setting::new(
    "importance",
    "LABEL=WEIGHT,...",
    "1 for every example",
    "How much examples count, by label (* is any text; the last that matches holds): 2 counts as two examples, 0 leaves one out. Pose \
     spaces read it where they smooth",
);

impl Importance {
    /// Returns the weights of patterns, in their order.
    pub fn of(weights: impl IntoIterator<Item = (String, f64)>) -> Self {
        Self(weights.into_iter().collect())
    }

    /// Reads `LABEL=WEIGHT,...`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let one = |item: &str| {
            let (pattern, weight) = item.rsplit_once('=').ok_or("use LABEL=WEIGHT, several separated by commas")?;
            let weight = weight.trim().parse().map_err(|_| format!("the weight of \"{pattern}\" is no number"))?;
            Ok((pattern.trim().to_owned(), weight))
        };
        text.split(',').map(one).collect::<Result<_, String>>().map(Self)
    }

    /// Whether every example counts as its file says.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn check(&self) -> Result<(), MethodError> {
        let usable = |weight: f64| weight.is_finite() && weight >= 0.0;
        match self.0.iter().find(|(_, weight)| !usable(*weight)) {
            Some(&(_, value)) => {
                let rule = "weights must be finite and not negative".into();
                Err(MethodError::Setting { setting: IMPORTANCE.name, value, rule })
            }
            None => Ok(()),
        }
    }

    /// Returns the importance r of an example of this label, whose file says `importance`.
    pub(super) fn at(&self, label: &str, importance: f64) -> f64 {
        let weight = self.0.iter().rev().find(|(pattern, _)| matches(pattern, label));
        weight.map_or(importance, |(_, weight)| importance * weight.sqrt())
    }

    /// Returns the examples as they count; `None` where nothing changes.
    pub(super) fn weighed(&self, examples: &ExampleSet) -> Option<ExampleSet> {
        (!self.is_empty()).then(|| examples.with_importance(|e| self.at(&e.label, e.importance)))
    }

    /// Returns a block of examples as they count; `None` where nothing changes.
    pub(super) fn weighed_block(&self, examples: &[Example]) -> Option<Vec<Example>> {
        let weighed = |e: &Example| Example { importance: self.at(&e.label, e.importance), ..e.clone() };
        (!self.is_empty()).then(|| examples.iter().map(weighed).collect())
    }

    /// Returns the patterns that match no label.
    pub(super) fn unmatched(&self, examples: &ExampleSet) -> Vec<String> {
        let is_used = |pattern: &str| examples.examples().iter().any(|e| matches(pattern, &e.label));
        self.0.iter().filter(|(pattern, _)| !is_used(pattern)).map(|(pattern, _)| pattern.clone()).collect()
    }
}

impl fmt::Display for Importance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(|(pattern, weight)| format!("{pattern}={weight}")).collect();
        f.write_str(&all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pattern_holds_and_a_weight_is_a_squared_importance() {
        let read = Importance::read("*=4, knee*=0.25,a=b=0").unwrap();
        assert_eq!(read, Importance::of([("*".into(), 4.0), ("knee*".into(), 0.25), ("a=b".into(), 0.0)]));
        assert_eq!((read.at("squat", 3.0), read.at("knee up", 1.0), read.at("a=b", 1.0)), (6.0, 0.5, 0.0));
        assert_eq!(read.to_string(), "*=4, knee*=0.25, a=b=0");
        assert!(Importance::default().is_empty() && Importance::default().at("x", 0.3) == 0.3);
        for wrong in ["squat", "squat=", "squat=much", "squat=1,"] {
            assert!(Importance::read(wrong).is_err(), "{wrong}");
        }
        for wrong in ["squat=-1", "squat=inf", "squat=NaN"] {
            assert!(Importance::read(wrong).unwrap().check().is_err(), "{wrong}");
        }
    }
}
