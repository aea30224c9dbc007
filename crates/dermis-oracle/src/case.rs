//! One case: its inputs, its expected numbers, and the method that turns one into the other.

use crate::array::Array;
use serde_json::{Map, Value};

/// One case of a file.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The largest deviation allowed, relative to max(1, max |want|); zero for equal integers.
    pub tolerance: f64,
    params: Map<String, Value>,
    inputs: Map<String, Value>,
    common: Map<String, Value>,
    expected: Map<String, Value>,
    /// The case names another to be like that the file does not hold.
    alone: bool,
}

/// Why a case cannot be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CaseError {
    /// Something the case must have is missing or of the wrong type.
    #[error("the case has no usable \"{key}\"")]
    Missing {
        /// What is missing.
        key: String,
    },
    /// An entry is not what it should be.
    #[error("\"{key}\" {reason}")]
    Malformed {
        /// The entry.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// An array has another shape.
    #[error("\"{key}\" has shape {found:?}; it should end in {wanted:?}")]
    Shape {
        /// The entry.
        key: String,
        /// Its shape.
        found: Vec<usize>,
        /// What the shape should end in.
        wanted: Vec<usize>,
    },
    /// Arrays that belong together differ in number.
    #[error("{first} and {second} differ in number: {first_count} and {second_count}")]
    Counts {
        /// One.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// How many of one.
        first_count: usize,
        /// How many of the other.
        second_count: usize,
    },
    /// The toolkit refused the inputs.
    #[error("the toolkit refused the inputs: {0}")]
    Refused(String),
}

impl CaseError {
    /// An error of the toolkit.
    pub fn refused(error: impl std::fmt::Display) -> Self {
        Self::Refused(error.to_string())
    }

    /// An error unless two counts agree.
    ///
    /// # Errors
    /// [`CaseError::Counts`].
    pub fn unless_equal(first: (&'static str, usize), second: (&'static str, usize)) -> Result<(), Self> {
        match first.1 == second.1 {
            true => Ok(()),
            false => {
                Err(Self::Counts { first: first.0, second: second.0, first_count: first.1, second_count: second.1 })
            }
        }
    }
}

/// Numbers a method computed, by the key they are expected under. Answers nobody expects do no harm.
#[derive(Clone, Debug, Default)]
pub struct Answers(Vec<(String, Vec<Array>)>);

impl Answers {
    /// Adds an array.
    pub fn add(&mut self, key: impl Into<String>, array: Array) {
        self.0.push((key.into(), vec![array]));
    }
    fn get(&self, key: &str) -> Option<&[Array]> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, arrays)| arrays.as_slice())
    }
}

/// A method of the toolkit, and how its cases are recognised.
pub struct Method {
    /// What the names of its cases start with, usually.
    pub name: &'static str,
    /// Inputs that its cases have, in their own inputs or in the common ones.
    pub inputs: &'static [&'static str],
    /// Expected entries of which its cases have at least one; a final `*` stands for any ending.
    pub answers: &'static [&'static str],
    /// Computes the answers.
    pub run: fn(&Case) -> Result<Answers, CaseError>,
}

impl Method {
    /// The method for a case: of those whose keys fit, the one with the longest name that the case's name starts with,
    /// else the first. Where no keys fit, a name that is the case's own: its complaint then says what is missing.
    pub fn choose<'a>(methods: &'a [Self], case: &Case) -> Option<&'a Self> {
        let fitting = || methods.iter().filter(|method| method.fits(case));
        let named = fitting().filter(|method| case.name.starts_with(method.name));
        named
            .max_by_key(|method| method.name.len())
            .or_else(|| fitting().next())
            .or_else(|| methods.iter().find(|method| case.name == method.name))
    }

    fn fits(&self, case: &Case) -> bool {
        let wanted = |pattern: &str| match pattern.strip_suffix('*') {
            Some(start) => case.expected_keys().any(|key| key.starts_with(start)),
            None => case.expected.contains_key(pattern),
        };
        self.inputs.iter().all(|key| case.has(key)) && self.answers.iter().any(|pattern| wanted(pattern))
    }
}

/// Answers beside what was expected.
pub(crate) struct Comparison {
    pub deviation: f64,
    pub worst: String,
    pub numbers: usize,
    pub unanswered: Vec<String>,
    pub bits: u64,
}

impl Case {
    /// Reads the case at `at` of a file's `cases`; `common` are the inputs all cases of the file share.
    ///
    /// A parameter `like` names another case of the file: parameters and inputs that this one lacks are taken from it.
    ///
    /// # Errors
    /// [`CaseError`] if name, tolerance, inputs or expected numbers are missing.
    pub fn read(cases: &[Value], at: usize, common: Option<&Value>) -> Result<Self, CaseError> {
        let missing = |key: &str| CaseError::Missing { key: key.into() };
        let value = cases.get(at).ok_or_else(|| missing("cases"))?;
        let object = |value: &Value, key: &str| value.get(key).and_then(Value::as_object).cloned();
        let tolerance = value.get("tol").and_then(Value::as_f64).filter(|tol| *tol >= 0.0 && tol.is_finite());
        let mut case = Self {
            name: value.get("name").and_then(Value::as_str).ok_or_else(|| missing("name"))?.to_owned(),
            tolerance: tolerance.ok_or_else(|| missing("tol"))?,
            params: object(value, "params").unwrap_or_default(),
            inputs: object(value, "inputs").ok_or_else(|| missing("inputs"))?,
            expected: object(value, "expected").ok_or_else(|| missing("expected"))?,
            common: common.and_then(Value::as_object).cloned().unwrap_or_default(),
            alone: false,
        };
        if let Some(name) = case.params.get("like").and_then(Value::as_str).filter(|name| !name.is_empty()) {
            let named = |other: &&Value| other.get("name").and_then(Value::as_str) == Some(name);
            // A file without methods may mean something else by it: only a case that is run must have its example.
            let other = cases.iter().find(named);
            case.alone = other.is_none();
            for (own, key) in [(&mut case.params, "params"), (&mut case.inputs, "inputs")] {
                for (key, value) in other.and_then(|other| object(other, key)).unwrap_or_default() {
                    own.entry(key).or_insert(value);
                }
            }
        }
        Ok(case)
    }

    /// Refuses a case that names another to be like, if the file does not hold that one.
    ///
    /// # Errors
    /// [`CaseError::Missing`].
    pub fn check_like(&self) -> Result<(), CaseError> {
        if self.alone { Err(CaseError::Missing { key: "like".into() }) } else { Ok(()) }
    }

    fn input(&self, key: &str) -> Option<&Value> {
        self.inputs.get(key).or_else(|| self.common.get(key))
    }

    /// Whether there is an input of that name, of the case's own or common.
    pub fn has(&self, key: &str) -> bool {
        self.input(key).is_some()
    }

    /// An input of the case's own, else the common one, else the parameter of that name.
    ///
    /// # Errors
    /// [`CaseError`] if there is none, or it is no array.
    pub fn array(&self, key: &str) -> Result<Array, CaseError> {
        let value = self.input(key).or_else(|| self.params.get(key));
        let value = value.ok_or_else(|| CaseError::Missing { key: key.into() })?;
        Array::read(value).map_err(|reason| CaseError::Malformed { key: key.into(), reason })
    }

    /// An input that is a list of arrays.
    ///
    /// # Errors
    /// [`CaseError`] if there is none, or an item is no array.
    pub fn arrays(&self, key: &str) -> Result<Vec<Array>, CaseError> {
        let list = self.input(key).and_then(Value::as_array).ok_or_else(|| CaseError::Missing { key: key.into() })?;
        let items = list.iter().map(Array::read).collect::<Result<_, _>>();
        items.map_err(|reason| CaseError::Malformed { key: key.into(), reason })
    }

    /// A parameter, as it stands in the file.
    pub fn param(&self, key: &str) -> Option<&Value> {
        self.params.get(key)
    }

    /// A number among the parameters or inputs.
    ///
    /// # Errors
    /// [`CaseError::Missing`] if there is none.
    pub fn number(&self, key: &str) -> Result<f64, CaseError> {
        let found = self.params.get(key).or_else(|| self.input(key)).and_then(Value::as_f64);
        found.ok_or_else(|| CaseError::Missing { key: key.into() })
    }

    /// A count among the parameters or inputs.
    ///
    /// # Errors
    /// [`CaseError::Missing`] if there is none.
    pub fn count(&self, key: &str) -> Result<usize, CaseError> {
        let found = self.params.get(key).or_else(|| self.input(key)).and_then(Value::as_u64);
        found.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| CaseError::Missing { key: key.into() })
    }

    /// What is expected, by name.
    pub fn expected_keys(&self) -> impl Iterator<Item = &str> {
        self.expected.keys().map(String::as_str)
    }

    /// An expected entry: one array, or the items of a list of arrays. `None` if nothing of that name is expected.
    ///
    /// # Errors
    /// [`CaseError::Malformed`].
    pub fn expected(&self, key: &str) -> Result<Option<Vec<Array>>, CaseError> {
        let Some(value) = self.expected.get(key) else { return Ok(None) };
        let arrays = match value {
            Value::Array(items) if items.iter().any(|item| item.is_object()) => items.iter().map(Array::read).collect(),
            single => Array::read(single).map(|array| vec![array]),
        };
        arrays.map(Some).map_err(|reason| CaseError::Malformed { key: key.into(), reason })
    }

    /// Compares answers with every expected entry.
    pub(crate) fn compare(&self, answers: &Answers) -> Result<Comparison, CaseError> {
        let mut found = Comparison {
            deviation: 0.0,
            worst: String::new(),
            numbers: 0,
            unanswered: Vec::new(),
            bits: Bits::default().0,
        };
        for key in self.expected_keys() {
            let Some(got) = answers.get(key) else {
                found.unanswered.push(key.to_owned());
                continue;
            };
            for number in got.iter().flat_map(|array| &array.data) {
                found.bits = Bits(found.bits).with(number.to_bits()).0;
            }
            let want = self.expected(key)?.unwrap_or_default();
            let (got_shapes, want_shapes) = (shapes(got), shapes(&want));
            if got_shapes != want_shapes {
                let reason = format!("has shape {want_shapes:?}, but the answer has {got_shapes:?}");
                return Err(CaseError::Malformed { key: key.into(), reason });
            }
            let pairs = || {
                let both = got.iter().zip(&want).flat_map(|(got, want)| got.data.iter().zip(&want.data));
                both.filter(|(_, want)| !want.is_nan())
            };
            let size = pairs().fold(1.0, |most: f64, (_, want)| most.max(want.abs()));
            found.numbers += pairs().count();
            for (got, want) in pairs() {
                let off = (got - want).abs() / size;
                let off = if off.is_nan() { f64::INFINITY } else { off };
                if off > found.deviation {
                    (found.deviation, found.worst) = (off, key.to_owned());
                }
            }
        }
        Ok(found)
    }
}

/// A hash of numbers: FNV-1a over their bits.
pub struct Bits(pub u64);

impl Default for Bits {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Bits {
    /// With one more number.
    #[must_use]
    pub fn with(self, number: u64) -> Self {
        Self(number.to_le_bytes().iter().fold(self.0, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)))
    }
}

fn shapes(arrays: &[Array]) -> Vec<&[usize]> {
    arrays.iter().map(|array| array.shape.as_slice()).collect()
}
