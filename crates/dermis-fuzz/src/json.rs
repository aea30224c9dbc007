//! Changes to a JSON document that leave it one.

use crate::script::Script;
use serde_json::{Map, Value, json};

/// Makes one change somewhere in the document.
pub fn edit(document: &mut Value, script: &mut Script<'_>) {
    let count = count(document);
    let at = script.below(count);
    match script.byte() % 8 {
        0 | 1 => replace(document, at, number(script.number())),
        2 => {
            let text = script.text();
            replace(document, at, Value::String(text));
        }
        3 => {
            let new = script.pick(&["null", "true", "false", "[]", "{}", "[0]", "[[]]", "\"\""]);
            replace(document, at, serde_json::from_str(new).unwrap_or(Value::Null));
        }
        // What stands elsewhere: a node where a number was, an index that another list uses.
        4 => {
            let from = script.below(count);
            let copy = node(document, &mut { from }).cloned().unwrap_or(Value::Null);
            if size(document) + size(&copy) < MOST_NODES {
                replace(document, at, copy);
            }
        }
        5 => change(document, at, |value| match value {
            Value::Array(list) if !list.is_empty() => _ = list.pop(),
            Value::Object(map) => _ = map.keys().next().cloned().and_then(|key| map.shift_remove(&key)),
            _ => {}
        }),
        6 => {
            let times = 1 + usize::from(script.byte() % 16);
            let room = MOST_NODES.saturating_sub(size(document));
            change(document, at, |value| {
                if let Value::Array(list) = value
                    && let Some(last) = list.last().cloned()
                    && size(&last) * times < room
                {
                    list.extend(std::iter::repeat_n(last, times));
                }
            });
        }
        _ => {
            let (key, value) = (script.text(), number(script.number()));
            let from = script.below(count);
            let known = node(document, &mut { from }).and_then(Value::as_object).and_then(|map| map.keys().next());
            let key = known.cloned().unwrap_or(key);
            change(document, at, |place| {
                if let Value::Object(map) = place {
                    map.insert(key, value);
                }
            });
        }
    }
}

/// Nodes that a document grows to at most.
const MOST_NODES: usize = 20_000;

fn number(number: f64) -> Value {
    let whole = number as i64;
    if whole as f64 == number { json!(whole) } else { json!(number) }
}

fn count(value: &Value) -> usize {
    size(value)
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(size).sum(),
        Value::Object(map) => map.values().map(size).sum::<usize>(),
        _ => 0,
    }
}

/// The node that comes `at` in reading order; `at` counts down on the way.
fn node<'a>(value: &'a Value, at: &mut usize) -> Option<&'a Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(list) => list.iter().find_map(|below| node(below, at)),
        Value::Object(map) => map.values().find_map(|below| node(below, at)),
        _ => None,
    }
}

fn node_mut<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|below| node_mut(below, at)),
        Value::Object(map) => map.values_mut().find_map(|below| node_mut(below, at)),
        _ => None,
    }
}

fn change(document: &mut Value, at: usize, change: impl FnOnce(&mut Value)) {
    if let Some(place) = node_mut(document, &mut { at }) {
        change(place);
    }
}

fn replace(document: &mut Value, at: usize, new: Value) {
    change(document, at, |place| *place = new);
}

/// A document from text; an empty object if it is none.
pub fn parse(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_else(|_| Value::Object(Map::new()))
}

/// A document's text.
pub fn text(document: &Value) -> Vec<u8> {
    serde_json::to_vec(document).unwrap_or_default()
}

/// One of some documents, changed a few times: what a target of edits makes of its bytes.
pub fn edited(documents: &[Vec<u8>], bytes: &[u8]) -> Vec<u8> {
    let mut script = Script::new(bytes);
    let at = script.below(documents.len());
    let mut document = parse(&documents[at]);
    for _ in 0..16 {
        if script.is_over() {
            break;
        }
        edit(&mut document, &mut script);
    }
    text(&document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_can_be_found_and_changed() {
        let document = json!({"a": [1, {"b": 2}], "c": "text"});
        assert_eq!(size(&document), 6);
        let found: Vec<Value> = (0..6).map(|at| node(&document, &mut { at }).unwrap().clone()).collect();
        assert_eq!(found[1..], [json!([1, {"b": 2}]), json!(1), json!({"b": 2}), json!(2), json!("text")]);
        for at in 0..6 {
            let mut changed = document.clone();
            replace(&mut changed, at, Value::Null);
            assert_eq!(node(&changed, &mut { at }), Some(&Value::Null));
        }
        assert_eq!(node(&document, &mut 6), None);
    }

    #[test]
    fn any_script_leaves_a_document() {
        let documents = [text(&json!({"a": [1, {"b": 2}], "c": "text"}))];
        for seed in 0..=255u8 {
            let bytes: Vec<u8> = (0..40u8).map(|i| i.wrapping_mul(31).wrapping_add(seed).rotate_left(3)).collect();
            let text = edited(&documents, &bytes);
            assert!(serde_json::from_slice::<Value>(&text).is_ok(), "{seed}");
        }
        assert_eq!(edited(&documents, &[]), documents[0]);
    }
}
