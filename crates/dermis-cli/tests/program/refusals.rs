//! Bad input: exit code 2, a message that names file, thing and numbers, nothing written.

use crate::tube::{BONES, Flesh, Tube};
use crate::{Desk, exists};
use dermis_testkit::Random;
use dermis_workflow::io::npz::{StoredFloat, write};
use dermis_workflow::io::to_bytes;
use dermis_workflow::io::{Contents, Record, Space, point_cache};
use dermis_workflow::rig::glam::DVec3;
use serde_json::json;

fn desk() -> (Desk, Tube) {
    let (desk, tube) = (Desk::new(), Tube::new(9, 6, 0.0, Flesh::Bulge));
    desk.put("a.npz", tube.bundle());
    desk.put("a.glb", tube.glb());
    desk.put("a.pc2", tube.pc2());
    desk.put("motion.npz", tube.motion());
    desk.put("skins.npz", tube.sequence());
    desk.good("fit a.npz --examples a.npz --folds 0 -o m.dermis");
    (desk, tube)
}

#[test]
fn files_that_do_not_serve_are_named() {
    let (desk, tube) = desk();
    desk.put("text.txt", "hello");
    desk.put("empty.npz", "");
    desk.put("cut.npz", &tube.bundle()[..600]);
    desk.put("cut.dermis", &desk.bytes("m.dermis")[..600]);
    desk.put("other.npz", Tube::new(10, 6, 0.0, Flesh::Bulge).bundle());
    desk.put("other.pc2", Tube::new(10, 6, 0.0, Flesh::Bulge).pc2());
    desk.put("longer.pc2", Tube::new(9, 9, 0.0, Flesh::Bulge).pc2());
    desk.put("character.fbx", "Kaydara FBX Binary  \0");
    std::fs::create_dir(desk.path("folder")).unwrap();
    // The second vertex is finite in no frame; of the others each is in some.
    let mut never = tube.pc2();
    let vertices = tube.mesh.positions.len();
    for frame in 0..6 {
        for vertex in [1, 2 + frame] {
            let at = 32 + 12 * (frame * vertices + vertex);
            never[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        }
    }
    desk.put("never.pc2", &never);
    let told =
        &["\"never.pc2\": no frame is finite: vertex 1 is finite in none of the 6", "give this vertex a place"][..];
    for (line, says) in [
        ("fit a.npz --examples motion.npz never.pc2", told),
        ("decompose a.glb never.pc2 --bones 2 -o x.glb", told),
        ("convert a.npz never.pc2 -o x.npz", told),
        ("convert never.pc2 -o x.mdd", told),
        ("convert never.pc2 -o x.npz", told),
        ("inspect nothing.npz", &["\"nothing.npz\": no such file"][..]),
        ("inspect A.NPZ", &["\"A.NPZ\": no such file", "did you mean \"a.npz\"?"]),
        ("convert a.gltf -o x.npz", &["\"a.gltf\": no such file", "did you mean \"a."]),
        ("fit a.npz --examples moton.npz", &["\"moton.npz\": no such file", "did you mean \"motion.npz\"?"]),
        (
            "fit a.npz --examples folders/a.npz",
            &["no such file", "there is no folder \"folders\": did you mean \"folder\"?"],
        ),
        ("pose m.dermis --motion a.npz/b.npz -o x.pc2", &["\"a.npz/b.npz\": no such file", "a file, not a folder"]),
        (
            "eval folder --examples a.npz",
            &["\"folder\": this is a folder, not a file", "name a file; there is none in this folder"],
        ),
        ("inspect text.txt", &["\"text.txt\"", ".npz"]),
        ("inspect empty.npz", &["\"empty.npz\""]),
        ("inspect cut.npz", &["\"cut.npz\""]),
        ("inspect folder", &["\"folder\"", "no OBJ files"]),
        ("inspect character.fbx", &["\"character.fbx\"", "FBX"]),
        ("fit nothing.npz --examples a.npz", &["\"nothing.npz\""]),
        ("fit a.npz --examples nothing.npz", &["\"nothing.npz\""]),
        ("fit a.pc2 --examples a.npz", &["\"a.pc2\"", "no mesh", "PC2"]),
        ("fit skins.npz --examples a.npz", &["\"skins.npz\"", "no skeleton"]),
        ("fit a.npz --examples m.dermis", &["\"m.dermis\""]),
        ("fit a.npz --examples other.npz", &["\"other.npz\"", "56 vertices have no counterpart", "--match-tolerance"]),
        ("fit a.npz --examples a.pc2", &["6 skins without poses", "walk.glb walk.pc2"]),
        ("fit a.npz --examples motion.npz", &["6 poses without skins"]),
        ("fit a.npz --examples motion.npz motion.npz a.pc2", &["poses without skins"]),
        ("fit a.npz --examples motion.npz other.pc2", &["\"other.pc2\"", "82", "74"]),
        ("fit a.npz --examples motion.npz longer.pc2", &["9 skins", "6 poses"]),
        ("fit a.npz --examples a.glb a.pc2", &["2 clips", "\"bends\"", "\"rest\""]),
        ("fit a.npz --examples a.glb#walk a.pc2", &["\"walk\"", "\"bends\""]),
        ("fit a.npz --examples a.npz#nobody*", &["none of the 6 labels", "nobody"]),
        ("eval a.npz --examples a.npz", &["\"a.npz\"", "model"]),
        ("eval cut.dermis --examples a.npz", &["\"cut.dermis\""]),
        ("eval m.dermis --examples other.npz", &["\"other.npz\"", "no counterpart"]),
        ("pose m.dermis --motion a.pc2 -o x.pc2", &["\"a.pc2\"", "neither poses nor clips"]),
        ("pose m.dermis --motion a.glb -o x.pc2", &["2 clips"]),
        ("pose m.dermis --motion a.glb --clip walk -o x.pc2", &["\"walk\""]),
        ("pose m.dermis --motion a.npz -o x.usda", &[".abc", ".pc2"]),
        ("pose m.dermis --motion a.npz -o x.obj", &["6 skins", ".obj"]),
        ("export shapes m.dermis -o x.usd", &["x.usd", ".glb, .fbx, .usda or .usdz"]),
        ("export shapes m.dermis -o x.fbx --driven", &["what drives them", "dermis export drivers"]),
        ("export shapes m.dermis -o x.fbx --no-normals", &["FBX or USD file hold no normals"]),
        ("export shapes m.dermis -o x.glb --to-up z", &["x.glb", "--to-up"]),
    ] {
        let out = if line.starts_with("fit") { " -o x.dermis" } else { "" };
        desk.bad(&format!("{line}{out}"), says);
        assert!(!desk.names(".").iter().any(|n| n.starts_with("x.") || n.contains(".part")), "{line}");
    }
    assert!(!exists(&desk.path("dermis-demo")));
}

#[test]
fn bones_that_are_missing_are_counted() {
    let (desk, tube) = desk();
    let mut renamed = tube.contents();
    let names = ["root", "knee", "foot"].map(String::from).to_vec();
    let skeleton = renamed.skeleton.take().unwrap();
    let parents = skeleton.parents().to_vec();
    renamed.skeleton = Some(dermis_workflow::rig::Skeleton::new(names, parents, skeleton.bind().to_vec()).unwrap());
    desk.put("renamed.npz", to_bytes(|out| write(&renamed, StoredFloat::Double, out)).unwrap());
    for line in ["fit a.npz --examples renamed.npz", "pose m.dermis --motion renamed.npz -o x.pc2"] {
        desk.bad(line, &["2 of the rig's 3 bones are missing", "\"elbow\"", "bone name"]);
    }
    assert_eq!(BONES, ["root", "elbow", "wrist"], "the first that is missing is named");
}

/// Bones in another order, turned in their bind pose by an exporter, are the same bones.
#[test]
fn the_file_s_own_bind_matrices_count() {
    use dermis_workflow::rig::glam::{DAffine3, DQuat};
    let (desk, tube) = desk();
    let turn = DAffine3::from_quat(DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2));
    let mut turned = tube.contents();
    let skeleton = turned.skeleton.take().unwrap();
    let bind = skeleton.bind().iter().map(|b| *b * turn).collect();
    turned.skeleton = Some(
        dermis_workflow::rig::Skeleton::new(skeleton.names().to_vec(), skeleton.parents().to_vec(), bind).unwrap(),
    );
    for record in &mut turned.records {
        let pose = record.pose.take().unwrap();
        record.pose = Some(dermis_workflow::rig::WorldPose::new(pose.bones.iter().map(|t| *t * turn).collect()));
    }
    desk.put("turned.npz", to_bytes(|out| write(&turned, StoredFloat::Double, out)).unwrap());
    let error = |line: &str| crate::number(&desk.json(line), "error.rms");
    let here = error("eval m.dermis --examples a.npz --json");
    let there = error("eval m.dermis --examples turned.npz --json");
    assert!((here - there).abs() < 1e-7, "{here} {there}");
    // A motion of such bones, with or without skins of its own.
    desk.good("pose m.dermis --motion a.npz -o a.obj.npz");
    desk.good("pose m.dermis --motion turned.npz -o turned.out.npz");
    let skins = |name: &str| -> Vec<Vec<DVec3>> {
        let contents = dermis_workflow::io::npz::read(&desk.bytes(name), name).unwrap();
        contents.records.into_iter().filter_map(|r| r.positions).collect()
    };
    for (a, b) in skins("a.obj.npz").iter().flatten().zip(skins("turned.out.npz").iter().flatten()) {
        assert!(a.distance(*b) < 1e-5, "{a} {b}");
    }
    let only = Contents {
        records: turned.records.iter().map(|r| Record { positions: None, ..r.clone() }).collect(),
        ..turned
    };
    desk.put("turned_motion.npz", to_bytes(|out| write(&only, StoredFloat::Double, out)).unwrap());
    let cached = error("eval m.dermis --examples turned_motion.npz a.pc2 --json");
    assert!((here - cached).abs() < 1e-6, "{here} {cached}");
}

/// Numbers that are none: left out and counted in a file of frames, refused where nothing is left.
#[test]
fn frames_that_are_not_numbers_are_counted() {
    let (desk, tube) = desk();
    // NaN in the third frame: header, then three floats per vertex.
    let mut spoilt = tube.pc2();
    let at = 32 + 12 * tube.mesh.positions.len() * 2;
    spoilt[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    desk.put("nan.pc2", &spoilt);
    let found = desk.json("inspect nan.pc2 --json");
    assert_eq!(found[0]["flaws"][0]["count"], 1);
    assert_eq!(found[0]["skins"], 5);
    desk.bad("fit a.npz --examples motion.npz nan.pc2 -o x.dermis", &["5 skins", "6 poses"]);
    let all = f32::NAN.to_le_bytes().repeat(3 * tube.mesh.positions.len() * 6);
    desk.put("none.pc2", [&tube.pc2()[..32], &all].concat());
    desk.bad("fit a.npz --examples motion.npz none.pc2 -o x.dermis", &["none.pc2"]);
    assert!(!exists(&desk.path("x.dermis")));
}

/// A bind matrix that has no inverse is refused by its bone.
#[test]
fn singular_bind_matrices_are_named() {
    let (desk, tube) = desk();
    let mut glb = tube.glb();
    let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    let json: serde_json::Value = serde_json::from_slice(&glb[20..20 + length]).unwrap();
    let accessor = &json["accessors"][json["skins"][0]["inverseBindMatrices"].as_u64().unwrap() as usize];
    let view = &json["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
    let start = 20 + length + 8 + view["byteOffset"].as_u64().unwrap_or(0) as usize;
    glb[start + 64..start + 128].fill(0);
    desk.put("flat.glb", &glb);
    desk.bad("fit flat.glb --examples a.npz -o x.dermis", &["flat.glb", "elbow"]);
}

/// Options out of range are refused by name, before the work.
#[test]
fn options_out_of_range_are_named() {
    let (desk, _) = desk();
    for option in [
        "--lambda=-1",
        "--lambda=nan",
        "--lambda=inf",
        "--set tolerance=nan",
        "--set tolerance=0.5",
        "--set tolerance=-1",
        "--set eig-tol=nan",
        "--set eig-tol=-1",
        "--set eig-tol=2",
        "--set svd-tol=nan",
        "--set svd-tol=-1",
        "--set duplicates=nan",
        "--set decay=nan",
        "--set decay=2",
        "--set threshold=-1",
        "--set threshold=nan",
        "--set blocks=1",
        "--set blocks=x",
        "--fps=0",
        "--fps=nan",
        "--fps=-5",
        "--match-tolerance=nan",
        "--match-tolerance=-1",
        "--set rings=18446744073709551615",
        "--set map-smoothing=18446744073709551615",
        "--threads=1000000",
    ] {
        let name = option.split('=').next().unwrap();
        desk.bad(&format!("fit a.npz --examples a.npz --folds 0 {option} -o x.dermis"), &[name]);
        assert!(!exists(&desk.path("x.dermis")), "{option}");
    }
    // A rate at which the clip has more frames than anybody wants.
    desk.bad("pose m.dermis --motion a.glb#bends --fps 1e9 -o x.pc2", &["frames", "--fps"]);
}

/// A file may name others beside it, not a device that never ends.
#[cfg(unix)]
#[test]
fn devices_are_not_read() {
    let (desk, _) = desk();
    let text = r#"{"asset":{"version":"2.0"},"buffers":[{"uri":"/dev/zero","byteLength":12}],
        "bufferViews":[{"buffer":0,"byteLength":12}],
        "accessors":[{"bufferView":0,"componentType":5126,"count":1,"type":"VEC3"}],
        "meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0}],
        "scenes":[{"nodes":[0]}],"scene":0}"#;
    desk.put("endless.gltf", text);
    desk.bad("inspect endless.gltf", &["/dev/zero"]);
    desk.bad("inspect /dev/zero", &["/dev/zero"]);
    desk.bad("fit /dev/zero --examples a.npz", &["/dev/zero"]);
}

/// An option for reading that acts on no input is refused, and one that acts on a single input is not.
#[test]
fn options_for_reading_that_act_on_nothing_are_refused() {
    let (desk, tube) = desk();
    desk.put("shapes.glb", tube.sculpts(true));
    for (line, option) in [
        ("fit a.npz --examples a.npz --fps 30", "--fps serves clips"),
        ("fit a.npz --examples a.npz --hold-out shapes.glb --up z", "--up serves files that state no axes"),
        ("fit a.npz --examples a.npz --method mwe --stream --unit 0.01", "--unit serves"),
        ("eval m.dermis --examples a.npz --fps 30", "--fps"),
        ("compare a.npz --examples a.npz --hold-out shapes.glb --methods lbs --up z", "--up"),
        ("pose m.dermis --motion a.npz --up z -o x.pc2", "--up"),
        ("suggest m.dermis --motion a.npz --unit 0.01", "--unit"),
        ("export shapes m.dermis --motion a.npz --up z -o x.glb", "--up"),
        ("export shapes m.dermis --fps 30 -o x.glb", "--fps"),
        ("weights a.npz --single-bone a.npz --fps 30 -o x.npz", "--fps"),
        ("invert a.npz --sculpts a.npz --fps 30 -o x.npz", "--fps"),
        ("decompose a.npz --bones 2 --up z -o x.glb", "--up"),
        ("convert a.npz --unit 0.01 -o x.glb", "--unit"),
    ] {
        desk.bad(line, &[option, "no input has any"]);
    }
    assert!(!exists(&desk.path("x.glb")) && !exists(&desk.path("x.npz")));
    desk.good("pose m.dermis --motion a.glb#bends --fps 3 -o y.pc2");
    desk.good("decompose a.npz --bones 2 --fps 12 -o x.glb");
}

/// An error on examples that the fit has seen is no held-out error.
#[test]
fn held_out_examples_that_are_training_examples_are_noticed() {
    let (desk, _) = desk();
    let two = Tube::new(9, 3, 0.5, Flesh::Bulge);
    desk.put("b.npz", two.bundle());
    for line in
        ["compare a.npz --examples a.npz --hold-out a.npz --methods lbs", "fit a.npz --examples a.npz --hold-out a.npz"]
    {
        desk.bad(line, &["held-out examples are training examples too", "--hold-out"]);
    }
    let said = desk.json("compare a.npz --examples a.npz --hold-out a.npz b.npz --methods lbs --json");
    assert!(said["warnings"][0].as_str().unwrap().contains("held-out examples are training examples too"), "{said}");
    let said = desk.json("fit a.npz --examples a.npz --hold-out a.npz b.npz --json");
    assert!(
        said["warnings"].to_string().contains("held-out examples are training examples too"),
        "{}",
        said["warnings"]
    );
}

/// Odd frames of a clip held out of even ones say little of other motion.
#[test]
fn neighbours_on_both_sides_of_a_cut_are_noticed() {
    let desk = Desk::new();
    desk.put("even.npz", Tube::new(9, 12, 0.0, Flesh::Bulge).bundle());
    // The same motion a little later.
    desk.put("odd.npz", Tube::new(9, 12, 0.02, Flesh::Bulge).bundle());
    desk.put("other.npz", Tube::new(9, 5, 0.5, Flesh::Bulge).bundle());
    let said = |hold_out: &str| {
        let line = format!("fit even.npz --examples even.npz --hold-out {hold_out} --method lbs --json");
        desk.json(&line)["warnings"].to_string()
    };
    assert!(said("odd.npz").contains("hold out a motion of its own"), "{}", said("odd.npz"));
    assert!(!said("other.npz").contains("hold out a motion of its own"), "{}", said("other.npz"));
}

/// What is learnt from such skins is nonsense. They are refused from bundles and from caches, whether a fit holds them, streams
/// them, or scores on them.
#[test]
fn skins_in_another_unit_axes_or_order_are_refused() {
    let desk = Desk::new();
    let tube = Tube::new(9, 6, 0.0, Flesh::Bulge);
    desk.put("a.npz", tube.bundle());
    desk.put("poses.npz", tube.motion());
    desk.good("fit a.npz --examples a.npz --folds 0 -o m.dermis");
    let order = Random::new(3).order(tube.skins[0].len());
    let swapped = |skin: &[DVec3], pairs: &[(usize, usize)]| {
        let mut skin = skin.to_vec();
        pairs.iter().for_each(|&(a, b)| skin.swap(a, b));
        skin
    };
    let last = tube.skins[0].len() - 1;
    let changes: [(&dyn Fn(&[DVec3]) -> Vec<DVec3>, &[&str]); 7] = [
        (&|skin| skin.iter().map(|p| DVec3::new(-p.y, p.x, p.z)).collect(), &["after a turn", "axes of the rig"]),
        (&|skin| skin.iter().map(|p| DVec3::new(p.x, p.y, -p.z)).collect(), &["mirror image", "handedness"]),
        (&|skin| swapped(skin, &[(0, 1)]), &["2 vertices are where others are expected", "vertices 0, 1"]),
        (&|skin| swapped(skin, &[(0, last)]), &["2 vertices are where others are expected", "vertex order kept"]),
        (&|skin| skin.iter().map(|p| *p * 100.0).collect(), &["100.", "times as large", "unit"]),
        (&|skin| skin.iter().map(|p| DVec3::new(p.x, -p.z, p.y)).collect(), &["quarter turn", "up"]),
        (&|skin| order.iter().map(|&v| skin[v]).collect(), &["another order", "vertex order kept"]),
    ];
    for (change, says) in changes {
        let mut wrong = Tube::new(9, 6, 0.0, Flesh::Bulge);
        wrong.skins.iter_mut().for_each(|skin| *skin = change(skin));
        desk.put("wrong.npz", wrong.bundle());
        desk.put("wrong.pc2", wrong.pc2());
        for line in [
            "fit a.npz --examples wrong.npz -o x.dermis",
            "fit a.npz --examples wrong.npz --method mwe --stream -o x.dermis",
            "fit a.npz --examples a.npz --hold-out wrong.npz -o x.dermis",
            "fit a.npz --examples poses.npz wrong.pc2 -o x.dermis",
            "eval m.dermis --examples wrong.npz",
            "compare a.npz --examples wrong.npz --hold-out a.npz",
        ] {
            desk.bad(line, says);
        }
    }
}

/// The order of vertices is the user's word where it is given, and the word acts on something.
#[test]
fn the_order_of_vertices_can_be_trusted() {
    let desk = Desk::new();
    let tube = Tube::new(9, 6, 0.0, Flesh::Bulge);
    desk.put("a.npz", tube.bundle());
    let mut wrong = Tube::new(9, 6, 0.0, Flesh::Bulge);
    wrong.skins.iter_mut().for_each(|skin| skin.swap(0, 1));
    desk.put("wrong.npz", wrong.bundle());
    for line in [
        "fit a.npz --examples wrong.npz --folds 0 -o x.dermis",
        "fit a.npz --examples wrong.npz --method mwe --stream -o y.dermis",
    ] {
        desk.bad(line, &["2 vertices are where others are expected", "--trust-order"]);
        desk.good(&format!("{line} --trust-order"));
    }
    desk.bad("convert a.npz -o b.npz --trust-order", &["--trust-order"]);
}

/// Times that all skins share pair them with nothing, whatever format states them; a rate does.
#[test]
fn times_that_say_nothing_pair_nothing() {
    let desk = Desk::new();
    let tube = Tube::new(9, 6, 0.0, Flesh::Bulge);
    desk.put("a.glb", tube.glb());
    let five: Vec<&[DVec3]> = tube.skins.iter().take(5).map(Vec::as_slice).collect();
    let mdd = |times: &[f64]| to_bytes(|out| point_cache::write_mdd(&five, times, &Space::default(), out)).unwrap();
    let record = |(s, skin): (usize, &&[DVec3]), time| Record {
        label: format!("skin {s}"),
        time: Some(time),
        pose: None,
        positions: Some(skin.to_vec()),
        importance: 1.0,
        local: None,
    };
    let npz = |time: f64| {
        let records = five.iter().enumerate().map(|skin| record(skin, time)).collect();
        let contents = Contents { mesh: Some(tube.mesh.clone()), records, ..Contents::default() };
        to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap()
    };
    for (name, bytes) in
        [("zero.mdd", mdd(&[0.0; 5])), ("late.mdd", mdd(&[3.5; 5])), ("zero.npz", npz(0.0)), ("late.npz", npz(0.1))]
    {
        desk.put(name, bytes);
        let line = format!("fit a.glb --examples a.glb#bends {name} --folds 0 -o x.dermis --force");
        desk.bad(&line, &["5 skins, but", "6 poses"]);
    }
    // At 20 frames per second the clip of 0.2 s has five.
    desk.good("fit a.glb --examples a.glb#bends zero.mdd --folds 0 --fps 20 --trust-order -o x.dermis --force");
    let times: Vec<f64> = (0..5).map(|frame| f64::from(frame) / 25.0).collect();
    desk.put("told.mdd", mdd(&times));
    desk.good("fit a.glb --examples a.glb#bends told.mdd --folds 0 -o x.dermis --force");
    let said = desk.good("inspect zero.mdd").out;
    assert!(said.contains("5: times do not ascend and were left out (first: all 5 are 0 s)"), "{said}");
}

/// A name says what a file holds: nothing is written under one that says something else.
#[test]
fn outputs_are_called_as_what_they_hold() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 6, 0.0, Flesh::Bulge).bundle());
    desk.good("fit a.npz --examples a.npz --folds 0 -o m.dermis");
    desk.bad("fit a.npz --examples a.npz -o x.glb", &["x.glb", "name it MODEL.dermis"]);
    desk.bad("fit a.npz --examples a.npz --method mwe --accumulate x.npz", &["x.npz", "name it SUMS.part"]);
    desk.bad("export drivers m.dermis -o x.glb --table y.glb", &["y.glb", "name it TABLE.json"]);
    desk.good("fit a.npz --examples a.npz --folds 0 -o no_ending");
    assert_eq!(desk.names("."), ["a.npz", "m.dermis", "no_ending"]);
}

/// What a file is instead of the one that is wanted, and how to get that.
#[test]
fn files_of_another_kind_are_called_what_they_are() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 6, 0.0, Flesh::Bulge).bundle());
    desk.bad("eval a.npz --examples a.npz", &["this is no model, but NPZ bundle", "dermis fit"]);
    desk.bad("pose a.npz --motion a.npz -o x.pc2", &["this is no model, but NPZ bundle"]);
    for (name, says) in
        [("hero.blend", "blender_bundle.py"), ("hero.ma", "from-maya.md"), ("hero.hip", "from-houdini.md")]
    {
        desk.put(name, "no program but its own reads this");
        desk.bad(&format!("fit {name} --examples a.npz"), &[name, says]);
    }
    let draco = r#"{"asset":{"version":"2.0"},"accessors":[{"componentType":5126,"type":"VEC3","count":3}],"meshes":[{"primitives":[
        {"mode":5,"attributes":{"POSITION":0},"extensions":{"KHR_draco_mesh_compression":{"bufferView":0,"attributes":{}}}}]}]}"#;
    desk.put("hero.gltf", draco);
    desk.bad("fit hero.gltf --examples a.npz", &["KHR_draco_mesh_compression", "without compression"]);
}

/// A recipe may name no file at all.
#[test]
fn lists_without_a_file_are_named() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 8, 0.0, Flesh::Bulge).bundle());
    let rig = json!({"file": "a.npz"});
    for (recipe, role) in [
        (json!({"invert": {"rig": rig, "sculpts": [], "out": "x.npz"}}), "sculpts"),
        (json!({"compare": {"rig": rig, "examples": []}}), "examples"),
    ] {
        desk.put("r.json", recipe.to_string());
        let run = desk.run("run r.json");
        assert!(run.code == 2 && !run.err.contains("\"\":"), "{recipe}: {}", run.err);
        assert!(run.err.contains(role), "{recipe}: {}", run.err);
    }
}

/// A number of a file or a command line is shown in a few characters, however large it is.
#[test]
fn no_number_is_shown_by_hundreds_of_digits() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 8, 0.0, Flesh::Bulge).bundle());
    for line in [
        "eval a.npz --examples a.npz --fail-above=-1e300",
        "convert a.npz --fps 1e200 -o a.bvh",
        "exercise a.npz --rate 1e300 -o b.npz",
        "inspect a.npz --unit 1e250",
        "pose a.npz --motion a.npz --fps -1e300 -o a.pc2",
        "invert a.npz --sculpts a.npz --time-limit 1e300 -o c.npz",
    ] {
        let run = desk.run(line);
        let long = |text: &str| text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 24);
        assert!(!long(&run.out) && !long(&run.err), "{line}\n{}{}", run.out, run.err);
    }
}
