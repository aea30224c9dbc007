//! What other programs and readers rely on, stored: the help of every verb and the keys of every verb's JSON.
//!
//! A changed byte shows in the review as a changed file in `tests/snapshots`. `DERMIS_UPDATE_SNAPSHOTS=1` writes them again.

use crate::Desk;
use crate::tube::{Flesh, Tube};
use dermis_testkit::snapshot::compare_with_stored;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

const VERBS: [&str; 26] = [
    "demo",
    "inspect",
    "view",
    "studio",
    "fit",
    "recipe",
    "run",
    "eval",
    "compare",
    "report",
    "pose",
    "suggest",
    "transfer",
    "session",
    "exercise",
    "retarget",
    "rig",
    "markers",
    "export",
    "convert",
    "weights",
    "decompose",
    "invert",
    "figures",
    "animate",
    "crowd",
];

const BODY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/body/body_exercise.npz");

/// Compares with a stored file of these tests.
fn check(name: &str, text: &str) {
    compare_with_stored(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name), text);
}

#[test]
fn the_help_of_every_verb_is_stored() {
    let desk = Desk::new();
    let all = desk.good("--help").out;
    check("help.txt", &all);
    for verb in VERBS {
        assert!(all.contains(&format!("  {verb} ")), "{verb} is a verb");
        check(&format!("help_{verb}.txt"), &desk.good(&format!("help {verb}")).out);
    }
    for form in ["shapes", "drivers", "bones", "viewer"] {
        check(&format!("help_export_{form}.txt"), &desk.good(&format!("help export {form}")).out);
    }
    for act in ["new", "next", "add", "fit", "status", "undo", "redo", "export"] {
        check(&format!("help_session_{act}.txt"), &desk.good(&format!("help session {act}")).out);
    }
    let listed =
        all.lines().filter(|line| line.starts_with("  ") && line[2..].starts_with(|c: char| c.is_ascii_lowercase()));
    let listed: BTreeSet<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    let known: BTreeSet<&str> = VERBS.into_iter().chain(["completions", "man"]).collect();
    assert_eq!(listed, known, "a verb without a stored help");
}

/// Every path of keys in a value with the kind of what it leads to; elements of a list are one path.
fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, inner)| paths(inner, &format!("{at}.{key}"), found)),
        Value::Array(list) => list.iter().for_each(|inner| paths(inner, &format!("{at}[]"), found)),
        Value::Null => drop(found.insert(format!("{at}: null"))),
        Value::Bool(_) => drop(found.insert(format!("{at}: bool"))),
        Value::Number(_) => drop(found.insert(format!("{at}: number"))),
        Value::String(_) => drop(found.insert(format!("{at}: text"))),
    }
}

#[test]
fn the_keys_of_every_verb_s_json_are_stored() {
    let desk = Desk::new();
    desk.put("train.npz", Tube::new(9, 16, 0.0, Flesh::Bulge).bundle());
    desk.put("test.npz", Tube::new(9, 5, 0.5, Flesh::Bulge).bundle());
    let scene = r#"{"rig": "train.npz", "time": {"to": 0.1},
        "goals": [{"bone": "elbow", "chain": "elbow", "look-at": [9, 1, 1], "axis": [1, 0, 0]}]}"#;
    desk.put("scene.json", scene);
    desk.put("dressed.obj", "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl b\nvt 0 0\nf 1/1 2/1 3/1\no c\nv 0 0 1\n");
    let mut text = String::new();
    for (name, method) in [("a.json", "mwe"), ("b.json", "lbs")] {
        let line = format!("fit train.npz --examples train.npz --hold-out test.npz --method {method} --json");
        desk.put(name, desk.good(&line).out);
    }
    for line in [
        "fit train.npz --examples train.npz --hold-out test.npz -o joint.dermis --json",
        "fit train.npz --examples train.npz --method mwe -o mwe.dermis --json",
        "fit train.npz --examples train.npz --method psd --set budget=6,4 --folds 0 -o psd.dermis --json",
        "fit train.npz --examples train.npz --method eigenskin --folds 0 --json",
        "fit train.npz --examples train.npz --method lbs --folds 0 --json",
        "fit train.npz --examples train.npz --method animation-space --folds 0 --json",
        "fit train.npz --examples train.npz --method rotational-regression --folds 0 --json",
        "fit train.npz --examples train.npz --method mwe --accumulate part --json",
        "recipe joint.dermis",
        "recipe mwe.dermis",
        "recipe psd.dermis",
        "eval joint.dermis --examples test.npz --stress 2 --json",
        "compare train.npz --examples train.npz --hold-out test.npz --methods own-weights,mwe --json",
        "compare train.npz --examples train.npz --hold-out test.npz --methods mwe --counts 4,8 --draws 2 --json",
        "report a.json b.json --json",
        "suggest joint.dermis --motion test.npz --json",
        "transfer joint.dermis train.npz -o transferred.dermis --report transferred.html --json",
        "session new train.npz -o s --motion test.npz --truth test.npz --json",
        "session next s -n 1 -o todo.npz --json",
        "session add s @test:2 --anchor --json",
        "session status s --json",
        "exercise train.npz --count 12 --in-betweens 2 -o exercise.npz --write-limits limits.json --json",
        "retarget test.npz train.npz -o moved.npz --json",
        "rig BODY -o rigged.glb --write-joints joints.json --report rig.html --write-exercise rigged.npz --json",
        "inspect train.npz joint.dermis --json",
        "inspect dressed.obj --json",
        "view train.npz -o view.html --json",
        "export shapes joint.dermis --motion test.npz -o walk.glb --json",
        "export drivers joint.dermis --motion test.npz --table joint.json -o driven.glb --json",
        "export drivers psd.dermis --table psd.json -o psd.glb --json",
        "export viewer psd.dermis -o viewer --json",
        "export bones joint.dermis --motion test.npz --helpers 2 -o lbs.glb --json",
        "convert train.npz -o train.glb --json",
        "weights train.npz --heat -o heat.npz --json",
        "decompose train.npz --bones 2 -o bones.glb --json",
        "invert train.npz --sculpts train.npz --rest-space -o rest.npz --json",
        "animate scene.json -o scene.glb --json",
        "crowd joint.dermis --motion test.npz --fps 24 --instances 40 --full-within 5 --blended-within 8 -o crowd.npz --picture crowd.png --json",
    ] {
        let value = desk.json(&line.replace("BODY", BODY));
        let mut found = BTreeSet::new();
        paths(&value, "", &mut found);
        text += &format!("dermis {line}\n");
        found.iter().for_each(|path| text += &format!("  {path}\n"));
    }
    check("json_keys.txt", &text);
}
