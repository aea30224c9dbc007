//! Errors in the words of the command line: a setting is an option, a verb a command.

use crate::method_options;
use dermis_workflow::{Part, Phrase};

/// The text of a message or of a remedy.
pub fn spelled(phrase: &Phrase) -> String {
    phrase.written(|part| match part {
        Part::Text(text) => text.to_string(),
        Part::Setting(name, value) => option(name, value.as_deref()),
        Part::Verb(verb) => format!("dermis {verb}"),
    })
}

/// A setting as an option of the verb that runs, else as `fit` takes it; a switch that is on has no value.
fn option(name: &str, value: Option<&str>) -> String {
    let name = name.replace('_', "-");
    match value.filter(|value| *value != "true") {
        None if crate::runs_with_option(&name) => format!("--{name}"),
        Some(value) if crate::runs_with_option(&name) => format!("--{name} {value}"),
        None => method_options::spelled(&name),
        Some(value) => method_options::spelled_with(&name, value),
    }
}
