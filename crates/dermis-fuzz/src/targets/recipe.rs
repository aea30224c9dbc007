//! Recipes: bytes, and recipes whose JSON is changed. What is read is said again, and is the same.

use crate::memory::{PLAIN, bounded};
use crate::{json, seeds};
use dermis_workflow::recipe::Recipe;
use std::path::Path;
use std::sync::OnceLock;

pub fn seeds() -> Vec<Vec<u8>> {
    seeds::recipes()
}

/// Takes the bytes as a recipe.
pub fn bytes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = |text: &str| Recipe::from_json(text, Path::new("recipe.json"));
    let Ok(recipe) = bounded(bytes.len(), PLAIN, || read(&text)) else { return };
    let said = recipe.to_json().expect("a recipe that was read can be said");
    let again = read(&said).unwrap_or_else(|e| panic!("a recipe that was said is not understood: {e}\n{said}"));
    assert_eq!(again, recipe, "{said}");
}

/// Changes one of the seeds.
pub fn edits(script: &[u8]) {
    static GOOD: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    bytes(&json::edited(GOOD.get_or_init(seeds::recipes), script));
}
