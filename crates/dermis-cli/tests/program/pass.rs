//! `--pass`: a demand on a model, in terminal, JSON, page and exit code.

use crate::tube::{Flesh, Tube};
use crate::{Desk, number};
use serde_json::{Value, json};

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A desk with a model, its training poses `a.npz` and others, `b.npz`.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 8, 0.0, Flesh::Bulge).bundle());
    desk.put("b.npz", Tube::new(9, 5, 0.5, Flesh::Bulge).bundle());
    let mut one = Tube::new(9, 2, 0.5, Flesh::Bulge);
    one.poses.remove(0);
    one.skins.remove(0);
    desk.put("one.npz", one.bundle());
    desk.good("fit a.npz --examples a.npz --folds 0 -o m.dermis");
    desk
}

/// Oracle: the distances themselves, which are the errors per vertex of a single pose.
#[test]
fn the_share_is_counted_over_all_distances() {
    let desk = desk();
    desk.good("eval m.dermis --examples one.npz --vertex-errors v.csv");
    let csv = String::from_utf8(desk.bytes("v.csv")).unwrap();
    let distances: Vec<f64> = csv.lines().skip(1).map(|l| l.split(',').nth(3).unwrap().parse().unwrap()).collect();
    let mut sorted = distances.clone();
    sorted.sort_by(f64::total_cmp);
    for at in [sorted.len() / 3, sorted.len() / 2, sorted.len() - 1] {
        // The bound is a distance itself, which counts as within.
        let bound = sorted[at];
        let expected = distances.iter().filter(|d| **d <= bound).count();
        let run = desk.run_with("eval m.dermis --examples one.npz --json", &["--pass", &format!("{bound} m in 50 %")]);
        let value = parsed(&run.out);
        let reached = number(&value, "pass.reached_percent");
        assert!((reached - 100.0 * expected as f64 / distances.len() as f64).abs() < 1e-9, "{value}");
        let passed = 2 * expected >= distances.len();
        assert_eq!((&value["pass"]["passed"], run.code), (&json!(passed), i32::from(!passed)));
    }
}

#[test]
fn a_demand_is_judged_on_the_set_that_counts() {
    let desk = desk();
    for (line, of) in [
        ("fit a.npz --examples a.npz --hold-out b.npz", "of the held-out distances"),
        ("fit a.npz --examples a.npz --folds 4", "of the cross-validated distances"),
        ("fit a.npz --examples a.npz --method mwe --stream --hold-out b.npz", "of the held-out distances"),
        ("eval m.dermis --examples b.npz", "of the distances"),
        ("eval m.dermis --examples b.npz --stream", "of the distances"),
    ] {
        let met = desk.run_with(line, &["--pass", "1 m in 100 %"]);
        assert_eq!(met.code, 0, "{line}\n{}{}", met.out, met.err);
        assert!(met.out.contains(&format!("Passed: 100.00 % {of} are at most 1 m; 100 % were asked.")), "{}", met.out);
        let missed = desk.run_with(
            &format!("{line} --json"),
            &["--pass", "1e-9 % in 99.5 %".replace("1e-9", "0.000000001").as_str()],
        );
        let value = parsed(&missed.out);
        assert_eq!((missed.code, &value["pass"]["passed"]), (1, &json!(false)), "{line}");
        assert_eq!(value["pass"]["asked"], "0.000000001 % in 99.5 %");
        assert!(number(&value, "pass.reached_percent") < 99.5);
    }
}

/// Three frames of a motion are learnt and the model is scored on the whole motion. Oracle: the rms of the other frames.
#[test]
fn frames_that_were_learnt_are_no_evidence() {
    let desk = desk();
    let motion = Tube::new(9, 12, 0.5, Flesh::Bulge);
    let mut learnt = Tube::new(9, 12, 0.5, Flesh::Bulge);
    let keep = [0, 4, 8];
    learnt.poses = keep.map(|at| motion.poses[at].clone()).to_vec();
    learnt.skins = keep.map(|at| motion.skins[at].clone()).to_vec();
    desk.put("motion.npz", motion.bundle());
    desk.put("learnt.npz", learnt.bundle());
    let fit = "fit learnt.npz --examples learnt.npz --hold-out motion.npz -o n.dermis --force";
    let run = desk.run_with(fit, &["--pass", "1 m in 100 %"]);
    assert!(run.out.contains("9 of 12 poses count: 3 are within 0.5 degrees"), "{}", run.out);
    for line in [&format!("{fit} --json"), "eval n.dermis --examples motion.npz --json"] {
        let value = desk.json(line);
        let poses = value["per_pose"].as_array().unwrap();
        let unseen = poses.iter().enumerate().filter(|(at, _)| !keep.contains(at));
        let rms = (unseen.map(|(_, pose)| pose["rms"].as_f64().unwrap().powi(2)).sum::<f64>() / 9.0).sqrt();
        assert!((number(&value, "counted.error.rms") / rms - 1.0).abs() < 1e-9, "{value}");
        assert!(number(&value, "counted.error.rms") > number(&value, "error.rms") && value["validation"] == "held out");
        assert_eq!(value["counted"]["poses"], 9);
    }
    // Without an unseen frame nothing is validated, and no demand is met; a copy of the file changes nothing.
    desk.put("copy.npz", learnt.bundle());
    for line in [
        "eval n.dermis --examples learnt.npz",
        "eval n.dermis --examples copy.npz",
        "eval n.dermis --examples copy.npz --stream",
    ] {
        let run = desk.run_with(line, &["--pass", "1 m in 1 %"]);
        assert!(run.code == 1 && run.out.contains("Not validated; "), "{line}: {}", run.out);
        assert!(run.out.contains("Failed: not validated"), "{}", run.out);
    }
}

#[test]
fn what_is_not_validated_cannot_pass() {
    let desk = desk();
    let line = "fit a.npz --examples a.npz --folds 0 --report r.html";
    let run = desk.run_with(&format!("{line} --json"), &["--pass", "1 m in 1 %"]);
    let expected = json!({"asked": "1 m in 1 %", "reached_percent": null, "passed": false, "reason": "not validated"});
    assert_eq!((run.code, &parsed(&run.out)["pass"]), (1, &expected));
    let page = String::from_utf8(desk.bytes("r.html")).unwrap();
    assert!(page.contains("Failed: not validated"));
    // Without a demand none is spoken of.
    assert!(desk.json("fit a.npz --examples a.npz --folds 0 --json").get("pass").is_none());
}

#[test]
fn a_recipe_carries_the_demand() {
    let desk = desk();
    let recipe = json!({ "eval": { "model": { "file": "m.dermis" }, "score": {
        "examples": [{ "file": "b.npz" }], "pass": "0.000001 mm in 99 %", "report": "r.html" } } });
    desk.put("check.json", recipe.to_string());
    let run = desk.run("run check.json");
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.out.contains("Failed: ") && run.out.contains("at most 0.000001 mm; 99 % were asked."), "{}", run.out);
    assert!(String::from_utf8(desk.bytes("r.html")).unwrap().contains("99 % were asked."));
    desk.put("check.json", recipe.to_string().replace("0.000001 mm", "a hair"));
    desk.bad("run check.json", &["no demand such as"]);
}

#[test]
fn what_is_no_demand_is_refused() {
    let desk = desk();
    for (text, reason) in [
        ("1 mm", "\" in \" stands between"),
        ("1 in 98 %", "mm, cm, m, or %"),
        ("-1 mm in 98 %", "a number above 0"),
        ("1 mm in 120 %", "100 at most"),
        ("1 mm in 98", "ends in %"),
    ] {
        for line in ["eval m.dermis --examples b.npz", "fit a.npz --examples a.npz"] {
            let run = desk.run_with(line, &["--pass", text]);
            assert_eq!(run.code, 2, "{line} --pass {text}: {}", run.err);
            assert!(run.err.contains("--pass") && run.err.contains(reason), "{text}: {}", run.err);
        }
    }
}
