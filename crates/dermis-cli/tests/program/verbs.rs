//! The smaller verbs and the exit codes.

use crate::tube::{Flesh, Tube};
use crate::{Desk, keys, number};
use dermis_testkit::change_rig;
use dermis_workflow::rig::glam::DVec3;
use std::process::Stdio;

#[test]
fn inspect_says_what_a_file_holds() {
    let desk = Desk::new();
    let tube = Tube::new(9, 5, 0.0, Flesh::Bulge);
    desk.put("a.npz", tube.bundle());
    desk.put("a.glb", tube.glb());
    desk.put("s.glb", tube.sculpts(true));
    desk.put("a.pc2", tube.pc2());
    desk.put("a.mdd", tube.mdd());
    tube.objs(&desk, "objs");
    desk.good("fit a.npz --examples a.npz --folds 0 -o a.dermis");
    desk.good("fit a.npz --examples a.npz --method mwe --folds 0 -o mwe.dermis");
    let all = desk.json("inspect a.npz a.glb s.glb a.pc2 a.mdd objs a.dermis mwe.dermis --json");
    for (at, (vertices, bones, poses, skins, clips)) in [
        (74, 3, 5, 5, 0),
        (74, 3, 0, 0, 2),
        (74, 3, 0, 0, 1),
        (0, 0, 0, 5, 0),
        (0, 0, 0, 5, 0),
        (74, 0, 0, 5, 0),
        (74, 3, 0, 0, 0),
        (74, 3, 0, 0, 0),
    ]
    .into_iter()
    .enumerate()
    {
        let one = &all[at];
        let count = |value: &serde_json::Value| value.as_u64().unwrap_or(0);
        let context = one["file"].to_string();
        assert_eq!(count(&one["mesh"]["vertices"]), vertices, "{context}");
        assert_eq!(count(&one["skeleton"]["bones"]), bones, "{context}");
        assert_eq!((count(&one["poses"]), count(&one["skins"])), (poses, skins), "{context}");
        assert_eq!(one["clips"].as_array().unwrap().len(), clips, "{context}");
        assert_eq!(one["unit"], "m", "{context}");
    }
    assert_eq!(all[1]["clips"][0]["name"], "bends");
    assert_eq!(all[2]["morph_targets"].as_array().unwrap().len(), 4);
    assert_eq!(all[6]["model"]["method"], "joint");
    assert_eq!(all[7]["model"]["method"], "mwe");
    assert!((number(&all[0], "mesh.diagonal") - tube.diagonal()).abs() < 1e-12);
    let text = desk.good("inspect a.npz a.glb a.dermis mwe.dermis").out;
    for word in ["74 vertices", "3 bones", "\"bends\"", "5 poses", "joint", "mwe"] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    // Every file is looked at, also after one that cannot be read.
    desk.put("broken.npz", b"PK\x03\x04 and no more");
    let run = desk.run("inspect broken.npz a.npz");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("broken.npz") && run.out.contains("74 vertices"));
}

#[test]
fn fail_above_is_exit_code_one() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 8, 0.0, Flesh::Bulge).bundle());
    desk.good("fit a.npz --examples a.npz --folds 0 --fail-above 1 -o m.dermis");
    for line in [
        "fit a.npz --examples a.npz --fail-above 1e-9 --json",
        "eval m.dermis --examples a.npz --fail-above 1e-9 --json",
    ] {
        let run = desk.run(line);
        assert_eq!(run.code, 1, "{line}: {}", run.err);
        assert!(run.out.starts_with('{'), "the answer is printed all the same");
    }
    assert_eq!(desk.run("fit a.npz --examples a.npz --fail-above 1e-9 -o n.dermis").code, 1);
    assert!(!desk.bytes("n.dermis").is_empty(), "the model is written all the same");
    for limit in ["nan", "-1", "inf"] {
        desk.bad(&format!("eval m.dermis --examples a.npz --fail-above={limit}"), &["--fail-above"]);
        desk.bad(&format!("fit a.npz --examples a.npz --fail-above={limit}"), &["--fail-above"]);
    }
}

/// A unit and axes stand in a file, or are said to be taken for granted.
#[test]
fn inspect_says_whether_a_unit_is_stated() {
    let desk = Desk::new();
    let tube = Tube::new(9, 4, 0.0, Flesh::Bulge);
    desk.put("a.npz", tube.bundle());
    desk.put("a.pc2", tube.pc2());
    assert!(!desk.good("inspect a.npz").out.contains("not stated"));
    assert!(desk.good("inspect a.pc2").out.contains("not stated by the file"));
}

#[test]
fn help_says_what_exit_codes_mean() {
    let desk = Desk::new();
    for line in ["--help", "fit --help", "convert --help"] {
        assert!(desk.good(line).out.contains("130 stopped by Ctrl-C"), "{line}");
    }
}

#[test]
fn compare_knows_its_methods() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 20, 0.0, Flesh::Bulge).bundle());
    desk.put("b.npz", Tube::new(9, 5, 0.4, Flesh::Bulge).bundle());
    let usual = desk.good("compare a.npz --examples a.npz --hold-out b.npz").out;
    let listed: Vec<&str> = usual.lines().skip(1).take(6).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, ["joint", "own-weights", "lbs", "mwe", "psd", "pose-blendshapes"], "{usual}");
    let all = desk.json("compare a.npz --examples a.npz --hold-out b.npz --all --json");
    assert_eq!(all["rows"].as_array().unwrap().len(), 30);
    for row in all["rows"].as_array().unwrap() {
        assert!(number(row, "held_out.rms").is_finite() && number(row, "train.rms").is_finite(), "{row}");
    }
    let text = desk.good("compare a.npz --examples a.npz --hold-out b.npz --methods own-weights,lbs,dqs,mwe").out;
    assert!(text.contains("recommended: mwe"), "{text}");
    desk.bad("compare a.npz --examples a.npz --hold-out b.npz --methods lbs,magic", &["\"magic\"", "mwe-row"]);
}

/// Guarded, unguarded, without a correction: what is said, and the exit code.
#[test]
fn stress_checks_the_guard_in_random_poses() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 12, 0.0, Flesh::Bulge).bundle());
    desk.good("fit a.npz --examples a.npz --folds 0 -o m.dermis");
    desk.good("fit a.npz --examples a.npz --folds 0 --guard off -o open.dermis");
    desk.good("fit a.npz --examples a.npz --folds 0 --method own-weights -o lbs.dermis");
    let text = desk.good("eval m.dermis --stress 20").out;
    assert!(text.contains("bounded: in all 60 poses") && text.contains("turns to 180°"), "{text}");
    assert!(desk.good("eval open.dermis --stress 5").out.contains("the guard is off"));
    assert!(desk.good("eval lbs.dermis --stress 5").out.contains("nothing to bound"));

    let alone = desk.json("eval m.dermis --stress 20 --json");
    assert_eq!(keys(&alone), ["method", "vertices", "bones", "unit", "diagonal", "stress"]);
    let stress = &alone["stress"];
    assert_eq!((&stress["passed"], &stress["bound"], &stress["seed"]), (&true.into(), &"ball".into(), &1.into()));
    assert!(number(stress, "largest_excess") < 1e-6 * number(&alone, "diagonal"));
    for (level, degrees) in stress["levels"].as_array().unwrap().iter().zip([60.0, 120.0, 180.0]) {
        assert_eq!((number(level, "degrees"), number(level, "poses")), (degrees, 20.0));
        assert!(number(level, "largest") <= 1.000_01 * number(stress, "largest_radius"));
        assert_eq!((number(level, "beyond_bound"), number(level, "not_finite")), (0.0, 0.0));
    }
    // Beside examples, whose scores stay as they are; one thread; another seed.
    let both = desk.json("eval m.dermis --examples a.npz --stress 20 --json --threads 1");
    assert_eq!(both["stress"], *stress);
    assert_eq!(both["error"], desk.json("eval m.dermis --examples a.npz --json")["error"]);
    assert_ne!(desk.json("eval m.dermis --stress 20 --seed 2 --json")["stress"]["levels"], stress["levels"]);

    // A rest mesh so large that turning it overflows: the check fails, and so does the program.
    let mut model = dermis_workflow::load::load_model(&desk.path("open.dermis")).unwrap().0;
    let mut rig = model.rig().clone();
    change_rig(&mut rig, |mesh, _, _| mesh.positions.fill(DVec3::splat(3.4e38)));
    model.model = model.model.with_rig(rig).unwrap();
    desk.put(
        "broken.dermis",
        dermis_workflow::io::to_bytes(|out| dermis_workflow::io::model_file::write(&model, out)).unwrap(),
    );
    let broken = desk.run("eval broken.dermis --stress 5");
    assert_eq!(broken.code, 1, "{}{}", broken.out, broken.err);
    assert!(broken.out.contains("NOT FINITE"), "{}", broken.out);

    desk.bad("eval m.dermis", &["--examples"]);
    desk.bad("eval m.dermis --stress 0", &["--stress"]);
    desk.bad("eval m.dermis --examples a.npz --seed 2", &["--stress"]);
    for option in ["--report r.html", "--vertex-errors v.csv", "--fail-above 1", "--base-cache b.pc2"] {
        desk.bad(&format!("eval m.dermis --stress 1 {option}"), &["--examples"]);
    }
}

/// The curve's ends are known: the rig's own weights are level, and all poses are the bench itself.
#[test]
fn the_learning_curve_ends_in_the_bench() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 20, 0.0, Flesh::Bulge).bundle());
    desk.put("b.npz", Tube::new(9, 5, 0.4, Flesh::Bulge).bundle());
    let line = "compare a.npz --examples a.npz --hold-out b.npz --methods own-weights,mwe";
    let curve = desk.json(&format!("{line} --counts 20,4,8 --draws 2 --json"));
    assert_eq!(
        keys(&curve),
        ["points", "baseline_rms", "examples", "held_out_poses", "draws", "seed", "unit", "warnings"]
    );
    assert_eq!(["examples", "held_out_poses", "draws", "seed"].map(|key| number(&curve, key)), [20.0, 5.0, 2.0, 1.0]);
    let points = curve["points"].as_array().unwrap();
    let order: Vec<_> = points.iter().map(|p| (number(p, "poses") as usize, p["method"].as_str().unwrap())).collect();
    assert_eq!(
        order,
        [(4, "own-weights"), (4, "mwe"), (8, "own-weights"), (8, "mwe"), (20, "own-weights"), (20, "mwe")]
    );
    for (point, draws) in points.iter().zip([2, 2, 2, 2, 1, 1]) {
        let all = point["rms_of_draws"].as_array().unwrap();
        let mean = all.iter().map(|rms| rms.as_f64().unwrap()).sum::<f64>() / all.len() as f64;
        assert!(all.len() == draws && (number(point, "rms") - mean).abs() < 1e-12);
        assert!((number(point, "ratio") - number(point, "rms") / number(&curve, "baseline_rms")).abs() < 1e-12);
        assert!(point["method"] != "own-weights" || number(point, "ratio") == 1.0);
    }
    let bench = desk.json(&format!("{line} --json"));
    for (point, row) in points[4..].iter().zip(bench["rows"].as_array().unwrap()) {
        assert_eq!((number(point, "rms"), number(point, "ratio")), (number(row, "held_out.rms"), number(row, "ratio")));
    }
    assert_eq!(desk.json(&format!("{line} --counts 20,4,8 --draws 2 --json --threads 1")), curve);
    assert_ne!(desk.json(&format!("{line} --counts 4 --draws 2 --seed 9 --json"))["points"][1], points[1]);

    let text = desk.good(&format!("{line} --counts 4,20")).out;
    assert!(text.contains("means of 3 random draws from 20 poses") && text.contains("(1.00)"), "{text}");
    desk.bad(&format!("{line} --counts 4,21"), &["--counts 21", "20 examples"]);
    desk.bad(&format!("{line} --counts 0"), &["--counts 0"]);
    desk.bad(&format!("{line} --draws 2"), &["--counts"]);
    desk.bad(&format!("{line} --counts 4 --draws 0"), &["--draws"]);
}

#[test]
fn completions_and_help_are_there() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(desk.good(&format!("completions {shell}")).out.contains("hold-out"), "{shell}");
    }
    for verb in ["demo", "inspect", "fit", "eval", "compare", "pose", "suggest", "export", "figures"] {
        assert!(desk.good(&format!("{verb} --help")).out.contains("Usage: dermis"), "{verb}");
    }
    assert!(desk.good("--version").out.starts_with("dermis "));
    assert_eq!(desk.run("").code, 2);
    assert_eq!(desk.run("learn").code, 2);
}

#[test]
fn every_verb_has_a_manual_page() {
    let desk = Desk::new();
    assert!(desk.good("man -o man1").out.contains("pages"));
    let page = |name: &str| std::fs::read_to_string(desk.path("man1").join(name)).unwrap();
    for verb in ["fit", "completions", "export-drivers", "session-add"] {
        assert!(page("dermis.1").contains("dermis\\-fit(1)"));
        assert!(page(&format!("dermis-{verb}.1")).contains(".SH SYNOPSIS"), "{verb}");
    }
    assert!(page("dermis-fit.1").contains("hold\\-out"));
    assert!(!desk.path("man1/dermis-help.1").exists());
    desk.bad("man -o man1", &["man1", "--force"]);
    desk.good("man -o man1 --force");
}

/// A reader that went away ends the program quietly.
#[test]
fn a_closed_pipe_is_no_panic() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 5, 0.0, Flesh::Bulge).bundle());
    for line in ["inspect a.npz --json", "completions bash", "fit a.npz --examples a.npz --folds 0"] {
        let mut child = desk.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!err.contains("panicked"), "{line}: {err}");
    }
}

/// Names come from files; nothing in them reaches the terminal as a command.
#[test]
fn labels_do_not_steer_the_terminal() {
    use dermis_workflow::io::npz::{StoredFloat, write};
    let desk = Desk::new();
    let mut contents = Tube::new(9, 6, 0.0, Flesh::Bulge).contents();
    contents.records.iter_mut().for_each(|r| r.label = format!("\u{1b}[2J<script>{}", r.label.repeat(1000)));
    desk.put("a.npz", dermis_workflow::io::to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap());
    let run = desk.good("fit a.npz --examples a.npz --report rep.html");
    assert!(!run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'), "{}", run.out);
    assert!(run.out.contains("[2J<script>") && run.out.lines().all(|l| l.chars().count() < 300), "{}", run.out);
    assert!(!desk.good("inspect a.npz").out.contains('\u{1b}'));
    let page = String::from_utf8(desk.bytes("rep.html")).unwrap();
    assert!(page.contains("[2J") && !page.contains("[2J<script>"));
}
