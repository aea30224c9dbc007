//! `dermis transfer`: a tube and its sleeve.

use crate::tube::{Flesh, Tube};
use crate::{Desk, number};
use dermis_workflow::io::gltf::GlbClip;
use dermis_workflow::io::{Contents, MorphTarget, Space, gltf, npz, obj, to_bytes};
use dermis_workflow::rig::glam::DVec3;
use dermis_workflow::rig::{BoneIndex, Mesh};
use serde_json::Value;

/// A tube of other rings, a little outside of [`Tube::new`].
fn sleeve() -> Mesh {
    let mut mesh = Tube::new(14, 1, 0.0, Flesh::Weights).mesh;
    mesh.positions.iter_mut().for_each(|p| *p += DVec3::new(0.0, p.y, p.z).normalize_or_zero() * 0.004);
    mesh
}

fn as_obj(mesh: Mesh) -> Vec<u8> {
    to_bytes(|out| obj::write(&mesh, &mesh.positions, &Space::default(), out)).unwrap()
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("body.npz", Tube::new(12, 8, 0.0, Flesh::Bulge).bundle());
    desk.put("walk.npz", Tube::new(12, 6, 0.4, Flesh::Bulge).bundle());
    desk.put("sleeve.obj", as_obj(sleeve()));
    desk.good("fit body.npz --examples body.npz --folds 0 -o body.dermis");
    desk
}

#[test]
fn a_sleeve_gets_the_model_and_moves_with_the_corrected_skin() {
    let desk = desk();
    let told = desk.json("transfer body.dermis sleeve.obj -o sleeve.dermis --report page.html --json");
    let mesh = &told["meshes"][0];
    assert_eq!((number(mesh, "corrections"), number(&mesh["islands"][0], "trusted") > 0.9), (1.0, true), "{told}");
    assert!(number(mesh, "worn.change") < 0.5 * number(mesh, "worn_by_weights_alone.change"), "{told}");
    let text = desk.good("transfer body.dermis sleeve.obj -o again.dermis").out;
    assert!(text.contains("1 correction") && text.contains("deeper than 2 mm"), "{text}");
    assert_eq!(desk.bytes("again.dermis"), desk.bytes("sleeve.dermis"));
    let page = String::from_utf8(desk.bytes("page.html")).unwrap();
    assert!(page.contains("Worst pose") && page.contains("training pose") && page.contains("Trust"));
    // It is a model like others.
    desk.good("pose sleeve.dermis --motion walk.npz -o moved.npz");
    desk.good("eval sleeve.dermis --stress 50");
    desk.good("export shapes sleeve.dermis --motion walk.npz -o moved.glb");
    let told = desk.json("inspect sleeve.dermis --json");
    assert_eq!(told[0]["model"]["method"], "joint", "{told}");
    // Its own body: the same model.
    let same = desk.json("transfer body.dermis body.dermis -o same.dermis --json");
    assert_eq!(same["meshes"][0]["on_body"], true);
    desk.good("pose body.dermis --motion walk.npz -o one.npz");
    desk.good("pose same.dermis --motion walk.npz -o other.npz");
    let skins = |name: &str| {
        let read = npz::read(&desk.bytes(name), name).unwrap();
        read.records.into_iter().map(|record| record.positions.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(skins("one.npz"), skins("other.npz"));
}

#[test]
fn several_meshes_go_into_a_folder() {
    let desk = desk();
    std::fs::create_dir(desk.path("clothes")).unwrap();
    desk.put("clothes/a.obj", as_obj(sleeve()));
    desk.put("clothes/b.npz", Tube::new(9, 1, 0.0, Flesh::Weights).bundle());
    let told = desk.json("transfer body.dermis clothes -o worn --json");
    let names: Vec<&Value> = told["meshes"].as_array().unwrap().iter().map(|mesh| &mesh["name"]).collect();
    assert_eq!(names, ["a", "b"]);
    // The second has weights of the same skeleton, and keeps them.
    assert_eq!(told["meshes"][1]["own_weights"], true, "{told}");
    assert!(desk.path("worn/a.dermis").exists() && desk.path("worn/b.dermis").exists());
    desk.bad("transfer body.dermis clothes -o worn", &["--force"]);
    let told = desk.json("transfer body.npz clothes -o skinned --format npz --weights --json");
    assert_eq!(told["meshes"][1]["own_weights"], false, "{told}");
    let read = npz::read(&desk.bytes("skinned/a.npz"), "a.npz").unwrap();
    assert_eq!(read.weights.unwrap().vertices(), sleeve().positions.len());
}

#[test]
fn shapes_and_clips_of_a_rig_drive_the_sleeve() {
    let (desk, tube) = (desk(), Tube::new(12, 5, 0.0, Flesh::Weights));
    let bulge = |p: &DVec3| DVec3::new(0.0, p.y, p.z) * (0.4 * (-((p.x - 0.4) / 0.1).powi(2)).exp());
    let morphs = [
        MorphTarget { name: "bulge".into(), deltas: tube.mesh.positions.iter().map(bulge).collect() },
        MorphTarget { name: "none".into(), deltas: vec![DVec3::ZERO; tube.mesh.positions.len()] },
    ];
    let clip = GlbClip { name: "bend".into(), ..tube.clip((0..5).map(|at| vec![0.25 * f64::from(at), 0.0]).collect()) };
    desk.put("shaped.glb", tube.scene(&morphs, &[clip]));
    let told = desk.json("transfer shaped.glb sleeve.obj -o sleeve.glb --json");
    assert_eq!(told["meshes"][0]["shapes"], 1, "{told}");
    let read = |name: &str| -> Contents { gltf::read(&desk.bytes(name), name, &|_, _| unreachable!()).unwrap() };
    let made = read("sleeve.glb");
    assert_eq!((made.morphs.len(), made.clips.len(), made.clips[0].name.as_str()), (2, 1, "bend"));
    // The middle of the sleeve bulges as the tube does, and moves with the elbow's weights in the clip.
    let frame = (made.clips[0].sample)(4.0);
    assert!((frame.morph_weights[0] - 1.0).abs() < 1e-6, "{:?}", frame.morph_weights);
    let mesh = made.mesh.unwrap();
    let moved = mesh.positions.iter().zip(&made.morphs[0].deltas);
    let off = moved.map(|(p, d)| (*d - bulge(p)).length()).fold(0.0, f64::max);
    assert!(off < 0.01, "{off}");
    assert!(made.weights.unwrap().value(0, BoneIndex::new(0)) > 0.9);
    // A bundle has neither clips nor morph targets, which is said.
    let told = desk.json("transfer shaped.glb sleeve.obj -o sleeve.npz --json");
    let lost = [
        "clips (1): a GLB, an FBX or a USD file holds them",
        "2 morph targets: a bundle holds the shapes they make in a clip",
    ];
    assert_eq!(told["left_out"], serde_json::json!(lost), "{told}");
    // A model has them, and carries them on.
    desk.good("transfer shaped.glb sleeve.obj -o sleeve.dermis");
    desk.good("export bones sleeve.dermis --motion shaped.glb -o bones.glb");
    assert_eq!(read("bones.glb").morphs, made.morphs);
    desk.good("transfer sleeve.dermis sleeve.obj -o again.glb --shapes");
    assert_eq!(read("again.glb").morphs.len(), 2);
    // Shapes alone: a mesh without bones.
    desk.good("transfer shaped.glb sleeve.obj -o shapes.glb --shapes");
    assert!(read("shapes.glb").skeleton.is_none());
}

#[test]
fn another_character_takes_what_the_body_learnt() {
    let desk = desk();
    let walk = |rings: usize| Tube::new(rings, 6, 0.4, Flesh::Bulge);
    desk.put("large.npz", walk(12).grown(1.5).bundle());
    desk.put("finer.npz", walk(17).grown(1.5).bundle());
    desk.put("finer.glb", Tube::new(17, 1, 0.0, Flesh::Weights).grown(1.5).scene(&[], &[]));
    // What is left of linear blending on the walk, by the body and by a copy of it that is half as large again.
    let ratio = |model: &str, set: &str| {
        let told = desk.json(&format!("eval {model} --examples {set} --json"));
        number(&told, "error.rms") / number(&told, "baseline.error.rms")
    };
    let told = desk.json("transfer body.dermis large.npz -o large.dermis --gain 1 --json");
    let character = &told["meshes"][0]["character"];
    assert_eq!((&character["same_vertices"], number(character, "paired")), (&Value::Bool(true), 3.0), "{told}");
    let own = ratio("body.dermis", "walk.npz");
    // Nothing is fitted to her examples, so they are held out.
    let errors = [number(character, "examples.left"), number(character, "examples.whole")];
    assert_eq!((errors[0], &character["examples"]["fitted"]), (errors[1], &Value::Bool(false)), "{told}");
    assert!((ratio("large.dermis", "large.npz") / own - 1.0).abs() < 0.01);
    // Of another tessellation: the body is laid onto it.
    let told = desk.json("transfer body.dermis finer.glb -o finer.dermis --report page.html --json");
    assert_eq!(told["meshes"][0]["character"]["same_vertices"], false, "{told}");
    assert!(ratio("finer.dermis", "finer.npz") < own + 0.1, "{} {own}", ratio("finer.dermis", "finer.npz"));
    assert!(String::from_utf8(desk.bytes("page.html")).unwrap().contains("given to another"));
    let text = desk.good("transfer body.dermis finer.glb -o again.dermis").out;
    assert!(text.contains("3 of 3 bones") && text.contains("not validated"), "{text}");
    // Its examples bulge half as much.
    let (whole, thin) = (walk(12).grown(1.5), Tube::new(12, 6, 0.4, Flesh::Weights).grown(1.5));
    let mut half = walk(12).grown(1.5);
    for (at, skin) in half.skins.iter_mut().enumerate() {
        skin.iter_mut().zip(&whole.skins[at]).zip(&thin.skins[at]).for_each(|((p, a), b)| *p = (*a + *b) * 0.5);
    }
    desk.put("half.npz", half.bundle());
    let told = desk.json("transfer body.dermis half.npz -o half.dermis --json");
    let character = &told["meshes"][0]["character"];
    assert!((number(character, "gain") - 0.5).abs() < 0.1, "{told}");
    assert!(number(character, "examples.left") < number(character, "examples.whole"), "{told}");
    // Marked pairs, and what acts on nothing.
    desk.put("pairs.txt", "# ends\n0 0\n1, 1\n");
    desk.put("broken.txt", "0 0\n1\n");
    desk.put("far.txt", "0 100000\n");
    desk.good("transfer body.dermis finer.glb -o paired.dermis --pairs pairs.txt");
    for (line, words) in [
        ("transfer body.dermis finer.glb -o x.dermis --pairs broken.txt", vec!["line 2", "no pair"]),
        ("transfer body.dermis finer.glb -o x.dermis --pairs far.txt", vec!["100000", "not there"]),
        ("transfer body.dermis large.npz -o x.dermis --pairs pairs.txt", vec!["--pairs"]),
        ("transfer body.dermis sleeve.obj -o x.dermis --gain 0.5", vec!["--gain"]),
        ("transfer body.dermis finer.glb -o x.dermis --gain 9", vec!["--gain"]),
        ("transfer body.npz finer.glb -o x.glb --gain 0.5", vec!["--gain"]),
        ("transfer body.dermis finer.glb sleeve.obj -o folder --report x.html", vec!["shows it alone"]),
    ] {
        desk.bad(line, &words);
    }
}

#[test]
fn what_does_not_go_together_is_refused_with_the_remedy() {
    let desk = desk();
    let moved = |name: &str, map: fn(DVec3) -> DVec3| {
        let mesh = sleeve();
        let positions = mesh.positions.iter().map(|p| map(*p)).collect();
        desk.put(name, as_obj(Mesh { positions, ..mesh }));
    };
    moved("large.obj", |p| p * 100.0);
    moved("lying.obj", |p| DVec3::new(p.x, p.z, -p.y) + DVec3::new(0.0, 3.0, 0.0));
    moved("beside.obj", |p| p + DVec3::new(1.5, 0.0, 0.0));
    desk.put("not_finite.obj", "v 0 0 0\nv 1 nan 0\nv 0 1 0\nf 1 2 3\n");
    desk.put("empty.obj", "");
    for (line, words) in [
        ("transfer body.dermis large.obj -o x.dermis", vec!["have no trusted match", "100 times smaller"]),
        ("transfer body.dermis lying.obj -o x.dermis", vec!["have no trusted match"]),
        (
            "transfer body.dermis beside.obj -o x.dermis",
            vec!["moved by -1.500, 0.000, 0.000 m", "where the body rests"],
        ),
        ("transfer body.dermis not_finite.obj -o x.dermis", vec!["not_finite.obj"]),
        ("transfer body.dermis empty.obj -o x.dermis", vec!["empty.obj"]),
        ("transfer body.dermis sleeve.obj sleeve.obj -o x.dermis", vec!["cannot hold several meshes"]),
        ("transfer body.dermis sleeve.obj sleeve.obj -o folder", vec!["two meshes are named"]),
        ("transfer body.dermis sleeve.obj -o x.glb --corrections", vec!["cannot hold corrections", ".dermis"]),
        ("transfer body.npz sleeve.obj -o x.dermis --corrections", vec!["has no corrections"]),
        ("transfer body.npz sleeve.obj -o x.glb --shapes", vec!["has no morph targets"]),
        ("transfer body.npz sleeve.obj -o x.usd", vec![".usd", ".glb"]),
        ("transfer sleeve.obj sleeve.obj -o x.glb", vec!["skeleton"]),
        ("transfer body.dermis sleeve.obj -o x.dermis --influences 0", vec!["--influences 0"]),
        ("transfer body.dermis sleeve.obj -o x.dermis --stiff-islands -1", vec!["stiff-islands"]),
        ("transfer body.dermis sleeve.obj -o x.dermis --falloff 0", vec!["falloff"]),
        ("transfer body.npz sleeve.obj -o x.glb --falloff 3", vec!["--falloff"]),
        ("transfer body.dermis sleeve.obj -o x.dermis --format glb", vec!["--format"]),
        ("transfer body.dermis body.npz -o x.dermis --up y", vec!["--up"]),
    ] {
        desk.bad(line, &words);
    }
}

#[test]
fn a_few_poses_of_another_character_take_the_body_as_a_prior() {
    let desk = desk();
    let poses = |count: usize, phase: f64| Tube::new(12, count, phase, Flesh::Bulge).grown(1.5).bundle();
    desk.put("few.npz", poses(3, 0.2));
    desk.put("unseen.npz", poses(6, 0.4));
    let line = "fit few.npz --examples few.npz --method joint --base lbs --hold-out unseen.npz";
    let told = desk.json(&format!("{line} --prior body.dermis -o with.dermis --json"));
    let prior = &told["report"]["prior"];
    assert_eq!(prior["taken"], true, "{told}");
    assert!((number(prior, "gain") - 1.0).abs() < 0.2 && number(prior, "with") < number(prior, "without"), "{told}");
    let alone = desk.json(&format!("{line} --json"));
    assert!(number(&told, "held_out.rms") < number(&alone, "held_out.rms"), "{told} {alone}");
    assert!(desk.good(&format!("{line} --prior body.dermis")).out.contains("prior times"));
    // The same again, from the recipe of the model.
    desk.good("fit --recipe with.dermis -o again.dermis");
    assert_eq!(desk.bytes("again.dermis"), desk.bytes("with.dermis"));
    for (line, words) in [
        ("fit few.npz --examples few.npz --prior few.npz", vec!["few.npz"]),
        ("fit few.npz --examples few.npz --prior body.dermis --method mwe", vec!["--prior", "joint"]),
        ("fit few.npz --examples few.npz --prior body.dermis --lambda 0.1", vec!["--prior", "lambda"]),
        ("fit few.npz --examples few.npz --prior body.dermis --stream", vec!["--prior"]),
    ] {
        desk.bad(line, &words);
    }
}
