//! Errors of the library as `dermis.Error`: a message with argument, expected and got, and a hint in Python's words.

use dermis::arrays::ArrayError;
use dermis::internals::rig::examples::ExampleError;
use dermis::internals::workflow::report::visible;
use dermis::internals::workflow::{Part, Phrase};
use pyo3::PyErr;

pyo3::import_exception!(dermis._errors, Error);

/// An error with a message and no hint.
pub fn error(message: impl Into<String>) -> PyErr {
    hinted(message, "")
}

/// An error with a message and what to do about it. Names in it come from files, and a traceback prints it: they end no line of it.
pub fn hinted(message: impl Into<String>, hint: &str) -> PyErr {
    Error::new_err((visible(&message.into()).into_owned(), visible(hint).into_owned()))
}

/// An error of a recipe, in Python's words.
pub fn of_library(error: &dermis::internals::workflow::Error) -> PyErr {
    hinted(spelled(&error.message()), &spelled(&error.remedy()))
}

/// An error of arrays.
pub fn of_arrays(error: &ArrayError) -> PyErr {
    let hint = match error {
        ArrayError::Skeleton(dermis::internals::rig::SkeletonError::ParentAfterChild { .. }) => {
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

/// A phrase in Python's words: a setting is an argument, a verb a function of the package.
fn spelled(phrase: &Phrase) -> String {
    phrase.written(|part| match part {
        Part::Text(text) => text.to_string(),
        Part::Setting(name, None) => name.replace('-', "_"),
        Part::Setting(name, Some(value)) => {
            format!("{}={}", name.replace('-', "_"), if value == "true" { "True" } else { value })
        }
        Part::Verb(verb) => format!("dermis.{verb}"),
    })
}
