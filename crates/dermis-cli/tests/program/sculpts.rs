//! From a few sculpts to an engine: a rig without correctives, OBJ files, a clip; a model, a GLB with named shapes, its drivers.

use crate::{Desk, number};
use dermis_workflow::deform::lbs;
use dermis_workflow::io::{Contents, Space};
use dermis_workflow::load::{ReadOptions, Source, load_motion, load_rig, read_contents};
use dermis_workflow::rig::glam::{DAffine3, DMat4, DVec3};
use dermis_workflow::rig::{Frame, Motion, Rig};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// The bundled body in the poses of its exercise: frame, the bone that is sculpted, and the sculpt's name.
const SCULPTS: [(usize, &str, &str); 3] =
    [(12, "lowerarm_l", "elbow_90"), (27, "calf_l", "knee"), (2, "upperarm_l", "arm_up")];

/// The bundled body, its exercise, and what its weights make of it.
struct Body {
    rig: Rig,
    exercise: Motion,
}

impl Body {
    fn new(desk: &Desk) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/body/body.glb");
        desk.put("body.glb", std::fs::read(file).unwrap());
        let path = desk.path("body.glb");
        let rig = load_rig(&path).unwrap().rig;
        let source = Source { path, part: Some("exercise".into()) };
        let exercise = load_motion(&rig, &Space::default(), &source, &ReadOptions::default()).unwrap().0;
        Self { rig, exercise }
    }

    fn skin(&self, frame: usize) -> Vec<DVec3> {
        let pose = self.rig.skeleton().bone_transforms(&self.exercise.frames[frame].pose);
        let mut skin = vec![DVec3::ZERO; self.rig.mesh().positions.len()];
        lbs(&self.rig.mesh().positions, self.rig.weights().unwrap(), &pose, &mut skin);
        skin
    }

    /// The skin of a frame with a bulge of 20 mm where a bone and its parent blend.
    fn sculpt(&self, frame: usize, bone: &str) -> Vec<DVec3> {
        let (mut skin, skeleton) = (self.skin(frame), self.rig.skeleton());
        let bone = skeleton.find(bone).unwrap();
        let parent = skeleton.parents()[bone].unwrap();
        let at =
            skeleton.world_pose(&skeleton.bone_transforms(&self.exercise.frames[frame].pose)).bones[bone].translation;
        for (v, p) in skin.iter_mut().enumerate() {
            let weight = |bone| self.rig.weights().unwrap().of(v).iter().find(|w| w.0 == bone).map_or(0.0, |w| w.1);
            *p += (*p - at).normalize_or_zero() * 0.02 * 4.0 * weight(bone) * weight(parent);
        }
        skin
    }

    fn obj(&self, positions: &[DVec3]) -> String {
        let mut text = String::new();
        positions.iter().for_each(|p| writeln!(text, "v {:.7} {:.7} {:.7}", p.x, p.y, p.z).unwrap());
        let corners = self.rig.mesh().triangles.iter().map(|t| t.map(|v| v + 1));
        corners.for_each(|[a, b, c]| writeln!(text, "f {a} {b} {c}").unwrap());
        text
    }
}

/// A body with three sculpts as OBJ files.
fn desk() -> (Desk, Body) {
    let desk = Desk::new();
    let body = Body::new(&desk);
    for (frame, bone, name) in SCULPTS {
        desk.put(&format!("{name}.obj"), body.obj(&body.sculpt(frame, bone)));
    }
    (desk, body)
}

/// What a file holds.
fn contents(desk: &Desk, name: &str) -> Contents {
    read_contents(&desk.path(name), &Space::default()).unwrap().0
}

const FIT: &str = "fit body.glb --sculpts elbow_90.obj@12 knee.obj@27 arm_up.obj@2 --poses body.glb#exercise";

/// Every sculpt is met, is driven by its own joint alone, and is a named shape; the walk is posed alike by the model and by the GLB
/// with the weights of the table.
#[test]
fn three_sculpts_become_named_shapes_with_drivers() {
    let (desk, _) = desk();
    let fitted = desk.json(&format!("{FIT} --method correctives -o body.dermis --json"));
    assert_eq!(fitted["method"], "correctives");
    assert_eq!(fitted["validation"], "not validated", "{}", fitted["verdict"]);
    let diagonal = number(&fitted, "diagonal");
    assert!(number(&fitted, "train.max") < 1e-5 * diagonal, "{}", fitted["train"]);
    assert!(number(&fitted, "baseline.error.max") > 0.019, "{}", fitted["baseline"]);
    let shapes = fitted["report"]["correctives"].as_array().unwrap();
    let driven: Vec<(&str, Vec<&str>)> = (shapes.iter())
        .map(|shape| {
            let joints = shape["joints"].as_array().unwrap().iter().map(|joint| joint["to"].as_str().unwrap());
            (shape["name"].as_str().unwrap(), joints.collect())
        })
        .collect();
    let expected = [("elbow_90", vec!["lowerarm_l"]), ("knee", vec!["calf_l"]), ("arm_up", vec!["upperarm_l"])];
    assert_eq!(driven, expected);

    let exported = desk.json("export drivers body.dermis -o hero.glb --table hero.json --json");
    assert_eq!((number(&exported, "shapes"), number(&exported, "regions")), (3.0, 3.0));
    assert_eq!(exported["origin"], "one per sculpt");
    let table: Value = serde_json::from_slice(&desk.bytes("hero.json")).unwrap();
    assert_eq!(table["shapes"], json!(["elbow_90", "knee", "arm_up"]));
    assert!(desk.bytes("hero.json").len() < 8_000, "the drivers of three sculpts are small");
    let inspected = desk.json("inspect hero.glb --json").to_string();
    assert!(["elbow_90", "knee", "arm_up"].iter().all(|name| inspected.contains(name)), "{inspected}");
}

/// Without a method the joint model meets every sculpt, teaches the other side, and leaves untouched skin as it was. What it left of
/// them is a shape each, by name.
#[test]
fn every_sculpt_is_met_and_taught() {
    let (desk, body) = desk();
    let fitted = desk.json(&format!("{FIT} -o body.dermis --json"));
    assert_eq!((&fitted["method"], &fitted["validation"]), (&json!("joint"), &json!("not validated")));
    assert!(number(&fitted, "train.max") < 1e-6 * number(&fitted, "diagonal"), "{}", fitted["train"]);
    let shapes = fitted["report"]["remembered"].as_array().unwrap();
    let names: Vec<&str> = shapes.iter().map(|shape| shape["name"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["elbow_90", "knee", "arm_up"]);
    assert_eq!(names[3..], ["elbow_90.mirrored", "knee.mirrored", "arm_up.mirrored"]);
    assert!(desk.good(&format!("{FIT} -o again.dermis")).out.contains("touched skin"));
    // Each is a morph target beside those that joint coordinates drive.
    let drivers = desk.good("export drivers body.dermis -o hero.glb --table hero.json");
    assert!(drivers.out.contains("6 more, one for each sculpt"), "{}", drivers.out);
    desk.good("export shapes body.dermis --motion body.glb#exercise -o baked.glb");
    desk.good("pose body.dermis --motion body.glb#exercise -o skins.npz");
    let (skins, frames) = (contents(&desk, "skins.npz"), &body.exercise.frames);
    let head = body.rig.skeleton().find("head").unwrap();
    let of_head = |v: &usize| body.rig.weights().unwrap().of(*v).iter().all(|w| w.0 == head);
    let heads: Vec<usize> = (0..body.rig.mesh().positions.len()).filter(of_head).collect();
    assert!(heads.len() > 20);
    for frame in 0..frames.len() {
        let (shown, bare) = (skins.records[frame].positions.as_ref().unwrap(), body.skin(frame));
        let most = heads.iter().map(|&v| shown[v].distance(bare[v])).fold(0.0, f64::max);
        assert!(most < 1e-6, "frame {frame}: {most}");
    }
}

/// In the opposite direction, and beyond, a sculpt never shows backwards or more than whole.
#[test]
fn weights_of_sculpts_lie_between_nothing_and_all() {
    let (desk, body) = desk();
    desk.good(&format!("{FIT} --method correctives -o body.dermis"));
    desk.good("export drivers body.dermis -o walk.glb --table hero.json --motion body.glb#exercise");
    let walk = dermis_workflow::load::load_rig(&desk.path("walk.glb")).unwrap();
    assert_eq!(walk.rig.mesh().positions.len(), body.rig.mesh().positions.len());
    let read = contents(&desk, "walk.glb");
    let clip = &read.clips[0];
    let rows: Vec<Vec<f64>> = clip.key_times.iter().map(|&t| (clip.sample)(t).morph_weights).collect();
    for (shape, (frame, ..)) in SCULPTS.into_iter().enumerate() {
        assert!((rows[frame][shape] - 1.0).abs() < 1e-6, "{frame}: {:?}", rows[frame]);
    }
    assert!(rows.iter().flatten().all(|w| (0.0..=1.0).contains(w)));
    assert!(rows[0].iter().all(|w| *w < 1e-7), "the first frame is the bind pose, up to rounding: {:?}", rows[0]);
    // The spine bends back; arms and legs hang.
    assert!(rows[22].iter().all(|w| *w < 0.05), "{:?}", rows[22]);
}

/// A frame by number or by label, a clip as Blender names it, and what is refused with the remedy.
#[test]
fn sculpts_name_their_poses() {
    let (desk, body) = desk();
    let by_label = desk.json("fit body.glb --sculpts elbow_90.obj@12 --poses body.glb#exercise --json");
    assert!(number(&by_label, "train.max") < 1e-4);
    desk.bad("fit body.glb --sculpts elbow_90.obj@12", &["elbow_90.obj", "--poses"]);
    desk.bad("fit body.glb --sculpts elbow_90.obj@99 --poses body.glb#exercise", &["no frame 99", "0 to 41"]);
    desk.bad("fit body.glb --sculpts elbow_90.obj@smile --poses body.glb#exercise", &["\"smile\""]);
    desk.bad("fit body.glb --sculpts elbow_90.obj@12 --poses body.glb", &["in quotes", "body.glb#"]);
    desk.bad("fit body.glb --sculpts elbow_90.obj --stream --poses body.glb#exercise", &["--stream"]);
    // The next frame moves the other arm: most of the skin is elsewhere, and the frame where it is not is named.
    let says = [
        "elbow_90.obj",
        "\"exercise 13\" at 6.500 s",
        "of them agree with \"exercise 12\" at 6.000 s",
        "elbow_90.obj@12",
    ];
    desk.bad("fit body.glb --sculpts elbow_90.obj@13 --poses body.glb#exercise", &says);
    // A label is no number that another program counts otherwise.
    let run = desk.run_with("fit body.glb --poses body.glb#exercise --sculpts", &["elbow_90.obj@exercise 13"]);
    let said = run.out + &run.err;
    assert!(said.contains("exercise 12") && said.contains("check the number"), "{said}");
    // At rest nothing can drive it.
    desk.put("rest.obj", body.obj(&body.sculpt(0, "calf_l")));
    desk.bad("fit body.glb --sculpts rest.obj@0 --poses body.glb#exercise", &["rest", "no joint has turned"]);
    // What the base shows already needs no shape.
    desk.put("plain.obj", body.obj(&body.skin(14)));
    let plain = desk.json("fit body.glb --sculpts elbow_90.obj@12 plain.obj@14 --poses body.glb#exercise --json");
    let names = |fitted: &Value| -> Vec<String> {
        let shapes = fitted["report"]["remembered"].as_array().unwrap();
        shapes.iter().map(|shape| shape["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&plain), ["elbow_90", "elbow_90.mirrored"]);
    assert!(plain["warnings"].to_string().contains("no shape is needed for plain"), "{}", plain["warnings"]);
}

/// Programs count frames at rates of their own, from 0 or from the first frame of the file's clock: where vertices that nobody
/// touched agree, the frame and the rate are named, and named so they fit.
#[test]
fn frames_of_other_programs_are_recognised() {
    let (desk, body) = desk();
    let source = Source { path: desk.path("body.glb"), part: Some("exercise".into()) };
    for (rate, number) in [(24.0, 7), (25.0, 9), (30.0, 6), (60.0, 11)] {
        let options = ReadOptions { fps: Some(rate), ..ReadOptions::default() };
        let frames = load_motion(&body.rig, &Space::default(), &source, &options).unwrap().0.frames;
        let at = Body { rig: body.rig.clone(), exercise: Motion { name: String::new(), frames } };
        let mut skin = at.skin(number);
        // One vertex in five is touched.
        skin.iter_mut().step_by(5).for_each(|p| p.z += 0.02);
        desk.put("shot.obj", body.obj(&skin));
        let named = [&format!("shot.obj@{number}")[..], &format!("--fps {rate}")];
        let time = format!("at {:.3} s", f64::from(number as u32) / rate);
        desk.bad(
            &format!("fit body.glb --sculpts shot.obj@{number} --poses body.glb#exercise -o x{rate}.dermis"),
            &["of them agree with the pose", &time, named[0], named[1]],
        );
        if rate != 30.0 {
            continue;
        }
        desk.good(&format!(
            "fit body.glb --sculpts {} --poses body.glb#exercise {} -o x{rate}.dermis",
            named[0], named[1]
        ));
        // One frame off, the other is named.
        let off = format!(
            "fit body.glb --sculpts shot.obj@{} --poses body.glb#exercise {} -o y.dermis",
            number + 1,
            named[1]
        );
        desk.bad(&off, &[named[0]]);
    }
    // A sculpt that agrees nowhere, as of a host that skins otherwise, is taken, with a warning as ever.
    let mut skin = body.skin(12);
    skin.iter_mut().enumerate().for_each(|(v, p)| p.y += 0.02 + 0.002 * (v as f64).sin());
    desk.put("shot.obj", body.obj(&skin));
    desk.good("fit body.glb --sculpts shot.obj@12 --poses body.glb#exercise -o z.dermis");
}

/// A program that prints four digits moves every vertex: those that nobody touched are set to the rig's skin, and counted.
#[test]
fn rounding_of_a_program_is_cleared() {
    let (desk, body) = desk();
    let moved = |out: &str| {
        let line = out.lines().find(|line| line.contains("driven by")).unwrap().to_owned();
        line.split("moves ").nth(1).unwrap().split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    let fit = "fit body.glb --sculpts elbow_90.obj@12 --poses body.glb#exercise -o x.dermis --force";
    let exact = moved(&desk.good(fit).out);
    let (sculpt, skin) = (body.sculpt(12, "lowerarm_l"), body.skin(12));
    let rounded: Vec<DVec3> = sculpt.iter().map(|p| (*p * 1e4).round() / 1e4).collect();
    desk.put("elbow_90.obj", body.obj(&rounded));
    let run = desk.good(fit);
    // Half a cell's diagonal is the farthest that rounding moves.
    let differ = |most: f64| rounded.iter().zip(&skin).filter(|(a, b)| a.distance(**b) <= most).count();
    let told = run.out.lines().find(|line| line.contains("by rounding")).unwrap_or_else(|| panic!("{}", run.out));
    let count: usize = told.split_once(": ").unwrap().1.split(' ').next().unwrap().parse().unwrap();
    assert!(count >= differ(0.87e-4) && count <= differ(2.5e-4) && count > sculpt.len() / 2, "{count}: {told}");
    let cleared = moved(&run.out);
    assert!(cleared <= exact && cleared > exact / 2, "{cleared} of {exact} vertices");
}

/// A jagged sculpt of one elbow tears vertices from their neighbours, which is no other order: its faces prove that, and without
/// faces no vertex has another's place.
#[test]
fn jagged_sculpts_are_in_order() {
    let (desk, body) = desk();
    let mut skin = body.skin(12);
    let bone = body.rig.skeleton().find("lowerarm_l").unwrap();
    let near = |v: usize| body.rig.weights().unwrap().of(v).iter().any(|w| w.0 == bone && w.1 > 0.05);
    for (v, p) in skin.iter_mut().enumerate().filter(|(v, _)| near(*v) && v * 7919 % 3 == 0) {
        let angle = v as f64;
        *p += DVec3::new(angle.sin(), angle.cos(), (1.7 * angle).sin()) * 0.03;
    }
    desk.put("jag.obj", body.obj(&skin));
    let cloud: String =
        body.obj(&skin).lines().filter(|line| line.starts_with('v')).map(|line| format!("{line}\n")).collect();
    desk.put("cloud.obj", cloud);
    for name in ["jag", "cloud"] {
        desk.good(&format!("fit body.glb --sculpts {name}.obj@12 --poses body.glb#exercise -o {name}.dermis"));
    }
    // Two vertices in each other's places, with faces that follow them, are in another order: refused, unless told.
    let (a, b) = (0, skin.len() - 1);
    let text = body.obj(&body.skin(12));
    let lines: Vec<&str> = text.lines().collect();
    let swap = |corner: &str| match corner.parse::<usize>() {
        Ok(number) if number == a + 1 => format!("{}", b + 1),
        Ok(number) if number == b + 1 => format!("{}", a + 1),
        _ => corner.to_owned(),
    };
    let swapped = lines.iter().enumerate().map(|(at, line)| match (at, line.strip_prefix("f ")) {
        (_, Some(corners)) => format!("f {}\n", corners.split(' ').map(swap).collect::<Vec<_>>().join(" ")),
        (at, _) if at == a => format!("{}\n", lines[b]),
        (at, _) if at == b => format!("{}\n", lines[a]),
        _ => format!("{line}\n"),
    });
    desk.put("swapped.obj", swapped.collect::<String>());
    let line = "fit body.glb --sculpts elbow_90.obj@12 swapped.obj@12 --poses body.glb#exercise -o swapped.dermis";
    desk.bad(line, &["swapped.obj", "2 vertices are where others are expected", "--trust-order"]);
    desk.good(&format!("{line} --trust-order"));
}

/// A recipe makes the same model again, and refuses another sculpt under the same name.
#[test]
fn recipes_hold_sculpts() {
    let (desk, body) = desk();
    desk.good(&format!("{FIT} -o body.dermis"));
    desk.put("body.json", desk.good("recipe body.dermis").out);
    desk.good("fit --recipe body.json -o again.dermis");
    assert!(desk.bytes("body.dermis") == desk.bytes("again.dermis"));
    desk.put("knee.obj", body.obj(&body.skin(27)));
    desk.bad("fit --recipe body.json -o third.dermis", &["knee.obj", "another file"]);
}

/// Regression on three poses leaves most of the error, and says so; a pose space that meets its examples says where it does not.
#[test]
fn few_examples_are_named() {
    let (desk, _) = desk();
    let joint = desk.json(&format!("{FIT} --set remember=0 --json"));
    assert!(joint["warnings"].to_string().contains("3 examples are few"), "{}", joint["warnings"]);
    let psd = desk.json(&format!("{FIT} --method psd -s 0 --json --folds 0"));
    let (said, left) = (psd["warnings"].to_string(), number(&psd, "train.max"));
    assert!(!said.contains("few"), "{said}");
    assert_eq!(left > 1e-4 * number(&psd, "diagonal"), said.contains("is not met"), "{left}: {said}");
}

/// The skin that a GLB shows with weights that a reader computes from the table, against the model's own: that of correctives, and
/// that of a joint model, which has a shape more for each sculpt that it remembers.
fn play(reader: impl Fn(&Path, &Path) -> Value) {
    let (desk, body) = desk();
    let skeleton = body.rig.skeleton();
    let world = |frame: &Frame| {
        let named = skeleton.names().iter().zip(frame.pose.bones.iter());
        let columns = |t: &DAffine3| DMat4::from(*t).to_cols_array().to_vec();
        json!({"matrices": named.map(|(name, t)| (name.clone(), json!(columns(t)))).collect::<serde_json::Map<_, _>>()})
    };
    let poses: Vec<Value> = body.exercise.frames.iter().map(world).collect();
    desk.put("poses.json", json!({ "poses": poses }).to_string());
    let diagonal = body.rig.mesh().diagonal();
    for (method, near) in [("correctives", 1e-4), ("joint", 1e-2)] {
        // Three commands: a model, what an engine reads, and the engine's own reader.
        desk.good(&format!("{FIT} --method {method} -o hero.dermis --force"));
        let export =
            "export drivers hero.dermis -o hero.glb --table hero.json --motion body.glb#exercise --force --json";
        let told = number(&desk.json(export), "motion.shapes.max");
        let rows = reader(&desk.path("hero.json"), &desk.path("poses.json"));
        desk.good("pose hero.dermis --motion body.glb#exercise -o skins.npz --force");
        let skins = contents(&desk, "skins.npz");
        let glb = contents(&desk, "hero.glb");
        let mesh = glb.mesh.as_ref().unwrap();
        let (mut shaped, mut shown, mut bare) =
            (mesh.positions.clone(), mesh.positions.clone(), mesh.positions.clone());
        let (mut farthest, mut missed): (f64, f64) = (0.0, 0.0);
        for (at, frame) in body.exercise.frames.iter().enumerate() {
            shaped.copy_from_slice(&mesh.positions);
            for (morph, weight) in glb.morphs.iter().zip(rows[at].as_array().unwrap()) {
                let weight = weight.as_f64().unwrap();
                shaped.iter_mut().zip(&morph.deltas).for_each(|(p, d)| *p += *d * weight);
            }
            let pose = glb.skeleton.as_ref().unwrap().bone_transforms(&frame.pose);
            lbs(&shaped, glb.weights.as_ref().unwrap(), &pose, &mut shown);
            lbs(&mesh.positions, glb.weights.as_ref().unwrap(), &pose, &mut bare);
            let expected = skins.records[at].positions.as_ref().unwrap();
            let apart = || shown.iter().zip(expected).map(|(a, b)| a.distance(*b));
            farthest = apart().fold(farthest, f64::max);
            if let Some((_, bone, _)) = SCULPTS.iter().find(|sculpt| sculpt.0 == at) {
                let sculpted = body.sculpt(at, bone);
                let touched = |v: &usize| sculpted[*v].distance(bare[*v]) > 1e-4 * diagonal;
                let apart = (0..shown.len()).filter(touched).map(|v| shown[v].distance(sculpted[v]));
                missed = apart.fold(missed, f64::max);
            }
        }
        assert!((farthest - told).abs() < 1e-5 * diagonal, "{method}: {farthest} m, {told} m told");
        assert!(farthest < near * diagonal, "{method}: {farthest} m of {diagonal} m");
        assert!(missed < 1e-4 * diagonal, "{method}: a sculpt is missed by {missed} m");
    }
}

/// What a program prints, as JSON.
fn printed(command: &mut std::process::Command) -> Value {
    let run = command.output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).unwrap()
}

/// The readers that come with the project.
fn readers() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../readers")
}

mod with_node {
    use super::{play, printed, readers};
    use std::process::Command;

    #[test]
    fn the_reader_in_javascript_plays_the_model() {
        let program = readers().join("../js/test/weights.mjs");
        play(|table, poses| printed(Command::new("node").arg(&program).arg(table).arg(poses)));
    }
}

mod with_mono {
    use super::{play, printed, readers};
    use std::process::Command;

    #[test]
    fn the_reader_in_csharp_plays_the_model() {
        play(|table, poses| {
            let program = poses.with_file_name("check.exe");
            let mut compiler = Command::new("mcs");
            compiler.arg("-warnaserror").arg(format!("-out:{}", program.display()));
            for source in
                ["test/Check.cs", "DermisDrivers.cs", "DermisPoseSpace.cs", "DermisRotation.cs", "DermisJson.cs"]
            {
                compiler.arg(readers().join(source));
            }
            let compiled = compiler.output().unwrap();
            assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
            printed(Command::new("mono").arg(program).arg(table).arg(poses))
        });
    }
}

mod with_godot {
    use super::{play, readers};
    use std::process::Command;

    #[test]
    fn the_reader_in_gdscript_plays_the_model() {
        play(|table, poses| {
            let mut godot = Command::new("godot");
            godot.arg("--headless").arg("--script").arg(readers().join("test/check.gd"));
            let run = godot.arg("--").arg(table).arg(poses).output().unwrap();
            // Godot prints its own name first.
            let said = String::from_utf8(run.stdout).unwrap();
            let rows = said.lines().find(|line| line.starts_with('[')).unwrap_or_else(|| panic!("{said}"));
            serde_json::from_str(rows).unwrap()
        });
    }
}

mod with_cpp {
    use super::{play, printed, readers};
    use std::process::Command;

    #[test]
    fn the_reader_in_cpp_plays_the_model() {
        play(|table, poses| {
            let program = poses.with_file_name("check");
            let mut compiler = Command::new("c++");
            compiler.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program);
            let compiled = compiler.arg(readers().join("test/check.cpp")).output().unwrap();
            assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
            printed(Command::new(program).arg(table).arg(poses))
        });
    }
}
