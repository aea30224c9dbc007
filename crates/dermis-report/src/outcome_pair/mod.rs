//! Two outcomes side by side: headline figures, errors per pose matched by label, and settings that differ.
//!
//! The outcomes are the JSON of `fit`, `eval` and `compare`, so neither a model nor an example is needed. A difference is
//! that of the second outcome from the first: negative where the second is better.

mod page;
mod stored;

pub use stored::{OutcomeError, StoredOutcome};

use crate::LengthUnit;
use crate::length::unit_named;
use crate::page::Quantity;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stored::{StoredMethod, StoredPose};

/// Two outcomes that can be compared.
#[derive(Clone, Debug)]
pub struct OutcomePair {
    names: [String; 2],
    outcomes: [StoredOutcome; 2],
    /// Places of the poses that both have, in the order of the first.
    both: Vec<[usize; 2]>,
    /// Labels that one outcome has and the other has not.
    alone: [Vec<String>; 2],
}

/// One figure of both outcomes.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedFigure {
    /// What it is.
    pub label: String,
    /// Of the first outcome.
    pub first: Quantity,
    /// Of the second outcome.
    pub second: Quantity,
    /// The second over the first, minus one; for figures of which less is better.
    pub change: Option<f64>,
}

/// The errors of a pose that both outcomes have. Lengths in mesh units.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedPose {
    /// Its label.
    pub label: String,
    /// rms of the first and the second outcome.
    pub rms: [f64; 2],
    /// Largest errors of both.
    pub max: [f64; 2],
}

/// A setting that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferentSetting {
    /// Its name.
    pub name: String,
    /// Its values; `None` where an outcome does not have it.
    pub values: [Option<String>; 2],
}

impl OutcomePair {
    /// Matches the poses of two outcomes by label, those of equal label in their order. `names` tell the outcomes apart.
    ///
    /// # Errors
    /// [`OutcomeError::Units`] and [`OutcomeError::Kinds`].
    pub fn new(names: [String; 2], first: StoredOutcome, second: StoredOutcome) -> Result<Self, OutcomeError> {
        if first.head.unit != second.head.unit {
            return Err(OutcomeError::Units { first: first.head.unit, second: second.head.unit });
        }
        if first.is_bench != second.is_bench {
            return Err(OutcomeError::Kinds);
        }
        let mut places: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
        for (at, pose) in second.poses.iter().enumerate() {
            places.entry(&pose.label).or_default().push_back(at);
        }
        let (mut both, mut alone) = (Vec::new(), [Vec::new(), Vec::new()]);
        for (at, pose) in first.poses.iter().enumerate() {
            match places.get_mut(pose.label.as_str()).and_then(VecDeque::pop_front) {
                Some(place) => both.push([at, place]),
                None => alone[0].push(pose.label.clone()),
            }
        }
        let left: BTreeSet<usize> = places.into_values().flatten().collect();
        alone[1].extend(left.into_iter().map(|at| second.poses[at].label.clone()));
        Ok(Self { names, outcomes: [first, second], both, alone })
    }

    /// Returns the unit in which lengths are shown.
    pub fn unit(&self) -> LengthUnit {
        unit_named(&self.outcomes[0].head.unit)
    }

    /// Returns the names of the outcomes.
    pub fn names(&self) -> [&str; 2] {
        [&self.names[0], &self.names[1]]
    }

    /// Returns the labels of poses that only the first outcome has, and those that only the second has.
    pub fn alone(&self) -> [&[String]; 2] {
        [&self.alone[0], &self.alone[1]]
    }

    /// Returns the headline figures. A comparison of methods has those of every method that both have.
    pub fn figures(&self) -> Vec<PairedFigure> {
        let [first, second] = &self.outcomes;
        let mut figures = Vec::new();
        if !first.is_bench {
            let words = |of: fn(&StoredOutcome) -> Option<&String>| [first, second].map(|o| text(of(o)));
            let mut say = |label: &str, [first, second]: [Quantity; 2]| {
                figures.push(PairedFigure { label: label.into(), first, second, change: None });
            };
            say("method", words(|o| o.methods.first().map(|method| &method.name)));
            say("errors are", words(|o| o.head.validation.as_ref()));
            say("poses", [first, second].map(|o| Quantity::Count(o.poses.len() as u64)));
        }
        for [a, b] in self.methods() {
            let name = if first.is_bench { format!("{}: ", a.name) } else { String::new() };
            let mut add = |label: &str, values: [Option<f64>; 2], make: fn(f64) -> Quantity| {
                if values == [None, None] {
                    return;
                }
                let change = values[0].zip(values[1]).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a - 1.0);
                let [first, second] = values.map(|value| value.map_or(Quantity::Missing, make));
                figures.push(PairedFigure { label: format!("{name}{label}"), first, second, change });
            };
            let length = |value: f64| Quantity::Length(value as f32);
            add("rms", [Some(a.error.rms), Some(b.error.rms)], length);
            add("95 %", [Some(a.error.p95), Some(b.error.p95)], length);
            add("max", [Some(a.error.max), Some(b.error.max)], length);
            add("rms of the rig's own weights", [a.baseline_rms, b.baseline_rms], length);
            add("share of the rig's own weights", [a.ratio, b.ratio], |v| Quantity::Share(v as f32));
            add("training rms", [a.train_rms, b.train_rms], length);
            add("model", [a.model_bytes, b.model_bytes].map(|bytes| bytes.map(|n| n as f64)), |v| {
                Quantity::Bytes(v as u64)
            });
            add("fit", [a.seconds, b.seconds], |v| Quantity::Seconds(v as f32));
        }
        figures
    }

    /// Returns the methods that both outcomes have: of two models the one of each, whatever it is.
    fn methods(&self) -> Vec<[&StoredMethod; 2]> {
        let [first, second] = &self.outcomes;
        if !first.is_bench {
            return first.methods.iter().zip(&second.methods).map(|(a, b)| [a, b]).collect();
        }
        let other = |a: &StoredMethod| second.methods.iter().find(|b| b.name == a.name);
        first.methods.iter().filter_map(|a| Some([a, other(a)?])).collect()
    }

    /// Returns the errors of every pose that both outcomes have, in the order of the first.
    pub fn poses(&self) -> Vec<PairedPose> {
        let paired = self.both.iter().map(|[a, b]| [&self.outcomes[0].poses[*a], &self.outcomes[1].poses[*b]]);
        let pose =
            |[a, b]: [&StoredPose; 2]| PairedPose { label: a.label.clone(), rms: [a.rms, b.rms], max: [a.max, b.max] };
        paired.map(pose).collect()
    }

    /// Returns the settings whose values differ, by name.
    pub fn settings(&self) -> Vec<DifferentSetting> {
        let [first, second] = &self.outcomes;
        let names: BTreeSet<&String> = first.settings.keys().chain(second.settings.keys()).collect();
        let values = |name: &String| [first, second].map(|o| o.settings.get(name).cloned());
        let all = names.into_iter().map(|name| DifferentSetting { name: name.clone(), values: values(name) });
        all.filter(|setting| setting.values[0] != setting.values[1]).collect()
    }

    /// Returns what makes the figures less comparable, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let [a, b] = &self.outcomes;
        let mut notes = Vec::new();
        if let (Some(first), Some(second)) = (&a.head.validation, &b.head.validation)
            && first != second
        {
            notes.push(format!("The errors of one outcome are {first}, those of the other {second}."));
        }
        if let (Some(first), Some(second)) = (a.head.vertices, b.head.vertices)
            && first != second
        {
            notes.push(format!("The meshes differ: {first} and {second} vertices."));
        } else if let (Some(first), Some(second)) = (a.head.diagonal, b.head.diagonal)
            && (first - second).abs() > 1e-6 * first.abs().max(second.abs())
        {
            notes.push(format!("The meshes differ: their diagonals are {first:.4} and {second:.4} {}.", a.head.unit));
        }
        for (at, other) in [(0, 1), (1, 0)] {
            if let [first, rest @ ..] = self.alone[at].as_slice() {
                let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
                let (own, other) = (&self.names[at], &self.names[other]);
                notes.push(format!("Poses of {own} that {other} does not have: \"{first}\"{more}."));
            }
            let lacks = |method: &&StoredMethod| !self.outcomes[other].methods.iter().any(|m| m.name == method.name);
            if a.is_bench && self.outcomes[at].methods.iter().any(|method| lacks(&method)) {
                let names: Vec<&str> =
                    self.outcomes[at].methods.iter().filter(lacks).map(|method| method.name.as_str()).collect();
                notes.push(format!("Methods of {} alone: {}.", self.names[at], names.join(", ")));
            }
        }
        if !a.is_bench && self.both.is_empty() {
            notes.push("No pose is in both outcomes: their errors are of different poses.".into());
        }
        notes
    }

    /// Returns the sentence to take away, and how the rms changed; none of a comparison of methods.
    fn verdict(&self) -> Option<(String, f64)> {
        let change = self.figures().into_iter().find(|figure| figure.label == "rms")?.change?;
        let [first, second] = self.names();
        let percent = format!("{:.1} %", 100.0 * change.abs());
        let poses = self.poses();
        let better = poses.iter().filter(|pose| pose.rms[1] < pose.rms[0]).count();
        let share =
            if poses.is_empty() { String::new() } else { format!("; {better} of {} poses are better", poses.len()) };
        let text = match change {
            c if c < 0.0 => format!("The rms of {second} is {percent} smaller than that of {first}{share}."),
            c if c > 0.0 => format!("The rms of {second} is {percent} larger than that of {first}{share}."),
            _ => format!("{first} and {second} have the same rms{share}."),
        };
        Some((text, change))
    }

    /// Returns the sentence to take away; none of a comparison of methods.
    pub fn sentence(&self) -> Option<String> {
        self.verdict().map(|(text, _)| text)
    }

    /// Returns the JSON of `report`: lengths in mesh units, differences of the second outcome from the first.
    pub fn json(&self) -> Value {
        let [first, second] = &self.outcomes;
        let method = |m: &StoredMethod| {
            json!({
                "method": m.name, "error": {"rms": m.error.rms, "p95": m.error.p95, "max": m.error.max},
                "baseline_rms": m.baseline_rms, "ratio": m.ratio, "train_rms": m.train_rms,
                "model_bytes": m.model_bytes, "seconds_fit": m.seconds,
            })
        };
        let head = |at: usize| {
            let outcome = &self.outcomes[at];
            json!({
                "name": self.names[at], "validation": outcome.head.validation, "vertices": outcome.head.vertices,
                "poses": outcome.poses.len(), "only_here": self.alone[at],
            })
        };
        let compared = self.methods().into_iter().map(|[a, b]| {
            json!({
                "first": method(a), "second": method(b),
                "difference": {
                    "rms": b.error.rms - a.error.rms, "p95": b.error.p95 - a.error.p95, "max": b.error.max - a.error.max,
                },
            })
        });
        let poses = self.poses().into_iter().map(|pose| {
            json!({
                "label": pose.label,
                "first": {"rms": pose.rms[0], "max": pose.max[0]},
                "second": {"rms": pose.rms[1], "max": pose.max[1]},
                "difference": {"rms": pose.rms[1] - pose.rms[0], "max": pose.max[1] - pose.max[0]},
            })
        });
        let settings = self
            .settings()
            .into_iter()
            .map(|setting| json!({"setting": setting.name, "first": setting.values[0], "second": setting.values[1]}));
        json!({
            "unit": first.head.unit,
            "diagonal": first.head.diagonal.or(second.head.diagonal),
            "first": head(0),
            "second": head(1),
            "methods": compared.collect::<Vec<_>>(),
            "per_pose": poses.collect::<Vec<_>>(),
            "settings": settings.collect::<Vec<_>>(),
            "verdict": self.sentence(),
            "notes": self.notes(),
        })
    }
}

fn text(value: Option<&String>) -> Quantity {
    value.map_or(Quantity::Missing, |value| Quantity::Text(value.clone()))
}
