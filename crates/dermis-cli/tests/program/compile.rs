//! `dermis export --lbs`: linear blend skinning with helper bones.

use crate::tube::{Flesh, Tube};
use crate::{Desk, keys, number};
use dermis_workflow::io::gltf;

/// A tube whose skin bulges with the elbow, its model, other poses, and their motion alone.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("train.npz", Tube::new(25, 14, 0.0, Flesh::Bulge).bundle());
    let test = Tube::new(25, 7, 0.3, Flesh::Bulge);
    desk.put("test.npz", test.bundle());
    desk.put("motion.npz", test.motion());
    desk.good("fit train.npz --examples train.npz -s 0.01 -o j.dermis");
    desk
}

#[test]
fn a_compilation_says_what_every_step_costs_also_in_poses_held_out() {
    let desk = desk();
    let line = "export bones j.dermis --examples train.npz --helpers 2 --table d.json --weight-bits 8 --hold-out test.npz \
                motion.npz -o a.glb --force";
    let said = desk.json(&format!("{line} --json"));
    assert_eq!(keys(&said), ["bytes", "poses", "steps", "held_out", "helpers", "warnings"]);
    assert_eq!(number(&said, "bytes") as usize, desk.bytes("a.glb").len());
    let names = |steps: &serde_json::Value| -> Vec<String> {
        steps.as_array().unwrap().iter().map(|step| step["name"].as_str().unwrap().into()).collect()
    };
    let last = "LBS4 + 2 helpers, driven, 8-bit weights";
    assert_eq!(
        names(&said["steps"]),
        [
            "joint",
            "the rig's own weights",
            "LBS4",
            "LBS4 + 2 helpers",
            "LBS4 + 2 helpers, driven",
            "poses left out of the driving",
            last
        ]
    );
    let rms = |set: &serde_json::Value, at: usize, to: &str| set["steps"][at][to]["rms"].as_f64();
    assert!(rms(&said, 6, "to_truth") < rms(&said, 2, "to_truth"), "{said}");
    for (at, name, truth) in [(0, "test.npz", true), (1, "motion.npz", false)] {
        let set = &said["held_out"][at];
        assert_eq!((set["name"].as_str().unwrap(), number(set, "poses")), (name, 7.0));
        assert_eq!(names(&set["steps"]), ["joint", "the rig's own weights", "LBS4", last]);
        assert_eq!(rms(set, 3, "to_truth").is_some(), truth);
        assert!(rms(set, 3, "to_model") < rms(set, 2, "to_model"), "{set}");
    }
    // The same poses, once with and once without their skin.
    assert_eq!(rms(&said["held_out"][0], 3, "to_model"), rms(&said["held_out"][1], 3, "to_model"));
    let helper = &said["helpers"][0];
    assert_eq!(keys(helper), ["name", "parent", "joints", "vertices", "explained"]);
    assert_eq!(helper["joints"], serde_json::json!(["elbow", "wrist"]));
    let table: serde_json::Value = serde_json::from_slice(&desk.bytes("d.json")).unwrap();
    assert_eq!(keys(&table), ["format", "version", "generator", "length", "helpers"]);
    assert_eq!(keys(&table["helpers"][0]), ["name", "parent", "centre", "joints", "matrix"]);
    assert_eq!(keys(&table["helpers"][0]["joints"][0]), ["from", "to", "limit"]);

    // The same for people, and to the bit for any number of threads.
    let (glb, json) = (desk.bytes("a.glb"), desk.bytes("d.json"));
    let text = desk.good(&format!("{line} --threads 1")).out;
    assert!(desk.bytes("a.glb") == glb && desk.bytes("d.json") == json);
    for part in [
        "written: a.glb",
        "written: d.json",
        "14 poses compiled for: rms distance to the examples: joint ",
        " → LBS4 ",
        "7 poses held out, test.npz: rms distance to the examples: joint ",
        "7 poses held out, motion.npz: rms distance to the model: joint ",
        "elbow, wrist explain ",
    ] {
        assert!(text.contains(part), "\"{part}\" is not in\n{text}");
    }
}

#[test]
fn several_motions_become_several_clips_and_mistakes_are_refused() {
    let desk = desk();
    let run = desk.good("export bones j.dermis --motion motion.npz train.npz --influences 2 -o two.glb");
    assert!(
        run.out.contains("21 poses compiled for: rms distance to the model") && run.out.contains("LBS2"),
        "{}",
        run.out
    );
    let contents = gltf::read(&desk.bytes("two.glb"), "two", &|_, _| unreachable!()).unwrap();
    assert_eq!(contents.clips.iter().map(|c| c.key_times.len()).collect::<Vec<_>>(), [7, 14]);
    assert!(contents.weights.unwrap().rows().all(|row| row.len() <= 2));
    // Clips are called as their files, and a number makes no name that another one has.
    for folder in ["a", "b"] {
        desk.put(&format!("{folder}/walk.npz"), desk.bytes("motion.npz"));
    }
    desk.put("walk 2.npz", desk.bytes("motion.npz"));
    let line = "export bones j.dermis --influences 2 -o walks.glb --motion";
    assert_eq!(desk.run_with(line, &["walk 2.npz", "a/walk.npz", "b/walk.npz"]).code, 0);
    let contents = gltf::read(&desk.bytes("walks.glb"), "walks", &|_, _| unreachable!()).unwrap();
    assert_eq!(contents.clips.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["walk 2", "walk", "walk 3"]);
    // Helpers without a table have no motion in poses held out.
    let run = desk.good("export bones j.dermis --motion motion.npz --helpers 1 --hold-out test.npz -o h.glb");
    assert!(run.out.contains("warning: helpers that nothing drives"), "{}", run.out);
    for (line, says) in [
        ("-o x.glb", &["no poses to compile for"][..]),
        ("--motion motion.npz --weight-bits 4 -o x.glb", &["--weight-bits 4", "8 or 16"]),
        ("--motion motion.npz --shapes 4 -o x.glb", &["--shapes"]),
        ("--motion motion.npz --table x.glb -o x.glb", &["of its own"]),
        ("--motion motion.npz --hold-out nowhere.npz -o x.glb", &["nowhere.npz"]),
    ] {
        desk.bad(&format!("export bones j.dermis {line}"), says);
        assert!(!desk.path("x.glb").exists(), "{line}");
    }
    for option in ["--helpers 4", "--hold-out test.npz", "--examples train.npz", "--weight-bits 8"] {
        let run = desk.run(&format!("export shapes j.dermis --motion motion.npz {option} -o x.glb"));
        assert!(run.code == 2 && run.err.contains("unexpected argument"), "{option}: {}", run.err);
    }
}
