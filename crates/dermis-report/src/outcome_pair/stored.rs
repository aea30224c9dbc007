//! An outcome as `fit`, `eval` and `compare` print it with `--json`, read back.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// An outcome of `fit`, `eval` or `compare`, as its JSON has it.
#[derive(Clone, Debug)]
pub struct StoredOutcome {
    pub(super) head: Head,
    /// The method of a fit or an evaluation alone, or every method of a comparison.
    pub(super) methods: Vec<StoredMethod>,
    /// Errors per pose of the set that counts; none of a comparison.
    pub(super) poses: Vec<StoredPose>,
    /// Settings by name.
    pub(super) settings: BTreeMap<String, String>,
    /// Whether it is of `compare`.
    pub(super) is_bench: bool,
}

/// What the outcome says of the character and of the set that counts.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Head {
    pub(super) unit: String,
    pub(super) vertices: Option<u64>,
    pub(super) diagonal: Option<f64>,
    /// "held out", "cross-validated", "scored" or "not validated".
    pub(super) validation: Option<String>,
}

/// The figures of one method. Lengths in mesh units.
#[derive(Clone, Debug, Default)]
pub(super) struct StoredMethod {
    pub(super) name: String,
    pub(super) error: StoredError,
    pub(super) baseline_rms: Option<f64>,
    pub(super) train_rms: Option<f64>,
    pub(super) ratio: Option<f64>,
    pub(super) model_bytes: Option<u64>,
    pub(super) seconds: Option<f64>,
}

/// The errors over a set.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct StoredError {
    pub(super) rms: f64,
    pub(super) p95: f64,
    pub(super) max: f64,
}

/// The errors of one pose.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct StoredPose {
    pub(super) label: String,
    pub(super) rms: f64,
    pub(super) max: f64,
    pub(super) p95: f64,
}

/// Why two outcomes cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutcomeError {
    /// A text that is no JSON, or not all of it.
    #[error("this is no JSON: {0}")]
    Json(String),
    /// JSON of something else.
    #[error("this is no JSON of fit, eval or compare: {0}")]
    Kind(String),
    /// Outcomes in different units.
    #[error("one outcome has lengths in {first}, the other in {second}")]
    Units {
        /// Unit of the first.
        first: String,
        /// Unit of the second.
        second: String,
    },
    /// The outcome of a comparison beside that of a model.
    #[error("one outcome is of compare, the other of a single model")]
    Kinds,
}

impl StoredOutcome {
    /// Reads the JSON of `fit`, `eval` or `compare`.
    ///
    /// # Errors
    /// [`OutcomeError::Json`] and [`OutcomeError::Kind`], with what is missing.
    pub fn from_json(text: &str) -> Result<Self, OutcomeError> {
        let value: Value = serde_json::from_slice(text.as_bytes()).map_err(|e| OutcomeError::Json(e.to_string()))?;
        let kind = |reason: &str| OutcomeError::Kind(reason.into());
        let fields = value.as_object().ok_or_else(|| kind("it is no object"))?;
        match (fields.get("rows"), fields.contains_key("error")) {
            (Some(rows), _) => Self::of_bench(&value, rows),
            (None, true) => Self::of_model(&value, fields),
            (None, false) if fields.contains_key("curve") || fields.contains_key("points") => {
                Err(kind("it is a learning curve of compare --counts"))
            }
            (None, false) if fields.contains_key("stress") => Err(kind("it is a stress test without examples")),
            (None, false) => Err(kind("it holds no \"error\" and no \"rows\"")),
        }
    }

    /// Of `fit` and `eval`.
    fn of_model(value: &Value, fields: &Map<String, Value>) -> Result<Self, OutcomeError> {
        #[derive(Deserialize)]
        struct Baseline {
            error: StoredError,
        }
        #[derive(Deserialize)]
        struct Model {
            method: String,
            error: StoredError,
            baseline: Option<Baseline>,
            train: Option<StoredError>,
            ratio: Option<f64>,
            model_bytes: Option<u64>,
            seconds: Option<f64>,
            per_pose: Vec<StoredPose>,
        }
        let model: Model = read(value)?;
        let settings = fields.get("settings").and_then(Value::as_object);
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        // A fit counts the seconds of the fit, an evaluation those of scoring: they are not the same thing.
        let fitted = fields.contains_key("train");
        let found = StoredMethod {
            name: model.method,
            error: model.error,
            baseline_rms: model.baseline.map(|baseline| baseline.error.rms),
            train_rms: model.train.map(|train| train.rms),
            ratio: model.ratio,
            model_bytes: model.model_bytes,
            seconds: model.seconds.filter(|_| fitted),
        };
        Ok(Self {
            head: read(value)?,
            methods: vec![found],
            poses: model.per_pose,
            settings: settings.into_iter().flatten().map(|(key, value)| (key.clone(), text(value))).collect(),
            is_bench: false,
        })
    }

    /// Of `compare`.
    fn of_bench(value: &Value, rows: &Value) -> Result<Self, OutcomeError> {
        #[derive(Deserialize)]
        struct Row {
            method: String,
            train: StoredError,
            held_out: Option<StoredError>,
            cross_validated: Option<StoredError>,
            ratio: Option<f64>,
            model_bytes: Option<u64>,
            seconds_fit: Option<f64>,
        }
        // A method that is not validated has nothing to be compared by.
        let method = |row: Row| {
            Some(StoredMethod {
                name: row.method,
                error: row.held_out.or(row.cross_validated)?,
                baseline_rms: None,
                train_rms: Some(row.train.rms),
                ratio: row.ratio,
                model_bytes: row.model_bytes,
                seconds: row.seconds_fit,
            })
        };
        let rows: Vec<Row> = read(rows)?;
        let methods: Vec<StoredMethod> = rows.into_iter().filter_map(method).collect();
        if methods.is_empty() {
            return Err(OutcomeError::Kind("it holds no method that is validated".into()));
        }
        Ok(Self { head: read(value)?, methods, poses: Vec::new(), settings: BTreeMap::new(), is_bench: true })
    }
}

fn read<T: for<'a> Deserialize<'a>>(value: &Value) -> Result<T, OutcomeError> {
    T::deserialize(value).map_err(|e| OutcomeError::Kind(e.to_string()))
}
