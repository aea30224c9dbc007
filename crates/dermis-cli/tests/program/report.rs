//! `report`: two outcomes side by side.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, number};
use serde_json::{Value, json};

/// A desk with the outcomes of two methods, `a.json` and `b.json`.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("train.npz", Tube::new(9, 8, 0.0, Flesh::Bulge).bundle());
    desk.put("test.npz", Tube::new(9, 5, 0.5, Flesh::Bulge).bundle());
    for (name, method) in [("a.json", "lbs"), ("b.json", "mwe")] {
        let line = format!("fit train.npz --examples train.npz --hold-out test.npz --method {method} --json");
        desk.put(name, desk.good(&line).out);
    }
    desk
}

fn stored(desk: &Desk, name: &str) -> Value {
    serde_json::from_slice(&desk.bytes(name)).unwrap()
}

#[test]
fn figures_stand_side_by_side_and_poses_are_matched_by_label() {
    let desk = desk();
    let (a, b) = (stored(&desk, "a.json"), stored(&desk, "b.json"));
    let value = desk.json("report a.json b.json --json");
    let method = &value["methods"][0];
    for key in ["rms", "p95", "max"] {
        let (before, after) = (number(&a, &format!("error.{key}")), number(&b, &format!("error.{key}")));
        assert_eq!(number(method, &format!("first.error.{key}")), before);
        assert_eq!(number(method, &format!("second.error.{key}")), after);
        assert_eq!(number(method, &format!("difference.{key}")), after - before);
    }
    for (at, pose) in value["per_pose"].as_array().unwrap().iter().enumerate() {
        assert_eq!(pose["label"], a["per_pose"][at]["label"]);
        let difference = number(&b["per_pose"][at], "rms") - number(&a["per_pose"][at], "rms");
        assert_eq!(number(pose, "difference.rms"), difference);
    }
    assert_eq!(value["per_pose"].as_array().unwrap().len(), 5);
    let settings = value["settings"].as_array().unwrap();
    assert!(settings.iter().all(|s| s["first"] != s["second"]) && !settings.is_empty(), "{settings:?}");

    let run = desk.good("report a.json b.json");
    for word in ["lbs", "mwe", "held out", "rms", "change", "poses that became", "setting "] {
        assert!(run.out.contains(word), "{word} is not in\n{}", run.out);
    }
    // An outcome beside itself differs in nothing.
    let same = desk.json("report a.json a.json --json");
    assert_eq!((number(&same["methods"][0], "difference.rms"), &same["settings"]), (0.0, &json!([])));
    assert!(desk.good("report a.json a.json").out.contains("have the same rms"));
}

#[test]
fn poses_in_another_order_and_poses_of_one_outcome_alone() {
    let desk = desk();
    let mut b = stored(&desk, "b.json");
    let poses = b["per_pose"].as_array_mut().unwrap();
    poses.reverse();
    let lonely = poses.pop().unwrap();
    poses.push(json!({"label": "another", "rms": 1.0, "max": 2.0, "p95": 1.5}));
    // Of poses with one label the first goes with the first.
    poses.insert(0, json!({"label": "another", "rms": 3.0, "max": 4.0, "p95": 3.5}));
    desk.put("b.json", b.to_string());
    let value = desk.json("report a.json b.json --json");
    assert_eq!(value["first"]["only_here"], json!([lonely["label"]]));
    assert_eq!(value["second"]["only_here"], json!(["another", "another"]));
    let labels: Vec<&Value> = value["per_pose"].as_array().unwrap().iter().map(|p| &p["label"]).collect();
    let a = stored(&desk, "a.json");
    assert_eq!(labels, a["per_pose"].as_array().unwrap()[1..].iter().map(|p| &p["label"]).collect::<Vec<_>>());
    assert!(
        desk.good("report a.json b.json").out.contains("note: Poses of b that a does not have: \"another\" and 1 more")
    );
}

#[test]
fn the_page_is_a_file() {
    let desk = desk();
    desk.good("report a.json b.json -o page.html");
    desk.bad("report a.json b.json -o pages/", &["say pages.html"]);
    let page = String::from_utf8(desk.bytes("page.html")).unwrap();
    for word in ["b against a", "Headline figures", "Difference per pose", "Settings that differ", "data-set=\"0\""] {
        assert!(page.contains(word), "{word}");
    }
    assert!(!page.contains("<div id=\"view-host\""), "no skins");
    desk.bad("report a.json b.json -o page.html", &["page.html", "--force"]);
    desk.good("report a.json b.json -o page.html --force");
    // An input is never replaced.
    desk.put("in.html", desk.bytes("a.json"));
    desk.bad("report in.html b.json -o in.html --force", &["in.html"]);
    assert_eq!(desk.bytes("in.html"), desk.bytes("a.json"));
}

#[test]
fn comparisons_of_methods_are_compared_method_by_method() {
    let desk = desk();
    let line = "compare train.npz --examples train.npz --hold-out test.npz --json --methods";
    desk.put("c.json", desk.good(&format!("{line} lbs,mwe")).out);
    desk.put("d.json", desk.good(&format!("{line} mwe,own-weights")).out);
    let value = desk.json("report c.json d.json --json");
    assert_eq!(value["methods"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&value["methods"][0]["second"]["method"], number(&value["methods"][0], "difference.rms")),
        (&json!("mwe"), 0.0)
    );
    let run = desk.good("report c.json d.json -o cd.html");
    assert!(run.out.contains("mwe: rms") && run.out.contains("Methods of c alone: lbs."), "{}", run.out);
    desk.bad("report a.json d.json", &["d.json", "one outcome is of compare"]);
}

#[test]
fn outcomes_of_eval_go_with_those_of_fit() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --folds 0 -o m.dermis");
    desk.put("e.json", desk.good("eval m.dermis --examples test.npz --json").out);
    let value = desk.json("report a.json e.json --json");
    assert_eq!((&value["first"]["validation"], &value["second"]["validation"]), (&json!("held out"), &json!("scored")));
    assert_eq!(
        value["methods"][0]["second"]["seconds_fit"],
        Value::Null,
        "the seconds of a score are not those of a fit"
    );
    assert!(value["notes"][0].as_str().unwrap().contains("held out"));
}

#[test]
fn a_recipe_runs_it() {
    let desk = desk();
    let recipe =
        json!({ "report": { "first": { "file": "a.json" }, "second": { "file": "b.json" }, "out": "r.html" } });
    desk.put("report-recipe.json", recipe.to_string());
    let value = desk.json("run report-recipe.json --json");
    assert_eq!(value["second"]["name"], "b");
    assert!(exists(&desk.path("r.html")));
}

#[test]
fn what_is_no_outcome_is_refused_by_name() {
    let desk = desk();
    let text = String::from_utf8(desk.bytes("a.json")).unwrap();
    desk.put("empty.json", "");
    desk.put("list.json", "[1, 2]");
    desk.put("other.json", r#"{"a": 1}"#);
    desk.put("stress.json", r#"{"method": "mwe", "stress": {}}"#);
    desk.put("words.json", text.replacen("\"rms\":", "\"rms\":\"much\",\"old\":", 1));
    desk.put("unit.json", text.replacen("\"unit\":\"m\"", "\"unit\":\"unit\"", 1));
    desk.put("deep.json", "[".repeat(100_000));
    desk.put("no-rows.json", r#"{"rows": [], "unit": "m"}"#);
    for (name, says) in [
        ("empty.json", "no JSON"),
        ("list.json", "no object"),
        ("other.json", "no \"error\""),
        ("stress.json", "stress test"),
        ("words.json", "much"),
        ("unit.json", "lengths in m"),
        ("deep.json", "no JSON"),
        ("no-rows.json", "no method"),
        ("absent.json", "absent.json"),
    ] {
        desk.bad(&format!("report a.json {name} -o r.html"), &[name, says]);
        assert!(!exists(&desk.path("r.html")));
    }
    // A truncated file is refused wherever it ends.
    for cut in (0..text.trim_end().len()).step_by(97) {
        desk.put("cut.json", &text[..cut]);
        desk.bad("report cut.json a.json", &["cut.json", "no JSON"]);
    }
}
