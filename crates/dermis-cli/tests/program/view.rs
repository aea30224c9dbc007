//! `dermis view`: a page of whatever a file shows.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, keys, number};
use dermis_workflow::io::npz::{StoredFloat, write};
use dermis_workflow::io::{Contents, to_bytes};
use serde_json::{Value, json};

const BVH: &str = "HIERARCHY\nROOT hip\n{\n OFFSET 0 0 0\n CHANNELS 3 Zrotation Xrotation Yrotation\n JOINT knee\n {\n  OFFSET 0 1 0\n  CHANNELS 3 Zrotation Xrotation Yrotation\n  End Site\n  {\n   OFFSET 0 1 0\n  }\n }\n}\nMOTION\nFrames: 3\nFrame Time: 0.04\n0 0 0 0 0 0\n0 0 0 30 0 0\n0 0 0 60 0 0\n";

/// One of everything that `inspect` reads.
fn desk() -> Desk {
    let desk = Desk::new();
    let tube = Tube::new(9, 5, 0.3, Flesh::Bulge);
    desk.put("train.npz", Tube::new(9, 12, 0.0, Flesh::Bulge).bundle());
    desk.put("test.npz", tube.bundle());
    desk.put("poses.npz", tube.motion());
    desk.put("bare.npz", tube.bundle_without_weights());
    desk.put("shapes.npz", tube.sequence());
    desk.put("clips.glb", tube.glb());
    desk.put("sculpts.glb", tube.sculpts(true));
    desk.put("skins.pc2", tube.pc2());
    desk.put("skins.mdd", tube.mdd());
    desk.put("walk.bvh", BVH);
    tube.objs(&desk, "objs");
    let bone_names = crate::tube::BONES.map(String::from).into();
    let mut names = Contents { mesh: None, skeleton: None, bone_names, weights: None, ..tube.contents() };
    names.records.iter_mut().for_each(|record| record.positions = None);
    desk.put("names.npz", to_bytes(|out| write(&names, StoredFloat::Double, out)).unwrap());
    desk
}

/// What the scripts of a page read.
fn data(page: &str) -> Value {
    let text = page.split("id=\"page-data\">").nth(1).unwrap().split("</script>").next().unwrap();
    serde_json::from_str(text).unwrap()
}

#[test]
fn every_kind_of_file_has_a_page() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --hold-out test.npz -o joint.dermis");
    desk.good("fit train.npz --examples train.npz --hold-out test.npz --method mwe -o mwe.dermis");
    desk.good("fit train.npz --examples train.npz --method lbs --folds 0 -o lbs.dermis");
    for (line, shows, counts, says) in [
        ("clips.glb", "rig", [74, 3, 5], &["The clip &quot;bends&quot; is shown", "&quot;rest&quot;"][..]),
        ("clips.glb#rest", "rig", [74, 3, 2], &["rest over 2 frames"]),
        ("sculpts.glb", "rig", [74, 3, 5], &[]),
        ("train.npz", "rig", [74, 3, 12], &[]),
        ("poses.npz", "rig", [74, 3, 5], &[]),
        ("clips.glb --motion test.npz", "rig", [74, 3, 5], &[]),
        ("bare.npz", "shapes of a mesh", [74, 0, 5], &[]),
        ("shapes.npz", "shapes of a mesh", [74, 0, 5], &[]),
        ("objs", "shapes of a mesh", [74, 0, 5], &["bend4"]),
        ("objs/bend1.obj", "mesh", [74, 0, 0], &["The file has a mesh and no bones"]),
        ("objs/bend0.obj --motion skins.pc2", "shapes of a mesh", [74, 0, 5], &[]),
        ("objs/bend0.obj --motion skins.mdd", "shapes of a mesh", [74, 0, 5], &[]),
        ("walk.bvh", "skeleton", [0, 0, 3], &["bones without a skin"]),
        ("joint.dermis", "model", [74, 3, 0], &["Held out: "]),
        ("joint.dermis --motion test.npz", "model", [74, 3, 5], &["Held out: "]),
        ("joint.dermis --motion poses.npz", "model", [74, 3, 5], &["the true skin of this motion is not known"]),
        ("mwe.dermis --motion test.npz", "model", [74, 3, 5], &["Held out: "]),
        ("lbs.dermis", "skins of a model", [74, 3, 0], &["computed beforehand", "Not validated"]),
        ("lbs.dermis --motion test.npz", "skins of a model", [74, 3, 5], &["computed beforehand"]),
    ] {
        let told = desk.json(&format!("view {line} -o page.html --force --json"));
        assert_eq!(told["shows"], shows, "{line}: {told}");
        assert_eq!(keys(&told), ["shows", "vertices", "bones", "frames", "notes", "page", "bytes", "opened"]);
        assert_eq!((&told["opened"], &told["page"]), (&json!(false), &json!("page.html")), "{line}");
        let page = String::from_utf8(desk.bytes("page.html")).unwrap();
        assert_eq!(number(&told, "bytes") as usize, page.len());
        for (key, count) in ["vertices", "bones", "frames"].into_iter().zip(counts) {
            assert!(count == 0 || number(&told, key) as usize == count, "{line}: {key} of {told}");
        }
        for word in says {
            assert!(page.contains(word), "{line}: {word}");
        }
        if shows != "mesh" {
            let frames = data(&page)["frames"].as_array().unwrap().len();
            assert_eq!(frames, number(&told, "frames") as usize, "{line}");
        }
    }
    // Skins of the file, shapes and skins of a model are on the page, and it says which they are.
    for (line, given, has) in [
        ("test.npz", "truth", true),
        ("poses.npz", "truth", false),
        ("objs", "shape", true),
        ("lbs.dermis --motion poses.npz", "model", true),
    ] {
        desk.good(&format!("view {line} -o page.html --force"));
        let data = data(&String::from_utf8(desk.bytes("page.html")).unwrap());
        assert_eq!(data["given"], given, "{line}");
        assert!(data["frames"].as_array().unwrap().iter().all(|frame| frame["target"].is_null() != has), "{line}");
    }
}

/// Without a name the page goes to a temporary folder, and the program says where.
#[test]
fn a_page_that_nobody_named_is_temporary() {
    let desk = desk();
    let temporary = desk.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let run = |words: &[&str], display: Option<&str>| {
        let mut command = desk.command("view clips.glb");
        command.args(words).env("TMPDIR", &temporary).env_remove("WAYLAND_DISPLAY").env_remove("DISPLAY");
        if let Some(path) = display {
            command.env("DISPLAY", ":99").env("PATH", path);
        }
        let run = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (run.status.code(), text(&run.stdout), text(&run.stderr))
    };
    if cfg!(target_os = "linux") {
        let (code, out, err) = run(&[], None);
        let path = out.lines().find_map(|line| line.strip_prefix("written: ")).unwrap().to_owned();
        assert!(
            code == Some(0) && path.starts_with(temporary.to_str().unwrap()) && path.ends_with("/clips.html"),
            "{out}"
        );
        assert!(err.contains("there is no display here"), "{err}");
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("<!doctype html>"));
        let (code, _, err) = run(&["--no-open"], Some("/nowhere"));
        assert!(code == Some(0) && !err.contains("display") && !err.contains("browser"), "{err}");
        // A program of the test's in the place of the browser: it is given the page.
        let tools = desk.path("tools");
        std::fs::create_dir(&tools).unwrap();
        let browser = tools.join("xdg-open");
        std::fs::write(&browser, format!("#!/bin/sh\necho \"$1\" > {}/opened.txt\n", tools.display())).unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("{}:/bin:/usr/bin", tools.display());
        let (code, out, err) = run(&[], Some(&path));
        assert!(code == Some(0) && out.contains("opened in the browser"), "{out}{err}");
        let told = out.lines().find_map(|line| line.strip_prefix("written: ")).unwrap();
        let opened = (0..100).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            std::fs::read_to_string(tools.join("opened.txt")).ok().filter(|text| text.ends_with('\n'))
        });
        assert_eq!(opened.unwrap().trim_end(), told);
        std::fs::remove_dir_all(&tools).unwrap();
        // No program opens pages: that is said, and the page is there.
        let (code, out, err) = run(&["--json"], Some("/nowhere"));
        let told: Value = serde_json::from_str(&out).unwrap();
        assert!(code == Some(0) && told["opened"] == false && err.is_empty(), "{out}{err}");
        assert!(std::path::Path::new(told["page"].as_str().unwrap()).is_file());
    }
    // What cannot be shown leaves no folder behind.
    let before = std::fs::read_dir(&temporary).unwrap().count();
    let run = desk.command("view names.npz --no-open").env("TMPDIR", &temporary).output().unwrap();
    assert_eq!((run.status.code(), std::fs::read_dir(&temporary).unwrap().count()), (Some(2), before));
    std::fs::remove_dir_all(&temporary).unwrap();
}

#[test]
fn what_cannot_be_shown_is_named_with_a_way_out() {
    let desk = desk();
    desk.put("torn.glb", b"glTF\x02\0\0\0");
    desk.put("take.c3d", b"\x02\x50");
    desk.put("empty.npz", b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    desk.put("notes.txt", "nothing to see");
    desk.good("fit train.npz --examples train.npz --method own-weights --folds 0 -o m.dermis");
    for (line, says) in [
        ("view skins.pc2 -o x.html", &["\"skins.pc2\"", "no triangles", "--motion", "dermis view MESH"][..]),
        ("view names.npz -o x.html", &["\"names.npz\"", "no skeleton", "dermis view RIG"]),
        ("view objs/bend0.obj --motion walk.bvh -o x.html", &["\"objs/bend0.obj\"", "no skeleton"]),
        ("view clips.glb#run -o x.html", &["there is no clip \"run\""]),
        ("view clips.glb --motion walk.bvh -o x.html", &["\"walk.bvh\"", "bones are missing"]),
        ("view torn.glb -o x.html", &["\"torn.glb\""]),
        ("view empty.npz -o x.html", &["\"empty.npz\""]),
        ("view notes.txt -o x.html", &["\"notes.txt\"", "kind of this file is not known"]),
        ("view nowhere.glb -o x.html", &["\"nowhere.glb\""]),
        ("view clips.glb -o x.png", &["say x.png.html"]),
        ("view clips.glb -o no/x.html", &["\"no\" does not exist"]),
        ("view clips.glb --force", &["--out"]),
        ("view clips.glb poses.npz -o x.html", &["unexpected argument"]),
        ("view clips.glb --fps 0 -o x.html", &["--fps 0"]),
        ("view", &["FILE"]),
    ] {
        desk.bad(line, says);
        assert!(!exists(&desk.path("x.html")), "{line}");
    }
    desk.good("view m.dermis -o x.html");
    desk.bad("view m.dermis -o x.html", &["\"x.html\" exists already", "--force"]);
    // As a recipe.
    desk.put("r.json", json!({"view": {"file": {"file": "clips.glb"}, "out": "r.html"}}).to_string());
    desk.good("run r.json");
    assert!(exists(&desk.path("r.html")));
    desk.put("r.json", json!({"view": {"file": {"file": "clips.glb"}, "out": "r"}}).to_string());
    desk.bad("run r.json", &["\"r\"", "ends in .html"]);
}

/// A motion longer than a page can hold is shown with fewer frames, and the page says so; frames without times are slow enough to see.
#[test]
fn frames_have_times_and_are_as_many_as_fit() {
    let desk = desk();
    desk.good("view poses.npz -o page.html");
    let times = |page: &str| -> Vec<f64> {
        data(page)["frames"].as_array().unwrap().iter().map(|frame| frame["time"].as_f64().unwrap()).collect()
    };
    let page = || String::from_utf8(desk.bytes("page.html")).unwrap();
    assert_eq!(times(&page()), [0.0, 0.25, 0.5, 0.75, 1.0]);
    desk.good("view poses.npz --fps 10 -o page.html --force");
    assert!((times(&page())[4] - 0.4).abs() < 1e-9);
    desk.good("view walk.bvh -o page.html --force");
    assert!((times(&page())[2] - 0.08).abs() < 1e-6);
    // Ten bones, ten numbers each, are 6,000,000 numbers in 60,000 frames.
    let (bones, frames) = (10, 60_001);
    let joint = |b: usize| {
        format!(
            "{} b{b}\n{{\nOFFSET 0 1 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n",
            if b == 0 { "ROOT" } else { "JOINT" }
        )
    };
    let joints: String = (0..bones).map(joint).collect();
    let row = format!("{}\n", "0 5 0 ".repeat(bones));
    let long = format!(
        "HIERARCHY\n{joints}End Site\n{{\nOFFSET 0 1 0\n}}\n{}MOTION\nFrames: {frames}\nFrame Time: 0.01\n{}",
        "}\n".repeat(bones),
        row.repeat(frames)
    );
    desk.put("long.bvh", long);
    let told = desk.json("view long.bvh -o page.html --force --json");
    assert_eq!(number(&told, "frames"), 30_001.0, "{told}");
    assert_eq!(told["notes"][0], "One frame in 2 of 60001 is shown.");
}
