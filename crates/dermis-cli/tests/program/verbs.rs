//! The smaller verbs and the exit codes.

use crate::tube::{Flesh, Tube};
use crate::{Desk, number};
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
    let all = desk.json("inspect a.npz a.glb s.glb a.pc2 a.mdd objs a.dermis --json");
    for (at, (vertices, bones, poses, skins, clips)) in [
        (74, 3, 5, 5, 0),
        (74, 3, 0, 0, 2),
        (74, 3, 0, 0, 1),
        (0, 0, 0, 5, 0),
        (0, 0, 0, 5, 0),
        (74, 0, 0, 5, 0),
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
    assert_eq!(all[6]["model"]["method"], "mwe");
    assert!((number(&all[0], "mesh.diagonal") - tube.diagonal()).abs() < 1e-12);
    let text = desk.good("inspect a.npz a.glb a.dermis").out;
    for word in ["74 vertices", "3 bones", "\"bends\"", "5 poses", "mwe"] {
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

#[test]
fn compare_knows_its_methods() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 20, 0.0, Flesh::Bulge).bundle());
    desk.put("b.npz", Tube::new(9, 5, 0.4, Flesh::Bulge).bundle());
    let all = desk.json("compare a.npz --examples a.npz --hold-out b.npz --json");
    assert!(all["rows"].as_array().unwrap().len() >= 11);
    for row in all["rows"].as_array().unwrap() {
        assert!(number(row, "held_out.rms").is_finite() && number(row, "train.rms").is_finite(), "{row}");
    }
    let text = desk.good("compare a.npz --examples a.npz --hold-out b.npz --methods lbs,dqs,mwe").out;
    assert!(text.contains("recommended: mwe"), "{text}");
    desk.bad("compare a.npz --examples a.npz --hold-out b.npz --methods lbs,magic", &["\"magic\"", "mwe-row"]);
}

#[test]
fn completions_and_help_are_there() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(desk.good(&format!("completions {shell}")).out.contains("hold-out"), "{shell}");
    }
    for verb in ["demo", "inspect", "fit", "eval", "compare", "pose", "export"] {
        assert!(desk.good(&format!("{verb} --help")).out.contains("Usage: dermis"), "{verb}");
    }
    assert!(desk.good("--version").out.starts_with("dermis "));
    assert_eq!(desk.run("").code, 2);
    assert_eq!(desk.run("learn").code, 2);
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
    use dermis_workflow::io::npz::{Precision, write};
    let desk = Desk::new();
    let mut contents = Tube::new(9, 6, 0.0, Flesh::Bulge).contents();
    contents.records.iter_mut().for_each(|r| r.label = format!("\u{1b}[2J<script>{}", r.label.repeat(1000)));
    desk.put("a.npz", write(&contents, Precision::Double).unwrap());
    let run = desk.good("fit a.npz --examples a.npz --report rep");
    assert!(!run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'), "{}", run.out);
    assert!(run.out.contains("[2J<script>") && run.out.lines().all(|l| l.chars().count() < 300), "{}", run.out);
    assert!(!desk.good("inspect a.npz").out.contains('\u{1b}'));
    let page = String::from_utf8(desk.bytes("rep/report.html")).unwrap();
    assert!(page.contains("[2J") && !page.contains("[2J<script>"));
}
