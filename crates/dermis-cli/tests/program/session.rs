//! `dermis session`: eight sculpts of a tube, and a program that is killed at any moment.

use crate::tube::{Flesh, Tube};
use crate::{Desk, keys};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A desk with a tube, its bends as a motion, the truth about them, and a session of these.
fn desk(rings: usize, truth: bool) -> (Desk, Tube) {
    let (desk, tube) = (Desk::new(), Tube::new(rings, 12, 0.0, Flesh::Bulge));
    desk.put("tube.npz", tube.bundle());
    desk.put("bends.npz", tube.motion());
    let told = if truth { "--truth tube.npz" } else { "" };
    desk.good(&format!("session new tube.npz -o hero.session --motion bends.npz {told}"));
    (desk, tube)
}

/// The true skin as a sculpt of a frame.
fn sculpt(desk: &Desk, tube: &Tube, name: &str, frame: usize) {
    let text: String = tube.skins[frame].iter().map(|p| format!("v {} {} {}\n", p.x, p.y, p.z)).collect();
    let faces: String =
        tube.mesh.triangles.iter().map(|[a, b, c]| format!("f {} {} {}\n", a + 1, b + 1, c + 1)).collect();
    desk.put(name, text + &faces);
}

/// A session as an artist goes through it: poses are handed out, come back sculpted, are judged, taken back, and leave as a model.
#[test]
fn a_session_from_its_beginning_to_its_model() {
    let (desk, tube) = desk(15, true);
    let offered = desk.json("session next hero.session -n 2 -o todo --json");
    let offers = offered["offered"].as_array().unwrap();
    assert_eq!(offers.len(), 2, "{offered}");
    for (at, offer) in offers.iter().enumerate() {
        let (name, pose) = (offer["name"].as_str().unwrap(), offer["pose"].as_str().unwrap());
        let frame: usize = pose.strip_prefix("bends:").unwrap().parse().unwrap();
        sculpt(&desk, &tube, &format!("todo/{name}.obj"), frame);
        let run = desk.good(&format!("session add hero.session todo/{name}.obj"));
        for says in ["met: within ", "the model had ", "checks: ", "side effects: ", "of 12 poses"] {
            assert!(run.out.contains(says), "\"{says}\" is not in\n{}", run.out);
        }
        assert!(!run.out.contains("no verdict"), "{}", run.out);
        let status = desk.json("session status hero.session --json");
        assert_eq!(status["steps"].as_array().unwrap().len(), at + 1);
        assert_eq!((&status["model"], &status["undo"]), (&Value::from(at + 1), &Value::from(at + 1)));
        let error = &status["scores"]["checks"]["error"];
        assert!(error["after"].as_f64().unwrap() < error["rig"].as_f64().unwrap(), "{status}");
    }
    desk.good("session export hero.session two.dermis");
    let told = desk.good("session undo hero.session").out;
    assert!(told.contains("model 1 is the present one"), "{told}");
    desk.good("session export hero.session one.dermis");
    desk.good("session redo hero.session");
    desk.good("session undo hero.session 1");
    let off = desk.good("session status hero.session").out;
    assert!(off.lines().any(|line| line.contains("  1 sculpt") && line.ends_with(", off")), "{off}");
    desk.good("session redo hero.session 1");
    desk.good("session export hero.session again.dermis");
    assert!(
        desk.bytes("again.dermis") == desk.bytes("two.dermis") && desk.bytes("one.dermis") != desk.bytes("two.dermis")
    );
    let recipe = desk.json("recipe again.dermis");
    assert_eq!(recipe["fit"]["examples"]["held"].as_array().unwrap().len(), 2, "{recipe}");
    desk.good("session fit hero.session --set lambda=0.01");
    assert_eq!(desk.json("session status hero.session --json")["did"], "fit");
    let status = desk.json("session status hero.session --json");
    assert!(
        keys(&status).starts_with(&["folder", "rig", "method", "motions", "truths", "steps", "offers", "model"]),
        "{status}"
    );
    desk.bad("session export hero.session two.dermis", &["exists already", "--force"]);
}

#[test]
fn what_a_session_cannot_do_is_said_in_the_program_s_words() {
    let (desk, tube) = desk(9, false);
    sculpt(&desk, &tube, "elbow.obj", 5);
    for (line, says) in [
        ("session status nowhere", &["there is no session in this folder", "dermis session new"][..]),
        ("session new tube.npz -o hero.session", &["there is a session in this folder already"]),
        ("session new tube.npz -o other --base given", &["over the base given", "--base lbs"]),
        ("session new tube.npz -o other --set sgima=1", &["sgima"]),
        ("session add hero.session elbow.obj", &["elbow.obj", "names no pose", "FILE@walk:12"]),
        ("session add hero.session elbow.obj@bends:99", &["\"bends:99\"", "0 to 11"]),
        ("session add hero.session elbow.obj@5 --strength -1", &["--strength -1"]),
        ("session add hero.session elbow.obj@0", &["rest pose"]),
        ("session next hero.session --check", &["nothing to check yet"]),
        ("session next hero.session -o todo.pc2", &["todo.pc2", ".npz"]),
        ("session undo hero.session", &["there is nothing to undo"]),
        ("session undo hero.session 1", &["there is no step 1: nothing was added yet"]),
        ("session export hero.session m.dermis", &["there is no model yet", "dermis session add"]),
        ("session fit hero.session", &["there is no model yet"]),
    ] {
        desk.bad(line, says);
    }
    let anchored = desk.good("session add hero.session @bends:5 --anchor").out;
    assert!(anchored.contains("1 anchor") && anchored.contains("no verdict"), "{anchored}");
}

/// The files of a session that its file names, with their bytes.
fn whole(folder: &Path) -> (Vec<u8>, BTreeMap<String, Vec<u8>>) {
    let file = std::fs::read(folder.join("session.json")).unwrap();
    let value: Value = serde_json::from_slice(&file).unwrap();
    let mut named = BTreeMap::new();
    let mut read = |name: String| {
        let bytes = std::fs::read(folder.join(&name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        named.insert(name, bytes);
    };
    for step in value["steps"].as_array().unwrap() {
        read(format!("sculpts/{}.npz", step["sha256"].as_str().unwrap()));
    }
    for state in value["states"].as_array().unwrap() {
        if let Some(number) = state["model"]["number"].as_u64() {
            read(format!("models/{number:04}.dermis"));
        }
    }
    (file, named)
}

/// Killed at any moment, `add` leaves the session as it was or as it is after the step, with the bytes of one of the two; and the next
/// `add` makes of either what it makes of an untouched one.
#[test]
fn a_killed_program_leaves_the_old_session_or_the_new_one() {
    let (desk, tube) = desk(60, false);
    sculpt(&desk, &tube, "first.obj", 9);
    sculpt(&desk, &tube, "second.obj", 5);
    desk.good("session add hero.session first.obj@bends:9");
    let folder = desk.path("hero.session");
    let kept = desk.path("kept");
    copy(&folder, &kept);
    let old = whole(&folder);
    let line = "session add hero.session second.obj@bends:5";
    let start = Instant::now();
    desk.good(line);
    let usual = start.elapsed();
    let new = whole(&folder);
    assert!(new.1.len() == old.1.len() + 2);
    let mut seen = [0usize; 2];
    for kill in 0..50u32 {
        std::fs::remove_dir_all(&folder).unwrap();
        copy(&kept, &folder);
        let mut child = desk.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The fractional parts of multiples of the golden ratio lie evenly.
        let moment = (f64::from(kill) * 0.618_033_988_749_895).fract() * 1.05;
        std::thread::sleep(Duration::from_secs_f64(usual.as_secs_f64() * moment));
        child.kill().unwrap();
        child.wait().unwrap();
        desk.good("session status hero.session");
        let now = whole(&folder);
        assert!(now == old || now == new, "killed after {moment:.3} of {usual:?}");
        seen[usize::from(now == new)] += 1;
        // Nothing holds the lock, and what was left over is written over.
        if kill % 10 == 0 && now == old {
            desk.good(line);
            assert!(whole(&folder) == new, "killed after {moment:.3} of {usual:?}");
        }
    }
    assert!(seen[0] > 0, "every kill came too late: {seen:?}");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}
