//! Errors of the library as `dermis.Error`: a message with argument, expected and got, and a hint in Python's words.

use dermis::arrays::ArrayError;
use dermis::rig::examples::ExampleError;
use dermis_cli::hints;
use pyo3::PyErr;

pyo3::import_exception!(dermis._errors, Error);

/// An error with a message and no hint.
pub fn error(message: impl Into<String>) -> PyErr {
    hinted(message, "")
}

/// An error with a message and what to do about it.
pub fn hinted(message: impl Into<String>, hint: &str) -> PyErr {
    Error::new_err((message.into(), hint.to_owned()))
}

/// An error of a recipe, in Python's words.
pub fn of_library(error: &dermis::Error) -> PyErr {
    hinted(in_python(&hints::message(error)), &in_python(&hints::hint(error)))
}

/// An error of arrays.
pub fn of_arrays(error: &ArrayError) -> PyErr {
    let hint = match error {
        ArrayError::Skeleton(dermis::rig::SkeletonError::ParentAfterChild { .. }) => {
            "bring bones, parents, matrices and columns of weights into an order with parents first"
        }
        _ => "",
    };
    hinted(error.to_string(), hint)
}

/// An error of examples.
pub fn of_examples(error: &ExampleError) -> PyErr {
    self::error(error.to_string())
}

/// The program's words in Python's: `--set eig-tol=0` is `eig_tol=0`, `--match-tolerance 1e-3` is `match_tolerance=1e-3`, `dermis fit` is `dermis.fit`.
fn in_python(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in text.replace("--set ", "--").split(' ') {
        let (open, bare) = match word.strip_prefix('(') {
            Some(bare) => ("(", bare),
            None => ("", word),
        };
        let Some(option) = bare.strip_prefix("--") else {
            match words.last_mut() {
                Some(last) if last == "dermis" && VERBS.contains(&bare) => *last = format!("dermis.{bare}"),
                _ => words.push(word.to_owned()),
            }
            continue;
        };
        let end = option.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(option.len());
        let (name, rest) = option.split_at(end);
        words.push(format!("{open}{}{rest}", name.replace('-', "_")));
    }
    words.join(" ")
}

/// Verbs that are functions of the package.
const VERBS: [&str; 17] = [
    "animate",
    "fit",
    "compare",
    "evaluate",
    "exercise",
    "decompose",
    "invert",
    "suggest",
    "weights",
    "export",
    "convert",
    "inspect",
    "pose",
    "report",
    "retarget",
    "rig",
    "markers",
];
