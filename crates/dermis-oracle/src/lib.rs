//! Runs expected numbers from an independent program against the toolkit. Unpublished.
//!
//! The format is described in `cases/README.md`. One module per file of cases holds a table of [`Method`]s; to add a
//! file, write such a module and list it in [`FILES`]. A method turns the inputs of a [`Case`] into [`Answers`], and
//! [`run_folder`] compares them with what is expected.

pub mod array;
pub mod case;
mod composites;
mod ddm;
mod decomposition;
mod deformers;
mod dqs;
mod heat;
mod influence;
mod inverse;
mod joint;
mod measures;
mod models;
mod motion;
mod mwe;
mod psd;
mod rotations;
mod skinning;
mod smooth;
mod weights;

pub use array::Array;
pub use case::{Answers, Case, CaseError, Method};

pub use case::Bits;
use case::Comparison;
use serde_json::Value;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The files of cases that are known, by the start of their names, and the methods in each.
pub const FILES: &[(&str, &[Method])] = &[
    ("rotations", rotations::METHODS),
    ("skinning", skinning::METHODS),
    ("dqs", dqs::METHODS),
    ("measures", measures::METHODS),
    ("ddm", ddm::METHODS),
    ("smooth", smooth::METHODS),
    ("decomposition", decomposition::METHODS),
    ("mwe", mwe::METHODS),
    ("joint", joint::METHODS),
    ("composites", composites::METHODS),
    ("models", models::METHODS),
    ("psd", psd::METHODS),
    ("weights", weights::METHODS),
    ("influence", influence::METHODS),
    ("deformers", deformers::METHODS),
    ("inverse", inverse::METHODS),
];

/// What became of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    /// The file, without folder.
    pub file: String,
    /// The case; empty if the file itself is unusable.
    pub case: String,
    /// What became of it.
    pub verdict: Verdict,
}

/// The end of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Compared with what was expected.
    Compared {
        /// The largest |got − want| / max(1, max |want|) over all entries; NaN became infinity.
        deviation: f64,
        /// The largest deviation allowed.
        tolerance: f64,
        /// The entry with that deviation.
        worst: String,
        /// How many numbers were compared.
        numbers: usize,
        /// Expected entries that the method did not answer.
        unanswered: Vec<String>,
        /// A hash of every number computed: equal hashes are equal bits.
        bits: u64,
    },
    /// It could not be compared: malformed, refused by the toolkit, or the toolkit panicked.
    Broken(String),
    /// No method knows it yet.
    NotRun,
}

impl CaseResult {
    /// Whether it was run and everything agreed.
    pub fn passed(&self) -> bool {
        matches!(&self.verdict, Verdict::Compared { deviation, tolerance, .. } if deviation <= tolerance)
    }
    /// Whether it was not run for want of a method.
    pub fn not_run(&self) -> bool {
        self.verdict == Verdict::NotRun
    }
}

impl fmt::Display for CaseResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<16} {:<24} ", self.file, self.case)?;
        match &self.verdict {
            Verdict::Compared { deviation, tolerance, worst, numbers, unanswered, .. } => {
                let word = if self.passed() { "pass" } else { "FAIL" };
                write!(f, "{deviation:>9.2e}  tolerance {tolerance:>7.0e}  {word}  {numbers} numbers")?;
                if !self.passed() {
                    write!(f, ", worst in {worst}")?;
                }
                if !unanswered.is_empty() {
                    write!(f, ", NOT COMPARED: {}", unanswered.join(", "))?;
                }
                Ok(())
            }
            Verdict::Broken(reason) => write!(f, "FAIL  {reason}"),
            Verdict::NotRun => write!(f, "not run yet"),
        }
    }
}

/// Why a folder cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder cannot be read.
    #[error("cannot read the folder \"{folder}\": {reason}")]
    Unreadable {
        /// The folder.
        folder: String,
        /// Why.
        reason: std::io::Error,
    },
    /// It has no file of cases, or not the one asked for.
    #[error("the folder \"{folder}\" has no {what}")]
    Empty {
        /// The folder.
        folder: String,
        /// What was looked for.
        what: String,
    },
}

/// Runs every `*.json` file of a folder in the order of their names, or only the one named (with or without `.json`).
///
/// # Errors
/// [`FolderError`]. A file that is malformed is a result, not an error.
pub fn run_folder(folder: &Path, only: Option<&str>) -> Result<Vec<CaseResult>, FolderError> {
    let shown = || folder.display().to_string();
    let unreadable = |reason| FolderError::Unreadable { folder: shown(), reason };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".json") else { continue };
        if only.is_none_or(|only| only == stem || only == name) {
            files.push((name, path));
        }
    }
    if files.is_empty() {
        let what = only.map_or("*.json file".to_owned(), |only| format!("file of cases named \"{only}\""));
        return Err(FolderError::Empty { folder: shown(), what });
    }
    files.sort();
    let mut results = Vec::new();
    for (name, path) in files {
        match std::fs::read_to_string(&path) {
            Ok(text) => results.extend(run_text(&name, &text)),
            Err(error) => results.push(broken(&name, "", format!("cannot be read: {error}"))),
        }
    }
    Ok(results)
}

/// Runs the cases of one file.
pub fn run_text(file: &str, text: &str) -> Vec<CaseResult> {
    let parsed: Value = match serde_json::from_str(text) {
        Ok(parsed) => parsed,
        Err(error) => return vec![broken(file, "", format!("is not JSON: {error}"))],
    };
    let Some(cases) = parsed.get("cases").and_then(Value::as_array) else {
        return vec![broken(file, "", "has no list \"cases\"".into())];
    };
    let stem = file.strip_suffix(".json").unwrap_or(file);
    let known = FILES.iter().filter(|(name, _)| stem.starts_with(name)).max_by_key(|(name, _)| name.len());
    let methods = known.map_or(&[][..], |(_, methods)| methods);
    let run = |at: usize| match Case::read(cases, at, parsed.get("common")) {
        Ok(case) => CaseResult { file: file.into(), case: case.name.clone(), verdict: run_case(&case, methods) },
        Err(error) => broken(file, &format!("case {at}"), error.to_string()),
    };
    (0..cases.len()).map(run).collect()
}

fn broken(file: &str, case: &str, reason: String) -> CaseResult {
    CaseResult { file: file.into(), case: case.into(), verdict: Verdict::Broken(reason) }
}

fn run_case(case: &Case, methods: &[Method]) -> Verdict {
    let Some(method) = Method::choose(methods, case) else { return Verdict::NotRun };
    // A panic is a finding about the toolkit; it must not hide the cases that follow.
    let compared =
        catch_unwind(AssertUnwindSafe(|| case.check_like().and_then(|()| case.compare(&(method.run)(case)?))));
    match compared {
        Ok(Ok(Comparison { numbers: 0, .. })) => Verdict::Broken("expects nothing that could be compared".into()),
        Ok(Ok(Comparison { deviation, worst, numbers, unanswered, bits })) => {
            Verdict::Compared { deviation, tolerance: case.tolerance, worst, numbers, unanswered, bits }
        }
        Ok(Err(error)) => Verdict::Broken(error.to_string()),
        Err(_) => Verdict::Broken("the toolkit panicked; its message is above".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(case: &str) -> String {
        format!("{{\"about\": \"\", \"cases\": [{case}]}}")
    }

    fn verdict(name: &str, case: &str) -> Verdict {
        run_text(name, &file(case)).remove(0).verdict
    }

    const EULER: &str = r#"{"name": "some angles", "params": {}, "tol": 1e-12,
        "inputs": {"angles": {"shape": [1, 3], "dtype": "f64", "data": [0, 0, 0]}},
        "expected": {"R": {"shape": [1, 3, 3], "dtype": "f64", "data": [1, 0, 0, 0, 1, null, 0, 0, 1]}}}"#;

    #[test]
    fn a_case_of_any_name_is_known_by_its_keys_and_null_is_not_compared() {
        let found = verdict("rotations_b.json", EULER);
        assert!(matches!(found, Verdict::Compared { deviation: 0.0, numbers: 8, .. }), "{found:?}");
        assert_eq!(verdict("something.json", EULER), Verdict::NotRun);
        assert_eq!(verdict("rotations.json", &EULER.replace("angles", "corners")), Verdict::NotRun);
    }

    #[test]
    fn wrong_numbers_fail_and_say_where() {
        let found = run_text("rotations.json", &file(&EULER.replace("[1, 0, 0, 0,", "[2, 0, 0, 0,")));
        assert!(!found[0].passed());
        let Verdict::Compared { deviation, worst, .. } = &found[0].verdict else { panic!("{found:?}") };
        assert_eq!((*deviation, worst.as_str()), (0.5, "R"));
    }

    #[test]
    fn a_case_may_be_like_another_and_lack_what_is_common() {
        let table = r#"{"shape": [1, 2], "data": [0.75, 0.25]}"#;
        let first = format!(
            r#"{{"name": "a", "params": {{"eps": 0.3}}, "inputs": {{"W": {table}}}, "tol": 0,
            "expected": {{"K2_eps": {{"shape": [1, 2], "data": [1, 0]}}}}}}"#
        );
        let second = first.replace("\"a\"", "\"b\"").replace("\"eps\": 0.3", "\"like\": \"a\"");
        let second = second.replace(&format!("\"W\": {table}"), "");
        for cases in [format!("{first}, {second}"), second.replace("\"like\": \"a\"", "\"eps\": 0.3")] {
            let text = format!(r#"{{"common": {{"W": {table}}}, "cases": [{cases}]}}"#);
            let found = run_text("skinning.json", &text);
            assert!(found.iter().all(CaseResult::passed), "{found:?}");
        }
        let alone = format!(r#"{{"common": {{"W": {table}}}, "cases": [{second}]}}"#);
        assert!(matches!(run_text("skinning.json", &alone)[0].verdict, Verdict::Broken(_)), "there is no case a");
    }

    #[test]
    fn malformed_files_and_cases_are_told_not_panicked_over() {
        for text in ["", "[", "{}", "{\"cases\": 3}", "null"] {
            assert!(matches!(&run_text("rotations.json", text)[..], [CaseResult { verdict: Verdict::Broken(_), .. }]));
        }
        for (from, to) in [
            ("[1, 3]", "[2, 3]"),
            ("[1, 3]", "[3]"),
            ("[1, 3]", "[-1, 3]"),
            ("[1, 3]", "[4294967296, 4294967296, 4294967296]"),
            ("[1, 3, 3]", "[3, 3]"),
            ("[0, 0, 0]", "[0, \"a\", 0]"),
            ("[0, 0, 0]", "3"),
            ("1e-12", "\"small\""),
            ("1e-12", "-1"),
            ("{\"shape\": [1, 3, 3]", "{\"shapes\": [1, 3, 3]"),
            ("[1, 0, 0, 0, 1, null, 0, 0, 1]", "[null, null, null, null, null, null, null, null, null]"),
        ] {
            assert!(EULER.contains(from));
            let found = verdict("rotations.json", &EULER.replacen(from, to, 1));
            assert!(matches!(found, Verdict::Broken(_)), "{from} -> {to}: {found:?}");
        }
        assert!(matches!(verdict("dqs.json", "7"), Verdict::Broken(_)));
    }
}
