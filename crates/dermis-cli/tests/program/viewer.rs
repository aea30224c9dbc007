//! `export shapes --driven` and `export viewer`: one file that drives itself, and a page to send.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, number};
use dermis_workflow::io::npz::{StoredFloat, write};
use dermis_workflow::io::to_bytes;
use serde_json::Value;

/// A joint model that was validated, one that was not, a pose space, and motions with and without true skins.
fn desk() -> Desk {
    let desk = Desk::new();
    let test = Tube::new(9, 5, 0.5, Flesh::Bulge);
    desk.put("train.npz", Tube::new(9, 12, 0.0, Flesh::Bulge).bundle());
    desk.put("test.npz", test.bundle());
    let mut poses = test.contents();
    poses.records.iter_mut().for_each(|record| record.positions = None);
    desk.put("poses.npz", to_bytes(|out| write(&poses, StoredFloat::Double, out)).unwrap());
    desk.good("fit train.npz --examples train.npz --hold-out test.npz -o j.dermis");
    desk.good("fit train.npz --examples train.npz -s 0.01 --folds 0 -o fixed.dermis");
    desk.good("fit train.npz --examples train.npz --method eigenskin -s 1e-6 --folds 0 -o p.dermis");
    desk
}

fn header(glb: &[u8]) -> Value {
    let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&glb[20..20 + length]).unwrap()
}

/// The content of the only extension of a GLB's mesh.
fn extension(glb: &[u8], name: &str) -> Value {
    let gltf = header(glb);
    assert_eq!(gltf["extensionsUsed"], serde_json::json!([name]));
    assert!(gltf.get("extensionsRequired").is_none());
    let node = gltf["nodes"].as_array().unwrap().iter().find(|node| node.get("mesh").is_some()).unwrap();
    node["extensions"][name].clone()
}

#[test]
fn a_driven_glb_holds_what_its_table_holds() {
    let desk = desk();
    desk.good("export shapes j.dermis --driven --shapes 6 --motion test.npz -o one.glb");
    desk.good("export drivers j.dermis --table two.json --shapes 6 --motion test.npz -o two.glb");
    assert!(desk.bytes("one.glb") == desk.bytes("two.glb"), "the table changes nothing in the GLB");
    let own = extension(&desk.bytes("one.glb"), "DERMIS_joint_drivers");
    let table: Value = serde_json::from_slice(&desk.bytes("two.json")).unwrap();
    let versions = [(1, 1), (5, 3)].map(|(table, own)| (Value::from(table), Value::from(own)));
    assert!(versions.contains(&(table["version"].clone(), own["version"].clone())));
    for key in ["length", "sigma", "arc_cosine", "matrix", "offset", "clamp"] {
        assert_eq!(own[key], table[key], "{key}");
    }
    // A bone's node has the bone's number; the table numbers the bones that it lists.
    let names: Vec<Value> =
        header(&desk.bytes("one.glb"))["nodes"].as_array().unwrap().iter().map(|node| node["name"].clone()).collect();
    for (joint, listed) in own["joints"].as_array().unwrap().iter().zip(table["joints"].as_array().unwrap()) {
        for end in ["from", "to"] {
            let (node, bone) = (joint[end].as_u64().unwrap() as usize, listed[end].as_u64().unwrap() as usize);
            assert_eq!(names[node], table["bones"][bone]["name"]);
        }
        assert_eq!(joint["inverse_factor"], listed["inverse_factor"]);
    }
    // Without a motion, and as a pose space, which needs no option but takes it.
    desk.good("export shapes j.dermis --driven -o still.glb");
    desk.good("export shapes p.dermis -o p.glb");
    desk.good("export shapes p.dermis --driven -o q.glb");
    assert!(desk.bytes("p.glb") == desk.bytes("q.glb"));
    extension(&desk.bytes("p.glb"), "DERMIS_pose_space");
    desk.good("fit train.npz --examples train.npz --method lbs -o m.dermis");
    desk.bad("export shapes m.dermis --driven -o x.glb", &["linear blend skinning alone", "without drivers"]);
    desk.bad("export shapes j.dermis --driven --shapes 0 -o x.glb", &["--shapes 0"]);
    for other in ["--lbs", "--drivers x.json"] {
        let run = desk.run(&format!("export shapes j.dermis --driven {other} -o x.glb"));
        assert!(
            run.code == 2 && run.err.contains("unexpected argument") | run.err.contains("say dermis export"),
            "{other}: {}",
            run.err
        );
    }
}

/// A driven GLB as the rig of another model: what drove its own shapes is not written with those of the other.
#[test]
fn drivers_of_a_rig_file_are_not_carried() {
    let desk = desk();
    for (model, options) in [("j.dermis", "--driven"), ("p.dermis", "")] {
        desk.good(&format!("export shapes {model} {options} -o rig.glb --force"));
        desk.good("fit rig.glb --examples train.npz --method own-weights --folds 0 -o w.dermis --force");
        desk.good("export shapes w.dermis -o plain.glb --force");
        let plain = header(&desk.bytes("plain.glb"));
        assert!(plain.get("extensionsUsed").is_none(), "{model}: {}", plain["extensionsUsed"]);
        desk.good("fit rig.glb --examples train.npz --method eigenskin -s 1e-6 --folds 0 -o again.dermis --force");
        desk.good("export shapes again.dermis -o again.glb --force");
        extension(&desk.bytes("again.glb"), "DERMIS_pose_space");
    }
}

/// The sentence of the page.
fn headline(page: &str) -> String {
    let line = page.split("<p class=\"verdict ").nth(1).expect("a headline").split("</span></p>").next().unwrap();
    line.rsplit_once("<span>").unwrap().1.replace("&#39;", "'")
}

#[test]
fn a_viewer_says_what_is_known_of_the_model() {
    let desk = desk();
    let page = |line: &str| {
        desk.good(&format!("export viewer {line} --force -o view"));
        String::from_utf8(desk.bytes("view/index.html")).unwrap()
    };
    let fitted = desk.good("fit train.npz --examples train.npz -o c.dermis");
    assert!(fitted.out.replace('\n', " ").contains(&headline(&page("c.dermis"))), "{}", fitted.out);
    // The training poses in a file that the recipe does not know.
    desk.good("convert train.npz -o copy.npz");
    assert_ne!(desk.bytes("copy.npz"), desk.bytes("train.npz"));
    for (line, begins, shows) in [
        ("fixed.dermis --motion copy.npz", "Not validated; all 12 poses are within", "Training error"),
        ("j.dermis --motion test.npz", "Held out: ", "Held-out error"),
        ("j.dermis --motion poses.npz", "Held out: ", "Held-out error"),
        ("j.dermis", "Held out: ", "Held-out error"),
        ("j.dermis --motion train.npz", "On the training poses, ", "Training error"),
        ("c.dermis", "Cross-validated: ", "Cross-validated error"),
        ("fixed.dermis", "Not validated: ", "Vertices"),
        ("fixed.dermis --motion train.npz", "Not validated; on the training poses, ", "Training error"),
        ("p.dermis", "Not validated: ", "Morph targets"),
    ] {
        let html = page(line);
        assert!(headline(&html).starts_with(begins), "{line}: {}", headline(&html));
        assert!(html.contains(&format!("<dt>{shows}</dt>")), "{line}: {shows}");
    }
    // The first figure is of what is shown. A motion without true skins has no error of its own, and the page says so; training poses have
    // theirs, and other poses what the fit found.
    for (line, says) in [
        ("j.dermis --motion poses.npz", "the true skin of this motion is not known"),
        ("j.dermis --motion train.npz", "Held out: "),
        ("c.dermis --motion train.npz", "Cross-validated: "),
    ] {
        let said = headline(&page(line));
        assert!(said.contains(says), "{line}: {said}");
    }
    // One sentence of one model: that of its report, of the viewer over the same poses, and of dermis eval.
    let report = desk.json("fit train.npz --examples train.npz -s 0.01 --folds 0 --json");
    assert_eq!(headline(&page("fixed.dermis --motion train.npz")), report["verdict"].as_str().unwrap());
    let scored = desk.json("eval j.dermis --examples test.npz --json");
    assert_eq!(headline(&page("j.dermis --motion test.npz")), scored["verdict"].as_str().unwrap().replace('\n', " "));
    // The held-out number is that of dermis eval.
    let html = page("j.dermis --motion test.npz");
    let said = format!("{:.0} % of the error", 100.0 * number(&scored, "ratio"));
    assert!(headline(&html).contains(&said), "{}: {said}", headline(&html));
    let figure = html.split("<dt>Held-out error</dt>").nth(1).unwrap().split("</b>").next().unwrap();
    let shown: f64 = figure.rsplit_once("<b>").unwrap().1.parse().unwrap();
    assert!((shown / (1e3 * number(&scored, "error.rms")) - 1.0).abs() < 5e-3, "{shown}");
}

#[test]
fn a_viewer_is_a_folder_and_the_same_every_time() {
    let desk = desk();
    let value = desk.json("export viewer j.dermis --motion test.npz -o view --json");
    assert_eq!(desk.names("view"), ["index.html", "j.glb"]);
    assert_eq!(number(&value, "bytes") as usize, desk.bytes("view/j.glb").len());
    assert_eq!(number(&value, "page.bytes") as usize, desk.bytes("view/index.html").len());
    desk.good("export viewer j.dermis --motion test.npz -o again --threads 1");
    assert!(
        desk.bytes("view/index.html") == desk.bytes("again/index.html")
            && desk.bytes("view/j.glb") == desk.bytes("again/j.glb")
    );
    // The GLB is that of --driven; the page's has no changes of normals, which it does not need.
    desk.good("export shapes j.dermis --driven --motion test.npz -o driven.glb");
    assert!(desk.bytes("driven.glb") == desk.bytes("view/j.glb"));
    desk.good("export viewer j.dermis --no-normals -o bare");
    assert!(desk.bytes("bare/j.glb").len() < desk.bytes("view/j.glb").len());
    // A name that ends in .html is the page alone.
    let alone = desk.json("export viewer j.dermis --motion test.npz -o alone.html --json");
    let page = String::from_utf8(desk.bytes("alone.html")).unwrap();
    assert_eq!(alone["page"], serde_json::json!({"path": "alone.html", "bytes": page.len()}));
    assert!(!exists(&desk.path("j.glb")) && !page.contains("j.glb") && page.contains("This page alone is enough"));
    let said = desk.good("export viewer j.dermis --motion test.npz -o alone.html --force").out;
    assert_eq!(said.matches("written: ").count(), 1, "{said}");
    desk.bad("export viewer j.dermis -o alone.html", &["alone.html", "--force"]);
    let recipe = serde_json::json!({"export": {"model": {"file": "j.dermis"}, "form": {"viewer": {"motion": {"file": "test.npz"}}},
        "out": "third"}});
    desk.put("r.json", recipe.to_string());
    desk.good("run r.json");
    assert!(desk.bytes("third/index.html") == desk.bytes("view/index.html"));
}

#[test]
fn what_a_viewer_cannot_do_is_refused_by_name() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --method lbs -o m.dermis");
    desk.good("fit train.npz --examples train.npz --method psd --set form=forward --folds 0 -o f.dermis");
    desk.put("full/mine.txt", "mine");
    for (line, says) in [
        ("export viewer m.dermis -o x", &["linear blend skinning alone"][..]),
        ("export viewer f.dermis --kernels 4 -o x", &["the kernels of this model", "form=inverse"]),
        ("export viewer j.dermis --kernels 4 -o x", &["kernels", "\"joint\""]),
        ("export viewer j.dermis --shapes 1 -o x", &["--shapes 1"]),
        ("export viewer j.dermis --motion test.npz poses.npz -o x", &["unexpected argument"]),
        ("export viewer j.dermis --fps 30 -o x", &["--fps"]),
        ("export viewer j.dermis -o x.glb", &["x.glb", "folder"]),
        ("export viewer j.dermis -o full", &["full", "--force"]),
        ("export viewer j.dermis -o train.npz", &["train.npz"]),
        ("export viewer nothing.dermis -o x", &["nothing.dermis"]),
    ] {
        desk.bad(line, says);
        assert!(!desk.path("x").exists() && !desk.path("x.glb").exists(), "{line}");
    }
    assert_eq!(desk.names("full"), ["mine.txt"]);
    for other in ["--lbs", "--driven", "--drivers x.json", "--base-cache a.npz"] {
        let run = desk.run(&format!("export viewer j.dermis {other} -o x"));
        assert!(
            run.code == 2 && run.err.contains("unexpected argument") | run.err.contains("say dermis export"),
            "{other}: {}",
            run.err
        );
    }
}
