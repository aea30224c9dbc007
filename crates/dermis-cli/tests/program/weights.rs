//! `dermis weights`: from the shapes alone, from poses of single bones, from scans.

use crate::tube::{Flesh, Tube};
use crate::{Desk, number};
use dermis_workflow::io::gltf::{GlbScene, write_glb};
use dermis_workflow::io::npz::{StoredFloat, write};
use dermis_workflow::io::to_bytes;
use dermis_workflow::io::{Contents, Record, Space, obj};

/// The tube as files before it is skinned: mesh and skeleton in a GLB, in a bundle, and apart.
fn unskinned(desk: &Desk, tube: &Tube) {
    let (mesh, skeleton) = (Some(&tube.mesh), Some(&tube.skeleton));
    desk.put(
        "bare.glb",
        to_bytes(|out| write_glb(&GlbScene { name: "bare", mesh, skeleton, ..GlbScene::default() }, out)).unwrap(),
    );
    let bare = Contents { weights: None, records: vec![], ..tube.contents() };
    desk.put("bare.npz", to_bytes(|out| write(&bare, StoredFloat::Double, out)).unwrap());
    desk.put("bones.npz", to_bytes(|out| write(&Contents { mesh: None, ..bare }, StoredFloat::Double, out)).unwrap());
    desk.put("mesh.obj", to_bytes(|out| obj::write(&tube.mesh, &tube.mesh.positions, &Space::default(), out)).unwrap());
}

#[test]
fn a_mesh_and_a_skeleton_become_a_skinned_glb_whatever_files_hold_them() {
    let desk = Desk::new();
    let tube = Tube::new(25, 5, 0.0, Flesh::Weights);
    unskinned(&desk, &tube);
    desk.put("a.npz", tube.bundle());
    for (at, rig) in ["bare.glb", "bare.npz", "mesh.obj --skeleton bones.npz", "a.npz --heat"].iter().enumerate() {
        let said = desk.json(&format!("weights {rig} -o {at}.glb --check a.npz --json"));
        assert_eq!(said["heat"]["shells"], 1);
        // Half a blend of 0.2 beside a decay of 0.12: close, not equal.
        let error = number(&said, "check.error.rms");
        assert!(error > 1e-4 && error < 0.03, "{rig}: {error}");
        let read = &desk.json(&format!("inspect {at}.glb --json"))[0];
        assert_eq!(read["mesh"]["vertices"], tube.mesh.positions.len());
    }
    // What was made serves as a rig, and a bundle holds the same weights.
    desk.good("weights bare.npz -o bundle.npz");
    desk.good("fit bundle.npz --examples a.npz --folds 0 -o a.dermis");
    let [glb, npz] = ["0.glb", "bundle.npz"].map(|rig| {
        number(
            &desk.json(&format!("weights {rig} --single-bone a.npz -o x.npz --force --check a.npz --json")),
            "check.own_weights.rms",
        )
    });
    assert!((glb - npz).abs() < 1e-6, "{glb} {npz}");
}

#[test]
fn scans_and_poses_become_weights_matched_by_name_or_in_order() {
    let desk = Desk::new();
    let (tube, finer) = (Tube::new(25, 12, 0.0, Flesh::Weights), Tube::new(71, 12, 0.0, Flesh::Weights));
    unskinned(&desk, &tube);
    desk.put("poses.npz", tube.motion());
    desk.put("truth.npz", tube.bundle());
    for (at, skin) in finer.skins.iter().enumerate() {
        let bytes = to_bytes(|out| obj::write(&finer.mesh, skin, &Space::default(), out)).unwrap();
        desk.put(&format!("named/{}.obj", if at == 0 { "rest".into() } else { format!("bend_{at}") }), &bytes);
        desk.put(&format!("numbered/scan{at}.obj"), &bytes);
    }
    let own = |s: usize| Record {
        label: format!("{s}"),
        time: None,
        pose: Some(finer.poses[s].clone()),
        positions: Some(finer.skins[s].clone()),
        importance: 1.0,
        local: None,
    };
    let with_poses = Contents { weights: None, records: (0..12).map(own).collect(), ..finer.contents() };
    desk.put("scans.npz", to_bytes(|out| write(&with_poses, StoredFloat::Double, out)).unwrap());
    let before = number(&desk.json("weights bare.npz -o heat.npz --check truth.npz --json"), "check.error.rms");
    let mut errors = Vec::new();
    for (scans, how) in [
        ("named --poses poses.npz", "by their names"),
        ("numbered --poses poses.npz", "in order"),
        ("scans.npz", "with their poses"),
    ] {
        let line = format!("weights bare.glb --scans {scans} -o a.glb --force --check truth.npz");
        let said = desk.json(&format!("{line} --json"));
        errors.push(number(&said, "check.error.rms"));
        assert!(number(&said, "scans.distance") < number(&said, "scans.distance_before"));
        let text = desk.good(&line).out;
        assert!(text.contains(how) || how == "by their names" && text.contains("poses of their names"), "{text}");
    }
    // A fortieth of the tube's radius, which is 0.12.
    assert!(errors.iter().all(|e| *e < 0.003 && *e < 0.3 * before), "{before} became {errors:?}");
    assert!((errors[0] - errors[1]).abs() < 1e-12);
    // The tube is its own mirror image.
    let line = "weights bare.glb --scans scans.npz -o a.glb --force --check truth.npz";
    let text = desk.good(line).out;
    assert!(text.contains("with --symmetric every scan teaches both sides"), "{text}");
    let text = desk.good(&format!("{line} --symmetric")).out;
    assert!(text.contains("; each teaches both sides") && text.contains("of 24 scans and mirror images"), "{text}");
    let said = desk.json(&format!("{line} --symmetric --json"));
    assert_eq!(said["scans"]["symmetric"], true);
    assert!(number(&said, "check.error.rms") < 0.003, "{said}");
}

/// Nobody noted the poses down: they are found, the weights are as with known ones, and the mesh on every scan makes examples.
#[test]
fn scans_alone_give_poses_weights_and_examples() {
    let desk = Desk::new();
    let (tube, finer) = (Tube::new(25, 8, 0.0, Flesh::Weights), Tube::new(71, 8, 0.0, Flesh::Weights));
    unskinned(&desk, &tube);
    desk.put("truth.npz", tube.bundle());
    for (at, skin) in finer.skins.iter().enumerate() {
        let bytes = to_bytes(|out| obj::write(&finer.mesh, skin, &Space::default(), out)).unwrap();
        desk.put(&format!("scans/{at}.obj"), &bytes);
    }
    // Something else lies among them.
    let flat: Vec<_> = finer.mesh.positions.iter().map(|p| *p * 0.01).collect();
    let bytes = to_bytes(|out| obj::write(&finer.mesh, &flat, &Space::default(), out)).unwrap();
    desk.put("scans/small.obj", &bytes);
    let before = number(&desk.json("weights bare.npz -o heat.npz --check truth.npz --json"), "check.error.rms");
    let line = "weights bare.npz --scans scans --pose-rounds 3 -o made.npz --registered made_examples.npz --force --check truth.npz";
    let said = desk.json(&format!("{line} --json"));
    let scans = said["scans"]["poses"]["scans"].as_array().unwrap();
    let failed: Vec<_> = scans.iter().filter(|scan| scan["failed"].is_string()).collect();
    assert!(scans.len() == 9 && failed.len() == 1 && failed[0]["label"] == "small", "{said}");
    assert!(
        scans.iter().filter(|s| s["failed"].is_null()).all(|s| s["scan_explained"].as_f64().unwrap() > 0.9),
        "{said}"
    );
    let error = number(&said, "check.error.rms");
    assert!(error < 0.6 * before, "{before} became {error}");
    assert_eq!(said["scans"]["examples"].as_array().unwrap().len(), 8);
    let text = desk.good(line).out;
    assert!(text.contains("8 of 9 scans have a pose") && text.contains("\"small\" is left out"), "{text}");
    // The bundle is what a fit takes.
    let fitted = desk.json("fit made.npz --examples made_examples.npz --folds 0 -o made.dermis --json");
    assert!(fitted.is_object(), "{fitted}");
    // The poses found serve as known ones.
    desk.good("weights bare.npz --scans scans/0.obj scans/1.obj --poses made_examples.npz --rule nearest -o again.npz");
}

/// The page has a card for every scan, the held-out number is the same in the text, the JSON and on the page, and without held-out scans
/// nothing is called validated.
#[test]
fn a_page_shows_every_scan_and_says_what_was_held_out() {
    let desk = Desk::new();
    let (tube, finer) = (Tube::new(25, 8, 0.0, Flesh::Weights), Tube::new(71, 8, 0.0, Flesh::Weights));
    unskinned(&desk, &tube);
    for (at, skin) in finer.skins.iter().enumerate() {
        let bytes = to_bytes(|out| obj::write(&finer.mesh, skin, &Space::default(), out)).unwrap();
        desk.put(&format!("{}/{at}.obj", if at % 4 == 3 { "held" } else { "scans" }), &bytes);
    }
    desk.put("scans/z<points>.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n");
    let line = "weights bare.npz --scans scans --pose-rounds 2 -o made.glb --force";
    let said = desk.json(&format!("{line} --hold-out held --report held.html --json"));
    let held = &said["scans"]["held_out"];
    assert_eq!(held["scans"].as_array().unwrap().len(), 2);
    let (now, start) = (number(held, "distance"), number(held, "distance_at_start"));
    assert!(now < start && now < 0.012, "{now} {start}");
    let html = String::from_utf8(desk.bytes("held.html")).unwrap();
    assert_eq!(
        html.matches("<figcaption>").count(),
        9 + 3,
        "six fitted, one without a pose, two held out, and the weights"
    );
    assert!(html.contains("Held out: 2 scans that the fit did not see") && !html.contains("Not validated"));
    assert!(html.contains("z&lt;points&gt;") && !html.contains("z<points>"));
    assert!(html.contains("no pose: it has 3 vertices and 0 triangles, which make no surface"));
    let text = desk.good(&format!("{line} --hold-out held --report page.html")).out;
    let sentence = text.lines().find(|line| line.starts_with("Held out: ")).unwrap();
    assert!(html.contains(sentence), "{sentence}");
    assert!(desk.bytes("page.html").starts_with(b"<!doctype html>"));
    // Without held-out scans the distance of those fitted to is no validation.
    desk.good(&format!("{line} --report bare.html"));
    assert!(String::from_utf8(desk.bytes("bare.html")).unwrap().contains("Not validated"));
    // What would say nothing is refused.
    desk.bad(&format!("{line} --hold-out scans/0.obj"), &["one of those that the weights are fitted to"]);
    desk.bad("weights bare.npz --heat --report page.html -o x.glb", &["--report serves --scans, not --heat"]);
}

#[test]
fn poses_are_planned_and_examples_of_them_give_the_weights() {
    let desk = Desk::new();
    let mut tube = Tube::new(13, 3, 0.0, Flesh::Weights);
    unskinned(&desk, &tube);
    desk.put("a.npz", tube.bundle());
    desk.good("weights a.npz --plan plan.glb");
    let planned = desk.json("weights a.npz --plan plan.npz --degrees 30 --json");
    // The rest pose, and two joints about three axes either way; the root stays.
    assert_eq!(planned["poses"].as_array().unwrap().len(), 13);
    // An artist sculpts what the weights do: here the rig's own motion of the planned poses.
    let read = dermis_workflow::io::npz::read(&desk.bytes("plan.npz"), "plan.npz").unwrap();
    tube.poses = read.records.into_iter().filter_map(|r| r.pose).collect();
    tube.skins = tube
        .poses
        .iter()
        .map(|pose| {
            let mut skin = tube.mesh.positions.clone();
            let transforms = tube.skeleton.bone_transforms(pose);
            dermis_workflow::deform::lbs(&tube.mesh.positions, &tube.weights, &transforms, &mut skin);
            skin
        })
        .collect();
    desk.put("sculpts.npz", tube.bundle());
    let said = desk.json("weights bare.npz --single-bone sculpts.npz -o made.glb --check a.npz --json");
    assert_eq!(said["single_bone"]["bones_by"], "shares");
    assert_eq!(said["single_bone"]["joints_not_moved"][0], "root");
    assert!(number(&said, "check.error.rms") < 1e-6, "{said}");
    for rule in ["published", "nearest"] {
        let line =
            format!("weights bare.npz --single-bone sculpts.npz --rule {rule} -o {rule}.glb --check a.npz --json");
        let said = desk.json(&line);
        assert_eq!(said["single_bone"]["bones_by"], rule);
        assert!(number(&said, "check.error.rms") < 1e-3, "{said}");
    }
    desk.bad(
        "weights bare.npz --heat --rule published -o x.glb",
        &["--rule serves --single-bone and --scans, not --heat"],
    );
    desk.bad("weights bare.npz --single-bone a.npz --rule published -o x.glb", &["move several joints"]);
}

/// The clips of a character stay in its file; a bundle has no place for them, which is said.
#[test]
fn clips_survive_new_weights() {
    let desk = Desk::new();
    let body = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/body/body.glb");
    desk.put("body.glb", std::fs::read(body).unwrap());
    desk.good("weights body.glb --heat -o new.glb");
    let held = |name: &str| desk.json(&format!("inspect {name} --json"))[0]["clips"].clone();
    assert_eq!(held("new.glb"), held("body.glb"));
    let told = desk.json("weights body.glb --heat -o new.npz --json");
    assert_eq!(told["left_out"], serde_json::json!(["2 clips: a bundle holds none, a .glb does"]));
}

#[test]
fn what_makes_no_weights_is_refused_with_a_remedy() {
    let desk = Desk::new();
    let tube = Tube::new(13, 3, 0.0, Flesh::Weights);
    unskinned(&desk, &tube);
    desk.put("a.npz", tube.bundle());
    desk.put("poses.npz", tube.motion());
    tube.objs(&desk, "scans");
    desk.put("empty/readme.txt", b"nothing");
    let points: String = (0..9).map(|i| format!("v {i} 0 0\n")).collect();
    desk.put("points/0.obj", points);
    desk.put("nan/0.obj", "v nan 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n");
    desk.put("far/rest.obj", "v 100 0 0\nv 100 1 0\nv 100 0 1\nf 1 2 3\n");
    desk.put("out.glb", b"mine");
    let mut bent = tube.contents();
    bent.mesh.as_mut().unwrap().positions.iter_mut().for_each(|p| {
        p.y += 0.5 * p.x * p.x;
        p.z += 0.5 * p.x * p.x * p.x;
    });
    desk.put("bent.npz", to_bytes(|out| write(&bent, StoredFloat::Double, out)).unwrap());
    for (line, says) in [
        ("a.npz -o out.glb", &["exists already", "--force"][..]),
        ("a.npz -o out.fbx --force", &["cannot be written", ".glb or .npz"]),
        ("mesh.obj -o x.glb", &["there is no skeleton"]),
        ("bones.npz -o x.glb", &["there is no mesh"]),
        ("mesh.obj --skeleton mesh.obj -o x.glb", &["there is no skeleton", "bone_names"]),
        ("a.npz -o x.glb --skip thumb*", &["--skip thumb*", "none of the 3 bones"]),
        ("a.npz -o x.glb --skip *", &["no bone"]),
        ("a.npz -o x.glb --transfer 0", &["--transfer"]),
        ("a.npz --scans scans --unit 100 -o x.glb", &["none of 3 scans has a pose", "times as large", "--unit 0.01"]),
        ("a.npz --scans scans --registered y.glb -o x.glb", &["y.glb", ".npz"]),
        ("a.npz --scans scans --limits nan/0.obj -o x.glb", &["0.obj"]),
        (
            "a.npz --scans scans/bend0.obj scans/bend1.obj --poses poses.npz -o x.glb",
            &["of 2 scans 0 have the name of one of the 3 poses"],
        ),
        ("a.npz --scans empty --poses poses.npz -o x.glb", &["holds no scans"]),
        ("a.npz --scans points --poses poses.npz -o x.glb", &["no faces", "reconstruct"]),
        ("a.npz --scans nan --poses poses.npz -o x.glb", &["0.obj"]),
        ("a.npz --scans far --poses poses.npz -o x.glb", &["nowhere near", "--up"]),
        ("bare.npz --scans scans --poses poses.npz --start rig -o x.glb", &["has no weights"]),
        ("bent.npz --scans scans --poses poses.npz --symmetric -o x.glb", &["no common plane of symmetry"]),
    ] {
        desk.bad(&format!("weights {line}"), says);
        assert_eq!(desk.bytes("out.glb"), b"mine");
        assert!(!desk.path("x.glb").exists(), "{line}");
    }
    for line in [
        "a.npz",
        "a.npz --heat --scans scans -o x.glb",
        "a.npz --plan p.glb -o x.glb",
        "a.npz --scans scans --rough -o x.glb",
        "a.npz --heat --registered x.npz -o x.glb",
        "a.npz --heat --symmetric -o x.glb",
    ] {
        assert_eq!(desk.run(&format!("weights {line}")).code, 2);
    }
}
