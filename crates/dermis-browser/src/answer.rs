//! A recipe as a text, and what came of it as another.

use dermis_workflow::recipe::{Recipe, Watch};
use dermis_workflow::verbs::session::live::{Ask, Live, Told};
use dermis_workflow::{Error, Part, Phrase};
use serde_json::{Value, json};
use std::path::Path;

/// Runs a recipe; result: `{"outcome": …}` or `{"error": {"text": …, "remedy": …}}`.
pub fn answer(recipe: &str, watch: &dyn Watch) -> Value {
    let ran = Recipe::from_json(recipe, Path::new("recipe")).and_then(|recipe| recipe.run(watch));
    match ran {
        Ok(outcome) => json!({ "outcome": outcome.json() }),
        Err(error) => told(&error),
    }
}

/// Answers what a window asks of a session ([`Ask`], JSON): the bytes of [`Told`], whose facts are `{"error": …}` where it failed.
pub fn live_answer(live: &mut Live, ask: &str) -> Vec<u8> {
    let asked = serde_json::from_str::<Ask>(ask);
    let facts = match asked.map(|ask| live.answer(&ask)) {
        Ok(Ok(told)) => return told.bytes(),
        Ok(Err(error)) => told(&error),
        Err(error) => json!({ "error": { "text": format!("this is no question: {error}"), "remedy": "" } }),
    };
    Told { facts, arrays: vec![] }.bytes()
}

/// An error as JSON.
fn told(error: &Error) -> Value {
    json!({ "error": { "text": spelled(&error.message()), "remedy": spelled(&error.remedy()) } })
}

/// Settings and verbs as a recipe has them.
fn spelled(phrase: &Phrase) -> String {
    phrase.written(|part| match part {
        Part::Text(text) => text.to_string(),
        Part::Setting(name, None) => format!("\"{}\"", name.replace('_', "-")),
        Part::Setting(name, Some(value)) => {
            let plain = value.parse::<f64>().is_ok() || matches!(value.as_ref(), "true" | "false");
            let value = if plain { value.to_string() } else { format!("\"{value}\"") };
            format!("\"{}\": {value}", name.replace('_', "-"))
        }
        Part::Verb(verb) => format!("the recipe \"{verb}\""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_workflow::recipe::Silent;

    #[test]
    fn what_is_no_recipe_is_answered_with_an_error() {
        for recipe in ["", "{", "[]", "{\"fit\": {}}", "{\"no such verb\": {}}"] {
            let answer = answer(recipe, &Silent);
            let text = answer["error"]["text"].as_str().unwrap_or_default();
            assert!(text.contains("no recipe") && answer.get("outcome").is_none(), "{recipe}: {answer}");
        }
        let missing = answer(r#"{"inspect": {"files": [{"file": "not there.npz"}]}}"#, &Silent);
        assert!(missing.to_string().contains("not there.npz"), "{missing}");
    }

    #[test]
    fn questions_that_are_none_are_answered_with_an_error() {
        for ask in [
            "",
            "{}",
            "{\"fly\": 1}",
            "{\"pose\": {\"pose\": {}, \"skins\": []}}",
            "{\"open\": {\"folder\": \"nowhere\"}}",
        ] {
            let bytes = live_answer(&mut Live::default(), ask);
            let text = String::from_utf8_lossy(&bytes[4..]);
            assert!(text.contains("\"error\""), "{ask}: {text}");
        }
    }

    #[test]
    fn remedies_name_settings_as_a_recipe_does() {
        let phrase = Phrase::from("set `trust_order=true`, lower `fps`, take `base=dqs` or `dermis weights`");
        let expected = "set \"trust-order\": true, lower \"fps\", take \"base\": \"dqs\" or the recipe \"weights\"";
        assert_eq!(spelled(&phrase), expected);
    }
}
