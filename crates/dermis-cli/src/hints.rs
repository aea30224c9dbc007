//! Errors in the words of the command line: a setting is an option, a verb a command.

use dermis_workflow::{Part, Phrase};

/// The text of a message or of a remedy.
pub fn spelled(phrase: &Phrase) -> String {
    phrase.written(|part| match part {
        Part::Text(text) => text.to_string(),
        Part::Setting(name, value) => option(name, value.as_deref()),
        Part::Verb(verb) => format!("dermis {verb}"),
    })
}

/// A setting as an option; a switch that is on has no value.
fn option(name: &str, value: Option<&str>) -> String {
    let option = format!("--{}", name.replace('_', "-"));
    match value {
        None | Some("true") => option,
        Some(value) => format!("{option} {value}"),
    }
}
