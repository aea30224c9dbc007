//! Names from files in the terminal: they end no line, steer nothing and reorder nothing, and JSON keeps them.

use crate::tube::{BONES, Flesh, Tube};
use crate::{Desk, Run};
use dermis_workflow::io::npz::{StoredFloat, read, write};
use dermis_workflow::io::to_bytes;
use dermis_workflow::rig::Skeleton;

/// What a name must not bring to a terminal.
const NASTY: &str =
    "\nwritten: forged.dermis\r\u{1b}[2K\u{1b}]0;title\u{7}\u{9b}31m\u{202e}lortnoc\u{2066}\u{2028}\t\u{7f}";
/// What stands there instead.
const SEEN: &str =
    "\\nwritten: forged.dermis\\r\\u{1b}[2K\\u{1b}]0;title\\u{7}\\u{9b}31m\\u{202e}lortnoc\\u{2066}\\u{2028}\\t\\u{7f}";

/// A character whose bones and poses are called so.
fn bundle(tube: &Tube) -> Vec<u8> {
    let mut contents = read(&tube.bundle(), "a.npz").unwrap();
    let skeleton = contents.skeleton.as_ref().unwrap();
    let names = BONES.map(|name| format!("{name}{NASTY}")).to_vec();
    contents.skeleton =
        Some(Skeleton::new(names, skeleton.parents().to_vec(), skeleton.bind().iter().copied().collect()).unwrap());
    contents.records.iter_mut().for_each(|record| record.label += NASTY);
    to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap()
}

/// Refuses everything of a run's output that is no letter, but its line ends.
fn check(run: &Run, line: &str) {
    for text in [&run.out, &run.err] {
        let odd = text.chars().find(|c| {
            let direction =
                matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            (c.is_control() && *c != '\n') || direction
        });
        assert_eq!(odd, None, "{line}\n{text}");
        assert!(!text.lines().any(|l| l.starts_with("written: forged")), "{line}\n{text}");
    }
}

#[test]
fn names_of_bones_and_poses_forge_no_line() {
    let desk = Desk::new();
    desk.put("a.npz", bundle(&Tube::new(9, 10, 0.0, Flesh::Bulge)));
    desk.put("b.npz", bundle(&Tube::new(9, 5, 0.5, Flesh::Bulge)));
    desk.put("plain.npz", Tube::new(9, 5, 0.5, Flesh::Bulge).bundle());
    let mut seen = 0;
    for line in [
        "fit a.npz --examples a.npz --hold-out b.npz -o m.dermis --report m.html -v",
        "fit a.npz --sculpts b.npz --method correctives --folds 0 -o c.dermis",
        "inspect a.npz m.dermis",
        "eval m.dermis --examples b.npz --stress 2 -v",
        "compare a.npz --examples a.npz --hold-out b.npz --methods lbs",
        "suggest m.dermis --motion b.npz",
        "export drivers m.dermis --motion b.npz --table t.json -o d.glb",
        "export bones m.dermis --motion b.npz --helpers 2 -o l.glb",
        "pose m.dermis --motion b.npz -o p.pc2",
        "exercise a.npz --count 6 -o e.npz",
        "retarget b.npz a.npz -o r.npz",
        "session new a.npz -o s --motion b.npz --truth b.npz",
        "session next s -n 1 -o n.npz",
        "session status s",
        "view b.npz -o v.html",
        "recipe m.dermis",
        "fit a.npz --examples plain.npz -o x.dermis",
        "pose m.dermis --motion plain.npz -o y.pc2",
    ] {
        let run = desk.run(line);
        check(&run, line);
        seen += usize::from(run.out.contains(SEEN) || run.err.contains(SEEN));
    }
    assert!(seen >= 10, "names are in {seen} outputs: the test says something");
    // JSON holds the names as they are, in a form that steers nothing either.
    for line in
        ["inspect a.npz --json", "eval m.dermis --examples b.npz --json", "fit a.npz --examples a.npz --folds 0 --json"]
    {
        let run = desk.good(line);
        check(&run, line);
        let text = serde_json::from_str::<serde_json::Value>(&run.out).unwrap().to_string();
        assert!(text.contains(&serde_json::to_string(NASTY).unwrap()[1..10]) && text.contains('\u{202e}'), "{line}");
    }
    // Pages show marks instead, in their text and in what scripts read.
    for page in ["m.html", "v.html"] {
        let html = String::from_utf8(desk.bytes(page)).unwrap();
        let text = html.split("<script").next().unwrap();
        assert!(!text.contains(['\u{202e}', '\u{2066}', '\u{1b}', '\u{9b}']), "{page}");
    }
}

/// Names of files, in messages of the program and of its command line, and of clips.
#[cfg(unix)]
#[test]
fn names_of_files_forge_no_line() {
    let desk = Desk::new();
    let name = format!("a{NASTY}.npz");
    desk.put("a.npz", Tube::new(9, 6, 0.0, Flesh::Bulge).bundle());
    desk.put(&name, Tube::new(9, 6, 0.0, Flesh::Bulge).bundle());
    let nowhere = format!("no{NASTY}.npz");
    for words in [
        &["inspect", &name][..],
        &["-v", "fit", &name, "--examples", &name, "--folds", "0", "-o", "m.dermis", "--report", "m.html"],
        &["inspect", &nowhere],
        &["fit", &nowhere, "--examples", "a.npz", "-o", "x.dermis"],
        &["convert", "a.npz", "-o", &format!("out{NASTY}.glb")],
        &["convert", &format!("a.npz#{NASTY}"), "-o", "x.glb"],
        &["view", &nowhere, "-o", "v.html"],
        // What the command line itself refuses, which quotes its words.
        &["inspect", &format!("--{NASTY}")],
        &[NASTY],
        &["fit", "a.npz", "--examples", "a.npz", "--method", NASTY],
        &["fit", "a.npz", "--examples", "a.npz", "--set", &format!("a{NASTY}=1")],
        &["eval", "m.dermis", "--examples", "a.npz", "--pass", NASTY],
    ] {
        let run = desk.run_with("", words);
        check(&run, &format!("{words:?}"));
        assert!(run.out.contains("forged") || run.err.contains("forged"), "{words:?}\n{}{}", run.out, run.err);
    }
    let html = String::from_utf8(desk.bytes("m.html")).unwrap();
    assert!(!html.contains(['\u{202e}', '\u{1b}', '\u{9b}']), "the page states its command safely");
}
