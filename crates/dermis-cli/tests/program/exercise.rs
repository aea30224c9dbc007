//! `dermis exercise`.

use crate::tube::{Flesh, Tube};
use crate::{Desk, number};
use serde_json::Value;

#[test]
fn an_exercise_is_told_and_written_for_whoever_makes_the_skins() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 6, 0.0, Flesh::Bulge).bundle());
    let told = desk.json("exercise a.npz --count 20 --json -o poses.npz");
    assert_eq!((number(&told, "frames"), told["poses"].as_array().unwrap().len()), (20.0, 20), "{told}");
    assert_eq!(told["poses"][0]["kind"], "rest");
    let file = &desk.json("inspect poses.npz --json")[0];
    assert_eq!((file["poses"].as_u64(), file["skins"].as_u64()), (Some(20), Some(0)));
    // The bundle is a motion of the rig: a model runs on it, and suggest goes on from there.
    desk.good("fit a.npz --examples a.npz --folds 0 -o m.dermis");
    desk.good("pose m.dermis --motion poses.npz -o skins.npz");
    desk.good("suggest m.dermis --motion poses.npz --count 2");
    let text = desk.good("exercise a.npz --count 20 --force -o poses.npz").out;
    assert!(text.contains("20 poses: rest,") && text.contains("written: poses.npz (20 frames)"), "{text}");
    let same = desk.bytes("poses.npz");
    desk.good("--threads 1 exercise a.npz --count 20 -o again.npz");
    assert!(same == desk.bytes("again.npz"), "the same bytes for any number of threads");
}

#[test]
fn a_clip_runs_from_rest_to_rest() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 6, 0.0, Flesh::Bulge).bundle());
    let told = desk.json("exercise a.npz --count 8 --in-betweens 4 --rate 30 -o clip.glb --json");
    assert_eq!(number(&told, "frames"), 41.0, "{told}");
    assert!(number(&told["longest_turn"], "degrees") < 40.0, "{told}");
    let clip = &desk.json("inspect clip.glb --json")[0]["clips"][0];
    assert!((number(clip, "seconds") - 40.0 / 30.0).abs() < 1e-6, "{clip}");
}

/// The bundle and the BVH file show the same motion: one writes matrices, the other angles.
#[test]
fn an_exercise_is_a_motion_without_a_mesh_too() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 6, 0.0, Flesh::Bulge).bundle());
    for out in ["clip.npz", "clip.bvh"] {
        let told = desk.json(&format!("exercise a.npz --count 8 --in-betweens 4 -o {out} --json"));
        assert_eq!(number(&told, "frames"), 41.0, "{told}");
    }
    desk.good("convert a.npz clip.bvh -o back.npz");
    let read = |name: &str| dermis_workflow::io::npz::read(&desk.bytes(name), name).unwrap();
    let (one, back) = (read("clip.npz"), read("back.npz"));
    assert_eq!((one.records.len(), back.records.len()), (41, 41));
    for (a, b) in one.records.iter().zip(&back.records) {
        // Three matrices of 32 bits are multiplied, of a tube of one metre.
        let both = a.pose.as_ref().unwrap().bones.iter().zip(b.pose.as_ref().unwrap().bones.iter());
        assert!(both.clone().count() == 3 && both.into_iter().all(|(a, b)| a.abs_diff_eq(*b, 1e-5)), "{}", a.label);
        assert!((a.time.unwrap() - b.time.unwrap()).abs() < 1e-5);
    }
    desk.bad("exercise a.npz -o clip.fbx", &["name it .npz, .glb or .bvh"]);
}

/// Limits that are written come back, and a changed one holds in every pose.
#[test]
fn limits_are_written_changed_and_kept() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 6, 0.0, Flesh::Bulge).bundle());
    desk.good("exercise a.npz --count 12 -o one.npz --write-limits limits.json");
    let mut limits: Value = serde_json::from_slice(&desk.bytes("limits.json")).unwrap();
    let joints = limits["joints"].as_object_mut().unwrap();
    let (name, _) = joints.iter().find(|(_, joint)| joint["bend"].is_array()).unwrap();
    let name = name.clone();
    joints[&name]["bend"] = serde_json::json!([-5, 10]);
    joints[&name]["lean"] = serde_json::json!([0, 0]);
    joints[&name]["twist"] = serde_json::json!([0, 0]);
    desk.put("limits.json", limits.to_string());
    let told = desk.json("exercise a.npz --count 12 --limits limits.json -o two.npz --json");
    let mut seen = 0;
    for pose in told["poses"].as_array().unwrap() {
        for joint in pose["joints"].as_array().unwrap().iter().filter(|joint| joint["bone"] == name.as_str()) {
            let bend = number(joint, "bend_degrees");
            assert!((-5.0 - 1e-9..=10.0 + 1e-9).contains(&bend) && number(joint, "twist_degrees") == 0.0, "{joint}");
            seen += 1;
        }
    }
    assert!(seen > 2, "{told}");
}

#[test]
fn what_makes_no_exercise_is_named_and_nothing_is_written() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 6, 0.0, Flesh::Bulge).bundle());
    desk.put("bad.json", "{\"joints\": {\"nobody\": {\"bend\": [0, 90]}}}");
    desk.put("torn.json", "{\"joints\": {");
    desk.put("binary.json", [0xff, 0xfe, 0x00]);
    for (line, says) in [
        ("exercise a.npz -o poses.fbx", &["poses.fbx", ".npz, .glb or .bvh"][..]),
        ("exercise a.npz --count 1 -o p.npz", &["--count"]),
        ("exercise a.npz --count 99999 -o p.npz", &["--count"]),
        ("exercise a.npz --in-betweens 4000000000 -o p.npz", &["frames"]),
        ("exercise a.npz --in-betweens 2 --rate 0 -o p.npz", &["frames per second"]),
        ("exercise a.npz --limits bad.json -o p.npz", &["bad.json", "nobody"]),
        ("exercise a.npz --limits torn.json -o p.npz", &["torn.json", "line 1"]),
        ("exercise a.npz --limits binary.json -o p.npz", &["binary.json"]),
        ("exercise a.npz --limits missing.json -o p.npz", &["missing.json"]),
        ("exercise bad.json -o p.npz", &["bad.json"]),
        ("exercise a.npz -o a.npz --force", &["a.npz"]),
        ("exercise a.npz -o p.npz --write-limits p.npz", &["p.npz"]),
    ] {
        let run = desk.run(line);
        assert_eq!(run.code, 2, "{line}: {}", run.out);
        assert!(says.iter().all(|word| run.err.contains(word)), "{line}: {}", run.err);
    }
    assert_eq!(desk.names(""), ["a.npz", "bad.json", "binary.json", "torn.json"]);
}
