//! An arm with its clothes, as artists keep them: meshes of their own, from the first file to the last, and sculpted one at a time.

use crate::{Desk, number};
use dermis_testkit::{Arm, ArmPose};
use dermis_workflow::deform::{Base, Deformer};
use dermis_workflow::io::gltf::{GlbScene, write_glb};
use dermis_workflow::io::npz::{StoredFloat, write};
use dermis_workflow::io::{Contents, Record, Space, to_bytes};
use dermis_workflow::load::read_contents;
use dermis_workflow::rig::glam::DVec3;
use dermis_workflow::rig::{Mesh, MeshObject};
use serde_json::{Value, json};
use std::fmt::Write;
use std::ops::Range;

/// An arm, a sleeve, a hidden proxy, and a ring as large as the proxy.
fn arm() -> Arm {
    let layers = [("arm", 12, 1.0), ("sleeve", 9, 1.25), ("proxy", 5, 1.5), ("ring", 5, 1.75)];
    let mut arm = Arm::layered(&layers, 6);
    dermis_testkit::change_rig(&mut arm.rig, |mesh, _, _| mesh.objects[2].visible = false);
    arm
}

fn poses() -> Vec<ArmPose> {
    ArmPose::some(6, 7)
}

/// The rig with its poses as a bundle, and as a GLB.
fn desk() -> (Desk, Arm) {
    let (desk, arm) = (Desk::new(), arm());
    let contents = |records| Contents {
        mesh: Some(arm.rig.mesh().clone()),
        skeleton: Some(arm.rig.skeleton().clone()),
        weights: arm.rig.weights().cloned(),
        records,
        ..Contents::default()
    };
    let bundle = |records| to_bytes(|out| write(&contents(records), StoredFloat::Double, out)).unwrap();
    desk.put("arm.npz", bundle(vec![]));
    let motion = arm.motion("poses", &poses());
    desk.put("poses.npz", bundle(motion.frames.iter().cloned().map(Record::from).collect()));
    let skins = arm.examples(&poses()).into_iter().zip(motion.frames);
    let skins = skins.map(|(example, frame)| Record { positions: Some(example.positions), ..Record::from(frame) });
    desk.put("skins.npz", bundle(skins.collect()));
    let scene = GlbScene {
        name: "arm",
        mesh: Some(arm.rig.mesh()),
        skeleton: Some(arm.rig.skeleton()),
        weights: arm.rig.weights(),
        ..GlbScene::default()
    };
    desk.put("arm.glb", to_bytes(|out| write_glb(&scene, out)).unwrap());
    (desk, arm)
}

fn range(mesh: &Mesh, name: &str) -> Range<usize> {
    mesh.object_ranges().find(|(object, _)| object.name == name).unwrap().1
}

/// One object as an OBJ file, with the vertices at `positions` of the whole.
fn obj(mesh: &Mesh, of: &str, name: Option<&str>, positions: &[DVec3]) -> String {
    let own = range(mesh, of);
    let mut text = name.map_or_else(String::new, |name| format!("o {name}\n"));
    positions[own.clone()].iter().for_each(|p| writeln!(text, "v {} {} {}", p.x, p.y, p.z).unwrap());
    let corners = mesh.triangles.iter().filter(|t| own.contains(&(t[0] as usize)));
    let corners = corners.map(|t| t.map(|v| v as usize - own.start + 1));
    corners.for_each(|[a, b, c]| writeln!(text, "f {a} {b} {c}").unwrap());
    text
}

/// The objects of a file.
fn objects(desk: &Desk, name: &str) -> Vec<MeshObject> {
    read_contents(&desk.path(name), &Space::default()).unwrap().0.mesh.unwrap().objects
}

#[test]
fn every_verb_keeps_objects() {
    let (desk, arm) = desk();
    let known = arm.rig.mesh().objects.clone();
    assert_eq!(objects(&desk, "arm.npz"), known);
    assert_eq!(objects(&desk, "arm.glb"), known);
    desk.good("fit arm.npz --examples skins.npz --method mwe --folds 0 -o m.dermis");
    for (line, name) in [
        ("convert arm.glb -o a.npz", "a.npz"),
        ("convert a.npz -o b.glb", "b.glb"),
        ("weights arm.glb -o w.glb", "w.glb"),
        ("weights arm.glb -o w.npz --force", "w.npz"),
        ("pose m.dermis --motion poses.npz -o p.npz", "p.npz"),
        ("export shapes m.dermis --motion poses.npz -o s.glb", "s.glb"),
        ("export bones m.dermis --motion poses.npz -o e.glb", "e.glb"),
        ("decompose skins.npz --bones 4 -o d.glb", "d.glb"),
    ] {
        desk.good(line);
        assert_eq!(objects(&desk, name), known, "{line}");
    }
    // An OBJ file cannot say what is hidden, and says so.
    let told = desk.json("convert b.glb -o c.obj --json");
    let said = |key: &str, text: &str| told[key].as_array().unwrap().iter().any(|line| line.as_str().unwrap() == text);
    assert!(said("holds", "4 objects"), "{told}");
    assert!(said("left_out", "1 objects that are hidden: an OBJ file shows them"), "{told}");
    let names: Vec<String> = objects(&desk, "c.obj").into_iter().map(|object| object.name).collect();
    assert_eq!(names, ["arm", "sleeve", "proxy", "ring"]);
    // The viewer's character is all of them.
    desk.good("export viewer m.dermis --motion poses.npz -o v.html");
}

#[test]
fn inspect_lists_objects() {
    let (desk, _) = desk();
    let out = desk.good("inspect arm.glb").out;
    for line in [
        "  object      \"arm\", 74 vertices, 144 triangles",
        "  object      \"sleeve\", 56 vertices, 108 triangles",
        "  object      \"proxy\", 32 vertices, 60 triangles, hidden",
        "  object      \"ring\", 32 vertices, 60 triangles",
    ] {
        assert!(out.lines().any(|found| found == line), "{line}\n{out}");
    }
    let value = &desk.json("inspect arm.npz --json")[0]["mesh"]["objects"];
    let proxy = json!({ "name": "proxy", "vertices": 32, "triangles": 60, "polygons": null, "materials": [], "visible": false });
    assert_eq!((value.as_array().unwrap().len(), &value[2]), (4, &proxy));
    desk.good("inspect arm.glb --report r.html");
    let page = String::from_utf8(desk.bytes("r.html")).unwrap();
    assert!(page.contains("Objects</h2>") && page.contains("sleeve"), "the page lists objects");
    desk.good("view arm.glb -o v.html");
    let page = String::from_utf8(desk.bytes("v.html")).unwrap();
    assert!(page.contains("4 objects: ") && page.contains("(hidden)"), "the page names objects");
}

/// A sculpt of the sleeve alone moves the sleeve alone, whether its file names the object or not.
#[test]
fn a_sculpt_covers_one_object() {
    let (desk, arm) = desk();
    let mesh = arm.rig.mesh();
    let bent = ArmPose { elbow: 1.2, ..ArmPose::REST };
    let example = arm.example("bent".into(), &bent);
    let pose = Record { label: "bent".into(), ..Record::from(arm.motion("m", &[bent]).frames.remove(0)) };
    let poses = Contents { skeleton: Some(arm.rig.skeleton().clone()), records: vec![pose], ..Contents::default() };
    desk.put("bent.npz", to_bytes(|out| write(&poses, StoredFloat::Double, out)).unwrap());
    let skin = {
        let mut skin = vec![DVec3::ZERO; mesh.positions.len()];
        dermis_workflow::deform::lbs(&mesh.positions, arm.weights(), &example.transforms, &mut skin);
        skin
    };
    for (file, named) in [("named.obj", Some("sleeve")), ("other.obj", Some("Mesh.001")), ("plain.obj", None)] {
        desk.put(file, obj(mesh, "sleeve", named, &example.positions));
        let line = format!("fit arm.glb --sculpts {file}@0 --poses bent.npz --method correctives -o m.dermis --force");
        let run = desk.good(&line);
        let said = format!("{}{}", run.out, run.err);
        assert!(said.contains("it covers the object \"sleeve\""), "{said}");
        desk.good("pose m.dermis --motion bent.npz -o shown.npz --force");
        let shown = read_contents(&desk.path("shown.npz"), &Space::default()).unwrap().0;
        let shown = shown.records[0].positions.as_ref().unwrap();
        let sleeve = range(mesh, "sleeve");
        for v in 0..skin.len() {
            let expected = if sleeve.contains(&v) { example.positions[v] } else { skin[v] };
            assert!(shown[v].distance(expected) < 1e-5, "{file}, vertex {v}: {} {expected}", shown[v]);
        }
    }
    // Two of four objects, in another order than the rig's.
    let (ring, sleeve) = (range(mesh, "ring"), range(mesh, "sleeve"));
    let one = obj(mesh, "ring", Some("ring"), &example.positions);
    let shifted = obj(mesh, "sleeve", Some("sleeve"), &example.positions);
    let shifted = shifted.lines().map(|line| match line.strip_prefix("f ") {
        None => format!("{line}\n"),
        Some(corners) => {
            let corners = corners.split(' ').map(|v| v.parse::<usize>().unwrap() + ring.len());
            format!("f {}\n", corners.map(|v| v.to_string()).collect::<Vec<_>>().join(" "))
        }
    });
    let two = one.clone() + &shifted.collect::<String>();
    desk.put("two.obj", &*two);
    let fit = "fit arm.glb --sculpts two.obj@0 --poses bent.npz --method correctives -o m.dermis --force";
    let run = desk.good(&format!("{fit} --report fit.html"));
    let said = format!("{}{}", run.out, run.err);
    assert!(said.contains("it covers the objects \"ring\", \"sleeve\"; the others count as not"), "{said}");
    let page = String::from_utf8(desk.bytes("fit.html")).unwrap();
    assert!(page.contains("Error by object</h2>") && page.contains("proxy (hidden)"), "the page lists objects");
    desk.good("pose m.dermis --motion bent.npz -o shown.npz --force");
    let shown = read_contents(&desk.path("shown.npz"), &Space::default()).unwrap().0;
    let shown = shown.records[0].positions.as_ref().unwrap();
    for v in 0..skin.len() {
        let is_covered = sleeve.contains(&v) || ring.contains(&v);
        let expected = if is_covered { example.positions[v] } else { skin[v] };
        assert!(shown[v].distance(expected) < 1e-5, "vertex {v}: {} {expected}", shown[v]);
    }
    desk.put("odd.obj", two.replace("o sleeve", "o sleeve\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 89 90 91\no sleeve"));
    desk.bad("fit arm.glb --sculpts odd.obj@0 --poses bent.npz -o n.dermis", &["of the rig has 56"]);

    // Two objects have as many vertices and triangles: the name decides, or nobody.
    let fit = |file: &str| {
        format!("fit arm.glb --sculpts {file}@0 --poses bent.npz --method correctives -o n.dermis --force")
    };
    desk.put("ring.obj", obj(mesh, "ring", Some("ring"), &example.positions));
    desk.good(&fit("ring.obj"));
    desk.put("one.obj", obj(mesh, "ring", None, &example.positions));
    desk.bad(&fit("one.obj"), &["\"proxy\" or \"ring\"", "o NAME"]);
    desk.put("wrong.obj", obj(mesh, "ring", Some("sleeve"), &example.positions));
    desk.bad(&fit("wrong.obj"), &["32 vertices and 60 triangles", "\"sleeve\" of the rig has 56 and 108"]);
    desk.put("none.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    desk.bad(&fit("none.obj"), &["3 vertices cannot be matched with the rig's 194"]);
    // In other axes it is refused as a sculpt of the whole is.
    let turned: Vec<DVec3> = example.positions.iter().map(|p| DVec3::new(p.x, -p.z, p.y)).collect();
    desk.put("turned.obj", obj(mesh, "sleeve", Some("sleeve"), &turned));
    desk.bad(&fit("turned.obj"), &["quarter turn about x"]);

    // A session takes it as well, and finds what of the sleeve was sculpted.
    desk.good("session new arm.npz -o hero.session --motion bent.npz");
    let added = desk.good("session add hero.session named.obj@bent:0").out;
    assert!(added.contains("met: within "), "{added}");
    let status: Value = desk.json("session status hero.session --json");
    let touched = number(&status["steps"][0], "touched");
    assert!(touched > 10.0 && touched <= 56.0, "{status}");
}

/// The sculpts are of the arm alone; its sleeve, another object of the file, follows them.
#[test]
fn clothes_in_the_file_of_the_body_follow_its_corrections() {
    let (desk, arm) = desk();
    let (mesh, weights) = (arm.rig.mesh(), arm.weights());
    let (skin, sleeve) = (range(mesh, "arm"), range(mesh, "sleeve"));
    let mut blended = Deformer::new(mesh.positions.clone(), Base::Lbs(weights.clone()), None).unwrap();
    let motion = arm.motion("poses", &poses());
    let sculpted = arm.examples(&poses()).into_iter().zip(motion.frames).map(|(example, frame)| {
        let mut positions = vec![DVec3::ZERO; mesh.positions.len()];
        blended.evaluate(&example.transforms, None, &mut positions).unwrap();
        positions[skin.clone()].copy_from_slice(&example.positions[skin.clone()]);
        Record { positions: Some(positions), ..Record::from(frame) }
    });
    let contents = Contents {
        mesh: Some(mesh.clone()),
        skeleton: Some(arm.rig.skeleton().clone()),
        weights: Some(weights.clone()),
        records: sculpted.collect(),
        ..Contents::default()
    };
    desk.put("sculpted.npz", to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap());
    desk.good("fit arm.npz --examples sculpted.npz --base lbs --folds 0 -o arm.dermis");
    let told = desk.json("transfer arm.dermis --objects ring,sleeve,proxy -o dressed.dermis --report page.html --json");
    let names: Vec<&Value> = told["meshes"].as_array().unwrap().iter().map(|mesh| &mesh["name"]).collect();
    assert_eq!(names, ["sleeve", "proxy", "ring"], "in the order of the file");
    let (was, is) = (objects(&desk, "arm.dermis"), objects(&desk, "dressed.dermis"));
    assert_eq!((was.len(), was), (4, is), "names, order and visibility");
    let skins = |model: &str| {
        desk.good(&format!("pose {model} --motion poses.npz -o {model}.npz"));
        let read = read_contents(&desk.path(&format!("{model}.npz")), &Space::default()).unwrap().0;
        read.records.into_iter().map(|record| record.positions.unwrap()).collect::<Vec<_>>()
    };
    let (before, after) = (skins("arm.dermis"), skins("dressed.dermis"));
    let (mut carried, mut alone) = (0.0, 0.0);
    for (example, (before, after)) in arm.examples(&poses()).iter().zip(before.iter().zip(&after)) {
        assert_eq!(before[skin.clone()], after[skin.clone()], "the body is what it was");
        for v in sleeve.clone() {
            carried += after[v].distance_squared(example.positions[v]);
            alone += before[v].distance_squared(example.positions[v]);
        }
    }
    assert!(carried < 0.25 * alone, "{carried} {alone}");
    // The weights of a rig, instead.
    desk.good("transfer arm.npz --objects sleeve --weights -o weighted.npz");
    let weighted = read_contents(&desk.path("weighted.npz"), &Space::default()).unwrap().0.weights.unwrap();
    let apart = |v: usize| weights.of(v).iter().map(|(bone, w)| (weighted.value(v, *bone) - w).abs()).sum::<f64>();
    let most = |range: Range<usize>| range.map(apart).fold(0.0, f64::max);
    assert!(most(skin.clone()) < 1e-6 && most(sleeve.clone()) > 1e-4, "{} {}", most(skin), most(sleeve));
    for (command, says) in [
        ("arm.dermis --objects hat -o x.dermis", "its objects are arm, sleeve, proxy, ring"),
        ("arm.dermis --objects arm,sleeve,proxy,ring -o x.dermis", "no object besides those"),
        ("arm.dermis --objects sleeve -o folder", "stay in one file"),
        ("arm.dermis --objects sleeve --weights -o x.dermis", "a model is fitted over its weights"),
        ("arm.dermis --objects sleeve --gain 0.5 -o x.dermis", "another character"),
    ] {
        desk.bad(&format!("transfer {command}"), &[says]);
    }
}
