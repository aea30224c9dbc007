//! On which line of a JSON text a value stands.

use dermis_motion::{KeyPath, Step};
use serde_json::value::RawValue;
use std::collections::HashMap;

/// The line of a value, from one; of the nearest value above it that there is, if there is no such value.
pub fn line(text: &str, path: &KeyPath) -> usize {
    let mut at = text.trim_start();
    for step in path.steps() {
        let Some(below) = child(at, step) else { break };
        at = below;
    }
    // A value is a part of the text, so its distance from the beginning is the length of what stands before it.
    let before = (at.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    1 + text.as_bytes()[..before.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

fn child<'a>(text: &'a str, step: &Step) -> Option<&'a str> {
    match step {
        Step::Key(key) => {
            let entries: HashMap<String, &RawValue> = serde_json::from_str(text).ok()?;
            entries.get(key).map(|value| value.get())
        }
        Step::At(at) => {
            let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            list.get(*at).map(|value| value.get())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_on_their_lines() {
        let text = "\n{\"a\": 1,\n \"b\": [2,\n  {\"c d\": 3,\n   \"e\": [4,\n5]}]\n}";
        let root = KeyPath::new();
        let list = root.key("b").at(1);
        for (path, expected) in [
            (root.clone(), 2),
            (root.key("a"), 2),
            (root.key("b"), 3),
            (list.key("c d"), 4),
            (list.key("e").at(1), 6),
            (list.key("gone").key("deeper"), 4),
        ] {
            assert_eq!(line(text, &path), expected, "{path}");
        }
        assert_eq!(line("no json", &root.key("a")), 1);
    }
}
