//! `compare`: methods on the same bench, or the error over the number of examples.

use crate::error::Error;
use crate::load::{LoadedRig, ReadOptions, load_examples, load_rig};
use crate::recipe::{Input, Watch, repeated, seen, sources, step};
use crate::verbs::compare::curve::{Draws, Point};
use crate::verbs::compare::{self, Judgement, Row, error, method_of, row};
use dermis_io::Space;
use dermis_rig::ExampleSet;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CompareRecipe {
    /// Mesh and skeleton at rest.
    pub rig: Input,
    /// What is learnt from.
    pub examples: Vec<Input>,
    /// What is scored on; cross-validation scores where there is nothing.
    #[serde(default)]
    pub hold_out: Vec<Input>,
    /// Folds of the cross-validation without held-out examples, at least 2.
    #[serde(default = "usual_folds")]
    pub folds: usize,
    /// Methods by name; the usual six if there is none.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Learn from random subsets instead of all examples.
    #[serde(default)]
    pub subsets: Option<Subsets>,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
}

/// The methods that are compared unless others are named: nothing learnt, weights alone, and one of each kind.
pub const USUAL: [&str; 6] = ["joint", "own-weights", "lbs", "mwe", "psd", "pose-blendshapes"];

/// Folds of the cross-validation unless another number is named, as in a fit.
pub const USUAL_FOLDS: usize = 5;

fn usual_folds() -> usize {
    USUAL_FOLDS
}

/// Random subsets of the examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Subsets {
    /// Their sizes.
    pub poses: Vec<usize>,
    /// How many of each size.
    pub draws: u16,
    /// Where the random choice starts.
    pub seed: u64,
}

/// What came of a comparison.
#[derive(Debug)]
pub struct CompareOutcome {
    /// The rig file's axes and unit.
    pub space: Space,
    /// What was found.
    pub found: Found,
    /// Whether the caller stopped before the end; what was finished is there.
    pub stopped: bool,
    /// Everything the user should know.
    pub warnings: Vec<String>,
}

/// What a comparison found.
#[derive(Debug)]
pub enum Found {
    /// A row per method.
    Rows(Vec<Row>),
    /// The error over the number of examples.
    Curve(Curve),
}

/// A learning curve.
#[derive(Debug)]
pub struct Curve {
    /// The points that were finished.
    pub points: Vec<Point>,
    /// How the examples were drawn, a sentence.
    pub choice: String,
    json: Value,
}

impl CompareRecipe {
    /// Fits and scores every method.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<CompareOutcome, Error> {
        let names: Vec<String> = match self.methods.is_empty() {
            true => USUAL.map(str::to_owned).to_vec(),
            false => self.methods.clone(),
        };
        names.iter().try_for_each(|name| method_of(name).map(|_| ()))?;
        let fits = comparison_steps(&names, self.subsets.as_ref());
        let read = [("read rig", 0.05), ("read examples", 0.1)];
        let also = (!self.hold_out.is_empty()).then_some(("read hold-out", 0.1));
        let fits = fits.iter().map(|name| (name.as_str(), 1.0));
        watch.plan(&read.into_iter().chain(also).chain(fits).collect::<Vec<_>>());
        let loaded = step(watch, "read rig", |_| load_rig(&self.rig.file.path))?;
        let set = |inputs: &[Input], role: &str| {
            step(watch, &format!("read {role}"), |_| {
                load_examples(&loaded.rig, &loaded.space, &sources(inputs), &self.read, role)
            })
        };
        let (train, mut files) = set(&self.examples, "examples")?;
        let held_out = match self.hold_out.is_empty() {
            true => None,
            false => {
                let (held_out, more) = set(&self.hold_out, "hold-out")?;
                files.extend(more);
                Some(held_out)
            }
        };
        let judgement = held_out.as_ref().map_or(Judgement::Folds(self.folds), Judgement::HeldOut);
        self.read.must_act_on(&files)?;
        seen(watch, self.examples.iter().chain(&self.hold_out), &files)?;
        self.rig.check(&loaded.notes)?;
        files.extend(loaded.notes.iter().cloned());
        compare_held(&loaded, &train, judgement, &names, self.subsets.as_ref(), watch)
    }
}

/// Fits methods by name to examples that are held, or to random subsets of them, and scores each.
///
/// # Errors
/// [`Error::Compare`] for an unknown method, for fewer than two folds, and for subsets where nothing is held out; [`Error::Fit`]: a fit
/// fails.
pub fn compare_held(
    loaded: &LoadedRig,
    train: &ExampleSet,
    judgement: Judgement<'_>,
    names: &[String],
    subsets: Option<&Subsets>,
    watch: &dyn Watch,
) -> Result<CompareOutcome, Error> {
    names.iter().try_for_each(|name| method_of(name).map(|_| ()))?;
    let warnings = match judgement {
        Judgement::HeldOut(set) => repeated(train, set)?.iter().map(ToString::to_string).collect(),
        Judgement::Folds(folds) if folds < 2 => return Err(error::Error::Folds { folds }.into()),
        Judgement::Folds(_) => Vec::new(),
    };
    let (found, stopped) = match (subsets, judgement) {
        (None, _) => {
            let (rows, stopped) = bench(loaded, train, judgement, names, watch)?;
            (Found::Rows(rows), stopped)
        }
        (Some(subsets), Judgement::HeldOut(set)) => curve(loaded, train, set, names, subsets, watch)?,
        (Some(_), Judgement::Folds(_)) => return Err(error::Error::SubsetsWithoutHeldOut.into()),
    };
    Ok(CompareOutcome { space: loaded.space.clone(), found, stopped, warnings })
}

/// The steps of a comparison with their shares of the work, reading apart.
pub fn comparison_steps(names: &[String], subsets: Option<&Subsets>) -> Vec<String> {
    match subsets {
        None => names.to_vec(),
        Some(subsets) => {
            let fits = |n: &usize| names.iter().map(|name| format!("{name}, {n} poses")).collect::<Vec<_>>();
            subsets.poses.iter().flat_map(fits).collect()
        }
    }
}

/// The rows that were finished, and whether the caller stopped before the last.
///
/// # Errors
/// [`Error`].
pub fn bench(
    loaded: &LoadedRig,
    train: &ExampleSet,
    judgement: Judgement<'_>,
    names: &[String],
    watch: &dyn Watch,
) -> Result<(Vec<Row>, bool), Error> {
    let mut rows = Vec::new();
    for name in names {
        match step(watch, name, |p| row(loaded, train, judgement, name, p)) {
            Ok(row) => {
                watch.row(&row, &loaded.space);
                rows.push(row);
            }
            Err(Error::Cancelled) => return Ok((rows, true)),
            Err(other) => return Err(other),
        }
    }
    Ok((rows, false))
}

fn curve(
    loaded: &LoadedRig,
    train: &ExampleSet,
    held_out: &ExampleSet,
    names: &[String],
    subsets: &Subsets,
    watch: &dyn Watch,
) -> Result<(Found, bool), Error> {
    let draws = Draws::new(loaded, train, usize::from(subsets.draws), subsets.seed);
    let (mut points, mut stopped) = (Vec::new(), false);
    let counts = draws.counts(&subsets.poses)?;
    for (count, name) in counts.into_iter().flat_map(|count| names.iter().map(move |name| (count, name))) {
        match step(watch, &format!("{name}, {count} poses"), |p| draws.point(held_out, name, count, p)) {
            Ok(point) => points.push(point),
            Err(Error::Cancelled) => {
                stopped = true;
                break;
            }
            Err(other) => return Err(other),
        }
    }
    let json = draws.json(&points, held_out);
    Ok((Found::Curve(Curve { points, choice: draws.choice(), json }), stopped))
}

impl CompareOutcome {
    /// `compare --json`.
    pub fn json(&self) -> Value {
        let mut value = match &self.found {
            Found::Rows(rows) => compare::json(rows),
            Found::Curve(curve) => curve.json.clone(),
        };
        value["unit"] = json!(self.space.unit);
        value["warnings"] = json!(self.warnings);
        value
    }
}
