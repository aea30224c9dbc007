//! One number everywhere: terminal, JSON and page have the same headline, and none of them takes an error on training poses for
//! a validated one.

use crate::tube::{Flesh, Tube};
use crate::{Desk, number};
use dermis_workflow::io::npz::{StoredFloat, read, write};
use dermis_workflow::io::to_bytes;
use serde_json::{Value, json};

fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("train.npz", Tube::new(9, 12, 0.0, Flesh::Bulge).bundle());
    desk.put("test.npz", Tube::new(9, 5, 0.5, Flesh::Bulge).bundle());
    desk
}

/// The sentence of the page and whether it has a tick.
fn verdict(page: &str) -> (String, bool) {
    let from = page.find("<p class=\"verdict ").expect("a verdict");
    let line = &page[from..from + page[from..].find("</span></p>").unwrap()];
    (line.rsplit_once("<span>").unwrap().1.replace("&#39;", "'"), line.contains('✓'))
}

#[test]
fn terminal_json_and_page_say_the_same() {
    let desk = desk();
    for (options, validation, key, begins) in [
        ("", "cross-validated", "cross_validated", "Cross-validated: "),
        ("--folds 0", "not validated", "train", "Not validated; on the training poses, "),
        ("--hold-out test.npz", "held out", "held_out", "Held out: "),
    ] {
        let line = format!("fit train.npz --examples train.npz {options} --report page.html --force");
        let value = desk.json(&format!("{line} --json"));
        assert_eq!(value["validation"], validation);
        assert_eq!(value["error"], value[key], "{options}");
        let said = value["verdict"].as_str().unwrap();
        assert!(said.starts_with(begins), "{said}");
        // The headline counts poses that no training pose is beside.
        let ratio = if value["counted"].is_null() { "ratio" } else { "counted.ratio" };
        let remains = format!("{:.0} % of the error of the rig's own weights remains", 100.0 * number(&value, ratio));
        assert!(said.contains(&remains), "{said}: {remains}");
        assert!(desk.good(&line).out.contains(&format!("{said}\n")), "{options}");
        let page = String::from_utf8(desk.bytes("page.html")).unwrap();
        // The bulge is learnt well enough for a tick, wherever there is evidence.
        assert_eq!(verdict(&page), (said.replace('\n', " "), validation != "not validated"), "{options}");
        let first = page.split("<dt>").nth(1).unwrap();
        let card = [("held_out", "Held-out error"), ("cross_validated", "Cross-validated error")];
        let label = card.iter().find(|card| card.0 == key).map_or("Error on other poses", |card| card.1);
        assert!(first.starts_with(label), "{options}: {}", &first[..60]);
        // Errors per pose are those of the set that counts, in the order of the examples.
        let poses = value["per_pose"].as_array().unwrap();
        let labels = |poses: &[Value]| poses.iter().map(|pose| pose["label"].clone()).collect::<Vec<_>>();
        if key != "held_out" {
            assert_eq!(labels(poses), labels(value["per_pose_train"].as_array().unwrap()), "{options}");
        }
        let mean = poses.iter().map(|pose| number(pose, "rms").powi(2)).sum::<f64>() / poses.len() as f64;
        assert!((mean.sqrt() - number(&value, "error.rms")).abs() < 1e-9, "{options}");
    }
}

/// The rig's own weights are far off, and the model less: still no skin to be content with.
#[test]
fn a_skin_far_from_its_target_has_no_tick() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --folds 0 -o m.dermis");
    let mut moved = read(&desk.bytes("test.npz"), "test.npz").unwrap();
    for record in &mut moved.records {
        record.positions.iter_mut().flatten().for_each(|p| p.x += 0.2);
    }
    desk.put("moved.npz", to_bytes(|out| write(&moved, StoredFloat::Double, out)).unwrap());
    desk.good("eval m.dermis --examples moved.npz --report page.html");
    let page = String::from_utf8(desk.bytes("page.html")).unwrap();
    let (said, tick) = verdict(&page);
    assert!(!tick && said.contains("more than 5 % of the rig's diagonal"), "{said}");
}

/// Without held-out examples a method of the bench has the number of its own fit, or none.
#[test]
fn the_bench_cross_validates_as_a_fit_does() {
    let desk = desk();
    let line = "compare train.npz --examples train.npz --methods mwe,lbs,correctives --folds 3";
    let value = desk.json(&format!("{line} --json"));
    for (at, method) in ["mwe", "lbs", "correctives"].into_iter().enumerate() {
        let row = &value["rows"][at];
        let fit = desk.json(&format!("fit train.npz --examples train.npz --method {method} --folds 3 --json"));
        assert_eq!(row["cross_validated"], fit["cross_validated"], "{method}");
        assert_eq!(row["train"], fit["train"], "{method}");
        assert!(row.get("held_out").is_none());
        assert_eq!(row["cross_validated"].is_null(), method == "correctives");
        assert_eq!(fit["validation"] == "not validated", method == "correctives");
    }
    // lbs has no bound to break, and mwe has the least error of those that are validated.
    assert_eq!(value["recommended"], "mwe");
    let said = desk.good(line).out;
    for word in ["cross-validated", "not validated", "smallest cross-validated error"] {
        assert!(said.contains(word), "{word} is not in\n{said}");
    }
    let recipe = |recipe: Value| desk.put("bench.json", recipe.to_string());
    let (rig, examples) = (json!({"file": "train.npz"}), json!([{"file": "train.npz"}]));
    recipe(json!({"compare": {"rig": rig, "examples": examples, "folds": 1}}));
    desk.bad("run bench.json", &["--folds 1", "2 folds or more"]);
    recipe(json!({"compare": {"rig": rig, "examples": examples, "subsets": {"poses": [2], "draws": 1, "seed": 1}}}));
    desk.bad("run bench.json", &["--counts", "--hold-out"]);
    // What would do nothing is refused.
    for (further, word) in [("--counts 2", "--hold-out"), ("--hold-out test.npz --folds 3", "--folds")] {
        let run = desk.run(&format!("compare train.npz --examples train.npz {further}"));
        assert!(run.code == 2 && run.err.contains(word), "{}", run.err);
    }
}
